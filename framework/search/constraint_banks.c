/* Divides an input's beam into constraint banks: dynamic beam allocation (Post and Vilar 2018).
 *
 * A candidate's bank is the number of lexical constraints that it meets. Each bank gets an equal part of the k entries. Entries
 * that a bank cannot fill go to the next lower bank, and from the lowest to the highest. */
#include <stdlib.h>

#include "engine_internal.h"

/* Return the constraint bank of the child that `action` makes of a hypothesis with these rules. */
static int32_t child_bank(const row_rules *rules, int32_t action)
{
    const int32_t i = rill__find_sorted(rules->kept.action, rules->kept.n, action);
    return i >= 0 ? (int32_t)rules->kept.value[i] : rules->default_bank;
}

/* Write all children of the input to t->heads, with their constraint banks; returns their number. row: the input's first row. */
static int32_t gather_children(timestep *t, const item *it, int32_t banks, int32_t row)
{
    int32_t n = 0;
    for (int32_t rank = 0; rank < it->width; rank++) {
        const beam_entry *entry = &it->beam[rank];
        if (entry->ended) {
            t->heads[n++] = (merge_head){entry->path_score, timestep_ended_choice(entry), rank, -1, 0, banks - 1};
            continue;
        }
        const int32_t r = row++;
        const row_rules rules = make_row_rules(&t->rounds[0].modifier_table, r);
        topk_choice c;
        for (int32_t i = 0; topk_next(&t->rounds[0].topk, r, i, &c); i++)
            t->heads[n++] = (merge_head){entry->path_score + (double)c.score, c, rank, r, i,
                                         child_bank(&rules, c.action)};
    }
    return n;
}

/* Divide `places` beam entries among constraint banks. found: [banks] number of candidates of each bank; share: [banks] out: number of
 * entries of each bank. */
static void divide_places(int32_t places, int32_t banks, const int32_t *found, int32_t *share)
{
    for (int32_t b = 0; b < banks; b++) share[b] = places / banks;
    share[banks - 1] += places % banks;
    for (int round = 0; round < 2; round++) {
        int32_t surplus = 0;
        for (int32_t b = banks - 1; b >= 0; b--) {
            share[b] += surplus;
            surplus = share[b] > found[b] ? share[b] - found[b] : 0;
            share[b] -= surplus;
        }
        share[banks - 1] += surplus;
    }
}

static int32_t choose_children(timestep *t, const item *it, int32_t row)
{
    if (it->n_live == 0 || it->settings->cube > RILL_CUBE_NONE) return VARIANT_BY_SCORE;
    const int32_t banks = t->rounds[0].modifier_table.n_banks[row];
    int32_t found[RILL_MAX_BANKS] = {0}, share[RILL_MAX_BANKS], kept = 0;
    if (banks == 0) return VARIANT_BY_SCORE;
    const int32_t n = gather_children(t, it, banks, row);
    for (int32_t i = 0; i < n; i++) found[t->heads[i].bank]++;
    divide_places(stop_beam_width(it, INT32_MAX), banks, found, share);
    qsort(t->heads, (size_t)n, sizeof *t->heads, merge_head_compare);
    for (int32_t i = 0; i < n; i++)
        if (share[t->heads[i].bank]-- > 0) t->heads[kept++] = t->heads[i];
    return kept;
}

static int has_modifiers(const modifier_table *rules)
{
    return rules->n_banks != NULL;
}

static void reserve(const item *it, int32_t stride, int64_t *n_children, children_size *need)
{
    (void)it;
    (void)stride;
    raise_size(&need->max_width, (size_t)*n_children);
}

const search_variant constraint_banks = {
    .name = "constraint banks", .has_modifiers = has_modifiers, .reserve = reserve, .choose_children = choose_children};
