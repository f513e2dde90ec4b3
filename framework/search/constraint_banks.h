/* Constraint banks: divide an item's beam into banks by the number of constraints that candidates meet (rill_modifiers_divide_banks()), so
 * that hypotheses that meet more constraints, usually at a lower score, are not crowded out (dynamic beam allocation, Post and Vilar
 * 2018). */
#ifndef RILL_CONSTRAINT_BANKS_H
#define RILL_CONSTRAINT_BANKS_H

#include "timestep.h"

/* Return 1 if the item's beam is divided into banks, else 0; `row`: the item's first row. */
static inline int item_has_banks(const timestep *t, const item *it, int32_t row)
{
    return t->modifier_table.n_banks != NULL && it->n_live > 0 && t->modifier_table.n_banks[row] > 0;
}

/* Choose the item's children for all banks and write them to t->heads, in rank order; *row is the item's first row and is advanced past its
 * last one. Returns the number of children. */
int32_t constraint_banks_choose(timestep *t, const item *it, int32_t *row);

#endif
