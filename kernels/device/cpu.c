/* The CPU as a device: weights, table rows, and the partition of a run's rows.
 *
 * A thread computes a span of rows, block by block. A block's tensors take about half of the L2 cache if the weights fit there, else a few
 * megabytes. With few rows, threads divide each operation instead.
 *
 * Invariant: the partition does not change results. */
#include <stdio.h>
#include <string.h>

#include "cpu.h"
#include "device_abi.h"

enum {
    /* maximum number of spans (ranges of rows) per thread; several, so that fast threads compute more than slow ones */
    SPANS_PER_THREAD = 4,
    L2_BYTES = 1 << 20,
    NEAR_BYTES = 600 << 10, /* maximum bytes of a block's tensors if the weights fit in the second-level cache */
    FAR_BYTES = 4 << 20,    /* maximum bytes of a block's tensors with larger weights */
    /* weights above this size do not stay in the third-level cache: each block reads them from memory */
    L3_BYTES = 32 << 20,
    /* with weights above L3_BYTES, a block's tensors may take the weights' bytes divided by FAR_DIVISOR */
    FAR_DIVISOR = 4,
    MIN_BLOCK = 64,
    MAX_BLOCK = 256,
    MAX_FAR_BLOCK = 512,
    BLOCK_INPUTS = 64,
    BLOCK_UNITS = 512,   /* maximum tokens of a block, unless one sequence has more */
    MIN_SPAN_ROWS = 6,   /* minimum rows of a span (range of rows of one thread): the height of a GEMM tile */
    MIN_SPAN_INPUTS = 4, /* minimum sequences of a span (range of one thread), with ragged inputs */
    MIN_FAR_ROWS = 64    /* minimum rows or source tokens of a span if each span reads large weights again */
};

/* --- opening the CPU ---------------------------------------------------------------------------------------------- */

static rill_status open_device(rill_device *device, const char *name)
{
    snprintf(device->name, sizeof device->name, "%s", name);
    device->data = rill_calloc(device->ctx, 1, sizeof(cpu_device));
    return device->data != NULL ? RILL_OK : rill_fail_memory(device->ctx, sizeof(cpu_device), "a device");
}

static void close_device(rill_device *device)
{
    rill_free(device->ctx, device->data, sizeof(cpu_device));
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static void free_weights(rill_context *ctx, cpu_weights *weights)
{
    if (weights != NULL) rill_free(ctx, weights, weights->bytes);
}

/* Pack weights [n, k], and reserve memory for biases. Returns NULL when out of memory. */
static cpu_weights *pack_weights(rill_context *ctx, size_t n, size_t k, const float *from, size_t stride,
                                 rill_weight_type type, size_t biases)
{
    const size_t header = dev_lines(sizeof(cpu_weights)), packed = dev_lines(dev_weight_bytes(n, k, type));
    const size_t bytes = header + packed + dev_lines(biases * sizeof(float));
    cpu_weights *made = rill_alloc(ctx, bytes);
    if (made == NULL) return NULL;
    char *memory = (char *)made + header;
    *made = (cpu_weights){.bytes = bytes, .bias = biases > 0 ? (float *)(void *)(memory + packed) : NULL};
    /* fails only if a size overflows */
    (void)rill_gemm_pack_f32(&made->w, n, k, from, stride, dev_dtype(type), memory);
    return made;
}

static void add_matrix(rill_network *network, size_t idx, const float *w, size_t stride)
{
    dev_matrix *matrix = &network->matrix[idx];
    const size_t n = matrix->n, k = matrix->k;
    if (dev_weight_bytes(n, k, matrix->type) == 0) {
        dev_network_fail(network, RILL_ERR_FORMAT, "weights of %zu x %zu: too large", n, k);
        return;
    }
    matrix->data = pack_weights(network->ctx, n, k, w, stride, matrix->type, 0);
    if (matrix->data == NULL) dev_network_fail(network, RILL_ERR_MEMORY, "out of memory: weights of %zu x %zu", n, k);
}

static void close_network(rill_network *network)
{
    for (size_t i = 0; i < network->n_matrices; i++) free_weights(network->ctx, network->matrix[i].data);
}

/* Add the bytes that each symbol of a vocabulary subset takes besides its id: its bias and its packed row of weights. */
static void add_sizes(const rill_network *network, rill_network_bytes *bytes)
{
    enum { STRIP = RILL_VOCAB_SUBSET_PADDING + 1 };
    for (size_t i = 0; i < network->n_subsets; i++) {
        const dev_vocab_subset *subset = &network->subset[i];
        if (subset->bias != 0) bytes->symbol += (int64_t)sizeof(float);
        if (subset->rows != 0)
            bytes->symbol +=
                (int64_t)(dev_weight_bytes(STRIP, network->constant[subset->rows - 1].width, subset->type) / STRIP);
    }
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

static rill_status start_threads(rill_session *s, int threads)
{
    cpu_session *cpu = s->data;
    s->n_threads = threads > 1 ? (size_t)threads : 1;
    cpu->scratch_busy = rill_calloc(s->ctx, s->n_threads, sizeof *cpu->scratch_busy);
    if (cpu->scratch_busy == NULL)
        return rill_fail_memory(s->ctx, s->n_threads * sizeof *cpu->scratch_busy, "a session");
    for (size_t i = 0; i < s->n_threads; i++) atomic_flag_clear(&cpu->scratch_busy[i]);
    if (threads <= 1) return RILL_OK;
    const size_t bytes = rill_pool_size((unsigned)threads);
    cpu->pool_memory = rill_alloc(s->ctx, bytes);
    if (cpu->pool_memory == NULL) return rill_fail_memory(s->ctx, bytes, "the thread pool");
    cpu->pool_bytes = bytes;
    cpu->pool = rill_pool_init(cpu->pool_memory, (unsigned)threads);
    if (rill_pool_threads(cpu->pool) < (unsigned)threads)
        rill_log(s->ctx, RILL_LOG_WARNING,
                 "the system cannot start %d threads: using %u (ulimit -u, or the container's limit, allows more)",
                 threads, rill_pool_threads(cpu->pool));
    return RILL_OK;
}

static rill_status open_session(rill_session *s, int threads)
{
    const rill_network *network = s->network;
    cpu_session *cpu = s->data = rill_calloc(s->ctx, 1, sizeof *cpu);
    if (cpu == NULL) return rill_fail_memory(s->ctx, sizeof *cpu, "a session");
    cpu->table = rill_calloc(s->ctx, network->n_tables + 1, sizeof *cpu->table);
    if (cpu->table == NULL) return rill_fail_memory(s->ctx, (network->n_tables + 1) * sizeof *cpu->table, "a session");
    return start_threads(s, threads);
}

static void close_session(rill_session *s)
{
    const rill_network *network = s->network;
    cpu_session *cpu = s->data;
    if (cpu == NULL) return;
    rill_pool_finish(cpu->pool);
    rill_free(s->ctx, cpu->pool_memory, cpu->pool_bytes);
    for (size_t i = 0; cpu->table != NULL && i <= network->n_tables; i++)
        rill_free(s->ctx, cpu->table[i], s->table[i].capacity * dev_get_table(network, i)->ld * sizeof(float));
    for (size_t i = 0; i < s->n_slots * network->n_subsets; i++) free_weights(s->ctx, s->subset[i].data);
    rill_free(s->ctx, cpu->table, (network->n_tables + 1) * sizeof *cpu->table);
    rill_free(s->ctx, cpu->run_memory, cpu->run_memory_capacity);
    rill_free(s->ctx, cpu->scratch, cpu->scratch_capacity);
    rill_free(s->ctx, cpu->scratch_busy, s->n_threads * sizeof *cpu->scratch_busy);
    rill_free(s->ctx, cpu, sizeof *cpu);
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static rill_status grow_table(rill_session *s, size_t idx, size_t rows)
{
    cpu_session *cpu = s->data;
    const dev_table *table = dev_get_table(s->network, idx);
    return rill_grow(s->ctx, &cpu->table[idx], &s->table[idx].capacity, rows, table->ld * sizeof(float), table->name);
}

static rill_status write_rows(rill_session *s, size_t idx, size_t first, size_t n, const float *rows)
{
    const dev_table *table = dev_get_table(s->network, idx);
    float *to = ((cpu_session *)s->data)->table[idx];
    for (size_t i = 0; i < n; i++)
        memcpy(to + (first + i) * table->ld, rows + i * table->width, table->width * sizeof *rows);
    return RILL_OK;
}

static rill_status read_rows(const rill_session *s, size_t idx, size_t first, size_t n, float *rows)
{
    const dev_table *table = dev_get_table(s->network, idx);
    const float *from = ((const cpu_session *)s->data)->table[idx];
    for (size_t i = 0; i < n; i++)
        memcpy(rows + i * table->width, from + (first + i) * table->ld, table->width * sizeof *rows);
    return RILL_OK;
}

/* Gather and pack the output-layer weights and biases of an input's vocabulary subset, after freeing the old ones. */
static rill_status set_subset(rill_session *s, size_t idx, int32_t slot)
{
    const dev_vocab_subset *def = &s->network->subset[idx];
    dev_slot_subset *ids = dev_get_subset(s, idx, slot);
    cpu_session *cpu = s->data;
    free_weights(s->ctx, ids->data);
    ids->data = NULL;
    if (def->rows == 0 || ids->n == 0) return RILL_OK;
    const dev_constant *rows = &s->network->constant[def->rows - 1];
    const size_t n = ids->n, width = rows->width;
    if (dev_weight_bytes(n, width, def->type) == 0)
        return rill_fail(s->ctx, RILL_ERR_MEMORY, "vocabulary subset %s: too many symbols, %zu", def->name, n);
    const rill_status status = rill_grow(s->ctx, (void **)&cpu->scratch, &cpu->scratch_capacity,
                                         n * width * sizeof(float), 1, "scratch memory");
    if (status != RILL_OK) return status;
    float *gathered = (float *)(void *)cpu->scratch;
    for (size_t i = 0; i < n; i++)
        memcpy(gathered + i * width, rows->data + (size_t)ids->id[i] * width, width * sizeof *gathered);
    cpu_weights *made = ids->data = pack_weights(s->ctx, n, width, gathered, width, def->type, def->bias != 0 ? n : 0);
    if (made == NULL) return rill_fail_memory(s->ctx, n * width * sizeof *gathered, def->name);
    for (size_t i = 0; made->bias != NULL && i < n; i++)
        made->bias[i] = s->network->constant[def->bias - 1].data[ids->id[i]];
    return RILL_OK;
}

/* --- splitting a run into blocks ---------------------------------------------------------------------------------- */

static size_t min_of_two(size_t a, size_t b)
{
    return a < b ? a : b;
}

static const cpu_device *get_hooks(const cpu_run *r)
{
    return r->d.network->device->data;
}

/* Return the bytes of one row in all tensor buffers together. */
static size_t row_bytes(const cpu_run *r)
{
    size_t floats = 1;
    for (size_t i = 0; i < r->d.graph->n_buffers; i++) {
        const dev_buffer *b = &r->d.graph->buffer[i];
        floats += dev_padded(b->subset != 0 ? r->d.max_subset[b->subset] : b->width);
    }
    return floats * sizeof(float);
}

static size_t choose_block(const cpu_run *r, int fits_l2)
{
    if (get_hooks(r)->block_rows > 0) return get_hooks(r)->block_rows;
    if (r->d.graph->n_ragged > 0) return BLOCK_INPUTS;
    const size_t weights = r->d.graph->weight_bytes, share = weights > L3_BYTES ? weights / FAR_DIVISOR : 0;
    const size_t rows = (fits_l2 ? NEAR_BYTES : share > FAR_BYTES ? share : FAR_BYTES) / row_bytes(r);
    const size_t max_rows = share > 0 ? MAX_FAR_BLOCK : MAX_BLOCK;
    return rows < MIN_BLOCK ? MIN_BLOCK : rows > max_rows ? max_rows : rows;
}

/* Return the maximum number of spans that still have enough rows each: MIN_FAR_ROWS if they read large weights. */
static size_t max_useful_spans(const cpu_run *r, int fits_l2)
{
    const int ragged = r->d.graph->n_ragged > 0;
    if (get_hooks(r)->span_rows > 0) return r->d.n / get_hooks(r)->span_rows;
    if (fits_l2 || r->d.graph->scan_space != 0) return r->d.n / (ragged ? MIN_SPAN_INPUTS : MIN_SPAN_ROWS);
    return min_of_two(r->d.n, (ragged ? r->d.units : r->d.n) / MIN_FAR_ROWS);
}

static void choose_spans(cpu_run *r)
{
    const int fits_l2 = r->d.graph->weight_bytes <= L2_BYTES;
    const size_t threads = r->d.session->n_threads, n_useful = max_useful_spans(r, fits_l2);
    r->parallel_ops = threads > 1 && n_useful < threads;
    r->n_spans = threads > 1 && !r->parallel_ops ? min_of_two(threads * SPANS_PER_THREAD, n_useful) : 1;
    r->n_spans = rill_pool_balance(r->cpu->pool, r->n_spans);
    const size_t rows = (r->d.n + r->n_spans - 1) / r->n_spans, max_rows = choose_block(r, fits_l2);
    const size_t blocks = (rows + max_rows - 1) / max_rows;
    r->d.block_rows = blocks > 1 ? (rows + blocks - 1) / blocks : rows;
    const size_t max_units = get_hooks(r)->block_rows > 0 ? get_hooks(r)->block_rows : BLOCK_UNITS;
    r->d.block_units = min_of_two(max_units, r->d.units);
    if (r->d.block_units < r->d.longest) r->d.block_units = r->d.longest;
    for (size_t s = 0; s <= r->n_spans; s++) r->span_begin[s] = s * r->d.n / r->n_spans;
}

/* Assign sequences to spans in turn. sorted [n]: sequences by descending length; order [n] out: sequence at each position of the run. */
static void deal_inputs(const cpu_run *r, const int32_t *sorted, size_t *dealt, int32_t *order)
{
    size_t span = 0;
    memset(dealt, 0, r->n_spans * sizeof *dealt);
    for (size_t i = 0; i < r->d.n; i++, span = (span + 1) % r->n_spans) {
        while (r->span_begin[span] + dealt[span] == r->span_begin[span + 1]) span = (span + 1) % r->n_spans;
        order[r->span_begin[span] + dealt[span]++] = sorted[i];
    }
}

/* --- layout of a run's memory ------------------------------------------------------------------------------------- */

/* Carve all arrays of the run out of one allocation. */
static void carve_run(cpu_run *r, rill_carver *c, size_t **dealt, int32_t **sorted)
{
    const dev_graph *p = r->d.graph;
    const size_t spans = r->d.session->n_threads * SPANS_PER_THREAD;
    const int ordered = p->scan_space != 0;
    dev_carve_run(&r->d, c);
    r->d.order = rill_carve(c, ordered ? r->d.n : 0, sizeof *r->d.order);
    *sorted = rill_carve(c, ordered ? r->d.n : 0, sizeof **sorted);
    *dealt = rill_carve(c, spans, sizeof **dealt);
    r->span_begin = rill_carve(c, spans + 1, sizeof *r->span_begin);
    r->path_entries = rill_carve(c, p->n_paths, sizeof *r->path_entries);
    if (!ordered) r->d.order = NULL;
}

/* Lay out each thread's scratch memory for a block: indices and index spaces, tensors, then working memory. */
static rill_status lay_out_blocks(cpu_run *r)
{
    const dev_graph *p = r->d.graph;
    const size_t scratches = min_of_two(r->d.session->n_threads, r->n_spans);
    size_t gemm_bytes = 0, work_bytes = 0;
    rill_carver c = {0};
    dev_lay_out_host(&r->d, &c);
    dev_lay_out_host_work(&r->d, &c);
    dev_lay_out_tensors(&r->d, r->d.layout.max_rows, NULL, &c);
    for (size_t i = 0; i < p->n_ops; i++) {
        const size_t gemm = cpu_gemm_bytes(r, &p->op[i]), work = cpu_op_work_bytes(r, &p->op[i], i);
        if (gemm > gemm_bytes) gemm_bytes = gemm;
        if (work > work_bytes) work_bytes = work;
        if (p->op[i].kind == RILL_OP_PATH) r->path_entries[p->op[i].path] = r->d.block_rows * r->d.max_length[i];
    }
    dev_lay_out_paths(&r->d, r->path_entries, &c);
    r->gemm_offset = dev_carve_offset(&c, gemm_bytes, 1);
    r->work_offset = dev_carve_offset(&c, work_bytes, 1);
    r->bytes = c.used;
    c.used = 0;
    (void)dev_carve_offset(&c, scratches, r->bytes);
    const rill_status status = rill_carve_reserve(r->d.session->ctx, &r->cpu->scratch, &r->cpu->scratch_capacity, &c);
    r->scratch = r->cpu->scratch;
    return status;
}

/* --- running a span of operations --------------------------------------------------------------------------------- */

/* Prefetch the encoder states that the next graph's attention will read. The processor cannot predict attention's
 * jumps between slots. */
static void prefetch_tables(cpu_block *b)
{
    const cpu_run *r = b->run;
    const rill_session *s = r->d.session;
    for (size_t e = 0; e < r->d.graph->n_prefetches; e++) {
        const dev_prefetch *expected = &r->d.graph->prefetch[e];
        const int32_t *slot = dev_index_entries(&b->d, expected->slot);
        const size_t width = r->d.network->table[expected->table].ld * sizeof(float);
        for (size_t i = 0; i < b->d.rows[RILL_ROWS]; i++) {
            if (i > 0 && slot[i] == slot[i - 1]) continue;
            const char *rows = (const char *)r->cpu->table[expected->table] + (size_t)s->first[slot[i]] * width;
            const size_t bytes = (size_t)s->units[slot[i]] * width;
            for (size_t offset = 0; offset < bytes; offset += DEV_LINE) __builtin_prefetch(rows + offset, 0, 2);
        }
    }
}

static void run_profiled(cpu_block *b, const dev_op *op)
{
    const double begin = rill_clock();
    cpu_op_run(b, op);
    dev_profile_count(&b->d, b->thread, op, rill_clock() - begin, 0, 0.0);
}

static void run_span(void *call, size_t span)
{
    const cpu_run *r = call;
    const dev_graph *p = r->d.graph;
    const size_t end = r->span_begin[span + 1];
    size_t thread = 0;
    while (atomic_flag_test_and_set_explicit(&r->cpu->scratch_busy[thread], memory_order_acquire))
        thread = (thread + 1) % r->d.session->n_threads;
    cpu_block b = {.run = r,
                   .pool = r->parallel_ops ? r->cpu->pool : NULL,
                   .scratch = r->scratch + thread * r->bytes,
                   .thread = thread};
    dev_block_open(&b.d, &r->d, b.scratch);
    for (size_t from = r->span_begin[span]; from < end; from += b.d.rows[RILL_ROWS]) {
        dev_block_begin(&b.d, from, end);
        prefetch_tables(&b);
        for (size_t i = 0; i < p->n_ops; i++) (r->d.session->profiling ? run_profiled : cpu_op_run)(&b, &p->op[i]);
    }
    atomic_flag_clear_explicit(&r->cpu->scratch_busy[thread], memory_order_release);
}

/* --- running a graph ---------------------------------------------------------------------------------------------- */

static rill_status prepare_run(cpu_run *r)
{
    const dev_graph *p = r->d.graph;
    size_t *dealt;
    int32_t *sorted;
    rill_carver c = {0};
    carve_run(r, &c, &dealt, &sorted);
    rill_status status = rill_carve_reserve(r->d.session->ctx, &r->cpu->run_memory, &r->cpu->run_memory_capacity, &c);
    if (status != RILL_OK) return status;
    carve_run(r, &c, &dealt, &sorted);
    status = dev_measure_run(&r->d);
    if (status != RILL_OK) return status;
    choose_spans(r);
    if (r->d.order != NULL) {
        const dev_index_space *space = &p->space[p->scan_space - 1];
        dev_sort_by_length(r->d.n, r->d.arguments->columns[space->column - 1], sorted);
        deal_inputs(r, sorted, dealt, (int32_t *)(uintptr_t)r->d.order);
    }
    return lay_out_blocks(r);
}

static rill_status run_graph(rill_session *s, const dev_graph *graph, const rill_run_arguments *arguments)
{
    cpu_run r = {
        .d = {.session = s, .network = s->network, .graph = graph, .arguments = arguments, .n = (size_t)arguments->n},
        .cpu = s->data,
        .kernels = &s->network->device->kernels};
    const rill_status status = prepare_run(&r);
    if (status != RILL_OK) return status;
    if (graph->has_selection && arguments->selection->max_choices == 0)
        memset(arguments->selection->count, 0, r.d.n * sizeof *arguments->selection->count);
    rill_pool_run(r.parallel_ops ? NULL : r.cpu->pool, run_span, &r, r.n_spans);
    if (s->profiling) dev_profile_sum(s);
    return RILL_OK;
}

static rill_status measure_limits(const rill_session *s, rill_limits *out)
{
    /* larger than the caches of one core, so that the loop reads from shared cache or memory */
    enum { READ_BYTES = 48 << 20 };
    const rill_isa_mask isa = s->network->device->kernels.isa;
    void *memory = rill_alloc(s->ctx, READ_BYTES);
    if (memory == NULL) return rill_fail_memory(s->ctx, READ_BYTES, "measuring the machine");
    memset(memory, 1, READ_BYTES);
    rill_peak_loop floats = rill_peak_loop_fma(isa, RILL_DTYPE_F32), bytes = rill_peak_loop_fma(isa, RILL_DTYPE_U8S8),
                   pairs = rill_peak_loop_fma(isa, RILL_DTYPE_BF16);
    rill_peak_loop read = rill_peak_loop_read(memory, READ_BYTES);
    out->flops[RILL_ARITHMETIC_F32] = rill_peak_loop_rate(&floats, 0.02);
    out->flops[RILL_ARITHMETIC_INT8] = rill_peak_loop_rate(&bytes, 0.02);
    out->flops[RILL_ARITHMETIC_BF16] = rill_peak_loop_rate(&pairs, 0.02);
    out->bytes = rill_peak_loop_rate(&read, 0.06);
    rill_free(s->ctx, memory, READ_BYTES);
    return RILL_OK;
}

/* --- table of the backend ----------------------------------------------------------------------------------------- */

const dev_backend dev_cpu = {.abi = DEV_ABI,
                             .open = open_device,
                             .close = close_device,
                             .weight_types = 1 << RILL_WEIGHT_F32 | 1 << RILL_WEIGHT_BF16 | 1 << RILL_WEIGHT_INT8,
                             .add_matrix = add_matrix,
                             .network_close = close_network,
                             .add_sizes = add_sizes,
                             .session_open = open_session,
                             .session_close = close_session,
                             .grow = grow_table,
                             .write = write_rows,
                             .read = read_rows,
                             .set_subset = set_subset,
                             .run = run_graph,
                             .limits = measure_limits};
