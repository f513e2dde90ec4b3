/* A timestep: which items it expands, their rows, what is asked about these and their choices, the candidates made of them, and how
 * far it has come.
 *
 * Its scratch is two blocks, each of which grows as a whole: rows, whose number is known once items are selected, and what is behind
 * them, whose size follows from what may be asked of a row. Nothing in them survives the timestep, or growth; all is kept for the
 * next. With a domain that answers later there are two timesteps (decode_loop.c), and what a submitted call was given stays where it is. */
#ifndef RILL_TIMESTEP_H
#define RILL_TIMESTEP_H

#include "candidates.h"
#include "cube_pruning.h"
#include "item.h"
#include "rill/stats.h"
#include "topk.h"

/* Arrays over the rows of one call. */
typedef struct row_table {
    int32_t *node, *parent, *state_parent, *action, *slot, *depth; /* what the domain sees */
    int32_t *hyp, *rank, *item;                                    /* item: index in `selected` */
    int64_t *item_id;
    double *path_score;
    int32_t n;
} row_table;

/* Row `from` moves to `to`, but for its node. */
static inline void row_table_move(row_table *r, int32_t to, int32_t from)
{
    int32_t *const columns[] = {r->parent, r->state_parent, r->action, r->slot, r->depth, r->hyp, r->rank, r->item};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) columns[c][to] = columns[c][from];
    r->item_id[to] = r->item_id[from];
    r->path_score[to] = r->path_score[from];
}

/* merge.c: the best child of a beam entry that has not been taken. */
typedef struct merge_head {
    double path_score;
    topk_choice child;
    int32_t rank;   /* of the parent */
    int32_t row;    /* of the parent's choices, or -1: the parent has ended and is its own only child */
    int32_t choice; /* choice at the head */
    int32_t bank;   /* that it leads to (constraint_banks.c), or its group (diverse_beam.c) */
} merge_head;

/* ... and its place in a heap of them. */
typedef struct merge_key {
    double score;
    int32_t rank;
} merge_key;

/* For qsort(): by score, the parent's rank, the order of the parent's choices, the group. */
int merge_head_compare(const void *left, const void *right);

/* commit.c: what the children that stay add to what is counted of a beam entry's history. */
typedef struct child_counts {
    int32_t refs, holds;
} child_counts;

/* What the second block has room for. */
typedef struct children_size {
    size_t items, candidates;
    size_t entries;        /* of all beams before */
    size_t max_width;      /* of an item: beam entries before */
    size_t group_places;   /* of an item with groups: its k */
    size_t sample_choices; /* of a row that is sampled from: its choices */
} children_size;

/* What a trace is told of the selected items; kept where there is a trace function only. */
typedef struct trace_columns {
    rill_columns memory;
    int32_t *old_width, *merged_width, *new_width, *depth;
    int64_t *id;
    int32_t *dropped; /* [links * n] */
    size_t dropped_capacity;
    rill_trace_hypothesis *hypotheses; /* [n_hypotheses] */
    size_t hypotheses_capacity;
    int32_t n_hypotheses;
} trace_columns;

typedef struct timestep {
    rill_context *ctx;
    int64_t first_input; /* of the engine's setup */
    int32_t n;           /* items selected */
    int32_t *selected;   /* [n] their slots */
    size_t selected_capacity;

    /* How far it has come. */
    int32_t group;               /* its number, by which the domain tells its calls from the other timestep's */
    int active;                  /* items are selected; nothing below is valid before */
    int32_t phase;               /* the one that it is in */
    int32_t next_row, part_size; /* rows [0, from) have their choices, the next `part` ones are asked about */
    int submitted;               /* ... and the answer is to be collected */
    int is_marked_busy;          /* it was so in this timestep: its items are marked as busy */
    int64_t reserved_nodes;      /* nodes that its later phases may need, under a bound */
    int32_t n_running;           /* when it began */
    int64_t n_expanded;          /* of its first phase */

    row_table rows;
    rill_modifiers modifiers;
    modifier_table modifier_table;
    topk topk;
    cube_pass cube;
    topk
        cube_topk; /* of the second call of cube pruning, with what is asked for it: the first call's is looked at behind it */
    rill_modifiers cube_modifiers;
    modifier_table cube_modifier_table;
    rill_rows part_rows; /* of the call in progress, with its question and where the answer goes */
    rill_score_request request;
    rill_score_result result;
    candidates candidates;
    trace_columns trace;
    merge_head *heads;          /* [widest] */
    merge_key *heap;            /* [widest + 1] */
    child_counts *child_counts; /* [widest] */
    int32_t *group_scratch;     /* [7 places] diverse_beam.c */
    double *sample_weight;      /* [drawn] sample.c: of a row's choices */
    beam_entry *old_beam;       /* [widest] an item's beam before */
    hyp_release *released;      /* [entries]: histories of beams before without children */
    int32_t n_released;
    char *row_block, *child_block;
    size_t row_bytes, child_bytes;
    size_t rows_capacity;
    children_size capacity;
} timestep;

void timestep_init(timestep *t, rill_context *ctx, const rill_domain_info *info, int32_t group);
void timestep_finish(timestep *t);
/* Room for `rows` rows. */
rill_status timestep_reserve_rows(timestep *t, size_t rows);
/* Of the call in progress. */
static inline topk *timestep_topk(timestep *t)
{
    return t->cube.second_call ? &t->cube_topk : &t->topk;
}
static inline rill_modifiers *timestep_modifiers(timestep *t)
{
    return t->cube.second_call ? &t->cube_modifiers : &t->modifiers;
}
static inline modifier_table *timestep_modifier_table(timestep *t)
{
    return t->cube.second_call ? &t->cube_modifier_table : &t->modifier_table;
}
/* Choice `next` of a row, of the first call's or, numbered behind these, of the second's. */
static inline int timestep_is_first_call(const timestep *t, int32_t row)
{
    return !t->cube.active || row < t->cube.n_first_rows;
}
static inline int timestep_next_choice(timestep *t, int32_t row, int32_t next, topk_choice *out)
{
    const int first = timestep_is_first_call(t, row);
    return topk_next(first ? &t->topk : &t->cube_topk, first ? row : row - t->cube.n_first_rows, next, out);
}
static inline topk_choice timestep_choice(const timestep *t, int32_t row, int32_t next)
{
    const int first = timestep_is_first_call(t, row);
    const topk *s = first ? &t->topk : &t->cube_topk;
    return topk_get(s, (size_t)(first ? row : row - t->cube.n_first_rows) * (size_t)s->choices.stride + (size_t)next);
}
/* An entry that has ended stands for the action that ended it. */
static inline topk_choice timestep_ended_choice(const beam_entry *entry)
{
    return (topk_choice){entry->action, entry->action_logp, 0, (rill_terminal)entry->ended};
}
/* Room for what is behind them. */
rill_status timestep_reserve_children(timestep *t, const children_size *need);

#endif
