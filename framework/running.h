/* The flight: the items being decoded, in order of admission, with a column for each thing that policies see of them.
 *
 * Columns are kept up to date rather than gathered, since items are cold. Invariant: items->place[slot[i]] == i. */
#ifndef RILL_RUNNING_H
#define RILL_RUNNING_H

#include "item.h"

typedef struct running_items {
    rill_context *ctx;
    rill_columns memory;
    int32_t n;
    int32_t *slot, *timestep, *width;
    int64_t *id, *size, *refill_index;
    uint8_t *marks;         /* the two marks below; zero between choices */
    int32_t *order;         /* what the policy writes */
    int32_t *skipped_index; /* places that were skipped while choosing */
    int32_t n_overdue;      /* items passed over so often that they go first */
} running_items;

enum {
    RUNNING_TAKEN = 1,     /* chosen so far */
    RUNNING_NAMED = 2,     /* by the policy, as far as that has been looked at */
    RUNNING_MAX_SKIPS = 8, /* an item passed over so often goes first */
    RUNNING_MAX_ROUNDS =
        4 /* so does one that has waited while so many hypotheses were expanded for each one in flight */
};

void running_finish(running_items *f);
/* Live hypotheses of all items in flight. */
int64_t running_n_live(const running_items *f);
/* Room for `n` items. */
rill_status running_reserve(running_items *f, size_t n);
/* Append an item that came with refill `wave`. Room is there. */
void running_append(running_items *f, items *all, int32_t slot, int64_t refill_index);
/* Take over what a timestep made of an item. */
void running_update(running_items *f, const items *all, int32_t slot);
/* Remove the item that joined last; returns its slot. */
int32_t running_pop_last(running_items *f, items *all);
/* It is not overdue any more. */
void running_clear_overdue(running_items *f, items *all, int32_t slot);
/* Move the item at place `from` to `to` <= from. */
void running_move(running_items *f, items *all, int32_t to, int32_t from);

#endif
