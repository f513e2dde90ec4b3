/* Scorers: what is added to the scores of actions before selection, and which actions are forbidden.
 *
 * A scorer is called once per timestep and phase, before the domain scores, with all rows that will be expanded. It speaks
 * through rill_ask_*(): sparse additions, bans, allowed sets, end rules, rewards. Everything it says is in force when
 * choices are made, so a lifted action is found wherever the model ranks it and a banned one never takes a place in the beam.
 * Several scorers form a chain: additions and rewards add up, factors multiply, bans and end rules unite, allowed sets intersect,
 * the smallest limit holds.
 * The contract is segment-local, as for heuristics. Stability: members are only appended. */
#ifndef RILL_SCORER_H
#define RILL_SCORER_H

#include "rill/domain.h"

RILL_C_BEGIN

typedef struct rill_modifiers rill_modifiers;

/* A hypothesis in the engine's forest: one action, and the hypothesis it extends. One such node is half a cache line, since
 * paths are walked from the end, node by node, through memory that is mostly cold. */
typedef struct rill_hyp_node {
    int32_t parent;      /* index of the history this one extends; -1 for an item's first */
    int32_t action;      /* RILL_ACTION_START for an item's first */
    float logp;          /* of the action */
    float path_score;    /* the same with what scorers added */
    int32_t internal[4]; /* the engine's own */
} rill_hyp_node;

/* The rows about to be scored. Row i's hypothesis is histories[history[i]], and so on through `parent`. */
typedef struct rill_scorer_rows {
    size_t struct_size;
    int32_t n; /* 0 is legal */
    int32_t phase;
    const int64_t *item_id;         /* [n] position of the row's input in the stream */
    const int32_t *timestep;        /* [n] the item's own: 0 in its first */
    const int32_t *rank;            /* [n] rank in the item's beam */
    const double *path_score;       /* [n] of the row's hypothesis */
    const int32_t *hyp_node;        /* [n] */
    const rill_hyp_node *hyp_nodes; /* [any history] */
    const rill_domain_info *info;
    const rill_model
        *model; /* for rill_model_action_name(), rill_model_find_action() and rill_model_tokenize(), engine.h, which get
                   the context that create() got */
    const char *const *text;   /* [n] the row's input as it was submitted; NUL-terminated */
    const size_t *text_length; /* [n] */
    /* [n, state_bytes] what the scorer keeps of hypotheses (rill_scorer.state_bytes), one behind the other. In: what was left of
     * the hypothesis that the row's extends by its last action, all zero for an item's first. Out: what is kept of the row's
     * own, for those that extend it. NULL where the scorer keeps nothing. */
    void *state;
} rill_scorer_rows;

/* An output that was found for an input, as rill_output (engine.h) has it. */
typedef struct rill_found_output {
    const int32_t *ids; /* [n_actions], the end action included */
    int32_t n_ids;
    double path_score, score, logp;
    int truncated;
} rill_found_output;

/* All that were found for it. */
typedef struct rill_found {
    size_t struct_size;
    int64_t item_id;
    const rill_found_output *output; /* [n], best first; valid during the call */
    int32_t n;                       /* 1 at least */
    const rill_model *model;
} rill_found;

typedef struct rill_scorer {
    uint32_t abi_version; /* RILL_ABI_VERSION */
    uint32_t struct_size; /* sizeof(rill_scorer) */
    const char *name;
    const char *arguments; /* how arguments are written */
    const char *summary;

    /* Make an instance from the text behind "NAME:". `table`: this table. (optional) */
    rill_status (*create)(const struct rill_scorer *table, rill_context *ctx, const char *arguments, void **self);
    /* Speak about the rows. Mandatory. A failure ends the run; of an instance that requests gave arguments of their own it fails each
     * input alone that it comes up with alone. score() is then called once more for the others. */
    rill_status (*score)(void *self, const rill_scorer_rows *rows, rill_modifiers *ask);
    /* Undo create; accepts NULL. (optional) */
    void (*destroy)(void *self);
    /* Bytes that the engine keeps for it of each hypothesis, copied along the tree; plain data, aligned to 16 within a node
     * (the array of a call is packed). (optional: 0) */
    size_t state_bytes;

    /* An input has been encoded: rows of it may come, until done(). A failure fails this input alone. A scorer that has this method
     * may keep something of inputs in flight: the checking mode then asks the same instance about each item alone, and not one
     * that has seen nothing. (optional) */
    rill_status (*begin)(void *self, int64_t item_id);
    /* The input's search has come to its end by itself. RILL_AGAIN: forget these outputs and decode it again, from its encoded input,
     * with what the scorers of the chain say by now; they are its result all the same if its deadline comes before the next ones are there.
     * RILL_OK: they are its result. A failure fails this input alone. In a chain all scorers are asked. (optional) */
    rill_status (*found)(void *self, const rill_found *found);
    /* The input leaves the engine, whatever way; comes once for each begin() that did not fail. One that an engine did not come
     * to before its end may leave without. (optional) */
    void (*done)(void *self, int64_t item_id);
    /* The most that an instance adds to the score of an action in all, and *end, given as 0, to that of an end action; negative where it
     * always takes so much. For the setting certify. (optional: it is not known, and the setting refuses the scorer) */
    double (*max_bonus)(const void *self, double *end);
} rill_scorer;

/* Add `value` to the score of `action` in row `row`. Values of one action add up. */
RILL_API rill_status rill_modifiers_add(rill_modifiers *ask, int32_t row, int32_t action, float value);
/* Multiply the log-probability of `action` by `factor` > 0, before anything is added. Factors of one action multiply. */
RILL_API rill_status rill_modifiers_scale(rill_modifiers *ask, int32_t row, int32_t action, float factor);
/* Forbid an action. */
RILL_API rill_status rill_modifiers_ban(rill_modifiers *ask, int32_t row, int32_t action);
/* Restrict the row to the actions so named by this scorer. */
RILL_API rill_status rill_modifiers_allow(rill_modifiers *ask, int32_t row, int32_t action);
/* Restrict the row to no action at all: the hypothesis dies. */
RILL_API rill_status rill_modifiers_allow_none(rill_modifiers *ask, int32_t row);
/* Fail the row's input alone, with that message, which is copied. The hypothesis dies; with the item's others the input has no output. */
RILL_API rill_status rill_modifiers_fail_input(rill_modifiers *ask, int32_t row, const char *why);
/* Divide the beam of the row's item into banks, 1 to RILL_MAX_BANKS: each has a share of its k places, and a bank's
 * candidates compete among themselves alone (text_constraints.c says what for). The same number for all rows of an item. The row's choices
 * lead to bank `rest` but for those that rill_modifiers_assign_bank() names. One scorer may divide a row's beam. */
enum { RILL_MAX_BANKS = 256 };
RILL_API rill_status rill_modifiers_divide_banks(rill_modifiers *ask, int32_t row, int32_t banks, int32_t rest);
/* Behind rill_modifiers_divide_banks(): the action leads to that bank. It is a candidate wherever the model ranks it, beyond the best M
 * choices of the row. Of several banks of one action the last holds. */
RILL_API rill_status rill_modifiers_assign_bank(rill_modifiers *ask, int32_t row, int32_t action, int32_t bank);
/* Add to the end rule. */
RILL_API rill_status rill_modifiers_end_rule(rill_modifiers *ask, int32_t row, rill_end_rule rule);
/* Add `value` to every action of the row but the end action. */
RILL_API rill_status rill_modifiers_reward(rill_modifiers *ask, int32_t row, float value);
/* Add `value` to the end action. */
RILL_API rill_status rill_modifiers_end_reward(rill_modifiers *ask, int32_t row, float value);
/* Keep no more than the best m >= 1 choices of the row: the setting max_candidates, for one row and phase. It can lower the
 * setting only; of several limits the smallest holds. */
RILL_API rill_status rill_modifiers_limit_children(rill_modifiers *ask, int32_t row, int32_t m);

RILL_C_END

#endif
