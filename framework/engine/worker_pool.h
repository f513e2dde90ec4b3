/* The worker pool: one input queue and one output shared by several workers.
 *
 *        reader -> [assign ids] -> input queue -> workers' engines -> results -> reorder buffer -> writer
 *         caller's thread            |      under the lock       |        caller's thread
 *
 * The caller's thread reads, assigns ids and writes. Each worker's thread has an engine, takes as many inputs as that engine
 * admits, and hands in finished results after each of its steps. The threads share nothing else. So a worker on a busy core
 * delays only the inputs it has in flight; the reorder buffer limits how far the stream runs ahead of the oldest unfinished
 * input, and thereby memory.
 *
 * A request travels with its input; the worker's engine opens it (requests.h).
 * Cancellation and deadlines (worker_cancel.c): inputs in the queue are cancelled by the caller's thread, and timed out
 * by any worker at its turn. Inputs that a worker holds are cancelled and timed out by that worker.
 *
 * Invariant: members below `lock` are accessed under it, `reorder` and the members around it by the caller's thread only.
 *
 * Under a memory limit each worker has a share. An input that exceeds a share is parked by its engine (memory_limit.c).
 * Then no worker takes inputs. When all other workers have finished theirs, that engine decodes the parked input with the
 * whole limit. */
#ifndef RILL_WORKER_POOL_H
#define RILL_WORKER_POOL_H

#include "engine_internal.h"
#include "text_reader.h"

/* A worker's state, under the lock. */
typedef struct pool_worker {
    int64_t n_held;                  /* inputs that it took and has not finished */
    int has_parked;                  /* 1: some inputs are parked until the whole memory limit is free */
    int exclusive;                   /* 1: this worker has the whole memory limit */
    int waiting;                     /* waiting for work */
    rill_stats stats;                /* counters of the worker after its latest step */
    result_record *returned_records; /* records that the caller has read, returned for reuse */
} pool_worker;

typedef struct worker_pool {
    rill_context *ctx;               /* the caller's context */
    const rill_engine *first_engine; /* one worker's engine: its constant members equal those of the others */
    rill_read_request_fn read;
    void *read_user;
    rill_write_fn write;
    void *write_user;
    reorder_buffer reorder; /* assigns ids to inputs, and delivers results in order */
    /* writes texts that engines leave to the caller's thread, with a runner used for nothing else */
    output_writer output_writer;
    rill__runner writer_runner;
    rill_text text;             /* text of the result being written */
    double write_seconds;       /* time spent writing texts */
    reorder_buffer own_records; /* records of results that the pool makes: of inputs cancelled in the queue */
    int64_t n_delivered;        /* number of results passed to the writer */
    int reader_paused;          /* the reader had no input at its last call */
    int reader_ended;           /* 1: the reader has no more inputs, or has failed */
    int writer_ended;           /* the writer ended the run */
    rill_status read_status;
    char read_error[RILL__MESSAGE_BYTES]; /* message of read_status */

    pthread_mutex_t trace_lock; /* held while a trace function is called, and only then */

    pthread_mutex_t lock;
    pthread_cond_t worker_cond, caller_cond; /* wait conditions of workers and of the caller */
    int32_t n, n_running;                    /* workers; those whose threads run */
    pool_worker *worker;                     /* [n] */
    input_queue queue;
    int inputs_open;                           /* 1: workers may take inputs; 0: the queue is being filled */
    int input_ended;                           /* 1: no more inputs will come */
    int64_t n_held;                            /* sum of the workers' n_held */
    int32_t n_busy;                            /* workers that are not waiting */
    int32_t n_parked;                          /* workers with parked inputs */
    atomic_int stopped;                        /* rill_workers_stop() */
    int done;                                  /* 1: workers must stop */
    result_record *first_result, *last_result; /* list of results on their way to the caller */
    int64_t *cancelled_ids;                    /* [n_cancelled] ids that the workers holding them are to cancel */
    size_t cancelled_capacity;
    int32_t n_cancelled;
    int64_t n_own_results; /* number of results that the pool has made */
    /* lower bound on the deadlines of inputs in the queue and of those held by waiting workers */
    double next_deadline;
    rill_status failed;              /* status of the first failure of a worker; RILL_OK: none */
    char error[RILL__MESSAGE_BYTES]; /* error message of `failed` */
} worker_pool;

/* A pool for n workers, with the engine of one of them; call worker_pool_finish() after a failure too. RILL_OK · RILL_ERR_MEMORY
 * (recorded) */
rill_status worker_pool_init(worker_pool *f, rill_context *ctx, const rill_engine *first, int32_t n);
/* Start a runner with which the caller's thread writes output texts. All engines share `model` and have
 * output_writer.is_deferred set.
 *   RILL_OK · what starting a runner returns */
rill_status worker_pool_start_writer(worker_pool *f, rill_model *model);
void worker_pool_finish(worker_pool *f);

/* --- in the caller's thread --------------------------------------------------------------------------------------- */

/* Read and write until everything is delivered, a worker has failed, or the writer ends the run; returns the writer's status or a
 * failure in this thread. The workers may still be running then. */
rill_status worker_pool_run(worker_pool *f);
/* As rill_workers_cancel(). */
rill_status worker_pool_cancel(worker_pool *f, int64_t id);
/* Go on without n workers, whose threads could not be started. */
void worker_pool_remove_workers(worker_pool *f, int32_t n);
/* Tell the workers to stop. */
void worker_pool_stop(worker_pool *f);
/* The workers have stopped: write finished results, skipping missing ids. */
void worker_pool_flush(worker_pool *f);
/* The sum of the workers' counters, as rill/workers.h defines it. */
void worker_pool_stats(worker_pool *f, rill_stats *out);

/* --- in a worker's thread ----------------------------------------------------------------------------------------- */

/* Hand in the engine's finished results, drop cancelled and late inputs, and wait for work.
 *   RILL_OK · RILL_END_OF_INPUT (no more work) · RILL_ERR_MEMORY */
rill_status worker_pool_next(worker_pool *f, rill_engine *e, int32_t worker);
/* input_source.take_inputs for a worker. */
rill_status worker_pool_take_inputs(worker_pool *f, rill_engine *e, int32_t worker, int32_t count);
/* The worker's engine has failed: hand in its finished results, and end the run. */
void worker_pool_fail(worker_pool *f, rill_engine *e, int32_t worker, rill_status status);

/* --- between worker_pool.c and worker_cancel.c; the lock is held -------------------------------------------------- */

/* Append a result to the list for the caller. `owner`: the worker whose engine made the record; NULL: the pool made it. */
void worker_pool_put_result(worker_pool *f, result_record *record, pool_worker *owner);
/* Remove an input from cancelled_ids, since its result has arrived. */
void worker_pool_forget_cancelled(worker_pool *f, int64_t id);
/* Call after removing inputs from the queue: closes a sorted window that is used up, and wakes the reader if the queue is
 * half empty. */
void worker_pool_inputs_taken(worker_pool *f);
/* At a worker's turn: cancel and time out inputs in its engine, and time out inputs in the queue. */
rill_status worker_pool_drop_inputs(worker_pool *f, rill_engine *e);

#endif
