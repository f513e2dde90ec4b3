/* Invalid plugins, compiled once per value of WRONG. 0: the plugin table has another ABI. 1: a valid heuristic, then
 * one of another ABI. 2: no exported plugin function. 3: the function returns NULL. */
#include "rill/plugin.h"

static rill_status keep_all(void *self, rill_candidates *candidates)
{
    (void)self, (void)candidates;
    return RILL_OK;
}

static const rill_heuristic good = {.abi_version = RILL_ABI_VERSION,
                                    .struct_size = sizeof(rill_heuristic),
                                    .name = "half-loaded",
                                    .arguments = "",
                                    .summary = "must not stay registered",
                                    .apply = keep_all};
static const rill_heuristic odd = {.abi_version = RILL_ABI_VERSION + 76,
                                   .struct_size = sizeof(rill_heuristic),
                                   .name = "odd",
                                   .arguments = "",
                                   .summary = "of another ABI",
                                   .apply = keep_all};
static const rill_heuristic *const heuristics[] = {&good, &odd, NULL};

#if WRONG == 2
#define rill_plugin rill_plugin_by_another_name
#endif

RILL_API const rill_plugin_table *rill_plugin(void);

RILL_API const rill_plugin_table *rill_plugin(void)
{
    static const rill_plugin_table table = {.abi_version = WRONG == 0 ? 4242 : RILL_ABI_VERSION,
                                            .struct_size = sizeof table,
                                            .name = "odd",
                                            .heuristics = heuristics};
    return WRONG == 3 ? NULL : &table;
}
