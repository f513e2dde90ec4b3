/* gemm.c (ref): C = epilogue(bias + add + [A1 A2] W^T), an element at a time.
 *
 * One sum per element, k ascending, over the packed blocks; nothing depends on the number of rows. The products are
 * not fused with the additions here (plain C does not promise it), so vector tables differ in the last bits. */
#include <assert.h>
#include <math.h>

#include "ref.h"

static float epilogue(float x, rill_epilogue e)
{
    switch (e) {
    case RILL_EPILOGUE_TANH: return tanhf(x);
    case RILL_EPILOGUE_RELU: return x < 0.0f ? 0.0f : x;
    case RILL_EPILOGUE_SWISH: return x * rill_sigmoid_ref(x);
    case RILL_EPILOGUE_GELU: return 0.5f * x * erfcf(x * -0.707106781f);
    case RILL_EPILOGUE_NONE: break;
    }
    return x;
}

static float start(const rill_gemm *g, size_t r, size_t n)
{
    float x = g->bias ? g->bias[n] : 0.0f;
    if (g->add && !rill_row_absent(g->add_index, r)) x += g->add[rill_row(g->add_index, r) * g->ld_add + n];
    return x;
}

/* acc += a[0..k) times k rows of a block. */
static void multiply(float *acc, const float *a, size_t k, const float *b)
{
    for (size_t i = 0; i < k; i++, b += RILL_BLOCK)
        for (size_t j = 0; j < RILL_BLOCK; j++) acc[j] += a[i] * b[j];
}

/* Row r of C, the 16 columns (or what is left of N) from `first` on. */
static void one_row(const rill_gemm *g, size_t r, size_t first)
{
    const rill_weights *w = g->w;
    const float *b = rill_block_at(w, first);
    const size_t k1 = g->a2 ? g->k1 : w->k, columns = w->n - first < RILL_BLOCK ? w->n - first : RILL_BLOCK;
    float *c = g->c + rill_row(g->c_index, r) * g->ldc + first;
    float acc[RILL_BLOCK] = {0};
    for (size_t j = 0; j < columns; j++) acc[j] = start(g, r, first + j);
    multiply(acc, g->a + rill_row(g->a_index, r) * g->lda, k1, b);
    if (g->a2) multiply(acc, g->a2 + rill_row(g->a2_index, r) * g->lda2, w->k - k1, b + k1 * RILL_BLOCK);
    for (size_t j = 0; j < columns; j++) c[j] = epilogue(acc[j], g->epilogue);
}

static void blocks(const void *arg, size_t begin, size_t end)
{
    const rill_gemm *g = arg;
    for (size_t i = begin; i < end; i++)
        for (size_t r = 0; r < g->rows; r++) one_row(g, r, i * RILL_BLOCK);
}

void rill_gemm_f32_ref(const rill_gemm *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->w && g->w->data && g->w->dtype == RILL_DTYPE_F32 && g->a && g->c);
    assert(!g->a2 || (g->k1 >= 1 && g->k1 < g->w->k));
    rill_span_run(pool, blocks, g, rill_block_count(g->w->n), (double)g->rows * (double)g->w->k * 4.0);
}
