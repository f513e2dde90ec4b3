/* Selects each live hypothesis's best next actions (choices), with modifiers applied: bonuses, masks, limits.
 *
 * Per phase: topk_begin(); per part of the rows topk_request_part(), the domain's score(), topk_take_result(). Then merging reads
 * `choices`. */
#pragma once

#include <float.h>

#include "modifiers.h"
#include "rill/carve.h"

/* The choices of the rows, after modifiers. Row r has entries [r*stride, r*stride + count[r]), best first: score descending, then
 * smaller action. */
typedef struct choice_table {
    int32_t stride;
    int32_t *count;    /* [n] number of choices of each row */
    int32_t *action;   /* [n, stride] actions of the choices */
    float *logp;       /* [n, stride] the model's log-probabilities */
    float *score;      /* [n, stride] logp with modifiers applied; without modifiers the array `logp` itself */
    uint8_t *terminal; /* [n, stride] rill_terminal of each choice */
} choice_table;

/* A choice (next action) in a choice_table. */
typedef struct topk_choice {
    int32_t action;
    float logp, score;
    rill_terminal terminal;
} topk_choice;

/* A row's best choices that end its hypothesis, kept apart from the best M if the end rule says so. by_end: with an end action; by_last:
 * with another action. terminal RILL_LIVE: none. */
typedef struct ended_choices {
    topk_choice by_end, by_last;
} ended_choices;

/* Memory needed for a call, in elements. */
typedef struct topk_sizes {
    size_t rows, entries; /* rows: number of rows; entries: number of choices in the choice_table, for all rows */
    /* raw_rows: rows of one call of score(); raw_entries: choices in its result. 0 if the domain's result needs no modifiers */
    size_t raw_rows, raw_entries;
    size_t picks, sets;
} topk_sizes;

typedef struct topk {
    rill_context *ctx;
    const rill_domain_info *info;
    choice_table choices;
    /* [n] choices kept apart for END_RULE_KEEPS_ENDED (modifiers.h); NULL if only limits apply */
    ended_choices *ended;

    /* modifiers of the score call in progress, which has n rows */
    const modifier_table *modifiers;
    int32_t n, part_max_rows;
    int bounds_rest;            /* 1: compute max_rest, for certificates (certify.c) */
    double *max_rest;           /* [n] upper bound on the score of choices not in `choices`; -infinity: none left */
    int all_actions;            /* 1: request all actions of every row */
    rill_score_request request; /* request to the domain for all rows */
    /* the domain's result, before modifiers ("raw" choices); without modifiers its arrays are those of `choices` */
    rill_score_result raw;
    int32_t *row_max_choices; /* [n] number of choices to request for each row */
    /* [n + 1] row r has picks [pick_offset[r], pick_offset[r + 1]): actions whose log-probability is requested by id */
    int32_t *pick_offset;
    int32_t *pick_row, *pick_action;
    uint64_t *sets;   /* [n_sets, legal_words] bit sets of legal actions */
    int32_t *row_set; /* [n] index of the set that restricts the row, or -1 */
    int32_t n_sets;
    int unchecked;     /* 1: choices are not checked yet; each is checked when merging reads it */
    int check_all;     /* 1: all choices are checked when the result arrives, and `unchecked` stays 0 */
    int is_last_phase; /* 1: hypotheses may end in this phase */
    const char *error; /* an error in the result of row error_row; NULL: none so far */
    int32_t error_row;
    int is_unbounded; /* 1: a modifier made a score infinite, so the order of choices is undefined */
    char *block;      /* the memory of all arrays */
    size_t block_bytes;
} topk;

void topk_init(topk *s, rill_context *ctx, const rill_domain_info *info);
void topk_finish(topk *s);

/* Begin a score call of n rows, in parts of at most part_max_rows. The modifiers must stay until the last topk_take_result(). */
rill_status topk_begin(topk *s, const modifier_table *rules, int32_t n, int32_t part_max_rows);

/* Write the request and result arrays for rows from `from` on; returns their number. Parts bound memory, and let inputs leave midway. */
int32_t topk_request_part(topk *s, int32_t from, rill_score_request *req, rill_score_result *out);

/* Apply the modifiers to the result of rows [from, from + n). Returns NULL, or an error message about row s->error_row. last: 1 if
 * hypotheses may end in this phase. */
const char *topk_take_result(topk *s, int32_t from, int32_t n, int last);

/* --- inlined: called for every choice ------------------------------------------------------------------------------- */

/* Slow path of topk_check_choice(). Returns 1 if the choice is valid; 0 on an error, or at RILL_SCORE_DEAD, the end of the row's choices.
 */
int topk_check_unusual(topk *s, int32_t r, int32_t i);

/* Check choice i of row r against choice i - 1, and write it to *c with its terminal flag. Unsorted or infinite scores are errors. Returns
 * 0 if the row has no choice i. */
static inline int topk_check_choice(topk *s, int32_t r, int32_t i, size_t index, topk_choice *c)
{
    const rill_score_result *raw = &s->raw;
    const float logp = raw->logp[index], prev_logp = i > 0 ? raw->logp[index - 1] : FLT_MAX;
    const int32_t action = raw->action[index];
    rill_terminal terminal = (rill_terminal)raw->terminal[index];
    if (raw->ends[r] != RILL_ENDS_BY_FLAG) {
        terminal = raw->ends[r] == RILL_ENDS_LAST ? RILL_LAST : action == s->info->end_action ? RILL_END : RILL_LIVE;
        raw->terminal[index] = (uint8_t)terminal;
    }
    *c = (topk_choice){action, logp, logp, terminal};
    const int ordinary = (logp < prev_logp) & (logp > (float)RILL_SCORE_DEAD) &
                         ((uint32_t)action < (uint32_t)s->info->actions) &
                         (terminal <= (s->is_last_phase ? RILL_LAST : RILL_LIVE));
    return ordinary || topk_check_unusual(s, r, i);
}

static inline topk_choice topk_get(const topk *s, size_t index)
{
    const choice_table *c = &s->choices;
    return (topk_choice){c->action[index], c->logp[index], c->score[index], (rill_terminal)c->terminal[index]};
}

/* Write choice i of a row to *out, in order. Returns 1, or 0 if there is no choice i. */
static inline int topk_next(topk *s, int32_t row, int32_t i, topk_choice *out)
{
    const size_t index = (size_t)row * (size_t)s->choices.stride + (size_t)i;
    if (i >= s->choices.count[row]) return 0;
    if (!s->unchecked) {
        *out = topk_get(s, index);
        return 1;
    }
    if (topk_check_choice(s, row, i, index, out)) return 1;
    s->choices.count[row] = i;
    return 0;
}
