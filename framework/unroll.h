/* Unrolling: a history as the hypothesis that domains see, oldest action first. */
#ifndef RILL_UNROLL_H
#define RILL_UNROLL_H

#include "item.h"

typedef struct unroll {
    rill_context *ctx;
    rill_columns memory;
    int32_t *action, *node;
    float *logp, *score;
} unroll;

void unroll_finish(unroll *u);
/* The hypothesis of an output of the item in `slot`, in a domain of so many phases; it points into `u` until the next.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status unroll_output(unroll *u, const forest *f, int32_t slot, const item_output *output, int32_t phases,
                          rill_hypothesis *hypothesis);

#endif
