/* Runs: rows cut into spans and blocks, and what a block needs laid out.
 *
 * Blocks are as large as what their operations hand to each other may be to stay near: with weights that stay in the second-level
 * cache as well, half of that; with larger ones, which each block reads again, a few megabytes. Where rows are too few to give
 * every thread a span there is one span, and the pool works inside its operations: whole products are then cut by outputs.
 *
 * Invariant: nothing here changes a result. Divisions: how a run is cut · the order of inputs · what rows read · the layout ·
 * spans · the run. */
#include "module.h"

#include <string.h>

enum {
    SPANS_PER_THREAD = 4, /* so that one that comes late finds something left and one that is fast takes more */
    L2_BYTES = 1 << 20,
    NEAR_BYTES = 600 << 10, /* of a block's values, beside weights that fit the second-level cache ... */
    FAR_BYTES = 4 << 20,    /* ... and beside larger ones */
    L3_BYTES = 32 << 20,    /* weights beyond that come from memory for each block: then blocks may have ... */
    FAR_SHARE = 4,          /* ... this part of their size, so that they come seldom */
    LEAST_BLOCK = 64,
    MOST_BLOCK = 256,
    MOST_FAR_BLOCK = 512,
    BLOCK_INPUTS = 64,
    BLOCK_UNITS = 512, /* unless one input alone has more */
    SPAN_ROWS = 6,     /* least rows worth a span: the height of the gemm's tile ... */
    SPAN_INPUTS = 4,   /* ... least inputs ... */
    FAR_ROWS = 64      /* ... and least rows or units where each span reads large weights again */
};

/* --- arrays out of one buffer ------------------------------------------------------------------------------------- */

size_t dev_carve_at(rill_carver *c, size_t count, size_t size)
{
    const size_t at = c->used;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4 || at > SIZE_MAX / 4)
        c->used = SIZE_MAX / 2;
    else
        c->used = at + dev_lines(bytes);
    return at;
}

/* --- how a run is cut --------------------------------------------------------------------------------------------- */

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes that a row's values take, inputs' and units' alike. */
static size_t row_bytes(const dev_run *r)
{
    size_t floats = 1;
    for (size_t i = 0; i < r->program->buffers; i++) {
        const dev_buffer *b = &r->program->buffer[i];
        floats += dev_padded(b->list != 0 ? r->list_longest[b->list] : b->width);
    }
    return floats * sizeof(float);
}

static size_t choose_block(const dev_run *r, int near)
{
    if (r->plan->device->block_rows > 0) return r->plan->device->block_rows;
    if (r->program->ragged > 0) return BLOCK_INPUTS;
    const size_t weights = r->program->weight_bytes, share = weights > L3_BYTES ? weights / FAR_SHARE : 0;
    const size_t rows = (near ? NEAR_BYTES : share > FAR_BYTES ? share : FAR_BYTES) / row_bytes(r);
    const size_t most = share > 0 ? MOST_FAR_BLOCK : MOST_BLOCK;
    return rows < LEAST_BLOCK ? LEAST_BLOCK : rows > most ? most : rows;
}

/* How many spans of a size that is worth one there are. */
static size_t worthy_spans(const dev_run *r, int near, size_t units)
{
    const int ragged = r->program->ragged > 0;
    if (r->plan->device->span_rows > 0) return r->n / r->plan->device->span_rows;
    if (near || r->program->scan_space != 0) return r->n / (ragged ? SPAN_INPUTS : SPAN_ROWS);
    return least_of(r->n, (ragged ? units : r->n) / FAR_ROWS);
}

static void choose_cuts(dev_run *r, size_t units, size_t longest)
{
    const int near = r->program->weight_bytes <= L2_BYTES;
    const size_t threads = r->stream->threads, worthy = worthy_spans(r, near, units);
    r->inside = threads > 1 && worthy < threads;
    r->spans = threads > 1 && !r->inside ? least_of(threads * SPANS_PER_THREAD, worthy) : 1;
    r->spans = rill_pool_even(r->stream->pool, r->spans);
    const size_t rows = (r->n + r->spans - 1) / r->spans, most_rows = choose_block(r, near);
    const size_t blocks = (rows + most_rows - 1) / most_rows;
    r->block_rows = blocks > 1 ? (rows + blocks - 1) / blocks : rows;
    const size_t most = r->plan->device->block_rows > 0 ? r->plan->device->block_rows : BLOCK_UNITS;
    r->block_units = least_of(most, units);
    if (r->block_units < longest) r->block_units = longest;
    for (size_t s = 0; s <= r->spans; s++) r->span_from[s] = s * r->n / r->spans;
}

/* --- the order of inputs ------------------------------------------------------------------------------------------ */

/* Longer ones first, ties by number: so the order is unique, whatever the method of sorting. */
static int goes_before(const int32_t *length, int32_t a, int32_t b)
{
    return length[a] != length[b] ? length[a] > length[b] : a < b;
}

/* Shell's sort with Knuth's gaps 1, 4, 13, 40, ...: in place, nothing to allocate, and n is a few thousand at most. */
void dev_order(size_t n, const int32_t *length, int32_t *order)
{
    for (size_t i = 0; i < n; i++) order[i] = (int32_t)i;
    size_t gap = 1;
    while (gap < n / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < n; i++) {
            const int32_t moved = order[i];
            size_t j = i;
            for (; j >= gap && goes_before(length, moved, order[j - gap]); j -= gap) order[j] = order[j - gap];
            order[j] = moved;
        }
    }
}

/* Longest first, to each span in turn, so that each has long and short ones. */
static void deal(const dev_run *r, const int32_t *sorted, size_t *dealt, int32_t *order)
{
    size_t span = 0;
    memset(dealt, 0, r->spans * sizeof *dealt);
    for (size_t i = 0; i < r->n; i++, span = (span + 1) % r->spans) {
        while (r->span_from[span] + dealt[span] == r->span_from[span + 1]) span = (span + 1) % r->spans;
        order[r->span_from[span] + dealt[span]++] = sorted[i];
    }
}

/* --- what rows read ----------------------------------------------------------------------------------------------- */

/* The host's entries of an index that is a column's, and how many there are. */
static const int32_t *entries_of(const dev_run *r, int32_t index, size_t *count)
{
    const dev_index *i = &r->program->index[index];
    const rill_space space = r->program->column[i->a].space;
    *count = space == RILL_ROWS ? r->n : (size_t)r->start[r->program->space[space - 1].ragged][r->n];
    return r->arguments->columns[i->a];
}

/* The largest of a column's entries or, where they number elements of an array, of those elements. */
static size_t longest_entry(const dev_run *r, int32_t index, const int32_t *of, size_t elements)
{
    size_t count;
    const int32_t *entry = entries_of(r, index, &count);
    int32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        if (of != NULL && (entry[i] < 0 || (size_t)entry[i] >= elements)) continue;
        const int32_t length = of != NULL ? of[entry[i]] : entry[i];
        if (length > most) most = length;
    }
    return (size_t)most;
}

static size_t longest_list(const dev_run *r, int32_t index, rill_list list)
{
    const dev_lists_of *lists = &r->stream->list[list - 1];
    size_t count, most = 0;
    const int32_t *slot = entries_of(r, index, &count);
    for (size_t i = 0; i < count; i++)
        if (slot[i] >= 0 && (size_t)slot[i] < lists->count && lists->slot[slot[i]].n > most)
            most = lists->slot[slot[i]].n;
    return most;
}

static void note_list(dev_run *r, const dev_op *op, rill_list list)
{
    if (list == 0) return;
    const size_t n = longest_list(r, op->slot, list);
    if (n > r->list_longest[list]) r->list_longest[list] = n;
}

static void measure(dev_run *r)
{
    const dev_program *p = r->program;
    memset(r->list_longest, 0, (r->plan->lists + 1) * sizeof *r->list_longest);
    for (size_t i = 0; i < p->ops; i++) {
        const dev_op *op = &p->op[i];
        r->longest[i] = 0;
        if (op->kind == DEV_PRODUCT) note_list(r, op, op->as.product.list);
        if (op->kind == DEV_PATH) r->longest[i] = longest_entry(r, p->path[op->path].depth, NULL, 0) + 1;
        if (op->kind != DEV_ATTEND) continue;
        if (op->as.attend.own)
            r->longest[i] = longest_entry(r, dev_space_at(p, p->value[op->view[DEV_KEYS].of].space)->index, NULL, 0);
        else if (op->path >= 0)
            r->longest[i] = longest_entry(r, p->path[op->path].depth, NULL, 0) + 1;
        else
            r->longest[i] = longest_entry(r, op->slot, r->stream->units, r->stream->slots);
    }
}

/* --- the layout --------------------------------------------------------------------------------------------------- */

void dev_lay_out_spaces(dev_run *r, rill_carver *c)
{
    const dev_program *p = r->program;
    dev_layout *l = &r->layout;
    l->rows[RILL_ROWS] = r->block_rows;
    for (size_t s = 1; s <= p->spaces; s++) {
        const dev_space *space = &p->space[s - 1];
        const size_t of = l->rows[space->of];
        l->rows[s] = space->kind == DEV_RAGGED ? r->block_units : of;
        l->space_at[s] = dev_carve_at(c, l->rows[s], sizeof(int32_t));
        l->place_at[s] = dev_carve_at(c, space->kind == DEV_RAGGED ? 2 * of + 2 : of, sizeof(int32_t));
    }
    for (size_t i = 0; i < p->indices; i++)
        l->index_at[i] = dev_carve_at(c, l->rows[p->index[i].space], sizeof(int32_t));
}

void dev_lay_out_work(dev_run *r, rill_carver *c)
{
    const dev_program *p = r->program;
    size_t hashed = 0, places = 16;
    for (size_t s = 0; s < p->spaces; s++)
        if (p->space[s].kind == DEV_DISTINCT && r->layout.rows[p->space[s].of] > hashed)
            hashed = r->layout.rows[p->space[s].of];
    while (places < 2 * hashed) places *= 2;
    r->layout.pointers_at = dev_carve_at(c, 4 * (p->spaces + 1) + p->indices, sizeof(void *));
    r->layout.hash_at = dev_carve_at(c, hashed > 0 ? places : 0, sizeof(int32_t));
}

static void lay_out_values(dev_run *r, rill_carver *c)
{
    const dev_program *p = r->program;
    dev_layout *l = &r->layout;
    for (size_t i = 0; i < p->buffers; i++) {
        const dev_buffer *b = &p->buffer[i];
        const size_t width = b->list != 0 ? r->list_longest[b->list] : b->width;
        l->value_ld[i] = dev_padded(width > 0 ? width : 1);
        l->value_at[i] = dev_carve_at(c, l->rows[b->space], l->value_ld[i] * sizeof(float));
    }
}

static void lay_out_ops(dev_run *r, rill_carver *c)
{
    const dev_program *p = r->program;
    dev_layout *l = &r->layout;
    l->gemm_bytes = l->work_bytes = 0;
    for (size_t i = 0; i < p->ops; i++) {
        const dev_op *op = &p->op[i];
        const size_t gemm = dev_gemm_bytes(r, op), work = dev_op_work(r, op, i);
        if (gemm > l->gemm_bytes) l->gemm_bytes = gemm;
        if (work > l->work_bytes) l->work_bytes = work;
        if (op->kind == DEV_PATH)
            l->path_at[op->path] = dev_carve_at(c, l->rows[RILL_ROWS] * (r->longest[i] + 2), sizeof(int32_t));
    }
    l->gemm_at = dev_carve_at(c, l->gemm_bytes, 1);
    l->work_at = dev_carve_at(c, l->work_bytes, 1);
}

static rill_status lay_out_blocks(dev_run *r)
{
    rill_stream *s = r->stream;
    const size_t scratches = least_of(s->threads, r->spans);
    rill_carver c = {0};
    dev_lay_out_spaces(r, &c);
    dev_lay_out_work(r, &c);
    lay_out_values(r, &c);
    lay_out_ops(r, &c);
    r->layout.bytes = c.used;
    c.used = 0;
    (void)dev_carve_at(&c, scratches, r->layout.bytes);
    const rill_status status = rill_carve_again(s->ctx, &s->scratch, &s->scratch_room, &c);
    r->scratch = s->scratch;
    return status;
}

/* --- spans -------------------------------------------------------------------------------------------------------- */

/* Ask for the memories that a program's successor will read: they may be more than the caches hold, and attention jumps from one
 * to the next; but which ones is known here, a product earlier. */
static void fetch_expected(dev_block *b)
{
    const dev_run *r = b->run;
    const rill_stream *s = r->stream;
    for (size_t e = 0; e < r->program->expecteds; e++) {
        const dev_expected *expected = &r->program->expected[e];
        const int32_t *slot = dev_index_at(b, expected->slot);
        const size_t width = r->plan->table[expected->table].ld * sizeof(float);
        for (size_t i = 0; i < b->rows[RILL_ROWS]; i++) {
            if (i > 0 && slot[i] == slot[i - 1]) continue;
            const char *rows = (const char *)s->table[expected->table].rows + (size_t)s->first[slot[i]] * width;
            const size_t bytes = (size_t)s->units[slot[i]] * width;
            for (size_t at = 0; at < bytes; at += DEV_LINE) __builtin_prefetch(rows + at, 0, 2);
        }
    }
}

static void run_span(void *call, size_t span)
{
    const dev_run *r = call;
    rill_stream *s = r->stream;
    const size_t end = r->span_from[span + 1];
    size_t thread = 0;
    while (atomic_flag_test_and_set_explicit(&s->busy[thread], memory_order_acquire))
        thread = (thread + 1) % s->threads;
    dev_block b;
    dev_block_open(&b, r, thread);
    for (size_t from = r->span_from[span]; from < end; from += b.rows[RILL_ROWS]) {
        dev_block_begin(&b, from, end);
        fetch_expected(&b);
        for (size_t i = 0; i < r->program->ops; i++) {
            if (s->profiling)
                dev_profile_op(&b, &r->program->op[i]);
            else
                dev_op_run(&b, &r->program->op[i]);
        }
    }
    atomic_flag_clear_explicit(&s->busy[thread], memory_order_release);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

rill_status dev_sum_lengths(dev_run *r, size_t *units, size_t *longest)
{
    *units = *longest = 0;
    for (size_t s = 0; s < r->program->spaces; s++) {
        const dev_space *space = &r->program->space[s];
        if (space->kind != DEV_RAGGED) continue;
        const int32_t *length = r->arguments->columns[space->column - 1];
        int32_t *start = r->start[space->ragged];
        start[0] = 0;
        for (size_t i = 0; i < r->n; i++) {
            if (length[i] < 0 || length[i] > INT32_MAX - start[i])
                return rill_fail(r->stream->ctx, RILL_ERR_ARGUMENT, "program %s: the lengths of its inputs cannot be",
                                 r->program->name);
            start[i + 1] = start[i] + length[i];
            if ((size_t)length[i] > *longest) *longest = (size_t)length[i];
        }
        if ((size_t)start[r->n] > *units) *units = (size_t)start[r->n];
    }
    return RILL_OK;
}

void dev_lay_out_arrays(const dev_program *p, dev_layout *l, rill_carver *c)
{
    const size_t spaces = p->spaces + 1;
    l->rows = rill_carve(c, spaces, sizeof *l->rows);
    l->space_at = rill_carve(c, spaces, sizeof *l->space_at);
    l->place_at = rill_carve(c, spaces, sizeof *l->place_at);
    l->index_at = rill_carve(c, p->indices, sizeof *l->index_at);
    l->value_at = rill_carve(c, p->buffers, sizeof *l->value_at);
    l->value_ld = rill_carve(c, p->buffers, sizeof *l->value_ld);
    l->path_at = rill_carve(c, p->paths, sizeof *l->path_at);
}

/* The run's own arrays. */
static void lay_out_run(dev_run *r, rill_carver *c, size_t **dealt, int32_t **sorted)
{
    const dev_program *p = r->program;
    const size_t spans = r->stream->threads * SPANS_PER_THREAD;
    const int ordered = p->scan_space != 0;
    r->order = rill_carve(c, ordered ? r->n : 0, sizeof *r->order);
    *sorted = rill_carve(c, ordered ? r->n : 0, sizeof **sorted);
    *dealt = rill_carve(c, spans, sizeof **dealt);
    r->span_from = rill_carve(c, spans + 1, sizeof *r->span_from);
    r->start = rill_carve(c, p->ragged, sizeof *r->start);
    for (size_t i = 0; i < p->ragged; i++) {
        int32_t *start = rill_carve(c, r->n + 1, sizeof *start);
        if (c->base != NULL) r->start[i] = start;
    }
    r->longest = rill_carve(c, p->ops, sizeof *r->longest);
    r->list_longest = rill_carve(c, r->plan->lists + 1, sizeof *r->list_longest);
    r->legal = rill_carve(c, p->ops, sizeof *r->legal);
    for (size_t i = 0; i < p->ops; i++) {
        const size_t words = dev_legal_words(r, &p->op[i]);
        uint64_t *legal = rill_carve(c, words, sizeof *legal);
        if (c->base != NULL) r->legal[i] = words > 0 ? legal : NULL;
    }
    dev_lay_out_arrays(p, &r->layout, c);
    if (!ordered) r->order = NULL;
}

static rill_status prepare(dev_run *r)
{
    rill_stream *s = r->stream;
    size_t *dealt, units, longest;
    int32_t *sorted;
    rill_carver c = {0};
    lay_out_run(r, &c, &dealt, &sorted);
    rill_status status = rill_carve_again(s->ctx, &s->head, &s->head_room, &c);
    if (status != RILL_OK) return status;
    lay_out_run(r, &c, &dealt, &sorted);
    status = dev_sum_lengths(r, &units, &longest);
    if (status != RILL_OK) return status;
    measure(r);
    choose_cuts(r, units, longest);
    for (size_t i = 0; i < r->program->ops; i++)
        if (r->legal[i] != NULL) dev_legal_make(r, &r->program->op[i], r->legal[i]);
    if (r->order != NULL) {
        const dev_space *space = &r->program->space[r->program->scan_space - 1];
        dev_order(r->n, r->arguments->columns[space->column - 1], sorted);
        deal(r, sorted, dealt, (int32_t *)(uintptr_t)r->order);
    }
    return lay_out_blocks(r);
}

static rill_status check_arguments(const rill_stream *s, rill_program program, const rill_run_arguments *a)
{
    if (program < 1 || (size_t)program > s->plan->programs)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "there is no program %d", (int)program);
    const dev_program *p = &s->plan->program[program - 1];
    if (a->n < 0 || (a->n > 0 && p->columns > 0 && a->columns == NULL))
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "program %s: %d rows, or no columns", p->name, (int)a->n);
    if (a->late < 0 || a->late > DEV_GROUPS)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "program %s: there is no group %d", p->name, (int)a->late - 1);
    if (a->n > 0 && p->selects && a->selection == NULL)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "program %s gives choices, but none are asked for", p->name);
    return RILL_OK;
}

rill_status rill_stream_run(rill_stream *s, rill_program program, const rill_run_arguments *arguments)
{
    rill_status status = check_arguments(s, program, arguments);
    if (status != RILL_OK || arguments->n == 0) return status;
    if (s->plan->device->module != NULL)
        return s->plan->device->module->run(s, &s->plan->program[program - 1], arguments);
    dev_run r = {.stream = s,
                 .plan = s->plan,
                 .program = &s->plan->program[program - 1],
                 .arguments = arguments,
                 .kernels = &s->plan->device->kernels,
                 .n = (size_t)arguments->n};
    status = prepare(&r);
    if (status != RILL_OK) return status;
    if (r.program->selects && arguments->selection->most == 0)
        memset(arguments->selection->count, 0, r.n * sizeof *arguments->selection->count);
    rill_pool_run(r.inside ? NULL : s->pool, run_span, &r, r.spans);
    if (s->profiling) dev_profile_sum(&r);
    return RILL_OK;
}

rill_status rill_stream_collect(rill_stream *s, int32_t group)
{
    const dev_module *module = s->plan->device->module;
    if (group < 0 || group >= DEV_GROUPS)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "there is no group %d", (int)group);
    return module != NULL ? module->collect(s, group) : RILL_OK;
}
