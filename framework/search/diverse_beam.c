/* Diverse beam search (Vijayakumar et al. 2018): G groups share the beam's k entries, k / G each.
 *
 * The groups choose in turn. An action's score falls by `diversity` for each earlier group that chose it in this timestep; path scores
 * exclude this penalty. The best k choices per hypothesis suffice: earlier groups chose fewer than k actions. */
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

/* Ends the linked list of the ranks of a group's hypotheses (group_chooser.next_rank). */
enum { NO_RANK = -1 };

/* State while one input's groups choose. The heap of a group's children follows the chosen children in t->heads. */
typedef struct group_chooser {
    timestep *t;
    const item *it;
    int32_t n_chosen;        /* number of children chosen so far, which are at the start of t->heads */
    int32_t *places_left;    /* [groups] number of free beam entries of a group */
    int32_t *first_rank;     /* [groups] rank of the group's first hypothesis, or NO_RANK */
    int32_t *next_rank;      /* [width] rank of the next hypothesis in the same group, or NO_RANK */
    int32_t *action;         /* [2 k] hash table of the actions that groups have chosen; RILL_NO_ACTION: a free entry */
    int32_t *n_chosen_times; /* [2 k] number of times that each action of the hash table was chosen */
} group_chooser;

/* Return the counter of the action in the hash table, which is never full. */
static int32_t *count_of_action(const group_chooser *c, int32_t action)
{
    const uint32_t size = 2 * (uint32_t)c->it->settings->k, hash = (uint32_t)action * UINT32_C(2654435769);
    uint32_t index = (uint32_t)((uint64_t)hash * size >> 32);
    while (c->action[index] != action && c->action[index] != RILL_NO_ACTION) index = index + 1 < size ? index + 1 : 0;
    return &c->n_chosen_times[index];
}

static void count_choice(const group_chooser *c, int32_t action)
{
    int32_t *counter = count_of_action(c, action);
    c->action[counter - c->n_chosen_times] = action;
    ++*counter;
}

static double penalized_score(const group_chooser *c, int32_t rank, const topk_choice *child)
{
    return c->it->beam[rank].path_score + (double)child->score -
           c->it->settings->diversity * *count_of_action(c, child->action);
}

static void begin_choosing(group_chooser *c)
{
    const item *it = c->it;
    const int32_t k = it->settings->k, groups = it->settings->groups;
    c->places_left = c->t->scratch;
    c->first_rank = c->places_left + groups;
    c->next_rank = c->first_rank + groups;
    c->action = c->next_rank + k;
    c->n_chosen_times = c->action + 2 * (size_t)k;
    for (int32_t g = 0; g < groups; g++) {
        c->places_left[g] = k / groups;
        c->first_rank[g] = NO_RANK;
    }
    for (int32_t i = 0; i < it->n_outputs; i++) c->places_left[it->outputs[i].group]--;
    for (int32_t rank = it->width - 1; rank >= 0; rank--) {
        const int32_t group = it->beam[rank].group;
        c->next_rank[rank] = c->first_rank[group];
        c->first_rank[group] = rank;
    }
    for (int32_t i = 0; i < 2 * k; i++) c->action[i] = RILL_NO_ACTION;
    memset(c->n_chosen_times, 0, 2 * (size_t)k * sizeof *c->n_chosen_times);
}

/* --- heaps of children -------------------------------------------------------------------------------------------- */

/* Which child is at the top of a heap: argument `first` of the functions below. */
enum { BEST_FIRST = 1, WORST_FIRST = -1 };

/* Sift the child `head` down the heap from position `index`. `first`: BEST_FIRST or WORST_FIRST. */
static void sift_down(merge_head *heap, int32_t n, int32_t index, merge_head head, int first)
{
    for (int32_t child; (child = 2 * index + 1) < n; index = child) {
        if (child + 1 < n && first * merge_head_compare(&heap[child + 1], &heap[child]) < 0) child++;
        if (first * merge_head_compare(&heap[child], &head) > 0) break;
        heap[index] = heap[child];
    }
    heap[index] = head;
}

/* Sift the child `head` up the heap from position `index`. `first`: BEST_FIRST or WORST_FIRST. */
static void sift_up(merge_head *heap, int32_t index, merge_head head, int first)
{
    for (; index > 0 && first * merge_head_compare(&heap[(index - 1) / 2], &head) > 0; index = (index - 1) / 2)
        heap[index] = heap[(index - 1) / 2];
    heap[index] = head;
}

/* --- a group's own hypotheses ------------------------------------------------------------------------------------- */

/* Insert `head` into a heap of the best `places` children, whose top is the worst child. */
static void heap_offer(merge_head *heap, int32_t *n, int32_t places, const merge_head *head)
{
    if (*n < places)
        sift_up(heap, (*n)++, *head, WORST_FIRST);
    else if (merge_head_compare(head, heap) < 0)
        sift_down(heap, places, 0, *head, WORST_FIRST);
}

/* Append the group's best children to the chosen ones. Choices are sorted, so a row's reading ends at the first choice that cannot beat the
 * heap's worst child. */
static void choose_in_group(group_chooser *c, int32_t group, int32_t first_row)
{
    merge_head *heap = c->t->heads + c->n_chosen;
    const int32_t places = c->places_left[group];
    int32_t n = 0;
    /* all entries of the beam are live: with groups, ended hypotheses become outputs at once */
    for (int32_t rank = c->first_rank[group]; rank != NO_RANK && places > 0; rank = c->next_rank[rank]) {
        const int32_t row = first_row + rank;
        topk_choice child;
        for (int32_t i = 0; timestep_next_choice(c->t, row, i, &child); i++) {
            if (n == places && c->it->beam[rank].path_score + (double)child.score < heap[0].path_score) break;
            heap_offer(heap, &n, places, &(merge_head){penalized_score(c, rank, &child), child, rank, row, i, group});
        }
    }
    /* The choices are counted only now, so that those of one group do not penalise each other. */
    for (const int32_t end = c->n_chosen + n; c->n_chosen < end; c->n_chosen++)
        count_choice(c, c->t->heads[c->n_chosen].child.action);
}

/* --- the first timestep ------------------------------------------------------------------------------------------- */

/* Make a heap of all children of the empty hypothesis, whose choices are in `row`. Returns their number. */
static int32_t make_heap(const group_chooser *c, int32_t row, merge_head *heap)
{
    topk_choice child;
    int32_t n = 0;
    for (; timestep_next_choice(c->t, row, n, &child); n++)
        heap[n] = (merge_head){penalized_score(c, 0, &child), child, 0, row, n, 0};
    for (int32_t i = n / 2 - 1; i >= 0; i--) sift_down(heap, n, i, heap[i], BEST_FIRST);
    return n;
}

/* Let each group in turn choose among the children of the empty hypothesis. */
static void choose_from_root(group_chooser *c, int32_t row)
{
    const rill_settings *s = c->it->settings;
    merge_head *heap = c->t->heads + s->k;
    const int32_t n = make_heap(c, row, heap);
    for (int32_t group = 0; group < s->groups; group++) {
        const int32_t from = c->n_chosen;
        int32_t rest = n;
        for (; rest > 0 && c->n_chosen - from < c->places_left[group]; rest--) {
            const merge_head best = heap[0];
            sift_down(heap, rest - 1, 0, heap[rest - 1], BEST_FIRST);
            c->t->heads[c->n_chosen] = best;
            c->t->heads[c->n_chosen++].bank = group;
            count_choice(c, best.child.action);
        }
        for (int32_t i = from; i < c->n_chosen; i++) {
            merge_head back = c->t->heads[i];
            back.path_score = penalized_score(c, 0, &back.child);
            back.bank = 0;
            sift_up(heap, rest++, back, BEST_FIRST);
        }
    }
}

/* --- choosing in all groups --------------------------------------------------------------------------------------- */

static int32_t choose_children(timestep *t, const item *it, int32_t row)
{
    group_chooser c = {.t = t, .it = it};
    begin_choosing(&c);
    if (it->timestep + t->phase == 0)
        choose_from_root(&c, row);
    else
        for (int32_t group = 0; group < it->settings->groups; group++) choose_in_group(&c, group, row);
    for (int32_t i = 0; i < c.n_chosen; i++) {
        merge_head *head = &t->heads[i];
        head->path_score = it->beam[head->rank].path_score + (double)head->child.score;
    }
    qsort(t->heads, (size_t)c.n_chosen, sizeof *t->heads, merge_head_compare);
    return c.n_chosen;
}

/* In the first timestep a heap of all `stride` choices of the empty hypothesis follows the k chosen children. */
static void reserve(const item *it, int32_t stride, int64_t *n_children, children_size *need)
{
    /* number of group_chooser's integers per beam entry; there are at most as many groups as beam entries */
    enum { SCRATCH_PER_PLACE = 7 };
    const int32_t k = it->settings->k;
    if (*n_children < k) *n_children = k;
    raise_size(&need->max_width, (size_t)k + (size_t)stride);
    raise_size(&need->scratch, SCRATCH_PER_PLACE * (size_t)k * sizeof(int32_t));
}

const search_variant diverse_beam_search = {.name = "diverse beam search",
                                            .selected_by = {offsetof(rill_settings, groups), 2},
                                            .reserve = reserve,
                                            .choose_children = choose_children};
