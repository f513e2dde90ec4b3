/* The struct of option sources, shared by option_sources.c and search_config.c. */
#ifndef RILL_OPTION_SOURCES_H
#define RILL_OPTION_SOURCES_H

#include "internal.h"
#include "rill/search_config.h"

enum { RILL__CHAIN_OPTIONS = 16 }; /* maximum number of rows of rill_chain_table() */

typedef struct rill__chain {
    rill_chain_entry *entry; /* [n] each entry owns its strings */
    size_t n, capacity;
    int is_set;
} rill__chain;

struct rill_option_source {
    rill_context *ctx;
    rill_origin origin;
    char *value[64]; /* the value of each row of rill_setting_table(), as a text; NULL: not set */
    rill_pair *option;
    size_t n_options, options_capacity; /* domain options and output options */
    rill__chain chain[RILL_CHAINS];
    char *
        chain_value[RILL__CHAIN_OPTIONS]; /* [rows of rill_chain_table()] values of single-valued rows; NULL: not set */
    rill_budget_fn budget;                /* replaces the setting `budget` */
    void *budget_user;
    rill_key_fn cube_key; /* NULL: not set */
    void *cube_key_user;
    rill_option_source **worker_copy; /* [n_worker_copies]; NULL for a worker without a copy */
    size_t n_worker_copies, worker_copies_capacity;
};

/* Value of a setting in a source; NULL if it is not set, or if `layer` is NULL. */
const char *rill__source_value(const rill_option_source *layer, const rill_option *row);

#endif
