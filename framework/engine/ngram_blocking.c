/* Bans or penalises actions that would repeat n-grams, and bans bad words; declared in modifiers.h. */
#include "modifiers.h"

#include <stdlib.h>
#include <string.h>

/* --- repeated n-grams --------------------------------------------------------------------------------------------- */

/* Returns 1 if the hypotheses hyps[a] and hyps[b], which is the longer one, end with the same n actions, else 0. The start symbol counts
 * as an action. */
static int same_actions(const rill_hyp_node *hyps, int32_t a, int32_t b, int32_t n, int32_t start)
{
    for (; n > 0 && hyps[a].parent >= 0; n--, a = hyps[a].parent, b = hyps[b].parent)
        if (hyps[a].action != hyps[b].action) return 0;
    return n == 0 || (n == 1 && hyps[b].action == start);
}

/* Set the action's bit in seen_bits. Returns 1 if the bit was 0 before, else 0. */
static int mark_seen(uint64_t *seen_bits, int32_t action)
{
    const uint64_t bit = UINT64_C(1) << action % 64, old_bits = seen_bits[action / 64];
    seen_bits[action / 64] |= bit;
    return (old_bits & bit) == 0;
}

/* Penalise each action of the hypothesis hyps[h], and the start symbol `start`, once, however often it occurs. */
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
    const int32_t n = s->no_repeat_ngram;
    /* ban each action that followed the last n - 1 actions at an earlier place: it would repeat an n-gram */
    for (int32_t a = h; n > 0 && hyps[a].parent >= 0; a = hyps[a].parent)
        if (same_actions(hyps, hyps[a].parent, h, n - 1, start))
            RILL__TRY(rill_modifiers_ban(mods, row, hyps[a].action));
    if (s->repetition_penalty <= 0 || s->repetition_penalty == 1) return RILL_OK;
    return penalize_repeats(mods, row, (float)s->repetition_penalty, hyps, h, start);
}

/* --- bad words ---------------------------------------------------------------------------------------------------- */

enum { NO_PREFIX = -1 };

/* Returns a bad word's key for look-up: its second-to-last action; NO_PREFIX if it has only one action. */
static int32_t sequence_key(const rill_sequence *s)
{
    return s->n > 1 ? s->action[s->n - 2] : NO_PREFIX;
}

static int compare_sequences(const void *left, const void *right)
{
    const rill_sequence *a = *(const rill_sequence *const *)left, *b = *(const rill_sequence *const *)right;
    if (sequence_key(a) != sequence_key(b)) return sequence_key(a) < sequence_key(b) ? -1 : 1;
    /* bad words with equal keys are ordered by address, which is a fixed order since all are in one array */
    return (a > b) - (a < b);
}

rill_status bad_words_create(bad_words *f, rill_context *ctx, const rill_domain_info *info)
{
    const size_t n = (size_t)info->n_forbidden;
    f->start_action = info->start_action;
    if (n == 0) return RILL_OK;
    const rill_array columns[] = {RILL_ARRAY(f->sequence), RILL_ARRAY(f->key)};
    RILL__TRY(RILL__GROW_COLUMNS(ctx, &f->memory, n, columns, "bad words"));
    f->n = info->n_forbidden;
    for (size_t i = 0; i < n; i++) f->sequence[i] = &info->forbidden[i];
    qsort(f->sequence, n, sizeof *f->sequence, compare_sequences);
    for (size_t i = 0; i < n; i++) f->key[i] = sequence_key(f->sequence[i]);
    return RILL_OK;
}

static int32_t hyp_last_action(const bad_words *f, const rill_hyp_node *hyps, int32_t h)
{
    return hyps[h].parent >= 0 ? hyps[h].action : f->start_action;
}

/* Returns the next bad word with this key, from index *i on, that one more action would complete; NULL: none. */
static const rill_sequence *next_matching(const bad_words *f, int32_t key, const rill_hyp_node *hyps, int32_t h,
                                          int32_t *i)
{
    while (*i < f->n && f->key[*i] == key) {
        const rill_sequence *s = f->sequence[(*i)++];
        if (rill__hyp_ends_with(hyps, h, s->action, s->n - 1, f->start_action)) return s;
    }
    return NULL;
}

rill_status bad_words_ban(const bad_words *f, rill_modifiers *mods, int32_t row, const rill_hyp_node *hyps, int32_t h)
{
    const int32_t keys[] = {NO_PREFIX, hyp_last_action(f, hyps, h)};
    const rill_sequence *s;
    for (int i_key = 0; i_key < 2 && (i_key == 0 || keys[1] != NO_PREFIX); i_key++) {
        int32_t i = rill_lower_bound(f->key, f->n, keys[i_key]);
        while ((s = next_matching(f, keys[i_key], hyps, h, &i)) != NULL)
            RILL__TRY(rill_modifiers_ban(mods, row, s->action[s->n - 1]));
    }
    return RILL_OK;
}

/* Returns 1 if one of the bad words [from, to) bans `action` after the hypothesis hyps[h], else 0. */
static int already_counted(const bad_words *f, int32_t from, int32_t to, int32_t action, const rill_hyp_node *hyps,
                           int32_t h)
{
    for (; from < to; from++) {
        const rill_sequence *s = f->sequence[from];
        if (s->action[s->n - 1] == action && rill__hyp_ends_with(hyps, h, s->action, s->n - 1, f->start_action))
            return 1;
    }
    return 0;
}

/* The class is a sum of the hashes of the banned actions, so their order has no effect. Actions banned by bad words of one action are left
 * out. */
int64_t bad_words_class(const bad_words *f, const rill_hyp_node *hyps, int32_t h)
{
    const int32_t key = hyp_last_action(f, hyps, h), first = rill_lower_bound(f->key, f->n, key);
    const rill_sequence *s;
    uint64_t sum = 0;
    if (key == NO_PREFIX) return 0;
    for (int32_t i = first; (s = next_matching(f, key, hyps, h, &i)) != NULL;) {
        const int32_t action = s->action[s->n - 1];
        uint64_t x = ((uint64_t)action + 1) * UINT64_C(0x9E3779B97F4A7C15);
        if (!already_counted(f, 0, rill_lower_bound(f->key, f->n, 0), action, hyps, h) &&
            !already_counted(f, first, i - 1, action, hyps, h))
            sum += (x ^ x >> 29) * UINT64_C(0xC2B2AE3D27D4EB4F);
    }
    return (int64_t)sum;
}
