/* Recurrent layer over ragged sequences: all sequences step together, longest first.
 *
 * Finished sequences are the last ones, so each step processes a prefix, without padding. The rows that a step reads
 * and writes are known before the run. Divisions: steps · enqueuing. */
#include "executor.h"

#include <string.h>

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* A scan has at most as many steps as units, so arrays by step are sized by `units`. */
size_t cuda_scan_bytes(size_t units, size_t inputs)
{
    return 4 * dev_lines(units * sizeof(int32_t)) + 2 * dev_lines(inputs * sizeof(int32_t));
}

/* First unit of each sequence, in the gates' space if they are a tensor, else in the operation's. */
static const int32_t *gates_first_unit(const cuda_run *r, const dev_op *op)
{
    const dev_operand *gates = &op->view[DEV_GATES];
    return r->block.child_row[gates->base == DEV_BASE_TENSOR ? r->graph->tensor[gates->element].space : op->space];
}

void cuda_make_scan(cuda_run *r, const dev_op *op, cuda_scan *s)
{
    const rill_scan *o = &op->as.scan;
    const size_t inputs = r->host_run.n, units = r->block.rows[o->space];
    const int32_t *length = r->block.lengths[o->space], *unit = r->block.child_row[o->space],
                  *read = gates_first_unit(r, op);
    int32_t *order = cuda_alloc_down(r, inputs, sizeof *order);
    s->sorted_pos = cuda_alloc_down(r, inputs, sizeof *s->sorted_pos);
    s->step_start = cuda_alloc_down(r, units, sizeof *s->step_start);
    s->live = cuda_alloc_down(r, units, sizeof *s->live);
    s->read_row = cuda_alloc_down(r, units, sizeof *s->read_row);
    s->write_row = cuda_alloc_down(r, units, sizeof *s->write_row);
    dev_sort_by_length(inputs, length, order);
    for (size_t i = 0; i < inputs; i++) s->sorted_pos[order[i]] = length[order[i]] > 0 ? (int32_t)i : -1;
    size_t live = inputs, row = 0;
    for (int32_t t = 0; row < units; t++, s->n_steps++) {
        while (length[order[live - 1]] <= t) live--;
        s->step_start[t] = (int32_t)row;
        s->live[t] = (int32_t)live;
        for (size_t i = 0; i < live; i++, row++) {
            const int32_t input = order[i], step = o->backward ? length[input] - 1 - t : t;
            s->read_row[row] = read[input] + step + o->shift;
            s->write_row[row] = unit[input] + step;
        }
    }
}

/* --- enqueuing ---------------------------------------------------------------------------------------------------- */

/* Rows `which` of an operand. An operand's own index is first applied to `which`, for all steps at once. */
static gpu_operand compose_index(cuda_run *r, const dev_op *op, int view, int32_t *which)
{
    gpu_operand rows = cuda_operand(r, &op->view[view]);
    if (rows.data == NULL) return rows;
    if (rows.index != NULL) {
        const gpu_index args = {.rows = cuda_rows(r, op->space),
                                .column = rows.index,
                                .entry = cuda_device_ptr(r, which),
                                .out = cuda_device_ptr(r, which)};
        gpu_run_index(r->cu_stream, &args);
    }
    rows.index = cuda_device_ptr(r, which);
    return rows;
}

typedef struct scan_run {
    cuda_run *r;
    const rill_scan *o;
    gpu_product product; /* recurrent GEMM: gates from h */
    gpu_rows rows;       /* rows of the current step */
    gpu_operand h, c, gates, read;
} scan_run;

static gpu_operand state_rows(char *data, size_t width)
{
    return (gpu_operand){.data = (float *)(void *)data, .ld = (int32_t)dev_padded(width)};
}

/* Zero the rows: a copy from an operand without data writes zeros. */
static void zero_rows(const scan_run *s, gpu_operand rows)
{
    const gpu_copy args = {.rows = s->rows, .width = (int32_t)s->o->hidden, .out = rows};
    gpu_run_copy(s->r->cu_stream, &args);
}

static void multiply_states(const scan_run *s)
{
    cuda_enqueue_product(s->r, s->product, s->rows, s->h, (gpu_operand){.data = NULL}, 0);
}

/* In the first step h is zero: no recurrent GEMM. */
static void step_lstm(const scan_run *s, int32_t t)
{
    gpu_stream *cu_stream = s->r->cu_stream;
    const int32_t width = 4 * (int32_t)s->o->hidden;
    const gpu_copy begin = {.rows = s->rows, .width = width, .x = s->read, .out = s->gates};
    const gpu_epilogue finish = {.rows = s->rows, .width = width, .sums = s->gates, .add = s->read, .out = s->gates};
    gpu_lstm cell = {.rows = s->rows, .hidden = (int32_t)s->o->hidden, .gates = s->gates, .c_out = s->c, .h_out = s->h};
    if (t == 0) {
        gpu_run_copy(cu_stream, &begin);
    } else {
        multiply_states(s);
        gpu_run_epilogue(cu_stream, &finish);
        cell.c = s->c;
    }
    gpu_run_lstm(cu_stream, &cell);
}

/* The reset gate scales the recurrent part before the input is added, so the two stay separate until the cell. */
static void step_gru(const scan_run *s, int32_t t)
{
    const gpu_gru cell = {.rows = s->rows,
                          .hidden = (int32_t)s->o->hidden,
                          .input = s->read,
                          .gates = s->gates,
                          .h = s->h,
                          .h_out = s->h};
    if (t == 0) zero_rows(s, s->h);
    multiply_states(s);
    gpu_run_gru(s->r->cu_stream, &cell);
}

/* Write the last states of sequences; zeros for empty ones. */
static void write_last_states(const scan_run *s, const dev_op *op, const cuda_scan *scan, int view, gpu_operand states)
{
    gpu_copy args = {.rows = cuda_rows(s->r, RILL_ROWS),
                     .width = (int32_t)s->o->hidden,
                     .x = states,
                     .out = cuda_operand(s->r, &op->view[view])};
    if (args.out.data == NULL) return;
    args.x.index = cuda_device_ptr(s->r, scan->sorted_pos);
    gpu_run_copy(s->r->cu_stream, &args);
}

void cuda_enqueue_scan(cuda_run *r, const dev_op *op, const cuda_scan *scan)
{
    const rill_scan *o = &op->as.scan;
    scan_run s = {.r = r,
                  .o = o,
                  .h = state_rows(r->scan_h, o->hidden),
                  .c = state_rows(r->scan_c, o->hidden),
                  .gates = state_rows(r->scan_gates, (o->cell == RILL_CELL_GRU ? 3 : 4) * o->hidden)};
    s.product = (gpu_product){.matrix = &cuda_get_fused_op(r, op)->matrix, .c = s.gates.data, .ldc = s.gates.ld};
    const gpu_operand read = compose_index(r, op, DEV_GATES, scan->read_row),
                      write = compose_index(r, op, DEV_OUT, scan->write_row);
    for (int32_t t = 0; t < scan->n_steps; t++) {
        s.rows = (gpu_rows){.count = cuda_device_ptr(r, scan->live + t), .max = scan->live[t]};
        s.read = read;
        s.read.index += scan->step_start[t];
        if (o->cell == RILL_CELL_GRU)
            step_gru(&s, t);
        else
            step_lstm(&s, t);
        if (write.data == NULL) continue;
        gpu_copy out = {.rows = s.rows, .width = (int32_t)o->hidden, .x = s.h, .out = write};
        out.out.index += scan->step_start[t];
        gpu_run_copy(r->cu_stream, &out);
    }
    write_last_states(&s, op, scan, DEV_LAST_H, s.h);
    write_last_states(&s, op, scan, DEV_LAST_C, s.c);
}
