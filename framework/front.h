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
 * What an input wants of its own goes with it as bytes (parcel.h); the worker's engine makes a request of it, with its own chain.
 * Inputs leave early where they are (front_leave.c): those that wait here by the caller's hand (cancelled) or by that of a worker at its
 * turn (late), those that a worker holds by its own.
 *
 * Invariant: what stands below `lock` is touched under it, `outbox` and what stands with it by the caller's thread alone.
 *
 * Under a bound on memory each worker has a share. An input that does not fit into one is set aside by its engine (bound.c): then
 * nobody takes inputs until all others have finished what they hold, and the engine has the whole bound for itself. */
#ifndef RILL_FRONT_H
#define RILL_FRONT_H

#include "reading.h"
#include "rooms.h"

/* What the front knows of a worker. Under the lock. */
typedef struct front_worker {
    int64_t held;         /* inputs that it took and has not finished */
    int parked;           /* among them are such as need all the memory */
    int alone;            /* it has all the memory now */
    int waits;            /* for something to do */
    rill_stats stats;     /* behind its latest step */
    outbox_record *spare; /* delivered records of its own, on their way back */
} front_worker;

typedef struct front {
    rill_context *ctx;        /* the caller's */
    const rill_engine *first; /* a worker's: what of it never changes is like that of the others */
    rill_read_request_fn read;
    void *read_user;
    rill_write_fn write;
    void *write_user;
    outbox outbox;   /* numbers, and order */
    writing writing; /* of texts, where engines leave them to the caller's thread, by a runner that does nothing else */
    rill__runner writer;
    rill_text texts;   /* of the result that is written */
    double wrote;      /* seconds for it */
    outbox own;        /* for the records of results that are made here: they have no home */
    rill_text packed;  /* the parcel of the input at work */
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
    atomic_int stopped;                    /* rill_workers_stop() */
    int over;                              /* nothing more is to be done */
    outbox_record *done_first, *done_last; /* results on their way to the caller */
    int64_t *cancelled;                    /* [n_cancelled] ids that the worker who holds them is to give up */
    size_t cancelled_capacity;
    int32_t n_cancelled;
    int64_t n_own;      /* results made here */
    double next;        /* no deadline of an input that waits here, or that a waiting worker holds, is earlier */
    rill_status failed; /* what a worker failed with first ... */
    char failed_why[RILL__MESSAGE_BYTES]; /* ... and in words */
} front;

/* A front for n workers, with the engine of one of them; finished also where that fails. RILL_OK · RILL_ERR_MEMORY (recorded) */
rill_status front_init(front *f, rill_context *ctx, const rill_engine *first, int32_t n);
/* Texts are written in the caller's thread, by the model that all engines share; their `writing.apart` is set. RILL_OK · what starting a
 * runner returns */
rill_status front_start_writing(front *f, rill_model *model);
void front_finish(front *f);

/* --- in the caller's thread --------------------------------------------------------------------------------------- */

/* Read and write until everything is delivered, a worker has failed, or the writer ends the run; returns what the writer says, or
 * what failed in this thread. The workers are still at it then. */
rill_status front_serve(front *f);
/* As rill_workers_cancel(). */
rill_status front_cancel(front *f, int64_t id);
/* Tell the workers to come to an end. */
void front_stop(front *f);
/* They have: write what is finished, the ids of other inputs being skipped. */
void front_rest(front *f);
/* The workers' counters together; rill/workers.h says how. */
void front_stats(front *f, rill_stats *out);

/* --- in a worker's thread ----------------------------------------------------------------------------------------- */

/* Hand in what the engine has finished, give up what is to be given up, and wait until there is something to do.
 *   RILL_OK · RILL_END_OF_INPUT (nothing more is) · RILL_ERR_MEMORY */
rill_status front_next(front *f, rill_engine *e, int32_t worker);
/* engine_source.draw for a worker. */
rill_status front_draw(front *f, rill_engine *e, int32_t worker, int32_t count);
/* The worker's engine has failed: hand in what it has finished, and end the run. */
void front_fail(front *f, rill_engine *e, int32_t worker, rill_status status);

/* --- between front.c and front_leave.c; the lock is held ---------------------------------------------------------- */

/* A result on its way to the caller; `home`: whose record it is, NULL for one of the front's own. */
void front_put_done(front *f, outbox_record *record, front_worker *home);
/* A result has come: its input is not to be given up any more. */
void front_note_result(front *f, int64_t id);
/* Inputs wait here no more. */
void front_note_taken(front *f);
/* At a worker's turn: have the inputs leave that are to, those that wait here and those that its engine holds. */
rill_status front_have_leave(front *f, rill_engine *e);

#endif
