/* A stream's memory on the device: rows of tables, symbols of lists, and the pinned memory that runs go through.
 *
 * Tables grow where they lie, so that no row ever moves. Divisions: pinned memory · tables · lists · opening and closing. */
#include "executor.h"

#include <string.h>

static cuda_stream *own_of(const rill_stream *s)
{
    return s->own;
}

/* --- pinned memory ------------------------------------------------------------------------------------------------ */

rill_status cuda_pin(const rill_stream *s, char **pinned, size_t *room, size_t bytes)
{
    gpu_device *gpu = own_of(s)->gpu;
    if (bytes <= *room) return RILL_OK;
    const size_t more = *room + *room / 2, wanted = bytes > more ? bytes : more;
    gpu_pinned_free(gpu, *pinned);
    *room = 0;
    *pinned = gpu_pinned(gpu, wanted);
    if (*pinned != NULL) bytes = wanted;
    if (*pinned == NULL) *pinned = gpu_pinned(gpu, bytes);
    if (*pinned == NULL) return rill_fail_memory(s->ctx, bytes, "copies to the device");
    *room = bytes;
    return RILL_OK;
}

static rill_status wait_for(const rill_stream *s, gpu_queue *queue)
{
    char why[GPU_TEXT];
    return gpu_wait(queue, why) == 0 ? RILL_OK : cuda_fail(s->ctx, s->plan->device->name, why);
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* The column `above` lies behind the tables: a number of each node. */
static const dev_table *table_at(const rill_stream *s, size_t at)
{
    static const dev_table above = {.kind = RILL_TABLE_NODES, .width = 1, .ld = 1, .what = "paths"};
    return at < s->plan->tables ? &s->plan->table[at] : &above;
}

static size_t row_bytes(const rill_stream *s, size_t at)
{
    return table_at(s, at)->ld * sizeof(float);
}

static char *row_at(const rill_stream *s, size_t at, size_t row)
{
    return own_of(s)->table[at].at + row * row_bytes(s, at);
}

/* By half more where the caller asks for what it needs just now; who asks for nodes and slots thinks ahead, and of a bound. */
rill_status cuda_grow(rill_stream *s, size_t at, size_t rows)
{
    cuda_stream *own = own_of(s);
    gpu_region *region = &own->table[at];
    const rill_table_kind kind = table_at(s, at)->kind;
    const size_t each = row_bytes(s, at), most = region->bytes / each,
                 more = kind == RILL_TABLE_RAGGED || kind == RILL_TABLE_HOST ? most + most / 2 : 0;
    if (rows >= more || gpu_grow(own->gpu, region, more * each) != 0) {
        const rill_status status = cuda_grow_region(s, region, rows * each, table_at(s, at)->what);
        if (status != RILL_OK) return status;
    }
    if (at < s->plan->tables) {
        s->table[at].rows = (float *)(void *)region->at;
        s->table[at].room = region->bytes / each;
    } else {
        s->above = (int32_t *)(void *)region->at;
        s->above_room = region->bytes / each;
    }
    return RILL_OK;
}

rill_status cuda_write(rill_stream *s, size_t at, size_t first, size_t n, const float *rows)
{
    cuda_stream *own = own_of(s);
    const size_t width = table_at(s, at)->width, ld = table_at(s, at)->ld;
    if (n == 0) return RILL_OK;
    char *staged;
    const rill_status status = cuda_stage(s, CUDA_EVERY_SLOT, n * ld * sizeof(float), &staged);
    if (status != RILL_OK) return status;
    float *to = (float *)(void *)staged;
    memset(to, 0, n * ld * sizeof *to);
    for (size_t i = 0; i < n; i++) memcpy(to + i * ld, rows + i * width, width * sizeof *to);
    gpu_down(own->fill.queue, row_at(s, at, first), to, n * ld * sizeof *to);
    return cuda_staged(s, CUDA_EVERY_SLOT);
}

rill_status cuda_read(const rill_stream *s, size_t at, size_t first, size_t n, float *rows)
{
    cuda_stream *own = own_of(s);
    const size_t width = table_at(s, at)->width, ld = table_at(s, at)->ld;
    if (n == 0) return RILL_OK;
    char *staged;
    rill_status status = wait_for(s, own->decode.queue);
    if (status == RILL_OK) status = cuda_stage(s, CUDA_EVERY_SLOT, n * ld * sizeof(float), &staged);
    if (status != RILL_OK) return status;
    float *from = (float *)(void *)staged;
    gpu_up(own->fill.queue, from, row_at(s, at, first), n * ld * sizeof *from);
    status = wait_for(s, own->fill.queue);
    for (size_t i = 0; i < n && status == RILL_OK; i++) memcpy(rows + i * width, from + i * ld, width * sizeof *rows);
    return status;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

static rill_status grow_slots(rill_stream *s, cuda_lists *l)
{
    const size_t before = l->count_room;
    rill_status status = rill_grow(s->ctx, (void **)&l->first, &l->first_room, s->slots, sizeof *l->first, "lists");
    if (status == RILL_OK)
        status = rill_grow(s->ctx, (void **)&l->ranges.free, &l->free_room, s->slots + 1, sizeof *l->ranges.free,
                           "lists");
    if (status == RILL_OK)
        status = rill_grow(s->ctx, (void **)&l->count, &l->count_room, s->slots, sizeof *l->count, "lists");
    for (size_t i = before; i < l->count_room && status == RILL_OK; i++) l->count[i] = 0;
    return status;
}

static void give_back(cuda_lists *l, int32_t slot)
{
    if (l->count[slot] > 0) dev_ranges_give(&l->ranges, l->first[slot], l->count[slot]);
    l->count[slot] = 0;
}

rill_status cuda_list(rill_stream *s, size_t at, int32_t slot)
{
    cuda_stream *own = own_of(s);
    cuda_lists *l = &own->list[at];
    const dev_slot_list *list = &s->list[at].slot[slot];
    if ((size_t)slot < l->count_room) give_back(l, slot);
    if (list->n == 0) return RILL_OK;
    const size_t bytes = list->n * sizeof *list->id;
    rill_status status = grow_slots(s, l);
    char *staged;
    if (status == RILL_OK) status = cuda_stage(s, slot, bytes, &staged);
    if (status != RILL_OK) return status;
    const int32_t first = dev_ranges_take(&l->ranges, (int32_t)list->n);
    if (first < 0) return rill_fail(s->ctx, RILL_ERR_MEMORY, "the symbols of all lists are too many to number");
    l->first[slot] = first;
    l->count[slot] = (int32_t)list->n;
    status = cuda_grow_region(s, &l->ids, (size_t)l->ranges.end * sizeof *list->id, s->plan->list[at].what);
    if (status != RILL_OK) {
        give_back(l, slot);
        return status;
    }
    memcpy(staged, list->id, bytes);
    gpu_down(own->fill.queue, (int32_t *)(void *)l->ids.at + first, staged, bytes);
    return cuda_staged(s, slot);
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

/* Addresses for as much as each may come to, so that a process has enough for many streams. Tables of nodes have equally many rows, as have
 * those of slots and of units: each can have its part of the device's memory. Symbols of lists are numbered by 32 bits. */
static void reserve(const rill_stream *s)
{
    const size_t tables = s->plan->tables, most = gpu_memory(own_of(s)->gpu), numbered = sizeof(int32_t) << 31;
    for (size_t i = 0; i <= tables; i++) {
        const rill_table_kind kind = table_at(s, i)->kind;
        size_t row = i == tables ? row_bytes(s, i) : 0; /* `above` comes on top */
        for (size_t j = 0; j < tables; j++) row += table_at(s, j)->kind == kind ? row_bytes(s, j) : 0;
        if (kind != RILL_TABLE_HOST) own_of(s)->table[i].reserved = (most / row + 1) * row_bytes(s, i);
    }
    for (size_t i = 0; i < s->plan->lists; i++) own_of(s)->list[i].ids.reserved = most < numbered ? most : numbered;
}

rill_status cuda_stream_open(rill_stream *s)
{
    const rill_plan *plan = s->plan;
    cuda_stream *own = s->own = rill_calloc(s->ctx, 1, sizeof *own);
    if (own == NULL) return rill_fail_memory(s->ctx, sizeof *own, "a stream");
    own->gpu = plan->device->own;
    own->table = rill_calloc(s->ctx, plan->tables + 1, sizeof *own->table);
    own->list = rill_calloc(s->ctx, plan->lists + 1, sizeof *own->list);
    if (own->table == NULL || own->list == NULL)
        return rill_fail_memory(s->ctx, (plan->tables + 1) * sizeof *own->table, "a stream");
    reserve(s);
    return cuda_order_open(s);
}

static void close_list(const rill_stream *s, cuda_lists *l)
{
    gpu_free(own_of(s)->gpu, &l->ids);
    rill_free(s->ctx, l->first, l->first_room * sizeof *l->first);
    rill_free(s->ctx, l->count, l->count_room * sizeof *l->count);
    rill_free(s->ctx, l->ranges.free, l->free_room * sizeof *l->ranges.free);
}

void cuda_stream_close(rill_stream *s)
{
    cuda_stream *own = own_of(s);
    const rill_plan *plan = s->plan;
    if (own == NULL) return;
    cuda_graphs_free(s);
    gpu_queue_close(own->fill.queue);
    gpu_queue_close(own->decode.queue);
    cuda_order_close(s);
    for (size_t i = 0; own->table != NULL && i <= plan->tables; i++) gpu_free(own->gpu, &own->table[i]);
    for (size_t i = 0; own->list != NULL && i < plan->lists; i++) close_list(s, &own->list[i]);
    rill_free(s->ctx, own->table, (plan->tables + 1) * sizeof *own->table);
    rill_free(s->ctx, own->list, (plan->lists + 1) * sizeof *own->list);
    rill_free(s->ctx, own, sizeof *own);
    s->own = NULL;
}
