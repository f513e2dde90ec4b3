/* N-gram blocking and repetition penalty; ngram_blocking.h. As in transformers' beam search: an action that would complete a repeated
 * n-gram is banned, and the log-probability of an action that occurs in the hypothesis, including the decoder's start symbol, is
 * multiplied by the penalty, once however often it occurs. */
#include "ngram_blocking.h"

static int same_actions(const rill_hyp_node *hyps, int32_t a, int32_t b, int32_t n)
{
    for (; n > 0; n--, a = hyps[a].parent, b = hyps[b].parent)
        if (hyps[a].parent < 0 || hyps[a].action != hyps[b].action) return 0;
    return 1;
}

/* Ban each action `a` of the hypothesis whose preceding n - 1 actions equal the last n - 1 actions of the hypothesis. */
static rill_status ban_ngrams(rill_modifiers *mods, int32_t row, int32_t n, const rill_hyp_node *hyps, int32_t h)
{
    for (int32_t a = h; hyps[a].parent >= 0; a = hyps[a].parent)
        if (same_actions(hyps, hyps[a].parent, h, n - 1)) RILL__TRY(rill_modifiers_ban(mods, row, hyps[a].action));
    return RILL_OK;
}

/* Set the action's bit. Returns 1 if the bit was 0 before, else 0. */
static int mark_seen(uint64_t *seen_bits, int32_t action)
{
    const uint64_t bit = UINT64_C(1) << action % 64, old_bits = seen_bits[action / 64];
    seen_bits[action / 64] |= bit;
    return (old_bits & bit) == 0;
}

static rill_status penalize_repeats(rill_modifiers *mods, int32_t row, float penalty, const rill_hyp_node *hyps,
                                    int32_t h, int32_t start)
{
    const size_t words = ((size_t)mods->n_actions + 63) / 64;
    if (mods->seen_words < words) {
        RILL__TRY(RILL__GROW(mods->ctx, mods->seen, mods->seen_words, words, "actions that were met"));
        memset(mods->seen, 0, mods->seen_words * sizeof *mods->seen);
    }
    rill_status status = RILL_OK;
    if (start >= 0 && mark_seen(mods->seen, start)) status = rill_modifiers_scale(mods, row, start, penalty);
    for (int32_t a = h; hyps[a].parent >= 0 && status >= 0; a = hyps[a].parent)
        if (mark_seen(mods->seen, hyps[a].action)) status = rill_modifiers_scale(mods, row, hyps[a].action, penalty);
    for (int32_t a = h; hyps[a].parent >= 0; a = hyps[a].parent) mods->seen[hyps[a].action / 64] = 0;
    if (start >= 0) mods->seen[start / 64] = 0;
    return status;
}

rill_status ngram_blocking_add(rill_modifiers *mods, int32_t row, const rill_settings *s, const rill_hyp_node *hyps,
                               int32_t h, int32_t start)
{
    if (s->no_repeat_ngram > 0) RILL__TRY(ban_ngrams(mods, row, s->no_repeat_ngram, hyps, h));
    if (s->repetition_penalty <= 0 || s->repetition_penalty == 1) return RILL_OK;
    return penalize_repeats(mods, row, (float)s->repetition_penalty, hyps, h, start);
}
