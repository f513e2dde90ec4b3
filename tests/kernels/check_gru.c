/* check_gru.c: the cell against the formula in double, and against itself with other rows.
 *
 * Tolerance: gates are sums of numbers below 2 passed through functions of slope at most 1, so h is off by at most 40
 * units of 2^-24 of (1 + |h_n| + |previous h|). */
#include <math.h>

#include "kernel_check.h"

#define UNITS (40.0 * 0x1p-24)

typedef struct problem {
    size_t rows, hidden, table, ld;
    float *input, *gates, *old_state;
    int32_t *from, *prev, *out;
} problem;

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static problem draw(check *c)
{
    problem p = {.rows = dice_from(c, 0, 30), .hidden = dice_from(c, 1, 75)};
    p.table = 2 * p.rows + 3;
    p.ld = 3 * p.hidden + dice_below(c, 4);
    p.input = buffer(c, p.table * p.ld);
    p.gates = buffer(c, p.rows * 3 * p.hidden);
    p.old_state = buffer(c, p.table * p.ld);
    p.from = buffer_int(c, p.rows);
    p.prev = buffer_int(c, p.rows);
    p.out = buffer_int(c, p.rows);
    dice_fill(c, p.input, p.table * p.ld, 1.5f);
    dice_fill(c, p.gates, p.rows * 3 * p.hidden, 1.5f);
    dice_fill(c, p.old_state, p.table * p.ld, 1.0f);
    for (size_t r = 0; r < p.rows; r++) {
        p.from[r] = (int32_t)dice_below(c, p.table);
        p.prev[r] = (int32_t)dice_below(c, p.table + 1) - 1;
    }
    dice_choose(c, p.out, p.rows, p.table);
    case_name(c, "rows=%zu hidden=%zu", p.rows, p.hidden);
    return p;
}

static rill_row_call call(const problem *p, float *h)
{
    return (rill_row_call){.rows = p->rows,
                           .width = p->hidden,
                           .x = {[GRU_input] = {p->input, p->ld, p->from},
                                 [GRU_hidden_gates] = {p->gates, 3 * p->hidden},
                                 [GRU_h] = {p->old_state, p->ld, p->prev},
                                 [GRU_h_out] = {h, p->ld, p->out}}};
}

static void expect_row(check *c, const problem *p, size_t r, const float *h)
{
    const float *x = p->input + (size_t)p->from[r] * p->ld, *gate = p->gates + r * 3 * p->hidden;
    for (size_t j = 0; j < p->hidden; j++) {
        const double old = p->prev[r] < 0 ? 0.0 : (double)p->old_state[(size_t)p->prev[r] * p->ld + j];
        const double reset = sigmoid((double)x[j] + (double)gate[j]);
        const double update = sigmoid((double)x[p->hidden + j] + (double)gate[p->hidden + j]);
        const double state = (double)gate[2 * p->hidden + j];
        const double fresh = tanh((double)x[2 * p->hidden + j] + reset * state);
        const double want = (1.0 - update) * fresh + update * old;
        EXPECT(c, near((double)h[j], want, UNITS * (1.0 + fabs(state) + fabs(old))), "h(%zu,%zu) = %.9g, not %.9g", r,
               j, (double)h[j], want);
    }
}

/* `count` rows in this order must give the same bits, each overwriting the state that it continues. */
static void expect_same(check *c, const problem *p, const float *h, const int32_t *order, size_t count, rill_pool *pool)
{
    const size_t width = 3 * p->hidden;
    float *gates = buffer(c, count * width), *states = buffer(c, count * p->hidden);
    int32_t *from = buffer_int(c, count), *prev = buffer_int(c, count);
    for (size_t i = 0; i < count; i++) {
        const size_t r = (size_t)order[i];
        memcpy(gates + i * width, p->gates + r * width, width * sizeof *gates);
        from[i] = p->from[r];
        prev[i] = p->prev[r] < 0 ? -1 : (int32_t)i;
        if (p->prev[r] >= 0)
            memcpy(states + i * p->hidden, p->old_state + (size_t)p->prev[r] * p->ld, p->hidden * sizeof *states);
    }
    rill_row_call g = call(p, states);
    g.rows = count;
    g.x[GRU_input].index = from;
    g.x[GRU_hidden_gates].data = gates;
    g.x[GRU_h] = (rill_operand){states, p->hidden, prev};
    g.x[GRU_h_out] = (rill_operand){states, p->hidden, NULL};
    rill_run_rows(&c->k, RILL_OP_GRU, &g, pool);
    for (size_t i = 0; i < count; i++)
        EXPECT(c, same_bits(states + i * p->hidden, h + (size_t)p->out[order[i]] * p->ld, p->hidden),
               "row %d differs in a batch of %zu", (int)order[i], count);
}

void check_gru(check *c)
{
    for (unsigned round = 0; round < c->rounds; round++) {
        const problem p = draw(c);
        float *h = buffer_patterned(c, p.table * p.ld);
        const rill_row_call g = call(&p, h);
        int32_t *order = buffer_int(c, p.rows);
        rill_run_rows(&c->k, RILL_OP_GRU, &g, NULL);
        for (size_t r = 0; r < p.rows; r++) {
            const size_t offset = (size_t)p.out[r] * p.ld;
            expect_row(c, &p, r, h + offset);
            for (size_t j = p.hidden; j < p.ld; j++)
                EXPECT(c, buffer_kept(h, offset + j), "a gap was written at row %zu", r);
        }
        dice_permutation(c, order, p.rows);
        expect_same(c, &p, h, order, p.rows, NULL);
        expect_same(c, &p, h, order, p.rows, c->pool[round % 2]);
        for (size_t r = 0; r < p.rows && r < 8; r++) expect_same(c, &p, h, order + r, 1, NULL);
        buffers_finish(c);
    }
}
