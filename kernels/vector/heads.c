/* heads.c (vector): attention with heads of 32 or 64 columns, as translation models have them.
 *
 * With such narrow heads the sums over lanes cost more than the products. So the VL scores of HEADS heads and QUAD
 * memory rows are computed together, and their sums over lanes share one transposition. The result is a vector of
 * scores: each group of four lanes has one head, each lane of the group one memory row. The softmax processes HEADS
 * heads at once.
 *
 * Invariant: a score is VL partial sums along the head (k ascending) added by v_sum's tree; the sum of the softmax is
 * four partial sums by memory row modulo 4, t ascending, added as (0+2)+(1+3); a context element is one FMA chain, t
 * ascending. So a row's result is a function of its own operands. NaN stays in its head: lanes of different heads never
 * meet.
 *
 * Divisions: scores, softmax, context, rows. */
#include <assert.h>
#include <string.h>

#include "vector.h"

#define QUAD ((size_t)4)       /* memory rows in a vector of scores */
#define HEADS ((size_t)VL / 4) /* heads in a vector of scores */
#define STRIP 8                /* vectors of the context that are summed together */

/* HEADS heads of one row: operands and working memory. */
typedef struct head_group {
    const float *query, *keys, *values;
    const int32_t *path; /* memory row t is row path[t] of keys and values; NULL: row t */
    size_t length, ld_keys, ld_values;
    float *out;
    _Alignas(64) float scale[VL]; /* [HEADS, QUAD] factors from exponentials to probabilities */
    /* [length / QUAD rounded up, HEADS, QUAD] scores, then exponentials, then probabilities */
    _Alignas(64) float p[RILL_HEADS_LENGTH / 4 * VL];
} head_group;

/* ---- scores ---------------------------------------------------------------------------------------------- */

/* Multiply the query by one key: x[h] gets the VL partial sums of head h's score. nv: vectors of a head. */
RILL_INLINE void multiply_key(vf x[], const float *query, const float *key, const int nv)
{
    for (size_t h = 0; h < HEADS; h++, query += nv * VL, key += nv * VL) {
        x[h] = v_mul(v_load(query), v_load(key));
        for (int i = 1; i < nv; i++) x[h] = v_fma(v_load(query + i * VL), v_load(key + i * VL), x[h]);
    }
}

/* Initialise scores with the relative position bias of heads from `head` on. Entries after the last memory row are
 * arbitrary. */
static void store_relative_bias(const rill_attention *a, head_group *g, size_t head, size_t row_pos)
{
    float line[RILL_HEADS_LENGTH];
    for (size_t h = 0; h < HEADS; h++) {
        const size_t bytes = (g->length + QUAD - 1) / QUAD * QUAD * sizeof *line;
        memset(line, 0, bytes);
        rill_add_relative_bias(a, head + h, row_pos, g->length, line);
        for (size_t t = 0; t < g->length; t += QUAD)
            memcpy(g->p + t / QUAD * VL + h * QUAD, line + t, QUAD * sizeof *line);
    }
}

/* Compute all scores; if `more`, add them to the bias stored in g->p. Entries after the last memory row become
 * -infinity. Returns each head's maximum score, broadcast over the head's four lanes. */
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

/* ---- softmax --------------------------------------------------------------------------------------------- */

/* Replace scores by exponentials; returns 1 / sum of each head, broadcast over the head's four lanes. The context is
 * summed from the exponentials and scaled at its end, so that nothing waits for the division. A NaN reaches all of its
 * head through the sum, if not through the maximum. */
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

/* ---- context --------------------------------------------------------------------------------------------- */

/* Sums are named variables c0 to c7, which compilers keep in registers, see gemm.h. */
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

static void run_head_group_32(const rill_attention *a, head_group *g, float *weights)
{
    run_head_group(a, g, weights, 32 / VL);
}
static void run_head_group_64(const rill_attention *a, head_group *g, float *weights)
{
    run_head_group(a, g, weights, 64 / VL);
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

int RILL_FN(rill_attention_takes_heads)(const rill_attention *a)
{
    return a->additive == NULL && rill_value_width(a) == a->width && (a->width == 32 || a->width == 64) &&
           a->heads >= HEADS && a->heads % HEADS == 0;
}

void RILL_FN(rill_attention_heads)(const rill_attention *a, size_t r)
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
    assert(g.length <= RILL_HEADS_LENGTH);
    if (g.length == 0) memset(out, 0, a->heads * a->width * sizeof *out);
    for (size_t h = 0, column = 0; h < a->heads && g.length > 0; h += HEADS, column += step) {
        g.query = query + column;
        g.keys = m.keys + column;
        g.values = m.values + column;
        g.out = out + column;
        if (a->relative != NULL) store_relative_bias(a, &g, h, rill_row_position(a, r, g.length));
        (a->width == 32 ? run_head_group_32 : run_head_group_64)(a, &g, weights + h * a->ld_weights);
    }
}
