/* Scorers add bonuses to the scores of actions before selection, and forbid actions.
 *
 * A scorer is called once per timestep and phase, before the domain scores, with all rows (live hypotheses) that will be expanded. It
 * changes scores through rill_modifiers_*(): an action with a bonus is found wherever the model ranks it, and a banned action never
 * enters the beam.
 * With several scorers bonuses and rewards add up, factors multiply, bans and end rules unite, allowed sets intersect, and the smallest
 * limit on children applies. A scorer's modifiers for an item must depend on that item's rows alone.
 * Stability: members are only appended. */
#ifndef RILL_SCORER_H
#define RILL_SCORER_H

#include "rill/domain.h"

RILL_C_BEGIN

typedef struct rill_modifiers rill_modifiers;

/* A hypothesis in the engine's hypothesis tree: one action, and the hypothesis that it extends. A node is half a cache line, since
 * backtraces walk uncached nodes. */
typedef struct rill_hyp_node {
    int32_t parent;      /* index of the hypothesis that this one extends; -1 for an item's first hypothesis */
    int32_t action;      /* RILL_ACTION_START for an item's first hypothesis */
    float logp;          /* log-probability of the action */
    float path_score;    /* log-probability of the action, plus scorers' bonuses */
    int32_t internal[4]; /* private to the engine */
} rill_hyp_node;

/* The rows about to be scored. hyp_nodes[hyp_node[i]] is the last action of row i's hypothesis; earlier actions follow along `parent`. */
typedef struct rill_scorer_rows {
    size_t struct_size;
    int32_t n; /* number of rows; 0 is legal */
    int32_t phase;
    const int64_t *item_id;         /* [n] position of the row's input in the stream */
    const int32_t *timestep;        /* [n] timesteps of the item so far, from 0 */
    const int32_t *rank;            /* [n] rank in the item's beam */
    const double *path_score;       /* [n] path score of the row's hypothesis */
    const int32_t *hyp_node;        /* [n] index of the hypothesis in hyp_nodes */
    const rill_hyp_node *hyp_nodes; /* the hypothesis tree, indexed by hyp_node and `parent` */
    const rill_domain_info *info;
    /* for rill_model_action_name(), rill_model_find_action() and rill_model_tokenize() (model.h), with the context of create() */
    const rill_model *model;
    const char *const *text;   /* [n] the row's input as submitted; NUL-terminated */
    const size_t *text_length; /* [n] bytes of each text */
    /* [n, state_bytes] the scorer's states, without padding. In: the state of the row's parent hypothesis; zeros for an item's first
     * hypothesis. Out: the state of the row's hypothesis, passed to its children. NULL if state_bytes is 0. */
    void *state;
} rill_scorer_rows;

/* An output of an input; members as in rill_output (engine.h). */
typedef struct rill_found_output {
    const int32_t *ids; /* [n_ids] the actions (token ids), the end action included */
    int32_t n_ids;
    double path_score, score, logp;
    int truncated;
} rill_found_output;

/* All outputs found for one input. */
typedef struct rill_found {
    size_t struct_size;
    int64_t item_id;
    const struct rill_found_outputs *outputs; /* the outputs; read them by rill_found_output_at() */
    int32_t n;                                /* number of outputs, >= 1 */
    const rill_model *model;
} rill_found;

/* Return output i of n, best first; valid during the call. */
RILL_API const rill_found_output *rill_found_output_at(const rill_found *found, int32_t i);

typedef struct rill_scorer {
    uint32_t abi_version; /* must be RILL_ABI_VERSION */
    uint32_t struct_size; /* must be sizeof(rill_scorer) */
    const char *name;
    const char *arguments; /* syntax of the arguments, for help, e.g. "W" */
    const char *summary;

    /* Make an instance from the arguments after "NAME:"; `table` is this rill_scorer. (optional) */
    rill_status (*create)(const struct rill_scorer *table, rill_context *ctx, const char *arguments, void **self);
    /* Add modifiers for the rows. Mandatory. A failure ends the run. With a request's own arguments, only the inputs that fail alone fail:
     * the rows are scored again input by input, then once more for the others. */
    rill_status (*score)(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers);
    /* Undo create; accepts NULL. (optional) */
    void (*destroy)(void *self);
    /* Bytes of scorer state per hypothesis, plain data copied from parent to child. The engine's storage is aligned to 16 bytes. (optional;
     * default 0) */
    size_t state_bytes;

    /* An input has been encoded: its rows may come until done(). A failure fails this input alone. A scorer with this method may keep data
     * of inputs in flight; the setting `check` then uses the same instance. (optional) */
    rill_status (*begin)(void *self, int64_t item_id);
    /* The input's search has completed; called for all scorers of the run. Return RILL_OK to accept the outputs as the result. Return
     * RILL_AGAIN to decode the encoded input again, with the data that the scorers have collected. If the deadline comes first, these
     * outputs are the result. A failure fails this input alone. (optional) */
    rill_status (*found)(void *self, const rill_found *found);
    /* The input leaves the engine: called once for each begin() that succeeded. When the engine is destroyed, inputs not yet encoded are
     * skipped. An input larger than a worker's share of memory also leaves, and begins again in any worker; data collected about it is
     * lost. (optional) */
    void (*done)(void *self, int64_t item_id);
    /* Upper bound on the total that an instance adds to the score of an action, and in *end, 0 on entry, of an end action. Negative: the
     * instance always subtracts at least that much. (optional; NULL: the setting certify refuses the scorer) */
    double (*max_bonus)(const void *self, double *end);
} rill_scorer;

/* Add `value` to the score of `action` in row `row`. Values for one action add up. */
RILL_API rill_status rill_modifiers_add(rill_modifiers *modifiers, int32_t row, int32_t action, float value);
/* Multiply the log-probability of `action` by `factor` > 0, before bonuses are added. Factors for one action multiply. */
RILL_API rill_status rill_modifiers_scale(rill_modifiers *modifiers, int32_t row, int32_t action, float factor);
/* Forbid an action. */
RILL_API rill_status rill_modifiers_ban(rill_modifiers *modifiers, int32_t row, int32_t action);
/* Allow an action. The row is then restricted to the actions that the scorer passes to this function. */
RILL_API rill_status rill_modifiers_allow(rill_modifiers *modifiers, int32_t row, int32_t action);
/* Allow no action in the row: the hypothesis is dropped. */
RILL_API rill_status rill_modifiers_allow_none(rill_modifiers *modifiers, int32_t row);
/* Drop the hypothesis, with an error message, which is copied. If all hypotheses of an item are dropped, its input fails with this
 * message. */
RILL_API rill_status rill_modifiers_fail_input(rill_modifiers *modifiers, int32_t row, const char *why);
/* Divide the beam of the row's item into constraint banks (Post and Vilar 2018): candidates compete only within their bank. banks: 1 to
 * RILL_MAX_BANKS, equal for all rows of an item.
 * Choices go to bank `rest` unless rill_modifiers_assign_bank() assigns them. Only one scorer may divide a beam. Outputs of a divided
 * beam are not certified by the beam search. */
enum { RILL_MAX_BANKS = 256 };
RILL_API rill_status rill_modifiers_divide_banks(rill_modifiers *modifiers, int32_t row, int32_t banks, int32_t rest);
/* After rill_modifiers_divide_banks(): assign the action to a constraint bank. The action becomes a candidate even beyond the row's best
 * M choices. The last assignment wins. */
RILL_API rill_status rill_modifiers_assign_bank(rill_modifiers *modifiers, int32_t row, int32_t action, int32_t bank);
/* Add bits of a rill_end_rule to the row's end rule, which says whether hypotheses may end. */
RILL_API rill_status rill_modifiers_end_rule(rill_modifiers *modifiers, int32_t row, rill_end_rule rule);
/* Add `value` to every action of the row except the end action. */
RILL_API rill_status rill_modifiers_reward(rill_modifiers *modifiers, int32_t row, float value);
/* Add `value` to the end action. */
RILL_API rill_status rill_modifiers_end_reward(rill_modifiers *modifiers, int32_t row, float value);
/* Keep at most the best m >= 1 choices of the row in this phase. The smallest limit wins; none exceeds the setting max_candidates. */
RILL_API rill_status rill_modifiers_limit_children(rill_modifiers *modifiers, int32_t row, int32_t m);

RILL_C_END

#endif
