/* Exact search: on from what a beam search found to the outputs that are provably the model's best.
 *
 * An item that stops without certificates (certify.h) for the outputs asked for begins anew at the root, with what it found as a
 * bound: T is the rank of the n-th best output so far, n = n_best. Its *frontier* holds prefixes that are to be expanded, each with
 * U, the highest rank that anything behind it can reach. What has U <= T is dropped. In each timestep the item's beam is a batch of
 * the frontier: the k highest U of one length, so that all else in a timestep is as it is for a beam. Every child goes to the outputs
 * if it has ended and ranks above T, and to the frontier if not. When the frontier is empty, the n best are certified. When the setting
 * exact_rows, or the bound on memory, ends the search before, the outputs are the best found, certified as far as they are.
 *
 * A row is asked for some of its choices. Those not returned stay in the frontier as a second history of the row's hypothesis, whose
 * state is made again when its turn comes; then twice as many are asked for, and those seen before are left out. A row's answer is a
 * prefix of any longer one, so their number says which.
 *
 * The order depends on the item alone, and so do the outputs: no schedule changes them. Once the frontier is large the deepest prefixes
 * go first, which keeps it, and the states that it holds, from growing. Heuristics and scorers' limits do not apply: they only leave
 * out.
 *
 * Sources: best-first search (Meister, Vieira and Cotterell 2020); a beam's output as the first bound, and depth first (Stahlberg and
 * Byrne 2019). */
#ifndef RILL_EXACT_H
#define RILL_EXACT_H

#include "hyp_pool.h"

/* A prefix that is to be expanded. */
typedef struct exact_entry {
    double bound; /* U */
    double path_score;
    int64_t serial; /* in order of creation */
    int32_t hyp;    /* whose state is not made; it holds that of its parent */
    int32_t n_seen; /* choices that were taken before */
} exact_entry;

/* What is of one kind is expanded together: hypotheses of one length, in one phase, that are asked for as many choices. */
typedef struct exact_kind {
    int32_t depth, phase, n_choices; /* depth: timesteps completed */
} exact_kind;

/* A heap of entries of one kind: the highest U at the top, then the oldest. */
typedef struct exact_heap {
    exact_kind kind;
    exact_entry *entry; /* [n] */
    size_t n, capacity;
} exact_heap;

typedef struct exact_search {
    uint8_t active;           /* the item's beam is a batch of the frontier */
    uint8_t done;             /* there is no more to search, or the search was ended */
    uint8_t is_truncated;     /* the outputs are what a heuristic's wish cut short: any other replaces them */
    int32_t max_outputs;      /* outputs that are kept */
    int32_t beam_timesteps;   /* timesteps of the beam search */
    double beam_bound;        /* B of the beam search */
    double discard_threshold; /* T when entries were last discarded */
    int64_t n_rows;           /* expanded so far */
    int64_t n_created;        /* entries so far */
    exact_heap *heap;         /* the frontier: [heaps], others behind them have memory */
    size_t n_heaps, n_heaps_allocated, heaps_capacity;
    size_t n_entries; /* entries in all heaps */
    exact_kind kind;  /* of the batch */
    exact_entry *
        batch; /* [n_batch] of the beam's entries; history: the row's second one while its choices are looked at, else -1 */
    size_t batch_capacity;
    int32_t n_batch;
} exact_search;

/* Let go of the histories that it holds, which go with their arena. Returns whether there are any. */
int exact_clear(exact_search *x);
/* Free its memory; it holds no histories any more. */
void exact_finish(exact_search *x, rill_context *ctx);

#endif
