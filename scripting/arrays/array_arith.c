/* Elementwise operations on arrays, computed in blocks of doubles.
 *
 * min, max and clamp ignore NaN, like C's fmin() and fmax(). // and % are Lua's. */
#include <math.h>
#include <string.h>

#include "arrays.h"

/* --- operands ----------------------------------------------------------------------------------------------------- */

/* Read a number, boolean or array at `index` and return 1. Return 0 for other values, where operand_read() raises. */
static int operand_try(lua_State *L, const rill_script *s, int index, int booleans, operand *out)
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

/* Prepare an operand for n elements of `level`; an item's element is repeated for its cells. Raises if the length does not fit. */
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

/* --- reading operands as doubles ---------------------------------------------------------------------------------- */

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

/* Repeat each item's element for its cells. ARRAY_PAD copies are written at once; the next segment overwrites the excess. */
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

/* Return elements [from, from + n) as doubles, n <= ARRAY_BLOCK, in `buffer` or in the array. Blocks are read in order, with one buffer. */
static const double *operand_block(operand *o, const rill_script *s, int32_t from, int32_t n,
                                   double buffer[ARRAY_BLOCK + ARRAY_PAD])
{
    if (o->a == NULL) {
        for (int32_t i = 0; from == 0 && i < n; i++)
            /* write the constant for the first block only: the buffer keeps it, and later blocks are no longer */
            buffer[i] = o->number;
    } else if (o->spread) {
        spread_block(o, s->frame.offset, from, n, buffer);
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

/* --- writing results ---------------------------------------------------------------------------------------------- */

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
        /* Convert the comparison to double and int32 first: compilers vectorise these conversions, but not a comparison that yields a
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

/* Copy the elements of an array of the same type and length. Unlike arithmetic, copying is exact for int64 too. */
static void assign_same(const array *to, const array *from)
{
    if (to->type != ARRAY_U8) {
        if (to->n > 0) memmove(to->data, from->data, (size_t)to->n * array_sizes[to->type]);
        return;
    }
    const uint8_t *x = from->data; /* mask elements may have other values than 0 and 1, written by native functions */
    uint8_t *mask = to->data;
    const int32_t n = to->n; /* local, because the compiler must assume that the loop's writes change to->n */
    for (int32_t i = 0; i < n; i++) mask[i] = x[i] != 0;
}

/* Assign the operand, broadcast, to `to`. Raises as script_array_store(). With `marks`, all values are checked before any is assigned. */
static void assign(lua_State *L, const rill_script *s, const array *to, operand *from, const char *marks)
{
    double buffer[ARRAY_BLOCK + ARRAY_PAD];
    const int is_mask = from->a != NULL && from->a->type == ARRAY_U8, is_checked = marks != NULL && !is_mask;
    if (from->a != NULL && from->a->level == ARRAY_CELLS && to->level == ARRAY_ITEMS)
        raise_size_mismatch(L, from->a, to->n, to->level);
    fit_operand(L, from, to->n, to->level);
    script_charge(L, to->n);
    if (from->a != NULL && !from->spread && from->a->type == to->type && !is_checked) {
        assign_same(to, from->a);
        return;
    }
    for (int is_writing = !is_checked; is_writing <= 1; is_writing++)
        for (int32_t pos = 0; pos < to->n; pos += ARRAY_BLOCK) {
            const int32_t n = to->n - pos < ARRAY_BLOCK ? to->n - pos : ARRAY_BLOCK;
            const double *x = operand_block(from, s, pos, n, buffer);
            if (is_writing && (to->type == ARRAY_I32 || to->type == ARRAY_I64) && has_nan(x, n))
                luaL_error(L, "NaN cannot be stored in an array of %s", array_type_names[to->type]);
            if (is_writing)
                array_narrow(to, pos, n, x);
            else
                array_check_marks(L, to->type, x, n, marks);
        }
}

/* --- assignment ---------------------------------------------------------------------------------------------------- */

void script_array_store(lua_State *L, int index, array_type type, void *data, int32_t n, array_level level,
                        const char *marks)
{
    const rill_script *s = script_from_lua(L);
    const array to = {data, s->frame.stamp, n, (uint8_t)type, (uint8_t)level, ARRAY_ANY, 0};
    operand x;
    array_check_fits(L, s, n, level);
    if (!operand_try(L, s, index, 1, &x))
        luaL_error(L, "a number, a boolean or an array was expected, not a %s", luaL_typename(L, index));
    assign(L, s, &to, &x, marks);
}

/* a:set(x): assign x to every element of the array, and return the array. */
static int set_all(lua_State *L)
{
    const rill_script *s = script_from_lua(L);
    array *a = array_check(L, s, 1);
    array_check_writable(L, a);
    operand x = operand_read(L, s, 2, 1);
    assign(L, s, a, &x, a->writable != ARRAY_MARKS ? NULL : a->type == ARRAY_U8 ? "a mark" : "a width");
    lua_settop(L, 1);
    return 1;
}

/* --- operations ---------------------------------------------------------------------------------------------------- */

/* Operations: X(OPERATION, name, place, operands, booleans, mask, value). booleans 1: true and false are valid operands; mask 1: the
 * result is a mask; value: element i of the result. */
#define OPERATIONS(X)                                                                   \
    X(ADD, "__add", METAMETHOD, 2, 0, 0, x[i] + y[i])                                   \
    X(SUB, "__sub", METAMETHOD, 2, 0, 0, x[i] - y[i])                                   \
    X(MUL, "__mul", METAMETHOD, 2, 0, 0, x[i] * y[i])                                   \
    X(DIV, "__div", METAMETHOD, 2, 0, 0, x[i] / y[i])                                   \
    X(MOD, "__mod", METAMETHOD, 2, 0, 0, modulo(x[i], y[i]))                            \
    X(POW, "__pow", METAMETHOD, 2, 0, 0, raise_to(x[i], y[i]))                          \
    X(IDIV, "__idiv", METAMETHOD, 2, 0, 0, floor(x[i] / y[i]))                          \
    X(NEGATE, "__unm", METAMETHOD, 1, 0, 0, -x[i])                                      \
    X(LT, "lt", METHOD, 2, 1, 1, TRUTH(x[i] < y[i]))                                    \
    X(LE, "le", METHOD, 2, 1, 1, TRUTH(x[i] <= y[i]))                                   \
    X(GT, "gt", METHOD, 2, 1, 1, TRUTH(x[i] > y[i]))                                    \
    X(GE, "ge", METHOD, 2, 1, 1, TRUTH(x[i] >= y[i]))                                   \
    X(EQ, "eq", METHOD, 2, 1, 1, TRUTH(x[i] == y[i]))                                   \
    X(NE, "ne", METHOD, 2, 1, 1, TRUTH(x[i] != y[i]))                                   \
    X(AND, "__band", METAMETHOD, 2, 1, 1, TRUTH(x[i] != 0) * TRUTH(y[i] != 0))          \
    X(OR, "__bor", METAMETHOD, 2, 1, 1, TRUTH(TRUTH(x[i] != 0) + TRUTH(y[i] != 0) > 0)) \
    X(XOR, "__bxor", METAMETHOD, 2, 1, 1, fabs(TRUTH(x[i] != 0) - TRUTH(y[i] != 0)))    \
    X(NOT, "__bnot", METAMETHOD, 1, 1, 1, TRUTH(x[i] == 0))                             \
    X(EXP, "exp", METHOD, 1, 0, 0, exp(x[i]))                                           \
    X(LOG, "log", METHOD, 1, 0, 0, log(x[i]))                                           \
    X(ABS, "abs", METHOD, 1, 0, 0, fabs(x[i]))                                          \
    X(SQRT, "sqrt", METHOD, 1, 0, 0, sqrt(x[i]))                                        \
    X(FLOOR, "floor", METHOD, 1, 0, 0, floor(x[i]))                                     \
    X(CEIL, "ceil", METHOD, 1, 0, 0, ceil(x[i]))                                        \
    X(MAX, "max", LIBRARY, 2, 0, 0, greater(x[i], y[i]))                                \
    X(MIN, "min", LIBRARY, 2, 0, 0, lesser(x[i], y[i]))                                 \
    X(CLAMP, "clamp", METHOD, 3, 0, 0, lesser(greater(x[i], y[i]), z[i]))               \
    X(WHERE, "where", LIBRARY, 3, 1, 0, choose(x[i], y[i], z[i]))                       \
    X(SPREAD, "spread", METHOD, 1, 0, 0, x[i])
#define TRUTH(condition) ((condition) ? 1.0 : 0.0)

typedef enum operation {
#define ENTRY(OPERATION, ...) OP_##OPERATION,
    OPERATIONS(ENTRY)
#undef ENTRY
        OP_COUNT
} operation;

static const struct {
    const char *name;
    array_place place;
    uint8_t operands, booleans, mask;
} operations[OP_COUNT] = {
#define ENTRY(OPERATION, name, place, operands, booleans, mask, value) {name, ARRAY_##place, operands, booleans, mask},
    OPERATIONS(ENTRY)
#undef ENTRY
};

/* --- computing one block ------------------------------------------------------------------------------------------ */

/* x % y as in Lua: the result has the sign of the divisor. */
static double modulo(double x, double y)
{
    double m = fmod(x, y);
    return (m > 0 ? y < 0 : m < 0 && y > 0) ? m + y : m;
}

static double greater(double x, double y)
{
    double more = x > y ? x : y; /* the larger number; y if one of both is NaN */
    return y != y ? x : more;
}

static double lesser(double x, double y)
{
    double less = x < y ? x : y;
    return y != y ? x : less;
}

static double raise_to(double x, double y)
{
    return y == 2 ? x * x : pow(x, y); /* Lua computes x^2 as x * x too */
}

/* x not 0: yes, else no. Both are evaluated, so that the compiler emits a select instruction and no branch. */
static double choose(double x, double yes, double no)
{
    return x != 0 ? yes : no;
}

#define EACH(expression)                                       \
    do {                                                       \
        for (int32_t i = 0; i < n; i++) out[i] = (expression); \
    } while (0)

static void compute(operation op, const double *x, const double *y, const double *z, double *restrict out, int32_t n)
{
    switch (op) {
#define CASE(OPERATION, name, place, operands, booleans, mask, value) \
    case OP_##OPERATION: EACH(value); break;
        OPERATIONS(CASE)
#undef CASE
    case OP_COUNT: break;
    }
}

enum { BYTES_PER_UNIT = 4 }; /* this many elements of a mask are charged as one instruction to the script's limit */

/* --- computing all blocks ----------------------------------------------------------------------------------------- */

/* The three operands' elements as doubles. A number fills its buffer once, for the first block. */
typedef double operand_buffers[3][ARRAY_BLOCK + ARRAY_PAD];

/* Compute elements [from, from + n) of an operation's result into `out`. */
static void run_block(operation op, operand *in, const rill_script *s, int32_t from, int32_t n, operand_buffers buffer,
                      double *out)
{
    const double *x[3] = {NULL, NULL, NULL};
    /* i < 3 always: GCC 14 warns about a fourth buffer otherwise */
    for (int i = 0; i < 3 && i < operations[op].operands; i++) x[i] = operand_block(&in[i], s, from, n, buffer[i]);
    compute(op, x[0], x[1], x[2], out, n);
}

/* Apply and, or, xor or not to masks, byte by byte: the most frequent case. Returns 0 for other operations and operands. */
static int run_bytes(operation op, const operand *in, const array *result)
{
    const int count = operations[op].operands;
    if (op < OP_AND || op > OP_NOT) return 0;
    for (int i = 0; i < count; i++)
        if (in[i].a == NULL || in[i].spread || in[i].a->type != ARRAY_U8) return 0;
    const uint8_t *x = in[0].a->data, *y = in[count - 1].a->data;
    uint8_t *restrict out = result->data;
    const int32_t n = result->n;
    switch (op) {
    case OP_AND: EACH((x[i] != 0) & (y[i] != 0)); break;
    case OP_OR: EACH((x[i] | y[i]) != 0); break;
    case OP_XOR: EACH((x[i] != 0) ^ (y[i] != 0)); break;
    default: EACH(x[i] == 0); break;
    }
    return 1;
}

/* Apply an operation whose operands are all numbers, as in rill.max(1, 2), and push the resulting number. */
static int run_number(lua_State *L, operation op, operand *in)
{
    double out[1];
    operand_buffers buffer;
    run_block(op, in, NULL, 0, 1, buffer, out);
    lua_pushnumber(L, out[0]);
    return 1;
}

static void read_operands(lua_State *L, const rill_script *s, operation op, operand *in)
{
    for (int i = 0; i < operations[op].operands; i++) {
        if (op == OP_CLAMP && i > 0 && lua_isnoneornil(L, i + 1))
            /* a bound that clamp() was not given: there is no limit */
            in[i] = (operand){NULL, i == 1 ? -HUGE_VAL : HUGE_VAL, 0, 0};
        else
            in[i] = operand_read(L, s, i + 1, operations[op].booleans);
    }
}

/* Apply an operation to the Lua arguments, and push the result. Upvalue 1 is the operation. */
static int apply(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    operation op = (operation)lua_tointeger(L, lua_upvalueindex(1));
    operand in[3];
    read_operands(L, s, op, in);
    shape result = operand_join(L, in, operations[op].operands);
    if (result.n < 0) return run_number(L, op, in);
    if (op == OP_SPREAD) {
        if (result.level == ARRAY_PLAIN)
            luaL_error(L, "an array without items or cells cannot be spread over segments");
        result = (shape){s->frame.cells, ARRAY_CELLS};
        in[0].spread = in[0].a->level == ARRAY_ITEMS;
    }
    array *out = array_new(L, s, operations[op].mask ? ARRAY_U8 : ARRAY_F64, result.n, result.level);
    if (s->watch != NULL && operations[op].mask && result.level != ARRAY_PLAIN) script_watch_mask(L, s, out);
    if (run_bytes(op, in, out)) {
        script_charge(L, result.n / BYTES_PER_UNIT);
        return 1;
    }
    double block[ARRAY_BLOCK];
    operand_buffers buffer;
    for (int32_t first = 0; first < result.n; first += ARRAY_BLOCK) {
        int32_t n = result.n - first < ARRAY_BLOCK ? result.n - first : ARRAY_BLOCK;
        double *x = operations[op].mask ? block : (double *)out->data + first;
        script_charge(L, n);
        run_block(op, in, s, first, n, buffer, x);
        if (operations[op].mask) array_narrow(out, first, n, x);
    }
    return 1;
}

/* --- opening the library ------------------------------------------------------------------------------------------- */

void script_open_array_arithmetic(lua_State *L)
{
    array_add_function(L, ARRAY_METHOD, "set", set_all, 0);
    for (int op = 0; op < OP_COUNT; op++) array_add_function(L, operations[op].place, operations[op].name, apply, op);
}
