/* Statistics: the counters and seconds of a run, and what the bound on a least-advanced schedule is made of. */
#ifndef RILL_STATISTICS_H
#define RILL_STATISTICS_H

#include <time.h>

#include "memory_limit.h"
#include "reorder_buffer.h"
#include "timestep.h"

typedef struct statistics {
    rill_context *ctx;
    rill_stats total;
    rill_seconds current;               /* of the present timestep */
    double timestep_start, stage_start; /* when it did, and when the stage that goes on did, by statistics_clock() */
    int64_t *depth_width;               /* [depths] W_d: live candidates expanded at depth d */
    size_t n_depths;
} statistics;

static inline double statistics_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What has gone by since the lap before is the stage's, and the next one begins: with a reading at each end of each stage a tenth of
 * what the engine takes was looking at the clock. */
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
/* An output that comes (1) or goes again (-1). */
void statistics_count_output(statistics *s, const item_output *output, int change);
/* An item leaves without its outputs, or begins anew. */
void statistics_remove_item(statistics *s, const item *it);
/* Write the first out->struct_size bytes of all that is known; `budget` is that of every timestep, or 0. */
void statistics_write(const statistics *s, const hyp_pool *f, const memory_limit *b, const reorder_buffer *o,
                      int64_t budget, rill_stats *out);

#endif
