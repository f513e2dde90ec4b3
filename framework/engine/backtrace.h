/* Backtrace: turn a path in the hypothesis pool into the rill_hypothesis that domains see, oldest action first. */
#ifndef RILL_BACKTRACE_H
#define RILL_BACKTRACE_H

#include "item.h"

typedef struct backtrace_buffer {
    rill_context *ctx;
    rill_columns memory;
    int32_t *action, *node;
    float *logp, *score;
} backtrace_buffer;

void backtrace_finish(backtrace_buffer *u);
/* Write the hypothesis of an output of the item in `slot` to *hypothesis, for a domain with `phases` phases. Its arrays are in `u` and
 * valid until the next call.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status backtrace_output(backtrace_buffer *u, const hyp_pool *f, int32_t slot, const item_output *output,
                             int32_t phases, rill_hypothesis *hypothesis);

#endif
