/* Schedulers decide which items a timestep expands, and when new ones are admitted.
 *
 * A scheduler only orders items; the engine guarantees progress. The budget is the maximum number of hypotheses that a timestep expands.
 * Under a budget the engine takes items in the scheduler's order, each with all of its live hypotheses or not at all. An item wider than
 * the budget is expanded alone. A scheduler that chooses no item, or admits none while nothing is in flight, is overruled. So a run over a
 * finite stream ends under every scheduler. An item's search never depends on when it is expanded, so no scheduler can change outputs.
 *
 * A scheduler can leave an item unexpanded while thousands of later inputs finish. It can do so until the reorder buffer is full, with
 * unordered results until the input ends. With rill_scheduler.overdue_first an overdue item goes first. An item is overdue if it was passed
 * over eight times: it did not fit in the budget, and a later item was taken. It is also overdue if it was not expanded for four rounds,
 * even if the scheduler omits it. A round is as many expansions as there are live candidates in flight.
 *
 * Stability: members are only appended. */
#ifndef RILL_SCHEDULER_H
#define RILL_SCHEDULER_H

#include "rill/context.h"

RILL_C_BEGIN

/* The items in flight, in order of admission. Valid during the call only. */
typedef struct rill_sched_view {
    size_t struct_size;
    int32_t n;                   /* items in flight; 0 is legal */
    const int64_t *item_id;      /* [n] position of the input in the stream */
    const int32_t *timestep;     /* [n] number of timesteps that have expanded the item (l_t of Yang et al. 2020) */
    const int32_t *width;        /* [n] live candidates: the cost of expanding the item */
    const int64_t *size;         /* [n] the input's size in the domain's unit (tokens), rill_input.size */
    const int64_t *refill_index; /* [n] number of the refill that admitted the item, from 0 */
    int32_t batch;               /* setting n: number of items decoded together */
    int32_t max_items;           /* setting max_items, N: maximum number of items in flight */
    int32_t budget;              /* maximum number of hypotheses that the timestep expands; 0: no limit */
    /* setting refill: inputs are admitted when at most this fraction of N is in flight (epsilon of Yang et al. 2020) */
    double refill;
    int64_t waiting;   /* inputs waiting to be admitted */
    int64_t timesteps; /* timesteps of the run so far */
    /* setting k: maximum number of candidates in an item's beam, unless the item's request sets another k */
    int32_t k;
} rill_sched_view;

typedef struct rill_scheduler {
    uint32_t abi_version; /* must be RILL_ABI_VERSION */
    uint32_t struct_size; /* must be sizeof(rill_scheduler) */
    const char *name;
    const char *summary;

    /* Make an instance from the arguments after "NAME:"; `table` is this rill_scheduler. (optional) */
    rill_status (*create)(const struct rill_scheduler *table, rill_context *ctx, const char *arguments, void **self);
    /* Write the indexes of the items to expand to order[0..n), highest priority first, without duplicates; *count is their number.
     * Mandatory. */
    rill_status (*choose)(void *self, const rill_sched_view *view, int32_t *order, int32_t *count);
    /* Set *admit to the number of inputs to admit now; the engine limits it to max_items - n and to the waiting inputs. Called before each
     * timestep except during a flush. Mandatory. */
    rill_status (*refill)(void *self, const rill_sched_view *view, int32_t *admit);
    /* Undo create; accepts NULL. (optional) */
    void (*destroy)(void *self);
    /* Return the number of inputs to encode in advance, besides those admitted now, so that later refills find them ready. (optional;
     * default 0) */
    int32_t (*encode_ahead)(void *self, const rill_sched_view *view);
    /* 1: overdue items go first; 0: the order of choose() is kept, unless rill_engine_setup.overdue_first is set */
    int32_t overdue_first;
} rill_scheduler;

RILL_C_END

#endif
