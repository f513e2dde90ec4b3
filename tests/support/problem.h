/* A random search problem, the engine's answer to it under any schedule, and the naive search's.
 *
 * Order of use: problem_draw(), problem_solve() once, then per schedule: engine_run(), problem_compare(),
 * engine_record_clear(); problem_clear() at the end. Everything is printable by problem_describe(), so that a failure can be
 * repeated from its seed. */
#ifndef TEST_PROBLEM_H
#define TEST_PROBLEM_H

#include "rill/engine.h"
#include "rill/run.h"
#include "rill/workers.h"
#include "support/async_domain.h"
#include "support/dice.h"
#include "support/naive_search.h"
#include "support/test_phrases.h"
#include "support/test_plugins.h"
#include "support/toy_domain.h"

enum { PROBLEM_MAX_INPUTS = 48 };

typedef struct problem_name {
    char name[24];
    char arguments[160];
} problem_name;

/* What is decoded, and with which search settings. The schedule is apart. */
typedef struct problem {
    const char *domain;  /* that is opened with the toy's arguments; NULL: the toy itself */
    char arguments[320]; /* of the toy */
    toy_model model;
    char input[PROBLEM_MAX_INPUTS][32];
    int32_t n_inputs;
    char method[32];
    rill_settings settings; /* search settings only */
    problem_name heuristic[NAIVE_MAX_CHAIN];
    int32_t n_heuristics;
    problem_name scorer[NAIVE_MAX_CHAIN];
    int32_t n_scorers;
    /* the same for the naive search */
    naive_problem naive;
    rill_key_fn cube_key; /* of both searches; naive.key is the other form */
    test_random random_heuristic[NAIVE_MAX_CHAIN], random_scorer[NAIVE_MAX_CHAIN];
    test_phrases phrases[NAIVE_MAX_CHAIN]; /* of scorers that are constraints */
    naive_result *expected;                /* [n_inputs], after problem_solve() */
} problem;

/* Which family of methods a problem is for: those with equal search settings. */
typedef enum problem_group {
    PROBLEM_PRUNED,    /* var-batch, var-stream, var-stream-fifo, top-up, stream-all */
    PROBLEM_FIXED_TOP, /* fixed with finish top, fixed-stream */
    PROBLEM_FIXED,     /* fixed with finish immediate */
    PROBLEM_GREEDY
} problem_group;

/* The methods of a group, NULL-ended. */
const char *const *problem_methods(problem_group group);

void problem_draw(problem *p, problem_group group, dice *d);
/* Add conventions of other decoders: finish, keep, stop, at-limit, what counts as length, penalties. */
void problem_draw_conventions(problem *p, problem_group group, dice *d);
/* Add constraints, behind the scorers that are there, and what may not be repeated. */
void problem_draw_constraints(problem *p, dice *d);
/* Have the model forbid some sequences of actions. */
void problem_forbid(problem *p, dice *d);
/* Other arguments for its heuristics and scorers. */
void problem_draw_arguments(problem *p, dice *d);
/* The first of n as problem_draw() makes it is there: others of the same model and inputs, with what a request may want of its own,
 * conventions included. */
void problem_draw_variants(problem *p, int n, problem_group group, dice *d);
void problem_solve(problem *p);
void problem_clear(problem *p);

/* Whether input i becomes an item: it is neither bad nor blank. */
int problem_is_searched(const problem *p, int32_t i);

/* The best score of input i over its whole space; 0 when nothing is complete or the input is bad or blank. */
int problem_optimum(const problem *p, int32_t i, double *score);

/* naive_count_above() of input i, which is searched. */
int64_t problem_count_above(const problem *p, int32_t i, double rank);

typedef struct engine_record engine_record;

/* Give an input up where it is decoded. */
typedef rill_status (*test_cancel)(void *runner, int64_t id);

/* A test's own doings with a running engine. */
typedef struct hooks {
    void *user;
    rill_clock_fn clock;
    /* Submit input i instead of the loop; NULL: it does. */
    rill_status (*submit)(void *user, rill_engine *engine, const problem *p, int32_t i);
    /* After each step and the taking of its results. */
    void (*on_step)(void *user, rill_engine *engine);
    /* What input i wants: the run is one of requests. Through rill_run() and workers only, as what follows. */
    void (*ask)(void *user, const problem *p, int32_t i, rill_request *out);
    /* At each call of the reader, and behind the writer's. */
    void (*on_call)(void *user, test_cancel cancel, void *runner, const engine_record *so_far);
} hooks;

/* Everything that says how, but not what, to decode. */
typedef struct schedule {
    const char *method;
    int32_t n, max_items, budget;
    int32_t max_nodes; /* 0: no bound */
    int64_t memory;
    int32_t bound; /* in states, of the two; inputs that need more are expected to fail */
    double refill; /* < 0: default */
    rill_sort sort;
    int32_t sort_window, flush_every, unordered, check;
    const char *scheduler, *policy_arguments; /* NULL: the method's */
    rill_budget_fn budget_fn;                 /* NULL: none; never drawn */
    void *budget_user;
    /* What a test does with the engine otherwise than by submitting texts and taking results. NULL: nothing. */
    const struct hooks *hooks;
    int by_run;      /* through rill_run() */
    int32_t workers; /* several: through rill_workers_run(); never drawn */
    int own_thread;  /* through it with one worker, too, in a thread of its own */
    int32_t
        async_rows; /* G + 1: the domain answers later, with group_rows G; 0: as the option --late says, else at once. Never drawn */
    int32_t fail_collect; /* the collect call that fails, 0: none does */
    int32_t sync_group;   /* late: 1 + the group that is answered at once, 0: none is */
    int reader_blocks;    /* by_run: the reader often has nothing to give now */
    int untraced;         /* there is no trace, which changes no answer. Never drawn */
} schedule;

void schedule_draw(schedule *s, problem_group group, dice *d);

/* One output, copied. */
typedef struct record_output {
    char *text;
    int32_t *action;
    float *logps;
    rill_output value; /* its pointers are not valid */
} record_output;

/* An output of the same hypothesis may be cut short for another reason in another run. */
static inline int is_truncated(const rill_output *o)
{
    return o->finish_reason != RILL_FINISH_REASON_STOP;
}

typedef struct record_result {
    int taken; /* how often this id was given out */
    rill_status status;
    char message[160];
    int32_t n, outputs_found, timed_out;
    void *user;
    int64_t position; /* in order of arrival */
    record_output *output;
} record_result;

/* One timestep as traced. */
typedef struct record_timestep {
    int32_t n, in_flight;
    int64_t rows;
    int32_t widest;
    int64_t *item;   /* [n] */
    int32_t *depth;  /* [n] */
    int32_t *width;  /* [n] before expansion */
    int32_t *merged; /* [n] candidates before pruning */
    int32_t *kept;   /* [n] candidates of the new beam, live and waiting */
    rill_seconds seconds;
    int64_t event_index; /* place among all events */
} record_timestep;

typedef struct record_event {
    rill_trace_kind kind;
    int64_t timestep, item;
    int32_t item_timesteps, worker;
} record_event;

struct engine_record {
    rill_status status; /* of the run */
    char message[4100];
    int64_t n_results;
    record_result result[PROBLEM_MAX_INPUTS];
    rill_stats stats;  /* at the end */
    async_table async; /* where the domain answered later */
    int64_t max_held;  /* finished results that order held back after a step; not counted by rill_run() */
    toy_report toy;

    record_timestep *timestep;
    int64_t n_timesteps, timestep_capacity;
    record_event *event;
    int64_t n_events, event_capacity;
};

/* Run the engine. `memory` may be NULL. Nothing is asserted: look at the record. */
void engine_run(const problem *p, const schedule *s, const rill_context_options *memory, engine_record *out);
/* The same with more registered first: `more` gets the context before the model is opened. */
void engine_run_with(const problem *p, const schedule *s, const rill_context_options *memory,
                     rill_status (*more)(rill_context *ctx), engine_record *out);
void engine_record_clear(engine_record *record);
/* Whether results that must be equal to the last bit differ; where[size]: in what. */
int record_differ(const record_result *a, const record_result *b, char *where, size_t size);

/* 0 if the record is what the naive search expects, pool empty and contract kept; else 1 with a message. */
int problem_compare(const problem *p, const schedule *s, const engine_record *record, char *message, size_t size);

/* A problem with a schedule of the loop, under which nodes are too few at times, and what comes of it when nobody meddles. */
void problem_draw_undisturbed(problem *p, schedule *s, problem_group group, dice *d, engine_record *baseline);

/* One line that repeats the problem. */
void problem_describe(const problem *p, const schedule *s, char *out, size_t size);

/* Fail the test: what is wrong, and the seed and the line that repeat the problem. */
void problem_fail(const problem *p, const schedule *s, uint64_t seed, const char *what);

/* Fail the test so unless problem_compare() finds the record right. */
void problem_expect(const problem *p, const schedule *s, uint64_t seed, const engine_record *record);

/* The same unless the result of an input is equal to `expected`, to the last bit. */
void problem_expect_same(const problem *p, const schedule *s, uint64_t seed, int32_t input, const record_result *found,
                         const record_result *expected);

/* Run the engine under one schedule; 1 when problem_compare() finds a difference, unless `quiet` with everything on standard
 * error that is needed to repeat it. The run's counters in *stats, which may be NULL. */
int problem_differs(const problem *p, const schedule *s, uint64_t seed, int quiet, rill_stats *stats);

#endif
