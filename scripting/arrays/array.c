/* Lua's array type: creating, checking, indexing, printing. Operations on arrays are in array_arith.c and array_segments.c.
 *
 * Also finds masks that a script never uses, for `rill check`: in Lua `a and b` of two masks is b, without an error. A line is reported if
 * some of its masks stayed unused in every call. */
#include "arrays.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const array_type_names[] = {"float64", "float32", "int32", "int64", "mask"};
const char *const array_level_names[] = {"values", "items", "cells"};
const uint8_t array_sizes[] = {sizeof(double), sizeof(float), sizeof(int32_t), sizeof(int64_t), sizeof(uint8_t)};

/* --- creating and checking arrays --------------------------------------------------------------------------------- */

array *array_test(lua_State *L, const rill_script *s, int index)
{
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return NULL;
    const void *mark = lua_topointer(L, -1);
    lua_pop(L, 1);
    return mark == s->array_mark ? lua_touserdata(L, index) : NULL;
}

static int is_stale(const array *a, const rill_script *s)
{
    return a->stamp != s->frame.stamp && a->stamp != 0;
}

static int raise_stale(lua_State *L)
{
    return luaL_error(L, "this array belongs to a call that is over, or interrupted by this one; "
                         "rill.array(a) makes a copy that stays valid");
}

static void use_mask(const rill_script *s, array *mask);

array *array_check(lua_State *L, const rill_script *s, int index)
{
    array *a = array_test(L, s, index);
    if (a == NULL) luaL_typeerror(L, index, "array");
    if (is_stale(a, s)) raise_stale(L);
    if (a->unused_place != 0) use_mask(s, a);
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
    *a = (array){a + 1, level == ARRAY_PLAIN ? 0 : s->frame.stamp, n, (uint8_t)type, (uint8_t)level, ARRAY_ANY, 0};
    return a;
}

void *array_scratch(lua_State *L, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) luaL_error(L, "memory for %d elements is too large", (int)count);
    return lua_newuserdatauv(L, bytes, 0);
}

/* --- reading and writing elements --------------------------------------------------------------------------------- */

/* Instructions charged to the script's limit when an element is copied between a Lua table and an array. */
enum { ELEMENT_WORK = 2 };

static void push_element(lua_State *L, const array *a, int32_t i)
{
    switch ((array_type)a->type) {
    case ARRAY_F64: lua_pushnumber(L, ((const double *)a->data)[i]); break;
    case ARRAY_F32: lua_pushnumber(L, (double)((const float *)a->data)[i]); break;
    case ARRAY_I32: lua_pushinteger(L, ((const int32_t *)a->data)[i]); break;
    case ARRAY_I64: lua_pushinteger(L, ((const int64_t *)a->data)[i]); break;
    case ARRAY_U8: lua_pushinteger(L, ((const uint8_t *)a->data)[i]); break;
    }
}

/* Return the index of an array element, counted from 0. The Lua value at stack index 2 has this index, counted from 1. */
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

/* __index: push the element a[i] or the method a.NAME. Upvalue 1 is the table of methods. */
static int index_array(lua_State *L)
{
    if (lua_type(L, 2) == LUA_TSTRING) {
        lua_pushvalue(L, 2);
        return lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL ? 1 : raise_unknown(L);
    }
    const array *a = array_check(L, script_from_lua(L), 1);
    push_element(L, a, element_index(L, a));
    return 1;
}

void array_check_writable(lua_State *L, const array *a)
{
    if (!a->writable) luaL_error(L, "this array can only be read; a:copy() makes a writable copy");
}

void array_check_marks(lua_State *L, array_type type, const double *x, int32_t n, const char *name)
{
    int32_t pos = 0;
    while (pos < n && (type == ARRAY_U8 ? x[pos] == 0 || x[pos] == 1 : x[pos] >= 0)) pos++; /* NaN is never valid */
    char value[32];
    if (pos == n) return;
    rill_print(value, sizeof value, "%.14g", x[pos]);
    luaL_error(L, "%s cannot be %s: %s", name, x[pos] == x[pos] ? value : "NaN",
               type == ARRAY_U8 ? "an element of a mask must be 0, 1 or a boolean" : "a width must be 0 or more");
}

/* Return the value at stack index 3, to be assigned to an element. Raises unless an integer in [min, max]. */
static lua_Integer integer_value(lua_State *L, const array *a, lua_Integer min, lua_Integer max)
{
    lua_Integer x;
    if (!script_whole_number(L, 3, min, max, &x))
        luaL_error(L, "%s cannot be stored in an array of %s", luaL_tolstring(L, 3, NULL), array_type_names[a->type]);
    return x;
}

/* __newindex: assign a[i] = x. */
static int assign_element(lua_State *L)
{
    array *a = array_check(L, script_from_lua(L), 1);
    array_check_writable(L, a);
    int32_t i = element_index(L, a);
    int type = lua_type(L, 3);
    if (type != LUA_TNUMBER && !(type == LUA_TBOOLEAN && a->type == ARRAY_U8))
        luaL_error(L, "an array of %s takes a number%s, not %s", array_type_names[a->type],
                   a->type == ARRAY_U8 ? " or a boolean" : "", luaL_typename(L, 3));
    const double x = type == LUA_TBOOLEAN ? lua_toboolean(L, 3) : lua_tonumber(L, 3);
    if (a->writable == ARRAY_MARKS) array_check_marks(L, a->type, &x, 1, a->type == ARRAY_U8 ? "a mark" : "a width");
    switch ((array_type)a->type) {
    case ARRAY_F64: ((double *)a->data)[i] = x; break;
    case ARRAY_F32: ((float *)a->data)[i] = (float)x; break;
    case ARRAY_I32: ((int32_t *)a->data)[i] = (int32_t)integer_value(L, a, INT32_MIN, INT32_MAX); break;
    case ARRAY_I64: ((int64_t *)a->data)[i] = integer_value(L, a, INT64_MIN, INT64_MAX); break;
    case ARRAY_U8: ((uint8_t *)a->data)[i] = x != 0; break;
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
    push_element(L, a, (int32_t)i);
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

/* --- methods --------------------------------------------------------------------------------------------------------- */

/* Implements __tostring, with a result such as "cells float64[117] {-1.25, -3.5, ...}". */
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
        push_element(L, a, i);
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
        push_element(L, a, i);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* --- arrays created by Lua ---------------------------------------------------------------------------------------- */

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

/* rill.array(x): make an array from a table of numbers or booleans; or copy an array to a plain one, which outlives the call. */
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

/* --- functions for other modules ---------------------------------------------------------------------------------- */

/* Raise unless n is the engine call's number of items (for an array of items) or cells (for an array of cells). */
void array_check_fits(lua_State *L, const rill_script *s, int32_t n, array_level level)
{
    int32_t expected = level == ARRAY_ITEMS ? s->frame.items : level == ARRAY_CELLS ? s->frame.cells : n;
    if (n < 0 || n != expected || (level != ARRAY_PLAIN && s->frame.stamp == 0))
        luaL_error(L, "an array of %d %s was made in a call of %d items and %d cells", (int)n, array_level_names[level],
                   (int)s->frame.items, (int)s->frame.cells);
}

void script_array_push(lua_State *L, array_type type, const void *data, int32_t n, array_level level,
                       array_writing writable)
{
    const rill_script *s = script_from_lua(L);
    array_check_fits(L, s, n, level);
    if (s->frame.stamp == 0) luaL_error(L, "arrays over engine memory can be made only during a call of the engine");
    array *a = push_header(L, s, sizeof *a);
    *a = (array){(void *)(uintptr_t)data, s->frame.stamp, n, (uint8_t)type, (uint8_t)level, (uint8_t)writable, 0};
}

void *script_array_make(lua_State *L, array_type type, int32_t n, array_level level)
{
    rill_script *s = script_from_lua(L);
    array_check_fits(L, s, n, level);
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
    if (writable) array_check_writable(L, a);
    *n = a->n;
    return a->data;
}

/* --- warning of unused masks --------------------------------------------------------------------------------------- */

enum { MAX_MASK_PLACES = 64, PLACE_TEXT = LUA_IDSIZE + 16 };

typedef struct place {
    char text[PLACE_TEXT]; /* position of the script line, "FILE:LINE" */
    /* used: calls in which all masks made by this line were used; unused: calls in which some were not */
    int used, unused;
    /* of the call in progress. call_masks: masks that this line made; call_unused: those still unused */
    int call_masks, call_unused;
} place;

typedef struct script_watch {
    place place[MAX_MASK_PLACES];
    int n;
} script_watch;

/* Return the index in w->place of the running script line, adding it if new. Returns -1 outside scripts or if w->place is full. */
static int find_place(lua_State *L, script_watch *w)
{
    char text[PLACE_TEXT];
    lua_Debug frame;
    if (!lua_getstack(L, 1, &frame) || !lua_getinfo(L, "Sl", &frame) || frame.currentline <= 0) return -1;
    snprintf(text, sizeof text, "%s:%d", frame.short_src, frame.currentline);
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->place[i].text, text) == 0) return i;
    if (w->n == MAX_MASK_PLACES) return -1;
    w->place[w->n] = (place){0};
    memcpy(w->place[w->n].text, text, sizeof text);
    return w->n++;
}

void script_watch_mask(lua_State *L, const rill_script *s, array *mask)
{
    const int place_index = find_place(L, s->watch);
    if (place_index < 0) return;
    mask->unused_place = (uint8_t)(place_index + 1);
    s->watch->place[place_index].call_masks++;
    s->watch->place[place_index].call_unused++;
}

static void use_mask(const rill_script *s, array *mask)
{
    place *p = &s->watch->place[mask->unused_place - 1];
    mask->unused_place = 0;
    if (p->call_unused > 0) p->call_unused--; /* 0: a nested call of the engine has failed, which ends the count */
}

/* Count the used and unused masks of each line when the outermost engine call ends. counts: 0 if the call failed. */
static void count_unused_masks(rill_script *s, int counts)
{
    for (place *p = s->watch->place; p < s->watch->place + s->watch->n; p++) {
        p->unused += counts && p->call_unused > 0;
        p->used += counts && p->call_masks > 0 && p->call_unused == 0;
        p->call_masks = p->call_unused = 0;
    }
}

void script_watch_free(rill_script *s)
{
    rill_free(s->ctx, s->watch, sizeof *s->watch);
    s->watch = NULL;
}

rill_status rill_script_watch(rill_script *script)
{
    if (script->watch != NULL) return RILL_OK;
    script->watch = rill_calloc(script->ctx, 1, sizeof *script->watch);
    if (script->watch == NULL) return rill_fail_memory(script->ctx, sizeof *script->watch, "watching a script");
    script->watch_end = count_unused_masks;
    return RILL_OK;
}

const char *rill_script_unused_mask(const rill_script *script, size_t i)
{
    const script_watch *w = script->watch;
    for (int place_index = 0; w != NULL && place_index < w->n; place_index++)
        if (w->place[place_index].unused > 0 && w->place[place_index].used == 0 && i-- == 0)
            return w->place[place_index].text;
    return NULL;
}

/* --- opening the library ------------------------------------------------------------------------------------------- */

void array_add_function(lua_State *L, array_place where, const char *name, lua_CFunction fn, int number)
{
    const int top = lua_gettop(L);
    if (where != ARRAY_LIBRARY) lua_rawgeti(L, LUA_REGISTRYINDEX, script_from_lua(L)->array_metatable);
    if (where == ARRAY_METHOD) {
        lua_getfield(L, -1, "__index");
        lua_getupvalue(L, -1, 1);
        script_name_add(L, "array", name);
    }
    lua_pushinteger(L, number);
    lua_pushcclosure(L, fn, 1);
    lua_setfield(L, -2, name);
    lua_settop(L, top);
}

void script_open_arrays(lua_State *L)
{
    static const luaL_Reg metamethods[] = {
        {"__newindex", assign_element}, {"__len", length},      {"__pairs", pairs}, {"__tostring", describe},
        {"__lt", refuse_order},         {"__le", refuse_order}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"array", from_values}, {"zeros", zeros}, {NULL, NULL}};
    rill_script *s = script_from_lua(L);
    luaL_setfuncs(L, functions, 0);
    lua_newtable(L); /* the metatable of arrays */
    s->array_mark = lua_topointer(L, -1);
    luaL_setfuncs(L, metamethods, 0);
    lua_newtable(L); /* the table of the arrays' methods */
    lua_pushcclosure(L, index_array, 1);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "array");
    lua_setfield(L, -2, "__name");
    lua_pushliteral(L, "array"); /* what getmetatable() returns instead of the metatable */
    lua_setfield(L, -2, "__metatable");
    s->array_metatable = luaL_ref(L, LUA_REGISTRYINDEX);
    array_add_function(L, ARRAY_METHOD, "copy", copy, 0);
    array_add_function(L, ARRAY_METHOD, "table", to_table, 0);
}
