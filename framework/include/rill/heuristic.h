/* Heuristics prune the candidates of a timestep.
 *
 * A heuristic is called once per timestep and phase with the candidates of all selected items. Outputs have left the beams by then; beams
 * are not yet trimmed to k ("One timestep of one item, exactly", docs/algorithms.md, step 5). It drops candidates, narrows an item's beam,
 * or stops items. Heuristics are applied in order; each sees the candidates that the previous ones kept.
 *
 * The marks for an item must depend on that item's entries alone, without state from item to item. The setting `check` also calls the
 * heuristic for every item alone, and fails the run if the results differ.
 * Sources: absolute and relative pruning, Freitag and Al-Onaizan 2017 and Yang et al. 2020; see builtin_heuristics.c.
 * Stability: members are only appended. */
#ifndef RILL_HEURISTIC_H
#define RILL_HEURISTIC_H

#include "rill/context.h"

RILL_C_BEGIN

/* Candidates of n items; item i has entries [offset[i], offset[i+1]) by descending score, then parent rank, then action. All arrays are the
 * engine's; valid during the call only. */
typedef struct rill_candidates {
    size_t struct_size;
    int32_t n;                       /* number of items; 0 is legal */
    int32_t phase;                   /* phase of the timestep */
    const int32_t *offset;           /* [n+1] start of each item's entries in the arrays of candidates */
    const int64_t *item_id;          /* [n] position of the item's input in the stream */
    const int32_t *k;                /* [n] beam size of the item */
    const int32_t *timestep;         /* [n] timesteps of the item so far, from 0 */
    const int32_t *outputs;          /* [n] number of outputs so far, including this timestep's outputs */
    const double *best_output_score; /* [n] best path score of the outputs; RILL_SCORE_DEAD if there is none */
    /* [n] s_1, the reference of thresholds: the best path score of the item's outputs and candidates, also of those already dropped */
    const double *best_path_score;
    const double *path_score; /* [offset[n]] sum of log-probabilities and scorers' bonuses */
    /* [offset[n]] log-probability of the last action; for an ended candidate, of its terminal action */
    const float *action_logp;
    const int32_t *parent_rank; /* [offset[n]] rank of the parent in the item's beam */
    const int32_t *action;      /* [offset[n]] last action of the candidate */
    /* [offset[n]] 1: the candidate has ended and waits in the beam below a live candidate */
    const uint8_t *ended;
    uint8_t *keep; /* [offset[n]] out: 1 on entry; 0 drops the candidate */
    /* [n] out: the item keeps only its best `width` candidates, of those with keep = 1; INT32_MAX on entry: all */
    int32_t *width;
    /* [n] out: 0 on entry; 1 stops the item after this timestep. Its ended candidates become outputs; without any output its live
     * candidates become truncated outputs */
    uint8_t *stop;
} rill_candidates;

typedef struct rill_heuristic {
    uint32_t abi_version;  /* must be RILL_ABI_VERSION */
    uint32_t struct_size;  /* must be sizeof(rill_heuristic) */
    const char *name;      /* name of the heuristic, of the characters a-z, 0-9, "_" and "-" */
    const char *arguments; /* syntax of the arguments, e.g. "DELTA"; "" for none */
    const char *summary;   /* one line for `rill list` */

    /* Make an instance from the arguments after "NAME:" ("" if none). `table`: the registered rill_heuristic, the first member of a larger
     * struct if several heuristics share functions. (optional; NULL: *self is NULL and arguments are refused) */
    rill_status (*create)(const struct rill_heuristic *table, rill_context *ctx, const char *arguments, void **self);
    /* Set keep, width and stop for the candidates. Mandatory. */
    rill_status (*apply)(void *self, rill_candidates *candidates);
    /* Undo create; accepts NULL. (optional) */
    void (*destroy)(void *self);
} rill_heuristic;

RILL_C_END

#endif
