/* Profiles: calls, rows, seconds, flops and bytes of operations. Flops and bytes are lower bounds: operands count once per row, weights
 * once per block. Each thread has its own counters. */
#include <string.h>

#include "backend.h"

/* --- cost of an operation ----------------------------------------------------------------------------------------- */

typedef struct cost {
    double rows, flops, bytes;
} cost;

static cost product_cost(size_t n, size_t k, rill_weight_type type, double rows)
{
    return (cost){rows, 2.0 * rows * (double)n * (double)k,
                  (double)dev_weight_bytes(n, k, type) + rows * (double)(n + k) * sizeof(float)};
}

static cost count_product(dev_block *b, const dev_op *op)
{
    const size_t rows = b->rows[op->space];
    const rill_network *network = b->run->network;
    const rill_vocab_subset subset = op->as.product.vocab_subset;
    if (subset == 0) {
        const dev_matrix *m = &network->matrix[op->as.product.matrix - 1];
        return product_cost(m->n, m->k, m->type, (double)rows);
    }
    const dev_vocab_subset *weights = &network->subset[subset - 1];
    const int32_t *slot = dev_index_entries(b, op->slot);
    cost all = {0};
    for (size_t r = 0, n; r < rows; r += n) {
        const size_t symbols = dev_get_subset(b->run->session, (size_t)subset - 1, slot[r])->n;
        for (n = 1; r + n < rows && slot[r + n] == slot[r];) n++;
        const cost one = symbols > 0 ? product_cost(symbols, network->constant[weights->rows - 1].width, weights->type,
                                                    (double)n)
                                     : (cost){.rows = (double)n};
        all = (cost){all.rows + one.rows, all.flops + one.flops, all.bytes + one.bytes};
    }
    return all;
}

/* Return the cost of an attention. Keys and values are counted once for adjacent rows of an input. */
static cost count_attend(dev_block *b, const dev_op *op)
{
    const size_t rows = b->rows[op->space],
                 width = op->as.attend.heads * (op->as.attend.width + op->as.attend.value_width);
    const dev_memory a = dev_attended_memory(b, op);
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
    const dev_matrix *m = &b->run->network->matrix[o->recurrent - 1];
    const size_t units = b->rows[o->space], inputs = b->rows[RILL_ROWS];
    int32_t steps = 0;
    for (size_t i = 0; i < inputs; i++)
        if (b->lengths[o->space][i] > steps) steps = b->lengths[o->space][i];
    cost c = product_cost(m->n, m->k, m->type, (double)units);
    c.bytes += (double)dev_weight_bytes(m->n, m->k, m->type) * (double)(steps > 0 ? steps - 1 : 0) +
               (double)(units * m->n) * sizeof(float);
    return c;
}

/* Return the cost of an operation on a block. Its operands are counted once per row. */
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

/* --- counting operations ------------------------------------------------------------------------------------------ */

static size_t first_counter(const rill_network *network, const dev_graph *graph)
{
    size_t first = 0;
    for (const dev_graph *p = network->graph; p < graph; p++) first += p->n_ops;
    return first;
}

void dev_profile_count(dev_block *b, size_t thread, const dev_op *op, double seconds, uint64_t launches,
                       double row_bytes)
{
    const dev_run *r = b->run;
    rill_session *s = r->session;
    const size_t number = first_counter(r->network, r->graph) + (size_t)(op - r->graph->op);
    rill_op_profile *c = &s->thread_counter[thread * s->n_counters + number];
    const cost done = op_cost(b, op);
    c->calls++;
    c->rows += (int64_t)done.rows;
    c->launches += (int64_t)launches;
    c->seconds += seconds;
    c->flops += done.flops;
    c->bytes += done.bytes + done.rows * row_bytes;
}

void dev_profile_sum(rill_session *s)
{
    for (size_t i = 0; i < s->n_threads * s->n_counters; i++) {
        rill_op_profile *to = &s->counter[i % s->n_counters], *from = &s->thread_counter[i];
        to->calls += from->calls;
        to->rows += from->rows;
        to->launches += from->launches;
        to->seconds += from->seconds;
        to->flops += from->flops;
        to->bytes += from->bytes;
    }
    memset(s->thread_counter, 0, s->n_threads * s->n_counters * sizeof *s->thread_counter);
}

static rill_arithmetic op_arithmetic(const rill_network *network, const dev_op *op)
{
    rill_weight_type type = RILL_WEIGHT_F32;
    if (op->kind == RILL_OP_SCAN) type = network->matrix[op->as.scan.recurrent - 1].type;
    if (op->kind == RILL_OP_PRODUCT)
        type = op->as.product.vocab_subset != 0 ? network->subset[op->as.product.vocab_subset - 1].type
                                                : network->matrix[op->as.product.matrix - 1].type;
    if (type == RILL_WEIGHT_BF16 && network->device->backend == &dev_cpu)
        return network->device->kernels.isa & RILL_ISA_AVX512_BF16 ? RILL_ARITHMETIC_BF16 : RILL_ARITHMETIC_F32;
    return type == RILL_WEIGHT_INT8 ? RILL_ARITHMETIC_INT8 : RILL_ARITHMETIC_F32;
}

/* --- profiles of runners ------------------------------------------------------------------------------------------ */

static rill_session *runner_session(const void *runner)
{
    return *(rill_session *const *)runner;
}

rill_status rill_runner_profile(void *runner, int on)
{
    rill_session *s = runner_session(runner);
    s->profiling = 0;
    if (!on) return RILL_OK;
    s->n_counters = first_counter(s->network, s->network->graph + s->network->n_graphs);
    const size_t all = (1 + s->n_threads) * s->n_counters;
    rill_status status = rill_grow(s->ctx, (void **)&s->counter, &s->counter_capacity, all, sizeof *s->counter,
                                   "a profile");
    if (status != RILL_OK) return status;
    s->thread_counter = s->counter + s->n_counters;
    memset(s->counter, 0, all * sizeof *s->counter);
    rill_op_profile *to = s->counter;
    for (const dev_graph *p = s->network->graph; p < s->network->graph + s->network->n_graphs; p++)
        for (const dev_op *op = p->op; op < p->op + p->n_ops; op++)
            *to++ = (rill_op_profile){
                .program = p->name, .operation = op->name, .arithmetic = op_arithmetic(s->network, op)};
    s->profiling = s->n_counters > 0;
    return RILL_OK;
}

int rill_runner_profile_row(const void *runner, int32_t i, rill_op_profile *out)
{
    const rill_session *s = runner_session(runner);
    if (i < 0 || (size_t)i >= s->n_counters) return 0;
    *out = s->counter[i];
    return 1;
}

void rill_runner_drop(void *runner, int32_t slot)
{
    rill_session_drop(runner_session(runner), slot);
}

void rill_runner_graph_runs(const void *runner, rill_graph_runs *out)
{
    const rill_session *s = runner_session(runner);
    const dev_backend *backend = s->network->device->backend;
    *out = (rill_graph_runs){0};
    if (backend->graph_runs != NULL) backend->graph_runs(s, out);
}

rill_status rill_runner_collect(void *runner, int32_t group)
{
    return rill_session_collect(runner_session(runner), group);
}

rill_status rill_runner_limits(void *runner, rill_limits *out)
{
    const rill_session *s = runner_session(runner);
    return s->network->device->backend->limits(s, out);
}
