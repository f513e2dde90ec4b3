/* The input queue: inputs that wait for one or several engines, and their results.
 *
 *   submit -> queue -> engines -> reorder buffer -> next
 *
 * First in, first out; or, with sorting, a window of inputs fills, is sorted once, and is used up.
 *
 * An input that exceeds an engine's part of the memory limit returns to the queue as *exclusive*. Once all engines have finished their
 * inputs, one decodes the exclusive inputs alone, with the whole limit.
 *
 * Functions lock the queue, unless the caller holds the lock (see their comments). */
#pragma once

#include "requests.h"
#include "rill/carve.h"

/* --- reorder buffer of results ------------------------------------------------------------------------------------ */

/* The reorder buffer: finished results in delivery order. An input has a place in a ring until its result and all earlier ones are
 * delivered. So the ring's size bounds memory. */

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

/* A pool of result records, allocated in one thread's context; free_records lists the unused ones. */
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

/* Returns how many inputs can still be submitted before the oldest unfinished input must finish. */
int64_t reorder_space(const reorder_buffer *o);
/* Assign an id to a new input. RILL_OK · RILL_ERR_MEMORY (no id assigned) */
rill_status reorder_add_id(reorder_buffer *o, struct queued_input *input, int64_t *id);
/* Returns the unfinished input with this id; NULL if it is finished, or does not exist. */
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
/* Returns 1 if a result can be delivered, else 0. at_end: 1 if no more results will come; unfinished inputs are then skipped. */
int reorder_has_next(const reorder_buffer *o, int at_end);
/* Deliver the next result. RILL_OK · RILL_AGAIN (no result can be delivered yet) */
rill_status reorder_next(reorder_buffer *o, int at_end, const rill_result **out);

/* --- queue of inputs ---------------------------------------------------------------------------------------------- */

typedef struct queued_input {
    struct queued_input *next; /* next input in the queue, or in the list of free inputs */
    char *text;
    size_t capacity, length;
    int64_t id;
    int64_t size; /* size in the domain's unit (tokens), measured before encoding; -1: not measured yet */
    /* RILL_OK, or the status of an input that failed before it was queued; its text is the message */
    rill_status failed;
    request *request; /* options of this input, or NULL */
    /* the domain's warning about the encoded input; its memory belongs to the engine that holds the input */
    rill_text note;
    /* the result of the input's previous search, if scorers restarted the item and it has a deadline; else NULL */
    result_record *saved_result;
    atomic_int cancelled; /* 1: the input was cancelled while an engine held it, and that engine must end it */
    int held, exclusive;
} queued_input;

/* Returns why an input must leave: RILL_ERR_CANCELLED or RILL_ERR_DEADLINE. RILL_OK means that it stays. */
static inline rill_status input_reason_to_leave(const queued_input *in, double now)
{
    if (in->cancelled) return RILL_ERR_CANCELLED;
    return in->request != NULL && in->request->deadline <= now ? RILL_ERR_DEADLINE : RILL_OK;
}

/* The queue's data about one engine that takes inputs. */
typedef struct input_taker {
    int64_t n_held;      /* number of inputs that the engine holds */
    int32_t n_offered;   /* number of inputs that the engine may take in this step; not protected by the queue's lock */
    record_pool records; /* records for the engine's results */
} input_taker;

typedef struct input_queue {
    rill_context *ctx; /* context of the thread that submits inputs */
    /* Protects all members below, and each engine's input_taker except n_offered. Only the submitting thread writes `closed` and delivery
     * state, so it reads them without the lock. */
    pthread_mutex_t lock;
    /* conditions on which the engines, and the submitting thread, wait */
    pthread_cond_t engine_cond, reader_cond;
    rill_sort sort;
    int32_t max_entries; /* maximum number of waiting inputs in the queue */
    int32_t n_engines;   /* number of engines that take inputs from the queue */
    /* list of waiting inputs in order of admission, exclusive inputs first; end: address of the pointer that ends it */
    queued_input *first, **end;
    queued_input *free_inputs; /* list of inputs without content, for reuse */
    /* numbers of waiting inputs: n counts ordinary inputs, n_exclusive exclusive ones. Both are also read without the lock */
    atomic_int n, n_exclusive;
    /* with sorting, 1: the current window is sorted, and inputs are being taken from it */
    int is_sorted;
    int filling;                  /* 1: the reader is filling the queue, and nobody may take inputs */
    atomic_int stopped;           /* 1: rill_engine_stop() or rill_workers_stop() was called */
    int closed;                   /* 1: no more inputs will come */
    int done;                     /* 1: the run is over, and nobody may take inputs */
    int64_t n_held;               /* number of inputs that engines hold: the sum of all input_taker.n_held */
    const input_taker *alone;     /* the engine that has the whole memory limit; NULL: none */
    atomic_int n_cancelled;       /* number of inputs that are marked `cancelled` and have no result yet */
    _Atomic double next_deadline; /* lower bound on the deadlines of waiting inputs */
    record_pool records;          /* records for results that the submitting thread makes */
    reorder_buffer results;
} input_queue;

/* Create a queue for n_engines engines. threaded: 1 if each runs in its own thread. RILL_OK · RILL_ERR_MEMORY (recorded;
 * input_queue_finish() is allowed) */
rill_status input_queue_init(input_queue *q, rill_context *ctx, const rill_settings *settings, int32_t n_engines,
                             int threaded);
void input_queue_finish(input_queue *q);

/* --- called by the thread that submits ---------------------------------------------------------------------------- */

/* Returns how many inputs can be added now. */
int64_t input_queue_space(input_queue *q);
/* Append a copy of an input to the queue. The copy owns the request.
 *   RILL_OK · RILL_ERR_MEMORY (the queue is unchanged) */
rill_status input_queue_add(input_queue *q, const char *text, size_t length, rill_status failed, request *own_request,
                            int64_t *id);
/* Returns 1 if all inputs have results, and all results are delivered; else 0. */
int input_queue_is_idle(input_queue *q);
void input_queue_close(input_queue *q);
/* Cancel a waiting input at once, or mark it for its engine. RILL_OK · RILL_AGAIN (cancelled before) · RILL_ERR_NOT_FOUND (not recorded:
 * no such input, or it has a result) · RILL_ERR_MEMORY */
rill_status input_queue_cancel(input_queue *q, int64_t id);
/* Deliver the next result to the caller, as reorder_next() does. */
rill_status input_queue_next(input_queue *q, int at_end, const rill_result **out);

/* --- called by engines that hold the lock ------------------------------------------------------------------------- */

/* Returns how many inputs the engine may take now. If they are exclusive, the engine gets the whole memory limit. */
int32_t input_queue_offer(input_queue *q, input_taker *taker);
/* With sorting, sort the window by the sizes of its inputs, which must have been measured. RILL_OK · RILL_ERR_MEMORY (recorded in `ctx`) */
rill_status input_queue_sort(input_queue *q, rill_context *ctx);
/* Take the first waiting input; there must be one. */
queued_input *input_queue_pop(input_queue *q, input_taker *taker);
/* Wake the reader if at least half of the queue is empty. */
void input_queue_wake_reader(input_queue *q);

/* --- called by engines -------------------------------------------------------------------------------------------- */

/* Fail the waiting inputs whose deadline is <= now. Inputs with a worker's saved result move to the list *with_result, also on failure.
 * RILL_OK · RILL_ERR_MEMORY (recorded in the engine's context) */
rill_status input_queue_drop_late(input_queue *q, input_taker *taker, double now, queued_input **with_result);
/* Return an engine's input to the queue, as exclusive. Returns 0 if it is cancelled; the engine then keeps it. */
int input_queue_give_back(input_queue *q, input_taker *taker, queued_input *in);
/* Free an input that the engine holds, when the input has its result or the run is over. */
void input_queue_free(input_queue *q, input_taker *taker, queued_input *in);
/* Get an empty result record, free a record, and add a record to the results, as the functions above do. */
rill_status input_queue_get_record(input_queue *q, input_taker *taker, int64_t id, result_record **out);
void input_queue_free_record(input_queue *q, result_record *record);
void input_queue_put(input_queue *q, result_record *record);
/* Make the failed result of an input, with this status and message. RILL_OK · RILL_ERR_MEMORY */
rill_status input_queue_put_failed(input_queue *q, input_taker *taker, const queued_input *in, rill_status status,
                                   const char *message);
