/* The schedule: who orders, who sets the budget, and how far the refills have come; schedule.c and admit.c say what is done with it. */
#ifndef RILL_SCHEDULE_H
#define RILL_SCHEDULE_H

#include "rill/engine.h"
#include "timestep.h"

typedef struct schedule {
    const rill_policy *policy;
    void *self;            /* the policy's */
    rill_budget_fn budget; /* NULL: the setting holds */
    void *budget_user;
    int64_t wave;       /* number of the next refill */
    int64_t flush_from; /* timestep of the last flush's end */
    int flushing;
} schedule;

/* Make the policy that `wanted` names, or the method's. */
rill_status schedule_create(rill_engine *e, const rill_chain_entry *wanted);
void schedule_destroy(schedule *s);
/* What policies see, with the budget of the settings. */
rill_flight schedule_view(const rill_engine *e);
/* Select the items of a timestep under the budget. */
rill_status schedule_choose(rill_engine *e, timestep *t);

#endif
