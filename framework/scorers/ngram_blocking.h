/* The settings no_repeat_ngram and repetition_penalty as modifiers of rows. */
#ifndef RILL_NGRAM_BLOCKING_H
#define RILL_NGRAM_BLOCKING_H

#include "modifiers.h"
#include "rill/scorer.h"

static inline int ngram_blocking_is_on(const rill_settings *s)
{
    return s->no_repeat_ngram > 0 || (s->repetition_penalty > 0 && s->repetition_penalty != 1);
}

/* Add the modifiers of a row whose hypothesis is hyps[h]. `start`: the decoder's start symbol, before the first action; RILL_NO_ACTION:
 * none. */
rill_status ngram_blocking_add(rill_modifiers *mods, int32_t row, const rill_settings *s, const rill_hyp_node *hyps,
                               int32_t h, int32_t start);

#endif
