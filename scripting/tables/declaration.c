/* Reads the tables passed to rill.heuristic{}, rill.scorer{} and rill.scheduler{}, and calls their functions (tables.h). */
#include "tables.h"

#include <stdio.h>
#include <string.h>

const char *script_lua_name(const char *name, char out[SCRIPT_NAME_MAX])
{
    snprintf(out, SCRIPT_NAME_MAX, "%s", name);
    for (char *dash = out; (dash = strchr(dash, '-')) != NULL;) *dash = '_';
    return out;
}

/* --- reading a declaration ---------------------------------------------------------------------------------------- */

static const char *const texts[] = {"name", "arguments", "summary"};
enum { NAME, ARGUMENTS, SUMMARY, TEXTS };
/* maximum number of keys of a declaration: the keys in `texts`, `create`, one key for a number, and the functions */
enum { MAX_DECLARATION_KEYS = TEXTS + 2 + SCRIPT_MAX_FUNCTIONS };

static size_t list_keys(const script_declaration *d, const char **keys)
{
    size_t n = 0;
    for (int i = 0; i < TEXTS; i++)
        if (i != ARGUMENTS || d->has_arguments) keys[n++] = texts[i];
    keys[n++] = "create";
    if (d->number_key != NULL) keys[n++] = d->number_key;
    for (int i = 0; d->functions[i] != NULL; i++) keys[n++] = d->functions[i];
    return n;
}

static void check_declaration(lua_State *L, const script_declaration *d)
{
    const char *keys[MAX_DECLARATION_KEYS];
    if (lua_type(L, 1) != LUA_TTABLE)
        luaL_error(L, "rill.%s: a table was expected, as in rill.%s{ name = \"mine\", %s = function ... end }", d->word,
                   d->word, d->functions[0]);
    lua_settop(L, 1);
    script_check_keys(L, 1, keys, list_keys(d, keys), lua_pushfstring(L, "rill.%s", d->word));
}

/* Read and push the name that a table declares. ':' and ',' are excluded: they separate names and arguments on command lines. */
static const char *read_name(lua_State *L, const script_declaration *d)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t length;
    if (script_raw_field(L, 1, "name") != LUA_TSTRING) luaL_error(L, "rill.%s: name = \"...\" is missing", d->word);
    const char *name = lua_tolstring(L, -1, &length);
    if (length == 0 || strspn(name, allowed) != length)
        luaL_error(L, "rill.%s: the name \"%s\" must be made of a-z, 0-9, - and _", d->word, name);
    if (length >= SCRIPT_NAME_MAX)
        luaL_error(L, "rill.%s: the name \"%s\" is longer than %d bytes", d->word, name, SCRIPT_NAME_MAX - 1);
    return name;
}

/* Read and push the string at `key`; `otherwise` if the key is missing. */
static const char *read_text(lua_State *L, const script_declaration *d, const char *key, const char *otherwise)
{
    size_t length;
    int type = script_raw_field(L, 1, key);
    if (type == LUA_TNIL) return lua_pushstring(L, otherwise);
    if (type != LUA_TSTRING)
        luaL_error(L, "rill.%s: %s must be a string, not a %s", d->word, key, luaL_typename(L, -1));
    const char *text = lua_tolstring(L, -1, &length);
    if (strlen(text) != length || strpbrk(text, "\r\n") != NULL)
        luaL_error(L, "rill.%s: %s must be one line", d->word, key);
    return text;
}

static int read_function(lua_State *L, const script_declaration *d, const char *key, int mandatory)
{
    int type = script_raw_field(L, 1, key);
    if (type == LUA_TNIL && !mandatory) {
        lua_pop(L, 1);
        return LUA_NOREF;
    }
    if (type == LUA_TNIL) luaL_error(L, "rill.%s: %s = function ... end is missing", d->word, key);
    if (type != LUA_TFUNCTION)
        luaL_error(L, "rill.%s: %s must be a function, not a %s", d->word, key, luaL_typename(L, -1));
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

static int32_t read_number(lua_State *L, const script_declaration *d)
{
    lua_Integer value = 0;
    const int type = script_raw_field(L, 1, d->number_key), is_switch = d->max_number == 1;
    if (is_switch && type != LUA_TBOOLEAN && type != LUA_TNIL)
        luaL_error(L, "rill.%s: %s must be true or false", d->word, d->number_key);
    if (is_switch)
        value = lua_toboolean(L, -1);
    else if (type != LUA_TNIL && !script_whole_number(L, -1, 0, d->max_number, &value))
        luaL_error(L, "rill.%s: %s must be a whole number from 0 to %d", d->word, d->number_key, (int)d->max_number);
    lua_pop(L, 1);
    return (int32_t)value;
}

/* --- tables of plugins -------------------------------------------------------------------------------------------- */

/* Create the table of functions (script_table) of a plugin with its strings, and link it into the script's list of plugins. */
static script_table *make_table(lua_State *L, const script_declaration *d, const char *const text[TEXTS])
{
    rill_script *s = script_from_lua(L);
    int n = 0;
    for (const script_table *t = s->tables; t != NULL; t = t->next) n++;
    /* the context allocates these tables, so the script's memory limit does not cover them; their number is limited instead */
    if (n >= SCRIPT_MAX_TABLES)
        luaL_error(L, "rill.%s: a script may declare at most %d objects: is this call in a loop?", d->word,
                   SCRIPT_MAX_TABLES);
    script_table *t = rill_calloc(s->ctx, 1, sizeof *t);
    if (t == NULL) script_check(L, rill_fail_memory(s->ctx, sizeof *t, "a declaration"));
    t->script = s;
    t->declaration = d;
    t->create = LUA_NOREF;
    for (int i = 0; i < SCRIPT_MAX_FUNCTIONS; i++) t->function[i] = LUA_NOREF;
    t->next = s->tables;
    s->tables = t;
    const char **const copies[TEXTS] = {&t->name, &t->arguments, &t->summary};
    for (int i = 0; i < TEXTS; i++) {
        *copies[i] = lua_pushstring(L, text[i]);
        luaL_ref(L, LUA_REGISTRYINDEX); /* keeps the string until the script ends */
    }
    return t;
}

void script_tables_free(rill_script *s)
{
    while (s->tables != NULL) {
        script_table *t = s->tables;
        s->tables = t->next;
        rill_free(s->ctx, t, sizeof *t);
    }
}

/* --- objects: results of rill.heuristic{} and the like ---------------------------------------------------------------- */

static const char object_type[] = "declaration";

static int object_text(lua_State *L)
{
    const script_table *t = script_table_get(L, 1);
    if (t == NULL) return luaL_typeerror(L, 1, object_type);
    lua_pushfstring(L, "%s %s", t->declaration->word, t->name);
    return 1;
}

/* Push the object of a declaration, and register its plugin. */
static void push_object(lua_State *L, script_table *t)
{
    script_table **object = lua_newuserdatauv(L, sizeof *object, 0);
    *object = t;
    /* the fields are set each time: at an earlier time memory may have run out before all were set */
    luaL_newmetatable(L, object_type);
    lua_pushcfunction(L, object_text);
    lua_setfield(L, -2, "__tostring");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    if (t->declaration->publish != NULL) script_check(L, t->declaration->publish(t));
}

script_table *script_table_get(lua_State *L, int index)
{
    script_table **object = luaL_testudata(L, index, object_type);
    return object != NULL ? *object : NULL;
}

static int declare(lua_State *L)
{
    const script_declaration *d = lua_touserdata(L, lua_upvalueindex(1));
    const char *text[TEXTS] = {NULL, "", NULL};
    check_declaration(L, d);
    text[NAME] = read_name(L, d);
    if (d->has_arguments) text[ARGUMENTS] = read_text(L, d, "arguments", "");
    text[SUMMARY] = read_text(L, d, "summary", lua_pushfstring(L, "declared in %s", script_from_lua(L)->path));
    script_table *t = make_table(L, d, text);
    if (d->number_key != NULL) t->number = read_number(L, d);
    t->create = read_function(L, d, "create", 0);
    for (int i = 0; d->functions[i] != NULL; i++) t->function[i] = read_function(L, d, d->functions[i], i == 0);
    push_object(L, t);
    return 1;
}

void script_declaration_open(lua_State *L, const script_declaration *d)
{
    const char *keys[MAX_DECLARATION_KEYS];
    size_t n = list_keys(d, keys);
    for (size_t i = 0; i < n; i++) script_name_add(L, d->word, keys[i]);
    lua_pushlightuserdata(L, (void *)d);
    lua_pushcclosure(L, declare, 1);
    lua_setfield(L, -2, d->word);
}

/* --- bare functions ----------------------------------------------------------------------------------------------- */

const void *script_find(const rill_context *ctx, script_kind kind, const char *name)
{
    switch (kind) {
    case SCRIPT_HEURISTIC: return rill_find_heuristic(ctx, name);
    case SCRIPT_SCORER: return rill_find_scorer(ctx, name);
    case SCRIPT_SCHEDULER: return rill_find_scheduler(ctx, name);
    case SCRIPT_DOMAIN: return rill_find_domain(ctx, name);
    }
    return NULL;
}

/* Make a name that no plugin of the context has. Several scripts may use functions without a declared name. */
static void make_unused_name(const rill_script *s, const script_declaration *d, char name[SCRIPT_NAME_MAX])
{
    int n = 0;
    for (const script_table *t = s->tables; t != NULL; t = t->next) n += t->is_function && t->declaration == d;
    do snprintf(name, SCRIPT_NAME_MAX, "script-%s-%d", d->word, ++n);
    while (script_find(s->ctx, d->kind, name) != NULL);
}

static script_table *make_function_table(lua_State *L, int function, const script_declaration *d)
{
    char name[SCRIPT_NAME_MAX];
    rill_script *s = script_from_lua(L);
    make_unused_name(s, d, name);
    const char *summary = lua_pushfstring(L, "a function of %s", s->path);
    script_table *t = make_table(L, d, (const char *const[TEXTS]){name, "", summary});
    lua_pop(L, 1);
    t->is_function = 1;
    lua_pushvalue(L, function);
    t->function[0] = luaL_ref(L, LUA_REGISTRYINDEX);
    push_object(L, t);
    return t;
}

/* The registry has a table for each kind of declaration, under the kind's name: from functions to their objects. */
script_table *script_declare_function(lua_State *L, int index, const script_declaration *d)
{
    int function = lua_absindex(L, index);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, d->word);
    lua_pushvalue(L, function);
    lua_rawget(L, -2);
    script_table *t = script_table_get(L, -1);
    if (t != NULL) return t;
    lua_pop(L, 1);
    t = make_function_table(L, function, d);
    lua_pushvalue(L, function);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
    return t;
}

void *script_function_make(lua_State *L, int index, const script_declaration *declaration)
{
    script_table *t = script_declare_function(L, index, declaration);
    lua_pop(L, 2);
    t->as.function_instance = (script_instance){t, LUA_NOREF};
    return &t->as.function_instance;
}

/* --- instances of plugins ----------------------------------------------------------------------------------------- */

typedef struct instance_creation {
    script_instance *instance;
    const char *arguments;
    rill_status refused;
} instance_creation;

/* Call the script's `create`. Its result becomes the value of the new instance; nil, or nil and a message, refuses the arguments. */
static int make_value(lua_State *L)
{
    instance_creation *m = lua_touserdata(L, 1);
    const script_table *t = m->instance->table;
    if (t->create == LUA_NOREF) {
        lua_pushstring(L, m->arguments);
    } else {
        lua_rawgeti(L, LUA_REGISTRYINDEX, t->create);
        lua_pushstring(L, m->arguments);
        lua_call(L, 1, 2);
        if (lua_isnil(L, -2)) {
            const char *why = lua_isstring(L, -1) ? script_text(L, -1, "create: the message")
                                                  : "invalid arguments (create returned nil without a message)";
            m->refused = rill_fail(t->script->ctx, RILL_ERR_OPTION, "%s %s: arguments \"%s\"%s%s: %s",
                                   t->declaration->word, t->name, m->arguments, t->arguments[0] != '\0' ? " for " : "",
                                   t->arguments, why);
            return 0;
        }
        lua_pop(L, 1);
    }
    m->instance->value = luaL_ref(L, LUA_REGISTRYINDEX);
    if (t->declaration->instance_start != NULL) t->declaration->instance_start(L, m->instance);
    return 0;
}

static int takes_arguments(const script_table *t)
{
    return t->declaration->has_arguments ? t->arguments[0] != '\0' : t->create != LUA_NOREF;
}

rill_status script_instance_create(const void *table, rill_context *ctx, const char *arguments, void **self)
{
    const script_table *t = table;
    *self = NULL;
    if (arguments == NULL) arguments = "";
    if (arguments[0] != '\0' && !takes_arguments(t))
        return rill_fail(ctx, RILL_ERR_OPTION, "%s %s takes no arguments, found \"%s\"", t->declaration->word, t->name,
                         arguments);
    script_instance *instance = *self = rill_calloc(ctx, 1, t->declaration->instance_size);
    if (instance == NULL) return rill_fail_memory(ctx, t->declaration->instance_size, t->name);
    *instance = (script_instance){t, LUA_NOREF};
    instance_creation m = {instance, arguments, RILL_OK};
    rill_status status = script_protect(t->script, make_value, &m);
    if (status < 0 && status != RILL_ERR_MEMORY)
        rill_fail(ctx, status, "%s %s with arguments \"%s\": %s", t->declaration->word, t->name, arguments,
                  rill_error(ctx));
    if (status == RILL_OK) status = m.refused;
    return RILL_OPENED(status, self, script_instance_destroy);
}

void script_instance_destroy(void *self)
{
    script_instance *instance = self;
    if (instance == NULL) return;
    const script_table *t = instance->table;
    luaL_unref(t->script->L, LUA_REGISTRYINDEX, instance->value);
    if (t->declaration->instance_finish != NULL) t->declaration->instance_finish(instance);
    rill_free(t->script->ctx, instance, t->declaration->instance_size);
}

/* --- calling an instance ------------------------------------------------------------------------------------------ */

typedef struct instance_call {
    const script_instance *instance;
    int which;
    const script_view_class *kind;
    void *data;
    const void *call;
    void (*take)(lua_State *L, void *out);
    void *out;
} instance_call;

/* Call a function of the script with the view and the instance's value. Runs protected, since pushing the view may fail. */
static int call_instance(lua_State *L)
{
    const instance_call *v = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, v->instance->table->function[v->which]);
    lua_pushvalue(L, -1); /* the function also stays at index 2, for messages */
    script_view_push(L, v->kind, v->data, v->call);
    lua_rawgeti(L, LUA_REGISTRYINDEX, v->instance->value);
    lua_call(L, 2, v->take != NULL);
    if (v->take != NULL) v->take(L, v->out);
    return 0;
}

rill_status script_instance_call(const script_instance *instance, int which, const script_view_class *kind, void *data,
                                 const void *call, void (*take)(lua_State *L, void *out), void *out)
{
    instance_call v = {instance, which, kind, data, call, take, out};
    return script_protect(instance->table->script, call_instance, &v);
}

void script_refuse_array(lua_State *L, void *instead)
{
    lua_Debug function;
    if (!script_array_is(L, -1)) return;
    lua_pushvalue(L, 2);
    lua_getinfo(L, ">S", &function);
    lua_pushfstring(L, "%s:%d: the function returned an array, but its result is ignored: %s", function.short_src,
                    function.linedefined, (const char *)instead);
    lua_error(L);
}

/* --- finding the input that failed -------------------------------------------------------------------------------- */

typedef enum failing_inputs { NO_INPUT_FAILS, SOME_INPUT_FAILS, EVERY_INPUT_FAILS } failing_inputs;

/* Repeat a failed call for each input alone, until one has failed and one has not. Returns whether some, all or none fail. *id: if
 * some fail, the first of them. */
static failing_inputs find_failing_input(rill_script *s, int32_t n, int64_t *id,
                                         rill_status (*call_one)(void *, int32_t, int64_t *), void *user)
{
    const rill_script_options limits = s->options;
    int failed = 0, passed = 0;
    /* After an exceeded limit each of n inputs gets 2/n of it, so all inputs together take at most twice the limit. */
    if (s->has_hit_limit && limits.instructions > 0) s->options.instructions = 2 * (limits.instructions / n) + 1;
    if (s->has_hit_limit && limits.seconds > 0) s->options.seconds = 2 * limits.seconds / n;
    for (int32_t i = 0; i < n && !(failed && passed); i++) {
        int64_t tried_id;
        if (call_one(user, i, &tried_id) >= 0) {
            passed = 1;
        } else if (!failed) {
            failed = 1;
            *id = tried_id;
        }
    }
    s->options = limits;
    return !failed ? NO_INPUT_FAILS : passed ? SOME_INPUT_FAILS : EVERY_INPUT_FAILS;
}

rill_status script_locate_error(const script_instance *instance, rill_status status, int32_t n, int64_t first,
                                rill_status (*call_one)(void *user, int32_t i, int64_t *id), void *user)
{
    const script_table *t = instance->table;
    rill_script *s = t->script;
    char message[SCRIPT_MESSAGE_MAX];
    int64_t id = first;
    /* Out of memory is no fault of a single input, and a repeated call would fail again. */
    const int again = n > 1 && status != RILL_ERR_MEMORY;
    snprintf(message, sizeof message, "%s", rill_error(s->ctx));
    const failing_inputs found = again ? find_failing_input(s, n, &id, call_one, user) : NO_INPUT_FAILS;
    if (n == 1 || found == SOME_INPUT_FAILS)
        return rill_fail(s->ctx, status, "%s %s, while decoding input %lld (line %lld): %s", t->declaration->word,
                         t->name, (long long)id, (long long)id + 1, message);
    return rill_fail(s->ctx, status, "%s %s, in a timestep of %d inputs, the first is input %lld (line %lld)%s: %s",
                     t->declaration->word, t->name, n, (long long)first, (long long)first + 1,
                     !again                    ? ""
                     : found == NO_INPUT_FAILS ? ", no input fails alone"
                                               : ", each input fails alone",
                     message);
}
