/* The reorder buffer: finished results, and the order in which they are delivered.
 *
 * Every submitted input has a place in a ring until its result has been delivered and all earlier inputs are finished. The
 * ring's size limits how far the stream may run ahead of its oldest unfinished input: the engine takes no input beyond the
 * ring. This limit keeps memory constant and prevents starvation of a paused item. Result records are reused. */
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
    float *logps;               /* log-probabilities of `actions` */
    rill_columns action_memory; /* memory of `actions` and `logps` */
    int32_t n_unwritten; /* maximum number of outputs whose texts are still to be written (output_writer.h); 0: none */
    int distinct;        /* 1: outputs whose text repeats an earlier one are dropped when texts are written */
    char message[300];
    char note[256];
    struct result_record *next; /* next record of its list */
    void *owner; /* in a worker pool: the pool_worker to which the record returns for reuse; NULL: the pool */
} result_record;

typedef struct reorder_buffer {
    rill_context *ctx;
    int unordered;
    /* 1: a worker pool assigns the ids, and takes results by reorder_take_completed(), in order of completion */
    int has_outside_ids;
    int32_t max_span;                                /* maximum of next_id - oldest_id */
    result_record **ring;                            /* [ring_capacity] results waiting for earlier results, or NULL */
    uint8_t *is_finished;                            /* [ring_capacity] 1: the input is finished */
    size_t ring_capacity;                            /* a power of two; grows up to max_span */
    int64_t oldest_id;                               /* all smaller ids are finished; if ordered, also delivered */
    int64_t next_id;                                 /* id of the next input */
    result_record *completed_first, *completed_last; /* unordered: results, in order of completion */
    result_record *free_records;
    result_record *last_delivered;   /* the result of the last rill_engine_next() */
    int64_t n_waiting, waiting_peak; /* number of results finished and not delivered; its maximum */
} reorder_buffer;

void reorder_init(reorder_buffer *o, rill_context *ctx, const rill_settings *settings);
void reorder_finish(reorder_buffer *o);

/* Number of inputs that may still be submitted before the oldest unfinished input must finish. */
int64_t reorder_space(const reorder_buffer *o);
/* Assign an id to a new input. RILL_OK · RILL_ERR_MEMORY (no id assigned) */
rill_status reorder_add_id(reorder_buffer *o, int64_t *id);
/* Whether the input of an assigned id has finished. */
int reorder_is_finished(const reorder_buffer *o, int64_t id);
/* Undo the last reorder_add_id(). */
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
/* Take the next completed record out of a buffer with has_outside_ids, so that another buffer can deliver it; NULL: none now.
 * Give the record back with reorder_free_record(). */
result_record *reorder_take_completed(reorder_buffer *o);
/* Deliver the next result. `at_end`: no more results will come, so missing ids are skipped. RILL_OK · RILL_AGAIN */
rill_status reorder_next(reorder_buffer *o, int at_end, const rill_result **out);

#endif
