/* test_rows.c: rows.cu, norm.cu and cells.cu against the plain C kernels, and each row against itself in other batches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "kernels.h"
#include "launch.h"
#include "rig.h"
#include "stand_in.h"
#include "support/dice.h"
#include "support/harness.h"

enum { MAX_ROWS = 40, TABLE = 2 * MAX_ROWS, VIEWS = RILL_SUM_TERMS + 2 };

/* Rows of a table, with or without an index. */
typedef struct view {
    int32_t width, ld; /* width 0: absent */
    int output, off;   /* off: floats past a multiple of 16 bytes */
    float *table;      /* [TABLE, ld] */
    int32_t *index;    /* [MAX_ROWS] or NULL */
} view;

typedef struct problem {
    const struct operation *op;
    int32_t rows, width, extra; /* extra: rows of the grid beyond the batch */
    view view[VIEWS];
    int views;
    float *gain, *bias; /* [width] or NULL */
    rill_activation activation;
    float scale, eps, min_value;
    int32_t rms, terms;
    dice d;
} problem;

/* The device addresses of the views, as arguments of a kernel. */
typedef struct kernel_arguments {
    gpu_rows rows;
    gpu_operand operands[VIEWS];
    const float *gain, *bias;
    gpu_panel panel;
} kernel_arguments;

typedef struct operation {
    const char *name;
    void (*draw)(problem *p);
    void (*run)(gpu_stream *queue, const problem *p, const kernel_arguments *d);
    /* Compute one row on the CPU: inputs (NULL: absent) to outputs, both in order of the views. */
    void (*expect)(const problem *p, const rill_kernels *k, float *const *row);
    float tolerance; /* the allowed difference, relative to 1 + |expected| */
    int panel;       /* the kernel writes a panel, instead of or besides its last output */
} operation;

/* --- random problems ---------------------------------------------------------------------------------------------- */

/* Draw a number. With `odd`, some are NaN or the like, for which only weak comparisons hold. */
static float number(dice *d, int odd)
{
    static const float values[] = {0.0f, -0.0f, 1e-40f, 30.0f, -100.0f, INFINITY, -INFINITY, NAN};
    if (odd && dice_chance(d, 1)) return values[dice_range(d, 0, 7)];
    return (float)dice_range(d, -4000, 4000) / 1000.0f;
}

static float *numbers(dice *d, size_t n)
{
    const int odd = dice_chance(d, 15);
    float *x = malloc((n + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) x[i] = number(d, odd);
    return x;
}

enum { INPUT = 0, OUTPUT = 1, MAYBE = 2, PLAIN = 4, SAME = 8 }; /* SAME: with the same index as the view before */

static void add_view(problem *p, int32_t width, int kind)
{
    dice *d = &p->d;
    view *v = &p->view[p->views++];
    *v = (view){.output = kind & OUTPUT};
    if ((kind & MAYBE) != 0 && dice_chance(d, 30)) return;
    v->width = width;
    v->ld = width + (dice_chance(d, 50) ? 0 : dice_range(d, 1, 9));
    if (dice_chance(d, 40)) v->ld = (v->ld + 3) / 4 * 4;
    v->off = dice_chance(d, 70) ? 0 : dice_range(d, 1, 3);
    v->table = numbers(d, (size_t)TABLE * (size_t)v->ld);
    if ((kind & PLAIN) != 0 || (dice_chance(d, 20) && (kind & SAME) == 0)) return;
    if ((kind & SAME) != 0 && v[-1].index == NULL) return;
    v->index = malloc(MAX_ROWS * sizeof *v->index);
    assert_non_null(v->index);
    const int negative = dice_chance(d, 50) ? 20 : 0;
    for (int32_t r = 0; r < MAX_ROWS; r++) {
        v->index[r] = kind & OUTPUT ? (r * 7 + 3) % TABLE : dice_range(d, 0, TABLE - 1);
        if (dice_chance(d, negative)) v->index[r] = -dice_range(d, 1, 5);
        if ((kind & SAME) != 0) v->index[r] = v[-1].index[r];
    }
}

static problem draw(const operation *op, uint64_t seed)
{
    problem p = {.op = op, .d = dice_seeded(seed)};
    dice *d = &p.d;
    p.width = dice_chance(d, 50) ? DICE_PICK(d, 1, 4, 32, 33, 64, 127, 128, 129, 256, 300) : dice_range(d, 1, 140);
    p.rows = dice_chance(d, 10) ? 0 : dice_range(d, 1, MAX_ROWS);
    p.extra = dice_chance(d, 50) ? 0 : dice_range(d, 0, 30);
    p.activation = (rill_activation)dice_range(d, 0, RILL_N_ACTIVATIONS - 1);
    op->draw(&p);
    return p;
}

static void drop(problem *p)
{
    for (int i = 0; i < p->views; i++) {
        free(p->view[i].table);
        free(p->view[i].index);
    }
    free(p->gain), free(p->bias);
}

/* --- one call ----------------------------------------------------------------------------------------------------- */

static uint16_t rounded(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t down = bits & 0xffff0000u, rest = bits & 0xffffu;
    if (isnan(x)) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((down >> 16) + (rest > 0x8000u || (rest == 0x8000u && (down >> 16 & 1) != 0)));
}

/* The sign of a NaN is ignored: it depends on the order in which a compiler multiplies. */
static void expect_rounded(uint16_t half, float x)
{
    assert_true(half == rounded(x) || (isnan(x) && (half ^ rounded(x)) == 0x8000));
}

/* Run rows order[0 .. n - 1] of the problem. `got`: the outputs' addresses in the mirror. */
static void call(rig *g, const problem *p, const int32_t *order, int32_t n, float *got[MAX_ROWS][VIEWS])
{
    kernel_arguments d = {0};
    float *mirror[VIEWS] = {0};
    int32_t *count, *index[VIEWS] = {0};
    uint16_t *panel[2] = {0};
    rig_begin(g);
    count = rig_put(g, sizeof *count);
    *count = n;
    d.rows = (gpu_rows){rig_device_ptr(g, count), n + p->extra};
    for (int i = 0; i < p->views; i++) {
        const view *v = &p->view[i];
        if (v->width == 0) continue;
        const size_t ld = (size_t)v->ld, rows = v->index != NULL ? TABLE : (size_t)n;
        const size_t bytes = (rows * ld + (size_t)v->off) * sizeof(float);
        mirror[i] = (float *)(v->output ? rig_out(g, bytes) : rig_put(g, bytes)) + v->off;
        for (size_t r = 0; r < rows && !v->output; r++)
            memcpy(mirror[i] + r * ld, v->table + (v->index != NULL ? r : (size_t)order[r]) * ld, ld * sizeof(float));
        if (v->index != NULL) index[i] = rig_put(g, ((size_t)n + 1) * sizeof(int32_t));
        for (int32_t r = 0; r < n && v->index != NULL; r++) index[i][r] = v->index[order[r]];
        d.operands[i] = (gpu_operand){rig_device_ptr(g, mirror[i]), v->ld, rig_device_ptr(g, index[i])};
        for (int32_t r = 0; r < n; r++)
            got[r][i] = v->index == NULL  ? mirror[i] + (size_t)r * ld
                        : index[i][r] < 0 ? NULL
                                          : mirror[i] + (size_t)index[i][r] * ld;
    }
    const size_t bytes = (size_t)p->width * sizeof(float);
    float *gain = p->gain != NULL ? memcpy(rig_put(g, bytes), p->gain, bytes) : NULL;
    float *bias = p->bias != NULL ? memcpy(rig_put(g, bytes), p->bias, bytes) : NULL;
    d.gain = rig_device_ptr(g, gain);
    d.bias = rig_device_ptr(g, bias);
    d.panel = (gpu_panel){.ld = (p->width + 15) / 16 * 16, .type = GPU_BF16};
    for (int alone = 0; alone < 2 && p->op->panel; alone++) panel[alone] = rig_out(g, (size_t)(n * d.panel.ld) * 2);
    rig_upload(g);
    p->op->run(g->queue, p, &d);
    for (int alone = 0; alone < 2 && p->op->panel; alone++) {
        d.panel.data = rig_device_ptr(g, panel[alone]);
        if (alone) d.operands[p->views - 1].data = NULL;
        p->op->run(g->queue, p, &d);
    }
    rig_download(g);
    for (int alone = 0; alone < 2 && p->op->panel; alone++)
        for (int32_t r = 0; r < n; r++)
            for (int32_t j = 0; j < p->width && got[r][p->views - 1] != NULL; j++)
                expect_rounded(panel[alone][r * d.panel.ld + j], got[r][p->views - 1][j]);
}

static int near(float x, float want, float tolerance)
{
    if (isnan(want)) return isnan(x);
    return x == want || fabsf(x - want) <= tolerance * (1.0f + fabsf(want));
}

static const float *view_row(const view *v, int32_t r)
{
    if (v->width == 0) return NULL;
    if (v->index == NULL) return v->table + (size_t)r * (size_t)v->ld;
    return v->index[r] >= 0 ? v->table + (size_t)v->index[r] * (size_t)v->ld : NULL;
}

static void compare(const problem *p, const rill_kernels *k, int32_t r, float *const *got)
{
    float *row[VIEWS] = {0};
    for (int i = 0; i < p->views; i++) {
        const view *v = &p->view[i];
        const float *in = view_row(v, r);
        if (v->output && v->width > 0)
            row[i] = calloc((size_t)v->width, sizeof(float));
        else
            row[i] = (float *)(uintptr_t)in;
    }
    p->op->expect(p, k, row);
    for (int i = 0; i < p->views; i++) {
        const view *v = &p->view[i];
        if (!v->output || v->width == 0) continue;
        for (int32_t j = 0; j < v->ld && got[i] != NULL; j++) {
            const float x = got[i][j];
            if (j < v->width ? near(x, row[i][j], p->op->tolerance) : isnan(x)) continue;
            fail_msg("%s: %d rows of %d, row %d, output %d, column %d of %d: %.9g, not %.9g", p->op->name, (int)p->rows,
                     (int)p->width, (int)r, i, (int)j, (int)v->ld, (double)x, j < v->width ? (double)row[i][j] : NAN);
        }
        free(row[i]);
    }
}

/* Some of the rows in another order must give the same bits, except the bits of NaNs. */
static void compare_again(rig *g, problem *p, float *const *first)
{
    int32_t order[MAX_ROWS], n = dice_range(&p->d, 1, p->rows);
    float *got[MAX_ROWS][VIEWS];
    for (int32_t r = 0; r < p->rows; r++) order[r] = r;
    for (int32_t r = p->rows; r-- > 1;) {
        const int32_t other = dice_range(&p->d, 0, r), was = order[r];
        order[r] = order[other];
        order[other] = was;
    }
    p->extra = dice_range(&p->d, 0, 20);
    for (int i = 0; i < p->views; i++) p->view[i].off = p->view[i].width > 0 && dice_chance(&p->d, 30) ? 1 : 0;
    call(g, p, order, n, got);
    for (int32_t r = 0; r < n; r++)
        for (int i = 0; i < p->views; i++)
            for (int32_t j = 0; p->view[i].output && j < p->view[i].width && got[r][i] != NULL; j++) {
                const float *x = &got[r][i][j], *y = &first[order[r] * VIEWS + i][j];
                if (memcmp(x, y, sizeof *x) != 0 && !(isnan(*x) && isnan(*y)))
                    fail_msg("%s: row %d, column %d of %d differs in other company: %.9g, not %.9g", p->op->name,
                             (int)order[r], (int)j, (int)p->width, (double)*x, (double)*y);
            }
}

static void check_operation(const operation *op, int64_t problems)
{
    rig g;
    rill_kernels k;
    rill_kernels_init(&k, RILL_ISA_REF);
    rig_open(&g, (size_t)48 << 20);
    const uint64_t seed = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(problems); i++) {
        problem p = draw(op, seed + (uint64_t)i);
        int32_t order[MAX_ROWS];
        float *got[MAX_ROWS][VIEWS], *kept[MAX_ROWS * VIEWS] = {0};
        for (int32_t r = 0; r < MAX_ROWS; r++) order[r] = r;
        cuda_host_seed(seed + (uint64_t)i);
        call(&g, &p, order, p.rows, got);
        for (int32_t r = 0; r < p.rows; r++) {
            compare(&p, &k, r, got[r]);
            for (int v = 0; v < p.views; v++) {
                const size_t bytes = (size_t)p.view[v].width * sizeof(float);
                if (!p.view[v].output || bytes == 0 || got[r][v] == NULL) continue;
                kept[r * VIEWS + v] = memcpy(malloc(bytes), got[r][v], bytes);
            }
        }
        if (p.rows > 0) compare_again(&g, &p, kept);
        for (int j = 0; j < MAX_ROWS * VIEWS; j++) free(kept[j]);
        drop(&p);
    }
    cuda_host_seed(0);
    rig_close(&g);
}

/* --- operations --------------------------------------------------------------------------------------------------- */

static float activated(const problem *p, const rill_kernels *k, float x)
{
    float y;
    const rill_op op = {.activate = {.activation = p->activation}};
    const rill_row_call call = {.rows = 1, .width = 1, .op = &op, .x = {[ACTIVATE_x] = {&x}, [ACTIVATE_y] = {&y}}};
    rill_run_rows(k, RILL_OP_ACTIVATE, &call, NULL);
    return y;
}

static float value_at(const float *row, int32_t j)
{
    return row != NULL ? row[j] : 0.0f;
}

/* The call of a row operation whose first `n` operands are the views in order. */
static gpu_row_call row_call(const problem *p, const kernel_arguments *d, size_t n)
{
    gpu_row_call call = {.rows = d->rows, .width = p->width, .panel = d->panel};
    memcpy(call.x, d->operands, n * sizeof *call.x);
    return call;
}

static void draw_copy(problem *p)
{
    add_view(p, p->width, INPUT);
    add_view(p, p->width, OUTPUT);
}

static void run_copy(gpu_stream *queue, const problem *p, const kernel_arguments *d)
{
    const gpu_row_call copy = row_call(p, d, 2);
    gpu_run_copy(queue, &copy);
}

static void expect_copy(const problem *p, const rill_kernels *k, float *const *row)
{
    (void)k;
    for (int32_t j = 0; j < p->width; j++) row[1][j] = value_at(row[0], j);
}

static void draw_finish(problem *p)
{
    add_view(p, p->width, INPUT | PLAIN);
    add_view(p, p->width, INPUT | MAYBE);
    add_view(p, p->width, OUTPUT);
    p->bias = dice_chance(&p->d, 70) ? numbers(&p->d, (size_t)p->width) : NULL;
}

static void run_finish(gpu_stream *queue, const problem *p, const kernel_arguments *d)
{
    gpu_run_epilogue(queue, &(gpu_epilogue){.rows = d->rows,
                                            .width = p->width,
                                            .sums = d->operands[0],
                                            .bias = d->bias,
                                            .add = d->operands[1],
                                            .out = d->operands[2],
                                            .activation = p->activation,
                                            .panel = d->panel});
}

static void expect_finish(const problem *p, const rill_kernels *k, float *const *row)
{
    for (int32_t j = 0; j < p->width; j++)
        row[2][j] = activated(p, k, (value_at(p->bias, j) + value_at(row[1], j)) + row[0][j]);
}

/* Two outputs whose sums are adjacent in memory. */
static void draw_finish_two(problem *p)
{
    add_view(p, p->width + 8, INPUT | PLAIN);
    add_view(p, p->width, OUTPUT);
    add_view(p, 8, OUTPUT);
    p->bias = numbers(&p->d, (size_t)p->width);
}

static void run_finish_two(gpu_stream *queue, const problem *p, const kernel_arguments *d)
{
    gpu_run_epilogue(queue, &(gpu_epilogue){.rows = d->rows,
                                            .width = p->width,
                                            .width2 = 8,
                                            .sums = d->operands[0],
                                            .bias = d->bias,
                                            .out = d->operands[1],
                                            .out2 = d->operands[2],
                                            .activation = p->activation});
}

static void expect_finish_two(const problem *p, const rill_kernels *k, float *const *row)
{
    for (int32_t j = 0; j < p->width; j++) row[1][j] = activated(p, k, p->bias[j] + row[0][j]);
    for (int32_t j = 0; j < 8; j++) row[2][j] = activated(p, k, row[0][p->width + j]);
}

static void draw_normalise(problem *p)
{
    if (dice_chance(&p->d, 30)) {
        p->width = DICE_PICK(&p->d, 512, 520, 1023, 1024, 1025, 2048, 2052, 4096, 4099, 5000);
        if (p->rows > 3) p->rows = 3;
    }
    add_view(p, p->width, INPUT);
    add_view(p, p->width, INPUT | MAYBE);
    add_view(p, p->width, OUTPUT);
    p->gain = dice_chance(&p->d, 70) ? numbers(&p->d, (size_t)p->width) : NULL;
    p->bias = dice_chance(&p->d, 70) ? numbers(&p->d, (size_t)p->width) : NULL;
    p->eps = 1e-5f;
    p->rms = dice_chance(&p->d, 30);
}

static void run_normalise(gpu_stream *queue, const problem *p, const kernel_arguments *d)
{
    gpu_row_call norm = row_call(p, d, 3);
    norm.op.normalise = (rill_normalise){.eps = p->eps, .rms = p->rms};
    norm.x[NORMALISE_gain].data = (float *)(uintptr_t)d->gain;
    norm.x[NORMALISE_bias].data = (float *)(uintptr_t)d->bias;
    gpu_run_normalise(queue, &norm);
}

static void expect_normalise(const problem *p, const rill_kernels *k, float *const *row)
{
    float *zeros = calloc((size_t)p->width, sizeof *zeros);
    const rill_op op = {.normalise = {.eps = p->eps, .rms = p->rms}};
    const rill_row_call norm = {.rows = 1,
                                .width = (size_t)p->width,
                                .op = &op,
                                .x = {[NORMALISE_x] = {row[0] != NULL ? row[0] : zeros},
                                      [NORMALISE_residual] = {row[1]},
                                      [NORMALISE_y] = {row[2]},
                                      [NORMALISE_gain] = {p->gain},
                                      [NORMALISE_bias] = {p->bias}}};
    rill_run_rows(k, RILL_OP_NORMALISE, &norm, NULL);
    free(zeros);
}

static void draw_activate(problem *p)
{
    add_view(p, p->width, INPUT);
    add_view(p, p->width, INPUT | MAYBE);
    add_view(p, p->width, OUTPUT);
}

static void run_activate(gpu_stream *queue, const problem *p, const kernel_arguments *d)
{
    gpu_row_call activate = row_call(p, d, 3);
    activate.op.activate.activation = p->activation;
    gpu_run_activate(queue, &activate);
}

static void expect_activate(const problem *p, const rill_kernels *k, float *const *row)
{
    for (int32_t j = 0; j < p->width; j++) {
        const float y = activated(p, k, value_at(row[0], j));
        row[2][j] = p->view[1].width > 0 ? y * value_at(row[1], j) : y;
    }
}

static void draw_embed(problem *p)
{
    draw_activate(p);
    p->scale = DICE_PICK(&p->d, 0, 1) ? 1.0f : 22.6f;
}

static void run_embed(gpu_stream *queue, const problem *p, const kernel_arguments *d)
{
    gpu_row_call embed = row_call(p, d, 3);
    embed.op.embed.scale = p->scale;
    gpu_run_embed(queue, &embed);
}

static void expect_embed(const problem *p, const rill_kernels *k, float *const *row)
{
    const int32_t index_value = row[0] != NULL ? 0 : -1;
    const rill_op op = {.embed = {.scale = p->scale}};
    const rill_row_call embed = {.rows = 1,
                                 .width = (size_t)p->width,
                                 .op = &op,
                                 .x = {[EMBED_rows] = {.data = row[0] != NULL ? row[0] : row[2], .index = &index_value},
                                       [EMBED_position] = {row[1]},
                                       [EMBED_out] = {row[2]}}};
    rill_run_rows(k, RILL_OP_EMBED, &embed, NULL);
}

static void draw_sum(problem *p)
{
    p->terms = dice_range(&p->d, 0, RILL_SUM_TERMS);
    p->min_value = dice_chance(&p->d, 50) ? 0.0f : -INFINITY;
    for (int32_t i = 0; i < p->terms; i++) add_view(p, p->width, INPUT);
    add_view(p, p->width, OUTPUT);
}

static void run_sum(gpu_stream *queue, const problem *p, const kernel_arguments *d)
{
    gpu_row_call sum = row_call(p, d, 0);
    sum.op.sum = (rill_sum){.terms = p->terms, .activation = p->min_value == 0.0f ? RILL_RELU : RILL_LINEAR};
    sum.x[SUM_out] = d->operands[p->terms];
    memcpy(&sum.x[SUM_term], d->operands, (size_t)p->terms * sizeof *sum.x);
    gpu_run_sum(queue, &sum);
}

static void expect_sum(const problem *p, const rill_kernels *k, float *const *row)
{
    (void)k;
    for (int32_t j = 0; j < p->width; j++) {
        float y = 0.0f;
        for (int32_t i = 0; i < p->terms; i++) y += value_at(row[i], j);
        row[p->terms][j] = y < p->min_value ? p->min_value : y;
    }
}

static void draw_lstm(problem *p)
{
    add_view(p, 4 * p->width, INPUT);
    add_view(p, p->width, INPUT | MAYBE);
    add_view(p, p->width, OUTPUT);
    add_view(p, p->width, OUTPUT | SAME);
}

static void run_lstm(gpu_stream *queue, const problem *p, const kernel_arguments *d)
{
    const gpu_row_call lstm = row_call(p, d, 4);
    gpu_run_lstm(queue, &lstm);
}

static void expect_lstm(const problem *p, const rill_kernels *k, float *const *row)
{
    float *zeros = calloc(4 * (size_t)p->width, sizeof *zeros);
    const rill_row_call lstm = {.rows = 1,
                                .width = (size_t)p->width,
                                .x = {[LSTM_gates] = {row[0] != NULL ? row[0] : zeros},
                                      [LSTM_c] = {row[1]},
                                      [LSTM_c_out] = {row[2]},
                                      [LSTM_h_out] = {row[3]}}};
    rill_run_rows(k, RILL_OP_LSTM, &lstm, NULL);
    free(zeros);
}

static void draw_gru(problem *p)
{
    add_view(p, 3 * p->width, INPUT);
    add_view(p, 3 * p->width, INPUT);
    add_view(p, p->width, INPUT | MAYBE);
    add_view(p, p->width, OUTPUT);
}

static void run_gru(gpu_stream *queue, const problem *p, const kernel_arguments *d)
{
    const gpu_row_call gru = row_call(p, d, 4);
    gpu_run_gru(queue, &gru);
}

static void expect_gru(const problem *p, const rill_kernels *k, float *const *row)
{
    float *zeros = calloc(3 * (size_t)p->width, sizeof *zeros);
    const rill_row_call gru = {.rows = 1,
                               .width = (size_t)p->width,
                               .x = {[GRU_input] = {row[0] != NULL ? row[0] : zeros},
                                     [GRU_hidden_gates] = {row[1] != NULL ? row[1] : zeros},
                                     [GRU_h] = {row[2]},
                                     [GRU_h_out] = {row[3]}}};
    rill_run_rows(k, RILL_OP_GRU, &gru, NULL);
    free(zeros);
}

#define OPERATION(name, tolerance, panel)                                                              \
    static void test_##name(void **state)                                                              \
    {                                                                                                  \
        static const operation op = {#name, draw_##name, run_##name, expect_##name, tolerance, panel}; \
        (void)state;                                                                                   \
        check_operation(&op, 120);                                                                     \
    }
OPERATION(copy, 0.0f, 0)
OPERATION(finish, 2e-6f, 1)
OPERATION(finish_two, 2e-6f, 0)
OPERATION(normalise, 2e-5f, 1)
OPERATION(activate, 2e-6f, 1)
OPERATION(embed, 2e-6f, 1)
OPERATION(sum, 0.0f, 1)
OPERATION(lstm, 2e-6f, 0)
OPERATION(gru, 2e-6f, 0)

/* --- special cases ------------------------------------------------------------------------------------------------ */

static void draw_gather(problem *p)
{
    add_view(p, p->width, INPUT);
    add_view(p, dice_chance(&p->d, 50) ? 4 * dice_range(&p->d, 1, 9) - p->width % 4 : dice_range(&p->d, 1, 50),
             INPUT | MAYBE);
}

static void gather_once(rig *g, problem *p, gpu_type type)
{
    const view *x = &p->view[0], *x2 = &p->view[1];
    const int32_t width = x->width + x2->width;
    const size_t ld = ((size_t)width + 15) / 16 * 16, bytes = ld * gpu_type_bytes(type);
    float *mirror[2] = {0};
    int32_t *index[2] = {0}, *count;
    rig_begin(g);
    count = rig_put(g, sizeof *count);
    *count = p->rows;
    gpu_gather args = {.rows = {rig_device_ptr(g, count), p->rows + p->extra},
                       .panel = {.ld = (int32_t)ld, .type = type}};
    for (int i = 0; i < 2; i++) {
        const view *v = &p->view[i];
        if (v->width == 0) continue;
        const size_t table = (size_t)TABLE * (size_t)v->ld * sizeof(float);
        mirror[i] = memcpy(rig_put(g, table), v->table, table);
        if (v->index != NULL)
            index[i] = memcpy(rig_put(g, MAX_ROWS * sizeof(int32_t)), v->index, MAX_ROWS * sizeof(int32_t));
        gpu_operand *operand = i == 0 ? &args.x : &args.x2;
        *operand = (gpu_operand){rig_device_ptr(g, mirror[i]), v->ld, rig_device_ptr(g, index[i])};
        *(i == 0 ? &args.width : &args.width2) = v->width;
    }
    char *out = rig_out(g, (size_t)p->rows * bytes);
    args.panel.data = rig_device_ptr(g, out);
    rig_upload(g);
    gpu_run_gather(g->queue, &args);
    rig_download(g);
    for (int32_t r = 0; r < p->rows; r++)
        for (int32_t j = 0; j < width; j++) {
            const float want = j < x->width ? value_at(view_row(x, r), j) : value_at(view_row(x2, r), j - x->width);
            const uint16_t half = type == GPU_F16 ? gpu_float_to_f16(want) : rounded(want);
            const char *got = out + (size_t)r * bytes + (size_t)j * gpu_type_bytes(type);
            assert_memory_equal(got, type == GPU_F32 ? (const void *)&want : &half, gpu_type_bytes(type));
        }
}

static void test_gather(void **state)
{
    static const operation op = {.name = "gather", .draw = draw_gather};
    rig g;
    (void)state;
    rig_open(&g, (size_t)8 << 20);
    for (int64_t i = 0; i < harness_iterations(120); i++) {
        problem p = draw(&op, harness_seed(1) + (uint64_t)i);
        cuda_host_seed((uint64_t)i);
        for (int32_t r = 0; r < 40; r++) { /* numbers halfway between two, which round to even */
            const uint32_t bits = r % 10 == 9 ? 0x7f800001u + 0x7ffffeu * (uint32_t)(r % 4 == 1)
                                              : 0x3f808000u + ((uint32_t)r << 15) + (uint32_t)(r % 3 - 1);
            memcpy(&p.view[0].table[r % p.width + p.view[0].ld * (r / p.width % TABLE)], &bits, sizeof bits);
        }
        gather_once(&g, &p, (gpu_type)DICE_PICK(&p.d, GPU_F32, GPU_BF16, GPU_F16));
        drop(&p);
    }
    rig_close(&g);
}

/* Outputs may also be inputs. */
static void test_in_place(void **state)
{
    enum { ROWS = 9 };
    rig g;
    (void)state;
    rig_open(&g, (size_t)8 << 20);
    static const int32_t widths[] = {5, 64, 1000, 1500, 4100};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const int32_t width = widths[w];
        const size_t bytes = ROWS * (size_t)width * sizeof(float);
        dice d = dice_seeded(w);
        float *x = numbers(&d, ROWS * (size_t)width);
        rig_begin(&g);
        int32_t *count = rig_put(&g, sizeof *count);
        *count = ROWS;
        float *separate = rig_out(&g, bytes), *in = rig_put(&g, bytes), *place = rig_out(&g, bytes);
        memcpy(in, x, bytes);
        memcpy(place, x, bytes);
        rig_upload(&g);
        const gpu_operand from = {rig_device_ptr(&g, in), width, NULL}, over = {rig_device_ptr(&g, place), width, NULL},
                          to = {rig_device_ptr(&g, separate), width, NULL};
        const gpu_rows rows = {rig_device_ptr(&g, count), ROWS};
        const gpu_operand in_out[2][2] = {{over, over}, {from, to}};
        for (const gpu_operand(*io)[2] = in_out; io < in_out + 2; io++) {
            const gpu_row_call norm = {rows, width, {(*io)[0], from, (*io)[1]}, .op = {.normalise = {.eps = 1e-5f}}};
            gpu_run_normalise(g.queue, &norm);
            gpu_run_epilogue(g.queue, &(gpu_epilogue){rows, width, .sums = (*io)[1], .add = (*io)[1], .out = (*io)[1]});
        }
        rig_download(&g);
        assert_memory_equal(separate, place, bytes);
        free(x);
    }
    rig_close(&g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather),     cmocka_unit_test(test_copy),      cmocka_unit_test(test_finish),
        cmocka_unit_test(test_finish_two), cmocka_unit_test(test_normalise), cmocka_unit_test(test_activate),
        cmocka_unit_test(test_embed),      cmocka_unit_test(test_sum),       cmocka_unit_test(test_lstm),
        cmocka_unit_test(test_gru),        cmocka_unit_test(test_in_place),
    };
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
