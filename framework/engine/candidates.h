/* A timestep's candidates: all children of all selected items, after merging.
 *
 * Item i of the selection has entries [offset[i], offset[i+1]) in rank order. The data is stored as columns because heuristics, in C or
 * in Lua, read whole columns. The columns are scratch memory of the timestep. */
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
    int32_t *min_kept; /* minimum number of candidates that heuristics leave */
    double *best_output_score, *best_path_score;
    uint8_t *stop;                            /* 1: a heuristic has stopped the item */
    int32_t *marked_width;                    /* output of the current heuristic: its `width` ... */
    uint8_t *marked_stop;                     /* ... and `stop` */
    struct chain_instance *const **instances; /* the item's instances of heuristics and scorers */
    int32_t *part_offset;                     /* [n+1] offsets for calls of a heuristic with a subset of the items */
    /* per candidate: [offset[n]] */
    double *path_score;
    float *action_logp, *action_score;
    int32_t *parent_rank, *action;
    int32_t *group;    /* beam group of diverse beam search, or constraint bank; else 0 */
    int32_t *hyp;      /* >= 0: hypothesis node of an ended candidate that was already in the beam; else -1 */
    uint8_t *terminal; /* rill_terminal of the last action */
    uint8_t *ended, *keep;
    /* Called for each dropped candidate j of item i; `link` is the index of the heuristic that dropped it. NULL: no calls. */
    void (*on_dropped)(void *user, int32_t link, int32_t i, int32_t j);
    /* Called when a heuristic with an item's own arguments fails: item i fails alone, with the context's error. */
    rill_status (*on_failed)(void *user, int32_t i, rill_status status);
    void *user; /* passed to both functions */
} candidates;

/* Allocate columns for `items` items and `n` candidates. */
void candidates_carve(candidates *c, rill_carver *carver, size_t items, size_t n);
/* Keep the candidates marked in `keep` that are among the best marked_width[i] survivors of their item, and fill up to min_kept[i] with the
 * best other candidates. `link`: index of the heuristic that wrote `keep`. Returns the number of dropped candidates. */
int64_t candidates_compact(candidates *c, int32_t link);

#endif
