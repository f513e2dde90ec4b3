/* threads.h: a thread pool (kernels.h) in the context's memory.
 *
 * Order of use: rill_threads_start(), any number of calls that take `pool`, rill_threads_stop(). With one thread there is no
 * pool. Stability: internal to rill. */
#ifndef RILL_COMMON_THREADS_H
#define RILL_COMMON_THREADS_H

#include "kernels.h"
#include "rill/context.h"

typedef struct rill_threads {
    rill_context *ctx;
    rill_pool *pool; /* NULL with one thread */
    void *memory;
    size_t bytes;
} rill_threads;

/* Start a pool of `threads` threads, the caller's counted. On failure `out` may be stopped all the same.
 *   RILL_OK · RILL_ERR_MEMORY (also when the system refuses threads) */
rill_status rill_threads_start(rill_threads *out, rill_context *ctx, int threads);

/* End the threads and give the memory back; zeroed ones are allowed. */
void rill_threads_stop(rill_threads *threads);

/* How a call's n rows (or sequences) are shared out: in spans, one per unit of work for the pool, each walked in blocks, whose
 * values then stay in the nearest caches of the processor that runs them. Span s is [rill_cut_from(cut, s),
 * rill_cut_from(cut, s + 1)). */
typedef struct rill_cut {
    size_t n, spans;
    size_t block; /* most rows of a block */
} rill_cut;

/*   least  rows worth a unit of their own; most  rows of a block */
rill_cut rill_cut_make(const rill_pool *pool, size_t n, size_t least, size_t most);

static inline size_t rill_cut_from(const rill_cut *cut, size_t span)
{
    return span * cut->n / cut->spans;
}

#endif
