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
