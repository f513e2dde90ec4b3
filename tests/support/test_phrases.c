/* See test_phrases.h. */
#include "support/test_phrases.h"

#include <stdio.h>
#include <string.h>

const char *const test_phrases_names[TEST_PHRASE_KINDS] = {"prefix", "ban", "allow", "require"};

/* --- drawing ------------------------------------------------------------------------------------------------------ */

void test_phrases_draw(test_phrases *c, int32_t actions, int unbanked, dice *d)
{
    memset(c, 0, sizeof *c);
    c->kind = (test_phrases_kind)dice_range(d, 0, TEST_REQUIRE - unbanked);
    if (!unbanked && dice_chance(d, 40)) c->kind = TEST_REQUIRE;
    c->actions = actions;
    c->n = c->kind == TEST_PREFIX ? 1 : dice_range(d, 1, TEST_MAX_PHRASES);
    /* use few different actions, so that phrases overlap */
    const int32_t max_action = dice_chance(d, 50) && actions > 2 ? 1 : actions - 1;
    for (int32_t i = 0; i < c->n; i++) {
        c->length[i] = dice_range(d, 1, TEST_MAX_PHRASE_LENGTH);
        for (int32_t j = 0; j < c->length[i]; j++) c->action[i][j] = dice_range(d, 0, max_action);
    }
}

void test_phrases_write(test_phrases *c, int32_t end, char *out, size_t size)
{
    size_t pos = 0;
    c->end = end;
    for (int32_t i = 0; i < c->n; i++)
        for (int32_t j = 0; j < c->length[i]; j++) {
            const char *separator = i > 0 && j == 0 ? " ||| " : j > 0 ? " " : "";
            const int32_t a = c->action[i][j];
            pos += (size_t)(a == end ? snprintf(out + pos, size - pos, "%send", separator)
                                     : snprintf(out + pos, size - pos, "%sa%d", separator, (int)a));
        }
}

/* --- modifiers ---------------------------------------------------------------------------------------------------- */

static int same(const int32_t *a, const int32_t *b, int32_t n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* Return how many actions of phrase i are matched: all, or the longest prefix that ends the hypothesis. */
static int32_t matched_length(const test_phrases *c, int32_t i, const int32_t *history, int32_t n)
{
    for (int32_t pos = 0; pos + c->length[i] <= n; pos++)
        if (same(history + pos, c->action[i], c->length[i])) return c->length[i];
    for (int32_t part = c->length[i] - 1; part > 0; part--)
        if (part <= n && same(history + n - part, c->action[i], part)) return part;
    return 0;
}

static int32_t matched_actions(const test_phrases *c, const int32_t *history, int32_t n)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < c->n; i++) sum += matched_length(c, i, history, n);
    return sum;
}

static void require_phrases(const test_phrases *c, const naive_hypothesis *parent, naive_modifiers *w)
{
    int32_t history[NAIVE_MAX_LENGTH + 1], all = 0;
    memcpy(history, parent->action, (size_t)parent->n * sizeof *history);
    for (int32_t i = 0; i < c->n; i++) all += c->length[i];
    history[parent->n] = -1; /* -1 stands for an action that no phrase contains */
    w->banks = all + 1;
    w->rest = matched_actions(c, history, parent->n + 1);
    if (w->rest == all) return;
    w->rule |= 1;
    for (int32_t a = 0; a < c->actions; a++) {
        history[parent->n] = a;
        const int32_t to = matched_actions(c, history, parent->n + 1);
        if (to != w->rest) w->bank[a] = to + 1;
    }
}

void test_phrases_score(void *user, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                        const naive_hypothesis *parent, naive_modifiers *w)
{
    const test_phrases *c = user;
    (void)item, (void)timestep, (void)phase, (void)rank;
    if (c->kind == TEST_REQUIRE) require_phrases(c, parent, w);
    if (c->kind == TEST_PREFIX && parent->n < c->length[0]) {
        w->restricted = 1;
        w->allow[c->action[0][parent->n]] = 1;
    }
    if (c->kind == TEST_ALLOW_SET) w->restricted = 1;
    if (c->kind == TEST_ALLOW_SET && c->end >= 0) w->allow[c->end] = 1;
    for (int32_t i = 0; i < c->n; i++) {
        const int32_t n_prefix = c->length[i] - 1;
        for (int32_t j = 0; j <= n_prefix && c->kind == TEST_ALLOW_SET; j++) w->allow[c->action[i][j]] = 1;
        if (c->kind == TEST_BAN_PHRASES && parent->n >= n_prefix &&
            same(parent->action + parent->n - n_prefix, c->action[i], n_prefix))
            w->ban[c->action[i][n_prefix]] = 1;
    }
}
