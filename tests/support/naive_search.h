/* The reference: beam search for one input, written directly from "One timestep of one item, exactly" in the description of the
 * algorithms. It keeps whole hypotheses, sorts everything, and shares no code with the engine.
 *
 * Order of use: fill a naive_problem, naive_search(), compare, naive_result_free(). */
#pragma once

#include <stdint.h>

enum { NAIVE_MAX_ACTIONS = 64, NAIVE_MAX_LENGTH = 192, NAIVE_MAX_CHAIN = 4 };
enum { NAIVE_MAX_FORBIDDEN = 5, NAIVE_MAX_FORBIDDEN_LENGTH = 3 };

typedef enum naive_kind { NAIVE_LIVE, NAIVE_END, NAIVE_LAST } naive_kind;

typedef struct naive_choice {
    int32_t action;
    float logp;
    naive_kind kind;
} naive_choice;

/* A complete copy of a hypothesis. */
typedef struct naive_hypothesis {
    int32_t n; /* number of actions, the end action included */
    int32_t action[NAIVE_MAX_LENGTH];
    float logp[NAIVE_MAX_LENGTH];
    float score[NAIVE_MAX_LENGTH];
    /* [n] actions of the state from which the hypothesis continues; they differ from its own actions only with cube pruning */
    int32_t state[NAIVE_MAX_LENGTH];
    double sum;          /* sum of the actions' scores */
    int32_t timesteps;   /* length in completed timesteps, without the end action */
    int32_t parent_rank; /* rank of the parent in the beam before this phase */
    int ended;
    int by_end; /* 1: it has ended by an end action */
    int truncated;
    int64_t serial; /* number in the order in which hypotheses ended, from 1; 0: not ended */
    int32_t bank;   /* constraint bank of the hypothesis after its last action */
    int exempt; /* 1: its last action is assigned to a constraint bank, so it is kept in addition to its parent's best M children */
    int32_t group;      /* diverse beam search: number of the hypothesis's group */
    double group_score; /* diverse beam search: the score by which the group ranks the hypothesis */
} naive_hypothesis;

/* One scorer's modifiers for the children of one hypothesis; zero before the call. Bits of `rule`: 1: end forbidden; 2: end required; 4:
 * end action banned, for a minimum length. */
typedef struct naive_modifiers {
    float add[NAIVE_MAX_ACTIONS];
    uint8_t ban[NAIVE_MAX_ACTIONS];
    uint8_t allow[NAIVE_MAX_ACTIONS];
    int restricted; /* 1: only allowed actions remain, possibly none */
    int rule;
    float reward, end_reward;
    int32_t limit;                   /* maximum number of children; 0: no limit */
    float factor[NAIVE_MAX_ACTIONS]; /* factor of log-probabilities; 0 means 1 */
    int32_t banks;                   /* number of constraint banks into which the beam is divided; 0: not divided */
    int32_t rest;                    /* constraint bank of the children by all actions whose `bank` is 0 */
    int32_t bank[NAIVE_MAX_ACTIONS]; /* 1 + constraint bank of the child by this action; 0: `rest` */
} naive_modifiers;

typedef struct naive_scorer {
    void *user;
    void (*score)(void *user, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                  const naive_hypothesis *parent, naive_modifiers *modifiers);
} naive_scorer;

/* The beam of one item, as a heuristic sees it. Initially all `keep` are 1, `width` is INT32_MAX and `stop` is 0. */
typedef struct naive_beam {
    int64_t item;
    int32_t k, timestep, phase, outputs;
    double best_output; /* best score of the outputs; -infinity if there are none */
    double best;        /* best score among candidates and outputs before pruning (s_1 in docs/algorithms.md) */
    int32_t n;
    const naive_hypothesis *candidate; /* [n] in rank order */
    uint8_t *keep;                     /* [n] 1: the heuristic keeps the candidate; 0: it drops it */
    int32_t width;
    int stop;
} naive_beam;

typedef enum naive_rule { NAIVE_ABSOLUTE, NAIVE_RELATIVE, NAIVE_RELATIVE_LOCAL, NAIVE_CUSTOM } naive_rule;

typedef struct naive_heuristic {
    naive_rule rule;
    double value;
    void *user;
    void (*apply)(void *user, naive_beam *beam); /* called if `rule` is NAIVE_CUSTOM */
} naive_heuristic;

typedef struct naive_problem {
    /* members that describe the space of hypotheses */
    void *user;
    int32_t actions, phases;
    /* 1: a state is kept as long as some descendant needs it, as in a KV cache; 0: until its children's states are made */
    int path_states;
    int32_t (*expand)(void *user, const int32_t *history, int32_t n, naive_choice *out); /* lists every legal action */
    /* members that describe the search */
    int64_t item;
    int32_t k;
    int immediate, shrink, one_step; /* finish rule: at most one is 1; all 0: the rule `top` */
    /* maximum number of children per hypothesis (M); 0: the default of the finish rule */
    int32_t max_candidates;
    uint32_t max_candidates_phases; /* bit p is set: max_candidates applies in phase p; 0: in all phases */
    int32_t stop_after;             /* number of outputs that ends the search; 0: k */
    int32_t min_length, max_length;
    double length_penalty, word_penalty;
    int keep; /* which outputs are kept once there are stop_after: 0: all; 1: the first ones; 2: the best ones */
    /* When the search stops. 0: after stop_after outputs. 1, 2: in addition, no live hypothesis can enter the outputs, normalised by its
     * current length (1) or max_length (2). 3: when the best candidate of a timestep has ended. */
    int stop;
    /* Live hypotheses at max_length. 0: output as they are. 1: only the best k. 2: must end by an action. 3: end at no cost. 4: as 0,
     * but without ended outputs, the best dropped ended hypothesis is output. */
    int at_limit;
    int count_end;     /* 1: lengths in penalties count the end action */
    int32_t min_width; /* heuristics leave at least this many candidates; outputs count as candidates here */
    int require_end;   /* 1: hypotheses that are truncated at max_length are not output */
    int cube;          /* 0: no cube pruning; 1: naive cube pruning; 2: accelerated */
    /* Equivalence class for cube pruning, given the last action (-1: none). NULL: the last action itself. */
    int64_t (*cube_key)(int32_t last_action);
    int ignore_limits; /* 1: ignore the limits that scorers set, for enumeration */
    int32_t unknown;
    /* subtracted from the score of the action `unknown`; 0: none; infinity: the action is banned */
    double unknown_penalty;
    int32_t no_repeat_ngram;
    struct {
        int32_t action[NAIVE_MAX_FORBIDDEN_LENGTH], n;
    } forbidden[NAIVE_MAX_FORBIDDEN]; /* [n_forbidden] sequences of actions that no output contains */
    int32_t n_forbidden;
    double repetition_penalty;
    int32_t sample, top_k, seed; /* sample: number of hypotheses to draw, all of which are output; 0: beam search */
    double temperature, top_p;
    int32_t groups; /* diverse beam search: each group avoids the choices of earlier ones; 0: no groups */
    double diversity;
    naive_heuristic heuristic[NAIVE_MAX_CHAIN];
    int32_t n_heuristics;
    naive_scorer scorer[NAIVE_MAX_CHAIN];
    int32_t n_scorers;
} naive_problem;

typedef struct naive_output {
    naive_hypothesis hypothesis;
    double score; /* sum of scores / length^length_penalty */
    double logp;
    int32_t order; /* place in the order in which the item's outputs were found */
} naive_output;

/* Numbers of candidates in one timestep of one item. */
typedef struct naive_width {
    int32_t live;   /* live candidates at the start of the timestep */
    int32_t merged; /* candidates of the last phase, before heuristics */
    int32_t kept;   /* candidates of the new beam, live and ended; 0 when the item is done */
} naive_width;

typedef struct naive_result {
    naive_output *output; /* [n] outputs, best first */
    int32_t n;            /* 0: no hypothesis survived */
    int32_t timesteps;    /* number of timesteps of the item */
    int64_t expansions;   /* live candidates at the start of a timestep, summed over all timesteps */
    int64_t states;       /* states that are kept or made in the timestep that needs most states */
    int32_t truncated;    /* outputs truncated at max_length */
    int64_t candidates;   /* candidates after merging, summed over all phases of all timesteps */
    int64_t pruned;       /* how many of these candidates heuristics have dropped */
    /* cube pruning. classes: representatives that were expanded; rescored: hypotheses whose score was computed again with their own
     * state */
    int64_t classes, rescored;
    naive_width *width; /* [timesteps] numbers of candidates in each timestep */
} naive_result;

naive_result naive_search(const naive_problem *problem);
void naive_result_free(naive_result *result);

/* naive_modifiers.c: merged modifiers of a hypothesis's children, and whether they ban an action. */
naive_modifiers naive_merge_modifiers(const naive_problem *p, int32_t timestep, int32_t phase, int32_t rank,
                                      const naive_hypothesis *parent);
/* Ban the actions that would complete a forbidden sequence. */
void naive_ban_runs(const naive_problem *p, const naive_hypothesis *h, uint8_t ban[NAIVE_MAX_ACTIONS]);
int naive_is_forbidden(const naive_modifiers *w, const naive_choice *c);
/* Return the index, among n children in rank order, of the child that this draw samples; -1: none. */
int32_t naive_draw(const naive_problem *p, const naive_hypothesis *child, int32_t n, int32_t timestep, int32_t phase,
                   int32_t rank, int32_t draw);

/* Count the states that a beam and its outputs need (naive_states.c). seen: one more hypothesis whose states are kept; NULL: none. */
int64_t naive_count_states(const naive_problem *p, const naive_hypothesis *beam, int32_t n_beam,
                           const naive_output *output, int32_t n_outputs, const naive_output *seen);

/* Find the best complete hypothesis by exhaustive search. Returns 0 if there is none. Uses the problem's max_length and scorers, without
 * heuristics. */
int naive_enumerate(const naive_problem *problem, naive_hypothesis *best);

/* Return the number of possible outputs above `rank` in the whole space, truncated ones included if the problem outputs
 * them. Scorers' limits are ignored. */
int64_t naive_count_above(const naive_problem *problem, double rank);
