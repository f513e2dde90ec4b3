/* What the settings no_repeat_ngram and repetition_penalty say of rows: rules that follow from what a hypothesis has written. */
#ifndef RILL_NGRAM_BLOCKING_H
#define RILL_NGRAM_BLOCKING_H

#include "modifiers.h"
#include "rill/scorer.h"

static inline int ngram_blocking_is_on(const rill_settings *s)
{
    return s->no_repeat_ngram > 0 || (s->repetition_penalty > 0 && s->repetition_penalty != 1);
}

/* Speak of a row whose hypothesis is histories[h]. `start`: the action that stands before its first; RILL_NO_ACTION: none does. */
rill_status ngram_blocking_add(rill_modifiers *mods, int32_t row, const rill_settings *s, const rill_hyp_node *hyps,
                               int32_t h, int32_t start);

#endif
