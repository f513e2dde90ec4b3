/* The engine: all of its state, and the functions of its files.
 *
 *        submit -> input queue -> [encode] -> ready -> running -> timesteps -> reorder buffer -> next
 *                    ^                         ^---------| preempted for lack of nodes (memory_limit.c)
 *                    '-----------------------------------' exceeds the engine's share of the memory limit
 *
 * Modules that do not know the engine have headers of their own; functions that need several of them are declared here. */
#ifndef RILL_ENGINE_INTERNAL_H
#define RILL_ENGINE_INTERNAL_H

#include "chain.h"
#include "input_queue.h"
#include "memory_limit.h"
#include "ngram_blocking.h"
#include "output_writer.h"
#include "reorder_buffer.h"
#include "requests.h"
#include "search_variant.h"
#include "timestep.h"

/* The schedule: the scheduler, the budget function and the state of refills; used by schedule.c and admit.c. */
/* The idle items, from which a timestep is selected while other items are busy (their score call is in progress): the columns
 * of rill_sched_view, and each item's index among the running items. */
typedef struct idle_columns {
    rill_columns memory;
    int32_t *running_index, *timestep, *width;
    int64_t *id, *size, *refill_index;
} idle_columns;

typedef struct schedule {
    rill_context *ctx;
    const rill_scheduler *scheduler;
    void *self;            /* the scheduler's instance */
    rill_budget_fn budget; /* NULL: the setting applies */
    void *budget_user;
    int64_t refill_index; /* number of the next refill */
    int64_t last_flush;   /* timestep of the run at which the last flush ended */
    int flushing;
    /* value of rill_stats.expansions at which the next check for starving items is due */
    int64_t next_check;
    idle_columns idle;
} schedule;

/* Create the scheduler that `scheduler` names; NULL: the method's default scheduler. */
rill_status schedule_create(rill_engine *e, const rill_chain_entry *scheduler);
void schedule_destroy(schedule *s);
/* The items in flight as a scheduler sees them; the view's budget is the setting, not the budget function's value. */
rill_sched_view schedule_view(const rill_engine *e);
/* Select a timestep's items from the idle items: at least one item, further ones within the budget and max_rows live
 * hypotheses. Selects no item if none is idle, if the other timestep in progress leaves too few nodes, or if the only item
 * failed. */
rill_status schedule_select(rill_engine *e, timestep *t, int64_t max_rows);

/* Statistics: the counters and seconds of a run, and the lower bound on the timesteps of a least-advanced schedule. */
typedef struct statistics {
    rill_context *ctx;
    rill_stats total;
    rill_seconds current; /* seconds of the current timestep */
    /* start times of the timestep and of the current stage, by statistics_clock() */
    double timestep_start, stage_start;
    int64_t *depth_width; /* [n_depths] live candidates expanded at depth d: W_d of rill_stats.depth_bound */
    size_t n_depths;
} statistics;

/* The system's monotonic clock, in seconds. */
double statistics_clock(void);

/* End a stage: add the time since the previous stage ended to *stage. The next stage starts now. (Reading the clock at
 * both ends of each stage took a tenth of the engine's time.) */
void statistics_end_stage(statistics *s, double *stage);
void statistics_finish(statistics *s);
/* Count the live candidates of the selected items. */
rill_status statistics_count_rows(statistics *s, const items *all, timestep *step);
void statistics_sum_seconds(rill_seconds *sum, const rill_seconds *more);
/* Add the counters of another engine, but the numbers of inputs, and the memory that both may use. */
void statistics_add(rill_stats *sum, const rill_stats *s);
/* Count an output that was added (1) or dropped (-1). */
void statistics_count_output(statistics *s, const item_output *output, int change);
/* Subtract an item's outputs from the counts, since the item leaves without outputs, or restarts. */
void statistics_remove_item(statistics *s, const item *it);
/* Write the first out->struct_size bytes of the statistics. `budget`: the budget of every timestep; 0: none, or it varies. */
void statistics_write(const statistics *s, const hyp_pool *f, const memory_limit *b, const reorder_buffer *o,
                      int64_t budget, rill_stats *out);

/* Tracing: calls the setup's trace function. All functions but tracer_item() are called only if there is one (`fn`), tracer_candidate()
 * and tracer_output() only with `with_hypotheses`. */
typedef struct tracer {
    rill_trace_fn fn; /* NULL: no tracing */
    void *user;
    int32_t worker;       /* the engine's index among several workers */
    int32_t n_heuristics; /* heuristics of the chain */
    int with_hypotheses;  /* 1: trace every candidate; 0 without fn */
} tracer;

/* Record the beam width of each selected item: its live hypotheses before the timestep, all candidates after merging, and the
 * entries of the new beam. Call tracer_committed() before finished items free their slots. */
rill_status tracer_selected(const tracer *t, const items *all, timestep *step);
void tracer_merged(timestep *step);
void tracer_committed(const items *all, timestep *step);
/* Reserve memory for a phase's candidates before merging. */
rill_status tracer_reserve(timestep *step);
/* Record that heuristic `link` dropped candidate j of selected item i. */
void tracer_dropped(const tracer *t, timestep *step, int32_t link, int32_t i, int32_t j);
/* Record the rill_trace_fate of candidate j of selected item i. `rank`: its rank in the new beam, or -1. */
void tracer_candidate(timestep *step, int32_t i, int32_t j, int32_t rank, int32_t fate);
/* Record a child that merging made an output, so that it never became a candidate. */
void tracer_output(timestep *step, int32_t i, int32_t parent, int32_t action, double score);
/* Trace the end of timestep `number` of the run. `seconds`: since the end of the previous timestep. */
void tracer_timestep(const tracer *t, const timestep *step, int64_t number, const rill_seconds *seconds);
/* Trace that an item was admitted, finished or restarted in timestep `number`. */
void tracer_item(const tracer *t, rill_trace_kind kind, int64_t number, int32_t slot, const item *it,
                 rill_status status);

/* Scorer states and input texts: the columns of rill_scorer_rows that a timestep's row_table does not have.
 *
 * Scorer states are stored by node id, like the domain's states: a node's scorer states live as long as the node
 * (hyp_pool.h). */
typedef struct scorer_states {
    rill_context *ctx;
    char *node_states; /* [nodes, chain.state_bytes] a node's states of all scorers are adjacent */
    size_t node_states_bytes;
    rill_columns memory;
    /* Columns with one element per row of the timestep: the text of the row's input, and its length in bytes. */
    const char **text;
    size_t *length;
    char *row_states; /* [rows, rill_scorer.state_bytes] states of the scorer being called */
    size_t row_states_bytes;
} scorer_states;

void scorer_states_finish(scorer_states *s);
/* Reserve memory for `nodes` nodes and for the rows, and look up the input texts of the rows. */
rill_status scorer_states_begin(scorer_states *s, const chain *c, int32_t nodes, const row_table *rows,
                                const items *all);

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

/* Inputs that are being encoded. */
typedef struct admission {
    rill_columns memory;
    rill_input *input;
    queued_input **queued; /* NULL: the input is an item now, or has its result */
    int32_t *slot;         /* copy of the slots passed to the domain, which may overwrite rill_input.slot */
    int32_t n;
    int32_t last_refill; /* number of items that the last refill admitted */
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
    rill_settings settings;
    int32_t unknown_action; /* the action that unknown_penalty applies to, or RILL_NO_ACTION */
    rill_status failed;     /* negative: the run is over */

    requests requests;
    input_queue *queue; /* own_queue, or that of several workers */
    input_queue own_queue;
    input_taker taker;
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
/* Find out how many inputs the engine may take (input_taker.n_offered). Returns how many could be admitted, with those encoded ahead. */
int64_t engine_n_waiting(rill_engine *e);
/* Free an item with its hypotheses, slot and input; makes no result. */
void engine_free_item(rill_engine *e, int32_t slot);
/* Free an item, whose input returns to the queue: it exceeds the engine's share of the memory limit. */
rill_status engine_give_back_item(rill_engine *e, int32_t slot);
/* Free an input that was taken from the queue. */
void engine_free_input(rill_engine *e, queued_input *in);
/* Pass grown capacities to domain->reserve. */
rill_status engine_reserve_domain(rill_engine *e);
/* expand.c: make the rows of the selected items for the timestep's phase, compute their states and collect their modifiers. */
rill_status engine_expand(rill_engine *e, timestep *t);
/* Append a row for the live beam entry `rank` of the selected item `index`. Its node (the id of its state) is allocated
 * later. Capacity for the row must be reserved. */
void engine_add_row(rill_engine *e, timestep *t, int32_t index, int32_t rank);
/* Allocate nodes, step states and collect modifiers for the rows. */
rill_status engine_step_rows(rill_engine *e, timestep *t);
/* Subtract n from the number of nodes reserved for the timestep: these nodes are now in use, or are not needed. */
void engine_use_reserved_nodes(timestep *t, int64_t n);
/* Rows [from, from + n) in the form that the domain sees. */
rill_rows engine_domain_rows(const timestep *t, int32_t from, int32_t n);

/* beam_search.c */
void timestep_init(timestep *t, rill_context *ctx, const rill_domain_info *info, int32_t group);
void timestep_finish(timestep *t);
/* Fail with the error that top-k checking found in the domain's result. */
rill_status engine_fail_choices(rill_engine *e, const timestep *t);
/* Wait for submitted calls whose results are no longer needed. */
void engine_collect_pending(rill_engine *e);

/* merge.c: merge the children of each selected item in rank order; in the last phase outputs leave the beam. */
rill_status engine_merge(rill_engine *e, timestep *t, int last);
/* Reserve memory for everything that a phase may make from its choices, so that merging cannot fail half-way. */
rill_status engine_reserve_children(rill_engine *e, timestep *t);
/* Add to count[base + rank] how many children of each beam entry are among the best children of selected item i, whose entries begin at
 * `base` in row_of. */
void engine_count_best_children(rill_engine *e, timestep *t, int32_t i, int32_t base, int32_t *count);

/* chain.c: apply the heuristics in order; the surviving candidates are compacted after each heuristic. Items' stop requests are or-ed into
 * cands->stop. *pruned is the number of dropped candidates. */
rill_status chain_prune(chain *c, candidates *cands, int32_t phase, int64_t *pruned);

/* stop_criteria.c: when a hypothesis may end, when it leaves the beam as an output, and when an item stops, by the item's settings. The
 * rules are steps 4, 6 and 7 of "One timestep of one item, exactly" in docs/algorithms.md, and docs/search.md. */
/* Length limit of an input's hypotheses, in actions: from the settings, else from the input, else from the domain; at
 * most the domain's max_positions. */
int32_t stop_max_length(const rill_settings *s, const rill_domain_info *info, const rill_input *input);
/* The end rule of the item's rows in the next timestep. */
rill_end_rule stop_end_rule(const item *it);
/* Whether the next timestep is the item's last: live hypotheses end after it. */
int stop_is_last_timestep(const item *it);

/* The output that a hypothesis would be, with its length and final score, and without its `hyp`: a child of this timestep, by its path
 * score and last action; an entry of the beam before the timestep; candidate j. A live hypothesis is truncated. */
item_output stop_child_output(const item *it, double path_score, rill_terminal terminal);
item_output stop_entry_output(const item *it, const beam_entry *entry);
item_output stop_candidate_output(const item *it, const candidates *c, int32_t j);
/* Add an output to an item; the item takes ownership of the output's hypothesis reference. The setting `keep` decides which outputs are
 * kept. engine_reserve_children() has reserved the memory. */
void stop_add_output(rill_engine *e, item *it, item_output output);

/* For certificates (search/certify.c): record that the item abandons candidate j, ended or live. */
void stop_abandon_candidate(const candidates *c, item *it, int32_t j);

/* Limits for merging an item's children, in rank order. */
typedef struct child_quota {
    int32_t max_children; /* children considered */
    int32_t max_live;     /* live children kept */
    /* ended children among the first max_output_pos become outputs, later ended ones are dropped; not with only_leading */
    int32_t max_output_pos;
    /* 1: ended children before the first live child become outputs, later ended ones stay in the beam */
    int only_leading;
} child_quota;
/* `last`: 1 in the last phase of a timestep; before it the best children stay, ended or not. */
child_quota stop_child_quota(const item *it, int last);

/* How many of `width` candidates stay in the beam. */
int32_t stop_beam_width(const item *it, int32_t width);

/* Whether an item stops after a timestep, and which of its candidates become outputs. */
typedef enum stop_reason {
    STOP_NOT,
    STOP_ENOUGH,     /* no candidate becomes an output */
    STOP_OUTPUT_ALL, /* all candidates become outputs, in rank order; live ones are truncated */
    STOP_REQUESTED,  /* ended candidates become outputs; live ones only if the item has no output */
} stop_reason;

/* Decide whether an item stops. Criteria in order of precedence: enough outputs (the setting `stop`); no live candidate, or
 * the length limit; a heuristic's stop (`requested`). Under at_limit "first" the length limit comes first. `best_live`: the
 * best path score of a live candidate; RILL_SCORE_DEAD: none is live. */
stop_reason stop_check_item(const item *it, double best_live, int requested);

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
rill_status engine_scorers_begin(rill_engine *e, rill_input *input, const request *own_request);
/* Returns RILL_AGAIN if a scorer asked for another search and the item has restarted. */
rill_status engine_scorers_review(rill_engine *e, int32_t slot);
void engine_scorers_done(rill_engine *e, const item *it);

/* request_progress.c: after timestep `t`, call the progress callbacks of its items that continue. Call it only if some request has one.
 *   RILL_OK · RILL_ERR_MEMORY · a failure of the domain's finalize() */
rill_status progress_report(rill_engine *e, const timestep *t);

/* finish.c: make the result of a finished item and free the item. Returns RILL_AGAIN if the item stays: it continues with exact search, or
 * a scorer made it restart. */
rill_status engine_finish_item(rill_engine *e, int32_t slot);
/* Save the result of an item with a deadline before it restarts; deliver this saved result when the deadline passes. */
rill_status engine_save_result(rill_engine *e, int32_t slot);
void engine_deliver_saved(rill_engine *e, queued_input *in);
/* Make the empty result of an input with nothing to decode. */
rill_status engine_finish_empty(rill_engine *e, const queued_input *in);

/* requests.c: engine_drop_inputs() finishes the inputs that are cancelled or late: those that wait, and those of this engine, except busy
 * items (whose timestep a device still computes). engine_finish_cancelled() finishes items of the timestep that failed, or were cancelled
 * while busy. */
rill_status engine_drop_inputs(rill_engine *e);
rill_status engine_finish_cancelled(rill_engine *e, const timestep *t);
/* Fail one selected item: it is skipped from now on and leaves with this status when its timestep is over. Other items are unaffected. */
rill_status engine_fail_selected(rill_engine *e, int32_t slot, rill_status status, const char *message);
/* Return 1 if a failure caused by one input fails this input alone. Out of memory, a stop and failures of the setting `check` end the run:
 * 0. */
int engine_is_input_error(rill_status status);
rill_status cancel_not_found(rill_context *ctx, int64_t id);

/* engine.c: queue a request whose struct is of this version; `failed`: RILL_OK, or the text is the message of an input that has already
 * failed. For an engine that is not one of several workers, errors of its settings and arguments are returned here.
 *   RILL_OK · what rill_engine_submit_request() returns, but RILL_AGAIN: there must be space */
rill_status engine_submit(rill_engine *e, const rill_request *req, rill_status failed, int64_t *id);
/* Pass freed nodes to the domain's free(), so that their ids can be reused. */
void engine_free_nodes(rill_engine *e);

/* Copy a caller's setup, whose struct and settings may be shorter than this version's. RILL_OK · RILL_ERR_ABI */
rill_status rill__setup_copy(rill_context *ctx, rill_engine_setup *own, const rill_engine_setup *from);

#endif
