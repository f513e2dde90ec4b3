/* The toy's model: which actions are legal after a sequence of actions, and their log-probabilities.
 *
 * Everything is a hash of (seed, input text, actions so far), for the toy domain and the naive search alike. */
#pragma once

#include "rill/domain.h"

/* maximum number of forbidden sequences, and of actions in each */
enum { TOY_MAX_FORBIDDEN = 5, TOY_MAX_FORBIDDEN_LENGTH = 3 };
enum { TOY_MAX_ACTIONS = 64, TOY_MAX_SPARE = 1 << 20 };

typedef enum toy_select { TOY_SELECT_OWN, TOY_SELECT_RILL, TOY_SELECT_BOTH } toy_select;

/* The toy model's parameters, parsed from arguments such as "seed=3 actions=5". */
typedef struct toy_model {
    int64_t seed;
    int32_t actions; /* number of actions, 1 to TOY_MAX_ACTIONS */
    int32_t depth;   /* maximum timesteps of a hypothesis; each input has its own depth in 1..depth */
    int32_t phases;  /* all but the last are structure phases, the last is the label phase */
    int32_t path;   /* 1: state=path, computed from the rows of all ancestors; 0: state=parent, from the parent's row */
    int32_t ties;   /* 0: continuous log-probabilities; L > 0: only L different values, so ties occur */
    int32_t last;   /* 1: terminal=last, hypotheses end with RILL_LAST choices; 0: with one RILL_END action */
    int32_t early;  /* percent of choices before the last timestep that are RILL_LAST */
    int32_t ending; /* percent of states in which RILL_END is legal */
    int32_t legal;  /* percent of the actions other than RILL_END that are legal */
    int32_t dead_ends;          /* percent of states without any legal action */
    double logit_scale;         /* scale of the logits */
    int32_t max_choices_phases; /* value of rill_domain_info.max_choices_phases */
    int32_t max_length;         /* value of rill_domain_info.max_length; 0: depth */
    int32_t own_max_length;     /* 1: encode returns a max_length for each input */
    int32_t dead;               /* 1: choices may be followed by RILL_SCORE_DEAD entries */
    int32_t forbid;             /* if above 0, the seed of sequences that no output contains */
    int32_t spare;              /* number of extra actions that are never legal: a large vocabulary with few choices */
    int32_t listed;             /* 1: sets rill_domain_info.legal */
    int32_t finalize_anywhere;  /* 1: sets rill_domain_info.finalize_anywhere */
    int32_t blur;               /* 1: texts show each action halved, so that some outputs have equal texts */
    int32_t trivial;            /* 1: skip the bookkeeping that makes misuse visible (for runs of a million inputs) */
    /* cube pruning lets hypotheses continue from another hypothesis's state. 0: never; 1: one with the same last action; 2: any */
    int32_t mixed;
    int32_t normal; /* 1: probabilities add up to 1, even with ties */
    toy_select select;
    /* number of the call that fails, counted from 1; 0: none */
    int32_t fail_encode, fail_step, fail_score, fail_finalize, fail_open;
    int32_t garble; /* from this score call on, answers are invalid; 0: never */
    int32_t garble_kind;
} toy_model;

/* Parse the arguments. On failure writes an error to `message` (`size` bytes) and returns RILL_ERR_OPTION. */
rill_status toy_model_parse(toy_model *model, const char *arguments, char *message, size_t size);

/* The parameters of an input, which the toy model reads from the input's text. */
typedef struct toy_input {
    uint64_t start; /* hash with which the input begins, before any action */
    int32_t depth;  /* number of timesteps after which only the end action is legal */
    int32_t status; /* RILL_OK, or RILL_ERR_INPUT for text that starts with "!bad" */
    int32_t dead;   /* 1: no action is ever legal, for text that starts with "!dead" */
} toy_input;

toy_input toy_input_read(const toy_model *model, const char *text, size_t length);

typedef struct toy_choice {
    int32_t action;
    float logp;
    rill_terminal terminal;
} toy_choice;

/* Return the hash state after one more action. */
uint64_t toy_extend(uint64_t state, int32_t action);

/* toy_forbidden_count(): number of sequences that no output may contain. toy_forbidden(): get the actions of sequence i, and return its
 * length. */
int32_t toy_forbidden_count(const toy_model *model);
int32_t toy_forbidden(const toy_model *model, int32_t i, int32_t action[TOY_MAX_FORBIDDEN_LENGTH]);

/* Return the id of the RILL_END action, or -1 with terminal=last. */
int32_t toy_end_action(const toy_model *model);

/* List the legal actions of a state at this depth and phase, by ascending id. Returns their number. */
int32_t toy_expand(const toy_model *model, const toy_input *input, uint64_t state, int32_t depth, int32_t phase,
                   toy_choice *out);
