/* Limits how many model states may exist at once; memory_limit.c says what happens when there are too few. */
#ifndef RILL_MEMORY_LIMIT_H
#define RILL_MEMORY_LIMIT_H

#include "internal.h"
#include "requests.h"
#include "rill/engine.h"

typedef struct memory_limit {
    int32_t max_nodes;       /* limit on nodes (model states); 0: no limit, and nothing below is used */
    int64_t max_rows;        /* limit on rows (live hypotheses) of a timestep; 0: no limit */
    int64_t max_slot_bytes;  /* limit on bytes of encoder memory in use; 0: no limit */
    int64_t used_slot_bytes; /* bytes of encoder memory in use */
    /* sums of the sizes of encoded inputs: as estimated before encoding; as reported by encode() */
    double measured_size, encoded_size;
    /* estimate of how many items in flight fit in memory; affects only the schedule, not the outputs */
    int32_t running_window;
    int32_t finished_in_window; /* items finished since running_window changed */
    /* For several workers that share the limit: each has one of n_shares equal shares of the total_* limits. An encoded input that exceeds
     * a share is parked until its worker has the whole limit. Parked items form a list linked by item.next_slot, latest first. */
    int32_t n_shares, total_nodes;
    int64_t total_slot_bytes, total_rows;
    int32_t n_parked, last_parked;
} memory_limit;

/* Compute one worker's share of the limit, from the settings and from the memory sizes that the domain declares. Nothing may be in flight.
 * RILL_OK · RILL_ERR_OPTION */
rill_status memory_limit_init(rill_engine *e, int32_t workers);
/* Return how many of the `admit` inputs that the scheduler wants to admit may be admitted now. */
int32_t memory_limit_admissible(const rill_engine *e, int32_t admit);
/* Return how many of the first `count` waiting inputs may be encoded now. */
int32_t memory_limit_encodable(const rill_engine *e, int32_t count);
/* Count the memory of an encoded input; `measured`: the input's size as measured before encoding. RILL_OK · RILL_AGAIN (the memory exceeds
 * the engine's share: the item must be parked, which means set aside) · RILL_ERR_INPUT, with a message in `input` (the memory exceeds the
 * whole limit) */
rill_status memory_limit_add_input(rill_engine *e, rill_input *input, int64_t measured);
/* Return the number of states that the limit still allows, without those reserved for a timestep in progress. */
int64_t memory_limit_free_nodes(const rill_engine *e);
/* Return an upper bound on the number of states that one more timestep of the item makes. */
int64_t memory_limit_max_nodes(const rill_engine *e, int32_t slot);
/* Free states by preempting items until the oldest item in flight can be expanded; no timestep may be in progress. If preemption does not
 * suffice, the oldest item is parked (set aside), finished or failed, and nothing is left in flight. */
rill_status memory_limit_preempt(rill_engine *e);
/* Lower running_window, because the states of the scheduler's choice did not fit. */
void memory_limit_shrink_window(rill_engine *e);
/* memory_limit_park() sets an item aside that exceeds the engine's share of the limit; memory_limit_unpark_all() moves all items set aside
 * so far to the front of the ready list. */
void memory_limit_park(rill_engine *e, int32_t slot);
void memory_limit_unpark_all(rill_engine *e);
/* Remove an item from the list of parked items, which are set aside until memory suffices. */
void memory_limit_remove_parked(rill_engine *e, int32_t slot);
/* Check that the limit on rows allows one item's full beam with the request's settings; NULL: the engine's. RILL_OK · RILL_ERR_OPTION */
rill_status memory_limit_check(const rill_engine *e, const request *r);
/* memory_limit_use_share() gives the engine one of `shares` equal shares of the limit, memory_limit_use_all() the whole limit. The limit on
 * rows stays divided, since scratch memory is never freed. Nothing may be in flight. */
void memory_limit_use_share(rill_engine *e, int32_t shares);
void memory_limit_use_all(rill_engine *e);
/* An item has finished: subtract its encoder memory from used_slot_bytes. */
void memory_limit_remove_input(rill_engine *e, int32_t slot);

#endif
