/* The schedule: the scheduler, the budget function and the state of refills; used by schedule.c and admit.c. */
#ifndef RILL_SCHEDULE_H
#define RILL_SCHEDULE_H

#include "rill/engine.h"
#include "timestep.h"

/* The idle items, from which a timestep is selected while other items are busy (their score call is in progress): the columns
 * of rill_sched_view, and each item's index among the running items. */
typedef struct idle_columns {
    rill_columns memory;
    int32_t *running_index, *timestep, *width;
    int64_t *id, *size, *refill_index;
} idle_columns;

typedef struct schedule {
    rill_context *ctx;
    const rill_scheduler *scheduler;
    void *self;            /* the scheduler's instance */
    rill_budget_fn budget; /* NULL: the setting applies */
    void *budget_user;
    int64_t refill_index; /* number of the next refill */
    int64_t last_flush;   /* timestep of the run at which the last flush ended */
    int flushing;
    /* value of rill_stats.expansions at which the next check for starving items is due */
    int64_t next_check;
    idle_columns idle;
} schedule;

/* Create the scheduler that `scheduler` names; NULL: the method's default scheduler. */
rill_status schedule_create(rill_engine *e, const rill_chain_entry *scheduler);
void schedule_destroy(schedule *s);
/* The items in flight as a scheduler sees them; the view's budget is the setting, not the budget function's value. */
rill_sched_view schedule_view(const rill_engine *e);
/* Select a timestep's items from the idle items: at least one item, further ones within the budget and max_rows live
 * hypotheses. Selects no item if none is idle, if the other timestep in progress leaves too few nodes, or if the only item
 * failed. */
rill_status schedule_select(rill_engine *e, timestep *t, int64_t max_rows);

#endif
