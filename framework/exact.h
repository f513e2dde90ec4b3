/* Exact search: continue after a beam search until the outputs are proven to be the model's best.
 *
 * An item that stops without certificates (certify.h) for the requested outputs restarts at the root, with its outputs as a bound: T is the
 * final score of the n-th best output so far, n = n_best. Its *frontier* holds prefixes to expand, each with U, the upper bound on the
 * final score of its continuations. Prefixes with U <= T are dropped. In each timestep the item's beam is a batch of the frontier: the k
 * prefixes with the highest U of one length, so the rest of the timestep works as for a beam. Every child goes to the outputs if it has
 * ended and ranks above T, or else to the frontier. When the frontier is empty, the n best outputs are certified. If exact_rows or the
 * memory limit ends the search earlier, the outputs are the best found, certified as far as proven.
 *
 * A row is scored for some of its choices. The choices not returned stay in the frontier as a second node of the row's hypothesis, whose
 * state is recomputed when its turn comes; then twice as many choices are requested, and those already seen are skipped. A shorter result
 * is a prefix of a longer one, so a count identifies them.
 *
 * The order depends on the item alone, and so do the outputs, whatever the schedule. Once the frontier is large the deepest prefixes go
 * first, which bounds the frontier and the states that it holds. Heuristics and scorers' limits do not apply, since they only prune.
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
    int64_t serial; /* creation order */
    int32_t hyp;    /* its state is not computed; it holds its parent's state */
    int32_t n_seen; /* choices already taken */
} exact_entry;

/* Entries of one kind can be expanded together: hypotheses of one length, in one phase, with the same number of requested choices. */
typedef struct exact_kind {
    int32_t depth, phase, n_choices; /* depth: timesteps completed */
} exact_kind;

/* A heap of entries of one kind: highest U on top, ties by age. */
typedef struct exact_heap {
    exact_kind kind;
    exact_entry *entry; /* [n] */
    size_t n, capacity;
} exact_heap;

typedef struct exact_search {
    uint8_t active;           /* the item's beam is a batch of the frontier */
    uint8_t done;             /* the search is complete, or was stopped */
    uint8_t is_truncated;     /* the outputs were cut off by a heuristic's stop: any other output replaces them */
    int32_t max_outputs;      /* number of outputs kept */
    int32_t beam_timesteps;   /* timesteps of the beam search */
    double beam_bound;        /* B of the beam search */
    double discard_threshold; /* T when entries were last discarded */
    int64_t n_rows;           /* rows expanded so far */
    int64_t n_created;        /* entries created so far */
    exact_heap *heap;         /* the frontier: [n_heaps]; heaps past the end keep their memory */
    size_t n_heaps, n_heaps_allocated, heaps_capacity;
    size_t n_entries; /* entries in all heaps */
    exact_kind kind;  /* of the batch */
    /* [n_batch] frontier entries of the beam; hyp: the row's second node while its choices are processed, else -1 */
    exact_entry *batch;
    size_t batch_capacity;
    int32_t n_batch;
} exact_search;

/* Forget its hypotheses, which are freed with their arena. Returns whether there were any. */
int exact_clear(exact_search *x);
/* Free its memory; it must hold no hypotheses. */
void exact_finish(exact_search *x, rill_context *ctx);

#endif
