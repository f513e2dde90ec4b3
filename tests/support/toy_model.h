/* The toy's mathematics: which actions are legal after a history, and with what log-probability.
 *
 * Everything is a hash of (seed, input text, actions so far), so it can be asked in any order by anyone: by the toy domain,
 * row by row, and by the naive search, history by history. Nothing here knows nodes, rows or beams. */
#ifndef TEST_TOY_MODEL_H
#define TEST_TOY_MODEL_H

#include "rill/domain.h"

enum { TOY_MAX_FORBIDDEN = 5, TOY_MAX_FORBIDDEN_LENGTH = 3 }; /* sequences, and their actions */
enum { TOY_MAX_ACTIONS = 64, TOY_MAX_SPARE = 1 << 20 };

typedef enum toy_select { TOY_SELECT_OWN, TOY_SELECT_RILL, TOY_SELECT_BOTH } toy_select;

/* As read from the arguments "seed=3 actions=5 ...". */
typedef struct toy_model {
    int64_t seed;
    int32_t actions;    /* 1..TOY_MAX_ACTIONS */
    int32_t depth;      /* most timesteps of a hypothesis; each input has its own depth in 1..depth */
    int32_t phases;     /* all but the last choose structure, the last one labels */
    int32_t path;       /* state=path: a state is computed from all ancestors' rows; state=parent: from the parent's */
    int32_t ties;       /* 0: continuous log-probabilities; L > 0: only L different values */
    int32_t last;       /* terminal=last: RILL_LAST choices, else one RILL_END action */
    int32_t early;      /* percent of choices before the last timestep that are RILL_LAST */
    int32_t ending;     /* percent of states in which RILL_END is legal */
    int32_t legal;      /* percent of other actions that are legal */
    int32_t dead_ends;  /* percent of states without any legal action */
    double logit_scale; /* scale of the logits */
    int32_t max_choices_phases; /* info.max_choices_phases */
    int32_t max_length;         /* info.max_length; 0: depth */
    int32_t own_max_length;     /* 1: encode tells each input's own max_length */
    int32_t dead;               /* 1: answers may trail off in RILL_SCORE_DEAD entries */
    int32_t forbid;             /* a seed above 0: of sequences that no output contains */
    int32_t spare;  /* so many actions behind the others that are never legal: a large vocabulary for few choices */
    int32_t listed; /* 1: info.legal says so */
    int32_t finalize_anywhere; /* 1: info.finalize_anywhere says so */
    int32_t blur;              /* 1: texts have half of each action, so that some are the same */
    int32_t trivial;           /* 1: skip the bookkeeping that makes misuse visible (for runs of a million inputs) */
    int32_t mixed;             /* hypotheses may continue others' states, 1: of the same last action, 2: any */
    int32_t normal;            /* 1: probabilities add up to 1, with ties too */
    toy_select select;
    int32_t fail_encode, fail_step, fail_score, fail_finalize, fail_open; /* the n-th call fails; 0: never */
    int32_t garble; /* from the n-th score call on, answers are illegal; 0: never */
    int32_t garble_kind;
} toy_model;

/* Read the arguments. On failure `message` (of `size` bytes) says what is wrong; returns RILL_ERR_OPTION. */
rill_status toy_model_parse(toy_model *model, const char *arguments, char *message, size_t size);

/* What an input is to the toy. */
typedef struct toy_input {
    uint64_t start; /* state before any action */
    int32_t depth;  /* timesteps after which nothing but the end is legal */
    int32_t status; /* RILL_OK, or RILL_ERR_INPUT for text that starts with "!bad" */
    int32_t dead;   /* "!dead": no legal action at all */
} toy_input;

toy_input toy_input_read(const toy_model *model, const char *text, size_t length);

typedef struct toy_choice {
    int32_t action;
    float logp;
    rill_terminal terminal;
} toy_choice;

/* The state after one more action. */
uint64_t toy_extend(uint64_t state, int32_t action);

/* How many sequences the engine is to keep out of outputs, and the actions of number i; returns how many these are. */
int32_t toy_forbidden_count(const toy_model *model);
int32_t toy_forbidden(const toy_model *model, int32_t i, int32_t action[TOY_MAX_FORBIDDEN_LENGTH]);

/* The RILL_END action, or -1 with terminal=last. */
int32_t toy_end_action(const toy_model *model);

/* The legal actions of a state that is `depth` timesteps and `phase` phases old, in order of action; returns how many. */
int32_t toy_expand(const toy_model *model, const toy_input *input, uint64_t state, int32_t depth, int32_t phase,
                   toy_choice *out);

#endif
