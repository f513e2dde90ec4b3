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
 * Invariant: what stands below `lock` is touched under it, `outbox` and what stands with it by the caller's thread alone.
 *
 * Under a bound on memory each worker has a share. An input that does not fit into one is set aside by its engine (bound.c): then
 * nobody takes inputs until all others have finished what they hold, and the engine has the whole bound for itself. */
#ifndef RILL_FRONT_H
#define RILL_FRONT_H

#include "rill/run.h"
#include "rooms.h"

/* What the front knows of a worker. Under the lock. */
typedef struct front_worker {
    int64_t held;         /* inputs that it took and has not finished */
    int parked;           /* among them are such as need all the memory */
    int alone;            /* it has all the memory now */
    rill_stats stats;     /* behind its latest step */
    outbox_record *spare; /* delivered records of its own, on their way back */
} front_worker;

typedef enum front_turn { FRONT_STEP, FRONT_OVER } front_turn;

typedef struct front {
    rill_context *ctx; /* the caller's */
    rill_read_fn read;
    void *read_user;
    rill_write_fn write;
    void *write_user;
    outbox outbox;     /* numbers, and order */
    int64_t delivered; /* results written */
    int paused;        /* the reader had nothing when it was asked last */
    int has_ended;     /* it never will */
    int writer_ended;  /* the writer asked for the end */
    rill_status unread;
    char unread_why[RILL__MESSAGE_BYTES]; /* what it failed with */

    pthread_mutex_t trace; /* held where a trace function is called, and around nothing else */

    pthread_mutex_t lock;
    pthread_cond_t work, news; /* what workers wait for, and what the caller waits for */
    int32_t n;
    front_worker *worker; /* [n] */
    intake intake;
    int open;                              /* inputs may be taken: the reader had its turn */
    int ended;                             /* there will be no more */
    int64_t held;                          /* the workers' together */
    int32_t busy;                          /* workers that do not wait */
    int32_t parked;                        /* workers with inputs that need all the memory */
    int over;                              /* nothing more is to be done */
    outbox_record *done_first, *done_last; /* results on their way to the caller */
    rill_status failed;                    /* what a worker failed with first ... */
    char failed_why[RILL__MESSAGE_BYTES];  /* ... and in words */
} front;

/* A front for n workers. RILL_OK · RILL_ERR_MEMORY (recorded) */
rill_status front_init(front *f, rill_context *ctx, const rill_settings *settings, int32_t n);
void front_finish(front *f);

/* --- in the caller's thread --------------------------------------------------------------------------------------- */

/* Read and write until everything is delivered, a worker has failed, or the writer ends the run; returns what the writer says, or
 * what failed in this thread. The workers are still at it then. */
rill_status front_serve(front *f);
/* Tell the workers to come to an end. */
void front_stop(front *f);
/* They have: write what is finished, the ids of other inputs being skipped. */
void front_rest(front *f);
/* The workers' counters together; rill/workers.h says how. */
void front_stats(front *f, rill_stats *out);

/* --- in a worker's thread ----------------------------------------------------------------------------------------- */

/* Hand in what the engine has finished, and wait until there is something to do. */
front_turn front_next(front *f, rill_engine *e, int32_t worker);
/* engine_source.draw for a worker. */
rill_status front_draw(front *f, rill_engine *e, int32_t worker, int32_t count);
/* The worker's engine has failed: hand in what it has finished, and end the run. */
void front_fail(front *f, rill_engine *e, int32_t worker, rill_status status);

#endif
