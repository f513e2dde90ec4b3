/* rows.c (ref): cells and operations on whole rows, an element at a time; elementwise functions built on the C library;
 * the function table of plain C.
 *
 * Divisions: elementwise · cells · rows · the table. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "../internal.h"

/* ---- elementwise ----------------------------------------------------------------------------------------- */

float rill_sigmoid_ref(float x)
{
    const float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

static void run_tanh(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = tanhf(x[i]);
}

static void run_sigmoid(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = rill_sigmoid_ref(x[i]);
}

static void run_exp(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = expf(x[i]);
}

float rill_gelu_ref(float x)
{
    return 0.5f * x * erfcf(x * -0.707106781f);
}

float rill_gelu_tanh_ref(float x)
{
    return x * rill_sigmoid_ref(x * (1.595769122f + 0.07135481627f * x * x));
}

float rill_gelu_sigmoid_ref(float x)
{
    return x * rill_sigmoid_ref(1.702f * x);
}

static void run_swish(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = x[i] * rill_sigmoid_ref(x[i]);
}

static void run_gelu(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = rill_gelu_ref(x[i]);
}

static void run_gelu_tanh(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = rill_gelu_tanh_ref(x[i]);
}

static void run_gelu_sigmoid(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = rill_gelu_sigmoid_ref(x[i]);
}

/* ---- cells ----------------------------------------------------------------------------------------------- */

static void lstm_rows(const void *arg, size_t begin, size_t end)
{
    const rill_lstm *l = arg;
    const size_t width = l->hidden;
    for (size_t r = begin; r < end; r++) {
        const float *gate = rill_operand_row(&l->gates, r), *prev = rill_operand_row(&l->c_prev, r);
        float *c = rill_operand_row(&l->c, r), *h = rill_operand_row(&l->h, r);
        for (size_t j = 0; j < width; j++) {
            const float keep = prev ? rill_sigmoid_ref(gate[width + j]) * prev[j] : 0.0f;
            const float cell = keep + rill_sigmoid_ref(gate[j]) * tanhf(gate[2 * width + j]);
            c[j] = cell;
            h[j] = rill_sigmoid_ref(gate[3 * width + j]) * tanhf(cell);
        }
    }
}

static void run_lstm(const rill_lstm *l, rill_pool *pool)
{
    if (l->rows == 0) return;
    assert(l->gates.data && l->c.data && l->h.data && l->hidden >= 1);
    rill_parallel_for(pool, lstm_rows, l, l->rows, (double)l->hidden * 40.0);
}

static void gru_rows(const void *arg, size_t begin, size_t end)
{
    const rill_gru *g = arg;
    const size_t width = g->hidden;
    for (size_t r = begin; r < end; r++) {
        const float *x = rill_operand_row(&g->input, r), *gate = rill_operand_row(&g->gates, r),
                    *prev = rill_operand_row(&g->h_prev, r);
        float *h = rill_operand_row(&g->h, r);
        for (size_t j = 0; j < width; j++) {
            const float reset = rill_sigmoid_ref(x[j] + gate[j]),
                        update = rill_sigmoid_ref(x[width + j] + gate[width + j]);
            const float n = tanhf(x[2 * width + j] + reset * gate[2 * width + j]), fill = (1.0f - update) * n;
            h[j] = prev ? fill + update * prev[j] : fill;
        }
    }
}

static void run_gru(const rill_gru *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->input.data && g->gates.data && g->h.data && g->hidden >= 1);
    rill_parallel_for(pool, gru_rows, g, g->rows, (double)g->hidden * 30.0);
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

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

static void run_gather(const rill_gather *g, rill_pool *pool)
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

static void run_embed(const rill_embed *e, rill_pool *pool)
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

static void run_layer_norm(const rill_layer_norm *n, rill_pool *pool)
{
    if (n->rows == 0) return;
    assert(n->x.data && n->y.data && n->width >= 1);
    rill_parallel_for(pool, norm_rows, n, n->rows, (double)n->width * 2.0);
}

/* ---- the table ------------------------------------------------------------------------------------------- */

void rill_kernels_init_ref(rill_kernels *k)
{
    *k = (rill_kernels){
        .isa = RILL_ISA_REF,
        .name = "ref",
        .gemm = rill_gemm_ref,
        .lstm = run_lstm,
        .attention = rill_attention_f32_ref,
        .best = rill_best_f32_ref,
        .gather = run_gather,
        .embed = run_embed,
        .layer_norm = run_layer_norm,
        .tanh = run_tanh,
        .sigmoid = run_sigmoid,
        .exp = run_exp,
        .swish = run_swish,
        .gelu = run_gelu,
        .gelu_tanh = run_gelu_tanh,
        .gelu_sigmoid = run_gelu_sigmoid,
        .gru = run_gru,
    };
}
