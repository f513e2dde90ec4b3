/* Everything for plugins. Programs that decode include rill.h.
 *
 *   domain.h     models                         carve.h        arrays in one block
 *   heuristic.h  pruning                        device.h       compute graphs for neural domains
 *   scorer.h     bonuses, bans, constraints     file.h         reading files
 *   scheduler.h  what a timestep expands        safetensors.h  reading weights
 *   registry.h   registration by name
 *
 * A plugin is a shared object rill-*.so that exports rill_plugin(). rill_plugin_load() registers all of its tables, or none.
 * Stability: members are only appended. */
#ifndef RILL_PLUGIN_H
#define RILL_PLUGIN_H

#include "rill/carve.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "rill/file.h"
#include "rill/heuristic.h"
#include "rill/registry.h"
#include "rill/safetensors.h"
#include "rill/scheduler.h"
#include "rill/scorer.h"

RILL_C_BEGIN

typedef struct rill_plugin_table {
    uint32_t abi_version;              /* must be RILL_ABI_VERSION */
    uint32_t struct_size;              /* must be sizeof(rill_plugin_table) */
    const char *name;                  /* name of the plugin, for messages */
    const rill_domain *const *domains; /* NULL-terminated lists of tables; NULL: none of this kind */
    const rill_heuristic *const *heuristics;
    const rill_scorer *const *scorers;
    const rill_scheduler *const *schedulers;
} rill_plugin_table;

/* The plugin's exported function: `RILL_API const rill_plugin_table *rill_plugin(void)`. */
typedef const rill_plugin_table *(*rill_plugin_fn)(void);

RILL_C_END

#endif
