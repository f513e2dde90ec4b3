/* C = activation(bias + add + [A1 A2] W^T) with bf16 weights, multiplied as bf16 (AVX512_BF16).
 *
 * Each row is rounded to bf16 into scratch. vdpbf16ps adds the products of a pair of k to 16 sums.
 *
 * Invariant: an element is a chain of fused multiply-adds from bias + add, whatever the tile. Pairs of k ascend, the odd k of a pair
 * first. Denormals count as zero. A last odd k is paired with zero. */
#include "../vector/gemm.h"

#define RATE 200.0 /* rough speed in flops per ns, to estimate a call's time */

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* Round x[0..n) to `to`, ties to even. Denormal numbers become zero. Nothing is written past to + n. */
RILL_INLINE void round_floats(const float *x, size_t n, uint16_t *to)
{
    size_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL)
        _mm512_storeu_si512(to + i, (__m512i)_mm512_cvtne2ps_pbh(v_load(x + i + VL), v_load(x + i)));
    for (; i < n; i += VL)
        _mm256_mask_storeu_epi16(to + i, vm_first(n - i), (__m256i)_mm512_cvtneps_pbh(v_load_n(x + i, n - i)));
}

void rill_round_rows_avx512bf16(const void *arg, size_t begin, size_t end)
{
    const quant_job *job = arg;
    const rill_gemm *g = job->g;
    const size_t k1 = g->a2.data ? g->k1 : g->w->k, k2 = g->w->k - k1;
    for (size_t i = begin; i < end; i++) {
        uint16_t *to = (uint16_t *)(void *)(job->rows + i * job->stride);
        round_floats(rill_operand_row(&g->a, job->begin + i), k1, to);
        if (k2) round_floats(rill_operand_row(&g->a2, job->begin + i), k2, to + k1);
        to[g->w->k] = 0; /* the second half of the last pair, if K is odd */
    }
}

/* ---- the tile -------------------------------------------------------------------------------------------- */

#define POINT(i) const char *const a##i = (i) < mr ? t->q[i] : NULL;
#define WEIGHT(u, j) const __m512bh b##j = (__m512bh)_mm512_loadu_si512((j) < nv ? VECTOR_AT(j, u) : w);
#define MULTIPLY(i, j) \
    if ((j) < nv) c##i##j = _mm512_dpbf16_ps(c##i##j, b##j, x);
#define MULTIPLY_ROW(i, offset)                        \
    if ((i) < mr) {                                    \
        const __m512bh x = load_pair(a##i + (offset)); \
        VECTORS(MULTIPLY, i)                           \
    }
/* Multiply the pair of k at byte `at` of every row by the line u after w. */
#define STEP(u, at)               \
    {                             \
        VECTORS(WEIGHT, u)        \
        ROWS2(MULTIPLY_ROW, (at)) \
    }

/* Return a pair of numbers of a row, repeated in every lane. */
RILL_INLINE __m512bh load_pair(const char *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
}

RILL_INLINE void tile(const strip *s, const tile_rows *t, const int mr, const int nv)
{
    const char *w = s->w, *ahead = t->ahead;
    const size_t block_stride = s->block_stride, bytes = (s->k[0] + s->k[1] + 1) / 2 * 4;
    size_t at = 0;
    ROWS(DECLARE_SUMS)
    ROWS(START_SUMS)
    if (s->adds) {
        ROWS(ADD_SUMS)
    }
    ROWS(POINT)
    for (; at + 8 <= bytes; at += 8, w += 2 * LINE) {
        LOOK_AHEAD(mr)
        STEP(0, at)
        STEP(1, at + 4)
    }
    if (at < bytes) STEP(0, at)
    ROWS(STORE_SUMS)
}

/* ---- tiles of each shape --------------------------------------------------------------------------------- */

#define TILE(mr, nv)                                                 \
    static void tile_##mr##x##nv(const strip *s, const tile_rows *t) \
    {                                                                \
        tile(s, t, mr, nv);                                          \
    }
TILES(TILE)
#define TILE_AT(mr, nv) [nv][mr] = tile_##mr##x##nv,
static const tile_set tiles = {.tile = {TILES(TILE_AT)}, .max_rows = TILE_MAX_ROWS, .vectors = strip_vectors};

/* ---- the call -------------------------------------------------------------------------------------------- */

static void multiply(const rill_gemm *g, rill_pool *pool)
{
    const size_t k = g->w->k;
    quant_job job = {g, 0, rill_quant_stride(k, sizeof(uint16_t)), NULL, g->scratch};
    run_quantised(&job, &tiles, rill_round_rows_avx512bf16, (double)k / VL, RATE, pool);
}

void RILL_FN(rill_gemm)(const rill_gemm *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    if (g->w->dtype == RILL_DTYPE_BF16)
        multiply(g, pool);
    else
        RILL_SET_BELOW(rill_gemm)(g, pool);
}

void RILL_FN(rill_kernels_init)(rill_kernels *k)
{
    k->isa |= RILL_SET;
    k->name = RILL_SET_NAME;
    k->gemm = RILL_FN(rill_gemm);
}
