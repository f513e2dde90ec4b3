/* Bad words: action sequences that the model forbids in outputs (rill_domain_info.forbidden), looked up by their last but one action.
 *
 * The rule belongs to the model: no setting disables it, and it holds wherever info.legal does. */
#ifndef RILL_BAD_WORDS_H
#define RILL_BAD_WORDS_H

#include "modifiers.h"
#include "rill/scorer.h"

typedef struct bad_words {
    const rill_sequence **sequence; /* [n] sorted by their last but one action; single-action sequences have -1 */
    int32_t n;
    int32_t start_action; /* the start action, which precedes the first; RILL_NO_ACTION: none */
} bad_words;

/* RILL_OK · RILL_ERR_MEMORY */
rill_status bad_words_create(bad_words *f, rill_context *ctx, const rill_domain_info *info);
void bad_words_finish(bad_words *f, rill_context *ctx);

/* Ban, in a row whose hypothesis is hyps[h], the actions that would complete a forbidden sequence. */
rill_status bad_words_ban(const bad_words *f, rill_modifiers *mods, int32_t row, const rill_hyp_node *hyps, int32_t h);
/* Equivalence class for cube pruning: hypotheses of one class have the same actions banned; 0: no bans. */
int64_t bad_words_class(const bad_words *f, const rill_hyp_node *hyps, int32_t h);

#endif
