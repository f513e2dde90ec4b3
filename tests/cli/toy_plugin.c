/* The tests' toy domain as a plugin, rill-toy.so, with a heuristic that breaks the contract: what `--plugin` and `--check`
 * are tested with. */
#include "support/tables.h"
#include "support/toy_domain.h"

static const rill_domain *const domains[] = {&toy_domain, NULL};

/* Drops all but the best wherever several items share a call: exactly what a heuristic must not do. */
static rill_status mix(void *self, rill_beams *beams)
{
    (void)self;
    for (int32_t i = 0; i < beams->n && beams->n > 1; i++) beams->width[i] = 1;
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
    return &table;
}
