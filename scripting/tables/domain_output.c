/* A Lua domain's functions for outputs, and for freed inputs and states.
 *
 * drop, free and measure return no status: a script error in them fails the next callback that does. */
#include <stdio.h>
#include <string.h>

#include "script_domain.h"

/* --- finalize ----------------------------------------------------------------------------------------------------- */

typedef struct finalize_call {
    script_model *m;
    const rill_hypothesis *hypothesis;
    rill_text *out;
} finalize_call;

/* Return the number of actions of the hypothesis, not counting the end action. */
static int32_t text_length(const script_model *m, const rill_hypothesis *h)
{
    return h->length > 0 && h->action[h->length - 1] == m->info.end_action ? h->length - 1 : h->length;
}

/* Set those fields of the table that are lists with an element for each action. */
static void set_lists(lua_State *L, const script_model *m, const rill_hypothesis *h, int32_t n)
{
    const struct {
        const char *name;
        const float *values; /* [n] the list's values; NULL: the list of actions */
    } lists[] = {{"actions", NULL}, {"logps", h->action_logp}, {"path_scores", h->action_path_score}};
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++) {
        lua_createtable(L, n, 0);
        for (int32_t i = 0; i < n; i++) {
            if (lists[list].values != NULL)
                lua_pushnumber(L, (lua_Number)lists[list].values[i]);
            else
                domain_push_action(L, m, h->action[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        lua_setfield(L, -2, lists[list].name);
    }
}

static void push_hypothesis(lua_State *L, const script_model *m, const rill_hypothesis *h)
{
    int32_t n = text_length(m, h);
    lua_createtable(L, 0, 10);
    set_lists(L, m, h, n);
    lua_pushnumber(L, h->path_score);
    lua_setfield(L, -2, "path_score");
    lua_pushnumber(L, h->logp);
    lua_setfield(L, -2, "logp");
    lua_pushboolean(L, h->truncated);
    lua_setfield(L, -2, "truncated");
    lua_pushboolean(L, n < h->length);
    lua_setfield(L, -2, "ended");
    domain_push_entry(L, m->texts, h->slot);
    lua_setfield(L, -2, "input");
    if (!m->domain->by_rows) {
        domain_push_entry(L, m->starts, h->slot);
        lua_setfield(L, -2, "start");
        return;
    }
    lua_pushinteger(L, h->slot);
    lua_setfield(L, -2, "slot");
    if (m->info.state_need != RILL_STATE_PATH) return;
    script_push_integers(L, h->node, n);
    lua_setfield(L, -2, "nodes");
}

/* Push the names or numbers of the actions, joined by the separator. This is the output text if the domain has no finalize(). */
static void push_joined(lua_State *L, const script_model *m, const rill_hypothesis *h)
{
    int32_t n = text_length(m, h);
    luaL_Buffer joined;
    domain_push(L, m->separator);
    int separator = lua_gettop(L);
    luaL_buffinit(L, &joined);
    for (int32_t i = 0; i < n; i++) {
        if (i > 0) {
            lua_pushvalue(L, separator);
            luaL_addvalue(&joined);
        }
        domain_push_action(L, m, h->action[i]);
        luaL_addvalue(&joined);
    }
    luaL_pushresult(&joined);
}

/* Append the string on top of the stack, which `function` has returned, to `out`. Raises unless it is a string of one line. */
static void append_line(lua_State *L, const char *function, rill_text *out)
{
    if (lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L, "%s returned a %s: a string of one line was expected", function, luaL_typename(L, -1));
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    if (memchr(text, '\n', length) != NULL || memchr(text, '\0', length) != NULL)
        luaL_error(L, "%s returned a text with a line break or a zero byte: an output must be one line", function);
    script_check(L, rill_text_append(out, text, length));
}

static int finalize_one(lua_State *L)
{
    const finalize_call *call = lua_touserdata(L, 1);
    script_model *m = call->m;
    m->slot = call->hypothesis->slot;
    if (!domain_has(m, DOMAIN_FINALIZE)) {
        push_joined(L, m, call->hypothesis);
    } else {
        domain_push_method(L, m, DOMAIN_FINALIZE);
        push_hypothesis(L, m, call->hypothesis);
        lua_call(L, 2, 1);
    }
    append_line(L, "finalize", call->out);
    return 0;
}

rill_status domain_finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    return domain_protect(self, "finalize", finalize_one, &(finalize_call){self, hypothesis, out});
}

/* --- drop and free ------------------------------------------------------------------------------------------------ */

typedef struct end_call {
    script_model *m;
    int32_t n;
    const int32_t *ids; /* the ids of states to free, or the slot to drop */
} end_call;

static int drop_one(lua_State *L)
{
    const end_call *call = lua_touserdata(L, 1);
    script_model *m = call->m;
    lua_Integer index_in_tables = (lua_Integer)call->ids[0] + 1;
    m->slot = call->ids[0];
    if (domain_has(m, DOMAIN_DROP)) {
        domain_push_method(L, m, DOMAIN_DROP);
        lua_pushinteger(L, call->ids[0]);
        lua_call(L, 2, 0);
    }
    domain_push(L, m->texts);
    domain_push(L, m->starts);
    for (int table = 2; table <= 3; table++) {
        lua_pushnil(L);
        lua_rawseti(L, table, index_in_tables);
    }
    return 0;
}

void domain_drop(void *self, int32_t slot)
{
    domain_protect_deferred(self, "drop", drop_one, &(end_call){self, 1, &slot});
}

/* Remove states from the table of states, so that Lua's garbage collector frees them. */
static int free_states(lua_State *L)
{
    const end_call *call = lua_touserdata(L, 1);
    domain_push(L, call->m->states);
    for (int32_t i = 0; i < call->n; i++) {
        lua_pushnil(L);
        lua_rawseti(L, 2, (lua_Integer)call->ids[i] + 1);
    }
    return 0;
}

static int free_by_rows(lua_State *L)
{
    const end_call *call = lua_touserdata(L, 1);
    domain_push_method(L, call->m, DOMAIN_FREE);
    script_array_push(L, ARRAY_I32, call->ids, call->n, ARRAY_PLAIN, 0);
    lua_call(L, 2, 0);
    return 0;
}

void domain_free(void *self, int32_t n, const int32_t *nodes)
{
    script_model *m = self;
    if (!domain_has(m, DOMAIN_FREE)) {
        if (!m->domain->by_rows) domain_protect_deferred(m, "free", free_states, &(end_call){m, n, nodes});
        return;
    }
    script_frame old_frame = script_begin(m->script, NULL, 0);
    domain_protect_deferred(m, "free", free_by_rows, &(end_call){m, n, nodes});
    script_end(m->script, old_frame);
}

/* --- measure and canonical ---------------------------------------------------------------------------------------- */

typedef struct text_call {
    script_model *m;        /* the model; NULL in calls of canonical(), which has none */
    const script_domain *d; /* set for canonical() only: the domain */
    const char *text;
    size_t length;
    int64_t number; /* the result of measure(), a size; or the action of action_name and find_action */
    rill_text *out;
} text_call;

static int measure_one(lua_State *L)
{
    text_call *call = lua_touserdata(L, 1);
    domain_push_method(L, call->m, DOMAIN_MEASURE);
    lua_pushlstring(L, call->text, call->length);
    lua_call(L, 2, 1);
    lua_Integer size;
    if (!script_whole_number(L, -1, 0, DOMAIN_MAX_SIZE, &size))
        luaL_error(L, "measure returned %s: a whole number from 0 to %I was expected", luaL_tolstring(L, -1, NULL),
                   (LUAI_UACINT)DOMAIN_MAX_SIZE);
    call->number = size;
    return 0;
}

int64_t domain_measure(void *self, const char *text, size_t length)
{
    text_call call = {.m = self, .text = text, .length = length};
    domain_protect_deferred(self, "measure", measure_one, &call);
    return call.number;
}

static int canonical_one(lua_State *L)
{
    const text_call *call = lua_touserdata(L, 1);
    domain_push(L, call->d->function[DOMAIN_CANONICAL]);
    lua_pushlstring(L, call->text, call->length);
    lua_call(L, 1, 1);
    append_line(L, "canonical", call->out);
    return 0;
}

rill_status domain_canonical(const rill_domain *table, rill_context *ctx, const char *text, size_t length,
                             rill_text *out)
{
    const script_domain *d = (const script_domain *)table;
    text_call call = {.d = d, .text = text, .length = length, .out = out};
    rill_status status = script_protect(d->script, canonical_one, &call);
    if (status >= 0) return status;
    return rill_fail(ctx, status, "domain %s: canonical: %s", table->name, rill_error(ctx));
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static int name_one(lua_State *L)
{
    const text_call *call = lua_touserdata(L, 1);
    domain_push_action(L, call->m, (int32_t)call->number);
    append_line(L, "action", call->out);
    return 0;
}

rill_status domain_action_name(void *self, int32_t action, rill_text *out)
{
    script_model *m = self;
    if (m->names == LUA_NOREF || action < 0 || action >= m->info.actions)
        return rill_fail(m->script->ctx, RILL_ERR_NOT_FOUND, "domain %s: action %d has no name", m->domain->table.name,
                         (int)action);
    return domain_protect(m, "action_name", name_one, &(text_call){.m = m, .number = action, .out = out});
}

static int find_one(lua_State *L)
{
    text_call *call = lua_touserdata(L, 1);
    domain_push(L, call->m->ids);
    lua_pushlstring(L, call->text, call->length);
    if (lua_rawget(L, -2) == LUA_TNUMBER) call->number = lua_tointeger(L, -1);
    return 0;
}

int32_t domain_find_action(void *self, const char *text, size_t length)
{
    script_model *m = self;
    text_call call = {.m = m, .text = text, .length = length, .number = RILL_NO_ACTION};
    if (m->ids != LUA_NOREF) domain_protect_deferred(m, "find_action", find_one, &call);
    return (int32_t)call.number;
}

/* --- texts to actions --------------------------------------------------------------------------------------------- */

typedef struct tokenize_call {
    script_model *m;
    const char *text;
    size_t length;
    int32_t *action; /* [capacity] the resulting actions */
    int32_t capacity, n;
    char refused[SCRIPT_MESSAGE_MAX]; /* the reason why the text cannot be tokenized; "": it can */
} tokenize_call;

/* Store the message that the script's tokenize() returned after nil: it says why the text cannot be tokenized. */
static void take_refusal(lua_State *L, tokenize_call *call)
{
    if (lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L,
                   "tokenize returned nil without a message: it must return a list of actions, or nil and a message");
    snprintf(call->refused, sizeof call->refused, "%s", script_text(L, -1, "tokenize: the message"));
}

static int tokenize_one(lua_State *L)
{
    enum { STACK_CALL = 1, STACK_LIST, STACK_REASON, STACK_IDS, ACTION_COST = 5 };
    tokenize_call *call = lua_touserdata(L, STACK_CALL);
    const script_model *m = call->m;
    domain_push_method(L, m, DOMAIN_TOKENIZE);
    lua_pushlstring(L, call->text, call->length);
    lua_call(L, 2, 2);
    if (lua_isnil(L, STACK_LIST)) return take_refusal(L, call), 0;
    if (!lua_istable(L, STACK_LIST))
        luaL_error(L, "tokenize returned a %s: it must return a list of actions, or nil and a message",
                   luaL_typename(L, STACK_LIST));
    domain_push(L, m->ids);
    const lua_Unsigned n = lua_rawlen(L, STACK_LIST);
    if (n > INT32_MAX) luaL_error(L, "tokenize returned a list of more than %d actions", (int)INT32_MAX);
    script_charge(L, (int64_t)n * ACTION_COST);
    for (int32_t i = 0; i < (int32_t)n; i++) {
        lua_rawgeti(L, STACK_LIST, i + 1);
        const int32_t action = domain_read_action(L, m, lua_gettop(L), m->ids != LUA_NOREF ? STACK_IDS : 0, "tokenize");
        if (i < call->capacity) call->action[i] = action;
        lua_pop(L, 1);
    }
    call->n = (int32_t)n;
    return 0;
}

rill_status domain_tokenize(void *self, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t capacity, int32_t *n)
{
    script_model *m = self;
    tokenize_call call = {.m = m, .text = text, .length = length, .action = action, .capacity = capacity};
    rill_status status = domain_protect(m, "tokenize", tokenize_one, &call);
    *n = call.n;
    if (status >= 0 && call.refused[0] != '\0') return rill_fail(ctx, RILL_ERR_INPUT, "%s", call.refused);
    if (status >= 0 || ctx == m->script->ctx) return status;
    return rill_fail(ctx, status, "%s", rill_error(m->script->ctx));
}
