/* The forest: all hypotheses of all items as paths of histories, and the ids of the states behind them.
 *
 * A *history* is its parent plus one action; it is what a beam entry or an output points at, and it costs a few bytes. A
 * *node* is the id under which the domain keeps the state of a history; nodes are what memory is spent on, so they live as
 * briefly as the domain allows:
 *
 *   RILL_STATE_PARENT   a node is held by its own beam entry while it is expanded and then by each child that has not been
 *                       stepped yet; when the last hold goes the node is recycled, the history stays
 *   RILL_STATE_PATH     a node lives as long as its history
 *
 * Histories of one item stand together in chunks that the item's *arena* holds: a path is walked through few cache lines, and
 * an item that is done gives its chunks back whole, without a visit to each node. (With nodes of all items mixed in one pool,
 * finishing items cost more than all else that the engine does, once a thousand were in flight.)
 *
 * Invariants: refs = children + beam entries and outputs that point here (a state_parent other than the parent counts as a
 * child too); in parent mode a history in state HYP_NOT_STEPPED holds its state_parent's node; nodes given back wait in
 * `freed` until the domain has been told; only then are they given out again. */
#ifndef RILL_HYP_POOL_H
#define RILL_HYP_POOL_H

#include "internal.h"
#include "rill/scorer.h"

enum { HYP_CHUNK = 32 }; /* histories: one kilobyte, less than most items need */

enum {
    HYP_NO_NODE = -1,     /* ended, or recycled */
    HYP_NOT_STEPPED = -2, /* live; its state has not been made */
};

/* The engine's part of a rill_hyp_node. */
enum {
    HYP_STATE_PARENT, /* history whose state this one continues */
    HYP_NODE,         /* >= 0, or one of the two above */
    HYP_REFS,
    HYP_HOLDS, /* parent mode: on the node */
};

/* A chunk. */
typedef struct hyp_chunk {
    int32_t next;      /* of its arena, or of those that no arena has */
    int32_t next_open; /* of its arena's open ones: with unused histories, and not at work */
    uint32_t unused;   /* bit i: history i; 0 of the chunk at work, where the arena has it */
} hyp_chunk;

/* One item's histories. Zero-initialise with hyp_arena_init(). */
typedef struct hyp_arena {
    int32_t first_chunk;      /* head of a list, or -1 */
    int32_t first_open_chunk; /* head of a list, or -1 */
    int32_t chunk_start;      /* history of the chunk at work, which new ones are taken from ... */
    uint32_t unused;          /* ... and which are left there */
    int32_t n_in_use;
} hyp_arena;

/* A history that loses a reference. */
typedef struct hyp_release {
    hyp_arena *arena;
    int32_t hyp;
} hyp_release;

typedef struct hyp_pool {
    rill_context *ctx;
    rill_state_need state_need;
    rill_hyp_node *hyp; /* [chunk_capacity * HYP_CHUNK] */
    hyp_chunk *chunk;   /* [chunk_capacity] */
    int32_t hyp_chunks, chunk_capacity, chunk_top, first_free_chunk, chunks_in_use;
    int32_t n_hyps, hyps_peak;
    /* Nodes: a stack of free ids, ids from `node_top` on were never used. */
    int32_t *free_nodes;
    int32_t node_capacity, node_top, n_free_nodes, n_nodes, nodes_peak;
    int32_t node_limit;   /* no more nodes are ever given out; INT32_MAX - 1: ids end there */
    int32_t *freed_nodes; /* the domain has not been told */
    size_t freed_nodes_capacity;
    int32_t n_freed_nodes;
} hyp_pool;

void hyp_pool_init(hyp_pool *f, rill_context *ctx, rill_state_need need);
void hyp_pool_finish(hyp_pool *f);

void hyp_arena_init(hyp_arena *a);
/* Give all of an arena's histories back, whoever points at them, and all of its chunks. `nodes`: some may have nodes, which go too; in
 * parent mode none has once no live one is left. */
void hyp_arena_free(hyp_pool *f, hyp_arena *a, int nodes);
/* Have the arena's histories fetched into the cache; before they are walked. */
void hyp_arena_prefetch(const hyp_pool *f, const hyp_arena *a);

/* Room for `n` more histories in up to `arenas` arenas, so that hyp_pool_add() cannot fail. */
rill_status hyp_pool_reserve(hyp_pool *f, int64_t n, int32_t arenas);
/* Room for `n` more nodes, which the limit allows; *capacity_grew tells that the domain must hear of f->node_capacity. */
rill_status hyp_pool_reserve_nodes(hyp_pool *f, int64_t n, int *capacity_grew);

/* --- what a timestep does with every node stands here, to be inlined ----------------------------------------------- */

/* Another chunk for the arena's work: what was at work is full. */
void hyp_arena_open_chunk(hyp_pool *f, hyp_arena *a);

/* So many histories more. */
static inline void hyp_pool_count(hyp_pool *f, hyp_arena *a, int32_t n)
{
    a->n_in_use += n;
    f->n_hyps += n;
    if (f->n_hyps > f->hyps_peak) f->hyps_peak = f->n_hyps;
}

/* hyp_pool_add(), but still to be counted are the history, and the references and the hold on those that it comes from. Which histories
 * are unused stands apart from them, and neighbours are taken: an item's are cold, and a list through them would be waited for. */
static inline int32_t hyp_pool_add_uncounted(hyp_pool *f, hyp_arena *a, int32_t parent, int32_t state_parent,
                                             int32_t action, float logp, float score, int live)
{
    if (a->unused == 0) hyp_arena_open_chunk(f, a);
    const int32_t id = a->chunk_start + __builtin_ctz(a->unused);
    a->unused &= a->unused - 1;
    f->hyp[id] = (rill_hyp_node){
        parent, action, logp, score, {state_parent, live ? HYP_NOT_STEPPED : HYP_NO_NODE, 1, 0}};
    return id;
}

/* A new history with one reference, for the caller. `live`: it is HYP_NOT_STEPPED and holds its state_parent's node. */
static inline int32_t hyp_pool_add(hyp_pool *f, hyp_arena *a, int32_t parent, int32_t state_parent, int32_t action,
                                   float logp, float score, int live)
{
    const int32_t id = hyp_pool_add_uncounted(f, a, parent, state_parent, action, logp, score, live);
    hyp_pool_count(f, a, 1);
    if (parent >= 0) f->hyp[parent].internal[HYP_REFS]++;
    if (state_parent >= 0) {
        int32_t *state_hyp = f->hyp[state_parent].internal;
        if (state_parent != parent) state_hyp[HYP_REFS]++;
        if (live) state_hyp[HYP_HOLDS]++;
    }
    return id;
}

/* The history's node waits in `freed`. */
static inline void hyp_pool_free_node(hyp_pool *f, int32_t hyp)
{
    f->freed_nodes[f->n_freed_nodes++] = f->hyp[hyp].internal[HYP_NODE];
    f->hyp[hyp].internal[HYP_NODE] = HYP_NO_NODE;
    f->n_nodes--;
}

/* Parent mode: there are more holds on a node, or fewer. */
static inline void hyp_pool_add_holds(hyp_pool *f, int32_t hyp, int32_t more)
{
    int32_t *hyp_state = f->hyp[hyp].internal;
    if ((hyp_state[HYP_HOLDS] += more) == 0 && f->state_need == RILL_STATE_PARENT && hyp_state[HYP_NODE] >= 0)
        hyp_pool_free_node(f, hyp);
}

/* Parent mode: let go of a node held since hyp_pool_assign_nodes(). */
static inline void hyp_pool_drop_hold(hyp_pool *f, int32_t hyp)
{
    hyp_pool_add_holds(f, hyp, -1);
}

/* Give live histories their nodes, held once. There is room. */
static inline void hyp_pool_assign_nodes(hyp_pool *f, const int32_t *hyp, int32_t n, int32_t *node)
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

/* The state of `history` has been made: it lets go of its state_parent's node. */
static inline void hyp_pool_mark_stepped(hyp_pool *f, int32_t hyp)
{
    int32_t from = f->hyp[hyp].internal[HYP_STATE_PARENT];
    if (from >= 0) hyp_pool_drop_hold(f, from);
}

/* The state of `history` will not be made. */
static inline void hyp_pool_skip_step(hyp_pool *f, int32_t hyp)
{
    f->hyp[hyp].internal[HYP_NODE] = HYP_NO_NODE;
    hyp_pool_mark_stepped(f, hyp);
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* One reference less; at zero the history goes, then its parent loses one, and so on. */
void hyp_pool_release(hyp_pool *f, hyp_arena *a, int32_t hyp);
/* The same for n of them, which are written over: all go a generation at a time, since each is cold, and the next one is fetched
 * meanwhile. */
void hyp_pool_release_all(hyp_pool *f, hyp_release *released, int32_t n);

/* The node of `history`, or RILL_NO_NODE when it has none. */
static inline int32_t hyp_pool_node(const hyp_pool *f, int32_t hyp)
{
    return hyp >= 0 && f->hyp[hyp].internal[HYP_NODE] >= 0 ? f->hyp[hyp].internal[HYP_NODE] : RILL_NO_NODE;
}

/* Hand the nodes in `freed` back to the pool; call once the domain knows. */
void hyp_pool_recycle_nodes(hyp_pool *f);

#endif
