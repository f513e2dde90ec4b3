/* Device memory of a session: table rows, symbols of vocabulary subsets, and pinned memory for uploads. Table rows
 * never move. */
#include "executor.h"

#include <string.h>

static cuda_session *get_cuda(const rill_session *s)
{
    return s->data;
}

/* --- pinned memory ------------------------------------------------------------------------------------------------ */

rill_status cuda_grow_pinned(const rill_session *s, char **pinned, size_t *capacity, size_t bytes)
{
    gpu_device *gpu = get_cuda(s)->gpu;
    if (bytes <= *capacity) return RILL_OK;
    const size_t more = *capacity + *capacity / 2, wanted = bytes > more ? bytes : more;
    gpu_pinned_free(gpu, *pinned);
    *capacity = 0;
    *pinned = gpu_pinned_alloc(gpu, wanted);
    if (*pinned != NULL) bytes = wanted;
    if (*pinned == NULL) *pinned = gpu_pinned_alloc(gpu, bytes);
    if (*pinned == NULL) return rill_fail_memory(s->ctx, bytes, "copies to the device");
    *capacity = bytes;
    return RILL_OK;
}

static rill_status sync_stream(const rill_session *s, gpu_stream *queue)
{
    char why[GPU_ERROR_BYTES];
    return gpu_stream_sync(queue, why) == 0 ? RILL_OK : cuda_fail(s->ctx, s->network->device->name, why);
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static const dev_table *get_table(const rill_session *s, size_t idx)
{
    return dev_get_table(s->network, idx);
}

static size_t row_bytes(const rill_session *s, size_t idx)
{
    return get_table(s, idx)->ld * sizeof(float);
}

static char *table_row(const rill_session *s, size_t idx, size_t row)
{
    return get_cuda(s)->table[idx].base + row * row_bytes(s, idx);
}

/* Grow a table. Ragged and host tables grow by at least half. For other tables, the caller already asks for more rows than it needs. */
rill_status cuda_grow_table(rill_session *s, size_t idx, size_t rows)
{
    cuda_session *cuda = get_cuda(s);
    gpu_region *region = &cuda->table[idx];
    const rill_table_kind kind = get_table(s, idx)->kind;
    const size_t each = row_bytes(s, idx), old_rows = region->bytes / each,
                 more = kind == RILL_TABLE_RAGGED || kind == RILL_TABLE_HOST ? old_rows + old_rows / 2 : 0;
    if (rows >= more || gpu_grow(cuda->gpu, region, more * each) != 0) {
        const rill_status status = cuda_grow_region(s, region, rows * each, get_table(s, idx)->name);
        if (status != RILL_OK) return status;
    }
    s->table[idx].capacity = region->bytes / each;
    return RILL_OK;
}

rill_status cuda_write_rows(rill_session *s, size_t idx, size_t first, size_t n, const float *rows)
{
    cuda_session *cuda = get_cuda(s);
    const size_t width = get_table(s, idx)->width, ld = get_table(s, idx)->ld;
    if (n == 0) return RILL_OK;
    char *staged;
    const rill_status status = cuda_begin_staging(s, CUDA_ALL_SLOTS, n * ld * sizeof(float), &staged);
    if (status != RILL_OK) return status;
    float *to = (float *)(void *)staged;
    memset(to, 0, n * ld * sizeof *to);
    for (size_t i = 0; i < n; i++) memcpy(to + i * ld, rows + i * width, width * sizeof *to);
    gpu_copy_to_device(cuda->fill.cu_stream, table_row(s, idx, first), to, n * ld * sizeof *to);
    return cuda_end_staging(s, CUDA_ALL_SLOTS);
}

rill_status cuda_read_rows(const rill_session *s, size_t idx, size_t first, size_t n, float *rows)
{
    cuda_session *cuda = get_cuda(s);
    const size_t width = get_table(s, idx)->width, ld = get_table(s, idx)->ld;
    if (n == 0) return RILL_OK;
    char *staged;
    rill_status status = sync_stream(s, cuda->decode.cu_stream);
    if (status == RILL_OK) status = cuda_begin_staging(s, CUDA_ALL_SLOTS, n * ld * sizeof(float), &staged);
    if (status != RILL_OK) return status;
    float *from = (float *)(void *)staged;
    gpu_copy_to_host(cuda->fill.cu_stream, from, table_row(s, idx, first), n * ld * sizeof *from);
    status = sync_stream(s, cuda->fill.cu_stream);
    for (size_t i = 0; i < n && status == RILL_OK; i++) memcpy(rows + i * width, from + i * ld, width * sizeof *rows);
    return status;
}

/* --- vocabulary subsets ------------------------------------------------------------------------------------------- */

static rill_status grow_slots(rill_session *s, cuda_subsets *l)
{
    const size_t old_capacity = l->count_capacity;
    rill_status status = rill_grow(s->ctx, (void **)&l->first, &l->first_capacity, s->n_slots, sizeof *l->first,
                                   "lists");
    if (status == RILL_OK)
        status = rill_grow(s->ctx, (void **)&l->ranges.free, &l->free_capacity, s->n_slots + 1, sizeof *l->ranges.free,
                           "lists");
    if (status == RILL_OK)
        status = rill_grow(s->ctx, (void **)&l->count, &l->count_capacity, s->n_slots, sizeof *l->count, "lists");
    for (size_t i = old_capacity; i < l->count_capacity && status == RILL_OK; i++) l->count[i] = 0;
    return status;
}

static void release_range(cuda_subsets *l, int32_t slot)
{
    if (l->count[slot] > 0) dev_ranges_give(&l->ranges, l->first[slot], l->count[slot]);
    l->count[slot] = 0;
}

rill_status cuda_set_subset(rill_session *s, size_t idx, int32_t slot)
{
    cuda_session *cuda = get_cuda(s);
    cuda_subsets *l = &cuda->subset[idx];
    const dev_slot_subset *subset = dev_get_subset(s, idx, slot);
    if ((size_t)slot < l->count_capacity) release_range(l, slot);
    if (subset->n == 0) return RILL_OK;
    const size_t bytes = subset->n * sizeof *subset->id;
    rill_status status = grow_slots(s, l);
    char *staged;
    if (status == RILL_OK) status = cuda_begin_staging(s, slot, bytes, &staged);
    if (status != RILL_OK) return status;
    const int32_t first = dev_ranges_take(&l->ranges, (int32_t)subset->n);
    if (first < 0) return rill_fail(s->ctx, RILL_ERR_MEMORY, "the lists have more symbols than 32 bits can number");
    l->first[slot] = first;
    l->count[slot] = (int32_t)subset->n;
    status = cuda_grow_region(s, &l->ids, (size_t)l->ranges.end * sizeof *subset->id, s->network->subset[idx].name);
    if (status != RILL_OK) {
        release_range(l, slot);
        return status;
    }
    memcpy(staged, subset->id, bytes);
    gpu_copy_to_device(cuda->fill.cu_stream, (int32_t *)(void *)l->ids.base + first, staged, bytes);
    return cuda_end_staging(s, slot);
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

/* Reserve addresses for each table's largest size: for each kind of table a part of the device's memory, so that many sessions fit. */
static void reserve_addresses(const rill_session *s)
{
    const size_t tables = s->network->n_tables, device_bytes = gpu_memory_bytes(get_cuda(s)->gpu),
                 numbered = sizeof(int32_t) << 31;
    for (size_t i = 0; i <= tables; i++) {
        const rill_table_kind kind = get_table(s, i)->kind;
        /* the last element has the parents of hypothesis states (node_parent) */
        size_t row = i == tables ? row_bytes(s, i) : 0;
        for (size_t j = 0; j < tables; j++) row += get_table(s, j)->kind == kind ? row_bytes(s, j) : 0;
        if (kind != RILL_TABLE_HOST) get_cuda(s)->table[i].reserved = (device_bytes / row + 1) * row_bytes(s, i);
    }
    for (size_t i = 0; i < s->network->n_subsets; i++)
        get_cuda(s)->subset[i].ids.reserved = device_bytes < numbered ? device_bytes : numbered;
}

rill_status cuda_session_open(rill_session *s, int threads)
{
    (void)threads;
    const rill_network *network = s->network;
    cuda_session *cuda = s->data = rill_calloc(s->ctx, 1, sizeof *cuda);
    if (cuda == NULL) return rill_fail_memory(s->ctx, sizeof *cuda, "a session");
    cuda->gpu = network->device->data;
    cuda->table = rill_calloc(s->ctx, network->n_tables + 1, sizeof *cuda->table);
    cuda->subset = rill_calloc(s->ctx, network->n_subsets + 1, sizeof *cuda->subset);
    if (cuda->table == NULL || cuda->subset == NULL)
        return rill_fail_memory(s->ctx, (network->n_tables + 1) * sizeof *cuda->table, "a session");
    cuda->guarded = cuda_are_guards_wanted();
    reserve_addresses(s);
    return cuda_streams_open(s);
}

static void close_subset(const rill_session *s, cuda_subsets *l)
{
    gpu_free(get_cuda(s)->gpu, &l->ids);
    rill_free(s->ctx, l->first, l->first_capacity * sizeof *l->first);
    rill_free(s->ctx, l->count, l->count_capacity * sizeof *l->count);
    rill_free(s->ctx, l->ranges.free, l->free_capacity * sizeof *l->ranges.free);
}

void cuda_session_close(rill_session *s)
{
    cuda_session *cuda = get_cuda(s);
    const rill_network *network = s->network;
    if (cuda == NULL) return;
    cuda_captures_free(s);
    gpu_stream_close(cuda->fill.cu_stream);
    gpu_stream_close(cuda->decode.cu_stream);
    cuda_streams_close(s);
    gpu_pinned_free(cuda->gpu, cuda->guard_pattern);
    for (size_t i = 0; cuda->table != NULL && i <= network->n_tables; i++) gpu_free(cuda->gpu, &cuda->table[i]);
    for (size_t i = 0; cuda->subset != NULL && i < network->n_subsets; i++) close_subset(s, &cuda->subset[i]);
    rill_free(s->ctx, cuda->table, (network->n_tables + 1) * sizeof *cuda->table);
    rill_free(s->ctx, cuda->subset, (network->n_subsets + 1) * sizeof *cuda->subset);
    rill_free(s->ctx, cuda, sizeof *cuda);
    s->data = NULL;
}
