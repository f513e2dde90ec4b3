/* Heuristics: which candidates survive a timestep.
 *
 * A heuristic is called once per timestep and phase with the candidates of all selected items, after outputs
 * have left the beams and before beams are trimmed to k ("One timestep of one item, exactly", docs/algorithms.md, step 5). It clears
 * candidates, narrows items, or asks to stop items. Heuristics form a chain; each sees what the one before left.
 *
 * The contract is segment-local: what happens to an item depends on that item's entries alone, and nothing is carried from
 * item to item. The setting `check` runs every item alone as well and fails the run when the marks differ.
 * Sources: absolute and relative pruning, Freitag and Al-Onaizan 2017 and Yang et al. 2020; see heuristics.c.
 * Stability: members are only appended. */
#ifndef RILL_HEURISTIC_H
#define RILL_HEURISTIC_H

#include "rill/context.h"

RILL_C_BEGIN

/* Candidates of n items; item i has entries [offset[i], offset[i+1]) in rank order (score descending, then parent rank, then
 * action). All arrays are the engine's; valid during the call only. */
typedef struct rill_candidates {
    size_t struct_size;
    int32_t n;                       /* items; 0 is legal */
    int32_t phase;                   /* phase of the timestep */
    const int32_t *offset;           /* [n+1] */
    const int64_t *item_id;          /* [n] position of the item's input in the stream */
    const int32_t *k;                /* [n] beam width */
    const int32_t *timestep;         /* [n] the item's own: 0 in its first */
    const int32_t *outputs;          /* [n] outputs so far, those of this timestep included */
    const double *best_output_score; /* [n] best score of these, RILL_SCORE_DEAD without any */
    const double *best_path_score; /* [n] s_1, what thresholds refer to: the best score of the item's outputs and of its
                                  candidates, those that heuristics before this one dropped included */
    const double *path_score;      /* [offset[n]] sum of log-probabilities and of what scorers added */
    const float *action_logp;      /* [..] of the last action; of an ended candidate, of its terminal one */
    const int32_t *parent_rank;    /* [..] rank of the parent in the item's beam */
    const int32_t *action;         /* [..] last action */
    const uint8_t *ended;          /* [..] 1: ended, waiting below a live candidate */
    uint8_t *keep;                 /* [..] out: 1 as given; 0 drops the candidate */
    int32_t *width;                /* [n] out: INT32_MAX as given; the best `width` of the survivors stay */
    uint8_t *stop; /* [n] out: 0 as given; 1 ends the item after this timestep: its ended candidates become
                                    outputs, and if it has none at all its live ones do, marked truncated */
} rill_candidates;

typedef struct rill_heuristic {
    uint32_t abi_version;  /* RILL_ABI_VERSION */
    uint32_t struct_size;  /* sizeof(rill_heuristic) */
    const char *name;      /* [a-z0-9_-]+ */
    const char *arguments; /* how arguments are written, e.g. "DELTA"; "" for none */
    const char *summary;   /* one line for `rill list` */

    /* Make an instance from the text behind "NAME:" ("" if none). `table` is this table, where it was registered: the
     * beginning of a larger struct when several share their functions. (optional: *self stays NULL and arguments are
     * refused) */
    rill_status (*create)(const struct rill_heuristic *table, rill_context *ctx, const char *arguments, void **self);
    /* Mark the candidates. Mandatory. */
    rill_status (*apply)(void *self, rill_candidates *beams);
    /* Undo create; accepts NULL. (optional) */
    void (*destroy)(void *self);
} rill_heuristic;

RILL_C_END

#endif
