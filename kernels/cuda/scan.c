/* A recurrent layer over ragged inputs: all inputs step together, the longest first.
 *
 * Inputs that are at their end are the last of those that run, so each step has the first ones, and none is padding. Which rows a step
 * reads and writes is known before the run. Divisions: steps · in the queue. */
#include "executor.h"

#include <string.h>

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* An input's steps are at most its units, so there are no more steps than units. */
size_t cuda_scan_bytes(size_t units, size_t inputs)
{
    return 4 * dev_lines(units * sizeof(int32_t)) + 2 * dev_lines(inputs * sizeof(int32_t));
}

/* First units, of the gates' own space where they are a value. */
static const int32_t *first_read(const cuda_run *r, const dev_op *op)
{
    const dev_operand *gates = &op->view[DEV_GATES];
    return r->block.place[gates->base == DEV_VALUE ? r->program->value[gates->of].space : op->space];
}

void cuda_make_scan(cuda_run *r, const dev_op *op, cuda_scan *s)
{
    const rill_scan *o = &op->as.scan;
    const size_t inputs = r->inner.n, units = r->block.rows[o->space];
    const int32_t *length = r->block.lengths[o->space], *unit = r->block.place[o->space], *read = first_read(r, op);
    int32_t *order = cuda_take(r, inputs, sizeof *order);
    s->place = cuda_take(r, inputs, sizeof *s->place);
    s->start = cuda_take(r, units, sizeof *s->start);
    s->live = cuda_take(r, units, sizeof *s->live);
    s->read = cuda_take(r, units, sizeof *s->read);
    s->write = cuda_take(r, units, sizeof *s->write);
    dev_order(inputs, length, order);
    for (size_t i = 0; i < inputs; i++) s->place[order[i]] = length[order[i]] > 0 ? (int32_t)i : -1;
    size_t live = inputs, at = 0;
    for (int32_t t = 0; at < units; t++, s->steps++) {
        while (length[order[live - 1]] <= t) live--;
        s->start[t] = (int32_t)at;
        s->live[t] = (int32_t)live;
        for (size_t i = 0; i < live; i++, at++) {
            const int32_t input = order[i], step = o->backward ? length[input] - 1 - t : t;
            s->read[at] = read[input] + step + o->read;
            s->write[at] = unit[input] + step;
        }
    }
}

/* --- in the queue ------------------------------------------------------------------------------------------------- */

/* Rows `which` of an operand, which may have an index itself: that is followed first, for all steps at once. */
static gpu_operand through(cuda_run *r, const dev_op *op, int view, int32_t *which)
{
    gpu_operand rows = cuda_operand(r, &op->view[view]);
    if (rows.at == NULL) return rows;
    if (rows.index != NULL) {
        const gpu_index args = {.rows = cuda_rows(r, op->space),
                                .column = rows.index,
                                .at = cuda_twin(r, which),
                                .out = cuda_twin(r, which)};
        gpu_run_index(r->queue, &args);
    }
    rows.index = cuda_twin(r, which);
    return rows;
}

typedef struct scanning {
    cuda_run *r;
    const rill_scan *o;
    gpu_product product; /* of the states */
    gpu_rows rows;       /* of the step */
    gpu_operand h, c, gates, read;
} scanning;

static gpu_operand state(char *at, size_t width)
{
    return (gpu_operand){.at = (float *)(void *)at, .ld = (int32_t)dev_padded(width)};
}

/* Rows of zeros, which are those of an operand that is none. */
static void clear(const scanning *s, gpu_operand rows)
{
    const gpu_copy args = {.rows = s->rows, .width = (int32_t)s->o->hidden, .out = rows};
    gpu_run_copy(s->r->queue, &args);
}

static void multiply(const scanning *s)
{
    cuda_queue_product(s->r, s->product, s->rows, s->h, (gpu_operand){.at = NULL}, 0);
}

/* In the first step h is zero, so the inputs are all there is. */
static void step_lstm(const scanning *s, int32_t t)
{
    gpu_queue *queue = s->r->queue;
    const int32_t width = 4 * (int32_t)s->o->hidden;
    const gpu_copy begin = {.rows = s->rows, .width = width, .x = s->read, .out = s->gates};
    const gpu_finish finish = {.rows = s->rows, .width = width, .sums = s->gates, .add = s->read, .out = s->gates};
    gpu_lstm cell = {.rows = s->rows, .hidden = (int32_t)s->o->hidden, .gates = s->gates, .c_out = s->c, .h_out = s->h};
    if (t == 0) {
        gpu_run_copy(queue, &begin);
    } else {
        multiply(s);
        gpu_run_finish(queue, &finish);
        cell.c = s->c;
    }
    gpu_run_lstm(queue, &cell);
}

/* The gate of the new state scales the state's part before the input's is added, so the two stay apart until the cell. */
static void step_gru(const scanning *s, int32_t t)
{
    const gpu_gru cell = {.rows = s->rows,
                          .hidden = (int32_t)s->o->hidden,
                          .input = s->read,
                          .gates = s->gates,
                          .h = s->h,
                          .h_out = s->h};
    if (t == 0) clear(s, s->h);
    multiply(s);
    gpu_run_gru(s->r->queue, &cell);
}

/* The last states to their inputs; zeros where there are no units. */
static void put_last(const scanning *s, const dev_op *op, const cuda_scan *scan, int view, gpu_operand states)
{
    gpu_copy args = {.rows = cuda_rows(s->r, RILL_ROWS),
                     .width = (int32_t)s->o->hidden,
                     .x = states,
                     .out = cuda_operand(s->r, &op->view[view])};
    if (args.out.at == NULL) return;
    args.x.index = cuda_twin(s->r, scan->place);
    gpu_run_copy(s->r->queue, &args);
}

void cuda_queue_scan(cuda_run *r, const dev_op *op, const cuda_scan *scan)
{
    const rill_scan *o = &op->as.scan;
    scanning s = {.r = r,
                  .o = o,
                  .h = state(r->scan_h, o->hidden),
                  .c = state(r->scan_c, o->hidden),
                  .gates = state(r->scan_gates, (o->cell == RILL_CELL_GRU ? 3 : 4) * o->hidden)};
    s.product = (gpu_product){.matrix = &cuda_fused_of(r, op)->matrix, .c = s.gates.at, .ldc = s.gates.ld};
    const gpu_operand read = through(r, op, DEV_GATES, scan->read), write = through(r, op, DEV_OUT, scan->write);
    for (int32_t t = 0; t < scan->steps; t++) {
        s.rows = (gpu_rows){.count = cuda_twin(r, scan->live + t), .most = scan->live[t]};
        s.read = read;
        s.read.index += scan->start[t];
        if (o->cell == RILL_CELL_GRU)
            step_gru(&s, t);
        else
            step_lstm(&s, t);
        if (write.at == NULL) continue;
        gpu_copy out = {.rows = s.rows, .width = (int32_t)o->hidden, .x = s.h, .out = write};
        out.out.index += scan->start[t];
        gpu_run_copy(r->queue, &out);
    }
    put_last(&s, op, scan, DEV_LAST_H, s.h);
    put_last(&s, op, scan, DEV_LAST_C, s.c);
}
