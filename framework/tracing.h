/* Tracing: the events that the setup's trace function is told. Without one nothing is collected. */
#ifndef RILL_TRACING_H
#define RILL_TRACING_H

#include "rill/stats.h"
#include "timestep.h"

typedef struct tracing {
    rill_context *ctx;
    rill_trace_fn fn; /* NULL: none of the calls below does anything */
    void *user;
    rill_columns memory; /* of the columns of one timestep */
    int32_t *before, *merged, *after, *depth;
    int64_t *id;
    int32_t worker; /* the engine's number among several */
} tracing;

void tracing_finish(tracing *t);
/* The selected items as they are now; once they are merged; and before finished items give up their slots. Widths before are of
 * live candidates, those after merging and after the timestep of all. */
rill_status tracing_selected(tracing *t, const items *all, const timestep *step);
void tracing_merged(tracing *t, const timestep *step);
void tracing_committed(tracing *t, const items *all, const timestep *step);
/* The timestep is over: number, items in flight before it, rows of its first phase, seconds. */
void tracing_timestep(const tracing *t, const timestep *step, int64_t number, int32_t in_flight, int64_t rows,
                      const rill_seconds *seconds);
/* In timestep `number` an item joined the flight, or left it, for good or to begin anew. */
void tracing_item(const tracing *t, rill_trace_kind kind, int64_t number, int32_t slot, const item *it,
                  rill_status status);

#endif
