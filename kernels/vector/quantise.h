/* quantise.h (vector): shared by the int8 GEMMs of all instruction sets: quantising rows of A, dequantising sums, and
 * chunking the call's rows.
 *
 * The including file defines the type `element` of quantised rows and store_elements(to, VL integers).
 *
 * Invariant: integer sums are exact in any order, and each element is then start + float(sum) * (row scale * column
 * scale), each operation rounded once. So without an epilogue all instruction sets agree with plain C to the last bit.
 *
 * Sections: rows, sums, the call. */
#ifndef RILL_KERNELS_VECTOR_QUANTISE_H
#define RILL_KERNELS_VECTOR_QUANTISE_H

#include <assert.h>

#include "gemm.h"

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* A GEMM, and where to write scales and quantised values of its rows from `begin` on; stride: bytes between rows. */
typedef struct quant_job {
    const rill_gemm *g;
    size_t begin, stride;
    float *scale;
    char *rows;
} quant_job;

/* Lane maxima of `max` and the magnitudes of x[0..n), compared as integer bit patterns: a NaN exceeds any number. */
RILL_INLINE vi max_magnitude(vi max, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) {
        const vi a = vi_max(vi_magnitude(v_load(x + i)), vi_magnitude(v_load(x + i + VL)));
        const vi b = vi_max(vi_magnitude(v_load(x + i + 2 * VL)), vi_magnitude(v_load(x + i + 3 * VL)));
        max = vi_max(max, vi_max(a, b));
    }
    for (; i < n; i += VL) max = vi_max(max, vi_magnitude(v_load_n(x + i, n - i)));
    return max;
}

/* Quantise x[0..n) to `to`. The last vector may be written past to + n, so A1 must be quantised before A2. */
RILL_INLINE void quantise(const float *x, size_t n, float inverse, element *to)
{
    const vf by = v_set1(inverse);
    size_t i = 0;
#if defined(RILL_VEC_VNNI)
    for (; i + 4 * VL <= n; i += 4 * VL)
        store_four(to + i, vi_nearest(v_mul(v_load(x + i), by)), vi_nearest(v_mul(v_load(x + i + VL), by)),
                   vi_nearest(v_mul(v_load(x + i + 2 * VL), by)), vi_nearest(v_mul(v_load(x + i + 3 * VL), by)));
#endif
    for (; i < n; i += VL) store_elements(to + i, vi_nearest(v_mul(v_load_n(x + i, n - i), by)));
}

/* Write n quantised zeros. Whole vectors are written, past the end too. */
RILL_INLINE void quantise_zeros(size_t n, element *to)
{
    for (size_t i = 0; i < n; i += VL) store_elements(to + i, vi_set1(0));
}

static void quantise_rows(const void *arg, size_t begin, size_t end)
{
    const quant_job *q = arg;
    const rill_gemm *g = q->g;
    const size_t k1 = g->a2.data ? g->k1 : g->w->k, k2 = g->w->k - k1;
    for (size_t i = begin; i < end; i++) {
        const size_t r = q->begin + i;
        const float *a = rill_operand_row(&g->a, r), *a2 = rill_operand_row(&g->a2, r);
        element *to = (element *)(void *)(q->rows + i * q->stride);
        vi max = max_magnitude(vi_set1(0), a, k1);
        if (k2) max = max_magnitude(max, a2, k2);
        const rill_quant quant = rill_quant_for(vi_hmax_as_float(max));
        q->scale[i] = quant.scale;
        if (quant.inverse > 0.0f) {
            quantise(a, k1, quant.inverse, to);
            quantise(a2, k2, quant.inverse, to + k1);
        } else {
            quantise_zeros(g->w->k, to);
        }
    }
}

/* ---- sums ------------------------------------------------------------------------------------------------ */

/* C = start + float(sum) * (row scale * column scale). This is not fused with the summation loop, where it would make
 * the compiler spill every sum at each k (measured: a fifth of the speed). Row fields are copied to locals first, since
 * stores may alias them and would force a reload per vector. */
RILL_INLINE void store_columns(const strip *s, const tile_rows *t, int32_t (*sums)[WIDE], const int mr, const int nv,
                               const int adds)
{
    const float *const scale = s->scale, *add[MR];
    float *c[MR];
    vf row[MR];
    for (int i = 0; i < mr; i++) {
        row[i] = v_set1(t->scale[i]);
        add[i] = t->add[i];
        c[i] = t->c[i];
    }
    for (int j = 0; j < nv * VL; j += VL) {
        const vf start = v_load(s->start + j), column = v_load(scale + j);
        for (int i = 0; i < mr; i++) {
            const vf y = adds ? v_add(start, v_load(add[i] + j)) : start;
            v_store(c[i] + j, v_add(y, v_mul(v_from_int(vi_load(sums[i] + j)), v_mul(row[i], column))));
        }
    }
}

RILL_INLINE void store_products(const strip *s, const tile_rows *t, int32_t (*sums)[WIDE], const int mr, const int nv)
{
    if (s->adds)
        store_columns(s, t, sums, mr, nv, 1);
    else
        store_columns(s, t, sums, mr, nv, 0);
}

/* ---- the call -------------------------------------------------------------------------------------------- */

/* Quantise and multiply all rows. `rate`, operations per ns and thread, is used to estimate the call's time. */
static inline void run_u8s8(const rill_gemm *g, const tile_set *tiles, double rate, rill_pool *pool)
{
    const size_t k = g->w->k, stride = rill_quant_stride(k, sizeof(element));
    assert(g->scratch && (!g->reuse_quantised || g->rows <= RILL_GEMM_QUANT_ROWS));
    quant_job q = {g, 0, stride, g->scratch, (char *)g->scratch + RILL_QUANT_ROWS * sizeof(float)};
    const quantised rows = {q.rows, stride, q.scale};
    for (size_t count; q.begin < g->rows; q.begin += count) {
        count = g->rows - q.begin < RILL_QUANT_ROWS ? g->rows - q.begin : RILL_QUANT_ROWS;
        if (!g->reuse_quantised) rill_parallel_for(pool, quantise_rows, &q, count, (double)k * 4.0 / VL);
        run_gemm(g, tiles, &rows, q.begin, count, rate, pool);
    }
}

/* An instruction set that adds only an int8 GEMM: other weight types use the GEMM of the set that it extends. */
#if defined(RILL_SET_BELOW)
static void gemm(const rill_gemm *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    if (g->w->dtype == RILL_DTYPE_U8S8)
        RILL_FN(rill_gemm_u8s8)(g, pool);
    else
        RILL_SET_BELOW(rill_gemm)(g, pool);
}

void RILL_FN(rill_kernels_init)(rill_kernels *k)
{
    k->isa |= RILL_SET;
    k->name = RILL_SET_NAME;
    k->gemm = gemm;
}
#endif

#endif
