/* rows.c (ref): activations and row operations, an element at a time; the table of plain C. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "../internal.h"

/* ---- activations ----------------------------------------------------------------------------------------- */

static float one_linear(float x)
{
    return x;
}

static float one_tanh(float x)
{
    return tanhf(x);
}

static float one_relu(float x)
{
    return x < 0.0f ? 0.0f : x;
}

/* The exponential is taken only of -|x|, so it cannot overflow. NaN gives NaN. */
static float one_sigmoid(float x)
{
    const float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

static float one_swish(float x)
{
    return x * one_sigmoid(x);
}

static float one_gelu(float x)
{
    return 0.5f * x * erfcf(x * -0.707106781f);
}

static float one_gelu_tanh(float x)
{
    return x * one_sigmoid(x * (1.595769122f + 0.07135481627f * x * x));
}

static float one_gelu_sigmoid(float x)
{
    return x * one_sigmoid(1.702f * x);
}

void rill_activate_ref(rill_activation activation, size_t n, const float *x, float *y)
{
    switch (activation) {
#define CASE(NAME, name)                                        \
    case RILL_##NAME:                                           \
        for (size_t i = 0; i < n; i++) y[i] = one_##name(x[i]); \
        break;
        RILL_ACTIVATIONS(CASE)
#undef CASE
    }
}

static void run_exp(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = expf(x[i]);
}

/* ---- recurrent cells ------------------------------------------------------------------------------------- */

static void lstm_rows(const void *arg, size_t begin, size_t end)
{
    const rill_row_call *l = arg;
    const size_t width = l->width;
    for (size_t r = begin; r < end; r++) {
        const float *gate = rill_operand_row(&l->x[LSTM_gates], r), *prev = rill_operand_row(&l->x[LSTM_c], r);
        float *c = rill_operand_row(&l->x[LSTM_c_out], r), *h = rill_operand_row(&l->x[LSTM_h_out], r);
        for (size_t j = 0; j < width; j++) {
            const float keep = prev ? one_sigmoid(gate[width + j]) * prev[j] : 0.0f;
            const float cell = keep + one_sigmoid(gate[j]) * tanhf(gate[2 * width + j]);
            c[j] = cell;
            h[j] = one_sigmoid(gate[3 * width + j]) * tanhf(cell);
        }
    }
}

static void gru_rows(const void *arg, size_t begin, size_t end)
{
    const rill_row_call *g = arg;
    const size_t width = g->width;
    for (size_t r = begin; r < end; r++) {
        const float *x = rill_operand_row(&g->x[GRU_input], r), *gate = rill_operand_row(&g->x[GRU_hidden_gates], r),
                    *prev = rill_operand_row(&g->x[GRU_h], r);
        float *h = rill_operand_row(&g->x[GRU_h_out], r);
        for (size_t j = 0; j < width; j++) {
            const float reset = one_sigmoid(x[j] + gate[j]), update = one_sigmoid(x[width + j] + gate[width + j]);
            const float n = tanhf(x[2 * width + j] + reset * gate[2 * width + j]), fill = (1.0f - update) * n;
            h[j] = prev ? fill + update * prev[j] : fill;
        }
    }
}

/* ---- copies, sums, embeddings and norms ------------------------------------------------------------------ */

static void copy_rows(const void *arg, size_t begin, size_t end)
{
    const rill_row_call *g = arg;
    for (size_t r = begin; r < end; r++) {
        const float *from = rill_operand_row(&g->x[COPY_x], r);
        float *to = rill_operand_row(&g->x[COPY_out], r);
        if (from)
            memcpy(to, from, g->width * sizeof *to);
        else
            memset(to, 0, g->width * sizeof *to);
    }
}

static void embed_rows(const void *arg, size_t begin, size_t end)
{
    const rill_row_call *e = arg;
    const size_t step = rill_embed_step(e);
    for (size_t r = begin; r < end; r++) {
        float *out = rill_operand_row(&e->x[EMBED_out], r);
        const float *from = rill_embed_row(e, r), *place = rill_operand_row(&e->x[EMBED_position], r);
        for (size_t j = 0; j < e->width; j++) {
            const float x = from ? e->op->embed.scale * from[j * step] : 0.0f;
            out[j] = place ? x + place[j] : x;
        }
    }
}

static void normalise_rows(const void *arg, size_t begin, size_t end)
{
    const rill_row_call *n = arg;
    const float *gain = n->x[NORMALISE_gain].data, *bias = n->x[NORMALISE_bias].data;
    for (size_t r = begin; r < end; r++) {
        const float *x = rill_operand_row(&n->x[NORMALISE_x], r),
                    *more = rill_operand_row(&n->x[NORMALISE_residual], r);
        float *y = rill_operand_row(&n->x[NORMALISE_y], r);
        float sum = 0.0f, square = 0.0f;
        for (size_t j = 0; j < n->width; j++) {
            y[j] = more ? x[j] + more[j] : x[j];
            sum += y[j];
        }
        const float mean = n->op->normalise.rms ? 0.0f : sum / (float)n->width;
        for (size_t j = 0; j < n->width; j++) square += (y[j] - mean) * (y[j] - mean);
        const float scale = 1.0f / sqrtf(square / (float)n->width + n->op->normalise.eps);
        for (size_t j = 0; j < n->width; j++) {
            const float z = (y[j] - mean) * scale * (gain ? gain[j] : 1.0f);
            y[j] = bias ? z + bias[j] : z;
        }
    }
}

static void activate_rows(const void *arg, size_t begin, size_t end)
{
    const rill_row_call *a = arg;
    for (size_t r = begin; r < end; r++) {
        const float *gate = rill_operand_row(&a->x[ACTIVATE_gate], r);
        float *y = rill_operand_row(&a->x[ACTIVATE_y], r);
        rill_activate_ref(a->op->activate.activation, a->width, rill_operand_row(&a->x[ACTIVATE_x], r), y);
        for (size_t j = 0; gate && j < a->width; j++) y[j] *= gate[j];
    }
}

/* Return the larger of x and min. A NaN stays NaN. */
static inline float at_least(float x, float min)
{
    return x < min ? min : x;
}

/* Write the sum of a row's terms to `out`, which may alias a term. If it aliases the fourth or a later term, each element is summed over
 * all terms at once. */
static void sum_row(float *out, const float *const *term, size_t terms, size_t width, float min)
{
    const float *a = term[0], *b = term[1], *c = term[2];
    int in_place = 0;
    for (size_t t = 3; t < terms; t++) in_place |= term[t] == out;
    if (terms == 0) memset(out, 0, width * sizeof *out);
    for (size_t j = 0; terms == 1 && j < width; j++) out[j] = at_least(a[j], min);
    for (size_t j = 0; terms == 2 && j < width; j++) out[j] = at_least(a[j] + b[j], min);
    for (size_t j = 0; in_place && j < width; j++) {
        float sum = a[j] + b[j] + c[j];
        for (size_t t = 3; t < terms; t++) sum += term[t][j];
        out[j] = at_least(sum, min);
    }
    if (terms < 3 || in_place) return;
    const float first_min = terms == 3 ? min : -INFINITY;
    for (size_t j = 0; j < width; j++) out[j] = at_least(a[j] + b[j] + c[j], first_min);
    for (size_t t = 3; t < terms; t++)
        for (size_t j = 0; j < width; j++) out[j] = at_least(out[j] + term[t][j], t + 1 == terms ? min : -INFINITY);
}

/* Sum the present terms of each row, in order. */
static void sum_rows(const void *arg, size_t begin, size_t end)
{
    const rill_row_call *s = arg;
    const float min = s->op->sum.activation == RILL_RELU ? 0.0f : -INFINITY;
    for (size_t r = begin; r < end; r++) {
        const float *term[RILL_SUM_TERMS] = {NULL};
        size_t terms = 0;
        for (int32_t i = 0; i < s->op->sum.terms; i++)
            if ((term[terms] = rill_operand_row(&s->x[SUM_term + i], r)) != NULL) terms++;
        sum_row(rill_operand_row(&s->x[SUM_out], r), term, terms, s->width, min);
    }
}

/* ---- the function table ---------------------------------------------------------------------------------- */

void rill_kernels_init_ref(rill_kernels *k)
{
    *k = (rill_kernels){
        .isa = RILL_ISA_REF,
        .name = "ref",
        .gemm = rill_gemm_ref,
        .attention = rill_attention_f32_ref,
        .best = rill_best_f32_ref,
        .rows = {[RILL_OP_LSTM] = {lstm_rows, 40.0},
                 [RILL_OP_GRU] = {gru_rows, 30.0},
                 [RILL_OP_NORMALISE] = {normalise_rows, 2.0},
                 [RILL_OP_ACTIVATE] = {activate_rows, 5.0},
                 [RILL_OP_EMBED] = {embed_rows, 0.3},
                 [RILL_OP_SUM] = {sum_rows, 0.3},
                 [RILL_OP_COPY] = {copy_rows, 0.1}},
        .exp = run_exp,
    };
}
