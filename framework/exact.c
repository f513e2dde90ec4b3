/* Exact search; exact.h.
 *
 * Divisions: the frontier · outputs · children · the batch · beginning and ending. */
#include "exact.h"

#include <math.h>

#include "rooms.h"

enum {
    FIRST_CHOICES = 16, /* asked for of a row at first: more than most rows need, and few enough to cost little */
    MOST_BROAD = 1000   /* entries up to which the best go first: all the frontier holds states */
};

/* --- the frontier ------------------------------------------------------------------------------------------------- */

int exact_forget(exact_search *x)
{
    const int any = x->n > 0 || x->n_batch > 0;
    x->heaps = x->n = 0;
    x->n_batch = 0;
    return any;
}

void exact_finish(exact_search *x, rill_context *ctx)
{
    for (size_t h = 0; h < x->heaps_made; h++)
        rill_free(ctx, x->heap[h].entry, x->heap[h].capacity * sizeof *x->heap[h].entry);
    rill_free(ctx, x->heap, x->heaps_capacity * sizeof *x->heap);
    rill_free(ctx, x->batch, x->batch_capacity * sizeof *x->batch);
}

static int before(const exact_entry *a, const exact_entry *b)
{
    return a->bound > b->bound || (a->bound == b->bound && a->serial < b->serial);
}

static exact_entry pop(exact_search *x, exact_heap *h)
{
    const exact_entry top = h->entry[0], last = h->entry[--h->n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
        if (child + 1 < h->n && before(&h->entry[child + 1], &h->entry[child])) child++;
        if (!before(&h->entry[child], &last)) break;
        h->entry[at] = h->entry[child];
    }
    h->entry[at] = last;
    x->n--;
    return top;
}

/* The heap of that kind, with room for one more. */
static rill_status heap_of(rill_context *ctx, exact_search *x, const exact_kind *kind, exact_heap **out)
{
    size_t at = 0;
    while (at < x->heaps && memcmp(&x->heap[at].kind, kind, sizeof *kind) != 0) at++;
    if (at == x->heaps_made) {
        RILL__TRY(RILL__GROW(ctx, x->heap, x->heaps_capacity, at + 1, "a frontier"));
        x->heap[x->heaps_made++] = (exact_heap){0};
    }
    exact_heap *h = *out = &x->heap[at];
    if (at == x->heaps) {
        h->kind = *kind;
        h->n = 0;
        x->heaps++;
    }
    return RILL__GROW(ctx, h->entry, h->capacity, h->n + 1, "a frontier");
}

/* There is room. */
static void place(exact_heap *h, const exact_entry *entry)
{
    size_t at = h->n++;
    for (; at > 0 && before(entry, &h->entry[(at - 1) / 2]); at = (at - 1) / 2) h->entry[at] = h->entry[(at - 1) / 2];
    h->entry[at] = *entry;
}

static rill_status push(rill_context *ctx, exact_search *x, const exact_kind *kind, exact_entry entry)
{
    exact_heap *h;
    RILL__TRY(heap_of(ctx, x, kind, &h));
    entry.serial = x->made++;
    place(h, &entry);
    x->n++;
    return RILL_OK;
}

/* T: what ranks no higher need not be found. */
static double threshold(const item *it)
{
    const int32_t n = it->settings->n_best;
    return it->n_outputs >= n && !it->exact.cut ? it->outputs[n - 1].rank : RILL_SCORE_DEAD;
}

/* The highest rank of what lies behind a prefix of that score in the item's timestep. */
static double bound_of(const rill_engine *e, const item *it, double score)
{
    return certify_bound(&e->chain, it, score, e->info.phases);
}

/* Take an entry into the frontier, with the reference to its history, if it can lead above the threshold. */
static rill_status add_entry(rill_engine *e, item *it, const exact_kind *kind, const exact_entry *entry)
{
    rill_status status = RILL_OK;
    if (entry->bound > threshold(it)) {
        status = push(e->ctx, &it->exact, kind, *entry);
        if (status >= 0) return status;
    }
    certify_dropped(it, entry->bound);
    forest_release(&e->forest, &it->arena, entry->history);
    return status;
}

static int32_t first_choices(const rill_engine *e, const item *it)
{
    int32_t ask = it->settings->k > FIRST_CHOICES ? it->settings->k : FIRST_CHOICES;
    return ask < e->info.actions ? ask : e->info.actions;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

static int same_path(const forest *f, int32_t a, int32_t b)
{
    for (; a != b; a = f->h[a].parent, b = f->h[b].parent)
        if (a < 0 || b < 0 || f->h[a].action != f->h[b].action) return 0;
    return 1;
}

/* The beam search may have found it: then it has its place. */
static int is_there(const rill_engine *e, const item *it, int32_t parent, int32_t action)
{
    for (int32_t i = 0; i < it->n_outputs; i++) {
        const rill_history *h = &e->forest.h[it->outputs[i].history];
        if (h->action == action && same_path(&e->forest, h->parent, parent)) return 1;
    }
    return 0;
}

static void drop_output(rill_engine *e, item *it, const item_output *output)
{
    statistics_output(&e->statistics, output, -1);
    forest_release(&e->forest, &it->arena, output->history);
}

/* A child of history `parent` has ended: it is an output if it ranks above the threshold. */
static rill_status offer(rill_engine *e, item *it, int32_t parent, const selector_choice *c, item_output *output)
{
    if (!(output->rank > threshold(it))) {
        certify_dropped(it, output->rank);
        return RILL_OK;
    }
    if (is_there(e, it, parent, c->action)) return RILL_OK;
    RILL__TRY(RILL__GROW(e->ctx, it->outputs, it->outputs_capacity, (size_t)it->n_outputs + 1, "outputs"));
    RILL__TRY(forest_reserve_histories(&e->forest, 1, 1));
    output->history = forest_add(&e->forest, &it->arena, parent, parent, c->action, c->logp, c->score, 0);
    for (; it->exact.cut && it->n_outputs > 0; it->n_outputs--) drop_output(e, it, &it->outputs[it->n_outputs - 1]);
    it->exact.cut = 0;
    if (it->n_outputs == it->exact.most) drop_output(e, it, &it->outputs[--it->n_outputs]);
    output->order = it->outputs_made++;
    int32_t at = it->n_outputs++;
    for (; at > 0 && it->outputs[at - 1].rank < output->rank; at--) it->outputs[at] = it->outputs[at - 1];
    it->outputs[at] = *output;
    statistics_output(&e->statistics, output, 1);
    return RILL_OK;
}

/* --- children ----------------------------------------------------------------------------------------------------- */

rill_status engine_exact_keep_rows(rill_engine *e, const timestep *t)
{
    const row_table *r = &t->rows;
    forest *f = &e->forest;
    if (!e->settings.exact) return RILL_OK;
    RILL__TRY(forest_reserve_histories(f, r->n, t->n));
    for (int32_t row = 0, rank = 0; row < r->n; row++, rank++) {
        item *it = &e->items.at[r->slot[row]];
        const rill_history h = f->h[r->history[row]];
        if (row > 0 && r->slot[row] != r->slot[row - 1]) rank = 0;
        if (it->exact.on)
            it->exact.batch[rank].history = forest_add(f, &it->arena, h.parent, h.internal[HISTORY_STATE_PARENT],
                                                       h.action, h.logp, h.score, 1);
    }
    return RILL_OK;
}

/* The row at work. */
typedef struct row_of {
    exact_entry *from;
    int32_t history, row;
} row_of;

static rill_status take_child(rill_engine *e, item *it, const row_of *at, const selector_choice *c, int last)
{
    const rill_settings *s = it->settings;
    const double score = at->from->score + (double)c->score;
    const int cut = c->terminal == RILL_LIVE && last && ending_last(it);
    if (cut && s->require_end) {
        it->cut = 1;
        return RILL_OK;
    }
    if (cut || c->terminal != RILL_LIVE) {
        const int end = cut ? s->at_limit == RILL_LIMIT_END_FREE : c->terminal == RILL_END;
        item_output output = ending_output(s, score, -1, it->timestep + (c->terminal != RILL_END), cut, end);
        return offer(e, it, at->history, c, &output);
    }
    const exact_kind kind = {it->timestep + last, last ? 0 : it->exact.kind.phase + 1, first_choices(e, it)};
    exact_entry child = {.bound = bound_of(e, it, score), .score = score};
    if (!(child.bound > threshold(it))) {
        certify_dropped(it, child.bound);
        return RILL_OK;
    }
    RILL__TRY(forest_reserve_histories(&e->forest, 1, 1));
    child.history = forest_add(&e->forest, &it->arena, at->history, at->history, c->action, c->logp, c->score, 1);
    return add_entry(e, it, &kind, &child);
}

/* What the row's answer lacks stays in the frontier, with the second history. */
static rill_status keep_rest(rill_engine *e, timestep *t, item *it, const row_of *at, int32_t seen)
{
    exact_entry rest = *at->from;
    exact_kind kind = it->exact.kind;
    double best = t->selector.rest[at->row];
    selector_choice next;
    if (timestep_look(t, at->row, seen, &next)) best = fmax(best, (double)next.score);
    rest.bound = best == RILL_SCORE_DEAD ? RILL_SCORE_DEAD : bound_of(e, it, rest.score + best);
    rest.seen = seen;
    kind.ask = kind.ask > e->info.actions / 2 ? e->info.actions : 2 * kind.ask;
    at->from->history = -1;
    return add_entry(e, it, &kind, &rest);
}

static rill_status take_row(rill_engine *e, timestep *t, item *it, const row_of *at, int last)
{
    int32_t i = 0;
    selector_choice c;
    for (; i < it->exact.kind.ask && timestep_look(t, at->row, i, &c); i++)
        if (i >= at->from->seen) RILL__TRY(take_child(e, it, at, &c, last));
    return keep_rest(e, t, it, at, i);
}

rill_status engine_exact_children(rill_engine *e, timestep *t, int last)
{
    const row_table *r = &t->rows;
    if (!e->settings.exact) return RILL_OK;
    for (int32_t row = 0, rank = 0; row < r->n; row++, rank++) {
        item *it = &e->items.at[r->slot[row]];
        if (row > 0 && r->slot[row] != r->slot[row - 1]) rank = 0;
        if (!it->exact.on) continue;
        it->exact.rows++;
        e->statistics.all.exact_rows++;
        RILL__TRY(take_row(e, t, it, &(row_of){&it->exact.batch[rank], r->history[row], row}, last));
    }
    return RILL_OK;
}

/* --- the batch ---------------------------------------------------------------------------------------------------- */

/* Leave out what the outputs found since have made needless. */
static void discard(rill_engine *e, item *it)
{
    exact_search *x = &it->exact;
    const double least = threshold(it);
    if (least == x->least) return;
    x->least = least;
    for (exact_heap *h = x->heap; h < x->heap + x->heaps; h++) {
        const size_t before = h->n;
        h->n = 0;
        for (size_t i = 0; i < before; i++) {
            const exact_entry entry = h->entry[i];
            if (entry.bound > least) {
                place(h, &entry); /* which moves none that is to be looked at */
                continue;
            }
            certify_dropped(it, entry.bound);
            forest_release(&e->forest, &it->arena, entry.history);
        }
        x->n -= before - h->n;
    }
}

static int is_deeper(const exact_kind *a, const exact_kind *b)
{
    return a->depth > b->depth || (a->depth == b->depth && a->phase > b->phase);
}

/* The heap that goes first, of those in `phase` where that is none below 0: whose top is best, or, where the deepest go first, the best of
 * these. NULL: nothing is left. */
static exact_heap *find_first(const exact_search *x, int32_t phase, int deepest)
{
    exact_heap *best = NULL;
    for (exact_heap *h = x->heap; h < x->heap + x->heaps; h++) {
        if (h->n == 0 || (phase >= 0 && h->kind.phase != phase)) continue;
        const int deeper = deepest && best != NULL && is_deeper(&h->kind, &best->kind),
                  less_deep = deepest && best != NULL && is_deeper(&best->kind, &h->kind);
        if (best == NULL || deeper || (!less_deep && before(&h->entry[0], &best->entry[0]))) best = h;
    }
    return best;
}

/* A large frontier is kept from growing by expanding those first that are nearest to their end. Of the bound on states all counts, not
 * the share of this of several workers, which would make the order depend on their number. */
static int is_large(const rill_engine *e, const exact_search *x)
{
    const size_t states = (size_t)e->bound.all_nodes / 4;
    return x->n > (states > 0 && states < MOST_BROAD ? states : MOST_BROAD);
}

/* Make a batch of the frontier the item's beam; of one phase where that is none below 0. Nothing is loaded where the rows are used up. */
static rill_status load(rill_engine *e, item *it, int32_t phase)
{
    exact_search *x = &it->exact;
    const int64_t left = it->settings->exact_rows - x->rows;
    const int32_t most = it->settings->k < left ? it->settings->k : (int32_t)left;
    exact_heap *from = find_first(x, phase, is_large(e, x));
    if (from == NULL || most <= 0) return RILL_OK;
    RILL__TRY(RILL__GROW(e->ctx, it->beam, it->beam_capacity, (size_t)most, "a beam"));
    RILL__TRY(RILL__GROW(e->ctx, x->batch, x->batch_capacity, (size_t)most, "a batch"));
    for (x->n_batch = 0; x->n_batch < most && from->n > 0;) x->batch[x->n_batch++] = pop(x, from);
    it->width = it->live = x->n_batch;
    it->timestep = from->kind.depth;
    x->kind = from->kind;
    for (int32_t i = 0; i < it->width; i++) {
        const int32_t history = x->batch[i].history;
        const rill_history *h = &e->forest.h[history];
        it->beam[i] = (beam_entry){.score = x->batch[i].score,
                                   .history = history,
                                   .action = h->action,
                                   .state_node = forest_node(&e->forest, h->internal[HISTORY_STATE_PARENT]),
                                   .action_logp = h->logp,
                                   .carrier = i};
        x->batch[i].history = -1;
    }
    return RILL_OK;
}

/* --- beginning and ending ----------------------------------------------------------------------------------------- */

/* Nothing more is searched: what is left may rank as high as its bounds say, and no higher than what the beam search gave up. */
static void end(item *it)
{
    exact_search *x = &it->exact;
    for (exact_heap *h = x->heap; h < x->heap + x->heaps; h++)
        if (h->n > 0) certify_dropped(it, h->entry[0].bound);
    if (x->first < it->abandoned) it->abandoned = x->first;
    if (x->cut) it->abandoned = INFINITY;
    it->timestep = x->reached;
    x->on = 0;
    x->over = 1;
}

rill_status engine_exact_commit(rill_engine *e, const timestep *t, int32_t slot, int last)
{
    item *it = &e->items.at[slot];
    if (it->width > 0 && !exact_is_awake(it, t)) return RILL_OK;
    engine_release_beam(e, it);
    it->width = it->live = 0;
    discard(e, it);
    RILL__TRY(load(e, it, last ? -1 : t->phase + 1));
    if (!last || it->width > 0) return RILL_OK;
    end(it);
    e->items.done[slot] = 1;
    return RILL_OK;
}

int engine_exact_give_up(rill_engine *e, item *it)
{
    exact_search *x = &it->exact;
    if (!x->on) return 0;
    for (int32_t i = 0; i < it->width; i++) certify_dropped(it, x->batch[i].bound);
    engine_release_beam(e, it);
    it->width = it->live = 0;
    end(it);
    return 1;
}

/* Outputs that a heuristic's wish cut short are no outputs of the model. */
static int was_cut(const item *it)
{
    return it->n_outputs > 0 && it->outputs[0].truncated &&
           it->timestep - (it->settings->at_limit == RILL_LIMIT_END) < it->max_length;
}

rill_status engine_exact_begin(rill_engine *e, int32_t slot)
{
    item *it = &e->items.at[slot];
    exact_search *x = &it->exact;
    if (!e->settings.exact || x->over || it->late || it->refused.length > 0) return RILL_OK;
    x->cut = (uint8_t)was_cut(it);
    if (threshold(it) >= it->abandoned && !x->cut) return RILL_OK;
    RILL__TRY(forest_reserve_histories(&e->forest, 1, 1));
    x->on = 1;
    x->rows = x->made = 0;
    x->least = threshold(it);
    x->first = it->abandoned;
    x->reached = it->timestep;
    x->most = it->n_outputs > it->settings->n_best ? it->n_outputs : it->settings->n_best;
    it->abandoned = RILL_SCORE_DEAD;
    const exact_entry root = {.bound = INFINITY,
                              .history = forest_add(&e->forest, &it->arena, -1, -1, RILL_ACTION_START, 0, 0, 1)};
    RILL__TRY(add_entry(e, it, &(exact_kind){.ask = first_choices(e, it)}, &root));
    RILL__TRY(load(e, it, -1));
    e->items.done[slot] = 0;
    return RILL_AGAIN;
}
