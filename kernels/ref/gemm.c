/* Reference: C = activation(bias + add + [A1 A2] W^T), element by element, for all weight types.
 *
 * Multiplication and addition round separately, k ascending. Vector kernels use fma, so their last bits differ. Sums of int8 are exact and
 * do not differ. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "../internal.h"

static float start(const rill_gemm *g, size_t r, size_t n)
{
    const float x = g->bias ? g->bias[n] : 0.0f, *add = rill_operand_row(&g->add, r);
    return add ? x + add[n] : x;
}

/* ---- fp32 and bf16 --------------------------------------------------------------------------------------- */

/* Return weight k of column j of a block, as a float. */
static float weight(const void *block, rill_dtype dtype, size_t k, size_t j)
{
    if (dtype == RILL_DTYPE_F32) return ((const float *)block)[k * RILL_BLOCK + j];
    const uint32_t bits = (uint32_t)((const uint16_t *)block)[(k / 2 * RILL_BLOCK + j) * 2 + k % 2] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* For each column of the block, add the products of a[0..k) and its weights [from, from + k) to acc. */
static void multiply(float *acc, const float *a, size_t k, const void *block, rill_dtype dtype, size_t from)
{
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < RILL_BLOCK; j++) acc[j] += a[i] * weight(block, dtype, from + i, j);
}

/* Compute row r of C for one block: 16 columns from `first` on, or fewer at the end of N. */
static void one_row(const rill_gemm *g, size_t r, size_t first)
{
    const rill_weights *w = g->w;
    const void *b = rill_get_block(w, first);
    const size_t k1 = g->a2.data ? g->k1 : w->k, columns = w->n - first < RILL_BLOCK ? w->n - first : RILL_BLOCK;
    float *c = rill_operand_row(&g->c, r) + first;
    float acc[RILL_BLOCK] = {0};
    for (size_t j = 0; j < columns; j++) acc[j] = start(g, r, first + j);
    multiply(acc, rill_operand_row(&g->a, r), k1, b, w->dtype, 0);
    if (g->a2.data) multiply(acc, rill_operand_row(&g->a2, r), w->k - k1, b, w->dtype, k1);
    rill_activate_ref(g->activation, columns, acc, c);
}

static void blocks(const void *arg, size_t begin, size_t end)
{
    const rill_gemm *g = arg;
    for (size_t i = begin; i < end; i++)
        for (size_t r = 0; r < g->rows; r++) one_row(g, r, i * RILL_BLOCK);
}

/* ---- int8 ------------------------------------------------------------------------------------------------ */

/* Return column k of row r of [A1 A2]. */
static float value(const rill_gemm *g, size_t r, size_t k)
{
    return !g->a2.data || k < g->k1 ? rill_operand_row(&g->a, r)[k] : rill_operand_row(&g->a2, r)[k - g->k1];
}

/* Quantise row r of [A1 A2] into to[0..K); returns its scale. */
static float quantise(const rill_gemm *g, size_t r, int8_t *to)
{
    float max = 0.0f;
    for (size_t k = 0; k < g->w->k; k++) {
        const float x = fabsf(value(g, r, k));
        if (!(x <= max)) max = x;
        if (x != x) break; /* a NaN stays the maximum */
    }
    const rill_quant q = rill_quant_for(max);
    for (size_t k = 0; k < g->w->k; k++) to[k] = q.inverse > 0.0f ? (int8_t)lrintf(value(g, r, k) * q.inverse) : 0;
    return q.scale;
}

static void one_row_u8s8(const rill_gemm *g, size_t r, const int8_t *row, float unit)
{
    const rill_weights *w = g->w;
    float *c = rill_operand_row(&g->c, r);
    for (size_t n = 0; n < w->n; n++) {
        const int8_t *column = (const int8_t *)rill_get_block(w, n / RILL_BLOCK * RILL_BLOCK) + n % RILL_BLOCK * 4;
        int32_t sum = 0;
        for (size_t k = 0; k < w->k; k++) sum += row[k] * column[k / 4 * RILL_BLOCK * 4 + k % 4];
        const float scale = unit * rill_channel_scales(w)[n];
        c[n] = start(g, r, n) + (float)sum * scale;
    }
    rill_activate_ref(g->activation, w->n, c, c);
}

/* Multiply all rows on the calling thread; scratch holds one row at a time. */
static void all_rows_u8s8(const rill_gemm *g)
{
    assert(g->scratch);
    for (size_t r = 0; r < g->rows; r++) {
        const float unit = quantise(g, r, g->scratch);
        one_row_u8s8(g, r, g->scratch, unit);
    }
}

/* ---- all weight types ------------------------------------------------------------------------------------ */

void rill_gemm_ref(const rill_gemm *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->w && g->w->data && g->a.data && g->c.data);
    assert(!g->a2.data || (g->k1 >= 1 && g->k1 < g->w->k));
    if (g->w->dtype == RILL_DTYPE_U8S8)
        all_rows_u8s8(g);
    else
        rill_parallel_for(pool, blocks, g, rill_block_count(g->w->n), (double)g->rows * (double)g->w->k * 4.0);
}
