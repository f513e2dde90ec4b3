/* Chains: instances of heuristics and scorers, and the heuristics' pass over a timestep's candidates. */
#ifndef RILL_CHAIN_H
#define RILL_CHAIN_H

#include "candidates.h"
#include "rill/engine.h"

typedef struct chain_heuristic {
    const rill_heuristic *table;
    void *self;
} chain_heuristic;

typedef struct chain_scorer {
    const rill_scorer *table;
    void *self;
} chain_scorer;

typedef struct chain {
    rill_context *ctx;
    chain_heuristic *heuristics;
    int32_t n_heuristics;
    size_t heuristics_given; /* elements allocated */
    chain_scorer *scorers;
    int32_t n_scorers;
    size_t scorers_given;
    int check;
    /* Marks of a call over all items, to be compared with calls for each alone. */
    rill_columns checked;
    int32_t *checked_width;
    uint8_t *checked_stop, *checked_keep;
} chain;

/* Look up and create the instances that `setup` names. After a failure too, chain_destroy() cleans up. */
rill_status chain_create(chain *c, rill_context *ctx, const rill_engine_setup *setup);
void chain_destroy(chain *c);

/* Apply the heuristics in order; survivors are moved together after each. items' stop requests are or-ed into
 * candidates->stop. Counts what was dropped in *pruned. */
rill_status chain_prune(chain *c, candidates *cands, int32_t phase, int64_t *pruned);

#endif
