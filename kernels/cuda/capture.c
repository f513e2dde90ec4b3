/* Captures runs as CUDA graphs and replays them: cheaper for the host than launching each kernel.
 *
 * A graph contains addresses and sizes, so only runs with the same memory layout replay it. Row counts are rounded, so layouts recur;
 * kernels read the actual count. Encoder runs and copies are not captured.
 *
 * Invariant: two runs of one key enqueue the same work. */
#include "executor.h"

#include <inttypes.h>
#include <string.h>

/* --- runs that are captured --------------------------------------------------------------------------------------- */

int cuda_can_capture(const cuda_run *r)
{
    return r->graph->n_ragged == 0 && !r->session->profiling && r->cuda->capture_failures < CUDA_MAX_CAPTURE_FAILURES;
}

size_t cuda_round_up(const cuda_run *r, size_t n)
{
    size_t unit = 1;
    if (!r->captured || n <= 8) return !r->captured || n == 0 ? n : n <= 4 ? 4 : 8;
    while (7 * unit < n) unit *= 2;
    return (n + unit - 1) / unit * unit;
}

/* --- keys of captured runs ---------------------------------------------------------------------------------------- */

typedef struct run_key {
    int64_t *numbers; /* the numbers of the key; NULL: they are only counted */
    size_t length;
} run_key;

static void add_number(run_key *k, size_t number)
{
    if (k->numbers != NULL) k->numbers[k->length] = (int64_t)number;
    k->length++;
}

static void add_address(run_key *k, const void *address)
{
    add_number(k, (size_t)(uintptr_t)address);
}

static void make_run_key(const cuda_run *r, run_key *k)
{
    const dev_graph *p = r->graph;
    const rill_network *network = r->host_run.network;
    const rill_selection *s = r->host_arguments->selection;
    const cuda_session *cuda = r->cuda;
    const cuda_frame *frame = r->frame;
    k->length = 0;
    add_number(k, (size_t)(p - network->graph));
    const size_t sizes[] = {r->host_run.block_rows, r->n_slots,    r->host_end, r->down_end,
                            r->columns_end,         r->back_begin, r->back_end};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) add_number(k, sizes[i]);
    for (size_t i = 0; i <= p->n_spaces; i++) add_number(k, r->max_rows[i]);
    for (size_t i = 0; i < p->n_ops; i++) add_number(k, p->op[i].kind == RILL_OP_ATTEND ? r->kv_index[i] : 0);
    for (size_t i = 0; i < r->n_kv; i++) add_number(k, r->kv[i].max_length);
    for (size_t i = 0; i + 1 < p->n_paths; i++)
        /* the address of the next path's entries depends on this number of entries */
        add_number(k, r->path_entries[i]);
    for (size_t i = 1; i <= network->n_subsets; i++) add_number(k, r->host_run.max_subset[i]);
    add_number(k, s != NULL ? (size_t)s->max_choices : 0);
    add_number(k, s != NULL ? cuda_round_up(r, (size_t)s->n_picks) : 0);
    add_number(k, r->legal != NULL ? s->legal_words : SIZE_MAX);
    add_number(k, r->watched != NULL ? r->host_arguments->ld_watched : 0);
    add_address(k, frame->device_copy.base);
    add_address(k, r->lane->workspace.base);
    for (size_t i = 0; i <= network->n_tables; i++) add_address(k, cuda->table[i].base);
    for (size_t i = 0; i < network->n_subsets; i++) add_address(k, cuda->subset[i].ids.base);
}

/* --- the captured runs -------------------------------------------------------------------------------------------- */

static void free_capture(const rill_session *s, cuda_capture *g)
{
    gpu_graph_exec_free(g->exec);
    rill_free(s->ctx, g->key, g->key_length * sizeof *g->key);
    *g = (cuda_capture){.exec = NULL};
}

void cuda_captures_free(rill_session *s)
{
    cuda_session *cuda = s->data;
    const rill_graph_runs *r = &cuda->runs;
    if (r->direct + r->captured + r->replayed > 0)
        rill_log(s->ctx, RILL_LOG_DEBUG,
                 "%s: %" PRId64 " runs launched one by one, %" PRId64 " captured as CUDA graphs, %" PRId64
                 " replayed; %" PRId64 " graphs evicted",
                 s->network->device->name, r->direct, r->captured, r->replayed, r->evicted);
    for (size_t i = 0; i < CUDA_MAX_CAPTURES; i++) free_capture(s, &cuda->capture[i]);
    rill_free(s->ctx, cuda->key, cuda->key_capacity * sizeof *cuda->key);
}

/* The capture of a key, or NULL if the key is new or was evicted. */
static cuda_capture *find_capture(cuda_session *cuda, const run_key *k)
{
    for (size_t i = 0; i < CUDA_MAX_CAPTURES; i++) {
        cuda_capture *g = &cuda->capture[i];
        if (g->key != NULL && g->key_length == k->length &&
            memcmp(g->key, k->numbers, k->length * sizeof *k->numbers) == 0)
            return g;
    }
    return NULL;
}

/* Store the key in a free or the least recently used entry. */
static rill_status add_capture(const cuda_run *r, const run_key *k)
{
    rill_context *ctx = r->session->ctx;
    cuda_capture *g = &r->cuda->capture[0];
    const size_t bytes = k->length * sizeof *k->numbers;
    for (size_t i = 1; i < CUDA_MAX_CAPTURES; i++)
        if (r->cuda->capture[i].last_used < g->last_used) g = &r->cuda->capture[i];
    r->cuda->runs.evicted += g->exec != NULL;
    free_capture(r->session, g);
    g->key = rill_alloc(ctx, bytes);
    if (g->key == NULL) return rill_fail_memory(ctx, bytes, "a run");
    memcpy(g->key, k->numbers, bytes);
    g->key_length = k->length;
    g->last_used = ++r->cuda->n_keyed;
    return RILL_OK;
}

/* Forget the indices of columns that the run writes, so that enqueue_fn enqueues their kernels again. */
static void clear_written_indices(cuda_run *r)
{
    for (size_t i = 0; i < r->graph->n_indices; i++)
        if (cuda_is_written(r->graph, (int32_t)i)) r->index[i] = NULL;
}

static gpu_graph_exec *capture_run(cuda_run *r, rill_status (*enqueue_fn)(cuda_run *))
{
    char why[GPU_ERROR_BYTES] = "";
    gpu_graph_exec *graph = NULL;
    if (gpu_capture_begin(r->cu_stream, why) == 0) {
        /* cannot fail: it fails only where profiling waits for the GPU, and profiled runs are not captured */
        (void)enqueue_fn(r);
        graph = gpu_capture_end(r->cu_stream, why);
        clear_written_indices(r);
    }
    if (graph == NULL && ++r->cuda->capture_failures == CUDA_MAX_CAPTURE_FAILURES)
        rill_log(r->session->ctx, RILL_LOG_INFO, "%s: runs are not recorded: %s", r->host_run.network->device->name,
                 why);
    return graph;
}

/* Capture only the second run of a key: by then CUDA has loaded the kernels, and many keys occur only once. */
rill_status cuda_capture_or_replay(cuda_run *r, rill_status (*enqueue_fn)(cuda_run *))
{
    cuda_session *cuda = r->cuda;
    run_key k = {.numbers = NULL};
    make_run_key(r, &k);
    rill_status status = rill_grow(r->session->ctx, (void **)&cuda->key, &cuda->key_capacity, k.length,
                                   sizeof *cuda->key, "a run");
    if (status != RILL_OK) return status;
    k.numbers = cuda->key;
    make_run_key(r, &k);
    cuda_capture *g = find_capture(cuda, &k);
    if (g == NULL) {
        status = add_capture(r, &k);
        return status == RILL_OK ? cuda_run_directly(r, enqueue_fn) : status;
    }
    g->last_used = ++cuda->n_keyed;
    const int is_new = g->exec == NULL;
    if (is_new) g->exec = capture_run(r, enqueue_fn);
    if (g->exec == NULL) return cuda_run_directly(r, enqueue_fn);
    *(is_new ? &cuda->runs.captured : &cuda->runs.replayed) += 1;
    gpu_graph_launch(r->cu_stream, g->exec);
    return RILL_OK;
}

rill_status cuda_run_directly(cuda_run *r, rill_status (*enqueue_fn)(cuda_run *))
{
    r->cuda->runs.direct++;
    return enqueue_fn(r);
}

void cuda_graph_runs(const rill_session *s, rill_graph_runs *out)
{
    *out = ((const cuda_session *)s->data)->runs;
}
