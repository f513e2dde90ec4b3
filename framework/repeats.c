/* Repetition; repeats.h. As transformers' beam search has it: what would end an n-gram that is there already is struck, and the
 * log-probability of an action that is there already, the decoder's start symbol among them, is multiplied by the penalty, once
 * however often it is there. */
#include "repeats.h"

static int same_actions(const rill_history *histories, int32_t a, int32_t b, int32_t n)
{
    for (; n > 0; n--, a = histories[a].parent, b = histories[b].parent)
        if (histories[a].parent < 0 || histories[a].action != histories[b].action) return 0;
    return 1;
}

/* `a` walks the path from its end: the actions before it are compared with the last ones. */
static rill_status ban_ngrams(rill_ask_builder *ask, int32_t row, int32_t n, const rill_history *histories, int32_t h)
{
    for (int32_t a = h; histories[a].parent >= 0; a = histories[a].parent)
        if (same_actions(histories, histories[a].parent, h, n - 1))
            RILL__TRY(rill_ask_ban(ask, row, histories[a].action));
    return RILL_OK;
}

/* Whether the action is met for the first time since its bit was cleared. */
static int is_first(uint64_t *seen, int32_t action)
{
    const uint64_t bit = UINT64_C(1) << action % 64, before = seen[action / 64];
    seen[action / 64] |= bit;
    return (before & bit) == 0;
}

static rill_status penalise(rill_ask_builder *ask, int32_t row, float penalty, const rill_history *histories, int32_t h,
                            int32_t start)
{
    const size_t words = ((size_t)ask->actions + 63) / 64;
    if (ask->seen_words < words) {
        RILL__TRY(RILL__GROW(ask->ctx, ask->seen, ask->seen_words, words, "actions that were met"));
        memset(ask->seen, 0, ask->seen_words * sizeof *ask->seen);
    }
    rill_status status = RILL_OK;
    if (start >= 0 && is_first(ask->seen, start)) status = rill_ask_scale(ask, row, start, penalty);
    for (int32_t a = h; histories[a].parent >= 0 && status >= 0; a = histories[a].parent)
        if (is_first(ask->seen, histories[a].action)) status = rill_ask_scale(ask, row, histories[a].action, penalty);
    for (int32_t a = h; histories[a].parent >= 0; a = histories[a].parent) ask->seen[histories[a].action / 64] = 0;
    if (start >= 0) ask->seen[start / 64] = 0;
    return status;
}

rill_status repeats_ask(rill_ask_builder *ask, int32_t row, const rill_settings *s, const rill_history *histories,
                        int32_t h, int32_t start)
{
    if (s->no_repeat_ngram > 0) RILL__TRY(ban_ngrams(ask, row, s->no_repeat_ngram, histories, h));
    if (s->repetition_penalty <= 0 || s->repetition_penalty == 1) return RILL_OK;
    return penalise(ask, row, (float)s->repetition_penalty, histories, h, start);
}
