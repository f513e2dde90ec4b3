/* Policies: which items a timestep expands, and when new ones are admitted.
 *
 * A policy orders; the engine guarantees. Under a budget the engine takes items in the order given, each whole or not at
 * all; one that does not fit while a later one is taken has been passed over, and after eight times goes first; an item
 * wider than the budget is expanded alone. An item that is not expanded for four rounds, of as many expansions each as there are live
 * candidates in flight, goes first too, whatever the policy names. A policy that chooses nothing, or refuses to admit while nothing is
 * in flight, is overruled. So every item finishes under every policy, and since an item's search never depends on when it is expanded, no
 * policy can change an answer. Stability: members are only appended. */
#ifndef RILL_SCHEDULER_H
#define RILL_SCHEDULER_H

#include "rill/context.h"

RILL_C_BEGIN

/* The items in flight, in order of admission. Valid during the call only. */
typedef struct rill_sched_view {
    size_t struct_size;
    int32_t n;                   /* items in flight; 0 is legal */
    const int64_t *item_id;      /* [n] position of the input in the stream */
    const int32_t *timestep;     /* [n] timesteps the item has had: l_t */
    const int32_t *width;        /* [n] live candidates: what expanding it costs */
    const int64_t *size;         /* [n] the input's size in the domain's unit */
    const int64_t *refill_index; /* [n] number of the refill that admitted the item, from 0 */
    int32_t batch;               /* setting n */
    int32_t max_items;           /* setting max_items, N */
    int32_t budget;              /* 0: none */
    double refill;               /* setting refill, a share of N */
    int64_t waiting;             /* inputs waiting to be admitted */
    int64_t timesteps;           /* timesteps of the run so far */
    int32_t k;                   /* setting k: candidates of an item at most, where its request says nothing else */
} rill_sched_view;

typedef struct rill_scheduler {
    uint32_t abi_version; /* RILL_ABI_VERSION */
    uint32_t struct_size; /* sizeof(rill_scheduler) */
    const char *name;
    const char *summary;

    /* `table`: this table. (optional) */
    rill_status (*create)(const struct rill_scheduler *table, rill_context *ctx, const char *arguments, void **self);
    /* Write the indexes of items to expand, most wanted first, each at most once, to order[0..n); *count is how many.
     * Mandatory. */
    rill_status (*choose)(void *self, const rill_sched_view *flight, int32_t *order, int32_t *count);
    /* How many inputs to admit now; the engine caps it at max_items - n and at what is waiting. Called before each timestep
     * unless a flush is going on. Mandatory. */
    rill_status (*refill)(void *self, const rill_sched_view *flight, int32_t *admit);
    /* (optional) */
    void (*destroy)(void *self);
    /* Encode this many inputs beyond those admitted, so that later refills find them ready. (optional: 0) */
    int32_t (*encode_ahead)(void *self, const rill_sched_view *flight);
} rill_scheduler;

/* The budget of one timestep, by a function of the user's (engine.h): asked before each timestep's choice, with *budget and
 * flight->budget as the setting says. 0 is none, a negative number an error. The flight that `choose` then sees has the
 * answer as its budget; refill and encode_ahead see the setting.
 *   RILL_OK · a negative status ends the run */
typedef rill_status (*rill_budget_fn)(void *user, const rill_sched_view *flight, int32_t *budget);

RILL_C_END

#endif
