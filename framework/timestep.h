/* A timestep's scratch: which items it expands, their rows, these rows' choices, and the candidates made of them.
 *
 * Two blocks, each of which grows as a whole: rows, whose number is known once items are selected, and what is behind them, whose
 * size follows from what may be asked of a row. Nothing in it survives the timestep, or growth; all is kept for the next. */
#ifndef RILL_TIMESTEP_H
#define RILL_TIMESTEP_H

#include "candidates.h"
#include "item.h"

/* Arrays over the rows of one call. */
typedef struct row_table {
    int32_t *node, *parent, *state_parent, *action, *slot, *depth; /* what the domain sees */
    int32_t *history, *rank, *item;                                /* item: index in `selected` */
    int64_t *item_id;
    double *score;
    int32_t n;
} row_table;

/* merge.c: the best child of a beam entry that has not been taken. */
typedef struct merge_head {
    double score;
    int32_t rank; /* of the parent */
    int32_t row;  /* of the parent's choices, or -1: the parent has ended and is its own only child */
    int32_t next; /* choice at the head */
} merge_head;

/* What the second block has room for. */
typedef struct children_size {
    size_t items, candidates;
    size_t widest, widest_after; /* of an item: beam entries before, candidates after */
} children_size;

typedef struct timestep {
    rill_context *ctx;
    int32_t n;         /* items selected */
    int32_t *selected; /* [n] their slots */
    size_t selected_capacity;
    row_table rows;
    candidates candidates;
    merge_head *heap; /* [widest] */
    beam_entry *beam; /* [widest_after] an item's new beam */
    char *row_block, *child_block;
    size_t row_bytes, child_bytes;
    size_t rows_room;
    children_size room;
} timestep;

void timestep_finish(timestep *t);
/* Room for `rows` rows. */
rill_status timestep_reserve_rows(timestep *t, size_t rows);
/* Room for what is behind them. */
rill_status timestep_reserve_children(timestep *t, const children_size *need);

#endif
