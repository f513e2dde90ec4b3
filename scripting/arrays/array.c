/* Lua's array type: creating, checking, indexing, assigning, printing. array_arith.c, array_reduce.c and
 * array_segment.c hold operations on whole arrays; array.h states the rules they share.
 *
 * Divisions: making and checking, elements, methods of the array alone, making arrays from Lua, functions for other
 * files, opening. */
#include "array.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const array_type_names[] = {"float64", "float32", "int32", "int64", "mask"};
const char *const array_level_names[] = {"values", "items", "cells"};
const uint8_t array_sizes[] = {sizeof(double), sizeof(float), sizeof(int32_t), sizeof(int64_t), sizeof(uint8_t)};

/* --- making and checking ------------------------------------------------------------------------------------------ */

array *array_test(lua_State *L, const rill_script *s, int index)
{
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return NULL;
    const void *mark = lua_topointer(L, -1);
    lua_pop(L, 1);
    return mark == s->array_mark ? lua_touserdata(L, index) : NULL;
}

static int is_stale(const array *a, const rill_script *s)
{
    return a->stamp != s->stamp && a->stamp != 0;
}

static int raise_stale(lua_State *L)
{
    return luaL_error(L, "this array belongs to a call that is over, or interrupted by this one; "
                         "rill.array(a) makes a copy that stays valid");
}

array *array_check(lua_State *L, const rill_script *s, int index)
{
    array *a = array_test(L, s, index);
    if (a == NULL) luaL_typeerror(L, index, "array");
    if (is_stale(a, s)) raise_stale(L);
    a->used = 1;
    return a;
}

static array *push_header(lua_State *L, const rill_script *s, size_t size)
{
    array *a = lua_newuserdatauv(L, size, 0);
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->array_metatable);
    lua_setmetatable(L, -2);
    return a;
}

array *array_new(lua_State *L, rill_script *s, array_type type, int32_t n, array_level level)
{
    size_t bytes;
    if (__builtin_mul_overflow((size_t)n, (size_t)array_sizes[type], &bytes) ||
        __builtin_add_overflow(bytes, sizeof(array), &bytes) || n > INT32_MAX - ARRAY_BLOCK)
        luaL_error(L, "an array of %d elements is too large", (int)n);
    array *a = push_header(L, s, bytes);
    *a = (array){a + 1, level == ARRAY_PLAIN ? 0 : s->stamp, n, (uint8_t)type, (uint8_t)level, ARRAY_ANY, 0};
    return a;
}

void *array_scratch(lua_State *L, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) luaL_error(L, "memory for %d elements is too large", (int)count);
    return lua_newuserdatauv(L, bytes, 0);
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

enum { ELEMENT_WORK = 2 }; /* instructions charged for copying an element between a table and an array */

void array_push_element(lua_State *L, const array *a, int32_t i)
{
    switch ((array_type)a->type) {
    case ARRAY_F64: lua_pushnumber(L, ((const double *)a->data)[i]); break;
    case ARRAY_F32: lua_pushnumber(L, (double)((const float *)a->data)[i]); break;
    case ARRAY_I32: lua_pushinteger(L, ((const int32_t *)a->data)[i]); break;
    case ARRAY_I64: lua_pushinteger(L, ((const int64_t *)a->data)[i]); break;
    case ARRAY_U8: lua_pushinteger(L, ((const uint8_t *)a->data)[i]); break;
    }
}

void array_push_number(lua_State *L, array_type type, double x)
{
    if (type != ARRAY_F64 && type != ARRAY_F32 && x >= -0x1p53 && x <= 0x1p53 && x == (double)(lua_Integer)x)
        lua_pushinteger(L, (lua_Integer)x);
    else
        lua_pushnumber(L, x);
}

/* Return the element index, counted from 0, that the Lua value at stack index 2 gives, counted from 1. */
static int32_t element_index(lua_State *L, const array *a)
{
    int is_integer = 0;
    lua_Integer i = lua_type(L, 2) == LUA_TNUMBER ? lua_tointegerx(L, 2, &is_integer) : 0;
    if (!is_integer)
        luaL_error(L, "an array is indexed by whole numbers, not by %s",
                   lua_type(L, 2) == LUA_TNUMBER ? lua_pushfstring(L, "%f", lua_tonumber(L, 2)) : luaL_typename(L, 2));
    if (i < 1 || i > a->n)
        luaL_error(L, "index %I is outside of 1 to %d%s", (LUAI_UACINT)i, (int)a->n,
                   i == a->n + INT64_C(1) ? " (ipairs() asks for one too many: use pairs() or for i = 1, #a)" : "");
    return (int32_t)(i - 1);
}

static int raise_unknown(lua_State *L)
{
    const char *word = lua_tostring(L, 2), *near = script_name_nearest(L, "array", word);
    return near != NULL ? luaL_error(L, "arrays have no method \"%s\": did you mean \"%s\"?", word, near)
                        : luaL_error(L, "arrays have no method \"%s\"", word);
}

/* a[i], a.method. Upvalue 1: the methods. */
static int index_array(lua_State *L)
{
    if (lua_type(L, 2) == LUA_TSTRING) {
        lua_pushvalue(L, 2);
        return lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL ? 1 : raise_unknown(L);
    }
    const array *a = array_check(L, script_from_lua(L), 1);
    array_push_element(L, a, element_index(L, a));
    return 1;
}

/* Check the value at stack `index` before it is assigned to a field that holds marks or widths, to which other
 * values cannot be assigned. */
static void check_mark(lua_State *L, const array *a, int index)
{
    if (a->writable == ARRAY_MARKS)
        script_array_check_marks(L, index, a->type, a->n, a->level, a->type == ARRAY_U8 ? "a mark" : "a width");
}

static void check_writable(lua_State *L, const array *a)
{
    if (!a->writable) luaL_error(L, "this array can only be read; a:copy() makes a writable copy");
}

/* Return the value at stack index 3. Raises unless it is an integer in [min, max]. */
static lua_Integer integer_value(lua_State *L, const array *a, lua_Integer min, lua_Integer max)
{
    int is_integer = 0;
    lua_Integer x = lua_type(L, 3) == LUA_TNUMBER ? lua_tointegerx(L, 3, &is_integer) : 0;
    if (!is_integer || x < min || x > max)
        luaL_error(L, "%s cannot be stored in an array of %s", luaL_tolstring(L, 3, NULL), array_type_names[a->type]);
    return x;
}

/* a[i] = x */
static int assign_element(lua_State *L)
{
    array *a = array_check(L, script_from_lua(L), 1);
    check_writable(L, a);
    int32_t i = element_index(L, a);
    int type = lua_type(L, 3);
    if (type != LUA_TNUMBER && !(type == LUA_TBOOLEAN && a->type == ARRAY_U8))
        luaL_error(L, "an array of %s takes a number%s, not %s", array_type_names[a->type],
                   a->type == ARRAY_U8 ? " or a boolean" : "", luaL_typename(L, 3));
    check_mark(L, a, 3);
    switch ((array_type)a->type) {
    case ARRAY_F64: ((double *)a->data)[i] = lua_tonumber(L, 3); break;
    case ARRAY_F32: ((float *)a->data)[i] = (float)lua_tonumber(L, 3); break;
    case ARRAY_I32: ((int32_t *)a->data)[i] = (int32_t)integer_value(L, a, INT32_MIN, INT32_MAX); break;
    case ARRAY_I64: ((int64_t *)a->data)[i] = integer_value(L, a, INT64_MIN, INT64_MAX); break;
    case ARRAY_U8:
        ((uint8_t *)a->data)[i] = type == LUA_TBOOLEAN ? (uint8_t)lua_toboolean(L, 3) : lua_tonumber(L, 3) != 0;
        break;
    }
    return 0;
}

static int length(lua_State *L)
{
    lua_pushinteger(L, array_check(L, script_from_lua(L), 1)->n);
    return 1;
}

static int next_element(lua_State *L)
{
    const array *a = array_check(L, script_from_lua(L), 1);
    lua_Integer i = luaL_checkinteger(L, 2);
    if (i < 0 || i >= a->n) return 0;
    lua_pushinteger(L, i + 1);
    array_push_element(L, a, (int32_t)i);
    return 2;
}

static int pairs(lua_State *L)
{
    array_check(L, script_from_lua(L), 1);
    lua_pushcfunction(L, next_element);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

static int refuse_order(lua_State *L)
{
    return luaL_error(L, "compare arrays by methods, which return masks: a:lt(x), a:le(x), a:gt(x), a:ge(x)");
}

/* --- methods of the array alone ----------------------------------------------------------------------------------- */

/* __tostring: "cells float64[117] {-1.25, -3.5, ...}". */
static int describe(lua_State *L)
{
    enum { SHOWN = 8 };
    const rill_script *s = script_from_lua(L);
    const array *a = array_test(L, s, 1);
    if (a == NULL || is_stale(a, s)) {
        lua_pushliteral(L, "array of a call that is over");
        return 1;
    }
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    luaL_addstring(&text, a->level == ARRAY_PLAIN ? "plain" : array_level_names[a->level]);
    lua_pushfstring(L, " %s[%d] {", array_type_names[a->type], (int)a->n);
    luaL_addvalue(&text);
    for (int32_t i = 0; i < a->n && i < SHOWN; i++) {
        if (i > 0) luaL_addstring(&text, ", ");
        array_push_element(L, a, i);
        luaL_addvalue(&text);
    }
    luaL_addstring(&text, a->n > SHOWN ? ", ...}" : "}");
    luaL_pushresult(&text);
    return 1;
}

static void push_copy(lua_State *L, rill_script *s, const array *a, array_level level)
{
    array *copy = array_new(L, s, a->type, a->n, level);
    if (a->n > 0) memcpy(copy->data, a->data, (size_t)a->n * array_sizes[a->type]);
}

static int copy(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    const array *a = array_check(L, s, 1);
    push_copy(L, s, a, a->level);
    return 1;
}

static int to_table(lua_State *L)
{
    const array *a = array_check(L, script_from_lua(L), 1);
    script_charge(L, (int64_t)a->n * ELEMENT_WORK);
    lua_createtable(L, a->n, 0);
    for (int32_t i = 0; i < a->n; i++) {
        array_push_element(L, a, i);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* a:set(x): assign x to every element; returns the array. */
static int set(lua_State *L)
{
    const rill_script *s = script_from_lua(L);
    array *a = array_check(L, s, 1);
    check_writable(L, a);
    check_mark(L, a, 2);
    operand x = operand_read(L, s, 2, 1);
    array_assign(L, s, a, &x);
    lua_settop(L, 1);
    return 1;
}

/* --- making arrays from Lua --------------------------------------------------------------------------------------- */

static void fill_from_table(lua_State *L, const array *a)
{
    int wanted = a->type == ARRAY_U8 ? LUA_TBOOLEAN : LUA_TNUMBER;
    for (int32_t i = 0; i < a->n; i++) {
        int type = lua_rawgeti(L, 1, i + 1);
        if (type != wanted)
            luaL_error(L, "element %d of the table is a %s, not a %s like the first", (int)i + 1, lua_typename(L, type),
                       lua_typename(L, wanted));
        if (wanted == LUA_TNUMBER)
            ((double *)a->data)[i] = lua_tonumber(L, -1);
        else
            ((uint8_t *)a->data)[i] = (uint8_t)lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
}

/* rill.array(x): an array from a table of numbers or booleans; or, from an array, a plain copy that stays valid
 * after the call. */
static int from_values(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    if (lua_type(L, 1) == LUA_TUSERDATA) {
        push_copy(L, s, array_check(L, s, 1), ARRAY_PLAIN);
        return 1;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, 1);
    if (n > INT32_MAX) luaL_error(L, "a table of more than %d elements cannot become an array", (int)INT32_MAX);
    script_charge(L, (int64_t)n * ELEMENT_WORK);
    int type = lua_rawgeti(L, 1, 1);
    if (n > 0 && type != LUA_TNUMBER && type != LUA_TBOOLEAN)
        luaL_error(L, "an array holds numbers or booleans, but element 1 of the table is a %s", lua_typename(L, type));
    fill_from_table(L, array_new(L, s, type == LUA_TBOOLEAN ? ARRAY_U8 : ARRAY_F64, (int32_t)n, ARRAY_PLAIN));
    return 1;
}

static int zeros(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1);
    luaL_argcheck(L, n >= 0 && n <= INT32_MAX, 1, "a length of at least 0 expected");
    script_array_make(L, ARRAY_F64, (int32_t)n, ARRAY_PLAIN);
    return 1;
}

/* --- functions for other files ------------------------------------------------------------------------------------ */

/* Check the length: an array of items has as many elements as the call in progress has items, an array of cells as
 * many as it has cells. */
static void check_fits(lua_State *L, const rill_script *s, int32_t n, array_level level)
{
    int32_t expected = level == ARRAY_ITEMS ? s->items : level == ARRAY_CELLS ? s->cells : n;
    if (n < 0 || n != expected || (level != ARRAY_PLAIN && s->stamp == 0))
        luaL_error(L, "an array of %d %s was made in a call of %d items and %d cells", (int)n, array_level_names[level],
                   (int)s->items, (int)s->cells);
}

void script_array_push(lua_State *L, array_type type, const void *data, int32_t n, array_level level,
                       array_writing writable)
{
    const rill_script *s = script_from_lua(L);
    check_fits(L, s, n, level);
    if (s->stamp == 0) luaL_error(L, "arrays over engine memory can be made only during a call of the engine");
    array *a = push_header(L, s, sizeof *a);
    *a = (array){(void *)(uintptr_t)data, s->stamp, n, (uint8_t)type, (uint8_t)level, (uint8_t)writable, 0};
}

void *script_array_make(lua_State *L, array_type type, int32_t n, array_level level)
{
    rill_script *s = script_from_lua(L);
    check_fits(L, s, n, level);
    array *a = array_new(L, s, type, n, level);
    memset(a->data, 0, (size_t)n * array_sizes[type]);
    return a->data;
}

int script_array_is(lua_State *L, int index)
{
    return array_test(L, script_from_lua(L), index) != NULL;
}

void *script_array_data(lua_State *L, int index, array_type type, int writable, int32_t *n)
{
    const rill_script *s = script_from_lua(L);
    if (array_test(L, s, index) == NULL)
        luaL_error(L, "an array of %s was expected, not a %s", array_type_names[type], luaL_typename(L, index));
    array *a = array_check(L, s, index);
    if (a->type != type)
        luaL_error(L, "an array of %s was expected, not of %s", array_type_names[type], array_type_names[a->type]);
    if (writable) check_writable(L, a);
    *n = a->n;
    return a->data;
}

/* Return the index of the first element of x[0, n) that is not a valid mark or width, or n. NaN is never valid. */
static int32_t find_invalid_mark(const double *x, int32_t n, array_type type)
{
    int32_t i = 0;
    if (type == ARRAY_U8)
        while (i < n && (x[i] == 0 || x[i] == 1)) i++;
    else
        while (i < n && x[i] >= 0) i++;
    return i;
}

void script_array_check_marks(lua_State *L, int index, array_type type, int32_t n, array_level level, const char *name)
{
    double x[ARRAY_BLOCK + ARRAY_PAD] = {0};
    operand o;
    if (!operand_try(L, script_from_lua(L), index, 1, &o)) return; /* script_array_store() refuses the value */
    if (o.a != NULL && o.a->type == ARRAY_U8) return;
    const int fits = o.a == NULL || (o.a->level == ARRAY_ITEMS && level == ARRAY_CELLS) ||
                     (o.a->n == n && o.a->level <= level);
    const int32_t all = o.a == NULL ? 1 : fits ? o.a->n : 0;
    script_charge(L, all);
    x[0] = o.number;
    for (int32_t from = 0; from < all; from += ARRAY_BLOCK) {
        const int32_t part = all - from < ARRAY_BLOCK ? all - from : ARRAY_BLOCK;
        if (o.a != NULL) array_widen(o.a, from, part, x);
        const int32_t pos = find_invalid_mark(x, part, type);
        if (pos == part) continue;
        char value[32];
        rill_print(value, sizeof value, "%.14g", x[pos]);
        luaL_error(L, "%s cannot be %s: %s", name, x[pos] == x[pos] ? value : "NaN",
                   type == ARRAY_U8 ? "an element of a mask must be 0, 1 or a boolean" : "a width must be 0 or more");
    }
}

void script_array_store(lua_State *L, int index, array_type type, void *data, int32_t n, array_level level)
{
    const rill_script *s = script_from_lua(L);
    const array to = {data, s->stamp, n, (uint8_t)type, (uint8_t)level, ARRAY_ANY, 0};
    operand x;
    check_fits(L, s, n, level);
    if (!operand_try(L, s, index, 1, &x))
        luaL_error(L, "a number, a boolean or an array was expected, not a %s", luaL_typename(L, index));
    array_assign(L, s, &to, &x);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

void array_set_functions(lua_State *L, lua_CFunction fn, const array_entry *entries)
{
    for (; entries->name != NULL; entries++) {
        lua_pushinteger(L, entries->number);
        lua_pushcclosure(L, fn, 1);
        lua_setfield(L, -2, entries->name);
    }
}

void script_open_arrays(lua_State *L)
{
    static const luaL_Reg metamethods[] = {
        {"__newindex", assign_element}, {"__len", length},      {"__pairs", pairs}, {"__tostring", describe},
        {"__lt", refuse_order},         {"__le", refuse_order}, {NULL, NULL}};
    static const luaL_Reg methods[] = {{"copy", copy}, {"set", set}, {"table", to_table}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"array", from_values}, {"zeros", zeros}, {NULL, NULL}};
    rill_script *s = script_from_lua(L);
    luaL_setfuncs(L, functions, 0);
    lua_newtable(L); /* metatable */
    s->array_mark = lua_topointer(L, -1);
    luaL_setfuncs(L, metamethods, 0);
    lua_pushliteral(L, "array");
    lua_setfield(L, -2, "__name");
    lua_pushliteral(L, "array"); /* what getmetatable() returns instead of the metatable */
    lua_setfield(L, -2, "__metatable");
    lua_newtable(L); /* methods */
    luaL_setfuncs(L, methods, 0);
    int top = lua_gettop(L);
    array_open_arithmetic(L, top - 1, top, top - 2);
    array_open_reductions(L, top);
    array_open_segments(L, top);
    for (lua_pushnil(L); lua_next(L, top); lua_pop(L, 1)) script_name_add(L, "array", lua_tostring(L, -2));
    lua_pushcclosure(L, index_array, 1);
    lua_setfield(L, -2, "__index");
    s->array_metatable = luaL_ref(L, LUA_REGISTRYINDEX);
}
