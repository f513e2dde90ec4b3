/* Cube pruning (Zhang et al. 2018, "Speeding up neural machine translation decoding by cube pruning"): live hypotheses of a beam that
 * are alike form a class, and one row answers for all of it, that of the class's best hypothesis, its representative. A class and
 * its choices are the rows and columns of a grid of children; merging takes cells of all grids best first, as it takes children.
 *
 *   accelerated   a child of any hypothesis of the class scores as the representative's does, and continues the representative's
 *                 state: its history's parent and its state's differ
 *   naive         so many cells are taken as a beam has children; those of other hypotheses than representatives are then scored
 *                 with their own states, in one more call, and the beam is made of what all cells really score
 *
 * Alike are hypotheses whose last action is the same, or for which a function of the user's says the same; and for which the domain
 * says the same (rill_domain.classify), since what is legal must be legal for all.
 *
 * What a pass knows is about the beam entries of the selected items, one item behind the other: entry `rank` of the item whose entries
 * begin at `base` is number base + rank. */
#ifndef RILL_CUBE_PRUNING_H
#define RILL_CUBE_PRUNING_H

#include "internal.h"
#include "rill/carve.h"

/* No row: the entry has ended, or none of its cells was taken. */
enum { CUBE_NO_ROW = -1 };

typedef struct cube_pass {
    rill_columns memory, table_memory;
    int active;      /* some selected item asks for it; nothing below is valid otherwise, but `owed` */
    int second_call; /* the second call of this phase is under way or over */
    int32_t *
        row; /* [entries] the row of the first call by which its children are merged; with n_first or more: that less n_first of
                        the second */
    int32_t *n_taken;       /* [entries] cells of its that were taken, the first so many of its row */
    int32_t *moved_to;      /* [live entries] to which row of the first call */
    int32_t *source_row;    /* [rows of the second call] the row of the first whose cells were taken, ... */
    int32_t *n_cells;       /* ... and how many of them */
    int64_t *key;           /* [live entries] what the user says, ... */
    int64_t *legal_class;   /* ... and the domain */
    int32_t *class_table;   /* a table of classes by hash, of the item at work */
    int32_t n_first_rows;   /* rows of the first call */
    int64_t reserved_nodes; /* nodes that were set aside for live hypotheses which have none */
} cube_pass;

#endif
