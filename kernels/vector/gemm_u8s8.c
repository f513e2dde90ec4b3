/* gemm_u8s8.c (vector): C = epilogue(bias + add + [A1 A2] W^T) over int8 weights, rows of A quantised on the fly.
 *
 * A chunk of rows is first quantised into scratch, each row of [A1 A2] with one scale, and then multiplied as integers,
 * see quantise.h. Compiled for AVX2, AVX-512 VNNI, and NEON with dotprod and with i8mm. Each set's header defines
 *   element                type of a quantised value; store_elements(to, x) stores VL of them
 *   PER_VECTOR             number of registers that hold the sums of VL columns, 1 or 2
 *   isum                   a register of sums, of VL / PER_VECTOR columns; join(a, b) makes VL sums of two registers
 *   iweights, irow         a register of weights, four k of the columns of an isum; a register with four k of a row
 *   accumulate(s, row, w)  s plus the products of row and w, exactly
 *
 * Divisions: primitives, the tile, tiles of each shape, the call. */
#include "vector.h"

/* ---- primitives ------------------------------------------------------------------------------------------ */

#if defined(RILL_VEC_NEON)
#include "../arm/int8_neon.h"
#elif defined(RILL_VEC_VNNI)
#include "../x86/int8_vnni.h"
#else
#include "../x86/int8_avx2.h"
#endif

#include "quantise.h"

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

/* clang-format off */
#if defined(RILL_VEC_NEON)
#define TILES                                                           \
    TILE(1, 2) TILE(2, 2) TILE(3, 2) TILE(4, 2) TILE(5, 2) TILE(6, 2)   \
    TILE(1, 4) TILE(2, 4)
#define SHAPES(name)                                                               \
    {                                                                            \
        [2] = {0, name##_1x2, name##_2x2, name##_3x2, name##_4x2, name##_5x2, name##_6x2},   \
        [4] = {0, name##_1x4, name##_2x4},                                           \
    }
#define TILE_MAX_ROWS {0, 0, 6, 0, 2}

/* A strip has one line of weights for up to 6 rows, 24 accumulators; for 1 or 2 rows it has two lines. */
static size_t strip_vectors(size_t remaining, size_t rows)
{
    return rows <= 2 && remaining >= 4 ? 4 : 2;
}
#elif VL == 8
#define TILES                                                           \
    TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1)   \
    TILE(1, 2) TILE(2, 2) TILE(1, 4)
#define SHAPES(name)                                                               \
    {                                                                            \
        [1] = {0, name##_1x1, name##_2x1, name##_3x1, name##_4x1, name##_5x1, name##_6x1},   \
        [2] = {0, name##_1x2, name##_2x2},                                           \
        [4] = {0, name##_1x4},                                                     \
    }
#define TILE_MAX_ROWS {0, 6, 2, 0, 1}

/* A strip has half a line of weights for up to 6 rows, 12 accumulators; for 1 or 2 rows it is wider. */
static size_t strip_vectors(size_t remaining, size_t rows)
{
    if (rows == 1 && remaining >= 4) return 4;
    return rows <= 2 ? 2 : 1;
}
#endif
TILES
/* clang-format on */

static const tile_set tiles = {.tile = SHAPES(tile), .max_rows = TILE_MAX_ROWS, .vectors = strip_vectors};

/* ---- the call -------------------------------------------------------------------------------------------- */

void RILL_FN(rill_gemm_u8s8)(const rill_gemm *g, rill_pool *pool)
{
    run_u8s8(g, &tiles, RATE, pool);
}
