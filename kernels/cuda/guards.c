/* Guards, for tests: bytes between a run's arrays that no kernel may write. (Sanitizers cannot check arrays that share an allocation.)
 *
 * With RILL_CUDA_GUARDS in the environment, 0xFF bytes (NaN, or -1) follow each array. A write there fails the run; a read gives NaN. */
#include "executor.h"

#include <stdlib.h>
#include <string.h>

enum { PATTERN = 0xFF, MAX_BYTES = DEV_GUARD + DEV_LINE };

int cuda_are_guards_wanted(void)
{
    const char *text = getenv("RILL_CUDA_GUARDS");
    return text != NULL && text[0] != '\0';
}

size_t cuda_max_frame_guards(const cuda_run *r)
{
    enum {
        OP_ARRAYS = 9,
        RUN_ARRAYS = 3
    }; /* maximum arrays per operation that selects choices; per run: rows of index spaces, first rows, legal sets */
    const dev_graph *p = r->graph;
    return 2 * (p->n_spaces + 1) + p->n_indices + p->n_paths + p->n_columns + OP_ARRAYS * p->n_ops + RUN_ARRAYS +
           2 * r->host_run.network->n_subsets;
}

size_t cuda_max_work_guards(const cuda_run *r)
{
    enum { AREAS = 8 }; /* maximum number of other arrays that lay_out_device() allocates */
    const dev_graph *p = r->graph;
    return 2 * p->n_buffers + p->n_paths + AREAS;
}

/* The i-th guard's address on the device, and its length. */
static char *find_guard(const cuda_run *r, size_t i, size_t *bytes)
{
    const int in_frame = i < r->n_frame_guards;
    const size_t end = in_frame ? r->frame_guard[i] : r->work_guard[i - r->n_frame_guards];
    *bytes = dev_guard_bytes(end);
    return (in_frame ? r->frame->device_copy.base : r->values) + end;
}

rill_status cuda_fill_guards(cuda_run *r)
{
    cuda_session *cuda = r->cuda;
    const size_t n = r->n_frame_guards + r->host_run.n_guards;
    size_t bytes;
    if (!cuda->guarded) return RILL_OK;
    const rill_status status = cuda_grow_pinned(r->session, &cuda->guard_pattern, &cuda->guard_bytes,
                                                (n + 1) * MAX_BYTES);
    if (status != RILL_OK) return status;
    memset(cuda->guard_pattern, PATTERN, MAX_BYTES);
    for (size_t i = 0; i < n; i++) {
        char *to = find_guard(r, i, &bytes);
        gpu_copy_to_device(r->cu_stream, to, cuda->guard_pattern, bytes);
    }
    return RILL_OK;
}

rill_status cuda_check_guards(const cuda_run *r)
{
    const cuda_session *cuda = r->cuda;
    const size_t n = r->n_frame_guards + r->host_run.n_guards;
    size_t bytes;
    char why[GPU_ERROR_BYTES];
    if (!cuda->guarded) return RILL_OK;
    for (size_t i = 0; i < n; i++) {
        const char *from = find_guard(r, i, &bytes);
        gpu_copy_to_host(r->cu_stream, cuda->guard_pattern + (i + 1) * MAX_BYTES, from, bytes);
    }
    if (gpu_stream_sync(r->cu_stream, why) != 0)
        return cuda_fail(r->session->ctx, r->host_run.network->device->name, why);
    for (size_t i = 0; i < n; i++) {
        (void)find_guard(r, i, &bytes);
        if (memcmp(cuda->guard_pattern, cuda->guard_pattern + (i + 1) * MAX_BYTES, bytes) != 0)
            return rill_fail(r->session->ctx, RILL_ERR_DEVICE,
                             "device: graph %s wrote past the end of array %zu of %zu (%s)", r->graph->name, i + 1, n,
                             i < r->n_frame_guards ? "host data and results" : "tensors and working memory");
    }
    return RILL_OK;
}
