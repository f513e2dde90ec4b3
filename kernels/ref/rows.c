/* rows.c (ref): operations on whole rows: gather, embedding, layer norm. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ref.h"

static void gather_rows(const void *arg, size_t begin, size_t end)
{
    const rill_gather *g = arg;
    for (size_t r = begin; r < end; r++) {
        const float *from = rill_operand_row(&g->src, r);
        float *to = rill_operand_row(&g->dst, r);
        if (from)
            memcpy(to, from, g->width * sizeof *to);
        else
            memset(to, 0, g->width * sizeof *to);
    }
}

void rill_gather_f32_ref(const rill_gather *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->src.data && g->dst.data && g->width >= 1);
    rill_parallel_for(pool, gather_rows, g, g->rows, (double)g->width * 0.1);
}

static void embed_rows(const void *arg, size_t begin, size_t end)
{
    const rill_embed *e = arg;
    const size_t step = rill_embed_step(e);
    for (size_t r = begin; r < end; r++) {
        float *out = rill_operand_row(&e->out, r);
        const float *from = rill_embed_row(e, r), *place = rill_operand_row(&e->position, r);
        for (size_t j = 0; j < e->width; j++) {
            const float x = from ? e->scale * from[j * step] : 0.0f;
            out[j] = place ? x + place[j] : x;
        }
    }
}

void rill_embed_f32_ref(const rill_embed *e, rill_pool *pool)
{
    if (e->rows == 0) return;
    assert((e->table.data || e->packed) && e->table.index && e->out.data && e->width >= 1);
    assert(!e->packed || (e->packed->dtype != RILL_DTYPE_BF16 && e->packed->dtype != RILL_DTYPE_U8S8));
    assert(!e->packed || e->packed->k == e->width);
    rill_parallel_for(pool, embed_rows, e, e->rows, (double)e->width * 0.3);
}

static void norm_row(const rill_layer_norm *n, size_t r)
{
    const float *x = rill_operand_row(&n->x, r), *more = rill_operand_row(&n->residual, r);
    float *y = rill_operand_row(&n->y, r);
    float sum = 0.0f, square = 0.0f;
    for (size_t j = 0; j < n->width; j++) {
        y[j] = more ? x[j] + more[j] : x[j];
        sum += y[j];
    }
    const float mean = n->rms ? 0.0f : sum / (float)n->width;
    for (size_t j = 0; j < n->width; j++) square += (y[j] - mean) * (y[j] - mean);
    const float scale = 1.0f / sqrtf(square / (float)n->width + n->eps);
    for (size_t j = 0; j < n->width; j++) {
        const float z = (y[j] - mean) * scale * (n->gain ? n->gain[j] : 1.0f);
        y[j] = n->bias ? z + n->bias[j] : z;
    }
}

static void norm_rows(const void *arg, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) norm_row(arg, r);
}

void rill_layer_norm_f32_ref(const rill_layer_norm *n, rill_pool *pool)
{
    if (n->rows == 0) return;
    assert(n->x.data && n->y.data && n->width >= 1);
    rill_parallel_for(pool, norm_rows, n, n->rows, (double)n->width * 2.0);
}
