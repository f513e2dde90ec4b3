/* Exact search: continues after a beam search until the outputs are proven the model's best (certify.c).
 *
 * The frontier is the set of prefixes to expand, at first the root. U bounds the final score of a prefix's continuations; T is the final
 * score of the n_best-th output. Prefixes with U <= T are dropped. Each timestep expands the k prefixes of one length with the highest U.
 * An ended child above T becomes an output, other children enter the frontier. An empty frontier proves the outputs. A limit (exact_rows,
 * memory) may end the search earlier.
 *
 * An expansion uses only a prefix's best choices. A copy of the prefix, without state, stays in the frontier for the rest.
 *
 * Once the frontier is large the deepest prefixes go first, which bounds memory. Heuristics and scorers' limits do not apply.
 *
 * Sources: best-first search (Meister, Vieira and Cotterell 2020); a beam's output as first bound, and depth first (Stahlberg and Byrne
 * 2019). */
#include <math.h>

#include "engine_internal.h"

extern const search_variant exact;

enum {
    /* initial number of choices (next actions) per prefix: more than most prefixes need, and cheap */
    FIRST_CHOICES = 16,
    /* number of prefixes in the frontier up to which the search is best-first; each keeps a model state in memory */
    MAX_BEST_FIRST = 1000
};

/* A prefix in the frontier, the set of prefixes that are still to be expanded. */
typedef struct exact_entry {
    double bound; /* U: upper bound on the final score of the prefix's continuations */
    double path_score;
    int64_t serial; /* number of the entry, in order of creation */
    /* the prefix's hypothesis, whose state is not computed yet, so it keeps its parent's state alive */
    int32_t hyp;
    int32_t n_seen; /* number of the prefix's choices (next actions) that were already expanded */
} exact_entry;

/* Kind of frontier entries: a batch has entries of one kind. */
typedef struct exact_kind {
    int32_t depth, phase, n_choices; /* depth: length, in timesteps completed */
} exact_kind;

/* A heap of frontier entries of one kind: highest upper bound first, then in order of creation. */
typedef struct exact_heap {
    exact_kind kind;
    exact_entry *entry; /* [n] the heap's entries */
    size_t n, capacity;
} exact_heap;

struct exact_search {
    uint8_t done; /* 1: the search is complete or was stopped */
    /* 1: the input's outputs were truncated by a heuristic's stop, so any other output replaces them */
    uint8_t is_truncated;
    int32_t max_outputs;      /* maximum number of outputs kept */
    int32_t beam_timesteps;   /* number of timesteps of the beam search */
    double beam_bound;        /* item.abandoned_bound (B of certify.c) at the end of the beam search */
    double discard_threshold; /* threshold() when discard_below_threshold() ran last */
    int64_t n_rows;           /* number of prefixes expanded so far, counted again when expanded again */
    int64_t n_created;        /* number of frontier entries created so far */
    /* [n_heaps] the frontier, one heap per kind. Heaps beyond n_heaps keep their memory for reuse */
    exact_heap *heap;
    size_t n_heaps, n_heaps_allocated, heaps_capacity;
    size_t n_entries; /* number of entries in all heaps */
    exact_kind kind;  /* kind of the entries in `batch` */
    /* [n_batch] frontier entries that form the input's beam. hyp: a copy of the hypothesis while its choices are processed, else -1 */
    exact_entry *batch;
    size_t batch_capacity;
    int32_t n_batch;
};
typedef struct exact_search exact_search;

_Static_assert(sizeof(exact_entry) == EXACT_ENTRY_BYTES, "for cost_bound.c");

/* --- frontier (open set of A*) ------------------------------------------------------------------------------------ */

/* Empty the frontier and the batch; the input's arena frees their hypotheses. Returns 1 if there were any, else 0. */
static int clear(item *it)
{
    exact_search *x = it->exact;
    if (x == NULL) return 0;
    const int any = x->n_entries > 0 || x->n_batch > 0;
    x->n_heaps = x->n_entries = 0;
    x->n_batch = x->done = 0;
    return any;
}

static void free_item(rill_context *ctx, item *it)
{
    exact_search *x = it->exact;
    if (x == NULL) return;
    for (size_t h = 0; h < x->n_heaps_allocated; h++)
        rill_free(ctx, x->heap[h].entry, x->heap[h].capacity * sizeof *x->heap[h].entry);
    rill_free(ctx, x->heap, x->heaps_capacity * sizeof *x->heap);
    rill_free(ctx, x->batch, x->batch_capacity * sizeof *x->batch);
    rill_free(ctx, x, sizeof *x);
    it->exact = NULL;
}

/* Return 1 if entry a is expanded before entry b of the same kind, else 0. */
static int ranks_before(const exact_entry *a, const exact_entry *b)
{
    return a->bound > b->bound || (a->bound == b->bound && a->serial < b->serial);
}

static exact_entry pop_best(exact_search *x, exact_heap *h)
{
    const exact_entry top = h->entry[0], last = h->entry[--h->n];
    size_t index = 0;
    for (size_t child; (child = 2 * index + 1) < h->n; index = child) {
        if (child + 1 < h->n && ranks_before(&h->entry[child + 1], &h->entry[child])) child++;
        if (!ranks_before(&h->entry[child], &last)) break;
        h->entry[index] = h->entry[child];
    }
    h->entry[index] = last;
    x->n_entries--;
    return top;
}

/* Find or make the heap for frontier entries of this kind, and reserve capacity for one more entry. */
static rill_status find_heap(rill_context *ctx, exact_search *x, const exact_kind *kind, exact_heap **out)
{
    size_t index = 0;
    while (index < x->n_heaps && memcmp(&x->heap[index].kind, kind, sizeof *kind) != 0) index++;
    if (index == x->n_heaps_allocated) {
        RILL__TRY(RILL__GROW(ctx, x->heap, x->heaps_capacity, index + 1, "a frontier"));
        x->heap[x->n_heaps_allocated++] = (exact_heap){0};
    }
    exact_heap *h = *out = &x->heap[index];
    if (index == x->n_heaps) {
        h->kind = *kind;
        h->n = 0;
        x->n_heaps++;
    }
    return RILL__GROW(ctx, h->entry, h->capacity, h->n + 1, "a frontier");
}

/* Insert an entry into a heap of the frontier; capacity must be reserved. */
static void heap_insert(exact_heap *h, const exact_entry *entry)
{
    size_t index = h->n++;
    for (; index > 0 && ranks_before(entry, &h->entry[(index - 1) / 2]); index = (index - 1) / 2)
        h->entry[index] = h->entry[(index - 1) / 2];
    h->entry[index] = *entry;
}

static rill_status frontier_push(rill_context *ctx, exact_search *x, const exact_kind *kind, exact_entry entry)
{
    exact_heap *h;
    RILL__TRY(find_heap(ctx, x, kind, &h));
    entry.serial = x->n_created++;
    heap_insert(h, &entry);
    x->n_entries++;
    return RILL_OK;
}

/* Returns the final score of the n_best-th output; RILL_SCORE_DEAD if there are fewer outputs. */
static double nth_best_score(const item *it)
{
    const int32_t n = it->settings->n_best;
    return it->n_outputs >= n ? it->outputs[n - 1].final_score : RILL_SCORE_DEAD;
}

/* Returns T, the score to beat: outputs and prefixes that cannot score above T are not needed. */
static double threshold(const item *it)
{
    return it->exact->is_truncated ? RILL_SCORE_DEAD : nth_best_score(it);
}

/* Returns U, an upper bound on the final score of a prefix of the input's current length. */
static double upper_bound(const rill_engine *e, const item *it, double score)
{
    return certify_bound(&e->chain, it, score, e->info.phases);
}

/* Add an entry to the frontier if its bound is above the threshold. Takes over the caller's reference to the hypothesis. */
static rill_status add_entry(rill_engine *e, item *it, const exact_kind *kind, const exact_entry *entry)
{
    rill_status status = RILL_OK;
    if (entry->bound > threshold(it)) {
        status = frontier_push(e->ctx, it->exact, kind, *entry);
        if (status >= 0) return status;
    }
    item_abandon_output(it, entry->bound);
    hyp_pool_release(&e->hyps, &it->arena, entry->hyp);
    return status;
}

/* Number of choices (next actions) to request when a prefix is expanded for the first time. */
static int32_t n_first_choices(const rill_engine *e, const item *it)
{
    int32_t n_choices = it->settings->k > FIRST_CHOICES ? it->settings->k : FIRST_CHOICES;
    return n_choices < e->info.actions ? n_choices : e->info.actions;
}

/* --- storing outputs ---------------------------------------------------------------------------------------------- */

static int same_path(const hyp_pool *f, int32_t a, int32_t b)
{
    for (; a != b; a = f->hyp[a].parent, b = f->hyp[b].parent)
        if (a < 0 || b < 0 || f->hyp[a].action != f->hyp[b].action) return 0;
    return 1;
}

/* Returns 1 if hypothesis `parent` with `action` is already an output, else 0. */
static int has_output(const rill_engine *e, const item *it, int32_t parent, int32_t action)
{
    for (int32_t i = 0; i < it->n_outputs; i++) {
        const rill_hyp_node *h = &e->hyps.hyp[it->outputs[i].hyp];
        if (h->action == action && same_path(&e->hyps, h->parent, parent)) return 1;
    }
    return 0;
}

static void drop_output(rill_engine *e, item *it, const item_output *output)
{
    statistics_count_output(&e->statistics, output, -1);
    hyp_pool_release(&e->hyps, &it->arena, output->hyp);
}

/* Add the ended child of `parent` to the sorted outputs if it is above the threshold. At max_outputs the worst leaves. */
static rill_status offer_output(rill_engine *e, item *it, int32_t parent, const topk_choice *c, item_output *output)
{
    if (!(output->final_score > threshold(it))) {
        item_abandon_output(it, output->final_score);
        return RILL_OK;
    }
    if (has_output(e, it, parent, c->action)) return RILL_OK;
    RILL__TRY(RILL__GROW(e->ctx, it->outputs, it->outputs_capacity, (size_t)it->n_outputs + 1, "outputs"));
    RILL__TRY(hyp_pool_reserve(&e->hyps, 1, 1));
    output->hyp = hyp_pool_add(&e->hyps, &it->arena, parent, parent, c->action, c->logp, c->score, 0);
    for (; it->exact->is_truncated && it->n_outputs > 0; it->n_outputs--)
        drop_output(e, it, &it->outputs[it->n_outputs - 1]);
    it->exact->is_truncated = 0;
    if (it->n_outputs == it->exact->max_outputs) drop_output(e, it, &it->outputs[--it->n_outputs]);
    output->order = it->n_outputs_made++;
    int32_t index = it->n_outputs++;
    for (; index > 0 && it->outputs[index - 1].final_score < output->final_score; index--)
        it->outputs[index] = it->outputs[index - 1];
    it->outputs[index] = *output;
    statistics_count_output(&e->statistics, output, 1);
    return RILL_OK;
}

/* --- adding children ---------------------------------------------------------------------------------------------- */

/* Copy the hypothesis of each row, for the choices that score() does not return. The copy keeps the parent's state alive. */
static rill_status before_step(rill_engine *e, timestep *t)
{
    const row_table *r = &t->rows;
    hyp_pool *f = &e->hyps;
    RILL__TRY(hyp_pool_reserve(f, r->n, t->n));
    for (int32_t row = 0; row < r->n; row++) {
        item *it = &e->items.item[r->slot[row]];
        const rill_hyp_node h = f->hyp[r->hyp[row]];
        if (it->owner == &exact)
            it->exact->batch[r->rank[row]].hyp = hyp_pool_add(f, &it->arena, h.parent, h.internal[HYP_STATE_PARENT],
                                                              h.action, h.logp, h.path_score, 1);
    }
    return RILL_OK;
}

/* A row whose choices are processed, and the frontier entry and hypothesis that it expands. */
typedef struct exact_row {
    exact_entry *entry;
    int32_t hyp, row;
} exact_row;

/* Add the child by choice c to the outputs if it ends, else to the frontier. last: 1 in the timestep's last phase. */
static rill_status frontier_add_child(rill_engine *e, item *it, const exact_row *from, const topk_choice *c, int last)
{
    const rill_settings *s = it->settings;
    const double score = from->entry->path_score + (double)c->score;
    const int is_last_live = c->terminal == RILL_LIVE && last && stop_is_last_timestep(it);
    if (is_last_live && s->require_end) {
        it->dropped_truncated = 1;
        return RILL_OK;
    }
    if (is_last_live || c->terminal != RILL_LIVE) {
        item_output output = stop_child_output(it, score, c->terminal);
        return offer_output(e, it, from->hyp, c, &output);
    }
    const exact_kind kind = {it->timestep + last, last ? 0 : it->exact->kind.phase + 1, n_first_choices(e, it)};
    exact_entry child = {.bound = upper_bound(e, it, score), .path_score = score};
    if (!(child.bound > threshold(it))) {
        item_abandon_output(it, child.bound);
        return RILL_OK;
    }
    RILL__TRY(hyp_pool_reserve(&e->hyps, 1, 1));
    child.hyp = hyp_pool_add(&e->hyps, &it->arena, from->hyp, from->hyp, c->action, c->logp, c->score, 1);
    return add_entry(e, it, &kind, &child);
}

/* Return the copy of a row's hypothesis to the frontier, for the choices not expanded yet. Its next expansion requests twice as many. */
static rill_status requeue_rest(rill_engine *e, timestep *t, item *it, const exact_row *from, int32_t n_seen)
{
    exact_entry rest = *from->entry;
    exact_kind kind = it->exact->kind;
    double best = t->rounds[0].topk.max_rest[from->row];
    topk_choice next;
    if (timestep_next_choice(t, from->row, n_seen, &next)) best = fmax(best, (double)next.score);
    rest.bound = best == RILL_SCORE_DEAD ? RILL_SCORE_DEAD : upper_bound(e, it, rest.path_score + best);
    rest.n_seen = n_seen;
    kind.n_choices = kind.n_choices > e->info.actions / 2 ? e->info.actions : 2 * kind.n_choices;
    from->entry->hyp = -1;
    return add_entry(e, it, &kind, &rest);
}

/* Add the children of one row to the outputs and to the frontier. */
static rill_status expand_row(rill_engine *e, timestep *t, item *it, const exact_row *from, int last)
{
    int32_t i = 0;
    topk_choice c;
    for (; i < it->exact->kind.n_choices && timestep_next_choice(t, from->row, i, &c); i++)
        if (i >= from->entry->n_seen) RILL__TRY(frontier_add_child(e, it, from, &c, last));
    return requeue_rest(e, t, it, from, i);
}

static rill_status before_merge(rill_engine *e, timestep *t, int last)
{
    const row_table *r = &t->rows;
    for (int32_t row = 0; row < r->n; row++) {
        item *it = &e->items.item[r->slot[row]];
        if (it->owner != &exact) continue;
        it->exact->n_rows++;
        e->statistics.total.exact_rows++;
        RILL__TRY(expand_row(e, t, it, &(exact_row){&it->exact->batch[r->rank[row]], r->hyp[row], row}, last));
    }
    return RILL_OK;
}

/* --- choosing the batch ------------------------------------------------------------------------------------------- */

/* Drop frontier entries whose bound is not above the threshold, if new outputs have raised it. */
static void discard_below_threshold(rill_engine *e, item *it)
{
    exact_search *x = it->exact;
    const double min_bound = threshold(it);
    if (min_bound == x->discard_threshold) return;
    x->discard_threshold = min_bound;
    for (exact_heap *h = x->heap; h < x->heap + x->n_heaps; h++) {
        const size_t old_n = h->n;
        h->n = 0;
        for (size_t i = 0; i < old_n; i++) {
            const exact_entry entry = h->entry[i];
            if (entry.bound > min_bound) {
                /* this writes at or before index i, so entries still to be checked stay in place */
                heap_insert(h, &entry);
                continue;
            }
            item_abandon_output(it, entry.bound);
            hyp_pool_release(&e->hyps, &it->arena, entry.hyp);
        }
        x->n_entries -= old_n - h->n;
    }
}

static int is_deeper(const exact_kind *a, const exact_kind *b)
{
    return a->depth > b->depth || (a->depth == b->depth && a->phase > b->phase);
}

/* Returns the heap to expand next; NULL: none. phase: only entries of this phase, or < 0: all. deepest: 1: only the greatest depth. */
static exact_heap *find_best_heap(const exact_search *x, int32_t phase, int deepest)
{
    exact_heap *best = NULL;
    for (exact_heap *h = x->heap; h < x->heap + x->n_heaps; h++) {
        if (h->n == 0 || (phase >= 0 && h->kind.phase != phase)) continue;
        const int deeper = deepest && best != NULL && is_deeper(&h->kind, &best->kind),
                  less_deep = deepest && best != NULL && is_deeper(&best->kind, &h->kind);
        if (best == NULL || deeper || (!less_deep && ranks_before(&h->entry[0], &best->entry[0]))) best = h;
    }
    return best;
}

/* Returns 1 if the deepest entries go first, else 0. The limit is that of all workers, so that the order does not depend on their number.
 */
static int frontier_is_large(const rill_engine *e, const exact_search *x)
{
    const size_t states = (size_t)e->memory_limit.total_nodes / 4;
    return x->n_entries > (states > 0 && states < MAX_BEST_FIRST ? states : MAX_BEST_FIRST);
}

/* Make the frontier's best entries the input's batch and beam, up to exact_rows in all. phase: only this phase, or < 0: all. */
static rill_status load_batch(rill_engine *e, item *it, int32_t phase)
{
    exact_search *x = it->exact;
    const int64_t rows_left = it->settings->exact_rows - x->n_rows;
    const int32_t max_rows = it->settings->k < rows_left ? it->settings->k : (int32_t)rows_left;
    exact_heap *from = find_best_heap(x, phase, frontier_is_large(e, x));
    if (from == NULL || max_rows <= 0) return RILL_OK;
    RILL__TRY(RILL__GROW(e->ctx, it->beam, it->beam_capacity, (size_t)max_rows, "a beam"));
    RILL__TRY(RILL__GROW(e->ctx, x->batch, x->batch_capacity, (size_t)max_rows, "a batch"));
    for (x->n_batch = 0; x->n_batch < max_rows && from->n > 0;) x->batch[x->n_batch++] = pop_best(x, from);
    it->width = it->n_live = x->n_batch;
    it->timestep = from->kind.depth;
    x->kind = from->kind;
    it->first_phase = from->kind.phase;
    for (int32_t i = 0; i < it->width; i++) {
        const int32_t hyp = x->batch[i].hyp;
        const rill_hyp_node *h = &e->hyps.hyp[hyp];
        it->beam[i] = (beam_entry){.path_score = x->batch[i].path_score,
                                   .hyp = hyp,
                                   .action = h->action,
                                   .state_parent = hyp_pool_node(&e->hyps, h->internal[HYP_STATE_PARENT]),
                                   .action_logp = h->logp,
                                   .state_rank = i};
        x->batch[i].hyp = -1;
    }
    return RILL_OK;
}

/* --- starting and stopping ---------------------------------------------------------------------------------------- */

/* End the exact search. B, the bound on outputs that were not found (certify.c), is the smaller of two bounds: that of the beam search, and
 * that of the prefixes left in the frontier. */
static void finish_search(item *it)
{
    exact_search *x = it->exact;
    for (exact_heap *h = x->heap; h < x->heap + x->n_heaps; h++)
        if (h->n > 0) item_abandon_output(it, h->entry[0].bound);
    if (x->beam_bound < it->abandoned_bound) it->abandoned_bound = x->beam_bound;
    if (x->is_truncated) it->abandoned_bound = INFINITY;
    it->timestep = x->beam_timesteps;
    it->owner = NULL;
    it->first_phase = 0;
    x->done = 1;
}

/* After a phase: load the next batch. Finish the input if there is none after the last phase. */
static rill_status advance(rill_engine *e, const timestep *t, int32_t slot, int last)
{
    item *it = &e->items.item[slot];
    if (it->width > 0 && it->first_phase > t->phase) return RILL_OK;
    engine_release_beam(e, it);
    discard_below_threshold(e, it);
    RILL__TRY(load_batch(e, it, last ? -1 : t->phase + 1));
    if (!last || it->width > 0) return RILL_OK;
    finish_search(it);
    e->items.done[slot] = 1;
    return RILL_OK;
}

static int out_of_memory(rill_engine *e, item *it)
{
    exact_search *x = it->exact;
    if (it->owner != &exact) return 0;
    for (int32_t i = 0; i < it->width; i++) item_abandon_output(it, x->batch[i].bound);
    engine_release_beam(e, it);
    finish_search(it);
    return 1;
}

/* Returns 1 if a heuristic cut the input's outputs short, so that they are not the model's, else 0. */
static int is_truncated_early(const item *it)
{
    return it->n_outputs > 0 && it->outputs[0].truncated &&
           it->timestep - (it->settings->at_limit == RILL_LIMIT_END) < it->max_length;
}

/* After the beam search: begin exact search, unless the outputs are already proven. */
static rill_status after_stop(rill_engine *e, int32_t slot)
{
    item *it = &e->items.item[slot];
    exact_search *x = it->exact;
    const int is_truncated = is_truncated_early(it);
    if ((x != NULL && x->done) || it->timed_out || it->fail_reason.length > 0) return RILL_OK;
    if (nth_best_score(it) >= it->abandoned_bound && !is_truncated) return RILL_OK;
    if (x == NULL) x = it->exact = rill_calloc(e->ctx, 1, sizeof *x);
    if (x == NULL) return rill_fail_memory(e->ctx, sizeof *x, "exact search");
    RILL__TRY(hyp_pool_reserve(&e->hyps, 1, 1));
    it->owner = &exact;
    x->is_truncated = (uint8_t)is_truncated;
    x->n_rows = x->n_created = 0;
    x->discard_threshold = threshold(it);
    x->beam_bound = it->abandoned_bound;
    x->beam_timesteps = it->timestep;
    x->max_outputs = it->n_outputs > it->settings->n_best ? it->n_outputs : it->settings->n_best;
    it->abandoned_bound = RILL_SCORE_DEAD;
    const exact_entry root = {.bound = INFINITY,
                              .hyp = hyp_pool_add(&e->hyps, &it->arena, -1, -1, RILL_ACTION_START, 0, 0, 1)};
    RILL__TRY(add_entry(e, it, &(exact_kind){.n_choices = n_first_choices(e, it)}, &root));
    RILL__TRY(load_batch(e, it, -1));
    e->items.done[slot] = 0;
    return RILL_AGAIN;
}

static int32_t n_choices(const rill_engine *e, const item *it)
{
    (void)e;
    return it->owner == &exact ? it->exact->kind.n_choices : 0;
}

const search_variant exact = {.name = "exact search",
                              .selected_by = {offsetof(rill_settings, exact), 1},
                              .before_step = before_step,
                              .before_merge = before_merge,
                              .n_choices = n_choices,
                              .advance = advance,
                              .after_stop = after_stop,
                              .out_of_memory = out_of_memory,
                              .clear = clear,
                              .free_item = free_item};
