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
    rill_free(f->ctx, f->chunk, (size_t)f->chunk_capacity * sizeof *f->chunk);
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
        RILL__TRY(grow(f, (void **)&f->chunk, &f->chunk_capacity, need, INT32_MAX - 1, sizeof *f->chunk, "hypotheses"));
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
    *a = (forest_arena){.chunks = -1, .open = -1};
}

/* One that no arena has. */
static int32_t take_chunk(forest *f)
{
    const int32_t chunk = f->chunk_free;
    f->chunks_in_use++;
    if (chunk < 0) return f->chunk_top++;
    f->chunk_free = f->chunk[chunk].next;
    return chunk;
}

void forest_open_chunk(forest *f, forest_arena *a)
{
    int32_t chunk = a->open;
    if (chunk >= 0) {
        a->open = f->chunk[chunk].next_open;
        a->unused = f->chunk[chunk].unused;
    } else {
        chunk = take_chunk(f);
        f->chunk[chunk].next = a->chunks;
        a->chunks = chunk;
        a->unused = UINT32_MAX;
    }
    f->chunk[chunk].unused = 0;
    a->first = chunk * FOREST_CHUNK;
}

void forest_arena_drop(forest *f, forest_arena *a, int nodes)
{
    while (a->chunks >= 0) {
        const int32_t chunk = a->chunks, first = chunk * FOREST_CHUNK;
        uint32_t used = ~(first == a->first ? a->unused : f->chunk[chunk].unused);
        for (; nodes && used != 0; used &= used - 1) {
            const int32_t id = first + __builtin_ctz(used);
            if (NODE(id) >= 0) forest_free_node(f, id);
        }
        a->chunks = f->chunk[chunk].next;
        f->chunk[chunk].next = f->chunk_free;
        f->chunk_free = chunk;
        f->chunks_in_use--;
    }
    f->histories -= a->in_use;
    forest_arena_init(a);
}

void forest_arena_fetch(const forest *f, const forest_arena *a)
{
    enum { LINE = 64 };
    for (int32_t chunk = a->chunks; chunk >= 0; chunk = f->chunk[chunk].next) {
        const char *bytes = (const char *)&f->h[(size_t)chunk * FOREST_CHUNK];
        for (size_t i = 0; i < FOREST_CHUNK * sizeof *f->h; i += LINE) __builtin_prefetch(bytes + i);
    }
}

/* The history has no references left: give everything back and return to the pool. */
static void retire(forest *f, forest_arena *a, int32_t id)
{
    if (NODE(id) == FOREST_UNSTEPPED && STATE_PARENT(id) >= 0) forest_unhold(f, STATE_PARENT(id));
    if (NODE(id) >= 0) forest_free_node(f, id);
    if (id - a->first >= 0 && id - a->first < FOREST_CHUNK) {
        a->unused |= UINT32_C(1) << (id - a->first);
    } else {
        const int32_t chunk = id / FOREST_CHUNK;
        forest_chunk *its = &f->chunk[chunk];
        if (its->unused == 0) {
            its->next_open = a->open;
            a->open = chunk;
        }
        its->unused |= UINT32_C(1) << id % FOREST_CHUNK;
    }
    a->in_use--;
    f->histories--;
}

void forest_release_all(forest *f, forest_leaving *leaving, int32_t n)
{
    while (n > 0) {
        int32_t left = 0;
        for (int32_t i = 0; i < n; i++) {
            const int32_t history = leaving[i].history, parent = f->h[history].parent, state = STATE_PARENT(history);
            forest_arena *arena = leaving[i].arena;
            if (--REFS(history) > 0) continue;
            retire(f, arena, history);
            /* Only cube pruning makes the two differ; such chains are as short as a beam is deep. */
            if (state >= 0 && state != parent) forest_release(f, arena, state);
            if (parent < 0) continue;
            __builtin_prefetch(&f->h[parent], 1);
            leaving[left++] = (forest_leaving){arena, parent};
        }
        n = left;
    }
}

void forest_release(forest *f, forest_arena *a, int32_t history)
{
    forest_leaving alone = {a, history};
    forest_release_all(f, &alone, 1);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

void forest_recycle(forest *f)
{
    int32_t *to = f->node_stack + f->nodes_stacked;
    for (int32_t i = f->n_freed - 1; i >= 0; i--) *to++ = f->freed[i];
    f->nodes_stacked += f->n_freed;
    f->n_freed = 0;
}
