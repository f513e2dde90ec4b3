/* C = activation(bias + add + [A1 A2] W^T) with fp32 or bf16 weights; bf16 is widened on load.
 *
 * Invariant: an element is a chain of fma(a_k, w_k, sum) from bias + add, k ascending, A1 before A2.
 *
 * Tiles: AVX-512 has 6 rows by the whole panel of 4 vectors: 24 accumulators in 32 registers. AVX2 has 6 rows by 2 vectors, or fewer rows
 * by more vectors. NEON is as AVX2, with two registers per vector. */
#include "gemm.h"

/* ---- code of a tile -------------------------------------------------------------------------------------- */

#define POINT(i) const float *const a##i = (i) < mr ? rows[i] : NULL;
#define MULTIPLY(i, j) \
    if ((j) < nv) c##i##j = ve_fma(x, b##j, c##i##j);
#define MULTIPLY_ROW(i, offset)                \
    if ((i) < mr) {                            \
        const ve x = ve_load(a##i + (offset)); \
        VECTORS(MULTIPLY, i)                   \
    }
#define FLOATS(u, j) const vf b##j = (j) < nv ? v_load((const float *)VECTOR_AT(j, u)) : v_zero();
#define LOWER(u, j) const vf b##j = (j) < nv ? v_load_lower_bf16(VECTOR_AT(j, u)) : v_zero();
#define UPPER(u, j) const vf b##j = (j) < nv ? v_load_upper_bf16(VECTOR_AT(j, u)) : v_zero();
/* Multiply a[offset] of every row by the weights that `what` (FLOATS, LOWER, UPPER) loads from the u-th cache line after w. */
#define STEP(what, u, offset)         \
    {                                 \
        VECTORS(what, u)              \
        ROWS2(MULTIPLY_ROW, (offset)) \
    }
/* Multiply all of A1 (p = 0) or A2 (p = 1). w moves past the weights of the part. */
#define PART_F32(p)                                                              \
    {                                                                            \
        const float *const *const rows = t->a[p];                                \
        const size_t count = s->k[p];                                            \
        size_t k = 0;                                                            \
        ROWS(POINT)                                                              \
        for (; k + 4 <= count; k += 4, w += 4 * LINE) {                          \
            LOOK_AHEAD(mr)                                                       \
            STEP(FLOATS, 0, k)                                                   \
            STEP(FLOATS, 1, k + 1) STEP(FLOATS, 2, k + 2) STEP(FLOATS, 3, k + 3) \
        }                                                                        \
        for (; k < count; k++, w += LINE) STEP(FLOATS, 0, k)                     \
    }
/* As PART_F32, but a line holds two k. If A1 ends in the middle of a line, A2 begins with the line's upper half. */
#define PART_BF16(p)                                    \
    {                                                   \
        const float *const *const rows = t->a[p];       \
        const size_t count = s->k[p];                   \
        size_t k = 0;                                   \
        ROWS(POINT)                                     \
        if ((p) == 1 && s->k[0] % 2) {                  \
            STEP(UPPER, 0, 0)                           \
            k = 1, w += LINE;                           \
        }                                               \
        for (; k + 4 <= count; k += 4, w += 2 * LINE) { \
            LOOK_AHEAD(mr)                              \
            STEP(LOWER, 0, k)                           \
            STEP(UPPER, 0, k + 1)                       \
            STEP(LOWER, 1, k + 2)                       \
            STEP(UPPER, 1, k + 3)                       \
        }                                               \
        for (; k + 2 <= count; k += 2, w += LINE) {     \
            STEP(LOWER, 0, k)                           \
            STEP(UPPER, 0, k + 1)                       \
        }                                               \
        if (k < count) STEP(LOWER, 0, k)                \
    }

RILL_INLINE void tile(const strip *s, const tile_rows *t, const int mr, const int nv, const rill_dtype dtype)
{
    const char *w = s->w, *ahead = t->ahead;
    const size_t block_stride = s->block_stride;
    ROWS(DECLARE_SUMS)
    ROWS(START_SUMS)
    if (s->adds) {
        ROWS(ADD_SUMS)
    }
    if (dtype == RILL_DTYPE_F32) {
        PART_F32(0)
        if (s->k[1]) PART_F32(1)
    } else {
        PART_BF16(0)
        if (s->k[1]) PART_BF16(1)
    }
    ROWS(STORE_SUMS)
}

/* ---- tiles of each shape --------------------------------------------------------------------------------- */

#define TILE(mr, nv)                                                 \
    static void f32_##mr##x##nv(const strip *s, const tile_rows *t)  \
    {                                                                \
        tile(s, t, mr, nv, RILL_DTYPE_F32);                          \
    }                                                                \
    static void bf16_##mr##x##nv(const strip *s, const tile_rows *t) \
    {                                                                \
        tile(s, t, mr, nv, RILL_DTYPE_BF16);                         \
    }

/* Maximum rows of a tile of 4 vectors. With NEON the weights alone take 8 of the 32 registers. */
#if defined(RILL_VEC_NEON)
#define MAX_ROWS_OF_4 2
#else
#define MAX_ROWS_OF_4 3
#endif

#if VL == 8
/* clang-format off */
#define TILES(X)                                    \
    X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) \
    X(1, 4) X(2, 4) X(3, 4)                         \
    X(1, 8)
#define TILE_MAX_ROWS {0, 0, 6, 0, MAX_ROWS_OF_4, 0, 0, 0, 1}
/* clang-format on */

/* Panels are 2, 4, 6 or 8 vectors wide. With few rows, wide strips keep enough FMA chains in flight. */
static size_t strip_vectors(size_t remaining, size_t rows)
{
    if (rows == 1 && remaining == 8) return 8;
    if (rows <= MAX_ROWS_OF_4 && remaining >= 4) return 4;
    return 2;
}
#endif

TILES(TILE)
#define TILE_F32(mr, nv) [nv][mr] = f32_##mr##x##nv,
#define TILE_BF16(mr, nv) [nv][mr] = bf16_##mr##x##nv,

#if defined(RILL_VEC_NEON)
/* bf16 weights and their widened values take twice the registers, so strips are narrower. */
static size_t bf16_vectors(size_t remaining, size_t rows)
{
    return rows == 1 && remaining >= 4 ? 4 : 2;
}
#else
#define bf16_vectors strip_vectors
#endif

static const tile_set f32_tiles = {.tile = {TILES(TILE_F32)}, .max_rows = TILE_MAX_ROWS, .vectors = strip_vectors};
static const tile_set bf16_tiles = {.tile = {TILES(TILE_BF16)}, .max_rows = TILE_MAX_ROWS, .vectors = bf16_vectors};

/* ---- entry points ---------------------------------------------------------------------------------------- */

#if defined(RILL_SET_INT8)
#define gemm_int8 RILL_SET_INT8(rill_gemm_u8s8)
#else
/* Run plain C's int8 GEMM with this instruction set's activations. The sums are exact. */
static void gemm_int8(const rill_gemm *g, rill_pool *pool)
{
    rill_gemm plain = *g;
    plain.activation = RILL_LINEAR;
    rill_gemm_ref(&plain, pool);
    for (size_t r = 0; r < g->rows; r++) {
        float *c = rill_operand_row(&g->c, r);
        activate(g->activation, g->w->n, c, c);
    }
}
#endif

void RILL_FN(rill_gemm)(const rill_gemm *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->w && g->w->data && g->a.data && g->c.data);
    assert(!g->a2.data || (g->k1 >= 1 && g->k1 < g->w->k));
    if (g->w->dtype == RILL_DTYPE_U8S8)
        gemm_int8(g, pool);
    else
        run_gemm(g, g->w->dtype == RILL_DTYPE_F32 ? &f32_tiles : &bf16_tiles, NULL, 0, g->rows, FLOPS_PER_NS, pool);
}
