/* Collects the modifiers of a score call, which are the bonuses, bans and limits of scorers and settings, and builds the table from which
 * topk.c applies them. Memory is kept from timestep to timestep. */
#ifndef RILL_MODIFIERS_H
#define RILL_MODIFIERS_H

#include "internal.h"
#include "rill/carve.h"

/* A bit of modifier_table.end_rule, in addition to those of rill_end_rule: the row's best choices that end the hypothesis are kept apart,
 * even if they are not among the row's best choices (topk.h, ended_choices). */
enum { END_RULE_KEEPS_ENDED = 8 };

/* A modifier of one action in one row (live hypothesis). `value` is a bonus if the entry is in rill_modifiers.add, and the number of a
 * constraint bank (see modifier_table.n_banks) if it is in rill_modifiers.bank. */
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
    /* [rows + 1] this array and the next three hold the entries as compressed sparse rows: row r has the entries [offset[r], offset[r +
     * 1]) */
    int32_t *offset;
    size_t offset_capacity;
    int32_t *action;
    float *value, *factor;
    rill_columns memory; /* memory block of action, value and factor */
} modifier_list;

/* A scorer has refused the input of a row. Its message begins at byte text_offset of rill_modifiers.reasons. */
typedef struct modifier_refusal {
    int32_t row;
    size_t text_offset;
} modifier_refusal;

/* The modifiers of a score call of n rows (live hypotheses). Lists are in compressed sparse rows: entries of row r are [offset[r],
 * offset[r+1]), sorted by action without duplicates. A NULL pointer means no entry in any row. */
typedef struct modifier_table {
    int32_t max_choices;       /* M >= 1: largest number of choices that any row may return */
    int limits_only;           /* 1: only max_choices and limit are set */
    const int32_t *limit;      /* [n] maximum number of choices of each row */
    const uint8_t *end_rule;   /* [n] bits of rill_end_rule, and END_RULE_KEEPS_ENDED */
    const int32_t *ban_offset; /* [n+1] row r has the banned actions ban_action[ban_offset[r], ban_offset[r + 1]) */
    const int32_t *ban_action; /* banned actions */
    /* [n+1] offsets of each row in allow_action; a row with an empty list is unrestricted */
    const int32_t *allow_offset;
    const int32_t *allow_action; /* the allowed actions; a lone RILL_NO_ACTION allows none */
    const int32_t *add_offset;   /* [n+1] offsets of each row in add_action, add_score and add_factor */
    const int32_t *add_action;   /* actions with a bonus or factor, wherever the model ranks them */
    const float *add_score;      /* bonuses of the actions in add_action */
    /* factors of the log-probabilities of the actions in add_action, applied before bonuses */
    const float *add_factor;
    const float *reward;     /* [n]: bonus of every choice except RILL_END choices */
    const float *end_reward; /* [n]: bonus of RILL_END choices */
    /* [n] number of constraint banks into which the beam of the row's item is divided; 0: it is not divided. A constraint bank (Post and
     * Vilar 2018) is a group of hypotheses, such as those that meet equally many lexical constraints. Only its own candidates compete for
     * its part of the beam's k entries (constraint_banks.c) */
    const int32_t *n_banks;
    const int32_t *default_bank; /* [n] the constraint bank of the children whose actions are not in bank_action */
    /* [n+1] offsets of each row in bank_action and bank_target; NULL: no action is assigned to a constraint bank */
    const int32_t *bank_offset;
    /* actions assigned to a constraint bank; they are candidates even if they are not among the row's best M */
    const int32_t *bank_action;
    /* number of the constraint bank of each action in bank_action. A float, because modifier_entry.value, from which it is copied, is one
     * for all kinds of modifiers; bank numbers are below RILL_MAX_BANKS, so they are exact */
    const float *bank_target;
    int32_t max_kept;          /* largest number of bank_action entries of any row */
    const int32_t *blocked_by; /* [n]: 1 + index of the last scorer that forbade an action in the row; 0: none */
} modifier_table;

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
    /* Arrays with one element per row. Each is valid only if its flag below (has_...) is 1. */
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
/* Remove the limits that scorers have set on the row's number of choices. */
void modifiers_unlimit(rill_modifiers *b, int32_t row);
/* Build the table for rows that have up to `max_choices` choices each. The arrays of *rules belong to `b` and are valid until the next
 * modifiers_begin(). */
rill_status modifiers_build(rill_modifiers *b, int32_t max_choices, modifier_table *rules);

#endif
