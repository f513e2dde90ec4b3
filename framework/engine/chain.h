/* The chain of a run is its list of heuristics and scorers, with their instances. This module applies the heuristics to a timestep's
 * candidates.
 *
 * A link of the chain is one heuristic or scorer of the setup. An item uses one instance of each link: the setup's own instance, or an
 * instance with the arguments of the item's request. Items with equal arguments share an instance. */
#ifndef RILL_CHAIN_H
#define RILL_CHAIN_H

#include "internal.h"
#include "rill/engine.h"

/* An instance of a heuristic or scorer with certain arguments. */
typedef struct chain_instance {
    struct chain_instance *next;
    void *self;
    int32_t n_users;
    size_t length; /* bytes of arguments */
    char arguments[];
} chain_instance;

typedef struct chain_link {
    const rill_heuristic *heuristic; /* exactly one of heuristic and scorer is set */
    const rill_scorer *scorer;
    chain_instance *instances;
    size_t state_offset; /* for a scorer: offset in bytes of its state in the scorer states of a node */
} chain_link;

typedef struct chain {
    rill_context *ctx;
    chain_link *link;                   /* [n]: the heuristics, then the scorers */
    chain_instance **default_instances; /* [n] the setup's instances */
    int32_t n_heuristics, n_scorers, n;
    /* number of requests that set arguments, so that their instances are not the setup's */
    int32_t n_custom;
    size_t state_bytes; /* bytes of all scorers' states per node */
    int check;
    /* For the setting `check`: results of a call with all items, to compare with calls for each item alone. */
    rill_columns checked_memory;
    int32_t *checked_width;
    uint8_t *checked_stop, *checked_keep;
} chain;

/* Look up the heuristics and scorers that `setup` names, and create their instances. Call chain_destroy() after a failure too. */
rill_status chain_create(chain *c, rill_context *ctx, const rill_engine_setup *setup);
void chain_destroy(chain *c);

/* Write instances with these arguments to out[0, n), and count one more user of each. NULL, also as an entry, means the setup's arguments.
 * Release with chain_release(). On failure nothing is acquired. */
rill_status chain_acquire(chain *c, const char *const *heuristics, const char *const *scorers, chain_instance **out);
void chain_release(chain *c, chain_instance *const *instances);

/* Create another instance of the chain's heuristic or scorer `link`, with the arguments of `like`. Free with chain_destroy_fresh(). */
rill_status chain_create_fresh(chain *c, int32_t link, const chain_instance *like, void **self);
void chain_destroy_fresh(chain *c, int32_t link, void *self);

#endif
