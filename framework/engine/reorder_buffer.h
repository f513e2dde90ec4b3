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
    int32_t n_unwritten; /* maximum number of outputs whose texts are still to be written (output_writer.c); 0: none */
    /* 1: an output whose text repeats an earlier output's text is dropped when the texts are written */
    int distinct;
    char message[300];
    char note[256];
    struct result_record *next; /* next record of the list that the record is in */
    struct record_pool *pool;   /* pool to which the record returns for reuse */
} result_record;

/* A pool of result records, which are allocated in one thread's context; free_records lists those that are not in use. */
typedef struct record_pool {
    rill_context *ctx;
    result_record *free_records;
} record_pool;

/* An input's place in the ring. */
typedef struct reorder_place {
    struct queued_input *input; /* the input; NULL: it is finished */
    result_record *record;      /* the input's result, which waits for results of earlier inputs; NULL: there is none */
} reorder_place;

typedef struct reorder_buffer {
    rill_context *ctx;
    int unordered;
    int32_t max_span; /* maximum of next_id - oldest_id */
    reorder_place *ring;
    size_t ring_capacity; /* a power of two; grows up to max_span */
    /* all inputs with smaller ids are finished and, with ordered results, delivered */
    int64_t oldest_id;
    int64_t next_id; /* id of the next input */
    /* unordered results only: list of results in order of completion */
    result_record *completed_first, *completed_last;
    result_record *last_delivered;   /* the latest result that reorder_next() returned */
    int64_t n_waiting, waiting_peak; /* number of results finished and not delivered; its maximum */
    int64_t n_results, n_failed;     /* number of results added so far; number of these that failed */
} reorder_buffer;

void reorder_init(reorder_buffer *o, rill_context *ctx, const rill_settings *settings, int32_t n_engines);
void reorder_finish(reorder_buffer *o);

/* Return how many inputs can still be submitted before the oldest unfinished input must finish. */
int64_t reorder_space(const reorder_buffer *o);
/* Assign an id to a new input. RILL_OK · RILL_ERR_MEMORY (no id assigned) */
rill_status reorder_add_id(reorder_buffer *o, struct queued_input *input, int64_t *id);
/* Return the unfinished input with this id; NULL if it is finished, or does not exist. */
struct queued_input *reorder_find_input(const reorder_buffer *o, int64_t id);
/* Get an empty record for the result of input `id`. The caller fills it in and passes it to reorder_put(). */
rill_status reorder_get_record(record_pool *pool, int64_t id, result_record **out);
/* Reserve memory for `need` actions and their log-probabilities. */
rill_status result_record_reserve(rill_context *ctx, result_record *record, size_t need);
/* Free a record that belongs to no pool. */
void result_record_destroy(result_record *record);
/* Return a record to its pool. */
void reorder_free_record(result_record *record);
/* Free the pool's records. No record of the pool may be in a reorder buffer. */
void record_pool_finish(record_pool *pool);
/* Add the result of a finished input. */
void reorder_put(reorder_buffer *o, result_record *record);
/* Return 1 if a result can be delivered, else 0. `at_end`: 1: no more results will come, so unfinished inputs are skipped. */
int reorder_has_next(const reorder_buffer *o, int at_end);
/* Deliver the next result. RILL_OK · RILL_AGAIN (no result can be delivered yet) */
rill_status reorder_next(reorder_buffer *o, int at_end, const rill_result **out);

#endif
