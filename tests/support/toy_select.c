/* See toy_select.h. Nothing here is shared with the engine, and nothing is clever. */
#include "support/toy_select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dice.h"

/* --- the slow reading --------------------------------------------------------------------------------------------- */

static int listed(const int32_t *offset, const int32_t *action, int32_t row, int32_t wanted)
{
    for (int32_t i = offset[row]; i < offset[row + 1]; i++)
        if (action[i] == wanted) return 1;
    return 0;
}

static int permitted(const rill_ask *ask, int32_t row, const toy_choice *c)
{
    int rule = ask->end_rule != NULL ? ask->end_rule[row] : RILL_END_ALLOWED;
    if ((rule & RILL_END_FORBIDDEN) && c->terminal != RILL_LIVE) return 0;
    if ((rule & RILL_END_REQUIRED) && c->terminal == RILL_LIVE) return 0;
    if ((rule & RILL_END_NOT_YET) && c->terminal == RILL_END) return 0;
    if (ask->ban_offset != NULL && listed(ask->ban_offset, ask->ban_action, row, c->action)) return 0;
    if (ask->allow_offset != NULL && ask->allow_offset[row] < ask->allow_offset[row + 1] &&
        !listed(ask->allow_offset, ask->allow_action, row, c->action))
        return 0;
    return 1;
}

static float scored(const rill_ask *ask, int32_t row, const toy_choice *c)
{
    float score = c->logp;
    if (ask->add_offset != NULL)
        for (int32_t i = ask->add_offset[row]; i < ask->add_offset[row + 1]; i++)
            if (ask->add_action[i] == c->action) score += ask->add_score[i];
    if (c->terminal == RILL_END && ask->end_reward != NULL) score += ask->end_reward[row];
    if (c->terminal != RILL_END && ask->reward != NULL) score += ask->reward[row];
    return score;
}

void toy_select_slowly(const rill_ask *ask, int32_t row, int32_t n, const toy_choice *choices, rill_choices *out)
{
    float score[TOY_MOST_ACTIONS];
    int taken[TOY_MOST_ACTIONS] = {0};
    for (int32_t i = 0; i < n; i++) score[i] = scored(ask, row, &choices[i]);
    int32_t count = 0;
    while (count < ask->max_choices) {
        int32_t best = -1;
        for (int32_t i = 0; i < n; i++) {
            if (taken[i] || !permitted(ask, row, &choices[i])) continue;
            if (best < 0 || score[i] > score[best] ||
                (score[i] == score[best] && choices[i].action < choices[best].action))
                best = i;
        }
        if (best < 0) break;
        taken[best] = 1;
        int64_t at = (int64_t)row * out->stride + count++;
        out->action[at] = choices[best].action;
        out->logp[at] = choices[best].logp;
        out->score[at] = score[best];
        out->terminal[at] = (uint8_t)choices[best].terminal;
    }
    out->count[row] = count;
}

/* --- through the engine's helper ---------------------------------------------------------------------------------- */

typedef struct row_of_choices {
    int32_t n;
    const toy_choice *choices;
} row_of_choices;

static float look_up(void *user, int32_t row, int32_t action)
{
    (void)row;
    const row_of_choices *all = user;
    for (int32_t i = 0; i < all->n; i++)
        if (all->choices[i].action == action) return all->choices[i].logp;
    return (float)RILL_SCORE_DEAD;
}

static rill_terminal kind_of(void *user, int32_t row, int32_t action)
{
    (void)row;
    const row_of_choices *all = user;
    for (int32_t i = 0; i < all->n; i++)
        if (all->choices[i].action == action) return all->choices[i].terminal;
    return RILL_LIVE;
}

static int best_first(const void *a, const void *b)
{
    const toy_choice *x = a, *y = b;
    if (x->logp != y->logp) return x->logp > y->logp ? -1 : 1;
    return (x->action > y->action) - (x->action < y->action);
}

void toy_select_by_rill(const rill_ask *ask, int32_t row, int32_t n, const toy_choice *choices, const toy_model *model,
                        uint64_t state, rill_choices *out)
{
    toy_choice sorted[TOY_MOST_ACTIONS];
    int32_t action[TOY_MOST_ACTIONS];
    float logp[TOY_MOST_ACTIONS];
    memcpy(sorted, choices, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, best_first);
    for (int32_t i = 0; i < n; i++) action[i] = sorted[i].action, logp[i] = sorted[i].logp;
    row_of_choices all = {n, choices};
    int use_kinds = model->last || state % 4 == 0;
    int64_t enough = (int64_t)ask->max_choices + ask->extra;
    rill_raw raw = {.n = n, .action = action, .logp = logp, .end_action = toy_end_action(model), .user = &all};
    if (use_kinds) raw.terminal = kind_of;
    /* The whole row with or without a way to look up, or no more of it than was asked for. */
    if (!use_kinds && state % 3 != 0 && enough < n) raw.n = (int32_t)enough;
    if (raw.n < n || state % 3 == 1) raw.lookup = look_up;
    rill_select(ask, row, &raw, out);
}

int toy_select_differs(int32_t row, const rill_choices *a, const rill_choices *b, char *message, size_t size)
{
    if (a->count[row] != b->count[row]) {
        snprintf(message, size, "row %d: %d choices, rill_select gives %d", (int)row, (int)a->count[row],
                 (int)b->count[row]);
        return 1;
    }
    for (int32_t i = 0; i < a->count[row]; i++) {
        int64_t x = (int64_t)row * a->stride + i, y = (int64_t)row * b->stride + i;
        if (a->action[x] == b->action[y] && a->logp[x] == b->logp[y] && a->score[x] == b->score[y] &&
            a->terminal[x] == b->terminal[y])
            continue;
        snprintf(message, size, "row %d choice %d: action %d score %.9g kind %d, rill_select gives %d %.9g %d",
                 (int)row, (int)i, (int)a->action[x], a->score[x], a->terminal[x], (int)b->action[y], b->score[y],
                 b->terminal[y]);
        return 1;
    }
    return 0;
}
