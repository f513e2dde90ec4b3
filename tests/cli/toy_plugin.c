/* The tests' toy domain and their random and cheating heuristics as a plugin, rill-toy.so: what `--plugin` is tested with. */
#include "rill/plugin.h"
#include "support/toy_domain.h"

static const rill_domain *const domains[] = {&toy_domain, NULL};

static const rill_plugin_table table = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof table,
    .name = "toy",
    .domains = domains,
};

RILL_API const rill_plugin_table *rill_plugin(void);

const rill_plugin_table *rill_plugin(void)
{
    return &table;
}
