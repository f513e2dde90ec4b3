/* A timestep's candidates: all children of all selected items, after merging.
 *
 * Item i of the selection has entries [offset[i], offset[i+1]) in rank order. Arrays are laid side by side because
 * heuristics, in C or in Lua, want whole columns. Memory is kept from timestep to timestep. */
#ifndef RILL_CANDIDATES_H
#define RILL_CANDIDATES_H

#include "internal.h"

typedef struct candidates {
    rill_context *ctx;
    int32_t n; /* items */
    /* per item: [n], offset [n+1] */
    int32_t *offset;
    int64_t *item_id;
    int32_t *k, *timestep, *outputs;
    double *best_output, *best;
    uint8_t *stop; /* a heuristic asked the item to stop */
    size_t items_capacity;
    /* per candidate: [offset[n]] */
    double *score;
    float *action_logp, *action_score;
    int32_t *parent_rank, *action;
    int32_t *history;  /* >= 0: an ended candidate that was in the beam already; else -1 */
    uint8_t *terminal; /* rill_terminal of the last action */
    uint8_t *ended, *keep;
    size_t capacity;
} candidates;

void candidates_finish(candidates *c);
/* Room for `items` items and `n` candidates; content is not kept. */
rill_status candidates_reserve(candidates *c, int32_t items, int64_t n);
/* Keep those marked in `keep` that are among the best width[i] survivors of their item; widths may be NULL. Returns how many
 * went. */
int64_t candidates_compact(candidates *c, const int32_t *width);

#endif
