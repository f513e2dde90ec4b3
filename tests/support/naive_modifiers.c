/* The naive search's modifiers of a hypothesis's children, and sampling among them. */
#include <math.h>
#include <string.h>

#include "support/naive_search.h"

/* --- modifiers ---------------------------------------------------------------------------------------------------- */

/* Whether the n actions of the hypothesis before position `end` equal the n actions before position `other`. */
static int same_run(const naive_hypothesis *h, int32_t end, int32_t other, int32_t n)
{
    return end >= n && other >= n &&
           memcmp(h->action + end - n, h->action + other - n, (size_t)n * sizeof *h->action) == 0;
}

/* Ban actions that would repeat an n-gram, and penalise actions that the hypothesis contains already. */
static void ban_repeats(const naive_problem *p, const naive_hypothesis *h, naive_modifiers *all)
{
    const int32_t n = p->no_repeat_ngram;
    uint8_t used[NAIVE_MAX_ACTIONS] = {0};
    for (int32_t i = 0; i < h->n; i++) {
        used[h->action[i]] = 1;
        if (n > 0 && same_run(h, i, h->n, n - 1)) all->ban[h->action[i]] = 1;
    }
    for (int32_t a = 0; a < p->actions && p->repetition_penalty > 0; a++)
        if (used[a]) all->factor[a] = (float)p->repetition_penalty;
}

void naive_ban_runs(const naive_problem *p, const naive_hypothesis *h, uint8_t ban[NAIVE_MAX_ACTIONS])
{
    for (int32_t i = 0; i < p->n_forbidden; i++) {
        const int32_t *run = p->forbidden[i].action, n_prefix = p->forbidden[i].n - 1;
        if (h->n >= n_prefix && memcmp(h->action + h->n - n_prefix, run, (size_t)n_prefix * sizeof *run) == 0)
            ban[run[n_prefix]] = 1;
    }
}

/* Merge the scorers' modifiers. End rules are or-ed: forbidden (1) and required (2) leave no action (3). A minimum length bans only the
 * end action (4). */
naive_modifiers naive_merge_modifiers(const naive_problem *p, int32_t timestep, int32_t phase, int32_t rank,
                                      const naive_hypothesis *parent)
{
    naive_modifiers all = {0};
    if (timestep < p->min_length) all.rule = 4;
    if (p->at_limit == 2 && timestep >= p->max_length && phase == p->phases - 1) all.rule = 2;
    for (int32_t s = 0; s < p->n_scorers; s++) {
        naive_modifiers one = {0};
        p->scorer[s].score(p->scorer[s].user, p->item, timestep, phase, rank, parent, &one);
        for (int32_t a = 0; a < p->actions; a++) {
            all.add[a] += one.add[a];
            all.ban[a] |= one.ban[a];
            all.allow[a] = one.restricted && all.restricted ? one.allow[a] && all.allow[a]
                           : one.restricted                 ? one.allow[a]
                                                            : all.allow[a];
        }
        all.restricted |= one.restricted;
        all.rule |= one.rule;
        all.reward += one.reward;
        all.end_reward += one.end_reward;
        if (one.banks > 0) {
            all.banks = one.banks;
            all.rest = one.rest;
            memcpy(all.bank, one.bank, sizeof all.bank);
        }
        if (one.limit > 0 && (all.limit == 0 || one.limit < all.limit)) all.limit = one.limit;
    }
    ban_repeats(p, parent, &all);
    naive_ban_runs(p, parent, all.ban);
    if (isinf(p->unknown_penalty))
        all.ban[p->unknown] = 1;
    else if (p->unknown_penalty != 0)
        all.add[p->unknown] += -(float)p->unknown_penalty;
    return all;
}

int naive_is_forbidden(const naive_modifiers *w, const naive_choice *c)
{
    if ((w->rule & 1) && c->kind != NAIVE_LIVE) return 1;
    if ((w->rule & 2) && c->kind == NAIVE_LIVE) return 1;
    if ((w->rule & 4) && c->kind == NAIVE_END) return 1;
    return w->ban[c->action] || (w->restricted && !w->allow[c->action]);
}

/* --- draws -------------------------------------------------------------------------------------------------------- */

/* Return the next output of splitmix64 (Steele, Lea and Flood) in this state. */
static uint64_t splitmix(uint64_t state)
{
    uint64_t z = state + UINT64_C(11400714819323198485);
    z = (z ^ (z >> 30)) * UINT64_C(13787848793156543929);
    z = (z ^ (z >> 27)) * UINT64_C(10723151780598845931);
    return z ^ (z >> 31);
}

int32_t naive_draw(const naive_problem *p, const naive_hypothesis *child, int32_t n, int32_t timestep, int32_t phase,
                   int32_t rank, int32_t draw)
{
    const uint64_t parts[] = {(uint64_t)p->seed, (uint64_t)p->item, (uint64_t)timestep * 4294967296u + (uint64_t)phase,
                              (uint64_t)rank * 4294967296u + (uint64_t)draw};
    double part[NAIVE_MAX_ACTIONS], all = 0, kept = 0;
    uint64_t x = 0;
    int32_t chosen = 0;
    if (n > p->top_k) n = p->top_k;
    for (int32_t i = 0; i < n; i++) {
        const double best = (double)child[0].score[child[0].n - 1], own = (double)child[i].score[child[i].n - 1];
        part[i] = exp((own - best) / p->temperature);
        all += part[i];
    }
    while (chosen < n && (chosen == 0 || kept < p->top_p * all)) kept += part[chosen++];
    for (int i = 0; i < 4; i++) x = splitmix(x ^ parts[i]);
    double rest = ldexp((double)(x >> 11), -53) * kept;
    for (int32_t i = 0; i < chosen; i++) {
        rest -= part[i];
        if (rest < 0) return i;
    }
    return chosen - 1; /* -1: there is no child to draw */
}
