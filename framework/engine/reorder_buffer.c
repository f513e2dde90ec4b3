/* The reorder buffer; reorder_buffer.h. */
#include <string.h>

#include "reorder_buffer.h"

enum { SPAN_FACTOR = 4, MIN_SPAN = 4096, MIN_RING = 64 };

void reorder_init(reorder_buffer *o, rill_context *ctx, const rill_settings *settings)
{
    *o = (reorder_buffer){.ctx = ctx, .unordered = settings->unordered};
    int64_t window = settings->sort == RILL_SORT_NONE ? settings->max_items : settings->sort_window;
    int64_t span = SPAN_FACTOR * ((int64_t)settings->max_items + window);
    if (span < MIN_SPAN) span = MIN_SPAN;
    o->max_span = span > (1 << 28) ? 1 << 28 : (int32_t)span;
}

/* Free the record with the context that made it, which may be another buffer's. */
static void result_record_destroy(result_record *record)
{
    rill_context *ctx = record->text.ctx;
    rill_free(ctx, record->outputs, record->outputs_capacity * sizeof *record->outputs);
    rill_columns_free(ctx, &record->action_memory);
    rill_text_clear(&record->text);
    rill_free(ctx, record, sizeof *record);
}

rill_status result_record_reserve(rill_context *ctx, result_record *record, size_t need)
{
    const rill_array columns[] = {RILL_ARRAY(record->actions), RILL_ARRAY(record->logps)};
    if (need <= record->action_memory.capacity) return RILL_OK;
    return rill_columns_grow(ctx, &record->action_memory, need, columns, sizeof columns / sizeof *columns, "a result");
}

void result_records_destroy(result_record *record)
{
    while (record != NULL) {
        result_record *next = record->next;
        result_record_destroy(record);
        record = next;
    }
}

void reorder_finish(reorder_buffer *o)
{
    if (o->ctx == NULL) return;
    if (!o->unordered)
        for (size_t i = 0; i < o->ring_capacity; i++)
            if (o->ring[i] != NULL) result_record_destroy(o->ring[i]);
    result_records_destroy(o->completed_first);
    result_records_destroy(o->free_records);
    if (o->last_delivered != NULL) result_record_destroy(o->last_delivered);
    rill_free(o->ctx, o->ring, o->ring_capacity * sizeof *o->ring);
    rill_free(o->ctx, o->is_finished, o->ring_capacity);
    *o = (reorder_buffer){0};
}

int64_t reorder_space(const reorder_buffer *o)
{
    return o->oldest_id + o->max_span - o->next_id;
}

/* Double the ring; an id's index is the id modulo the ring size. */
static rill_status grow_ring(reorder_buffer *o)
{
    size_t new_capacity = o->ring_capacity > 0 ? 2 * o->ring_capacity : MIN_RING;
    result_record **ring = rill_calloc(o->ctx, new_capacity, sizeof *ring);
    uint8_t *finished = rill_calloc(o->ctx, new_capacity, 1);
    if (ring == NULL || finished == NULL) {
        rill_free(o->ctx, ring, new_capacity * sizeof *ring);
        rill_free(o->ctx, finished, new_capacity);
        return rill_fail_memory(o->ctx, new_capacity * sizeof *ring, "results held back for order");
    }
    for (int64_t id = o->oldest_id; id < o->next_id; id++) {
        ring[(size_t)id & (new_capacity - 1)] = o->ring[(size_t)id & (o->ring_capacity - 1)];
        finished[(size_t)id & (new_capacity - 1)] = o->is_finished[(size_t)id & (o->ring_capacity - 1)];
    }
    rill_free(o->ctx, o->ring, o->ring_capacity * sizeof *o->ring);
    rill_free(o->ctx, o->is_finished, o->ring_capacity);
    o->ring = ring;
    o->is_finished = finished;
    o->ring_capacity = new_capacity;
    return RILL_OK;
}

rill_status reorder_add_id(reorder_buffer *o, int64_t *id)
{
    if (o->next_id - o->oldest_id >= (int64_t)o->ring_capacity) RILL__TRY(grow_ring(o));
    *id = o->next_id++;
    o->is_finished[(size_t)*id & (o->ring_capacity - 1)] = 0;
    o->ring[(size_t)*id & (o->ring_capacity - 1)] = NULL;
    return RILL_OK;
}

int reorder_is_finished(const reorder_buffer *o, int64_t id)
{
    return id < o->oldest_id || o->is_finished[(size_t)id & (o->ring_capacity - 1)];
}

void reorder_remove_id(reorder_buffer *o)
{
    o->next_id--;
}

rill_status reorder_get_record(reorder_buffer *o, int64_t id, result_record **out)
{
    result_record *record = o->free_records;
    if (record != NULL) {
        o->free_records = record->next;
    } else {
        record = rill_calloc(o->ctx, 1, sizeof *record);
        if (record == NULL) return rill_fail_memory(o->ctx, sizeof *record, "a result");
    }
    record->next = NULL;
    record->text.ctx = o->ctx;
    record->text.length = 0;
    record->n_unwritten = 0;
    record->message[0] = record->note[0] = '\0';
    record->result = (rill_result){
        .struct_size = sizeof record->result, .id = id, .message = record->message, .warning = record->note};
    *out = record;
    return RILL_OK;
}

void reorder_free_record(reorder_buffer *o, result_record *record)
{
    record->next = o->free_records;
    o->free_records = record;
}

void reorder_put(reorder_buffer *o, result_record *record)
{
    size_t mask = o->ring_capacity - 1;
    int64_t id = record->result.id;
    if (!o->has_outside_ids) o->is_finished[(size_t)id & mask] = 1;
    if (++o->n_waiting > o->waiting_peak) o->waiting_peak = o->n_waiting;
    if (!o->unordered) {
        o->ring[(size_t)id & mask] = record;
        return;
    }
    if (o->completed_last != NULL)
        o->completed_last->next = record;
    else
        o->completed_first = record;
    o->completed_last = record;
    while (o->oldest_id < o->next_id && o->is_finished[(size_t)o->oldest_id & mask]) o->oldest_id++;
}

static result_record *take_in_order(reorder_buffer *o, int at_end)
{
    /* Delivered records leave the ring at once, so an empty place belongs to an unfinished input. */
    while (at_end && o->oldest_id < o->next_id && o->ring[(size_t)o->oldest_id & (o->ring_capacity - 1)] == NULL)
        o->oldest_id++;
    if (o->oldest_id == o->next_id) return NULL;
    size_t index = (size_t)o->oldest_id & (o->ring_capacity - 1);
    result_record *record = o->ring[index];
    if (record == NULL) return NULL;
    o->ring[index] = NULL;
    o->oldest_id++;
    return record;
}

static result_record *take_completed(reorder_buffer *o)
{
    result_record *record = o->completed_first;
    if (record == NULL) return NULL;
    o->completed_first = record->next;
    if (o->completed_first == NULL) o->completed_last = NULL;
    record->next = NULL;
    return record;
}

result_record *reorder_take_completed(reorder_buffer *o)
{
    result_record *record = take_completed(o);
    if (record != NULL) o->n_waiting--;
    return record;
}

/* Whether another result can be taken now. */
static int has_next(const reorder_buffer *o, int at_end)
{
    if (o->unordered) return o->completed_first != NULL;
    if (at_end) return o->n_waiting > 0;
    return o->oldest_id < o->next_id && o->ring[(size_t)o->oldest_id & (o->ring_capacity - 1)] != NULL;
}

rill_status reorder_next(reorder_buffer *o, int at_end, const rill_result **out)
{
    if (o->last_delivered != NULL) reorder_free_record(o, o->last_delivered);
    o->last_delivered = o->unordered ? take_completed(o) : take_in_order(o, at_end);
    if (o->last_delivered == NULL) return RILL_AGAIN;
    o->n_waiting--;
    o->last_delivered->result.has_more = has_next(o, at_end);
    *out = &o->last_delivered->result;
    return RILL_OK;
}
