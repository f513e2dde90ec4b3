/* Layers as layers.c and plan.c share them. */
#ifndef RILL_FRAMEWORK_LAYERS_H
#define RILL_FRAMEWORK_LAYERS_H

#include "internal.h"
#include "rill/layers.h"

typedef struct rill__chain {
    rill_chain_entry *entry; /* [n], with texts of its own */
    size_t n, capacity;
    int said;
} rill__chain;

struct rill_layer {
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
    rill_layer **twin; /* [n_twins], NULL where a worker has none */
    size_t n_twins, twins_capacity;
};

/* What a layer says of a setting's row; NULL, or of no layer at all: nothing. */
const char *rill__layer_value(const rill_layer *layer, const rill_option *row);

#endif
