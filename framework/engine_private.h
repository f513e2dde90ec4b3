/* The engine's inside, shared by engine.c (the loop), admit.c, schedule.c, expand.c, merge.c and commit.c.
 *
 *        submit -> intake -> [encode] -> ready -> flight -> timesteps -> outbox -> next
 *                                          ^--------' when states are too few (bound.c)
 *
 * An item's index in `items` is its slot. It is free, ready (encoded, waiting for a place; only under policies that encode
 * ahead) or in flight. `flight` lists slots in order of admission, `selected` those of the present timestep. */
#ifndef RILL_ENGINE_PRIVATE_H
#define RILL_ENGINE_PRIVATE_H

#include <time.h>

#include "candidates.h"
#include "chain.h"
#include "forest.h"
#include "intake.h"
#include "outbox.h"
#include "select.h"

/* What expanding a live entry needs stands here: the forest is large, and following ids through it from cold memory cost
 * more than all the rest of making rows. */
typedef struct beam_entry {
    double score;
    int32_t history;
    int32_t action;    /* the last one */
    int32_t state_row; /* of a live one: the row its state continues, which it holds */
    float action_logp; /* of the last action */
    int32_t length;    /* of an ended one: timesteps, an end action not counted */
    uint8_t ended;     /* waits below a live candidate (finish "top"): a rill_terminal, 0 of a live one */
} beam_entry;

/* merge.c: the best child of a beam entry that has not been taken. */
typedef struct merge_head {
    double score;
    int32_t rank; /* of the parent */
    int32_t row;  /* of the parent's choices, or -1: the parent has ended and is its own only child */
    int32_t next; /* choice at the head */
} merge_head;

typedef struct item_output {
    double score;
    int32_t history;
    int32_t length; /* timesteps, an end action not counted */
    uint8_t truncated;
    uint8_t end; /* an end action is counted where the length is (count_end) */
} item_output;

typedef struct item {
    int64_t id, size;
    int32_t timestep; /* timesteps completed: l_t */
    int32_t max_length;
    int32_t width, live; /* beam entries; of these live */
    int32_t n_outputs;
    double best_output;
    forest_arena arena;
    beam_entry *beam;
    size_t beam_capacity;
    item_output *outputs;
    size_t outputs_capacity;
    uint8_t stop_asked; /* by a heuristic, in an earlier phase of this timestep */
    uint8_t top_ended;  /* the best candidate of some timestep was an ended one */
    int64_t slot_bytes; /* what its slot takes, by what the domain says; counted under a bound on memory only */
} item;

/* Arrays over the rows of one call, [capacity]. */
typedef struct row_table {
    int32_t *node, *parent, *state_parent, *action, *slot, *depth; /* what the domain sees */
    int32_t *history, *rank, *item;                                /* item: index in `selected` */
    int64_t *item_id;
    double *score;
    size_t capacity;
    int32_t n;
} row_table;

/* A bound on memory; bound.c. */
typedef struct bound {
    int32_t rows;             /* most states; 0: no bound, and nothing below is used */
    int64_t slot_bytes;       /* most for inputs in flight and encoded; 0: no bound */
    int64_t used_bytes;       /* by those now */
    double measured, encoded; /* sizes of inputs as measured before encoding and as encoding told, summed up */
    int32_t window;           /* items in flight that seem to fit: schedule only */
    int32_t finished;         /* items finished since it was last changed */
} bound;

struct rill_model {
    rill_context *ctx;
    const rill_domain *domain;
    void *self;
    rill_domain_info info;
    int32_t reserved_nodes, reserved_slots; /* what the domain was told, by this engine or one before it */
    rill_engine *engine;                    /* the one it serves, or NULL */
};

struct rill_engine {
    rill_context *ctx;
    rill_model *model;
    const rill_domain *domain;
    void *self; /* the domain's */
    rill_domain_info info;
    rill_settings settings;
    int32_t unknown; /* the action that unknown_penalty is for, or RILL_NO_ACTION */
    const rill_policy *policy;
    void *policy_self;
    rill_trace_fn trace;
    void *trace_user;
    rill_budget_fn budget; /* NULL: the setting holds */
    void *budget_user;
    const char *const *fields; /* [n_fields] of the setup, which keeps them */
    int32_t n_fields;
    chain chain;
    intake intake;
    outbox outbox;
    forest forest;
    bound bound;
    rill_status failed; /* negative: the run is over */
    int input_closed;

    item *items; /* [slots] */
    size_t slots;
    /* Flags of slots, apart from the items: each timestep looks at those of all in flight, and items are cold. */
    uint8_t *done;        /* the item has stopped and waits to be finished */
    uint8_t *passed_over; /* how often, up to the number from which on it goes first */
    size_t done_capacity, passed_over_capacity;
    int32_t n_overdue; /* items passed over so often that they go first */
    int32_t *free_slots;
    size_t free_slots_capacity;
    int32_t n_free;
    int32_t *ready; /* encoded, in order of admission: ready[first_ready, first_ready + n_ready) */
    size_t ready_capacity;
    int32_t first_ready, n_ready;
    /* The items in flight, in order of admission: their slots, and a column for each of rill_flight's. The columns are kept up
     * to date rather than gathered, since items are cold. schedule.c */
    int32_t *flight, *view_timestep, *view_width;
    int64_t *view_id, *view_size, *view_wave;
    uint8_t *marked;   /* chosen so far */
    int32_t *order;    /* what the policy writes */
    int32_t *picked;   /* index in flight of the items selected ... */
    int32_t *selected; /* ... and their slots */
    size_t flight_capacity[10];
    int32_t n_flight;
    int64_t wave, flush_from;
    int flushing;
    rill_input *inputs;      /* for encode */
    int64_t *input_measured; /* their sizes before */
    size_t inputs_capacity, measured_capacity;

    row_table rows;
    selector selector;
    candidates candidates;
    rill_ask_builder asks, check_asks;
    merge_head *heap; /* one per beam entry of an item */
    size_t heap_capacity;
    beam_entry *beam_scratch;
    size_t beam_scratch_capacity;
    int32_t *hypothesis_action, *hypothesis_node; /* finalize: one hypothesis */
    float *hypothesis_logp, *hypothesis_score;
    size_t hypothesis_capacity[4];
    double *ranks; /* finalize: sort keys */
    size_t ranks_capacity;

    rill_stats stats;
    rill_seconds seconds; /* of the present timestep */
    int64_t *depth_width; /* W_d: live candidates expanded at depth d */
    size_t depth_width_capacity;
    int32_t *trace_before, *trace_merged, *trace_after, *trace_depth;
    int64_t *trace_item;
    size_t trace_capacity[5];
};

/* model.c: the domain's action for what it does not know, or RILL_NO_ACTION. */
int32_t rill__model_unknown(const rill_model *model);
/* Fill what is not given by what the model's makers recommend, under a preset. */
rill_status rill__model_recommend(const rill_model *model, rill_settings *settings);

static inline double engine_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* admit.c: admit what the policy admits. */
rill_status engine_admit(rill_engine *e);
/* Drop an item: its references, its slot; no result is made. */
void engine_drop_item(rill_engine *e, int32_t slot);

/* Release an item's hypotheses and states; its slot stays. */
void engine_clear_item(rill_engine *e, int32_t slot);
/* Give it a beam of one, the empty hypothesis. */
rill_status engine_begin_item(rill_engine *e, int32_t slot);
/* Put it before all that wait for a place in flight. */
void engine_return_item(rill_engine *e, int32_t slot);

/* bound.c: take the bound from the settings and the domain's figures. */
rill_status bound_init(rill_engine *e);
/* How many of the `admit` inputs that the policy wants may come in now. */
int32_t bound_admit(const rill_engine *e, int32_t admit);
/* How many of the `count` first waiting inputs may be encoded now. */
int32_t bound_encode(const rill_engine *e, int32_t count);
/* An input has been encoded, of measured size `measured`: count what it takes. RILL_OK · RILL_ERR_INPUT, with a message in
 * `input`: its memory alone is more than there may be */
rill_status bound_encoded(rill_engine *e, rill_input *input, int64_t measured);
/* Rows that can still be given out. */
int64_t bound_free(const rill_engine *e);
/* Rows that expanding the item may take at the most. */
int64_t bound_need(const rill_engine *e, int32_t slot);
/* Make room for the oldest item in flight to be expanded. When that cannot be, it has failed and nothing is in flight. */
rill_status bound_make_room(rill_engine *e);
/* States were too few for what the policy chose. */
void bound_pressed(rill_engine *e);
/* An item left for good: its slot is free. */
void bound_dropped(rill_engine *e, int32_t slot);

/* schedule.c: room for `n` items in flight. */
rill_status engine_reserve_flight(rill_engine *e, size_t n);
/* Append an item. Room is there. */
void engine_join_flight(rill_engine *e, int32_t slot);
/* Take over what the timestep made of the `n` selected items. */
void engine_update_flight(rill_engine *e, int32_t n);
/* Remove the item that was admitted last; returns its slot. */
int32_t engine_leave_flight(rill_engine *e);
/* Move the item at place `from` to `to` <= from. */
void engine_move_flight(rill_engine *e, int32_t to, int32_t from);
/* What policies see, with the budget of the settings. */
rill_flight engine_view(const rill_engine *e);
/* Fill `selected` (slots) and *n under the budget. */
rill_status engine_choose(rill_engine *e, int32_t *n);

/* expand.c: rows, states, choices of one phase for the `n` selected items. */
rill_status engine_expand(rill_engine *e, int32_t n, int32_t phase);

/* merge.c: children of each selected item in rank order; in the last phase outputs leave. */
rill_status engine_merge(rill_engine *e, int32_t n, int32_t last);
/* Give an item an output, whose reference it takes over; which ones are kept is for the setting `keep`. Room is there: merge and
 * commit reserve it. */
void engine_output(rill_engine *e, item *it, const item_output *output);
/* What outputs are ordered by: a score of `length` timesteps under the penalties. */
double engine_rank(const rill_engine *e, double score, int32_t length);
double engine_output_rank(const rill_engine *e, const item_output *output);
/* The item is at its last timestep: what is live after it ends. */
int engine_last_timestep(const rill_engine *e, const item *it);

/* commit.c: candidates become the new beams; in the last phase items may stop. */
rill_status engine_commit(rill_engine *e, int32_t n, int32_t last);

/* finish.c: make the result of a finished item, drop it. */
rill_status engine_finish_item(rill_engine *e, int32_t slot);
/* Tell the trace, if there is one, that an item leaves the flight, for good or to begin anew. */
void engine_trace_leaving(rill_engine *e, int32_t slot, rill_trace_kind kind, rill_status status);
/* Make the result of an input that failed. */
rill_status engine_fail_input(rill_engine *e, int64_t id, rill_status status, const char *message);

/* Tell the domain which rows have become free, so that they can be given out again. */
void engine_free_rows(rill_engine *e);
/* Tell the domain about capacities that grew. */
rill_status engine_reserve_domain(rill_engine *e);
/* Refuse fields that the domain does not know. */
rill_status engine_check_fields(rill_engine *e);
/* A domain's failure without a message gets one. */
rill_status engine_domain_status(rill_engine *e, rill_status status, const char *method);

#endif
