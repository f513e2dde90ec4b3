/* Tracing; tracing.h. */
#include "tracing.h"

void tracing_finish(tracing *t)
{
    rill_columns_free(t->ctx, &t->memory);
}

rill_status tracing_selected(tracing *t, const items *all, const timestep *step)
{
    const rill_array columns[] = {RILL_ARRAY(t->before), RILL_ARRAY(t->merged), RILL_ARRAY(t->after),
                                  RILL_ARRAY(t->depth), RILL_ARRAY(t->id)};
    if (t->fn == NULL) return RILL_OK;
    RILL__TRY(
        rill_columns_grow(t->ctx, &t->memory, (size_t)step->n, columns, sizeof columns / sizeof *columns, "the trace"));
    for (int32_t i = 0; i < step->n; i++) {
        const item *it = &all->at[step->selected[i]];
        t->before[i] = it->live;
        t->depth[i] = it->timestep;
        t->id[i] = it->id;
    }
    return RILL_OK;
}

void tracing_merged(tracing *t, const timestep *step)
{
    const int32_t *offset = step->candidates.offset;
    if (t->fn == NULL) return;
    for (int32_t i = 0; i < step->n; i++) t->merged[i] = offset[i + 1] - offset[i];
}

void tracing_committed(tracing *t, const items *all, const timestep *step)
{
    if (t->fn == NULL) return;
    for (int32_t i = 0; i < step->n; i++) t->after[i] = all->at[step->selected[i]].width;
}

void tracing_timestep(const tracing *t, const timestep *step, int64_t number, int32_t in_flight, int64_t rows,
                      const rill_seconds *seconds)
{
    if (t->fn == NULL) return;
    t->fn(t->user, &(rill_trace_event){.kind = RILL_TRACE_TIMESTEP,
                                       .timestep = number,
                                       .n = step->n,
                                       .in_flight = in_flight,
                                       .rows = rows,
                                       .items = t->id,
                                       .depths = t->depth,
                                       .widths_before = t->before,
                                       .widths_merged = t->merged,
                                       .widths_after = t->after,
                                       .seconds = *seconds});
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
                                       .status = status});
}
