/* Heuristics prune the candidates of a timestep: they drop candidates, narrow an item's beam, or stop an item (an input in flight).
 *
 * A heuristic is called once per timestep and phase. Ended hypotheses have become outputs by then; beams are not yet cut to size k
 * (docs/algorithms.md, "One timestep of one item, exactly", step 5). Heuristics run in order, each on what the previous ones kept.
 *
 * Decisions about an item must depend on its own entries alone. The setting `check` verifies this.
 * Sources: absolute and relative pruning, Freitag and Al-Onaizan 2017 and Yang et al. 2020; see builtin_heuristics.c.
 * Stability: members are only appended. */
#ifndef RILL_HEURISTIC_H
#define RILL_HEURISTIC_H

#include "rill/context.h"

RILL_C_BEGIN

/* Candidates of n items (inputs in flight). Item i has entries [offset[i], offset[i+1]) by descending score, then parent rank, then
 * action. Valid during the call. */
typedef struct rill_candidates {
    size_t struct_size;
    int32_t n;                       /* number of items (inputs in flight); 0 is legal */
    int32_t phase;                   /* phase of the timestep */
    const int32_t *offset;           /* [n+1] index of each item's first candidate */
    const int64_t *item_id;          /* [n] the item's position in the input stream */
    const int32_t *k;                /* [n] beam size of the item (input) */
    const int32_t *timestep;         /* [n] timesteps of the item so far, from 0 */
    const int32_t *outputs;          /* [n] number of outputs so far, this timestep included */
    const double *best_output_score; /* [n] best path score of the outputs; RILL_SCORE_DEAD if none */
    /* [n] reference of thresholds: best path score of all outputs and candidates, dropped ones included */
    const double *best_path_score;
    const double *path_score; /* [offset[n]] sum of log-probabilities and scorers' bonuses */
    /* [offset[n]] log-probability of the candidate's last action */
    const float *action_logp;
    const int32_t *parent_rank; /* [offset[n]] rank of the candidate's parent in the beam */
    const int32_t *action;      /* [offset[n]] last action of the candidate */
    /* [offset[n]] 1: ended, but not yet an output, because a live candidate is above */
    const uint8_t *ended;
    uint8_t *keep; /* [offset[n]] out: 1 on entry; 0 drops the candidate */
    /* [n] out: keep only the best `width` candidates with keep = 1; INT32_MAX on entry: all */
    int32_t *width;
    /* [n] out: 1 stops the input after this timestep, 0 on entry. Ended candidates become outputs; if none, live ones, marked as truncated
     */
    uint8_t *stop;
} rill_candidates;

typedef struct rill_heuristic {
    uint32_t abi_version;  /* must be RILL_ABI_VERSION */
    uint32_t struct_size;  /* must be sizeof(rill_heuristic) */
    const char *name;      /* name of the heuristic, of the characters a-z, 0-9, "_" and "-" */
    const char *arguments; /* syntax of the arguments, e.g. "DELTA"; "" for none */
    const char *summary;   /* one line for `rill list` */

    /* Create an instance. arguments: the text after "NAME:", or ""; table: this rill_heuristic; a larger struct may begin with it.
     * (optional; NULL: arguments are refused) */
    rill_status (*create)(const struct rill_heuristic *table, rill_context *ctx, const char *arguments, void **self);
    /* Set keep, width and stop for the candidates. Mandatory. */
    rill_status (*apply)(void *self, rill_candidates *candidates);
    /* Undo create; accepts NULL. (optional) */
    void (*destroy)(void *self);
} rill_heuristic;

RILL_C_END

#endif
