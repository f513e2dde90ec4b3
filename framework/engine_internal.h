/* The engine: its modules, and the passes that use several of them.
 *
 *        submit -> input queue -> [encode] -> ready -> running -> timesteps -> reorder buffer -> next
 *                                              ^---------' preempted for lack of nodes (memory_limit.c)
 *
 * Each module has its own header and does not know the engine; functions that need several modules are declared here. */
#ifndef RILL_ENGINE_INTERNAL_H
#define RILL_ENGINE_INTERNAL_H

#include "bad_words.h"
#include "certify.h"
#include "chain.h"
#include "input_queue.h"
#include "memory_limit.h"
#include "output_writer.h"
#include "reorder_buffer.h"
#include "request.h"
#include "running.h"
#include "schedule.h"
#include "scorer_states.h"
#include "statistics.h"
#include "stop_criteria.h"
#include "timestep.h"
#include "tracer.h"

/* The capacities last passed to domain->reserve. */
typedef struct rill__reserved {
    int32_t nodes, slots;
} rill__reserved;

struct rill_model {
    rill_context *ctx;
    const rill_domain *domain;
    void *self;
    rill_domain_info info;
    int threads; /* threads inside a call, as opened */
    /* Only for domains without runners, where the model is its own runner: capacities reserved so far, and whether an engine uses it. */
    rill__reserved reserved;
    int busy;
};

/* The object that decodes with a model. */
typedef struct rill__runner {
    rill_model *model; /* NULL: not started */
    void *self;
    rill__reserved *reserved; /* own_reserved, or the model's if it is its own runner */
    rill__reserved own_reserved;
} rill__runner;

/* Where an engine that is one of several workers gets inputs from; workers.c. */
typedef struct input_source {
    /* Move up to `count` inputs to the engine's queue; fewer if other workers took them. */
    rill_status (*take_inputs)(void *user, rill_engine *e, int32_t count);
    void *user;
    int32_t n_offered; /* inputs available for it in this step */
} input_source;

/* Inputs that are being encoded. */
typedef struct admission {
    rill_columns memory;
    rill_input *input;
    int32_t *queue_entry; /* index in the input queue */
    int32_t *slot;        /* copy of the slots passed: a domain may overwrite its own */
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
    timestep timesteps[2]; /* the second one only with an asynchronous domain */
    int32_t turn;          /* index of the one to continue next */
    chain chain;
    rill_modifiers check_modifiers;
    scorer_states scorer_states;
    output_writer output_writer;
    redecode_buffer redecode;
    reorder_buffer reorder;
    statistics statistics;
    tracer tracer;
    rill_key_fn cube_key; /* NULL: the last action */
    void *cube_key_user;
};

/* rill_model.c: start a runner of the model, for one thread and its context; `threads` inside a call.
 *   RILL_OK · RILL_ERR_ARGUMENT (the model serves one engine at a time and has one) · what start() returns */
rill_status rill__runner_start(rill_model *model, rill_context *ctx, int threads, rill__runner *out);
void rill__runner_stop(rill__runner *runner); /* a runner that was not started is allowed */
/* The domain's unknown-token action, or RILL_NO_ACTION. */
int32_t rill__model_unknown(const rill_model *model);
/* Refuse output fields that the domain does not know. */
rill_status engine_check_fields(rill_engine *e);

/* admit.c: admit the inputs that the scheduler asks for. */
rill_status engine_admit(rill_engine *e);
/* With an asynchronous domain: encode inputs for the next refill while waiting for a score call. */
rill_status engine_encode_ahead(rill_engine *e);
/* Inputs that could be admitted, including those encoded ahead. */
static inline int64_t engine_n_waiting(const rill_engine *e)
{
    return (int64_t)e->queue.n + e->items.n_ready + (e->input_source != NULL ? e->input_source->n_offered : 0);
}
/* Drop an item with its references, slot and input, without a result. */
void engine_free_item(rill_engine *e, int32_t slot);
/* Drop an input that was taken from the queue: its text and request. */
void engine_free_input(rill_engine *e, int32_t entry);
/* Pass grown capacities to domain->reserve. */
rill_status engine_reserve_domain(rill_engine *e);
static inline rill_status engine_domain_status(rill_engine *e, rill_status status, const char *method)
{
    return rill__domain_status(e->ctx, e->domain, status, method);
}

/* decode_loop.c: admit, then continue until a timestep is complete. RILL_OK · RILL_AGAIN (nothing to do) · a failure */
rill_status engine_run_timestep(rill_engine *e);

/* expand.c: rows, states and modifiers of the selected items for the timestep's phase. */
rill_status engine_expand(rill_engine *e, timestep *t);
/* Choices for all rows. RILL_OK: done · RILL_AGAIN: a call was submitted, and the next call collects its result */
rill_status engine_score(rill_engine *e, timestep *t);
/* Append a row, without a node, for a live entry of item `index` of the selection. Capacity must be reserved. */
void engine_add_row(rill_engine *e, timestep *t, int32_t index, int32_t rank);
/* Allocate nodes, step states and collect modifiers for the rows. */
rill_status engine_step_rows(rill_engine *e, timestep *t);
/* Release n of the nodes reserved for the timestep: they are in use, or not needed. */
void engine_use_reserved_nodes(timestep *t, int64_t n);
/* Rows [from, from + n) in the form that the domain and scorers see. */
rill_rows engine_domain_rows(const timestep *t, int32_t from, int32_t n);
rill_scorer_rows engine_scorer_rows(const rill_engine *e, const timestep *t, int32_t from, int32_t n);
/* Fail with the error that top-k checking found in the domain's result. */
rill_status engine_fail_choices(rill_engine *e, const timestep *t);

/* cube_pruning.c: whether any selected item uses cube pruning. */
int engine_uses_cube(const rill_engine *e, const timestep *t);
/* Reduce the rows, one per live entry and still without nodes, to those of class representatives. */
rill_status engine_cube_group(rill_engine *e, timestep *t);
/* Naive cube pruning: make rows for the cells that need exact scores. *more: there are such rows, to be scored. */
rill_status engine_cube_rescore(rill_engine *e, timestep *t, int *more);
/* Restrict these rows to the cells that were taken. */
rill_status engine_cube_restrict(timestep *t);

/* merge.c: reserve memory for everything a phase may make of its choices, so that merging cannot fail half-way. */
rill_status engine_reserve_children(rill_engine *e, timestep *t);
/* Count in cube.n_taken how many of each entry's children are among the best of its item. */
void engine_count_cube_cells(rill_engine *e, timestep *t);
/* Merge the children of each selected item in rank order; in the last phase outputs leave the beam. */
void engine_merge(rill_engine *e, timestep *t, int last);
/* Give an item an output and take over its reference; the setting `keep` decides which outputs are kept. merge has reserved the memory. */
void engine_add_output(rill_engine *e, item *it, const item_output *output);

/* best_ended.c: at_limit "best-ended": update the best ended hypothesis from the choices of the item's rows, from `row` on, in the last
 * phase. */
void best_ended_update(rill_engine *e, timestep *t, item *it, const int32_t *rows, int32_t row);
/* Output the best hypothesis that ever ended, if the item has no output; returns whether it did. */
int best_ended_output(rill_engine *e, item *it);
void best_ended_drop(rill_engine *e, item *it);

/* commit.c: candidates become the new beams; in the last phase items may stop. */
rill_status engine_commit(rill_engine *e, timestep *t, int last);
/* Release the references of an item's beam that were not passed on. */
void engine_release_beam(rill_engine *e, item *it);

/* exact.c: an item has stopped, with its outputs sorted. RILL_AGAIN: it continues with exact search. */
rill_status engine_exact_begin(rill_engine *e, int32_t slot);
/* Whether the item takes part in this phase; otherwise in a later one of the timestep. */
static inline int exact_runs_in_phase(const item *it, const timestep *t)
{
    return !it->exact.active || it->exact.kind.phase <= t->phase;
}
/* Before states are made: give rows that may be scored again a second hypothesis node. */
rill_status engine_exact_copy_rows(rill_engine *e, const timestep *t);
/* Add the children of the rows' choices to the outputs and to the frontier. */
rill_status engine_exact_add_children(rill_engine *e, timestep *t, int last);
/* Make the next batch of the frontier the item's beam, or finish the item. */
rill_status engine_exact_commit(rill_engine *e, const timestep *t, int32_t slot, int last);
/* Out of nodes with one item left: stop its exact search. Returns 0 if the item has none: nothing is done. */
int engine_exact_stop(rill_engine *e, item *it);

/* redecode.c: call scorers' begin(), found() and done() for an encoded input, an item's outputs, and an item that leaves. */
rill_status engine_scorers_begin(rill_engine *e, rill_input *input, int32_t entry);
/* RILL_AGAIN: the item has restarted. */
rill_status engine_scorers_review(rill_engine *e, int32_t slot);
void engine_scorers_done(rill_engine *e, const item *it);

/* finish.c: make the result of a finished item and drop it. RILL_AGAIN: exact search or a scorer keeps the item, which continues or has
 * restarted. */
rill_status engine_finish_item(rill_engine *e, int32_t slot);
/* Save the result of an item with a deadline before it restarts; and deliver that result when the deadline comes. */
rill_status engine_save_result(rill_engine *e, int32_t slot);
void engine_deliver_saved(rill_engine *e, item *it);
/* Make the empty result of an input with nothing to decode. */
rill_status engine_finish_empty(rill_engine *e, const queued_input *in);
/* Make the result of an input that failed. */
rill_status engine_fail_input(rill_engine *e, int64_t id, const request *own_request, rill_status status,
                              const char *message);

/* cancel.c: finish the inputs whose deadlines have passed, except busy items; and the items of the timestep that failed or were
 * cancelled while they were busy. */
rill_status engine_check_deadlines(rill_engine *e);
rill_status engine_finish_cancelled(rill_engine *e, const timestep *t);
/* Fail one selected item: it is skipped from now on and leaves with this status when its timestep is over. Other items are unaffected. */
rill_status engine_fail_selected(rill_engine *e, int32_t slot, rill_status status, const char *message);
/* Whether a failure caused by one input fails that input alone. Out-of-memory, a stop and the checking mode end the run. */
int engine_is_input_error(rill_status status);
/* Whether the engine has this input, without a result and not cancelled. */
int engine_has_input(const rill_engine *e, int64_t id);
/* Messages of results of inputs that were cancelled or timed out, here or in the shared queue (worker_pool.c). */
#define MESSAGE_CANCELLED "cancelled"
#define MESSAGE_DEADLINE "the deadline passed before the input was decoded"
rill_status cancel_not_found(rill_context *ctx, int64_t id);

/* engine.c: submit an input that has already failed; `user` is returned with its result. As rill_engine_submit_failed(). */
rill_status engine_submit_failed(rill_engine *e, rill_status status, const char *message, void *user);
/* domain->measure, or the number of words. */
int64_t engine_measure(const rill_engine *e, const char *text, size_t length);
/* Wait for submitted calls whose results are no longer needed. */
void engine_collect_pending(rill_engine *e);
/* Report free nodes to the domain, so that they can be reused. */
void engine_free_nodes(rill_engine *e);

/* Copy a caller's setup, whose struct and settings may be shorter. RILL_OK · RILL_ERR_ABI */
rill_status rill__setup_copy(rill_context *ctx, rill_engine_setup *own, const rill_engine_setup *from);

#endif
