/* The bound on memory: how many states there may be at once; bound.c says what is done when they are too few. */
#ifndef RILL_BOUND_H
#define RILL_BOUND_H

#include "internal.h"
#include "request.h"
#include "rill/engine.h"

typedef struct bound {
    int32_t nodes;            /* most; 0: no bound, and nothing below is used */
    int64_t rows;             /* most of a timestep; 0: no bound */
    int64_t slot_bytes;       /* most for inputs in flight and encoded; 0: no bound */
    int64_t used_bytes;       /* by those now */
    double measured, encoded; /* sizes of inputs as measured before encoding and as encoding told, summed up */
    int32_t window;           /* items in flight that seem to fit: schedule only */
    int32_t finished;         /* items finished since it was last changed */
    /* Of one of several workers on a device: the bound of all together, of which it has one of so many shares, and the encoded inputs
     * that need more than that, through `next`, the latest first: they wait until it has all for itself. */
    int32_t shares, all_nodes;
    int64_t all_slot_bytes, all_rows;
    int32_t n_parked, last_parked;
} bound;

/* Take the bound from the settings and the domain's figures: one share of it, of so many workers. Nothing is in flight.
 * RILL_OK · RILL_ERR_OPTION */
rill_status bound_init(rill_engine *e, int32_t workers);
/* How many of the `admit` inputs that the policy wants may come in now. */
int32_t bound_admit(const rill_engine *e, int32_t admit);
/* How many of the `count` first waiting inputs may be encoded now. */
int32_t bound_encode(const rill_engine *e, int32_t count);
/* An input has been encoded, of measured size `measured`: count what it takes. RILL_OK · RILL_AGAIN (more than the engine's share:
 * it is to be parked) · RILL_ERR_INPUT, with a message in `input`: its memory alone is more than there may be */
rill_status bound_encoded(rill_engine *e, rill_input *input, int64_t measured);
/* Nodes that can still be given out, and are not promised to a timestep under way. */
int64_t bound_free(const rill_engine *e);
/* Nodes that expanding the item may take at the most. */
int64_t bound_need(const rill_engine *e, int32_t slot);
/* Make room for the oldest item in flight to be expanded; no timestep is under way. When that cannot be, it has failed and nothing is in
 * flight. */
rill_status bound_make_room(rill_engine *e);
/* States were too few for what the policy chose. */
void bound_pressed(rill_engine *e);
/* Set an item aside that needs more than the engine's share; and have those that were come before all that wait. */
void bound_park(rill_engine *e, int32_t slot);
void bound_unpark(rill_engine *e);
/* One that was set aside is not any more. */
void bound_not_parked(rill_engine *e, int32_t slot);
/* Whether a timestep holds the hypotheses of one item with these wishes; NULL: it has none. RILL_OK · RILL_ERR_OPTION */
rill_status bound_check(const rill_engine *e, const request *r);
/* Let the engine have one of so many shares of its bound; or all of it. Nothing is in flight. Rows are shared for good, since what they
 * are worked out in stays. */
void bound_narrow(rill_engine *e, int32_t shares);
void bound_widen(rill_engine *e);
/* An item left for good: its slot is free. */
void bound_dropped(rill_engine *e, int32_t slot);

#endif
