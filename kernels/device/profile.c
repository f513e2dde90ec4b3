/* Profiles: calls, rows, seconds, flops and bytes of operations.
 *
 * Flops and bytes are the minimum for an operation: operands are counted once per row, weights once per block. Each
 * scratch has its own counters, which the caller's thread sums after the run.
 * Divisions: costs · counting · queries · runners. */
#include <string.h>

#include "session.h"

/* --- costs -------------------------------------------------------------------------------------------------------- */

typedef struct cost {
    double rows, flops, bytes;
} cost;

static double weight_bytes(const rill_weights *w)
{
    return (double)rill_gemm_pack_size(w->n, w->k, w->dtype);
}

static cost product_cost(const rill_weights *w, double rows)
{
    return (cost){rows, 2.0 * rows * (double)w->n * (double)w->k,
                  weight_bytes(w) + rows * (double)(w->n + w->k) * sizeof(float)};
}

static cost count_product(dev_block *b, const dev_op *op)
{
    const size_t rows = b->rows[op->space];
    if (op->as.product.vocab_subset == 0)
        return product_cost(&b->run->network->matrix[op->as.product.matrix - 1].w, (double)rows);
    const int32_t *slot = dev_index_entries(b, op->slot);
    cost all = {0};
    for (size_t r = 0, n; r < rows; r += n) {
        const dev_slot_subset *subset = dev_get_slot_subset(b->run, op->as.product.vocab_subset, slot[r]);
        n = dev_count_same_slot(slot, r, rows);
        const cost one = subset->n > 0 ? product_cost(&subset->w, (double)n) : (cost){.rows = (double)n};
        all = (cost){all.rows + one.rows, all.flops + one.flops, all.bytes + one.bytes};
    }
    return all;
}

/* Keys and values are counted once for adjacent rows of a slot. */
static cost count_attend(dev_block *b, const dev_op *op)
{
    const size_t rows = b->rows[op->space],
                 width = op->as.attend.heads * (op->as.attend.width + op->as.attend.value_width);
    const rill_attention a = dev_attention_memory(b, op);
    double attended = 0.0, read = 0.0;
    for (size_t r = 0; r < rows; r++) {
        const size_t slot = a.slot != NULL ? (size_t)a.slot[r] : r;
        attended += (double)a.length[slot];
        if (r == 0 || a.slot == NULL || a.slot[r] != a.slot[r - 1]) read += (double)a.length[slot];
    }
    return (cost){(double)rows, 2.0 * attended * (double)width, (read + (double)rows) * (double)width * sizeof(float)};
}

static cost count_scan(const dev_block *b, const dev_op *op)
{
    const rill_scan *o = &op->as.scan;
    const rill_weights *w = &b->run->network->matrix[o->recurrent - 1].w;
    const size_t units = b->rows[o->space], inputs = b->rows[RILL_ROWS];
    int32_t steps = 0;
    for (size_t i = 0; i < inputs; i++)
        if (b->lengths[o->space][i] > steps) steps = b->lengths[o->space][i];
    cost c = product_cost(w, (double)units);
    c.bytes += weight_bytes(w) * (double)(steps > 0 ? steps - 1 : 0) + (double)(units * w->n) * sizeof(float);
    return c;
}

/* Operands are moved once per row. */
static cost op_cost(dev_block *b, const dev_op *op)
{
    const size_t rows = b->rows[op->space];
    size_t floats = 0;
    if (op->kind == RILL_OP_PRODUCT) return count_product(b, op);
    if (op->kind == RILL_OP_ATTEND) return count_attend(b, op);
    if (op->kind == RILL_OP_SCAN) return count_scan(b, op);
    for (size_t i = 0; i < op->n_views; i++)
        if (!(op->view[i].use & RILL_UNCOUNTED)) floats += op->view[i].width;
    return (cost){(double)rows, (double)(rows * floats) * dev_op_flops(op->kind),
                  (double)(rows * floats) * sizeof(float)};
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

static size_t first_counter(const rill_network *network, const dev_graph *graph)
{
    size_t first = 0;
    for (const dev_graph *p = network->graph; p < graph; p++) first += p->n_ops;
    return first;
}

void dev_profile_count(dev_block *b, const dev_op *op, double seconds, uint64_t launches, double row_bytes)
{
    const dev_run *r = b->run;
    rill_session *s = r->session;
    const size_t number = first_counter(r->network, r->graph) + (size_t)(op - r->graph->op);
    dev_counter *c = &s->thread_counter[b->thread * s->n_counters + number];
    const cost done = op_cost(b, op);
    c->calls++;
    c->rows += (int64_t)done.rows;
    c->launches += (int64_t)launches;
    c->seconds += seconds;
    c->flops += done.flops;
    c->bytes += done.bytes + done.rows * row_bytes;
}

void dev_profile_op(dev_block *b, const dev_op *op)
{
    const double begin = rill_clock();
    dev_op_run(b, op);
    dev_profile_count(b, op, rill_clock() - begin, 0, 0.0);
}

void dev_profile_sum(const dev_run *run)
{
    rill_session *s = run->session;
    for (size_t i = 0; i < s->n_threads * s->n_counters; i++) {
        dev_counter *to = &s->counter[i % s->n_counters], *from = &s->thread_counter[i];
        to->calls += from->calls;
        to->rows += from->rows;
        to->launches += from->launches;
        to->seconds += from->seconds;
        to->flops += from->flops;
        to->bytes += from->bytes;
    }
    memset(s->thread_counter, 0, s->n_threads * s->n_counters * sizeof *s->thread_counter);
}

/* --- queries ------------------------------------------------------------------------------------------------------ */

rill_status rill_session_profile(rill_session *s, int on)
{
    s->profiling = 0;
    if (!on) return RILL_OK;
    s->n_counters = first_counter(s->network, s->network->graph + s->network->n_graphs);
    const size_t all = (1 + s->n_threads) * s->n_counters;
    rill_status status = rill_grow(s->ctx, (void **)&s->counter, &s->counter_capacity, all, sizeof *s->counter,
                                   "a profile");
    if (status != RILL_OK) return status;
    s->thread_counter = s->counter + s->n_counters;
    memset(s->counter, 0, all * sizeof *s->counter);
    s->profiling = s->n_counters > 0;
    return RILL_OK;
}

static rill_arithmetic op_arithmetic(const rill_network *network, const dev_op *op)
{
    rill_weight_type type = RILL_WEIGHT_F32;
    if (op->kind == RILL_OP_SCAN) type = network->matrix[op->as.scan.recurrent - 1].type;
    if (op->kind == RILL_OP_PRODUCT)
        type = op->as.product.vocab_subset != 0 ? network->subset[op->as.product.vocab_subset - 1].type
                                                : network->matrix[op->as.product.matrix - 1].type;
    return type == RILL_WEIGHT_INT8 ? RILL_ARITHMETIC_INT8 : RILL_ARITHMETIC_F32;
}

int rill_session_profile_row(const rill_session *s, int32_t i, rill_op_profile *out)
{
    const dev_graph *p = s->network->graph;
    size_t op_index = i >= 0 ? (size_t)i : SIZE_MAX;
    if (op_index >= s->n_counters) return 0;
    const dev_counter *c = &s->counter[op_index];
    for (; op_index >= p->n_ops; p++) op_index -= p->n_ops;
    const dev_op *op = &p->op[op_index];
    *out = (rill_op_profile){.program = p->name,
                             .operation = op->name,
                             .calls = c->calls,
                             .rows = c->rows,
                             .launches = c->launches,
                             .seconds = c->seconds,
                             .flops = c->flops,
                             .bytes = c->bytes};
    out->arithmetic = op_arithmetic(s->network, op);
    return 1;
}

/* --- runners ------------------------------------------------------------------------------------------------------ */

static rill_session *runner_session(const void *runner)
{
    return *(rill_session *const *)runner;
}

void rill_runner_drop(void *runner, int32_t slot)
{
    rill_session_drop(runner_session(runner), slot);
}

rill_status rill_runner_collect(void *runner, int32_t group)
{
    return rill_session_collect(runner_session(runner), group);
}

rill_status rill_runner_profile(void *runner, int on)
{
    return rill_session_profile(runner_session(runner), on);
}

int rill_runner_profile_row(const void *runner, int32_t i, rill_op_profile *out)
{
    return rill_session_profile_row(runner_session(runner), i, out);
}

rill_status rill_runner_limits(void *runner, rill_limits *out)
{
    enum { READ_BYTES = 48 << 20 }; /* larger than a core's own caches */
    rill_context *ctx = runner_session(runner)->ctx;
    if (runner_session(runner)->network->device->module != NULL) {
        *out = (rill_limits){.bytes = 0};
        return RILL_OK;
    }
    const rill_isa_mask isa = runner_session(runner)->network->device->kernels.isa;
    void *memory = rill_alloc(ctx, READ_BYTES);
    if (memory == NULL) return rill_fail_memory(ctx, READ_BYTES, "measuring the machine");
    memset(memory, 1, READ_BYTES);
    rill_peak_loop floats = rill_peak_loop_fma(isa, 0), bytes = rill_peak_loop_fma(isa, 1);
    rill_peak_loop read = rill_peak_loop_read(memory, READ_BYTES);
    out->flops[RILL_ARITHMETIC_F32] = rill_peak_loop_rate(&floats, 0.02);
    out->flops[RILL_ARITHMETIC_INT8] = rill_peak_loop_rate(&bytes, 0.02);
    out->bytes = rill_peak_loop_rate(&read, 0.06);
    rill_free(ctx, memory, READ_BYTES);
    return RILL_OK;
}
