/* A timestep: which items it expands, their rows, what is asked about these and their choices, the candidates made of them, and how
 * far it has come.
 *
 * Its scratch is two blocks, each of which grows as a whole: rows, whose number is known once items are selected, and what is behind
 * them, whose size follows from what may be asked of a row. Nothing in them survives the timestep, or growth; all is kept for the
 * next. With a domain that answers later there are two timesteps (loop.c), and what a submitted call was given stays where it is. */
#ifndef RILL_TIMESTEP_H
#define RILL_TIMESTEP_H

#include "candidates.h"
#include "cube.h"
#include "item.h"
#include "rill/stats.h"
#include "select.h"

/* Arrays over the rows of one call. */
typedef struct row_table {
    int32_t *node, *parent, *state_parent, *action, *slot, *depth; /* what the domain sees */
    int32_t *history, *rank, *item;                                /* item: index in `selected` */
    int64_t *item_id;
    double *score;
    int32_t n;
} row_table;

/* Row `from` moves to `to`, but for its node. */
static inline void row_table_move(row_table *r, int32_t to, int32_t from)
{
    int32_t *const columns[] = {r->parent, r->state_parent, r->action, r->slot, r->depth, r->history, r->rank, r->item};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) columns[c][to] = columns[c][from];
    r->item_id[to] = r->item_id[from];
    r->score[to] = r->score[from];
}

/* merge.c: the best child of a beam entry that has not been taken. */
typedef struct merge_head {
    double score;
    selector_choice child;
    int32_t rank; /* of the parent */
    int32_t row;  /* of the parent's choices, or -1: the parent has ended and is its own only child */
    int32_t next; /* choice at the head */
    int32_t bank; /* that it leads to (banks.c), or its group (groups.c) */
} merge_head;

/* ... and its place in a heap of them. */
typedef struct merge_key {
    double score;
    int32_t rank;
} merge_key;

/* For qsort(): by score, the parent's rank, the order of the parent's choices, the group. */
int merge_in_rank_order(const void *left, const void *right);

/* commit.c: what the children that stay add to what is counted of a beam entry's history. */
typedef struct commit_kin {
    int32_t refs, holds;
} commit_kin;

/* What the second block has room for. */
typedef struct children_size {
    size_t items, candidates;
    size_t entries; /* of all beams before */
    size_t widest;  /* of an item: beam entries before */
    size_t places;  /* of an item with groups: its k */
    size_t drawn;   /* of a row that is sampled from: its choices */
} children_size;

/* What a trace is told of the selected items; kept where there is a trace function only. */
typedef struct trace_columns {
    rill_columns memory;
    int32_t *before, *merged, *after, *depth;
    int64_t *id;
    int32_t *dropped; /* [links * n] */
    size_t dropped_room;
    rill_trace_hypothesis *hypothesis; /* [n_hypotheses] */
    size_t hypothesis_room;
    int32_t n_hypotheses;
} trace_columns;

typedef struct timestep {
    rill_context *ctx;
    int64_t first_input; /* of the engine's setup */
    int32_t n;           /* items selected */
    int32_t *selected;   /* [n] their slots */
    size_t selected_capacity;

    /* How far it has come. */
    int32_t group;      /* its number, by which the domain tells its calls from the other timestep's */
    int under_way;      /* items are selected; nothing below is valid before */
    int32_t phase;      /* the one that it is in */
    int32_t from, part; /* rows [0, from) have their choices, the next `part` ones are asked about */
    int submitted;      /* ... and the answer is to be collected */
    int busy;           /* it was so in this timestep: its items are marked as busy */
    int64_t promised;   /* nodes that its later phases may need, under a bound */
    int32_t in_flight;  /* when it began */
    int64_t expansions; /* of its first phase */

    row_table rows;
    rill_ask_builder asks;
    ask_rules rules;
    selector selector;
    cube_pass cube;
    selector
        exact; /* of the second call of cube pruning, with what is asked for it: the first call's is looked at behind it */
    rill_ask_builder exact_asks;
    ask_rules exact_rules;
    rill_rows part_rows; /* of the call in progress, with its question and where the answer goes */
    rill_ask ask;
    rill_choices out;
    candidates candidates;
    trace_columns trace;
    merge_head *heads;       /* [widest] */
    merge_key *heap;         /* [widest + 1] */
    commit_kin *kin;         /* [widest] */
    int32_t *places;         /* [7 places] groups.c */
    double *weight;          /* [drawn] sample.c: of a row's choices */
    beam_entry *beam;        /* [widest] an item's beam before */
    forest_leaving *leaving; /* [entries]: histories of beams before without children */
    int32_t n_leaving;
    char *row_block, *child_block;
    size_t row_bytes, child_bytes;
    size_t rows_room;
    children_size room;
} timestep;

void timestep_init(timestep *t, rill_context *ctx, const rill_domain_info *info, int32_t group);
void timestep_finish(timestep *t);
/* Room for `rows` rows. */
rill_status timestep_reserve_rows(timestep *t, size_t rows);
/* Of the call in progress. */
static inline selector *timestep_selector(timestep *t)
{
    return t->cube.exact ? &t->exact : &t->selector;
}
static inline rill_ask_builder *timestep_asks(timestep *t)
{
    return t->cube.exact ? &t->exact_asks : &t->asks;
}
static inline ask_rules *timestep_rules(timestep *t)
{
    return t->cube.exact ? &t->exact_rules : &t->rules;
}
/* Choice `next` of a row, of the first call's or, numbered behind these, of the second's. */
static inline int timestep_is_first(const timestep *t, int32_t row)
{
    return !t->cube.on || row < t->cube.n_first;
}
static inline int timestep_look(timestep *t, int32_t row, int32_t next, selector_choice *out)
{
    const int first = timestep_is_first(t, row);
    return selector_look(first ? &t->selector : &t->exact, first ? row : row - t->cube.n_first, next, out);
}
static inline selector_choice timestep_choice(const timestep *t, int32_t row, int32_t next)
{
    const int first = timestep_is_first(t, row);
    const selector *s = first ? &t->selector : &t->exact;
    return selector_at(s, (size_t)(first ? row : row - t->cube.n_first) * (size_t)s->choices.stride + (size_t)next);
}
/* An entry that has ended stands for the action that ended it. */
static inline selector_choice timestep_ended(const beam_entry *entry)
{
    return (selector_choice){entry->action, entry->action_logp, 0, (rill_terminal)entry->ended};
}
/* Room for what is behind them. */
rill_status timestep_reserve_children(timestep *t, const children_size *need);

#endif
