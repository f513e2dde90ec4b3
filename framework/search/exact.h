/* Exact search: continue after a beam search until the outputs are proven to be the model's best.
 *
 * An item that stops without certificates (certify.h) for the requested outputs restarts at the root, with its outputs as a bound: T is the
 * final score of the n-th best output so far, n = n_best. The item's *frontier* holds prefixes to expand, each with U, the upper bound on
 * the final score of its continuations. Prefixes with U <= T are dropped. In each timestep the item's beam is a batch of the frontier: the
 * k prefixes of one length with the highest U. So the rest of the timestep works as for a beam. Every child goes to the outputs if it has
 * ended and ranks above T, or else to the frontier. When the frontier is empty, the n best outputs are certified. If exact_rows or the
 * memory limit ends the search earlier, the outputs are the best found, certified as far as proven.
 *
 * A row is scored for some of its choices. The choices not returned stay in the frontier as a second node of the row's hypothesis, whose
 * state is recomputed when it is expanded again. Then twice as many choices are requested, and the choices already seen are skipped. The
 * choices of a smaller request are a prefix of the choices of a larger one, so their number identifies them.
 *
 * The order of expansion depends on the item alone, and so do its outputs, whatever the schedule. Once the frontier is large the deepest
 * prefixes go first, which bounds the frontier and the states that it holds. Heuristics and scorers' limits do not apply, since they only
 * prune.
 *
 * Sources: best-first search (Meister, Vieira and Cotterell 2020); a beam's output as the first bound, and depth first (Stahlberg and
 * Byrne 2019). */
#ifndef RILL_EXACT_H
#define RILL_EXACT_H

#include "hyp_pool.h"

/* A prefix in the frontier. */
typedef struct exact_entry {
    double bound; /* U */
    double path_score;
    int64_t serial; /* number of the entry in order of creation */
    /* hypothesis node of the prefix: its state is not computed, and it keeps its parent's state alive */
    int32_t hyp;
    int32_t n_seen; /* number of choices already taken */
} exact_entry;

/* Entries of one kind can be expanded together: hypotheses of one length, in one phase, with the same number of requested choices. */
typedef struct exact_kind {
    int32_t depth, phase, n_choices; /* depth: timesteps completed */
} exact_kind;

/* A heap of entries of one kind: highest U on top, equal U in order of creation. */
typedef struct exact_heap {
    exact_kind kind;
    exact_entry *entry; /* [n] */
    size_t n, capacity;
} exact_heap;

typedef struct exact_search {
    uint8_t active; /* 1: the item's beam is a batch of the frontier */
    uint8_t done;   /* 1: the search is complete or was stopped */
    /* 1: the outputs were truncated by a heuristic's stop, so any other output replaces them */
    uint8_t is_truncated;
    int32_t max_outputs;      /* number of outputs kept */
    int32_t beam_timesteps;   /* timesteps of the beam search */
    double beam_bound;        /* B of the beam search */
    double discard_threshold; /* T when entries were discarded last */
    int64_t n_rows;           /* rows expanded so far */
    int64_t n_created;        /* entries created so far */
    exact_heap *heap;         /* the frontier: [n_heaps]; heaps past the end keep their memory */
    size_t n_heaps, n_heaps_allocated, heaps_capacity;
    size_t n_entries; /* entries in all heaps */
    exact_kind kind;  /* kind of the entries in the batch */
    /* [n_batch] frontier entries that form the beam. Their `hyp` is the row's second hypothesis node while its choices are processed, else
     * -1 */
    exact_entry *batch;
    size_t batch_capacity;
    int32_t n_batch;
} exact_search;

/* Empty the frontier and the batch; their hypotheses are freed with the item's arena. Returns 1 if there were any, else 0. */
int exact_clear(exact_search *x);
/* Free the memory of the search, which must hold no hypotheses. */
void exact_finish(exact_search *x, rill_context *ctx);

#endif
