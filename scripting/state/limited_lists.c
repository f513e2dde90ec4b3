/* table.concat, insert, move, remove, sort and unpack, with a charge per element or comparison.
 *
 * Lua's versions loop over as many elements as the script passes, and metamethods decide how long each access takes: a
 * chain of two thousand tables linked by __index runs no instruction that a hook could count. Here each access to an
 * element is charged, so a call can be stopped midway. Results and messages are those of Lua 5.4;
 * tests/scripting/test_lists.c compares them.
 *
 * Divisions: arguments · elements one by one · sorting. */
#include <limits.h>

#include "limits.h"

enum { ELEMENT_COST = 10, COMPARE_COST = 2, BYTES_PER_UNIT = 16 };

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static const char *const read_fields[] = {"__index", NULL}, *const write_fields[] = {"__newindex", NULL};
static const char *const length_fields[] = {"__index", "__len", NULL};
static const char *const change_fields[] = {"__index", "__newindex", "__len", NULL};

/* Raise unless the argument is a table, or an object whose metatable has all of these fields. */
static void check_list(lua_State *L, int index, const char *const *fields)
{
    if (lua_istable(L, index)) return;
    int good = lua_getmetatable(L, index);
    for (; good && *fields != NULL; fields++) {
        lua_pushstring(L, *fields);
        good = lua_rawget(L, -2) != LUA_TNIL;
        lua_pop(L, 1);
    }
    if (!good) luaL_checktype(L, index, LUA_TTABLE);
    lua_pop(L, 1);
}

static lua_Integer list_length(lua_State *L, const char *const *fields)
{
    check_list(L, 1, fields);
    return luaL_len(L, 1);
}

/* --- elements one by one ------------------------------------------------------------------------------------------ */

/* to_list[to] = from_list[from], for lists at the given stack indexes. */
static void copy_element(lua_State *L, int from_list, lua_Integer from, int to_list, lua_Integer to)
{
    script_charge(L, ELEMENT_COST);
    lua_geti(L, from_list, from);
    lua_seti(L, to_list, to);
}

static int counted_insert(lua_State *L)
{
    lua_Integer end = (lua_Integer)((lua_Unsigned)list_length(L, change_fields) + 1), place = end;
    int n = lua_gettop(L);
    if (n != 2 && n != 3) return luaL_error(L, "wrong number of arguments to 'insert'");
    if (n == 3) {
        place = luaL_checkinteger(L, 2);
        luaL_argcheck(L, (lua_Unsigned)place - 1u < (lua_Unsigned)end, 2, "position out of bounds");
        for (lua_Integer i = end; i > place; i--) copy_element(L, 1, i - 1, 1, i);
    }
    lua_seti(L, 1, place);
    return 0;
}

static int counted_remove(lua_State *L)
{
    lua_Integer size = list_length(L, change_fields), place = luaL_optinteger(L, 2, size);
    if (place != size) luaL_argcheck(L, (lua_Unsigned)place - 1u <= (lua_Unsigned)size, 2, "position out of bounds");
    lua_geti(L, 1, place);
    for (; place < size; place++) copy_element(L, 1, place + 1, 1, place);
    lua_pushnil(L);
    lua_seti(L, 1, place);
    return 1;
}

static int counted_move(lua_State *L)
{
    lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3), to = luaL_checkinteger(L, 4);
    int other = lua_isnoneornil(L, 5) ? 1 : 5;
    check_list(L, 1, read_fields);
    check_list(L, other, write_fields);
    if (last >= first) {
        luaL_argcheck(L, first > 0 || last < LUA_MAXINTEGER + first, 3, "too many elements to move");
        lua_Integer n = last - first + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - n + 1, 4, "destination wrap around");
        int is_forward = to > last || to <= first || (other != 1 && !lua_compare(L, 1, other, LUA_OPEQ));
        for (lua_Integer i = 0; is_forward && i < n; i++) copy_element(L, 1, first + i, other, to + i);
        for (lua_Integer i = n - 1; !is_forward && i >= 0; i--) copy_element(L, 1, first + i, other, to + i);
    }
    lua_pushvalue(L, other);
    return 1;
}

static void add_element(lua_State *L, luaL_Buffer *out, lua_Integer i)
{
    script_charge(L, ELEMENT_COST);
    lua_geti(L, 1, i);
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1), (LUAI_UACINT)i);
    luaL_addvalue(out);
}

static int counted_concat(lua_State *L)
{
    luaL_Buffer out;
    size_t length;
    lua_Integer last = list_length(L, length_fields);
    const char *separator = luaL_optlstring(L, 2, "", &length);
    lua_Integer i = luaL_optinteger(L, 3, 1);
    last = luaL_optinteger(L, 4, last);
    luaL_buffinit(L, &out);
    for (; i < last; i++) {
        add_element(L, &out, i);
        luaL_addlstring(&out, separator, length);
    }
    if (i == last) add_element(L, &out, i);
    luaL_pushresult(&out);
    return 1;
}

static int counted_unpack(lua_State *L)
{
    lua_Integer first = luaL_optinteger(L, 2, 1);
    lua_Integer last = lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
    if (first > last) return 0;
    lua_Unsigned n = (lua_Unsigned)last - (lua_Unsigned)first;
    if (n >= INT_MAX || !script_reserve_stack(L, (int)++n)) return luaL_error(L, "too many results to unpack");
    for (lua_Integer i = first;; i++) {
        script_charge(L, ELEMENT_COST);
        lua_geti(L, 1, i);
        if (i == last) return (int)n;
    }
}

/* --- sorting ------------------------------------------------------------------------------------------------------ */

/* The default comparison of table.sort, with a charge. Comparing two texts takes time proportional to the shorter
 * one. */
static int counted_less(lua_State *L)
{
    int64_t work = COMPARE_COST;
    if (lua_type(L, 1) == LUA_TSTRING && lua_type(L, 2) == LUA_TSTRING) {
        size_t x = lua_rawlen(L, 1), y = lua_rawlen(L, 2);
        work += (int64_t)((x < y ? x : y) / BYTES_PER_UNIT);
    }
    script_charge(L, work);
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
}

int64_t script_sort_order(lua_State *L)
{
    if (lua_gettop(L) == 0 || !lua_isnoneornil(L, 2)) return 0;
    lua_settop(L, 1);
    lua_pushcfunction(L, counted_less);
    return 0;
}

void script_open_lists(lua_State *L)
{
    static const luaL_Reg functions[] = {{"concat", counted_concat}, {"insert", counted_insert}, {"move", counted_move},
                                         {"remove", counted_remove}, {"unpack", counted_unpack}, {NULL, NULL}};
    luaL_setfuncs(L, functions, 0);
}
