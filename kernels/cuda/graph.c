/* Runs that are recorded: a timestep is a hundred launches, and putting them into a queue one by one takes longer than they do.
 *
 * A record holds addresses and sizes, so it serves runs that lie alike in memory. Numbers of rows are rounded up to 4, 5, 6 or 7 times
 * a power of two, kernels count their rows on the device, and what lies where follows from the rounded numbers. A record's key is
 * all that its launches follow from. Programs over ragged inputs are not recorded: their lengths hardly ever come again.
 *
 * Invariant: two runs of one key put the same work into the queue. Divisions: which runs · keys · records. */
#include "executor.h"

#include <string.h>

/* --- which runs --------------------------------------------------------------------------------------------------- */

int cuda_can_record(const cuda_run *r)
{
    return r->program->ragged == 0 && !r->stream->profiling && r->own->refusals < CUDA_REFUSALS;
}

size_t cuda_round(const cuda_run *r, size_t n)
{
    size_t unit = 1;
    if (!r->recorded || n <= 8) return !r->recorded || n == 0 ? n : n <= 4 ? 4 : 8;
    while (7 * unit < n) unit *= 2;
    return (n + unit - 1) / unit * unit;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

typedef struct key {
    int64_t *at; /* NULL while numbers are counted */
    size_t length;
} key;

static void add(key *k, size_t number)
{
    if (k->at != NULL) k->at[k->length] = (int64_t)number;
    k->length++;
}

static void add_address(key *k, const void *address)
{
    add(k, (size_t)(uintptr_t)address);
}

static void make_key(const cuda_run *r, key *k)
{
    const dev_program *p = r->program;
    const rill_plan *plan = r->inner.plan;
    const rill_selection *s = r->asked->selection;
    const cuda_stream *own = r->own;
    const cuda_frame *frame = r->frame;
    k->length = 0;
    add(k, (size_t)(p - plan->program));
    const size_t sizes[] = {r->inner.block_rows, r->slots, r->host_end, r->down_end,
                            r->columns_end,      r->back,  r->back_end};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) add(k, sizes[i]);
    for (size_t i = 0; i <= p->spaces; i++) add(k, r->most[i]);
    for (size_t i = 0; i < p->ops; i++) add(k, p->op[i].kind == DEV_ATTEND ? r->memory_of[i] : 0);
    for (size_t i = 0; i < r->memories; i++) add(k, r->memory[i].longest);
    for (size_t i = 0; i < p->paths; i++) add(k, r->path_total[i]);
    for (size_t i = 0; i < plan->lists; i++) add(k, r->list_longest[i]);
    add(k, s != NULL ? (size_t)s->most : 0);
    add(k, s != NULL ? cuda_round(r, (size_t)s->n_picks) : 0);
    add(k, r->legal != NULL ? s->legal_words : SIZE_MAX);
    add(k, r->watched != NULL ? r->asked->ld_watched : 0);
    add_address(k, frame->pinned);
    add_address(k, frame->twin.at);
    add_address(k, r->line->values.at);
    for (size_t i = 0; i <= plan->tables; i++) add_address(k, own->table[i].at);
    for (size_t i = 0; i < plan->lists; i++) add_address(k, own->list[i].ids.at);
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static void forget(const rill_stream *s, cuda_graph *g)
{
    gpu_graph_free(g->graph);
    rill_free(s->ctx, g->key, g->length * sizeof *g->key);
    *g = (cuda_graph){.graph = NULL};
}

void cuda_graphs_free(rill_stream *s)
{
    cuda_stream *own = s->own;
    for (size_t i = 0; i < CUDA_GRAPHS; i++) forget(s, &own->graph[i]);
    rill_free(s->ctx, own->key, own->key_room * sizeof *own->key);
}

/* Runs of this key, or NULL: there were none, as far as is remembered. */
static cuda_graph *find(cuda_stream *own, const key *k)
{
    for (size_t i = 0; i < CUDA_GRAPHS; i++) {
        cuda_graph *g = &own->graph[i];
        if (g->key != NULL && g->length == k->length && memcmp(g->key, k->at, k->length * sizeof *k->at) == 0) return g;
    }
    return NULL;
}

/* Remember the key in a place that is free, or that was used longest ago. */
static rill_status remember(const cuda_run *r, const key *k)
{
    rill_context *ctx = r->stream->ctx;
    cuda_graph *g = &r->own->graph[0];
    const size_t bytes = k->length * sizeof *k->at;
    for (size_t i = 1; i < CUDA_GRAPHS; i++)
        if (r->own->graph[i].used < g->used) g = &r->own->graph[i];
    forget(r->stream, g);
    g->key = rill_alloc(ctx, bytes);
    if (g->key == NULL) return rill_fail_memory(ctx, bytes, "a run");
    memcpy(g->key, k->at, bytes);
    g->length = k->length;
    g->used = ++r->own->runs;
    return RILL_OK;
}

/* Indices that follow from written columns are put into the queue as operations ask for them: once more, in a second try. */
static void forget_indices(cuda_run *r)
{
    for (size_t i = 0; i < r->program->indices; i++)
        if (cuda_is_written(r->program, (int32_t)i)) r->index[i] = NULL;
}

static gpu_graph *record(cuda_run *r, rill_status (*put)(cuda_run *))
{
    char why[GPU_TEXT] = "";
    gpu_graph *graph = NULL;
    if (gpu_record(r->queue, why) == 0) {
        (void)put(r); /* nothing is waited for, so nothing fails */
        graph = gpu_recorded(r->queue, why);
        forget_indices(r);
    }
    if (graph == NULL && ++r->own->refusals == CUDA_REFUSALS)
        rill_log(r->stream->ctx, RILL_LOG_INFO, "%s: runs are not recorded: %s", r->inner.plan->device->name, why);
    return graph;
}

/* What comes for the first time may never come again, and has kernels to be loaded: it is recorded when it comes for the second. */
rill_status cuda_replay(cuda_run *r, rill_status (*put)(cuda_run *))
{
    cuda_stream *own = r->own;
    key k = {.at = NULL};
    make_key(r, &k);
    rill_status status = rill_grow(r->stream->ctx, (void **)&own->key, &own->key_room, k.length, sizeof *own->key,
                                   "a run");
    if (status != RILL_OK) return status;
    k.at = own->key;
    make_key(r, &k);
    cuda_graph *g = find(own, &k);
    if (g == NULL) {
        status = remember(r, &k);
        return status == RILL_OK ? put(r) : status;
    }
    g->used = ++own->runs;
    if (g->graph == NULL) g->graph = record(r, put);
    if (g->graph == NULL) return put(r);
    gpu_replay(r->queue, g->graph);
    return RILL_OK;
}
