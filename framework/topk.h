/* Selection: what a score call asks of the domain, so that its raw answer suffices, and the choices that the rules of the call
 * make of it. The one place where rules, rewards and additions are applied, for all domains.
 *
 * Order of use, once per phase: topk_begin(), then for the parts of the call in turn topk_request_part(), the domain's score(),
 * topk_take_result(); then merging looks at `choices`, and `wrong` says whether what it saw was in order. Without rules they are the
 * domain's own answer, checked as far as merging looks: rows can be long, and few of their choices matter. Memory is kept from
 * timestep to timestep. */
#ifndef RILL_TOPK_H
#define RILL_TOPK_H

#include <float.h>

#include "modifiers.h"
#include "rill/carve.h"

/* Choices under the rules: of row r entries [r*stride, r*stride + count[r]), best first: score descending, then smaller
 * action. */
typedef struct choice_table {
    int32_t stride;
    int32_t *count;  /* [n] */
    int32_t *action; /* [n, stride] */
    float *logp;     /* [n, stride] the model's */
    float *score; /* [n, stride] what the search ranks by: with what rules add; `logp` itself where they add nothing */
    uint8_t *terminal; /* [n, stride] of rill_terminal */
} choice_table;

/* One of them. */
typedef struct topk_choice {
    int32_t action;
    float logp, score;
    rill_terminal terminal;
} topk_choice;

/* What a call needs of memory, in elements. */
typedef struct topk_sizes {
    size_t rows, entries; /* rows, and choices of them */
    size_t raw_rows,
        raw_entries; /* likewise of what the domain is asked for at once; 0 where choices are as answered */
    size_t picks, sets, table_size;
} topk_sizes;

typedef struct topk {
    rill_context *ctx;
    const rill_domain_info *info;
    choice_table choices;

    /* the call in progress */
    const modifier_table *modifiers;
    int32_t n;
    int certify; /* keep `rest` */
    double *
        max_rest; /* [n] the most that a choice scores which is not among `choices`; -infinity: there is none (certify.h) */
    int all_actions;            /* each row's every action is asked for */
    rill_score_request request; /* of all rows */
    rill_score_result raw;      /* what is answered: in `choices` itself when there are no rules */
    int32_t *row_max_choices;   /* [n] see rill_score_request */
    int32_t *pick_offset;       /* [n + 1] the picks of row r are [pick_offset[r], pick_offset[r + 1]) */
    int32_t *pick_row, *pick_action;
    uint64_t *sets;     /* [n_sets, words] */
    int32_t *row_set;   /* [n] a row's, or -1 */
    int32_t *set_table; /* numbers of sets by their hashes */
    int32_t n_sets;
    int unchecked;     /* choices are not checked yet */
    int check_all;     /* ... never: all are, at once */
    int is_last_phase; /* in this phase a hypothesis may end */
    const char *error; /* what is, of row `bad`; NULL: nothing so far */
    int32_t error_row;
    int is_unbounded; /* scorers have lifted a row's choices beyond all numbers, where there is no order any more */
    char *block;      /* the memory of all arrays */
    size_t block_bytes;
} topk;

void topk_init(topk *s, rill_context *ctx, const rill_domain_info *info);
void topk_finish(topk *s);

/* Begin a call on n rows under the rules, which stay as they are until the last topk_take_result(). */
rill_status topk_begin(topk *s, const modifier_table *rules, int32_t n);

/* What to ask of rows [from, from + the result), and where the answer goes. Parts are parts only because all actions of all rows
 * can be more than memory should hold. */
int32_t topk_request_part(topk *s, int32_t from, rill_score_request *req, rill_score_result *out);

/* Make choices of the answer on rows [from, from + n). NULL, or what is wrong with the answer on row s->bad. `last`: in this phase
 * a hypothesis may end. */
const char *topk_take_result(topk *s, int32_t from, int32_t n, int last);

/* --- what merging does with every choice stands here, to be inlined ------------------------------------------------- */

static inline rill_terminal topk_terminal(const topk *s, uint8_t ends, int32_t action)
{
    if (ends == RILL_ENDS_LAST) return RILL_LAST;
    return action == s->info->end_action ? RILL_END : RILL_LIVE;
}

/* What is the matter with a choice of the answer that is not simply in order; 0: there is none. */
int topk_check_unusual(topk *s, int32_t r, int32_t i);

/* Check choice i of row r of the answer, whose predecessor has been, and fill in how it ends; 0 when there is none. Merging relies on
 * order and on finite scores; a domain that gives neither must not corrupt a beam silently. */
static inline int topk_check_choice(topk *s, int32_t r, int32_t i, size_t index, topk_choice *c)
{
    const rill_score_result *raw = &s->raw;
    const float logp = raw->logp[index], prev_logp = i > 0 ? raw->logp[index - 1] : FLT_MAX;
    const int32_t action = raw->action[index];
    rill_terminal terminal = (rill_terminal)raw->terminal[index];
    if (raw->ends[r] != RILL_ENDS_BY_FLAG) {
        terminal = topk_terminal(s, raw->ends[r], action);
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

/* Choice i of the row; 0: there is none. Those before it were looked at. */
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

#endif
