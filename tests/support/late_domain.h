/* Any domain, answering later: its own calls wait in a queue until somebody needs what they make, and answers are handed over by
 * collect() alone. Until then what the engine gave for answers is poisoned, and its rows and questions must not change.
 *
 * Order of use: late_make(&table, "toy-late", &toy_domain, 4), rill_register_domain(ctx, &table.domain); the table outlives the
 * context. The contract is the one of rill/domain.h, "Answers that come later". */
#ifndef TEST_LATE_DOMAIN_H
#define TEST_LATE_DOMAIN_H

#include "rill/domain.h"

typedef struct late_table {
    rill_domain domain; /* first: methods that get their table find the rest behind it */
    const rill_domain *inner;
    int32_t group_rows;
    /* Of all runs: calls submitted, the most of one runner at once, other calls that came meanwhile, and encode calls: all, meanwhile. */
    _Atomic int64_t submitted, most_at_once, meanwhile, encoded, encoded_meanwhile;
    int32_t fail_collect; /* the n-th collect call fails; 0: none does */
    _Atomic int32_t collected;
    int32_t prompt; /* 1 + the group whose calls are answered at once; 0: none */
} late_table;

/* `group_rows` as in rill_domain_info. */
void late_make(late_table *out, const char *name, const rill_domain *inner, int32_t group_rows);

#endif
