/* Standard library functions rewritten to respect a script's limits.
 *
 *   - pcall, xpcall and coroutines raise a caught error again if a limit is exhausted.
 *   - A coroutine stopped by a limit runs no hooks, so its to-be-closed variables are not closed.
 *   - Finalizers run without hooks, so tables cannot have them (__gc).
 *   - Long C functions are charged for their work (call_costs.c). */
#include <string.h>

#include "limits.h"

/* MAX_NESTED_CLOSES limits nested coroutine.close() calls in close handlers: each takes some of the C stack, and Lua before 5.4.6 has no
 * limit. */
enum { MAX_NESTED_CLOSES = 50, SWITCH_COST = 10, CATCH_COST = 5 };

/* --- catching errors ---------------------------------------------------------------------------------------------- */

/* After a caught error or a coroutine: restore script->L, the running thread. Raises the error again if a limit is exhausted. */
static void after_catch(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    s->L = L;
    if (s->is_exhausted) script_raise_exhausted(L);
}

/* Replace the error on top of the stack by Lua's "stack overflow" if the Lua stack was not allowed to grow. */
static void name_overflow(lua_State *L, int status)
{
    if (status != LUA_ERRMEM || script_from_lua(L)->heap.failed_limit != 3) return;
    lua_pushliteral(L, "stack overflow");
    lua_replace(L, -2);
}

static int finish_call(lua_State *L, int status, lua_KContext below)
{
    after_catch(L);
    name_overflow(L, status);
    if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)below;
    lua_pushboolean(L, 0);
    lua_pushvalue(L, -2);
    return 2;
}

static int guarded_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    script_charge(L, CATCH_COST);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    int status = lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_call);
    return finish_call(L, status, 0);
}

/* Error handler of xpcall; upvalue 1: the script's. After an error of the limits' hook no script code may run, because hooks are off. */
static int guarded_handler(lua_State *L)
{
    if (script_from_lua(L)->is_exhausted) return 1;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static int guarded_xpcall(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    script_charge(L, CATCH_COST);
    int arguments = lua_gettop(L) - 2;
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, guarded_handler, 1);
    lua_replace(L, 2);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2); /* stack: function, handler, true, function, arguments */
    int status = lua_pcallk(L, arguments, LUA_MULTRET, 2, 2, finish_call);
    return finish_call(L, status, 2);
}

/* --- coroutines --------------------------------------------------------------------------------------------------- */

static lua_State *check_coroutine(lua_State *L, int index)
{
    lua_State *co = lua_tothread(L, index);
    luaL_argexpected(L, co != NULL, index, "coroutine");
    return co;
}

static int guarded_create(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    /* charge a whole interval in advance, because the hook does not count the instructions of a coroutine's last, unfinished interval */
    script_charge(L, SCRIPT_STRIDE);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    return 1;
}

/* Resume a coroutine with the topmost `arguments` values of L. Returns the number of results on L, or -1 with the error on L. */
static int resume(lua_State *L, lua_State *co, int arguments)
{
    rill_script *s = script_from_lua(L);
    int results = 0;
    script_charge(L, SWITCH_COST + arguments);
    if (!script_reserve_stack(co, arguments)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, arguments);
    script_apply_stride(co);
    s->L = co;
    int status = lua_resume(co, L, arguments, &results);
    after_catch(L);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        name_overflow(L, status);
        return -1;
    }
    if (!script_reserve_stack(L, results + 1)) {
        lua_pop(co, results);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, results);
    return results;
}

static int guarded_resume(lua_State *L)
{
    lua_State *co = check_coroutine(L, 1);
    int results = resume(L, co, lua_gettop(L) - 1);
    lua_pushboolean(L, results >= 0);
    if (results < 0) results = 1;
    lua_insert(L, -(results + 1));
    return results + 1;
}

/* Close a coroutine's to-be-closed variables. Returns LUA_OK, or another status with the error on top of co's stack. */
static int close_variables(lua_State *L, lua_State *co)
{
    rill_script *s = script_from_lua(L);
    if (s->n_closing == MAX_NESTED_CLOSES) return luaL_error(L, "too many nested calls of coroutine.close()");
    s->n_closing++;
    s->L = co;
#if LUA_VERSION_RELEASE_NUM >= 50406
    int status = lua_closethread(co, L);
#else
    int status = lua_resetthread(co);
#endif
    s->n_closing--;
    after_catch(L);
    return status;
}

static int call_wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    int results = resume(L, co, lua_gettop(L));
    if (results >= 0) return results;
    int status = lua_status(co);
    if (status != LUA_OK && status != LUA_YIELD && !script_died_exhausted(co)) {
        status = close_variables(L, co);
        if (status != LUA_OK) lua_xmove(co, L, 1);
    }
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int guarded_wrap(lua_State *L)
{
    guarded_create(L);
    lua_pushcclosure(L, call_wrapped, 1);
    return 1;
}

/* Return 1 if the coroutine is suspended or dead, else 0. Other coroutines cannot be closed. */
static int may_be_closed(lua_State *L, lua_State *co)
{
    lua_Debug frame;
    if (co == L) return 0;
    return lua_status(co) != LUA_OK || !lua_getstack(co, 0, &frame);
}

static int guarded_close(lua_State *L)
{
    lua_State *co = check_coroutine(L, 1);
    if (!may_be_closed(L, co)) return luaL_error(L, "cannot close a coroutine that is running");
    if (script_died_exhausted(co)) {
        lua_pushboolean(L, 0);
        lua_pushliteral(L, "the coroutine was stopped because the script reached a limit");
        return 2;
    }
    int good = close_variables(L, co) == LUA_OK;
    lua_pushboolean(L, good);
    if (good) return 1;
    lua_xmove(co, L, 1);
    return 2;
}

/* --- metatables --------------------------------------------------------------------------------------------------- */

static int guarded_setmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table");
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) return luaL_error(L, "cannot change a protected metatable");
    if (lua_istable(L, 2)) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL) return luaL_error(L, "scripts have no finalizers: remove __gc");
    }
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

/* getmetatable(), restricted to tables, so that scripts cannot access the metatables of rill's objects. */
static int guarded_getmetatable(lua_State *L)
{
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) return 1;
    if (!lua_istable(L, 1) || !lua_getmetatable(L, 1)) lua_pushnil(L);
    return 1;
}

/* --- replacements of load() and collectgarbage() ------------------------------------------------------------------ */

/* load(text [, name [, mode [, environment]]]): accepts only source text, no bytecode, because Lua does not verify bytecode. */
static int guarded_load(lua_State *L)
{
    size_t length;
    luaL_argexpected(L, lua_type(L, 1) == LUA_TSTRING, 1, "string");
    const char *text = lua_tolstring(L, 1, &length);
    const char *name = luaL_optstring(L, 2, text);
    if (strchr(luaL_optstring(L, 3, "t"), 't') == NULL)
        return luaL_error(L, "load() accepts source text only, not bytecode");
    if (script_compile(L, text, length, name) != LUA_OK) {
        if (script_from_lua(L)->is_exhausted) script_raise_exhausted(L);
        lua_pushnil(L);
        lua_insert(L, -2);
        return 2;
    }
    if (!lua_isnone(L, 4)) {
        lua_pushvalue(L, 4);
        lua_setupvalue(L, -2, 1);
    }
    return 1;
}

static int guarded_collectgarbage(lua_State *L)
{
    if (strcmp(luaL_optstring(L, 1, ""), "count") != 0)
        return luaL_error(L, "collectgarbage() accepts only \"count\": garbage is collected automatically");
    lua_pushnumber(L, (double)script_from_lua(L)->heap.memory / 1024);
    return 1;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* math.randomseed(): without arguments the seed is 0, not the time, so that runs are reproducible. Upvalue 1 is the original function. */
static int guarded_randomseed(lua_State *L)
{
    if (lua_gettop(L) == 0) lua_pushinteger(L, 0);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

static const luaL_Reg base_functions[] = {
    {"pcall", guarded_pcall},
    {"xpcall", guarded_xpcall},
    {"setmetatable", guarded_setmetatable},
    {"getmetatable", guarded_getmetatable},
    {"load", guarded_load},
    {"collectgarbage", guarded_collectgarbage},
    {NULL, NULL},
};
static const luaL_Reg coroutine_functions[] = {
    {"create", guarded_create},
    {"resume", guarded_resume},
    {"wrap", guarded_wrap},
    {"close", guarded_close},
    {NULL, NULL},
};

static void guard_random(lua_State *L)
{
    lua_getfield(L, -1, "randomseed");
    lua_pushcclosure(L, guarded_randomseed, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "randomseed");
    lua_call(L, 0, 0);
}

void script_open_guards(lua_State *L)
{
    lua_getfield(L, -1, "math");
    guard_random(L);
    lua_pop(L, 1);
    script_open_work(L);
    luaL_setfuncs(L, base_functions, 0);
    lua_getfield(L, -1, "coroutine");
    luaL_setfuncs(L, coroutine_functions, 0);
    lua_pop(L, 1);
}
