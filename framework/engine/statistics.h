/* Statistics: the counters and seconds of a run, and the lower bound on the timesteps of a least-advanced schedule. */
#ifndef RILL_STATISTICS_H
#define RILL_STATISTICS_H

#include <time.h>

#include "memory_limit.h"
#include "reorder_buffer.h"
#include "timestep.h"

typedef struct statistics {
    rill_context *ctx;
    rill_stats total;
    rill_seconds current; /* seconds of the current timestep */
    /* start times of the timestep and of the current stage, by statistics_clock() */
    double timestep_start, stage_start;
    int64_t *depth_width; /* [n_depths] live candidates expanded at depth d: W_d of rill_stats.depth_bound */
    size_t n_depths;
} statistics;

static inline double statistics_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* End a stage: add the time since the previous stage ended to *stage. The next stage starts now. (Reading the clock at
 * both ends of each stage took a tenth of the engine's time.) */
static inline void statistics_end_stage(statistics *s, double *stage)
{
    const double now = statistics_clock();
    *stage += now - s->stage_start;
    s->stage_start = now;
}

void statistics_finish(statistics *s);
/* Count the live candidates of the selected items. */
rill_status statistics_count_rows(statistics *s, const items *all, timestep *step);
void statistics_sum_seconds(rill_seconds *sum, const rill_seconds *more);
/* Count an output that was added (1) or dropped (-1). */
void statistics_count_output(statistics *s, const item_output *output, int change);
/* Subtract an item's outputs from the counts, since the item leaves without outputs, or restarts. */
void statistics_remove_item(statistics *s, const item *it);
/* Write the first out->struct_size bytes of the statistics. `budget`: the budget of every timestep; 0: none, or it varies. */
void statistics_write(const statistics *s, const hyp_pool *f, const memory_limit *b, const reorder_buffer *o,
                      int64_t budget, rill_stats *out);

#endif
