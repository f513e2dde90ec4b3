/* Groups; groups.h.
 *
 * An item's k places are G groups' of k / G each. In each phase the groups choose one after the other, each among the children of its own
 * hypotheses; the empty hypothesis is everybody's. A choice counts for `diversity` less for each time that a group before has chosen the
 * same action here (Hamming diversity). That decides who is chosen and nothing else: scores stay the model's, and so does the order of
 * outputs. What has ended leaves its group's place empty.
 *
 * The best k choices of a row are enough: those before have chosen fewer than that, and whatever they left alone keeps its order. */
#include "groups.h"

#include <stdlib.h>

/* Children of the hypotheses of one group, behind what has been chosen, and the better ones first under what they lose. */
typedef struct choosing {
    timestep *t;
    const item *it;
    int32_t chosen; /* heads in front of these */
} choosing;

/* How often groups before have chosen the action. */
static int32_t times_chosen(const choosing *c, int32_t action)
{
    int32_t times = 0;
    for (int32_t i = 0; i < c->chosen; i++) times += c->t->heads[i].child.action == action;
    return times;
}

static int32_t places_of(const item *it, int32_t group)
{
    const rill_settings *s = it->settings;
    int32_t places = s->k / s->groups;
    for (int32_t i = 0; i < it->n_outputs; i++) places -= it->outputs[i].group == group;
    return places;
}

/* All children of the group, behind the chosen; `score` is what they are chosen by. Returns how many. */
static int32_t gather(choosing *c, int32_t group, int32_t first_row)
{
    merge_head *to = c->t->heads + c->chosen;
    const rill_settings *s = c->it->settings;
    int32_t n = 0;
    for (int32_t rank = 0; rank < c->it->width; rank++) { /* none has ended: that would have left */
        const int32_t row = first_row + rank;
        if (c->it->timestep + c->t->phase > 0 && c->it->beam[rank].group != group) continue;
        selector_choice child;
        for (int32_t i = 0; timestep_look(c->t, row, i, &child); i++) {
            to[n] = (merge_head){c->it->beam[rank].score + (double)child.score, child, rank, row, i, group};
            to[n++].score -= s->diversity * times_chosen(c, child.action);
        }
    }
    return n;
}

int32_t groups_choose(timestep *t, const item *it, int32_t *row)
{
    choosing c = {t, it, 0};
    for (int32_t group = 0; group < it->settings->groups; group++) {
        const int32_t n = gather(&c, group, *row), places = places_of(it, group);
        qsort(t->heads + c.chosen, (size_t)n, sizeof *t->heads, merge_in_rank_order);
        c.chosen += n < places ? n : places;
    }
    for (int32_t i = 0; i < c.chosen; i++) {
        merge_head *head = &t->heads[i];
        head->score = it->beam[head->rank].score + (double)head->child.score;
    }
    *row += it->width;
    qsort(t->heads, (size_t)c.chosen, sizeof *t->heads, merge_in_rank_order);
    return c.chosen;
}
