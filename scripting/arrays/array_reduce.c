/* Reductions: an array of cells yields one value per segment, any other array one value. Sums run from left to
 * right, so a segment's result does not depend on its neighbours. Results for empty segments: sum 0, max -inf, min
 * inf, mean, first and last NaN, argmax 0, logsumexp -inf. max, min, argmax and argmin ignore NaN. */
#include <math.h>

#include "array.h"

typedef enum reduction {
    REDUCE_SUM,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_MEAN,
    REDUCE_FIRST,
    REDUCE_LAST,
    REDUCE_LOGSUMEXP,
    REDUCE_COUNT, /* this and later reductions have integer results */
    REDUCE_ARGMAX,
    REDUCE_ARGMIN,
    REDUCE_ANY, /* this and later reductions have boolean results */
    REDUCE_ALL,
} reduction;

static double sum(const double *x, int32_t n)
{
    double total = 0;
    for (int32_t i = 0; i < n; i++) total += x[i];
    return total;
}

double array_max(const double *x, int32_t n)
{
    double max = -HUGE_VAL;
    for (int32_t i = 0; i < n; i++) max = x[i] > max ? x[i] : max;
    return max;
}

static double array_min(const double *x, int32_t n)
{
    double lowest = HUGE_VAL;
    for (int32_t i = 0; i < n; i++) lowest = x[i] < lowest ? x[i] : lowest;
    return lowest;
}

static double logsumexp(const double *x, int32_t n)
{
    double max = array_max(x, n), total = 0;
    if (isinf(max)) { /* empty, all -inf, or with an element inf: the result is the maximum, unless an element is NaN */
        for (int32_t i = 0; i < n; i++)
            if (x[i] != x[i]) return x[i];
        return max;
    }
    for (int32_t i = 0; i < n; i++) total += exp(x[i] - max);
    return max + log(total);
}

static int32_t count(const double *x, int32_t n)
{
    int32_t found = 0;
    for (int32_t i = 0; i < n; i++) found += x[i] != 0;
    return found;
}

/* Return the index, counted from 1, of the maximum of sign * x; the first of equal elements. */
static int32_t arg_extreme(const double *x, int32_t n, double sign)
{
    int32_t best = -1;
    for (int32_t i = 0; i < n; i++)
        if (best < 0 ? x[i] == x[i] : sign * x[i] > sign * x[best]) best = i;
    return best + 1;
}

static double reduce(reduction how, const double *x, int32_t n)
{
    switch (how) {
    case REDUCE_SUM: return sum(x, n);
    case REDUCE_MAX: return array_max(x, n);
    case REDUCE_MIN: return array_min(x, n);
    case REDUCE_MEAN: return n > 0 ? sum(x, n) / n : (double)NAN;
    case REDUCE_FIRST: return n > 0 ? x[0] : (double)NAN;
    case REDUCE_LAST: return n > 0 ? x[n - 1] : (double)NAN;
    case REDUCE_LOGSUMEXP: return logsumexp(x, n);
    case REDUCE_COUNT: return count(x, n);
    case REDUCE_ARGMAX: return arg_extreme(x, n, 1);
    case REDUCE_ARGMIN: return arg_extreme(x, n, -1);
    case REDUCE_ANY: return count(x, n) > 0;
    case REDUCE_ALL: return count(x, n) == n;
    }
    return 0;
}

static void push_result(lua_State *L, reduction how, array_type type, double value)
{
    if (how >= REDUCE_ANY)
        lua_pushboolean(L, value != 0);
    else
        array_push_number(L,
                          how >= REDUCE_COUNT                             ? ARRAY_I32
                          : how == REDUCE_MEAN || how == REDUCE_LOGSUMEXP ? ARRAY_F64
                                                                          : type,
                          value);
}

/* Apply a reduction to an array. Upvalue 1 is the reduction. */
static int apply(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    const array *a = array_check(L, s, 1);
    reduction how = (reduction)lua_tointeger(L, lua_upvalueindex(1));
    double local[ARRAY_LOCAL], block[ARRAY_BLOCK];
    script_charge(L, a->n);
    const double *x = array_doubles(L, a, local);
    if (a->level != ARRAY_CELLS) {
        push_result(L, how, a->type, reduce(how, x, a->n));
        return 1;
    }
    segments g;
    get_segments(&g, s, a);
    const array *out = array_new(L, s,
                                 how >= REDUCE_ANY     ? ARRAY_U8
                                 : how >= REDUCE_COUNT ? ARRAY_I32
                                                       : ARRAY_F64,
                                 g.n, ARRAY_ITEMS);
    for (int32_t first = 0; first < g.n; first += ARRAY_BLOCK) {
        int32_t n = g.n - first < ARRAY_BLOCK ? g.n - first : ARRAY_BLOCK;
        double *values = out->type == ARRAY_F64 ? (double *)out->data + first : block;
        for (int32_t j = 0; j < n; j++) {
            int32_t from = g.offset[first + j] - g.base, to = g.offset[first + j + 1] - g.base;
            values[j] = reduce(how, x + from, to - from);
        }
        if (values == block) array_narrow(out, first, n, block);
    }
    return 1;
}

void array_open_reductions(lua_State *L, int methods)
{
    static const array_entry named[] = {{"sum", REDUCE_SUM},
                                        {"max", REDUCE_MAX},
                                        {"min", REDUCE_MIN},
                                        {"mean", REDUCE_MEAN},
                                        {"first", REDUCE_FIRST},
                                        {"last", REDUCE_LAST},
                                        {"logsumexp", REDUCE_LOGSUMEXP},
                                        {"count", REDUCE_COUNT},
                                        {"argmax", REDUCE_ARGMAX},
                                        {"argmin", REDUCE_ARGMIN},
                                        {"any", REDUCE_ANY},
                                        {"all", REDUCE_ALL},
                                        {NULL, 0}};
    lua_pushvalue(L, methods);
    array_set_functions(L, apply, named);
    lua_pop(L, 1);
}
