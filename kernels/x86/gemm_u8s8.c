/* gemm_u8s8.c (x86): C = epilogue(bias + add + [A1 A2] W^T) over int8 weights, rows of A quantised on the fly.
 *
 * A chunk of rows is quantised into scratch first, with one unit for the whole of [A1 A2], then multiplied in integers.
 * Compiled for AVX2 and for AVX-512 with VNNI:
 *   VNNI   rows are bytes raised by 128, as vpdpbusd wants one operand without a sign; 4 products per lane at once.
 *   AVX2   rows are 16 bits wide, weights are widened to as much, and vpmaddwd adds 2 products exactly. (vpmaddubsw,
 *          with twice the products, saturates at 16 bits: 255 * 127 * 2 does not fit.)
 *
 * Invariant: integer sums are exact in any order, and each element is then start + float(sum) * (unit of the row * unit
 * of the column), each operation rounded once. So without an epilogue all instruction sets agree with plain C to the
 * last bit.
 *
 * Divisions: words, quantising, the tile, tiles of each shape, the call. */
#include "gemm.h"

#include <assert.h>

/* ---- words ----------------------------------------------------------------------------------------------- */

#if VL == 16
typedef uint8_t element;
#define PER_VECTOR 1 /* accumulators for VL columns */
#define RATE 400.0

RILL_INLINE vi accumulate(vi sum, vi row, vi w)
{
    return _mm512_dpbusd_epi32(sum, row, w);
}
RILL_INLINE vi row_at(const element *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm512_set1_epi32(four);
}
RILL_INLINE vi weights_at(const char *p)
{
    return _mm512_loadu_si512(p);
}
RILL_INLINE void store_elements(element *to, vi x)
{
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8(_mm512_add_epi32(x, _mm512_set1_epi32(128))));
}
#else
typedef int16_t element;
#define PER_VECTOR 2
#define RATE 50.0

RILL_INLINE vi accumulate(vi sum, vi row, vi w)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(row, w));
}
RILL_INLINE vi row_at(const element *p)
{
    int64_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi64x(four);
}
RILL_INLINE vi weights_at(const char *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}
RILL_INLINE void store_elements(element *to, vi x)
{
    const __m128i low = _mm256_castsi256_si128(x), high = _mm256_extracti128_si256(x, 1);
    _mm_storeu_si128((__m128i *)(void *)to, _mm_packs_epi32(low, high));
}
/* Two accumulators hold two sums each for 4 columns. */
RILL_INLINE vi join(vi even, vi odd)
{
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(even, odd), 0xd8);
}
#endif

/* ---- quantising ------------------------------------------------------------------------------------------ */

/* The call, and where rows [begin, ...) of A go. */
typedef struct quantising {
    const rill_gemm *g;
    size_t begin, stride;
    float *unit;
    char *rows;
} quantising;

/* Magnitudes compared as integers: a NaN is larger than any number. */
RILL_INLINE vi largest(vi most, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += VL) most = vi_max(most, vi_magnitude(v_load_n(x + i, n - i)));
    return most;
}

/* Whole vectors are written, so parts go in order. */
RILL_INLINE void quantise(const float *x, size_t n, float inverse, element *to)
{
    for (size_t i = 0; i < n; i += VL)
        store_elements(to + i, vi_nearest(v_mul(v_load_n(x + i, n - i), v_set1(inverse))));
}

/* As quantise() for a row that is all zeros as integers, whatever its values. */
RILL_INLINE void quantise_zeros(size_t n, element *to)
{
    for (size_t i = 0; i < n; i += VL) store_elements(to + i, vi_set1(0));
}

static void quantise_rows(const void *arg, size_t begin, size_t end)
{
    const quantising *q = arg;
    const rill_gemm *g = q->g;
    const size_t k1 = g->a2.at ? g->k1 : g->w->k, k2 = g->w->k - k1;
    for (size_t i = begin; i < end; i++) {
        const size_t r = q->begin + i;
        const float *a = rill_operand_row(&g->a, r), *a2 = rill_operand_row(&g->a2, r);
        element *to = (element *)(void *)(q->rows + i * q->stride);
        vi most = largest(vi_set1(0), a, k1);
        if (k2) most = largest(most, a2, k2);
        const rill_quant quant = rill_quant_for(vi_most_as_float(most));
        q->unit[i] = quant.unit;
        if (quant.inverse > 0.0f) {
            quantise(a, k1, quant.inverse, to);
            quantise(a2, k2, quant.inverse, to + k1);
        } else {
            quantise_zeros(g->w->k, to);
        }
    }
}

/* ---- the tile -------------------------------------------------------------------------------------------- */

/* An accumulator j is for VL / PER_VECTOR columns; `wide` is how many there are in a row of the tile. */
#define DECLARE(i, j) vi c##i##j = vi_set1(0);
#define DECLARE_ROW(i) VECTORS(DECLARE, i)
#define POINT(i) const element *const a##i = (i) < mr ? t->q[i] : NULL;
#define WEIGHT(u, j) const vi b##j = (j) < wide ? weights_at(LINE_AT(j, u)) : vi_set1(0);
#define MULTIPLY(i, j) \
    if ((j) < wide) c##i##j = accumulate(c##i##j, x, b##j);
#define MULTIPLY_ROW(i, at)               \
    if ((i) < mr) {                       \
        const vi x = row_at(a##i + (at)); \
        VECTORS(MULTIPLY, i)              \
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
#define LINE_AT(j, u) (w + (size_t)((j) / 4) * apart + (j) % 4 * 16 + LINE * (u))
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

/* start + float(sum) * (unit of the row * unit of the column). Apart from the sums: in one loop with them it costs the
 * compiler its registers (measured: every sum stored at each k, a fifth of the speed). */
RILL_INLINE void put_numbers(const strip *s, const tile_rows *t, int32_t (*sums)[WIDE], const int mr, const int nv)
{
    for (int i = 0; i < mr; i++) {
        const vf row = v_set1(t->scale[i]);
        for (int j = 0; j < nv * VL; j += VL) {
            vf y = v_load(s->start + j);
            if (s->adds) y = v_add(y, v_load(t->add[i] + j));
            const vf unit = v_mul(row, v_load(s->scale + j));
            v_store(t->c[i] + j, v_add(y, v_mul(v_from_int(vi_load(sums[i] + j)), unit)));
        }
    }
}

RILL_INLINE void tile(const strip *s, const tile_rows *t, const int mr, const int nv)
{
    const char *w = s->w;
    const size_t apart = s->apart, count = s->k[0] + s->k[1];
    const int wide = nv * PER_VECTOR;
    int32_t sums[MR][WIDE];
    size_t k = 0;
    ROWS(DECLARE_ROW)
    ROWS(START_ROW)
    ROWS(POINT)
    for (; k + 8 <= count; k += 8, w += 2 * LINE) {
        STEP(0)
        STEP(1)
    }
    for (; k < count; k += 4, w += LINE) STEP(0)
    ROWS(PUT_ROW)
    put_numbers(s, t, sums, mr, nv);
}

/* ---- tiles of each shape --------------------------------------------------------------------------------- */

#define TILE(mr, nv)                                                 \
    static void tile_##mr##x##nv(const strip *s, const tile_rows *t) \
    {                                                                \
        tile(s, t, mr, nv);                                          \
    }

/* clang-format off */
#if VL == 8
#define TILES                                                           \
    TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1)   \
    TILE(1, 2) TILE(2, 2) TILE(1, 4)
#define SHAPES(of)                                                               \
    {                                                                            \
        [1] = {0, of##_1x1, of##_2x1, of##_3x1, of##_4x1, of##_5x1, of##_6x1},   \
        [2] = {0, of##_1x2, of##_2x2},                                           \
        [4] = {0, of##_1x4},                                                     \
    }
#define MOST {0, 6, 2, 0, 1}

/* Half a line of weights for up to 6 rows: 12 accumulators. */
static size_t strip_vectors(size_t left, size_t rows)
{
    if (rows == 1 && left >= 4) return 4;
    return rows <= 2 ? 2 : 1;
}
#endif
TILES
/* clang-format on */

static const tile_set tiles = {.of = SHAPES(tile), .most = MOST, .vectors = strip_vectors};

/* ---- the call -------------------------------------------------------------------------------------------- */

void RILL_FN(rill_gemm_u8s8)(const rill_gemm *g, rill_pool *pool)
{
    const size_t k = g->w->k, stride = rill_quant_stride(k, sizeof(element));
    assert(g->scratch && (!g->quantised || g->rows <= RILL_QUANT_ROWS));
    quantising q = {g, 0, stride, g->scratch, (char *)g->scratch + RILL_QUANT_ROWS * sizeof(float)};
    const quantised rows = {q.rows, stride, q.unit};
    for (size_t count; q.begin < g->rows; q.begin += count) {
        count = g->rows - q.begin < RILL_QUANT_ROWS ? g->rows - q.begin : RILL_QUANT_ROWS;
        if (!g->quantised) rill_span_run(pool, quantise_rows, &q, count, (double)k * 4.0 / VL);
        run_gemm(g, &tiles, &rows, q.begin, count, RATE, pool);
    }
}

#if VL == 16
static void gemm(const rill_gemm *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    if (g->w->dtype == RILL_DTYPE_U8S8)
        RILL_FN(rill_gemm_u8s8)(g, pool);
    else
        rill_gemm_avx512(g, pool);
}

void RILL_FN(rill_kernels_init)(rill_kernels *k)
{
    k->isa |= RILL_ISA_AVX512_VNNI;
    k->name = "avx512vnni";
    k->gemm = gemm;
}
#endif
