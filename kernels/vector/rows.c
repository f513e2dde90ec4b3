/* Row operations, and which ones this instruction set overrides.
 *
 * Invariant: a sum over a row has VL partial sums, added in one tree, so its order depends only on the width. */
#include "vec.h"

/* ---- recurrent cells ------------------------------------------------------------------------------------- */

typedef struct lstm_row {
    const float *gate, *prev; /* [4 * width] gates of the row; previous cell state c, NULL if it is zero */
    float *c, *h;
    size_t width;
} lstm_row;

/* Vector divisions dominate the latency: sigmoid(i) tanh(g) and sigmoid(o) tanh(c) take one each, as v_ratio (vec.h). */
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
    const rill_row_call *l = arg;
    for (size_t r = begin; r < end; r++) {
        const lstm_row p = {
            .gate = rill_operand_row(&l->x[LSTM_gates], r),
            .prev = rill_operand_row(&l->x[LSTM_c], r),
            .c = rill_operand_row(&l->x[LSTM_c_out], r),
            .h = rill_operand_row(&l->x[LSTM_h_out], r),
            .width = l->width,
        };
        size_t j = 0;
        for (; j + VL <= p.width; j += VL) lstm_units(&p, j, VL);
        if (j < p.width) lstm_units(&p, j, p.width - j);
    }
}

typedef struct gru_row {
    /* rows of the gates' input and hidden parts and of the previous h; prev is NULL if the previous h is zero */
    const float *x, *gate, *prev;
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
    const rill_row_call *g = arg;
    for (size_t r = begin; r < end; r++) {
        const gru_row p = {
            .x = rill_operand_row(&g->x[GRU_input], r),
            .gate = rill_operand_row(&g->x[GRU_hidden_gates], r),
            .prev = rill_operand_row(&g->x[GRU_h], r),
            .h = rill_operand_row(&g->x[GRU_h_out], r),
            .width = g->width,
        };
        for (size_t j = 0; j < p.width; j += VL) gru_units(&p, j, p.width - j);
    }
}

/* ---- embeddings, norms and activations ------------------------------------------------------------------- */

/* Load min(n, VL) floats that are `step` floats apart; the other lanes are zero. */
RILL_INLINE vf load_lines(const float *from, size_t step, size_t n)
{
    float each[VL] = {0};
    for (size_t i = 0; i < VL && i < n; i++) each[i] = from[i * step];
    return v_load(each);
}

static void embed_rows(const void *arg, size_t begin, size_t end)
{
    const rill_row_call *e = arg;
    const vf scale = v_set1(e->op->embed.scale);
    const size_t width = e->width, step = rill_embed_step(e);
    for (size_t r = begin; r < end; r++) {
        const float *from = rill_embed_row(e, r), *place = rill_operand_row(&e->x[EMBED_position], r);
        float *out = rill_operand_row(&e->x[EMBED_out], r);
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

static void normalise_rows(const void *arg, size_t begin, size_t end)
{
    const rill_row_call *n = arg;
    const float *gain = n->x[NORMALISE_gain].data, *bias = n->x[NORMALISE_bias].data;
    const size_t width = n->width;
    for (size_t r = begin; r < end; r++) {
        const float *x = rill_operand_row(&n->x[NORMALISE_x], r),
                    *more = rill_operand_row(&n->x[NORMALISE_residual], r);
        float *y = rill_operand_row(&n->x[NORMALISE_y], r);
        vf sum = v_zero(), square = v_zero();
        for (size_t j = 0; j < width; j += VL) {
            vf z = v_load_n(x + j, width - j);
            if (more) z = v_add(z, v_load_n(more + j, width - j));
            v_store_n(y + j, width - j, z);
            sum = v_add(sum, z);
        }
        const vf mean = v_set1(n->op->normalise.rms ? 0.0f : v_sum(sum) / (float)width);
        for (size_t j = 0; j < width; j += VL) {
            const vm m = vm_first(width - j);
            const vf d = v_blend(m, v_sub(v_load_n(y + j, width - j), mean), v_zero());
            square = v_fma(d, d, square);
        }
        const vf scale = v_set1(1.0f / sqrtf(v_sum(square) / (float)width + n->op->normalise.eps));
        for (size_t j = 0; j < width; j += VL) {
            vf z = v_mul(v_sub(v_load_n(y + j, width - j), mean), scale);
            if (gain) z = v_mul(z, v_load_n(gain + j, width - j));
            if (bias) z = v_add(z, v_load_n(bias + j, width - j));
            v_store_n(y + j, width - j, z);
        }
    }
}

static void activate_rows(const void *arg, size_t begin, size_t end)
{
    const rill_row_call *a = arg;
    const size_t width = a->width;
    for (size_t r = begin; r < end; r++) {
        const float *gate = rill_operand_row(&a->x[ACTIVATE_gate], r);
        float *y = rill_operand_row(&a->x[ACTIVATE_y], r);
        activate(a->op->activate.activation, width, rill_operand_row(&a->x[ACTIVATE_x], r), y);
        for (size_t j = 0; gate && j < width; j += VL)
            v_store_n(y + j, width - j, v_mul(v_load_n(y + j, width - j), v_load_n(gate + j, width - j)));
    }
}

static void run_exp(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i += VL) v_store_n(y + i, n - i, v_exp(v_load_n(x + i, n - i)));
}

/* ---- the function table ---------------------------------------------------------------------------------- */

/* Copies and sums stay plain C, which compilers turn into vectors. */
void RILL_FN(rill_kernels_init)(rill_kernels *k)
{
    k->isa |= RILL_SET;
    k->name = RILL_SET_NAME;
    k->gemm = RILL_FN(rill_gemm);
    k->attention = RILL_FN(rill_attention_f32);
    k->best = RILL_FN(rill_best_f32);
    k->rows[RILL_OP_LSTM] = (rill_row_kernel){lstm_rows, 32.0 / VL};
    k->rows[RILL_OP_GRU] = (rill_row_kernel){gru_rows, 24.0 / VL};
    k->rows[RILL_OP_NORMALISE] = (rill_row_kernel){normalise_rows, 4.0 / VL};
    k->rows[RILL_OP_ACTIVATE] = (rill_row_kernel){activate_rows, 8.0 / VL};
    k->rows[RILL_OP_EMBED] = (rill_row_kernel){embed_rows, 0.1};
    k->exp = run_exp;
}
