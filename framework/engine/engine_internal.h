/* The engine decodes a stream of inputs with one model. Internal functions of its source files.
 *
 *        submit -> input queue -> [encode] -> ready -> running -> timesteps -> reorder buffer -> next
 *                    ^                         ^---------| preempted when there are too few states (preempt.c)
 *                    '-----------------------------------' exceeds the engine's part of the memory limit
 *
 * Terms
 *   item    an input being decoded, with its beam
 *   slot    index of an item and of its encoder memory
 *   row     a live hypothesis in a call of the model
 *   node    id of a hypothesis's state (KV cache entry)
 *   domain  a kind of model: a table of functions such as encode(), step() and score()
 *   phase   a part of a timestep with its own step() and score(); most domains have one */
#pragma once

#include "chain.h"
#include "input_queue.h"
#include "requests.h"
#include "search_variant.h"
#include "timestep.h"

/* Decides which items a timestep expands, and when inputs are admitted. */
typedef struct schedule {
    const rill_scheduler *scheduler;
    void *self; /* the scheduler's instance */
    /* the user's function that sets the budget of each timestep; NULL: settings.budget applies */
    rill_budget_fn budget;
    void *budget_user;
    int64_t refill_index; /* number of the next refill (admission of inputs), from 0 */
    int64_t last_flush;   /* timestep of the run at which the last flush (setting flush_every) ended */
    /* 1: a flush is in progress: no input is admitted until all items in flight have finished */
    int flushing;
    int overdue_first; /* 1: overdue inputs go first (scheduler.h) */
    /* the next check for overdue inputs is due when rill_stats.expansions reaches this value */
    int64_t next_check;
    /* idle inputs: no timestep in progress expands them, and the next timestep is selected from them. The column `slot` of this list has
     * the inputs' indexes in rill_engine.running */
    running_items idle;
} schedule;

/* Create the scheduler that `scheduler` names; NULL: the method's default scheduler. */
rill_status schedule_create(rill_engine *e, const rill_chain_entry *scheduler);
void schedule_destroy(schedule *s);
/* Returns the inputs in flight as a scheduler sees them, with the budget of the setting. */
rill_sched_view schedule_view(const rill_engine *e, const running_items *list);
/* Select idle inputs for a timestep: at least one, and more within the budget and max_rows. Selects none if no input is idle, if states are
 * too few, or if the only input failed. */
rill_status schedule_select(rill_engine *e, timestep *t, int64_t max_rows);

/* Statistics of a run: counters, seconds per stage, and a lower bound on the number of timesteps (rill_stats.depth_bound). */
typedef struct statistics {
    rill_context *ctx;
    rill_stats total;
    rill_seconds current; /* seconds of the current timestep */
    /* start times of the timestep and of the current stage, by statistics_clock() */
    double timestep_start, stage_start;
    /* [n_depths] element d: how many live hypotheses of length d were expanded (W_d of rill_stats.depth_bound) */
    int64_t *depth_width;
    size_t n_depths;
} statistics;

/* The system's monotonic clock, in seconds. */
double statistics_clock(void);

/* End a stage: add the seconds since the previous stage ended to *stage. The next stage starts now. */
void statistics_end_stage(statistics *s, double *stage);
/* Count the live hypotheses that timestep `step` expands. */
rill_status statistics_count_rows(statistics *s, const items *all, timestep *step);
void statistics_sum_seconds(rill_seconds *sum, const rill_seconds *more);
/* Add an engine's counters to *sum. The caller then overwrites those common to all engines: inputs, failed, waiting_peak, nodes_bound. */
void statistics_add(rill_stats *sum, const rill_stats *s);
/* Count an output (a finished hypothesis): `change` is 1 when it joins its input, -1 when it is dropped. */
void statistics_count_output(statistics *s, const item_output *output, int change);
/* Subtract an item's outputs from the counts, because its input fails or its search restarts. */
void statistics_remove_item(statistics *s, const item *it);
/* Records what a timestep does with each input, for the user's trace function. Without a trace function, only tracer_item() may be called.
 * tracer_candidate() and tracer_hypothesis() require with_hypotheses. */
typedef struct tracer {
    rill_trace_fn fn; /* the user's trace function; NULL: no tracing */
    void *user;
    int32_t worker;       /* the engine's index among several workers */
    int32_t n_heuristics; /* number of heuristics of the run */
    int with_hypotheses;  /* 1: trace every candidate; 0: trace numbers per input, or nothing */
} tracer;

/* Record three numbers per selected item: live hypotheses before, candidates after merging, entries of the new beam. Call
 * tracer_committed() before finished inputs free their slots. */
rill_status tracer_selected(const tracer *t, const items *all, timestep *step);
void tracer_merged(timestep *step);
void tracer_committed(const items *all, timestep *step);
/* Reserve memory to trace all candidates that merging may make in this phase. */
rill_status tracer_reserve(timestep *step);
/* Record that heuristic number `link` of the run dropped candidate j, of the selected input i. */
void tracer_dropped(const tracer *t, timestep *step, int32_t link, int32_t i, int32_t j);
/* Record what became of candidate j of selected input i. rank: in the new beam, or -1. fate: a rill_trace_fate. */
void tracer_candidate(timestep *step, int32_t i, int32_t j, int32_t rank, int32_t fate);
/* Record what became of a child of selected input i that need not be a candidate. parent: its parent's rank in the beam; score: its path
 * score. */
void tracer_hypothesis(timestep *step, int32_t i, int32_t parent, int32_t rank, int32_t action, int32_t fate,
                       double score);
/* Call the trace function at the end of timestep `number` of the run. `seconds`: seconds of each stage of the timestep. */
void tracer_timestep(const tracer *t, const timestep *step, int64_t number, const rill_seconds *seconds);

/* Limits how many model states may exist at once; preempt.c preempts inputs when the limit leaves too few. */
typedef struct memory_limit {
    int64_t bytes; /* the setting `memory`, or what the device has free; 0: no limit in bytes */
    /* limit on nodes (model states) of this engine; 0: there is no limit, and the other members are unused */
    int32_t max_nodes;
    int64_t max_rows;        /* limit on rows (live hypotheses) of a timestep; 0: no limit */
    int64_t max_slot_bytes;  /* limit on bytes of encoder memory in use; 0: no limit */
    int64_t used_slot_bytes; /* bytes of encoder memory in use */
    /* total size of all inputs encoded so far: measured_size as estimated before encoding, encoded_size as reported by encode() */
    double measured_size, encoded_size;
    /* estimate of how many inputs in flight fit in memory; affects only the schedule, not the outputs */
    int32_t running_window;
    int32_t finished_in_window; /* number of inputs that finished since running_window changed */
    /* limits of all workers together, in n_shares equal parts. One engine uses the whole limit for an input that needs more than a part
     * (input_queue.h). */
    int32_t n_shares, total_nodes;
    int64_t total_slot_bytes, total_rows;
    int has_all; /* 1: the engine has the whole limit */
} memory_limit;

/* Memory for the actions, states and scores along one hypothesis, which domains get as a rill_hypothesis. */
typedef struct backtrace_buffer {
    rill_context *ctx;
    rill_columns memory;
    int32_t *action, *node;
    float *logp, *score;
} backtrace_buffer;

/* Makes the texts of outputs by the domain's finalize(): when an input finishes, or, with rill_domain_info.finalize_anywhere, on the thread
 * that delivers results (workers.c). */
typedef struct output_writer {
    rill_context *ctx;
    const rill_domain *domain;
    void *self;                /* the runner (one thread's use of the model) to pass to the domain's functions */
    const char *const *fields; /* [n_fields] names of output fields; borrowed from the setup */
    int32_t n_fields;
    /* 1: results leave the engine without texts, and another thread makes these; 0: the engine makes them */
    int is_deferred;
    backtrace_buffer backtrace;
} output_writer;

/* Data of rows for scorers. A hypothesis's scorer state is stored under its node (state id), and lives as long (hyp_pool.h). */
typedef struct scorer_states {
    rill_context *ctx;
    /* [nodes, chain.state_bytes] scorer states by node: for each node, the states of all scorers one after the other */
    char *node_states;
    size_t node_states_bytes;
    rill_columns memory;
    /* Columns with one element per row of the timestep: the text of the row's input, and its length in bytes. */
    const char **text;
    size_t *length;
    char *row_states; /* [rows, rill_scorer.state_bytes] states of the scorer that is being called, one per row */
    size_t row_states_bytes;
} scorer_states;

void scorer_states_finish(scorer_states *s);
/* Reserve memory for the scorer states of all nodes and rows, and look up the rows' input texts. */
rill_status scorer_states_begin(rill_engine *e, const row_table *rows);

/* Numbers of states and slots for which the domain has reserved memory: state ids and slots must be smaller. */
typedef struct rill__reserved {
    int32_t nodes, slots;
} rill__reserved;

struct rill_model {
    rill_context *ctx;
    const rill_domain *domain;
    void *self;
    rill_domain_info info;
    int threads; /* rill_open_options.threads: threads that a call may use */
    /* The members below are used only if the domain has no runners. busy: 1 while an engine uses the model. */
    rill__reserved reserved;
    int busy;
};

/* A runner: one engine's use of a model, with its own states and buffers. */
typedef struct rill__runner {
    rill_model *model; /* the model that the runner uses; NULL: the runner is not started */
    void *self;
    rill__reserved *reserved; /* the runner's own_reserved; if the domain has no runners, the model's `reserved` */
    rill__reserved own_reserved;
} rill__runner;

/* Inputs that are being encoded. */
typedef struct admission {
    rill_columns memory;
    rill_input *input;
    queued_input **queued; /* the inputs; NULL: the input has become an item, or has its result */
    /* slots that were passed to the domain: a copy, since the domain may overwrite rill_input.slot */
    int32_t *slot;
    int32_t n;
    int32_t last_refill; /* number of inputs that the last refill admitted */
} admission;

/* An item's outputs in the form that scorers' found() reads. found() may request a second decoding of the input. */
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
    void *self; /* runner.self, which is passed to the domain's decoding functions as their first argument */
    rill_domain_info info;
    rill_settings settings;
    int32_t unknown_action; /* the unknown token, to which unknown_penalty applies; RILL_NO_ACTION: none */
    rill_status failed;     /* negative: the run has failed with this status */

    requests requests;
    input_queue *queue; /* the input queue: own_queue, or the queue that several workers share */
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
    rill_key_fn cube_key; /* NULL: cube pruning treats hypotheses with equal last actions as equivalent */
    void *cube_key_user;
};

/* rill_model.c: start a runner for one thread, with `threads` threads inside calls.
 *   RILL_OK · RILL_ERR_ARGUMENT (another engine uses the model, which serves one) · a failure of start() */
rill_status rill__runner_start(rill_model *model, rill_context *ctx, int threads, rill__runner *out);
void rill__runner_stop(rill__runner *runner); /* accepts a runner that was not started */
/* Returns the domain's action for an unknown token (<unk>), or RILL_NO_ACTION. */
int32_t rill__model_unknown(const rill_model *model);
/* Fail if the user requests an output field that the domain does not have. */
rill_status engine_check_fields(rill_engine *e);

/* Defined in admit.c. Put as many inputs in flight as the scheduler decides; encode those that are not encoded yet. */
rill_status engine_admit(rill_engine *e);
/* For domains that score asynchronously: encode the inputs of the next admission while a device computes a score call. */
rill_status engine_encode_ahead(rill_engine *e);
/* Update how many inputs the engine may take (input_taker.n_offered). Returns how many could be admitted, ready inputs included. */
int64_t engine_n_waiting(rill_engine *e);

/* item.c: call the domain's reserve() if the engine now has more state ids or slots than the domain has reserved. */
rill_status engine_reserve_domain(rill_engine *e);
/* Pass the nodes (state ids) that are no longer needed to the domain's free(). Afterwards the ids can be reused. */
void engine_free_nodes(rill_engine *e);
/* Mark an input of a timestep in progress as cancelled: it is removed when the timestep ends. */
void engine_mark_cancelled(rill_engine *e, item *it);
/* Fail one item of a timestep in progress. The timestep skips the item; the input's result gets `status` and `message`. */
rill_status engine_fail_selected(rill_engine *e, int32_t slot, rill_status status, const char *message);
/* Returns 1 if a failure with this status fails one input; 0 if it ends the run: out of memory, stopped, failed `check`. */
int engine_is_input_error(rill_status status);

/* expand.c: begin a phase: make a row per live hypothesis, have the domain compute states, collect bonuses and masks. */
rill_status engine_expand(rill_engine *e, timestep *t);
/* Append a row for the live beam entry at `rank` of the input selected[index], without a node (state id). Capacity must be reserved. */
void engine_add_row(rill_engine *e, timestep *t, int32_t index, int32_t rank);
/* For all rows of the timestep: allocate nodes (state ids), have the domain's step() compute their states, and collect modifiers. */
rill_status engine_step_rows(rill_engine *e, timestep *t);
/* Subtract n from the nodes (state ids) reserved for the timestep: they are now in use, or not needed. */
void engine_use_reserved_nodes(timestep *t, int64_t n);
/* Called before scoring the rows from t->next_row on. Cancelled and late inputs leave the timestep (item.leaves): t->next_row skips their
 * rows.
 *   RILL_OK · RILL_ERR_STOPPED (rill_engine_stop() was called) */
rill_status engine_leave_midway(rill_engine *e, timestep *t);
/* Returns rows [from, from + n) of the timestep in the form that the domain's functions take. */
rill_rows engine_domain_rows(const timestep *t, int32_t from, int32_t n);

/* Defined in beam_search.c. timestep_init() initialises a timestep, whose index in rill_engine.timesteps is `group`; timestep_finish()
 * frees its memory. */
void timestep_init(timestep *t, rill_context *ctx, const rill_domain_info *info, int32_t group);
void timestep_finish(timestep *t);
/* Wait for the score calls that a device still computes, and discard their results. */
void engine_collect_pending(rill_engine *e);

/* merge.c: list the best children of each selected input, best first. last: 1 in the timestep's last phase, where outputs can arise. */
rill_status engine_merge(rill_engine *e, timestep *t, int last);
/* Fail the run because the domain returned invalid choices (best next actions); topk.c has described the error. */
rill_status engine_fail_choices(rill_engine *e, const timestep *t);
/* Reserve memory for all candidates and outputs that the choices can become, so that merging cannot fail half-way. */
rill_status engine_reserve_children(rill_engine *e, timestep *t);
/* Cube pruning: count the best children of input i by parent: count[base + rank]. base: beam entries of selected inputs before i. */
void engine_count_best_children(rill_engine *e, timestep *t, int32_t i, int32_t base, int32_t *count);

/* chain.c: each heuristic, in order, drops candidates. t->candidates.stop[i] is set to 1 if one stops input i. */
rill_status engine_prune(rill_engine *e, timestep *t);

/* stop_criteria.c: when a hypothesis may end or become an output, and when an input's search stops (steps 4, 6 and 7 of "One timestep of
 * one input, exactly" in docs/algorithms.md). */
/* Refuse a minimum length that no output of the model can have. RILL_OK · RILL_ERR_OPTION */
rill_status stop_check_lengths(rill_context *ctx, const rill_settings *s, const rill_domain_info *info);
/* Returns an input's length limit in actions: the setting's, else the input's, else the domain's. A limit of input or domain is raised to
 * the minimum length. No limit exceeds max_positions or, if that is 0, the input's own limit. */
int32_t stop_max_length(const rill_settings *s, const rill_domain_info *info, const rill_input *input);
/* Whether the input's hypotheses may, must or must not end in the next timestep. */
rill_end_rule stop_end_rule(const item *it);
/* Returns 1 if the length limit makes the next timestep the input's last, after which live hypotheses are truncated; else 0. */
int stop_is_last_timestep(const item *it);

/* Returns the output that a new child, a beam entry, or candidate j would become, without the member `hyp`. Live ones are marked
 * truncated. */
item_output stop_child_output(const item *it, double path_score, rill_terminal terminal);
item_output stop_entry_output(const item *it, const beam_entry *entry);
item_output stop_candidate_output(const item *it, const candidates *c, int32_t j);
/* Add an output, unless the setting `keep` drops it. The input takes over the reference to output.hyp. Requires
 * engine_reserve_children(). */
void stop_add_output(rill_engine *e, item *it, item_output output);

/* Certificates (search/certify.c): record that the search gives up candidate j. */
void stop_abandon_candidate(const candidates *c, item *it, int32_t j);

/* How many of an input's children merging takes, best first, and how it treats ended children. */
typedef struct child_quota {
    int32_t max_children; /* maximum number of children taken, live and ended */
    int32_t max_live;     /* maximum number of live children among them */
    /* ended children before this rank become outputs, later ones are dropped. Unused if only_leading is 1 */
    int32_t max_output_pos;
    /* 1: ended children above every live child become outputs, other ended children stay in the beam; 0: max_output_pos decides */
    int only_leading;
} child_quota;
/* last: 1 in the last phase of a timestep. In earlier phases all children stay in the beam. */
child_quota stop_child_quota(const item *it, int last);

/* Returns how many of an input's `width` candidates fit in the new beam. */
int32_t stop_beam_width(const item *it, int32_t width);

/* Whether and why an input's search stops after a timestep. The reason determines which candidates become outputs. */
typedef enum stop_reason {
    STOP_NOT,
    STOP_ENOUGH,     /* the input has enough outputs: its candidates are dropped */
    STOP_OUTPUT_ALL, /* all candidates become outputs, in rank order; live ones are truncated */
    /* a heuristic stops the item: its ended candidates become outputs; without any output also its live ones */
    STOP_REQUESTED,
} stop_reason;

/* Whether an input stops: enough outputs (setting `stop`), no live candidate, the length limit, or `requested` by a heuristic.
 *   best_live: best path score of a live candidate; RILL_SCORE_DEAD: none */
stop_reason stop_check_item(const item *it, double best_live, int requested);

/* commit.c: make the remaining candidates the inputs' new beams. last: 1 in the timestep's last phase, after which inputs may stop. */
rill_status engine_commit(rill_engine *e, timestep *t, int last);
/* For an input that stops: call before_outputs() of its search variants (search_variant.h). Returns 1 if one added an output, else 0. */
int engine_before_outputs(rill_engine *e, item *it, int needs_output);
/* Release the references of the input's old beam that did not pass to new entries or outputs. The beam is then empty. */
void engine_release_beam(rill_engine *e, item *it);

/* scorer_calls.c: call all scorers for the timestep's rows, and collect their bonuses, masks and limits in `mods`. */
rill_status engine_call_scorers(rill_engine *e, const timestep *t, rill_modifiers *mods);
/* For the setting `check`: call the scorers for each input alone. The run fails if modifiers differ from `all`, or exceed max_bonus. */
rill_status engine_check_scorers(rill_engine *e, const timestep *t, const modifier_table *all, int32_t max_choices);
/* Returns an upper bound on all scorers' bonuses for an action, and in *end for the end action. Requires max_bonus() of every scorer. */
double engine_max_bonus(const chain *c, const item *it, double *end);
/* Returns rows [from, from + n) of the timestep in the form that scorers take. */
rill_scorer_rows engine_scorer_rows(const rill_engine *e, const timestep *t, int32_t from, int32_t n);
/* Returns how an error message introduces the first scorer's name: "scorer ", or other words if several scorers may be at fault. */
const char *engine_scorer_label(const rill_engine *e);
/* Call the scorers' begin() for an input that was just encoded. */
rill_status engine_scorers_begin(rill_engine *e, rill_input *input, const request *own_request);
/* Call found() of the scorers with the outputs of an input whose search has stopped. Returns RILL_AGAIN if one requests another search. */
rill_status engine_scorers_review(rill_engine *e, int32_t slot);
/* Call done() of the first n scorers of the run for input `id`, which has these instances. */
void engine_scorers_done(const rill_engine *e, chain_instance *const *instances, int64_t id, int32_t n);

/* request_progress.c: call the progress callbacks of the inputs that continue.
 *   RILL_OK · RILL_ERR_MEMORY · a failure of the domain's finalize() */
rill_status progress_report(rill_engine *e, const timestep *t);

/* finish.c: make the result of an input whose search has stopped, and free the input. RILL_AGAIN: the search goes on (exact search, or a
 * restart). */
rill_status engine_finish_item(rill_engine *e, int32_t slot);
/* Deliver the result of an input's first search, because its deadline has passed during a second one. */
void engine_deliver_saved(rill_engine *e, queued_input *in);
/* Make the result of an input with nothing to decode, one empty output. The input is freed even on RILL_ERR_MEMORY. */
rill_status engine_finish_empty(rill_engine *e, queued_input *in);
/* Have the domain release a slot's encoder memory, and free the slot. */
void engine_free_slot(rill_engine *e, int32_t slot);
/* Free an item with its hypotheses, their states, slot and input, without making a result. */
void engine_free_item(rill_engine *e, int32_t slot);
/* Free an input that was taken from the queue. */
void engine_free_input(rill_engine *e, queued_input *in);
/* Make the failed result of an input. The input is freed even on RILL_ERR_MEMORY. */
rill_status engine_fail_input(rill_engine *e, queued_input *in, rill_status status, const char *message);
/* Returns an input that has no slot (index of an item) to the queue. */
rill_status engine_give_back(rill_engine *e, queued_input *in);
/* Free an item and return its input to the queue, because it needs more than this engine's part of the memory limit. */
rill_status engine_give_back_item(rill_engine *e, int32_t slot);

/* preempt.c: preempt inputs until the oldest can be expanded; no timestep may be in progress. If even that does not suffice, the oldest
 * returns to the queue, finishes or fails. */
rill_status engine_preempt(rill_engine *e);

/* cancel_and_deadline.c: engine_drop_inputs() finishes cancelled and late inputs that are queued, ready or idle; engine_finish_cancelled()
 * those of a timestep. */
rill_status engine_drop_inputs(rill_engine *e);
rill_status engine_finish_cancelled(rill_engine *e, const timestep *t);
rill_status cancel_not_found(rill_context *ctx, int64_t id);
/* End an item without new outputs. place: index among the running items, or IS_READY. status: RILL_OK delivers a saved result; others fail
 * the input. */
enum { IS_READY = -1 };
rill_status engine_fail_item(rill_engine *e, int32_t slot, int32_t place, rill_status status, const char *message);

/* memory_limit.c */
/* Compute this engine's part of the limit, one of `workers` equal parts. Nothing may be in flight. RILL_OK · RILL_ERR_OPTION */
rill_status memory_limit_init(rill_engine *e, int32_t workers);
/* Returns how many of the `admit` inputs that the scheduler wants to admit may be admitted now. */
int32_t memory_limit_admissible(const rill_engine *e, int32_t admit);
/* Returns the number of bytes that the limit still allows for encoder memory; infinite: no limit. */
double memory_limit_free_bytes(const rill_engine *e);
/* Returns 1 if an input may be encoded besides n others, and subtracts its expected memory from *free_bytes; else 0. size: before
 * encoding. */
int memory_limit_can_encode(const rill_engine *e, int64_t size, int32_t n, double *free_bytes);
/* Count the memory of an encoded input. measured: its size before encoding.
 *   RILL_OK · RILL_AGAIN (above the engine's part of the limit, not counted) · RILL_ERR_INPUT (above the whole limit) */
rill_status memory_limit_add_input(rill_engine *e, rill_input *input, int64_t measured);
/* Returns how many more states the limit allows. States reserved for a timestep in progress count as used. */
int64_t memory_limit_free_nodes(const rill_engine *e);
/* Returns an upper bound on the number of states that one more timestep of the input in this slot makes. */
int64_t memory_limit_max_nodes(const rill_engine *e, int32_t slot);
/* Lower running_window (the estimated number of inputs that fit in memory): the states of the chosen inputs did not fit. */
void memory_limit_shrink_window(rill_engine *e);
/* Check that one input's full beam fits in the limit on rows. r: a request's settings; NULL: the engine's.
 *   RILL_OK · RILL_ERR_OPTION */
rill_status memory_limit_check(const rill_engine *e, const request *r);
/* Give the engine the whole limit (1) or its part (0). Nothing may be in flight. The limit on rows stays divided: scratch memory is never
 * freed. */
void memory_limit_use(rill_engine *e, int has_all);
/* An input has finished: subtract its encoder memory from used_slot_bytes. */
void memory_limit_remove_input(rill_engine *e, int32_t slot);

/* output_writer.c */
/* Write an output's actions, oldest first, to *hypothesis. Arrays belong to `u`, until the next call.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status backtrace_output(backtrace_buffer *u, const hyp_pool *f, int32_t slot, const item_output *output,
                             int32_t phases, rill_hypothesis *hypothesis);

/* Append a hypothesis's text, NUL-terminated, and additional fields to `text`; set out->text_bytes. With `distinct` a text equal to one of
 * outputs[0, n) is not appended: *is_new = 0.
 *   RILL_OK · RILL_ERR_MEMORY · a failure of the domain's finalize() or field() */
rill_status output_writer_append(const output_writer *w, const rill_hypothesis *h, int distinct,
                                 const rill_output *outputs, int32_t n, rill_text *text, rill_output *out, int *is_new);
/* Set the outputs' pointers to texts, actions and log-probabilities, after all outputs were added, because appending may move the
 * arrays. */
void output_writer_set_pointers(const output_writer *w, result_record *record, const rill_text *text);
/* Write the output texts of a record into `text`, if the engine has not written them yet. */
rill_status output_writer_write_deferred(const output_writer *w, result_record *record, rill_text *text);

/* tracer.c */
/* Call the trace function, if there is one, for an input that was admitted, has finished or was restarted. */
void tracer_item(const rill_engine *e, rill_trace_kind kind, int32_t slot, rill_status status);

/* engine.c: queue a request. failed: RILL_OK, or the status of an input that has already failed, with its text as message. `id` may
 * be NULL. Errors of settings are returned here, except by workers' engines.
 *   RILL_OK · a status of rill_engine_submit_request() except RILL_AGAIN: the queue must have space */
rill_status engine_submit(rill_engine *e, const rill_request *req, rill_status failed, int64_t *id);

/* Copy a caller's setup. A program built against an older version has shorter structs.
 *   RILL_OK · RILL_ERR_ABI */
rill_status rill__setup_copy(rill_context *ctx, rill_engine_setup *own, const rill_engine_setup *from);
