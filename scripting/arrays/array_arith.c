/* Elementwise arithmetic, comparisons, logic and functions of one to three operands. Each operation is a row of one
 * table; one loop over blocks runs them all.
 *
 * NaN and infinities behave as in IEEE 754; min, max and clamp ignore NaN as C's fmin() and fmax() do. // and % are
 * Lua's. */
#include <math.h>

#include "array.h"

typedef enum operation {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_POW,
    OP_IDIV,
    OP_NEGATE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_AND,
    OP_OR,
    OP_XOR,
    OP_NOT,
    OP_EXP,
    OP_LOG,
    OP_ABS,
    OP_SQRT,
    OP_FLOOR,
    OP_CEIL,
    OP_MAX,
    OP_MIN,
    OP_CLAMP,
    OP_WHERE,
    OP_SPREAD,
    OP_COUNT
} operation;

static const struct {
    uint8_t operands;
    uint8_t booleans; /* 1: true and false are valid operands */
    uint8_t mask;     /* 1: the result is a mask */
} kinds[OP_COUNT] = {
    [OP_ADD] = {2, 0, 0},    [OP_SUB] = {2, 0, 0},  [OP_MUL] = {2, 0, 0},   [OP_DIV] = {2, 0, 0},
    [OP_MOD] = {2, 0, 0},    [OP_POW] = {2, 0, 0},  [OP_IDIV] = {2, 0, 0},  [OP_NEGATE] = {1, 0, 0},
    [OP_LT] = {2, 1, 1},     [OP_LE] = {2, 1, 1},   [OP_GT] = {2, 1, 1},    [OP_GE] = {2, 1, 1},
    [OP_EQ] = {2, 1, 1},     [OP_NE] = {2, 1, 1},   [OP_AND] = {2, 1, 1},   [OP_OR] = {2, 1, 1},
    [OP_XOR] = {2, 1, 1},    [OP_NOT] = {1, 1, 1},  [OP_EXP] = {1, 0, 0},   [OP_LOG] = {1, 0, 0},
    [OP_ABS] = {1, 0, 0},    [OP_SQRT] = {1, 0, 0}, [OP_FLOOR] = {1, 0, 0}, [OP_CEIL] = {1, 0, 0},
    [OP_MAX] = {2, 0, 0},    [OP_MIN] = {2, 0, 0},  [OP_CLAMP] = {3, 0, 0}, [OP_WHERE] = {3, 1, 0},
    [OP_SPREAD] = {1, 0, 0},
};

/* --- one block ---------------------------------------------------------------------------------------------------- */

/* x % y as in Lua: the result has the sign of the divisor. */
static double modulo(double x, double y)
{
    double m = fmod(x, y);
    return (m > 0 ? y < 0 : m < 0 && y > 0) ? m + y : m;
}

static double greater(double x, double y)
{
    double more = x > y ? x : y; /* y if one is NaN */
    return y != y ? x : more;
}

static double lesser(double x, double y)
{
    double less = x < y ? x : y;
    return y != y ? x : less;
}

static double raise_to(double x, double y)
{
    return y == 2 ? x * x : pow(x, y); /* Lua computes x^2 in the same way */
}

#define EACH(expression)                                       \
    do {                                                       \
        for (int32_t i = 0; i < n; i++) out[i] = (expression); \
    } while (0)
#define EACH_MASK(condition) EACH((condition) ? 1.0 : 0.0)

/* Compute an operation whose result is a mask, as doubles 0 and 1. */
static void compute_mask(operation op, const double *x, const double *y, double *restrict out, int32_t n)
{
    switch (op) {
    case OP_LT: EACH_MASK(x[i] < y[i]); break;
    case OP_LE: EACH_MASK(x[i] <= y[i]); break;
    case OP_GT: EACH_MASK(x[i] > y[i]); break;
    case OP_GE: EACH_MASK(x[i] >= y[i]); break;
    case OP_EQ: EACH_MASK(x[i] == y[i]); break;
    case OP_NE: EACH_MASK(x[i] != y[i]); break;
    case OP_AND: EACH((x[i] != 0 ? 1.0 : 0.0) * (y[i] != 0 ? 1.0 : 0.0)); break;
    case OP_OR: EACH_MASK((x[i] != 0 ? 1.0 : 0.0) + (y[i] != 0 ? 1.0 : 0.0) > 0); break;
    case OP_XOR: EACH(fabs((x[i] != 0 ? 1.0 : 0.0) - (y[i] != 0 ? 1.0 : 0.0))); break;
    case OP_NOT: EACH_MASK(x[i] == 0); break;
    default: break;
    }
}

static void compute(operation op, const double *x, const double *y, const double *z, double *restrict out, int32_t n)
{
    switch (op) {
    case OP_ADD: EACH(x[i] + y[i]); break;
    case OP_SUB: EACH(x[i] - y[i]); break;
    case OP_MUL: EACH(x[i] * y[i]); break;
    case OP_DIV: EACH(x[i] / y[i]); break;
    case OP_MOD: EACH(modulo(x[i], y[i])); break;
    case OP_POW: EACH(raise_to(x[i], y[i])); break;
    case OP_IDIV: EACH(floor(x[i] / y[i])); break;
    case OP_NEGATE: EACH(-x[i]); break;
    case OP_EXP: EACH(exp(x[i])); break;
    case OP_LOG: EACH(log(x[i])); break;
    case OP_ABS: EACH(fabs(x[i])); break;
    case OP_SQRT: EACH(sqrt(x[i])); break;
    case OP_FLOOR: EACH(floor(x[i])); break;
    case OP_CEIL: EACH(ceil(x[i])); break;
    case OP_MAX: EACH(greater(x[i], y[i])); break;
    case OP_MIN: EACH(lesser(x[i], y[i])); break;
    case OP_CLAMP: EACH(lesser(greater(x[i], y[i]), z[i])); break;
    case OP_SPREAD: EACH(x[i]); break;
    case OP_WHERE:
        for (int32_t i = 0; i < n; i++) {
            double yes = y[i], no = z[i]; /* reads both, so that the compiler emits a select and no branch */
            out[i] = x[i] != 0 ? yes : no;
        }
        break;
    default: compute_mask(op, x, y, out, n); break;
    }
}

enum { BYTES_PER_UNIT = 4 }; /* elements of a mask per instruction charged */

/* --- all blocks --------------------------------------------------------------------------------------------------- */

/* Buffers for operands converted to double. A scalar operand is written only for the first block. */
typedef double operand_buffers[3][ARRAY_BLOCK + ARRAY_PAD];

/* Compute elements [from, from + n) of the result into `out`, or return an operand's own memory. */
static void run_block(operation op, operand *in, const rill_script *s, int32_t from, int32_t n, operand_buffers buffer,
                      double *out)
{
    const double *x[3] = {NULL, NULL, NULL};
    for (int i = 0; i < kinds[op].operands; i++) x[i] = operand_block(&in[i], s, from, n, buffer[i]);
    compute(op, x[0], x[1], x[2], out, n);
}

/* The most frequent case: combine masks byte by byte. Returns 1, or 0 if some operand is not a mask. */
static int run_bytes(operation op, const operand *in, const array *out)
{
    const int count = kinds[op].operands;
    if (op < OP_AND || op > OP_NOT) return 0;
    for (int i = 0; i < count; i++)
        if (in[i].a == NULL || in[i].spread || in[i].a->type != ARRAY_U8) return 0;
    const uint8_t *x = in[0].a->data, *y = in[count - 1].a->data;
    uint8_t *restrict mask = out->data;
    const int32_t n = out->n;
    switch (op) {
    case OP_AND:
        for (int32_t i = 0; i < n; i++) mask[i] = (x[i] != 0) & (y[i] != 0);
        break;
    case OP_OR:
        for (int32_t i = 0; i < n; i++) mask[i] = (x[i] | y[i]) != 0;
        break;
    case OP_XOR:
        for (int32_t i = 0; i < n; i++) mask[i] = (x[i] != 0) ^ (y[i] != 0);
        break;
    default:
        for (int32_t i = 0; i < n; i++) mask[i] = x[i] == 0;
        break;
    }
    return 1;
}

/* Apply an operation none of whose operands is an array. The result is a number, as in rill.max(1, 2). */
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
    for (int i = 0; i < kinds[op].operands; i++) {
        if (op == OP_CLAMP && i > 0 && lua_isnoneornil(L, i + 1))
            in[i] = (operand){NULL, i == 1 ? -HUGE_VAL : HUGE_VAL, 0, 0}; /* the missing bound of clamp: no limit */
        else
            in[i] = operand_read(L, s, i + 1, kinds[op].booleans);
    }
}

/* Apply an operation to the Lua arguments. Upvalue 1 is the operation. */
static int apply(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    operation op = (operation)lua_tointeger(L, lua_upvalueindex(1));
    operand in[3];
    read_operands(L, s, op, in);
    shape result = operand_join(L, in, kinds[op].operands);
    if (result.n < 0) return run_number(L, op, in);
    if (op == OP_SPREAD) {
        if (result.level == ARRAY_PLAIN)
            luaL_error(L, "an array without items or cells cannot be spread over segments");
        result = (shape){s->cells, ARRAY_CELLS};
        in[0].spread = in[0].a->level == ARRAY_ITEMS;
    }
    const array *out = array_new(L, s, kinds[op].mask ? ARRAY_U8 : ARRAY_F64, result.n, result.level);
    if (s->watch != NULL && kinds[op].mask && result.level != ARRAY_PLAIN) script_watch_mask(L, s);
    if (run_bytes(op, in, out)) {
        script_charge(L, result.n / BYTES_PER_UNIT);
        return 1;
    }
    double block[ARRAY_BLOCK];
    operand_buffers buffer;
    for (int32_t first = 0; first < result.n; first += ARRAY_BLOCK) {
        int32_t n = result.n - first < ARRAY_BLOCK ? result.n - first : ARRAY_BLOCK;
        double *x = kinds[op].mask ? block : (double *)out->data + first;
        script_charge(L, n);
        run_block(op, in, s, first, n, buffer, x);
        if (kinds[op].mask) array_narrow(out, first, n, x);
    }
    return 1;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

void array_open_arithmetic(lua_State *L, int meta, int methods, int library)
{
    static const array_entry operators[] = {
        {"__add", OP_ADD},  {"__sub", OP_SUB}, {"__mul", OP_MUL},   {"__div", OP_DIV},
        {"__mod", OP_MOD},  {"__pow", OP_POW}, {"__idiv", OP_IDIV}, {"__unm", OP_NEGATE},
        {"__band", OP_AND}, {"__bor", OP_OR},  {"__bxor", OP_XOR},  {"__bnot", OP_NOT},
        {NULL, 0}};
    static const array_entry named[] = {
        {"lt", OP_LT},       {"le", OP_LE},     {"gt", OP_GT},       {"ge", OP_GE},         {"eq", OP_EQ},
        {"ne", OP_NE},       {"exp", OP_EXP},   {"log", OP_LOG},     {"abs", OP_ABS},       {"sqrt", OP_SQRT},
        {"floor", OP_FLOOR}, {"ceil", OP_CEIL}, {"clamp", OP_CLAMP}, {"spread", OP_SPREAD}, {NULL, 0}};
    static const array_entry functions[] = {{"max", OP_MAX}, {"min", OP_MIN}, {"where", OP_WHERE}, {NULL, 0}};
    lua_pushvalue(L, meta);
    array_set_functions(L, apply, operators);
    lua_pushvalue(L, methods);
    array_set_functions(L, apply, named);
    lua_pushvalue(L, library);
    array_set_functions(L, apply, functions);
    lua_pop(L, 3);
}
