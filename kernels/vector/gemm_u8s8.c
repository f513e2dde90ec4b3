/* C = activation(bias + add + [A1 A2] W^T) with int8 weights; rows of A are quantised on the fly.
 *
 * Each row of [A1 A2] has one scale. Each instruction set's header defines
 *   element                type of a quantised value; store_elements(to, x) stores VL of them
 *   PER_VECTOR             number of registers that hold the sums of VL columns, 1 or 2
 *   isum                   a register of sums, of VL / PER_VECTOR columns; join(a, b) makes VL sums of two registers
 *   iweights, irow         a register of weights, four k of the columns of an isum; a register with four k of a row
 *   accumulate(s, row, w)  s plus the products of row and w, exactly
 *
 * Invariant: an element is start + float(sum) * (row scale * column scale), with an exact sum: before the activation, all instruction sets
 * agree with plain C to the bit. */
#include "gemm.h"

/* ---- primitives ------------------------------------------------------------------------------------------ */

#if defined(RILL_VEC_NEON)
#include "../arm/int8_neon.h"
#else
#include "../x86/int8.h"
#endif

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* Return the lane maxima of `max` and |x[0..n)|, compared as bit patterns, in which a NaN exceeds any number. */
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

void RILL_FN(rill_quantise_rows)(const void *arg, size_t begin, size_t end)
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

/* C = start + float(sum) * (row scale * column scale). A separate loop keeps sums in registers; row fields are copied, because stores may
 * alias them. */
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

/* ---- the tile -------------------------------------------------------------------------------------------- */

/* Accumulator j of row i is c_ij and sums VL / PER_VECTOR columns; `wide` is the number of accumulators per row. */
#define DECLARE(i, j) isum c##i##j = isum_zero();
#define DECLARE_ROW(i) VECTORS(DECLARE, i)
#define POINT(i) const element *const a##i = (i) < mr ? t->q[i] : NULL;
#define WEIGHT(u, j) const iweights b##j = load_int8_weights((j) < wide ? LINE_AT(j, u) : w);
#define MULTIPLY(i, j) \
    if ((j) < wide) c##i##j = accumulate(c##i##j, x, b##j);
#define MULTIPLY_ROW(i, offset)                        \
    if ((i) < mr) {                                    \
        const irow x = load_int8_row(a##i + (offset)); \
        VECTORS(MULTIPLY, i)                           \
    }
#define STEP(u)                          \
    {                                    \
        VECTORS(WEIGHT, u)               \
        ROWS2(MULTIPLY_ROW, k + 4 * (u)) \
    }
#if VL == 16
#define LINE_AT(j, u) VECTOR_AT(j, u)
#define START(i, j) \
    if ((i) < mr && (j) < nv) c##i##j = vi_load(s->offset + (j)*VL);
#define SUM(i, j, j2, j2and1) c##i##j
#else
#define LINE_AT(j, u) (w + (size_t)((j) / 4) * block_stride + (j) % 4 * 16 + LINE * (u))
#define START(i, j)
#define SUM(i, j, j2, j2and1) join(c##i##j2, c##i##j2and1)
#endif
#define START_ROW(i) VECTORS(START, i)
#define PUT(i, j, sum) \
    if ((i) < mr && (j) < nv) vi_store(sums[i] + (j)*VL, sum);
#define PUT_ROW(i)             \
    PUT(i, 0, SUM(i, 0, 0, 1)) \
    PUT(i, 1, SUM(i, 1, 2, 3)) \
    PUT(i, 2, SUM(i, 2, 4, 5)) \
    PUT(i, 3, SUM(i, 3, 6, 7))

RILL_INLINE void tile(const strip *s, const tile_rows *t, const int mr, const int nv)
{
    const char *w = s->w, *ahead = t->ahead;
    const size_t block_stride = s->block_stride, count = s->k[0] + s->k[1];
    const int wide = nv * PER_VECTOR;
    int32_t sums[MR][WIDE];
    size_t k = 0;
    ROWS(DECLARE_ROW)
    ROWS(START_ROW)
    ROWS(POINT)
    for (; k + 8 <= count; k += 8, w += 2 * LINE) {
        LOOK_AHEAD(mr)
        STEP(0)
        LOOK_AHEAD(mr)
        STEP(1)
    }
    for (; k < count; k += 4, w += LINE) STEP(0)
    ROWS(PUT_ROW)
    store_products(s, t, sums, mr, nv);
}

/* ---- tiles of each shape --------------------------------------------------------------------------------- */

#if defined(RILL_VEC_I8MM)
#include "../arm/int8_pairs.h"
#define SELECT_TILE(mr) ((mr) == 1 ? tile : tile_of_pairs)
#else
#define SELECT_TILE(mr) tile
#endif

#define TILE(mr, nv)                                                 \
    static void tile_##mr##x##nv(const strip *s, const tile_rows *t) \
    {                                                                \
        SELECT_TILE(mr)(s, t, mr, nv);                               \
    }

#if defined(RILL_VEC_NEON)
/* clang-format off */
#define TILES(X)                                    \
    X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) \
    X(1, 4) X(2, 4)
#define TILE_MAX_ROWS {0, 0, 6, 0, 2}
/* clang-format on */

/* A strip has one line of weights for up to 6 rows, 24 accumulators; for 1 or 2 rows it has two lines. */
static size_t strip_vectors(size_t remaining, size_t rows)
{
    return rows <= 2 && remaining >= 4 ? 4 : 2;
}
#elif VL == 8
/* clang-format off */
#define TILES(X)                                    \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) \
    X(1, 2) X(2, 2) X(1, 4)
#define TILE_MAX_ROWS {0, 6, 2, 0, 1}
/* clang-format on */

/* A strip has half a line of weights for up to 6 rows, 12 accumulators; for 1 or 2 rows it is wider. */
static size_t strip_vectors(size_t remaining, size_t rows)
{
    if (rows == 1 && remaining >= 4) return 4;
    return rows <= 2 ? 2 : 1;
}
#endif

TILES(TILE)
#define TILE_AT(mr, nv) [nv][mr] = tile_##mr##x##nv,
static const tile_set tiles = {.tile = {TILES(TILE_AT)}, .max_rows = TILE_MAX_ROWS, .vectors = strip_vectors};

/* ---- the call -------------------------------------------------------------------------------------------- */

void RILL_FN(rill_gemm_u8s8)(const rill_gemm *g, rill_pool *pool)
{
    const size_t k = g->w->k, stride = rill_quant_stride(k, sizeof(element));
    quant_job q = {g, 0, stride, g->scratch, (char *)g->scratch + RILL_QUANT_ROWS * sizeof(float)};
    run_quantised(&q, &tiles, RILL_FN(rill_quantise_rows), (double)k * 4.0 / VL, RATE, pool);
}

/* An instruction set that adds only an int8 GEMM uses the set below for other weight types. */
#if defined(RILL_SET_BELOW)
void RILL_FN(rill_gemm)(const rill_gemm *g, rill_pool *pool)
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
    k->gemm = RILL_FN(rill_gemm);
}
#endif
