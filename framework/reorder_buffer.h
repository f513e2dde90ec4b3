/* The outbox: finished results on their way to the caller, and the order in which they leave.
 *
 * Every submitted input has a place in a ring until it has been delivered and all before it are finished. The ring's size
 * bounds how far the stream may run ahead of its oldest unfinished input; the engine takes no new input beyond it. That
 * makes memory constant, and it is also what keeps a paused item from waiting for ever while new ones come in. Results are
 * kept in records that are used again. */
#ifndef RILL_REORDER_BUFFER_H
#define RILL_REORDER_BUFFER_H

#include "internal.h"
#include "rill/carve.h"
#include "rill/engine.h"

/* A result and the memory its pointers refer to. */
typedef struct result_record {
    rill_result result;
    rill_output *outputs;
    size_t outputs_capacity;
    rill_text text;             /* outputs' texts, each NUL-terminated, one behind the other */
    int32_t *actions;           /* outputs' actions, likewise */
    float *logps;               /* ... and what these had each */
    rill_columns action_memory; /* memory of both */
    int32_t n_unwritten; /* above 0: its texts are to be written, of so many of its outputs (output_writer.h) ... */
    int distinct;        /* ... no two of which have the same */
    char message[300];
    char note[256];
    struct result_record *next; /* in the list it is in */
    void *owner; /* one of a worker's that is on its way through the front (worker_pool.h): where it goes back to */
} result_record;

typedef struct reorder_buffer {
    rill_context *ctx;
    int unordered;
    int has_outside_ids;  /* inputs were numbered elsewhere: results leave by reorder_take_completed(), by completion */
    int32_t max_span;     /* how far ids may run ahead of the oldest unfinished */
    result_record **ring; /* [ring_capacity] finished, waiting for their turn */
    uint8_t *is_finished; /* [ring_capacity] */
    size_t ring_capacity; /* a power of two; grows up to span */
    int64_t oldest_id;    /* every id below is finished (and, ordered, delivered) */
    int64_t next_id;      /* of the next input */
    result_record *completed_first, *completed_last; /* unordered: finished, in order of completion */
    result_record *free_records;
    result_record *last_delivered;   /* what the last rill_engine_next() gave */
    int64_t n_waiting, waiting_peak; /* finished and not delivered */
} reorder_buffer;

void reorder_init(reorder_buffer *o, rill_context *ctx, const rill_settings *settings);
void reorder_finish(reorder_buffer *o);

/* How many more inputs may be submitted before the oldest must finish. */
int64_t reorder_space(const reorder_buffer *o);
/* Number a new input. RILL_OK · RILL_ERR_MEMORY (not numbered) */
rill_status reorder_add_id(reorder_buffer *o, int64_t *id);
/* Whether the input of a number that was given out has been finished. */
int reorder_is_finished(const reorder_buffer *o, int64_t id);
/* Take back the number just given. */
void reorder_remove_id(reorder_buffer *o);
/* An empty record for input `id`, to be filled and given to reorder_put(). */
rill_status reorder_get_record(reorder_buffer *o, int64_t id, result_record **out);
/* Room for so many actions, and their log-probabilities. */
rill_status result_record_reserve(rill_context *ctx, result_record *record, size_t need);
/* Give a record back, unused or taken. */
void reorder_free_record(reorder_buffer *o, result_record *record);
/* Free a list of records that are in no outbox. */
void result_records_destroy(result_record *record);
/* Finish an input. */
void reorder_put(reorder_buffer *o, result_record *record);
/* Take the next result of an outbox that is fed, with its memory, for another outbox to deliver; NULL: none now. It comes back by
 * reorder_free_record(). */
result_record *reorder_take_completed(reorder_buffer *o);
/* Deliver the next. `over`: nothing more will be finished, so that results need not wait for inputs before them, which are
 * skipped. RILL_OK · RILL_AGAIN */
rill_status reorder_next(reorder_buffer *o, int at_end, rill_result *out);

#endif
