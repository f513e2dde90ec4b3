/* A timestep of batched beam search: extends each live hypothesis of the selected inputs by one action, perhaps in several phases.
 *
 * If the domain scores asynchronously there are two timesteps (beam_search.c), each with its own arrays: a device may still use those of
 * the other. */
#pragma once

#include "item.h"
#include "rill/stats.h"
#include "topk.h"

/* The candidates of a phase: the best children of each selected input, before pruning. Input i has entries [offset[i], offset[i+1]), best
 * first. They are columns, which heuristics in C and Lua read directly. */
typedef struct candidates {
    int32_t n; /* number of selected inputs */
    /* columns with one element per input: [n], except offset, which has [n + 1] */
    int32_t *offset;
    int64_t *item_id;
    int32_t *k, *timestep, *n_outputs;
    int32_t *min_kept; /* minimum number of candidates that heuristics leave */
    double *best_output_score, *best_path_score;
    uint8_t *stop;                            /* 1: a heuristic has stopped the input */
    int32_t *marked_width;                    /* written by the heuristic being called: rill_candidates.width */
    uint8_t *marked_stop;                     /* written by the heuristic being called: rill_candidates.stop */
    struct chain_instance *const **instances; /* the input's instances of heuristics and scorers */
    /* [n+1] offsets for a heuristic's call with only some of the items: rill_candidates.offset of that call */
    int32_t *part_offset;
    /* columns with one element per candidate: [offset[n]] */
    double *path_score;
    float *action_logp, *action_score;
    int32_t *parent_rank, *action;
    int32_t *group; /* beam group of diverse beam search, or constraint bank; else 0 */
    /* hypothesis of a candidate that ended in an earlier timestep; -1: the candidate is a new child */
    int32_t *hyp;
    uint8_t *terminal; /* rill_terminal of the last action */
    uint8_t *ended, *keep;
} candidates;

/* The rows of a phase: the live hypotheses for which the domain computes states and scores. Each column is [n]. */
typedef struct row_table {
    /* the columns that are passed to the domain (rill_rows) */
    int32_t *node, *parent, *state_parent, *action, *slot, *depth;
    /* the row's hypothesis (index in the hypothesis pool), its rank in the beam, and its input (index in timestep.selected) */
    int32_t *hyp, *rank, *item;
    int64_t *item_id;
    double *path_score;
    int32_t n;
} row_table;

static inline void row_table_move(row_table *r, int32_t to, int32_t from)
{
    int32_t *const columns[] = {r->node,  r->parent, r->state_parent, r->action, r->slot,
                                r->depth, r->hyp,    r->rank,         r->item};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) columns[c][to] = columns[c][from];
    r->item_id[to] = r->item_id[from];
    r->path_score[to] = r->path_score[from];
}

/* Maximum number of rows per call while an input has a deadline, on synchronous devices. GEMMs lose little at this size. */
enum { PART_MAX_ROWS = 256 };

/* Value in timestep.row_of of a beam entry without a row, since it has ended or cube pruning leaves out its children. */
enum { NO_ROW = -1 };

/* One scoring pass over a phase's rows: the rows' modifiers (bonuses, masks and limits), and their best choices in `topk`. */
typedef struct score_round {
    rill_modifiers modifiers;
    modifier_table modifier_table;
    topk topk;
} score_round;

/* The best child of a beam entry that merging (merge.c) has not taken yet. */
typedef struct merge_head {
    double path_score;
    topk_choice child;
    int32_t rank; /* rank of the parent hypothesis in its beam */
    /* row whose choices make the parent's children; -1: the parent has ended and takes part as its own only child */
    int32_t row;
    int32_t choice; /* index of the child in the row's choices */
    int32_t bank;   /* constraint bank or beam group of the child; else 0 */
} merge_head;

/* Key of a merge_head in the heap. The parent's rank is also the head's index in timestep.heads. */
typedef struct merge_key {
    double score;
    int32_t rank;
} merge_key;

/* Compare children for qsort(): higher path score, then lower rank of the parent, lower index among its choices, lower bank. */
int merge_head_compare(const void *left, const void *right);

/* The references that a beam entry's children in the new beam add to its hypothesis and state (hyp_pool.h). */
typedef struct child_counts {
    int32_t refs, holds;
} child_counts;

/* Lengths that a timestep's arrays need, in elements. */
typedef struct children_size {
    size_t items, candidates;
    size_t entries; /* number of beam entries of all selected inputs before the timestep */
    /* max_width: the larger of the widest beam and the largest number of children that a search variant chooses for one input */
    size_t max_width;
    size_t scratch; /* bytes of scratch memory for search variants */
} children_size;

static inline void raise_size(size_t *size, size_t need)
{
    if (need > *size) *size = need;
}

/* Columns of the trace, with data about the selected inputs; filled only if there is a trace function. */
typedef struct trace_columns {
    rill_columns memory;
    int32_t *old_width, *merged_width, *new_width, *depth;
    int64_t *id;
    int32_t *dropped; /* [n_heuristics, n] number of candidates that each heuristic dropped of each input */
    size_t dropped_capacity;
    rill_trace_hypothesis *hypotheses; /* [n_hypotheses] the candidates of the timestep, if the trace includes them */
    size_t hypotheses_capacity;
    int32_t n_hypotheses;
} trace_columns;

/* How far a timestep has come (beam_search.c). */
typedef enum timestep_state {
    TIMESTEP_FREE,     /* no inputs are selected */
    TIMESTEP_SELECTED, /* the inputs are selected, and the next phase can begin */
    /* all rows have their model states; rows [0, next_row) also have their choices (best next actions) */
    TIMESTEP_EXPANDED,
    TIMESTEP_SUBMITTED, /* TIMESTEP_EXPANDED, while a device computes a score call to be collected */
    TIMESTEP_SCORED,    /* all rows have their choices (best next actions) */
} timestep_state;

typedef struct timestep {
    rill_context *ctx;
    /* position of the run's first input in a longer stream, which seeds samples (rill_engine_setup.first_input) */
    int64_t first_input;
    int32_t n;         /* number of selected inputs */
    int32_t *selected; /* [n] slots of the selected inputs */
    size_t selected_capacity;
    /* bit masks of search variants (search_variant.h). variants: selected by the inputs' settings. modifier_variants: required in this
     * phase by scorers' modifiers */
    uint32_t variants, modifier_variants;
    /* number of selected inputs for which a search variant, such as exact search, makes the beam (item.owner) */
    int32_t n_owned;

    /* The members below say how far the timestep has come. */
    /* index of this timestep in rill_engine.timesteps, 0 or 1; in calls of the domain, the micro-batch */
    int32_t group;
    timestep_state state;
    int32_t phase; /* the current phase, from 0; most domains have one phase */
    /* rows [0, next_row) have states, or in TIMESTEP_EXPANDED choices, unless their input has left; the next part_size rows are being
     * scored */
    int32_t next_row, part_size;
    /* nodes (state ids) reserved for this timestep and not in use yet; 0 without a memory limit */
    int64_t reserved_nodes;
    int32_t n_running;  /* number of inputs in flight when the timestep began */
    int64_t n_expanded; /* number of live hypotheses that the timestep expands */

    row_table rows;
    /* A search variant may add a second scoring pass with further rows; merging reads both. round: index of the current or last pass. */
    score_round rounds[2];
    int32_t round;
    /* rows of the second scoring pass appear in row_of as second_row + their index; INT32_MAX: there is no second pass */
    int32_t second_row;
    /* [beam entries, input after input] the row whose choices make the entry's children, or NO_ROW; NULL: live entries have consecutive
     * rows */
    const int32_t *row_of;
    int64_t spare_nodes;    /* nodes (state ids) reserved for live hypotheses that get no row */
    struct cube_pass *cube; /* data of cube_pruning.c; NULL: none yet */
    rill_rows part_rows;    /* the rows of the score call in progress, with their `request` and `result` */
    rill_score_request request;
    rill_score_result result;
    candidates candidates;
    trace_columns trace;
    /* [max_width] heads of the input being merged: the next child of each of its beam entries */
    merge_head *heads;
    merge_key *heap;            /* [max_width + 1] heap of the keys of `heads`, and a sentinel */
    child_counts *child_counts; /* [max_width] counts for each entry of `old_beam` */
    void *scratch;              /* scratch memory of the search variant that chooses an input's children */
    beam_entry *old_beam;       /* [max_width] copy of the beam that an input had before it gets its new beam */
    /* [beam entries] hypotheses of the previous beams that have no child in a new beam, and lose a reference */
    hyp_release *released;
    int32_t n_released;
    rill_columns row_memory, item_memory, candidate_memory, width_memory;
    size_t released_capacity, scratch_bytes;
} timestep;

/* Read choice `next` of a row, best first, in order. Returns 1, or 0 if there is none. Defined in merge.c. */
int timestep_next_choice(timestep *t, int32_t row, int32_t next, topk_choice *out);
/* Returns the row's best choices that end its hypothesis, if the row's end rule keeps them (modifiers.h). Defined in merge.c. */
ended_choices timestep_ended_choices(const timestep *t, int32_t row);
/* Returns a choice that timestep_next_choice() has already read. */
static inline topk_choice timestep_choice(const timestep *t, int32_t row, int32_t next)
{
    const int second = row >= t->second_row;
    const topk *s = &t->rounds[second].topk;
    return topk_get(s, (size_t)(second ? row - t->second_row : row) * (size_t)s->choices.stride + (size_t)next);
}
/* Returns an ended entry's own last action, with score 0: in merging the entry is its own only child. */
static inline topk_choice timestep_ended_choice(const beam_entry *entry)
{
    return (topk_choice){entry->action, entry->action_logp, 0, (rill_terminal)entry->ended};
}
