/* The reorder buffer: finished results, and the order in which they are delivered.
 *
 * Every submitted input has a place in a ring until it has been delivered and all inputs before it are finished. The ring's size limits
 * how far the stream may run ahead of its oldest unfinished input; the engine takes no new input beyond it. That keeps memory constant
 * and prevents starvation of a paused item. Result records are reused. */
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
    rill_text text;             /* outputs' texts, each NUL-terminated, concatenated */
    int32_t *actions;           /* outputs' actions, concatenated */
    float *logps;               /* ... and their log-probabilities */
    rill_columns action_memory; /* memory of both */
    int32_t n_unwritten; /* number of outputs whose texts are not written yet (output_writer.h); 0: all are ... */
    int distinct;        /* ... and duplicates are to be dropped */
    char message[300];
    char note[256];
    struct result_record *next; /* next record of its list */
    void *owner; /* the worker that a record in the worker pool belongs to and returns to (worker_pool.h) */
} result_record;

typedef struct reorder_buffer {
    rill_context *ctx;
    int unordered;
    /* ids come from outside: results leave by reorder_take_completed(), in order of completion */
    int has_outside_ids;
    int32_t max_span;                                /* how far ids may run ahead of the oldest unfinished one */
    result_record **ring;                            /* [ring_capacity] finished, waiting for earlier results */
    uint8_t *is_finished;                            /* [ring_capacity] */
    size_t ring_capacity;                            /* a power of two; grows up to max_span */
    int64_t oldest_id;                               /* every id below is finished (and, ordered, delivered) */
    int64_t next_id;                                 /* id of the next input */
    result_record *completed_first, *completed_last; /* unordered: finished, in order of completion */
    result_record *free_records;
    result_record *last_delivered;   /* the result of the last rill_engine_next() */
    int64_t n_waiting, waiting_peak; /* finished and not delivered */
} reorder_buffer;

void reorder_init(reorder_buffer *o, rill_context *ctx, const rill_settings *settings);
void reorder_finish(reorder_buffer *o);

/* Number of inputs that may be submitted before the oldest must finish. */
int64_t reorder_space(const reorder_buffer *o);
/* Assign an id to a new input. RILL_OK · RILL_ERR_MEMORY (no id assigned) */
rill_status reorder_add_id(reorder_buffer *o, int64_t *id);
/* Whether the input of an assigned id has finished. */
int reorder_is_finished(const reorder_buffer *o, int64_t id);
/* Take back the id assigned last. */
void reorder_remove_id(reorder_buffer *o);
/* An empty record for input `id`, to fill in and pass to reorder_put(). */
rill_status reorder_get_record(reorder_buffer *o, int64_t id, result_record **out);
/* Reserve memory for `need` actions and their log-probabilities. */
rill_status result_record_reserve(rill_context *ctx, result_record *record, size_t need);
/* Return a record for reuse. */
void reorder_free_record(reorder_buffer *o, result_record *record);
/* Free a list of records that are in no buffer. */
void result_records_destroy(result_record *record);
/* Add the result of a finished input. */
void reorder_put(reorder_buffer *o, result_record *record);
/* Take the next result from a buffer with outside ids, with its memory, for delivery by another buffer; NULL: none now. Return it with
 * reorder_free_record(). */
result_record *reorder_take_completed(reorder_buffer *o);
/* Deliver the next result. `at_end`: no more results will come, so missing ids are skipped. RILL_OK · RILL_AGAIN */
rill_status reorder_next(reorder_buffer *o, int at_end, const rill_result **out);

#endif
