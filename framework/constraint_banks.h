/* Constraint banks: divide an item's beam among its candidates by the constraints they meet (rill_modifiers_divide_banks()), so that
 * hypotheses that meet more constraints, usually at a lower score, are not crowded out (dynamic beam allocation, Post and Vilar 2018). */
#ifndef RILL_CONSTRAINT_BANKS_H
#define RILL_CONSTRAINT_BANKS_H

#include "timestep.h"

/* Whether the item's beam is divided; `row`: the item's first row. */
static inline int item_has_banks(const timestep *t, const item *it, int32_t row)
{
    return t->modifier_table.n_banks != NULL && it->n_live > 0 && t->modifier_table.n_banks[row] > 0;
}

/* Write the children that fill the banks' places to t->heads, in rank order; *row is the item's first row and is advanced past its last
 * one. Returns their number. */
int32_t constraint_banks_choose(timestep *t, const item *it, int32_t *row);

#endif
