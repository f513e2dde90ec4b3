/* Runs: partition of rows into spans and blocks, and the layout of scratch memory.
 *
 * Block sizes keep the values that operations exchange in cache: half the second-level cache if the weights also fit
 * there; a few megabytes for larger weights, which each block reads again. With too few rows for a span per thread
 * there is one span, and the pool runs inside operations: GEMMs are then divided by outputs.
 *
 * Invariant: no choice here changes a result. Divisions: offsets · partition · order of sequences · columns · layout ·
 * spans · the run. */
#include "module.h"

#include <string.h>

enum {
    SPANS_PER_THREAD = 4, /* load balancing: fast threads take more spans */
    L2_BYTES = 1 << 20,
    NEAR_BYTES = 600 << 10, /* maximum bytes of a block's tensors if the weights fit in the second-level cache */
    FAR_BYTES = 4 << 20,    /* maximum bytes of a block's tensors with larger weights */
    L3_BYTES = 32 << 20,    /* larger weights are read from memory again for each block */
    FAR_DIVISOR = 4,        /* with weights above L3_BYTES, a block's tensors may take weight bytes / FAR_DIVISOR */
    MIN_BLOCK = 64,
    MAX_BLOCK = 256,
    MAX_FAR_BLOCK = 512,
    BLOCK_INPUTS = 64,
    BLOCK_UNITS = 512,   /* maximum units of a block, unless one sequence has more */
    MIN_SPAN_ROWS = 6,   /* minimum rows of a span: the height of a GEMM tile */
    MIN_SPAN_INPUTS = 4, /* minimum sequences of a span, with ragged inputs */
    MIN_FAR_ROWS = 64    /* minimum rows or units of a span if each span reads large weights again */
};

/* --- offsets ------------------------------------------------------------------------------------------------------ */

size_t dev_carve_offset(rill_carver *c, size_t count, size_t size)
{
    const size_t offset = c->used;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4 || offset > SIZE_MAX / 4)
        c->used = SIZE_MAX / 2;
    else
        c->used = offset + dev_lines(bytes);
    return offset;
}

/* --- partition ---------------------------------------------------------------------------------------------------- */

static size_t min_of_two(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes of a row's tensors, units included. */
static size_t row_bytes(const dev_run *r)
{
    size_t floats = 1;
    for (size_t i = 0; i < r->graph->n_buffers; i++) {
        const dev_buffer *b = &r->graph->buffer[i];
        floats += dev_padded(b->subset != 0 ? r->max_subset[b->subset] : b->width);
    }
    return floats * sizeof(float);
}

static size_t choose_block(const dev_run *r, int fits_l2)
{
    if (r->network->device->block_rows > 0) return r->network->device->block_rows;
    if (r->graph->n_ragged > 0) return BLOCK_INPUTS;
    const size_t weights = r->graph->weight_bytes, share = weights > L3_BYTES ? weights / FAR_DIVISOR : 0;
    const size_t rows = (fits_l2 ? NEAR_BYTES : share > FAR_BYTES ? share : FAR_BYTES) / row_bytes(r);
    const size_t max_rows = share > 0 ? MAX_FAR_BLOCK : MAX_BLOCK;
    return rows < MIN_BLOCK ? MIN_BLOCK : rows > max_rows ? max_rows : rows;
}

/* Maximum number of spans of a worthwhile size. */
static size_t max_useful_spans(const dev_run *r, int fits_l2, size_t units)
{
    const int ragged = r->graph->n_ragged > 0;
    if (r->network->device->span_rows > 0) return r->n / r->network->device->span_rows;
    if (fits_l2 || r->graph->scan_space != 0) return r->n / (ragged ? MIN_SPAN_INPUTS : MIN_SPAN_ROWS);
    return min_of_two(r->n, (ragged ? units : r->n) / MIN_FAR_ROWS);
}

static void choose_spans(dev_run *r, size_t units, size_t longest)
{
    const int fits_l2 = r->graph->weight_bytes <= L2_BYTES;
    const size_t threads = r->session->n_threads, n_useful = max_useful_spans(r, fits_l2, units);
    r->parallel_ops = threads > 1 && n_useful < threads;
    r->n_spans = threads > 1 && !r->parallel_ops ? min_of_two(threads * SPANS_PER_THREAD, n_useful) : 1;
    r->n_spans = rill_pool_balance(r->session->pool, r->n_spans);
    const size_t rows = (r->n + r->n_spans - 1) / r->n_spans, max_rows = choose_block(r, fits_l2);
    const size_t blocks = (rows + max_rows - 1) / max_rows;
    r->block_rows = blocks > 1 ? (rows + blocks - 1) / blocks : rows;
    const size_t max_units = r->network->device->block_rows > 0 ? r->network->device->block_rows : BLOCK_UNITS;
    r->block_units = min_of_two(max_units, units);
    if (r->block_units < longest) r->block_units = longest;
    for (size_t s = 0; s <= r->n_spans; s++) r->span_begin[s] = s * r->n / r->n_spans;
}

/* --- order of sequences ------------------------------------------------------------------------------------------- */

/* Longer sequences come first, ties by number: the order is unique, whatever the method of sorting. */
static int is_longer(const int32_t *length, int32_t a, int32_t b)
{
    return length[a] != length[b] ? length[a] > length[b] : a < b;
}

/* Shell's sort with Knuth's gaps 1, 4, 13, 40, ...: in place, nothing to allocate, and n is a few thousand at most. */
void dev_sort_by_length(size_t n, const int32_t *length, int32_t *order)
{
    for (size_t i = 0; i < n; i++) order[i] = (int32_t)i;
    size_t gap = 1;
    while (gap < n / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < n; i++) {
            const int32_t moved = order[i];
            size_t j = i;
            for (; j >= gap && is_longer(length, moved, order[j - gap]); j -= gap) order[j] = order[j - gap];
            order[j] = moved;
        }
    }
}

/* Deal sequences to spans in turn, longest first, so that each gets long and short ones. */
static void deal_inputs(const dev_run *r, const int32_t *sorted, size_t *dealt, int32_t *order)
{
    size_t span = 0;
    memset(dealt, 0, r->n_spans * sizeof *dealt);
    for (size_t i = 0; i < r->n; i++, span = (span + 1) % r->n_spans) {
        while (r->span_begin[span] + dealt[span] == r->span_begin[span + 1]) span = (span + 1) % r->n_spans;
        order[r->span_begin[span] + dealt[span]++] = sorted[i];
    }
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

/* The host's entries of the column that an index reads, and their number. */
static const int32_t *column_entries(const dev_run *r, int32_t index, size_t *count)
{
    const dev_index *i = &r->graph->index[index];
    const rill_index_space space = r->graph->column[i->a].space;
    *count = space == RILL_ROWS ? r->n : (size_t)r->unit_start[r->graph->space[space - 1].ragged_index][r->n];
    return r->arguments->columns[i->a];
}

/* The largest entry of a column; with elem_length, the largest of its elements that the entries number. */
static size_t max_entry(const dev_run *r, int32_t index, const int32_t *elem_length, size_t elements)
{
    size_t count;
    const int32_t *entry = column_entries(r, index, &count);
    int32_t max = 0;
    for (size_t i = 0; i < count; i++) {
        if (elem_length != NULL && (entry[i] < 0 || (size_t)entry[i] >= elements)) continue;
        const int32_t length = elem_length != NULL ? elem_length[entry[i]] : entry[i];
        if (length > max) max = length;
    }
    return (size_t)max;
}

static size_t max_subset_size(const dev_run *r, int32_t index, rill_vocab_subset subset)
{
    const dev_slot_subsets *subsets = &r->session->subset[subset - 1];
    size_t count, max = 0;
    const int32_t *slot = column_entries(r, index, &count);
    for (size_t i = 0; i < count; i++)
        if (slot[i] >= 0 && (size_t)slot[i] < subsets->count && subsets->slot[slot[i]].n > max)
            max = subsets->slot[slot[i]].n;
    return max;
}

static void update_max_subset(dev_run *r, const dev_op *op, rill_vocab_subset subset)
{
    if (subset == 0) return;
    const size_t n = max_subset_size(r, op->slot, subset);
    if (n > r->max_subset[subset]) r->max_subset[subset] = n;
}

static void measure_lengths(dev_run *r)
{
    const dev_graph *p = r->graph;
    memset(r->max_subset, 0, (r->network->n_subsets + 1) * sizeof *r->max_subset);
    for (size_t i = 0; i < p->n_ops; i++) {
        const dev_op *op = &p->op[i];
        r->max_length[i] = 0;
        if (op->kind == RILL_OP_PRODUCT) update_max_subset(r, op, op->as.product.vocab_subset);
        if (op->kind == RILL_OP_PATH) r->max_length[i] = max_entry(r, p->path[op->path].depth, NULL, 0) + 1;
        if (op->kind != RILL_OP_ATTEND) continue;
        if (op->as.attend.own_units)
            r->max_length[i] = max_entry(r, dev_get_space(p, p->tensor[op->view[ATTEND_keys].element].space)->index,
                                         NULL, 0);
        else if (op->path >= 0)
            r->max_length[i] = max_entry(r, p->path[op->path].depth, NULL, 0) + 1;
        else
            r->max_length[i] = max_entry(r, op->slot, r->session->units, r->session->n_slots);
    }
}

/* --- layout ------------------------------------------------------------------------------------------------------- */

void dev_lay_out_spaces(dev_run *r, rill_carver *c)
{
    const dev_graph *p = r->graph;
    dev_layout *l = &r->layout;
    l->max_rows[RILL_ROWS] = r->block_rows;
    for (size_t s = 1; s <= p->n_spaces; s++) {
        const dev_index_space *space = &p->space[s - 1];
        const size_t parent_rows = l->max_rows[space->parent];
        l->max_rows[s] = space->kind == DEV_SPACE_RAGGED ? r->block_units : parent_rows;
        l->parent_row_offset[s] = dev_carve_offset(c, l->max_rows[s], sizeof(int32_t));
        l->child_row_offset[s] = dev_carve_offset(
            c, space->kind == DEV_SPACE_RAGGED ? 2 * parent_rows + 2 : parent_rows, sizeof(int32_t));
    }
    for (size_t i = 0; i < p->n_indices; i++)
        l->index_offset[i] = dev_carve_offset(c, l->max_rows[p->index[i].space], sizeof(int32_t));
}

void dev_lay_out_work(dev_run *r, rill_carver *c)
{
    const dev_graph *p = r->graph;
    size_t hashed = 0, places = 16;
    for (size_t s = 0; s < p->n_spaces; s++)
        if (p->space[s].kind == DEV_SPACE_DISTINCT && r->layout.max_rows[p->space[s].parent] > hashed)
            hashed = r->layout.max_rows[p->space[s].parent];
    while (places < 2 * hashed) places *= 2;
    r->layout.pointers_offset = dev_carve_offset(c, 4 * (p->n_spaces + 1) + p->n_indices, sizeof(void *));
    r->layout.hash_offset = dev_carve_offset(c, hashed > 0 ? places : 0, sizeof(int32_t));
}

static void lay_out_values(dev_run *r, rill_carver *c)
{
    const dev_graph *p = r->graph;
    dev_layout *l = &r->layout;
    for (size_t i = 0; i < p->n_buffers; i++) {
        const dev_buffer *b = &p->buffer[i];
        const size_t width = b->subset != 0 ? r->max_subset[b->subset] : b->width;
        l->tensor_ld[i] = dev_padded(width > 0 ? width : 1);
        l->tensor_offset[i] = dev_carve_offset(c, l->max_rows[b->space], l->tensor_ld[i] * sizeof(float));
    }
}

static void lay_out_ops(dev_run *r, rill_carver *c)
{
    const dev_graph *p = r->graph;
    dev_layout *l = &r->layout;
    l->gemm_bytes = l->work_bytes = 0;
    for (size_t i = 0; i < p->n_ops; i++) {
        const dev_op *op = &p->op[i];
        const size_t gemm = dev_gemm_bytes(r, op), work = dev_op_work_bytes(r, op, i);
        if (gemm > l->gemm_bytes) l->gemm_bytes = gemm;
        if (work > l->work_bytes) l->work_bytes = work;
        if (op->kind == RILL_OP_PATH)
            l->path_offset[op->path] = dev_carve_offset(c, l->max_rows[RILL_ROWS] * (r->max_length[i] + 2),
                                                        sizeof(int32_t));
    }
    l->gemm_offset = dev_carve_offset(c, l->gemm_bytes, 1);
    l->work_offset = dev_carve_offset(c, l->work_bytes, 1);
}

static rill_status lay_out_blocks(dev_run *r)
{
    rill_session *s = r->session;
    const size_t scratches = min_of_two(s->n_threads, r->n_spans);
    rill_carver c = {0};
    dev_lay_out_spaces(r, &c);
    dev_lay_out_work(r, &c);
    lay_out_values(r, &c);
    lay_out_ops(r, &c);
    r->layout.bytes = c.used;
    c.used = 0;
    (void)dev_carve_offset(&c, scratches, r->layout.bytes);
    const rill_status status = rill_carve_reserve(s->ctx, &s->scratch, &s->scratch_capacity, &c);
    r->scratch = s->scratch;
    return status;
}

/* --- spans -------------------------------------------------------------------------------------------------------- */

/* Prefetch the encoder states that the next graph will read: they may exceed the caches, and attention jumps between
 * slots; the slots are known here, one product earlier. */
static void prefetch_tables(dev_block *b)
{
    const dev_run *r = b->run;
    const rill_session *s = r->session;
    for (size_t e = 0; e < r->graph->n_prefetches; e++) {
        const dev_prefetch *expected = &r->graph->prefetch[e];
        const int32_t *slot = dev_index_entries(b, expected->slot);
        const size_t width = r->network->table[expected->table].ld * sizeof(float);
        for (size_t i = 0; i < b->rows[RILL_ROWS]; i++) {
            if (i > 0 && slot[i] == slot[i - 1]) continue;
            const char *rows = (const char *)s->table[expected->table].rows + (size_t)s->first[slot[i]] * width;
            const size_t bytes = (size_t)s->units[slot[i]] * width;
            for (size_t offset = 0; offset < bytes; offset += DEV_LINE) __builtin_prefetch(rows + offset, 0, 2);
        }
    }
}

static void run_span(void *call, size_t span)
{
    const dev_run *r = call;
    rill_session *s = r->session;
    const size_t end = r->span_begin[span + 1];
    size_t thread = 0;
    while (atomic_flag_test_and_set_explicit(&s->scratch_busy[thread], memory_order_acquire))
        thread = (thread + 1) % s->n_threads;
    dev_block b;
    dev_block_open(&b, r, thread);
    for (size_t from = r->span_begin[span]; from < end; from += b.rows[RILL_ROWS]) {
        dev_block_begin(&b, from, end);
        prefetch_tables(&b);
        for (size_t i = 0; i < r->graph->n_ops; i++) {
            if (s->profiling)
                dev_profile_op(&b, &r->graph->op[i]);
            else
                dev_op_run(&b, &r->graph->op[i]);
        }
    }
    atomic_flag_clear_explicit(&s->scratch_busy[thread], memory_order_release);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

rill_status dev_sum_lengths(dev_run *r, size_t *units, size_t *longest)
{
    *units = *longest = 0;
    for (size_t s = 0; s < r->graph->n_spaces; s++) {
        const dev_index_space *space = &r->graph->space[s];
        if (space->kind != DEV_SPACE_RAGGED) continue;
        const int32_t *length = r->arguments->columns[space->column - 1];
        int32_t *start = r->unit_start[space->ragged_index];
        start[0] = 0;
        for (size_t i = 0; i < r->n; i++) {
            if (length[i] < 0 || length[i] > INT32_MAX - start[i])
                return rill_fail(r->session->ctx, RILL_ERR_ARGUMENT, "graph %s: invalid lengths of its inputs",
                                 r->graph->name);
            start[i + 1] = start[i] + length[i];
            if ((size_t)length[i] > *longest) *longest = (size_t)length[i];
        }
        if ((size_t)start[r->n] > *units) *units = (size_t)start[r->n];
    }
    return RILL_OK;
}

void dev_lay_out_arrays(const dev_graph *p, dev_layout *l, rill_carver *c)
{
    const size_t spaces = p->n_spaces + 1;
    l->max_rows = rill_carve(c, spaces, sizeof *l->max_rows);
    l->parent_row_offset = rill_carve(c, spaces, sizeof *l->parent_row_offset);
    l->child_row_offset = rill_carve(c, spaces, sizeof *l->child_row_offset);
    l->index_offset = rill_carve(c, p->n_indices, sizeof *l->index_offset);
    l->tensor_offset = rill_carve(c, p->n_buffers, sizeof *l->tensor_offset);
    l->tensor_ld = rill_carve(c, p->n_buffers, sizeof *l->tensor_ld);
    l->path_offset = rill_carve(c, p->n_paths, sizeof *l->path_offset);
}

/* Lay out the arrays of the run. */
static void lay_out_run(dev_run *r, rill_carver *c, size_t **dealt, int32_t **sorted)
{
    const dev_graph *p = r->graph;
    const size_t spans = r->session->n_threads * SPANS_PER_THREAD;
    const int ordered = p->scan_space != 0;
    r->order = rill_carve(c, ordered ? r->n : 0, sizeof *r->order);
    *sorted = rill_carve(c, ordered ? r->n : 0, sizeof **sorted);
    *dealt = rill_carve(c, spans, sizeof **dealt);
    r->span_begin = rill_carve(c, spans + 1, sizeof *r->span_begin);
    r->unit_start = rill_carve(c, p->n_ragged, sizeof *r->unit_start);
    for (size_t i = 0; i < p->n_ragged; i++) {
        int32_t *start = rill_carve(c, r->n + 1, sizeof *start);
        if (c->base != NULL) r->unit_start[i] = start;
    }
    r->max_length = rill_carve(c, p->n_ops, sizeof *r->max_length);
    r->max_subset = rill_carve(c, r->network->n_subsets + 1, sizeof *r->max_subset);
    r->legal = rill_carve(c, p->n_ops, sizeof *r->legal);
    for (size_t i = 0; i < p->n_ops; i++) {
        const size_t words = dev_legal_words(r, &p->op[i]);
        uint64_t *legal = rill_carve(c, words, sizeof *legal);
        if (c->base != NULL) r->legal[i] = words > 0 ? legal : NULL;
    }
    dev_lay_out_arrays(p, &r->layout, c);
    if (!ordered) r->order = NULL;
}

static rill_status prepare_run(dev_run *r)
{
    rill_session *s = r->session;
    size_t *dealt, units, longest;
    int32_t *sorted;
    rill_carver c = {0};
    lay_out_run(r, &c, &dealt, &sorted);
    rill_status status = rill_carve_reserve(s->ctx, &s->run_memory, &s->run_memory_capacity, &c);
    if (status != RILL_OK) return status;
    lay_out_run(r, &c, &dealt, &sorted);
    status = dev_sum_lengths(r, &units, &longest);
    if (status != RILL_OK) return status;
    measure_lengths(r);
    choose_spans(r, units, longest);
    for (size_t i = 0; i < r->graph->n_ops; i++)
        if (r->legal[i] != NULL) dev_make_legal(r, &r->graph->op[i], r->legal[i]);
    if (r->order != NULL) {
        const dev_index_space *space = &r->graph->space[r->graph->scan_space - 1];
        dev_sort_by_length(r->n, r->arguments->columns[space->column - 1], sorted);
        deal_inputs(r, sorted, dealt, (int32_t *)(uintptr_t)r->order);
    }
    return lay_out_blocks(r);
}

static rill_status check_arguments(const rill_session *s, rill_graph graph, const rill_run_arguments *a)
{
    if (graph < 1 || (size_t)graph > s->network->n_graphs)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "graph %d does not exist", (int)graph);
    const dev_graph *p = &s->network->graph[graph - 1];
    if (a->n < 0 || (a->n > 0 && p->n_columns > 0 && a->columns == NULL))
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "graph %s: %d rows, or the columns are NULL", p->name, (int)a->n);
    if (a->async_group < 0 || a->async_group > DEV_GROUPS)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "graph %s: group %d does not exist", p->name,
                         (int)a->async_group - 1);
    if (a->n > 0 && p->has_selection && a->selection == NULL)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "graph %s returns choices, but the run has no selection", p->name);
    return RILL_OK;
}

rill_status rill_session_run(rill_session *s, rill_graph graph, const rill_run_arguments *arguments)
{
    rill_status status = check_arguments(s, graph, arguments);
    if (status != RILL_OK || arguments->n == 0) return status;
    if (s->network->device->module != NULL)
        return s->network->device->module->run(s, &s->network->graph[graph - 1], arguments);
    dev_run r = {.session = s,
                 .network = s->network,
                 .graph = &s->network->graph[graph - 1],
                 .arguments = arguments,
                 .kernels = &s->network->device->kernels,
                 .n = (size_t)arguments->n};
    status = prepare_run(&r);
    if (status != RILL_OK) return status;
    if (r.graph->has_selection && arguments->selection->max_choices == 0)
        memset(arguments->selection->count, 0, r.n * sizeof *arguments->selection->count);
    rill_pool_run(r.parallel_ops ? NULL : s->pool, run_span, &r, r.n_spans);
    if (s->profiling) dev_profile_sum(&r);
    return RILL_OK;
}

rill_status rill_session_collect(rill_session *s, int32_t group)
{
    const dev_module *module = s->network->device->module;
    if (group < 0 || group >= DEV_GROUPS)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "group %d does not exist", (int)group);
    return module != NULL ? module->collect(s, group) : RILL_OK;
}
