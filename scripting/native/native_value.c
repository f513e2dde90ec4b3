/* Checked conversion of values between Lua and C. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "native.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as native.h says");

/* For each number type of C, indexed by signature_type: libffi's type and, for integers, the range of values. */
static const struct {
    ffi_type *type;
    lua_Integer min, max;
} numbers[] = {
    [SIGNATURE_VOID] = {&ffi_type_void, 0, 0},
    [SIGNATURE_BOOL] = {&ffi_type_uint8, 0, 1},
    [SIGNATURE_I8] = {&ffi_type_sint8, INT8_MIN, INT8_MAX},
    [SIGNATURE_I16] = {&ffi_type_sint16, INT16_MIN, INT16_MAX},
    [SIGNATURE_I32] = {&ffi_type_sint32, INT32_MIN, INT32_MAX},
    [SIGNATURE_I64] = {&ffi_type_sint64, INT64_MIN, INT64_MAX},
    [SIGNATURE_U8] = {&ffi_type_uint8, 0, UINT8_MAX},
    [SIGNATURE_U16] = {&ffi_type_uint16, 0, UINT16_MAX},
    [SIGNATURE_U32] = {&ffi_type_uint32, 0, UINT32_MAX},
    [SIGNATURE_U64] = {&ffi_type_uint64, 0, INT64_MAX}, /* larger values are floats in Lua */
    [SIGNATURE_FLOAT] = {&ffi_type_float, 0, 0},
    [SIGNATURE_DOUBLE] = {&ffi_type_double, 0, 0},
};

ffi_type *native_ffi_type(signature_type type)
{
    return type <= SIGNATURE_DOUBLE ? numbers[type].type : &ffi_type_pointer;
}

/* --- Lua to C ----------------------------------------------------------------------------------------------------- */

/* The Lua value that is being read, with its position in the call for messages. */
typedef struct place {
    lua_State *L;
    int index;
    signature_type type;
    const char *function;
    int argument;
} place;

static int raise_type_error(const place *p, const char *expected)
{
    lua_State *L = p->L;
    const char *type = signature_type_name(p->type);
    const char *found = lua_type(L, p->index) == LUA_TNUMBER ? luaL_tolstring(L, p->index, NULL)
                                                             : luaL_typename(L, p->index);
    if (p->argument == 0)
        return luaL_error(L, "%s: the result (%s): %s was expected, not %s", p->function, type, expected, found);
    return luaL_error(L, "%s: argument %d (%s): %s was expected, not %s", p->function, p->argument, type, expected,
                      found);
}

/* Return the value as an integer. Raises unless it is in the type's range; the message has the bounds. */
static lua_Integer read_integer(const place *p)
{
    lua_Integer value = 0, low = numbers[p->type].min, high = numbers[p->type].max;
    if (!script_whole_number(p->L, p->index, low, high, &value))
        raise_type_error(p, lua_pushfstring(p->L, "a whole number from %I to %I", (LUAI_UACINT)low, (LUAI_UACINT)high));
    return value;
}

/* Return the value as a uint64. Lua's integers end below 2^63; native_push() makes larger numbers floats, so floats are accepted too. */
static uint64_t read_uint64(const place *p)
{
    lua_Integer value;
    if (script_whole_number(p->L, p->index, 0, INT64_MAX, &value)) return (uint64_t)value;
    if (lua_type(p->L, p->index) == LUA_TNUMBER) {
        lua_Number number = lua_tonumber(p->L, p->index);
        if (number >= 0x1p63 && number < 0x1p64) return (uint64_t)number;
    }
    raise_type_error(p, "a whole number from 0 to 18446744073709551615");
    return 0;
}

static double read_number(const place *p)
{
    if (lua_type(p->L, p->index) != LUA_TNUMBER) raise_type_error(p, "a number");
    return lua_tonumber(p->L, p->index);
}

static float read_float(const place *p)
{
    double value = read_number(p);
    if (isfinite(value) && fabs(value) > FLT_MAX) raise_type_error(p, "a number that a float can hold");
    return (float)value;
}

static const char *read_string(const place *p)
{
    size_t length;
    if (lua_isnil(p->L, p->index)) return NULL;
    if (lua_type(p->L, p->index) != LUA_TSTRING) raise_type_error(p, "a string or nil");
    const char *text = lua_tolstring(p->L, p->index, &length);
    if (memchr(text, '\0', length) != NULL) raise_type_error(p, "a string without a NUL");
    return text;
}

static const void *read_pointer(const place *p)
{
    if (lua_isnil(p->L, p->index)) return NULL;
    if (lua_type(p->L, p->index) != LUA_TLIGHTUSERDATA)
        raise_type_error(p, "nil, a pointer that a function returned, or a callback");
    return lua_touserdata(p->L, p->index);
}

/* Return the engine struct of a view. Scripts pass the view `rows` for both rows* and modifiers*. */
static const void *read_struct(const place *p)
{
    const script_view_class *kind = p->type == SIGNATURE_CANDIDATES   ? &script_candidates_class
                                    : p->type == SIGNATURE_SCHED_VIEW ? &script_sched_view_class
                                                                      : &script_rows_class;
    const script_view *view = script_view_check(p->L, p->index, kind);
    return p->type == SIGNATURE_MODIFIERS ? (const void *)script_rows_modifiers(view) : view->data;
}

static const void *read_array(const place *p, int constant)
{
    int32_t n;
    if (lua_type(p->L, p->index) != LUA_TUSERDATA) raise_type_error(p, "an array");
    return script_array_data(p->L, p->index, native_elements(p->type), !constant, &n);
}

void native_read(lua_State *L, int index, signature_type type, int constant, const char *function, int argument,
                 native_value *out)
{
    place p = {L, lua_absindex(L, index), type, function, argument};
    switch (type) {
    case SIGNATURE_VOID: break;
    case SIGNATURE_BOOL:
        if (!lua_isboolean(L, index)) raise_type_error(&p, "true or false");
        out->i64 = lua_toboolean(L, index);
        break;
    case SIGNATURE_U64: out->u64 = read_uint64(&p); break;
    case SIGNATURE_FLOAT: out->f32 = read_float(&p); break;
    case SIGNATURE_DOUBLE: out->f64 = read_number(&p); break;
    case SIGNATURE_STRING: out->pointer = read_string(&p); break;
    case SIGNATURE_POINTER: out->pointer = read_pointer(&p); break;
    case SIGNATURE_CANDIDATES:
    case SIGNATURE_ROWS:
    case SIGNATURE_MODIFIERS:
    case SIGNATURE_SCHED_VIEW: out->pointer = read_struct(&p); break;
    default:
        if (type < SIGNATURE_FLOAT)
            out->i64 = read_integer(&p);
        else
            out->pointer = read_array(&p, constant);
        break;
    }
}

/* --- C to Lua ----------------------------------------------------------------------------------------------------- */

int64_t native_integer(signature_type type, const native_value *value)
{
    switch (type) {
    case SIGNATURE_I8: return (int8_t)value->i64;
    case SIGNATURE_I16: return (int16_t)value->i64;
    case SIGNATURE_I32: return (int32_t)value->i64;
    case SIGNATURE_BOOL:
    case SIGNATURE_U8: return (uint8_t)value->i64;
    case SIGNATURE_U16: return (uint16_t)value->i64;
    case SIGNATURE_U32: return (uint32_t)value->i64;
    default: return value->i64;
    }
}

int native_push(lua_State *L, signature_type type, const native_value *value)
{
    switch (type) {
    case SIGNATURE_VOID: return 0;
    case SIGNATURE_BOOL: lua_pushboolean(L, native_integer(type, value) != 0); break;
    case SIGNATURE_FLOAT: lua_pushnumber(L, (lua_Number)value->f32); break;
    case SIGNATURE_DOUBLE: lua_pushnumber(L, value->f64); break;
    case SIGNATURE_STRING: lua_pushstring(L, value->pointer); break; /* nil for NULL */
    default:
        if (type == SIGNATURE_U64 && value->u64 > INT64_MAX)
            /* push the nearest float: as a Lua integer this value would be negative */
            lua_pushnumber(L, (lua_Number)value->u64);
        else if (type < SIGNATURE_FLOAT)
            lua_pushinteger(L, native_integer(type, value));
        else if (value->pointer == NULL)
            lua_pushnil(L);
        else
            lua_pushlightuserdata(L, (void *)(uintptr_t)value->pointer);
    }
    return 1;
}
