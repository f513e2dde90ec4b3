/* A block's rows in every index space, and the indices of operands.
 *
 * An index space is a set of rows, such as a column's distinct values. An index maps an operation's rows to an operand's. */
#include "backend.h"

#include <string.h>

/* --- rows known on the host --------------------------------------------------------------------------------------- */

static size_t run_row(const dev_block *b, size_t row)
{
    const int32_t *order = b->run->order;
    return order != NULL ? (size_t)order[b->begin + row] : b->begin + row;
}

size_t dev_ancestor_row(const dev_block *b, rill_index_space space, size_t row, rill_index_space to)
{
    for (; space != to; space = dev_get_space(b->run->graph, space)->parent) row = (size_t)b->parent_row[space][row];
    return row;
}

size_t dev_host_row(const dev_block *b, rill_index_space space, size_t row)
{
    for (; space != RILL_ROWS; space = dev_get_space(b->run->graph, space)->parent) {
        const dev_index_space *s = dev_get_space(b->run->graph, space);
        const size_t up = (size_t)b->parent_row[space][row];
        if (s->kind == DEV_SPACE_RAGGED)
            return (size_t)b->run->unit_start[s->ragged_index][run_row(b, up)] + row - (size_t)b->child_row[space][up];
        row = up;
    }
    return run_row(b, row);
}

/* --- index spaces ------------------------------------------------------------------------------------------------- */

static void make_where(dev_block *b, rill_index_space space, const dev_index_space *s)
{
    const int32_t *entry = dev_index_entries(b, s->index);
    int32_t n = 0;
    for (size_t r = 0; r < b->rows[s->parent]; r++) {
        if (s->needs_child_rows) b->child_row[space][r] = entry[r] >= 0 ? n : -1;
        if (entry[r] >= 0) b->parent_row[space][n++] = (int32_t)r;
    }
    b->rows[space] = (size_t)n;
}

/* Number the distinct values of a column in order of appearance, by an open-addressed hash table. Negative values get
 * no row. */
static void make_distinct(dev_block *b, rill_index_space space, const dev_index_space *s)
{
    const int32_t *entry = dev_index_entries(b, s->index);
    const size_t rows = b->rows[s->parent];
    size_t places = 16;
    while (places < 2 * rows) places *= 2;
    /* [places] hash table with the row number of each value; -1: the place is empty */
    int32_t *table = (int32_t *)(void *)(b->host + b->run->layout.hash_offset);
    int32_t n = 0;
    int32_t *value = b->parent_row[space];
    memset(table, 0xFF, places * sizeof *table);
    for (size_t r = 0; r < rows; r++) {
        if (entry[r] < 0) {
            b->child_row[space][r] = -1;
            continue;
        }
        size_t bucket = ((uint32_t)entry[r] * 2654435761u >> 7) & (places - 1);
        while (table[bucket] >= 0 && value[table[bucket]] != entry[r]) bucket = (bucket + 1) & (places - 1);
        if (table[bucket] < 0) {
            table[bucket] = n;
            value[n++] = entry[r];
        }
        b->child_row[space][r] = table[bucket];
    }
    b->rows[space] = (size_t)n;
}

static void make_ragged(dev_block *b, rill_index_space space, const dev_index_space *s)
{
    const int32_t *length = b->run->arguments->columns[s->column - 1];
    int32_t *first = b->child_row[space], n = 0;
    for (size_t r = 0; r < b->rows[RILL_ROWS]; r++) {
        const int32_t units = length[run_row(b, r)];
        first[r] = n;
        b->lengths[space][r] = units;
        for (int32_t t = 0; t < units; t++) b->parent_row[space][n++] = (int32_t)r;
    }
    first[b->rows[RILL_ROWS]] = n;
    b->rows[space] = (size_t)n;
}

/* --- rows of a block ---------------------------------------------------------------------------------------------- */

void dev_block_open(dev_block *b, const dev_run *run, char *host)
{
    const dev_layout *l = &run->layout;
    const size_t spaces = run->graph->n_spaces + 1;
    *b = (dev_block){.run = run, .host = host};
    void **pointer = (void **)(void *)(host + l->pointers_offset);
    b->parent_row = (int32_t **)(void *)pointer;
    b->child_row = (int32_t **)(void *)(pointer + spaces);
    b->lengths = (int32_t **)(void *)(pointer + 2 * spaces);
    b->rows = (size_t *)(void *)(pointer + 3 * spaces);
    b->index = (const int32_t **)(void *)(pointer + 4 * spaces);
    for (size_t s = 1; s < spaces; s++) {
        b->parent_row[s] = (int32_t *)(void *)(host + l->parent_row_offset[s]);
        b->child_row[s] = (int32_t *)(void *)(host + l->child_row_offset[s]);
        b->lengths[s] = b->child_row[s] + l->max_rows[RILL_ROWS] + 1;
    }
}

/* Return the number of tokens of the row at position `place` of the run: the largest over the ragged index spaces. */
static size_t row_units(const dev_run *run, size_t place)
{
    const dev_graph *p = run->graph;
    const size_t row = run->order != NULL ? (size_t)run->order[place] : place;
    int32_t max = 0;
    for (size_t s = 0; s < p->n_spaces; s++) {
        if (p->space[s].kind != DEV_SPACE_RAGGED) continue;
        const int32_t units = run->arguments->columns[p->space[s].column - 1][row];
        if (units > max) max = units;
    }
    return (size_t)max;
}

/* Return how many of the run's rows from `from` on fit in one block by their number of tokens; at least one. */
static size_t count_block_rows(const dev_run *run, size_t from, size_t end)
{
    const size_t max = end - from < run->block_rows ? end - from : run->block_rows;
    if (run->graph->n_ragged == 0) return max;
    size_t n = 0, units = 0;
    for (; n < max; n++) {
        units += row_units(run, from + n);
        if (n > 0 && units > run->block_units) break;
    }
    return n;
}

size_t dev_block_begin(dev_block *b, size_t from, size_t end)
{
    const dev_graph *p = b->run->graph;
    b->begin = from;
    b->rows[RILL_ROWS] = count_block_rows(b->run, from, end);
    memset(b->index, 0, p->n_indices * sizeof *b->index);
    for (rill_index_space space = 1; space <= (rill_index_space)p->n_spaces; space++) {
        const dev_index_space *s = dev_get_space(b->run->graph, space);
        if (s->kind == DEV_SPACE_WHERE)
            make_where(b, space, s);
        else if (s->kind == DEV_SPACE_DISTINCT)
            make_distinct(b, space, s);
        else
            make_ragged(b, space, s);
    }
    return b->rows[RILL_ROWS];
}

/* --- indices of rows ---------------------------------------------------------------------------------------------- */

/* Return the block's part of the column in the host's array, or NULL if the entries are not contiguous there. */
static const int32_t *contiguous_entries(const dev_block *b, const dev_index *i)
{
    const dev_run *run = b->run;
    const int32_t *column = run->arguments->columns[i->a];
    if (run->graph->column[i->a].space != i->space || run->order != NULL) return NULL;
    if (i->space == RILL_ROWS) return column + b->begin;
    return column + run->unit_start[dev_get_space(b->run->graph, i->space)->ragged_index][b->begin];
}

/* Copy to `out` the column's entry for each row of the index's index space, which is the column's own or derived from it. */
static const int32_t *copy_entries(const dev_block *b, const dev_index *i, int32_t *out)
{
    const rill_index_space column_space = b->run->graph->column[i->a].space;
    const int32_t *column = b->run->arguments->columns[i->a];
    for (size_t r = 0; r < b->rows[i->space]; r++) {
        const size_t row = dev_ancestor_row(b, i->space, r, column_space);
        out[r] = column[dev_host_row(b, column_space, row)];
    }
    return out;
}

/* Return the row of space `to`, derived from `from`, that belongs to a row of `from`; -1: none does. */
static int32_t descendant_row(const dev_block *b, rill_index_space from, int32_t row, rill_index_space to)
{
    if (to == from) return row;
    const int32_t above = descendant_row(b, from, row, dev_get_space(b->run->graph, to)->parent);
    return above >= 0 ? b->child_row[to][above] : -1;
}

static const int32_t *make_map(const dev_block *b, rill_index_space space, rill_index_space to, int32_t *out)
{
    if (space != RILL_ROWS && dev_get_space(b->run->graph, space)->parent == to) return b->parent_row[space];
    if (to != RILL_ROWS && dev_get_space(b->run->graph, to)->parent == space) return b->child_row[to];
    for (size_t r = 0; r < b->rows[space]; r++) {
        int32_t row = (int32_t)r;
        rill_index_space cur = space;
        for (; !dev_is_derived(b->run->graph, to, cur); cur = dev_get_space(b->run->graph, cur)->parent)
            row = b->parent_row[cur][row];
        out[r] = descendant_row(b, cur, row, to);
    }
    return out;
}

static const int32_t *make_own_numbers(const dev_block *b, rill_index_space space, int32_t *out)
{
    if (dev_get_space(b->run->graph, space)->kind == DEV_SPACE_DISTINCT) return b->parent_row[space];
    for (size_t r = 0; r < b->rows[space]; r++) out[r] = (int32_t)r - b->child_row[space][b->parent_row[space][r]];
    return out;
}

static const int32_t *make_index(dev_block *b, const dev_index *i, int32_t *out)
{
    const size_t rows = b->rows[i->space];
    const int32_t *x, *y;
    switch (i->kind) {
    case DEV_INDEX_MAP: return make_map(b, i->space, i->a, out);
    case DEV_INDEX_OWN: return make_own_numbers(b, i->space, out);
    case DEV_INDEX_COLUMN: x = contiguous_entries(b, i); return x != NULL ? x : copy_entries(b, i, out);
    case DEV_INDEX_UNIT:
        x = dev_index_entries(b, i->b);
        for (size_t r = 0; r < rows; r++)
            out[r] = b->child_row[i->a][dev_ancestor_row(b, i->space, r, RILL_ROWS)] + x[r];
        return out;
    case DEV_INDEX_RAGGED:
        x = dev_index_entries(b, i->a);
        y = dev_index_entries(b, i->b);
        for (size_t r = 0; r < rows; r++) out[r] = b->run->session->first[x[r]] + y[r];
        return out;
    }
    return out;
}

const int32_t *dev_index_entries(dev_block *b, int32_t index)
{
    if (index == DEV_NO_INDEX) return NULL;
    if (b->index[index] == NULL) {
        int32_t *out = (int32_t *)(void *)(b->host + b->run->layout.index_offset[index]);
        b->index[index] = make_index(b, &b->run->graph->index[index], out);
    }
    return b->index[index];
}

/* --- paths and lists of keys -------------------------------------------------------------------------------------- */

/* Return two arrays in one: first entry and length of each row's path (state ids from the root to its own). */
static int32_t *path_array(const dev_block *b, int32_t path)
{
    return (int32_t *)(void *)(b->host + b->run->layout.path_offset[path]);
}

size_t dev_make_path(dev_block *b, const dev_op *op)
{
    const int32_t *depth = dev_index_entries(b, b->run->graph->path[op->path].depth);
    int32_t *first = path_array(b, op->path), *length = first + b->run->block_rows, used = 0;
    for (size_t r = 0; r < b->rows[RILL_ROWS]; r++) {
        first[r] = used;
        length[r] = depth[r] + 1;
        used += length[r];
    }
    return (size_t)used;
}

dev_memory dev_attended_memory(dev_block *b, const dev_op *op)
{
    const dev_graph *p = b->run->graph;
    const rill_session *s = b->run->session;
    const int32_t *slot = dev_index_entries(b, op->slot);
    if (op->as.attend.own_units) {
        const rill_index_space space = p->tensor[op->view[ATTEND_keys].element].space;
        return (dev_memory){b->child_row[space], b->lengths[space], slot};
    }
    if (op->path < 0) return (dev_memory){s->first, s->units, slot};
    const int32_t *first = path_array(b, op->path);
    return (dev_memory){first, first + b->run->block_rows, slot};
}
