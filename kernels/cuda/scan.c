/* Recurrent layer over sequences of different lengths. All sequences step together, longest first: each step processes a prefix of them,
 * without padding. */
#include "executor.h"

#include <string.h>

/* --- steps of a scan ---------------------------------------------------------------------------------------------- */

/* A scan has at most as many steps as tokens, so arrays by step are sized by `units`. */
size_t cuda_scan_bytes(const cuda_run *r, size_t units, size_t inputs)
{
    return 4 * cuda_array_bytes(r, units, sizeof(int32_t)) + 2 * cuda_array_bytes(r, inputs, sizeof(int32_t));
}

/* First token of each sequence, in the gates' index space if they are a tensor, else in the operation's. */
static const int32_t *gates_first_unit(const cuda_run *r, const dev_op *op)
{
    const dev_operand *gates = &op->view[SCAN_gates];
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

/* --- enqueuing a scan --------------------------------------------------------------------------------------------- */

/* The operand restricted to the rows `which`. If the operand has an index, `which` is mapped through it once, for all steps. */
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
    gpu_product product; /* recurrent GEMM: the gates' part that depends on h */
    gpu_rows rows;       /* rows of the current step */
    gpu_operand h, c, gates, read;
} scan_run;

static gpu_operand state_rows(char *data, size_t width)
{
    return (gpu_operand){.data = (float *)(void *)data, .ld = (int32_t)dev_padded(width)};
}

static void copy_rows(const cuda_run *r, gpu_rows rows, int32_t width, gpu_operand x, gpu_operand out)
{
    const gpu_row_call args = {.rows = rows, .width = width, .x = {[COPY_x] = x, [COPY_out] = out}};
    gpu_run_copy(r->cu_stream, &args);
}

/* Zero the rows: a copy from an operand without data writes zeros. */
static void zero_rows(const scan_run *s, gpu_operand rows)
{
    copy_rows(s->r, s->rows, (int32_t)s->o->hidden, (gpu_operand){.data = NULL}, rows);
}

static void multiply_states(const scan_run *s)
{
    cuda_enqueue_product(s->r, s->product, s->rows, s->h, (gpu_operand){.data = NULL}, 0);
}

/* Step t of an LSTM. Step 0 needs no recurrent GEMM, because h is zero. */
static void step_lstm(const scan_run *s, int32_t t)
{
    gpu_stream *cu_stream = s->r->cu_stream;
    const int32_t width = 4 * (int32_t)s->o->hidden;
    const gpu_epilogue finish = {.rows = s->rows, .width = width, .sums = s->gates, .add = s->read, .out = s->gates};
    gpu_row_call cell = {.rows = s->rows,
                         .width = (int32_t)s->o->hidden,
                         .x = {[LSTM_gates] = s->gates, [LSTM_c_out] = s->c, [LSTM_h_out] = s->h}};
    if (t == 0) {
        copy_rows(s->r, s->rows, width, s->read, s->gates);
    } else {
        multiply_states(s);
        gpu_run_epilogue(cu_stream, &finish);
        cell.x[LSTM_c] = s->c;
    }
    gpu_run_lstm(cu_stream, &cell);
}

/* Step t of a GRU. The GEMM does not add the input, since the reset gate scales the recurrent part first. */
static void step_gru(const scan_run *s, int32_t t)
{
    const gpu_row_call cell = {
        .rows = s->rows,
        .width = (int32_t)s->o->hidden,
        .x = {[GRU_input] = s->read, [GRU_hidden_gates] = s->gates, [GRU_h] = s->h, [GRU_h_out] = s->h}};
    if (t == 0) zero_rows(s, s->h);
    multiply_states(s);
    gpu_run_gru(s->r->cu_stream, &cell);
}

/* Write the last states of sequences; zeros for empty sequences. */
static void write_last_states(const scan_run *s, const dev_op *op, const cuda_scan *scan, int view, gpu_operand states)
{
    const gpu_operand out = cuda_operand(s->r, &op->view[view]);
    if (out.data == NULL) return;
    states.index = cuda_device_ptr(s->r, scan->sorted_pos);
    copy_rows(s->r, cuda_rows(s->r, RILL_ROWS), (int32_t)s->o->hidden, states, out);
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
    const gpu_operand read = compose_index(r, op, SCAN_gates, scan->read_row),
                      write = compose_index(r, op, SCAN_out, scan->write_row);
    for (int32_t t = 0; t < scan->n_steps; t++) {
        s.rows = (gpu_rows){.count = cuda_device_ptr(r, scan->live + t), .max = scan->live[t]};
        s.read = read;
        s.read.index += scan->step_start[t];
        if (o->cell == RILL_CELL_GRU)
            step_gru(&s, t);
        else
            step_lstm(&s, t);
        if (write.data == NULL) continue;
        gpu_operand out = write;
        out.index += scan->step_start[t];
        copy_rows(r, s.rows, (int32_t)o->hidden, s.h, out);
    }
    write_last_states(&s, op, scan, SCAN_last_h, s.h);
    write_last_states(&s, op, scan, SCAN_last_c, s.c);
}
