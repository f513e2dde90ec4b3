/* Expands hypotheses: makes a row for each, has the domain compute its state, collects its modifiers (bonuses, masks, limits).
 *
 * An input's rows are adjacent, in rank order.
 * A state is computed when its hypothesis is expanded, so candidates that heuristics dropped get none. */
#include <math.h>
#include <string.h>

#include "engine_internal.h"

/* --- modifiers of scores ------------------------------------------------------------------------------------------ */

/* Returns how many choices to request per row: as many as a search variant needs, else the maximum number of children. */
static int32_t item_choices(const rill_engine *e, const item *it, int32_t phase)
{
    const rill_settings *s = it->settings;
    int32_t m = it->max_children, requested = 0;
    FOR_VARIANTS (v, it->variants, n_choices) requested = requested > 0 ? requested : v->n_choices(e, it);
    if (requested > 0)
        m = requested;
    else if (e->info.max_choices_phases >> phase & 1 && s->max_candidates < m)
        m = s->max_candidates;
    return m < e->info.actions ? m : e->info.actions;
}

/* Add the modifiers of settings: limits on choices, end rules, n-gram blocking, bad words, unknown_penalty. max_m: largest number of
 * choices requested for any row. */
static rill_status add_setting_modifiers(rill_engine *e, timestep *t, int32_t max_m)
{
    int last = t->phase == e->info.phases - 1;
    rill_modifiers *mods = &t->rounds[t->round].modifiers;
    mods->current_scorer = -1;
    for (int32_t i = 0; i < t->rows.n; i++) {
        const item *it = &e->items.item[t->rows.slot[i]];
        int32_t m = item_choices(e, it, t->phase);
        if (it->owner != NULL && mods->has_limit) mods->limit[i] = INT32_MAX; /* scorers' limits do not apply */
        if (m < max_m) RILL__TRY(rill_modifiers_limit_children(mods, i, m));
        if (last) RILL__TRY(rill_modifiers_end_rule(mods, i, stop_end_rule(it)));
        if (it->blocks_ngrams)
            RILL__TRY(ngram_blocking_add(mods, i, it->settings, e->hyps.hyp, t->rows.hyp[i], e->info.start_action));
        if (e->bad_words.n > 0) RILL__TRY(bad_words_ban(&e->bad_words, mods, i, e->hyps.hyp, t->rows.hyp[i]));
        if (e->unknown_action < 0) continue;
        if (isinf(e->settings.unknown_penalty))
            RILL__TRY(rill_modifiers_ban(mods, i, e->unknown_action));
        else
            RILL__TRY(rill_modifiers_add(mods, i, e->unknown_action, -(float)e->settings.unknown_penalty));
    }
    return RILL_OK;
}

/* Returns 1 if settings restrict a row, else 0. *max_m: largest number of choices per row. An input's owner (a search variant) lifts
 * scorers' limits, which counts as a restriction too. */
static int any_restriction(const rill_engine *e, const timestep *t, int32_t *max_m)
{
    const int last = t->phase == e->info.phases - 1, same_settings = e->requests.n_requests == 0 && t->n_owned == 0;
    int32_t min_m = INT32_MAX;
    int any = e->unknown_action >= 0 || e->bad_words.n > 0 || t->round > 0;
    *max_m = 1;
    for (int32_t i = 0; i < t->n; i++) {
        const item *it = &e->items.item[t->selected[i]];
        if (i == 0 || !same_settings) {
            const int32_t m = item_choices(e, it, t->phase);
            if (m > *max_m) *max_m = m;
            if (m < min_m) min_m = m;
            any |= it->blocks_ngrams;
        }
        any |= (last && stop_end_rule(it) != RILL_END_ALLOWED) || (it->owner != NULL && e->chain.n_scorers > 0);
    }
    return any || min_m < *max_m;
}

/* Collect each row's changes to its actions' scores (bans, bonuses, limits), from scorers, settings and search variants. */
static rill_status make_modifiers(rill_engine *e, timestep *t, score_round *round)
{
    int32_t max_m;
    rill_modifiers *mods = &round->modifiers;
    modifier_table *rules = &round->modifier_table;
    const int restricted = any_restriction(e, t, &max_m);
    t->modifier_variants = 0;
    if (e->chain.n_scorers == 0 && !restricted) {
        *rules = (modifier_table){.max_choices = max_m, .limits_only = 1};
        return RILL_OK;
    }
    RILL__TRY(engine_call_scorers(e, t, mods));
    if (e->settings.check && e->chain.n_scorers > 0) {
        RILL__TRY(modifiers_build(mods, max_m, rules));
        RILL__TRY(engine_check_scorers(e, t, rules, max_m));
    }
    if (restricted) RILL__TRY(add_setting_modifiers(e, t, max_m));
    /* modifiers added from here on come from search variants, so they are not attributed to a scorer */
    mods->current_scorer = e->chain.n_scorers;
    FOR_VARIANTS (v, t->round > 0 ? t->variants : 0, restrict_rows) RILL__TRY(v->restrict_rows(t));
    RILL__TRY(modifiers_build(mods, max_m, rules));
    /* merging reads the modifiers of the first scoring pass only */
    t->modifier_variants = variants_of(NULL, &t->rounds[0].modifier_table);
    return RILL_OK;
}

/* --- rows (one per hypothesis) ------------------------------------------------------------------------------------ */

static rill_status reserve_rows(timestep *t, size_t rows)
{
    row_table *r = &t->rows;
    if (rows <= t->row_memory.capacity) return RILL_OK;
    const rill_array columns[] = {RILL_ARRAY(r->node),    RILL_ARRAY(r->parent),    RILL_ARRAY(r->state_parent),
                                  RILL_ARRAY(r->action),  RILL_ARRAY(r->slot),      RILL_ARRAY(r->depth),
                                  RILL_ARRAY(r->hyp),     RILL_ARRAY(r->rank),      RILL_ARRAY(r->item),
                                  RILL_ARRAY(r->item_id), RILL_ARRAY(r->path_score)};
    return RILL__GROW_COLUMNS(t->ctx, &t->row_memory, rows, columns, "rows");
}

void engine_add_row(rill_engine *e, timestep *t, int32_t index, int32_t rank)
{
    row_table *r = &t->rows;
    const hyp_pool *f = &e->hyps;
    const int32_t i = r->n++, slot = t->selected[index];
    const item *it = &e->items.item[slot];
    const beam_entry *entry = &it->beam[rank];
    const int32_t hyp = entry->hyp;
    r->parent[i] = r->state_parent[i] = entry->state_parent;
    r->action[i] = entry->action;
    r->slot[i] = slot;
    r->depth[i] = it->timestep;
    r->hyp[i] = hyp;
    r->item[i] = index;
    __builtin_prefetch(&f->hyp[hyp], 1);
    /* the columns set below are read only by search variants and scorers */
    if (t->variants == 0 && e->chain.n_scorers == 0) return;
    r->rank[i] = rank;
    r->item_id[i] = it->id;
    r->path_score[i] = entry->path_score;
}

void engine_use_reserved_nodes(timestep *t, int64_t n)
{
    t->reserved_nodes -= t->reserved_nodes < n ? t->reserved_nodes : n;
}

rill_rows engine_domain_rows(const timestep *t, int32_t from, int32_t n)
{
    const row_table *r = &t->rows;
    return (rill_rows){.n = n,
                       .phase = t->phase,
                       .node = r->node + from,
                       .parent = r->parent + from,
                       .state_parent = r->state_parent + from,
                       .action = r->action + from,
                       .slot = r->slot + from,
                       .depth = r->depth + from,
                       .group = t->group};
}

/* Mark cancelled and late inputs to leave midway. None leaves if beams have changed (several phases), rows are shared (cube pruning), or
 * the search is exact. */
static rill_status mark_leaving(rill_engine *e, const timestep *t)
{
    const double now = e->requests.next_deadline < INFINITY ? requests_now(&e->requests) : -INFINITY;
    if (atomic_load(&e->queue->stopped)) return rill_fail(e->ctx, RILL_ERR_STOPPED, "the run was stopped");
    if (e->info.phases > 1 || t->row_of != NULL) return RILL_OK;
    if (now < e->requests.next_deadline && e->queue->n_cancelled == 0 && e->items.n_cancelled == 0) return RILL_OK;
    for (int32_t i = 0; i < t->n; i++) {
        item *it = &e->items.item[t->selected[i]];
        it->leaves |= it->owner == NULL && (it->cancelled || input_reason_to_leave(it->input, now) < 0);
    }
    return RILL_OK;
}

rill_status engine_leave_midway(rill_engine *e, timestep *t)
{
    RILL__TRY(mark_leaving(e, t));
    while (t->next_row < t->rows.n && e->items.item[t->rows.slot[t->next_row]].leaves) t->next_row++;
    return RILL_OK;
}

/* Remove the rows of inputs that have left the timestep from the row table. */
static void remove_left_rows(const rill_engine *e, row_table *r)
{
    int32_t to = 0;
    for (int32_t i = 0; i < r->n; i++)
        if (!e->items.item[r->slot[i]].leaves) row_table_move(r, to++, i);
    r->n = to;
}

rill_status engine_step_rows(rill_engine *e, timestep *t)
{
    /* the rows of an asynchronous device are not split into parts, since it would be idle between two parts */
    const int in_parts = e->requests.next_deadline < INFINITY && e->info.group_rows == 0;
    const int32_t part_max_rows = in_parts ? PART_MAX_ROWS : INT32_MAX;
    statistics *s = &e->statistics;
    const row_table *r = &t->rows;
    score_round *round = &t->rounds[t->round];
    int grew;
    RILL__TRY(hyp_pool_reserve_nodes(&e->hyps, r->n, &grew));
    if (grew) RILL__TRY(engine_reserve_domain(e));
    FOR_VARIANTS (v, t->variants, before_step) RILL__TRY(v->before_step(e, t));
    engine_use_reserved_nodes(t, r->n);
    statistics_end_stage(s, &s->current.choose);
    rill_error_clear(e->ctx);
    for (t->next_row = 0; t->next_row < r->n;) {
        const int32_t from = t->next_row, n = r->n - from < part_max_rows ? r->n - from : part_max_rows;
        hyp_pool_assign_nodes(&e->hyps, r->hyp + from, n, r->node + from);
        const rill_rows rows = engine_domain_rows(t, from, n);
        RILL__TRY(rill__domain_status(e->ctx, e->domain, e->domain->step(e->self, &rows), "step"));
        hyp_pool_mark_stepped(&e->hyps, r->hyp + from, n);
        t->next_row += n;
        if (t->next_row < r->n) RILL__TRY(engine_leave_midway(e, t));
    }
    if (r->n > part_max_rows) remove_left_rows(e, &t->rows);
    statistics_end_stage(s, &s->current.step);
    engine_free_nodes(e);
    RILL__TRY(make_modifiers(e, t, round));
    RILL__TRY(topk_begin(&round->topk, &round->modifier_table, r->n, part_max_rows));
    statistics_end_stage(s, &s->current.scorers);
    t->next_row = 0;
    return RILL_OK;
}

/* The model's call has evicted beams and hypotheses from the CPU caches. So each pass prefetches what the next pass reads. */
rill_status engine_expand(rill_engine *e, timestep *t)
{
    int64_t live = 0;
    t->variants = 0;
    t->n_owned = 0;
    for (int32_t i = 0; i < t->n; i++) {
        const item *it = &e->items.item[t->selected[i]];
        live += it->n_live;
        t->variants |= it->variants;
        t->n_owned += it->owner != NULL;
        __builtin_prefetch(it->beam);
    }
    RILL__TRY(reserve_rows(t, (size_t)live));
    t->rows.n = 0;
    t->round = 0;
    t->second_row = INT32_MAX;
    t->row_of = NULL;
    t->spare_nodes = 0;
    t->rounds[0].topk.check_all = e->settings.check;
    for (int32_t i = 0; i < t->n; i++) {
        item *it = &e->items.item[t->selected[i]];
        it->last_expansion = e->statistics.total.expansions;
        if (it->first_phase > t->phase) continue;
        for (int32_t rank = 0; rank < it->width; rank++)
            if (!it->beam[rank].ended) engine_add_row(e, t, i, rank);
    }
    FOR_VARIANTS (v, t->variants, make_rows) RILL__TRY(v->make_rows(e, t));
    return engine_step_rows(e, t);
}
