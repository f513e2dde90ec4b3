/* pool.h: a thread pool in caller-owned memory, whose threads claim chunks of a job.
 *
 * One job at a time is cut into chunks 0..chunks-1. Each running thread claims the next chunk with a compare-and-swap;
 * the calling thread takes part and usually claims first. The call returns when every chunk is claimed and done. So it
 * never waits for a worker that woke too late to claim a chunk. (Measured beside a busy process: p99 of 57 us, against
 * 4 ms with a barrier.) Workers spin for a bounded time after a job, then sleep on a futex.
 *
 * Order of use: rill_pool_size -> memory -> rill_pool_init -> any number of rill_pool_run -> rill_pool_finish.
 * A NULL pool is legal everywhere and runs everything on the calling thread.
 *
 * A chunk's result may not depend on the thread that runs it or on the number of threads. Stability: internal to rill,
 * may change with any release. */
#ifndef RILL_POOL_H
#define RILL_POOL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rill_pool rill_pool;

/* The work of one chunk. Called once for every chunk number in [0, chunks), from any of the pool's threads,
 * concurrently. `arg` is that of rill_pool_run(). It must return normally and may not call rill_pool_run on the same
 * pool. */
typedef void (*rill_pool_fn)(void *arg, size_t chunk);

/* Bytes needed by rill_pool_init for `threads` threads, the caller counted among them (0 counts as 1).
 * Never fails; any thread. */
size_t rill_pool_size(unsigned threads);

/* Build a pool of `threads` threads (the caller and threads-1 workers) in `mem`.
 *   mem      rill_pool_size(threads) bytes, aligned to 64; owned by the caller, must outlive the pool.
 *   threads  at least 1; 1 makes a pool that runs everything on the caller.
 * Returns the pool (its address is mem). If the system starts fewer threads, the pool has those: rill_pool_threads().
 * The pool may be finished from any one thread. */
rill_pool *rill_pool_init(void *mem, unsigned threads);

/* Stop and join the workers. NULL is allowed. No run may be in progress. The caller may then reuse mem. */
void rill_pool_finish(rill_pool *pool);

/* Return the number of threads of the pool, including the caller; 1 if `pool` is NULL. May be called from any thread. */
unsigned rill_pool_threads(const rill_pool *pool);

/* The largest multiple of the number of threads that is <= `chunks`, or `chunks` itself if smaller than that number.
 * The remainder would not pay: two threads need as long for three equal chunks as for four. */
size_t rill_pool_balance(const rill_pool *pool, size_t chunks);

/* Run fn(arg, i) once for each i in [0, chunks) and return when all are done. chunks may be 0. Writes of the chunks are
 * visible to the caller on return; the caller's earlier writes are visible to every chunk. chunks < 2^32. One caller at
 * a time per pool; NULL runs the chunks in order on this thread. */
void rill_pool_run(rill_pool *pool, rill_pool_fn fn, void *arg, size_t chunks);

#ifdef __cplusplus
}
#endif

#endif
