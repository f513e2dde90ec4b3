/* check_lstm.c: the cell against the formula in double, and against itself with other rows.
 *
 * Tolerance: 6 units of 2^-24 relative to |sigmoid(f) c| + |sigmoid(i) tanh(g)| for c; for h the error of c passes
 * through tanh (slope at most 1) and 6 units of |h| are added. */
#include <math.h>

#include "kernel_check.h"

#define UNITS (6.0 * 0x1p-24)

typedef struct problem {
    size_t rows, hidden, table, ld;
    float *gates, *old_state;
    int32_t *prev, *out;
} problem;

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static problem draw(check *c, int hard)
{
    problem p = {.rows = dice_from(c, 0, 30), .hidden = dice_from(c, 1, 75)};
    p.table = 2 * p.rows + 3;
    p.ld = p.hidden + dice_below(c, 4);
    p.gates = buffer(c, p.rows * 4 * p.hidden);
    p.old_state = buffer(c, p.table * p.ld);
    p.prev = buffer_int(c, p.rows);
    p.out = buffer_int(c, p.rows);
    dice_fill(c, p.gates, p.rows * 4 * p.hidden, hard ? 30.0f : 2.0f);
    dice_fill(c, p.old_state, p.table * p.ld, 1.0f);
    for (size_t i = 0; hard && i < p.rows * 4 * p.hidden; i++)
        if (dice_below(c, 6) == 0) p.gates[i] = dice_below(c, 2) ? 1e30f : -1e30f;
    for (size_t r = 0; r < p.rows; r++) p.prev[r] = (int32_t)dice_below(c, p.table + 1) - 1;
    dice_choose(c, p.out, p.rows, p.table);
    case_name(c, "rows=%zu hidden=%zu hard=%d", p.rows, p.hidden, hard);
    return p;
}

static rill_row_call call(const problem *p, float *cell, float *h)
{
    return (rill_row_call){.rows = p->rows,
                           .width = p->hidden,
                           .x = {[LSTM_gates] = {p->gates, 4 * p->hidden},
                                 [LSTM_c] = {p->old_state, p->ld, p->prev},
                                 [LSTM_c_out] = {cell, p->ld, p->out},
                                 [LSTM_h_out] = {h, p->ld, p->out}}};
}

static void expect_row(check *c, const problem *p, size_t r, const float *cell, const float *h)
{
    const float *gate = p->gates + r * 4 * p->hidden;
    for (size_t j = 0; j < p->hidden; j++) {
        const double old = p->prev[r] < 0 ? 0.0 : (double)p->old_state[(size_t)p->prev[r] * p->ld + j];
        const double keep = sigmoid((double)gate[p->hidden + j]) * old;
        const double fresh = sigmoid((double)gate[j]) * tanh((double)gate[2 * p->hidden + j]);
        const double tolerance = UNITS * (fabs(keep) + fabs(fresh)) + 0x1p-140;
        EXPECT(c, near((double)cell[j], keep + fresh, tolerance), "c(%zu,%zu) = %.9g, not %.9g", r, j, (double)cell[j],
               keep + fresh);
        const double out = sigmoid((double)gate[3 * p->hidden + j]) * tanh(keep + fresh);
        EXPECT(c, near((double)h[j], out, tolerance + UNITS * fabs(out)), "h(%zu,%zu) = %.9g, not %.9g", r, j,
               (double)h[j], out);
    }
}

/* `count` rows in this order, written to rows 0.. of fresh tables, must give the same bits. */
static void expect_same(check *c, const problem *p, const float *cell, const float *h, const int32_t *order,
                        size_t count, rill_pool *pool)
{
    float *gates = buffer(c, count * 4 * p->hidden), *cell2 = buffer(c, count * p->hidden),
          *h2 = buffer(c, count * p->hidden);
    int32_t *prev = buffer_int(c, count);
    for (size_t i = 0; i < count; i++) {
        memcpy(gates + i * 4 * p->hidden, p->gates + (size_t)order[i] * 4 * p->hidden, 4 * p->hidden * sizeof *gates);
        prev[i] = p->prev[order[i]];
    }
    rill_row_call l = call(p, cell2, h2);
    l.rows = count;
    l.x[LSTM_gates].data = gates;
    l.x[LSTM_c].index = prev;
    l.x[LSTM_c_out].index = l.x[LSTM_h_out].index = NULL;
    l.x[LSTM_c_out].ld = l.x[LSTM_h_out].ld = p->hidden;
    rill_run_rows(&c->k, RILL_OP_LSTM, &l, pool);
    for (size_t i = 0; i < count; i++) {
        const size_t offset = (size_t)p->out[order[i]] * p->ld;
        EXPECT(c,
               same_bits(cell2 + i * p->hidden, cell + offset, p->hidden) &&
                   same_bits(h2 + i * p->hidden, h + offset, p->hidden),
               "row %d differs in a batch of %zu", (int)order[i], count);
    }
}

/* c may overwrite c_prev in the same row of the table, as when a node is stepped in place. */
static void expect_in_place(check *c, const problem *p, const float *cell)
{
    float *states = buffer(c, p->rows * p->hidden), *h = buffer(c, p->rows * p->hidden);
    for (size_t r = 0; r < p->rows; r++)
        if (p->prev[r] >= 0)
            memcpy(states + r * p->hidden, p->old_state + (size_t)p->prev[r] * p->ld, p->hidden * sizeof *states);
    rill_row_call l = call(p, states, h);
    l.x[LSTM_c] = l.x[LSTM_c_out] = (rill_operand){states, p->hidden, NULL};
    l.x[LSTM_h_out] = (rill_operand){h, p->hidden, NULL};
    rill_run_rows(&c->k, RILL_OP_LSTM, &l, NULL);
    for (size_t r = 0; r < p->rows; r++)
        for (size_t j = 0; j < p->hidden; j++)
            EXPECT(c, near((double)states[r * p->hidden + j], (double)cell[(size_t)p->out[r] * p->ld + j], 0.0),
                   "in place differs at row %zu", r);
}

void check_lstm(check *c)
{
    for (unsigned round = 0; round < c->rounds; round++) {
        const problem p = draw(c, round % 3 == 2);
        float *cell = buffer_patterned(c, p.table * p.ld), *h = buffer_patterned(c, p.table * p.ld);
        const rill_row_call l = call(&p, cell, h);
        int32_t *order = buffer_int(c, p.rows);
        rill_run_rows(&c->k, RILL_OP_LSTM, &l, NULL);
        for (size_t r = 0; r < p.rows; r++) {
            const size_t offset = (size_t)p.out[r] * p.ld;
            expect_row(c, &p, r, cell + offset, h + offset);
            for (size_t j = p.hidden; j < p.ld; j++)
                EXPECT(c, buffer_kept(cell, offset + j) && buffer_kept(h, offset + j), "a gap was written at row %zu",
                       r);
        }
        dice_permutation(c, order, p.rows);
        expect_same(c, &p, cell, h, order, p.rows, NULL);
        expect_same(c, &p, cell, h, order, p.rows, c->pool[round % 2]);
        for (size_t r = 0; r < p.rows && r < 8; r++) expect_same(c, &p, cell, h, order + r, 1, NULL);
        expect_in_place(c, &p, cell);
        buffers_finish(c);
    }
}

/* ---- bench ---- */

typedef struct timed {
    const rill_kernels *k;
    rill_row_call l;
} timed;

static void timed_call(void *arg)
{
    const timed *t = arg;
    rill_run_rows(t->k, RILL_OP_LSTM, &t->l, NULL);
}

void bench_lstm(check *c)
{
    static const size_t shapes[][2] = {{1, 128}, {10, 128}, {10, 200}, {100, 200}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t rows = shapes[i][0], hidden = shapes[i][1];
        timed t = {&c->k,
                   {.rows = rows,
                    .width = hidden,
                    .x = {[LSTM_gates] = {buffer(c, rows * 4 * hidden), 4 * hidden},
                          [LSTM_c] = {buffer(c, rows * hidden), hidden},
                          [LSTM_c_out] = {buffer(c, rows * hidden), hidden},
                          [LSTM_h_out] = {buffer(c, rows * hidden), hidden}}}};
        const double s = bench_seconds(timed_call, &t);
        printf("lstm %s rows=%-3zu hidden=%zu  %.2f us, %.2f ns per unit\n", c->isa, rows, hidden, 1e6 * s,
               1e9 * s / (double)(rows * hidden));
        buffers_finish(c);
    }
}
