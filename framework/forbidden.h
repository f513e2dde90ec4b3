/* What a model forbids outputs to contain (rill_domain_info.forbidden): sequences of actions, looked up by the action before their last.
 *
 * A rule of the model's, which no setting lifts: it holds wherever info.legal does. */
#ifndef RILL_FORBIDDEN_H
#define RILL_FORBIDDEN_H

#include "ask.h"
#include "rill/scorer.h"

typedef struct forbidden {
    const rill_sequence **at; /* [n] by their last action but one, in which those of a single action have -1 */
    int32_t n;
    int32_t start; /* the action that stands before the first; RILL_NO_ACTION: none does */
} forbidden;

/* RILL_OK · RILL_ERR_MEMORY */
rill_status forbidden_create(forbidden *f, rill_context *ctx, const rill_domain_info *info);
void forbidden_finish(forbidden *f, rill_context *ctx);

/* Speak of a row whose hypothesis is histories[h]. */
rill_status forbidden_ask(const forbidden *f, rill_ask_builder *ask, int32_t row, const rill_history *histories,
                          int32_t h);
/* Hypotheses for which it is the same are forbidden the same; 0: nothing. */
int64_t forbidden_class(const forbidden *f, const rill_history *histories, int32_t h);

#endif
