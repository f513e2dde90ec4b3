/* The engine: inputs go in, decoded outputs come out, and a step at a time in between.
 *
 * Three ways to use it, from simple to free:
 *   1. rill_run() (run.h): give a reader and a writer; it loops.
 *   2. The loop that rill_run() is made of:
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
 *   3. The same with a domain of your own: register it, or use examples/template_domain.c as a start.
 *
 * After a negative status from rill_engine_step() the engine can only be destroyed; results already finished can still be
 * taken, those too that waited for inputs before them. One bad input is not such a failure: its result carries a status and a message.
 * An input of nothing but blanks (in Unicode's sense, control characters among them) has one output, which is empty and has no actions,
 * whatever the domain: line in, line out. Byte order marks that an input begins with are no part of it.
 * Threads: an engine and its context belong to one thread at a time. The model of a domain that starts runners (domain.h) serves
 * any number of engines, each in a thread of its own with a context of its own, and may be asked for names by all of them; any
 * other serves one engine at a time and belongs to its thread. workers.h runs several engines behind one input and one output.
 * Stability: structs are only appended to. */
#ifndef RILL_ENGINE_H
#define RILL_ENGINE_H

#include "rill/domain.h"
#include "rill/heuristic.h"
#include "rill/scheduler.h"
#include "rill/scorer.h"
#include "rill/settings.h"
#include "rill/stats.h"

RILL_C_BEGIN

typedef struct rill_engine rill_engine;

/* Open a model with a registered domain.
 *   out: on success a model the caller closes after its engine; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such domain) · RILL_ERR_OPTION (the domain does not take what was given) ·
 *   RILL_ERR_ABI (the options' size) · what the domain's open returns */
RILL_API rill_status rill_model_open(rill_model **out, rill_context *ctx, const char *domain,
                                     const rill_open_options *options);
RILL_API void rill_model_close(rill_model *model); /* NULL is allowed */
RILL_API const rill_domain *rill_model_domain(const rill_model *model);
RILL_API const rill_domain_info *rill_model_info(const rill_model *model);

/* Whether a model of the domain serves several engines at once: it has start and stop. */
RILL_API int rill_domain_has_runners(const rill_domain *domain);

/* Append the text of an action to `out`, whose context is set and records failures; on failure `out` is as before.
 *   RILL_OK · RILL_ERR_NOT_FOUND (the domain names no actions, or not this one; no such action) · RILL_ERR_MEMORY */
RILL_API rill_status rill_model_action_name(const rill_model *model, int32_t action, rill_text *out);
/* The action of that name; RILL_NO_ACTION when there is none or the domain names no actions. */
RILL_API int32_t rill_model_find_action(const rill_model *model, const char *text, size_t length);
/* The actions that write a text within an output, none that begins or ends one: *n is how many they are, and the first `room` of
 * them are in `action`; an empty text has none. Texts are what outputs are: for translations sentences, for logical forms their
 * tokens with blanks between. Where an output is no row of actions (trees), and where the domain makes no actions of texts, a text is
 * names of actions with blanks between; there an action without a name has its number.
 *   ctx: the asking thread's, a scorer's own for instance: what fails is recorded there
 *   on failure *n is 0
 *   RILL_OK · RILL_ERR_NOT_FOUND (the domain makes no actions of texts and names none) · RILL_ERR_INPUT (it cannot be written with
 *   this model's) · RILL_ERR_ARGUMENT (NULL, of some bytes) · RILL_ERR_PLUGIN (the domain gave what are no actions) ·
 *   RILL_ERR_MEMORY */
RILL_API rill_status rill_model_tokenize(const rill_model *model, rill_context *ctx, const char *text, size_t length,
                                         int32_t *action, int32_t room, int32_t *n);
/* The action that all outputs of an input begin with whatever their texts say, as the symbol of a language; RILL_NO_ACTION: none.
 * ctx: the asking thread's; nothing is recorded there. */
RILL_API int32_t rill_model_first_action(const rill_model *model, rill_context *ctx, const char *input, size_t length);

/* The sentences of an input that is better decoded as several: see rill_domain.split, whose parameters these are. A caller submits
 * `head` and a sentence for each, in order, and writes the outputs with what lies between the sentences.
 *   ctx: the asking thread's
 *   RILL_OK · RILL_ERR_NOT_FOUND (recorded: the model has no such inputs) · RILL_ERR_PLUGIN (no parts of it, ascending) ·
 *   RILL_ERR_MEMORY; on failure *n is 0 */
RILL_API rill_status rill_model_split(const rill_model *model, rill_context *ctx, int always, const char *text,
                                      size_t length, rill_part *part, int32_t room, int32_t *n, size_t *head);

/* Options that an input may have of its own (rill_domain.input_options); NULL: there are none. */
RILL_API const rill_option *rill_domain_input_rows(const rill_domain *domain);
/* Append NAME=VALUE to a request's options (rill_request.options) in `out`, whose context records what fails; then `out` is as before.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no input has an option of that name) · RILL_ERR_OPTION (the value is none of its) · RILL_ERR_MEMORY */
RILL_API rill_status rill_domain_input_option(const rill_domain *domain, const char *name, const char *value,
                                              rill_text *out);

/* One element of a chain: a registered name and its arguments, e.g. {"absolute", "10"}. */
typedef struct rill_chain_entry {
    const char *name;
    const char *arguments; /* NULL = "" */
} rill_chain_entry;

/* What time it is, in seconds from any moment on; never backwards. */
typedef double (*rill_clock_fn)(void *user);

/* Which hypotheses are alike for cube pruning: those for which key[i] is the same. Called once per timestep and phase with the live
 * hypotheses of all items that are expanded; segment-local, as scorers are. `rows` as scorers get them, without states.
 *   key: [n], out
 *   a negative status after rill_fail() ends the run */
typedef rill_status (*rill_key_fn)(void *user, const rill_scorer_rows *rows, int64_t *key);

typedef struct rill_engine_setup {
    size_t struct_size;
    rill_settings settings;
    const rill_chain_entry *heuristics; /* [n_heuristics], applied in this order */
    int32_t n_heuristics;
    const rill_chain_entry *scorers; /* [n_scorers] */
    int32_t n_scorers;
    const rill_chain_entry *scheduler; /* overrides the method's schedule; NULL = the method's */
    rill_trace_fn trace;               /* gets every timestep and item event; NULL = none */
    void *trace_user;
    /* Sets the budget of each timestep; NULL = settings.budget for all. With one, max_items has the default of a run under a
     * budget. */
    rill_budget_fn budget;
    void *budget_user;
    /* [n_fields] What the domain is to add to each output, by names that it knows; see rill_output_field(). */
    const char *const *fields;
    int32_t n_fields;
    rill_clock_fn clock; /* by which deadlines are (rill_request); NULL: the system's monotonic clock */
    void *clock_user;
    rill_key_fn cube_key; /* with the setting cube: what is alike; NULL: what has the same last action */
    void *cube_key_user;
    int64_t
        first_input; /* the inputs are a part of a longer stream, from its input of this number on: samples are drawn as there.
                            Ids count from 0 all the same */
    int trace_hypotheses; /* 1: the trace tells every candidate too */
} rill_engine_setup;

/* Default settings, no heuristics, no scorers, the method's own policy, no trace, no budget function. `size` as for
 * rill_settings_init(). */
RILL_API void rill_engine_setup_init(rill_engine_setup *setup, size_t size);
static inline void rill_engine_setup_default(rill_engine_setup *setup)
{
    rill_engine_setup_init(setup, sizeof *setup);
}

/* Make an engine. Settings are resolved; names are looked up in the context; nothing of `setup` is kept but `trace`,
 * `budget`, `clock` and their users, and `fields`, which must outlive the engine.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_NOT_FOUND (name) · RILL_ERR_ARGUMENT (the model serves another engine and cannot serve two) ·
 *   RILL_ERR_MEMORY · RILL_ERR_ABI (the setup's size) · what a create() returns */
RILL_API rill_status rill_engine_create(rill_engine **out, rill_context *ctx, rill_model *model,
                                        const rill_engine_setup *setup);
RILL_API void rill_engine_destroy(rill_engine *engine); /* NULL is allowed; unfinished items are dropped */

/* The settings as resolved. */
RILL_API const rill_settings *rill_engine_settings(const rill_engine *engine);

/* How many inputs can be submitted now. 0 until the window of inputs is used up, or after rill_engine_close_input(). */
RILL_API int64_t rill_engine_free_slots(const rill_engine *engine);

/* Submit one input of `length` bytes; the engine copies it. Inputs are numbered from 0.
 *   RILL_OK · RILL_AGAIN (no room) · RILL_ERR_MEMORY (the input was not taken; the engine goes on) */
RILL_API rill_status rill_engine_submit(rill_engine *engine, const char *text, size_t length);

/* How far the search of an input has come, behind a timestep of its: each is told once, also where the search begins anew for want of
 * memory. Texts are NUL-terminated and valid during the call. */
typedef struct rill_progress {
    size_t struct_size;
    void *user; /* its request's */
    int32_t timestep;
    /* What all outputs that may still be given begin with: so many actions, never fewer than before, and their text as if an output
     * were cut short there. Under a scorer that may have inputs decoded again (rill_scorer.found), and in an exact search, none. */
    int32_t final_actions;
    const char *final_text;
    size_t final_length;
    /* The best hypothesis of the beam, likewise; the next one may be another. */
    int32_t draft_actions;
    const char *draft_text;
    size_t draft_length;
    double path_score; /* of the draft */
} rill_progress;

/* Called on the engine's thread, of workers on a worker's; it must not call the engine. */
typedef void (*rill_progress_fn)(void *user, const rill_progress *progress);

/* An input that wants something of its own. What is 0 is as the engine's setup says; so a request with text alone is
 * rill_engine_submit(). Whatever it asks for, its result is what an engine made with that would give, and other inputs' results
 * stay as they are. */
typedef struct rill_request {
    size_t struct_size; /* sizeof(rill_request) */
    const char *text;   /* [length]; the engine copies it */
    size_t length;
    void *user; /* comes back with the result */
    /* How it is searched: any field that belongs to the search of one input (k, n_best, max_length, length_penalty ...). Those
     * that belong to the run (method, n, max_items, budget, refill, sort, flush_every, unordered, check, bounds on memory)
     * and unknown_penalty are the engine's, whatever is given here. NULL: all are. */
    const rill_settings *settings;
    /* Arguments of the setup's heuristics and scorers, in its order: [n_heuristics], [n_scorers]. NULL, also as an entry:
     * the setup's own. Equal arguments share an instance. Of an input that samples or has groups, heuristics prune nothing.
     * What a heuristic or a scorer fails with under arguments that are not the setup's fails this input alone, and so does a scorer
     * that divides beams into banks where the settings sample, have groups or prune cubes. */
    const char *const *heuristics;
    const char *const *scorers;
    /* From now on by the engine's clock; above 0. At that time the input gives the best that it has: its outputs and the ended
     * hypotheses of its beam, without any its live ones as truncated, as if a heuristic had asked it to stop; its result says
     * `late`. With nothing at all it fails with RILL_ERR_DEADLINE. It is looked at between timesteps, so answers are late by up
     * to one. */
    double timeout;
    /* Told after each timestep of the input but its last, with `user`; texts of what is not finished cost what finalize does. NULL: nobody
     * watches. */
    rill_progress_fn progress;
    /* Samples are drawn as for line `number` of a run, from 1, whenever the input comes; 0: by its id. */
    int64_t number;
    /* How the input is read where that is not as the model was opened: NAME=VALUE, options of the domain's for inputs
     * (rill_domain.input_options), a blank between; the last of a name counts. NULL: none. */
    const char *input_options;
} rill_request;

/* Whether a request may have its own value of a setting, a row of rill_setting_table(): 0 where it is the run's. */
RILL_API int rill_setting_is_per_request(const rill_option *setting);

/* What the search of one input may take at the most, as its settings allow it: for who must know before a stranger's request is taken.
 * Few searches come near. What the model takes is not in it: its states are bounded by max-nodes and memory. */
typedef struct rill_cost {
    size_t struct_size; /* sizeof(rill_cost) */
    double steps;       /* timesteps */
    double rows;        /* hypotheses that the model expands, in all phases */
    double bytes;       /* choices of a timestep, histories, outputs and the result */
} rill_cost;

/* Of settings that were resolved (rill_search_config.resolved), for an input of that size (rill_input.size). */
RILL_API void rill_settings_cost(const rill_settings *resolved, const rill_domain_info *info, double size,
                                 rill_cost *out);

/* Submit a request; *id is its result's id. `id` may be NULL.
 *   RILL_OK · RILL_AGAIN (no room) · RILL_ERR_OPTION (its settings and options; arguments that create() refuses) · RILL_ERR_ABI (its
 *   size) · RILL_ERR_MEMORY; whatever fails, nothing was taken and the engine goes on */
RILL_API rill_status rill_engine_submit_request(rill_engine *engine, const rill_request *request, int64_t *id);

/* Give an input up that has no result yet: its states come back at once, or when what is submitted for it is
 * collected (domain.h), and its result says RILL_ERR_CANCELLED.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such input, or it has a result or was cancelled) · RILL_ERR_MEMORY */
RILL_API rill_status rill_engine_cancel(rill_engine *engine, int64_t id);

/* Have rill_run() end with RILL_ERR_STOPPED before the next timestep, whatever there is to read or to decode. What is finished by then has
 * been written, as far as it comes in order. An engine that was stopped stays so. From any thread, and from a signal handler. */
RILL_API void rill_engine_stop(rill_engine *engine);

/* Submit an input that is bad already (a line that could not be read): its result carries the status and the message.
 * Same returns. */
RILL_API rill_status rill_engine_submit_failed(rill_engine *engine, rill_status status, const char *message);

/* No more inputs will come. */
RILL_API void rill_engine_close_input(rill_engine *engine);

/* Admit what the policy admits, then run one timestep; with a domain that answers later, until one of those under way is over.
 *   RILL_OK · RILL_AGAIN (nothing in flight and nothing waiting) · a negative status: the run is over */
RILL_API rill_status rill_engine_step(rill_engine *engine);

/* 1 when nothing is waiting, in flight or unread. */
RILL_API int rill_engine_idle(const rill_engine *engine);

/* Inputs in flight or waiting. */
RILL_API int64_t rill_engine_pending(const rill_engine *engine);

/* Why an output goes no further. */
typedef enum rill_finish_reason {
    RILL_FINISH_REASON_STOP = 1,  /* an end action, or the domain's own end */
    RILL_FINISH_REASON_LENGTH,    /* the length limit */
    RILL_FINISH_REASON_TIMEOUT,   /* the request's deadline */
    RILL_FINISH_REASON_HEURISTIC, /* a heuristic stopped the search */
} rill_finish_reason;

/* "stop", "length", "timeout", "heuristic". */
RILL_API const char *rill_finish_reason_name(rill_finish_reason reason);

typedef struct rill_output {
    const char *text;   /* what finalize wrote; NUL-terminated */
    size_t text_bytes;  /* bytes */
    double path_score;  /* sum over actions, scorers included */
    double score;       /* what the outputs are ordered by: the score under length_penalty and word_penalty */
    double logp;        /* sum of the model's log-probabilities */
    int32_t length;     /* timesteps, an end action not counted: the length in the penalties, unless count_end */
    rill_finish_reason finish_reason; /* all but RILL_FINISH_REASON_STOP: the output is cut short */
    const int32_t *ids; /* [n_actions], the end action included */
    const float *id_logps; /* [n_actions] */
    int32_t n_ids;
    int certified; /* with the setting certify, the j-th of a result: no output of the model that is not before it ranks higher */
} rill_output;

typedef struct rill_result {
    int64_t id;                 /* position in the input stream, from 0 */
    rill_status status;         /* RILL_OK, or why there are no outputs */
    const char *message;        /* a sentence when status is negative, else "" */
    const rill_output *outputs; /* [n], best first */
    int32_t n_outputs;          /* min(n_best, outputs found) */
    int32_t outputs_found;
    int32_t timed_out; /* 1: its deadline came first; these are what there was by then */
    int32_t
        has_more; /* 1: another can be taken at once; 0: it may take long, so what was gathered is better written out */
    void *user;   /* of its request, else NULL */
    const char *warning; /* what the domain says about how it read the input ("the model does not know ..."), else "" */
} rill_result;

/* The field of that index in rill_engine_setup.fields, NUL-terminated; borrowed as the output's text is, behind which it lies. */
RILL_API const char *rill_output_field(const rill_output *output, int32_t index);

/* Take the next finished result: in input order, or by completion with `unordered`. Once a step has failed, the ids of inputs
 * that were not finished are skipped.
 *   *out is borrowed: valid until the next call with this engine
 *   RILL_OK · RILL_AGAIN (none now) */
RILL_API rill_status rill_engine_next(rill_engine *engine, rill_result *out);

/* Counters so far. `out->struct_size` must be set; no more than that is written, so callers built before a member was
 * appended stay right. */
RILL_API void rill_engine_stats(const rill_engine *engine, rill_stats *out);

/* Begin to count what the model's operations cost (on = 1), from zero, or stop.
 *   RILL_OK · RILL_ERR_OPTION (the domain runs no programs on a device, and so counts nothing) */
RILL_API rill_status rill_engine_profile(rill_engine *engine, int on);
/* Operation i of the profile, from 0, in the order in which programs run them; 0 when there is none left. */
RILL_API int rill_engine_profile_row(const rill_engine *engine, int32_t i, rill_op_profile *out);
/* Measure what one thread of the machine does at best, in about a tenth of a second.
 *   RILL_OK · RILL_ERR_OPTION (as rill_engine_profile()) · RILL_ERR_MEMORY */
RILL_API rill_status rill_engine_limits(rill_engine *engine, rill_limits *out);

RILL_C_END

#endif
