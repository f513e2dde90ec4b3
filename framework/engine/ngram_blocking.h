/* Actions that n-grams forbid or penalise: n-gram blocking (no_repeat_ngram), the repetition penalty, and the model's bad words.
 *
 * Blocking and penalty are as in transformers' beam search: an action that would complete a repeated n-gram is banned. The log-probability
 * of an action that occurs in the hypothesis, including the decoder's start symbol, is multiplied by the penalty, once however often it
 * occurs.
 *
 * Bad words are action sequences that the model forbids in outputs (rill_domain_info.forbidden), looked up by their second-to-last action.
 *
 * The sequences belong to the model: no setting allows them, and they are forbidden in every search in which info.legal applies. */
#ifndef RILL_NGRAM_BLOCKING_H
#define RILL_NGRAM_BLOCKING_H

#include "modifiers.h"
#include "rill/scorer.h"

static inline int ngram_blocking_is_on(const rill_settings *s)
{
    return s->no_repeat_ngram > 0 || (s->repetition_penalty > 0 && s->repetition_penalty != 1);
}

/* Add the modifiers of a row whose hypothesis is hyps[h] for no_repeat_ngram and repetition_penalty. `start`: the decoder's start symbol,
 * before the first action; RILL_NO_ACTION: none. */
rill_status ngram_blocking_add(rill_modifiers *mods, int32_t row, const rill_settings *s, const rill_hyp_node *hyps,
                               int32_t h, int32_t start);

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
