/* Runs on any device: lengths measured from a run's arguments, and the layout of its buffers. */
#include "backend.h"

#include <string.h>

/* --- offsets of arrays -------------------------------------------------------------------------------------------- */

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

size_t dev_add_guard(dev_run *r, size_t end)
{
    if (r->guard == NULL) return 0;
    r->guard[r->n_guards++] = end;
    return DEV_GUARD;
}

static size_t lay_out_array(dev_run *r, rill_carver *c, size_t count, size_t size)
{
    const size_t offset = dev_carve_offset(c, count, size);
    c->used += dev_add_guard(r, offset + count * size);
    return offset;
}

/* --- sorting sequences by length ---------------------------------------------------------------------------------- */

/* Return 1 if sequence a comes before b: longer sequences first, then smaller numbers. The order is total, so every sorting method gives
 * the same result. */
static int is_longer(const int32_t *length, int32_t a, int32_t b)
{
    return length[a] != length[b] ? length[a] > length[b] : a < b;
}

/* Shell's sort with Knuth's gaps 1, 4, 13, 40, ...: in place, without allocation. n is a few thousand at most. */
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

/* --- checking columns --------------------------------------------------------------------------------------------- */

/* Return the host's entries of the column that an index reads. *count = number of entries. */
static const int32_t *column_entries(const dev_run *r, int32_t index, size_t *count)
{
    const dev_index *i = &r->graph->index[index];
    const rill_index_space space = r->graph->column[i->a].space;
    *count = space == RILL_ROWS ? r->n : (size_t)r->unit_start[r->graph->space[space - 1].ragged_index][r->n];
    return r->arguments->columns[i->a];
}

/* Return the largest entry of a column. With elem_length [elements], each entry is the number of an element: return the largest elem_length
 * among these elements, and skip invalid numbers. */
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

/* Return the number of symbols in the longest vocabulary subset among the inputs of an operation's rows. */
static size_t max_subset_size(const dev_run *r, const dev_op *op)
{
    size_t count, max = 0;
    const int32_t *slot = column_entries(r, op->slot, &count);
    for (size_t i = 0; i < count; i++) {
        if (slot[i] < 0 || (size_t)slot[i] >= r->session->n_slots) continue;
        const size_t n = dev_get_subset(r->session, (size_t)dev_op_subset(op) - 1, slot[i])->n;
        if (n > max) max = n;
    }
    return max;
}

static size_t attended_length(const dev_run *r, const dev_op *op)
{
    const dev_graph *p = r->graph;
    if (op->as.attend.own_units)
        return max_entry(r, dev_get_space(p, p->tensor[op->view[ATTEND_keys].element].space)->index, NULL, 0);
    if (op->path >= 0) return max_entry(r, p->path[op->path].depth, NULL, 0) + 1;
    return max_entry(r, op->slot, r->session->units, r->session->n_slots);
}

static void measure_lengths(dev_run *r)
{
    for (size_t i = 0; i < r->graph->n_ops; i++) {
        const dev_op *op = &r->graph->op[i];
        const rill_vocab_subset subset = dev_op_subset(op);
        const size_t n = subset != 0 ? max_subset_size(r, op) : 0;
        if (n > r->max_subset[subset]) r->max_subset[subset] = n;
        r->max_length[i] = 0;
        if (op->kind == RILL_OP_PATH) r->max_length[i] = max_entry(r, r->graph->path[op->path].depth, NULL, 0) + 1;
        if (op->kind == RILL_OP_ATTEND) r->max_length[i] = attended_length(r, op);
    }
}

static rill_status sum_lengths(dev_run *r)
{
    r->units = r->longest = 0;
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
            if ((size_t)length[i] > r->longest) r->longest = (size_t)length[i];
        }
        if ((size_t)start[r->n] > r->units) r->units = (size_t)start[r->n];
    }
    return RILL_OK;
}

rill_status dev_measure_run(dev_run *r)
{
    memset(r->max_subset, 0, (r->network->n_subsets + 1) * sizeof *r->max_subset);
    const rill_status status = sum_lengths(r);
    if (status == RILL_OK) measure_lengths(r);
    return status;
}

/* --- layout of a run's memory ------------------------------------------------------------------------------------- */

void dev_carve_run(dev_run *r, rill_carver *c)
{
    const dev_graph *p = r->graph;
    const size_t spaces = p->n_spaces + 1;
    dev_layout *l = &r->layout;
    l->max_rows = rill_carve(c, spaces, sizeof *l->max_rows);
    l->parent_row_offset = rill_carve(c, spaces, sizeof *l->parent_row_offset);
    l->child_row_offset = rill_carve(c, spaces, sizeof *l->child_row_offset);
    l->index_offset = rill_carve(c, p->n_indices, sizeof *l->index_offset);
    l->path_offset = rill_carve(c, p->n_paths, sizeof *l->path_offset);
    l->entry_offset = rill_carve(c, p->n_paths, sizeof *l->entry_offset);
    l->tensor_offset = rill_carve(c, p->n_buffers, sizeof *l->tensor_offset);
    l->tensor_ld = rill_carve(c, p->n_buffers, sizeof *l->tensor_ld);
    l->copy_offset = rill_carve(c, p->n_buffers, sizeof *l->copy_offset);
    r->max_length = rill_carve(c, p->n_ops, sizeof *r->max_length);
    r->max_subset = rill_carve(c, r->network->n_subsets + 1, sizeof *r->max_subset);
    r->unit_start = rill_carve(c, p->n_ragged, sizeof *r->unit_start);
    for (size_t i = 0; i < p->n_ragged; i++) {
        int32_t *start = rill_carve(c, r->n + 1, sizeof *start);
        if (c->base != NULL) r->unit_start[i] = start;
    }
}

void dev_lay_out_host(dev_run *r, rill_carver *c)
{
    const dev_graph *p = r->graph;
    dev_layout *l = &r->layout;
    l->max_rows[RILL_ROWS] = r->block_rows;
    for (size_t s = 1; s <= p->n_spaces; s++) {
        const dev_index_space *space = &p->space[s - 1];
        const size_t parent_rows = l->max_rows[space->parent];
        l->max_rows[s] = space->kind == DEV_SPACE_RAGGED ? r->block_units : parent_rows;
        l->parent_row_offset[s] = lay_out_array(r, c, l->max_rows[s], sizeof(int32_t));
        l->child_row_offset[s] = lay_out_array(
            r, c, space->kind == DEV_SPACE_RAGGED ? 2 * parent_rows + 2 : parent_rows, sizeof(int32_t));
    }
    for (size_t i = 0; i < p->n_indices; i++)
        l->index_offset[i] = lay_out_array(r, c, l->max_rows[p->index[i].space], sizeof(int32_t));
    for (size_t i = 0; i < p->n_paths; i++) l->path_offset[i] = lay_out_array(r, c, 2 * r->block_rows, sizeof(int32_t));
}

void dev_lay_out_host_work(dev_run *r, rill_carver *c)
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

void dev_lay_out_tensors(dev_run *r, const size_t *rows, const size_t *copy_bytes, rill_carver *c)
{
    const dev_graph *p = r->graph;
    dev_layout *l = &r->layout;
    for (size_t i = 0; i < p->n_buffers; i++) {
        const dev_buffer *b = &p->buffer[i];
        const size_t width = b->subset != 0 ? r->max_subset[b->subset] : b->width;
        l->tensor_ld[i] = dev_padded(width > 0 ? width : 1);
        l->tensor_offset[i] = lay_out_array(r, c, rows[b->space], l->tensor_ld[i] * sizeof(float));
        l->copy_offset[i] = lay_out_array(r, c, rows[b->space], copy_bytes != NULL ? copy_bytes[i] : 0);
    }
}

void dev_lay_out_paths(dev_run *r, const size_t *path_entries, rill_carver *c)
{
    for (size_t i = 0; i < r->graph->n_paths; i++)
        r->layout.entry_offset[i] = lay_out_array(r, c, path_entries[i], sizeof(int32_t));
}

/* --- running a graph ---------------------------------------------------------------------------------------------- */

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
    const rill_status status = check_arguments(s, graph, arguments);
    if (status != RILL_OK || arguments->n == 0) return status;
    return s->network->device->backend->run(s, &s->network->graph[graph - 1], arguments);
}

rill_status rill_session_collect(rill_session *s, int32_t group)
{
    if (group < 0 || group >= DEV_GROUPS)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "group %d does not exist", (int)group);
    const dev_backend *backend = s->network->device->backend;
    return backend->collect != NULL ? backend->collect(s, group) : RILL_OK;
}
