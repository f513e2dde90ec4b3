/* Items: inputs that were encoded, with their beams and outputs, and the slots they stand in.
 *
 * A slot is the index of an item and the domain's name for its encoder memory. It is free, ready (encoded, waiting for a place
 * in flight) or in flight; for the moment in which its input is encoded it is none of these.
 * What each timestep looks at for all items in flight stands apart from the items, which are cold. */
#ifndef RILL_ITEM_H
#define RILL_ITEM_H

#include "exact.h"
#include "request.h"

/* What expanding a live entry needs stands here: the forest is large, and following ids through it from cold memory cost
 * more than all the rest of making rows. */
typedef struct beam_entry {
    double path_score;
    int32_t hyp;
    int32_t action;       /* the last one */
    int32_t state_parent; /* of a live one: the row its state continues, which it holds */
    float action_logp;    /* of the last action */
    union {
        int32_t length; /* of an ended one: timesteps, an end action not counted */
        int32_t
            state_rank; /* of a live one: rank of the entry whose state its children continue; its own but for cube pruning */
    };
    uint32_t group : 24; /* of a diverse beam */
    uint32_t ended : 8;  /* waits below a live candidate (finish "top"): a rill_terminal, 0 of a live one */
} beam_entry;

_Static_assert(sizeof(beam_entry) == 32, "half a line; there are 65,536 groups and 256 banks at the most");

typedef struct item_output {
    double path_score;
    double final_score; /* what outputs are ordered by: the score under the penalties */
    int32_t hyp;
    int32_t length; /* timesteps, an end action not counted */
    int32_t group;  /* of a diverse beam */
    uint32_t order; /* in which its item's came */
    uint8_t truncated;
    uint8_t has_end_action; /* an end action is counted where the length is (count_end) */
} item_output;

/* What every timestep looks at stands first: with many in flight an item is cold whenever its turn comes. */
typedef struct item {
    const rill_settings *settings;    /* that it is searched by: the engine's or its request's */
    chain_instance *const *instances; /* of heuristics and scorers, likewise */
    beam_entry *beam;                 /* [width] */
    item_output *outputs;  /* [n_outputs] as they came; of the best alone (`keep`) a heap, the last one first */
    int32_t width, n_live; /* beam entries; of these live */
    int32_t timestep;      /* timesteps completed: l_t */
    int32_t max_length;
    int32_t n_outputs;
    int32_t blocked_by; /* 1 + the last scorer that left one of its hypotheses no action; 0: none has */
    int64_t id;
    hyp_arena arena;
    uint8_t stop_requested;    /* by a heuristic, in an earlier phase of this timestep */
    uint8_t timed_out;         /* its deadline has come */
    uint8_t cancelled;         /* while it was busy, or since it has failed: it leaves when its timestep is over */
    uint8_t best_has_ended;    /* the best candidate of some timestep was an ended one */
    uint8_t dropped_truncated; /* outputs that were cut short have been left out */
    double best_output_score;
    int64_t last_expansion; /* hypotheses of the run when it was expanded last, or joined the flight */
    exact_search exact;

    size_t beam_capacity, outputs_capacity;
    uint32_t n_outputs_made;
    int64_t size;
    request *request;    /* NULL: it wants nothing of its own */
    int32_t queue_entry; /* its place in the intake, where its text stays */
    int32_t next_slot;   /* slot of the next item that is ready */
    double abandoned_bound,
        abandoned_path_score; /* certify.h: B; the greatest score given up in the phase that goes on */
    item_output best_ended;   /* history -1: there is none (best_ended.c) */
    rill_status failed;       /* negative: in the timestep that goes on, ... */
    rill_text fail_reason;    /* ... and why; or why a scorer will not have it decoded; empty: none minds */
    struct result_record *
        saved_result; /* what its last search came to, where scorers had it begin anew and it has a deadline; else NULL */
    int64_t slot_bytes; /* what its slot takes, by what the domain says; counted under a bound on memory only */
} item;

typedef struct items {
    rill_context *ctx;
    rill_columns memory;
    /* By slot, [memory.capacity]. */
    item *item;
    uint8_t *done;          /* the item has stopped and waits to be finished */
    uint8_t *busy;          /* it is in a timestep that has submitted something (decode_loop.c) */
    uint8_t *passed_over;   /* how often, up to the number from which on it goes first */
    int32_t *running_index; /* where it stands in the flight */
    int32_t *free_slots;    /* a stack: free[0, n_free_slots) */
    int32_t n_free_slots, n_busy, n_cancelled;
    int32_t n_ready, first_ready, last_ready; /* a list through `next`, in order of admission */
} items;

/* For qsort(): by rank, ties in the order in which they came. */
int item_output_compare(const void *left, const void *right);

void items_init(items *all, rill_context *ctx);
/* Free all memory; no item holds histories any more. */
void items_finish(items *all);
/* Have `need` free slots at least. */
rill_status items_reserve(items *all, int32_t need);
int32_t items_take_slot(items *all);
void items_free_slot(items *all, int32_t slot);

/* Give the item in a slot a beam of one, the empty hypothesis. */
rill_status items_begin(items *all, hyp_pool *f, int32_t slot);
/* Release its hypotheses and states; the slot stays. */
void items_clear(items *all, hyp_pool *f, int32_t slot);

/* Behind all that are ready, and before them: one that begins anew was admitted before them. */
void items_push_ready(items *all, int32_t slot);
void items_push_ready_front(items *all, int32_t slot);
/* One that is ready is not any more. */
void items_remove_ready(items *all, int32_t slot);
/* The first that is ready leaves the list; there is one. */
int32_t items_pop_ready(items *all);

#endif
