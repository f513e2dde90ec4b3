/* The reference: beam search for one input, written directly from "One timestep of one item, exactly" in the
 * description of the algorithms. It is meant to be obviously correct. It keeps whole hypotheses by value, looks at
 * every legal action, sorts everything, and knows nothing of batches, rows or schedules.
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

/* A complete copy of a hypothesis. */
typedef struct naive_hypothesis {
    int32_t n; /* actions, the end action included */
    int32_t action[NAIVE_MAX_LENGTH];
    float logp[NAIVE_MAX_LENGTH];
    float score[NAIVE_MAX_LENGTH];
    int32_t state
        [NAIVE_MAX_LENGTH]; /* [n] the actions of the state that it continues; differs from its own only with cube pruning */
    double sum;             /* of scores */
    int32_t timesteps;      /* its length in completed timesteps, without the end action */
    int32_t parent_rank; /* rank of its parent in the beam before this phase */
    int ended;
    int by_end; /* its last action is an end action */
    int truncated;
    int64_t serial;     /* of an ended one: its number in order of ending */
    int32_t bank;       /* in a divided beam: the bank its last action leads to */
    int exempt;         /* a candidate with a bank that counts beyond its parent's best M */
    int32_t group;      /* in diverse beam search */
    double group_score; /* the score that its group ranks by */
} naive_hypothesis;

/* Modifiers that one scorer sets for the children of one hypothesis. Zeroed before. `rule` is a sum: 0: end allowed, 1:
 * forbidden, 2: required, 4: the end action not yet. */
typedef struct naive_modifiers {
    float add[NAIVE_MAX_ACTIONS];
    uint8_t ban[NAIVE_MAX_ACTIONS];
    uint8_t allow[NAIVE_MAX_ACTIONS];
    int restricted; /* 1: only allowed actions remain, possibly none */
    int rule;
    float reward, end_reward;
    int32_t limit;                   /* maximum number of children; 0: no limit */
    float factor[NAIVE_MAX_ACTIONS]; /* factor of log-probabilities; 0 means 1 */
    int32_t banks;                   /* number of banks of the beam; 0: not divided */
    int32_t rest;                    /* the bank that actions lead to by default ... */
    int32_t bank[NAIVE_MAX_ACTIONS]; /* ... and exceptions, stored as bank + 1 */
} naive_modifiers;

typedef struct naive_scorer {
    void *user;
    void (*score)(void *user, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                  const naive_hypothesis *parent, naive_modifiers *modifiers);
} naive_scorer;

/* An item as a heuristic sees it. Initially keep is 1, width INT32_MAX, stop 0. */
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
    int path_states; /* 1: a state is kept as long as a descendant needs it; 0: until its children's states are made */
    int32_t (*expand)(void *user, const int32_t *history, int32_t n, naive_choice *out); /* lists every legal action */
    /* the search */
    int64_t item;
    int32_t k;
    int immediate, shrink;          /* finish rule; both 0: top */
    int32_t max_candidates;         /* M; 0: the default of the finish rule */
    uint32_t max_candidates_phases; /* bit p: M holds in phase p; 0: in all */
    int32_t stop_after;             /* 0: k */
    int32_t min_length, max_length;
    double length_penalty, word_penalty;
    int keep; /* outputs kept once there are stop_after: 0 all, 1 the first, 2 the best */
    /* When there are stop_after outputs: 0 at once; 1, 2 when no live hypothesis can become one of the best, at its current
     * length or at max_length; 3 when the best candidate of some timestep has ended. */
    int stop;
    /* Live hypotheses at max_length: 0 output as they are; 1 only those among the best k; 2 must end; 3 end at no cost; 4 as 0,
     * but if no ended one became an output, the best that was dropped. */
    int at_limit;
    int count_end;     /* penalties count the end action */
    int32_t min_width; /* heuristics leave at least this many, outputs included */
    int require_end;   /* truncated hypotheses are no outputs */
    int cube;          /* 1: naive cube pruning, 2: accelerated */
    int64_t (*cube_key)(
        int32_t
            last_action); /* class for cube pruning; NULL: equal last actions are one class. Before the first action: -1 */
    int ignore_limits;    /* ignore scorers' limits: for enumeration */
    int32_t unknown;
    double unknown_penalty; /* for the action `unknown`; 0: none */
    int32_t no_repeat_ngram;
    struct {
        int32_t action[NAIVE_MAX_FORBIDDEN_LENGTH], n;
    } forbidden[NAIVE_MAX_FORBIDDEN]; /* [n_forbidden] sequences of actions that no output contains */
    int32_t n_forbidden;
    double repetition_penalty;
    int32_t sample, top_k, seed; /* sample: number of hypotheses drawn; 0: beam search. All are outputs */
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
    double score; /* sum / length^length_penalty */
    double logp;
    int32_t order; /* order in time among the item's outputs */
} naive_output;

/* Sizes in one timestep of one item. */
typedef struct naive_width {
    int32_t live;   /* live candidates */
    int32_t merged; /* candidates of the last phase, before heuristics */
    int32_t kept;   /* size of the new beam, live and ended; 0 when the item is done */
} naive_width;

typedef struct naive_result {
    naive_output *output; /* best first */
    int32_t n;            /* 0: no hypothesis survived */
    int32_t timesteps;    /* timesteps of the item */
    int64_t expansions;   /* live candidates at the start of each, summed */
    int64_t states;       /* states kept and made in the timestep that needs the most */
    int32_t truncated;    /* outputs truncated at max_length */
    int64_t candidates;   /* after merging, in all phases; of these ... */
    int64_t pruned;       /* ... dropped by heuristics */
    int64_t classes,
        rescored; /* for cube pruning: representatives that were expanded, and hypotheses rescored with their own states */
    naive_width *width; /* [timesteps] */
} naive_result;

naive_result naive_search(const naive_problem *problem);
void naive_result_free(naive_result *result);

/* naive_modifiers.c: merged modifiers of a hypothesis's children, and whether they ban an action. */
naive_modifiers naive_merge_modifiers(const naive_problem *p, int32_t timestep, int32_t phase, int32_t rank,
                                      const naive_hypothesis *parent);
/* Ban the actions that would complete a forbidden sequence. */
void naive_ban_runs(const naive_problem *p, const naive_hypothesis *h, uint8_t ban[NAIVE_MAX_ACTIONS]);
int naive_is_forbidden(const naive_modifiers *w, const naive_choice *c);
/* Index, among n children in rank order, of the child that this draw samples; -1: none. */
int32_t naive_draw(const naive_problem *p, const naive_hypothesis *child, int32_t n, int32_t timestep, int32_t phase,
                   int32_t rank, int32_t draw);

/* naive_states.c: number of states of a beam and outputs. `seen`: one more hypothesis whose states are kept, or NULL. */
int64_t naive_count_states(const naive_problem *p, const naive_hypothesis *beam, int32_t n_beam,
                           const naive_output *output, int32_t n_outputs, const naive_output *seen);

/* The best complete hypothesis, by exhaustive search; 0 if there is none. Uses the problem's max_length and scorers,
 * without heuristics. */
int naive_enumerate(const naive_problem *problem, naive_hypothesis *best);

/* Number of outputs in the whole space that score above `rank`: ended ones, and truncated ones if the problem outputs
 * them. Scorers' limits are ignored. */
int64_t naive_count_above(const naive_problem *problem, double rank);

#endif
