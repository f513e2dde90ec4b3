/* The flight: the items being decoded, in order of admission, with a column for each thing that policies see of them.
 *
 * Columns are kept up to date rather than gathered, since items are cold. Invariant: items->place[slot[i]] == i. */
#ifndef RILL_FLIGHT_H
#define RILL_FLIGHT_H

#include "item.h"

typedef struct flight {
    rill_context *ctx;
    rill_columns memory;
    int32_t n;
    int32_t *slot, *timestep, *width;
    int64_t *id, *size, *wave;
    uint8_t *marked;   /* the two marks below; zero between choices */
    int32_t *order;    /* what the policy writes */
    int32_t *skipped;  /* places that were skipped while choosing */
    int32_t n_overdue; /* items passed over so often that they go first */
} flight;

enum {
    FLIGHT_TAKEN = 1,    /* chosen so far */
    FLIGHT_NAMED = 2,    /* by the policy, as far as that has been looked at */
    FLIGHT_PATIENCE = 8, /* an item passed over so often goes first */
    FLIGHT_ROUNDS = 4    /* so does one that has waited while so many hypotheses were expanded for each one in flight */
};

void flight_finish(flight *f);
/* Live hypotheses of all items in flight. */
int64_t flight_live(const flight *f);
/* Room for `n` items. */
rill_status flight_reserve(flight *f, size_t n);
/* Append an item that came with refill `wave`. Room is there. */
void flight_join(flight *f, items *all, int32_t slot, int64_t wave);
/* Take over what a timestep made of an item. */
void flight_update(flight *f, const items *all, int32_t slot);
/* Remove the item that joined last; returns its slot. */
int32_t flight_leave(flight *f, items *all);
/* It is not overdue any more. */
void flight_forgive(flight *f, items *all, int32_t slot);
/* Move the item at place `from` to `to` <= from. */
void flight_move(flight *f, items *all, int32_t to, int32_t from);

#endif
