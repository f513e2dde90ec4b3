/* Heuristics prune the candidates of a timestep.
 *
 * A heuristic is called once per timestep and phase with the candidates of all selected items, after outputs have left the beams and before
 * beams are trimmed to k ("One timestep of one item, exactly", docs/algorithms.md, step 5). It drops candidates, narrows an item's beam, or
 * stops items. Heuristics form a chain; each sees the candidates that the previous ones left.
 *
 * The contract is segment-local: an item's result depends on that item's entries alone, and no state carries over from item to item. The
 * setting `check` runs every item alone as well and fails the run when the results differ.
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
    const int32_t *timestep;         /* [n] timesteps of the item so far, from 0 */
    const int32_t *outputs;          /* [n] outputs so far, including this timestep's */
    const double *best_output_score; /* [n] best path score of these, RILL_SCORE_DEAD without any */
    /* [n] s_1, the reference of thresholds: the best path score of the item's outputs and candidates, including candidates that earlier
     * heuristics dropped */
    const double *best_path_score;
    const double *path_score;   /* [offset[n]] sum of log-probabilities and scorers' bonuses */
    const float *action_logp;   /* [..] of the last action; of an ended candidate, of its terminal action */
    const int32_t *parent_rank; /* [..] rank of the parent in the item's beam */
    const int32_t *action;      /* [..] last action */
    const uint8_t *ended;       /* [..] 1: ended, waiting below a live candidate */
    uint8_t *keep;              /* [..] out: 1 on entry; 0 drops the candidate */
    int32_t *width;             /* [n] out: INT32_MAX on entry; only the best `width` survivors are kept */
    /* [n] out: 0 on entry; 1 stops the item after this timestep: its ended candidates become outputs, or, if it has no output at all,
     * its live ones do, as truncated */
    uint8_t *stop;
} rill_candidates;

typedef struct rill_heuristic {
    uint32_t abi_version;  /* RILL_ABI_VERSION */
    uint32_t struct_size;  /* sizeof(rill_heuristic) */
    const char *name;      /* [a-z0-9_-]+ */
    const char *arguments; /* syntax of the arguments, e.g. "DELTA"; "" for none */
    const char *summary;   /* one line for `rill list` */

    /* Make an instance from the arguments after "NAME:" ("" if none). `table` is the registered table: the first member of a larger
     * struct when several heuristics share functions. (optional: *self stays NULL and arguments are refused) */
    rill_status (*create)(const struct rill_heuristic *table, rill_context *ctx, const char *arguments, void **self);
    /* Mark the candidates. Mandatory. */
    rill_status (*apply)(void *self, rill_candidates *candidates);
    /* Undo create; accepts NULL. (optional) */
    void (*destroy)(void *self);
} rill_heuristic;

RILL_C_END

#endif
