/* What a model forbids outputs to contain (rill_domain_info.forbidden): sequences of actions, looked up by the action before their last.
 *
 * A rule of the model's, which no setting lifts: it holds wherever info.legal does. */
#ifndef RILL_BAD_WORDS_H
#define RILL_BAD_WORDS_H

#include "modifiers.h"
#include "rill/scorer.h"

typedef struct bad_words {
    const rill_sequence **sequence; /* [n] by their last action but one, in which those of a single action have -1 */
    int32_t n;
    int32_t start_action; /* the action that stands before the first; RILL_NO_ACTION: none does */
} bad_words;

/* RILL_OK · RILL_ERR_MEMORY */
rill_status bad_words_create(bad_words *f, rill_context *ctx, const rill_domain_info *info);
void bad_words_finish(bad_words *f, rill_context *ctx);

/* Speak of a row whose hypothesis is histories[h]. */
rill_status bad_words_ban(const bad_words *f, rill_modifiers *mods, int32_t row, const rill_hyp_node *hyps, int32_t h);
/* Hypotheses for which it is the same are forbidden the same; 0: nothing. */
int64_t bad_words_class(const bad_words *f, const rill_hyp_node *hyps, int32_t h);

#endif
