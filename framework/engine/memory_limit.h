/* Limits how many model states may exist at once; preempt.c preempts items when the limit leaves too few. */
#ifndef RILL_MEMORY_LIMIT_H
#define RILL_MEMORY_LIMIT_H

#include "internal.h"
#include "requests.h"
#include "rill/engine.h"

typedef struct memory_limit {
    int64_t bytes; /* the setting `memory`, or what the device has free; 0: no limit in bytes */
    /* limit on nodes (model states) of this engine; 0: there is no limit, and the other members are unused */
    int32_t max_nodes;
    int64_t max_rows;        /* limit on rows (live hypotheses) of a timestep; 0: no limit */
    int64_t max_slot_bytes;  /* limit on bytes of encoder memory in use; 0: no limit */
    int64_t used_slot_bytes; /* bytes of encoder memory in use */
    /* total size of all inputs encoded so far: measured_size as estimated before encoding, encoded_size as reported by encode() */
    double measured_size, encoded_size;
    /* estimate of how many items in flight fit in memory; affects only the schedule, not the outputs */
    int32_t running_window;
    int32_t finished_in_window; /* number of items that finished since running_window changed */
    /* For several workers that share the limit: each has one of n_shares equal parts of the total_* limits. To decode an input that exceeds
     * a part, one engine gets the whole limit (input_queue.h). */
    int32_t n_shares, total_nodes;
    int64_t total_slot_bytes, total_rows;
    int has_all; /* 1: the engine has the whole limit */
} memory_limit;

/* Compute one worker's part of the limit, from the settings and from the memory sizes that the domain declares. Nothing may be in flight.
 * RILL_OK · RILL_ERR_OPTION */
rill_status memory_limit_init(rill_engine *e, int32_t workers);
/* Return how many of the `admit` inputs that the scheduler wants to admit may be admitted now. */
int32_t memory_limit_admissible(const rill_engine *e, int32_t admit);
/* Return the number of bytes that the limit still allows for encoder memory; infinite: no limit. */
double memory_limit_free_bytes(const rill_engine *e);
/* Return 1 if an input may be encoded in addition to n others, else 0. `size`: its size as measured before encoding. The memory that it is
 * expected to need is subtracted from *free_bytes. */
int memory_limit_can_encode(const rill_engine *e, int64_t size, int32_t n, double *free_bytes);
/* Count the memory of an encoded input; `measured`: the input's size as measured before encoding. RILL_OK · RILL_AGAIN (the memory exceeds
 * the engine's part of the limit, and is not counted) · RILL_ERR_INPUT, with a message in `input` (the memory exceeds the whole limit) */
rill_status memory_limit_add_input(rill_engine *e, rill_input *input, int64_t measured);
/* Return the number of states that the limit still allows. States that are reserved for a timestep in progress count as used. */
int64_t memory_limit_free_nodes(const rill_engine *e);
/* Return an upper bound on the number of states that one more timestep of the item in this slot makes. */
int64_t memory_limit_max_nodes(const rill_engine *e, int32_t slot);
/* Lower running_window, because the states of the scheduler's choice did not fit. */
void memory_limit_shrink_window(rill_engine *e);
/* Check that one item's full beam fits in the limit on rows, with the settings of request r; NULL: with the engine's settings.
 *   RILL_OK · RILL_ERR_OPTION */
rill_status memory_limit_check(const rill_engine *e, const request *r);
/* Give the engine the whole limit (has_all = 1), or its part of it (0). The limit on rows always stays divided, since scratch memory is
 * never freed. Nothing may be in flight. */
void memory_limit_use(rill_engine *e, int has_all);
/* An item has finished: subtract its encoder memory from used_slot_bytes. */
void memory_limit_remove_input(rill_engine *e, int32_t slot);

#endif
