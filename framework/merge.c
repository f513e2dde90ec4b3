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
 * Where scorers divide an item's beam into banks, these choose first, and what they chose is taken from the list as it stands.
 *
 * Divisions: the heap · taking a child · the pass. */
#include "banks.h"
#include "rooms.h"

/* --- the heap ----------------------------------------------------------------------------------------------------- */

static inline int before(const merge_head *a, const merge_head *b)
{
    return a->score > b->score || (a->score == b->score && a->rank < b->rank);
}

static void sift_down(merge_head *heap, int32_t n, int32_t at)
{
    merge_head moved = heap[at];
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &moved)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* --- taking a child ----------------------------------------------------------------------------------------------- */

/* The item at work and where its candidates go. */
typedef struct merge {
    rill_engine *e;
    timestep *t;
    const choice_table *c;
    item *it;
    merge_head *heap;
    int32_t n_heap;
    int banked; /* the heap is a list of all that is taken, in rank order */
    int32_t to; /* next candidate */
} merge;

/* One head per entry that has a child; `row` is the item's first row and is moved behind its last. */
static void make_heap(merge *m, int32_t *row)
{
    const choice_table *c = m->c;
    m->heap = m->t->heap;
    m->n_heap = 0;
    m->banked = item_is_banked(m->t, m->it, *row);
    if (m->banked) {
        m->n_heap = banks_choose(m->t, m->it, row);
        return;
    }
    for (int32_t rank = 0; rank < m->it->width; rank++) {
        const beam_entry *entry = &m->it->beam[rank];
        if (entry->ended) {
            m->heap[m->n_heap++] = (merge_head){entry->score, rank, -1, 0, 0};
            continue;
        }
        int32_t r = (*row)++;
        if (!selector_look(&m->t->selector, r, 0)) continue;
        double score = entry->score + (double)c->score[(int64_t)r * c->stride];
        m->heap[m->n_heap++] = (merge_head){score, rank, r, 0, 0};
    }
    for (int32_t i = m->n_heap / 2 - 1; i >= 0; i--) sift_down(m->heap, m->n_heap, i);
}

/* Replace the head by its parent's next child. */
static void advance(merge *m)
{
    merge_head *head = &m->heap[0];
    const choice_table *c = m->c;
    if (m->banked) {
        m->heap++;
        m->n_heap--;
        return;
    }
    if (head->row >= 0 && selector_look(&m->t->selector, head->row, ++head->next)) {
        int64_t choice = (int64_t)head->row * c->stride + head->next;
        head->score = m->it->beam[head->rank].score + (double)c->score[choice];
    } else {
        *head = m->heap[--m->n_heap];
    }
    if (m->n_heap > 1) sift_down(m->heap, m->n_heap, 0);
}

static rill_terminal head_terminal(const merge *m)
{
    const merge_head *head = &m->heap[0];
    if (head->row < 0) return (rill_terminal)m->it->beam[head->rank].ended;
    return (rill_terminal)m->c->terminal[(int64_t)head->row * m->c->stride + head->next];
}

/* Put the output in its place among the best, which are in order; returns the one that there is no place for any more, if
 * there is one. Ties keep the order in which they came. */
static int rank_in(item *it, const item_output *output, item_output *out)
{
    int32_t at = it->n_outputs;
    while (at > 0 && it->outputs[at - 1].rank < output->rank) at--;
    int full = it->n_outputs >= it->settings->stop_after;
    *out = full && at < it->n_outputs ? it->outputs[it->n_outputs - 1] : *output;
    if (full && at == it->n_outputs) return 1;
    for (int32_t i = full ? it->n_outputs - 1 : it->n_outputs; i > at; i--) it->outputs[i] = it->outputs[i - 1];
    it->outputs[at] = *output;
    it->n_outputs += !full;
    return full;
}

void engine_output(rill_engine *e, item *it, const item_output *output)
{
    item_output gone = *output;
    int dropped = 0;
    if (output->truncated && it->settings->require_end) {
        it->cut = 1;
        forest_release(&e->forest, &it->arena, output->history);
        return;
    }
    if (output->score > it->best_output) it->best_output = output->score;
    statistics_output(&e->statistics, output, 1);
    if (it->settings->keep == RILL_KEEP_BEST)
        dropped = rank_in(it, output, &gone);
    else if (it->settings->keep == RILL_KEEP_FIRST && it->n_outputs >= it->settings->stop_after)
        dropped = 1;
    else
        it->outputs[it->n_outputs++] = *output;
    if (!dropped) return;
    statistics_output(&e->statistics, &gone, -1);
    forest_release(&e->forest, &it->arena, gone.history);
}

/* The head leaves for the outputs. An entry that waited in the beam hands its reference over. */
static void take_output(merge *m, rill_terminal terminal)
{
    rill_engine *e = m->e;
    const merge_head *head = &m->heap[0];
    beam_entry *entry = &m->it->beam[head->rank];
    int32_t history = entry->history, length = entry->length;
    if (head->row >= 0) {
        int64_t choice = (int64_t)head->row * m->c->stride + head->next;
        history = forest_add(&e->forest, &m->it->arena, history, history, m->c->action[choice], m->c->logp[choice],
                             m->c->score[choice], 0);
        length = m->it->timestep + (terminal == RILL_LAST);
    } else {
        entry->history = -1;
    }
    item_output output = ending_output(m->it->settings, head->score, history, length, 0, terminal == RILL_END);
    engine_output(e, m->it, &output);
}

static void take_candidate(merge *m, rill_terminal terminal)
{
    candidates *c = &m->t->candidates;
    const merge_head *head = &m->heap[0];
    const beam_entry *entry = &m->it->beam[head->rank];
    int32_t to = m->to++;
    c->score[to] = head->score;
    c->parent_rank[to] = head->rank;
    if (head->row < 0) {
        c->history[to] = entry->history;
        c->action[to] = entry->action;
        c->action_logp[to] = entry->action_logp;
        c->action_score[to] = 0;
        c->terminal[to] = entry->ended;
        c->ended[to] = 1;
        return;
    }
    int64_t choice = (int64_t)head->row * m->c->stride + head->next;
    c->history[to] = -1;
    c->action[to] = m->c->action[choice];
    c->action_logp[to] = m->c->logp[choice];
    c->action_score[to] = m->c->score[choice];
    c->terminal[to] = (uint8_t)terminal;
    c->ended[to] = terminal != RILL_LIVE;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

/* Every phase but the last: the best children, ended or not. */
static void merge_all(merge *m)
{
    int32_t most = rill__merge_limit(m->it->settings);
    for (; most > 0 && m->n_heap > 0; most--) {
        take_candidate(m, head_terminal(m));
        advance(m);
    }
}

/* The last phase, in which outputs leave. */
static void merge_last(merge *m)
{
    const ending_quota quota = ending_of_children(m->it);
    int32_t live = 0;
    int leading = 1; /* every child so far has ended */
    for (int32_t popped = 0; popped < quota.most && live < quota.live && m->n_heap > 0; popped++) {
        rill_terminal terminal = head_terminal(m);
        leading = leading && terminal != RILL_LIVE;
        if (leading && popped == 0) m->it->top_ended = 1;
        if (terminal == RILL_LIVE || (quota.top && !leading))
            take_candidate(m, terminal);
        else if (quota.top || popped < quota.leaving)
            take_output(m, terminal);
        live += terminal == RILL_LIVE;
        advance(m);
    }
}

rill_status engine_reserve_children(rill_engine *e, timestep *t)
{
    const int32_t stride = t->selector.choices.stride;
    children_size need = {.items = (size_t)t->n};
    for (int32_t i = 0; i < t->n; i++) {
        item *it = &e->items.at[t->selected[i]];
        int64_t most = (int64_t)it->live * stride + (it->width - it->live), limit = rill__merge_limit(it->settings);
        if ((size_t)it->width > need.widest) need.widest = (size_t)it->width;
        if (t->rules.banks != NULL && (size_t)most > need.widest) need.widest = (size_t)most;
        if (most > limit) most = limit;
        need.candidates += (size_t)most;
        if ((size_t)most > need.widest_after) need.widest_after = (size_t)most;
        /* Twice: what leaves now, and what is output when the item stops in this timestep. */
        RILL__TRY(RILL__GROW(e->ctx, it->outputs, it->outputs_capacity, (size_t)(it->n_outputs + 2 * most), "outputs"));
    }
    RILL__TRY(timestep_reserve_children(t, &need));
    return forest_reserve_histories(&e->forest, (int64_t)need.candidates, t->n);
}

/* What heuristics are told of item i, whose candidates end at `end`. */
static void describe_item(candidates *c, int32_t i, const item *it, int32_t end, int banked)
{
    c->item_id[i] = it->id;
    c->instances[i] = it->instances;
    c->k[i] = it->settings->k;
    c->timestep[i] = it->timestep;
    c->outputs[i] = it->n_outputs;
    /* Candidates of different banks are not compared, so heuristics, which do, leave all of them. */
    c->least[i] = banked ? INT32_MAX : it->settings->min_width - it->n_outputs;
    c->best_output[i] = c->best[i] = it->best_output;
    if (c->offset[i] < end && c->score[c->offset[i]] > c->best[i]) c->best[i] = c->score[c->offset[i]];
    c->stop[i] = it->stop_asked; /* in an earlier phase */
}

void engine_merge(rill_engine *e, timestep *t, int last)
{
    merge m = {.e = e, .t = t, .c = &t->selector.choices};
    int32_t row = 0;
    t->candidates.n = t->n;
    for (int32_t i = 0; i < t->n; i++) {
        m.it = &e->items.at[t->selected[i]];
        t->candidates.offset[i] = m.to;
        make_heap(&m, &row);
        if (last)
            merge_last(&m);
        else
            merge_all(&m);
        describe_item(&t->candidates, i, m.it, m.to, m.banked);
    }
    t->candidates.offset[t->n] = m.to;
    e->statistics.all.candidates += m.to;
}
