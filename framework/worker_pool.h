/* The front: the one input and the one output that several workers share.
 *
 *        reader -> [outbox numbers] -> intake -> workers' engines -> done -> outbox -> writer
 *         caller's thread            |      under the lock       |        caller's thread
 *
 * The caller's thread reads, numbers and writes; each worker's thread has an engine, takes as many inputs as that engine admits
 * at the moment, and hands in what is finished after each of its steps. They meet nowhere else. So a worker on a busy core
 * holds back what it has in flight and no more; the outbox bounds how far the stream runs ahead of the oldest unfinished input,
 * whoever has that one, and thereby memory.
 *
 * What an input wants of its own goes with it as bytes (packed_request.h); the worker's engine makes a request of it, with its own chain.
 * Inputs leave early where they are (worker_cancel.c): those that wait here by the caller's hand (cancelled) or by that of a worker at its
 * turn (late), those that a worker holds by its own.
 *
 * Invariant: what stands below `lock` is touched under it, `outbox` and what stands with it by the caller's thread alone.
 *
 * Under a bound on memory each worker has a share. An input that does not fit into one is set aside by its engine (memory_limit.c): then
 * nobody takes inputs until all others have finished what they hold, and the engine has the whole bound for itself. */
#ifndef RILL_WORKER_POOL_H
#define RILL_WORKER_POOL_H

#include "engine_internal.h"
#include "text_reader.h"

/* What the front knows of a worker. Under the lock. */
typedef struct pool_worker {
    int64_t n_held;                  /* inputs that it took and has not finished */
    int has_parked;                  /* among them are such as need all the memory */
    int exclusive;                   /* it has all the memory now */
    int waiting;                     /* for something to do */
    rill_stats stats;                /* behind its latest step */
    result_record *returned_records; /* delivered records of its own, on their way back */
} pool_worker;

typedef struct worker_pool {
    rill_context *ctx;               /* the caller's */
    const rill_engine *first_engine; /* a worker's: what of it never changes is like that of the others */
    rill_read_request_fn read;
    void *read_user;
    rill_write_fn write;
    void *write_user;
    reorder_buffer reorder; /* numbers, and order */
    output_writer
        output_writer; /* of texts, where engines leave them to the caller's thread, by a runner that does nothing else */
    rill__runner writer_runner;
    rill_text text;             /* of the result that is written */
    double write_seconds;       /* seconds for it */
    reorder_buffer own_records; /* for the records of results that are made here: they have no home */
    rill_text packed_request;   /* the parcel of the input at work */
    int64_t n_delivered;        /* results written */
    int reader_paused;          /* the reader had nothing when it was asked last */
    int reader_ended;           /* it never will */
    int writer_ended;           /* the writer asked for the end */
    rill_status read_status;
    char read_error[RILL__MESSAGE_BYTES]; /* what it failed with */

    pthread_mutex_t trace_lock; /* held where a trace function is called, and around nothing else */

    pthread_mutex_t lock;
    pthread_cond_t worker_cond, caller_cond; /* what workers wait for, and what the caller waits for */
    int32_t n;
    pool_worker *worker; /* [n] */
    input_queue queue;
    int inputs_open;                           /* inputs may be taken: the reader had its turn */
    int input_ended;                           /* there will be no more */
    int64_t n_held;                            /* the workers' together */
    int32_t n_busy;                            /* workers that do not wait */
    int32_t n_parked;                          /* workers with inputs that need all the memory */
    atomic_int stopped;                        /* rill_workers_stop() */
    int done;                                  /* nothing more is to be done */
    result_record *first_result, *last_result; /* results on their way to the caller */
    int64_t *cancelled_ids;                    /* [n_cancelled] ids that the worker who holds them is to give up */
    size_t cancelled_capacity;
    int32_t n_cancelled;
    int64_t n_own_results; /* results made here */
    double next_deadline;  /* no deadline of an input that waits here, or that a waiting worker holds, is earlier */
    rill_status failed;    /* what a worker failed with first ... */
    char error[RILL__MESSAGE_BYTES]; /* ... and in words */
} worker_pool;

/* A front for n workers, with the engine of one of them; finished also where that fails. RILL_OK · RILL_ERR_MEMORY (recorded) */
rill_status worker_pool_init(worker_pool *f, rill_context *ctx, const rill_engine *first, int32_t n);
/* Texts are written in the caller's thread, by the model that all engines share; their `writing.apart` is set. RILL_OK · what starting a
 * runner returns */
rill_status worker_pool_start_writer(worker_pool *f, rill_model *model);
void worker_pool_finish(worker_pool *f);

/* --- in the caller's thread --------------------------------------------------------------------------------------- */

/* Read and write until everything is delivered, a worker has failed, or the writer ends the run; returns what the writer says, or
 * what failed in this thread. The workers are still at it then. */
rill_status worker_pool_run(worker_pool *f);
/* As rill_workers_cancel(). */
rill_status worker_pool_cancel(worker_pool *f, int64_t id);
/* Tell the workers to come to an end. */
void worker_pool_stop(worker_pool *f);
/* They have: write what is finished, the ids of other inputs being skipped. */
void worker_pool_flush(worker_pool *f);
/* The workers' counters together; rill/workers.h says how. */
void worker_pool_stats(worker_pool *f, rill_stats *out);

/* --- in a worker's thread ----------------------------------------------------------------------------------------- */

/* Hand in what the engine has finished, give up what is to be given up, and wait until there is something to do.
 *   RILL_OK · RILL_END_OF_INPUT (nothing more is) · RILL_ERR_MEMORY */
rill_status worker_pool_next(worker_pool *f, rill_engine *e, int32_t worker);
/* input_source.draw for a worker. */
rill_status worker_pool_take_inputs(worker_pool *f, rill_engine *e, int32_t worker, int32_t count);
/* The worker's engine has failed: hand in what it has finished, and end the run. */
void worker_pool_fail(worker_pool *f, rill_engine *e, int32_t worker, rill_status status);

/* --- between worker_pool.c and worker_cancel.c; the lock is held ---------------------------------------------------------- */

/* A result on its way to the caller; `home`: whose record it is, NULL for one of the front's own. */
void worker_pool_put_result(worker_pool *f, result_record *record, pool_worker *owner);
/* A result has come: its input is not to be given up any more. */
void worker_pool_forget_cancelled(worker_pool *f, int64_t id);
/* Inputs wait here no more. */
void worker_pool_inputs_taken(worker_pool *f);
/* At a worker's turn: have the inputs leave that are to, those that wait here and those that its engine holds. */
rill_status worker_pool_drop_inputs(worker_pool *f, rill_engine *e);

#endif
