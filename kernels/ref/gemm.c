/* gemm.c (ref): C = epilogue(bias + add + [A1 A2] W^T), an element at a time.
 *
 * One sum per element, k ascending, over the packed panels; nothing depends on the number of rows. The products are
 * not fused with the additions here (plain C does not promise it), so vector tables differ in the last bits. */
#include <assert.h>
#include <math.h>

#include "ref.h"

static float epilogue(float x, rill_epilogue e)
{
    switch (e) {
    case RILL_EPILOGUE_TANH: return tanhf(x);
    case RILL_EPILOGUE_RELU: return x < 0.0f ? 0.0f : x;
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

/* acc[0..columns) += a[0..k) times k rows of a panel of the given width. */
static void multiply(float *acc, const rill_panel *p, const float *a, size_t k, const float *b)
{
    for (size_t i = 0; i < k; i++, b += p->width)
        for (size_t j = 0; j < p->columns; j++) acc[j] += a[i] * b[j];
}

static void one_row(const rill_gemm *g, size_t r, const rill_panel *p)
{
    const rill_weights *w = g->w;
    const float *b = (const float *)w->data + p->first * w->k;
    const size_t k1 = g->a2 ? g->k1 : w->k;
    float *c = g->c + rill_row(g->c_index, r) * g->ldc + p->first;
    float acc[RILL_BLOCK * RILL_PANEL_BLOCKS];
    for (size_t j = 0; j < p->columns; j++) acc[j] = start(g, r, p->first + j);
    multiply(acc, p, g->a + rill_row(g->a_index, r) * g->lda, k1, b);
    if (g->a2) multiply(acc, p, g->a2 + rill_row(g->a2_index, r) * g->lda2, w->k - k1, b + k1 * p->width);
    for (size_t j = 0; j < p->columns; j++) c[j] = epilogue(acc[j], g->epilogue);
}

static void panels(const void *arg, size_t begin, size_t end)
{
    const rill_gemm *g = arg;
    for (size_t i = begin; i < end; i++) {
        const rill_panel p = rill_panel_at(g->w->n, i);
        for (size_t r = 0; r < g->rows; r++) one_row(g, r, &p);
    }
}

void rill_gemm_f32_ref(const rill_gemm *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->w && g->w->data && g->w->dtype == RILL_DTYPE_F32 && g->a && g->c);
    assert(!g->a2 || (g->k1 >= 1 && g->k1 < g->w->k));
    rill_span_run(pool, panels, g, rill_panel_count(g->w->n), (double)g->rows * (double)g->w->k * 16.0);
}
