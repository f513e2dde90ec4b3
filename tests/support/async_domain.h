/* Any domain, answering later: its own calls wait in a queue until somebody needs what they make, and answers are handed over by
 * collect() alone. Until then what the engine gave for answers is poisoned, and its rows and questions must not change.
 *
 * Order of use: async_make(&table, "toy-late", &toy_domain, 4), rill_register_domain(ctx, &table.domain); the table outlives the
 * context. The contract is the one of rill/domain.h, "Answers that come later". */
#ifndef TEST_ASYNC_DOMAIN_H
#define TEST_ASYNC_DOMAIN_H

#include "rill/domain.h"

typedef struct async_table {
    rill_domain domain; /* first: methods that get their table find the rest behind it */
    const rill_domain *inner;
    int32_t group_rows;
    /* Of all runs: calls submitted, the most of one runner at once, other calls that came meanwhile, and encode calls: all, meanwhile. */
    _Atomic int64_t submitted, max_queued, forced_early, encoded, encoded_during;
    int32_t fail_collect; /* the n-th collect call fails; 0: none does */
    _Atomic int32_t collected;
    int32_t sync_group; /* 1 + the group whose calls are answered at once; 0: none */
} async_table;

/* `group_rows` as in rill_domain_info. */
void async_make(async_table *out, const char *name, const rill_domain *inner, int32_t group_rows);

#endif
