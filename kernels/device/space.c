/* A block: which rows its spaces have, and the indices by which operations find theirs.
 *
 * Spaces are made at a block's beginning, in the order of their declaration, from columns as the host gave them. Indices are made
 * when an operation first asks; where a column's entries lie behind each other in the host's array they are that array.
 * Divisions: rows of the host · spaces · the block · indices · operands. */
#include "stream.h"

#include <string.h>

/* --- rows of the host --------------------------------------------------------------------------------------------- */

static size_t run_row(const dev_block *b, size_t row)
{
    const int32_t *order = b->run->order;
    return order != NULL ? (size_t)order[b->from + row] : b->from + row;
}

size_t dev_host_row(const dev_block *b, rill_space space, size_t row)
{
    for (; space != RILL_ROWS; space = dev_space_at(b->run->program, space)->of) {
        const dev_space *s = dev_space_at(b->run->program, space);
        const size_t up = (size_t)b->up[space][row];
        if (s->kind == DEV_RAGGED)
            return (size_t)b->run->start[s->ragged][run_row(b, up)] + row - (size_t)b->place[space][up];
        row = up;
    }
    return run_row(b, row);
}

/* --- spaces ------------------------------------------------------------------------------------------------------- */

static void make_where(dev_block *b, rill_space space, const dev_space *s)
{
    const int32_t *entry = dev_index_at(b, s->index);
    int32_t n = 0;
    for (size_t r = 0; r < b->rows[s->of]; r++) {
        if (s->placed) b->place[space][r] = entry[r] >= 0 ? n : -1;
        if (entry[r] >= 0) b->up[space][n++] = (int32_t)r;
    }
    b->rows[space] = (size_t)n;
}

/* Number the distinct values of a column in order of appearance; a small open-addressed table remembers them. Negative entries
 * stand for nothing. */
static void make_distinct(dev_block *b, rill_space space, const dev_space *s)
{
    const int32_t *entry = dev_index_at(b, s->index);
    const size_t rows = b->rows[s->of];
    size_t places = 16;
    while (places < 2 * rows) places *= 2;
    int32_t *table = (int32_t *)(void *)(b->scratch + b->run->layout.hash_at),
            n = 0; /* number, -1 for an empty place */
    int32_t *value = b->up[space];
    memset(table, 0xFF, places * sizeof *table);
    for (size_t r = 0; r < rows; r++) {
        if (entry[r] < 0) {
            b->place[space][r] = -1;
            continue;
        }
        size_t at = ((uint32_t)entry[r] * 2654435761u >> 7) & (places - 1);
        while (table[at] >= 0 && value[table[at]] != entry[r]) at = (at + 1) & (places - 1);
        if (table[at] < 0) {
            table[at] = n;
            value[n++] = entry[r];
        }
        b->place[space][r] = table[at];
    }
    b->rows[space] = (size_t)n;
}

static void make_ragged(dev_block *b, rill_space space, const dev_space *s)
{
    const int32_t *length = b->run->arguments->columns[s->column - 1];
    int32_t *first = b->place[space], n = 0;
    for (size_t r = 0; r < b->rows[RILL_ROWS]; r++) {
        const int32_t units = length[run_row(b, r)];
        first[r] = n;
        b->lengths[space][r] = units;
        for (int32_t t = 0; t < units; t++) b->up[space][n++] = (int32_t)r;
    }
    first[b->rows[RILL_ROWS]] = n;
    b->rows[space] = (size_t)n;
}

/* --- the block ---------------------------------------------------------------------------------------------------- */

void dev_block_open(dev_block *b, const dev_run *run, size_t thread)
{
    const dev_layout *l = &run->layout;
    const size_t spaces = run->program->spaces + 1;
    char *scratch = run->scratch + thread * l->bytes;
    *b = (dev_block){.run = run, .pool = run->inside ? run->stream->pool : NULL, .scratch = scratch, .thread = thread};
    void **pointer = (void **)(void *)(scratch + l->pointers_at);
    b->up = (int32_t **)(void *)pointer;
    b->place = (int32_t **)(void *)(pointer + spaces);
    b->lengths = (int32_t **)(void *)(pointer + 2 * spaces);
    b->rows = (size_t *)(void *)(pointer + 3 * spaces);
    b->index = (const int32_t **)(void *)(pointer + 4 * spaces);
    for (size_t s = 1; s < spaces; s++) {
        b->up[s] = (int32_t *)(void *)(scratch + l->space_at[s]);
        b->place[s] = (int32_t *)(void *)(scratch + l->place_at[s]);
        b->lengths[s] = b->place[s] + l->rows[RILL_ROWS] + 1;
    }
}

/* The units of a place: of the space that has most there. */
static size_t units_at(const dev_run *run, size_t place)
{
    const dev_program *p = run->program;
    const size_t row = run->order != NULL ? (size_t)run->order[place] : place;
    int32_t most = 0;
    for (size_t s = 0; s < p->spaces; s++) {
        if (p->space[s].kind != DEV_RAGGED) continue;
        const int32_t units = run->arguments->columns[p->space[s].column - 1][row];
        if (units > most) most = units;
    }
    return (size_t)most;
}

/* Places from `from` on whose units are not too many together; one at least. */
static size_t count_places(const dev_run *run, size_t from, size_t end)
{
    const size_t most = end - from < run->block_rows ? end - from : run->block_rows;
    if (run->program->ragged == 0) return most;
    size_t n = 0, units = 0;
    for (; n < most; n++) {
        units += units_at(run, from + n);
        if (n > 0 && units > run->block_units) break;
    }
    return n;
}

size_t dev_block_begin(dev_block *b, size_t from, size_t end)
{
    const dev_program *p = b->run->program;
    b->from = from;
    b->rows[RILL_ROWS] = count_places(b->run, from, end);
    memset(b->index, 0, p->indices * sizeof *b->index);
    for (rill_space space = 1; space <= (rill_space)p->spaces; space++) {
        const dev_space *s = dev_space_at(b->run->program, space);
        if (s->kind == DEV_WHERE)
            make_where(b, space, s);
        else if (s->kind == DEV_DISTINCT)
            make_distinct(b, space, s);
        else
            make_ragged(b, space, s);
    }
    return b->rows[RILL_ROWS];
}

/* --- indices ------------------------------------------------------------------------------------------------------ */

/* The host's own entries where they stand in the block's order, or NULL. */
static const int32_t *find_entries(const dev_block *b, const dev_index *i)
{
    const dev_run *run = b->run;
    const int32_t *column = run->arguments->columns[i->a];
    if (run->program->column[i->a].space != i->space || run->order != NULL) return NULL;
    if (i->space == RILL_ROWS) return column + b->from;
    return column + run->start[dev_space_at(b->run->program, i->space)->ragged][b->from];
}

/* Entries of a column for rows of its space or of one derived from it. */
static const int32_t *copy_entries(const dev_block *b, const dev_index *i, int32_t *out)
{
    const rill_space given = b->run->program->column[i->a].space;
    const int32_t *column = b->run->arguments->columns[i->a];
    for (size_t r = 0; r < b->rows[i->space]; r++) {
        size_t row = r;
        for (rill_space at = i->space; at != given; at = dev_space_at(b->run->program, at)->of)
            row = (size_t)b->up[at][row];
        out[r] = column[dev_host_row(b, given, row)];
    }
    return out;
}

/* The row of `to` that stands for a row of `from`, which `to` is derived from. */
static int32_t row_below(const dev_block *b, rill_space from, int32_t row, rill_space to)
{
    if (to == from) return row;
    const int32_t above = row_below(b, from, row, dev_space_at(b->run->program, to)->of);
    return above >= 0 ? b->place[to][above] : -1;
}

static const int32_t *make_map(const dev_block *b, rill_space space, rill_space to, int32_t *out)
{
    if (space != RILL_ROWS && dev_space_at(b->run->program, space)->of == to) return b->up[space];
    if (to != RILL_ROWS && dev_space_at(b->run->program, to)->of == space) return b->place[to];
    for (size_t r = 0; r < b->rows[space]; r++) {
        int32_t row = (int32_t)r;
        rill_space at = space;
        for (; !dev_is_derived(b->run->program, to, at); at = dev_space_at(b->run->program, at)->of)
            row = b->up[at][row];
        out[r] = row_below(b, at, row, to);
    }
    return out;
}

/* The input of a row. */
static int32_t input_of(const dev_block *b, rill_space space, size_t row)
{
    for (; space != RILL_ROWS; space = dev_space_at(b->run->program, space)->of) row = (size_t)b->up[space][row];
    return (int32_t)row;
}

static const int32_t *make_own(const dev_block *b, rill_space space, int32_t *out)
{
    if (dev_space_at(b->run->program, space)->kind == DEV_DISTINCT) return b->up[space];
    for (size_t r = 0; r < b->rows[space]; r++) out[r] = (int32_t)r - b->place[space][b->up[space][r]];
    return out;
}

static const int32_t *make_index(dev_block *b, const dev_index *i, int32_t *out)
{
    const size_t rows = b->rows[i->space];
    const int32_t *x, *y;
    switch (i->kind) {
    case DEV_MAP: return make_map(b, i->space, i->a, out);
    case DEV_OWN: return make_own(b, i->space, out);
    case DEV_COLUMN: x = find_entries(b, i); return x != NULL ? x : copy_entries(b, i, out);
    case DEV_UNIT:
        x = dev_index_at(b, i->b);
        for (size_t r = 0; r < rows; r++) out[r] = b->place[i->a][input_of(b, i->space, r)] + x[r];
        return out;
    case DEV_IN:
        x = dev_index_at(b, i->a);
        y = dev_index_at(b, i->b);
        for (size_t r = 0; r < rows; r++) out[r] = b->run->stream->first[x[r]] + y[r];
        return out;
    }
    return out;
}

const int32_t *dev_index_at(dev_block *b, int32_t index)
{
    if (index == DEV_NO_INDEX) return NULL;
    if (b->index[index] == NULL) {
        int32_t *out = (int32_t *)(void *)(b->scratch + b->run->layout.index_at[index]);
        b->index[index] = make_index(b, &b->run->program->index[index], out);
    }
    return b->index[index];
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

rill_operand dev_rows_at(dev_block *b, const dev_operand *o)
{
    static const float nothing[DEV_PAD]; /* of tables without rows */
    const dev_run *run = b->run;
    rill_operand rows = {.index = dev_index_at(b, o->index)};
    if (o->base == DEV_VALUE) {
        const int32_t buffer = run->program->value[o->of].buffer;
        rows.at = (float *)(void *)(b->scratch + run->layout.value_at[buffer]);
        rows.ld = run->layout.value_ld[buffer];
    } else if (o->base == DEV_TABLE) {
        rows.at = run->stream->table[o->of].rows;
        rows.ld = run->plan->table[o->of].ld;
        if (rows.at == NULL)
            return (rill_operand){.at = (float *)(uintptr_t)nothing, .ld = rows.ld, .index = rows.index};
    } else if (o->base == DEV_CONSTANT) {
        rows.at = (float *)(uintptr_t)run->plan->constant[o->of].data;
        rows.ld = run->plan->constant[o->of].width;
    }
    if (rows.at != NULL) rows.at += o->first;
    return rows;
}
