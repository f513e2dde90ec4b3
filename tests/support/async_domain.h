/* Makes any domain asynchronous: step and score calls are queued, and only collect() returns results. Until then the engine's result
 * arrays are poisoned, and its rows and requests must not change.
 *
 * Order of use: async_make(&table, "toy-late", &toy_domain, 4), rill_register_domain(ctx, &table.domain); the table outlives the
 * context. */
#pragma once

#include "rill/domain.h"

typedef struct async_table {
    rill_domain domain; /* first member, so that methods that get the table find this struct */
    const rill_domain *inner;
    int32_t group_rows;
    /* Totals over all runs. submitted: calls; max_queued: most queued calls of a runner; forced_early: score calls run for a synchronous
     * call; encoded: encode calls; encoded_during: those while score calls were queued. */
    _Atomic int64_t submitted, max_queued, forced_early, encoded, encoded_during;
    int32_t fail_collect; /* number of the collect call that fails, from 1; 0: none fails */
    _Atomic int32_t collected;
    int32_t sync_group; /* 1 + the micro-batch (rill_rows.group) whose calls are answered synchronously; 0: none */
} async_table;

/* Make an asynchronous domain from `inner`. group_rows: as in rill_domain_info. */
void async_make(async_table *out, const char *name, const rill_domain *inner, int32_t group_rows);
