/* Tracing: calls the setup's trace function. All functions but tracer_item() are called only if there is one (`fn`), tracer_candidate()
 * and tracer_output() only with `with_hypotheses`. */
#ifndef RILL_TRACER_H
#define RILL_TRACER_H

#include "rill/stats.h"
#include "timestep.h"

typedef struct tracer {
    rill_trace_fn fn; /* NULL: no tracing */
    void *user;
    int32_t worker;       /* the engine's index among several workers */
    int32_t n_heuristics; /* heuristics of the chain */
    int with_hypotheses;  /* 1: trace every candidate; 0 without fn */
} tracer;

/* Record the beam width of each selected item: its live hypotheses before the timestep, all candidates after merging, and the
 * entries of the new beam. Call tracer_committed() before finished items free their slots. */
rill_status tracer_selected(const tracer *t, const items *all, timestep *step);
void tracer_merged(timestep *step);
void tracer_committed(const items *all, timestep *step);
/* Reserve memory for a phase's candidates before merging. */
rill_status tracer_reserve(timestep *step);
/* Record that heuristic `link` dropped candidate j of selected item i. */
void tracer_dropped(const tracer *t, timestep *step, int32_t link, int32_t i, int32_t j);
/* Record the rill_trace_fate of candidate j of selected item i. `rank`: its rank in the new beam, or -1. */
void tracer_candidate(timestep *step, int32_t i, int32_t j, int32_t rank, int32_t fate);
/* Record a child that merging made an output, so that it never became a candidate. */
void tracer_output(timestep *step, int32_t i, int32_t parent, int32_t action, double score);
/* Trace the end of timestep `number` of the run. `seconds`: since the end of the previous timestep. */
void tracer_timestep(const tracer *t, const timestep *step, int64_t number, const rill_seconds *seconds);
/* Trace that an item was admitted, finished or restarted in timestep `number`. */
void tracer_item(const tracer *t, rill_trace_kind kind, int64_t number, int32_t slot, const item *it,
                 rill_status status);

#endif
