/* Finds the best children of each input's beam, in rank order: candidates for the next beam (steps 2 to 4 of "One timestep of one input,
 * exactly" in docs/algorithms.md).
 *
 * Each live entry's choices (next actions) are sorted. A heap holds each entry's best child not yet taken; k pops give the best k.
 * Rank order: score, then the parent's rank, then action.
 *
 * Which children become outputs depends on the setting `finish`:
 *
 *   "top"         ended children above the first live child; other ended children stay in the beam
 *   "immediate"   ended children among the first k; later ones are dropped, and live children fill the beam
 *   "shrink"      all ended children; k minus the outputs so far are popped, and an ended child's entry stays empty
 *   "one-step"    all ended children; k are popped, and an ended child's entry stays empty for one timestep
 *
 * A search variant (search_variant.h), such as sampling, may choose the children instead. */
#include <math.h>

#include "engine_internal.h"

/* --- memory of a merge -------------------------------------------------------------------------------------------- */

static rill_status reserve_arrays(timestep *t, const children_size *need)
{
    candidates *k = &t->candidates;
    const size_t n_items = need->items + 1, n_heads = need->max_width + 1, n_candidates = need->candidates + 1;
    if (n_items <= t->item_memory.capacity && n_candidates <= t->candidate_memory.capacity &&
        n_heads <= t->width_memory.capacity && need->entries <= t->released_capacity &&
        need->scratch <= t->scratch_bytes)
        return RILL_OK;
    const rill_array per_item[] = {
        RILL_ARRAY(k->offset),
        RILL_ARRAY(k->item_id),
        RILL_ARRAY(k->k),
        RILL_ARRAY(k->timestep),
        RILL_ARRAY(k->n_outputs),
        RILL_ARRAY(k->min_kept),
        RILL_ARRAY(k->best_output_score),
        RILL_ARRAY(k->best_path_score),
        RILL_ARRAY(k->stop),
        RILL_ARRAY(k->marked_width),
        RILL_ARRAY(k->marked_stop),
        RILL_ARRAY(k->instances),
        RILL_ARRAY(k->part_offset),
    };
    const rill_array per_candidate[] = {
        RILL_ARRAY(k->path_score), RILL_ARRAY(k->action_logp), RILL_ARRAY(k->action_score), RILL_ARRAY(k->parent_rank),
        RILL_ARRAY(k->group),      RILL_ARRAY(k->action),      RILL_ARRAY(k->hyp),          RILL_ARRAY(k->terminal),
        RILL_ARRAY(k->ended),      RILL_ARRAY(k->keep)};
    const rill_array per_head[] = {RILL_ARRAY(t->heads), RILL_ARRAY(t->heap), RILL_ARRAY(t->child_counts),
                                   RILL_ARRAY(t->old_beam)};
    RILL__TRY(RILL__GROW_COLUMNS(t->ctx, &t->item_memory, n_items, per_item, "candidates"));
    RILL__TRY(RILL__GROW_COLUMNS(t->ctx, &t->candidate_memory, n_candidates, per_candidate, "candidates"));
    RILL__TRY(RILL__GROW_COLUMNS(t->ctx, &t->width_memory, n_heads, per_head, "candidates"));
    RILL__TRY(RILL__GROW(t->ctx, t->released, t->released_capacity, need->entries, "candidates"));
    return rill_grow(t->ctx, &t->scratch, &t->scratch_bytes, need->scratch, 1, "scratch memory");
}

rill_status engine_reserve_children(rill_engine *e, timestep *t)
{
    enum { FIRST_OUTPUTS = 24 };
    const int32_t stride = t->rounds[0].topk.choices.stride;
    children_size need = {.items = (size_t)t->n};
    for (int32_t i = 0; i < t->n; i++) {
        item *it = &e->items.item[t->selected[i]];
        int64_t n_children = (int64_t)it->n_live * stride + (it->width - it->n_live), limit = it->max_children;
        need.entries += (size_t)it->width;
        if ((size_t)it->width > need.max_width) need.max_width = (size_t)it->width;
        FOR_VARIANTS (v, it->variants | t->modifier_variants, reserve) v->reserve(it, stride, &n_children, &need);
        if (n_children > limit) n_children = limit;
        need.candidates += (size_t)n_children;
        /* twice n_children, because this merge and commit.c may both make outputs; plus the output of a variant's before_outputs() */
        const size_t outputs = (size_t)(it->n_outputs + 2 * n_children + 1);
        if (outputs > it->outputs_capacity) /* reserve a few more than needed, since beams grow wider */
            RILL__TRY(RILL__GROW(e->ctx, it->outputs, it->outputs_capacity, outputs + FIRST_OUTPUTS, "outputs"));
    }
    RILL__TRY(reserve_arrays(t, &need));
    return hyp_pool_reserve(&e->hyps, (int64_t)need.candidates + t->n, t->n);
}

/* --- heap of the best children ------------------------------------------------------------------------------------ */

int merge_head_compare(const void *left, const void *right)
{
    const merge_head *a = left, *b = right;
    if (a->path_score != b->path_score) return a->path_score > b->path_score ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->choice != b->choice) return a->choice < b->choice ? -1 : 1;
    /* with beam groups (diverse beam search) two groups may choose the same child */
    return (a->bank > b->bank) - (a->bank < b->bank);
}

int timestep_next_choice(timestep *t, int32_t row, int32_t next, topk_choice *out)
{
    const int second = row >= t->second_row;
    return topk_next(&t->rounds[second].topk, second ? row - t->second_row : row, next, out);
}

ended_choices timestep_ended_choices(const timestep *t, int32_t row)
{
    const int second = row >= t->second_row;
    const ended_choices *ended = t->rounds[second].topk.ended;
    return ended != NULL ? ended[second ? row - t->second_row : row] : (ended_choices){0};
}

/* Returns 1 if key a comes before key b in rank order, else 0. Without branches: the CPU could not predict them. */
static inline int ranks_before(const merge_key *a, const merge_key *b)
{
    return a->score > b->score || (a->score >= b->score && a->rank < b->rank);
}

/* Sift a key down the heap from position `index`. After the heap's end is a sentinel that ranks last. */
static inline void sift_down(merge_key *heap, int32_t n, int32_t index, double score, int32_t rank)
{
    const merge_key moved = {score, rank};
    for (int32_t child; (child = 2 * index + 1) < n; index = child) {
        if (ranks_before(&heap[child + 1], &heap[child])) child++;
        if (!ranks_before(&heap[child], &moved)) break;
        heap[index].score = heap[child].score;
        heap[index].rank = heap[child].rank;
    }
    heap[index].score = score;
    heap[index].rank = rank;
}

/* State of merging one input's children into candidates. */
typedef struct merge {
    rill_engine *e;
    timestep *t;
    item *it;
    const int32_t *rows; /* [width] row of each beam entry; NULL: the live entries have consecutive rows, in order */
    merge_head *head;    /* the best head: the next child to take */
    /* [n_heap] heap of the keys of t->heads (the next child of each beam entry); a key's `rank` is also its index in t->heads */
    merge_key *heap;
    int32_t n_heap;
    /* 1: a search variant chose the children: the n_heap heads from `head` on, in rank order; 0: the children come from the heap */
    int is_list;
    int head_taken;       /* 1: `head` has been taken as a child; the next access replaces it first */
    int32_t n_candidates; /* candidates written so far */
    int32_t item_index;   /* index of the input among the selected inputs */
    int certify;          /* 1: record abandoned children, for certificates (item_abandon_path()) */
} merge;

/* Returns the number of children chosen by a search variant, or VARIANT_BY_SCORE. row: the input's first row, ignored if m->rows is set. */
static int32_t choose_by_variant(const merge *m, int32_t row)
{
    int32_t rank = 0;
    if (m->rows != NULL && m->it->width > 0) {
        while (rank < m->it->width - 1 && m->rows[rank] == NO_ROW) rank++;
        row = m->rows[rank];
    }
    FOR_VARIANTS (v, m->it->variants | m->t->modifier_variants, choose_children) {
        const int32_t n = v->choose_children(m->t, m->it, row);
        if (n != VARIANT_BY_SCORE) return n;
    }
    return VARIANT_BY_SCORE;
}

/* Make the heap of heads (the best child of each beam entry). Without m->rows, *row is the input's first row, and moves past its last. */
static void make_heap(merge *m, int32_t *row)
{
    merge_key *heap = m->heap;
    int32_t n = 0;
    for (int32_t rank = 0; rank < m->it->width; rank++) {
        const beam_entry *entry = &m->it->beam[rank];
        merge_head *head = &m->t->heads[rank];
        double score = entry->path_score;
        int32_t r = -1;
        if (!entry->ended) {
            r = m->rows != NULL ? m->rows[rank] : (*row)++;
            if (r == NO_ROW) continue;
            if (m->certify && m->t->rounds[0].topk.max_rest[r] > RILL_SCORE_DEAD)
                item_abandon_path(m->it, entry->path_score + m->t->rounds[0].topk.max_rest[r]);
            if (!timestep_next_choice(m->t, r, 0, &head->child)) continue;
            score += (double)head->child.score;
        } else {
            head->child = timestep_ended_choice(entry);
        }
        head->path_score = score;
        head->rank = rank;
        head->row = r;
        head->choice = head->bank = 0;
        heap[n++] = (merge_key){score, rank};
    }
    m->n_heap = n;
    heap[n] = (merge_key){RILL_SCORE_DEAD, INT32_MAX};
    for (int32_t i = n / 2 - 1; i >= 0; i--) sift_down(heap, n, i, heap[i].score, heap[i].rank);
    if (n > 0) m->head = &m->t->heads[heap[0].rank];
}

/* Find the input's best child, m->head. Without m->rows, *row is the input's first row, and moves past its last. */
static void begin_children(merge *m, int32_t *row)
{
    m->head = m->t->heads;
    m->heap = m->t->heap;
    m->head_taken = m->is_list = 0;
    if ((m->it->variants | m->t->modifier_variants) != 0) {
        m->n_heap = choose_by_variant(m, *row);
        m->is_list = m->n_heap != VARIANT_BY_SCORE;
    }
    /* A search variant may leave out children of any score. Infinity prevents any proof that this input's outputs are optimal. */
    if (m->is_list && m->certify) item_abandon_output(m->it, INFINITY);
    if (!m->is_list)
        make_heap(m, row);
    else if (m->rows == NULL)
        *row += m->it->n_live;
}

/* --- taking the best child ---------------------------------------------------------------------------------------- */

/* Returns 1 if a child is left, else 0. If the head was taken, its parent's next child replaces it only now: choices are read only when
 * needed. */
static int has_head(merge *m)
{
    merge_head *head = m->head;
    merge_key *heap = m->heap;
    if (!m->head_taken) return m->n_heap > 0;
    m->head_taken = 0;
    if (m->is_list) {
        m->head++;
        return --m->n_heap > 0;
    }
    if (head->row >= 0 && timestep_next_choice(m->t, head->row, ++head->choice, &head->child)) {
        head->path_score = m->it->beam[head->rank].path_score + (double)head->child.score;
        sift_down(heap, m->n_heap, 0, head->path_score, head->rank);
    } else {
        const merge_key last = heap[--m->n_heap];
        if (m->n_heap == 0) return 0;
        heap[m->n_heap] = (merge_key){RILL_SCORE_DEAD, INT32_MAX};
        sift_down(heap, m->n_heap, 0, last.score, last.rank);
    }
    m->head = &m->t->heads[heap[0].rank];
    return 1;
}

/* Returns the output that m->head, an ended child, would become. */
static item_output head_output(const merge *m)
{
    if (m->head->row < 0) return stop_entry_output(m->it, &m->it->beam[m->head->rank]);
    return stop_child_output(m->it, m->head->path_score, m->head->child.terminal);
}

/* For certificates: record the children that were not taken. Heads suffice, because later children score no higher. */
static void abandon_rest(merge *m)
{
    if (m->is_list || !has_head(m)) return;
    for (int32_t i = 0; i < m->n_heap; i++) {
        m->head = &m->t->heads[m->heap[i].rank];
        if (m->head->row < 0)
            item_abandon_output(m->it, head_output(m).final_score);
        else
            item_abandon_path(m->it, m->head->path_score);
    }
}

/* Make an output of m->head, an ended child. If it was a beam entry before, the entry's reference to the hypothesis passes to the output.
 */
static void pop_output(merge *m)
{
    rill_engine *e = m->e;
    const merge_head *head = m->head;
    const topk_choice *child = &head->child;
    beam_entry *entry = &m->it->beam[head->rank];
    item_output output = head_output(m);
    output.hyp = entry->hyp;
    output.group = head->bank;
    if (head->row >= 0)
        output.hyp = hyp_pool_add(&e->hyps, &m->it->arena, entry->hyp, m->it->beam[entry->state_rank].hyp,
                                  child->action, child->logp, child->score, 0);
    else
        entry->hyp = -1;
    if (e->tracer.with_hypotheses)
        tracer_hypothesis(m->t, m->item_index, head->rank, -1, child->action, RILL_FATE_OUTPUT, head->path_score);
    stop_add_output(e, m->it, output);
}

static void append_candidate(merge *m)
{
    candidates *c = &m->t->candidates;
    const merge_head *head = m->head;
    const topk_choice *child = &head->child;
    const int32_t to = m->n_candidates++;
    c->path_score[to] = head->path_score;
    c->parent_rank[to] = head->rank;
    c->group[to] = head->bank;
    c->hyp[to] = head->row < 0 ? m->it->beam[head->rank].hyp : -1;
    c->action[to] = child->action;
    c->action_logp[to] = child->logp;
    c->action_score[to] = child->score;
    c->terminal[to] = (uint8_t)child->terminal;
    c->ended[to] = child->terminal != RILL_LIVE;
}

/* --- merging children per input ----------------------------------------------------------------------------------- */

/* Take the input's best children in rank order: each becomes a candidate or an output, or is dropped. last: 1 in the last phase. */
static void merge_children(merge *m, int last)
{
    const child_quota quota = stop_child_quota(m->it, last);
    int32_t live = 0, popped = 0;
    int leading = last; /* 1: this is the last phase, and all children taken so far have ended */
    for (; popped < quota.max_children && live < quota.max_live && has_head(m); popped++) {
        const int is_live = m->head->child.terminal == RILL_LIVE;
        leading &= !is_live;
        if (leading && popped == 0) m->it->best_has_ended = 1;
        if (is_live || (quota.only_leading && !leading))
            append_candidate(m);
        else if (quota.only_leading || popped < quota.max_output_pos)
            pop_output(m);
        else if (m->certify)
            /* the ended child becomes neither an output nor a candidate */
            item_abandon_output(m->it, head_output(m).final_score);
        live += is_live;
        m->head_taken = 1;
    }
}

/* Set the columns about selected input i, for heuristics. end: end of the input's candidates; chosen: 1 if a search variant chose them. */
static void set_item_columns(candidates *c, int32_t i, const item *it, int32_t end, int chosen)
{
    c->item_id[i] = it->id;
    c->instances[i] = it->instances;
    c->k[i] = it->settings->k;
    c->timestep[i] = it->timestep;
    c->n_outputs[i] = it->n_outputs;
    /* Candidates of different constraint banks, samples or beam groups are not comparable, so heuristics must keep them all. */
    c->min_kept[i] = chosen ? INT32_MAX : it->settings->min_width - it->n_outputs;
    c->best_output_score[i] = c->best_path_score[i] = it->best_output_score;
    if (c->offset[i] < end && c->path_score[c->offset[i]] > c->best_path_score[i])
        c->best_path_score[i] = c->path_score[c->offset[i]];
    c->stop[i] = it->stop_requested; /* set by a heuristic in an earlier phase of this timestep */
}

/* Start merging selected input i. `base`: index of its first beam entry in row_of. */
static void begin_item(merge *m, int32_t i, int32_t base)
{
    m->item_index = i;
    m->it = &m->e->items.item[m->t->selected[i]];
    m->rows = m->t->row_of != NULL ? m->t->row_of + base : NULL;
    m->is_list = 0;
}

void engine_count_best_children(rill_engine *e, timestep *t, int32_t i, int32_t base, int32_t *count)
{
    merge m = {.e = e, .t = t};
    int32_t row = 0;
    begin_item(&m, i, base);
    begin_children(&m, &row);
    for (int32_t n_left = m.it->max_children; n_left > 0 && has_head(&m); n_left--) {
        count[base + m.head->rank]++;
        m.head_taken = 1;
    }
}

rill_status engine_fail_choices(rill_engine *e, const timestep *t)
{
    const topk *last = &t->rounds[t->round].topk, *s = last->error != NULL ? last : &t->rounds[0].topk;
    const item *it = &e->items.item[t->rows.slot[s->error_row]];
    return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: choices of input %lld at timestep %d are %s", e->domain->name,
                     (long long)it->id, t->rows.depth[s->error_row], s->error);
}

rill_status engine_merge(rill_engine *e, timestep *t, int last)
{
    merge m = {.e = e, .t = t, .certify = e->settings.certify};
    int32_t row = 0, base = 0;
    if (t->spare_nodes > 0) engine_use_reserved_nodes(t, t->spare_nodes);
    RILL__TRY(engine_reserve_children(e, t));
    FOR_VARIANTS (v, t->variants, before_merge) RILL__TRY(v->before_merge(e, t, last));
    if (e->tracer.with_hypotheses) RILL__TRY(tracer_reserve(t));
    t->candidates.n = t->n;
    for (int32_t i = 0; i < t->n; i++) {
        begin_item(&m, i, base);
        if (i + 1 < t->n) __builtin_prefetch(e->items.item[t->selected[i + 1]].beam);
        base += m.it->width;
        t->candidates.offset[i] = m.n_candidates;
        if (m.it->leaves) {
            while (row < t->rows.n && t->rows.item[row] == i) row++;
        } else if (m.it->owner != NULL) {
            row += m.it->first_phase <= t->phase ? m.it->n_live : 0;
        } else {
            FOR_VARIANTS (v, last ? m.it->variants : 0, read_choices) v->read_choices(e, t, m.it, m.rows, row);
            begin_children(&m, &row);
            merge_children(&m, last);
            if (m.certify) abandon_rest(&m);
        }
        set_item_columns(&t->candidates, i, m.it, m.n_candidates, m.is_list);
    }
    t->candidates.offset[t->n] = m.n_candidates;
    e->statistics.total.candidates += m.n_candidates;
    if (t->rounds[0].topk.error != NULL || t->rounds[t->round].topk.error != NULL) return engine_fail_choices(e, t);
    if (e->tracer.fn != NULL) tracer_merged(t);
    statistics_end_stage(&e->statistics, &e->statistics.current.select);
    return RILL_OK;
}
