/* The engine decodes a stream of inputs: submit inputs, step, take results.
 *
 * Three ways to use it, from simple to flexible:
 *   1. rill_run() (run.h): pass a reader and a writer; it loops.
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
 *   3. The same loop with your own domain (a kind of model): register it, or start from examples/template_domain.c.
 *
 * After a negative status from rill_engine_step() the engine can only be destroyed. Finished results can still be taken, including results
 * that waited for earlier inputs. A bad input is not a failure of the step: its result carries a status and a message.
 * An input of white space alone (as Unicode defines it, control characters included) has one output in every domain. This output is empty
 * and has no actions, so that every input line yields an output line. Byte order marks at the beginning of an input are skipped.
 * Threads: an engine and its context belong to one thread at a time. If the model's domain has runners (domain.h), the model serves any
 * number of engines, each in its own thread with its own context, and all of them may query its names. Otherwise it serves one engine at a
 * time and belongs to that engine's thread. workers.h runs several engines with one input queue and one output.
 * Stability: structs are only appended to. */
#ifndef RILL_ENGINE_H
#define RILL_ENGINE_H

#include "rill/model.h"
#include "rill/profile.h"
#include "rill/settings.h"
#include "rill/stats.h"

RILL_C_BEGIN

typedef struct rill_engine rill_engine;

/* What the engine passes to schedulers (scheduler.h), scorers (scorer.h) and the user functions declared below. */
typedef struct rill_sched_view rill_sched_view;
typedef struct rill_scorer_rows rill_scorer_rows;

/* A user's function that sets the budget of one timestep: the maximum number of hypotheses that it expands. Called before the scheduler
 * chooses items, with *budget and view->budget as in the settings. 0: no budget; negative: an error. The scheduler's `choose` sees the
 * returned budget, its `refill` and `encode_ahead` the setting.
 *   RILL_OK · a negative status ends the run */
typedef rill_status (*rill_budget_fn)(void *user, const rill_sched_view *view, int32_t *budget);

/* One heuristic, scorer or scheduler of a setup: its registered name and its arguments, e.g. {"absolute", "10"}. */
typedef struct rill_chain_entry {
    const char *name;
    const char *arguments; /* NULL means "" */
} rill_chain_entry;

/* Return the current time in seconds since an arbitrary origin; the time never goes back. */
typedef double (*rill_clock_fn)(void *user);

/* Equivalence classes for cube pruning: hypotheses with equal key[i] are equivalent. Called once per timestep and phase with all expanded
 * hypotheses. `rows` has no states. An item's keys must depend on that item's rows alone.
 *   key: [n], out
 *   a negative status after rill_fail() ends the run */
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
    /* NULL: the scheduler of the setting `method`; else the scheduler to use instead */
    const rill_chain_entry *scheduler;
    rill_trace_fn trace; /* called for every timestep and item event; NULL: no trace */
    void *trace_user;
    /* Sets the budget of each timestep; NULL: settings.budget. With a function, max_items has the default of a run with a budget. */
    rill_budget_fn budget;
    void *budget_user;
    /* [n_fields] Names of additional output fields that the domain provides (rill_domain.field), read by rill_output_field(). */
    const char *const *fields;
    int32_t n_fields;
    rill_clock_fn clock; /* the clock for deadlines (rill_request.timeout); NULL: the system's monotonic clock */
    void *clock_user;
    /* with the option cube: a function that returns a key for each hypothesis; equal keys form an equivalence class. NULL: the last
     * action */
    rill_key_fn cube_key;
    void *cube_key_user;
    /* position of the first input in a longer stream, for the seeds of samples. Ids count from 0 nevertheless */
    int64_t first_input;
    /* 1: the trace function also gets every candidate (rill_trace_event.hypotheses); 0: only numbers per item */
    int trace_hypotheses;
    /* 1: overdue items go first under every scheduler, for services without an end of input; 0: as rill_scheduler.overdue_first says. 64
     * bits, to lie beyond the padding of an older program's struct */
    int64_t overdue_first;
} rill_engine_setup;

/* Fill a setup with defaults: no heuristics, no scorers, the method's scheduler, no trace, no budget function. `size`: size of the
 * program's struct, as in rill_settings_init(). */
RILL_API void rill_engine_setup_init(rill_engine_setup *setup, size_t size);
static inline void rill_engine_setup_default(rill_engine_setup *setup)
{
    rill_engine_setup_init(setup, sizeof *setup);
}

/* Make an engine. Settings are resolved, and names are looked up in the context. Of `setup`, only `trace`, `budget` and `clock` with their
 * `user` pointers, and `fields`, must stay valid as long as the engine.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_NOT_FOUND (name) · RILL_ERR_ARGUMENT (the model serves another engine and cannot serve two) ·
 *   RILL_ERR_MEMORY · RILL_ERR_ABI (the setup's size) · a failure of create() of a heuristic, scorer or scheduler */
RILL_API rill_status rill_engine_create(rill_engine **out, rill_context *ctx, rill_model *model,
                                        const rill_engine_setup *setup);
RILL_API void rill_engine_destroy(rill_engine *engine); /* NULL is allowed; unfinished items are dropped */

/* Return the engine's settings with presets and defaults filled in. */
RILL_API const rill_settings *rill_engine_settings(const rill_engine *engine);

/* Returns the number of inputs that can be submitted now: 0 while the window of inputs is full, and after rill_engine_close_input(). */
RILL_API int64_t rill_engine_free_slots(const rill_engine *engine);

/* Submit one input of `length` bytes; the engine copies it. Inputs are numbered from 0.
 *   RILL_OK · RILL_AGAIN (queue full) · RILL_ERR_MEMORY (the input was not queued; the engine remains usable) */
RILL_API rill_status rill_engine_submit(rill_engine *engine, const char *text, size_t length);

/* Progress of an input's search after one of its timesteps. Each timestep is reported once, even if the search restarts for lack of memory.
 * Texts are NUL-terminated and valid during the call. */
typedef struct rill_progress {
    size_t struct_size;
    void *user; /* the pointer `user` of the input's request (rill_request.user) */
    int32_t timestep;
    /* The prefix that all still possible outputs share: number of actions, which never decreases, and text, as if an output were cut
     * there. Empty in exact search and with a scorer that may decode inputs again (rill_scorer.found). */
    int32_t final_actions;
    const char *final_text;
    size_t final_length;
    /* The beam's best hypothesis: its number of actions and its text. A later call may report another hypothesis. */
    int32_t draft_actions;
    const char *draft_text;
    size_t draft_length;
    double path_score; /* path score of the beam's best hypothesis, which is the draft */
} rill_progress;

/* Called on the engine's thread, or on a worker's thread; it must not call the engine. */
typedef void (*rill_progress_fn)(void *user, const rill_progress *progress);

/* An input with its own settings. Members that are 0 take the setup's value, so a request with text alone equals rill_engine_submit(). The
 * result is what an engine with these settings would return; other inputs' results are unaffected. */
typedef struct rill_request {
    size_t struct_size; /* sizeof(rill_request), set by the caller */
    const char *text;   /* [length] bytes; the engine copies it */
    size_t length;
    void *user; /* any pointer of the caller, passed back as rill_result.user */
    /* Search settings of this input (k, n_best, max_length, length_penalty ...). Settings of the run (method, n, max_items, budget, refill,
     * sort, flush_every, unordered, check, memory limits) and unknown_penalty are ignored: the engine's apply. NULL: all are the
     * engine's. */
    const rill_settings *settings;
    /* Arguments of the setup's heuristics [n_heuristics] and scorers [n_scorers], in the setup's order. NULL, also as an entry: the
     * setup's. Inputs with equal arguments share an instance. Heuristics do not prune an input with sampling or beam groups. If an instance
     * with own arguments fails, this input alone fails. So does an input with sampling, beam groups or cube pruning whose beam a scorer
     * divides into constraint banks. */
    const char *const *heuristics;
    const char *const *scorers;
    /* Deadline in seconds from now, by the engine's clock; 0: none. At the deadline the input returns its outputs and the ended hypotheses
     * of its beam, or, without any, its live hypotheses, marked as truncated. The result has `timed_out` set. Without hypotheses it fails
     * with RILL_ERR_DEADLINE. Deadlines are checked between timesteps. In a synchronous domain with one phase, without cube pruning, they
     * are also checked after every 256 rows. */
    double timeout;
    /* Called with `user` after each timestep of the input except its last. Each partial text costs a call of finalize. NULL: no reports. */
    rill_progress_fn progress;
    /* Seed samples as for line `number` of a run, counted from 1; 0: the seed depends on the input's id. */
    int64_t number;
    /* Options for reading this input (rill_domain.input_options): NAME=VALUE separated by spaces; a name's last value wins. NULL: as the
     * model was opened. */
    const char *input_options;
} rill_request;

/* Return 1 if a request may override this setting (a row of rill_setting_table()), 0 if the setting belongs to the run. */
RILL_API int rill_setting_is_per_request(const rill_option *setting);

/* Upper bounds on the cost of searching one input under its settings: servers can decide whether to accept a request. Most searches cost
 * far less. The model's memory is excluded: max-nodes and memory limit its states. */
typedef struct rill_cost {
    size_t struct_size; /* sizeof(rill_cost), set by the caller */
    double steps;       /* maximum number of timesteps */
    /* maximum number of hypotheses that the model expands. With several phases per timestep (rill_domain_info.phases) each phase counts */
    double rows;
    double bytes; /* memory for the choices of a timestep, hypotheses, outputs and the result */
} rill_cost;

/* Write the bounds for an input of `size` (rill_input.size) under resolved settings (rill_search_config.resolved) to *out. */
RILL_API void rill_settings_cost(const rill_settings *resolved, const rill_domain_info *info, double size,
                                 rill_cost *out);

/* Submit a request; *id is its result's id. `id` may be NULL.
 *   RILL_OK · RILL_AGAIN (queue full) · RILL_ERR_OPTION (a setting or option of the request is invalid, or create() of a
 *   heuristic or scorer refuses its arguments) · RILL_ERR_ABI (struct_size is wrong) · RILL_ERR_MEMORY;
 *   on any failure nothing was queued and the engine remains usable */
RILL_API rill_status rill_engine_submit_request(rill_engine *engine, const rill_request *request, int64_t *id);

/* Cancel an input that has no result yet: its result has the status RILL_ERR_CANCELLED. Its states are freed at once, or when its submitted
 * calls are collected (domain.h).
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such input, or it has a result or was cancelled) · RILL_ERR_MEMORY */
RILL_API rill_status rill_engine_cancel(rill_engine *engine, int64_t id);

/* Make rill_run() return RILL_ERR_STOPPED before the next timestep, even with inputs left, or between parts of a long one (see
 * rill_request.timeout); rill_engine_step() returns it then, too. Results finished by then are written first, as far as output order
 * allows. A stopped engine stays stopped. Any thread; async-signal-safe. */
RILL_API void rill_engine_stop(rill_engine *engine);

/* Submit an input that has already failed, such as an unreadable line: its result carries the status and the message. Returns as
 * rill_engine_submit(). */
RILL_API rill_status rill_engine_submit_failed(rill_engine *engine, rill_status status, const char *message);

/* Tell the engine that no more inputs will be submitted. */
RILL_API void rill_engine_close_input(rill_engine *engine);

/* Admit inputs as the scheduler decides, then run one timestep. With an asynchronous domain, run until one of the timesteps in progress is
 * complete.
 *   RILL_OK · RILL_AGAIN (nothing in flight and nothing waiting) · a negative status: the run is over */
RILL_API rill_status rill_engine_step(rill_engine *engine);

/* Return 1 if no input is waiting or in flight and all results have been taken, else 0. */
RILL_API int rill_engine_idle(const rill_engine *engine);

/* Return the number of inputs that are waiting or in flight. */
RILL_API int64_t rill_engine_pending(const rill_engine *engine);

/* The reason why an output ends. */
typedef enum rill_finish_reason {
    RILL_FINISH_REASON_STOP = 0,  /* with an end action, or as the domain itself ends outputs */
    RILL_FINISH_REASON_LENGTH,    /* at the length limit */
    RILL_FINISH_REASON_TIMEOUT,   /* at the deadline of the request */
    RILL_FINISH_REASON_HEURISTIC, /* because a heuristic stopped the search */
} rill_finish_reason;

/* The reason's name in JSON: "stop", "length", "timeout" or "heuristic". */
RILL_API const char *rill_finish_reason_name(rill_finish_reason reason);

/* Outputs and results belong to librill, which may have more members than the program's header. */
typedef struct rill_output {
    size_t struct_size; /* size of the library's rill_output */
    const char *text;   /* the text that the domain's finalize wrote; NUL-terminated */
    size_t text_bytes;  /* bytes of text, without the NUL */
    double path_score;  /* sum over actions of log-probabilities and scorers' bonuses */
    /* number by which outputs are ordered: path_score with length_penalty and word_penalty applied */
    double score;
    double logp; /* sum of the model's log-probabilities */
    /* timesteps without an end action. The penalties use this length, plus 1 for the end action under count_end */
    int32_t length;
    rill_finish_reason finish_reason; /* RILL_FINISH_REASON_STOP: complete; all other reasons: truncated */
    const int32_t *ids;               /* [n_ids] the actions (token ids), the end action included */
    const float *id_logps;            /* [n_ids] log-probability of each action */
    int32_t n_ids;
    /* with the setting certify, 1: proven that nothing else the model can output ranks higher, except the outputs before this one */
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
    int32_t has_more;  /* 1: another result is ready; 0: the next one may take long, so flush buffered output */
    void *user;        /* `user` of the input's request, else NULL */
    /* the domain's warning about how it read the input ("the model does not know ..."), else "" */
    const char *warning;
    int32_t outputs_requested; /* the input's n-best; 0: it is empty or failed */
    const char *fewer_reason;  /* static text: why the search may find fewer outputs than requested, else NULL */
} rill_result;

/* Output i of n_outputs, best first; NULL if there is no output i. Valid as long as the result. */
RILL_API const rill_output *rill_result_output(const rill_result *result, int32_t i);

/* Returns 1 if an input that did not fail has fewer outputs than requested, else 0. If so, writes "2 of 5 outputs: REASON", which names the
 * limiting option, to `out` (`size` bytes; NULL: no text). */
RILL_API int rill_result_has_fewer(const rill_result *result, char *out, size_t size);

/* The output's value of rill_engine_setup.fields[index], NUL-terminated; borrowed, valid as long as the output's text. */
RILL_API const char *rill_output_field(const rill_output *output, int32_t index);

/* Take the next finished result: in input order, or by completion with `unordered`. After a failed step, ids of unfinished inputs are
 * skipped.
 *   *out is borrowed: valid until the next call with this engine
 *   RILL_OK · RILL_AGAIN (no result is ready) */
RILL_API rill_status rill_engine_next(rill_engine *engine, const rill_result **out);

/* Write the counters so far to *out, at most out->struct_size bytes, which the caller sets. So callers with an older struct keep
 * working. */
RILL_API void rill_engine_stats(const rill_engine *engine, rill_stats *out);

/* Start profiling the model's operations with all counters at zero (on = 1), or stop (on = 0).
 *   RILL_OK · RILL_ERR_OPTION (the domain has no profiles: it runs no graphs on a device) */
RILL_API rill_status rill_engine_profile(rill_engine *engine, int on);
/* Write operation i of the profile, from 0, in execution order, to *out. Returns 1, or 0 if there is no operation i. */
RILL_API int rill_engine_profile_row(const rill_engine *engine, int32_t i, rill_op_profile *out);
/* Measure the peak performance of one thread, in about a tenth of a second.
 *   RILL_OK · RILL_ERR_OPTION (as rill_engine_profile()) · RILL_ERR_MEMORY */
RILL_API rill_status rill_engine_limits(rill_engine *engine, rill_limits *out);

RILL_C_END

#endif
