/* A timestep's candidates: all children of all selected items, after merging.
 *
 * Item i of the selection has entries [offset[i], offset[i+1]) in rank order. Arrays are laid side by side because
 * heuristics, in C or in Lua, want whole columns. They lie in the timestep's scratch. */
#ifndef RILL_CANDIDATES_H
#define RILL_CANDIDATES_H

#include "internal.h"
#include "rill/carve.h"

typedef struct candidates {
    int32_t n; /* items */
    /* per item: [n], offset [n+1] */
    int32_t *offset;
    int64_t *item_id;
    int32_t *k, *timestep, *n_outputs;
    int32_t *min_kept; /* so many heuristics leave */
    double *best_output_score, *best_path_score;
    uint8_t *stop;                            /* a heuristic asked the item to stop */
    int32_t *marked_width;                    /* what the heuristic at work says: its `width` ... */
    uint8_t *marked_stop;                     /* ... and `stop` */
    struct chain_instance *const **instances; /* of heuristics and scorers, that the item uses */
    int32_t *part_offset;                     /* [n+1] of a call for a part of the items */
    /* per candidate: [offset[n]] */
    double *path_score;
    float *action_logp, *action_score;
    int32_t *parent_rank, *action;
    int32_t *group;    /* of a diverse beam; else nobody looks */
    int32_t *hyp;      /* >= 0: an ended candidate that was in the beam already; else -1 */
    uint8_t *terminal; /* rill_terminal of the last action */
    uint8_t *ended, *keep;
    /* What is told of each candidate that goes: j, of item i, by heuristic `link`. NULL: nothing. */
    void (*on_dropped)(void *user, int32_t link, int32_t i, int32_t j);
    /* An item's own arguments of a heuristic make it fail: item i fails alone, with the context's error. */
    rill_status (*on_failed)(void *user, int32_t i, rill_status status);
    void *user; /* of both */
} candidates;

/* Lay out the columns of `items` items and `n` candidates. */
void candidates_carve(candidates *c, rill_carver *carver, size_t items, size_t n);
/* Keep those marked in `keep` that are among the best marked_width[i] survivors of their item, and of others the best as far as
 * least[i] are not reached. `link`: whose marks these are. Returns how many went. */
int64_t candidates_compact(candidates *c, int32_t link);

#endif
