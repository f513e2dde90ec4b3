/* Sampling: each place of the beam is a sampled hypothesis, extended by one sampled choice, instead of the best candidates. See
 * sample.c. */
#ifndef RILL_SAMPLE_H
#define RILL_SAMPLE_H

#include "timestep.h"

/* Write the children sampled for an item to t->heads, in rank order; *row is its first row and is advanced past its last one. Returns
 * their number. */
int32_t sample_choose(timestep *t, const item *it, int32_t *row);

#endif
