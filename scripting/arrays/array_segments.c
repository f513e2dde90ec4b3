/* Reductions, cumulative sums and ranks within segments. An array of cells (candidates or rows) has one segment per item; other arrays are
 * one segment.
 *
 * A reduction yields one value per segment; sums run from left to right. Empty segments: sum 0, max -inf, min inf, mean, first and last
 * NaN, argmax 0, logsumexp -inf. max, min, argmax and argmin ignore NaN. Sorting is stable, with NaN last, and fast for sorted input. */
#include <math.h>
#include <string.h>

#include "arrays.h"

/* --- segments ------------------------------------------------------------------------------------------------------ */

typedef struct segments {
    int32_t n;
    /* the number at which the offsets begin, offset[0]: segment j has the array's elements [offset[j] - base, offset[j + 1] - base) */
    int32_t base;
    const int32_t *offset; /* [n + 1] start of each segment, and the end of the last one */
    int32_t single_offset[2];
} segments;

/* Return the array at stack index 1, and set *out to its segments. */
static const array *get_segments(lua_State *L, const rill_script *s, segments *out)
{
    const array *a = array_check(L, s, 1);
    if (a->level == ARRAY_CELLS) {
        out->n = s->frame.items;
        out->offset = s->frame.offset;
    } else {
        out->single_offset[0] = 0;
        out->single_offset[1] = a->n;
        out->n = 1;
        out->offset = out->single_offset;
    }
    out->base = out->offset[0];
    return a;
}

/* --- reductions ---------------------------------------------------------------------------------------------------- */

/* The reductions, as entries X(REDUCTION, name, value of n numbers x). From COUNT on results are integers, from ANY on booleans. */
#define REDUCTIONS(X)                                    \
    X(SUM, "sum", sum(x, n))                             \
    X(MAX, "max", max_of(x, n))                          \
    X(MIN, "min", min_of(x, n))                          \
    X(MEAN, "mean", n > 0 ? sum(x, n) / n : (double)NAN) \
    X(FIRST, "first", n > 0 ? x[0] : (double)NAN)        \
    X(LAST, "last", n > 0 ? x[n - 1] : (double)NAN)      \
    X(LOGSUMEXP, "logsumexp", logsumexp(x, n))           \
    X(COUNT, "count", count(x, n))                       \
    X(ARGMAX, "argmax", arg_extreme(x, n, 1))            \
    X(ARGMIN, "argmin", arg_extreme(x, n, -1))           \
    X(ANY, "any", count(x, n) > 0)                       \
    X(ALL, "all", count(x, n) == n)

typedef enum reduction {
#define ENTRY(REDUCTION, ...) REDUCE_##REDUCTION,
    REDUCTIONS(ENTRY)
#undef ENTRY
} reduction;

static double sum(const double *x, int32_t n)
{
    double total = 0;
    for (int32_t i = 0; i < n; i++) total += x[i];
    return total;
}

static double max_of(const double *x, int32_t n)
{
    double max = -HUGE_VAL;
    for (int32_t i = 0; i < n; i++) max = x[i] > max ? x[i] : max;
    return max;
}

static double min_of(const double *x, int32_t n)
{
    double lowest = HUGE_VAL;
    for (int32_t i = 0; i < n; i++) lowest = x[i] < lowest ? x[i] : lowest;
    return lowest;
}

static double logsumexp(const double *x, int32_t n)
{
    double max = max_of(x, n), total = 0;
    /* no elements, all -infinity, or one +infinity: the result is this maximum, or NaN if an element is NaN */
    if (isinf(max)) {
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

/* Return the index, counted from 1, of the largest element of sign * x; of equal elements the first. */
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
#define CASE(REDUCTION, name, value) \
    case REDUCE_##REDUCTION: return value;
        REDUCTIONS(CASE)
#undef CASE
    }
    return 0;
}

/* Push x as a Lua integer if the array has an integer type and x is whole, else as a Lua float. */
static void push_number(lua_State *L, array_type type, double x)
{
    if (type != ARRAY_F64 && type != ARRAY_F32 && x >= -0x1p53 && x <= 0x1p53 && x == (double)(lua_Integer)x)
        lua_pushinteger(L, (lua_Integer)x);
    else
        lua_pushnumber(L, x);
}

static void push_result(lua_State *L, reduction how, array_type type, double value)
{
    if (how >= REDUCE_ANY)
        lua_pushboolean(L, value != 0);
    else
        push_number(L,
                    how >= REDUCE_COUNT                             ? ARRAY_I32
                    : how == REDUCE_MEAN || how == REDUCE_LOGSUMEXP ? ARRAY_F64
                                                                    : type,
                    value);
}

/* Apply a reduction to an array. Upvalue 1 is the reduction. */
static int apply_reduction(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    segments g;
    const array *a = get_segments(L, s, &g);
    reduction how = (reduction)lua_tointeger(L, lua_upvalueindex(1));
    double local[ARRAY_LOCAL], block[ARRAY_BLOCK];
    script_charge(L, a->n);
    const double *x = array_doubles(L, a, local);
    if (a->level != ARRAY_CELLS) {
        push_result(L, how, a->type, reduce(how, x, a->n));
        return 1;
    }
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

/* --- sorting ------------------------------------------------------------------------------------------------------ */

static int is_before(const double *x, int32_t a, int32_t b)
{
    return x[a] > x[b] || (x[b] != x[b] && x[a] == x[a]);
}

enum {
    RUN = 16,       /* the merge sort starts with runs of this many elements, each sorted by insertion */
    SORT_WORK = 16, /* instructions charged to the script's limit per sorted element */
};

static void sort_run(const double *x, int32_t from, int32_t to, int32_t *order)
{
    for (int32_t i = from + 1; i < to; i++) {
        int32_t moved = order[i], pos = i;
        for (; pos > from && is_before(x, moved, order[pos - 1]); pos--) order[pos] = order[pos - 1];
        order[pos] = moved;
    }
}

/* Merge the sorted runs order[from, middle) and order[middle, to). */
static void merge(const double *x, int32_t from, int32_t middle, int32_t to, int32_t *order, int32_t *scratch)
{
    if (!is_before(x, order[middle], order[middle - 1])) return;
    memcpy(scratch, order + from, (size_t)(middle - from) * sizeof *order);
    int32_t left = 0, right = middle, pos = from;
    const int32_t n_left = middle - from;
    while (left < n_left && right < to)
        order[pos++] = is_before(x, order[right], scratch[left]) ? order[right++] : scratch[left++];
    while (left < n_left) order[pos++] = scratch[left++];
}

/* Store the indexes of x in order[0, n), in descending order of value. */
static void sort_descending(const double *x, int32_t n, int32_t *order, int32_t *scratch)
{
    int sorted = 1;
    for (int32_t i = 0; i < n; i++) order[i] = i;
    for (int32_t i = 1; i < n; i++) sorted &= x[i - 1] >= x[i];
    if (sorted) return;
    for (int32_t from = 0; from < n; from += RUN) sort_run(x, from, from + RUN < n ? from + RUN : n, order);
    for (int64_t width = RUN; width < n; width *= 2)
        for (int64_t from = 0; from + width < n; from += 2 * width) {
            int64_t to = from + 2 * width < n ? from + 2 * width : n;
            merge(x, (int32_t)from, (int32_t)(from + width), (int32_t)to, order, scratch);
        }
}

/* --- cumulative operations ----------------------------------------------------------------------------------------- */

typedef enum walk { WALK_CUMSUM, WALK_CUMMAX, WALK_DIFF, WALK_SOFTMAX } walk;

static void softmax(const double *x, int32_t n, double *out)
{
    double max = max_of(x, n), total = 0;
    for (int32_t i = 0; i < n; i++) total += out[i] = exp(x[i] - max);
    for (int32_t i = 0; i < n; i++) out[i] /= total;
}

static void walk_segment(walk how, const double *x, int32_t n, double *out)
{
    double held = how == WALK_CUMMAX ? -HUGE_VAL : 0;
    switch (how) {
    case WALK_CUMSUM:
        for (int32_t i = 0; i < n; i++) out[i] = held += x[i];
        break;
    case WALK_CUMMAX:
        for (int32_t i = 0; i < n; i++) out[i] = held = x[i] > held ? x[i] : held;
        break;
    case WALK_DIFF:
        for (int32_t i = 0; i < n; i++) out[i] = i > 0 ? x[i] - x[i - 1] : 0;
        break;
    case WALK_SOFTMAX: softmax(x, n, out); break;
    }
}

/* Apply a cumulative operation to an array. Upvalue 1 is the operation. */
static int apply_walk(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    segments g;
    const array *a = get_segments(L, s, &g);
    walk how = (walk)lua_tointeger(L, lua_upvalueindex(1));
    double local[ARRAY_LOCAL], *out;
    script_charge(L, a->n);
    const double *x = array_doubles(L, a, local);
    out = array_new(L, s, ARRAY_F64, a->n, a->level)->data;
    for (int32_t j = 0; j < g.n; j++) {
        int32_t from = g.offset[j] - g.base, to = g.offset[j + 1] - g.base;
        walk_segment(how, x + from, to - from, out + from);
    }
    return 1;
}

/* --- ranks and positions ------------------------------------------------------------------------------------------ */

/* Scratch arrays for sort_descending(), large enough for the longest segment: on the C stack if they fit, else in a userdata. */
typedef struct sorter {
    int32_t *order, *scratch;
    int32_t local[2 * ARRAY_LOCAL];
} sorter;

static void sorter_open(lua_State *L, sorter *o, const segments *g)
{
    int32_t longest = 0;
    script_charge(L, ((int64_t)g->offset[g->n] - g->base) * SORT_WORK);
    for (int32_t j = 0; j < g->n; j++) {
        int32_t n = g->offset[j + 1] - g->offset[j];
        if (n > longest) longest = n;
    }
    o->order = longest <= ARRAY_LOCAL ? o->local : array_scratch(L, (size_t)longest, 2 * sizeof *o->order);
    o->scratch = o->order + longest;
}

/* a:index(): the position of each element in its segment, 1, 2, 3 ... */
static int index_segments(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    segments g;
    const array *a = get_segments(L, s, &g);
    int32_t *out = array_new(L, s, ARRAY_I32, a->n, a->level)->data;
    for (int32_t j = 0; j < g.n; j++) {
        int32_t from = g.offset[j] - g.base, n = g.offset[j + 1] - g.offset[j];
        for (int32_t i = 0; i < n; i++) out[from + i] = i + 1;
    }
    return 1;
}

/* a:rank(): each element's rank in its segment, 1 for the largest. a:top(k), with number 1: a mask of each segment's k largest. */
static int rank(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    segments g;
    const array *a = get_segments(L, s, &g);
    const int is_top = (int)lua_tointeger(L, lua_upvalueindex(1));
    const operand k = is_top ? operand_read(L, s, 2, 0) : (operand){0};
    if (k.a != NULL && (a->level != ARRAY_CELLS || k.a->level != ARRAY_ITEMS))
        luaL_error(L, "top(k): k must be a number or, for an array of cells, an array with one number per item");
    double local[ARRAY_LOCAL], max_rank = k.number;
    const double *x = array_doubles(L, a, local);
    sorter o;
    sorter_open(L, &o, &g);
    void *out = array_new(L, s, is_top ? ARRAY_U8 : ARRAY_I32, a->n, a->level)->data;
    for (int32_t j = 0; j < g.n; j++) {
        int32_t from = g.offset[j] - g.base, n = g.offset[j + 1] - g.offset[j];
        if (k.a != NULL) array_widen(k.a, j, 1, &max_rank);
        sort_descending(x + from, n, o.order, o.scratch);
        for (int32_t p = 0; p < n && is_top; p++) ((uint8_t *)out)[from + o.order[p]] = p + 1 <= max_rank;
        for (int32_t p = 0; p < n && !is_top; p++) ((int32_t *)out)[from + o.order[p]] = p + 1;
    }
    return 1;
}

/* --- counting equal keys ------------------------------------------------------------------------------------------ */

/* Return the keys as integers in [0, *size); NULL: one is no integer, or the range is too large. Memory: the operand's, `local`, or a
 * pushed userdata. */
static const int32_t *small_keys(lua_State *L, const rill_script *s, operand *o, int32_t n, int32_t local[ARRAY_LOCAL],
                                 int32_t *size)
{
    const int32_t max_key = n < (1 << 28) ? ARRAY_LOCAL + 4 * n : 1 << 30;
    const int32_t *keys;
    if (o->a != NULL && !o->spread && o->a->type == ARRAY_I32) {
        keys = o->a->data;
    } else {
        double widened[ARRAY_LOCAL];
        const double *x = operand_doubles(L, s, o, n, widened);
        int32_t *integers = n <= ARRAY_LOCAL ? local : array_scratch(L, (size_t)n, sizeof *integers);
        for (int32_t i = 0; i < n; i++) {
            if (!(x[i] >= 0 && x[i] < max_key && x[i] == (double)(int32_t)x[i])) return NULL;
            integers[i] = (int32_t)x[i];
        }
        keys = integers;
    }
    int32_t lowest = 0, highest = 0;
    for (int32_t i = 0; i < n; i++) {
        lowest = keys[i] < lowest ? keys[i] : lowest;
        highest = keys[i] > highest ? keys[i] : highest;
    }
    *size = highest < max_key ? highest + 1 : 0;
    return lowest < 0 || highest >= max_key ? NULL : keys;
}

static void count_in_table(lua_State *L, const segments *g, const int32_t *keys, int32_t size, int32_t *out)
{
    int32_t few[ARRAY_LOCAL], *table = size <= ARRAY_LOCAL ? few : array_scratch(L, (size_t)size, sizeof *table);
    memset(table, 0, (size_t)size * sizeof *table);
    for (int32_t j = 0; j < g->n; j++) {
        const int32_t from = g->offset[j] - g->base, to = g->offset[j + 1] - g->base;
        for (int32_t i = from; i < to; i++) out[i] = table[keys[i]]++;
        for (int32_t i = from; i < to; i++) table[keys[i]] = 0;
    }
}

/* Implements count_by() for any keys by sorting them, which makes equal keys adjacent and keeps their order. NaN differs from every key. */
static void count_in_order(lua_State *L, const segments *g, const double *keys, int32_t *out)
{
    sorter o;
    sorter_open(L, &o, g);
    for (int32_t j = 0; j < g->n; j++) {
        const int32_t from = g->offset[j] - g->base, n = g->offset[j + 1] - g->offset[j];
        const double *x = keys + from;
        int32_t *count = out + from;
        sort_descending(x, n, o.order, o.scratch);
        for (int32_t p = 0; p < n; p++) {
            const int32_t element = o.order[p], prev_element = p > 0 ? o.order[p - 1] : element;
            count[element] = p > 0 && x[element] == x[prev_element] ? count[prev_element] + 1 : 0;
        }
    }
}

/* a:count_by(keys): for each element, the number of earlier elements in its segment with an equal key. */
static int count_by(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    segments g;
    const array *a = get_segments(L, s, &g);
    operand in[2] = {{a, 0, 0, 0}, operand_read(L, s, 2, 0)};
    if (operand_join(L, in, 2).level != a->level)
        luaL_error(L, "count_by(): keys of items or cells need an array of the same kind");
    script_charge(L, a->n);
    int32_t local[ARRAY_LOCAL], size = 0;
    double widened[ARRAY_LOCAL];
    int32_t *out = array_new(L, s, ARRAY_I32, a->n, a->level)->data;
    const int result = lua_gettop(L); /* stack index of the result; scratch userdata may be pushed above it */
    const int32_t *keys = small_keys(L, s, &in[1], a->n, local, &size);
    if (keys != NULL)
        count_in_table(L, &g, keys, size, out);
    else
        count_in_order(L, &g, operand_doubles(L, s, &in[1], a->n, widened), out);
    lua_settop(L, result);
    return 1;
}

/* --- sorting across segments -------------------------------------------------------------------------------------- */

/* a:order(how): positions of the elements, counted from 1, in the order of their values. */
static int order(lua_State *L)
{
    static const char *const ways[] = {"ascending", "descending", NULL};
    rill_script *s = script_from_lua(L);
    const array *a = array_check(L, s, 1);
    const int descending = luaL_checkoption(L, 2, "ascending", ways);
    script_charge(L, (int64_t)a->n * SORT_WORK);
    double *x = array_scratch(L, (size_t)a->n, sizeof *x);
    int32_t *scratch = array_scratch(L, (size_t)a->n, sizeof *scratch);
    array_widen(a, 0, a->n, x);
    for (int32_t i = 0; i < a->n && !descending; i++) x[i] = -x[i];
    int32_t *out = array_new(L, s, ARRAY_I32, a->n, ARRAY_PLAIN)->data;
    sort_descending(x, a->n, out, scratch);
    for (int32_t i = 0; i < a->n; i++) out[i]++;
    return 1;
}

/* --- opening the library ------------------------------------------------------------------------------------------- */

void script_open_array_segments(lua_State *L)
{
#define NAME(REDUCTION, name, value) name,
    static const char *const reductions[] = {REDUCTIONS(NAME)};
    static const struct {
        const char *name;
        lua_CFunction function;
        int number;
    } methods[] = {{"cumsum", apply_walk, WALK_CUMSUM},
                   {"cummax", apply_walk, WALK_CUMMAX},
                   {"diff", apply_walk, WALK_DIFF},
                   {"softmax", apply_walk, WALK_SOFTMAX},
                   {"index", index_segments, 0},
                   {"rank", rank, 0},
                   {"top", rank, 1},
                   {"count_by", count_by, 0},
                   {"order", order, 0}};
    for (int i = 0; i <= REDUCE_ALL; i++) array_add_function(L, ARRAY_METHOD, reductions[i], apply_reduction, i);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        array_add_function(L, ARRAY_METHOD, methods[i].name, methods[i].function, methods[i].number);
}
