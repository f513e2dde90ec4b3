/* The engine decodes a stream of inputs: submit inputs, step, take results.
 *
 * Three ways to use it, from simple to flexible:
 *   1. rill_run() (run.h): pass a reader and a writer.
 *   2. The loop inside rill_run():
 *
 *          rill_model *model;  rill_engine *engine;
 *          rill_model_open(&model, ctx, "semparse", &open_options);
 *          rill_engine_create(&engine, ctx, model, &setup);
 *          while (!done) {
 *              while (rill_engine_free_slots(engine) > 0 && have_input)
 *                  rill_engine_submit(engine, text, length);
 *              if (no_more_input) rill_engine_close_input(engine);
 *              rill_engine_step(engine);                           // admit, then one timestep
 *              while (rill_engine_next(engine, &result) == RILL_OK)
 *                  use(result);                                    // in input order
 *          }
 *
 *   3. The same loop with your own domain (a kind of model), see examples/template_domain.c.
 *
 * A bad input fails alone: its result has a status and a message. If rill_engine_step() fails, only take results and destroy the engine.
 * An input of white space alone has one empty output, so every input line has an output line. A leading byte order mark is skipped.
 * Threads: an engine and its context belong to one thread at a time. A model whose domain has runners (domain.h) serves any number of
 * engines in different threads; other models serve one engine. workers.h runs several engines.
 * Stability: structs are only appended to. */
#ifndef RILL_ENGINE_H
#define RILL_ENGINE_H

#include "rill/model.h"
#include "rill/profile.h"
#include "rill/settings.h"
#include "rill/stats.h"

RILL_C_BEGIN

typedef struct rill_engine rill_engine;

/* Arguments of schedulers (scheduler.h), scorers (scorer.h) and the functions below. */
typedef struct rill_sched_view rill_sched_view;
typedef struct rill_scorer_rows rill_scorer_rows;

/* Sets the budget of one timestep: the maximum number of hypotheses to expand. Called before the scheduler chooses items.
 *   *budget: the setting on entry; 0: no budget; negative: an error
 *   RILL_OK · a negative status ends the run */
typedef rill_status (*rill_budget_fn)(void *user, const rill_sched_view *view, int32_t *budget);

/* A heuristic, scorer or scheduler: its registered name and its arguments, e.g. {"absolute", "10"}. */
typedef struct rill_chain_entry {
    const char *name;
    const char *arguments; /* NULL means "" */
} rill_chain_entry;

/* Return a monotonic time in seconds. */
typedef double (*rill_clock_fn)(void *user);

/* Equivalence classes for cube pruning: hypotheses with equal keys are equivalent. Called once per timestep and phase.
 * An item's keys may depend on that item's rows alone. `rows` has no states.
 *   key: [n], out
 *   A negative status after rill_fail() ends the run. */
typedef rill_status (*rill_key_fn)(void *user, const rill_scorer_rows *rows, int64_t *key);

typedef struct rill_engine_setup {
    size_t struct_size;
    union {
        rill_settings settings;
        char settings_space[RILL_SETTINGS_SPACE];
    };
    const rill_chain_entry *heuristics; /* [n_heuristics], applied in this order */
    int32_t n_heuristics;
    const rill_chain_entry *scorers; /* [n_scorers] scorers of the run */
    int32_t n_scorers;
    /* scheduler of the run; NULL: the one of the setting `method` */
    const rill_chain_entry *scheduler;
    rill_trace_fn trace; /* called for every timestep and every event of an input; NULL: no trace */
    void *trace_user;
    /* sets the budget of each timestep; NULL: settings.budget */
    rill_budget_fn budget;
    void *budget_user;
    /* [n_fields] additional output fields (rill_domain.field), read by rill_output_field() */
    const char *const *fields;
    int32_t n_fields;
    rill_clock_fn clock; /* the clock for deadlines (rill_request.timeout); NULL: the system's monotonic clock */
    void *clock_user;
    /* equivalence classes for cube pruning; NULL: by last action */
    rill_key_fn cube_key;
    void *cube_key_user;
    /* position of the first input in a longer stream, for seeds of sampling */
    int64_t first_input;
    /* 1: trace events list every candidate; 0: only counts per input */
    int trace_hypotheses;
    /* 1: overdue items go first under every scheduler; 0: as rill_scheduler.overdue_first says. 64 bits: padding of older structs is
     * undefined */
    int64_t overdue_first;
} rill_engine_setup;

/* Fill a setup with defaults. size: sizeof of the caller's struct, as in rill_settings_init(). */
RILL_API void rill_engine_setup_init(rill_engine_setup *setup, size_t size);
static inline void rill_engine_setup_default(rill_engine_setup *setup)
{
    rill_engine_setup_init(setup, sizeof *setup);
}

/* Create an engine. Keep valid while the engine exists: the setup's `fields`, and `trace`, `budget` and `clock` with their user pointers.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_NOT_FOUND (name) · RILL_ERR_ARGUMENT (the model already serves another engine) ·
 *   RILL_ERR_MEMORY · RILL_ERR_ABI (the setup's size) · a failure of create() of a heuristic, scorer or scheduler */
RILL_API rill_status rill_engine_create(rill_engine **out, rill_context *ctx, rill_model *model,
                                        const rill_engine_setup *setup);
/* destroying NULL does nothing; unfinished inputs are dropped */
RILL_API void rill_engine_destroy(rill_engine *engine);

/* Return the engine's settings, with presets and defaults filled in. */
RILL_API const rill_settings *rill_engine_settings(const rill_engine *engine);

/* Returns the number of inputs that can be submitted now; 0 after rill_engine_close_input(). */
RILL_API int64_t rill_engine_free_slots(const rill_engine *engine);

/* Submit one input of `length` bytes; the engine copies it. Inputs are numbered from 0.
 *   RILL_OK · RILL_AGAIN (queue full) · RILL_ERR_MEMORY (the input was not queued; the engine remains usable) */
RILL_API rill_status rill_engine_submit(rill_engine *engine, const char *text, size_t length);

/* Progress of an input after one of its timesteps, reported once per timestep. Texts are NUL-terminated, valid during the call. */
typedef struct rill_progress {
    size_t struct_size;
    void *user; /* the pointer `user` of the input's request (rill_request.user) */
    int32_t timestep;
    /* The prefix common to all outputs still possible: number of actions, which never decreases, and text. Empty in exact search, and with
     * a scorer that may decode again (rill_scorer.found). */
    int32_t final_actions;
    const char *final_text;
    size_t final_length;
    /* The beam's best hypothesis: number of actions, and text. May change completely between calls. */
    int32_t draft_actions;
    const char *draft_text;
    size_t draft_length;
    double path_score; /* path score of the beam's best hypothesis */
} rill_progress;

/* Called on the engine's or a worker's thread; must not call the engine. */
typedef void (*rill_progress_fn)(void *user, const rill_progress *progress);

/* An input with its own settings. Members that are 0 take the setup's values. Other inputs' results are unaffected. */
typedef struct rill_request {
    size_t struct_size; /* sizeof(rill_request), set by the caller */
    const char *text;   /* [length] bytes; the engine copies it */
    size_t length;
    void *user; /* any pointer of the caller, passed back as rill_result.user */
    /* Search settings of this input (k, n_best, max_length, length_penalty ...); NULL: the engine's. Settings of the whole run are
     * ignored, see rill_setting_is_per_request(). */
    const rill_settings *settings;
    /* Arguments of the setup's heuristics [n_heuristics] and scorers [n_scorers], in order. NULL, also as an entry: the setup's.
     * If an instance with own arguments fails, this input alone fails. Heuristics do not prune sampling and beam groups. Constraint banks
     * exclude sampling, beam groups and cube pruning. */
    const char *const *heuristics;
    const char *const *scorers;
    /* Deadline in seconds from now, by the engine's clock; 0: none. At the deadline the input returns its ended hypotheses, or, if none,
     * its live ones, marked as truncated; if none of these, it fails with RILL_ERR_DEADLINE. rill_result.timed_out is set.
     * Checked between timesteps; in synchronous domains with one phase and no cube pruning, after every 256 rows too. */
    double timeout;
    /* Called with `user` after each timestep except the last. Each text costs a finalize call. NULL: no reports. */
    rill_progress_fn progress;
    /* Seed of sampling: as for line `number` of a run, from 1; 0: by the input's id. */
    int64_t number;
    /* Options for reading this input (rill_domain.input_options): NAME=VALUE, separated by spaces; the last value wins. NULL: as the model
     * was opened. */
    const char *input_options;
} rill_request;

/* Return 1 if a request may override this setting (a row of rill_setting_table()), 0 if not. */
RILL_API int rill_setting_is_per_request(const rill_option *setting);

/* Upper bounds on the cost of one input's search, for servers that limit requests. Most searches cost far less.
 * The model's own memory is not included. */
typedef struct rill_cost {
    size_t struct_size; /* sizeof(rill_cost), set by the caller */
    double steps;       /* maximum number of timesteps */
    /* maximum number of hypotheses that the model expands, summed over phases */
    double rows;
    double bytes; /* memory for choices, hypotheses, outputs and the result */
} rill_cost;

/* Write the bounds for an input of `size` (rill_input.size). resolved: rill_search_config.resolved */
RILL_API void rill_settings_cost(const rill_settings *resolved, const rill_domain_info *info, double size,
                                 rill_cost *out);

/* Submit a request. *id: the id of its result; `id` may be NULL. On failure nothing is queued, and the engine remains usable.
 *   RILL_OK · RILL_AGAIN (queue full) · RILL_ERR_OPTION (invalid setting, option or arguments) · RILL_ERR_ABI (struct_size) ·
 *   RILL_ERR_MEMORY */
RILL_API rill_status rill_engine_submit_request(rill_engine *engine, const rill_request *request, int64_t *id);

/* Cancel an input without a result: its result gets the status RILL_ERR_CANCELLED.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such input, has a result, or cancelled before) · RILL_ERR_MEMORY */
RILL_API rill_status rill_engine_cancel(rill_engine *engine, int64_t id);

/* Stop the run: rill_run() and rill_engine_step() return RILL_ERR_STOPPED before the next timestep. Finished results are written first,
 * as far as output order allows. Permanent. Any thread; async-signal-safe. */
RILL_API void rill_engine_stop(rill_engine *engine);

/* Submit an input that has already failed, e.g. an unreadable line: its result carries status and message. Returns as
 * rill_engine_submit(). */
RILL_API rill_status rill_engine_submit_failed(rill_engine *engine, rill_status status, const char *message);

/* No more inputs will be submitted. */
RILL_API void rill_engine_close_input(rill_engine *engine);

/* Admit inputs as the scheduler decides, then run one timestep. Asynchronous domains: run until some timestep is complete.
 *   RILL_OK · RILL_AGAIN (nothing in flight, nothing waiting) · a negative status: the run is over */
RILL_API rill_status rill_engine_step(rill_engine *engine);

/* Return 1 if no input is waiting or in flight and all results are taken, else 0. */
RILL_API int rill_engine_idle(const rill_engine *engine);

/* Why an output ends. */
typedef enum rill_finish_reason {
    RILL_FINISH_REASON_STOP = 0,  /* the output is complete: its last action ends it */
    RILL_FINISH_REASON_LENGTH,    /* the output was cut off at the length limit */
    RILL_FINISH_REASON_TIMEOUT,   /* the output was cut off at the request's deadline */
    RILL_FINISH_REASON_HEURISTIC, /* the output was cut off because a heuristic stopped the search */
} rill_finish_reason;

/* The reason's name in JSON: "stop", "length", "timeout" or "heuristic". */
RILL_API const char *rill_finish_reason_name(rill_finish_reason reason);

/* Outputs and results belong to the library, which may have more members than your header. */
typedef struct rill_output {
    size_t struct_size; /* size of the library's rill_output */
    const char *text;   /* the text that the domain's finalize wrote; NUL-terminated */
    size_t text_bytes;  /* bytes of text, without the NUL */
    double path_score;  /* sum of log-probabilities and scorers' bonuses */
    /* score by which outputs are ranked: path_score with length_penalty and word_penalty applied */
    double score;
    double logp; /* sum of the model's log-probabilities */
    /* number of actions without the end action; the penalties add 1 under count_end */
    int32_t length;
    rill_finish_reason finish_reason; /* RILL_FINISH_REASON_STOP: complete; others: truncated */
    const int32_t *ids;               /* [n_ids] the actions (token ids), the end action included */
    const float *id_logps;            /* [n_ids] log-probability of each action */
    int32_t n_ids;
    /* with the setting certify, 1: proven that no other output of the model ranks above this one, except outputs listed before it */
    int certified;
} rill_output;

typedef struct rill_result {
    size_t struct_size;                 /* size of the library's rill_result */
    int64_t id;                         /* position in the input stream, from 0 */
    rill_status status;                 /* RILL_OK, or the reason why there are no outputs */
    const char *message;                /* a sentence when status is negative, else "" */
    const struct rill_outputs *outputs; /* the outputs; read them by rill_result_output() */
    int32_t n_outputs;                  /* number of outputs: n_best, or fewer if the search found fewer */
    int32_t outputs_found;
    int32_t timed_out; /* 1: the deadline passed first; the outputs, if any, are the best so far */
    int32_t has_more;  /* 1: another result is ready; 0: the next may take long, flush buffered output */
    void *user;        /* `user` of the input's request, else NULL */
    /* the domain's warning about the input, else "" */
    const char *warning;
    int32_t outputs_requested; /* the input's n-best; 0: the input is empty or failed */
    const char *fewer_reason;  /* static text: why the search may find fewer outputs, else NULL */
} rill_result;

/* Return output i, best first; NULL if i is out of range. Valid as long as the result. */
RILL_API const rill_output *rill_result_output(const rill_result *result, int32_t i);

/* Returns 1 if an input has fewer outputs than requested, but did not fail; else 0. Then writes "2 of 5 outputs: REASON" to `out`
 * (`size` bytes, or NULL). */
RILL_API int rill_result_has_fewer(const rill_result *result, char *out, size_t size);

/* Return the output's value of rill_engine_setup.fields[index], NUL-terminated; valid as long as the result. */
RILL_API const char *rill_output_field(const rill_output *output, int32_t index);

/* Take the next result: in input order, or by completion with `unordered`. After a failed step unfinished inputs are skipped.
 *   *out: borrowed, valid until the next call with this engine
 *   RILL_OK · RILL_AGAIN (no result is ready) */
RILL_API rill_status rill_engine_next(rill_engine *engine, const rill_result **out);

/* Write the counters so far to *out, at most out->struct_size bytes. The caller sets struct_size. */
RILL_API void rill_engine_stats(const rill_engine *engine, rill_stats *out);

/* Start profiling the model's operations from zero (on = 1), or stop (on = 0).
 *   RILL_OK · RILL_ERR_OPTION (the domain has no profiles) */
RILL_API rill_status rill_engine_profile(rill_engine *engine, int on);
/* Write the profile of operation i to *out. Returns 1; 0 if there is none. */
RILL_API int rill_engine_profile_row(const rill_engine *engine, int32_t i, rill_op_profile *out);
/* Measure one thread's peak performance, in about 0.1 s.
 *   RILL_OK · RILL_ERR_OPTION (as rill_engine_profile()) · RILL_ERR_MEMORY */
RILL_API rill_status rill_engine_limits(rill_engine *engine, rill_limits *out);

RILL_C_END

#endif
