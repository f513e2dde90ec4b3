/* Merging: an item's children in rank order (steps 2 to 4 of "One timestep of one item, exactly").
 *
 * Each live entry's choices come sorted, so the best k of all are found with a heap of one head per entry: k pops, each
 * logarithmic in the beam's width, for any k. Heads are ordered by score, then by the parent's rank; within a parent the
 * domain's order settles equal scores by the smaller action. Together that is the rank order.
 *
 * Outputs leave while children are popped. "top": the leading run of ended ones. "immediate": ended ones among the first k
 * leave, later ones are dropped, live ones fill up to k. "shrink": as many are popped as there are places left, and ended
 * ones leave theirs empty.
 *
 * Where scorers divide an item's beam into banks, these choose first, and what they chose is taken from the list as it stands; and so is
 * what an item draws that samples, or the groups of a diverse beam choose.
 *
 * Divisions: the heap · taking a child · the pass. */
#include "banks.h"
#include "groups.h"
#include "rooms.h"
#include "sample.h"

/* --- the heap ----------------------------------------------------------------------------------------------------- */

/* The rank order: what differs in score, and what does not. Without a branch, since no one could foretell it. */
static inline int before(const merge_key *a, const merge_key *b)
{
    return a->score > b->score || (a->score >= b->score && a->rank < b->rank);
}

/* Put the key in its place under the empty place `at`. Behind the heap stands a key that is before none. */
static inline void sift_down(merge_key *heap, int32_t n, int32_t at, double score, int32_t rank)
{
    const merge_key moved = {score, rank};
    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        if (before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &moved)) break;
        heap[at].score = heap[child].score;
        heap[at].rank = heap[child].rank;
    }
    heap[at].score = score;
    heap[at].rank = rank;
}

/* The item at work and where its candidates go. */
typedef struct merge {
    rill_engine *e;
    timestep *t;
    item *it;
    const int32_t *rows; /* [width] of the item's entries; NULL: a row each, in order */
    merge_head *head;    /* the best */
    merge_key *heap;     /* of the heads, by their ranks */
    int32_t n_heap;
    int chosen;  /* there is no heap: behind the head stand all others that are taken, in rank order */
    int taken;   /* the head has been: it goes when the next one is wanted */
    int32_t to;  /* next candidate */
    int32_t i;   /* the item's index in the selection */
    int certify; /* what is given up is kept account of */
} merge;

/* The first row of the item's live entries. In cube pruning's company nobody counts rows; those of an item without it follow each other
 * nevertheless. */
static int32_t first_row(const merge *m, const int32_t *row)
{
    int32_t rank = 0;
    if (m->rows == NULL) return *row;
    if (m->it->width == 0) return 0;
    while (rank < m->it->width - 1 && m->rows[rank] == CUBE_NO_ROW) rank++;
    return m->rows[rank];
}

/* What chooses the item's candidates in place of their scores alone; NULL: nothing. */
static int32_t (*choice_of(const merge *m, int32_t first))(timestep *, const item *, int32_t *)
{
    if (m->it->settings->sample > 0) return sample_choose;
    if (m->it->settings->groups > 1) return groups_choose;
    if (m->it->settings->cube > RILL_CUBE_NONE) return NULL;
    return item_is_banked(m->t, m->it, first) ? banks_choose : NULL;
}

/* One head per entry that has a child. Without cube pruning `row` is the item's first row and is moved behind its last. */
static void make_heap(merge *m, int32_t *row)
{
    merge_key *heap = m->heap;
    int32_t n = 0;
    for (int32_t rank = 0; rank < m->it->width; rank++) {
        const beam_entry *entry = &m->it->beam[rank];
        merge_head *head = &m->t->heads[rank];
        double score = entry->score;
        int32_t r = -1;
        if (!entry->ended) {
            r = m->rows != NULL ? m->rows[rank] : (*row)++;
            if (m->certify && m->t->selector.rest[r] > RILL_SCORE_DEAD)
                certify_lost(m->it, entry->score + m->t->selector.rest[r]);
            if (r == CUBE_NO_ROW || !timestep_look(m->t, r, 0, &head->child)) continue;
            score += (double)head->child.score;
        } else {
            head->child = timestep_ended(entry);
        }
        head->score = score;
        head->rank = rank;
        head->row = r;
        head->next = head->bank = 0;
        heap[n++] = (merge_key){score, rank};
    }
    m->n_heap = n;
    heap[n] = (merge_key){RILL_SCORE_DEAD, INT32_MAX};
    for (int32_t i = n / 2 - 1; i >= 0; i--) sift_down(heap, n, i, heap[i].score, heap[i].rank);
    if (n > 0) m->head = &m->t->heads[heap[0].rank];
}

static void find_children(merge *m, int32_t *row)
{
    int32_t own = first_row(m, row);
    int32_t (*const choose)(timestep *, const item *, int32_t *) = choice_of(m, own);
    m->head = m->t->heads;
    m->heap = m->t->heap;
    m->taken = 0;
    m->chosen = choose != NULL;
    if (m->chosen)
        m->n_heap = choose(m->t, m->it, m->rows != NULL ? &own : row);
    else
        make_heap(m, row);
}

/* --- taking a child ----------------------------------------------------------------------------------------------- */

/* Replace the head by its parent's next child. */
static inline void advance(merge *m)
{
    merge_head *head = m->head;
    merge_key *heap = m->heap;
    m->taken = 0;
    if (m->chosen) {
        m->head++;
        m->n_heap--;
        return;
    }
    const int more = head->row >= 0 && timestep_look(m->t, head->row, ++head->next, &head->child);
    if (more) {
        head->score = m->it->beam[head->rank].score + (double)head->child.score;
        sift_down(heap, m->n_heap, 0, head->score, head->rank);
    } else {
        const merge_key last = heap[--m->n_heap];
        if (m->n_heap == 0) return;
        heap[m->n_heap] = (merge_key){RILL_SCORE_DEAD, INT32_MAX};
        sift_down(heap, m->n_heap, 0, last.score, last.rank);
    }
    m->head = &m->t->heads[heap[0].rank];
}

/* Whether there is a head that has not been taken. Behind the last that is wanted nobody looks. */
static int has_head(merge *m)
{
    if (m->taken) advance(m);
    return m->n_heap > 0;
}

/* Keep the output among the best, which are a heap, the last one first; returns the one that there is no place for any more, if there is
 * one. */
static int keep_best(item *it, const item_output *output, item_output *out)
{
    item_output *heap = it->outputs;
    int32_t at = it->n_outputs;
    if (at < it->settings->stop_after) {
        it->n_outputs++;
        for (; at > 0 && item_in_output_order(&heap[(at - 1) / 2], output) < 0; at = (at - 1) / 2)
            heap[at] = heap[(at - 1) / 2];
        heap[at] = *output;
        return 0;
    }
    *out = *output;
    if (item_in_output_order(output, heap) > 0) return 1;
    *out = heap[0];
    at = 0;
    for (int32_t child; (child = 2 * at + 1) < it->n_outputs; at = child) {
        if (child + 1 < it->n_outputs && item_in_output_order(&heap[child + 1], &heap[child]) > 0) child++;
        if (item_in_output_order(&heap[child], output) < 0) break;
        heap[at] = heap[child];
    }
    heap[at] = *output;
    return 1;
}

void engine_output(rill_engine *e, item *it, const item_output *made)
{
    item_output own = *made, gone = own;
    const item_output *output = &own;
    int dropped = 0;
    if (output->truncated && it->settings->require_end) {
        it->cut = 1;
        forest_release(&e->forest, &it->arena, output->history);
        return;
    }
    own.order = gone.order = it->outputs_made++;
    if (output->score > it->best_output) it->best_output = output->score;
    statistics_output(&e->statistics, output, 1);
    if (it->settings->keep == RILL_KEEP_BEST)
        dropped = keep_best(it, output, &gone);
    else if (it->settings->keep == RILL_KEEP_FIRST && it->n_outputs >= it->settings->stop_after)
        dropped = 1;
    else
        it->outputs[it->n_outputs++] = *output;
    if (!dropped) return;
    certify_dropped(it, gone.rank);
    statistics_output(&e->statistics, &gone, -1);
    forest_release(&e->forest, &it->arena, gone.history);
}

static int32_t length_of_head(const merge *m)
{
    const merge_head *head = m->head;
    return head->row < 0 ? m->it->beam[head->rank].length : m->it->timestep + (head->child.terminal != RILL_END);
}

/* The head has ended and is neither an output nor a candidate. */
static void drop_head(const merge *m)
{
    if (!m->certify) return;
    const item_output output = ending_output(m->it->settings, m->head->score, -1, length_of_head(m), 0,
                                             m->head->child.terminal == RILL_END);
    certify_dropped(m->it, output.rank);
}

/* Children that were not taken. What follows a head scores no more than that. */
static void give_up_heap(merge *m)
{
    if (!m->certify || !has_head(m)) return;
    merge_head *first = m->head;
    for (int32_t i = 0; i < m->n_heap; i++) {
        m->head = m->chosen ? first + i : &m->t->heads[m->heap[i].rank];
        if (m->head->row < 0)
            drop_head(m);
        else
            certify_lost(m->it, m->head->score);
    }
}

/* The head leaves for the outputs. An entry that waited in the beam hands its reference over. */
static void take_output(merge *m)
{
    rill_engine *e = m->e;
    const merge_head *head = m->head;
    const selector_choice *child = &head->child;
    beam_entry *entry = &m->it->beam[head->rank];
    int32_t history = entry->history;
    const int32_t length = length_of_head(m);
    if (head->row >= 0)
        history = forest_add(&e->forest, &m->it->arena, history, m->it->beam[entry->carrier].history, child->action,
                             child->logp, child->score, 0);
    else
        entry->history = -1;
    item_output output = ending_output(m->it->settings, head->score, history, length, 0, child->terminal == RILL_END);
    output.group = head->bank;
    tracing_output(&e->tracing, m->t, m->i, head->rank, child->action, head->score);
    engine_output(e, m->it, &output);
}

static void take_candidate(merge *m)
{
    candidates *c = &m->t->candidates;
    const merge_head *head = m->head;
    const selector_choice *child = &head->child;
    const int32_t to = m->to++;
    c->score[to] = head->score;
    c->parent_rank[to] = head->rank;
    c->group[to] = head->bank;
    c->history[to] = head->row < 0 ? m->it->beam[head->rank].history : -1;
    c->action[to] = child->action;
    c->action_logp[to] = child->logp;
    c->action_score[to] = child->score;
    c->terminal[to] = (uint8_t)child->terminal;
    c->ended[to] = child->terminal != RILL_LIVE;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

/* In every phase but the last the best children stay, ended or not. */
static ending_quota quota_of(const item *it, int last)
{
    if (last) return ending_of_children(it);
    return (ending_quota){.most = rill__merge_limit(it->settings), .live = INT32_MAX, .top = 1};
}

static void merge_children(merge *m, int last)
{
    const ending_quota quota = quota_of(m->it, last);
    int32_t live = 0, popped = 0;
    int leading = last; /* every child so far has ended, and may leave */
    for (; popped < quota.most && live < quota.live && has_head(m); popped++) {
        const int is_live = m->head->child.terminal == RILL_LIVE;
        leading &= !is_live;
        if (leading && popped == 0) m->it->top_ended = 1;
        if (is_live || (quota.top && !leading))
            take_candidate(m);
        else if (quota.top || popped < quota.leaving)
            take_output(m);
        else
            drop_head(m);
        live += is_live;
        m->taken = 1;
    }
}

rill_status engine_reserve_children(rill_engine *e, timestep *t)
{
    enum { FIRST_OUTPUTS = 24 };
    const int32_t stride = t->selector.choices.stride;
    children_size need = {.items = (size_t)t->n};
    for (int32_t i = 0; i < t->n; i++) {
        item *it = &e->items.at[t->selected[i]];
        int64_t most = (int64_t)it->live * stride + (it->width - it->live), limit = rill__merge_limit(it->settings);
        /* The first row is drawn from as often, or chosen from by each group, who have its choices in a heap. */
        const int32_t groups = it->settings->groups;
        const int64_t places = it->settings->sample > 0 || groups > 1 ? it->settings->k : 0;
        const int64_t chosen = groups > 1 ? places + stride : places;
        need.entries += (size_t)it->width;
        if ((size_t)it->width > need.widest) need.widest = (size_t)it->width;
        if ((size_t)chosen > need.widest) need.widest = (size_t)chosen;
        if (groups > 1 && (size_t)places > need.places) need.places = (size_t)places;
        if (it->settings->sample > 0) need.drawn = (size_t)stride;
        if (places > most) most = places;
        if (t->rules.banks != NULL && (size_t)most > need.widest) need.widest = (size_t)most;
        if (most > limit) most = limit;
        need.candidates += (size_t)most;
        /* Twice: what leaves now, and what is output when the item stops in this timestep; or what was kept for that. */
        const size_t outputs = (size_t)(it->n_outputs + 2 * most + 1);
        if (outputs > it->outputs_capacity) /* some more than now, while beams still widen */
            RILL__TRY(RILL__GROW(e->ctx, it->outputs, it->outputs_capacity, outputs + FIRST_OUTPUTS, "outputs"));
    }
    RILL__TRY(timestep_reserve_children(t, &need));
    return forest_reserve_histories(&e->forest, (int64_t)need.candidates + t->n, t->n);
}

/* What heuristics are told of item i, whose candidates end at `end`. */
static void describe_item(candidates *c, int32_t i, const item *it, int32_t end, int chosen)
{
    c->item_id[i] = it->id;
    c->instances[i] = it->instances;
    c->k[i] = it->settings->k;
    c->timestep[i] = it->timestep;
    c->outputs[i] = it->n_outputs;
    /* Candidates of different banks are not compared, so heuristics, which do, leave all of them. */
    c->least[i] = chosen ? INT32_MAX : it->settings->min_width - it->n_outputs;
    c->best_output[i] = c->best[i] = it->best_output;
    if (c->offset[i] < end && c->score[c->offset[i]] > c->best[i]) c->best[i] = c->score[c->offset[i]];
    c->stop[i] = it->stop_asked; /* in an earlier phase */
}

/* The item of index i; entries of those before it are `base`. */
static void begin_item(merge *m, int32_t i, int32_t base)
{
    m->i = i;
    m->it = &m->e->items.at[m->t->selected[i]];
    m->rows = m->t->cube.on ? m->t->cube.row + base : NULL;
    m->chosen = 0;
}

void engine_take_cells(rill_engine *e, timestep *t)
{
    merge m = {.e = e, .t = t};
    for (int32_t i = 0, base = 0; i < t->n; i++) {
        begin_item(&m, i, base);
        base += m.it->width;
        if (m.it->settings->cube != RILL_CUBE_NAIVE) continue;
        find_children(&m, NULL);
        for (int32_t most = rill__merge_limit(m.it->settings); most > 0 && has_head(&m); most--) {
            t->cube.taken[base - m.it->width + m.head->rank]++;
            m.taken = 1;
        }
    }
}

static void merge_item(merge *m, int32_t *row, int last)
{
    if (last) best_ended_look(m->e, m->t, m->it, m->rows, *row);
    find_children(m, row);
    merge_children(m, last);
    give_up_heap(m);
}

void engine_merge(rill_engine *e, timestep *t, int last)
{
    merge m = {.e = e, .t = t, .certify = e->settings.certify};
    int32_t row = 0, base = 0;
    t->candidates.n = t->n;
    for (int32_t i = 0; i < t->n; i++) {
        begin_item(&m, i, base);
        if (i + 1 < t->n) __builtin_prefetch(e->items.at[t->selected[i + 1]].beam);
        base += m.it->width;
        t->candidates.offset[i] = m.to;
        if (m.it->exact.on)
            row += exact_is_awake(m.it, t) ? m.it->live : 0;
        else
            merge_item(&m, &row, last);
        describe_item(&t->candidates, i, m.it, m.to, m.chosen);
    }
    t->candidates.offset[t->n] = m.to;
    e->statistics.all.candidates += m.to;
}
