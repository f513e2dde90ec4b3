/* The tests' toy domain as a plugin, rill-toy.so, with a heuristic that breaks the contract. Used by the tests of
 * `--plugin` and `--check`. */
#include <stdio.h>

#include "support/tables.h"
#include "support/toy_domain.h"

/* The toy domain with an option that sets its argument of the same name. */
static const rill_option options[] = {
    {"toy-seed", "N", "1", "which space is searched", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 1e6, 0, NULL}, {0}};

static rill_status open_seeded(const rill_domain *toy, rill_context *ctx, const rill_open_options *toy_options,
                               void **self, rill_domain_info *info)
{
    rill_open_options with = *toy_options;
    char arguments[64];
    const char *seed = rill_open_option(toy_options, "toy_seed");
    snprintf(arguments, sizeof arguments, "seed=%s", seed != NULL ? seed : "");
    if (seed != NULL) with.arguments = arguments;
    return toy_domain.open(toy, ctx, &with, self, info);
}

static rill_domain seeded;
static const rill_domain *const domains[] = {&seeded, NULL};

/* Keeps only the best candidate of each item when several items share a call. A heuristic must not depend on the
 * batch. */
static rill_status mix(void *self, rill_candidates *candidates)
{
    (void)self;
    for (int32_t i = 0; i < candidates->n && candidates->n > 1; i++) candidates->width[i] = 1;
    return RILL_OK;
}

static const rill_heuristic mixing = TEST_HEURISTIC("mixing", .apply = mix);

static const rill_heuristic *const heuristics[] = {&mixing, NULL};

static const rill_plugin_table table = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof table,
    .name = "toy",
    .domains = domains,
    .heuristics = heuristics,
};

RILL_API const rill_plugin_table *rill_plugin(void);

const rill_plugin_table *rill_plugin(void)
{
    seeded = toy_domain;
    seeded.open = open_seeded;
    seeded.options = options;
    return &table;
}
