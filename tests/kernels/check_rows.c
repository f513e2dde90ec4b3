/* check_rows.c: copies, embedding, norms, sums, gated activations, and the elementwise functions.
 *
 * Tolerances: copies and sums are exact. Embedding has one rounding per operation, so it is recomputed in float and compared to
 * the bit (none of its operations may be fused). Layer norm: (H + 10) roundings against double. exp, tanh and sigmoid:
 * a number of ulp against double, over every 997th float (--rounds 4000: over all). */
#include <math.h>

#include "kernel_check.h"

static void check_copy(check *c)
{
    const size_t rows = dice_from(c, 0, 30), width = dice_from(c, 1, 50), table = rows + 5,
                 ld = width + dice_below(c, 3);
    float *src = buffer(c, table * ld), *dst = buffer_patterned(c, table * ld);
    int32_t *from = buffer_int(c, rows), *to = buffer_int(c, rows);
    dice_fill_hard(c, src, table * ld, 1.0f);
    for (size_t r = 0; r < rows; r++) from[r] = (int32_t)dice_below(c, table + 1) - 1;
    dice_choose(c, to, rows, table);
    case_name(c, "copy rows=%zu width=%zu", rows, width);
    const rill_row_call call = {
        .rows = rows, .width = width, .x = {[COPY_x] = {src, ld, from}, [COPY_out] = {dst, ld, to}}};
    rill_run_rows(&c->k, RILL_OP_COPY, &call, c->pool[0]);
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < width; j++) {
            const float want = from[r] < 0 ? 0.0f : src[(size_t)from[r] * ld + j];
            EXPECT(c, same_bits(dst + (size_t)to[r] * ld + j, &want, 1), "row %zu column %zu", r, j);
        }
        for (size_t j = width; j < ld; j++) EXPECT(c, buffer_kept(dst, (size_t)to[r] * ld + j), "a gap was written");
    }
}

static void check_embed(check *c)
{
    const size_t rows = dice_from(c, 0, 30), width = dice_from(c, 1, 50), table = 20, ld = width + dice_below(c, 3);
    float *words = buffer(c, table * ld), *places = buffer(c, table * ld), *out = buffer_patterned(c, rows * ld);
    int32_t *id = buffer_int(c, rows), *pos = buffer_int(c, rows), *to = buffer_int(c, rows);
    const int placed = (int)dice_below(c, 2), packed = (int)dice_below(c, 2);
    rill_weights w;
    dice_fill(c, words, table * ld, 1.0f);
    void *mem = buffer_aligned(c, rill_gemm_pack_size(table, width, RILL_DTYPE_F32));
    EXPECT(c, rill_gemm_pack_f32(&w, table, width, words, ld, RILL_DTYPE_F32, mem) == 0, "pack");
    dice_fill(c, places, table * ld, 1.0f);
    for (size_t r = 0; r < rows; r++)
        id[r] = (int32_t)dice_below(c, table + 1) - 1, pos[r] = (int32_t)dice_below(c, table + 1) - 1;
    dice_choose(c, to, rows, rows);
    case_name(c, "embed rows=%zu width=%zu placed=%d packed=%d", rows, width, placed, packed);
    const rill_op op = {.embed = {.scale = 11.3f}};
    const rill_row_call call = {.rows = rows,
                                .width = width,
                                .op = &op,
                                .x = {[EMBED_rows] = {packed ? NULL : words, ld, id},
                                      [EMBED_position] = {placed ? places : NULL, ld, pos},
                                      [EMBED_out] = {out, ld, to}},
                                .packed = packed ? &w : NULL};
    rill_run_rows(&c->k, RILL_OP_EMBED, &call, c->pool[0]);
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < width; j++) {
            volatile float want = id[r] < 0 ? 0.0f : 11.3f * words[(size_t)id[r] * ld + j];
            if (placed && pos[r] >= 0) want = want + places[(size_t)pos[r] * ld + j];
            EXPECT(c, out[(size_t)to[r] * ld + j] == want, "row %zu column %zu", r, j);
        }
        for (size_t j = width; j < ld; j++) EXPECT(c, buffer_kept(out, (size_t)to[r] * ld + j), "a gap was written");
    }
}

static void check_norm(check *c)
{
    const size_t rows = dice_from(c, 0, 20), width = dice_from(c, 1, 90), ld = width + dice_below(c, 3);
    const int rms = (int)dice_below(c, 2);
    float *x = buffer(c, rows * ld + 1), *more = dice_below(c, 2) ? buffer(c, rows * ld + 1) : NULL;
    float *gain = dice_below(c, 4) ? buffer(c, width) : NULL, *bias = dice_below(c, 4) ? buffer(c, width) : NULL;
    float *y = buffer_patterned(c, rows * ld + 1), *alone = buffer(c, width);
    dice_fill(c, x, rows * ld, 2.0f);
    if (more) dice_fill(c, more, rows * ld, 1.0f);
    if (gain) dice_fill(c, gain, width, 1.0f);
    if (bias) dice_fill(c, bias, width, 1.0f);
    case_name(c, "layer_norm rows=%zu width=%zu more=%d gain=%d bias=%d rms=%d", rows, width, more != NULL,
              gain != NULL, bias != NULL, rms);
    const rill_op op = {.normalise = {.eps = 1e-5f, .rms = rms}};
    rill_row_call n = {.rows = rows,
                       .width = width,
                       .op = &op,
                       .x = {[NORMALISE_x] = {x, ld},
                             [NORMALISE_residual] = {more, ld},
                             [NORMALISE_y] = {y, ld},
                             [NORMALISE_gain] = {gain},
                             [NORMALISE_bias] = {bias}}};
    rill_run_rows(&c->k, RILL_OP_NORMALISE, &n, c->pool[0]);
    for (size_t r = 0; r < rows; r++) {
        double mean = 0.0, var = 0.0, largest = 0.0;
        for (size_t j = 0; j < width; j++) {
            const double z = (double)x[r * ld + j] + (more ? (double)more[r * ld + j] : 0.0);
            mean += rms ? 0.0 : z / (double)width, largest = fmax(largest, fabs(z));
        }
        for (size_t j = 0; j < width; j++) {
            const double z = (double)x[r * ld + j] + (more ? (double)more[r * ld + j] : 0.0);
            var += (z - mean) * (z - mean) / (double)width;
        }
        const double scale = 1.0 / sqrt(var + (double)1e-5f);
        for (size_t j = 0; j < width; j++) {
            const double z = (double)x[r * ld + j] + (more ? (double)more[r * ld + j] : 0.0);
            const double g = gain ? (double)gain[j] : 1.0, b = bias ? (double)bias[j] : 0.0;
            const double tolerance = ((double)width + 10.0) * 0x1p-24 * (2.0 * fabs(g) * scale * largest + fabs(b));
            EXPECT(c, near((double)y[r * ld + j], (z - mean) * scale * g + b, tolerance),
                   "row %zu column %zu: %.9g, not %.9g", r, j, (double)y[r * ld + j], (z - mean) * scale * g + b);
        }
        for (size_t j = width; j < ld; j++) EXPECT(c, buffer_kept(y, r * ld + j), "a gap was written");
        const int32_t row_index = (int32_t)r; /* gathered */
        rill_row_call one = n;
        one.rows = 1;
        one.x[NORMALISE_x].index = one.x[NORMALISE_residual].index = &row_index;
        one.x[NORMALISE_y].data = alone;
        rill_run_rows(&c->k, RILL_OP_NORMALISE, &one, NULL);
        EXPECT(c, same_bits(alone, y + r * ld, width), "row %zu differs alone", r);
    }
    n.x[NORMALISE_y].data = x; /* in place */
    rill_run_rows(&c->k, RILL_OP_NORMALISE, &n, NULL);
    for (size_t r = 0; r < rows; r++)
        EXPECT(c, same_bits(x + r * ld, y + r * ld, width), "row %zu differs in place", r);
}

/* Sums and gated activations have one rounding per operation, and terms are added in order. */
static void expect_sum(const rill_row_call *call, float *want)
{
    const rill_sum *sum = &call->op->sum;
    for (size_t r = 0; r < call->rows; r++)
        for (size_t j = 0; j < call->width; j++) {
            float x = 0.0f;
            for (int32_t t = 0, n = 0; t < sum->terms; t++) {
                const float *term = rill_operand_row(&call->x[SUM_term + t], r);
                if (term) x = n++ ? x + term[j] : term[j];
            }
            want[r * call->width + j] = sum->activation == RILL_RELU && x < 0.0f ? 0.0f : x;
        }
}

static void check_sum(check *c)
{
    const size_t rows = dice_from(c, 0, 20), width = dice_from(c, 1, 50), terms = dice_from(c, 1, RILL_SUM_TERMS),
                 n = rows * width;
    const rill_op op = {.sum = {.terms = (int32_t)terms, .activation = dice_below(c, 2) ? RILL_RELU : RILL_LINEAR}};
    float *out = buffer(c, n), *want = buffer(c, n);
    rill_row_call call = {.rows = rows, .width = width, .op = &op, .x = {[SUM_out] = {out, width}}};
    for (size_t t = 0; t < terms; t++) {
        int32_t *index = buffer_int(c, rows);
        call.x[SUM_term + t] = (rill_operand){buffer(c, n), width, index};
        dice_fill_hard(c, call.x[SUM_term + t].data, n, 1.0f);
        for (size_t r = 0; r < rows; r++) index[r] = (int32_t)dice_below(c, rows + 1) - 1;
    }
    case_name(c, "sum rows=%zu width=%zu terms=%zu", rows, width, terms);
    expect_sum(&call, want);
    rill_run_rows(&c->k, RILL_OP_SUM, &call, c->pool[0]);
    for (size_t i = 0; i < n; i++) EXPECT(c, near((double)out[i], (double)want[i], 0.0), "element %zu", i);
    for (size_t t = 0; t < terms; t++) {
        const rill_operand term = call.x[SUM_term + t];
        call.x[SUM_term + t] = call.x[SUM_out];
        dice_fill_hard(c, out, n, 1.0f);
        expect_sum(&call, want);
        rill_run_rows(&c->k, RILL_OP_SUM, &call, c->pool[0]);
        for (size_t i = 0; i < n; i++)
            EXPECT(c, near((double)out[i], (double)want[i], 0.0), "element %zu differs in place of term %zu", i, t);
        call.x[SUM_term + t] = term;
    }
}

static void check_gate(check *c)
{
    const size_t rows = dice_from(c, 0, 20), width = dice_from(c, 1, 50), n = rows * width;
    const rill_op op = {.activate = {.activation = (rill_activation)dice_below(c, RILL_N_ACTIVATIONS)}};
    float *x = buffer(c, n), *gate = buffer(c, n), *y = buffer(c, n), *want = buffer(c, n);
    dice_fill(c, x, n, 2.0f);
    dice_fill(c, gate, n, 2.0f);
    case_name(c, "activate rows=%zu width=%zu activation=%d", rows, width, (int)op.activate.activation);
    const rill_row_call call = {
        .rows = rows,
        .width = width,
        .op = &op,
        .x = {[ACTIVATE_x] = {x, width}, [ACTIVATE_gate] = {gate, width}, [ACTIVATE_y] = {y, width}}};
    rill_run_rows(&c->k, RILL_OP_ACTIVATE, &call, c->pool[0]);
    elementwise(c, (int)op.activate.activation, n, x, want);
    for (size_t i = 0; i < n; i++) {
        want[i] *= gate[i];
        EXPECT(c, same_bits(y + i, want + i, 1), "element %zu", i);
    }
}

void check_rows(check *c)
{
    for (unsigned round = 0; round < 2 * c->rounds; round++) {
        check_copy(c);
        check_embed(c);
        check_norm(c);
        check_sum(c);
        check_gate(c);
        buffers_finish(c);
    }
}

/* ---- elementwise ---- */

static double true_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

typedef struct function {
    const char *name;
    int f; /* number of the function, see elementwise() */
    double (*truth)(double x);
    double ulps; /* tolerance; docs/measurements/kernels.md has the measured errors */
} function;

/* Return the distance of y from the true value, in ulps of the true value (denormals: in units of the smallest
 * denormal). */
static double ulp_error(float y, double truth)
{
    const float rounded = (float)truth;
    if (isnan(truth) || isnan(y)) return isnan(truth) && isnan(y) ? 0.0 : INFINITY;
    if (isinf(rounded) || isinf(y)) return rounded == y ? 0.0 : INFINITY;
    int e;
    frexp(truth, &e);
    return fabs((double)y - truth) / ldexp(1.0, e - 24 < -149 ? -149 : e - 24);
}

static void check_function(check *c, const function *f, uint32_t stride)
{
    enum { N = 4093 };
    float *x = buffer(c, N), *y = buffer(c, N), one;
    double worst = 0.0;
    float worst_x = 0.0f;
    for (uint64_t bits = 0; bits <= UINT32_MAX;) {
        size_t n = 0;
        for (; n < N && bits <= UINT32_MAX; n++, bits += stride) {
            const uint32_t b = (uint32_t)bits;
            memcpy(x + n, &b, sizeof b);
        }
        elementwise(c, f->f, n, x, y);
        for (size_t i = 0; i < n; i++) {
            const double off = ulp_error(y[i], f->truth((double)x[i]));
            if (off > worst) worst = off, worst_x = x[i];
        }
        const size_t i = dice_below(c, n);
        elementwise(c, f->f, 1, x + i, &one);
        case_name(c, "%s(%.9g)", f->name, (double)x[i]);
        EXPECT(c, same_bits(&one, y + i, 1), "differs alone");
    }
    case_name(c, "%s", f->name);
    printf("%s %s: at most %.2f ulp, at %.9g\n", f->name, c->isa, worst, (double)worst_x);
    EXPECT(c, worst <= f->ulps, "%.2f ulp at %.9g", worst, (double)worst_x);
}

/* Tails of every length are right, and the canaries behind them stay. */
static void check_tails(check *c, const function *f)
{
    for (size_t n = 0; n < 70; n++) {
        float *x = buffer(c, n), *y = buffer(c, n);
        dice_fill(c, x, n, 2.0f);
        elementwise(c, f->f, n, x, y);
        elementwise(c, f->f, n, x, x);
        EXPECT(c, same_bits(x, y, n), "%s of %zu in place", f->name, n);
        buffers_finish(c);
    }
}

/* The activation after a product must equal the elementwise function; it is tested on x times 1. */
static void check_activation(check *c, rill_activation activation, const char *name)
{
    enum { N = 300 };
    float *x = buffer(c, N), *y = buffer(c, N), *want = buffer(c, N);
    const float one = 1.0f;
    rill_weights w;
    void *mem = buffer_aligned(c, rill_gemm_pack_size(1, 1, RILL_DTYPE_F32));
    dice_fill_hard(c, x, N, 3.0f);
    EXPECT(c, rill_gemm_pack_f32(&w, 1, 1, &one, 1, RILL_DTYPE_F32, mem) == 0, "pack");
    c->k.gemm(&(rill_gemm){.w = &w, .rows = N, .a = {x, 1}, .c = {want, 1}, .activation = activation}, NULL);
    const function f = {name, activation, NULL, 0.0};
    elementwise(c, activation, N, x, y);
    case_name(c, "%s", name);
    for (size_t i = 0; i < N; i++)
        EXPECT(c, same_bits(y + i, want + i, 1) || y[i] == want[i], "(%.9g) = %.9g, not the product's %.9g",
               (double)x[i], (double)y[i], (double)want[i]);
    check_tails(c, &f);
}

void check_math(check *c)
{
#define CHECK(NAME, name) check_activation(c, RILL_##NAME, #name);
    RILL_ACTIVATIONS(CHECK)
    const function functions[] = {
        {"exp", CHECK_EXP, exp, 1.5},
        {"tanh", RILL_TANH, tanh, 3.0},
        {"sigmoid", RILL_SIGMOID, true_sigmoid, 3.0},
    };
    /* --rounds 4000 or more: every float */
    const uint32_t stride = c->rounds >= 4000 ? 1 : 997 * 60 / (c->rounds ? c->rounds : 1) | 1;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        check_function(c, &functions[i], stride);
        buffers_finish(c);
        check_tails(c, &functions[i]);
    }
}

/* ---- bench ---- */

typedef struct timed {
    const check *c;
    int f;
    float *x, *y;
    const rill_row_call *norm;
} timed;

static void timed_call(void *arg)
{
    const timed *t = arg;
    if (t->norm)
        rill_run_rows(&t->c->k, RILL_OP_NORMALISE, t->norm, NULL);
    else
        elementwise(t->c, t->f, 1024, t->x, t->y);
}

void bench_math(check *c)
{
    static const function functions[] = {
        {"exp", CHECK_EXP, NULL, 0.0}, {"tanh", RILL_TANH, NULL, 0.0}, {"sigmoid", RILL_SIGMOID, NULL, 0.0}};
    timed t = {c, 0, buffer(c, 1024), buffer(c, 1024), NULL};
    dice_fill(c, t.x, 1024, 2.0f);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        t.f = functions[i].f;
        printf("%s %s: %.3f ns per element\n", functions[i].name, c->isa, 1e9 / 1024 * bench_seconds(timed_call, &t));
    }
}

void bench_rows(check *c)
{
    enum { ROWS = 50, WIDTH = 512 };
    const rill_op op = {.normalise = {.eps = 1e-5f}};
    const rill_row_call n = {.rows = ROWS,
                             .width = WIDTH,
                             .op = &op,
                             .x = {[NORMALISE_x] = {buffer(c, ROWS * WIDTH), WIDTH},
                                   [NORMALISE_residual] = {buffer(c, ROWS * WIDTH), WIDTH},
                                   [NORMALISE_y] = {buffer(c, ROWS * WIDTH), WIDTH},
                                   [NORMALISE_gain] = {buffer(c, WIDTH)},
                                   [NORMALISE_bias] = {buffer(c, WIDTH)}}};
    timed t = {.c = c, .norm = &n};
    printf("layer_norm %s rows=%d width=%d: %.3f ns per element\n", c->isa, ROWS, WIDTH,
           1e9 / (ROWS * WIDTH) * bench_seconds(timed_call, &t));
}
