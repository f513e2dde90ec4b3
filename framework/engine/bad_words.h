/* Bad words: action sequences that the model forbids in outputs (rill_domain_info.forbidden), looked up by their second-to-last action.
 *
 * The sequences belong to the model: no setting allows them, and they are forbidden in every search in which info.legal applies. */
#ifndef RILL_BAD_WORDS_H
#define RILL_BAD_WORDS_H

#include "modifiers.h"
#include "rill/scorer.h"

typedef struct bad_words {
    /* [n] sorted by their second-to-last action; single-action sequences have -1 */
    const rill_sequence **sequence;
    int32_t n;
    /* the start action, which precedes the first action of an output; RILL_NO_ACTION: none */
    int32_t start_action;
} bad_words;

/* RILL_OK · RILL_ERR_MEMORY */
rill_status bad_words_create(bad_words *f, rill_context *ctx, const rill_domain_info *info);
void bad_words_finish(bad_words *f, rill_context *ctx);

/* Ban, in a row whose hypothesis is hyps[h], the actions that would complete a forbidden sequence. */
rill_status bad_words_ban(const bad_words *f, rill_modifiers *mods, int32_t row, const rill_hyp_node *hyps, int32_t h);
/* Return the equivalence class for cube pruning: for hypotheses of one class the same actions are banned; 0: no action is banned. */
int64_t bad_words_class(const bad_words *f, const rill_hyp_node *hyps, int32_t h);

#endif
