/* A run's chain: the list of its heuristics and scorers, called links.
 *
 * An input uses one instance of each link: the setup's, or one with its request's arguments. Inputs with equal arguments share an instance.
 */
#pragma once

#include "internal.h"
#include "rill/engine.h"

/* An instance of a heuristic or scorer with certain arguments. */
typedef struct chain_instance {
    struct chain_instance *next;
    void *self;
    int32_t n_users;
    size_t length; /* bytes of the text in `arguments`, without its NUL */
    char arguments[];
} chain_instance;

/* A heuristic or scorer of the run, with its instances. */
typedef struct chain_link {
    const rill_heuristic *heuristic; /* exactly one of heuristic and scorer is set */
    const rill_scorer *scorer;
    chain_instance *instances;
    /* scorers only: offset in bytes of the scorer's state within the data of one node in scorer_states.node_states */
    size_t state_offset;
} chain_link;

typedef struct chain {
    rill_context *ctx;
    chain_link *link;                   /* [n] links: the run's heuristics, then its scorers */
    chain_instance **default_instances; /* [n] instances with the setup's arguments */
    int32_t n_heuristics, n_scorers, n;
    /* number of open requests that set arguments of heuristics or scorers: their inputs may use other instances than default_instances */
    int32_t n_custom;
    size_t state_bytes; /* bytes of all scorers' states for one hypothesis */
    /* for the setting `check`: which candidates a heuristic keeps when it is called for one input alone */
    uint8_t *checked_keep;
    size_t checked_capacity;
} chain;

/* Create instances of the setup's heuristics and scorers. Call chain_destroy() also after a failure. */
rill_status chain_create(chain *c, rill_context *ctx, const rill_engine_setup *setup);
void chain_destroy(chain *c);

/* Get an instance of each of the n links, shared by equal arguments, until chain_release(). A failure acquires none.
 *   arguments: [n]; an entry NULL: the setup's arguments
 *   out: [n] */
rill_status chain_acquire(chain *c, const char *const *arguments, chain_instance **out);
void chain_release(chain *c, chain_instance *const *instances);

/* Create an instance that is not shared, and destroy an instance. */
rill_status chain_create_instance(rill_context *ctx, const chain_link *link, const char *arguments, void **self);
void chain_destroy_instance(const chain_link *link, void *self);
