/* Runs on the GPU. A run is laid out on the host, uploaded, enqueued operation by operation, and downloaded.
 *
 * Order of pinned memory: data for the host only; uploads; columns, which are uploaded and downloaded; downloads. */
#include "executor.h"

#include <string.h>

/* --- layout of a run's memory ------------------------------------------------------------------------------------- */

/* Lay out, in one allocation, the run's arrays that only the host uses. The graph and the number of rows give their sizes. */
static void lay_out_head(cuda_run *r, rill_carver *c)
{
    const dev_graph *p = r->graph;
    const size_t n_subsets = r->host_run.network->n_subsets;
    r->max_rows = rill_carve(c, p->n_spaces + 1, sizeof *r->max_rows);
    r->column = rill_carve(c, p->n_columns, sizeof *r->column);
    r->index = rill_carve(c, p->n_indices, sizeof *r->index);
    r->kv = rill_carve(c, p->n_ops, sizeof *r->kv);
    r->kv_index = rill_carve(c, p->n_ops, sizeof *r->kv_index);
    r->scan = rill_carve(c, p->n_ops, sizeof *r->scan);
    r->selection = rill_carve(c, p->n_ops, sizeof *r->selection);
    r->path_entries = rill_carve(c, p->n_paths, sizeof *r->path_entries);
    r->visited = rill_carve(c, p->n_indices, sizeof *r->visited);
    r->subset_first = rill_carve(c, n_subsets, sizeof *r->subset_first);
    r->subset_length = rill_carve(c, n_subsets, sizeof *r->subset_length);
    if (r->cuda->guarded) {
        r->frame_guard = rill_carve(c, cuda_max_frame_guards(r), sizeof *r->frame_guard);
        r->work_guard = rill_carve(c, cuda_max_work_guards(r), sizeof *r->work_guard);
    }
    r->zeroed_bytes = c->used;
    dev_carve_run(&r->host_run, c);
}

static size_t column_length(const cuda_run *r, size_t column, size_t rows)
{
    const rill_index_space space = r->graph->column[column].space;
    return space == RILL_ROWS ? rows
                              : (size_t)r->host_run.unit_start[r->graph->space[space - 1].ragged_index][r->host_run.n];
}

/* Upper bound on the bytes that operations upload besides index spaces, indices and columns. The make_*() functions allocate
 * them. */
static size_t max_op_bytes(const cuda_run *r)
{
    const dev_graph *p = r->graph;
    const size_t *rows = r->host_run.layout.max_rows, n = r->host_run.block_rows, slots = r->n_slots;
    const rill_selection *s = r->host_arguments->selection;
    size_t bytes = cuda_array_bytes(r, p->n_spaces + 1, 4) + cuda_array_bytes(r, slots, 4) +
                   r->host_run.network->n_subsets * 2 * cuda_array_bytes(r, slots, 4);
    for (size_t i = 0; i < p->n_ops; i++) {
        const dev_op *op = &p->op[i];
        if (op->kind == RILL_OP_ATTEND) bytes += 2 * cuda_array_bytes(r, rows[op->space], 4);
        if (op->kind == RILL_OP_SCAN) bytes += cuda_scan_bytes(r, rows[op->space], n);
        if (dev_makes_choices(op))
            bytes += 2 * cuda_array_bytes(r, rows[op->space], 4) +
                     (s != NULL ? 3 * cuda_array_bytes(r, cuda_round_up(r, (size_t)s->n_picks), 4) : 0) +
                     cuda_array_bytes(r, 1, 4);
    }
    return bytes + cuda_legal_bytes(r);
}

/* Compute the sizes of the four parts of pinned memory, in the order that the head of this file gives. */
static rill_status lay_out_pinned(cuda_run *r)
{
    const dev_graph *p = r->graph;
    rill_carver c = {0}, spaces = {0};
    size_t bytes = 0, back = 0;
    r->captured = cuda_can_capture(r);
    r->n_slots = cuda_round_up(r, r->session->n_slots);
    r->host_run.block_rows = cuda_round_up(r, r->host_run.n);
    for (size_t s = 0; s < p->n_ragged; s++) /* upper bound: the tokens of all ragged index spaces */
        r->host_run.block_units += (size_t)r->host_run.unit_start[s][r->host_run.n];
    for (size_t i = 1; i <= r->host_run.network->n_subsets; i++)
        r->host_run.max_subset[i] = cuda_round_up(r, r->host_run.max_subset[i]);
    /* this also computes the row counts, on which the working memory depends */
    dev_lay_out_host(&r->host_run, &spaces);
    dev_lay_out_host_work(&r->host_run, &c);
    r->host_end = c.used;
    r->host_run.guard = r->frame_guard;
    dev_lay_out_host(&r->host_run, &c);
    r->n_frame_guards = r->host_run.n_guards;
    for (size_t i = 0; i < p->n_columns; i++) {
        const size_t entries = cuda_array_bytes(r, column_length(r, i, r->host_run.block_rows), sizeof(int32_t));
        *(p->column[i].n_writes == 0 ? &bytes : &back) += entries;
    }
    r->used = c.used;
    r->back_begin = r->used + bytes + max_op_bytes(r);
    return cuda_grow_pinned(r->session, &r->frame->pinned, &r->frame->pinned_bytes,
                            r->back_begin + back + cuda_back_bytes(r));
}

static rill_status lay_out(cuda_run *r)
{
    rill_carver c = {0};
    lay_out_head(r, &c);
    rill_status status = rill_carve_reserve(r->session->ctx, &r->frame->layout_memory, &r->frame->layout_capacity, &c);
    if (status != RILL_OK) return status;
    memset(r->frame->layout_memory, 0, r->zeroed_bytes);
    lay_out_head(r, &c);
    status = dev_measure_run(&r->host_run);
    return status == RILL_OK ? lay_out_pinned(r) : status;
}

/* --- copying input columns ---------------------------------------------------------------------------------------- */

static void copy_columns(cuda_run *r)
{
    const dev_graph *p = r->graph;
    size_t down = r->used, both = r->back_begin;
    for (size_t i = 0; i < p->n_columns; i++) {
        const size_t bytes = column_length(r, i, r->host_run.n) * sizeof(int32_t);
        r->used = p->column[i].n_writes > 0 ? both : down;
        int32_t *column = cuda_alloc_down(r, column_length(r, i, r->host_run.block_rows), sizeof *column);
        if (bytes > 0) memcpy(column, r->host_arguments->columns[i], bytes);
        r->column[i] = column;
        *(p->column[i].n_writes > 0 ? &both : &down) = r->used;
    }
    r->used = down;
    r->back_end = both;
    r->columns_end = both;
    r->arguments = *r->host_arguments;
    r->arguments.columns = r->column;
}

/* --- inputs of operations ----------------------------------------------------------------------------------------- */

/* Attention operations that read the same keys and values, such as those of different layers, share one cuda_kv. */
static void make_kv(cuda_run *r, const dev_op *op, size_t number)
{
    const dev_memory a = dev_attended_memory(&r->block, op);
    const size_t rows = r->block.rows[op->space];
    for (size_t i = 0; i < r->n_kv; i++) {
        const cuda_kv *m = &r->kv[i];
        if (m->space != op->space || m->source_first != a.first || m->source_length != a.length ||
            m->source_slot != a.slot)
            continue;
        r->kv_index[number] = i;
        return;
    }
    cuda_kv *m = &r->kv[r->kv_index[number] = r->n_kv++];
    *m = (cuda_kv){.space = op->space, .source_first = a.first, .source_length = a.length, .source_slot = a.slot};
    m->first = cuda_alloc_down(r, r->max_rows[op->space], sizeof *m->first);
    m->length = cuda_alloc_down(r, r->max_rows[op->space], sizeof *m->length);
    for (size_t i = 0; i < rows; i++) {
        const size_t slot = a.slot != NULL ? (size_t)a.slot[i] : i;
        m->length[i] = a.length[slot];
        m->first[i] = a.length[slot] > 0 ? a.first[slot] : 0;
    }
    m->max_length = r->host_run.max_length[number];
    if (r->captured) m->max_length = (m->max_length + GPU_ATTEND_CHUNK - 1) / GPU_ATTEND_CHUNK * GPU_ATTEND_CHUNK;
}

/* Fill the arrays, to be uploaded, that give the first symbol and the length of each input's vocabulary subset. */
static void make_subset(cuda_run *r, rill_vocab_subset subset)
{
    const size_t idx = (size_t)subset - 1;
    if (r->subset_first[idx] != NULL) return;
    r->subset_first[idx] = cuda_alloc_down(r, r->n_slots, sizeof(int32_t));
    r->subset_length[idx] = cuda_alloc_down(r, r->n_slots, sizeof(int32_t));
    for (size_t i = 0; i < r->session->n_slots; i++) {
        const size_t n = dev_get_subset(r->session, idx, (int32_t)i)->n;
        r->subset_length[idx][i] = (int32_t)n;
        r->subset_first[idx][i] = n > 0 ? r->cuda->subset[idx].first[i] : 0;
    }
}

static void make_op(cuda_run *r, const dev_op *op, size_t number)
{
    const rill_attend *o = &op->as.attend;
    if (op->kind == RILL_OP_PATH) r->path_entries[op->path] = cuda_round_up(r, dev_make_path(&r->block, op));
    if (op->kind == RILL_OP_ATTEND) make_kv(r, op, number);
    if (op->kind == RILL_OP_ATTEND && o->watched_heads && r->host_arguments->watched != NULL)
        r->watched = cuda_alloc_back(r, r->host_run.block_rows * r->host_arguments->ld_watched, sizeof *r->watched);
    if (op->kind == RILL_OP_SCAN) cuda_make_scan(r, op, &r->scan[number]);
    if (dev_op_subset(op) != 0) make_subset(r, dev_op_subset(op));
    if (dev_makes_choices(op)) cuda_make_selection(r, op, &r->selection[number]);
}

static int writes_slot_index(const dev_graph *p)
{
    for (size_t i = 0; i < p->n_indices; i++)
        if (p->index[i].kind == DEV_INDEX_RAGGED && cuda_is_written(p, p->index[i].a)) return 1;
    return 0;
}

static void make_arrays(cuda_run *r)
{
    const dev_graph *p = r->graph;
    r->space_rows = cuda_alloc_down(r, p->n_spaces + 1, sizeof *r->space_rows);
    for (size_t s = 0; s <= p->n_spaces; s++) {
        r->space_rows[s] = (int32_t)r->block.rows[s];
        r->max_rows[s] = cuda_round_up(r, r->block.rows[s]);
    }
    if (writes_slot_index(p)) {
        r->slot_first = cuda_alloc_down(r, r->n_slots, sizeof *r->slot_first);
        memcpy(r->slot_first, r->session->first, r->session->n_slots * sizeof *r->slot_first);
    }
    cuda_make_legal(r);
    cuda_make_indices(r);
    for (size_t i = 0; i < p->n_ops; i++) make_op(r, &p->op[i], i);
    r->down_end = r->used;
}

/* --- device memory ------------------------------------------------------------------------------------------------ */

static size_t max_of_two(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Bytes of working memory of each kind: the largest need of any operation, since operations run one at a time. */
typedef struct work_sizes {
    size_t panel, sums, part, choices, norm, scan_rows, scan_gates;
} work_sizes;

static work_sizes measure_work(const cuda_run *r)
{
    const dev_graph *p = r->graph;
    work_sizes w = {0};
    for (size_t i = 0; i < p->n_ops; i++) {
        const dev_op *op = &p->op[i];
        const size_t rows = r->max_rows[op->space];
        if (op->kind == RILL_OP_PRODUCT && op->as.product.vocab_subset == 0) {
            const cuda_fused_op *f = cuda_get_fused_op(r, op);
            if (!f->input_rounded)
                w.panel = max_of_two(w.panel, rows * dev_padded((size_t)f->matrix.k) * sizeof(float));
            if (!f->single_launch) w.sums = max_of_two(w.sums, rows * dev_padded((size_t)f->matrix.n) * sizeof(float));
        } else if (op->kind == RILL_OP_SCAN) {
            const size_t hidden = dev_padded(op->as.scan.hidden), inputs = r->host_run.n;
            w.panel = max_of_two(w.panel, inputs * hidden * sizeof(float));
            w.scan_rows = max_of_two(w.scan_rows, inputs * hidden * sizeof(float));
            w.scan_gates = max_of_two(w.scan_gates, inputs * 4 * hidden * sizeof(float));
        } else if (op->kind == RILL_OP_ATTEND) {
            const size_t part = gpu_attend_part_floats((int32_t)rows, (int32_t)op->as.attend.heads,
                                                       (int32_t)op->as.attend.value_width,
                                                       (int32_t)r->kv[r->kv_index[i]].max_length);
            w.part = max_of_two(w.part, part * sizeof(float));
        } else if (dev_makes_choices(op)) {
            const size_t models = op->kind == RILL_OP_MIX ? op->n_views : 0;
            w.norm = max_of_two(w.norm, rows * (1 + models) * sizeof(float));
            w.choices = max_of_two(w.choices, cuda_choices_work_bytes(r, op));
        }
    }
    return w;
}

/* Paths come last: they grow with each timestep. The other arrays must not move, because a captured graph has their addresses. */
static rill_status lay_out_device(cuda_run *r)
{
    gpu_region *values = &r->lane->workspace;
    const work_sizes w = measure_work(r);
    const size_t bytes[] = {w.panel, w.sums, w.part, w.choices, w.norm, w.scan_rows, w.scan_rows, w.scan_gates};
    char **const area[] = {&r->panel,    &r->sums,   &r->attention_part, &r->choices,
                           &r->log_norm, &r->scan_h, &r->scan_c,         &r->scan_gates};
    size_t offset[sizeof bytes / sizeof *bytes];
    rill_carver c = {0};
    r->host_run.guard = r->work_guard;
    r->host_run.n_guards = 0;
    dev_lay_out_tensors(&r->host_run, r->max_rows, r->fused->rounded_bytes, &c);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        offset[i] = dev_carve_offset(&c, bytes[i], 1);
        c.used += dev_add_guard(&r->host_run, offset[i] + bytes[i]);
    }
    dev_lay_out_paths(&r->host_run, r->path_entries, &c);
    const rill_status status = cuda_grow_region(r->session, values, c.used, "a run");
    if (status != RILL_OK) return status;
    if (r->host_run.network->device->fast && gpu_stream_reserve_fast(r->cu_stream) != 0)
        return rill_fail(r->session->ctx, RILL_ERR_MEMORY, "the device is out of memory: %d bytes for matrix products",
                         (int)GPU_FAST_WORK);
    r->values = values->base;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) *area[i] = values->base + offset[i];
    return RILL_OK;
}

/* --- running a graph ---------------------------------------------------------------------------------------------- */

static rill_status sync_run(const cuda_run *r)
{
    char why[GPU_ERROR_BYTES];
    if (gpu_stream_sync(r->cu_stream, why) == 0) return RILL_OK;
    return cuda_fail(r->session->ctx, r->host_run.network->device->name, why);
}

static void copy_down(const cuda_run *r)
{
    const cuda_frame *f = r->frame;
    gpu_copy_to_device(r->cu_stream, f->device_copy.base + r->host_end, f->pinned + r->host_end,
                       r->down_end - r->host_end);
    if (r->columns_end > r->back_begin)
        gpu_copy_to_device(r->cu_stream, f->device_copy.base + r->back_begin, f->pinned + r->back_begin,
                           r->columns_end - r->back_begin);
}

static void copy_back(const cuda_run *r)
{
    if (r->back_end > r->back_begin)
        gpu_copy_to_host(r->cu_stream, r->frame->pinned + r->back_begin, r->frame->device_copy.base + r->back_begin,
                         r->back_end - r->back_begin);
}

static rill_status enqueue_ops(cuda_run *r)
{
    const dev_graph *p = r->graph;
    rill_status status = RILL_OK;
    for (size_t i = 0; i < p->n_ops && status == RILL_OK; i++) {
        if (r->session->profiling) status = sync_run(r);
        const double begin = rill_clock();
        const uint64_t launches = gpu_launch_count(r->cu_stream);
        if (r->block.rows[p->op[i].space] > 0 || p->op[i].kind == RILL_OP_SCAN) cuda_enqueue_op(r, &p->op[i], i);
        if (!r->session->profiling) continue;
        if (status == RILL_OK) status = sync_run(r);
        dev_profile_count(&r->block, 0, &p->op[i], rill_clock() - begin, gpu_launch_count(r->cu_stream) - launches,
                          cuda_fused_bytes(r, &p->op[i]));
    }
    if (r->session->profiling) dev_profile_sum(r->session);
    return status;
}

/* Get the frame (memory of a run) of a graph and micro-batch, after waiting for the frame's previous run. */
static rill_status acquire_frame(rill_session *s, const dev_graph *p, const rill_run_arguments *a, cuda_frame **out)
{
    cuda_session *cuda = s->data;
    const size_t graph = (size_t)(p - s->network->graph);
    cuda_frame *f = &cuda->frame[graph * DEV_GROUPS + (a->async_group == DEV_GROUPS)];
    const rill_status status = cuda_finish_frame(s, f);
    if (status != RILL_OK) return status;
    f->group = a->async_group;
    f->host_arguments = *a;
    if (p->has_selection) {
        f->selection = *a->selection;
        f->host_arguments.selection = &f->selection;
    }
    f->run = (cuda_run){.session = s,
                        .cuda = cuda,
                        .frame = f,
                        .network = s->network->data,
                        .graph = p,
                        .host_arguments = &f->host_arguments};
    f->run.fused = &f->run.network->graph[graph];
    f->run.lane = f->run.fused->is_fill ? &cuda->fill : &cuda->decode;
    f->run.cu_stream = f->run.lane->cu_stream;
    f->run.host_run = (dev_run){
        .session = s, .network = s->network, .graph = p, .arguments = &f->host_arguments, .n = (size_t)a->n};
    *out = f;
    return RILL_OK;
}

/* Grow the device copy of the frame, which may move, since the frame is idle. */
static rill_status grow_device_copy(cuda_run *r)
{
    gpu_region *dev_copy = &r->frame->device_copy;
    const size_t bytes = r->frame->pinned_bytes;
    if (dev_copy->base == NULL || bytes > dev_copy->reserved) {
        gpu_free(r->cuda->gpu, dev_copy);
        dev_copy->reserved = 8 * bytes;
    }
    return cuda_grow_region(r->session, dev_copy, bytes, "a run");
}

/* Lay out all data of a run. */
static rill_status make_run(cuda_run *r)
{
    rill_status status = lay_out(r);
    if (status != RILL_OK) return status;
    copy_columns(r);
    r->host_run.arguments = &r->arguments;
    status = grow_device_copy(r);
    if (status != RILL_OK) return status;
    dev_block_open(&r->block, &r->host_run, r->frame->pinned);
    dev_block_begin(&r->block, 0, r->host_run.n);
    make_arrays(r);
    status = lay_out_device(r);
    return status == RILL_OK ? cuda_begin_run(r) : status;
}

/* Whether the run's results may arrive asynchronously: its micro-batch has no pending results, and the run returns only choices, no columns
 * or attention weights. */
static int can_answer_later(const cuda_run *r)
{
    const int32_t group = r->host_arguments->async_group;
    return group > 0 && r->graph->has_selection && r->columns_end == r->back_begin && r->watched == NULL &&
           r->cuda->pending[group - 1] == NULL && !r->session->profiling && !r->cuda->guarded;
}

rill_status cuda_run_program(rill_session *s, const dev_graph *graph, const rill_run_arguments *arguments)
{
    cuda_frame *f;
    rill_status status = acquire_frame(s, graph, arguments, &f);
    if (status != RILL_OK) return status;
    cuda_run *r = &f->run;
    status = make_run(r);
    if (status != RILL_OK) return status;
    copy_down(r);
    status = cuda_fill_guards(r);
    if (status == RILL_OK)
        status = r->captured ? cuda_capture_or_replay(r, enqueue_ops) : cuda_run_directly(r, enqueue_ops);
    copy_back(r);
    cuda_end_run(r);
    if (status == RILL_OK) status = cuda_check_guards(r);
    if (status != RILL_OK) {
        (void)sync_run(r);
        f->in_flight = 0;
        return status;
    }
    if (r->back_end == r->back_begin && !graph->has_selection) return RILL_OK;
    if (!can_answer_later(r)) return cuda_finish_frame(s, f);
    r->cuda->pending[f->group - 1] = f;
    return RILL_AGAIN;
}
