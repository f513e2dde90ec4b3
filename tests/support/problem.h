/* A random search problem, and its results by the naive search and by the engine under any schedule.
 *
 * Order of use: problem_draw(), problem_solve(), then per schedule engine_run(), problem_compare(), engine_record_clear(); at the end
 * problem_clear(). */
#pragma once

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

/* A random model, its inputs, and the search settings. Scheduling settings are in `schedule`. */
typedef struct problem {
    const char *domain;  /* name of the domain, which is opened with the toy's arguments; NULL: the toy domain */
    char arguments[320]; /* arguments with which the domain is opened */
    toy_model model;
    char input[PROBLEM_MAX_INPUTS][32];
    int32_t n_inputs;
    char method[32];
    rill_settings settings; /* search settings; scheduling settings are not used */
    problem_name heuristic[NAIVE_MAX_CHAIN];
    int32_t n_heuristics;
    problem_name scorer[NAIVE_MAX_CHAIN];
    int32_t n_scorers;
    /* the same problem in the form of the naive search */
    naive_problem naive;
    /* the engine's cube_key function, for cube pruning; naive.cube_key is the same for the naive search */
    rill_key_fn cube_key;
    test_random random_heuristic[NAIVE_MAX_CHAIN], random_scorer[NAIVE_MAX_CHAIN];
    test_phrases phrases[NAIVE_MAX_CHAIN]; /* phrases of the scorers that are constraints */
    naive_result *expected;                /* [n_inputs] results of the naive search, set by problem_solve() */
} problem;

/* Groups of methods. The methods of a group have equal search settings, and therefore equal results. */
typedef enum problem_group {
    PROBLEM_PRUNED,    /* var-batch, var-stream, var-stream-fifo, top-up, stream-all */
    PROBLEM_FIXED_TOP, /* fixed, fixed-stream, both with finish top */
    PROBLEM_FIXED,     /* fixed with finish immediate */
    PROBLEM_GREEDY
} problem_group;

/* Names of the methods of a group, NULL-terminated. */
const char *const *problem_methods(problem_group group);

void problem_draw(problem *p, problem_group group, dice *d);
/* Draw settings that follow other decoders' conventions: finish, keep, stop, at-limit, whether lengths count the end action, penalties. */
void problem_draw_conventions(problem *p, problem_group group, dice *d);
/* Draw constraints, appended to the scorers, and n-gram blocking. */
void problem_draw_constraints(problem *p, dice *d);
/* Draw sequences of actions that the model forbids. */
void problem_forbid(problem *p, dice *d);
/* Draw the arguments of the problem's heuristics and scorers again. */
void problem_draw_arguments(problem *p, dice *d);
/* Given p[0] from problem_draw(), draw n - 1 variants: same model and inputs, other per-request settings, including
 * conventions. */
void problem_draw_variants(problem *p, int n, problem_group group, dice *d);
void problem_solve(problem *p);
void problem_clear(problem *p);

/* Whether input i is searched: it is neither invalid nor blank. */
int problem_is_searched(const problem *p, int32_t i);

/* Compute input i's best score over its whole space. Returns 0 without a complete output, or for an invalid or blank input. */
int problem_optimum(const problem *p, int32_t i, double *score);

/* As naive_count_above(), for input i, which must be neither invalid nor blank. */
int64_t problem_count_above(const problem *p, int32_t i, double rank);

typedef struct engine_record engine_record;

/* A function that cancels an input of `runner`, an engine or workers. */
typedef rill_status (*test_cancel)(void *runner, int64_t id);

typedef struct hooks {
    void *user;
    rill_clock_fn clock;
    /* Submits input i to the engine; NULL: the run's loop submits it. */
    rill_status (*submit)(void *user, rill_engine *engine, const problem *p, int32_t i);
    /* Called after each step and after its results were taken. */
    void (*on_step)(void *user, rill_engine *engine);
    /* Sets the request options of input i. Only rill_run() and workers call this member and on_call. */
    void (*set_request)(void *user, const problem *p, int32_t i, rill_request *out);
    /* Called at each read of an input, and after each write of a result. */
    void (*on_call)(void *user, test_cancel cancel, void *runner, const engine_record *so_far);
} hooks;

/* All settings that say how to decode, without effect on the results. */
typedef struct schedule {
    const char *method;
    int32_t n, max_items, budget;
    int32_t max_nodes; /* limit on the number of states; 0: no limit */
    int64_t memory;
    /* maximum number of states that max_nodes and `memory` (bytes) allow; 0: no limit. Inputs that need more states are expected to fail */
    int32_t bound;
    double refill; /* refill threshold; below 0: the default */
    rill_sort sort;
    int32_t sort_window, flush_every, unordered, check;
    /* name and arguments of the scheduler; NULL: the method's own scheduler */
    const char *scheduler, *scheduler_arguments;
    rill_budget_fn budget_fn; /* budget function; NULL: none. Not drawn at random */
    void *budget_user;
    int overdue_first; /* rill_engine_setup.overdue_first; not drawn at random */
    /* The test's callbacks; NULL: none. */
    const struct hooks *hooks;
    int by_run;      /* 1: use rill_run() instead of the loop of rill/engine.h */
    int32_t workers; /* number of workers; if more than one, rill_workers_run() is used. Not drawn at random */
    int own_thread;  /* 1: use rill_workers_run() also for a single worker, in its own thread */
    /* group_rows + 1 of an asynchronous domain; 0: as the option --late says, else a synchronous domain. Not drawn at random */
    int32_t async_rows;
    int32_t fail_collect; /* number of the collect call that fails, counted from 1; 0: none */
    int32_t sync_group;   /* 1 + the micro-batch (rill_rows.group) whose calls are answered synchronously; 0: none */
    int reader_blocks;    /* 1: with rill_run(), the reader often has no input available */
    int untraced;         /* 1: run without a trace; traces do not change results. Not drawn at random */
} schedule;

void schedule_draw(schedule *s, problem_group group, dice *d);

typedef struct record_output {
    char *text;
    int32_t *action;
    float *logps;
    rill_output value; /* copy of the engine's struct; its pointers are no longer valid */
} record_output;

/* Whether the output was cut short. Only this is compared between runs, since the reason may differ from run to run. */
static inline int is_truncated(const rill_output *o)
{
    return o->finish_reason != RILL_FINISH_REASON_STOP;
}

typedef struct record_result {
    int taken; /* how often this id was returned */
    rill_status status;
    char message[160];
    int32_t n, outputs_found, timed_out;
    void *user;
    int64_t position; /* place among the results in order of arrival */
    record_output *output;
} record_result;

/* One timestep of the trace. */
typedef struct record_timestep {
    int32_t n, in_flight;
    int64_t rows;
    int32_t widest;
    int64_t *item;   /* [n] numbers of the items */
    int32_t *depth;  /* [n] earlier timesteps of each item */
    int32_t *width;  /* [n] live hypotheses of each item before expansion */
    int32_t *merged; /* [n] candidates of each item before pruning */
    int32_t *kept;   /* [n] candidates of each item's new beam, live and ended */
    rill_seconds seconds;
    int64_t event_index; /* index of the timestep among all events of the trace */
} record_timestep;

typedef struct record_event {
    rill_trace_kind kind;
    int64_t timestep, item;
    int32_t item_timesteps, worker;
} record_event;

struct engine_record {
    rill_status status; /* status of the run */
    char message[4100];
    int64_t n_results;
    record_result result[PROBLEM_MAX_INPUTS];
    rill_stats stats;  /* counters at the end of the run */
    async_table async; /* with an asynchronous domain: its table, with the numbers of calls */
    /* maximum number of finished results that waited for earlier inputs after a step; rill_run() does not count them */
    int64_t max_held;
    toy_report toy;

    record_timestep *timestep;
    int64_t n_timesteps, timestep_capacity;
    record_event *event;
    int64_t n_events, event_capacity;
};

/* Run the engine. `memory` may be NULL. Asserts nothing: check the record. */
void engine_run(const problem *p, const schedule *s, const rill_context_options *memory, engine_record *out);
/* As engine_run(). `more` is called before the model is opened, to register more plugins. */
void engine_run_with(const problem *p, const schedule *s, const rill_context_options *memory,
                     rill_status (*more)(rill_context *ctx), engine_record *out);
void engine_record_clear(engine_record *record);
/* Whether two results that must be bit-identical differ. `where` (`size` bytes) gets the name of what differs. */
int record_differ(const record_result *a, const record_result *b, char *where, size_t size);

/* 0 if the record matches the naive search, the pool is empty and the contract was kept; else 1 with a message. */
int problem_compare(const problem *p, const schedule *s, const engine_record *record, char *message, size_t size);

/* Draw a problem and a schedule for rill/engine.h's loop, sometimes with few states. *baseline: results of an undisturbed run. */
void problem_draw_undisturbed(problem *p, schedule *s, problem_group group, dice *d, engine_record *baseline);

/* Write one line from which the problem can be repeated. */
void problem_describe(const problem *p, const schedule *s, char *out, size_t size);

/* Fail the test, reporting what is wrong, the seed, and the line that repeats the problem. */
void problem_fail(const problem *p, const schedule *s, uint64_t seed, const char *what);

/* Fail the test unless problem_compare() accepts the record. */
void problem_expect(const problem *p, const schedule *s, uint64_t seed, const engine_record *record);

/* Fail the test unless the result of an input equals `expected` to the last bit. */
void problem_expect_same(const problem *p, const schedule *s, uint64_t seed, int32_t input, const record_result *found,
                         const record_result *expected);

/* Run one schedule. Returns 1 if problem_compare() finds a difference, and prints how to repeat it unless `quiet`. *stats: the run's
 * counters, or NULL. */
int problem_differs(const problem *p, const schedule *s, uint64_t seed, int quiet, rill_stats *stats);
