/* Stores hypotheses, and hands out the ids (nodes) of their model states; declared in hyp_pool.h. */
#include "hyp_pool.h"

#define STATE_PARENT(id) (f->hyp[id].internal[HYP_STATE_PARENT])
#define NODE(id) (f->hyp[id].internal[HYP_NODE])
#define REFS(id) (f->hyp[id].internal[HYP_REFS])

/* --- memory of the pool ------------------------------------------------------------------------------------------- */

void hyp_pool_init(hyp_pool *f, rill_context *ctx, rill_state_need need)
{
    *f = (hyp_pool){.ctx = ctx, .state_need = need, .first_free_chunk = -1, .node_limit = INT32_MAX - 1};
}

void hyp_pool_finish(hyp_pool *f)
{
    rill_free(f->ctx, f->hyp, (size_t)f->hyp_chunks * HYP_CHUNK * sizeof *f->hyp);
    rill_free(f->ctx, f->chunk, (size_t)f->chunk_capacity * sizeof *f->chunk);
    rill_free(f->ctx, f->free_nodes, (size_t)f->node_capacity * sizeof *f->free_nodes);
    rill_free(f->ctx, f->freed_nodes, f->freed_nodes_capacity * sizeof *f->freed_nodes);
    hyp_pool_init(f, f->ctx, f->state_need);
}

/* Grow an array. Near `limit` it grows to the limit at once, because domains' tables grow by at least half. */
static rill_status grow_array(hyp_pool *f, void **block, int32_t *capacity, int64_t need, int32_t limit, size_t size,
                              const char *what)
{
    int64_t new_capacity = 2 * (int64_t)*capacity; /* doubled, since the domain copies its states at every growth */
    if (new_capacity < need) new_capacity = need;
    if (new_capacity < 64) new_capacity = 64;
    if (new_capacity + new_capacity / 2 > limit) new_capacity = limit;
    if (new_capacity < need) return rill_fail_memory(f->ctx, SIZE_MAX, what);
    size_t grown = (size_t)*capacity;
    RILL__TRY(rill_grow(f->ctx, block, &grown, (size_t)new_capacity, size, what));
    *capacity = (int32_t)grown;
    return RILL_OK;
}

/* The worst case needs one chunk more per arena: each arena may open a chunk and fill little of it. */
rill_status hyp_pool_reserve(hyp_pool *f, int64_t n, int32_t arenas)
{
    int64_t need = f->chunks_in_use + n / HYP_CHUNK + arenas;
    if (need > INT32_MAX / HYP_CHUNK) return rill_fail_memory(f->ctx, SIZE_MAX, "hypotheses");
    if (need > f->chunk_capacity)
        RILL__TRY(
            grow_array(f, (void **)&f->chunk, &f->chunk_capacity, need, INT32_MAX - 1, sizeof *f->chunk, "hypotheses"));
    if (need > f->hyp_chunks)
        RILL__TRY(grow_array(f, (void **)&f->hyp, &f->hyp_chunks, need, INT32_MAX - 1, HYP_CHUNK * sizeof *f->hyp,
                             "hypotheses"));
    return RILL_OK;
}

rill_status hyp_pool_reserve_nodes(hyp_pool *f, int64_t n, int *capacity_grew)
{
    *capacity_grew = 0;
    /* Nodes (state ids) in `freed_nodes` count as in use, since they cannot be reused yet. */
    int64_t need = (int64_t)f->n_nodes + f->n_freed_nodes + n;
    RILL__TRY(RILL__GROW(f->ctx, f->freed_nodes, f->freed_nodes_capacity, (size_t)need, "freed nodes"));
    if (need <= f->node_capacity) return RILL_OK;
    RILL__TRY(grow_array(f, (void **)&f->free_nodes, &f->node_capacity, need, f->node_limit, sizeof *f->free_nodes,
                         "the table of states"));
    *capacity_grew = 1;
    return RILL_OK;
}

/* --- allocating hypotheses ---------------------------------------------------------------------------------------- */

void hyp_arena_init(hyp_arena *a)
{
    *a = (hyp_arena){.first_chunk = -1, .first_open_chunk = -1};
}

void hyp_arena_open_chunk(hyp_pool *f, hyp_arena *a)
{
    int32_t chunk = a->first_open_chunk;
    if (chunk >= 0) {
        a->first_open_chunk = f->chunk[chunk].next_open;
        a->unused = f->chunk[chunk].unused;
    } else {
        /* a free chunk, or one that was never used */
        chunk = f->first_free_chunk >= 0 ? f->first_free_chunk : f->chunk_top++;
        if (chunk == f->first_free_chunk) f->first_free_chunk = f->chunk[chunk].next;
        f->chunks_in_use++;
        f->chunk[chunk].next = a->first_chunk;
        a->first_chunk = chunk;
        a->unused = UINT32_MAX;
    }
    f->chunk[chunk].unused = 0;
    a->chunk_start = chunk * HYP_CHUNK;
}

void hyp_arena_free(hyp_pool *f, hyp_arena *a, int nodes)
{
    while (a->first_chunk >= 0) {
        const int32_t chunk = a->first_chunk, first = chunk * HYP_CHUNK;
        uint32_t used = ~(first == a->chunk_start ? a->unused : f->chunk[chunk].unused);
        for (; nodes && used != 0; used &= used - 1) {
            const int32_t id = first + __builtin_ctz(used);
            if (NODE(id) >= 0) hyp_pool_free_node(f, id);
        }
        a->first_chunk = f->chunk[chunk].next;
        f->chunk[chunk].next = f->first_free_chunk;
        f->first_free_chunk = chunk;
        f->chunks_in_use--;
    }
    f->n_hyps -= a->n_in_use;
    hyp_arena_init(a);
}

void hyp_arena_prefetch(const hyp_pool *f, const hyp_arena *a)
{
    enum { CACHE_LINE = 64 };
    for (int32_t chunk = a->first_chunk; chunk >= 0; chunk = f->chunk[chunk].next) {
        const char *bytes = (const char *)&f->hyp[(size_t)chunk * HYP_CHUNK];
        for (size_t i = 0; i < HYP_CHUNK * sizeof *f->hyp; i += CACHE_LINE) __builtin_prefetch(bytes + i);
    }
}

/* Free a hypothesis without references, its node, and its reference to its state parent's node. */
static void free_hyp(hyp_pool *f, hyp_arena *a, int32_t id)
{
    if (NODE(id) == HYP_NOT_STEPPED && STATE_PARENT(id) >= 0) hyp_pool_add_holds(f, STATE_PARENT(id), -1);
    if (NODE(id) >= 0) hyp_pool_free_node(f, id);
    if (id - a->chunk_start >= 0 && id - a->chunk_start < HYP_CHUNK) {
        a->unused |= UINT32_C(1) << (id - a->chunk_start);
    } else {
        const int32_t chunk = id / HYP_CHUNK;
        hyp_chunk *home_chunk = &f->chunk[chunk];
        if (home_chunk->unused == 0) {
            home_chunk->next_open = a->first_open_chunk;
            a->first_open_chunk = chunk;
        }
        home_chunk->unused |= UINT32_C(1) << id % HYP_CHUNK;
    }
    a->n_in_use--;
    f->n_hyps--;
}

void hyp_pool_release_all(hyp_pool *f, hyp_release *released, int32_t n)
{
    while (n > 0) {
        int32_t n_next = 0;
        for (int32_t i = 0; i < n; i++) {
            const int32_t hyp = released[i].hyp, parent = f->hyp[hyp].parent, state = STATE_PARENT(hyp);
            hyp_arena *arena = released[i].arena;
            if (--REFS(hyp) > 0) continue;
            free_hyp(f, arena, hyp);
            /* Only cube pruning makes state_parent and parent differ. The recursion is at most as deep as the hypothesis is long. */
            if (state >= 0 && state != parent) hyp_pool_release(f, arena, state);
            if (parent < 0) continue;
            __builtin_prefetch(&f->hyp[parent], 1);
            released[n_next++] = (hyp_release){arena, parent};
        }
        n = n_next;
    }
}

void hyp_pool_release(hyp_pool *f, hyp_arena *a, int32_t hyp)
{
    hyp_release alone = {a, hyp};
    hyp_pool_release_all(f, &alone, 1);
}

/* --- hypothesis states -------------------------------------------------------------------------------------------- */

void hyp_pool_assign_nodes(hyp_pool *f, const int32_t *hyp, int32_t n, int32_t *node)
{
    const int32_t used = n < f->n_free_nodes ? n : f->n_free_nodes;
    for (int32_t i = 0; i < n; i++) {
        node[i] = i < used ? f->free_nodes[f->n_free_nodes - 1 - i] : f->node_top + i - used;
        int32_t *hyp_state = f->hyp[hyp[i]].internal;
        hyp_state[HYP_NODE] = node[i];
        hyp_state[HYP_HOLDS]++;
        if (hyp_state[HYP_STATE_PARENT] >= 0) __builtin_prefetch(&f->hyp[hyp_state[HYP_STATE_PARENT]], 1);
    }
    f->n_free_nodes -= used;
    f->node_top += n - used;
    f->n_nodes += n;
    if (f->n_nodes > f->nodes_peak) f->nodes_peak = f->n_nodes;
}

void hyp_pool_mark_stepped(hyp_pool *f, const int32_t *hyp, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (STATE_PARENT(hyp[i]) >= 0) hyp_pool_add_holds(f, STATE_PARENT(hyp[i]), -1);
}

void hyp_pool_recycle_nodes(hyp_pool *f)
{
    int32_t *to = f->free_nodes + f->n_free_nodes;
    for (int32_t i = f->n_freed_nodes - 1; i >= 0; i--) *to++ = f->freed_nodes[i];
    f->n_free_nodes += f->n_freed_nodes;
    f->n_freed_nodes = 0;
}
