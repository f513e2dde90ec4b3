/* Tracing: calls the setup's trace function. Without one nothing is collected. */
#ifndef RILL_TRACER_H
#define RILL_TRACER_H

#include "rill/stats.h"
#include "timestep.h"

typedef struct tracer {
    rill_trace_fn fn; /* NULL: the calls below do nothing */
    void *user;
    int32_t worker;       /* the engine's index among several workers */
    int32_t n_heuristics; /* heuristics of the chain */
    int with_hypotheses;  /* trace every candidate */
} tracer;

/* Record the selected items' widths: before the timestep, after merging, and before finished items free their slots. The first counts
 * live candidates, the others all. */
rill_status tracer_selected(const tracer *t, const items *all, timestep *step);
void tracer_merged(const tracer *t, timestep *step);
void tracer_committed(const tracer *t, const items *all, timestep *step);
/* Reserve memory for a phase's candidates before merging. */
rill_status tracer_reserve(const tracer *t, timestep *step);
/* Heuristic `link` drops candidate j of item i. */
void tracer_dropped(const tracer *t, timestep *step, int32_t link, int32_t i, int32_t j);
/* Record the fate of candidate j of item i: its rank in the new beam, or -1. */
void tracer_candidate(const tracer *t, timestep *step, int32_t i, int32_t j, int32_t rank, int32_t fate);
/* A hypothesis became an output before it was a candidate. */
void tracer_output(const tracer *t, timestep *step, int32_t i, int32_t parent, int32_t action, double score);
/* End of the timestep: its number, and the seconds since the previous one ended. */
void tracer_timestep(const tracer *t, const timestep *step, int64_t number, const rill_seconds *seconds);
/* Trace that an item was admitted, finished or restarted in timestep `number`. */
void tracer_item(const tracer *t, rill_trace_kind kind, int64_t number, int32_t slot, const item *it,
                 rill_status status);

#endif
