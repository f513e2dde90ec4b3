/* What encoder and decoder layers are made of.
 *
 * Invariant: by kernels.h a row of every result depends on that row of the operands alone. The residual is added inside
 * the product, whose sums start from it, in place. */
#include "model.h"

static const float EPSILON = 1e-5f; /* of the norms: torch's default, which transformers keeps */

rill_gemm mt_product(const mt_linear *linear, size_t rows, const float *a, float *c)
{
    return (rill_gemm){.w = &linear->w,
                       .rows = rows,
                       .a = a,
                       .lda = linear->w.k,
                       .bias = linear->bias,
                       .c = c,
                       .ldc = linear->w.n,
                       .scratch = *linear->scratch};
}

void mt_add_norm(const mt_model *m, const mt_linear *linear, const mt_norm *norm, size_t rows, const float *a, float *x)
{
    rill_gemm product = mt_product(linear, rows, a, x);
    product.add = x;
    product.ld_add = product.ldc;
    m->kernels.gemm(&product, m->threads.pool);
    rill_layer_norm normal = {.rows = rows,
                              .width = m->width,
                              .x = x,
                              .ld_x = m->width,
                              .gain = norm->gain,
                              .bias = norm->bias,
                              .eps = EPSILON,
                              .y = x,
                              .ld_y = m->width};
    m->kernels.layer_norm(&normal, m->threads.pool);
}

void mt_feed_forward(const mt_model *m, const mt_feed *feed, size_t rows, float *x, float *scratch)
{
    rill_gemm inner = mt_product(&feed->inner, rows, x, scratch);
    inner.epilogue = m->settings.activation;
    m->kernels.gemm(&inner, m->threads.pool);
    mt_add_norm(m, &feed->outer, &feed->norm, rows, scratch, x);
}
