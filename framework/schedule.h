/* The schedule: who orders, who sets the budget, and how far the refills have come; schedule.c and admit.c say what is done with it. */
#ifndef RILL_SCHEDULE_H
#define RILL_SCHEDULE_H

#include "rill/engine.h"
#include "timestep.h"

/* What is chosen from while some items are busy: the others, with their places in the flight. */
typedef struct idle_columns {
    rill_columns memory;
    int32_t *running_index, *timestep, *width;
    int64_t *id, *size, *refill_index;
} idle_columns;

typedef struct schedule {
    rill_context *ctx;
    const rill_scheduler *scheduler;
    void *self;            /* the policy's */
    rill_budget_fn budget; /* NULL: the setting holds */
    void *budget_user;
    int64_t refill_index; /* number of the next refill */
    int64_t last_flush;   /* timestep of the last flush's end */
    int flushing;
    int64_t next_check; /* expansions of the run at which items that wait are looked for */
    idle_columns idle;
} schedule;

/* Make the policy that `wanted` names, or the method's. */
rill_status schedule_create(rill_engine *e, const rill_chain_entry *scheduler);
void schedule_destroy(schedule *s);
/* What policies see, with the budget of the settings. */
rill_sched_view schedule_view(const rill_engine *e);
/* Select the items of a timestep among the idle ones, under the budget and with `most` live hypotheses at the most, but one item at
 * least. None is when none is idle, when nodes are too few while the other timestep is under way, or when the only item failed. */
rill_status schedule_select(rill_engine *e, timestep *t, int64_t max_rows);

#endif
