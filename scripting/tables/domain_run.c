/* Running a Lua domain: the engine's calls between open and close.
 *
 * Entering Lua is slow, so each engine call makes one protected Lua call, which loops over the rows. A row's choices are a Lua table, in
 * any order; rill_score_result_fill() sorts them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "script_domain.h"

/* --- failures ----------------------------------------------------------------------------------------------------- */

enum { SHOWN_BYTES = 60 };

/* Write where a failure happened to `out`, as " of input 3 ("the text")"; write "" if no input is being processed. */
static void describe_input(const script_model *m, char *out, size_t size)
{
    out[0] = '\0';
    if (m->slot < 0 || (size_t)m->slot >= m->inputs_capacity || m->texts == LUA_NOREF) return;
    lua_State *L = m->script->L;
    if (!lua_checkstack(L, 2)) return;
    domain_push_entry(L, m->texts, m->slot);
    size_t length = 0;
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : "";
    int cut = length > SHOWN_BYTES ? SHOWN_BYTES : (int)length;
    while (cut < (int)length && cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--; /* cut the text before a UTF-8 character, not inside it */
    snprintf(out, size, " of input %lld (\"%.*s%s\")", (long long)m->inputs[m->slot], cut, text,
             cut < (int)length ? "..." : "");
    lua_pop(L, 1);
}

static rill_status call_protected(script_model *m, const char *what, lua_CFunction fn, void *call)
{
    rill_context *ctx = m->script->ctx;
    const struct rows_call *outer = m->script->score_call;
    m->slot = -1;
    rill_status status = script_protect(m->script, fn, call);
    m->script->score_call = outer;
    if (status >= 0) return status;
    char input[160];
    describe_input(m, input, sizeof input);
    return rill_fail(ctx, status, "domain %s: %s%s: %s", m->domain->table.name, what, input, rill_error(ctx));
}

rill_status domain_protect(script_model *m, const char *what, lua_CFunction fn, void *call)
{
    const rill_status late = script_late_take(&m->failed, m->script->ctx);
    return late < 0 ? late : call_protected(m, what, fn, call);
}

void domain_protect_deferred(script_model *m, const char *what, lua_CFunction fn, void *call)
{
    rill_context *ctx = m->script->ctx;
    const rill_status old_status = rill_error_status(ctx);
    char sentence[SCRIPT_MESSAGE_MAX];
    snprintf(sentence, sizeof sentence, "%s", rill_error(ctx));
    const rill_status status = call_protected(m, what, fn, call);
    script_late_keep(&m->failed, ctx, status);
    if (status < 0 && old_status < 0) rill_fail(ctx, old_status, "%s", sentence);
    if (status < 0 && old_status >= 0) rill_error_clear(ctx);
}

/* --- actions ------------------------------------------------------------------------------------------------------ */

void domain_push_action(lua_State *L, const script_model *m, int32_t action)
{
    if (m->names != LUA_NOREF)
        domain_push_entry(L, m->names, action);
    else
        lua_pushinteger(L, action);
}

int32_t domain_read_action(lua_State *L, const script_model *m, int index, int ids, const char *what)
{
    if (lua_type(L, index) == LUA_TNUMBER) {
        lua_Integer action;
        if (!script_whole_number(L, index, 0, m->info.actions - 1, &action))
            luaL_error(L, "%s: action %s is not one of 0 to %d", what, luaL_tolstring(L, index, NULL),
                       (int)m->info.actions - 1);
        return (int32_t)action;
    }
    if (lua_type(L, index) != LUA_TSTRING)
        luaL_error(L, "%s: a %s cannot be an action: actions are names or whole numbers from 0", what,
                   luaL_typename(L, index));
    if (ids == 0)
        luaL_error(L, "%s: action \"%s\" has a name, but this domain's actions are the numbers 0 to %d", what,
                   lua_tostring(L, index), (int)m->info.actions - 1);
    lua_pushvalue(L, index);
    lua_rawget(L, ids);
    if (lua_isnil(L, -1))
        luaL_error(L, "%s: \"%s\" is not among the names of the actions", what, lua_tostring(L, index));
    int32_t action = (int32_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return action;
}

/* Return the action's name or number for a message. */
static const char *action_text(lua_State *L, const script_model *m, int32_t action)
{
    domain_push_action(L, m, action);
    return luaL_tolstring(L, -1, NULL);
}

/* --- choices of actions ------------------------------------------------------------------------------------------- */

/* Remove the choices of the previous row, and their marks in `seen`. Both are still there if the call for that row failed. */
static void clear_choices(script_model *m)
{
    for (int32_t i = 0; i < m->n; i++) m->seen[m->action[i]] = 0;
    m->n = m->has_last = 0;
}

static void reserve_row_choices(lua_State *L, script_model *m)
{
    const rill_array columns[] = {RILL_ARRAY(m->action), RILL_ARRAY(m->logp), RILL_ARRAY(m->terminal)};
    script_check(L, rill_columns_grow(m->script->ctx, &m->choices, (size_t)m->n + 1, columns,
                                      sizeof columns / sizeof *columns, "choices"));
}

/* Read a choice: action and log-probability, which are on top of the stack. last: stack index of the actions that complete the hypothesis:
 * true (all) or a set; 0: none. */
static void read_choice(lua_State *L, script_model *m, int last, int ids)
{
    int key = lua_gettop(L) - 1;
    int32_t action = domain_read_action(L, m, key, ids, "choices");
    if (lua_type(L, key + 1) != LUA_TNUMBER)
        luaL_error(L, "choices: the log-probability of action %s must be a number, not a %s", action_text(L, m, action),
                   luaL_typename(L, key + 1));
    float logp = (float)lua_tonumber(L, key + 1);
    if (isnan(logp) || logp == INFINITY || (logp == -INFINITY && lua_tonumber(L, key + 1) > -HUGE_VAL))
        luaL_error(L, "choices: the log-probability of action %s must be finite or -inf, not %f",
                   action_text(L, m, action), lua_tonumber(L, key + 1));
    if (logp == -INFINITY) return; /* the action is forbidden */
    if (m->seen[action])
        luaL_error(L, "choices: action %s occurs twice: by name and by number", action_text(L, m, action));
    int ends = action == m->info.end_action, lasts = 0;
    if (last != 0 && !ends) {
        if (lua_isboolean(L, last)) {
            lasts = lua_toboolean(L, last);
        } else {
            lua_pushvalue(L, key);
            lua_rawget(L, last);
            lasts = lua_toboolean(L, -1);
            lua_pop(L, 1);
        }
    }
    reserve_row_choices(L, m);
    m->seen[action] = 1;
    m->action[m->n] = action;
    m->logp[m->n] = logp;
    m->terminal[m->n++] = (uint8_t)(ends ? RILL_END : lasts ? RILL_LAST : RILL_LIVE);
    m->has_last |= lasts;
}

/* Read a row's choices from the table at `scores`, which maps actions to log-probabilities. Raises.
 *   last   stack index of the actions that complete the hypothesis: true (all), a set, or nil (none) */
static void read_choices(lua_State *L, script_model *m, int scores, int last, int ids)
{
    clear_choices(m);
    if (!lua_istable(L, scores))
        luaL_error(L, "choices must be a table, action -> log-probability ({} if no action may follow), not a %s",
                   luaL_typename(L, scores));
    if (lua_isnil(L, last))
        last = 0;
    else if (!lua_istable(L, last) && !lua_isboolean(L, last))
        luaL_error(L, "choices: the set of last actions must be true or a table, action -> true, not a %s",
                   luaL_typename(L, last));
    for (lua_pushnil(L); lua_next(L, scores); lua_pop(L, 1)) read_choice(L, m, last, ids);
}

typedef struct rows_call {
    script_model *m;
    const rill_rows *rows;
    const rill_score_request *request; /* the score() request; NULL in a call of step() */
    rill_score_result *out;
    const void
        *table; /* address of the table `rows` that the script's score() got, by which rows:answer() recognises it */
} rows_call;

/* Write the choices that the model holds to row `row` of the result. */
static void fill_choices(const rows_call *call, int32_t row)
{
    const script_model *m = call->m;
    rill_score_result_fill(call->request, row, m->n, m->action, m->logp, m->has_last ? m->terminal : NULL, call->out);
}

/* --- encode ------------------------------------------------------------------------------------------------------- */

rill_status domain_reserve(void *self, int32_t nodes, int32_t slots)
{
    script_model *m = self;
    (void)nodes; /* unused, since the tables of states grow on demand */
    return rill_grow(m->script->ctx, (void **)&m->inputs, &m->inputs_capacity, (size_t)slots, sizeof *m->inputs,
                     "inputs");
}

/* Return an integer field of the table of details about an input; 0 if the field is missing. */
static lua_Integer detail(lua_State *L, const char *function, int details, const char *name, lua_Integer max)
{
    lua_Integer value;
    if (lua_getfield(L, details, name) == LUA_TNIL) return lua_pop(L, 1), 0;
    if (!script_whole_number(L, -1, 1, max, &value))
        luaL_error(L, "%s: %s must be a whole number of at least 1, not %s", function, name,
                   luaL_tolstring(L, -1, NULL));
    lua_pop(L, 1);
    return value;
}

/* Read the field `note` of the table of details about an input: a warning that the user sees. */
static void read_note(lua_State *L, const char *function, int details, rill_input *input)
{
    const int type = lua_getfield(L, details, "note");
    if (type != LUA_TNIL && type != LUA_TSTRING)
        luaL_error(L, "%s: note must be a string, not a %s", function, luaL_typename(L, -1));
    if (type == LUA_TSTRING) rill_input_warn(input, "%s", script_text(L, -1, "note"));
    lua_pop(L, 1);
}

/* Read the fields `size`, `max_length` and `note` of the table of details about an input. The table may be nil. */
static void read_details(lua_State *L, const char *function, int details, rill_input *input)
{
    static const char *const keys[] = {"size", "max_length", "note"};
    if (lua_isnil(L, details)) return;
    if (!lua_istable(L, details))
        luaL_error(L, "%s: the description of an input must be a table {size =, max_length =, note =}, not a %s",
                   function, luaL_typename(L, details));
    script_check_keys(L, details, keys, 3, lua_pushfstring(L, "%s: the description of an input", function));
    lua_Integer size = detail(L, function, details, "size", DOMAIN_MAX_SIZE);
    if (size > 0) input->size = size;
    input->max_length = (int32_t)detail(L, function, details, "max_length", INT32_MAX);
    read_note(L, function, details, input);
}

static void push_input(lua_State *L, const rill_input *input, int text)
{
    lua_createtable(L, 0, 3);
    lua_pushvalue(L, text);
    lua_setfield(L, -2, "text");
    lua_pushinteger(L, input->id);
    lua_setfield(L, -2, "id");
    lua_pushinteger(L, input->slot);
    lua_setfield(L, -2, "slot");
}

/* Call the script's start() or encode() for one input. start() returns a state and optional details, encode() details or nil; nil and a
 * message fail this input alone. */
static void encode_one(lua_State *L, script_model *m, rill_input *input, int texts, int starts)
{
    int by_rows = m->domain->by_rows, top = lua_gettop(L);
    const char *function = by_rows ? "encode" : "start";
    m->slot = input->slot;
    m->inputs[input->slot] = input->id;
    lua_pushlstring(L, input->text, input->length);
    lua_pushvalue(L, -1);
    lua_rawseti(L, texts, (lua_Integer)input->slot + 1);
    domain_push_method(L, m, by_rows ? DOMAIN_ENCODE : DOMAIN_START);
    push_input(L, input, top + 1);
    lua_call(L, 2, 2);
    int state = top + 2, details = top + 3;
    if (lua_isnil(L, state) && lua_type(L, details) == LUA_TSTRING) {
        rill_input_fail(input, RILL_ERR_INPUT, "%s", script_text(L, details, "the message"));
        lua_pushnil(L);
        lua_rawseti(L, texts, (lua_Integer)input->slot + 1);
    } else if (by_rows) {
        read_details(L, function, state, input);
    } else {
        if (lua_isnil(L, state))
            luaL_error(L, "start returned nil without a message: it must return a state, or nil and a message");
        read_details(L, function, details, input);
        lua_pushvalue(L, state);
        lua_rawseti(L, starts, (lua_Integer)input->slot + 1);
    }
    lua_settop(L, top);
}

typedef struct encode_call {
    script_model *m;
    int32_t n;
    rill_input *inputs;
} encode_call;

static int encode_all(lua_State *L)
{
    const encode_call *call = lua_touserdata(L, 1);
    domain_push(L, call->m->texts);
    domain_push(L, call->m->starts);
    for (int32_t i = 0; i < call->n; i++) encode_one(L, call->m, &call->inputs[i], 2, 3);
    return 0;
}

rill_status domain_encode(void *self, int32_t n, rill_input *inputs)
{
    return domain_protect(self, "encode", encode_all, &(encode_call){self, n, inputs});
}

/* --- step --------------------------------------------------------------------------------------------------------- */

/* Stack indexes of the values that loops over rows use; push_call_values() pushes them in this order. */
enum { STACK_CALL = 1, STACK_STATES, STACK_STARTS, STACK_NAMES, STACK_SELF, STACK_FUNCTION };

static void push_call_values(lua_State *L, const script_model *m, domain_function function)
{
    domain_push(L, m->states);
    domain_push(L, m->starts);
    domain_push(L, m->names); /* pushes nil if actions have no names */
    domain_push(L, m->self);
    domain_push(L, m->domain->function[function]);
}

static int advance_all(lua_State *L)
{
    const rows_call *call = lua_touserdata(L, STACK_CALL);
    script_model *m = call->m;
    const rill_rows *rows = call->rows;
    push_call_values(L, m, DOMAIN_ADVANCE);
    int named = m->names != LUA_NOREF;
    for (int32_t i = 0; i < rows->n; i++) {
        m->slot = rows->slot[i];
        if (rows->action[i] == RILL_ACTION_START) {
            lua_rawgeti(L, STACK_STARTS, (lua_Integer)rows->slot[i] + 1);
        } else {
            lua_pushvalue(L, STACK_FUNCTION);
            lua_pushvalue(L, STACK_SELF);
            lua_rawgeti(L, STACK_STATES, (lua_Integer)rows->state_parent[i] + 1);
            if (named)
                lua_rawgeti(L, STACK_NAMES, (lua_Integer)rows->action[i] + 1);
            else
                lua_pushinteger(L, rows->action[i]);
            lua_pushinteger(L, rows->depth[i]);
            lua_pushinteger(L, rows->phase);
            lua_call(L, 5, 1);
            if (lua_isnil(L, -1)) luaL_error(L, "advance returned nil: it must return the state after the action");
        }
        lua_rawseti(L, STACK_STATES, (lua_Integer)rows->node[i] + 1);
    }
    return 0;
}

/* --- score -------------------------------------------------------------------------------------------------------- */

/* Call choices(self, state, depth, phase) for one row, and store its choices in the model. */
static void read_row_choices(lua_State *L, script_model *m, const rill_rows *rows, int32_t row)
{
    enum { STACK_SCORES = STACK_FUNCTION + 1, STACK_LAST };
    m->slot = rows->slot[row];
    lua_settop(L, STACK_FUNCTION);
    lua_pushvalue(L, STACK_FUNCTION);
    lua_pushvalue(L, STACK_SELF);
    lua_rawgeti(L, STACK_STATES, (lua_Integer)rows->node[row] + 1);
    lua_pushinteger(L, rows->depth[row]);
    lua_pushinteger(L, rows->phase);
    lua_call(L, 4, 2);
    read_choices(L, m, STACK_SCORES, STACK_LAST, m->ids != LUA_NOREF ? STACK_NAMES : 0);
}

static int score_all(lua_State *L)
{
    const rows_call *call = lua_touserdata(L, STACK_CALL);
    script_model *m = call->m;
    push_call_values(L, m, DOMAIN_CHOICES);
    domain_push(L, m->ids); /* the table from names to actions; score() needs no other one */
    lua_replace(L, STACK_NAMES);
    for (int32_t row = 0; row < call->rows->n; row++) {
        read_row_choices(L, m, call->rows, row);
        fill_choices(call, row);
    }
    return 0;
}

/* --- calls for all rows of a timestep ----------------------------------------------------------------------------- */

static void push_column(lua_State *L, const char *name, const int32_t *data, int32_t n)
{
    script_array_push(L, ARRAY_I32, data, n, ARRAY_PLAIN, 0);
    lua_setfield(L, -2, name);
}

/* Push the table `rows`, the argument of the script's step() and score(). Its fields are arrays over the engine's memory. */
static void push_rows(lua_State *L, const rill_rows *rows)
{
    lua_createtable(L, 0, 8);
    lua_pushinteger(L, rows->n);
    lua_setfield(L, -2, "n");
    lua_pushinteger(L, rows->phase);
    lua_setfield(L, -2, "phase");
    push_column(L, "node", rows->node, rows->n);
    push_column(L, "parent", rows->parent, rows->n);
    push_column(L, "state_parent", rows->state_parent, rows->n);
    push_column(L, "action", rows->action, rows->n);
    push_column(L, "slot", rows->slot, rows->n);
    push_column(L, "depth", rows->depth, rows->n);
    luaL_setmetatable(L, DOMAIN_ROWS);
}

static int has_one_slot(const rill_rows *rows)
{
    for (int32_t i = 1; i < rows->n; i++)
        if (rows->slot[i] != rows->slot[0]) return 0;
    return rows->n > 0;
}

static int step_by_rows(lua_State *L)
{
    const rows_call *call = lua_touserdata(L, 1);
    script_model *m = call->m;
    if (has_one_slot(call->rows)) m->slot = call->rows->slot[0];
    domain_push_method(L, m, DOMAIN_STEP);
    push_rows(L, call->rows);
    lua_call(L, 2, 0);
    return 0;
}

static int score_by_rows(lua_State *L)
{
    rows_call *call = lua_touserdata(L, 1);
    script_model *m = call->m;
    const rill_rows *rows = call->rows;
    rill_score_result *out = call->out;
    if (has_one_slot(rows)) m->slot = rows->slot[0];
    for (int32_t i = 0; i < rows->n; i++) out->count[i] = -1;
    domain_push_method(L, m, DOMAIN_SCORE);
    push_rows(L, rows);
    call->table = lua_topointer(L, -1);
    m->script->score_call = call;
    lua_call(L, 2, 0);
    for (int32_t i = 0; i < rows->n; i++) {
        if (out->count[i] >= 0) continue;
        m->slot = rows->slot[i];
        luaL_error(L, "score did not answer row %d: call rows:answer(%d, {}) if no action may follow", (int)i + 1,
                   (int)i + 1);
    }
    return 0;
}

int domain_rows_answer(lua_State *L)
{
    const rows_call *call = script_from_lua(L)->score_call;
    if (call == NULL || !lua_istable(L, 1) || lua_topointer(L, 1) != call->table)
        return luaL_error(L, "rows:answer() can only be called on the rows of the score() in progress");
    script_model *m = call->m;
    lua_Integer row = luaL_checkinteger(L, 2);
    if (row < 1 || row > call->rows->n)
        return luaL_error(L, "rows:answer(): row %I is not one of 1 to %d", (LUAI_UACINT)row, (int)call->rows->n);
    m->slot = call->rows->slot[row - 1];
    if (call->out->count[row - 1] >= 0)
        return luaL_error(L, "rows:answer(): row %I is already answered", (LUAI_UACINT)row);
    lua_settop(L, 4);
    if (m->ids != LUA_NOREF) domain_push(L, m->ids);
    read_choices(L, m, 3, 4, m->ids != LUA_NOREF ? 5 : 0);
    fill_choices(call, (int32_t)row - 1);
    return 0;
}

static rill_status protect_rows(script_model *m, const char *what, lua_CFunction each, lua_CFunction by_rows,
                                rows_call *call)
{
    if (!m->domain->by_rows) return domain_protect(m, what, each, call);
    script_frame old_frame = script_begin(m->script, NULL, 0);
    rill_status status = domain_protect(m, what, by_rows, call);
    script_end(m->script, old_frame);
    return status;
}

rill_status domain_step(void *self, const rill_rows *rows)
{
    return protect_rows(self, "step", advance_all, step_by_rows, &(rows_call){.m = self, .rows = rows});
}

rill_status domain_score(void *self, const rill_rows *rows, const rill_score_request *score_request,
                         rill_score_result *out)
{
    return protect_rows(self, "score", score_all, score_by_rows, &(rows_call){self, rows, score_request, out, NULL});
}
