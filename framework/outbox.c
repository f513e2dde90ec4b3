/* The outbox; outbox.h says how it works. */
#include <string.h>

#include "outbox.h"

enum { SPAN_FACTOR = 4, LEAST_SPAN = 4096, FIRST_RING = 64 };

void outbox_init(outbox *o, rill_context *ctx, const rill_settings *settings)
{
    *o = (outbox){.ctx = ctx, .unordered = settings->unordered};
    int64_t window = settings->sort == RILL_SORT_NONE ? settings->max_items : settings->sort_window;
    int64_t span = SPAN_FACTOR * ((int64_t)settings->max_items + window);
    if (span < LEAST_SPAN) span = LEAST_SPAN;
    o->span = span > (1 << 28) ? 1 << 28 : (int32_t)span;
}

/* By the context that it was made with: it may be another outbox's. */
static void record_destroy(outbox_record *record)
{
    rill_context *ctx = record->text.ctx;
    rill_free(ctx, record->outputs, record->outputs_capacity * sizeof *record->outputs);
    rill_columns_free(ctx, &record->steps);
    rill_text_clear(&record->text);
    rill_free(ctx, record, sizeof *record);
}

rill_status outbox_record_steps(rill_context *ctx, outbox_record *record, size_t need)
{
    const rill_array columns[] = {RILL_ARRAY(record->actions), RILL_ARRAY(record->logps)};
    if (need <= record->steps.capacity) return RILL_OK;
    return rill_columns_grow(ctx, &record->steps, need, columns, sizeof columns / sizeof *columns, "a result");
}

void outbox_list_destroy(outbox_record *record)
{
    while (record != NULL) {
        outbox_record *next = record->next;
        record_destroy(record);
        record = next;
    }
}

void outbox_finish(outbox *o)
{
    if (o->ctx == NULL) return;
    if (!o->unordered)
        for (size_t i = 0; i < o->ring_capacity; i++)
            if (o->ring[i] != NULL) record_destroy(o->ring[i]);
    outbox_list_destroy(o->done_first);
    outbox_list_destroy(o->spare);
    if (o->lent != NULL) record_destroy(o->lent);
    rill_free(o->ctx, o->ring, o->ring_capacity * sizeof *o->ring);
    rill_free(o->ctx, o->finished, o->ring_capacity);
    *o = (outbox){0};
}

int64_t outbox_room(const outbox *o)
{
    return o->oldest + o->span - o->next_id;
}

/* Double the ring; ids keep their place modulo its size. */
static rill_status grow_ring(outbox *o)
{
    size_t wanted = o->ring_capacity > 0 ? 2 * o->ring_capacity : FIRST_RING;
    outbox_record **ring = rill_calloc(o->ctx, wanted, sizeof *ring);
    uint8_t *finished = rill_calloc(o->ctx, wanted, 1);
    if (ring == NULL || finished == NULL) {
        rill_free(o->ctx, ring, wanted * sizeof *ring);
        rill_free(o->ctx, finished, wanted);
        return rill_fail_memory(o->ctx, wanted * sizeof *ring, "results held back for order");
    }
    for (int64_t id = o->oldest; id < o->next_id; id++) {
        ring[(size_t)id & (wanted - 1)] = o->ring[(size_t)id & (o->ring_capacity - 1)];
        finished[(size_t)id & (wanted - 1)] = o->finished[(size_t)id & (o->ring_capacity - 1)];
    }
    rill_free(o->ctx, o->ring, o->ring_capacity * sizeof *o->ring);
    rill_free(o->ctx, o->finished, o->ring_capacity);
    o->ring = ring;
    o->finished = finished;
    o->ring_capacity = wanted;
    return RILL_OK;
}

rill_status outbox_number(outbox *o, int64_t *id)
{
    if (o->next_id - o->oldest >= (int64_t)o->ring_capacity) RILL__TRY(grow_ring(o));
    *id = o->next_id++;
    o->finished[(size_t)*id & (o->ring_capacity - 1)] = 0;
    o->ring[(size_t)*id & (o->ring_capacity - 1)] = NULL;
    return RILL_OK;
}

int outbox_has_finished(const outbox *o, int64_t id)
{
    return id < o->oldest || o->finished[(size_t)id & (o->ring_capacity - 1)];
}

void outbox_unnumber(outbox *o)
{
    o->next_id--;
}

rill_status outbox_record_get(outbox *o, int64_t id, outbox_record **out)
{
    outbox_record *record = o->spare;
    if (record != NULL) {
        o->spare = record->next;
    } else {
        record = rill_calloc(o->ctx, 1, sizeof *record);
        if (record == NULL) return rill_fail_memory(o->ctx, sizeof *record, "a result");
    }
    record->next = NULL;
    record->text.ctx = o->ctx;
    record->text.length = 0;
    record->unwritten = 0;
    record->message[0] = record->note[0] = '\0';
    record->result = (rill_result){.id = id, .message = record->message, .note = record->note};
    *out = record;
    return RILL_OK;
}

void outbox_record_drop(outbox *o, outbox_record *record)
{
    record->next = o->spare;
    o->spare = record;
}

void outbox_put(outbox *o, outbox_record *record)
{
    size_t mask = o->ring_capacity - 1;
    int64_t id = record->result.id;
    if (!o->fed) o->finished[(size_t)id & mask] = 1;
    if (++o->waiting > o->waiting_peak) o->waiting_peak = o->waiting;
    if (!o->unordered) {
        o->ring[(size_t)id & mask] = record;
        return;
    }
    if (o->done_last != NULL)
        o->done_last->next = record;
    else
        o->done_first = record;
    o->done_last = record;
    while (o->oldest < o->next_id && o->finished[(size_t)o->oldest & mask]) o->oldest++;
}

static outbox_record *take_in_order(outbox *o, int over)
{
    /* Delivered ones leave the ring at once, so a place without a record belongs to an input that is not finished. */
    while (over && o->oldest < o->next_id && o->ring[(size_t)o->oldest & (o->ring_capacity - 1)] == NULL) o->oldest++;
    if (o->oldest == o->next_id) return NULL;
    size_t at = (size_t)o->oldest & (o->ring_capacity - 1);
    outbox_record *record = o->ring[at];
    if (record == NULL) return NULL;
    o->ring[at] = NULL;
    o->oldest++;
    return record;
}

static outbox_record *take_completed(outbox *o)
{
    outbox_record *record = o->done_first;
    if (record == NULL) return NULL;
    o->done_first = record->next;
    if (o->done_first == NULL) o->done_last = NULL;
    record->next = NULL;
    return record;
}

outbox_record *outbox_take(outbox *o)
{
    outbox_record *record = take_completed(o);
    if (record != NULL) o->waiting--;
    return record;
}

/* Whether another result can be taken now. */
static int has_next(const outbox *o, int over)
{
    if (o->unordered) return o->done_first != NULL;
    if (over) return o->waiting > 0;
    return o->oldest < o->next_id && o->ring[(size_t)o->oldest & (o->ring_capacity - 1)] != NULL;
}

rill_status outbox_next(outbox *o, int over, rill_result *out)
{
    if (o->lent != NULL) outbox_record_drop(o, o->lent);
    o->lent = o->unordered ? take_completed(o) : take_in_order(o, over);
    if (o->lent == NULL) return RILL_AGAIN;
    o->waiting--;
    o->lent->result.more = has_next(o, over);
    *out = o->lent->result;
    return RILL_OK;
}
