/* See toy_select.h. This code is simple and shares nothing with the engine. */
#include "support/toy_select.h"

#include <stdio.h>
#include <string.h>

#include "support/dice.h"

static int choice_ranks_before(const toy_choice *a, const toy_choice *b)
{
    return a->logp > b->logp || (a->logp == b->logp && a->action < b->action);
}

static int permitted(const rill_score_request *request, int32_t row, int32_t action)
{
    if (request->legal == NULL || request->legal_set[row] < 0) return 1;
    uint64_t word = request->legal[(size_t)request->legal_set[row] * request->legal_words + (size_t)action / 64];
    return (word & (uint64_t)1 << action % 64) != 0;
}

/* Return the best choice that ranks after `prev`; NULL: there is none. prev NULL: return the best of all. */
static const toy_choice *next_best(const rill_score_request *request, int32_t row, int32_t n, const toy_choice *choices,
                                   const toy_choice *prev)
{
    const toy_choice *best = NULL;
    for (int32_t i = 0; i < n; i++) {
        const toy_choice *c = &choices[i];
        if (!permitted(request, row, c->action) || (prev != NULL && !choice_ranks_before(prev, c))) continue;
        if (best == NULL || choice_ranks_before(c, best)) best = c;
    }
    return best;
}

void toy_answer_slowly(const rill_score_request *request, int32_t row, int32_t n, const toy_choice *choices,
                       rill_row_ends ends, rill_score_result *out)
{
    enum { NOT_TO_BE_READ = 77 };
    const toy_choice *best = NULL;
    int32_t count = 0, max_n = request->row_max_choices != NULL ? request->row_max_choices[row] : request->max_choices;
    out->ends[row] = (uint8_t)ends;
    while (count < max_n && (best = next_best(request, row, n, choices, best)) != NULL) {
        int64_t offset = (int64_t)row * out->stride + count++;
        out->action[offset] = best->action;
        out->logp[offset] = best->logp;
        out->terminal[offset] = (uint8_t)(ends == RILL_ENDS_BY_FLAG ? best->terminal : NOT_TO_BE_READ);
    }
    out->count[row] = count;
    for (int32_t q = 0; q < request->n_picks; q++) {
        if (request->pick_row[q] != row) continue;
        out->pick_logp[q] = (float)RILL_SCORE_DEAD;
        for (int32_t i = 0; i < n; i++)
            if (choices[i].action == request->pick_action[q]) out->pick_logp[q] = choices[i].logp;
    }
}

/* Add choices with score RILL_SCORE_DEAD for actions that the row lacks; returns the new number of choices. */
static int32_t add_dead(toy_choice *choices, int32_t n, uint64_t state)
{
    uint64_t used = 0;
    for (int32_t i = 0; i < n; i++) used |= (uint64_t)1 << choices[i].action;
    for (int32_t a = 0; a < TOY_MAX_ACTIONS && state % 3 == 0; a++)
        if (!(used >> a & 1)) choices[n++] = (toy_choice){a, (float)RILL_SCORE_DEAD, RILL_LIVE};
    return n;
}

void toy_answer_by_rill(const rill_score_request *request, int32_t row, int32_t n, const toy_choice *choices,
                        rill_row_ends ends, uint64_t state, rill_score_result *out)
{
    int32_t action[TOY_MAX_ACTIONS];
    float logp[TOY_MAX_ACTIONS];
    uint8_t terminal[TOY_MAX_ACTIONS];
    toy_choice order[TOY_MAX_ACTIONS];
    memcpy(order, choices, (size_t)n * sizeof *order);
    n = add_dead(order, n, state);
    for (int32_t i = n - 1; i > 0 && state % 5 != 0; i--) {
        int32_t j = (int32_t)(dice_mix(state, (uint64_t)i) % (uint64_t)(i + 1));
        toy_choice other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    for (int32_t i = 0; i < n; i++) {
        action[i] = order[i].action;
        logp[i] = order[i].logp;
        terminal[i] = (uint8_t)order[i].terminal;
    }
    if (ends != RILL_ENDS_BY_FLAG) out->ends[row] = (uint8_t)ends;
    rill_score_result_fill(request, row, n, action, logp, ends == RILL_ENDS_BY_FLAG ? terminal : NULL, out);
}

void toy_row_copy(const rill_score_request *request, int32_t row, const rill_score_result *out, toy_row *copy)
{
    int64_t offset = (int64_t)row * out->stride;
    *copy = (toy_row){.count = out->count[row], .ends = out->ends[row]};
    for (int32_t i = 0; i < copy->count; i++) {
        copy->action[i] = out->action[offset + i];
        copy->logp[i] = out->logp[offset + i];
        copy->terminal[i] = copy->ends == RILL_ENDS_BY_FLAG ? out->terminal[offset + i] : 0;
    }
    for (int32_t q = 0; q < request->n_picks; q++)
        if (request->pick_row[q] == row && copy->n_picks < TOY_MAX_PICKS)
            copy->pick_logp[copy->n_picks++] = out->pick_logp[q];
}

int toy_row_differs(const toy_row *a, const toy_row *b, char *message, size_t size)
{
    if (a->count != b->count || a->ends != b->ends) {
        snprintf(message, size, "%d choices of ends %d, rill_score_result_fill() gives %d of %d", (int)a->count,
                 a->ends, (int)b->count, b->ends);
        return 1;
    }
    for (int32_t i = 0; i < a->count; i++) {
        if (a->action[i] == b->action[i] && a->logp[i] == b->logp[i] && a->terminal[i] == b->terminal[i]) continue;
        snprintf(message, size, "choice %d: action %d %.9g kind %d, rill_score_result_fill() gives %d %.9g %d", (int)i,
                 (int)a->action[i], a->logp[i], a->terminal[i], (int)b->action[i], b->logp[i], b->terminal[i]);
        return 1;
    }
    for (int32_t q = 0; q < a->n_picks; q++) {
        if (a->pick_logp[q] == b->pick_logp[q]) continue;
        snprintf(message, size, "pick %d: %.9g, rill_score_result_fill() gives %.9g", (int)q, a->pick_logp[q],
                 b->pick_logp[q]);
        return 1;
    }
    return 0;
}
