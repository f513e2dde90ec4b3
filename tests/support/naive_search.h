/* The judge: beam search over one input, written straight from "One timestep of one item, exactly" in the description of
 * the algorithms, with nothing in it that a reader could doubt. It keeps whole histories by value, looks at every legal
 * action, sorts everything, and knows nothing of batches, rows or schedules.
 *
 * Order of use: fill a naive_problem, naive_search(), compare, naive_result_free(). It shares no code with the engine. */
#ifndef TEST_NAIVE_SEARCH_H
#define TEST_NAIVE_SEARCH_H

#include <stdint.h>

enum { NAIVE_MAX_ACTIONS = 64, NAIVE_MAX_LENGTH = 192, NAIVE_MAX_CHAIN = 4 };
enum { NAIVE_MAX_FORBIDDEN = 5, NAIVE_MAX_FORBIDDEN_LENGTH = 3 };

typedef enum naive_kind { NAIVE_LIVE, NAIVE_END, NAIVE_LAST } naive_kind;

typedef struct naive_choice {
    int32_t action;
    float logp;
    naive_kind kind;
} naive_choice;

/* A partial output, whole. */
typedef struct naive_hypothesis {
    int32_t n; /* actions, the end action included */
    int32_t action[NAIVE_MAX_LENGTH];
    float logp[NAIVE_MAX_LENGTH];
    float score[NAIVE_MAX_LENGTH];
    int32_t state[NAIVE_MAX_LENGTH]; /* [n] the actions of the state that it continues: its own but for cube pruning */
    double sum;                      /* of score */
    int32_t timesteps;               /* its length: completed timesteps, an end action not counted */
    int32_t parent_rank;             /* rank of its parent in the beam before this phase */
    int ended;
    int by_end; /* its last action is an end action */
    int truncated;
    int64_t serial;     /* of an ended one: the how manieth it was */
    int32_t bank;       /* of a divided beam: where its last action has led */
    int exempt;         /* ... and it is a candidate beyond its parent's best M */
    int32_t group;      /* of a beam of groups */
    double group_score; /* what a group chooses by */
} naive_hypothesis;

/* What one scorer wishes for the children of one hypothesis. Given zeroed; rule 0: end allowed, 1: forbidden, 2: required, 4: not
 * the end action yet; they add up. */
typedef struct naive_modifiers {
    float add[NAIVE_MAX_ACTIONS];
    uint8_t ban[NAIVE_MAX_ACTIONS];
    uint8_t allow[NAIVE_MAX_ACTIONS];
    int restricted; /* 1: only allowed actions remain, none if none is */
    int rule;
    float reward, end_reward;
    int32_t limit;                   /* most children; 0: none said */
    float factor[NAIVE_MAX_ACTIONS]; /* of log-probabilities; 0: 1 */
    int32_t banks;                   /* that the beam is divided into; 0: it is not */
    int32_t rest;                    /* the bank that actions lead to ... */
    int32_t bank[NAIVE_MAX_ACTIONS]; /* ... but for those with 1 + another one here */
} naive_modifiers;

typedef struct naive_scorer {
    void *user;
    void (*score)(void *user, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                  const naive_hypothesis *parent, naive_modifiers *modifiers);
} naive_scorer;

/* An item as a heuristic sees it. keep: 1 as given; width: INT32_MAX as given; stop: 0 as given. */
typedef struct naive_beam {
    int64_t item;
    int32_t k, timestep, phase, outputs;
    double best_output; /* -inf without outputs */
    double best;        /* s_1 */
    int32_t n;
    const naive_hypothesis *candidate; /* [n] in rank order */
    uint8_t *keep;                     /* [n] */
    int32_t width;
    int stop;
} naive_beam;

typedef enum naive_rule { NAIVE_ABSOLUTE, NAIVE_RELATIVE, NAIVE_RELATIVE_LOCAL, NAIVE_CUSTOM } naive_rule;

typedef struct naive_heuristic {
    naive_rule rule;
    double value;
    void *user;
    void (*apply)(void *user, naive_beam *beam); /* NAIVE_CUSTOM */
} naive_heuristic;

typedef struct naive_problem {
    /* the space */
    void *user;
    int32_t actions, phases;
    int path_states; /* a state is kept as long as anything passes through it; 0: until its children's have been made */
    int32_t (*expand)(void *user, const int32_t *history, int32_t n, naive_choice *out); /* every legal action */
    /* the search */
    int64_t item;
    int32_t k;
    int immediate, shrink;          /* finish rule: neither is top */
    int32_t max_candidates;         /* M; 0: the default of the finish rule */
    uint32_t max_candidates_phases; /* bit p: M holds in phase p; 0: in all */
    int32_t stop_after;             /* 0: k */
    int32_t min_length, max_length;
    double length_penalty, word_penalty;
    int keep; /* once there are stop_after outputs: 0 all, 1 the first, 2 the best */
    int stop; /* with stop_after outputs: 0 at once; 1, 2 when no live one can get among the best, as it is or at max_length;
                      3 when the best of some timestep has ended */
    int at_limit; /* 0 live ones are output as they are, 1 only those of the best k, 2 they must end, 3 they end at no cost, 4 as 0, but
                     where none that ended became an output, the best of those that were dropped */
    int count_end;     /* penalties count the end action */
    int32_t min_width; /* heuristics leave so many, outputs counted */
    int require_end;   /* what is truncated is no output */
    int cube;          /* 1: naive cube pruning, 2: accelerated */
    int64_t (*cube_key)(
        int32_t last_action); /* what is alike for it; NULL: what has the same last action. Before the first: -1 */
    int ignore_limits;        /* scorers' limits do not apply: for enumeration */
    int32_t unknown;
    double unknown_penalty; /* of action `unknown`; 0: none */
    int32_t no_repeat_ngram;
    struct {
        int32_t action[NAIVE_MAX_FORBIDDEN_LENGTH], n;
    } forbidden[NAIVE_MAX_FORBIDDEN]; /* [n_forbidden] runs of actions that are in no output */
    int32_t n_forbidden;
    double repetition_penalty;
    int32_t sample, top_k, seed; /* sample: k are drawn; 0: searched for. All are given */
    double temperature, top_p;
    int32_t groups; /* each chooses what those before do not; 0: there are none */
    double diversity;
    naive_heuristic heuristic[NAIVE_MAX_CHAIN];
    int32_t n_heuristics;
    naive_scorer scorer[NAIVE_MAX_CHAIN];
    int32_t n_scorers;
} naive_problem;

typedef struct naive_output {
    naive_hypothesis hypothesis;
    double score; /* sum / length^length_penalty */
    double logp;
    int32_t order; /* among the item's outputs, in time */
} naive_output;

/* What a timestep found and left of an item. */
typedef struct naive_width {
    int32_t live;   /* live candidates */
    int32_t merged; /* candidates of the last phase, before heuristics */
    int32_t kept;   /* of the new beam, live and waiting; 0 when the item is done */
} naive_width;

typedef struct naive_result {
    naive_output *output;      /* best first */
    int32_t n;                 /* 0: no hypothesis survived */
    int32_t timesteps;         /* the item had */
    int64_t expansions;        /* live candidates at the starts of these */
    int64_t states;            /* kept and made in the timestep that needs the most of them */
    int32_t truncated;         /* outputs ended by the limit */
    int64_t candidates;        /* after merging, over all phases; of these ... */
    int64_t pruned;            /* ... dropped by heuristics */
    int64_t classes, rescored; /* of cube pruning: hypotheses expanded for all, and those whose own cells were scored */
    naive_width *width;        /* [timesteps] */
} naive_result;

naive_result naive_search(const naive_problem *problem);
void naive_result_free(naive_result *result);

/* naive_modifiers.c: what the settings and the chain wish of a hypothesis's children, and whether that forbids one. */
naive_modifiers naive_merge_modifiers(const naive_problem *p, int32_t timestep, int32_t phase, int32_t rank,
                                      const naive_hypothesis *parent);
/* Mark what would end a forbidden run. */
void naive_ban_runs(const naive_problem *p, const naive_hypothesis *h, uint8_t ban[NAIVE_MAX_ACTIONS]);
int naive_is_forbidden(const naive_modifiers *w, const naive_choice *c);
/* Which of a hypothesis's n children, in rank order, is drawn the how manieth time; -1: none. */
int32_t naive_draw(const naive_problem *p, const naive_hypothesis *child, int32_t n, int32_t timestep, int32_t phase,
                   int32_t rank, int32_t draw);

/* naive_states.c: states of a beam and of outputs. `seen`: one more that is kept, or NULL. */
int64_t naive_count_states(const naive_problem *p, const naive_hypothesis *beam, int32_t n_beam,
                           const naive_output *output, int32_t n_outputs, const naive_output *seen);

/* The best complete hypothesis of the whole space by trying every one; 0 if there is none. max_length as in the problem;
 * scorers apply, heuristics do not. */
int naive_enumerate(const naive_problem *problem, naive_hypothesis *best);

/* How many outputs of the whole space rank above `rank`: those that end, and as far as the problem says those that the limit cuts.
 * Scorers' limits do not apply. */
int64_t naive_count_above(const naive_problem *problem, double rank);

#endif
