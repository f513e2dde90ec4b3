/* Tracing; tracing.h. */
#include "tracing.h"

rill_status tracing_selected(const tracing *t, const items *all, timestep *step)
{
    trace_columns *c = &step->trace;
    const rill_array columns[] = {RILL_ARRAY(c->before), RILL_ARRAY(c->merged), RILL_ARRAY(c->after),
                                  RILL_ARRAY(c->depth), RILL_ARRAY(c->id)};
    if (t->fn == NULL) return RILL_OK;
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
                                       .group = step->group});
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
