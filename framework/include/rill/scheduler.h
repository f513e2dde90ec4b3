/* Schedulers decide which items (inputs in flight) a timestep expands, and when new ones are admitted.
 *
 * The budget is the maximum number of hypotheses that a timestep expands. The engine takes items in the scheduler's order until the
 * budget is used up, each whole. An item wider than the budget is expanded alone.
 * The engine guarantees progress: it overrules a scheduler that chooses no item. Schedulers cannot change outputs.
 *
 * With rill_scheduler.overdue_first, overdue items go first, so no input waits for thousands of later ones. An item is overdue if
 *   - it did not fit in the budget eight times, and a later item was taken; or
 *   - it was not expanded for four rounds. A round is as many expansions as there are live hypotheses in flight.
 *
 * Stability: members are only appended. */
#ifndef RILL_SCHEDULER_H
#define RILL_SCHEDULER_H

#include "rill/context.h"

RILL_C_BEGIN

/* The items in flight, in order of admission. Valid during the call. */
typedef struct rill_sched_view {
    size_t struct_size;
    int32_t n;                   /* number of items (inputs in flight); 0 is legal */
    const int64_t *item_id;      /* [n] the item's position in the input stream */
    const int32_t *timestep;     /* [n] timesteps in which the input was expanded (l_t of Yang et al. 2020) */
    const int32_t *width;        /* [n] live hypotheses: the cost of expanding the input */
    const int64_t *size;         /* [n] size of the input in tokens (rill_input.size) */
    const int64_t *refill_index; /* [n] number of the refill that admitted the input, from 0 */
    int32_t batch;               /* setting n: number of inputs decoded together */
    int32_t max_items;           /* setting max_items (N): maximum number of inputs in flight */
    int32_t budget;              /* maximum number of hypotheses to expand; 0: no limit */
    /* setting refill (epsilon of Yang et al. 2020): admit inputs when at most this fraction of N is in flight */
    double refill;
    int64_t waiting;   /* inputs waiting to be admitted */
    int64_t timesteps; /* timesteps of the run so far */
    /* setting k: beam size; a request may have another */
    int32_t k;
} rill_sched_view;

typedef struct rill_scheduler {
    uint32_t abi_version; /* must be RILL_ABI_VERSION */
    uint32_t struct_size; /* must be sizeof(rill_scheduler) */
    const char *name;
    const char *summary;

    /* Create an instance. arguments: the text after "NAME:"; table: this rill_scheduler. (optional) */
    rill_status (*create)(const struct rill_scheduler *table, rill_context *ctx, const char *arguments, void **self);
    /* Write the indexes of the items (inputs) to expand to order[0..*count), highest priority first, without duplicates. Mandatory. */
    rill_status (*choose)(void *self, const rill_sched_view *view, int32_t *order, int32_t *count);
    /* Set *admit to the number of inputs to admit now. The engine limits it to max_items - n. Called before each timestep, except during a
     * flush. Mandatory. */
    rill_status (*refill)(void *self, const rill_sched_view *view, int32_t *admit);
    /* Undo create; accepts NULL. (optional) */
    void (*destroy)(void *self);
    /* Return the number of further inputs to encode in advance, so that later refills need not wait. (optional; default 0) */
    int32_t (*encode_ahead)(void *self, const rill_sched_view *view);
    /* 1: overdue inputs go first; 0: only if rill_engine_setup.overdue_first is set */
    int32_t overdue_first;
} rill_scheduler;

RILL_C_END

#endif
