/* The hypothesis pool: all hypotheses of all items as a tree of nodes, and the ids of their states (KV cache entries).
 *
 * A *hyp* is a hypothesis, stored in 32 bytes as its parent plus one action; beam entries and outputs refer to it. A *node* is the id under
 * which the domain keeps the state of a hyp. States dominate memory, so nodes live as briefly as the domain allows:
 *
 *   RILL_STATE_PARENT   "parent mode": a node is held by its hyp's beam entry while the entry is expanded, and then by each child whose
 *                       state is not computed yet; when the last hold is dropped, the node is recycled, while the hyp stays
 *   RILL_STATE_PATH     a node lives as long as its hyp
 *
 * Hyps of one item are stored in chunks of the item's *arena*: a path is walked through few cache lines, and a finished item frees its
 * chunks without visiting each hyp. (Without arenas, with a thousand items in flight, finishing items cost more than the rest of the
 * engine.)
 *
 * Invariants: refs = children + hyps of which the hyp is the state_parent but not the parent + beam entries and outputs that refer to it.
 * In parent mode a hyp in state HYP_NOT_STEPPED holds its state_parent's node. Freed nodes wait in `freed_nodes` until the domain has been
 * told, and only then are reused. */
#ifndef RILL_HYP_POOL_H
#define RILL_HYP_POOL_H

#include "internal.h"
#include "rill/scorer.h"

enum { HYP_CHUNK = 32 }; /* hyps per chunk: one kilobyte, less than most items need */

enum {
    HYP_NO_NODE = -1,     /* the hyp has ended, or its node was recycled */
    HYP_NOT_STEPPED = -2, /* the hyp is live, and its state is not computed yet */
};

/* Indexes in rill_hyp_node.internal. */
enum {
    HYP_STATE_PARENT, /* the hyp whose state this one is computed from */
    HYP_NODE,         /* id of the node (>= 0), HYP_NO_NODE or HYP_NOT_STEPPED */
    HYP_REFS,
    HYP_HOLDS, /* number of holds on the node; matters in parent mode only */
};

/* Metadata of chunk i, whose hyps are [i * HYP_CHUNK, (i + 1) * HYP_CHUNK). */
typedef struct hyp_chunk {
    int32_t next;      /* next chunk of its arena, or of the free list; -1: none */
    int32_t next_open; /* next open chunk of its arena: not the current chunk, and has unused hyps; -1: none */
    uint32_t unused;   /* bit i: hyp i is unused; 0 for the current chunk, whose bits are in the arena */
} hyp_chunk;

/* One item's hyps. Initialise with hyp_arena_init(). */
typedef struct hyp_arena {
    int32_t first_chunk;      /* head of a list, or -1 */
    int32_t first_open_chunk; /* head of a list, or -1 */
    int32_t chunk_start;      /* first hyp of the current chunk, from which new hyps are taken */
    uint32_t unused;          /* bit i: hyp chunk_start + i is unused */
    int32_t n_in_use;
} hyp_arena;

/* A hyp that loses a reference. */
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
    /* free_nodes is a stack of free node ids; ids from `node_top` on were never used. */
    int32_t *free_nodes;
    int32_t node_capacity, node_top, n_free_nodes, n_nodes, nodes_peak;
    int32_t node_limit;   /* limit on nodes; INT32_MAX - 1: no limit but the id range */
    int32_t *freed_nodes; /* freed nodes that the domain has not been told about */
    size_t freed_nodes_capacity;
    int32_t n_freed_nodes;
} hyp_pool;

void hyp_pool_init(hyp_pool *f, rill_context *ctx, rill_state_need need);
void hyp_pool_finish(hyp_pool *f);

void hyp_arena_init(hyp_arena *a);
/* Free all hyps of an arena, even if they have references, and all of its chunks. `nodes`: 1: hyps may have nodes, which are freed too;
 * 0: no hyp has a node, as in parent mode when no hyp is live. */
void hyp_arena_free(hyp_pool *f, hyp_arena *a, int nodes);
/* Prefetch the arena's hyps into the cache before they are walked. */
void hyp_arena_prefetch(const hyp_pool *f, const hyp_arena *a);

/* Reserve `n` hyps in up to `arenas` arenas, so that hyp_pool_add() cannot fail. */
rill_status hyp_pool_reserve(hyp_pool *f, int64_t n, int32_t arenas);
/* Reserve `n` nodes, which must be within the limit. *capacity_grew: 1: the caller must tell the domain the new f->node_capacity. */
rill_status hyp_pool_reserve_nodes(hyp_pool *f, int64_t n, int *capacity_grew);

/* --- inlined: operations that a timestep does for every node ------------------------------------------------------- */

/* Give the arena another current chunk: the current one is full. */
void hyp_arena_open_chunk(hyp_pool *f, hyp_arena *a);

/* Count n new hyps. */
static inline void hyp_pool_count(hyp_pool *f, hyp_arena *a, int32_t n)
{
    a->n_in_use += n;
    f->n_hyps += n;
    if (f->n_hyps > f->hyps_peak) f->hyps_peak = f->n_hyps;
}

/* hyp_pool_add() without counting the hyp, its references to its parents, and its hold on the state_parent's node. Unused hyps are found
 * in a bit mask, in order of address: following a free list through the hyps, which are not cached, would stall. */
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

/* Add a hyp with one reference, the caller's, and return its id. `live`: it is HYP_NOT_STEPPED and holds its state_parent's node. */
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

/* Free the hyp's node: it is added to `freed_nodes`. */
static inline void hyp_pool_free_node(hyp_pool *f, int32_t hyp)
{
    f->freed_nodes[f->n_freed_nodes++] = f->hyp[hyp].internal[HYP_NODE];
    f->hyp[hyp].internal[HYP_NODE] = HYP_NO_NODE;
    f->n_nodes--;
}

/* Add `more` holds (remove holds if negative) on the hyp's node. In parent mode a node without holds is freed. */
static inline void hyp_pool_add_holds(hyp_pool *f, int32_t hyp, int32_t more)
{
    int32_t *hyp_state = f->hyp[hyp].internal;
    if ((hyp_state[HYP_HOLDS] += more) == 0 && f->state_need == RILL_STATE_PARENT && hyp_state[HYP_NODE] >= 0)
        hyp_pool_free_node(f, hyp);
}

/* The state of `hyp` will not be computed: give it no node, and release its hold on its state_parent's node. */
static inline void hyp_pool_skip_step(hyp_pool *f, int32_t hyp)
{
    const int32_t from = f->hyp[hyp].internal[HYP_STATE_PARENT];
    f->hyp[hyp].internal[HYP_NODE] = HYP_NO_NODE;
    if (from >= 0) hyp_pool_add_holds(f, from, -1);
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* Remove a reference to `hyp`; at zero references it is freed and its parent loses a reference, recursively. */
void hyp_pool_release(hyp_pool *f, hyp_arena *a, int32_t hyp);
/* Remove a reference to each of n hyps; the array is overwritten. Parents are released generation by generation, so that the next
 * generation is prefetched meanwhile. */
void hyp_pool_release_all(hyp_pool *f, hyp_release *released, int32_t n);

/* The node of `hyp`, or RILL_NO_NODE. */
static inline int32_t hyp_pool_node(const hyp_pool *f, int32_t hyp)
{
    return hyp >= 0 && f->hyp[hyp].internal[HYP_NODE] >= 0 ? f->hyp[hyp].internal[HYP_NODE] : RILL_NO_NODE;
}

/* Assign a reserved node, with one hold on it, to each of n live hyps. node: [n] receives the nodes. */
void hyp_pool_assign_nodes(hyp_pool *f, const int32_t *hyp, int32_t n, int32_t *node);
/* The states of n hyps have been computed: release their holds on their state_parents' nodes. */
void hyp_pool_mark_stepped(hyp_pool *f, const int32_t *hyp, int32_t n);
/* Return `freed_nodes` to the pool; call once the domain has been told. */
void hyp_pool_recycle_nodes(hyp_pool *f);

#endif
