/* Exact search; exact.h.
 *
 * Divisions: the frontier · outputs · children · the batch · beginning and ending. */
#include "exact.h"

#include <math.h>

#include "rooms.h"

enum { FIRST_CHOICES = 16 }; /* asked for of a row at first: more than most rows need, and few enough to cost little */

/* --- the frontier ------------------------------------------------------------------------------------------------- */

void exact_forget(exact_search *x, forest *f, forest_arena *arena)
{
    for (size_t i = 0; i < x->n; i++) forest_release(f, arena, x->entry[i].history);
    for (int32_t i = 0; i < x->n_batch; i++)
        if (x->batch[i].history >= 0) forest_release(f, arena, x->batch[i].history);
    x->n = 0;
    x->n_batch = 0;
}

void exact_finish(exact_search *x, rill_context *ctx)
{
    rill_free(ctx, x->entry, x->capacity * sizeof *x->entry);
    rill_free(ctx, x->batch, x->batch_capacity * sizeof *x->batch);
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
static rill_status add_entry(rill_engine *e, item *it, const exact_entry *entry)
{
    exact_search *x = &it->exact;
    rill_status status = RILL_OK;
    if (entry->bound > threshold(it)) status = RILL__GROW(e->ctx, x->entry, x->capacity, x->n + 1, "a frontier");
    if (status >= 0 && entry->bound > threshold(it)) {
        x->entry[x->n++] = *entry;
        return RILL_OK;
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
static rill_status offer(rill_engine *e, item *it, int32_t parent, const timestep_child *c, item_output *output)
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
    if (it->n_outputs == it->exact.most) {
        certify_dropped(it, it->outputs[--it->n_outputs].rank);
        drop_output(e, it, &it->outputs[it->n_outputs]);
    }
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
            it->exact.batch[rank].history = forest_add(
                f, &it->arena, h.parent, h.internal[HISTORY_STATE_PARENT], h.action, h.logp, h.score, 1);
    }
    return RILL_OK;
}

/* The row at work. */
typedef struct row_of {
    exact_entry *from;
    int32_t history, row;
} row_of;

static rill_status take_child(rill_engine *e, item *it, const row_of *at, const timestep_child *c, int last)
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
    exact_entry child = {.bound = bound_of(e, it, score),
                         .score = score,
                         .depth = it->timestep + last,
                         .phase = last ? 0 : at->from->phase + 1,
                         .ask = first_choices(e, it)};
    if (!(child.bound > threshold(it))) {
        certify_dropped(it, child.bound);
        return RILL_OK;
    }
    RILL__TRY(forest_reserve_histories(&e->forest, 1, 1));
    child.history = forest_add(&e->forest, &it->arena, at->history, at->history, c->action, c->logp, c->score, 1);
    return add_entry(e, it, &child);
}

/* What the row's answer lacks stays in the frontier, with the second history. */
static rill_status keep_rest(rill_engine *e, timestep *t, item *it, const row_of *at, int32_t seen)
{
    exact_entry rest = *at->from;
    double best = t->selector.rest[at->row];
    if (timestep_look(t, at->row, seen)) best = fmax(best, (double)timestep_choice(t, at->row, seen).score);
    rest.bound = best == RILL_SCORE_DEAD ? RILL_SCORE_DEAD : bound_of(e, it, rest.score + best);
    rest.seen = seen;
    rest.ask = rest.ask > e->info.actions / 2 ? e->info.actions : 2 * rest.ask;
    at->from->history = -1;
    return add_entry(e, it, &rest);
}

static rill_status take_row(rill_engine *e, timestep *t, item *it, const row_of *at, int last)
{
    int32_t i = 0;
    for (; i < at->from->ask && timestep_look(t, at->row, i); i++) {
        const timestep_child c = timestep_choice(t, at->row, i);
        if (i >= at->from->seen) RILL__TRY(take_child(e, it, at, &c, last));
    }
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
    size_t kept = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (x->entry[i].bound > least) {
            x->entry[kept++] = x->entry[i];
            continue;
        }
        certify_dropped(it, x->entry[i].bound);
        forest_release(&e->forest, &it->arena, x->entry[i].history);
    }
    x->n = kept;
}

/* Prefixes are expanded together that are of one length and are asked the same. */
static int is_of_batch(const exact_entry *a, const exact_entry *b)
{
    return a->depth == b->depth && a->phase == b->phase && a->ask == b->ask;
}

/* The entry that goes first, of those that are in `phase` where that is none below 0; x->n: there is none. */
static size_t find_first(const exact_search *x, int32_t phase, int deep)
{
    size_t best = x->n;
    for (size_t i = 0; i < x->n; i++) {
        const exact_entry *a = &x->entry[i], *b = &x->entry[best];
        if (phase >= 0 && a->phase != phase) continue;
        if (best < x->n && deep && (a->depth != b->depth || a->phase != b->phase)) {
            if (a->depth > b->depth || (a->depth == b->depth && a->phase > b->phase)) best = i;
        } else if (best == x->n || a->bound > b->bound) {
            best = i;
        }
    }
    return best;
}

/* Have the best `most` entries that go with the first, by bound and then by age, in the batch. Returns how many they are. */
static int32_t find_batch(exact_search *x, const exact_entry *first, int32_t most)
{
    int32_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        const exact_entry *entry = &x->entry[i];
        if (!is_of_batch(entry, first) || (n == most && !(entry->bound > x->batch[n - 1].bound))) continue;
        int32_t at = n < most ? n++ : n - 1;
        for (; at > 0 && x->batch[at - 1].bound < entry->bound; at--) x->batch[at] = x->batch[at - 1];
        x->batch[at] = *entry;
    }
    return n;
}

/* The batch leaves the frontier, which stays in order. */
static void take_batch(exact_search *x, int32_t n)
{
    const exact_entry last = x->batch[n - 1];
    size_t kept = 0;
    int32_t equal = 0;
    for (int32_t i = 0; i < n; i++) equal += x->batch[i].bound == last.bound;
    for (size_t i = 0; i < x->n; i++) {
        const exact_entry *entry = &x->entry[i];
        const int same = is_of_batch(entry, &last);
        if (same && (entry->bound > last.bound || (entry->bound == last.bound && equal-- > 0))) continue;
        x->entry[kept++] = *entry;
    }
    x->n = kept;
}

/* While states are short those that are nearest to their end go first. */
static int is_short(const rill_engine *e, const exact_search *x)
{
    return e->bound.all_nodes > 0 && x->n > (size_t)e->bound.all_nodes / 4;
}

/* Make a batch of the frontier the item's beam; of one phase where that is none below 0. Nothing is loaded where the rows are used up. */
static rill_status load(rill_engine *e, item *it, int32_t phase)
{
    exact_search *x = &it->exact;
    const int64_t left = it->settings->exact_rows - x->rows;
    const int32_t most = it->settings->k < left ? it->settings->k : (int32_t)left;
    const size_t at = find_first(x, phase, is_short(e, x));
    if (at == x->n || most <= 0) return RILL_OK;
    RILL__TRY(RILL__GROW(e->ctx, it->beam, it->beam_capacity, (size_t)most, "a beam"));
    RILL__TRY(RILL__GROW(e->ctx, x->batch, x->batch_capacity, (size_t)most, "a batch"));
    const exact_entry first = x->entry[at];
    it->width = it->live = x->n_batch = find_batch(x, &first, most);
    take_batch(x, it->width);
    it->timestep = first.depth;
    x->phase = first.phase;
    x->ask = first.ask;
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
static void end(rill_engine *e, item *it)
{
    exact_search *x = &it->exact;
    for (size_t i = 0; i < x->n; i++) certify_dropped(it, x->entry[i].bound);
    exact_forget(x, &e->forest, &it->arena);
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
    end(e, it);
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
    end(e, it);
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
    x->rows = 0;
    x->first = it->abandoned;
    x->reached = it->timestep;
    x->most = it->n_outputs > it->settings->n_best ? it->n_outputs : it->settings->n_best;
    it->abandoned = RILL_SCORE_DEAD;
    const exact_entry root = {.bound = INFINITY,
                              .history = forest_add(&e->forest, &it->arena, -1, -1, RILL_ACTION_START, 0, 0, 1),
                              .ask = first_choices(e, it)};
    RILL__TRY(add_entry(e, it, &root));
    RILL__TRY(load(e, it, -1));
    e->items.done[slot] = 0;
    return RILL_AGAIN;
}
