/* Groups: a beam's places divided among groups of hypotheses, each of which avoids what those before it choose (diverse beam search,
 * Vijayakumar et al. 2018). diverse_beam.c says how. */
#ifndef RILL_DIVERSE_BEAM_H
#define RILL_DIVERSE_BEAM_H

#include "timestep.h"

/* Put into t->heads, in rank order, the children that the groups of an item choose; *row is its first and is moved behind its last.
 * Returns how many there are. */
int32_t diverse_beam_choose(timestep *t, const item *it, int32_t *row);

#endif
