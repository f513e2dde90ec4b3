/* Sampling: a beam's places are hypotheses that are drawn, one choice for each, instead of the best of all. sample.c says how. */
#ifndef RILL_SAMPLE_H
#define RILL_SAMPLE_H

#include "timestep.h"

/* Put into t->heads, in rank order, the children that are drawn of an item that samples; *row is its first and is moved behind its last.
 * Returns how many there are. */
int32_t sample_choose(timestep *t, const item *it, int32_t *row);

#endif
