/* Sessions have the data that outlives a run: slots, vocabulary subsets, table sizes. A slot holds an input in flight. Its rows in ragged
 * tables are a range.
 *
 * Invariant: slots' ranges do not overlap, and a failed call changes no slot. */
#include "backend.h"

#include <string.h>

/* --- ranges of table rows ----------------------------------------------------------------------------------------- */

static void remove_range(dev_ranges *r, size_t index)
{
    r->count--;
    memmove(r->free + index, r->free + index + 1, (r->count - index) * sizeof *r->free);
}

int32_t dev_ranges_take(dev_ranges *r, int32_t count)
{
    for (size_t i = 0; i < r->count; i++) {
        dev_range *f = &r->free[i];
        if (f->count < count) continue;
        const int32_t first = f->first;
        f->first += count;
        f->count -= count;
        if (f->count == 0) remove_range(r, i);
        return first;
    }
    if (count > INT32_MAX - r->end) return -1;
    r->end += count;
    return r->end - count;
}

void dev_ranges_give(dev_ranges *r, int32_t first, int32_t count)
{
    size_t index = 0; /* index of the first free range after the released one */
    while (index < r->count && r->free[index].first < first) index++;
    if (count <= 0) return;
    if (index > 0 && r->free[index - 1].first + r->free[index - 1].count == first) {
        index--;
        r->free[index].count += count;
    } else {
        memmove(r->free + index + 1, r->free + index, (r->count - index) * sizeof *r->free);
        r->free[index] = (dev_range){first, count};
        r->count++;
    }
    if (index + 1 < r->count && r->free[index].first + r->free[index].count == r->free[index + 1].first) {
        r->free[index].count += r->free[index + 1].count;
        remove_range(r, index + 1);
    }
    /* no range in use follows: the unused rows now begin at this free range */
    if (r->free[index].first + r->free[index].count == r->end) {
        r->end = r->free[index].first;
        r->count = index;
    }
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

rill_status rill_session_open(rill_session **out, rill_context *ctx, const rill_network *network, int threads)
{
    *out = NULL;
    if (!network->finished) return rill_fail(ctx, RILL_ERR_ARGUMENT, "the session's network is not finished");
    rill_session *s = *out = rill_calloc(ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "a session");
    s->ctx = ctx;
    s->network = network;
    s->n_threads = 1;
    s->table = rill_calloc(ctx, network->n_tables + 1, sizeof *s->table);
    rill_status status = RILL_OK;
    if (s->table == NULL) status = rill_fail_memory(ctx, (network->n_tables + 1) * sizeof *s->table, "a session");
    if (status == RILL_OK) status = network->device->backend->session_open(s, threads);
    return RILL_OPENED(status, out, rill_session_close);
}

void rill_session_close(rill_session *s)
{
    if (s == NULL) return;
    const rill_network *network = s->network;
    network->device->backend->session_close(s);
    for (size_t i = 0; i < s->n_slots * network->n_subsets; i++)
        rill_free(s->ctx, s->subset[i].id, s->subset[i].capacity * sizeof *s->subset[i].id);
    rill_free(s->ctx, s->table, (network->n_tables + 1) * sizeof *s->table);
    rill_columns_free(s->ctx, &s->slot_memory);
    rill_free(s->ctx, s->moves, s->moves_capacity);
    rill_free(s->ctx, s->counter, s->counter_capacity * sizeof *s->counter);
    rill_free(s->ctx, s, sizeof *s);
}

/* --- rows of tables ----------------------------------------------------------------------------------------------- */

static const dev_backend *get_backend(const rill_session *s)
{
    return s->network->device->backend;
}

const dev_table *dev_get_table(const rill_network *network, size_t idx)
{
    static const dev_table parents = {.kind = RILL_TABLE_NODES, .width = 1, .ld = 1, .name = "paths"};
    return idx < network->n_tables ? &network->table[idx] : &parents;
}

static rill_status grow_table(rill_session *s, size_t idx, size_t rows)
{
    return rows > s->table[idx].capacity ? get_backend(s)->grow(s, idx, rows) : RILL_OK;
}

static rill_status grow_tables(rill_session *s, rill_table_kind kind, size_t rows)
{
    for (size_t i = 0; i < s->network->n_tables; i++) {
        if (s->network->table[i].kind != kind) continue;
        const rill_status status = grow_table(s, i, rows);
        if (status != RILL_OK) return status;
    }
    return RILL_OK;
}

static int has_paths(const rill_network *network)
{
    for (size_t i = 0; i < network->n_graphs; i++)
        if (network->graph[i].n_paths > 0) return 1;
    return 0;
}

/* Add empty slots until there are `slots` slots. */
static rill_status add_slots(rill_session *s, size_t slots)
{
    /* twice the slots, because rill_session_set_slots() holds an old and a new range per slot */
    const rill_array columns[] = {RILL_ARRAY(s->first),
                                  RILL_ARRAY(s->capacity),
                                  RILL_ARRAY(s->units),
                                  {&s->ranges.free, 2 * sizeof *s->ranges.free},
                                  {&s->subset, s->network->n_subsets * sizeof *s->subset}};
    rill_status status = grow_tables(s, RILL_TABLE_SLOTS, slots);
    if (status == RILL_OK) status = rill_columns_grow(s->ctx, &s->slot_memory, slots + 1, columns, 5, "slots");
    if (status == RILL_OK) s->n_slots = slots;
    return status;
}

rill_status rill_session_reserve(rill_session *s, int32_t nodes, int32_t slots)
{
    rill_status status = grow_tables(s, RILL_TABLE_NODES, (size_t)nodes);
    if (status == RILL_OK && has_paths(s->network)) status = grow_table(s, s->network->n_tables, (size_t)nodes);
    return status == RILL_OK && (size_t)slots > s->n_slots ? add_slots(s, (size_t)slots) : status;
}

rill_status rill_session_fill(rill_session *s, rill_table table, int32_t first, int32_t n, const float *rows)
{
    if (table < 1 || (size_t)table > s->network->n_tables || s->network->table[table - 1].kind != RILL_TABLE_HOST)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "table %d cannot be written by the host", (int)table);
    dev_table_rows *to = &s->table[table - 1];
    const dev_table *def = &s->network->table[table - 1];
    if (first < 0 || n < 0 || (size_t)first > to->count || n > INT32_MAX - first)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "table %s: rows %d to %d do not follow its %zu rows", def->name,
                         (int)first, (int)(first + n), to->count);
    const size_t end = (size_t)first + (size_t)n;
    rill_status status = grow_table(s, (size_t)table - 1, end);
    if (status == RILL_OK) status = get_backend(s)->write(s, (size_t)table - 1, (size_t)first, (size_t)n, rows);
    if (status != RILL_OK) return status;
    if (end > to->count) to->count = end;
    return RILL_OK;
}

rill_status rill_session_read(const rill_session *s, rill_table table, int32_t row, int32_t first, int32_t n,
                              float *rows)
{
    if (table < 1 || (size_t)table > s->network->n_tables || row < 0 || first < 0 || n < 0)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "table %d has no row %d", (int)table, (int)row);
    const dev_table *def = &s->network->table[table - 1];
    const int ragged = def->kind == RILL_TABLE_RAGGED;
    const int64_t end = (int64_t)first + n, from = ragged && (size_t)row < s->n_slots ? s->first[row] : row;
    if (ragged ? end > rill_session_units(s, row) : from + end > (int64_t)s->table[table - 1].capacity)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "table %s: %d rows of slot or row %d, from %d on, do not exist",
                         def->name, (int)n, (int)row, (int)first);
    return get_backend(s)->read(s, (size_t)table - 1, (size_t)(from + first), (size_t)n, rows);
}

/* --- table rows of inputs ----------------------------------------------------------------------------------------- */

/* A slot whose range of rows is being replaced, and its old range. */
typedef struct range_move {
    int32_t slot;
    dev_range old;
} range_move;

static rill_status move_slot(rill_session *s, int32_t slot, int32_t units, range_move *m)
{
    const int32_t first = dev_ranges_take(&s->ranges, units);
    if (first < 0) return rill_fail(s->ctx, RILL_ERR_MEMORY, "the slots have more rows than 32 bits can number");
    *m = (range_move){.slot = slot, .old = {s->first[slot], s->capacity[slot]}};
    s->first[slot] = first;
    s->capacity[slot] = units;
    return RILL_OK;
}

/* Finish replacing the ranges of slots: with `keep` free the old ranges, else free the new ones and restore the old. */
static void settle_range_moves(rill_session *s, range_move *m, size_t moves, int keep)
{
    while (moves-- > 0) {
        const dev_range now = {s->first[m[moves].slot], s->capacity[m[moves].slot]}, old = m[moves].old;
        dev_ranges_give(&s->ranges, keep ? old.first : now.first, keep ? old.count : now.count);
        if (keep) continue;
        s->first[m[moves].slot] = old.first;
        s->capacity[m[moves].slot] = old.count;
    }
}

rill_status rill_session_set_slots(rill_session *s, int32_t n, const int32_t *slots, const int32_t *units)
{
    rill_status status = rill_grow(s->ctx, (void **)&s->moves, &s->moves_capacity, (size_t)n * sizeof(range_move), 1,
                                   "slots");
    range_move *moves = (range_move *)(void *)s->moves;
    size_t moved = 0;
    for (int32_t i = 0; i < n && status == RILL_OK; i++) {
        if (s->capacity[slots[i]] >= units[i]) continue;
        status = move_slot(s, slots[i], units[i], &moves[moved]);
        moved += status == RILL_OK;
    }
    if (status == RILL_OK) status = grow_tables(s, RILL_TABLE_RAGGED, (size_t)s->ranges.end);
    settle_range_moves(s, moves, moved, status == RILL_OK);
    for (int32_t i = 0; i < n && status == RILL_OK; i++) s->units[slots[i]] = units[i];
    return status;
}

int32_t rill_session_units(const rill_session *s, int32_t slot)
{
    return slot >= 0 && (size_t)slot < s->n_slots ? s->units[slot] : 0;
}

/* Empty an input's vocabulary subset. Weights are freed too, because memory limits count only slots in use. */
static void drop_subset(rill_session *s, size_t idx, int32_t slot)
{
    dev_slot_subset *l = dev_get_subset(s, idx, slot);
    l->n = 0;
    (void)get_backend(s)->set_subset(s, idx, slot);
    if (s->network->subset[idx].rows == 0) return;
    rill_free(s->ctx, l->id, l->capacity * sizeof *l->id);
    *l = (dev_slot_subset){.n = 0};
}

void rill_session_drop(rill_session *s, int32_t slot)
{
    if (slot < 0 || (size_t)slot >= s->n_slots) return;
    dev_ranges_give(&s->ranges, s->first[slot], s->capacity[slot]);
    s->first[slot] = s->capacity[slot] = s->units[slot] = 0;
    for (size_t i = 0; i < s->network->n_subsets; i++) drop_subset(s, i, slot);
}

/* --- vocabulary subsets ------------------------------------------------------------------------------------------- */

rill_status rill_session_set_vocab_subset(rill_session *s, rill_vocab_subset subset, int32_t slot, int32_t n,
                                          const int32_t *symbols)
{
    if (subset < 1 || (size_t)subset > s->network->n_subsets || slot < 0 || (size_t)slot >= s->n_slots || n < 0)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "vocabulary subset %d of slot %d does not exist", (int)subset,
                         (int)slot);
    const dev_vocab_subset *def = &s->network->subset[subset - 1];
    dev_slot_subset *to = dev_get_subset(s, (size_t)subset - 1, slot);
    const size_t count = (size_t)n, n_vocab = def->rows != 0 ? s->network->constant[def->rows - 1].rows : INT32_MAX;
    to->n = 0;
    for (size_t i = 0; i < count; i++)
        if (symbols[i] < 0 || (size_t)symbols[i] >= n_vocab || (i > 0 && symbols[i] <= symbols[i - 1]))
            return rill_fail(s->ctx, RILL_ERR_ARGUMENT,
                             "vocabulary subset %s: symbol %d is not larger than the "
                             "previous one",
                             def->name, (int)symbols[i]);
    rill_status status = rill_grow(s->ctx, (void **)&to->id, &to->capacity, count, sizeof *to->id, def->name);
    if (status != RILL_OK) return status;
    if (n > 0) memcpy(to->id, symbols, count * sizeof *symbols);
    to->n = count;
    status = get_backend(s)->set_subset(s, (size_t)subset - 1, slot);
    if (status != RILL_OK) to->n = 0;
    return status;
}
