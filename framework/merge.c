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
 * Divisions: the heap · taking a child · the pass. */
#include "engine_private.h"

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
    item *it;
    merge_head *heap;
    int32_t n_heap;
    int32_t to; /* next candidate */
} merge;

/* One head per entry that has a child; `row` is the item's first row and is moved behind its last. */
static void make_heap(merge *m, int32_t *row)
{
    const choice_table *c = &m->e->selector.choices;
    m->n_heap = 0;
    for (int32_t rank = 0; rank < m->it->width; rank++) {
        const beam_entry *entry = &m->it->beam[rank];
        if (entry->ended) {
            m->heap[m->n_heap++] = (merge_head){entry->score, rank, -1, 0};
            continue;
        }
        int32_t r = (*row)++;
        if (c->count[r] == 0) continue;
        double score = entry->score + (double)c->score[(int64_t)r * c->stride];
        m->heap[m->n_heap++] = (merge_head){score, rank, r, 0};
    }
    for (int32_t i = m->n_heap / 2 - 1; i >= 0; i--) sift_down(m->heap, m->n_heap, i);
}

/* Replace the head by its parent's next child. */
static void advance(merge *m)
{
    merge_head *head = &m->heap[0];
    const choice_table *c = &m->e->selector.choices;
    if (head->row >= 0 && ++head->next < c->count[head->row]) {
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
    const choice_table *c = &m->e->selector.choices;
    return (rill_terminal)c->terminal[(int64_t)head->row * c->stride + head->next];
}

/* Count an output that comes, or takes back one that goes. */
static void count_output(rill_engine *e, const item_output *output, int change)
{
    e->stats.outputs += change;
    e->stats.truncated += output->truncated ? change : 0;
}

/* Put the output in its place among the best, which are in order; returns the one that there is no place for any more, if
 * there is one. Ties keep the order in which they came. */
static int rank_in(rill_engine *e, item *it, const item_output *output, item_output *out)
{
    double rank = engine_output_rank(e, output);
    int32_t at = it->n_outputs;
    while (at > 0 && engine_output_rank(e, &it->outputs[at - 1]) < rank) at--;
    int full = it->n_outputs >= e->settings.stop_after;
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
    if (output->score > it->best_output) it->best_output = output->score;
    count_output(e, output, 1);
    if (e->settings.keep == RILL_KEEP_BEST)
        dropped = rank_in(e, it, output, &gone);
    else if (e->settings.keep == RILL_KEEP_FIRST && it->n_outputs >= e->settings.stop_after)
        dropped = 1;
    else
        it->outputs[it->n_outputs++] = *output;
    if (!dropped) return;
    count_output(e, &gone, -1);
    forest_release(&e->forest, &it->arena, gone.history);
}

/* The head leaves for the outputs. An entry that waited in the beam hands its reference over. */
static void take_output(merge *m, rill_terminal terminal)
{
    rill_engine *e = m->e;
    const merge_head *head = &m->heap[0];
    beam_entry *entry = &m->it->beam[head->rank];
    item_output output = {head->score, entry->history, entry->length, 0, terminal == RILL_END};
    if (head->row >= 0) {
        const choice_table *c = &e->selector.choices;
        int64_t choice = (int64_t)head->row * c->stride + head->next;
        output.history = forest_add(&e->forest, &m->it->arena, entry->history, entry->history, c->action[choice],
                                    c->logp[choice], c->score[choice], 0);
        output.length = m->it->timestep + (terminal == RILL_LAST);
    } else {
        entry->history = -1;
    }
    engine_output(e, m->it, &output);
}

static void take_candidate(merge *m, rill_terminal terminal)
{
    rill_engine *e = m->e;
    candidates *c = &e->candidates;
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
    const choice_table *from = &e->selector.choices;
    int64_t choice = (int64_t)head->row * from->stride + head->next;
    c->history[to] = -1;
    c->action[to] = from->action[choice];
    c->action_logp[to] = from->logp[choice];
    c->action_score[to] = from->score[choice];
    c->terminal[to] = (uint8_t)terminal;
    c->ended[to] = terminal != RILL_LIVE;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

/* Finish "top", and every phase but the last: the best k; when outputs may leave, the leading ended ones do. */
static void merge_top(merge *m, int32_t most, int outputs_leave)
{
    int leading = outputs_leave;
    for (int32_t popped = 0; popped < most && m->n_heap > 0; popped++) {
        rill_terminal terminal = head_terminal(m);
        leading = leading && terminal != RILL_LIVE;
        if (leading && popped == 0) m->it->top_ended = 1;
        if (leading)
            take_output(m, terminal);
        else
            take_candidate(m, terminal);
        advance(m);
    }
}

/* Of the best `most` children ended ones among the first `leaving` leave, the others are dropped; live ones fill up to k. */
static void merge_at_once(merge *m, int32_t most, int32_t leaving)
{
    int32_t live = 0, k = m->e->settings.k;
    for (int32_t popped = 0; popped < most && live < k && m->n_heap > 0; popped++) {
        rill_terminal terminal = head_terminal(m);
        if (popped == 0 && terminal != RILL_LIVE) m->it->top_ended = 1;
        if (terminal == RILL_LIVE) {
            take_candidate(m, terminal);
            live++;
        } else if (popped < leaving) {
            take_output(m, terminal);
        }
        advance(m);
    }
}

/* The last phase, in which outputs leave. At the limit "first" no live candidate stands in for an ended one. */
static void merge_last(merge *m)
{
    const rill_settings *s = &m->e->settings;
    int32_t k = s->k, left = k > m->it->n_outputs ? k - m->it->n_outputs : 0;
    int no_more = s->at_limit == RILL_LIMIT_FIRST && engine_last_timestep(m->e, m->it);
    if (s->finish == RILL_FINISH_IMMEDIATE)
        merge_at_once(m, no_more ? k : 2 * k, k);
    else if (s->finish == RILL_FINISH_SHRINK)
        merge_at_once(m, left, left);
    else
        merge_top(m, k, 1);
}

/* Memory for everything the pass may make, so that it cannot fail half-way. */
static rill_status reserve(rill_engine *e, int32_t n)
{
    int64_t total = 0, widest = 0;
    int32_t stride = e->selector.choices.stride, limit = rill__merge_limit(&e->settings);
    for (int32_t i = 0; i < n; i++) {
        item *it = &e->items[e->selected[i]];
        int64_t most = (int64_t)it->live * stride + (it->width - it->live);
        if (most > limit) most = limit;
        total += most;
        if (it->width > widest) widest = it->width;
        /* Twice: what leaves now, and what is output when the item stops in this timestep. */
        RILL__TRY(RILL__GROW(e->ctx, it->outputs, it->outputs_capacity, (size_t)(it->n_outputs + 2 * most), "outputs"));
    }
    RILL__TRY(candidates_reserve(&e->candidates, n, total + 1));
    RILL__TRY(RILL__GROW(e->ctx, e->heap, e->heap_capacity, (size_t)widest, "merging"));
    return forest_reserve_histories(&e->forest, total, n);
}

/* What heuristics are told of item i, whose candidates end at `end`. */
static void describe_item(rill_engine *e, int32_t i, const item *it, int32_t end)
{
    candidates *c = &e->candidates;
    c->item_id[i] = it->id;
    c->k[i] = e->settings.k;
    c->timestep[i] = it->timestep;
    c->outputs[i] = it->n_outputs;
    c->best_output[i] = c->best[i] = it->best_output;
    if (c->offset[i] < end && c->score[c->offset[i]] > c->best[i]) c->best[i] = c->score[c->offset[i]];
    c->stop[i] = it->stop_asked; /* in an earlier phase */
}

rill_status engine_merge(rill_engine *e, int32_t n, int32_t last)
{
    RILL__TRY(reserve(e, n));
    candidates *c = &e->candidates;
    merge m = {.e = e, .heap = e->heap};
    int32_t row = 0;
    c->n = n;
    for (int32_t i = 0; i < n; i++) {
        m.it = &e->items[e->selected[i]];
        c->offset[i] = m.to;
        make_heap(&m, &row);
        if (last)
            merge_last(&m);
        else
            merge_top(&m, rill__merge_limit(&e->settings), 0);
        describe_item(e, i, m.it, m.to);
    }
    c->offset[n] = m.to;
    e->stats.candidates += m.to;
    return RILL_OK;
}
