/* Diverse beam search (Vijayakumar et al. 2018): the beam is divided into groups, and each group is penalised for choosing actions that
 * earlier groups have chosen. See diverse_beam.c. */
#ifndef RILL_DIVERSE_BEAM_H
#define RILL_DIVERSE_BEAM_H

#include "timestep.h"

/* Choose an item's children, group by group, and write them to t->heads, in rank order; *row is the item's first row and is advanced past
 * its last one. Returns the number of children. */
int32_t diverse_beam_choose(timestep *t, const item *it, int32_t *row);

#endif
