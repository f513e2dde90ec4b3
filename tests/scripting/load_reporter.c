/* A plugin that prints a line when it is loaded. */
#include <stdio.h>

#include "support/tables.h"

__attribute__((constructor)) static void report_load(void)
{
    fputs("native code ran\n", stderr);
}

static rill_status keep_all(void *self, rill_candidates *candidates)
{
    (void)self;
    (void)candidates;
    return RILL_OK;
}

static const rill_heuristic heuristic = TEST_HEURISTIC("native", .apply = keep_all);
static const rill_heuristic *const heuristics[] = {&heuristic, NULL};
static const rill_plugin_table table = {
    .abi_version = RILL_ABI_VERSION, .struct_size = sizeof table, .name = "load_reporter", .heuristics = heuristics};

RILL_API const rill_plugin_table *rill_plugin(void);
const rill_plugin_table *rill_plugin(void)
{
    return &table;
}
