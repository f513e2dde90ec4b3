/* Bonuses, bans and limits of scorers and settings for a score call, as a table for topk.c. Memory is reused. */
#pragma once

#include "internal.h"
#include "rill/carve.h"
#include "rill/scorer.h"

/* A bit of modifier_table.end_rule: the row's best choices that end the hypothesis are kept apart, whatever their rank (topk.h,
 * ended_choices). */
enum { END_RULE_KEEPS_ENDED = 8 };

/* A modifier of one action in one row. `value`: a bonus in rill_modifiers.add, the number of a constraint bank in rill_modifiers.bank. */
typedef struct modifier_entry {
    int32_t row, action;
    int32_t order; /* order of arrival: sums are computed in this order */
    float value;
    float factor;
} modifier_entry;

/* All modifiers of one kind: a list of entries and, once the table is built, compressed sparse rows. */
typedef struct modifier_list {
    modifier_entry *entry;
    size_t n, capacity;
    /* [rows + 1] this and the next three arrays are compressed sparse rows: row r has [offset[r], offset[r + 1]) */
    int32_t *offset;
    size_t offset_capacity;
    int32_t *action;
    float *value, *factor;
    rill_columns memory; /* memory block of action, value and factor */
} modifier_list;

/* A scorer's refusal of a row's input, with its message at byte text_offset of rill_modifiers.reasons. */
typedef struct modifier_refusal {
    int32_t row;
    size_t text_offset;
} modifier_refusal;

/* Compressed sparse rows: row r has the entries [offset[r], offset[r + 1]), sorted by action, without duplicates. offset NULL: no
 * entries. */
typedef struct span_table {
    const int32_t *offset;
    const int32_t *action;
    const float *value;
    const float *factor; /* NULL: all factors are 1 */
} span_table;

/* The part of a span_table that belongs to one row. */
typedef struct span {
    const int32_t *action;
    const float *value, *factor;
    int32_t n;
} span;

/* The modifiers of a score call of n rows (live hypotheses). A NULL pointer means no entry in any row. */
typedef struct modifier_table {
    int32_t max_choices;     /* M >= 1: largest number of choices that any row may return */
    int limits_only;         /* 1: only max_choices and limit are set */
    const int32_t *limit;    /* [n] maximum number of choices of each row */
    const uint8_t *end_rule; /* [n] bits of rill_end_rule, and END_RULE_KEEPS_ENDED */
    span_table bans;         /* banned actions */
    /* allowed actions; a row with an empty list is unrestricted, and a lone RILL_NO_ACTION allows no action */
    span_table allowed;
    /* a factor of an action's log-probability, and a bonus (value) that is added. The action becomes a choice whatever its rank in the
     * model */
    span_table additions;
    const float *reward;     /* [n]: bonus of every choice except RILL_END choices */
    const float *end_reward; /* [n]: bonus of RILL_END choices */
    /* [n] number of constraint banks of the row's input; 0: none. A bank (Post and Vilar 2018) is a part of the beam, for hypotheses that
     * meet equally many constraints */
    const int32_t *n_banks;
    const int32_t *default_bank; /* [n] the constraint bank of the children whose actions are not in `kept` */
    /* actions assigned to a constraint bank: candidates even beyond the row's best max_children. An entry's value is the bank's number
     * (< RILL_MAX_BANKS) */
    span_table kept;
    int32_t max_kept;          /* largest number of entries of any row in `kept` */
    const int32_t *blocked_by; /* [n]: 1 + index of the last scorer that forbade an action in the row; 0: none */
} modifier_table;

/* The modifiers of one row; the members are those of modifier_table. max_choices: maximum number of choices of this row. */
typedef struct row_rules {
    int32_t max_choices, n_banks, default_bank;
    span bans, allowed, additions, kept;
    float reward, end_reward;
    uint8_t end_rule;
} row_rules;

static inline span row_span(const span_table *t, int32_t row)
{
    if (t->offset == NULL) return (span){0};
    const int32_t first = t->offset[row];
    return (span){t->action + first, t->value + first, t->factor != NULL ? t->factor + first : NULL,
                  t->offset[row + 1] - first};
}

static inline row_rules make_row_rules(const modifier_table *a, int32_t row)
{
    const int is_limited = a->limit != NULL && a->limit[row] < a->max_choices;
    return (row_rules){.max_choices = is_limited ? a->limit[row] : a->max_choices,
                       .n_banks = a->n_banks != NULL ? a->n_banks[row] : 0,
                       .default_bank = a->n_banks != NULL ? a->default_bank[row] : 0,
                       .bans = row_span(&a->bans, row),
                       .allowed = row_span(&a->allowed, row),
                       .additions = row_span(&a->additions, row),
                       .kept = row_span(&a->kept, row),
                       .reward = a->reward != NULL ? a->reward[row] : 0,
                       .end_reward = a->end_reward != NULL ? a->end_reward[row] : 0,
                       .end_rule = a->end_rule != NULL ? a->end_rule[row] : RILL_END_ALLOWED};
}

struct rill_modifiers {
    rill_context *ctx;
    int32_t n;               /* number of rows */
    int32_t n_actions;       /* number of the domain's actions */
    int32_t current_scorer;  /* index of the scorer being called; -1: modifiers of settings are being added */
    const char *scorer_name; /* name of the scorer being called */
    /* rows of the scorer being called, which numbers them from 0: rows [first_row, first_row + n_scorer_rows) of the score call */
    int32_t first_row, n_scorer_rows;
    modifier_list add, ban, allow, bank;
    modifier_refusal *refusals; /* [n_refusals] inputs that scorers have refused */
    size_t n_refusals, refusals_capacity;
    rill_text reasons;
    /* One element per row, 0 for no modifier; `limit` is valid only if has_limit is 1. */
    uint8_t *end_rule;
    float *reward, *end_reward;
    int32_t *n_restrictions;   /* number of scorers that restricted the row to a set of actions */
    int32_t *last_restriction; /* 1 + index of the last scorer that restricted the row to a set of actions */
    int32_t *limit;            /* maximum number of choices; INT32_MAX: no limit */
    int32_t *n_banks, *default_bank;
    int32_t *blocked_by;
    rill_columns row_memory; /* memory block of the arrays above */
    uint64_t *seen;          /* [seen_words] a bit per action, all 0 between uses (ngram_blocking.c) */
    size_t seen_words;
    int has_end_rule, has_reward, has_end_reward, has_allow, has_limit, has_factor, has_banks, has_blocked_by;
};

void modifiers_init(rill_modifiers *b, rill_context *ctx, int32_t actions);
void modifiers_finish(rill_modifiers *b);
/* Clear all modifiers (bonuses, bans and limits), and begin a score call of `n` rows. */
rill_status modifiers_begin(rill_modifiers *b, int32_t n);
/* Build the table for rows with up to `max_choices` choices. `b` owns its arrays, until the next modifiers_begin(). */
rill_status modifiers_build(rill_modifiers *b, int32_t max_choices, modifier_table *rules);

/* --- defined in ngram_blocking.c ------------------------------------------------------------------------------------- */

/* n-gram blocking (no_repeat_ngram) and repetition penalty, as in transformers; and the model's bad words.
 *
 * The penalty multiplies the log-probability of each action that the hypothesis already has, once per action.
 * Bad words are sequences that the model forbids (rill_domain_info.forbidden), looked up by their second-to-last action. */

static inline int ngram_blocking_is_on(const rill_settings *s)
{
    return s->no_repeat_ngram > 0 || (s->repetition_penalty > 0 && s->repetition_penalty != 1);
}

/* Add the bans and penalties to a row with the hypothesis hyps[h]. start: the decoder's start symbol, or RILL_NO_ACTION. */
rill_status ngram_blocking_add(rill_modifiers *mods, int32_t row, const rill_settings *s, const rill_hyp_node *hyps,
                               int32_t h, int32_t start);

/* The model's bad words: action sequences that must not occur in outputs. */
typedef struct bad_words {
    /* [n] the bad words, sorted by their second-to-last action. Bad words of one action come first */
    const rill_sequence **sequence;
    int32_t *key; /* [n] the second-to-last action of each bad word; NO_PREFIX: it has only one action */
    int32_t n;
    /* the start action, which precedes the first action of an output; RILL_NO_ACTION: none */
    int32_t start_action;
    rill_columns memory;
} bad_words;

/* Sort the model's bad words for lookup. RILL_OK · RILL_ERR_MEMORY */
rill_status bad_words_create(bad_words *f, rill_context *ctx, const rill_domain_info *info);

/* In a row whose hypothesis is hyps[h], ban the actions that would complete a bad word. */
rill_status bad_words_ban(const bad_words *f, rill_modifiers *mods, int32_t row, const rill_hyp_node *hyps, int32_t h);
/* Returns a class of hyps[h] for cube pruning: after hypotheses of one class, bad words ban the same next actions. 0: none but bad words of
 * one action. */
int64_t bad_words_class(const bad_words *f, const rill_hyp_node *hyps, int32_t h);
