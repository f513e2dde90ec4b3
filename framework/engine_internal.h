/* The engine: its rooms, and the passes that go through them.
 *
 *        submit -> intake -> [encode] -> ready -> flight -> timesteps -> outbox -> next
 *                                          ^--------' when states are too few (memory_limit.c)
 *
 * Each room has its header, which knows nothing of the engine; a pass is what needs several rooms. */
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

/* What a domain was told of capacities. */
typedef struct rill__reserved {
    int32_t nodes, slots;
} rill__reserved;

struct rill_model {
    rill_context *ctx;
    const rill_domain *domain;
    void *self;
    rill_domain_info info;
    int threads; /* inside a call, as it was opened */
    /* Of a domain without runners only, which is its own: told by this engine or one before it, and whether it serves one. */
    rill__reserved reserved;
    int busy;
};

/* What decodes with a model. */
typedef struct rill__runner {
    rill_model *model; /* NULL: none is started */
    void *self;
    rill__reserved *reserved; /* its own, or that of the model that is its own runner */
    rill__reserved own_reserved;
} rill__runner;

/* Where an engine that is one of several workers takes inputs from; workers.c. */
typedef struct input_source {
    /* Move up to `count` inputs to the engine's intake, fewer when others were faster. */
    rill_status (*take_inputs)(void *user, rill_engine *e, int32_t count);
    void *user;
    int32_t n_offered; /* how many there are for it in this step */
} input_source;

/* Inputs on their way through encode. */
typedef struct admission {
    rill_columns memory;
    rill_input *input;
    int32_t *queue_entry; /* of the intake */
    int32_t *slot;        /* as it was given: a domain may write over its own copy */
    int32_t last_refill;  /* items that the last refill admitted */
} admission;

/* Outputs that scorers are shown. */
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
    void *self; /* the runner's */
    rill_domain_info info;
    input_source *input_source; /* NULL: inputs are submitted to it */
    rill_settings settings;
    int32_t unknown_action; /* the action that unknown_penalty is for, or RILL_NO_ACTION */
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
    timestep timesteps[2]; /* the second with a domain that answers later */
    int32_t turn;          /* which of them goes on next */
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

/* rill_model.c: make what decodes with the model, for one thread and its context; `threads` inside a call.
 *   RILL_OK · RILL_ERR_ARGUMENT (one engine at a time, and there is one) · what start() returns */
rill_status rill__runner_start(rill_model *model, rill_context *ctx, int threads, rill__runner *out);
void rill__runner_stop(rill__runner *runner); /* one that was not started is allowed */
/* The domain's action for what it does not know, or RILL_NO_ACTION. */
int32_t rill__model_unknown(const rill_model *model);
/* Refuse fields that the domain does not know. */
rill_status engine_check_fields(rill_engine *e);

/* admit.c: admit what the policy admits. */
rill_status engine_admit(rill_engine *e);
/* Encode what the next refill may take, where answers come later and this one has to be waited for. */
rill_status engine_encode_ahead(rill_engine *e);
/* Inputs that could be admitted, those encoded ahead included. */
static inline int64_t engine_n_waiting(const rill_engine *e)
{
    return (int64_t)e->queue.n + e->items.n_ready + (e->input_source != NULL ? e->input_source->n_offered : 0);
}
/* Drop an item: its references, its slot, its input; no result is made. */
void engine_free_item(rill_engine *e, int32_t slot);
/* Drop an input that waits no more: its text, its request. */
void engine_free_input(rill_engine *e, int32_t entry);
/* Tell the domain about capacities that grew. */
rill_status engine_reserve_domain(rill_engine *e);
static inline rill_status engine_domain_status(rill_engine *e, rill_status status, const char *method)
{
    return rill__domain_status(e->ctx, e->domain, status, method);
}

/* decode_loop.c: admit, then go on until a timestep is over. RILL_OK · RILL_AGAIN (there is nothing to do) · a failure */
rill_status engine_run_timestep(rill_engine *e);

/* expand.c: rows and states of the selected items for the timestep's phase, and what is asked about them. */
rill_status engine_expand(rill_engine *e, timestep *t);
/* Choices for all rows. RILL_OK: they are there · RILL_AGAIN: a call was submitted, and the next call collects its answer */
rill_status engine_score(rill_engine *e, timestep *t);
/* Behind the rows there are: one for a live entry of item `index` of the selection, but for its node. There is room. */
void engine_add_row(rill_engine *e, timestep *t, int32_t index, int32_t rank);
/* Nodes and states for the rows, and what is asked about them. */
rill_status engine_step_rows(rill_engine *e, timestep *t);
/* So many of the nodes that were promised to the timestep are in use, or will not be. */
void engine_use_reserved_nodes(timestep *t, int64_t n);
/* Rows [from, from + n) as the domain and as scorers see them. */
rill_rows engine_domain_rows(const timestep *t, int32_t from, int32_t n);
rill_scorer_rows engine_scorer_rows(const rill_engine *e, const timestep *t, int32_t from, int32_t n);
/* What the selector found wrong. */
rill_status engine_fail_choices(rill_engine *e, const timestep *t);

/* cube_pruning.c: whether any selected item wants cube pruning. */
int engine_uses_cube(const rill_engine *e, const timestep *t);
/* Leave of the rows, which are all live entries' and have no nodes yet, those of representatives. */
rill_status engine_cube_group(rill_engine *e, timestep *t);
/* With naive cube pruning: rows for the cells that need scores of their own. *more: there are some, to be answered. */
rill_status engine_cube_rescore(rill_engine *e, timestep *t, int *more);
/* Restrict these rows to the cells that were taken. */
rill_status engine_cube_restrict(timestep *t);

/* merge.c: memory for all that a phase may make of its choices, so that merging cannot fail half-way. */
rill_status engine_reserve_children(rill_engine *e, timestep *t);
/* Count in cube.taken how many of each entry's children are among the best of its item. */
void engine_count_cube_cells(rill_engine *e, timestep *t);
/* Children of each selected item in rank order; in the last phase outputs leave. */
void engine_merge(rill_engine *e, timestep *t, int last);
/* Give an item an output, whose reference it takes over; which ones are kept is for the setting `keep`. Room is there: merge
 * reserves it. */
void engine_add_output(rill_engine *e, item *it, const item_output *output);

/* best_ended.c: at the limit "best-ended", look at the choices of the item's rows, from its first on, in the last phase. */
void best_ended_update(rill_engine *e, timestep *t, item *it, const int32_t *rows, int32_t row);
/* Output the best that ever ended, if nothing has become an output; returns whether it did. */
int best_ended_output(rill_engine *e, item *it);
void best_ended_drop(rill_engine *e, item *it);

/* commit.c: candidates become the new beams; in the last phase items may stop. */
rill_status engine_commit(rill_engine *e, timestep *t, int last);
/* An item's beam lets go of what was not handed over. */
void engine_release_beam(rill_engine *e, item *it);

/* exact.c: an item has stopped, and its outputs are in order. RILL_AGAIN: it goes on. */
rill_status engine_exact_begin(rill_engine *e, int32_t slot);
/* Whether it goes on in this phase, and not in a later one of the timestep. */
static inline int exact_runs_in_phase(const item *it, const timestep *t)
{
    return !it->exact.active || it->exact.kind.phase <= t->phase;
}
/* Before their states are made: rows that may be asked again have a second history. */
rill_status engine_exact_copy_rows(rill_engine *e, const timestep *t);
/* What the rows' choices lead to goes to the outputs and to the frontier. */
rill_status engine_exact_add_children(rill_engine *e, timestep *t, int last);
/* The next batch becomes the item's beam; or it is done. */
rill_status engine_exact_commit(rill_engine *e, const timestep *t, int32_t slot, int last);
/* States are too few for the item, which is alone. Returns 0 when it is not searched so: nothing is done. */
int engine_exact_stop(rill_engine *e, item *it);

/* redecode.c: scorers hear of an input that was encoded, of what was found for an item, and of one that leaves. */
rill_status engine_scorers_begin(rill_engine *e, rill_input *input, int32_t entry);
/* RILL_AGAIN: the item has begun anew. */
rill_status engine_scorers_review(rill_engine *e, int32_t slot);
void engine_scorers_done(rill_engine *e, const item *it);

/* finish.c: make the result of a finished item, drop it. RILL_AGAIN: exact search or scorers
 * want more, and it goes on or has begun anew instead. */
rill_status engine_finish_item(rill_engine *e, int32_t slot);
/* An item with a deadline begins anew: keep the result that it would have now. And give it that, its deadline having come. */
rill_status engine_save_result(rill_engine *e, int32_t slot);
void engine_deliver_saved(rill_engine *e, item *it);
/* Make the result of an input in which there is nothing to decode. */
rill_status engine_finish_empty(rill_engine *e, const queued_input *in);
/* Make the result of an input that failed. */
rill_status engine_fail_input(rill_engine *e, int64_t id, const request *own_request, rill_status status,
                              const char *message);

/* cancel.c: have the inputs leave whose deadlines have come, but for busy ones; and those of the timestep that were cancelled while
 * they were busy, or have failed. */
rill_status engine_check_deadlines(rill_engine *e);
rill_status engine_finish_cancelled(rill_engine *e, const timestep *t);
/* A selected item fails by itself: nothing more is asked about it, and when its timestep is over it leaves with this. Others are what they
 * would be without it. */
rill_status engine_fail_selected(rill_engine *e, int32_t slot, rill_status status, const char *message);
/* Whether what fails with it, for the sake of one input, is that input's alone. Memory, a stop and the checking mode are everybody's. */
int engine_is_input_error(rill_status status);
/* Whether an input is here that has no result and has not been cancelled. */
int engine_has_input(const rill_engine *e, int64_t id);
/* What results say of inputs that left before their time, from here or from among those that no engine has taken yet (worker_pool.c). */
#define MESSAGE_CANCELLED "cancelled"
#define MESSAGE_DEADLINE "the deadline came before the input's turn"
rill_status cancel_not_found(rill_context *ctx, int64_t id);

/* engine.c: submit an input that is bad already; `user` comes back with its result. As rill_engine_submit_failed(). */
rill_status engine_submit_failed(rill_engine *e, rill_status status, const char *message, void *user);
/* What domain->measure says, else the number of words. */
int64_t engine_measure(const rill_engine *e, const char *text, size_t length);
/* Wait for what is submitted, whose answer nobody wants any more. */
void engine_collect_pending(rill_engine *e);
/* Tell the domain which nodes have become free, so that they can be given out again. */
void engine_free_nodes(rill_engine *e);

#endif
