/* Implements the reorder buffer, which delivers results in input order; declared in input_queue.h. */
#include <string.h>

#include "input_queue.h"

enum { SPAN_FACTOR = 4, MIN_SPAN = 4096, MIN_RING = 64 };

void reorder_init(reorder_buffer *o, rill_context *ctx, const rill_settings *settings, int32_t n_engines)
{
    *o = (reorder_buffer){.ctx = ctx, .unordered = settings->unordered};
    int64_t window = settings->sort == RILL_SORT_NONE ? settings->max_items : settings->sort_window;
    int64_t span = SPAN_FACTOR * ((int64_t)settings->max_items + window);
    span = (span < MIN_SPAN ? MIN_SPAN : span) * n_engines;
    o->max_span = span > (1 << 28) ? 1 << 28 : (int32_t)span;
}

static reorder_place *place_of(const reorder_buffer *o, int64_t id)
{
    return &o->ring[(size_t)id & (o->ring_capacity - 1)];
}

/* Free the record in the context that allocated it. */
void result_record_destroy(result_record *record)
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
    return RILL__GROW_COLUMNS(ctx, &record->action_memory, need, columns, "a result");
}

static void destroy_records(result_record *record)
{
    while (record != NULL) {
        result_record *next = record->next;
        result_record_destroy(record);
        record = next;
    }
}

void record_pool_finish(record_pool *pool)
{
    destroy_records(pool->free_records);
    pool->free_records = NULL;
}

void reorder_finish(reorder_buffer *o)
{
    for (int64_t id = o->oldest_id; id < o->next_id; id++)
        if (place_of(o, id)->record != NULL) result_record_destroy(place_of(o, id)->record);
    destroy_records(o->completed_first);
    if (o->last_delivered != NULL) result_record_destroy(o->last_delivered);
    rill_free(o->ctx, o->ring, o->ring_capacity * sizeof *o->ring);
    *o = (reorder_buffer){0};
}

int64_t reorder_space(const reorder_buffer *o)
{
    return o->oldest_id + o->max_span - o->next_id;
}

static rill_status grow_ring(reorder_buffer *o)
{
    reorder_buffer grown = *o;
    grown.ring_capacity = o->ring_capacity > 0 ? 2 * o->ring_capacity : MIN_RING;
    grown.ring = rill_calloc(o->ctx, grown.ring_capacity, sizeof *grown.ring);
    if (grown.ring == NULL)
        return rill_fail_memory(o->ctx, grown.ring_capacity * sizeof *grown.ring, "results held back for order");
    for (int64_t id = o->oldest_id; id < o->next_id; id++) *place_of(&grown, id) = *place_of(o, id);
    rill_free(o->ctx, o->ring, o->ring_capacity * sizeof *o->ring);
    *o = grown;
    return RILL_OK;
}

rill_status reorder_add_id(reorder_buffer *o, struct queued_input *input, int64_t *id)
{
    if (o->next_id - o->oldest_id >= (int64_t)o->ring_capacity) RILL__TRY(grow_ring(o));
    *id = o->next_id++;
    *place_of(o, *id) = (reorder_place){.input = input};
    return RILL_OK;
}

struct queued_input *reorder_find_input(const reorder_buffer *o, int64_t id)
{
    return id >= o->oldest_id && id < o->next_id ? place_of(o, id)->input : NULL;
}

rill_status reorder_get_record(record_pool *pool, int64_t id, result_record **out)
{
    result_record *record = pool->free_records;
    if (record != NULL) {
        pool->free_records = record->next;
    } else {
        record = rill_calloc(pool->ctx, 1, sizeof *record);
        if (record == NULL) return rill_fail_memory(pool->ctx, sizeof *record, "a result");
    }
    record->next = NULL;
    record->pool = pool;
    record->text.ctx = pool->ctx;
    record->text.length = 0;
    record->n_unwritten = 0;
    record->message[0] = record->note[0] = '\0';
    record->result = (rill_result){
        .struct_size = sizeof record->result, .id = id, .message = record->message, .warning = record->note};
    *out = record;
    return RILL_OK;
}

void reorder_free_record(result_record *record)
{
    record->next = record->pool->free_records;
    record->pool->free_records = record;
}

void reorder_put(reorder_buffer *o, result_record *record)
{
    reorder_place *place = place_of(o, record->result.id);
    place->input = NULL;
    o->n_results++;
    o->n_failed += record->result.status < 0;
    if (++o->n_waiting > o->waiting_peak) o->waiting_peak = o->n_waiting;
    if (!o->unordered) {
        place->record = record;
        return;
    }
    if (o->completed_last != NULL)
        o->completed_last->next = record;
    else
        o->completed_first = record;
    o->completed_last = record;
    while (o->oldest_id < o->next_id && place_of(o, o->oldest_id)->input == NULL) o->oldest_id++;
}

static result_record *take_in_order(reorder_buffer *o, int at_end)
{
    /* Skip unfinished inputs: a place without a record belongs to one. */
    while (at_end && o->oldest_id < o->next_id && place_of(o, o->oldest_id)->record == NULL) o->oldest_id++;
    if (!reorder_has_next(o, 0)) return NULL;
    reorder_place *place = place_of(o, o->oldest_id++);
    result_record *record = place->record;
    place->record = NULL;
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

int reorder_has_next(const reorder_buffer *o, int at_end)
{
    if (o->unordered) return o->completed_first != NULL;
    if (at_end) return o->n_waiting > 0;
    return o->oldest_id < o->next_id && place_of(o, o->oldest_id)->record != NULL;
}

rill_status reorder_next(reorder_buffer *o, int at_end, const rill_result **out)
{
    if (o->last_delivered != NULL) reorder_free_record(o->last_delivered);
    o->last_delivered = o->unordered ? take_completed(o) : take_in_order(o, at_end);
    if (o->last_delivered == NULL) return RILL_AGAIN;
    o->n_waiting--;
    o->last_delivered->result.has_more = reorder_has_next(o, at_end);
    *out = &o->last_delivered->result;
    return RILL_OK;
}
