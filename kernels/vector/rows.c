/* rows.c (vector): operations on whole rows (embedding, layer norm) and elementwise functions.
 *
 * Gather is the reference's, which uses memcpy. A sum over a row has VL partial sums, added in one tree, so the order
 * of additions depends only on the width. */
#include <assert.h>

#include "vector.h"

/* ---- embedding ------------------------------------------------------------------------------------------- */

/* Load min(n, VL) floats that are `step` floats apart; the other lanes are zero. */
RILL_INLINE vf load_lines(const float *from, size_t step, size_t n)
{
    float each[VL] = {0};
    for (size_t i = 0; i < VL && i < n; i++) each[i] = from[i * step];
    return v_load(each);
}

static void embed_rows(const void *arg, size_t begin, size_t end)
{
    const rill_embed *e = arg;
    const vf scale = v_set1(e->scale);
    const size_t width = e->width, step = rill_embed_step(e);
    for (size_t r = begin; r < end; r++) {
        const float *from = rill_embed_row(e, r), *place = rill_operand_row(&e->position, r);
        float *out = rill_operand_row(&e->out, r);
        for (size_t j = 0; j < width; j += VL) {
            vf x = v_zero();
            if (from && e->packed)
                x = v_mul(scale, load_lines(from + j * step, step, width - j));
            else if (from)
                x = v_mul(scale, v_load_n(from + j, width - j));
            if (place) x = v_add(x, v_load_n(place + j, width - j));
            v_store_n(out + j, width - j, x);
        }
    }
}

void RILL_FN(rill_embed_f32)(const rill_embed *e, rill_pool *pool)
{
    if (e->rows == 0) return;
    assert((e->table.data || e->packed) && e->table.index && e->out.data && e->width >= 1);
    assert(!e->packed || (e->packed->dtype != RILL_DTYPE_BF16 && e->packed->dtype != RILL_DTYPE_U8S8));
    assert(!e->packed || e->packed->k == e->width);
    rill_parallel_for(pool, embed_rows, e, e->rows, (double)e->width * 0.1);
}

/* ---- layer norm ------------------------------------------------------------------------------------------ */

static void norm_row(const rill_layer_norm *n, size_t r)
{
    const float *x = rill_operand_row(&n->x, r), *more = rill_operand_row(&n->residual, r);
    float *y = rill_operand_row(&n->y, r);
    const size_t width = n->width;
    vf sum = v_zero(), square = v_zero();
    for (size_t j = 0; j < width; j += VL) {
        vf z = v_load_n(x + j, width - j);
        if (more) z = v_add(z, v_load_n(more + j, width - j));
        v_store_n(y + j, width - j, z);
        sum = v_add(sum, z);
    }
    const vf mean = v_set1(n->rms ? 0.0f : v_sum(sum) / (float)width);
    for (size_t j = 0; j < width; j += VL) {
        const vm m = vm_first(width - j);
        const vf d = v_blend(m, v_sub(v_load_n(y + j, width - j), mean), v_zero());
        square = v_fma(d, d, square);
    }
    const vf scale = v_set1(1.0f / sqrtf(v_sum(square) / (float)width + n->eps));
    for (size_t j = 0; j < width; j += VL) {
        vf z = v_mul(v_sub(v_load_n(y + j, width - j), mean), scale);
        if (n->gain) z = v_mul(z, v_load_n(n->gain + j, width - j));
        if (n->bias) z = v_add(z, v_load_n(n->bias + j, width - j));
        v_store_n(y + j, width - j, z);
    }
}

static void norm_rows(const void *arg, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) norm_row(arg, r);
}

void RILL_FN(rill_layer_norm_f32)(const rill_layer_norm *n, rill_pool *pool)
{
    if (n->rows == 0) return;
    assert(n->x.data && n->y.data && n->width >= 1);
    rill_parallel_for(pool, norm_rows, n, n->rows, (double)n->width * 4.0 / VL);
}

/* ---- elementwise ----------------------------------------------------------------------------------------- */

#define ELEMENTWISE(op)                                               \
    void RILL_FN(rill_##op##_f32)(size_t n, const float *x, float *y) \
    {                                                                 \
        for (size_t i = 0; i < n; i += VL) {                          \
            v_store_n(y + i, n - i, v_##op(v_load_n(x + i, n - i)));  \
        }                                                             \
    }

ELEMENTWISE(tanh)
ELEMENTWISE(sigmoid)
ELEMENTWISE(exp)
ELEMENTWISE(swish)
ELEMENTWISE(gelu)
ELEMENTWISE(gelu_tanh)
ELEMENTWISE(gelu_sigmoid)
