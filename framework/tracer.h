/* Tracing: the events that the setup's trace function is told. Without one nothing is collected. */
#ifndef RILL_TRACER_H
#define RILL_TRACER_H

#include "rill/stats.h"
#include "timestep.h"

typedef struct tracer {
    rill_trace_fn fn; /* NULL: none of the calls below does anything */
    void *user;
    int32_t worker;       /* the engine's number among several */
    int32_t n_heuristics; /* heuristics of the chain */
    int with_hypotheses;  /* every candidate is told */
} tracer;

/* The selected items as they are now; once they are merged; and before finished items give up their slots. Widths before are of
 * live candidates, those after merging and after the timestep of all. */
rill_status tracer_selected(const tracer *t, const items *all, timestep *step);
void tracer_merged(const tracer *t, timestep *step);
void tracer_committed(const tracer *t, const items *all, timestep *step);
/* Room for what becomes of the phase's candidates, before any of them is made. */
rill_status tracer_reserve(const tracer *t, timestep *step);
/* Heuristic `link` drops candidate j of item i. */
void tracer_dropped(const tracer *t, timestep *step, int32_t link, int32_t i, int32_t j);
/* What became of candidate j of item i: its rank in the new beam, or -1. */
void tracer_candidate(const tracer *t, timestep *step, int32_t i, int32_t j, int32_t rank, int32_t fate);
/* A hypothesis left as an output before it was a candidate. */
void tracer_output(const tracer *t, timestep *step, int32_t i, int32_t parent, int32_t action, double score);
/* The timestep is over: its number, and the seconds since the last one was. */
void tracer_timestep(const tracer *t, const timestep *step, int64_t number, const rill_seconds *seconds);
/* In timestep `number` an item joined the flight, or left it, for good or to begin anew. */
void tracer_item(const tracer *t, rill_trace_kind kind, int64_t number, int32_t slot, const item *it,
                 rill_status status);

#endif
