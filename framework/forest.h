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
 * child too); in parent mode a history in state FOREST_UNSTEPPED holds its state_parent's node; nodes given back wait in
 * `freed` until the domain has been told; only then are they given out again. */
#ifndef RILL_FOREST_H
#define RILL_FOREST_H

#include "internal.h"
#include "rill/scorer.h"

enum { FOREST_CHUNK = 32 }; /* histories: one kilobyte, less than most items need */

enum {
    FOREST_NO_NODE = -1,   /* ended, or recycled */
    FOREST_UNSTEPPED = -2, /* live; its state has not been made */
};

/* The engine's part of a rill_history. */
enum {
    HISTORY_STATE_PARENT, /* history whose state this one continues */
    HISTORY_NODE,         /* >= 0, or one of the two above */
    HISTORY_REFS,
    HISTORY_HOLDS, /* parent mode: on the node */
};

/* A chunk. */
typedef struct forest_chunk {
    int32_t next;      /* of its arena, or of those that no arena has */
    int32_t next_open; /* of its arena's open ones: with unused histories, and not at work */
    uint32_t unused;   /* bit i: history i; 0 of the chunk at work, where the arena has it */
} forest_chunk;

/* One item's histories. Zero-initialise with forest_arena_init(). */
typedef struct forest_arena {
    int32_t chunks;  /* head of a list, or -1 */
    int32_t open;    /* head of a list, or -1 */
    int32_t first;   /* history of the chunk at work, which new ones are taken from ... */
    uint32_t unused; /* ... and which are left there */
    int32_t in_use;
} forest_arena;

/* A history that loses a reference. */
typedef struct forest_leaving {
    forest_arena *arena;
    int32_t history;
} forest_leaving;

typedef struct forest {
    rill_context *ctx;
    rill_state_need need;
    rill_history *h;     /* [chunk_capacity * FOREST_CHUNK] */
    forest_chunk *chunk; /* [chunk_capacity] */
    int32_t history_chunks, chunk_capacity, chunk_top, chunk_free, chunks_in_use;
    int32_t histories, histories_peak;
    /* Nodes: a stack of free ids, ids from `node_top` on were never used. */
    int32_t *node_stack;
    int32_t node_capacity, node_top, nodes_stacked, nodes, nodes_peak;
    int32_t node_limit; /* no more nodes are ever given out; INT32_MAX - 1: ids end there */
    int32_t *freed;     /* the domain has not been told */
    size_t freed_capacity;
    int32_t n_freed;
} forest;

void forest_init(forest *f, rill_context *ctx, rill_state_need need);
void forest_finish(forest *f);

void forest_arena_init(forest_arena *a);
/* Give all of an arena's histories back, whoever points at them, and all of its chunks. `nodes`: some may have nodes, which go too; in
 * parent mode none has once no live one is left. */
void forest_arena_drop(forest *f, forest_arena *a, int nodes);
/* Have the arena's histories fetched into the cache; before they are walked. */
void forest_arena_fetch(const forest *f, const forest_arena *a);

/* Room for `n` more histories in up to `arenas` arenas, so that forest_add() cannot fail. */
rill_status forest_reserve_histories(forest *f, int64_t n, int32_t arenas);
/* Room for `n` more nodes, which the limit allows; *capacity_grew tells that the domain must hear of f->node_capacity. */
rill_status forest_reserve_nodes(forest *f, int64_t n, int *capacity_grew);

/* --- what a timestep does with every node stands here, to be inlined ----------------------------------------------- */

/* Another chunk for the arena's work: what was at work is full. */
void forest_open_chunk(forest *f, forest_arena *a);

/* So many histories more. */
static inline void forest_count(forest *f, forest_arena *a, int32_t n)
{
    a->in_use += n;
    f->histories += n;
    if (f->histories > f->histories_peak) f->histories_peak = f->histories;
}

/* forest_add(), but still to be counted are the history, and the references and the hold on those that it comes from. Which histories
 * are unused stands apart from them, and neighbours are taken: an item's are cold, and a list through them would be waited for. */
static inline int32_t forest_put(forest *f, forest_arena *a, int32_t parent, int32_t state_parent, int32_t action,
                                 float logp, float score, int live)
{
    if (a->unused == 0) forest_open_chunk(f, a);
    const int32_t id = a->first + __builtin_ctz(a->unused);
    a->unused &= a->unused - 1;
    f->h[id] = (rill_history){
        parent, action, logp, score, {state_parent, live ? FOREST_UNSTEPPED : FOREST_NO_NODE, 1, 0}};
    return id;
}

/* A new history with one reference, for the caller. `live`: it is FOREST_UNSTEPPED and holds its state_parent's node. */
static inline int32_t forest_add(forest *f, forest_arena *a, int32_t parent, int32_t state_parent, int32_t action,
                                 float logp, float score, int live)
{
    const int32_t id = forest_put(f, a, parent, state_parent, action, logp, score, live);
    forest_count(f, a, 1);
    if (parent >= 0) f->h[parent].internal[HISTORY_REFS]++;
    if (state_parent >= 0) {
        int32_t *from = f->h[state_parent].internal;
        if (state_parent != parent) from[HISTORY_REFS]++;
        if (live) from[HISTORY_HOLDS]++;
    }
    return id;
}

/* The history's node waits in `freed`. */
static inline void forest_free_node(forest *f, int32_t history)
{
    f->freed[f->n_freed++] = f->h[history].internal[HISTORY_NODE];
    f->h[history].internal[HISTORY_NODE] = FOREST_NO_NODE;
    f->nodes--;
}

/* Parent mode: there are more holds on a node, or fewer. */
static inline void forest_hold(forest *f, int32_t history, int32_t more)
{
    int32_t *its = f->h[history].internal;
    if ((its[HISTORY_HOLDS] += more) == 0 && f->need == RILL_STATE_PARENT && its[HISTORY_NODE] >= 0)
        forest_free_node(f, history);
}

/* Parent mode: let go of a node held since forest_assign_nodes(). */
static inline void forest_unhold(forest *f, int32_t history)
{
    forest_hold(f, history, -1);
}

/* Give live histories their nodes, held once. There is room. */
static inline void forest_assign_nodes(forest *f, const int32_t *history, int32_t n, int32_t *node)
{
    const int32_t used = n < f->nodes_stacked ? n : f->nodes_stacked;
    for (int32_t i = 0; i < n; i++) {
        node[i] = i < used ? f->node_stack[f->nodes_stacked - 1 - i] : f->node_top + i - used;
        int32_t *its = f->h[history[i]].internal;
        its[HISTORY_NODE] = node[i];
        its[HISTORY_HOLDS]++;
        if (its[HISTORY_STATE_PARENT] >= 0) __builtin_prefetch(&f->h[its[HISTORY_STATE_PARENT]], 1);
    }
    f->nodes_stacked -= used;
    f->node_top += n - used;
    f->nodes += n;
    if (f->nodes > f->nodes_peak) f->nodes_peak = f->nodes;
}

/* The state of `history` has been made: it lets go of its state_parent's node. */
static inline void forest_stepped(forest *f, int32_t history)
{
    int32_t from = f->h[history].internal[HISTORY_STATE_PARENT];
    if (from >= 0) forest_unhold(f, from);
}

/* The state of `history` will not be made. */
static inline void forest_never_stepped(forest *f, int32_t history)
{
    f->h[history].internal[HISTORY_NODE] = FOREST_NO_NODE;
    forest_stepped(f, history);
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* One reference less; at zero the history goes, then its parent loses one, and so on. */
void forest_release(forest *f, forest_arena *a, int32_t history);
/* The same for n of them, which are written over: all go a generation at a time, since each is cold, and the next one is fetched
 * meanwhile. */
void forest_release_all(forest *f, forest_leaving *leaving, int32_t n);

/* The node of `history`, or RILL_NO_NODE when it has none. */
static inline int32_t forest_node(const forest *f, int32_t history)
{
    return history >= 0 && f->h[history].internal[HISTORY_NODE] >= 0 ? f->h[history].internal[HISTORY_NODE]
                                                                     : RILL_NO_NODE;
}

/* Hand the nodes in `freed` back to the pool; call once the domain knows. */
void forest_recycle(forest *f);

#endif
