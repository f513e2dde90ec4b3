/* Records what each timestep does, and passes it to the user's trace function; declared in engine_internal.h. */
#include "engine_internal.h"

rill_status tracer_selected(const tracer *t, const items *all, timestep *step)
{
    trace_columns *c = &step->trace;
    const rill_array columns[] = {RILL_ARRAY(c->old_width), RILL_ARRAY(c->merged_width), RILL_ARRAY(c->new_width),
                                  RILL_ARRAY(c->depth), RILL_ARRAY(c->id)};
    c->n_hypotheses = 0;
    RILL__TRY(
        RILL__GROW(step->ctx, c->dropped, c->dropped_capacity, (size_t)step->n * (size_t)t->n_heuristics, "the trace"));
    if (t->n_heuristics > 0) memset(c->dropped, 0, (size_t)step->n * (size_t)t->n_heuristics * sizeof *c->dropped);
    RILL__TRY(RILL__GROW_COLUMNS(step->ctx, &c->memory, (size_t)step->n, columns, "the trace"));
    for (int32_t i = 0; i < step->n; i++) {
        const item *it = &all->item[step->selected[i]];
        c->old_width[i] = it->n_live;
        c->depth[i] = it->timestep;
        c->id[i] = it->id;
    }
    return RILL_OK;
}

void tracer_merged(timestep *step)
{
    const int32_t *offset = step->candidates.offset;
    for (int32_t i = 0; i < step->n; i++) step->trace.merged_width[i] = offset[i + 1] - offset[i];
}

rill_status tracer_reserve(timestep *step)
{
    trace_columns *c = &step->trace;
    return RILL__GROW(step->ctx, c->hypotheses, c->hypotheses_capacity,
                      (size_t)c->n_hypotheses + step->candidate_memory.capacity, "the trace");
}

void tracer_hypothesis(timestep *step, int32_t i, int32_t parent, int32_t rank, int32_t action, int32_t fate,
                       double score)
{
    trace_columns *c = &step->trace;
    if ((size_t)c->n_hypotheses < c->hypotheses_capacity)
        c->hypotheses[c->n_hypotheses++] = (rill_trace_hypothesis){i, step->phase, parent, rank, action, fate, score};
}

void tracer_candidate(timestep *step, int32_t i, int32_t j, int32_t rank, int32_t fate)
{
    const candidates *c = &step->candidates;
    tracer_hypothesis(step, i, c->parent_rank[j], rank, c->action[j], fate, c->path_score[j]);
}

void tracer_dropped(const tracer *t, timestep *step, int32_t link, int32_t i, int32_t j)
{
    step->trace.dropped[link * step->n + i]++;
    if (t->with_hypotheses) tracer_candidate(step, i, j, -1, link);
}

void tracer_committed(const items *all, timestep *step)
{
    for (int32_t i = 0; i < step->n; i++) step->trace.new_width[i] = all->item[step->selected[i]].width;
}

void tracer_timestep(const tracer *t, const timestep *step, int64_t number, const rill_seconds *seconds)
{
    const trace_columns *c = &step->trace;
    t->fn(t->user, &(rill_trace_event){.kind = RILL_TRACE_TIMESTEP,
                                       .timestep = number,
                                       .n = step->n,
                                       .in_flight = step->n_running,
                                       .rows = step->n_expanded,
                                       .items = c->id,
                                       .depths = c->depth,
                                       .widths_before = c->old_width,
                                       .widths_merged = c->merged_width,
                                       .widths_after = c->new_width,
                                       .seconds = *seconds,
                                       .worker = t->worker,
                                       .group = step->group,
                                       .links = t->n_heuristics,
                                       .dropped = c->dropped,
                                       .n_hypotheses = c->n_hypotheses,
                                       .hypotheses = c->hypotheses});
}

void tracer_item(const rill_engine *e, rill_trace_kind kind, int32_t slot, rill_status status)
{
    const item *it = &e->items.item[slot];
    if (e->tracer.fn == NULL) return;
    e->tracer.fn(e->tracer.user, &(rill_trace_event){.kind = kind,
                                                     .timestep = e->statistics.total.timesteps,
                                                     .item_id = it->id,
                                                     .slot = slot,
                                                     .item_timesteps = it->timestep,
                                                     .outputs = it->n_outputs,
                                                     .status = status,
                                                     .worker = e->tracer.worker});
}
