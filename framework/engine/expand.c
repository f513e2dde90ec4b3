/* Expansion: the rows of a timestep, their states, modifiers and choices.
 *
 * A hypothesis node (`hyp`) is a node of the tree of all hypotheses. A state is what the model computes for a hypothesis; `node` is its id.
 * A slot holds an encoded input and is the index of its item. A row is a line of the tables of one score call.
 *
 * A row is a live candidate of a selected item; rows of one item are adjacent, in rank order. Its state is computed here, not when the
 * candidate was committed: states of candidates that heuristics drop are never computed.
 *
 * Divisions: rows · choices. */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "engine_internal.h"

/* --- rows --------------------------------------------------------------------------------------------------------- */

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
    /* only variants and scorers read the remaining columns */
    if (t->variants == 0 && e->chain.n_scorers == 0) return;
    r->rank[i] = rank;
    r->item_id[i] = it->id;
    r->path_score[i] = entry->path_score;
}

/* Make the rows of the selected items. The model's computation has evicted these data from the CPU caches, so each pass prefetches the
 * memory that the next pass reads: first beams, then hypothesis nodes, then the parents' nodes. */
static rill_status make_rows(rill_engine *e, timestep *t)
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
    RILL__TRY(timestep_reserve_rows(t, (size_t)live));
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
    return RILL_OK;
}

/* Assign nodes (ids of states) to the rows. */
static rill_status assign_nodes(rill_engine *e, timestep *t)
{
    const row_table *r = &t->rows;
    int grew;
    RILL__TRY(hyp_pool_reserve_nodes(&e->hyps, r->n, &grew));
    if (grew) RILL__TRY(engine_reserve_domain(e));
    FOR_VARIANTS (v, t->variants, before_step) RILL__TRY(v->before_step(e, t));
    hyp_pool_assign_nodes(&e->hyps, r->hyp, r->n, r->node);
    engine_use_reserved_nodes(t, r->n);
    return RILL_OK;
}

void engine_use_reserved_nodes(timestep *t, int64_t n)
{
    t->reserved_nodes -= t->reserved_nodes < n ? t->reserved_nodes : n;
}

/* Return rows [from, from + n) in the form that the domain sees. */
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

/* --- choices ------------------------------------------------------------------------------------------------------ */

rill_status engine_fail_choices(rill_engine *e, const timestep *t)
{
    const topk *last = &t->rounds[t->round].topk, *s = last->error != NULL ? last : &t->rounds[0].topk;
    const item *it = &e->items.item[t->rows.slot[s->error_row]];
    return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: choices of input %lld at timestep %d are %s", e->domain->name,
                     (long long)it->id, t->rows.depth[s->error_row], s->error);
}

static rill_status score_status(rill_engine *e, timestep *t, rill_status status)
{
    if (status == RILL_AGAIN && e->domain->collect == NULL)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN,
                         "domain %s: score() is asynchronous, but the domain has no "
                         "collect()",
                         e->domain->name);
    t->submitted = status == RILL_AGAIN;
    return status > 0 && !t->submitted ? RILL_OK : engine_domain_status(e, status, "score");
}

/* Score the next rows: as many rows as top-k selection processes in one call. */
static rill_status score_part(rill_engine *e, timestep *t)
{
    t->part_size = topk_request_part(&timestep_round(t)->topk, t->next_row, &t->request, &t->result);
    t->part_rows = engine_domain_rows(t, t->next_row, t->part_size);
    rill_error_clear(e->ctx);
    return score_status(e, t, e->domain->score(e->self, &t->part_rows, &t->request, &t->result));
}

static rill_status collect_part(rill_engine *e, timestep *t)
{
    t->submitted = 0;
    rill_error_clear(e->ctx);
    double start = statistics_clock();
    rill_status status = e->domain->collect(e->self, t->group);
    e->statistics.current.waited += statistics_clock() - start;
    if (status == RILL_AGAIN)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: collect() returned before the result was ready",
                         e->domain->name);
    return status > 0 ? RILL_OK : engine_domain_status(e, status, "collect");
}

/* For rows in which scorers forbade every action, record the scorer in the row's item, for the error message. */
static void note_blocked_rows(rill_engine *e, timestep *t)
{
    const int32_t *blamed = timestep_round(t)->modifier_table.blocked_by;
    for (int32_t i = t->next_row; blamed != NULL && i < t->next_row + t->part_size; i++)
        if (timestep_round(t)->topk.choices.count[i] == 0 && blamed[i] > 0)
            e->items.item[t->rows.slot[i]].blocked_by = blamed[i];
}

/* Fail the items in whose rows a choice has an infinite score, since the order of choices is then undefined. */
static rill_status fail_unbounded(rill_engine *e, timestep *t)
{
    choice_table *c = &timestep_round(t)->topk.choices;
    char message[200];
    for (int32_t i = t->next_row; timestep_round(t)->topk.is_unbounded && i < t->next_row + t->part_size; i++) {
        if (c->count[i] == 0 || c->score[(size_t)i * (size_t)c->stride] <= FLT_MAX) continue;
        const item *it = &e->items.item[t->rows.slot[i]];
        c->count[i] = 0;
        snprintf(message, sizeof message,
                 "%s %s: the score of a choice of input %lld at timestep %d is infinite "
                 "or NaN",
                 engine_scorer_label(e), e->chain.link[e->chain.n_heuristics].scorer->name, (long long)it->id,
                 t->rows.depth[i]);
        RILL__TRY(engine_fail_selected(e, t->rows.slot[i], RILL_ERR_PLUGIN, message));
    }
    return RILL_OK;
}

rill_status engine_score(rill_engine *e, timestep *t)
{
    for (;;) {
        rill_status status = t->submitted ? collect_part(e, t) : score_part(e, t);
        statistics_end_stage(&e->statistics, &e->statistics.current.score);
        if (status != RILL_OK) return status;
        const char *wrong = topk_take_result(&timestep_round(t)->topk, t->next_row, t->part_size,
                                             t->phase == e->info.phases - 1);
        if (wrong != NULL) return engine_fail_choices(e, t);
        RILL__TRY(fail_unbounded(e, t));
        note_blocked_rows(e, t);
        t->next_row += t->part_size;
        if (t->next_row >= t->rows.n) return RILL_OK;
        statistics_end_stage(&e->statistics, &e->statistics.current.select);
    }
}

void engine_collect_pending(rill_engine *e)
{
    /* copy of the error that may have ended the run, which collect_part() may overwrite */
    char why[RILL__MESSAGE_BYTES];
    const rill_status failed = rill_error_status(e->ctx);
    if (!e->timesteps[0].submitted && !e->timesteps[1].submitted) return;
    snprintf(why, sizeof why, "%s", rill_error(e->ctx));
    for (int i = 0; i < 2; i++)
        if (e->timesteps[i].submitted) collect_part(e, &e->timesteps[i]);
    if (failed < 0) rill_fail(e->ctx, failed, "%s", why);
}

rill_status engine_expand(rill_engine *e, timestep *t)
{
    RILL__TRY(make_rows(e, t));
    return engine_step_rows(e, t);
}

rill_status engine_step_rows(rill_engine *e, timestep *t)
{
    statistics *s = &e->statistics;
    RILL__TRY(assign_nodes(e, t));
    const rill_rows rows = engine_domain_rows(t, 0, t->rows.n);
    statistics_end_stage(s, &s->current.choose);
    rill_error_clear(e->ctx);
    RILL__TRY(engine_domain_status(e, e->domain->step(e->self, &rows), "step"));
    statistics_end_stage(s, &s->current.step);
    for (int32_t i = 0; i < t->rows.n; i++) hyp_pool_mark_stepped(&e->hyps, t->rows.hyp[i]);
    engine_free_nodes(e);
    RILL__TRY(engine_make_modifiers(e, t));
    RILL__TRY(topk_begin(&timestep_round(t)->topk, &timestep_round(t)->modifier_table, rows.n));
    statistics_end_stage(s, &s->current.scorers);
    t->next_row = 0;
    return RILL_OK;
}
