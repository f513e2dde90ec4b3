/* Chains: instances of heuristics and scorers, and applying the heuristics to a timestep's candidates.
 *
 * A link is a heuristic or a scorer of the setup. An item uses one instance of each: the setup's own, or one with its request's
 * arguments; equal arguments share an instance. */
#ifndef RILL_CHAIN_H
#define RILL_CHAIN_H

#include "candidates.h"
#include "rill/engine.h"

/* An instance of a heuristic or scorer with certain arguments. */
typedef struct chain_instance {
    struct chain_instance *next;
    void *self;
    int32_t n_users;
    size_t length; /* of the arguments */
    char arguments[];
} chain_instance;

typedef struct chain_link {
    const rill_heuristic *heuristic; /* exactly one of the two is set */
    const rill_scorer *scorer;
    chain_instance *instances;
    size_t state_offset; /* of a scorer: offset of its state in a node's scorer states */
} chain_link;

typedef struct chain {
    rill_context *ctx;
    chain_link *link;                   /* [n]: the heuristics, then the scorers */
    chain_instance **default_instances; /* [n] the setup's instances */
    int32_t n_heuristics, n_scorers, n;
    int32_t n_custom;   /* users with instances other than the setup's */
    size_t state_bytes; /* of all scorers, per node */
    int check;
    /* Results of a call over all items, to compare with calls for each item alone. */
    rill_columns checked_memory;
    int32_t *checked_width;
    uint8_t *checked_stop, *checked_keep;
} chain;

/* Look up and create the instances that `setup` names. Call chain_destroy() after a failure too. */
rill_status chain_create(chain *c, rill_context *ctx, const rill_engine_setup *setup);
void chain_destroy(chain *c);

/* Get instances with these arguments, out[0, n), and count their user; NULL, also as an entry: the setup's. Release with
 * chain_release(). On failure nothing is acquired. */
rill_status chain_acquire(chain *c, const char *const *heuristics, const char *const *scorers, chain_instance **out);
void chain_release(chain *c, chain_instance *const *instances);

/* Create another instance of the chain's heuristic or scorer `link`, with the arguments of `like`. Free with chain_destroy_fresh(). */
rill_status chain_create_fresh(chain *c, int32_t link, const chain_instance *like, void **self);
void chain_destroy_fresh(chain *c, int32_t link, void *self);

/* Apply the heuristics in order; survivors are compacted after each. Items' stop requests are or-ed into candidates->stop. Counts
 * dropped candidates in *pruned. */
rill_status chain_prune(chain *c, candidates *cands, int32_t phase, int64_t *pruned);

#endif
