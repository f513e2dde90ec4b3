/* Streams: rows of tables, slots, lists, threads. What a runner owns, and nothing of a run.
 *
 * Invariant: ranges of slots never overlap, all ragged tables have room for every row that is given out, and a call that fails
 * leaves slots as they were. Divisions: opening and closing · rows · slots · lists. */
#include "module.h"

#include <string.h>

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static rill_status start_threads(rill_stream *s, int threads)
{
    s->threads = threads > 1 ? (size_t)threads : 1;
    s->busy = rill_calloc(s->ctx, s->threads, sizeof *s->busy);
    if (s->busy == NULL) return rill_fail_memory(s->ctx, s->threads * sizeof *s->busy, "a stream");
    for (size_t i = 0; i < s->threads; i++) atomic_flag_clear(&s->busy[i]);
    if (threads <= 1) return RILL_OK;
    const size_t bytes = rill_pool_size((unsigned)threads);
    s->pool_memory = rill_alloc(s->ctx, bytes);
    if (s->pool_memory == NULL) return rill_fail_memory(s->ctx, bytes, "the thread pool");
    s->pool_bytes = bytes;
    s->pool = rill_pool_init(s->pool_memory, (unsigned)threads);
    if (s->pool == NULL) return rill_fail(s->ctx, RILL_ERR_MEMORY, "the system refused to start %d threads", threads);
    return RILL_OK;
}

rill_status rill_stream_open(rill_stream **out, rill_context *ctx, const rill_plan *plan, int threads)
{
    *out = NULL;
    if (!plan->finished) return rill_fail(ctx, RILL_ERR_ARGUMENT, "the plan of a stream is not finished");
    rill_stream *s = rill_calloc(ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "a stream");
    s->ctx = ctx;
    s->plan = plan;
    s->table = rill_calloc(ctx, plan->tables, sizeof *s->table);
    s->list = rill_calloc(ctx, plan->lists, sizeof *s->list);
    rill_status status = RILL_OK;
    if (s->table == NULL || s->list == NULL)
        status = rill_fail_memory(ctx, plan->tables * sizeof *s->table, "a stream");
    if (status == RILL_OK) status = start_threads(s, plan->device->module != NULL ? 1 : threads);
    if (status == RILL_OK && plan->device->module != NULL) status = plan->device->module->stream_open(s);
    if (status == RILL_OK)
        *out = s;
    else
        rill_stream_close(s);
    return status;
}

static void free_lists(rill_stream *s, dev_lists_of *lists)
{
    for (size_t i = 0; i < lists->count; i++) rill_free(s->ctx, lists->slot[i].memory, lists->slot[i].room);
    rill_free(s->ctx, lists->slot, lists->room * sizeof *lists->slot);
}

void rill_stream_close(rill_stream *s)
{
    if (s == NULL) return;
    const rill_plan *plan = s->plan;
    rill_pool_finish(s->pool);
    rill_free(s->ctx, s->pool_memory, s->pool_bytes);
    if (plan->device->module != NULL) plan->device->module->stream_close(s);
    for (size_t i = 0; s->table != NULL && plan->device->module == NULL && i < plan->tables; i++)
        rill_free(s->ctx, s->table[i].rows, s->table[i].room * plan->table[i].ld * sizeof(float));
    for (size_t i = 0; s->list != NULL && i < plan->lists; i++) free_lists(s, &s->list[i]);
    rill_free(s->ctx, s->table, plan->tables * sizeof *s->table);
    rill_free(s->ctx, s->list, plan->lists * sizeof *s->list);
    if (plan->device->module == NULL) rill_free(s->ctx, s->above, s->above_room * sizeof *s->above);
    rill_free(s->ctx, s->first, s->first_room * sizeof *s->first);
    rill_free(s->ctx, s->capacity, s->capacity_room * sizeof *s->capacity);
    rill_free(s->ctx, s->units, s->units_room * sizeof *s->units);
    rill_free(s->ctx, s->ranges.free, s->free_room * sizeof *s->ranges.free);
    rill_free(s->ctx, s->head, s->head_room);
    rill_free(s->ctx, s->scratch, s->scratch_room);
    rill_free(s->ctx, s->busy, s->threads * sizeof *s->busy);
    rill_free(s->ctx, s->counter, s->counter_room * sizeof *s->counter);
    rill_free(s->ctx, s, sizeof *s);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static rill_status grow_table(rill_stream *s, size_t at, size_t rows)
{
    const dev_table *table = &s->plan->table[at];
    const dev_module *module = s->plan->device->module;
    dev_rows_of *of = &s->table[at];
    if (module != NULL) return rows > of->room ? module->grow(s, at, rows) : RILL_OK;
    return rill_grow(s->ctx, (void **)&of->rows, &of->room, rows, table->ld * sizeof(float), table->what);
}

static rill_status grow_paths(rill_stream *s, size_t nodes)
{
    const dev_module *module = s->plan->device->module;
    if (module != NULL) return nodes > s->above_room ? module->grow(s, s->plan->tables, nodes) : RILL_OK;
    return rill_grow(s->ctx, (void **)&s->above, &s->above_room, nodes, sizeof *s->above, "paths");
}

static rill_status grow_tables(rill_stream *s, rill_table_kind kind, size_t rows)
{
    for (size_t i = 0; i < s->plan->tables; i++) {
        if (s->plan->table[i].kind != kind) continue;
        const rill_status status = grow_table(s, i, rows);
        if (status != RILL_OK) return status;
    }
    return RILL_OK;
}

static int has_paths(const rill_plan *plan)
{
    for (size_t i = 0; i < plan->programs; i++)
        if (plan->program[i].paths > 0) return 1;
    return 0;
}

static rill_status grow_ints(rill_stream *s, int32_t **array, size_t *room, size_t need)
{
    return rill_grow(s->ctx, (void **)array, room, need, sizeof **array, "slots");
}

/* More slots, all of them empty. */
static rill_status add_slots(rill_stream *s, size_t slots)
{
    rill_status status = grow_tables(s, RILL_TABLE_SLOTS, slots);
    if (status == RILL_OK) status = grow_ints(s, &s->first, &s->first_room, slots);
    if (status == RILL_OK) status = grow_ints(s, &s->capacity, &s->capacity_room, slots);
    if (status == RILL_OK) status = grow_ints(s, &s->units, &s->units_room, slots);
    if (status == RILL_OK) /* a call may have the old and the new range of every slot out */
        status = rill_grow(s->ctx, (void **)&s->ranges.free, &s->free_room, 2 * slots + 1, sizeof *s->ranges.free,
                           "slots");
    for (size_t i = 0; i < s->plan->lists && status == RILL_OK; i++) {
        dev_lists_of *lists = &s->list[i];
        status = rill_grow(s->ctx, (void **)&lists->slot, &lists->room, slots, sizeof *lists->slot, "lists of slots");
        if (status != RILL_OK) break;
        memset(lists->slot + lists->count, 0, (slots - lists->count) * sizeof *lists->slot);
        lists->count = slots;
    }
    if (status != RILL_OK) return status;
    for (; s->slots < slots; s->slots++) s->first[s->slots] = s->capacity[s->slots] = s->units[s->slots] = 0;
    return RILL_OK;
}

rill_status rill_stream_reserve(rill_stream *s, int32_t nodes, int32_t slots)
{
    rill_status status = grow_tables(s, RILL_TABLE_NODES, (size_t)nodes);
    if (status == RILL_OK && has_paths(s->plan)) status = grow_paths(s, (size_t)nodes);
    return status == RILL_OK && (size_t)slots > s->slots ? add_slots(s, (size_t)slots) : status;
}

rill_status rill_stream_fill(rill_stream *s, rill_table table, int32_t first, int32_t n, const float *rows)
{
    if (table < 1 || (size_t)table > s->plan->tables || s->plan->table[table - 1].kind != RILL_TABLE_HOST)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "table %d is not one that the host fills", (int)table);
    dev_rows_of *to = &s->table[table - 1];
    const dev_table *of = &s->plan->table[table - 1];
    if (first < 0 || n < 0 || (size_t)first > to->count || n > INT32_MAX - first)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "table %s: rows %d to %d do not follow the %zu that are there",
                         of->what, (int)first, (int)(first + n), to->count);
    const size_t end = (size_t)first + (size_t)n;
    rill_status status = grow_table(s, (size_t)table - 1, end);
    const dev_module *module = s->plan->device->module;
    if (status == RILL_OK && module != NULL)
        status = module->write(s, (size_t)table - 1, (size_t)first, (size_t)n, rows);
    if (status != RILL_OK) return status;
    for (size_t i = 0; module == NULL && i < (size_t)n; i++)
        memcpy(to->rows + ((size_t)first + i) * of->ld, rows + i * of->width, of->width * sizeof *rows);
    if (end > to->count) to->count = end;
    return RILL_OK;
}

rill_status rill_stream_read(const rill_stream *s, rill_table table, int32_t row, int32_t first, int32_t n, float *rows)
{
    if (table < 1 || (size_t)table > s->plan->tables || row < 0 || first < 0 || n < 0)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "table %d has no row %d", (int)table, (int)row);
    const dev_table *of = &s->plan->table[table - 1];
    const int ragged = of->kind == RILL_TABLE_RAGGED;
    const int64_t end = (int64_t)first + n, from = ragged && (size_t)row < s->slots ? s->first[row] : row;
    if (ragged ? end > rill_stream_units(s, row) : from + end > (int64_t)s->table[table - 1].room)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "table %s: %d rows of %d from %d on are not there", of->what,
                         (int)n, (int)row, (int)first);
    const dev_module *module = s->plan->device->module;
    if (module != NULL) return module->read(s, (size_t)table - 1, (size_t)(from + first), (size_t)n, rows);
    for (size_t i = 0; i < (size_t)n; i++)
        memcpy(rows + i * of->width, s->table[table - 1].rows + ((size_t)(from + first) + i) * of->ld,
               of->width * sizeof *rows);
    return RILL_OK;
}

/* --- slots -------------------------------------------------------------------------------------------------------- */

/* A slot that got another range, and the one it had. */
typedef struct move {
    int32_t slot;
    dev_range old;
} move;

static rill_status move_slot(rill_stream *s, int32_t slot, int32_t units, move *m)
{
    const int32_t first = dev_ranges_take(&s->ranges, units);
    if (first < 0) return rill_fail(s->ctx, RILL_ERR_MEMORY, "the rows of all slots are too many to number");
    *m = (move){.slot = slot, .old = {s->first[slot], s->capacity[slot]}};
    s->first[slot] = first;
    s->capacity[slot] = units;
    return RILL_OK;
}

/* Keep the new ranges and give back the old ones, or the other way round. */
static void settle_moves(rill_stream *s, move *m, size_t moves, int keep)
{
    while (moves-- > 0) {
        const dev_range now = {s->first[m[moves].slot], s->capacity[m[moves].slot]}, old = m[moves].old;
        dev_ranges_give(&s->ranges, keep ? old.first : now.first, keep ? old.count : now.count);
        if (keep) continue;
        s->first[m[moves].slot] = old.first;
        s->capacity[m[moves].slot] = old.count;
    }
}

rill_status rill_stream_slots(rill_stream *s, int32_t n, const int32_t *slots, const int32_t *units)
{
    rill_status status = rill_grow(s->ctx, (void **)&s->scratch, &s->scratch_room, (size_t)n * sizeof(move), 1,
                                   "slots");
    move *moves = (move *)(void *)s->scratch;
    size_t moved = 0;
    for (int32_t i = 0; i < n && status == RILL_OK; i++) {
        if (s->capacity[slots[i]] >= units[i]) continue;
        status = move_slot(s, slots[i], units[i], &moves[moved]);
        moved += status == RILL_OK;
    }
    if (status == RILL_OK) status = grow_tables(s, RILL_TABLE_RAGGED, (size_t)s->ranges.end);
    settle_moves(s, moves, moved, status == RILL_OK);
    for (int32_t i = 0; i < n && status == RILL_OK; i++) s->units[slots[i]] = units[i];
    return status;
}

int32_t rill_stream_units(const rill_stream *s, int32_t slot)
{
    return slot >= 0 && (size_t)slot < s->slots ? s->units[slot] : 0;
}

/* Weights go at once, since bounds on memory count those of slots in use; numbers alone are worth no allocation. */
static void drop_list(rill_stream *s, size_t at, int32_t slot)
{
    dev_slot_list *l = &s->list[at].slot[slot];
    const dev_module *module = s->plan->device->module;
    l->n = 0;
    if (module != NULL) (void)module->list(s, at, slot); /* fails only for what there is to keep */
    if (s->plan->list[at].rows == 0) return;
    rill_free(s->ctx, l->memory, l->room);
    *l = (dev_slot_list){.n = 0};
}

void rill_stream_drop(rill_stream *s, int32_t slot)
{
    if (slot < 0 || (size_t)slot >= s->slots) return;
    dev_ranges_give(&s->ranges, s->first[slot], s->capacity[slot]);
    s->first[slot] = s->capacity[slot] = s->units[slot] = 0;
    for (size_t i = 0; i < s->plan->lists; i++) drop_list(s, i, slot);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Where the arrays of a list of n symbols begin in its memory, and how large it is. */
typedef struct list_layout {
    size_t bias, id, bytes;
} list_layout;

static int lay_out_list(const rill_stream *s, const dev_list *list, size_t n, list_layout *out)
{
    size_t packed = 0;
    if (list->rows != 0 && s->plan->device->module == NULL) {
        packed = rill_gemm_pack_size(n, s->plan->constant[list->rows - 1].width, list->dtype);
        if (packed == 0) return 0;
    }
    out->bias = dev_lines(packed);
    out->id = out->bias + (list->bias != 0 && s->plan->device->module == NULL ? dev_lines(n * sizeof(float)) : 0);
    out->bytes = out->id + n * sizeof(int32_t);
    return 1;
}

static rill_status make_list_room(rill_stream *s, dev_slot_list *to, size_t bytes, const char *what)
{
    if (to->room >= bytes) return RILL_OK;
    rill_free(s->ctx, to->memory, to->room);
    to->n = to->room = 0;
    to->memory = rill_alloc(s->ctx, bytes);
    if (to->memory == NULL) return rill_fail_memory(s->ctx, bytes, what);
    to->room = bytes;
    return RILL_OK;
}

/* The symbols' rows of the output layer, packed. */
static rill_status pack_list(rill_stream *s, const dev_list *list, dev_slot_list *to, size_t n, const int32_t *symbols)
{
    const dev_constant *rows = &s->plan->constant[list->rows - 1];
    const size_t width = rows->width;
    rill_status status = rill_grow(s->ctx, (void **)&s->scratch, &s->scratch_room, n * width * sizeof(float), 1,
                                   "scratch memory");
    if (status != RILL_OK) return status;
    float *gathered = (float *)(void *)s->scratch;
    for (size_t i = 0; i < n; i++)
        memcpy(gathered + i * width, rows->data + (size_t)symbols[i] * width, width * sizeof *gathered);
    (void)rill_gemm_pack_f32(&to->w, n, width, gathered, width, list->dtype,
                             to->memory); /* fails only for what has no size */
    return RILL_OK;
}

rill_status rill_stream_list(rill_stream *s, rill_list list, int32_t slot, int32_t n, const int32_t *symbols)
{
    if (list < 1 || (size_t)list > s->plan->lists || slot < 0 || (size_t)slot >= s->slots || n < 0)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "there is no list %d of slot %d", (int)list, (int)slot);
    const dev_list *of = &s->plan->list[list - 1];
    dev_slot_list *to = &s->list[list - 1].slot[slot];
    const size_t count = (size_t)n, symbols_all = of->rows != 0 ? s->plan->constant[of->rows - 1].rows : INT32_MAX;
    list_layout layout;
    to->n = 0;
    for (size_t i = 0; i < count; i++)
        if (symbols[i] < 0 || (size_t)symbols[i] >= symbols_all || (i > 0 && symbols[i] <= symbols[i - 1]))
            return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "list %s: symbol %d does not belong behind the others",
                             of->what, (int)symbols[i]);
    const dev_module *module = s->plan->device->module; /* which has the weights */
    if (n == 0) return module != NULL ? module->list(s, (size_t)list - 1, slot) : RILL_OK;
    if (!lay_out_list(s, of, count, &layout))
        return rill_fail(s->ctx, RILL_ERR_MEMORY, "list %s: %zu symbols are too many", of->what, count);
    rill_status status = make_list_room(s, to, layout.bytes, of->what);
    if (status == RILL_OK && of->rows != 0 && module == NULL) status = pack_list(s, of, to, count, symbols);
    if (status != RILL_OK) return status;
    if (of->rows != 0 && module != NULL)
        to->w = (rill_weights){.n = count, .k = s->plan->constant[of->rows - 1].width, .dtype = of->dtype};
    to->bias = of->bias != 0 && module == NULL ? (float *)(void *)(to->memory + layout.bias) : NULL;
    to->id = (int32_t *)(void *)(to->memory + layout.id);
    for (size_t i = 0; to->bias != NULL && i < count; i++)
        to->bias[i] = s->plan->constant[of->bias - 1].data[symbols[i]];
    memcpy(to->id, symbols, count * sizeof *symbols);
    to->n = count;
    status = module != NULL ? module->list(s, (size_t)list - 1, slot) : RILL_OK;
    if (status != RILL_OK) to->n = 0;
    return status;
}

int32_t rill_stream_list_length(const rill_stream *s, rill_list list, int32_t slot)
{
    if (list < 1 || (size_t)list > s->plan->lists || slot < 0 || (size_t)slot >= s->slots) return 0;
    return (int32_t)s->list[list - 1].slot[slot].n;
}
