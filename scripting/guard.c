/* Functions of the standard library in a form that keeps a script's limits.
 *
 *   - What catches errors (pcall, xpcall, coroutines) raises again once the instructions are used up.
 *   - A coroutine whose instructions ran out is dead with its hooks off, so its variables are not closed.
 *   - Finalizers run with hooks off, so tables cannot have any.
 *   - What works long in C without instructions of its own is charged for it beforehand.
 *
 * Divisions: catching errors · coroutines · metatables · loading · work in C · opening. */
#include <string.h>

#include "state.h"

/* A chain of close() in close handlers is not counted by Lua before 5.4.6; each link takes some of the C stack. */
enum { MOST_CLOSING = 50, COST_OF_SWITCH = 10 };

/* Integers of a script are taken from outside [0, this] into it, so that costs cannot overflow. */
#define MOST_WORK (INT64_MAX / 4)

/* --- catching errors ---------------------------------------------------------------------------------------------- */

/* Behind every place where a script catches errors: restores what an error leaves wrong, and goes on failing if it must. */
static void after_catching(lua_State *L)
{
    rill_script *s = script_of(L);
    s->L = L;
    if (s->exhausted) script_exhaust(L);
}

static int finish_call(lua_State *L, int status, lua_KContext below)
{
    after_catching(L);
    if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)below;
    lua_pushboolean(L, 0);
    lua_pushvalue(L, -2);
    return 2;
}

static int guarded_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    int status = lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_call);
    return finish_call(L, status, 0);
}

/* The script's handler is upvalue 1. An error that comes from the hook has hooks off: nothing of the script's may run then. */
static int guarded_handler(lua_State *L)
{
    if (script_of(L)->exhausted) return 1;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static int guarded_xpcall(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    int arguments = lua_gettop(L) - 2;
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, guarded_handler, 1);
    lua_replace(L, 2);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2); /* function, handler, true, function, arguments */
    int status = lua_pcallk(L, arguments, LUA_MULTRET, 2, 2, finish_call);
    return finish_call(L, status, 2);
}

/* --- coroutines --------------------------------------------------------------------------------------------------- */

static lua_State *coroutine_at(lua_State *L, int index)
{
    lua_State *co = lua_tothread(L, index);
    luaL_argexpected(L, co != NULL, index, "coroutine");
    return co;
}

static int guarded_create(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    script_charge(L, SCRIPT_STRIDE); /* it has an unfinished stride of its own, which nobody will count */
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    return 1;
}

/* Resume with the topmost `arguments` values; leaves the results, or the error and returns -1. */
static int resume(lua_State *L, lua_State *co, int arguments)
{
    rill_script *s = script_of(L);
    int results = 0;
    script_charge(L, COST_OF_SWITCH);
    if (!lua_checkstack(co, arguments)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, arguments);
    s->L = co;
    int status = lua_resume(co, L, arguments, &results);
    s->L = L;
    if (s->exhausted) script_exhaust(L);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        return -1;
    }
    if (!lua_checkstack(L, results + 1)) {
        lua_pop(co, results);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, results);
    return results;
}

static int guarded_resume(lua_State *L)
{
    lua_State *co = coroutine_at(L, 1);
    int results = resume(L, co, lua_gettop(L) - 1);
    lua_pushboolean(L, results >= 0);
    if (results < 0) results = 1;
    lua_insert(L, -(results + 1));
    return results + 1;
}

/* Close the variables of a suspended or dead coroutine. Returns LUA_OK, or another status with the error on top of `co`. */
static int close_variables(lua_State *L, lua_State *co)
{
    rill_script *s = script_of(L);
    if (s->closing == MOST_CLOSING) return luaL_error(L, "too many coroutines closed inside each other");
    s->closing++;
    s->L = co;
#if LUA_VERSION_RELEASE_NUM >= 50406
    int status = lua_closethread(co, L);
#else
    int status = lua_resetthread(co);
#endif
    s->L = L;
    s->closing--;
    if (s->exhausted) script_exhaust(L);
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

/* "suspended" or "dead" ones may be closed. */
static int may_be_closed(lua_State *L, lua_State *co)
{
    lua_Debug frame;
    if (co == L) return 0;
    return lua_status(co) != LUA_OK || !lua_getstack(co, 0, &frame);
}

static int guarded_close(lua_State *L)
{
    lua_State *co = coroutine_at(L, 1);
    if (!may_be_closed(L, co)) return luaL_error(L, "cannot close a coroutine that is running");
    if (script_died_exhausted(co)) {
        lua_pushboolean(L, 0);
        lua_pushliteral(L, "the coroutine was stopped: it had used up its instructions");
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

/* Of tables only: what rill's own values do is not for scripts to change. */
static int guarded_getmetatable(lua_State *L)
{
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) return 1;
    if (!lua_istable(L, 1) || !lua_getmetatable(L, 1)) lua_pushnil(L);
    return 1;
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

/* What compiling takes: a share for every byte, and since each "goto" is checked against those that wait for their labels, the
 * square of their number. */
static int64_t cost_of_compiling(const char *text, size_t length)
{
    static const char word[] = "goto";
    int64_t jumps = 0;
    for (const char *at = text, *end = text + length; (at = memmem(at, (size_t)(end - at), word, 4)) != NULL; at += 4)
        jumps++;
    return 4 * (int64_t)length + (jumps < INT32_MAX ? jumps * jumps : MOST_WORK);
}

/* load(text [, name [, mode [, environment]]]): text only, since bytecode is not checked by anybody. */
static int guarded_load(lua_State *L)
{
    size_t length;
    luaL_argexpected(L, lua_type(L, 1) == LUA_TSTRING, 1, "string");
    const char *text = lua_tolstring(L, 1, &length);
    const char *name = luaL_optstring(L, 2, text);
    if (strchr(luaL_optstring(L, 3, "t"), 't') == NULL) return luaL_error(L, "scripts can load text only");
    script_charge(L, cost_of_compiling(text, length));
    if (luaL_loadbufferx(L, text, length, name, "t") != LUA_OK) {
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
        return luaL_error(L, "scripts can ask collectgarbage for \"count\" only: garbage is collected as needed");
    lua_pushnumber(L, (double)script_of(L)->heap.memory / 1024);
    return 1;
}

/* --- work in C ---------------------------------------------------------------------------------------------------- */

/* A function of the library and what a call of it is charged. */
typedef struct script_work {
    const char *name;
    int64_t (*cost)(lua_State *L);
} script_work;

/* Copies and scans of all arguments. */
static int64_t cost_of_arguments(lua_State *L)
{
    int n = lua_gettop(L);
    int64_t bytes = 4 * n;
    for (int i = 1; i <= n; i++)
        if (lua_type(L, i) == LUA_TSTRING) bytes += (int64_t)lua_rawlen(L, i);
    return bytes / 8;
}

static int64_t whole_at(lua_State *L, int index)
{
    lua_Integer value = lua_tointeger(L, index);
    return value < 0 ? 0 : value < MOST_WORK ? value : MOST_WORK;
}

/* Of string.rep(s, n, separator), which asks for the memory of the whole before it begins: more than there may be costs
 * nothing. */
static int64_t cost_of_repeats(lua_State *L)
{
    int64_t n = whole_at(L, 2), each = (int64_t)(lua_rawlen(L, 1) + (lua_isstring(L, 3) ? lua_rawlen(L, 3) : 0)), bytes;
    if (__builtin_mul_overflow(n, each, &bytes) || (uint64_t)bytes > script_of(L)->options.memory) return 0;
    return n / 4;
}

/* Elements of the list at index 1. A __len of the script's could say one number here and another to the library. */
static int64_t list_length(lua_State *L)
{
    if (lua_istable(L, 1)) {
        if (luaL_getmetafield(L, 1, "__len") != LUA_TNIL)
            luaL_error(L, "the table has a __len; a plain list is needed");
        return (int64_t)lua_rawlen(L, 1);
    }
    return lua_isuserdata(L, 1) ? luaL_len(L, 1) : 0;
}

/* Each element is looked up and appended, however short it is. */
static int64_t cost_of_list(lua_State *L)
{
    return 2 * list_length(L);
}

/* What lies behind a position moves; without a position only the end is looked at. */
static int64_t cost_of_insert(lua_State *L)
{
    return lua_gettop(L) == 3 ? (list_length(L) - whole_at(L, 2)) / 2 : 0;
}

static int64_t cost_of_remove(lua_State *L)
{
    return lua_gettop(L) == 2 ? (list_length(L) - whole_at(L, 2)) / 2 : 0;
}

/* Elements from the one that the integer at `first` names to the one at `last`. */
static int64_t span_of(lua_Integer first, lua_Integer last)
{
    uint64_t span = (uint64_t)last - (uint64_t)first;
    return first > last ? 0 : span < MOST_WORK ? (int64_t)span : MOST_WORK;
}

static int64_t cost_of_move(lua_State *L)
{
    return span_of(lua_tointeger(L, 2), lua_tointeger(L, 3)) / 2;
}

static int64_t cost_of_unpack(lua_State *L)
{
    lua_Integer last = lua_isnoneornil(L, 3) ? list_length(L) : lua_tointeger(L, 3);
    int64_t span = span_of(lua_isnoneornil(L, 2) ? 1 : lua_tointeger(L, 2), last);
    return span < LUAI_MAXSTACK ? span / 2 : 0; /* more is refused by the library */
}

static int64_t cost_of_sort(lua_State *L)
{
    int64_t n = list_length(L), cost = n;
    for (int64_t halves = n; halves > 1; halves /= 2) cost += 2 * n;
    return cost;
}

/* The original is upvalue 2 and has no upvalues of its own, so it can run in this call's frame. */
static int charged(lua_State *L)
{
    const script_work *work = lua_touserdata(L, lua_upvalueindex(1));
    lua_CFunction function = lua_tocfunction(L, lua_upvalueindex(2));
    script_charge(L, work->cost(L));
    return function(L);
}

static const script_work base_work[] = {{"select", cost_of_arguments}, {"tonumber", cost_of_arguments}, {NULL, NULL}};
static const script_work string_work[] = {
    {"byte", cost_of_arguments},
    {"char", cost_of_arguments},
    {"format", cost_of_arguments},
    {"lower", cost_of_arguments},
    {"pack", cost_of_arguments},
    {"packsize", cost_of_arguments},
    {"rep", cost_of_repeats},
    {"reverse", cost_of_arguments},
    {"unpack", cost_of_arguments},
    {"upper", cost_of_arguments},
    {NULL, NULL},
};
static const script_work table_work[] = {
    {"concat", cost_of_list},   {"insert", cost_of_insert}, {"move", cost_of_move},     {"pack", cost_of_arguments},
    {"remove", cost_of_remove}, {"sort", cost_of_sort},     {"unpack", cost_of_unpack}, {NULL, NULL},
};
static const script_work utf8_work[] = {
    {"char", cost_of_arguments}, {"codepoint", cost_of_arguments}, {"codes", cost_of_arguments},
    {"len", cost_of_arguments},  {"offset", cost_of_arguments},    {NULL, NULL},
};

/* Put a charged form in the place of each function in the table on top of the stack. */
static void charge_functions(lua_State *L, const script_work *work)
{
    for (; work->name != NULL; work++) {
        lua_pushlightuserdata(L, (void *)work);
        lua_getfield(L, -2, work->name);
        lua_pushcclosure(L, charged, 2);
        lua_setfield(L, -2, work->name);
    }
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* Random numbers are the same in every run, also for those who ask for a seed of the moment. The original is upvalue 1. */
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
    static const struct {
        const char *name;
        const script_work *work;
    } libraries[] = {{"string", string_work}, {"table", table_work}, {"utf8", utf8_work}};
    charge_functions(L, base_work);
    luaL_setfuncs(L, base_functions, 0);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        lua_getfield(L, -1, libraries[i].name);
        charge_functions(L, libraries[i].work);
        lua_pop(L, 1);
    }
    lua_getfield(L, -1, "string");
    script_open_patterns(L);
    lua_getfield(L, -2, "coroutine");
    luaL_setfuncs(L, coroutine_functions, 0);
    lua_getfield(L, -3, "math");
    guard_random(L);
    lua_pop(L, 3);
}
