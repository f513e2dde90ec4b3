/* Items: encoded inputs with their beams and outputs, and the slots they occupy.
 *
 * A slot is the index of an item and the domain's id for its encoder memory. It is free, ready (encoded, waiting for admission) or in
 * flight; while its input is being encoded it is none of these.
 * Data that each timestep reads for all items in flight is stored apart from the items, which are not cached. */
#ifndef RILL_ITEM_H
#define RILL_ITEM_H

#include "exact.h"
#include "request.h"

/* Everything needed to expand a live entry is stored here: following ids through the hypothesis pool, which is not cached, cost more
 * than the rest of making rows. */
typedef struct beam_entry {
    double path_score;
    int32_t hyp;
    int32_t action;       /* last action of the hypothesis */
    int32_t state_parent; /* hyp whose state a live entry continues; the entry holds a reference */
    float action_logp;    /* log-probability of the last action */
    union {
        int32_t length; /* timesteps of an ended entry, an end action not counted */
        /* of a live entry: rank of the entry whose state its children continue; its own except under cube pruning */
        int32_t state_rank;
    };
    uint32_t group : 24; /* beam group or constraint bank */
    uint32_t ended : 8;  /* ended and kept below a live candidate (finish "top"): a rill_terminal, 0 if live */
} beam_entry;

_Static_assert(sizeof(beam_entry) == 32, "half a line; there are 65,536 groups and 256 banks at the most");

typedef struct item_output {
    double path_score;
    double final_score; /* score that orders outputs: path_score with length penalties */
    int32_t hyp;
    int32_t length; /* timesteps, an end action not counted */
    int32_t group;  /* beam group of diverse beam search */
    uint32_t order; /* order in which the item's outputs were found */
    uint8_t truncated;
    uint8_t has_end_action; /* count_end adds 1 to the length */
} item_output;

/* Members that every timestep reads come first: with many in flight an item is not cached when its turn comes. */
typedef struct item {
    const rill_settings *settings;    /* the engine's or its request's */
    chain_instance *const *instances; /* instances of heuristics and scorers that this input's arguments select */
    beam_entry *beam;                 /* [width] */
    /* [n_outputs] in order of arrival; if only the best are kept (`keep`) a heap, worst first */
    item_output *outputs;
    int32_t width, n_live; /* beam entries; number of live ones */
    int32_t timestep;      /* timesteps completed: l_t */
    int32_t max_length;
    int32_t n_outputs;
    int32_t blocked_by; /* 1 + the last scorer that left one of its hypotheses without actions; 0: none */
    int64_t id;
    hyp_arena arena;
    uint8_t stop_requested;    /* 1: a heuristic stopped the item in an earlier phase of this timestep */
    uint8_t timed_out;         /* 1: the item's deadline has passed */
    uint8_t cancelled;         /* while it was busy, or after it failed: it leaves when its timestep is over */
    uint8_t best_has_ended;    /* the best candidate of some timestep had ended */
    uint8_t dropped_truncated; /* truncated outputs have been dropped */
    double best_output_score;
    int64_t last_expansion; /* the run's count of expanded hypotheses when it was last expanded or admitted */
    exact_search exact;

    size_t beam_capacity, outputs_capacity;
    uint32_t n_outputs_made;
    int64_t size;
    request *request;    /* NULL: no settings of its own */
    int32_t queue_entry; /* index of the input's entry in the input queue, which has its text */
    int32_t next_slot;   /* slot of the next ready item */
    double abandoned_bound, abandoned_path_score; /* certify.h: B; the greatest score abandoned in the current phase */
    item_output best_ended;                       /* hyp -1: none (best_ended.c) */
    rill_status failed;                           /* negative: it failed in the current timestep, ... */
    rill_text fail_reason; /* ... with this message; or why a scorer refused the input; empty: no refusal */
    /* the result of its previous search, if scorers restarted it and it has a deadline; else NULL */
    struct result_record *saved_result;
    int64_t slot_bytes; /* memory of its slot by the domain's figures; counted only under a memory limit */
} item;

typedef struct items {
    rill_context *ctx;
    rill_columns memory;
    /* [memory.capacity] the item of each slot. */
    item *item;
    uint8_t *done;          /* the item has stopped and is to be finished */
    uint8_t *busy;          /* 1: the item is in a timestep whose score call is in progress (decode_loop.c) */
    uint8_t *passed_over;   /* times it was passed over, up to the number at which it goes first */
    int32_t *running_index; /* index among the running items */
    int32_t *free_slots;    /* a stack: free[0, n_free_slots) */
    int32_t n_free_slots, n_busy, n_cancelled;
    int32_t n_ready, first_ready, last_ready; /* a list through `next_slot`, in order of admission */
} items;

/* Compare outputs for qsort(): by final score, ties in order of arrival. */
int item_output_compare(const void *left, const void *right);

void items_init(items *all, rill_context *ctx);
/* Free all memory; no item may hold hyps. */
void items_finish(items *all);
/* Ensure at least `need` free slots. */
rill_status items_reserve(items *all, int32_t need);
int32_t items_take_slot(items *all);
void items_free_slot(items *all, int32_t slot);

/* Give the item in a slot an initial beam: the empty hypothesis. */
rill_status items_begin(items *all, hyp_pool *f, int32_t slot);
/* Release its hyps and states; the slot is kept. */
void items_clear(items *all, hyp_pool *f, int32_t slot);

/* Append to the ready list; or prepend, for a restarted item, which was admitted before the others. */
void items_push_ready(items *all, int32_t slot);
void items_push_ready_front(items *all, int32_t slot);
/* Remove an item from the ready list. */
void items_remove_ready(items *all, int32_t slot);
/* Remove and return the first ready item; the list must not be empty. */
int32_t items_pop_ready(items *all);

#endif
