/* A run: laid out on the host, sent down, put into the queue operation by operation, and brought back.
 *
 * A run that will be recorded (graph.c) is laid out for numbers of rows that come again, so that runs lie alike.
 *
 * Pinned memory, from its beginning: what only the host reads · what goes down · columns that go down and come back · what comes
 * back. How much each may be follows from the program and the columns; what is made then takes its arrays one behind the other.
 * Divisions: the layout · columns · what operations read · the device's memory · the run. */
#include "executor.h"

#include <string.h>

#include "limits.h"

/* --- the layout --------------------------------------------------------------------------------------------------- */

static size_t lines(size_t count, size_t size)
{
    return dev_lines(count * size);
}

/* Arrays as numerous as the program's parts. */
static void lay_out_head(cuda_run *r, rill_carver *c)
{
    const dev_program *p = r->program;
    const size_t spaces = p->spaces + 1, lists = r->inner.plan->lists;
    dev_lay_out_arrays(p, &r->inner.layout, c);
    r->inner.start = rill_carve(c, p->ragged, sizeof *r->inner.start);
    r->most = rill_carve(c, spaces, sizeof *r->most);
    r->column = rill_carve(c, p->columns, sizeof *r->column);
    r->index = rill_carve(c, p->indices, sizeof *r->index);
    r->memory = rill_carve(c, p->ops, sizeof *r->memory);
    r->memory_of = rill_carve(c, p->ops, sizeof *r->memory_of);
    r->scan = rill_carve(c, p->ops, sizeof *r->scan);
    r->selection = rill_carve(c, p->ops, sizeof *r->selection);
    r->path_total = rill_carve(c, p->paths, sizeof *r->path_total);
    r->path_entry = rill_carve(c, p->paths, sizeof *r->path_entry);
    r->seen = rill_carve(c, p->indices, sizeof *r->seen);
    r->list_first = rill_carve(c, lists, sizeof *r->list_first);
    r->list_length = rill_carve(c, lists, sizeof *r->list_length);
    r->list_longest = rill_carve(c, lists, sizeof *r->list_longest);
    r->value = rill_carve(c, p->buffers, sizeof *r->value);
    r->rounded = rill_carve(c, p->buffers, sizeof *r->rounded);
    const size_t zeroed = c->used;
    for (size_t i = 0; i < p->ragged; i++) {
        int32_t *start = rill_carve(c, r->inner.n + 1, sizeof *start);
        if (c->base != NULL) r->inner.start[i] = start;
    }
    r->head_used = zeroed;
}

static size_t entries_of(const cuda_run *r, size_t column, size_t rows)
{
    const rill_space space = r->program->column[column].space;
    return space == RILL_ROWS ? rows : (size_t)r->inner.start[r->program->space[space - 1].ragged][r->inner.n];
}

/* What operations may take besides spaces, indices and columns; see the make functions. */
static size_t most_of_ops(const cuda_run *r)
{
    const dev_program *p = r->program;
    const size_t *rows = r->inner.layout.rows, n = r->inner.block_rows, slots = r->slots;
    const rill_selection *s = r->asked->selection;
    size_t bytes = lines(p->spaces + 1, 4) + lines(slots, 4) + r->inner.plan->lists * 2 * lines(slots, 4);
    for (size_t i = 0; i < p->ops; i++) {
        const dev_op *op = &p->op[i];
        if (op->kind == DEV_ATTEND) bytes += 2 * lines(rows[op->space], 4);
        if (op->kind == DEV_SCAN) bytes += cuda_scan_bytes(rows[op->space], n);
        if (op->kind == DEV_BEST || op->kind == DEV_MIX)
            bytes += 2 * lines(rows[op->space], 4) + (s != NULL ? 3 * lines(cuda_round(r, (size_t)s->n_picks), 4) : 0) +
                     lines(1, 4);
    }
    return bytes + cuda_legal_bytes(r);
}

/* The room of each part of pinned memory. */
static rill_status lay_out_pinned(cuda_run *r)
{
    const dev_program *p = r->program;
    rill_carver c = {0}, spaces = {0};
    size_t bytes = 0, back = 0;
    r->recorded = cuda_can_record(r);
    r->slots = cuda_round(r, r->stream->slots);
    r->inner.block_rows = cuda_round(r, r->inner.n);
    for (size_t s = 0; s < p->ragged; s++)
        r->inner.block_units += (size_t)r->inner.start[s][r->inner.n]; /* more than enough */
    r->inner.layout.rows[RILL_ROWS] = r->inner.block_rows;
    dev_lay_out_spaces(&r->inner, &spaces); /* the rows, by which the work is laid out */
    dev_lay_out_work(&r->inner, &c);
    r->host_end = c.used;
    dev_lay_out_spaces(&r->inner, &c);
    for (size_t i = 0; i < p->paths; i++)
        r->inner.layout.path_at[i] = dev_carve_at(&c, 2 * r->inner.block_rows, sizeof(int32_t));
    for (size_t i = 0; i < p->columns; i++) {
        const size_t entries = lines(entries_of(r, i, r->inner.block_rows), sizeof(int32_t));
        *(p->column[i].written == 0 ? &bytes : &back) += entries;
    }
    r->used = c.used;
    r->back = r->used + bytes + most_of_ops(r);
    const rill_status status = cuda_pin(r->stream, &r->frame->pinned, &r->frame->pinned_bytes,
                                        r->back + back + cuda_answer_bytes(r));
    r->inner.scratch = r->frame->pinned;
    return status;
}

static rill_status lay_out(cuda_run *r)
{
    size_t units, longest;
    rill_carver c = {0};
    lay_out_head(r, &c);
    rill_status status = rill_carve_again(r->stream->ctx, &r->frame->head, &r->frame->head_room, &c);
    if (status != RILL_OK) return status;
    memset(r->frame->head, 0, r->head_used);
    lay_out_head(r, &c);
    status = dev_sum_lengths(&r->inner, &units, &longest);
    return status == RILL_OK ? lay_out_pinned(r) : status;
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

static void copy_columns(cuda_run *r)
{
    const dev_program *p = r->program;
    size_t down = r->used, both = r->back;
    for (size_t i = 0; i < p->columns; i++) {
        const size_t bytes = entries_of(r, i, r->inner.n) * sizeof(int32_t);
        r->used = p->column[i].written > 0 ? both : down;
        int32_t *column = cuda_take(r, entries_of(r, i, r->inner.block_rows), sizeof *column);
        if (bytes > 0) memcpy(column, r->asked->columns[i], bytes);
        r->column[i] = column;
        *(p->column[i].written > 0 ? &both : &down) = r->used;
    }
    r->used = down;
    r->back_end = both;
    r->columns_end = both;
    r->arguments = *r->asked;
    r->arguments.columns = r->column;
}

/* --- what operations read ----------------------------------------------------------------------------------------- */

/* First and length of each row's path; the entries are the device's. */
static void make_path(cuda_run *r, const dev_op *op)
{
    const int32_t *depth = dev_index_at(&r->block, r->program->path[op->path].depth);
    int32_t *first = (int32_t *)(void *)(r->frame->pinned + r->inner.layout.path_at[op->path]);
    int32_t *length = first + r->inner.block_rows, used = 0;
    for (size_t i = 0; i < r->inner.n; i++, used += depth[i - 1] + 1) {
        first[i] = used;
        length[i] = depth[i] + 1;
    }
    r->path_total[op->path] = cuda_round(r, (size_t)used);
}

/* Attentions of the layers of a model read the same rows. */
static void make_memory(cuda_run *r, const dev_op *op, size_t number)
{
    const rill_attention a = dev_memory_of(&r->block, op);
    const size_t rows = r->block.rows[op->space];
    for (size_t i = 0; i < r->memories; i++) {
        const cuda_memory *m = &r->memory[i];
        if (m->space != op->space || m->of_first != a.first || m->of_length != a.length || m->of_slot != a.slot)
            continue;
        r->memory_of[number] = i;
        return;
    }
    cuda_memory *m = &r->memory[r->memory_of[number] = r->memories++];
    *m = (cuda_memory){.space = op->space, .of_first = a.first, .of_length = a.length, .of_slot = a.slot};
    m->first = cuda_take(r, r->most[op->space], sizeof *m->first);
    m->length = cuda_take(r, r->most[op->space], sizeof *m->length);
    for (size_t i = 0; i < rows; i++) {
        const size_t slot = a.slot != NULL ? (size_t)a.slot[i] : i;
        m->length[i] = a.length[slot];
        m->first[i] = a.length[slot] > 0 ? a.first[slot] : 0;
        if ((size_t)m->length[i] > m->longest) m->longest = (size_t)m->length[i];
    }
    m->longest = cuda_round(r, m->longest);
}

/* Where the slots' symbols are, and the longest list of the operation's rows. */
static void make_list(cuda_run *r, const dev_op *op, rill_list list)
{
    if (list == 0) return;
    const size_t at = (size_t)list - 1, slots = r->stream->slots;
    const cuda_lists *l = &r->own->list[at];
    const dev_lists_of *lists = &r->stream->list[at];
    if (r->list_first[at] == NULL) {
        r->list_first[at] = cuda_take(r, r->slots, sizeof(int32_t));
        r->list_length[at] = cuda_take(r, r->slots, sizeof(int32_t));
        for (size_t i = 0; i < slots; i++) {
            r->list_length[at][i] = (int32_t)lists->slot[i].n;
            r->list_first[at][i] = lists->slot[i].n > 0 ? l->first[i] : 0;
        }
    }
    const int32_t *slot = dev_index_at(&r->block, op->slot);
    for (size_t i = 0; i < r->block.rows[op->space]; i++)
        if (slot[i] >= 0 && lists->slot[slot[i]].n > r->list_longest[at])
            r->list_longest[at] = cuda_round(r, lists->slot[slot[i]].n);
}

static void make_op(cuda_run *r, const dev_op *op, size_t number)
{
    switch (op->kind) {
    case DEV_PATH: make_path(r, op); break;
    case DEV_ATTEND:
        make_memory(r, op, number);
        if (op->as.attend.watch && r->asked->watched != NULL)
            r->watched = cuda_take_back(r, r->inner.block_rows * r->asked->ld_watched, sizeof *r->watched);
        break;
    case DEV_SCAN: cuda_make_scan(r, op, &r->scan[number]); break;
    case DEV_PRODUCT: make_list(r, op, op->as.product.list); break;
    case DEV_MASK: make_list(r, op, op->as.mask.list); break;
    case DEV_BEST: make_list(r, op, op->as.best.list); break;
    case DEV_MIX: make_list(r, op, op->as.mix.list[0]); break;
    default: break;
    }
    if (op->kind == DEV_BEST || op->kind == DEV_MIX) cuda_make_selection(r, op, &r->selection[number]);
}

static int leads_to_slots(const dev_program *p)
{
    for (size_t i = 0; i < p->indices; i++)
        if (p->index[i].kind == DEV_IN && cuda_is_written(p, p->index[i].a)) return 1;
    return 0;
}

static void make_all(cuda_run *r)
{
    const dev_program *p = r->program;
    r->counts = cuda_take(r, p->spaces + 1, sizeof *r->counts);
    for (size_t s = 0; s <= p->spaces; s++) {
        r->counts[s] = (int32_t)r->block.rows[s];
        r->most[s] = cuda_round(r, r->block.rows[s]);
    }
    if (leads_to_slots(p)) {
        r->slot_first = cuda_take(r, r->slots, sizeof *r->slot_first);
        memcpy(r->slot_first, r->stream->first, r->stream->slots * sizeof *r->slot_first);
    }
    cuda_make_legal(r);
    cuda_make_indices(r);
    for (size_t i = 0; i < p->ops; i++) make_op(r, &p->op[i], i);
    r->down_end = r->used;
}

/* --- the device's memory ------------------------------------------------------------------------------------------ */

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Bytes of what operations need one at a time. */
typedef struct work {
    size_t panel, sums, part, choices, norm, scan_rows, scan_gates;
} work;

static work work_of(const cuda_run *r)
{
    const dev_program *p = r->program;
    work w = {0};
    for (size_t i = 0; i < p->ops; i++) {
        const dev_op *op = &p->op[i];
        const size_t rows = r->most[op->space];
        if (op->kind == DEV_PRODUCT && op->as.product.list == 0) {
            const cuda_fused *f = cuda_fused_of(r, op);
            if (!f->read_rounded) w.panel = most(w.panel, rows * dev_padded((size_t)f->matrix.k) * sizeof(float));
            if (!f->whole) w.sums = most(w.sums, rows * dev_padded((size_t)f->matrix.n) * sizeof(float));
        } else if (op->kind == DEV_SCAN) {
            const size_t hidden = dev_padded(op->as.scan.hidden), inputs = r->inner.n;
            w.panel = most(w.panel, inputs * hidden * sizeof(float));
            w.scan_rows = most(w.scan_rows, inputs * hidden * sizeof(float));
            w.scan_gates = most(w.scan_gates, inputs * 4 * hidden * sizeof(float));
        } else if (op->kind == DEV_ATTEND) {
            const size_t part = gpu_attend_part((int32_t)rows, (int32_t)op->as.attend.heads,
                                                (int32_t)op->as.attend.value_width,
                                                (int32_t)r->memory[r->memory_of[i]].longest);
            w.part = most(w.part, part * sizeof(float));
        } else if (op->kind == DEV_BEST || op->kind == DEV_MIX) {
            const size_t models = op->kind == DEV_MIX ? (size_t)op->as.mix.models : 0;
            w.norm = most(w.norm, rows * (1 + models) * sizeof(float));
            w.choices = most(w.choices, cuda_choices_work(r, op));
        }
    }
    return w;
}

/* Values and work, one behind the other. Without a base sizes are added up. */
static size_t lay_out_values(cuda_run *r, const work *w, char *base)
{
    const dev_program *p = r->program;
    rill_carver c = {.base = base};
    for (size_t i = 0; i < p->buffers; i++) {
        const dev_buffer *b = &p->buffer[i];
        const size_t width = b->list != 0 ? r->list_longest[b->list - 1] : b->width;
        r->inner.layout.value_ld[i] = dev_padded(width > 0 ? width : 1);
        r->value[i] = rill_carve(&c, r->most[b->space] * r->inner.layout.value_ld[i], sizeof(float));
        r->rounded[i] = rill_carve(&c, r->most[b->space] * r->fused->rounded[i], 1);
    }
    for (size_t i = 0; i < p->paths; i++) r->path_entry[i] = rill_carve(&c, r->path_total[i], sizeof(int32_t));
    r->panel = rill_carve(&c, w->panel, 1);
    r->sums = rill_carve(&c, w->sums, 1);
    r->part = rill_carve(&c, w->part, 1);
    r->choices = rill_carve(&c, w->choices, 1);
    r->log_norm = rill_carve(&c, w->norm, 1);
    r->scan_h = rill_carve(&c, w->scan_rows, 1);
    r->scan_c = rill_carve(&c, w->scan_rows, 1);
    r->scan_gates = rill_carve(&c, w->scan_gates, 1);
    return c.used;
}

static rill_status lay_out_device(cuda_run *r)
{
    gpu_region *values = &r->line->values;
    const work w = work_of(r);
    const size_t bytes = lay_out_values(r, &w, NULL);
    const rill_status status = cuda_grow_region(r->stream, values, bytes, "a run");
    if (status != RILL_OK) return status;
    if (r->inner.plan->device->fast && gpu_queue_fast(r->queue) != 0)
        return rill_fail(r->stream->ctx, RILL_ERR_MEMORY, "the device has no memory left: %d bytes for products",
                         (int)GPU_FAST_WORK);
    lay_out_values(r, &w, values->at);
    return RILL_OK;
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static rill_status wait_for(const cuda_run *r)
{
    char why[GPU_TEXT];
    if (gpu_wait(r->queue, why) == 0) return RILL_OK;
    return cuda_fail(r->stream->ctx, r->inner.plan->device->name, why);
}

static void copy_down(const cuda_run *r)
{
    const cuda_frame *f = r->frame;
    gpu_down(r->queue, f->twin.at + r->host_end, f->pinned + r->host_end, r->down_end - r->host_end);
    if (r->columns_end > r->back)
        gpu_down(r->queue, f->twin.at + r->back, f->pinned + r->back, r->columns_end - r->back);
}

/* All of a run: what goes down, the operations, what comes back. */
static rill_status queue_run(cuda_run *r)
{
    const dev_program *p = r->program;
    rill_status status = RILL_OK;
    copy_down(r);
    for (size_t i = 0; i < p->ops && status == RILL_OK; i++) {
        if (r->stream->profiling) status = wait_for(r);
        const double begin = rill_clock();
        const uint64_t launches = gpu_launches(r->queue);
        if (r->block.rows[p->op[i].space] > 0 || p->op[i].kind == DEV_SCAN) cuda_queue_op(r, &p->op[i], i);
        if (!r->stream->profiling) continue;
        if (status == RILL_OK) status = wait_for(r);
        dev_profile_count(&r->block, &p->op[i], rill_clock() - begin, gpu_launches(r->queue) - launches,
                          cuda_fused_bytes(r, &p->op[i]));
    }
    if (r->stream->profiling) dev_profile_sum(&r->inner);
    if (r->back_end > r->back)
        gpu_up(r->queue, r->frame->pinned + r->back, r->frame->twin.at + r->back, r->back_end - r->back);
    return status;
}

/* The frame of the program's runs, or of the group's; what it has had is over then. */
static rill_status take_frame(rill_stream *s, const dev_program *p, const rill_run_arguments *a, cuda_frame **out)
{
    cuda_stream *own = s->own;
    const size_t program = (size_t)(p - s->plan->program);
    cuda_frame *f = &own->frame[program * DEV_GROUPS + (a->late == DEV_GROUPS)];
    const rill_status status = cuda_finish(s, f);
    if (status != RILL_OK) return status;
    f->group = a->late;
    f->asked = *a;
    if (p->selects) {
        f->selection = *a->selection;
        f->asked.selection = &f->selection;
    }
    f->run = (cuda_run){.stream = s, .own = own, .frame = f, .weights = s->plan->own, .program = p, .asked = &f->asked};
    f->run.fused = &f->run.weights->program[program];
    f->run.line = f->run.fused->ahead ? &own->fill : &own->decode;
    f->run.queue = f->run.line->queue;
    f->run.inner = (dev_run){.stream = s,
                             .plan = s->plan,
                             .program = p,
                             .arguments = &f->asked,
                             .kernels = &s->plan->device->kernels,
                             .n = (size_t)a->n,
                             .spans = 1};
    *out = f;
    return RILL_OK;
}

/* Nothing of the frame is under way: where its addresses end its twin gets others, so that they need not be for all that may be. */
static rill_status grow_twin(cuda_run *r)
{
    gpu_region *twin = &r->frame->twin;
    const size_t bytes = r->frame->pinned_bytes;
    if (twin->at == NULL || bytes > twin->reserved) {
        gpu_free(r->own->gpu, twin);
        twin->reserved = 8 * bytes;
    }
    return cuda_grow_region(r->stream, twin, bytes, "a run");
}

/* All that a run needs, where it will be. */
static rill_status make_run(cuda_run *r)
{
    rill_status status = lay_out(r);
    if (status != RILL_OK) return status;
    copy_columns(r);
    r->inner.arguments = &r->arguments;
    status = grow_twin(r);
    if (status != RILL_OK) return status;
    dev_block_open(&r->block, &r->inner, 0);
    dev_block_begin(&r->block, 0, r->inner.n);
    make_all(r);
    status = lay_out_device(r);
    return status == RILL_OK ? cuda_begin_turn(r) : status;
}

/* Answers may be late where the group has no others to come, and no column of the host is written. */
static int may_be_late(const cuda_run *r)
{
    const int32_t group = r->asked->late;
    return group > 0 && r->program->selects && r->columns_end == r->back && r->watched == NULL &&
           r->own->late[group - 1] == NULL && !r->stream->profiling;
}

rill_status cuda_run_program(rill_stream *s, const dev_program *program, const rill_run_arguments *arguments)
{
    cuda_frame *f;
    rill_status status = take_frame(s, program, arguments, &f);
    if (status != RILL_OK) return status;
    cuda_run *r = &f->run;
    status = make_run(r);
    if (status != RILL_OK) return status;
    status = r->recorded ? cuda_replay(r, queue_run) : queue_run(r);
    cuda_end_turn(r);
    if (status != RILL_OK) {
        (void)wait_for(r);
        f->under_way = 0;
        return status;
    }
    if (r->back_end == r->back && !program->selects) return RILL_OK;
    if (!may_be_late(r)) return cuda_finish(s, f);
    r->own->late[f->group - 1] = f;
    return RILL_AGAIN;
}
