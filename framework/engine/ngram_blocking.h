/* Forbids or penalises next actions because of n-grams: n-gram blocking (no_repeat_ngram), the repetition penalty, and the model's bad
 * words.
 *
 * Blocking and penalty are as in transformers' beam search: an action that would complete a repeated n-gram is banned. The log-probability
 * of an action that occurs in the hypothesis, including the decoder's start symbol, is multiplied by the penalty, once however often it
 * occurs.
 *
 * Bad words are action sequences that the model forbids in outputs (rill_domain_info.forbidden), looked up by their second-to-last action.
 * No setting allows them: they are forbidden in every search in which info.legal applies. */
#ifndef RILL_NGRAM_BLOCKING_H
#define RILL_NGRAM_BLOCKING_H

#include "modifiers.h"
#include "rill/scorer.h"

static inline int ngram_blocking_is_on(const rill_settings *s)
{
    return s->no_repeat_ngram > 0 || (s->repetition_penalty > 0 && s->repetition_penalty != 1);
}

/* Add the bans and penalties of no_repeat_ngram and repetition_penalty to a row whose hypothesis is hyps[h]. `start`: the decoder's start
 * symbol, before the first action; RILL_NO_ACTION: none. */
rill_status ngram_blocking_add(rill_modifiers *mods, int32_t row, const rill_settings *s, const rill_hyp_node *hyps,
                               int32_t h, int32_t start);

/* The model's bad words: action sequences that must not occur in outputs. */
typedef struct bad_words {
    /* [n] the bad words, sorted by their second-to-last action. Bad words of one action come first */
    const rill_sequence **sequence;
    int32_t n;
    /* the start action, which precedes the first action of an output; RILL_NO_ACTION: none */
    int32_t start_action;
} bad_words;

/* Sort the model's bad words for lookup. RILL_OK · RILL_ERR_MEMORY */
rill_status bad_words_create(bad_words *f, rill_context *ctx, const rill_domain_info *info);
void bad_words_finish(bad_words *f, rill_context *ctx);

/* In a row whose hypothesis is hyps[h], ban the actions that would complete a bad word. */
rill_status bad_words_ban(const bad_words *f, rill_modifiers *mods, int32_t row, const rill_hyp_node *hyps, int32_t h);
/* Return an equivalence class of hyps[h] for cube pruning. Bad words ban the same next actions for all hypotheses of one class. 0: they ban
 * no action. */
int64_t bad_words_class(const bad_words *f, const rill_hyp_node *hyps, int32_t h);

#endif
