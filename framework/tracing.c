/* Tracing; tracing.h. */
#include "tracing.h"

#include <string.h>

rill_status tracing_selected(const tracing *t, const items *all, timestep *step)
{
    trace_columns *c = &step->trace;
    const rill_array columns[] = {RILL_ARRAY(c->before), RILL_ARRAY(c->merged), RILL_ARRAY(c->after),
                                  RILL_ARRAY(c->depth), RILL_ARRAY(c->id)};
    if (t->fn == NULL) return RILL_OK;
    c->n_hypotheses = 0;
    RILL__TRY(RILL__GROW(step->ctx, c->dropped, c->dropped_room, (size_t)step->n * (size_t)t->links, "the trace"));
    if (t->links > 0) memset(c->dropped, 0, (size_t)step->n * (size_t)t->links * sizeof *c->dropped);
    RILL__TRY(rill_columns_grow(step->ctx, &c->memory, (size_t)step->n, columns, sizeof columns / sizeof *columns,
                                "the trace"));
    for (int32_t i = 0; i < step->n; i++) {
        const item *it = &all->at[step->selected[i]];
        c->before[i] = it->live;
        c->depth[i] = it->timestep;
        c->id[i] = it->id;
    }
    return RILL_OK;
}

void tracing_merged(const tracing *t, timestep *step)
{
    const int32_t *offset = step->candidates.offset;
    if (t->fn == NULL) return;
    for (int32_t i = 0; i < step->n; i++) step->trace.merged[i] = offset[i + 1] - offset[i];
}

rill_status tracing_reserve(const tracing *t, timestep *step)
{
    trace_columns *c = &step->trace;
    if (t->fn == NULL || !t->hypotheses) return RILL_OK;
    return RILL__GROW(step->ctx, c->hypothesis, c->hypothesis_room, (size_t)c->n_hypotheses + step->room.candidates,
                      "the trace");
}

static void add(timestep *step, const rill_trace_hypothesis *h)
{
    trace_columns *c = &step->trace;
    if ((size_t)c->n_hypotheses < c->hypothesis_room) c->hypothesis[c->n_hypotheses++] = *h;
}

void tracing_candidate(const tracing *t, timestep *step, int32_t i, int32_t j, int32_t rank, int32_t fate)
{
    const candidates *c = &step->candidates;
    if (t->fn == NULL || !t->hypotheses) return;
    add(step, &(rill_trace_hypothesis){.item = i,
                                       .phase = step->phase,
                                       .parent = c->parent_rank[j],
                                       .rank = rank,
                                       .action = c->action[j],
                                       .fate = fate,
                                       .score = c->score[j]});
}

void tracing_dropped(const tracing *t, timestep *step, int32_t link, int32_t i, int32_t j)
{
    if (t->fn == NULL) return;
    step->trace.dropped[link * step->n + i]++;
    tracing_candidate(t, step, i, j, -1, link);
}

void tracing_output(const tracing *t, timestep *step, int32_t i, int32_t parent, int32_t action, double score)
{
    if (t->fn == NULL || !t->hypotheses) return;
    add(step, &(rill_trace_hypothesis){.item = i,
                                       .phase = step->phase,
                                       .parent = parent,
                                       .rank = -1,
                                       .action = action,
                                       .fate = RILL_FATE_OUTPUT,
                                       .score = score});
}

void tracing_committed(const tracing *t, const items *all, timestep *step)
{
    if (t->fn == NULL) return;
    for (int32_t i = 0; i < step->n; i++) step->trace.after[i] = all->at[step->selected[i]].width;
}

void tracing_timestep(const tracing *t, const timestep *step, int64_t number, const rill_seconds *seconds)
{
    const trace_columns *c = &step->trace;
    if (t->fn == NULL) return;
    t->fn(t->user, &(rill_trace_event){.kind = RILL_TRACE_TIMESTEP,
                                       .timestep = number,
                                       .n = step->n,
                                       .in_flight = step->in_flight,
                                       .rows = step->expansions,
                                       .items = c->id,
                                       .depths = c->depth,
                                       .widths_before = c->before,
                                       .widths_merged = c->merged,
                                       .widths_after = c->after,
                                       .seconds = *seconds,
                                       .worker = t->worker,
                                       .group = step->group,
                                       .links = t->links,
                                       .dropped = c->dropped,
                                       .n_hypotheses = c->n_hypotheses,
                                       .hypotheses = c->hypothesis});
}

void tracing_item(const tracing *t, rill_trace_kind kind, int64_t number, int32_t slot, const item *it,
                  rill_status status)
{
    if (t->fn == NULL) return;
    t->fn(t->user, &(rill_trace_event){.kind = kind,
                                       .timestep = number,
                                       .item_id = it->id,
                                       .slot = slot,
                                       .item_timesteps = it->timestep,
                                       .outputs = it->n_outputs,
                                       .status = status,
                                       .worker = t->worker});
}
