/* A thread pool in the context's memory.
 *
 * Invariant: memory is NULL exactly when there is neither a pool nor room for one. */
#include <string.h>

#include "threads.h"

rill_status rill_threads_start(rill_threads *out, rill_context *ctx, int threads)
{
    *out = (rill_threads){.ctx = ctx};
    if (threads <= 1) return RILL_OK;
    size_t bytes = rill_pool_size((unsigned)threads);
    out->memory = rill_alloc(ctx, bytes);
    if (out->memory == NULL) return rill_fail_memory(ctx, bytes, "the thread pool");
    out->bytes = bytes;
    out->pool = rill_pool_init(out->memory, (unsigned)threads);
    if (out->pool == NULL) return rill_fail(ctx, RILL_ERR_MEMORY, "the system refused to start %d threads", threads);
    return RILL_OK;
}

void rill_threads_stop(rill_threads *threads)
{
    rill_pool_finish(threads->pool);
    if (threads->memory != NULL) rill_free(threads->ctx, threads->memory, threads->bytes);
    memset(threads, 0, sizeof *threads);
}

/* Several spans per thread, so that one that comes late finds something left and one that is fast takes more. */
enum { SPANS_PER_THREAD = 4 };

rill_cut rill_cut_make(const rill_pool *pool, size_t n, size_t least, size_t most)
{
    rill_cut cut = {.n = n};
    size_t threads = rill_pool_threads(pool);
    cut.spans = threads > 1 ? threads * SPANS_PER_THREAD : 1;
    if (cut.spans > n / least) cut.spans = n / least;
    if (cut.spans == 0) cut.spans = 1;
    cut.spans = rill_pool_even(pool, cut.spans);
    size_t longest = (n + cut.spans - 1) / cut.spans;
    cut.block = longest < most ? longest : most;
    return cut;
}
