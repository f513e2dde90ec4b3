/* Checked conversion of values between Lua and C. A number out of range, a string with a NUL, or an array of another
 * type is an error. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "native.h"

ffi_type *native_ffi_type(signature_type type)
{
    switch (type) {
    case SIGNATURE_VOID: return &ffi_type_void;
    case SIGNATURE_BOOL:
    case SIGNATURE_U8: return &ffi_type_uint8;
    case SIGNATURE_I8: return &ffi_type_sint8;
    case SIGNATURE_I16: return &ffi_type_sint16;
    case SIGNATURE_I32: return &ffi_type_sint32;
    case SIGNATURE_I64: return &ffi_type_sint64;
    case SIGNATURE_U16: return &ffi_type_uint16;
    case SIGNATURE_U32: return &ffi_type_uint32;
    case SIGNATURE_U64: return &ffi_type_uint64;
    case SIGNATURE_FLOAT: return &ffi_type_float;
    case SIGNATURE_DOUBLE: return &ffi_type_double;
    default: return &ffi_type_pointer;
    }
}

/* --- Lua to C ----------------------------------------------------------------------------------------------------- */

/* The Lua value being read, and its position for messages. */
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

/* Return the value as an integer. Raises unless it is in [low, high]; the message states the bounds. */
static lua_Integer read_integer(const place *p, lua_Integer low, lua_Integer high)
{
    int is_integer = 0;
    lua_Integer value = 0;
    /* Check the type first: lua_tointegerx() would accept strings, too. */
    if (lua_type(p->L, p->index) == LUA_TNUMBER) value = lua_tointegerx(p->L, p->index, &is_integer);
    if (!is_integer || value < low || value > high)
        raise_type_error(p, lua_pushfstring(p->L, "a whole number from %I to %I", (LUAI_UACINT)low, (LUAI_UACINT)high));
    return value;
}

/* Return the value as a uint64. Lua's integers end at 2^63; larger numbers are floats, as native_push() makes them. */
static uint64_t read_uint64(const place *p)
{
    int is_integer = 0;
    if (lua_type(p->L, p->index) == LUA_TNUMBER) {
        lua_Integer value = lua_tointegerx(p->L, p->index, &is_integer);
        if (is_integer && value >= 0) return (uint64_t)value;
        lua_Number number = lua_tonumber(p->L, p->index);
        if (!is_integer && number >= 0x1p63 && number < 0x1p64) return (uint64_t)number;
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

static const void *read_struct(const place *p)
{
    rill_modifiers *modifiers;
    const rill_scorer_rows *rows;
    switch (p->type) {
    case SIGNATURE_CANDIDATES: return script_candidates_check(p->L, p->index);
    case SIGNATURE_SCHED_VIEW: return script_sched_view_check(p->L, p->index);
    default: /* scripts pass `rows` for both arguments, rows* and modifiers* */
        rows = script_rows_check(p->L, p->index, &modifiers);
        return p->type == SIGNATURE_MODIFIERS ? (const void *)modifiers : rows;
    }
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
        out->u8 = (uint8_t)lua_toboolean(L, index);
        break;
    case SIGNATURE_I8: out->i8 = (int8_t)read_integer(&p, INT8_MIN, INT8_MAX); break;
    case SIGNATURE_I16: out->i16 = (int16_t)read_integer(&p, INT16_MIN, INT16_MAX); break;
    case SIGNATURE_I32: out->i32 = (int32_t)read_integer(&p, INT32_MIN, INT32_MAX); break;
    case SIGNATURE_I64: out->i64 = read_integer(&p, INT64_MIN, INT64_MAX); break;
    case SIGNATURE_U8: out->u8 = (uint8_t)read_integer(&p, 0, UINT8_MAX); break;
    case SIGNATURE_U16: out->u16 = (uint16_t)read_integer(&p, 0, UINT16_MAX); break;
    case SIGNATURE_U32: out->u32 = (uint32_t)read_integer(&p, 0, UINT32_MAX); break;
    case SIGNATURE_U64: out->u64 = read_uint64(&p); break;
    case SIGNATURE_FLOAT: out->f32 = read_float(&p); break;
    case SIGNATURE_DOUBLE: out->f64 = read_number(&p); break;
    case SIGNATURE_STRING: out->pointer = read_string(&p); break;
    case SIGNATURE_POINTER: out->pointer = read_pointer(&p); break;
    case SIGNATURE_CANDIDATES:
    case SIGNATURE_ROWS:
    case SIGNATURE_MODIFIERS:
    case SIGNATURE_SCHED_VIEW: out->pointer = read_struct(&p); break;
    default: out->pointer = read_array(&p, constant); break;
    }
}

/* --- C to Lua ----------------------------------------------------------------------------------------------------- */

static void push_uint64(lua_State *L, uint64_t value)
{
    if (value <= INT64_MAX)
        lua_pushinteger(L, (lua_Integer)value);
    else
        lua_pushnumber(L, (lua_Number)value); /* push the nearest float, since a Lua integer would be negative */
}

int native_push(lua_State *L, signature_type type, const native_value *value)
{
    switch (type) {
    case SIGNATURE_VOID: return 0;
    case SIGNATURE_BOOL: lua_pushboolean(L, (uint8_t)value->word != 0); break;
    case SIGNATURE_I8: lua_pushinteger(L, (int8_t)value->word); break;
    case SIGNATURE_I16: lua_pushinteger(L, (int16_t)value->word); break;
    case SIGNATURE_I32: lua_pushinteger(L, (int32_t)value->word); break;
    case SIGNATURE_I64: lua_pushinteger(L, value->i64); break;
    case SIGNATURE_U8: lua_pushinteger(L, (uint8_t)value->word); break;
    case SIGNATURE_U16: lua_pushinteger(L, (uint16_t)value->word); break;
    case SIGNATURE_U32: lua_pushinteger(L, (uint32_t)value->word); break;
    case SIGNATURE_U64: push_uint64(L, value->u64); break;
    case SIGNATURE_FLOAT: lua_pushnumber(L, (lua_Number)value->f32); break;
    case SIGNATURE_DOUBLE: lua_pushnumber(L, value->f64); break;
    case SIGNATURE_STRING: lua_pushstring(L, value->pointer); break; /* nil for NULL */
    default:
        if (value->pointer == NULL)
            lua_pushnil(L);
        else
            lua_pushlightuserdata(L, (void *)(uintptr_t)value->pointer);
    }
    return 1;
}

/* --- callbacks ---------------------------------------------------------------------------------------------------- */

native_value native_load(signature_type type, const void *memory)
{
    native_value raw = {0}, value = {0};
    memcpy(&raw, memory, native_ffi_type(type)->size);
    native_store(type, &raw, &value);
    return value;
}

void native_store(signature_type type, const native_value *value, void *result)
{
    native_value wide = *value;
    switch (type) {
    case SIGNATURE_VOID: return;
    case SIGNATURE_I8: wide.signed_word = value->i8; break;
    case SIGNATURE_I16: wide.signed_word = value->i16; break;
    case SIGNATURE_I32: wide.signed_word = value->i32; break;
    case SIGNATURE_BOOL:
    case SIGNATURE_U8: wide.word = value->u8; break;
    case SIGNATURE_U16: wide.word = value->u16; break;
    case SIGNATURE_U32: wide.word = value->u32; break;
    default: break;
    }
    size_t size = native_ffi_type(type)->size;
    if (type < SIGNATURE_FLOAT && size < sizeof wide.word) size = sizeof wide.word;
    memcpy(result, &wide, size);
}
