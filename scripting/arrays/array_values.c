/* Elements as blocks of doubles: reads operands of any type and level, and writes blocks into arrays of any type. */
#include <math.h>
#include <string.h>

#include "array.h"

/* --- operands ----------------------------------------------------------------------------------------------------- */

int operand_try(lua_State *L, const rill_script *s, int index, int booleans, operand *out)
{
    int type = lua_type(L, index);
    *out = (operand){NULL, 0, 0, 0};
    if (type == LUA_TNUMBER)
        out->number = lua_tonumber(L, index);
    else if (type == LUA_TBOOLEAN && booleans)
        out->number = lua_toboolean(L, index);
    else if (array_test(L, s, index) != NULL)
        out->a = array_check(L, s, index);
    else
        return 0;
    return 1;
}

operand operand_read(lua_State *L, const rill_script *s, int index, int booleans)
{
    operand o;
    if (!operand_try(L, s, index, booleans, &o))
        luaL_typeerror(L, index, booleans ? "number, boolean or array" : "number or array");
    return o;
}

static int raise_size_mismatch(lua_State *L, const array *a, int32_t n, array_level level)
{
    if (a->level == ARRAY_CELLS && level == ARRAY_ITEMS)
        return luaL_error(L, "%d cells do not fit %d items: reduce them first, as a:max() or a:any() do", (int)a->n,
                          (int)n);
    return luaL_error(L, "%d %s do not fit %d %s", (int)a->n, array_level_names[a->level], (int)n,
                      array_level_names[level]);
}

/* Prepare the operand for an operation over n elements of `level`, which is not below its own level. Items are
 * repeated over their cells. A plain array fits any level if its length matches. Raises if the lengths do not fit. */
static void fit_operand(lua_State *L, operand *o, int32_t n, array_level level)
{
    if (o->a == NULL) return;
    o->spread = o->a->level == ARRAY_ITEMS && level == ARRAY_CELLS;
    if (!o->spread && o->a->n != n) raise_size_mismatch(L, o->a, n, level);
}

shape operand_join(lua_State *L, operand *in, int count)
{
    shape out = {-1, ARRAY_PLAIN};
    for (int i = 0; i < count; i++)
        if (in[i].a != NULL && (out.n < 0 || in[i].a->level > out.level)) {
            out.level = in[i].a->level;
            out.n = in[i].a->n;
        }
    for (int i = 0; i < count; i++) fit_operand(L, &in[i], out.n, out.level);
    return out;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

void array_widen(const array *a, int32_t from, int32_t n, double *out)
{
#define WIDEN(type)                                            \
    do {                                                       \
        const type *x = (const type *)a->data + from;          \
        for (int32_t i = 0; i < n; i++) out[i] = (double)x[i]; \
    } while (0)
    switch ((array_type)a->type) {
    case ARRAY_F64: WIDEN(double); break;
    case ARRAY_F32: WIDEN(float); break;
    case ARRAY_I32: WIDEN(int32_t); break;
    case ARRAY_I64: WIDEN(int64_t); break;
    case ARRAY_U8: WIDEN(uint8_t); break;
    }
#undef WIDEN
}

/* Repeat each item's value over its segment. Most segments are short, so at least ARRAY_PAD copies are written for
 * each; the next segment overwrites the surplus. */
static void spread_block(operand *o, const int32_t *offset, int32_t from, int32_t n, double *out)
{
    const int32_t base = offset[0], end = from + n;
    const double *values = o->a->type == ARRAY_F64 ? o->a->data : NULL;
    int32_t pos = from, j = from == 0 ? 0 : o->segment;
    while (pos < end) {
        int32_t stop = offset[j + 1] - base, to = stop < end ? stop : end;
        double value = 0, *x = out + (pos - from);
        if (values != NULL)
            value = values[j];
        else
            array_widen(o->a, j, 1, &value);
        for (int32_t i = 0; i < ARRAY_PAD; i++) x[i] = value;
        for (int32_t i = ARRAY_PAD; i < to - pos; i++) x[i] = value;
        pos = to;
        if (stop == to) j++;
    }
    o->segment = j;
}

const double *operand_block(operand *o, const rill_script *s, int32_t from, int32_t n,
                            double buffer[ARRAY_BLOCK + ARRAY_PAD])
{
    if (o->a == NULL) {
        for (int32_t i = 0; from == 0 && i < n; i++)
            buffer[i] = o->number; /* the constant is written once, since later blocks are no longer than the first */
    } else if (o->spread) {
        spread_block(o, s->offset, from, n, buffer);
    } else if (o->a->type == ARRAY_F64) {
        return (const double *)o->a->data + from;
    } else {
        array_widen(o->a, from, n, buffer);
    }
    return buffer;
}

const double *array_doubles(lua_State *L, const array *a, double local[ARRAY_LOCAL])
{
    if (a->type == ARRAY_F64) return a->data;
    double *x = a->n <= ARRAY_LOCAL ? local : array_scratch(L, (size_t)a->n, sizeof *x);
    array_widen(a, 0, a->n, x);
    return x;
}

const double *operand_doubles(lua_State *L, const rill_script *s, operand *o, int32_t n, double local[ARRAY_LOCAL])
{
    if (o->a != NULL && !o->spread) return array_doubles(L, o->a, local);
    double buffer[ARRAY_BLOCK + ARRAY_PAD], *x = n <= ARRAY_LOCAL ? local : array_scratch(L, (size_t)n, sizeof *x);
    for (int32_t pos = 0; pos < n; pos += ARRAY_BLOCK) {
        int32_t m = n - pos < ARRAY_BLOCK ? n - pos : ARRAY_BLOCK;
        memcpy(x + pos, operand_block(o, s, pos, m, buffer), (size_t)m * sizeof *x);
    }
    return x;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static int32_t floor_to_i32(double x)
{
    double in = x < -0x1p31 ? -0x1p31 : x > 0x1p31 - 1 ? 0x1p31 - 1 : x;
    int32_t cut = (int32_t)in;
    return cut - (cut > in);
}

static int64_t floor_to_i64(double x)
{
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)floor(x);
}

void array_narrow(const array *to, int32_t from, int32_t n, const double *restrict x)
{
    switch ((array_type)to->type) {
    case ARRAY_F64: memcpy((double *)to->data + from, x, (size_t)n * sizeof *x); break;
    case ARRAY_F32:
        for (int32_t i = 0; i < n; i++) ((float *)to->data)[from + i] = (float)x[i];
        break;
    case ARRAY_I32:
        for (int32_t i = 0; i < n; i++) ((int32_t *)to->data)[from + i] = floor_to_i32(x[i]);
        break;
    case ARRAY_I64:
        for (int32_t i = 0; i < n; i++) ((int64_t *)to->data)[from + i] = floor_to_i64(x[i]);
        break;
    case ARRAY_U8: {
        uint8_t *restrict mask = (uint8_t *)to->data + from;
        /* Convert through double and int32: compilers vectorise these conversions, but no comparison that yields a
         * byte. */
        for (int32_t i = 0; i < n; i++) mask[i] = (uint8_t)(int32_t)(x[i] != 0 ? 1.0 : 0.0);
        break;
    }
    }
}

static int has_nan(const double *x, int32_t n)
{
    double count = 0;
    for (int32_t i = 0; i < n; i++) count += x[i] != x[i] ? 1.0 : 0.0;
    return count > 0;
}

/* Copy from an array of the same type and length. Unlike arithmetic, this is exact for int64, too. */
static void assign_same(const array *to, const array *from)
{
    if (to->type != ARRAY_U8) {
        if (to->n > 0) memmove(to->data, from->data, (size_t)to->n * array_sizes[to->type]);
        return;
    }
    const uint8_t *x = from->data; /* native functions may write mask values other than 0 and 1 */
    uint8_t *mask = to->data;
    const int32_t n = to->n; /* a local copy, since the compiler must assume that the loop writes to to->n */
    for (int32_t i = 0; i < n; i++) mask[i] = x[i] != 0;
}

void array_assign(lua_State *L, const rill_script *s, const array *to, operand *from)
{
    double buffer[ARRAY_BLOCK + ARRAY_PAD];
    if (from->a != NULL && from->a->level == ARRAY_CELLS && to->level == ARRAY_ITEMS)
        raise_size_mismatch(L, from->a, to->n, to->level);
    fit_operand(L, from, to->n, to->level);
    script_charge(L, to->n);
    if (from->a != NULL && !from->spread && from->a->type == to->type) {
        assign_same(to, from->a);
        return;
    }
    for (int32_t pos = 0; pos < to->n; pos += ARRAY_BLOCK) {
        int32_t n = to->n - pos < ARRAY_BLOCK ? to->n - pos : ARRAY_BLOCK;
        const double *x = operand_block(from, s, pos, n, buffer);
        if ((to->type == ARRAY_I32 || to->type == ARRAY_I64) && has_nan(x, n))
            luaL_error(L, "NaN cannot be stored in an array of %s", array_type_names[to->type]);
        array_narrow(to, pos, n, x);
    }
}

/* --- segments ----------------------------------------------------------------------------------------------------- */

void get_segments(segments *out, const rill_script *s, const array *a)
{
    if (a->level == ARRAY_CELLS) {
        out->n = s->items;
        out->offset = s->offset;
    } else {
        out->single_offset[0] = 0;
        out->single_offset[1] = a->n;
        out->n = 1;
        out->offset = out->single_offset;
    }
    out->base = out->offset[0];
}
