/* The bound on memory: how many states there may be at once; memory_limit.c says what is done when they are too few. */
#ifndef RILL_MEMORY_LIMIT_H
#define RILL_MEMORY_LIMIT_H

#include "internal.h"
#include "request.h"
#include "rill/engine.h"

typedef struct memory_limit {
    int32_t max_nodes;       /* most; 0: no bound, and nothing below is used */
    int64_t max_rows;        /* most of a timestep; 0: no bound */
    int64_t max_slot_bytes;  /* most for inputs in flight and encoded; 0: no bound */
    int64_t used_slot_bytes; /* by those now */
    double measured_size,
        encoded_size;           /* sizes of inputs as measured before encoding and as encoding told, summed up */
    int32_t running_window;     /* items in flight that seem to fit: schedule only */
    int32_t finished_in_window; /* items finished since it was last changed */
    /* Of one of several workers on a device: the bound of all together, of which it has one of so many shares, and the encoded inputs
     * that need more than that, through `next`, the latest first: they wait until it has all for itself. */
    int32_t n_shares, total_nodes;
    int64_t total_slot_bytes, total_rows;
    int32_t n_parked, last_parked;
} memory_limit;

/* Take the bound from the settings and the domain's figures: one share of it, of so many workers. Nothing is in flight.
 * RILL_OK · RILL_ERR_OPTION */
rill_status memory_limit_init(rill_engine *e, int32_t workers);
/* How many of the `admit` inputs that the policy wants may come in now. */
int32_t memory_limit_admissible(const rill_engine *e, int32_t admit);
/* How many of the `count` first waiting inputs may be encoded now. */
int32_t memory_limit_encodable(const rill_engine *e, int32_t count);
/* An input has been encoded, of measured size `measured`: count what it takes. RILL_OK · RILL_AGAIN (more than the engine's share:
 * it is to be parked) · RILL_ERR_INPUT, with a message in `input`: its memory alone is more than there may be */
rill_status memory_limit_add_input(rill_engine *e, rill_input *input, int64_t measured);
/* Nodes that can still be given out, and are not promised to a timestep under way. */
int64_t memory_limit_free_nodes(const rill_engine *e);
/* Nodes that expanding the item may take at the most. */
int64_t memory_limit_max_nodes(const rill_engine *e, int32_t slot);
/* Make room for the oldest item in flight to be expanded; no timestep is under way. When that cannot be, it has failed and nothing is in
 * flight. */
rill_status memory_limit_preempt(rill_engine *e);
/* States were too few for what the policy chose. */
void memory_limit_shrink_window(rill_engine *e);
/* Set an item aside that needs more than the engine's share; and have those that were come before all that wait. */
void memory_limit_park(rill_engine *e, int32_t slot);
void memory_limit_unpark_all(rill_engine *e);
/* One that was set aside is not any more. */
void memory_limit_remove_parked(rill_engine *e, int32_t slot);
/* Whether a timestep holds the hypotheses of one item with these wishes; NULL: it has none. RILL_OK · RILL_ERR_OPTION */
rill_status memory_limit_check(const rill_engine *e, const request *r);
/* Let the engine have one of so many shares of its bound; or all of it. Nothing is in flight. Rows are shared for good, since what they
 * are worked out in stays. */
void memory_limit_use_share(rill_engine *e, int32_t shares);
void memory_limit_use_all(rill_engine *e);
/* An item left for good: its slot is free. */
void memory_limit_remove_input(rill_engine *e, int32_t slot);

#endif
