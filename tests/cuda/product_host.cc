/* product_host.cc: matrix products, output by output.
 *
 * The weights of 16 outputs are interleaved, so that vectors run along outputs and each sum keeps its order. They
 * are interleaved again for each product, since they may have changed.
 * Invariant: a sum is ((0 + a0 w0) + a1 w1) +
 * ..., each operation rounded, for any vector length and up to `max_ascending` rows. With more rows, sums run from the
 * last element to the first. */
#include "product_host.h"

#include "half.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* eight floats; the compiler uses two registers where the processor's are shorter */
typedef float lanes __attribute__((vector_size(32)));
enum { LANES = 8, WIDE = 2, TILE = LANES * WIDE, ROWS = 4 };

static inline float number(const void *from, size_t i, gpu_type type)
{
    return type == GPU_F32 ? ((const float *)from)[i] : gpu_rounded_to_float(((const uint16_t *)from)[i], type);
}

/* Fill tile[k][TILE] with the weights of outputs first..first + count - 1; the remaining columns repeat the last
 * output. */
template <gpu_type TYPE>
static void lay_out(const gpu_matrix *m, bool back, size_t first, size_t count, float *tile)
{
    const size_t k = (size_t)m->k;
    size_t row[TILE];
    for (size_t j = 0; j < TILE; j++) row[j] = (first + (j < count ? j : count - 1)) * k;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < TILE; j++) tile[i * TILE + j] = number(m->w, row[j] + (back ? k - 1 - i : i), TYPE);
}

template <int N>
__attribute__((always_inline)) static inline void multiply(const float *tile, size_t k, const float *a, float *sums)
{
    lanes sum[N][WIDE] = {};
    for (size_t i = 0; i < k; i++) {
        const lanes *w = (const lanes *)(tile + i * TILE);
#pragma GCC unroll 8
        for (int r = 0; r < N; r++) {
#pragma GCC unroll 8
            for (int j = 0; j < WIDE; j++) sum[r][j] = sum[r][j] + a[(size_t)r * k + i] * w[j];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < N; r++) {
#pragma GCC unroll 8
        for (int j = 0; j < WIDE; j++) memcpy(sums + r * TILE + j * LANES, &sum[r][j], sizeof sum[r][j]);
    }
}

__attribute__((always_inline)) static inline void tile_rows(const float *tile, size_t k, size_t rows, const float *a,
                                                            float *c, size_t ldc, size_t count)
{
    float sums[ROWS * TILE];
    for (size_t r = 0, n; r < rows; r += n) {
        n = rows - r >= ROWS ? ROWS : 1;
        if (n == ROWS)
            multiply<ROWS>(tile, k, a + r * k, sums);
        else
            multiply<1>(tile, k, a + r * k, sums);
        for (size_t i = 0; i < n; i++) memcpy(c + (r + i) * ldc, sums + i * TILE, count * sizeof *c);
    }
}

static void tile_plain(const float *tile, size_t k, size_t rows, const float *a, float *c, size_t ldc, size_t count)
{
    tile_rows(tile, k, rows, a, c, ldc, count);
}

#ifdef __x86_64__
/* The same sums with longer vectors; the result is the same, since no multiply-add is fused here either. */
__attribute__((target("avx"))) static void tile_avx(const float *tile, size_t k, size_t rows, const float *a, float *c,
                                                    size_t ldc, size_t count)
{
    tile_rows(tile, k, rows, a, c, ldc, count);
}
#endif

/* c = relu((bias + add) + sums), row by row; add may be c. Without bias and add the sums are stored unchanged, so
 * that -0 stays. */
static void finish(const gpu_matrix *m, const gpu_product *p, const float *sums)
{
    const bool added = m->bias != nullptr || p->add != nullptr;
    for (size_t r = 0, i = 0; r < (size_t)p->rows; r++)
        for (size_t j = 0; j < (size_t)m->n; j++, i++) {
            const float bias = m->bias != nullptr ? m->bias[j] : 0.0f;
            const float add = p->add != nullptr ? p->add[r * (size_t)p->ld_add + j] : 0.0f;
            const float x = added ? (bias + add) + sums[i] : sums[i];
            p->c[r * (size_t)p->ldc + j] = m->relu && x < 0.0f ? 0.0f : x;
        }
}

/* Convert rows of a to floats without gaps. */
static void widen(const gpu_matrix *m, const gpu_product *p, bool back, float *a)
{
    for (size_t r = 0; r < (size_t)p->rows; r++)
        for (size_t i = 0, k = (size_t)m->k; i < k; i++) {
            const size_t at = r * (size_t)p->lda + (back ? k - 1 - i : i);
            a[r * k + i] = number(p->a, at, m->type);
        }
}

static void multiply_all(const gpu_matrix *m, size_t rows, bool back, const float *a, float *tile, float *sums)
{
    const size_t n = (size_t)m->n, k = (size_t)m->k;
    static void (*const lay_out_as[])(const gpu_matrix *, bool, size_t, size_t,
                                      float *) = {lay_out<GPU_F32>, lay_out<GPU_BF16>, lay_out<GPU_F16>};
    void (*tile_of)(const float *, size_t, size_t, const float *, float *, size_t, size_t) = tile_plain;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx")) tile_of = tile_avx;
#endif
    for (size_t first = 0; first < n; first += TILE) {
        const size_t count = n - first < TILE ? n - first : (size_t)TILE;
        lay_out_as[m->type](m, back, first, count, tile);
        tile_of(tile, k, rows, a, sums + first, n, count);
    }
}

int product_host(const gpu_matrix *m, const gpu_product *p, int32_t max_ascending)
{
    const size_t n = (size_t)m->n, k = (size_t)m->k, rows = (size_t)p->rows;
    float *tile = (float *)aligned_alloc(64, k * TILE * sizeof *tile);
    float *a = (float *)malloc(rows * k * sizeof *a), *sums = (float *)malloc(rows * n * sizeof *sums);
    const bool back = p->rows > max_ascending;
    const bool there = tile != nullptr && a != nullptr && sums != nullptr;
    if (there) {
        widen(m, p, back, a);
        multiply_all(m, rows, back, a, tile, sums);
        finish(m, p, sums);
    }
    free(tile);
    free(a);
    free(sums);
    return there ? 0 : -1;
}
