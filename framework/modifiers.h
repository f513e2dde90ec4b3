/* The ask builder: what scorers and limits say about rows, collected in any order and laid out as the rules of a call.
 * Memory is kept from timestep to timestep. */
#ifndef RILL_MODIFIERS_H
#define RILL_MODIFIERS_H

#include "internal.h"
#include "rill/carve.h"

typedef struct modifier_entry {
    int32_t row, action;
    int32_t order; /* of arrival: sums are made in it */
    float value;
    float factor;
} modifier_entry;

typedef struct modifier_list {
    modifier_entry *entry;
    size_t n, capacity;
    int32_t *offset; /* the compressed form */
    size_t offset_capacity;
    int32_t *action;
    float *value, *factor;
    rill_columns memory; /* the memory of the last three */
} modifier_list;

/* What a scorer will not have its row's input decoded for, as a text behind the others' in `reasons`. */
typedef struct modifier_refusal {
    int32_t row;
    size_t text_offset;
} modifier_refusal;

/* The rules of a call. Lists are in compressed rows: entries of row r are [offset[r], offset[r+1]), sorted by action without
 * repetition. A NULL pointer means "nothing of this kind in any row". */
typedef struct modifier_table {
    int32_t max_choices;         /* M >= 1: what the row that may have the most may have */
    int limits_only;             /* nothing but max_choices and limit */
    const int32_t *limit;        /* [n] a row's own most */
    const uint8_t *end_rule;     /* [n] of rill_end_rule */
    const int32_t *ban_offset;   /* [n+1] */
    const int32_t *ban_action;   /* actions that may not be chosen */
    const int32_t *allow_offset; /* [n+1]; a row with an empty list is unrestricted */
    const int32_t *allow_action; /* the only actions that may be; a lone RILL_NO_ACTION allows none */
    const int32_t *add_offset;   /* [n+1] */
    const int32_t *add_action;   /* actions whose score is changed, wherever the model ranks them */
    const float *add_score;      /* what is added to them */
    const float *add_factor;     /* ... and what their log-probability is multiplied by before that */
    const float *reward;         /* [n]: added to every choice but RILL_END ones */
    const float *end_reward;     /* [n]: added to RILL_END choices */
    const int32_t *n_banks;      /* [n]: a row's item has so many banks; 0: none (constraint_banks.h) */
    const int32_t *default_bank; /* [n]: the bank that its other choices lead to */
    const int32_t *bank_offset;  /* [n+1]; NULL with banks: no row has any of the following */
    const int32_t *bank_action;  /* choices that the row has beyond its M, ... */
    const float *bank_target;    /* ... and the banks that they lead to */
    int32_t max_kept;            /* of these in a row at most */
    const int32_t *blocked_by;   /* [n]: 1 + the last scorer that forbade the row anything; 0: none did */
} modifier_table;

struct rill_modifiers {
    rill_context *ctx;
    int32_t n;               /* rows */
    int32_t n_actions;       /* of the domain */
    int32_t current_scorer;  /* number of the scorer that speaks, -1: the settings do, ... */
    const char *scorer_name; /* how it is called, ... */
    int32_t first_row,
        n_scorer_rows; /* ... and about which rows: [first, first + n_scorer_rows), which it counts from 0 */
    modifier_list add, ban, allow, bank;
    modifier_refusal *refusals; /* [n_refusals] */
    size_t n_refusals, refusals_capacity;
    rill_text reasons;
    /* Per row, [n]; valid when the flag below is set. */
    uint8_t *end_rule;
    float *reward, *end_reward;
    int32_t *n_restrictions;   /* scorers that restricted the row ... */
    int32_t *last_restriction; /* ... and the last one that did, + 1 */
    int32_t *limit;            /* most choices; INT32_MAX: no limit */
    int32_t *n_banks, *default_bank;
    int32_t *blocked_by;
    rill_columns row_memory; /* the memory of these */
    uint64_t *seen;          /* [seen_words] zero bits, one for each action: ngram_blocking.c */
    size_t seen_words;
    int has_end_rule, has_reward, has_end_reward, has_allow, has_limit, has_factor, has_banks, has_blocked_by;
};

void modifiers_init(rill_modifiers *b, rill_context *ctx, int32_t actions);
void modifiers_finish(rill_modifiers *b);
/* Forget everything and expect `n` rows. */
rill_status modifiers_begin(rill_modifiers *b, int32_t n);
/* No limit on the row's choices is heard of. */
void modifiers_unlimit(rill_modifiers *b, int32_t row);
/* Lay out what was said of rows that may have up to `max_choices`. `rules` points into the builder until the next modifiers_begin(). */
rill_status modifiers_build(rill_modifiers *b, int32_t max_choices, modifier_table *rules);

#endif
