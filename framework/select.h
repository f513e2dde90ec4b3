/* Selection: what a score call asks of the domain, so that its raw answer suffices, and the choices that the rules of the call
 * make of it. The one place where rules, rewards and additions are applied, for all domains.
 *
 * Order of use, once per phase: selector_ask(), then for the parts of the call in turn selector_part(), the domain's score(),
 * selector_take(); then merging looks at `choices`, and `wrong` says whether what it saw was in order. Without rules they are the
 * domain's own answer, checked as far as merging looks: rows can be long, and few of their choices matter. Memory is kept from
 * timestep to timestep. */
#ifndef RILL_SELECT_H
#define RILL_SELECT_H

#include <float.h>

#include "ask.h"
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
typedef struct selector_choice {
    int32_t action;
    float logp, score;
    rill_terminal terminal;
} selector_choice;

/* What a call needs of memory, in elements. */
typedef struct select_room {
    size_t rows, entries; /* rows, and choices of them */
    size_t raw_rows,
        raw_entries; /* likewise of what the domain is asked for at once; 0 where choices are as answered */
    size_t picks, sets, places;
} select_room;

typedef struct selector {
    rill_context *ctx;
    const rill_domain_info *info;
    choice_table choices;

    /* the call in progress */
    const ask_rules *rules;
    int32_t n;
    int certify; /* keep `rest` */
    double *
        rest; /* [n] the most that a choice scores which is not among `choices`; -infinity: there is none (certify.h) */
    int whole;          /* each row's every action is asked for */
    rill_ask ask;       /* of all rows */
    rill_choices raw;   /* what is answered: in `choices` itself when there are no rules */
    int32_t *wanted;    /* [n] see rill_ask */
    int32_t *pick_from; /* [n + 1] the picks of row r are [pick_from[r], pick_from[r + 1]) */
    int32_t *pick_row, *pick_action;
    uint64_t *sets;  /* [n_sets, words] */
    int32_t *set_of; /* [n] a row's, or -1 */
    int32_t *place;  /* numbers of sets by their hashes */
    int32_t n_sets;
    int unread;        /* choices are not checked yet */
    int thorough;      /* ... never: all are, at once */
    int last;          /* in this phase a hypothesis may end */
    const char *wrong; /* what is, of row `bad`; NULL: nothing so far */
    int32_t bad;
    int lifted;  /* scorers have lifted a row's choices beyond all numbers, where there is no order any more */
    char *block; /* the memory of all arrays */
    size_t block_bytes;
} selector;

void selector_init(selector *s, rill_context *ctx, const rill_domain_info *info);
void selector_finish(selector *s);

/* Begin a call on n rows under the rules, which stay as they are until the last selector_take(). */
rill_status selector_ask(selector *s, const ask_rules *rules, int32_t n);

/* What to ask of rows [from, from + the result), and where the answer goes. Parts are parts only because all actions of all rows
 * can be more than memory should hold. */
int32_t selector_part(selector *s, int32_t from, rill_ask *ask, rill_choices *out);

/* Make choices of the answer on rows [from, from + n). NULL, or what is wrong with the answer on row s->bad. `last`: in this phase
 * a hypothesis may end. */
const char *selector_take(selector *s, int32_t from, int32_t n, int last);

/* --- what merging does with every choice stands here, to be inlined ------------------------------------------------- */

static inline rill_terminal selector_kind(const selector *s, uint8_t ends, int32_t action)
{
    if (ends == RILL_ENDS_LAST) return RILL_LAST;
    return action == s->info->end_action ? RILL_END : RILL_LIVE;
}

/* What is the matter with a choice of the answer that is not simply in order; 0: there is none. */
int selector_judge(selector *s, int32_t r, int32_t i);

/* Check choice i of row r of the answer, whose predecessor has been, and fill in how it ends; 0 when there is none. Merging relies on
 * order and on finite scores; a domain that gives neither must not corrupt a beam silently. */
static inline int selector_read(selector *s, int32_t r, int32_t i, size_t at, selector_choice *c)
{
    const rill_choices *raw = &s->raw;
    const float logp = raw->logp[at], before = i > 0 ? raw->logp[at - 1] : FLT_MAX;
    const int32_t action = raw->action[at];
    rill_terminal terminal = (rill_terminal)raw->terminal[at];
    if (raw->ends[r] != RILL_ENDS_AS_TOLD) {
        terminal = selector_kind(s, raw->ends[r], action);
        raw->terminal[at] = (uint8_t)terminal;
    }
    *c = (selector_choice){action, logp, logp, terminal};
    const int ordinary = (logp < before) & (logp > (float)RILL_SCORE_DEAD) &
                         ((uint32_t)action < (uint32_t)s->info->actions) &
                         (terminal <= (s->last ? RILL_LAST : RILL_LIVE));
    return ordinary || selector_judge(s, r, i);
}

static inline selector_choice selector_at(const selector *s, size_t at)
{
    const choice_table *c = &s->choices;
    return (selector_choice){c->action[at], c->logp[at], c->score[at], (rill_terminal)c->terminal[at]};
}

/* Choice i of the row; 0: there is none. Those before it were looked at. */
static inline int selector_look(selector *s, int32_t row, int32_t i, selector_choice *out)
{
    const size_t at = (size_t)row * (size_t)s->choices.stride + (size_t)i;
    if (i >= s->choices.count[row]) return 0;
    if (!s->unread) {
        *out = selector_at(s, at);
        return 1;
    }
    if (selector_read(s, row, i, at, out)) return 1;
    s->choices.count[row] = i;
    return 0;
}

#endif
