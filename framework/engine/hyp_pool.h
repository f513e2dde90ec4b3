/* The hypothesis pool: hypotheses in flight as a tree, and the ids of their model states (KV cache entries).
 *
 * A *hyp* is a hypothesis: its parent plus one action. A *node* is the id of its state in the domain. States use most of the memory, so a
 * node is freed as soon as possible:
 *
 *   RILL_STATE_PARENT  "parent mode": a state is computed from the parent's state. A node has its own reference count (HYP_HOLDS): one for
 *                      the beam entry while it is expanded, one per child without a state. At 0 the node is freed; the hyp stays
 *   RILL_STATE_PATH    a state is computed from all ancestors' states: a node lives as long as its hyp
 *
 * The hyps of one input are in the chunks of its *arena*. So a path touches few cache lines, and a finished input frees chunks, not single
 * hyps.
 *
 * Invariants: a hyp's reference count is the number of its children, hyps whose state is computed from its state, beam entries and
 * outputs. In parent mode a hyp without a state (HYP_NOT_STEPPED) holds a reference to the node of state_parent, the hyp to compute from.
 * Freed nodes wait in `freed_nodes` until passed to the domain's free(); then they are reused. */
#pragma once

#include "internal.h"
#include "rill/scorer.h"

enum { HYP_CHUNK = 32 }; /* hypotheses per chunk: one kilobyte, less than most inputs need */

enum {
    HYP_NO_NODE = -1,     /* the hypothesis has ended, or its node (state id) was freed */
    HYP_NOT_STEPPED = -2, /* the hypothesis is live, and its state is not computed yet */
};

/* Indexes in rill_hyp_node.internal, the engine's own data about a hypothesis. */
enum {
    HYP_STATE_PARENT, /* index of the hypothesis from whose state this one's state is computed; -1: none */
    /* the node, an id under which the domain keeps the state (>= 0); HYP_NO_NODE or HYP_NOT_STEPPED */
    HYP_NODE,
    /* number of references from children, from hypotheses computed from this one's state, from beam entries and from outputs */
    HYP_REFS,
    /* reference count of the hypothesis's state, which is freed at 0; used only with RILL_STATE_PARENT */
    HYP_HOLDS,
};

/* Chunk i of the pool, in which the hypotheses [i * HYP_CHUNK, (i + 1) * HYP_CHUNK) are stored. */
typedef struct hyp_chunk {
    int32_t next;      /* next chunk of its arena, or of the free list; -1: none */
    int32_t next_open; /* next chunk of its arena that has free elements and is not the current chunk; -1: none */
    uint32_t unused; /* bit i: element i is free; 0 for the arena's current chunk, whose bits are in hyp_arena.unused */
} hyp_chunk;

/* The chunks in which one input's hypotheses are stored. Initialise with hyp_arena_init(). */
typedef struct hyp_arena {
    int32_t first_chunk;      /* first chunk of the arena, linked by hyp_chunk.next; -1: none */
    int32_t first_open_chunk; /* first chunk with free elements, linked by hyp_chunk.next_open; -1: none */
    /* index of the first hypothesis of the current chunk, in which new hypotheses are stored */
    int32_t chunk_start;
    uint32_t unused; /* bit i: element chunk_start + i is free */
    int32_t n_in_use;
} hyp_arena;

/* A hypothesis that loses a reference, and the arena that stores it. */
typedef struct hyp_release {
    hyp_arena *arena;
    int32_t hyp;
} hyp_release;

typedef struct hyp_pool {
    rill_context *ctx;
    rill_state_need state_need;
    rill_hyp_node *hyp; /* [chunk_capacity * HYP_CHUNK] the hypotheses, chunk after chunk */
    hyp_chunk *chunk;   /* [chunk_capacity] the chunks' free elements and links */
    int32_t hyp_chunks, chunk_capacity, chunk_top, first_free_chunk, chunks_in_use;
    int32_t n_hyps, hyps_peak;
    /* A stack of free nodes (state ids). The ids from node_top on were never used and are free too. */
    int32_t *free_nodes;
    int32_t node_capacity, node_top, n_free_nodes, n_nodes, nodes_peak;
    int32_t node_limit;   /* maximum number of states; INT32_MAX - 1: limited only by the range of ids */
    int32_t *freed_nodes; /* ids of freed states that were not passed to the domain's free() yet */
    size_t freed_nodes_capacity;
    int32_t n_freed_nodes;
} hyp_pool;

void hyp_pool_init(hyp_pool *f, rill_context *ctx, rill_state_need need);
void hyp_pool_finish(hyp_pool *f);

void hyp_arena_init(hyp_arena *a);
/* Free an arena's hypotheses, even with references, and its chunks. nodes: 1: free state ids too; 0: no hypothesis has one. */
void hyp_arena_free(hyp_pool *f, hyp_arena *a, int nodes);
/* Prefetch the arena's hypotheses into the CPU cache before they are walked. */
void hyp_arena_prefetch(const hyp_pool *f, const hyp_arena *a);

/* Reserve memory for `n` new hypotheses in up to `arenas` arenas, so that hyp_pool_add() cannot fail. */
rill_status hyp_pool_reserve(hyp_pool *f, int64_t n, int32_t arenas);
/* Reserve `n` more state ids, within node_limit, so that hyp_pool_assign_nodes() cannot fail. *capacity_grew: 1: call the domain's
 * reserve() with f->node_capacity. */
rill_status hyp_pool_reserve_nodes(hyp_pool *f, int64_t n, int *capacity_grew);

/* --- inlined: operations for every hypothesis -------------------------------------------------------------------- */

/* Make another chunk the arena's current one, because the current chunk is full. */
void hyp_arena_open_chunk(hyp_pool *f, hyp_arena *a);

/* Add n to the numbers of hypotheses in the arena and in the pool. */
static inline void hyp_pool_count(hyp_pool *f, hyp_arena *a, int32_t n)
{
    a->n_in_use += n;
    f->n_hyps += n;
    if (f->n_hyps > f->hyps_peak) f->hyps_peak = f->n_hyps;
}

/* hyp_pool_add() without counting: the caller counts the references. A bit mask lists free elements, since walking a free list would cause
 * cache misses. */
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

/* Add a hypothesis; the caller owns one reference. parent, state_parent: -1 for none. live: 1: HYP_NOT_STEPPED, with a reference to
 * state_parent's node; 0: ended. */
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

/* Free the node (state id) of the hypothesis: add it to `freed_nodes`. */
static inline void hyp_pool_free_node(hyp_pool *f, int32_t hyp)
{
    f->freed_nodes[f->n_freed_nodes++] = f->hyp[hyp].internal[HYP_NODE];
    f->hyp[hyp].internal[HYP_NODE] = HYP_NO_NODE;
    f->n_nodes--;
}

/* Add `more`, perhaps negative, to the reference count of the hypothesis's node (state id). In parent mode the node is freed at 0. */
static inline void hyp_pool_add_holds(hyp_pool *f, int32_t hyp, int32_t more)
{
    int32_t *hyp_state = f->hyp[hyp].internal;
    if ((hyp_state[HYP_HOLDS] += more) == 0 && f->state_need == RILL_STATE_PARENT && hyp_state[HYP_NODE] >= 0)
        hyp_pool_free_node(f, hyp);
}

/* Give up the state of `hyp`: it gets no node, and releases its reference to its state_parent's node. */
static inline void hyp_pool_skip_step(hyp_pool *f, int32_t hyp)
{
    const int32_t from = f->hyp[hyp].internal[HYP_STATE_PARENT];
    f->hyp[hyp].internal[HYP_NODE] = HYP_NO_NODE;
    if (from >= 0) hyp_pool_add_holds(f, from, -1);
}

/* --- releasing hypotheses, assigning states ----------------------------------------------------------------------- */

/* Remove a reference to `hyp`. At zero references it is freed and its parent loses a reference, recursively. */
void hyp_pool_release(hyp_pool *f, hyp_arena *a, int32_t hyp);
/* Remove a reference to each of n hypotheses; the array is overwritten. Parents are released generation by generation, for prefetching. */
void hyp_pool_release_all(hyp_pool *f, hyp_release *released, int32_t n);

/* Returns the node (state id) of `hyp`; RILL_NO_NODE: it has none, or `hyp` is -1. */
static inline int32_t hyp_pool_node(const hyp_pool *f, int32_t hyp)
{
    return hyp >= 0 && f->hyp[hyp].internal[HYP_NODE] >= 0 ? f->hyp[hyp].internal[HYP_NODE] : RILL_NO_NODE;
}

/* Give each of n live hypotheses a new state id with one reference, within those reserved. node: [n] out: the ids. */
void hyp_pool_assign_nodes(hyp_pool *f, const int32_t *hyp, int32_t n, int32_t *node);
/* Call this when the states of n hypotheses are computed: their references to their state_parents' nodes are released. */
void hyp_pool_mark_stepped(hyp_pool *f, const int32_t *hyp, int32_t n);
/* Make the state ids in `freed_nodes` available again, after passing them to the domain's free(). */
void hyp_pool_recycle_nodes(hyp_pool *f);
