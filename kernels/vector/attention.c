/* Multi-head attention: scores of the keys, softmax, weighted sum of the values.
 *
 * Up to QUERIES adjacent rows with the same keys form a group that loads each key and value once. Invariant: a row's result does not depend
 * on its group. A score is VL partial sums, added by one fixed tree; a context element is one FMA chain. */
#include <assert.h>
#include <string.h>

#include "vec.h"

/* maximum rows of a group, the query rows that are processed together; each has 4 accumulators in registers */
#define QUERIES (VL == 16 ? 4 : 2)
/* keys that are scored together, because their sums over lanes share one transposition */
#define KEYS 4

/* Up to QUERIES rows of one slot, which are processed together: operands and results of one head. */
typedef struct group {
    const float *query[4];
    float *p[4], *out[4];
    const float *keys, *values, *additive; /* additive: weights of the additive score; NULL for dot products */
    const int32_t *path;                   /* key t and value t are row path[t] of their tables; NULL: row t */
    size_t length;
    size_t row_pos[4]; /* positions of the rows among their slot's keys, for the relative position bias */
} group;

/* ---- dot products ---------------------------------------------------------------------------------------- */

RILL_INLINE void score_step(vf acc[4][KEYS], const group *g, const float *const *key, size_t k, size_t n, const int nq)
{
    vf x[KEYS];
    for (int t = 0; t < KEYS; t++) x[t] = v_load_n(key[t] + k, n);
    for (int q = 0; q < nq; q++) {
        const vf y = v_load_n(g->query[q] + k, n);
        for (int t = 0; t < KEYS; t++) acc[q][t] = v_fma(y, x[t], acc[q][t]);
    }
}

/* Compute the scores of keys t to t + KEYS - 1, as far as the slot has them, for nq query rows. */
RILL_INLINE void score_keys(const rill_attention *a, const group *g, size_t t, const int nq)
{
    vf acc[4][KEYS];
    const float *key[KEYS];
    const size_t width = a->width, count = g->length - t < KEYS ? g->length - t : KEYS;
    size_t k = 0;
    for (size_t i = 0; i < KEYS; i++) key[i] = g->keys + rill_row_index(g->path, t + (i < count ? i : 0)) * a->keys.ld;
    for (int q = 0; q < nq; q++)
        for (int i = 0; i < KEYS; i++) acc[q][i] = v_zero();
    for (; k + VL <= width; k += VL) score_step(acc, g, key, k, VL, nq);
    if (k < width) score_step(acc, g, key, k, width - k, nq);
    for (int q = 0; q < nq; q++) {
        float sum[KEYS];
        v4_store_scaled(sum, v_sum4(acc[q][0], acc[q][1], acc[q][2], acc[q][3]), a->scale);
        for (size_t i = 0; i < count; i++) g->p[q][t + i] = sum[i];
    }
}

/* ---- additive scores -------------------------------------------------------------------------------------- */

RILL_INLINE void additive_step(vf acc[KEYS], const float *weights, const float *query, const float *const *key,
                               size_t k, size_t n)
{
    const vf w = v_load_n(weights + k, n), y = v_load_n(query + k, n);
    for (int t = 0; t < KEYS; t++) acc[t] = v_fma(w, v_tanh(v_add(v_load_n(key[t] + k, n), y)), acc[t]);
}

/* Additive scores of up to KEYS keys from t on, for one query row. Independent sums hide the latency of tanh. */
static void score_additive(const rill_attention *a, const group *g, size_t t, int q)
{
    vf acc[KEYS];
    float sum[KEYS];
    const float *key[KEYS];
    const size_t width = a->width, count = g->length - t < KEYS ? g->length - t : KEYS;
    size_t k = 0;
    for (size_t i = 0; i < KEYS; i++) {
        key[i] = g->keys + rill_row_index(g->path, t + (i < count ? i : 0)) * a->keys.ld;
        acc[i] = v_zero();
    }
    for (; k + VL <= width; k += VL) additive_step(acc, g->additive, g->query[q], key, k, VL);
    if (k < width) additive_step(acc, g->additive, g->query[q], key, k, width - k);
    v4_store_scaled(sum, v_sum4(acc[0], acc[1], acc[2], acc[3]), a->scale);
    for (size_t i = 0; i < count; i++) g->p[q][t + i] = sum[i];
}

/* ---- softmax --------------------------------------------------------------------------------------------- */

/* Softmax in place over n >= 1 scores. A NaN among them reaches every entry: through the maximum or through the sum. */
static void softmax(float *p, size_t n)
{
    const vf lowest = v_set1(-INFINITY);
    vf max = lowest, sum = v_zero();
    for (size_t i = 0; i < n; i += VL) {
        const vm m = vm_first(n - i);
        max = v_max(v_blend(m, v_load_first(n - i, p + i), lowest), max);
    }
    max = v_set1(v_hmax(max));
    for (size_t i = 0; i < n; i += VL) {
        const vm m = vm_first(n - i);
        const vf e = v_exp(v_sub(v_load_first(n - i, p + i), max));
        v_store_n(p + i, n - i, e);
        sum = v_add(sum, v_blend(m, e, v_zero()));
    }
    const vf scale = v_div(v_set1(1.0f), v_set1(v_sum(sum)));
    for (size_t i = 0; i < n; i += VL) {
        v_store_n(p + i, n - i, v_mul(v_load_n(p + i, n - i), scale));
    }
}

/* ---- context vectors ------------------------------------------------------------------------------------- */

/* Compute columns [j, j + nv*VL) of the context vectors; in the last vector, only the first n columns. */
RILL_INLINE void context_strip(const group *g, size_t ld, size_t j, size_t n, const int nq, const int nv)
{
    vf acc[4][4];
    for (int q = 0; q < nq; q++)
        for (int i = 0; i < nv; i++) acc[q][i] = v_zero();
    for (size_t t = 0; t < g->length; t++) {
        const float *value = g->values + rill_row_index(g->path, t) * ld + j;
        vf x[4];
        for (int i = 0; i < nv; i++) x[i] = v_load_n(value + i * VL, i == nv - 1 ? n : VL);
        for (int q = 0; q < nq; q++) {
            const vf p = v_set1(g->p[q][t]);
            for (int i = 0; i < nv; i++) acc[q][i] = v_fma(p, x[i], acc[q][i]);
        }
    }
    for (int q = 0; q < nq; q++)
        for (int i = 0; i < nv; i++) v_store_n(g->out[q] + j + i * VL, i == nv - 1 ? n : VL, acc[q][i]);
}

RILL_INLINE void run_head(const rill_attention *a, const group *g, size_t h, const int nq)
{
    const size_t width = rill_value_width(a);
    size_t j = 0;
    if (g->additive == NULL)
        for (size_t t = 0; t < g->length; t += KEYS) score_keys(a, g, t, nq);
    else
        for (int q = 0; q < nq; q++)
            for (size_t t = 0; t < g->length; t += KEYS) score_additive(a, g, t, q);
    for (int q = 0; q < nq && a->relative != NULL && g->length; q++)
        rill_add_relative_bias(a, h, g->row_pos[q], g->length, g->p[q]);
    for (int q = 0; q < nq && g->length; q++) softmax(g->p[q], g->length);
    for (; j + 4 * VL <= width; j += 4 * VL) context_strip(g, a->values.ld, j, VL, nq, 4);
    for (; j < width; j += VL) context_strip(g, a->values.ld, j, width - j, nq, 1);
}

RILL_INLINE void run_group(const rill_attention *a, group *g, const int nq)
{
    const size_t width = a->width, columns = rill_value_width(a);
    for (size_t h = 0; h < a->heads; h++) {
        run_head(a, g, h, nq);
        g->keys += width;
        g->values += columns;
        if (g->additive != NULL) g->additive += width;
        for (int q = 0; q < nq; q++) {
            g->query[q] += width;
            g->p[q] += a->ld_weights;
            g->out[q] += columns;
        }
    }
}

/* Run a group of n rows by code that is compiled for this number. */
static void run_group_of(const rill_attention *a, group *g, size_t n)
{
    switch (n) {
    case 1: run_group(a, g, 1); return;
#if VL == 16
    case 3: run_group(a, g, 3); return;
    case 4: run_group(a, g, 4); return;
#endif
    default: run_group(a, g, 2); return;
    }
}

/* ---- narrow heads ---------------------------------------------------------------------------------------- */

/* Attention for heads of 32 or 64 columns, where sums over lanes would cost more than the products. The scores of HEADS heads and QUAD
 * keys form one vector, four lanes per head; a transposition sums over lanes.
 *
 * Invariant: a row's result depends on its own operands. A score is VL partial sums, k ascending, added by v_sum's tree; the softmax's sum
 * is four partial sums by key modulo 4, added as (0+2)+(1+3); a context element is one FMA chain, t ascending. Lanes of different heads
 * never meet, so a NaN stays in its head. */
#define HEADS_LENGTH ((size_t)512) /* maximum keys of a slot that this method handles */
#define QUAD ((size_t)4)           /* number of keys in a vector of scores */
#define HEADS ((size_t)VL / 4)     /* number of heads in a vector of scores */
#define STRIP 8                    /* number of vectors of the context that are summed at a time */

/* HEADS heads of one query row: operands and working memory. */
typedef struct head_group {
    const float *query, *keys, *values;
    const int32_t *path; /* key t and value t are row path[t] of their tables; NULL: row t */
    size_t length, ld_keys, ld_values;
    float *out;
    /* [HEADS, QUAD] per head: factor from exponentials to probabilities */
    _Alignas(64) float scale[VL];
    /* [length / QUAD rounded up, HEADS, QUAD] per head and key: score, then exponential, then probability */
    _Alignas(64) float p[HEADS_LENGTH / 4 * VL];
} head_group;

/* ---- narrow heads: scores ---------------------------------------------------------------------------------------------- */

/* Multiply the query by one key: x[h] gets the VL partial sums of head h's score. nv: vectors of a head. */
RILL_INLINE void multiply_key(vf x[], const float *query, const float *key, const int nv)
{
    for (size_t h = 0; h < HEADS; h++, query += nv * VL, key += nv * VL) {
        x[h] = v_mul(v_load(query), v_load(key));
        for (int i = 1; i < nv; i++) x[h] = v_fma(v_load(query + i * VL), v_load(key + i * VL), x[h]);
    }
}

/* Initialise scores with the relative position bias of heads from `head` on. Entries after the last key are arbitrary. */
static void store_relative_bias(const rill_attention *a, head_group *g, size_t head, size_t row_pos)
{
    float line[HEADS_LENGTH];
    for (size_t h = 0; h < HEADS; h++) {
        const size_t bytes = (g->length + QUAD - 1) / QUAD * QUAD * sizeof *line;
        memset(line, 0, bytes);
        rill_add_relative_bias(a, head + h, row_pos, g->length, line);
        for (size_t t = 0; t < g->length; t += QUAD)
            memcpy(g->p + t / QUAD * VL + h * QUAD, line + t, QUAD * sizeof *line);
    }
}

/* Compute all scores in g->p. more: 1 adds them to the position bias that is there. Entries after the last key become -infinity. Returns
 * each head's maximum, in its four lanes. */
RILL_INLINE vf score(const rill_attention *a, head_group *g, const int nv, const int more)
{
    const vf scale = v_set1(a->scale), lowest = v_set1(-INFINITY);
    vf max = lowest;
    for (size_t t = 0; t < g->length; t += QUAD) {
        const size_t count = g->length - t < QUAD ? g->length - t : QUAD;
        vf x[QUAD][HEADS];
        for (size_t i = 0; i < QUAD; i++) {
            const float *key = g->keys + rill_row_index(g->path, t + (i < count ? i : 0)) * g->ld_keys;
            multiply_key(x[i], g->query, key, nv);
        }
        vf s = v_mul(v_sum_heads(x), scale);
        if (more) s = v_add(s, v_load(g->p + t / QUAD * VL));
        if (count < QUAD) s = v_blend(vm_bits((0x1111u & ((1u << VL) - 1u)) * ((1u << count) - 1u)), s, lowest);
        v_store(g->p + t / QUAD * VL, s);
        max = v_max(s, max);
    }
    return v_max_quads(max);
}

/* ---- narrow heads: softmax --------------------------------------------------------------------------------------------- */

/* Replace scores by exponentials. Returns 1 / sum of each head, in the head's four lanes. The context is scaled at the end, which hides the
 * latency of the division. */
static vf exponentials(head_group *g, vf max)
{
    const size_t end = (g->length + QUAD - 1) / QUAD * VL;
    vf sum = v_zero();
    for (size_t i = 0; i < end; i += VL) {
        const vf e = v_exp(v_sub(v_load(g->p + i), max));
        v_store(g->p + i, e);
        sum = v_add(sum, e);
    }
    return v_div(v_set1(1.0f), v_sum_quads(sum));
}

/* Write the heads' attention weights to the caller's array; `ld` floats separate heads. */
static void write_weights(head_group *g, vf scale, float *weights, size_t ld)
{
    for (size_t t = 0; t < g->length; t += QUAD) {
        const size_t count = g->length - t < QUAD ? g->length - t : QUAD;
        float *p = g->p + t / QUAD * VL;
        v_store(p, v_mul(v_load(p), scale));
        for (size_t h = 0; h < HEADS; h++, p += QUAD) {
            if (count == QUAD)
                memcpy(weights + h * ld + t, p, QUAD * sizeof *p);
            else
                for (size_t i = 0; i < count; i++) weights[h * ld + t + i] = p[i];
        }
    }
}

/* ---- narrow heads: context --------------------------------------------------------------------------------------------- */

/* Define the sums as named variables c0 to c7, which compilers keep in registers; see gemm.h. */
#define SUMS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define DECLARE(i) vf c##i = v_zero();
#define ADD(i) c##i = v_fma(v_set1(p[(i) / nv * QUAD]), v_load(value + (i)*VL), c##i);
#define STORE(i) v_store(g->out + first + (i)*VL, v_mul(c##i, v_set1(scale[(i) / nv * QUAD])));

/* Compute columns [first, first + STRIP * VL) of the group's context, which are STRIP / nv heads of nv vectors. */
RILL_INLINE void sum_strip(const head_group *g, size_t first, const size_t nv)
{
    SUMS(DECLARE)
    for (size_t t = 0; t < g->length; t++) {
        const float *value = g->values + rill_row_index(g->path, t) * g->ld_values + first;
        const float *p = g->p + t / QUAD * VL + first / (nv * VL) * QUAD + t % QUAD;
        SUMS(ADD)
    }
    const float *scale = g->scale + first / (nv * VL) * QUAD;
    SUMS(STORE)
}

RILL_INLINE void run_head_group(const rill_attention *a, head_group *g, float *weights, const int nv)
{
    const vf scale = exponentials(g, a->relative != NULL ? score(a, g, nv, 1) : score(a, g, nv, 0));
    v_store(g->scale, scale);
    for (size_t first = 0; first < HEADS * nv * VL; first += STRIP * VL) sum_strip(g, first, nv);
    write_weights(g, scale, weights, a->ld_weights);
}

/* ---- narrow heads: rows ------------------------------------------------------------------------------------------------ */

static int takes_heads(const rill_attention *a)
{
    return a->additive == NULL && rill_value_width(a) == a->width && (a->width == 32 || a->width == 64) &&
           a->heads >= HEADS && a->heads % HEADS == 0;
}

static void attend_heads(const rill_attention *a, size_t r)
{
    const rill_kv m = rill_get_kv(a, rill_row_index(a->slot, r));
    const size_t step = HEADS * a->width;
    const float *query = rill_operand_row(&a->query, r);
    float *weights = a->weights + r * a->heads * a->ld_weights, *out = rill_operand_row(&a->out, r);
    head_group g;
    g.path = m.path;
    g.length = m.length;
    g.ld_keys = a->keys.ld;
    g.ld_values = a->values.ld;
    assert(g.length <= HEADS_LENGTH);
    if (g.length == 0) memset(out, 0, a->heads * a->width * sizeof *out);
    for (size_t h = 0, column = 0; h < a->heads && g.length > 0; h += HEADS, column += step) {
        g.query = query + column;
        g.keys = m.keys + column;
        g.values = m.values + column;
        g.out = out + column;
        if (a->relative != NULL) store_relative_bias(a, &g, h, rill_row_position(a, r, g.length));
        if (a->width == 32)
            run_head_group(a, &g, weights + h * a->ld_weights, 32 / VL);
        else
            run_head_group(a, &g, weights + h * a->ld_weights, 64 / VL);
    }
}

/* ---- groups of rows -------------------------------------------------------------------------------------- */

/* Fill *g with row r and the next rows of its slot: at most QUERIES rows, below `end`. Returns their number. */
static size_t find_group(const rill_attention *a, size_t r, size_t end, group *g)
{
    const size_t s = rill_row_index(a->slot, r);
    const rill_kv m = rill_get_kv(a, s);
    g->keys = m.keys;
    g->values = m.values;
    g->additive = a->additive;
    g->path = m.path;
    g->length = m.length;
    size_t n = 0;
    for (; n < QUERIES && r + n < end && rill_row_index(a->slot, r + n) == s; n++) {
        g->query[n] = rill_operand_row(&a->query, r + n);
        g->p[n] = a->weights + (r + n) * a->ld_weights * a->heads;
        g->out[n] = rill_operand_row(&a->out, r + n);
        if (a->relative != NULL) g->row_pos[n] = rill_row_position(a, r + n, g->length);
    }
    return n;
}

static void attend_rows(const void *arg, size_t begin, size_t end)
{
    const rill_attention *a = arg;
    const int heads = takes_heads(a);
    group g;
    for (size_t r = begin, n; r < end; r += n) {
        if (heads && (size_t)a->length[rill_row_index(a->slot, r)] <= HEADS_LENGTH) {
            attend_heads(a, r);
            n = 1;
            continue;
        }
        n = find_group(a, r, end, &g);
        run_group_of(a, &g, n);
    }
}

void RILL_FN(rill_attention_f32)(const rill_attention *a, rill_pool *pool)
{
    if (a->rows == 0) return;
    assert(a->query.data && a->keys.data && a->values.data && a->length && a->weights && a->out.data && a->heads &&
           a->width);
    /* Numbers of keys differ by slot; the estimate of the time assumes 32 keys, a typical sentence. */
    rill_parallel_for(pool, attend_rows, a, a->rows,
                      (double)(a->width * a->heads) * (a->additive != NULL ? 1000.0 : 64.0) / VL);
}
