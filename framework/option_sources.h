/* Layers as option_sources.c and search_config.c share them. */
#ifndef RILL_OPTION_SOURCES_H
#define RILL_OPTION_SOURCES_H

#include "internal.h"
#include "rill/search_config.h"

typedef struct rill__chain {
    rill_chain_entry *entry; /* [n], with texts of its own */
    size_t n, capacity;
    int is_set;
} rill__chain;

struct rill_option_source {
    rill_context *ctx;
    rill_origin origin;
    char *value[64]; /* by row of rill_setting_table(); NULL: not said */
    rill_pair *option;
    size_t n_options, options_capacity; /* of domains */
    rill__chain chain[RILL_CHAINS];
    rill_budget_fn budget; /* instead of the setting of that name */
    void *budget_user;
    rill_key_fn cube_key; /* NULL: not said */
    void *cube_key_user;
    rill_option_source **worker_copy; /* [n_worker_copies], NULL where a worker has none */
    size_t n_worker_copies, worker_copies_capacity;
};

/* What a layer says of a setting's row; NULL, or of no layer at all: nothing. */
const char *rill__source_value(const rill_option_source *layer, const rill_option *row);

#endif
