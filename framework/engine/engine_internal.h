/* The engine: its modules, and the functions that use several modules.
 *
 *        submit -> input queue -> [encode] -> ready -> running -> timesteps -> reorder buffer -> next
 *                                              ^---------' preempted for lack of nodes (memory_limit.c)
 *
 * Each module has its own header and does not know the engine; functions that need several modules are declared here. */
#ifndef RILL_ENGINE_INTERNAL_H
#define RILL_ENGINE_INTERNAL_H

#include "chain.h"
#include "input_queue.h"
#include "memory_limit.h"
#include "ngram_blocking.h"
#include "output_writer.h"
#include "reorder_buffer.h"
#include "requests.h"
#include "running.h"
#include "schedule.h"
#include "scorer_states.h"
#include "search_variant.h"
#include "statistics.h"
#include "stop_criteria.h"
#include "timestep.h"
#include "tracer.h"

/* The capacities last passed to domain->reserve: ids of nodes and slots must be below them. */
typedef struct rill__reserved {
    int32_t nodes, slots;
} rill__reserved;

struct rill_model {
    rill_context *ctx;
    const rill_domain *domain;
    void *self;
    rill_domain_info info;
    int threads; /* rill_open_options.threads: threads that a call may use */
    /* Only for domains without runners, where the model is its own runner: capacities reserved so far, and whether an engine uses the model
     * (busy). */
    rill__reserved reserved;
    int busy;
};

/* A runner: one engine's use of a model, with its own states and buffers. */
typedef struct rill__runner {
    rill_model *model; /* NULL: not started */
    void *self;
    rill__reserved *reserved; /* own_reserved, or the model's if it is its own runner */
    rill__reserved own_reserved;
} rill__runner;

/* Source of inputs of an engine that is one of several workers; workers.c. */
typedef struct input_source {
    /* Move up to `count` inputs to the engine's queue; fewer if other workers took them. */
    rill_status (*take_inputs)(void *user, rill_engine *e, int32_t count);
    void *user;
    int32_t n_offered; /* inputs that the engine may take in this step */
} input_source;

/* Inputs that are being encoded. */
typedef struct admission {
    rill_columns memory;
    rill_input *input;
    int32_t *queue_entry; /* index in the input queue */
    int32_t *slot;        /* copy of the slots passed to the domain, which may overwrite rill_input.slot */
    int32_t last_refill;  /* number of items that the last refill admitted */
} admission;

/* Outputs passed to scorers' found(). */
typedef struct redecode_buffer {
    rill_found_output *found;
    size_t found_capacity;
    int32_t *found_action;
    size_t found_action_capacity;
} redecode_buffer;

struct rill_engine {
    rill_context *ctx;
    rill_model *model;
    const rill_domain *domain;
    rill__runner runner;
    void *self; /* the runner's self */
    rill_domain_info info;
    input_source *input_source; /* NULL: inputs are submitted directly */
    rill_settings settings;
    int32_t unknown_action; /* the action that unknown_penalty applies to, or RILL_NO_ACTION */
    rill_status failed;     /* negative: the run is over */
    int input_closed;
    atomic_int stopped; /* rill_engine_stop() */

    requests requests;
    input_queue queue;
    admission admission;
    items items;
    running_items running;
    schedule schedule;
    memory_limit memory_limit;
    hyp_pool hyps;
    bad_words bad_words;
    timestep timesteps[2]; /* the second timestep is used only with an asynchronous domain */
    int32_t turn;          /* index in `timesteps` of the timestep to continue next */
    chain chain;
    rill_modifiers check_modifiers;
    scorer_states scorer_states;
    output_writer output_writer;
    redecode_buffer redecode;
    reorder_buffer reorder;
    statistics statistics;
    tracer tracer;
    rill_key_fn cube_key; /* NULL: hypotheses with equal last actions are equivalent */
    void *cube_key_user;
};

/* rill_model.c: start a runner of the model, for one thread and its context. The runner may use `threads` threads inside a call.
 *   RILL_OK · RILL_ERR_ARGUMENT (the model can serve only one engine at a time, and one uses it) · a failure of start() */
rill_status rill__runner_start(rill_model *model, rill_context *ctx, int threads, rill__runner *out);
void rill__runner_stop(rill__runner *runner); /* also accepts a runner that was not started */
/* The domain's unknown-token action, or RILL_NO_ACTION. */
int32_t rill__model_unknown(const rill_model *model);
/* Refuse output fields that the domain does not know. */
rill_status engine_check_fields(rill_engine *e);

/* admit.c: admit as many inputs as the scheduler decides. */
rill_status engine_admit(rill_engine *e);
/* With an asynchronous domain: encode inputs for the next refill while waiting for a score call. */
rill_status engine_encode_ahead(rill_engine *e);
/* Number of inputs that could be admitted, including inputs encoded ahead. */
static inline int64_t engine_n_waiting(const rill_engine *e)
{
    return (int64_t)e->queue.n + e->items.n_ready + (e->input_source != NULL ? e->input_source->n_offered : 0);
}
/* Free an item with its hypotheses, slot and input; makes no result. */
void engine_free_item(rill_engine *e, int32_t slot);
/* Free the text and request of an input that was taken from the queue. */
void engine_free_input(rill_engine *e, int32_t entry);
/* Pass grown capacities to domain->reserve. */
rill_status engine_reserve_domain(rill_engine *e);
static inline rill_status engine_domain_status(rill_engine *e, rill_status status, const char *method)
{
    return rill__domain_status(e->ctx, e->domain, status, method);
}

/* decode_loop.c: admit, then continue until a timestep is complete. RILL_OK · RILL_AGAIN (nothing to do) · a failure */
rill_status engine_run_timestep(rill_engine *e);

/* expand.c: make the rows of the selected items for the timestep's phase, compute their states and collect their modifiers. */
rill_status engine_expand(rill_engine *e, timestep *t);
/* Get the choices of all rows from the domain. RILL_OK: done · RILL_AGAIN: an asynchronous score call was submitted; the next call of
 * engine_score() collects its result */
rill_status engine_score(rill_engine *e, timestep *t);
/* Append a row for the live beam entry `rank` of the selected item `index`. Its node (the id of its state) is allocated
 * later. Capacity for the row must be reserved. */
void engine_add_row(rill_engine *e, timestep *t, int32_t index, int32_t rank);
/* Allocate nodes, step states and collect modifiers for the rows. */
rill_status engine_step_rows(rill_engine *e, timestep *t);
/* Subtract n from the number of nodes reserved for the timestep: these nodes are now in use, or are not needed. */
void engine_use_reserved_nodes(timestep *t, int64_t n);
/* Rows [from, from + n) in the form that the domain sees. */
rill_rows engine_domain_rows(const timestep *t, int32_t from, int32_t n);
/* Fail with the error that top-k checking found in the domain's result. */
rill_status engine_fail_choices(rill_engine *e, const timestep *t);

/* row_modifiers.c: build the phase's modifiers from the scorers and from the settings. */
rill_status engine_make_modifiers(rill_engine *e, timestep *t);

/* merge.c: reserve memory for everything that a phase may make from its choices, so that merging cannot fail half-way. */
rill_status engine_reserve_children(rill_engine *e, timestep *t);
/* Add to count[base + rank] how many children of each beam entry are among the best children of selected item i, whose entries begin at
 * `base` in row_of. */
void engine_count_best_children(rill_engine *e, timestep *t, int32_t i, int32_t base, int32_t *count);
/* Merge the children of each selected item in rank order; in the last phase outputs leave the beam. */
void engine_merge(rill_engine *e, timestep *t, int last);
/* Add an output to an item; the item takes ownership of the output's hypothesis reference. The setting `keep` decides which outputs are
 * kept. engine_reserve_children() has reserved the memory. */
void engine_add_output(rill_engine *e, item *it, const item_output *output);

/* commit.c: the surviving candidates become the new beams; in the last phase items may stop. */
rill_status engine_commit(rill_engine *e, timestep *t, int last);
/* Call before_outputs() of the item's variants (search_variant.h). Returns 1 if one of them has added an output, else 0. */
int engine_before_outputs(rill_engine *e, item *it, int needs_output);
/* Release the hypothesis references of an item's beam that were not passed to children or outputs. */
void engine_release_beam(rill_engine *e, item *it);

/* scorer_calls.c: collect the scorers' modifiers of the rows in `mods`. */
rill_status engine_call_scorers(rill_engine *e, const timestep *t, rill_modifiers *mods);
/* With the setting `check`: call the scorers for each item alone, and compare the modifiers with `all`, those of the call with all items,
 * and with max_bonus. */
rill_status engine_check_scorers(rill_engine *e, const timestep *t, const modifier_table *all, int32_t max_choices);
/* The sum of the scorers' max_bonus for actions; *end: for the end action. Every scorer must have a max_bonus. */
double engine_max_bonus(const chain *c, const item *it, double *end);
/* Rows [from, from + n) in the form that scorers see. */
rill_scorer_rows engine_scorer_rows(const rill_engine *e, const timestep *t, int32_t from, int32_t n);
/* Words before the first scorer's name in messages. With several scorers it is unknown which of them caused a failure. */
const char *engine_scorer_label(const rill_engine *e);
/* Call scorers' begin(), found() and done() for an encoded input, an item's outputs, and an item that leaves. */
rill_status engine_scorers_begin(rill_engine *e, rill_input *input, int32_t entry);
/* Returns RILL_AGAIN if a scorer asked for another search and the item has restarted. */
rill_status engine_scorers_review(rill_engine *e, int32_t slot);
void engine_scorers_done(rill_engine *e, const item *it);

/* finish.c: make the result of a finished item and free the item. Returns RILL_AGAIN if the item stays: it continues with exact search, or
 * a scorer made it restart. */
rill_status engine_finish_item(rill_engine *e, int32_t slot);
/* Save the result of an item with a deadline before it restarts; deliver this saved result when the deadline passes. */
rill_status engine_save_result(rill_engine *e, int32_t slot);
void engine_deliver_saved(rill_engine *e, item *it);
/* Make the empty result of an input with nothing to decode. */
rill_status engine_finish_empty(rill_engine *e, const queued_input *in);
/* Make the result of an input that failed. */
rill_status engine_fail_input(rill_engine *e, int64_t id, const request *own_request, rill_status status,
                              const char *message);

/* cancel.c: engine_check_deadlines() finishes inputs whose deadlines have passed, except busy items (whose timestep a device still
 * computes). engine_finish_cancelled() finishes items of the timestep that failed or were cancelled while busy. */
rill_status engine_check_deadlines(rill_engine *e);
rill_status engine_finish_cancelled(rill_engine *e, const timestep *t);
/* Fail one selected item: it is skipped from now on and leaves with this status when its timestep is over. Other items are unaffected. */
rill_status engine_fail_selected(rill_engine *e, int32_t slot, rill_status status, const char *message);
/* Return 1 if a failure caused by one input fails this input alone. Out of memory, a stop and failures of the setting `check` end the run:
 * 0. */
int engine_is_input_error(rill_status status);
/* Return 1 if the engine has this input and it has no result and is not cancelled; else 0. */
int engine_has_input(const rill_engine *e, int64_t id);
/* Messages in results of inputs that were cancelled, or whose deadline passed while they waited, in cancel.c or in the workers' shared
 * queue (worker_pool.c). */
#define MESSAGE_CANCELLED "cancelled"
#define MESSAGE_DEADLINE "the deadline passed before the input was decoded"
rill_status cancel_not_found(rill_context *ctx, int64_t id);

/* engine.c: submit an input that has already failed; `user` is returned with its result. Otherwise as rill_engine_submit_failed(). */
rill_status engine_submit_failed(rill_engine *e, rill_status status, const char *message, void *user);
/* Return the input's size by domain->measure, or the number of words if the domain has no measure(). */
int64_t engine_measure(const rill_engine *e, const char *text, size_t length);
/* Wait for submitted calls whose results are no longer needed. */
void engine_collect_pending(rill_engine *e);
/* Pass freed nodes to the domain's free(), so that their ids can be reused. */
void engine_free_nodes(rill_engine *e);

/* Copy a caller's setup, whose struct and settings may be shorter than this version's. RILL_OK · RILL_ERR_ABI */
rill_status rill__setup_copy(rill_context *ctx, rill_engine_setup *own, const rill_engine_setup *from);

#endif
