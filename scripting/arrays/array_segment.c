/* Operations within segments, such as ranks and cumulative sums. An array of cells is processed segment by segment,
 * any other array as one segment. Sorting is stable, with NaN last. Sorted input, as candidates' scores usually are,
 * costs little more than reading it. */
#include <math.h>
#include <string.h>

#include "array.h"

/* --- order -------------------------------------------------------------------------------------------------------- */

static int is_before(const double *x, int32_t a, int32_t b)
{
    return x[a] > x[b] || (x[b] != x[b] && x[a] == x[a]);
}

enum {
    RUN = 16,       /* the merge sort starts with runs of so many elements, sorted by insertion */
    SORT_WORK = 16, /* instructions charged for each sorted element */
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
    double max = array_max(x, n), total = 0;
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

/* Apply a cumulative operation. Upvalue 1 is the operation. */
static int apply_walk(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    const array *a = array_check(L, s, 1);
    walk how = (walk)lua_tointeger(L, lua_upvalueindex(1));
    double local[ARRAY_LOCAL], *out;
    script_charge(L, a->n);
    const double *x = array_doubles(L, a, local);
    segments g;
    get_segments(&g, s, a);
    out = array_new(L, s, ARRAY_F64, a->n, a->level)->data;
    for (int32_t j = 0; j < g.n; j++) {
        int32_t from = g.offset[j] - g.base, to = g.offset[j + 1] - g.base;
        walk_segment(how, x + from, to - from, out + from);
    }
    return 1;
}

/* --- positions ---------------------------------------------------------------------------------------------------- */

/* Scratch arrays for sort_descending(), large enough for the longest segment: on the C stack if they fit, else in a
 * userdata. */
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

/* a:index(): positions 1, 2, 3 ... within each segment. */
static int index_segments(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    const array *a = array_check(L, s, 1);
    segments g;
    get_segments(&g, s, a);
    int32_t *out = array_new(L, s, ARRAY_I32, a->n, a->level)->data;
    for (int32_t j = 0; j < g.n; j++) {
        int32_t from = g.offset[j] - g.base, n = g.offset[j + 1] - g.offset[j];
        for (int32_t i = 0; i < n; i++) out[from + i] = i + 1;
    }
    return 1;
}

/* a:rank(): the rank of each element in its segment, 1 for the largest. */
static int rank(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    const array *a = array_check(L, s, 1);
    double local[ARRAY_LOCAL];
    const double *x = array_doubles(L, a, local);
    segments g;
    sorter o;
    get_segments(&g, s, a);
    sorter_open(L, &o, &g);
    int32_t *out = array_new(L, s, ARRAY_I32, a->n, a->level)->data;
    for (int32_t j = 0; j < g.n; j++) {
        int32_t from = g.offset[j] - g.base, n = g.offset[j + 1] - g.offset[j];
        sort_descending(x + from, n, o.order, o.scratch);
        for (int32_t p = 0; p < n; p++) out[from + o.order[p]] = p + 1;
    }
    return 1;
}

/* a:top(k): a mask of the k largest elements of each segment; k is a number or an array of items. */
static int top(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    const array *a = array_check(L, s, 1);
    operand k = operand_read(L, s, 2, 0);
    if (k.a != NULL && (a->level != ARRAY_CELLS || k.a->level != ARRAY_ITEMS))
        luaL_error(L, "top(k): k must be a number or, for an array of cells, an array with one number per item");
    double local[ARRAY_LOCAL], max_rank = k.number;
    const double *x = array_doubles(L, a, local);
    segments g;
    sorter o;
    get_segments(&g, s, a);
    sorter_open(L, &o, &g);
    uint8_t *out = array_new(L, s, ARRAY_U8, a->n, a->level)->data;
    for (int32_t j = 0; j < g.n; j++) {
        int32_t from = g.offset[j] - g.base, n = g.offset[j + 1] - g.offset[j];
        if (k.a != NULL) array_widen(k.a, j, 1, &max_rank);
        sort_descending(x + from, n, o.order, o.scratch);
        for (int32_t p = 0; p < n; p++) out[from + o.order[p]] = p + 1 <= max_rank;
    }
    return 1;
}

/* --- equal keys --------------------------------------------------------------------------------------------------- */

/* Return the keys as integers in [0, *size), or NULL if they are not integers or their range is too large for a
 * table of counts. They are in the operand's own memory, in `local`, or in a userdata. */
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

/* count_by() for arbitrary keys, by sorting: equal keys become adjacent, in their original order. NaN differs from
 * every key. */
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
    const array *a = array_check(L, s, 1);
    operand in[2] = {{a, 0, 0, 0}, operand_read(L, s, 2, 0)};
    if (operand_join(L, in, 2).level != a->level)
        luaL_error(L, "count_by(): keys of items or cells need an array of the same kind");
    script_charge(L, a->n);
    segments g;
    get_segments(&g, s, a);
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

/* --- order across segments ---------------------------------------------------------------------------------------- */

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

/* --- opening ------------------------------------------------------------------------------------------------------ */

void array_open_segments(lua_State *L, int methods)
{
    static const array_entry walks[] = {
        {"cumsum", WALK_CUMSUM}, {"cummax", WALK_CUMMAX}, {"diff", WALK_DIFF}, {"softmax", WALK_SOFTMAX}, {NULL, 0}};
    static const luaL_Reg places[] = {{"index", index_segments}, {"rank", rank},   {"top", top},
                                      {"count_by", count_by},    {"order", order}, {NULL, NULL}};
    lua_pushvalue(L, methods);
    array_set_functions(L, apply_walk, walks);
    luaL_setfuncs(L, places, 0);
    lua_pop(L, 1);
}
