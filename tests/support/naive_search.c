/* See naive_search.h. Functions are numbered by the seven steps of "One timestep of one item, exactly" in docs/algorithms.md. Decisions
 * that those steps leave open:
 *   - an ended candidate's last log-probability is that of its terminal action;
 *   - length counts timesteps, without the end action; divisions use at least 1;
 *   - outputs at the stop: after `stop_after` outputs, no more; without live candidates, ended ones in rank order; at max_length, live
 *     ones end at no cost and all are output in rank order; after a heuristic's stop, ended ones, or else live ones;
 *   - steps 4 and 7 follow only the last phase of a timestep;
 *   - a phase without max_candidates has its default (k or 2k);
 *   - an action's float score adds log-probability, additions and reward in that order; sums are doubles. */
#include "support/naive_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct list {
    naive_hypothesis *items;
    int32_t n, capacity;
} list;

typedef struct search {
    const naive_problem *p;
    list beam;
    naive_output *output;
    int32_t n_outputs, output_capacity, orders;
    double best_output;
    int stop;      /* 1: a heuristic has stopped the item */
    int top_ended; /* 1: in some timestep so far the best candidate was an ended one */
    /* For at_limit 4. ended: candidates ended in this timestep; dropped: the best ended one that left the beam without an output;
     * best_ended: the best ended candidate before any output. */
    list ended;
    naive_output dropped, best_ended;
    int has_dropped, has_best_ended;
    int64_t serials;
    int32_t banks; /* number of constraint banks into which the beam is divided; 0: not divided */
    naive_result result;
} search;

static void push(list *l, const naive_hypothesis *h)
{
    if (l->n == l->capacity) {
        l->capacity = l->capacity * 2 + 8;
        l->items = realloc(l->items, (size_t)l->capacity * sizeof *l->items);
        if (l->items == NULL) abort();
    }
    l->items[l->n++] = *h;
}

/* Compare two candidates: the higher sum of scores first, then the lower parent rank, then the smaller action id. */
static int by_rank(const void *a, const void *b)
{
    const naive_hypothesis *x = a, *y = b;
    if (x->sum != y->sum) return x->sum > y->sum ? -1 : 1;
    if (x->parent_rank != y->parent_rank) return x->parent_rank < y->parent_rank ? -1 : 1;
    int32_t ax = x->n > 0 ? x->action[x->n - 1] : -1, ay = y->n > 0 ? y->action[y->n - 1] : -1;
    return (ax > ay) - (ax < ay);
}

static void sort_and_cut(list *l, int64_t max_n)
{
    if (l->n > 1) qsort(l->items, (size_t)l->n, sizeof *l->items, by_rank);
    if (l->n > max_n) l->n = max_n < 0 ? 0 : (int32_t)max_n;
}

/* Keep the best `max_n` children. Exempt children are kept in addition and do not count. */
static void cut_children(list *l, int64_t max_n)
{
    int32_t n = 0;
    sort_and_cut(l, l->n);
    for (int32_t i = 0; i < l->n; i++)
        if (l->items[i].exempt || max_n-- > 0) l->items[n++] = l->items[i];
    l->n = n;
}

/* --- step 1: expand ----------------------------------------------------------------------------------------------- */

static naive_hypothesis make_child(const naive_hypothesis *parent, int32_t rank, const naive_hypothesis *from,
                                   const naive_choice *c, const naive_modifiers *w, int last_phase)
{
    naive_hypothesis child = *parent;
    memcpy(child.state, from->state, sizeof child.state);
    child.state[child.n] = c->action;
    float score = c->logp;
    if (w->factor[c->action] != 0) score *= w->factor[c->action];
    score += w->add[c->action];
    score += c->kind == NAIVE_END ? w->end_reward : w->reward;
    child.action[child.n] = c->action;
    child.logp[child.n] = c->logp;
    child.score[child.n] = score;
    child.n++;
    child.sum += (double)score;
    child.parent_rank = rank;
    child.exempt = w->bank[c->action] > 0;
    child.bank = child.exempt ? w->bank[c->action] - 1 : w->rest;
    child.ended = c->kind != NAIVE_LIVE;
    child.by_end = c->kind == NAIVE_END;
    child.timesteps += last_phase && c->kind != NAIVE_END;
    return child;
}

static int is_taken(const list *taken, int32_t rank, int32_t action)
{
    for (int32_t i = 0; i < taken->n; i++)
        if (taken->items[i].parent_rank == rank && taken->items[i].action[taken->items[i].n - 1] == action) return 1;
    return 0;
}

/* Number the ended candidates in rank order, and append them to s->ended. */
static void note_ended(search *s, list *children)
{
    sort_and_cut(children, children->n);
    for (int32_t i = 0; i < children->n; i++) {
        if (!children->items[i].ended || children->items[i].serial > 0) continue;
        children->items[i].serial = ++s->serials;
        push(&s->ended, &children->items[i]);
    }
}

/* Return the best children of a parent, scored with the state and modifiers of `from`. taken: only these children, or NULL; noting:
 * receives all ended children before limits, or NULL. */
static list expand_parent(const naive_problem *p, const naive_hypothesis *parent, int32_t rank,
                          const naive_hypothesis *from, int32_t from_rank, const list *taken, search *noting,
                          int32_t timestep, int32_t phase, int32_t *banks)
{
    list children = {0};
    naive_choice legal[NAIVE_MAX_ACTIONS];
    naive_modifiers modifiers = naive_merge_modifiers(p, timestep, phase, from_rank, from);
    int32_t n = p->expand(p->user, from->state, from->n, legal);
    *banks = modifiers.banks;
    for (int32_t i = 0; i < n; i++) {
        if (naive_is_forbidden(&modifiers, &legal[i])) continue;
        if (taken != NULL && !is_taken(taken, rank, legal[i].action)) continue;
        naive_hypothesis child = make_child(parent, rank, from, &legal[i], &modifiers, phase == p->phases - 1);
        push(&children, &child);
    }
    if (noting != NULL) note_ended(noting, &children);
    if (modifiers.limit > 0 && !p->ignore_limits) cut_children(&children, modifiers.limit);
    return children;
}

/* --- steps 2 and 3: the best children of each parent, then of all parents ------------------------------------------- */

static int64_t merge_limit(const naive_problem *p)
{
    return p->immediate ? 2 * (int64_t)p->k : p->k;
}

static int32_t max_children(const naive_problem *p, int32_t phase)
{
    int applies = p->max_candidates_phases == 0 || (p->max_candidates_phases >> phase & 1);
    return p->max_candidates > 0 && applies ? p->max_candidates : (int32_t)merge_limit(p);
}

static int same_runs(const naive_problem *p, const naive_hypothesis *a, const naive_hypothesis *b)
{
    uint8_t x[NAIVE_MAX_ACTIONS] = {0}, y[NAIVE_MAX_ACTIONS] = {0};
    naive_ban_runs(p, a, x);
    naive_ban_runs(p, b, y);
    return memcmp(x, y, sizeof x) == 0;
}

/* Return the rank of the best live hypothesis that is equivalent, for cube pruning, to the hypothesis of rank `rank`. */
static int32_t representative(const search *s, int32_t rank)
{
    const naive_problem *p = s->p;
    const naive_hypothesis *h = &s->beam.items[rank];
    for (int32_t other = 0; other < rank && p->cube != 0; other++) {
        const naive_hypothesis *o = &s->beam.items[other];
        const int32_t a = h->n > 0 ? h->action[h->n - 1] : -1, b = o->n > 0 ? o->action[o->n - 1] : -1;
        if (!o->ended && same_runs(p, o, h) && (p->cube_key != NULL ? p->cube_key(a) == p->cube_key(b) : a == b))
            return other;
    }
    return rank;
}

/* Naive cube pruning: score `taken` again with the children's own parents, and drop illegal children. Ended ones are exact already. */
static void rescore(search *s, list *taken, int32_t timestep, int32_t phase)
{
    list exact = {0};
    for (int32_t rank = 0; rank < s->beam.n; rank++) {
        const naive_hypothesis *parent = &s->beam.items[rank];
        const int own = representative(s, rank) == rank;
        int any = 0;
        if (parent->ended) {
            naive_hypothesis same = *parent;
            same.parent_rank = rank;
            push(&exact, &same);
            continue;
        }
        for (int32_t i = 0; i < taken->n; i++) {
            if (taken->items[i].parent_rank != rank) continue;
            if (own) push(&exact, &taken->items[i]);
            any = 1;
        }
        if (own || !any) continue;
        int32_t banks;
        list children = expand_parent(s->p, parent, rank, parent, rank, taken, NULL, timestep, phase, &banks);
        for (int32_t i = 0; i < children.n; i++) push(&exact, &children.items[i]);
        s->result.rescored++;
        free(children.items);
    }
    free(taken->items);
    *taken = exact;
    sort_and_cut(taken, merge_limit(s->p));
}

static int32_t free_places(const search *s)
{
    const int32_t taken = s->p->immediate || s->p->one_step ? 0 : s->n_outputs;
    return taken < s->p->k ? s->p->k - taken : 0;
}

/* Divide the beam's k entries equally among constraint banks; the last gets the remainder. Unused entries pass one at a time to the bank
 * before, from the first to the last. */
static void divide_among_banks(list *all, int32_t banks, int64_t places)
{
    int32_t *want = calloc((size_t)banks, sizeof *want), *available = calloc((size_t)banks, sizeof *available), n = 0;
    if (want == NULL || available == NULL) abort();
    sort_and_cut(all, all->n);
    for (int32_t i = 0; i < all->n; i++) available[all->items[i].bank]++;
    for (int32_t b = 0; b < banks; b++) want[b] = (int32_t)(places / banks + (b == banks - 1 ? places % banks : 0));
    for (int moved = 1; moved;) { /* move surplus entries to the bank before, starting from the last bank */
        moved = 0;
        for (int32_t b = banks - 1; b >= 0; b--)
            while (want[b] > available[b]) {
                int32_t to = b > 0 ? b - 1 : banks - 1, n_open = 0;
                for (int32_t other = 0; other < banks; other++) n_open += want[other] < available[other];
                if (n_open == 0) break;
                want[b]--;
                want[to]++;
                moved = 1;
            }
    }
    for (int32_t i = 0; i < all->n; i++)
        if (want[all->items[i].bank]-- > 0) all->items[n++] = all->items[i];
    all->n = n;
    free(want);
    free(available);
}

/* Sampling: draw children at random: k in the first phase of the first timestep, later one per hypothesis. */
static void draw_children(const naive_problem *p, list *children, list *merged, int32_t timestep, int32_t phase,
                          int32_t rank)
{
    sort_and_cut(children, children->n);
    for (int32_t i = 0, next; i < (timestep == 0 && phase == 0 ? p->k : 1); i++) {
        next = naive_draw(p, children->items, children->n, timestep, phase, rank, i);
        if (next >= 0) push(merged, &children->items[next]);
    }
    free(children->items);
}

static int by_group_score(const void *a, const void *b)
{
    const naive_hypothesis *x = a, *y = b;
    if (x->group_score != y->group_score) return x->group_score > y->group_score ? -1 : 1;
    if (x->parent_rank != y->parent_rank) return x->parent_rank < y->parent_rank ? -1 : 1;
    return by_rank(a, b);
}

/* Diverse beam search: groups choose in turn, each among its own children; at first, among all children of the root. */
static void divide_among_groups(search *s, list *all, int first)
{
    const naive_problem *p = s->p;
    list chosen = {0};
    for (int32_t g = 0; g < p->groups; g++) {
        list own = {0};
        const int32_t n_before = chosen.n;
        int32_t places = p->k / p->groups;
        for (int32_t o = 0; o < s->n_outputs; o++) places -= s->output[o].hypothesis.group == g;
        for (int32_t i = 0; i < all->n; i++) {
            naive_hypothesis h = all->items[i];
            int32_t times = 0;
            if (!first && h.group != g) continue;
            for (int32_t c = 0; c < n_before; c++) times += chosen.items[c].action[h.n - 1] == h.action[h.n - 1];
            h.group = g;
            h.group_score = h.sum - p->diversity * times;
            push(&own, &h);
        }
        if (own.n > 1) qsort(own.items, (size_t)own.n, sizeof *own.items, by_group_score);
        for (int32_t i = 0; i < own.n && i < places; i++) push(&chosen, &own.items[i]);
        free(own.items);
    }
    free(all->items);
    *all = chosen;
    sort_and_cut(all, all->n);
}

static void expand_and_merge(search *s, int32_t timestep, int32_t phase)
{
    const naive_problem *p = s->p;
    list merged = {0};
    s->banks = 0;
    for (int32_t rank = 0; rank < s->beam.n; rank++) {
        naive_hypothesis *parent = &s->beam.items[rank];
        if (parent->ended) { /* an ended hypothesis has one child, itself, with log-probability 0 */
            naive_hypothesis same = *parent;
            same.parent_rank = rank;
            push(&merged, &same);
            continue;
        }
        int32_t banks;
        const int32_t from = representative(s, rank);
        s->result.classes += from == rank;
        list children = expand_parent(p, parent, rank, &s->beam.items[from], from, NULL,
                                      p->at_limit == 4 && p->cube != 1 ? s : NULL, timestep, phase, &banks);
        if (banks > 0) s->banks = banks;
        if (p->sample > 0) {
            draw_children(p, &children, &merged, timestep, phase, rank);
            continue;
        }
        cut_children(&children, max_children(p, phase));
        for (int32_t i = 0; i < children.n; i++) push(&merged, &children.items[i]);
        free(children.items);
    }
    for (int32_t i = 0; i < merged.n; i++)
        if (merged.items[i].ended && merged.items[i].bank == 0) merged.items[i].bank = s->banks - 1;
    if (p->groups > 1)
        divide_among_groups(s, &merged, timestep == 0 && phase == 0);
    else if (s->banks > 0)
        divide_among_banks(&merged, s->banks, free_places(s));
    else
        sort_and_cut(&merged, merge_limit(p));
    if (p->cube == 1) rescore(s, &merged, timestep, phase);
    if (p->at_limit == 4 && p->cube == 1) note_ended(s, &merged);
    free(s->beam.items);
    s->beam = merged;
}

/* --- step 4: outputs ------------------------------------------------------------------------------------------------ */

static int32_t stop_count(const naive_problem *p)
{
    return p->stop_after > 0 ? p->stop_after : p->stop == 3 ? 1 : p->k;
}

static double normalised_score(const naive_problem *p, double sum, int32_t length)
{
    if (p->word_penalty != 0) sum -= p->word_penalty * length;
    return sum / pow(length > 0 ? length : 1, p->length_penalty);
}

static int by_output_score(const void *a, const void *b)
{
    const naive_output *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int counts_end_action(const naive_problem *p, const naive_hypothesis *h)
{
    return p->count_end && (h->truncated ? p->at_limit == 3 : h->by_end);
}

static void output(search *s, const naive_hypothesis *h)
{
    const naive_problem *p = s->p;
    if (p->require_end && h->truncated) return;
    naive_output new = {.hypothesis = *h, .order = s->orders++};
    for (int32_t i = 0; i < h->n; i++) new.logp += (double)h->logp[i];
    new.score = normalised_score(p, h->sum, h->timesteps + counts_end_action(p, h));
    if (h->sum > s->best_output) s->best_output = h->sum;
    if (p->keep == 1 && s->n_outputs >= stop_count(p)) return;
    if (s->n_outputs == s->output_capacity) {
        s->output_capacity = s->output_capacity * 2 + 4;
        s->output = realloc(s->output, (size_t)s->output_capacity * sizeof *s->output);
        if (s->output == NULL) abort();
    }
    s->output[s->n_outputs++] = new;
    if (p->keep != 2) return;
    qsort(s->output, (size_t)s->n_outputs, sizeof *s->output, by_output_score);
    if (s->n_outputs > stop_count(p)) s->n_outputs = stop_count(p);
}

static void output_top(search *s)
{
    int32_t run = 0;
    while (run < s->beam.n && s->beam.items[run].ended) output(s, &s->beam.items[run++]);
    list rest = {0};
    for (int32_t i = run; i < s->beam.n; i++) push(&rest, &s->beam.items[i]);
    free(s->beam.items);
    s->beam = rest;
}

static int last_timestep(const naive_problem *p, int32_t timesteps)
{
    return timesteps >= p->max_length + (p->at_limit == 2);
}

static void output_immediately(search *s, int32_t timesteps)
{
    list live = {0};
    if (s->p->shrink) sort_and_cut(&s->beam, s->p->k - s->n_outputs);
    if (s->p->at_limit == 1 && last_timestep(s->p, timesteps)) sort_and_cut(&s->beam, s->p->k);
    for (int32_t i = 0; i < s->beam.n; i++) {
        if (s->beam.items[i].ended && i < s->p->k) output(s, &s->beam.items[i]);
        if (!s->beam.items[i].ended && live.n < s->p->k) push(&live, &s->beam.items[i]);
    }
    free(s->beam.items);
    s->beam = live;
}

/* --- at_limit 4 ----------------------------------------------------------------------------------------------------- */

static void keep_better(const search *s, naive_output *best, int *any, const naive_hypothesis *h)
{
    const double own_score = normalised_score(s->p, h->sum, h->timesteps + (s->p->count_end && h->by_end));
    if (*any && !(own_score > best->score) && !(own_score == best->score && h->serial < best->hypothesis.serial))
        return;
    *best = (naive_output){.hypothesis = *h, .score = own_score};
    *any = 1;
}

static int is_in_beam(const search *s, const naive_hypothesis *h)
{
    for (int32_t i = 0; i < s->beam.n; i++)
        if (s->beam.items[i].ended && s->beam.items[i].serial == h->serial) return 1;
    return 0;
}

/* Record the best ended candidate that is neither in the beam nor an output any more. */
static void note_dropped(search *s)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < s->ended.n; i++) {
        const naive_hypothesis h = s->ended.items[i];
        int output = 0;
        for (int32_t o = 0; o < s->n_outputs; o++) output |= s->output[o].hypothesis.serial == h.serial;
        if (is_in_beam(s, &h))
            s->ended.items[kept++] = h;
        else if (!output)
            keep_better(s, &s->dropped, &s->has_dropped, &h);
    }
    s->ended.n = kept;
}

/* --- step 5: heuristics --------------------------------------------------------------------------------------------- */

static void apply_threshold(const naive_heuristic *h, naive_beam *b)
{
    double best = b->best, local = -INFINITY;
    for (int32_t i = 0; i < b->n; i++) {
        double own = (double)b->candidate[i].logp[b->candidate[i].n - 1];
        if (own > local) local = own;
    }
    for (int32_t i = 0; i < b->n; i++) {
        const naive_hypothesis *c = &b->candidate[i];
        if (h->rule == NAIVE_ABSOLUTE && c->sum < best - h->value) b->keep[i] = 0;
        if (h->rule == NAIVE_RELATIVE && c->sum < best + log(h->value)) b->keep[i] = 0;
        if (h->rule == NAIVE_RELATIVE_LOCAL && (double)c->logp[c->n - 1] < local + log(h->value)) b->keep[i] = 0;
    }
}

/* Apply a heuristic. best: s_1, the best score among outputs and candidates after step 4, before any heuristic. */
static void apply_heuristic(search *s, const naive_heuristic *h, double best, int32_t timestep, int32_t phase)
{
    uint8_t *keep = malloc((size_t)s->beam.n + 1);
    if (keep == NULL) abort();
    memset(keep, 1, (size_t)s->beam.n + 1);
    naive_beam b = {.item = s->p->item,
                    .k = s->p->k,
                    .timestep = timestep,
                    .phase = phase,
                    .outputs = s->n_outputs,
                    .best_output = s->best_output,
                    .best = best,
                    .n = s->beam.n,
                    .candidate = s->beam.items,
                    .keep = keep,
                    .width = INT32_MAX};
    if (h->rule == NAIVE_CUSTOM)
        h->apply(h->user, &b);
    else
        apply_threshold(h, &b);
    int32_t kept = 0;
    /* With constraint banks, candidates are not compared with each other, so none is dropped. */
    for (int32_t i = 0; i < s->beam.n; i++) kept += keep[i] = s->banks > 0 || (keep[i] && kept < b.width);
    for (int32_t i = 0; i < s->beam.n && kept < s->p->min_width - s->n_outputs; i++) {
        kept += !keep[i];
        keep[i] = 1;
    }
    kept = 0;
    for (int32_t i = 0; i < s->beam.n; i++)
        if (keep[i]) s->beam.items[kept++] = s->beam.items[i];
    s->beam.n = kept;
    s->stop |= b.stop;
    free(keep);
}

/* --- step 6: trim --------------------------------------------------------------------------------------------------- */

static void trim(search *s)
{
    if (s->beam.n > free_places(s)) s->beam.n = free_places(s);
}

/* --- step 7: stop --------------------------------------------------------------------------------------------------- */

static void output_ended(search *s)
{
    for (int32_t i = 0; i < s->beam.n; i++)
        if (s->beam.items[i].ended) output(s, &s->beam.items[i]);
}

static void end_live(search *s)
{
    for (int32_t i = 0; i < s->beam.n; i++)
        if (!s->beam.items[i].ended) s->beam.items[i].ended = s->beam.items[i].truncated = 1;
}

static int any_live(const search *s)
{
    for (int32_t i = 0; i < s->beam.n; i++)
        if (!s->beam.items[i].ended) return 1;
    return 0;
}

static int has_enough(const search *s, int32_t timesteps)
{
    const naive_problem *p = s->p;
    if (s->n_outputs < stop_count(p)) return 0;
    if (p->stop == 0) return 1;
    if (p->stop == 3) return s->top_ended;
    int32_t length = timesteps;
    if (p->stop == 2 && p->length_penalty > 0) length = p->max_length + (p->at_limit == 2 || p->at_limit == 3);
    for (int32_t i = 0; i < s->beam.n; i++)
        if (!s->beam.items[i].ended)
            return !(normalised_score(p, s->beam.items[i].sum, length) > s->output[stop_count(p) - 1].score);
    return 1;
}

/* If there is no output, and no ended candidate in the beam, output the best dropped one. Returns 1 if there was one. */
static int output_dropped(search *s)
{
    if (s->n_outputs > 0 || !s->has_dropped) return 0;
    for (int32_t i = 0; i < s->beam.n; i++)
        if (s->beam.items[i].ended) return 0;
    output(s, &s->dropped.hypothesis);
    return 1;
}

static int should_stop(search *s, int32_t timesteps)
{
    int over = last_timestep(s->p, timesteps);
    if (!(over && s->p->at_limit == 1) && has_enough(s, timesteps)) return 1;
    if ((!any_live(s) || over || s->stop) && output_dropped(s)) return 1;
    if (!any_live(s)) {
        output_ended(s);
        return 1;
    }
    if (over) {
        end_live(s);
        output_ended(s);
        return 1;
    }
    if (!s->stop) return 0;
    output_ended(s);
    if (s->n_outputs == 0) {
        end_live(s);
        output_ended(s);
    }
    return 1;
}

/* --- the search ----------------------------------------------------------------------------------------------------- */

static void run_phase(search *s, int32_t timestep, int32_t phase)
{
    const int32_t first_ended = s->ended.n, outputs = s->n_outputs;
    expand_and_merge(s, timestep, phase);
    for (int32_t i = first_ended; i < s->ended.n && outputs == 0; i++)
        keep_better(s, &s->best_ended, &s->has_best_ended, &s->ended.items[i]);
    if (phase == s->p->phases - 1) {
        s->top_ended |= s->beam.n > 0 && s->beam.items[0].ended;
        if (s->p->immediate || s->p->shrink || s->p->one_step)
            output_immediately(s, timestep + 1);
        else
            output_top(s);
    }
    double best = s->best_output;
    if (s->beam.n > 0 && s->beam.items[0].sum > best) best = s->beam.items[0].sum;
    const int32_t merged = s->beam.n;
    for (int32_t h = 0; h < s->p->n_heuristics; h++) apply_heuristic(s, &s->p->heuristic[h], best, timestep, phase);
    s->result.candidates += merged;
    s->result.pruned += merged - s->beam.n;
    s->result.width[timestep].merged = merged;
    trim(s);
    note_dropped(s);
}

/* --- states ----------------------------------------------------------------------------------------------------------- */

/* Count the states that this timestep needs. In each phase but the first, the beam is assumed to be full, with k states. */
static void count_states(search *s)
{
    int64_t states = naive_count_states(s->p, s->beam.items, s->beam.n, s->output, s->n_outputs,
                                        s->has_best_ended ? &s->best_ended : NULL) +
                     (int64_t)(s->p->phases - 1) * s->p->k;
    for (int32_t i = 0; i < s->beam.n; i++) states += !s->beam.items[i].ended;
    if (states > s->result.states) s->result.states = states;
}

static void begin_timestep(search *s, int32_t timestep)
{
    naive_width *width = realloc(s->result.width, ((size_t)timestep + 1) * sizeof *width);
    if (width == NULL) abort();
    s->result.width = width;
    width[timestep] = (naive_width){0};
    for (int32_t i = 0; i < s->beam.n; i++) width[timestep].live += !s->beam.items[i].ended;
    s->result.expansions += width[timestep].live;
}

naive_result naive_search(const naive_problem *problem)
{
    search s = {.p = problem, .best_output = -INFINITY};
    naive_hypothesis empty = {0};
    push(&s.beam, &empty);
    int32_t timestep = 0, done = 0;
    while (!done) {
        begin_timestep(&s, timestep);
        count_states(&s);
        for (int32_t phase = 0; phase < problem->phases; phase++) run_phase(&s, timestep, phase);
        done = should_stop(&s, ++timestep);
        s.result.width[timestep - 1].kept = done ? 0 : s.beam.n;
    }
    free(s.beam.items);
    free(s.ended.items);
    for (int32_t i = 0; i < s.n_outputs; i++) s.result.truncated += s.output[i].hypothesis.truncated;
    if (s.n_outputs > 1) qsort(s.output, (size_t)s.n_outputs, sizeof *s.output, by_output_score);
    s.result.output = s.output;
    s.result.n = s.n_outputs;
    s.result.timesteps = timestep;
    return s.result;
}

void naive_result_free(naive_result *result)
{
    free(result->output);
    free(result->width);
    *result = (naive_result){0};
}

/* --- enumeration ------------------------------------------------------------------------------------------------------ */

static void enumerate_from(const naive_problem *p, const naive_hypothesis *h, naive_hypothesis *best, int *found)
{
    if (h->ended) {
        if (!*found || h->sum > best->sum) *best = *h;
        *found = 1;
        return;
    }
    int32_t timestep = h->n / p->phases, phase = h->n % p->phases, banks;
    list children = expand_parent(p, h, 0, h, 0, NULL, NULL, timestep, phase, &banks);
    for (int32_t i = 0; i < children.n; i++) {
        naive_hypothesis *child = &children.items[i];
        if (child->timesteps >= p->max_length && phase == p->phases - 1 && !child->ended)
            child->ended = child->truncated = 1;
        enumerate_from(p, child, best, found);
    }
    free(children.items);
}

static int64_t count_above(const naive_problem *p, const naive_hypothesis *h, double bound)
{
    if (h->ended) {
        if (h->truncated && p->require_end) return 0;
        return normalised_score(p, h->sum, h->timesteps + counts_end_action(p, h)) > bound;
    }
    int32_t timestep = h->n / p->phases, phase = h->n % p->phases, banks;
    int64_t n = 0;
    list children = expand_parent(p, h, 0, h, 0, NULL, NULL, timestep, phase, &banks);
    for (int32_t i = 0; i < children.n; i++) {
        naive_hypothesis *child = &children.items[i];
        if (phase == p->phases - 1 && !child->ended && last_timestep(p, timestep + 1))
            child->ended = child->truncated = 1;
        n += count_above(p, child, bound);
    }
    free(children.items);
    return n;
}

int64_t naive_count_above(const naive_problem *problem, double bound)
{
    naive_problem without_limits = *problem;
    naive_hypothesis empty = {0};
    without_limits.ignore_limits = 1;
    return count_above(&without_limits, &empty, bound);
}

int naive_enumerate(const naive_problem *problem, naive_hypothesis *best)
{
    naive_hypothesis empty = {0};
    int found = 0;
    enumerate_from(problem, &empty, best, &found);
    return found;
}
