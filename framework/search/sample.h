/* Sampling: each beam entry is one sample. A timestep extends it by one randomly drawn choice, instead of keeping the best
 * candidates. See sample.c. */
#ifndef RILL_SAMPLE_H
#define RILL_SAMPLE_H

#include "timestep.h"

/* Draw an item's children and write them to t->heads, in rank order. *row: the item's first row; it is advanced past the
 * item's last row. Returns the number of children. */
int32_t sample_choose(timestep *t, const item *it, int32_t *row);

#endif
