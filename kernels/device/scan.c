/* Recurrent layer over the units of a block's sequences, all sequences in parallel.
 *
 * Sequences are sorted by descending length, so the active ones are always a prefix and need no padding. Their states are
 * contiguous in the block's working memory; each step copies its outputs from there.
 *
 * Invariant: before step t the first `live` positions hold the sequences longer than t, with their states in the same
 * rows of h and c.
 * Divisions: memory · one step · the run. */
#include <string.h>

#include "session.h"

/* --- memory ------------------------------------------------------------------------------------------------------- */

typedef struct scan_state {
    dev_block *b;
    const rill_scan *o;
    const dev_op *op;
    const rill_weights *w;
    size_t gates_width, ld, ld_gates, inputs;
    int32_t *order;          /* [sequences] longest first */
    int32_t *index;          /* [sequences] rows of `input` that a step reads */
    float *h, *c;            /* [inputs, ld] */
    float *gates;            /* [inputs, ld_gates] */
    rill_operand input, out; /* gate inputs; outputs */
    const int32_t *first;    /* [sequences] row of a tensor `input` for unit 0; of a constant: position in its index */
    const int32_t *unit;     /* [sequences] first unit in the scan's space */
    const int32_t *length;   /* [inputs] */
} scan_state;

static size_t gates_width(const rill_scan *o)
{
    return (o->cell == RILL_CELL_GRU ? 3 : 4) * o->hidden;
}

size_t dev_scan_work_bytes(const dev_run *r, const dev_op *op)
{
    const size_t inputs = r->layout.max_rows[RILL_ROWS], ld = dev_padded(op->as.scan.hidden);
    const size_t each = (2 * ld + dev_padded(gates_width(&op->as.scan))) * sizeof(float) + 2 * sizeof(int32_t);
    return inputs * each + 5 * DEV_LINE;
}

static void open_scan(scan_state *s, dev_block *b, const dev_op *op)
{
    const rill_scan *o = &op->as.scan;
    size_t used = 0;
    *s = (scan_state){.b = b, .o = o, .op = op, .w = &b->run->network->matrix[o->recurrent - 1].w};
    s->inputs = b->rows[RILL_ROWS];
    s->gates_width = gates_width(o);
    s->ld = dev_padded(o->hidden);
    s->ld_gates = dev_padded(s->gates_width);
    s->order = dev_alloc_work(b, &used, s->inputs, sizeof *s->order);
    s->index = dev_alloc_work(b, &used, s->inputs, sizeof *s->index);
    s->h = dev_alloc_work(b, &used, s->inputs * s->ld, sizeof *s->h);
    s->c = dev_alloc_work(b, &used, s->inputs * s->ld, sizeof *s->c);
    s->gates = dev_alloc_work(b, &used, s->inputs * s->ld_gates, sizeof *s->gates);
    s->input = dev_operand_rows(b, &op->view[SCAN_gates]);
    s->out = dev_operand_rows(b, &op->view[SCAN_out]);
    s->unit = b->child_row[o->space];
    s->length = b->lengths[o->space];
    s->first = s->unit;
    if (op->view[SCAN_gates].base == DEV_BASE_TENSOR)
        s->first = b->child_row[b->run->graph->tensor[op->view[SCAN_gates].element].space];
    dev_sort_by_length(s->inputs, s->length, s->order);
}

/* --- one step ----------------------------------------------------------------------------------------------------- */

/* The unit that a sequence reads at step t. */
static int32_t step_unit(const scan_state *s, int32_t input, int32_t t)
{
    return s->o->backward ? s->length[input] - 1 - t : t;
}

static void find_inputs(const scan_state *s, size_t live, int32_t t)
{
    for (size_t i = 0; i < live; i++) {
        const int32_t input = s->order[i], row = s->first[input] + step_unit(s, input, t) + s->o->shift;
        s->index[i] = s->input.index != NULL ? s->input.index[row] : row;
    }
}

static rill_operand dense_rows(float *data, size_t ld)
{
    return (rill_operand){.data = data, .ld = ld};
}

/* In the first step h is zero: no recurrent GEMM. */
static void step_lstm(const scan_state *s, size_t live, int32_t t)
{
    const rill_kernels *k = s->b->run->kernels;
    const rill_operand input = {.data = s->input.data, .ld = s->input.ld, .index = s->index};
    const rill_operand gates = dense_rows(s->gates, s->ld_gates), h = dense_rows(s->h, s->ld),
                       c = dense_rows(s->c, s->ld);
    const rill_row_call begin = {.rows = live, .width = s->gates_width, .x = {[COPY_x] = input, [COPY_out] = gates}};
    const rill_gemm product = {.w = s->w,
                               .rows = live,
                               .a = h,
                               .add = input,
                               .c = gates,
                               .scratch = s->b->scratch + s->b->run->layout.gemm_offset};
    rill_row_call cell = {
        .rows = live, .width = s->o->hidden, .x = {[LSTM_gates] = gates, [LSTM_c_out] = c, [LSTM_h_out] = h}};
    if (t > 0) cell.x[LSTM_c] = c;
    if (t == 0)
        rill_run_rows(k, RILL_OP_COPY, &begin, s->b->pool);
    else
        k->gemm(&product, s->b->pool);
    rill_run_rows(k, RILL_OP_LSTM, &cell, s->b->pool);
}

/* The reset gate scales the recurrent part before the input is added, so the two stay separate until the cell. */
static void step_gru(const scan_state *s, size_t live, int32_t t)
{
    const rill_kernels *k = s->b->run->kernels;
    const rill_operand input = {.data = s->input.data, .ld = s->input.ld, .index = s->index};
    const rill_operand gates = dense_rows(s->gates, s->ld_gates), h = dense_rows(s->h, s->ld);
    const rill_gemm product = {.w = s->w,
                               .rows = live,
                               .a = h,
                               .bias = dev_constant_row(s->b->run, s->o->recurrent_bias),
                               .c = gates,
                               .scratch = s->b->scratch + s->b->run->layout.gemm_offset};
    const rill_row_call cell = {.rows = live,
                                .width = s->o->hidden,
                                .x = {[GRU_input] = input, [GRU_hidden_gates] = gates, [GRU_h] = h, [GRU_h_out] = h}};
    if (t == 0) memset(s->h, 0, live * s->ld * sizeof *s->h);
    k->gemm(&product, s->b->pool);
    rill_run_rows(k, RILL_OP_GRU, &cell, s->b->pool);
}

static void write_outputs(const scan_state *s, size_t live, int32_t t)
{
    if (s->op->view[SCAN_out].base == DEV_BASE_NONE) return;
    for (size_t i = 0; i < live; i++) {
        const size_t row = (size_t)(s->unit[s->order[i]] + step_unit(s, s->order[i], t));
        memcpy(rill_operand_row(&s->out, row), s->h + i * s->ld, s->o->hidden * sizeof *s->h);
    }
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

/* Copy the last states to their sequences' rows; zeros for empty sequences. */
static void write_last_states(const scan_state *s, int view, const float *states)
{
    if (s->op->view[view].base == DEV_BASE_NONE) return;
    const rill_operand to = dev_operand_rows(s->b, &s->op->view[view]);
    for (size_t i = 0; i < s->inputs; i++) {
        const size_t input = (size_t)s->order[i];
        float *last = rill_operand_row(&to, input);
        if (s->length[input] > 0)
            memcpy(last, states + i * s->ld, s->o->hidden * sizeof *last);
        else
            memset(last, 0, s->o->hidden * sizeof *last);
    }
}

void dev_scan(dev_block *b, const dev_op *op)
{
    scan_state s;
    open_scan(&s, b, op);
    size_t live = s.inputs;
    for (int32_t t = 0;; t++) {
        while (live > 0 && s.length[s.order[live - 1]] <= t) live--;
        if (live == 0) break;
        find_inputs(&s, live, t);
        if (s.o->cell == RILL_CELL_GRU)
            step_gru(&s, live, t);
        else
            step_lstm(&s, live, t);
        write_outputs(&s, live, t);
    }
    write_last_states(&s, SCAN_last_h, s.h);
    write_last_states(&s, SCAN_last_c, s.c);
}
