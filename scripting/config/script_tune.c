/* Searches over configurations that a script defines: tune = function(try) ... end. */
#include <math.h>

#include "run_config.h"

typedef struct script_tuning {
    rill_script_try_fn attempt;
    void *user;
    rill_script_config *config; /* configuration of the latest attempt */
    int busy;                   /* 1: an attempt is in progress */
    rill_status status;         /* status of the first failed attempt */
    /* userdata through which try() finds this struct; set to NULL when the search ends */
    struct script_tuning **lua_handle;
} script_tuning;

static const char tuning_key = 0; /* its address is the registry key of `lua_handle`, which must outlive the search */

/* Push the measures as a table. If the settings of a point contradict each other, its measures are the worst
 * possible, so that a search that compares numbers avoids it. NaN is omitted. */
static void push_measures(lua_State *L, const rill_script_measures *m)
{
    const int bad = m->refused != NULL;
    const struct {
        const char *name;
        double value;
        int64_t count; /* value to push if `value` is NaN; -1: none */
    } measures[] = {
        {"quality", bad ? 0 : m->quality, -1},
        {"exact", bad ? 0 : m->exact, -1},
        {"oracle", bad ? 0 : m->oracle, -1},
        {"seconds", bad ? INFINITY : m->seconds, -1},
        {"expansions", bad ? INFINITY : NAN, m->expansions},
        {"timesteps", bad ? INFINITY : NAN, m->timesteps},
        {"failed", bad ? INFINITY : NAN, m->failed},
    };
    lua_createtable(L, 0, 8);
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
        if (!isnan(measures[i].value))
            lua_pushnumber(L, measures[i].value);
        else if (measures[i].count >= 0)
            lua_pushinteger(L, (lua_Integer)measures[i].count);
        else
            lua_pushnil(L);
        lua_setfield(L, -2, measures[i].name);
    }
    lua_pushstring(L, m->refused);
    lua_setfield(L, -2, "refused");
}

/* try(point [, function(config, point)]): decode with the configuration of a point and return the measures. It finds
 * its search through a userdata that is cleared when the search ends, because a script may call `try` later. */
static int try_point(lua_State *L)
{
    script_tuning *t = *(script_tuning **)lua_touserdata(L, lua_upvalueindex(1));
    if (t == NULL) return luaL_error(L, "try: the search has ended");
    if (t->busy) return luaL_error(L, "try: calls cannot be nested: another point is being tried");
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
    if (t->status < 0) return script_raise(L, t->status);
    lua_settop(L, 2);
    script_config_result(L);
    lua_insert(L, 1);
    rill_status status = script_point_take(L, &t->config);
    if (status < 0) return script_raise(L, status);

    rill_script_measures measures = {.quality = NAN, .exact = NAN, .oracle = NAN};
    t->busy = 1;
    t->status = t->attempt(t->user, t->config, &measures);
    t->busy = 0;
    script_reset_limits(script_from_lua(L));
    if (t->status < 0) return script_raise(L, t->status);
    push_measures(L, &measures);
    return 1;
}

static int tune_protected(lua_State *L)
{
    script_tuning *t = lua_touserdata(L, 1);
    script_config_result(L);
    if (lua_istable(L, -1)) {
        lua_pushliteral(L, "tune");
        lua_rawget(L, -2);
    }
    if (!lua_isfunction(L, -1)) return luaL_error(L, "the script has no function tune");
    script_tuning **box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = t;
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &tuning_key);
    t->lua_handle = box;
    lua_pushcclosure(L, try_point, 1);
    lua_call(L, 1, 0);
    return 0;
}

rill_status rill_script_tune(rill_script *script, rill_script_try_fn attempt, void *user)
{
    script_tuning t = {.attempt = attempt, .user = user};
    rill_status status = script_protect(script, tune_protected, &t);
    if (t.lua_handle != NULL) *t.lua_handle = NULL;
    rill_script_config_free(t.config);
    return t.status < 0 ? t.status : status;
}
