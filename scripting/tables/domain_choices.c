/* Converts a row's choices from a script's table to the engine's arrays.
 *
 * The script returns a map from actions to log-probabilities, which Lua traverses in an order that depends on
 * addresses. The engine never sees this order: rill_score_result_fill() sorts by log-probability, then action.
 *
 * Divisions: actions · reading · writing. */
#include <math.h>

#include "script_domain.h"

/* --- actions ------------------------------------------------------------------------------------------------------ */

void domain_push_action(lua_State *L, const script_model *m, int32_t action)
{
    if (m->names == LUA_NOREF) {
        lua_pushinteger(L, action);
        return;
    }
    domain_push(L, m->names);
    lua_rawgeti(L, -1, (lua_Integer)action + 1);
    lua_remove(L, -2);
}

int32_t domain_read_action(lua_State *L, const script_model *m, int index, int ids, const char *what)
{
    if (lua_type(L, index) == LUA_TNUMBER) {
        int is_integer;
        lua_Integer action = lua_tointegerx(L, index, &is_integer);
        if (!is_integer || action < 0 || action >= m->info.actions)
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

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Remove the previous row's choices and their marks in `seen`, which are still set if its call failed. */
static void clear_choices(script_model *m)
{
    for (int32_t i = 0; i < m->n; i++) m->seen[m->action[i]] = 0;
    m->n = m->has_last = 0;
}

static void reserve_row_choices(lua_State *L, script_model *m)
{
    rill_context *ctx = m->script->ctx;
    size_t need = (size_t)m->n + 1;
    rill_status status = rill_grow(ctx, (void **)&m->action, &m->action_capacity, need, sizeof *m->action, "choices");
    if (status == RILL_OK)
        status = rill_grow(ctx, (void **)&m->logp, &m->logp_capacity, need, sizeof *m->logp, "choices");
    if (status == RILL_OK)
        status = rill_grow(ctx, (void **)&m->terminal, &m->terminal_capacity, need, sizeof *m->terminal, "choices");
    if (status < 0) script_raise(L, status);
}

/* Read one choice; the action and its log-probability are on top of the stack. `last`: stack index of the set of
 * actions that complete the hypothesis, or 0. */
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
    int ends = action == m->end_action, lasts = 0;
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

void domain_choices_read(lua_State *L, script_model *m, int scores, int last, int ids)
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

/* --- writing ------------------------------------------------------------------------------------------------------ */

void domain_choices_fill(const script_model *m, const domain_score_call *score_call, int32_t row)
{
    rill_score_result_fill(score_call->request, row, m->n, m->action, m->logp, m->has_last ? m->terminal : NULL,
                           score_call->out);
}
