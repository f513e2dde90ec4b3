/* Native functions as plugins of the engine, called through libffi once per timestep, without Lua.
 *
 *   heuristic  void or int (candidates*, ...)
 *   scorer     void or int (rows*, modifiers*, ...)
 *   scheduler  void or int (sched_view*, int32*, int32*, ...): the arguments of choose(); refills follow refill-threshold
 *
 * Further arguments must be fixed. A negative result of a signed integer type fails the run, with this rill_status or RILL_ERR_PLUGIN.
 * Other results are ignored. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "native.h"

/* A bound C function registered as a plugin, kept by the Lua registry, because the context refers to it. */
typedef struct native_table {
    union {
        rill_heuristic heuristic;
        rill_scorer scorer;
        rill_scheduler scheduler;
    } as; /* must be first, so that a pointer to the plugin's struct is a pointer to this native_table */
    rill_script *script;
    native_function *function;
    const char *word; /* name of the kind, such as "heuristic" */
    char name[SCRIPT_NAME_MAX];
    char summary[NATIVE_NAME_MAX + SIGNATURE_TEXT + 32];
} native_table;

typedef struct kind {
    const char *word, *shape;
    int n;
    signature_type argument[3]; /* [n] types of the arguments that the engine passes to a plugin of this kind */
} kind;

static const kind kinds[] = {
    [SCRIPT_HEURISTIC] = {"heuristic", "candidates*", 1, {SIGNATURE_CANDIDATES}},
    [SCRIPT_SCORER] = {"scorer", "rows*, modifiers*", 2, {SIGNATURE_ROWS, SIGNATURE_MODIFIERS}},
    [SCRIPT_SCHEDULER] = {"scheduler",
                          "sched_view*, int32*, int32*",
                          3,
                          {SIGNATURE_SCHED_VIEW, SIGNATURE_INT32S, SIGNATURE_INT32S}},
    [SCRIPT_DOMAIN] = {"domain", NULL, 0, {SIGNATURE_VOID}},
};

/* --- calls by the engine ------------------------------------------------------------------------------------------ */

/* Return the status of a native function's result. A message that a failed function has recorded is kept. */
static rill_status check_native_result(const native_table *t, int64_t result)
{
    rill_context *ctx = t->script->ctx;
    rill_status status = script_late_take(&t->script->native->failed, ctx);
    if (status < 0 || result >= 0) return status;
    status = result >= INT32_MIN ? (rill_status)result : RILL_ERR_PLUGIN;
    int known = strcmp(rill_status_name(status), rill_status_name((rill_status)INT32_MIN)) != 0;
    if (!known) status = RILL_ERR_PLUGIN;
    if (rill_error_status(ctx) == status) return status;
    return rill_fail(ctx, status, "%s %s: %s() of %s returned %lld%s%s%s", t->word, t->name, t->function->name,
                     t->function->library->path, (long long)result, known ? " (" : "",
                     known ? rill_status_name(status) : "", known ? ")" : "");
}

/* Call the native function: the first n arguments come from the engine, the fixed arguments follow. */
static rill_status call_function(const native_table *t, int n, const void *const *given_values)
{
    native_function *f = t->function;
    native_value values[3], result = {0};
    void *arguments[SIGNATURE_MAX_ARGUMENTS];
    for (int i = 0; i < n; i++) {
        values[i].pointer = given_values[i];
        arguments[i] = &values[i];
    }
    for (int i = n; i < f->signature.n; i++) arguments[i] = &f->fixed[i];
    ffi_call(&f->cif, f->code, &result, arguments);
    const signature_type type = f->signature.result;
    const int is_signed = type >= SIGNATURE_I8 && type <= SIGNATURE_I64;
    return check_native_result(t, is_signed ? native_integer(type, &result) : 0);
}

static rill_status apply(void *self, rill_candidates *candidates)
{
    return call_function(self, 1, (const void *const[]){candidates});
}

static rill_status score(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    return call_function(self, 2, (const void *const[]){rows, modifiers});
}

static rill_status choose(void *self, const rill_sched_view *sched_view, int32_t *order, int32_t *count)
{
    *count = 0;
    return call_function(self, 3, (const void *const[]){sched_view, order, count});
}

/* Create an instance of the plugin, which is the native_table itself. Arguments are refused. */
static rill_status create(const void *table, rill_context *ctx, const char *arguments, void **self)
{
    const native_table *t = table;
    if (arguments != NULL && arguments[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "%s %s takes no arguments, found \"%s\": fix arguments with %s:with(...)", t->word, t->name,
                         arguments, t->function->name);
    *self = (void *)t;
    return RILL_OK;
}

SCRIPT_CREATE(create_heuristic, rill_heuristic, create)
SCRIPT_CREATE(create_scorer, rill_scorer, create)
SCRIPT_CREATE(create_scheduler, rill_scheduler, create)

/* --- registration ------------------------------------------------------------------------------------------------- */

static void check_chain_signature(lua_State *L, const native_function *f, script_kind wanted)
{
    const kind *k = &kinds[wanted];
    const signature *s = &f->signature;
    char text[SIGNATURE_TEXT];
    signature_write(s, text, sizeof text);
    if (k->shape == NULL)
        luaL_error(L, "%s is a single function and cannot be a domain: use rill.domain{...} or a plugin", f->name);
    int fits = s->n >= k->n && s->result <= SIGNATURE_U64;
    for (int i = 0; i < k->n && fits; i++) fits = s->argument[i] == k->argument[i];
    if (!fits)
        luaL_error(L, "%s has the signature \"%s\": a %s must have \"void(%s, ...)\" or \"int(%s, ...)\"", f->name,
                   text, k->word, k->shape, k->shape);
    if (f->n_open > k->n)
        luaL_error(
            L, "%s has the signature \"%s\": a %s is called with %d argument%s, so fix the others with %s:with(...)",
            f->name, text, k->word, k->n, k->n == 1 ? "" : "s", f->name);
    if (f->n_open < k->n)
        luaL_error(L, "%s: the first %d arguments of a %s are passed by the engine and cannot be fixed", f->name, k->n,
                   k->word);
}

/* Choose the plugin's name: "native-SYMBOL", with invalid characters replaced by "-", and a number if the name is taken. */
static void choose_name(native_table *t, script_kind wanted)
{
    enum { LONGEST = 28 };
    char word[LONGEST + 1];
    size_t n = 0;
    for (const char *p = t->function->name; *p != '\0' && n < LONGEST; p++)
        word[n++] = isalnum((unsigned char)*p) || *p == '_' ? (char)tolower((unsigned char)*p) : '-';
    word[n] = '\0';
    snprintf(t->name, sizeof t->name, "native-%s", word);
    for (int i = 2; script_find(t->script->ctx, wanted, t->name) != NULL; i++)
        snprintf(t->name, sizeof t->name, "native-%s-%d", word, i);
}

static rill_status register_table(native_table *t, script_kind wanted)
{
    rill_context *ctx = t->script->ctx;
    switch (wanted) {
    case SCRIPT_HEURISTIC:
        t->as.heuristic = (rill_heuristic){SCRIPT_PLUGIN(rill_heuristic, t), .arguments = "",
                                           .create = create_heuristic, .apply = apply};
        return rill_register_heuristic(ctx, &t->as.heuristic);
    case SCRIPT_SCORER:
        t->as.scorer = (rill_scorer){SCRIPT_PLUGIN(rill_scorer, t), .arguments = "", .create = create_scorer,
                                     .score = score};
        return rill_register_scorer(ctx, &t->as.scorer);
    default:
        t->as.scheduler = (rill_scheduler){SCRIPT_PLUGIN(rill_scheduler, t), .create = create_scheduler,
                                           .choose = choose, .refill = script_default_refill};
        return rill_register_scheduler(ctx, &t->as.scheduler);
    }
}

int script_native_is(lua_State *L, int index)
{
    return luaL_testudata(L, index, NATIVE_FUNCTION) != NULL;
}

void script_native_register(lua_State *L, int index, script_kind wanted, char name[SCRIPT_NAME_MAX])
{
    char text[SIGNATURE_TEXT];
    index = lua_absindex(L, index);
    native_function *f = native_check_function(L, index);
    check_chain_signature(L, f, wanted);
    native_table *t = f->table;
    if (t == NULL || script_find(t->script->ctx, wanted, t->name) != t) {
        native_count_object(L, &script_from_lua(L)->native->tables, "native functions as plugins");
        t = lua_newuserdatauv(L, sizeof *t, 1);
        *t = (native_table){.script = script_from_lua(L), .function = f, .word = kinds[wanted].word};
        signature_write(&f->signature, text, sizeof text);
        snprintf(t->summary, sizeof t->summary, "%s() of a shared object: %s", f->name, text);
        choose_name(t, wanted);
        lua_pushvalue(L, index);
        lua_setiuservalue(L, -2, 1); /* keeps the function alive as long as the plugin */
        luaL_ref(L, LUA_REGISTRYINDEX);
        script_check(L, register_table(t, wanted));
        f->table = t;
    }
    memcpy(name, t->name, sizeof t->name);
}
