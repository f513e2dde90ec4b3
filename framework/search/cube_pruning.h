/* Cube pruning (Zhang et al. 2018, "Speeding up neural machine translation decoding by cube pruning"). Equivalent live hypotheses of a beam
 * form a class, and only the best hypothesis of a class, its representative, is expanded; its row stands for the whole class. The
 * hypotheses of a class and the representative's choices are the rows and columns of a grid, whose cells are children. Merging takes the
 * best cells of all grids first, as it takes children.
 *
 *   accelerated   a child of any hypothesis of the class gets the log-probability of the representative's child, and continues the
 *                 representative's state: its parent and its state_parent (rill_rows) then differ
 *   naive         as many cells are taken as a beam has children. Cells of hypotheses that are not representatives are then scored with
 *                 their own states, in a second call of score, and the beam is chosen by these exact scores
 *
 * Hypotheses are equivalent if their last action is the same, or if a user's function gives the same key, and the domain gives the same
 * class (rill_domain.classify), since the same actions must be legal for all.
 *
 * Arrays of cube_pass cover the beam entries of the selected items, item after item: entry `rank` of an item whose entries begin at `base`
 * has index base + rank. */
#ifndef RILL_CUBE_PRUNING_H
#define RILL_CUBE_PRUNING_H

#include "internal.h"
#include "rill/carve.h"

/* No row: the entry has ended, or none of its cells was taken. */
enum { CUBE_NO_ROW = -1 };

typedef struct cube_pass {
    rill_columns memory, table_memory;
    int active;      /* 1: a selected item uses cube pruning; 0: of the members below only reserved_nodes is valid */
    int second_call; /* 1: the second call of this phase is in progress or done */
    /* [entries] the row of the first call whose choices give its children; values >= n_first_rows are rows of the second call, plus
     * n_first_rows */
    int32_t *row;
    /* [entries] number of cells taken, which are always the first cells of the entry's grid row */
    int32_t *n_taken;
    int32_t *moved_to;      /* [live entries] row of the first call that stands for the entry */
    int32_t *source_row;    /* [rows of the second call] row of the first call whose cells were taken, ... */
    int32_t *n_cells;       /* ... and number of these cells */
    int64_t *key;           /* [live entries] key of the user's function ... */
    int64_t *legal_class;   /* ... and class of the domain (rill_domain.classify) */
    int32_t *class_table;   /* hash table of classes of the current item */
    int32_t n_first_rows;   /* rows of the first call */
    int64_t reserved_nodes; /* number of nodes reserved for live hypotheses that are not expanded */
} cube_pass;

#endif
