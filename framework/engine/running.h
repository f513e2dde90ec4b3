/* Running items: the items in flight, in order of admission, with a column for everything that schedulers see.
 *
 * The columns are updated when an item changes, because gathering them from the items would cost cache misses. Invariant:
 * items->running_index[slot[i]] == i. */
#ifndef RILL_RUNNING_H
#define RILL_RUNNING_H

#include "item.h"

typedef struct running_items {
    rill_context *ctx;
    rill_columns memory;
    int32_t n;
    int32_t *slot, *timestep, *width;
    int64_t *id, *size, *refill_index;
    uint8_t *marks;         /* bits RUNNING_TAKEN and RUNNING_NAMED; 0 between selections */
    int32_t *order;         /* indexes of items, in the order that the scheduler chose */
    int32_t *skipped_index; /* indexes of items skipped in the current selection */
    int32_t n_overdue;      /* number of overdue items: these are selected first */
} running_items;

enum {
    RUNNING_TAKEN = 1,     /* the item is selected for this timestep */
    RUNNING_NAMED = 2,     /* the item occurs in the part of the scheduler's order read so far */
    RUNNING_MAX_SKIPS = 8, /* an item passed over this many times is overdue */
    /* an item not expanded for this many rounds is overdue too; a round is one expansion per live hypothesis in flight */
    RUNNING_MAX_ROUNDS = 4
};

void running_finish(running_items *f);
/* Number of live hypotheses of all items in flight. */
int64_t running_n_live(const running_items *f);
/* Reserve memory for `n` items. */
rill_status running_reserve(running_items *f, size_t n);
/* Append an item that was admitted by refill number `refill_index`. Memory must be reserved. */
void running_append(running_items *f, items *all, int32_t slot, int64_t refill_index);
/* Copy an item's new state after a timestep. */
void running_update(running_items *f, const items *all, int32_t slot);
/* Remove the item admitted last; returns its slot. */
int32_t running_pop_last(running_items *f, items *all);
/* Reset the number of times that an item was passed over, so that the item is not overdue. */
void running_clear_overdue(running_items *f, items *all, int32_t slot);
/* Move the item at index `from` to `to` <= from. */
void running_move(running_items *f, items *all, int32_t to, int32_t from);

#endif
