/* Items: inputs being decoded, each with its beam and outputs, in a slot.
 *
 * A slot is the index of an item and of its encoder memory. It is free, ready (encoded, not admitted) or in flight. */
#pragma once

#include "hyp_pool.h"
#include "requests.h"

/* An entry of an input's beam, with a copy of the hypothesis's data for expansion, to avoid cache misses. */
typedef struct beam_entry {
    double path_score;
    int32_t hyp;    /* index of the hypothesis in the hypothesis pool; the entry holds a reference to it */
    int32_t action; /* last action of the hypothesis */
    /* live entry: node (id) of the state from which the entry's state is computed; RILL_NO_NODE: none */
    int32_t state_parent;
    float action_logp; /* log-probability of the last action */
    union {
        int32_t length; /* ended entry: number of timesteps, an end action not counted */
        /* live entry: rank of the beam entry whose model state this entry's children continue; its own rank except with cube pruning */
        int32_t state_rank;
    };
    uint32_t group : 24; /* beam group (diverse beam search) or constraint bank (lexical constraints) */
    /* 0: live; else the entry's rill_terminal: it has ended and waits below a live entry (finish "top") */
    uint32_t ended : 8;
} beam_entry;

_Static_assert(sizeof(beam_entry) == 32, "half a line; there are 65,536 groups and 256 banks at the most");

/* An output of an item: a finished hypothesis. */
typedef struct item_output {
    double path_score;
    double final_score; /* score that orders outputs: path_score with length penalties */
    int32_t hyp;
    int32_t length; /* number of timesteps, an end action not counted */
    int32_t group;  /* beam group (diverse beam search) or constraint bank (lexical constraints) */
    uint32_t order; /* order in which the input's outputs were found */
    uint8_t truncated;
    uint8_t has_end_action; /* 1: the hypothesis has an end action, which the setting count-end adds to its length */
} item_output;

/* An input that is being decoded. Members that every timestep reads come first, for the CPU cache. */
typedef struct item {
    const rill_settings *settings;    /* borrowed: the engine's settings, or the settings of the input's request */
    chain_instance *const *instances; /* instances of heuristics and scorers that this input's arguments select */
    uint32_t variants;                /* bit mask of the search variants that the settings select */
    beam_entry *beam;                 /* [width] the beam */
    /* [n_outputs] in the order in which they were found; with keep "best" a heap with the worst output on top */
    item_output *outputs;
    /* maximum number of children that merging takes, of one hypothesis and of the whole beam: k, or 2k with finish "immediate" */
    int32_t max_children;
    int32_t width, n_live; /* number of beam entries; number of live entries */
    int32_t timestep;      /* number of timesteps completed, l_t: the length of live hypotheses */
    int32_t max_length;
    int32_t n_outputs;
    /* 1 + index of a scorer that masked the last possible action of a hypothesis; 0: none */
    int32_t blocked_by;
    int64_t id;
    hyp_arena arena;
    uint8_t blocks_ngrams;  /* 1: n-grams that repeat are blocked or penalised */
    uint8_t stop_requested; /* 1: a heuristic stopped the input in an earlier phase of this timestep */
    uint8_t timed_out;      /* 1: the input's deadline has passed */
    /* 1: the input has failed, or was cancelled during a timestep; it is removed when the timestep is over */
    uint8_t cancelled;
    uint8_t leaves; /* 1: the input left its timestep midway, cancelled or late, and keeps the beam it had before */
    uint8_t best_has_ended; /* 1: in some timestep the best candidate was an ended one */
    /* 1: outputs were dropped because they were truncated and the setting require-end is on */
    uint8_t dropped_truncated;
    double best_output_score;
    int64_t last_expansion; /* value of rill_stats.expansions when the input was last expanded or admitted */
    /* the search variant that makes the input's beams instead of merge and commit, such as exact search (search_variant.advance); NULL:
     * none */
    const struct search_variant *owner;
    /* first phase of the timestep in which the input has rows; always 0 for an input without an owner */
    int32_t first_phase;
    struct exact_search *exact; /* data of exact search (exact.c); NULL: none yet */

    size_t beam_capacity, outputs_capacity;
    uint32_t n_outputs_made;
    int64_t size;
    request *request;           /* the input's own settings; NULL: the engine's apply */
    struct queued_input *input; /* the input that the item decodes, with its text (input_queue.h) */
    /* For certificates (certify.c). abandoned_bound: highest final score that an abandoned hypothesis could have reached.
     * abandoned_path_score: highest path score abandoned in this phase. */
    double abandoned_bound, abandoned_path_score;
    /* best ended hypothesis so far, with at-limit "best-ended" (best_ended.c); hyp -1: none */
    item_output best_ended;
    /* negative: the input failed in the current timestep, and fail_reason is the message */
    rill_status failed;
    rill_text fail_reason; /* message of a failure, or of a scorer that refused the input; empty: none */
    /* bytes of the input's encoder memory, by the sizes that the domain declares; 0: there is no limit on it */
    int64_t slot_bytes;
} item;

typedef struct items {
    rill_context *ctx;
    rill_columns memory;
    /* [memory.capacity] arrays indexed by slot, except free_slots and ready */
    item *item;
    uint8_t *done; /* 1: the input's search has stopped, and its result is to be made */
    uint8_t *busy; /* 1: the input belongs to a timestep in progress (beam_search.c) */
    /* how often selection passed the input over for lack of budget; at RUNNING_MAX_SKIPS the input is overdue. 0 without overdue_first
     * (scheduler.h) */
    uint8_t *passed_over;
    int32_t *running_index; /* the input's index among the running inputs (running_items) */
    int32_t *free_slots;    /* stack of free slots: free_slots[0, n_free_slots) */
    int32_t *ready;         /* [n_ready] slots of the ready inputs, in order of admission */
    int32_t n_free_slots, n_cancelled, n_ready;
} items;

/* For certificates (certify.c): record that the search abandons a child or live candidate with this path score. */
static inline void item_abandon_path(item *it, double path_score)
{
    if (!(path_score <= it->abandoned_path_score)) it->abandoned_path_score = path_score; /* a NaN is recorded too */
}
/* For certificates (certify.c): record an abandoned output, or abandoned hypotheses. final_score: the output's, or an upper bound for
 * the hypotheses. */
static inline void item_abandon_output(item *it, double final_score)
{
    if (!(final_score <= it->abandoned_bound)) it->abandoned_bound = final_score;
}

/* Compare outputs for qsort(): higher final score first; equal scores keep the order of discovery. */
int item_output_compare(const void *left, const void *right);

/* Free all memory. No input may have hypotheses in the hypothesis pool. */
void items_finish(items *all);
/* Make more slots if fewer than `need` are free. */
rill_status items_reserve(items *all, int32_t need);
/* Take a free slot, of which there must be one. */
int32_t items_take_slot(items *all);
void items_free_slot(items *all, int32_t slot);

/* Start the search of the input in the slot: its beam is the empty hypothesis. */
rill_status items_begin(items *all, hyp_pool *f, int32_t slot);
/* Free the hypotheses of the input in the slot, and the nodes (ids) of their states; the slot stays in use. */
void items_clear(items *all, hyp_pool *f, int32_t slot);

/* Append an encoded input to the ready list; with `first` = 1 prepend it: a restarting input was admitted before the others. */
void items_push_ready(items *all, int32_t slot, int first);
void items_remove_ready(items *all, int32_t slot);
/* Remove the first n ready inputs. */
void items_drop_ready(items *all, int32_t n);

/* Inputs in flight, in order of admission: a column per property that schedulers see. The columns of an input are updated when it changes.
 * Invariant: items->running_index[slot[i]] == i. */
typedef struct running_items {
    rill_context *ctx;
    rill_columns memory;
    int32_t n;
    int32_t *slot, *timestep, *width;
    int64_t *id, *size, *refill_index;
    uint8_t *marks;         /* bits RUNNING_TAKEN and RUNNING_NAMED; 0 between selections */
    int32_t *order;         /* [n] the scheduler's choice: indexes of inputs, most important first */
    int32_t *skipped_index; /* indexes of the inputs that the current selection has skipped */
    int32_t n_overdue;      /* number of overdue items: these are selected first */
} running_items;

enum {
    RUNNING_TAKEN = 1,     /* the input is selected for this timestep */
    RUNNING_NAMED = 2,     /* the scheduler's list contains the input; used to find inputs that it lists twice */
    RUNNING_MAX_SKIPS = 8, /* an input passed over this many times is overdue */
    /* an input not expanded for this many rounds is overdue. In one round as many hypotheses are expanded as are live in flight */
    RUNNING_MAX_ROUNDS = 4
};

/* Number of live hypotheses of all inputs in flight. */
int64_t running_n_live(const running_items *f);
rill_status running_reserve(running_items *f, size_t n);
/* Append an input, admitted by refill number `refill_index`. Memory must be reserved. */
void running_append(running_items *f, items *all, int32_t slot, int64_t refill_index);
/* After a timestep: update the input's columns, with its number of timesteps and of live hypotheses. */
void running_update(running_items *f, const items *all, int32_t slot);
/* Reset the number of times that an input was passed over: it is not overdue any more. */
void running_clear_overdue(running_items *f, items *all, int32_t slot);
/* Copy the properties of the input at index `from` of another list to index `to` of this one. */
void running_copy(running_items *list, int32_t to, const running_items *other, int32_t from);
/* Remove the running input at index `place`; the inputs after it move up by one. */
void running_remove(running_items *f, items *all, int32_t place);
/* Move the running input at index `from` to the lower or equal index `to`, whose input has left. */
void running_move(running_items *f, items *all, int32_t to, int32_t from);
