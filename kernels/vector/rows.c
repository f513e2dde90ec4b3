/* rows.c (vector): cells and operations on whole rows, one vector at a time; elementwise functions; the operations that
 * this instruction set overrides.
 *
 * Invariant: a unit's result is a function of its own operands, whichever lane it falls in. A sum over a row has VL
 * partial sums, added in one tree, so the order of additions depends only on the width.
 *
 * Divisions: cells, embedding, layer norm, elementwise, the table. */
#include <assert.h>

#include "vec.h"

/* ---- cells ----------------------------------------------------------------------------------------------- */

/* Vector divisions dominate the latency of an LSTM. So sigmoid(i) tanh(g) and sigmoid(o) tanh(c) take one division each,
 * as v_ratio (vec.h). */
typedef struct lstm_row {
    const float *gate, *prev; /* rows of gates and previous c; prev is NULL if the previous c is zero */
    float *c, *h;
    size_t width;
} lstm_row;

RILL_INLINE void lstm_units(const lstm_row *p, size_t j, size_t n)
{
    const v_ratio in = v_sigmoid_ratio(v_load_n(p->gate + j, n));
    const v_ratio forget = v_sigmoid_ratio(v_load_n(p->gate + p->width + j, n));
    const v_ratio fresh = v_tanh_ratio(v_load_n(p->gate + 2 * p->width + j, n));
    const v_ratio out = v_sigmoid_ratio(v_load_n(p->gate + 3 * p->width + j, n));
    vf c = v_value(v_product(in, fresh));
    if (p->prev) c = v_add(c, v_div(v_mul(forget.over, v_load_n(p->prev + j, n)), forget.under));
    v_store_n(p->c + j, n, c);
    v_store_n(p->h + j, n, v_value(v_product(out, v_tanh_ratio(c))));
}

static void lstm_rows(const void *arg, size_t begin, size_t end)
{
    const rill_lstm *l = arg;
    for (size_t r = begin; r < end; r++) {
        const lstm_row p = {
            .gate = rill_operand_row(&l->gates, r),
            .prev = rill_operand_row(&l->c_prev, r),
            .c = rill_operand_row(&l->c, r),
            .h = rill_operand_row(&l->h, r),
            .width = l->hidden,
        };
        size_t j = 0;
        for (; j + VL <= p.width; j += VL) lstm_units(&p, j, VL);
        if (j < p.width) lstm_units(&p, j, p.width - j);
    }
}

static void lstm(const rill_lstm *l, rill_pool *pool)
{
    if (l->rows == 0) return;
    assert(l->gates.data && l->c.data && l->h.data && l->hidden >= 1);
    rill_parallel_for(pool, lstm_rows, l, l->rows, (double)l->hidden * 32.0 / VL);
}

typedef struct gru_row {
    const float *x, *gate, *prev; /* rows of input, gates and previous h; prev is NULL if the previous h is zero */
    float *h;
    size_t width;
} gru_row;

RILL_INLINE vf gate_sum(const gru_row *p, size_t j, size_t n)
{
    return v_add(v_load_n(p->x + j, n), v_load_n(p->gate + j, n));
}

RILL_INLINE void gru_units(const gru_row *p, size_t j, size_t n)
{
    const vf reset = v_sigmoid(gate_sum(p, j, n)), update = v_sigmoid(gate_sum(p, p->width + j, n));
    const size_t last = 2 * p->width + j;
    const vf fresh = v_tanh(v_add(v_load_n(p->x + last, n), v_mul(reset, v_load_n(p->gate + last, n))));
    vf h = v_mul(v_sub(v_set1(1.0f), update), fresh);
    if (p->prev) h = v_add(h, v_mul(update, v_load_n(p->prev + j, n)));
    v_store_n(p->h + j, n, h);
}

static void gru_rows(const void *arg, size_t begin, size_t end)
{
    const rill_gru *g = arg;
    for (size_t r = begin; r < end; r++) {
        const gru_row p = {
            .x = rill_operand_row(&g->input, r),
            .gate = rill_operand_row(&g->gates, r),
            .prev = rill_operand_row(&g->h_prev, r),
            .h = rill_operand_row(&g->h, r),
            .width = g->hidden,
        };
        for (size_t j = 0; j < p.width; j += VL) gru_units(&p, j, p.width - j);
    }
}

static void gru(const rill_gru *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->input.data && g->gates.data && g->h.data && g->hidden >= 1);
    rill_parallel_for(pool, gru_rows, g, g->rows, (double)g->hidden * 24.0 / VL);
}

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

static void embed(const rill_embed *e, rill_pool *pool)
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

static void layer_norm(const rill_layer_norm *n, rill_pool *pool)
{
    if (n->rows == 0) return;
    assert(n->x.data && n->y.data && n->width >= 1);
    rill_parallel_for(pool, norm_rows, n, n->rows, (double)n->width * 4.0 / VL);
}

/* ---- elementwise ----------------------------------------------------------------------------------------- */

#define ELEMENTWISE(op)                                              \
    static void run_##op(size_t n, const float *x, float *y)         \
    {                                                                \
        for (size_t i = 0; i < n; i += VL) {                         \
            v_store_n(y + i, n - i, v_##op(v_load_n(x + i, n - i))); \
        }                                                            \
    }

ELEMENTWISE(tanh)
ELEMENTWISE(sigmoid)
ELEMENTWISE(exp)
ELEMENTWISE(swish)
ELEMENTWISE(gelu)
ELEMENTWISE(gelu_tanh)
ELEMENTWISE(gelu_sigmoid)

/* ---- the table ------------------------------------------------------------------------------------------- */

/* Gather stays plain C, since it is memcpy. */
void RILL_FN(rill_kernels_init)(rill_kernels *k)
{
    k->isa |= RILL_SET;
    k->name = RILL_SET_NAME;
    k->gemm = RILL_FN(rill_gemm);
    k->lstm = lstm;
    k->attention = RILL_FN(rill_attention_f32);
    k->best = RILL_FN(rill_best_f32);
    k->embed = embed;
    k->layer_norm = layer_norm;
    k->tanh = run_tanh;
    k->sigmoid = run_sigmoid;
    k->exp = run_exp;
    k->swish = run_swish;
    k->gelu = run_gelu;
    k->gelu_tanh = run_gelu_tanh;
    k->gelu_sigmoid = run_gelu_sigmoid;
    k->gru = gru;
}
