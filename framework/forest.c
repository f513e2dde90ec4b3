/* The forest's pools; forest.h says what they mean.
 *
 * Divisions: memory · histories · nodes. */
#include "forest.h"

#define STATE_PARENT(id) (f->h[id].internal[HISTORY_STATE_PARENT])
#define NODE(id) (f->h[id].internal[HISTORY_NODE])
#define REFS(id) (f->h[id].internal[HISTORY_REFS])

/* --- memory ------------------------------------------------------------------------------------------------------- */

void forest_init(forest *f, rill_context *ctx, rill_state_need need)
{
    *f = (forest){.ctx = ctx, .need = need, .chunk_free = -1, .node_limit = INT32_MAX - 1};
}

void forest_finish(forest *f)
{
    rill_free(f->ctx, f->h, (size_t)f->history_chunks * FOREST_CHUNK * sizeof *f->h);
    rill_free(f->ctx, f->chunk_next, (size_t)f->chunk_capacity * sizeof *f->chunk_next);
    rill_free(f->ctx, f->node_stack, (size_t)f->node_capacity * sizeof *f->node_stack);
    rill_free(f->ctx, f->freed, f->freed_capacity * sizeof *f->freed);
    forest_init(f, f->ctx, f->need);
}

/* The capacity to grow to for `need`, or -1 beyond `limit`. The last growth before the limit goes all the way when less than
 * half as much again would be left: rill_grow(), with which domains follow, takes half as much again at least, and would
 * overshoot. */
static int32_t grown(int32_t capacity, int64_t need, int32_t limit)
{
    int64_t wanted = 2 * (int64_t)capacity; /* the domain copies its states whenever this grows */
    if (wanted < need) wanted = need;
    if (wanted < 64) wanted = 64;
    if (wanted + wanted / 2 > limit) wanted = limit;
    return wanted < need ? -1 : (int32_t)wanted;
}

/* Bring an array of `*capacity` elements to room for `need`. Ids are int32_t, hence no rill_grow(). */
static rill_status grow(forest *f, void **block, int32_t *capacity, int64_t need, int32_t limit, size_t size,
                        const char *what)
{
    int32_t wanted = grown(*capacity, need, limit);
    if (wanted < 0) return rill_fail_memory(f->ctx, SIZE_MAX, what);
    size_t bytes = (size_t)*capacity;
    RILL__TRY(rill_grow(f->ctx, block, &bytes, (size_t)wanted, size, what));
    *capacity = (int32_t)bytes;
    return RILL_OK;
}

/* At worst each arena opens a chunk and fills little of it. */
rill_status forest_reserve_histories(forest *f, int64_t n, int32_t arenas)
{
    int64_t need = f->chunks_in_use + n / FOREST_CHUNK + arenas;
    if (need > INT32_MAX / FOREST_CHUNK) return rill_fail_memory(f->ctx, SIZE_MAX, "the forest of hypotheses");
    if (need > f->chunk_capacity)
        RILL__TRY(grow(f, (void **)&f->chunk_next, &f->chunk_capacity, need, INT32_MAX - 1, sizeof *f->chunk_next,
                       "hypotheses"));
    if (need > f->history_chunks)
        RILL__TRY(grow(f, (void **)&f->h, &f->history_chunks, need, INT32_MAX - 1, FOREST_CHUNK * sizeof *f->h,
                       "hypotheses"));
    return RILL_OK;
}

rill_status forest_reserve_nodes(forest *f, int64_t n, int *capacity_grew)
{
    *capacity_grew = 0;
    /* Nodes waiting in `freed` cannot be given out yet. */
    int64_t need = (int64_t)f->nodes + f->n_freed + n;
    RILL__TRY(RILL__GROW(f->ctx, f->freed, f->freed_capacity, (size_t)need, "freed nodes"));
    if (need <= f->node_capacity) return RILL_OK;
    RILL__TRY(grow(f, (void **)&f->node_stack, &f->node_capacity, need, f->node_limit, sizeof *f->node_stack,
                   "the table of states"));
    *capacity_grew = 1;
    return RILL_OK;
}

/* --- histories ---------------------------------------------------------------------------------------------------- */

void forest_arena_init(forest_arena *a)
{
    *a = (forest_arena){.chunks = -1, .free = -1};
}

void forest_open_chunk(forest *f, forest_arena *a)
{
    int32_t chunk = f->chunk_free;
    if (chunk >= 0)
        f->chunk_free = f->chunk_next[chunk];
    else
        chunk = f->chunk_top++;
    f->chunks_in_use++;
    f->chunk_next[chunk] = a->chunks;
    a->chunks = chunk;
    a->top = chunk * FOREST_CHUNK;
    a->end = a->top + FOREST_CHUNK;
}

void forest_arena_drop(forest *f, forest_arena *a, int nodes)
{
    while (a->chunks >= 0) {
        const int32_t chunk = a->chunks, first = chunk * FOREST_CHUNK;
        for (int32_t id = first; nodes && id < a->top; id++)
            if (NODE(id) >= 0) forest_free_node(f, id);
        a->chunks = f->chunk_next[chunk];
        f->chunk_next[chunk] = f->chunk_free;
        f->chunk_free = chunk;
        f->chunks_in_use--;
        a->top = (a->chunks + 1) * FOREST_CHUNK; /* all chunks but the newest are full */
    }
    f->histories -= a->in_use;
    forest_arena_init(a);
}

void forest_arena_fetch(const forest *f, const forest_arena *a)
{
    enum { LINE = 64 };
    for (int32_t chunk = a->chunks; chunk >= 0; chunk = f->chunk_next[chunk]) {
        const char *bytes = (const char *)&f->h[(size_t)chunk * FOREST_CHUNK];
        for (size_t i = 0; i < FOREST_CHUNK * sizeof *f->h; i += LINE) __builtin_prefetch(bytes + i);
    }
}

/* The history has no references left: give everything back and return to the pool. */
static void retire(forest *f, forest_arena *a, int32_t id)
{
    if (NODE(id) == FOREST_UNSTEPPED && STATE_PARENT(id) >= 0) forest_unhold(f, STATE_PARENT(id));
    if (NODE(id) >= 0) forest_free_node(f, id);
    f->h[id].parent = a->free;
    a->free = id;
    a->in_use--;
    f->histories--;
}

void forest_release(forest *f, forest_arena *a, int32_t history)
{
    while (history >= 0 && --REFS(history) == 0) {
        int32_t parent = f->h[history].parent, state_parent = STATE_PARENT(history);
        retire(f, a, history);
        /* Only cube pruning makes the two differ; such chains are as short as a beam is deep. */
        if (state_parent >= 0 && state_parent != parent) forest_release(f, a, state_parent);
        history = parent;
    }
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

void forest_recycle(forest *f)
{
    int32_t *to = f->node_stack + f->nodes_stacked;
    for (int32_t i = f->n_freed - 1; i >= 0; i--) *to++ = f->freed[i];
    f->nodes_stacked += f->n_freed;
    f->n_freed = 0;
}
