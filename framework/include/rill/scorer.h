/* Scorers change the scores of actions before selection, and ban actions.
 *
 * A scorer is called once per timestep and phase, before the domain scores, with all rows (live hypotheses) to be expanded. It calls
 * rill_modifiers_*(). An action with a bonus is found whatever its rank in the model.
 * Several scorers: bonuses add up, factors multiply, bans and end rules unite, allowed sets intersect, the smallest limit on children
 * applies. Modifiers for an item may depend on that item's rows alone.
 * Stability: members are only appended. */
#ifndef RILL_SCORER_H
#define RILL_SCORER_H

#include "rill/domain.h"

RILL_C_BEGIN

typedef struct rill_modifiers rill_modifiers;

/* A hypothesis: its last action and its parent. The struct is half a cache line, because backtraces visit nodes that are not cached. */
typedef struct rill_hyp_node {
    int32_t parent;      /* index of the parent hypothesis; -1: none */
    int32_t action;      /* last action of the hypothesis; RILL_ACTION_START for an empty one */
    float logp;          /* log-probability of the last action */
    float path_score;    /* logp of the last action, plus scorers' bonuses */
    int32_t internal[4]; /* private to the engine */
} rill_hyp_node;

/* The rows (live hypotheses) to score. Row i is hyp_nodes[hyp_node[i]]; follow `parent` for earlier actions. */
typedef struct rill_scorer_rows {
    size_t struct_size;
    int32_t n; /* number of rows; 0 is legal */
    int32_t phase;
    const int64_t *item_id;         /* [n] position of the input in the stream */
    const int32_t *timestep;        /* [n] timesteps of the item so far, from 0 */
    const int32_t *rank;            /* [n] rank of the hypothesis in the beam */
    const double *path_score;       /* [n] path score of the hypothesis: log-probabilities and bonuses */
    const int32_t *hyp_node;        /* [n] index of the hypothesis in hyp_nodes */
    const rill_hyp_node *hyp_nodes; /* tree of all hypotheses */
    const rill_domain_info *info;
    /* the model, for action names and tokenizing (model.h), with the context of create() */
    const rill_model *model;
    const char *const *text;   /* [n] text of the row's input; NUL-terminated */
    const size_t *text_length; /* [n] bytes of each text */
    /* [n, state_bytes] In: the scorer's state of the parent hypothesis; zeros for an empty hypothesis. Out: the state of this hypothesis.
     * NULL if state_bytes is 0 */
    void *state;
} rill_scorer_rows;

/* An output; members as in rill_output (engine.h). */
typedef struct rill_found_output {
    const int32_t *ids; /* [n_ids] token ids, the end action included */
    int32_t n_ids;
    double path_score, score, logp;
    int truncated;
} rill_found_output;

/* All outputs found for one input. */
typedef struct rill_found {
    size_t struct_size;
    int64_t item_id;
    const struct rill_found_outputs *outputs; /* the outputs, read by rill_found_output_at() */
    int32_t n;                                /* number of outputs, >= 1 */
    const rill_model *model;
} rill_found;

/* Return output i of n, best first; valid during the call. */
RILL_API const rill_found_output *rill_found_output_at(const rill_found *found, int32_t i);

typedef struct rill_scorer {
    uint32_t abi_version; /* must be RILL_ABI_VERSION */
    uint32_t struct_size; /* must be sizeof(rill_scorer) */
    const char *name;
    const char *arguments; /* syntax of the arguments for help, e.g. "W" */
    const char *summary;

    /* Create an instance. arguments: the text after "NAME:"; table: this rill_scorer. (optional) */
    rill_status (*create)(const struct rill_scorer *table, rill_context *ctx, const char *arguments, void **self);
    /* Add modifiers for the rows. Mandatory. A failure ends the run, or, with a request's own arguments, only fails inputs that fail
     * alone. */
    rill_status (*score)(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers);
    /* Undo create; accepts NULL. (optional) */
    void (*destroy)(void *self);
    /* Bytes of scorer state per hypothesis, copied from parent to child; plain data, aligned to 16 bytes. (optional; default 0) */
    size_t state_bytes;

    /* An input has been encoded; its rows may come until done(). A failure fails this input alone. (optional)
     * A scorer with this method may keep data per input; the setting `check` then uses the same instance. */
    rill_status (*begin)(void *self, int64_t item_id);
    /* An input's search is complete. Return RILL_OK to accept the outputs, or RILL_AGAIN to decode the input again with data collected so
     * far. At the deadline the outputs are accepted. A failure fails this input alone. (optional) */
    rill_status (*found)(void *self, const rill_found *found);
    /* An input leaves the engine: called once per successful begin(). Under a memory limit the input may begin again, in any worker,
     * without the data collected. (optional) */
    void (*done)(void *self, int64_t item_id);
    /* Upper bound on the bonus that an instance adds to an action, and in *end (0 on entry) to an end action. May be negative. (optional;
     * NULL: the setting certify refuses the scorer) */
    double (*max_bonus)(const void *self, double *end);
} rill_scorer;

/* Add `value` to an action's score. Values add up. */
RILL_API rill_status rill_modifiers_add(rill_modifiers *modifiers, int32_t row, int32_t action, float value);
/* Multiply an action's log-probability by `factor` > 0, before bonuses. Factors multiply. */
RILL_API rill_status rill_modifiers_scale(rill_modifiers *modifiers, int32_t row, int32_t action, float factor);
/* Forbid an action. */
RILL_API rill_status rill_modifiers_ban(rill_modifiers *modifiers, int32_t row, int32_t action);
/* Allow an action, and forbid all that this scorer does not allow in this row. */
RILL_API rill_status rill_modifiers_allow(rill_modifiers *modifiers, int32_t row, int32_t action);
/* Allow no action: the hypothesis is dropped. */
RILL_API rill_status rill_modifiers_allow_none(rill_modifiers *modifiers, int32_t row);
/* Drop the hypothesis, with an error message (copied). If an item has no other hypotheses, its input fails with this message. */
RILL_API rill_status rill_modifiers_fail_input(rill_modifiers *modifiers, int32_t row, const char *why);
/* Divide an item's beam into constraint banks (Post and Vilar 2018); candidates compete within their bank.
 *   banks: 1 to RILL_MAX_BANKS, equal for all rows of an item · rest: bank of actions that are not assigned
 * Only one scorer may do this. Outputs are not certified by the beam search. */
enum { RILL_MAX_BANKS = 256 };
RILL_API rill_status rill_modifiers_divide_banks(rill_modifiers *modifiers, int32_t row, int32_t banks, int32_t rest);
/* Assign an action to a constraint bank, after rill_modifiers_divide_banks(). The action becomes a candidate whatever its rank. The last
 * call wins. */
RILL_API rill_status rill_modifiers_assign_bank(rill_modifiers *modifiers, int32_t row, int32_t action, int32_t bank);
/* Add bits to the row's rill_end_rule: whether the hypothesis may end. */
RILL_API rill_status rill_modifiers_end_rule(rill_modifiers *modifiers, int32_t row, rill_end_rule rule);
/* Add `value` to every action except the end action. */
RILL_API rill_status rill_modifiers_reward(rill_modifiers *modifiers, int32_t row, float value);
/* Add `value` to the end action. */
RILL_API rill_status rill_modifiers_end_reward(rill_modifiers *modifiers, int32_t row, float value);
/* Keep at most the best m >= 1 children of the row in this phase. The smallest limit wins. */
RILL_API rill_status rill_modifiers_limit_children(rill_modifiers *modifiers, int32_t row, int32_t m);

RILL_C_END

#endif
