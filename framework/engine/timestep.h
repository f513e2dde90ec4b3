/* A timestep: the items it expands, their rows, modifiers and choices, the candidates made from them, and its progress.
 *
 * Its scratch memory is two blocks, each of which grows as a whole: rows, whose number is known once items are selected, and children,
 * whose size depends on the choices requested per row. Their content does not survive the timestep, or growth; the memory is reused.
 * With an asynchronous domain there are two timesteps (beam_search.c), and the arrays of a submitted call stay in place. */
#ifndef RILL_TIMESTEP_H
#define RILL_TIMESTEP_H

#include "item.h"
#include "rill/stats.h"
#include "topk.h"

/* A timestep's candidates: all children of all selected items, after merging.
 *
 * Item i of the selection has entries [offset[i], offset[i+1]) in rank order. The data is stored as columns because heuristics, in C or
 * in Lua, read whole columns. The columns are scratch memory of the timestep. */
typedef struct candidates {
    int32_t n; /* items */
    /* per item: [n], offset [n+1] */
    int32_t *offset;
    int64_t *item_id;
    int32_t *k, *timestep, *n_outputs;
    int32_t *min_kept; /* minimum number of candidates that heuristics leave */
    double *best_output_score, *best_path_score;
    uint8_t *stop;                            /* 1: a heuristic has stopped the item */
    int32_t *marked_width;                    /* output of the current heuristic: its `width` ... */
    uint8_t *marked_stop;                     /* ... and `stop` */
    struct chain_instance *const **instances; /* the item's instances of heuristics and scorers */
    int32_t *part_offset;                     /* [n+1] offsets for calls of a heuristic with a subset of the items */
    /* per candidate: [offset[n]] */
    double *path_score;
    float *action_logp, *action_score;
    int32_t *parent_rank, *action;
    int32_t *group;    /* beam group of diverse beam search, or constraint bank; else 0 */
    int32_t *hyp;      /* >= 0: hypothesis node of an ended candidate that was already in the beam; else -1 */
    uint8_t *terminal; /* rill_terminal of the last action */
    uint8_t *ended, *keep;
    /* Called for each dropped candidate j of item i; `link` is the index of the heuristic that dropped it. NULL: no calls. */
    void (*on_dropped)(void *user, int32_t link, int32_t i, int32_t j);
    /* Called when a heuristic with an item's own arguments fails: item i fails alone, with the context's error. */
    rill_status (*on_failed)(void *user, int32_t i, rill_status status);
    void *user; /* passed to both functions */
} candidates;

/* Columns with one element per row, [n]. */
typedef struct row_table {
    int32_t *node, *parent, *state_parent, *action, *slot, *depth; /* passed to the domain (rill_rows) */
    int32_t *hyp, *rank, *item;                                    /* item: index of the row's item in `selected` */
    int64_t *item_id;
    double *path_score;
    int32_t n;
} row_table;

/* Copy row `from` to `to`, without its node. */
static inline void row_table_move(row_table *r, int32_t to, int32_t from)
{
    int32_t *const columns[] = {r->parent, r->state_parent, r->action, r->slot, r->depth, r->hyp, r->rank, r->item};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) columns[c][to] = columns[c][from];
    r->item_id[to] = r->item_id[from];
    r->path_score[to] = r->path_score[from];
}

/* In row_of: the entry has ended, or none of its children is considered. */
enum { NO_ROW = -1 };

/* A score call of all rows, or of further rows, with its modifiers and results. */
typedef struct score_round {
    rill_modifiers modifiers;
    modifier_table modifier_table;
    topk topk;
} score_round;

/* The best child of a beam entry that merging (merge.c) has not taken yet. */
typedef struct merge_head {
    double path_score;
    topk_choice child;
    int32_t rank;   /* rank of the parent hypothesis in its beam */
    int32_t row;    /* the parent's row of choices, or -1: the parent has ended and is its own only child */
    int32_t choice; /* index of the child in the row's choices */
    int32_t bank;   /* bank of constraints or beam group of the child */
} merge_head;

/* Key of a merge_head in the merge heap: its path score, and the parent's rank, which is the head's index in
 * timestep.heads. */
typedef struct merge_key {
    double score;
    int32_t rank;
} merge_key;

/* Compare children for qsort(): by path score, then the parent's rank, the index in the parent's choices, the group. */
int merge_head_compare(const void *left, const void *right);

/* Numbers of references and state holds (hyp_pool.h) that surviving children add to a beam entry's hypothesis (commit.c). */
typedef struct child_counts {
    int32_t refs, holds;
} child_counts;

/* Capacities of the arrays in child_block, in elements. */
typedef struct children_size {
    size_t items, candidates;
    size_t entries;   /* number of entries of all beams before the timestep */
    size_t max_width; /* widest beam of an item, or most children that a variant of the search chooses */
    size_t scratch;   /* bytes of scratch memory for variants of the search */
} children_size;

static inline void children_need_width(children_size *need, size_t width)
{
    if (width > need->max_width) need->max_width = width;
}
static inline void children_need_scratch(children_size *need, size_t bytes)
{
    if (bytes > need->scratch) need->scratch = bytes;
}

/* Trace columns of the selected items; filled only if there is a trace function. */
typedef struct trace_columns {
    rill_columns memory;
    int32_t *old_width, *merged_width, *new_width, *depth;
    int64_t *id;
    int32_t *dropped; /* [n_heuristics * n] candidates dropped of each item, by heuristic, then item */
    size_t dropped_capacity;
    rill_trace_hypothesis *hypotheses; /* [n_hypotheses] */
    size_t hypotheses_capacity;
    int32_t n_hypotheses;
} trace_columns;

/* How far a timestep has come (beam_search.c). */
typedef enum timestep_state {
    TIMESTEP_FREE,      /* no items are selected */
    TIMESTEP_SELECTED,  /* the items are selected, or a phase is complete */
    TIMESTEP_EXPANDED,  /* the rows have their states, and `next_row` says which have their choices */
    TIMESTEP_SUBMITTED, /* the same, and an asynchronous score call is in progress, whose result must be collected */
    TIMESTEP_SCORED,    /* all rows have their choices */
} timestep_state;

typedef struct timestep {
    rill_context *ctx;
    int64_t first_input; /* first_input of the engine's setup */
    int32_t n;           /* number of selected items */
    int32_t *selected;   /* [n] slots of the selected items */
    size_t selected_capacity;
    /* sets of variants (search_variant.h): of all selected items, and those that the modifiers of this phase make part of it */
    uint32_t variants, modifier_variants;
    int32_t n_owned; /* selected items with an owner (item.h) */

    /* Progress. */
    int32_t group; /* number of this timestep, 0 or 1, by which the domain tells concurrent timesteps apart */
    timestep_state state;
    int32_t phase;               /* the current phase */
    int32_t next_row, part_size; /* rows [0, next_row) have their choices, the next part_size rows are being scored */
    int64_t reserved_nodes;      /* nodes reserved for this timestep and not in use yet; 0 without a memory limit */
    int32_t n_running;           /* number of items in flight when the timestep began */
    int64_t n_expanded;          /* number of rows of the first phase */

    row_table rows;
    /* The first round scores all rows of a phase. A variant of the search may add a second round, of further rows; merging reads the
     * choices of both. `round`: the round of the score call in progress, or of the last one. */
    score_round rounds[2];
    int32_t round;
    int32_t second_row; /* number of the second round's first row in row_of; INT32_MAX: no second round */
    /* [entries] row of each beam entry, or NO_ROW, item after item; NULL: one row per live entry, in order */
    const int32_t *row_of;
    int64_t spare_nodes;    /* nodes reserved for live hypotheses that get no row */
    struct cube_pass *cube; /* of cube_pruning.c; NULL: none yet */
    rill_rows part_rows;    /* the rows of the score call in progress; `request` and `result` belong to it */
    rill_score_request request;
    rill_score_result result;
    candidates candidates;
    trace_columns trace;
    merge_head *heads;          /* [max_width] */
    merge_key *heap;            /* [max_width + 1] */
    child_counts *child_counts; /* [max_width] */
    void *scratch;              /* of the variant that chooses an item's children */
    beam_entry *old_beam;       /* [max_width] an item's previous beam */
    hyp_release *released;      /* [entries] hypotheses of the previous beams that have no surviving child */
    int32_t n_released;
    char *row_block, *child_block;
    size_t row_bytes, child_bytes;
    size_t rows_capacity;
    children_size capacity;
} timestep;

/* merge.c: get choice `next` of a row; returns 0 if there is none. A row's choices must be read in order. */
int timestep_next_choice(timestep *t, int32_t row, int32_t next, topk_choice *out);
/* Get a choice that timestep_next_choice() has already returned. */
static inline topk_choice timestep_choice(const timestep *t, int32_t row, int32_t next)
{
    const int second = row >= t->second_row;
    const topk *s = &t->rounds[second].topk;
    return topk_get(s, (size_t)(second ? row - t->second_row : row) * (size_t)s->choices.stride + (size_t)next);
}
/* The choice that represents an ended beam entry in merging: its last action, with score 0. */
static inline topk_choice timestep_ended_choice(const beam_entry *entry)
{
    return (topk_choice){entry->action, entry->action_logp, 0, (rill_terminal)entry->ended};
}

#endif
