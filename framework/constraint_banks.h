/* Banks: an item's places divided among its candidates by what they have achieved (rill_modifiers_divide_banks()), so that those who have
 * achieved more, mostly at a cost in score, are not crowded out by those who have not. */
#ifndef RILL_CONSTRAINT_BANKS_H
#define RILL_CONSTRAINT_BANKS_H

#include "timestep.h"

/* Whether the item's beam is divided; `row`: its first. */
static inline int item_has_banks(const timestep *t, const item *it, int32_t row)
{
    return t->modifier_table.n_banks != NULL && it->n_live > 0 && t->modifier_table.n_banks[row] > 0;
}

/* Put into t->heads, in rank order, the children that the banks have places for; *row is the item's first and is moved behind its last.
 * Returns how many there are. */
int32_t constraint_banks_choose(timestep *t, const item *it, int32_t *row);

#endif
