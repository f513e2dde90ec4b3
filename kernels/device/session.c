/* Sessions: rows of tables, slots, vocabulary subsets, threads. Data that outlives a run.
 *
 * Invariant: ranges of slots never overlap, all ragged tables have memory for every allocated row, and a failed call
 * leaves slots unchanged. Divisions: opening and closing · rows · slots · subsets. */
#include "module.h"

#include <string.h>

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static rill_status start_threads(rill_session *s, int threads)
{
    s->n_threads = threads > 1 ? (size_t)threads : 1;
    s->scratch_busy = rill_calloc(s->ctx, s->n_threads, sizeof *s->scratch_busy);
    if (s->scratch_busy == NULL) return rill_fail_memory(s->ctx, s->n_threads * sizeof *s->scratch_busy, "a stream");
    for (size_t i = 0; i < s->n_threads; i++) atomic_flag_clear(&s->scratch_busy[i]);
    if (threads <= 1) return RILL_OK;
    const size_t bytes = rill_pool_size((unsigned)threads);
    s->pool_memory = rill_alloc(s->ctx, bytes);
    if (s->pool_memory == NULL) return rill_fail_memory(s->ctx, bytes, "the thread pool");
    s->pool_bytes = bytes;
    s->pool = rill_pool_init(s->pool_memory, (unsigned)threads);
    if (rill_pool_threads(s->pool) < (unsigned)threads)
        rill_log(s->ctx, RILL_LOG_WARNING,
                 "the system cannot start %d threads: using %u (ulimit -u, or the container's limit, allows more)",
                 threads, rill_pool_threads(s->pool));
    return RILL_OK;
}

rill_status rill_session_open(rill_session **out, rill_context *ctx, const rill_network *network, int threads)
{
    *out = NULL;
    if (!network->finished) return rill_fail(ctx, RILL_ERR_ARGUMENT, "the session's network is not finished");
    rill_session *s = rill_calloc(ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "a stream");
    s->ctx = ctx;
    s->network = network;
    s->table = rill_calloc(ctx, network->n_tables, sizeof *s->table);
    s->subset = rill_calloc(ctx, network->n_subsets, sizeof *s->subset);
    rill_status status = RILL_OK;
    if (s->table == NULL || s->subset == NULL)
        status = rill_fail_memory(ctx, network->n_tables * sizeof *s->table, "a stream");
    if (status == RILL_OK) status = start_threads(s, network->device->module != NULL ? 1 : threads);
    if (status == RILL_OK && network->device->module != NULL) status = network->device->module->session_open(s);
    if (status == RILL_OK)
        *out = s;
    else
        rill_session_close(s);
    return status;
}

static void free_subsets(rill_session *s, dev_slot_subsets *subsets)
{
    for (size_t i = 0; i < subsets->count; i++) rill_free(s->ctx, subsets->slot[i].memory, subsets->slot[i].capacity);
    rill_free(s->ctx, subsets->slot, subsets->capacity * sizeof *subsets->slot);
}

void rill_session_close(rill_session *s)
{
    if (s == NULL) return;
    const rill_network *network = s->network;
    rill_pool_finish(s->pool);
    rill_free(s->ctx, s->pool_memory, s->pool_bytes);
    if (network->device->module != NULL) network->device->module->session_close(s);
    for (size_t i = 0; s->table != NULL && network->device->module == NULL && i < network->n_tables; i++)
        rill_free(s->ctx, s->table[i].rows, s->table[i].capacity * network->table[i].ld * sizeof(float));
    for (size_t i = 0; s->subset != NULL && i < network->n_subsets; i++) free_subsets(s, &s->subset[i]);
    rill_free(s->ctx, s->table, network->n_tables * sizeof *s->table);
    rill_free(s->ctx, s->subset, network->n_subsets * sizeof *s->subset);
    if (network->device->module == NULL)
        rill_free(s->ctx, s->node_parent, s->node_parent_capacity * sizeof *s->node_parent);
    rill_free(s->ctx, s->first, s->first_allocated * sizeof *s->first);
    rill_free(s->ctx, s->capacity, s->capacity_allocated * sizeof *s->capacity);
    rill_free(s->ctx, s->units, s->units_allocated * sizeof *s->units);
    rill_free(s->ctx, s->ranges.free, s->free_capacity * sizeof *s->ranges.free);
    rill_free(s->ctx, s->run_memory, s->run_memory_capacity);
    rill_free(s->ctx, s->scratch, s->scratch_capacity);
    rill_free(s->ctx, s->scratch_busy, s->n_threads * sizeof *s->scratch_busy);
    rill_free(s->ctx, s->counter, s->counter_capacity * sizeof *s->counter);
    rill_free(s->ctx, s, sizeof *s);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static rill_status grow_table(rill_session *s, size_t idx, size_t rows)
{
    const dev_table *table = &s->network->table[idx];
    const dev_module *module = s->network->device->module;
    dev_table_rows *storage = &s->table[idx];
    if (module != NULL) return rows > storage->capacity ? module->grow(s, idx, rows) : RILL_OK;
    return rill_grow(s->ctx, (void **)&storage->rows, &storage->capacity, rows, table->ld * sizeof(float), table->name);
}

static rill_status grow_node_parents(rill_session *s, size_t nodes)
{
    const dev_module *module = s->network->device->module;
    if (module != NULL) return nodes > s->node_parent_capacity ? module->grow(s, s->network->n_tables, nodes) : RILL_OK;
    return rill_grow(s->ctx, (void **)&s->node_parent, &s->node_parent_capacity, nodes, sizeof *s->node_parent,
                     "paths");
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

static rill_status grow_ints(rill_session *s, int32_t **array, size_t *capacity, size_t n_ints)
{
    return rill_grow(s->ctx, (void **)array, capacity, n_ints, sizeof **array, "slots");
}

/* Add slots, all of them empty, until there are `slots`. */
static rill_status add_slots(rill_session *s, size_t slots)
{
    rill_status status = grow_tables(s, RILL_TABLE_SLOTS, slots);
    if (status == RILL_OK) status = grow_ints(s, &s->first, &s->first_allocated, slots);
    if (status == RILL_OK) status = grow_ints(s, &s->capacity, &s->capacity_allocated, slots);
    if (status == RILL_OK) status = grow_ints(s, &s->units, &s->units_allocated, slots);
    if (status == RILL_OK) /* rill_session_set_slots() may hold the old and the new range of every slot */
        status = rill_grow(s->ctx, (void **)&s->ranges.free, &s->free_capacity, 2 * slots + 1, sizeof *s->ranges.free,
                           "slots");
    for (size_t i = 0; i < s->network->n_subsets && status == RILL_OK; i++) {
        dev_slot_subsets *subsets = &s->subset[i];
        status = rill_grow(s->ctx, (void **)&subsets->slot, &subsets->capacity, slots, sizeof *subsets->slot,
                           "lists of slots");
        if (status != RILL_OK) break;
        memset(subsets->slot + subsets->count, 0, (slots - subsets->count) * sizeof *subsets->slot);
        subsets->count = slots;
    }
    if (status != RILL_OK) return status;
    for (; s->n_slots < slots; s->n_slots++) s->first[s->n_slots] = s->capacity[s->n_slots] = s->units[s->n_slots] = 0;
    return RILL_OK;
}

rill_status rill_session_reserve(rill_session *s, int32_t nodes, int32_t slots)
{
    rill_status status = grow_tables(s, RILL_TABLE_NODES, (size_t)nodes);
    if (status == RILL_OK && has_paths(s->network)) status = grow_node_parents(s, (size_t)nodes);
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
    const dev_module *module = s->network->device->module;
    if (status == RILL_OK && module != NULL)
        status = module->write(s, (size_t)table - 1, (size_t)first, (size_t)n, rows);
    if (status != RILL_OK) return status;
    for (size_t i = 0; module == NULL && i < (size_t)n; i++)
        memcpy(to->rows + ((size_t)first + i) * def->ld, rows + i * def->width, def->width * sizeof *rows);
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
    const dev_module *module = s->network->device->module;
    if (module != NULL) return module->read(s, (size_t)table - 1, (size_t)(from + first), (size_t)n, rows);
    for (size_t i = 0; i < (size_t)n; i++)
        memcpy(rows + i * def->width, s->table[table - 1].rows + ((size_t)(from + first) + i) * def->ld,
               def->width * sizeof *rows);
    return RILL_OK;
}

/* --- slots -------------------------------------------------------------------------------------------------------- */

/* A slot that has got a new range, and its old range. */
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

/* With `keep`, commit: free the old ranges. Else roll back: free the new ranges and restore the old ones. */
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
    rill_status status = rill_grow(s->ctx, (void **)&s->scratch, &s->scratch_capacity, (size_t)n * sizeof(range_move),
                                   1, "slots");
    range_move *moves = (range_move *)(void *)s->scratch;
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

/* Weights are freed at once, since memory limits count slots in use. Without weights the memory is kept for reuse. */
static void drop_subset(rill_session *s, size_t idx, int32_t slot)
{
    dev_slot_subset *l = &s->subset[idx].slot[slot];
    const dev_module *module = s->network->device->module;
    l->n = 0;
    if (module != NULL) (void)module->set_subset(s, idx, slot); /* can fail only for non-empty subsets */
    if (s->network->subset[idx].rows == 0) return;
    rill_free(s->ctx, l->memory, l->capacity);
    *l = (dev_slot_subset){.n = 0};
}

void rill_session_drop(rill_session *s, int32_t slot)
{
    if (slot < 0 || (size_t)slot >= s->n_slots) return;
    dev_ranges_give(&s->ranges, s->first[slot], s->capacity[slot]);
    s->first[slot] = s->capacity[slot] = s->units[slot] = 0;
    for (size_t i = 0; i < s->network->n_subsets; i++) drop_subset(s, i, slot);
}

/* --- subsets ------------------------------------------------------------------------------------------------------ */

/* Offsets of a slot's subset arrays in their allocation, and its bytes. */
typedef struct subset_layout {
    size_t bias, id, bytes;
} subset_layout;

static int lay_out_subset(const rill_session *s, const dev_vocab_subset *subset, size_t n, subset_layout *out)
{
    size_t packed = 0;
    if (subset->rows != 0 && s->network->device->module == NULL) {
        packed = rill_gemm_pack_size(n, s->network->constant[subset->rows - 1].width, subset->dtype);
        if (packed == 0) return 0;
    }
    out->bias = dev_lines(packed);
    out->id = out->bias + (subset->bias != 0 && s->network->device->module == NULL ? dev_lines(n * sizeof(float)) : 0);
    out->bytes = out->id + n * sizeof(int32_t);
    return 1;
}

static rill_status reserve_subset(rill_session *s, dev_slot_subset *to, size_t bytes, const char *what)
{
    if (to->capacity >= bytes) return RILL_OK;
    rill_free(s->ctx, to->memory, to->capacity);
    to->n = to->capacity = 0;
    to->memory = rill_alloc(s->ctx, bytes);
    if (to->memory == NULL) return rill_fail_memory(s->ctx, bytes, what);
    to->capacity = bytes;
    return RILL_OK;
}

/* Gather the symbols' rows of the output layer, and pack them into the subset's memory. */
static rill_status pack_subset(rill_session *s, const dev_vocab_subset *subset, dev_slot_subset *to, size_t n,
                               const int32_t *symbols)
{
    const dev_constant *rows = &s->network->constant[subset->rows - 1];
    const size_t width = rows->width;
    rill_status status = rill_grow(s->ctx, (void **)&s->scratch, &s->scratch_capacity, n * width * sizeof(float), 1,
                                   "scratch memory");
    if (status != RILL_OK) return status;
    float *gathered = (float *)(void *)s->scratch;
    for (size_t i = 0; i < n; i++)
        memcpy(gathered + i * width, rows->data + (size_t)symbols[i] * width, width * sizeof *gathered);
    (void)rill_gemm_pack_f32(&to->w, n, width, gathered, width, subset->dtype,
                             to->memory); /* fails only for sizes that overflow */
    return RILL_OK;
}

rill_status rill_session_set_vocab_subset(rill_session *s, rill_vocab_subset subset, int32_t slot, int32_t n,
                                          const int32_t *symbols)
{
    if (subset < 1 || (size_t)subset > s->network->n_subsets || slot < 0 || (size_t)slot >= s->n_slots || n < 0)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "vocabulary subset %d of slot %d does not exist", (int)subset,
                         (int)slot);
    const dev_vocab_subset *def = &s->network->subset[subset - 1];
    dev_slot_subset *to = &s->subset[subset - 1].slot[slot];
    const size_t count = (size_t)n, n_vocab = def->rows != 0 ? s->network->constant[def->rows - 1].rows : INT32_MAX;
    subset_layout layout;
    to->n = 0;
    for (size_t i = 0; i < count; i++)
        if (symbols[i] < 0 || (size_t)symbols[i] >= n_vocab || (i > 0 && symbols[i] <= symbols[i - 1]))
            return rill_fail(s->ctx, RILL_ERR_ARGUMENT,
                             "vocabulary subset %s: symbol %d is not larger than the "
                             "previous one",
                             def->name, (int)symbols[i]);
    const dev_module *module = s->network->device->module; /* the module holds the weights */
    if (n == 0) return module != NULL ? module->set_subset(s, (size_t)subset - 1, slot) : RILL_OK;
    if (!lay_out_subset(s, def, count, &layout))
        return rill_fail(s->ctx, RILL_ERR_MEMORY, "vocabulary subset %s: too many symbols, %zu", def->name, count);
    rill_status status = reserve_subset(s, to, layout.bytes, def->name);
    if (status == RILL_OK && def->rows != 0 && module == NULL) status = pack_subset(s, def, to, count, symbols);
    if (status != RILL_OK) return status;
    if (def->rows != 0 && module != NULL)
        to->w = (rill_weights){.n = count, .k = s->network->constant[def->rows - 1].width, .dtype = def->dtype};
    to->bias = def->bias != 0 && module == NULL ? (float *)(void *)(to->memory + layout.bias) : NULL;
    to->id = (int32_t *)(void *)(to->memory + layout.id);
    for (size_t i = 0; to->bias != NULL && i < count; i++)
        to->bias[i] = s->network->constant[def->bias - 1].data[symbols[i]];
    memcpy(to->id, symbols, count * sizeof *symbols);
    to->n = count;
    status = module != NULL ? module->set_subset(s, (size_t)subset - 1, slot) : RILL_OK;
    if (status != RILL_OK) to->n = 0;
    return status;
}

int32_t rill_session_vocab_subset_size(const rill_session *s, rill_vocab_subset subset, int32_t slot)
{
    if (subset < 1 || (size_t)subset > s->network->n_subsets || slot < 0 || (size_t)slot >= s->n_slots) return 0;
    return (int32_t)s->subset[subset - 1].slot[slot].n;
}
