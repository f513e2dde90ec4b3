/* The schedule: the scheduler, the budget function and the state of refills; used by schedule.c and admit.c. */
#ifndef RILL_SCHEDULE_H
#define RILL_SCHEDULE_H

#include "rill/engine.h"
#include "timestep.h"

/* While some items are busy, the others are chosen from: their columns and running indexes. */
typedef struct idle_columns {
    rill_columns memory;
    int32_t *running_index, *timestep, *width;
    int64_t *id, *size, *refill_index;
} idle_columns;

typedef struct schedule {
    rill_context *ctx;
    const rill_scheduler *scheduler;
    void *self;            /* the scheduler's */
    rill_budget_fn budget; /* NULL: the setting applies */
    void *budget_user;
    int64_t refill_index; /* number of the next refill */
    int64_t last_flush;   /* timestep of the last flush's end */
    int flushing;
    int64_t next_check; /* count of expanded hypotheses at which starving items are looked for next */
    idle_columns idle;
} schedule;

/* Make the scheduler that `scheduler` names, or the method's. */
rill_status schedule_create(rill_engine *e, const rill_chain_entry *scheduler);
void schedule_destroy(schedule *s);
/* The scheduler's view, with the budget of the settings. */
rill_sched_view schedule_view(const rill_engine *e);
/* Select the items of a timestep among the idle ones, within the budget and max_rows live hypotheses, but at least one item. Selects
 * none if none is idle, if there are too few nodes while the other timestep is in progress, or if the only item failed. */
rill_status schedule_select(rill_engine *e, timestep *t, int64_t max_rows);

#endif
