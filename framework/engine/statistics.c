/* Counts a run's work and time for rill_stats; declared in engine_internal.h. */
#include <time.h>

#include "engine_internal.h"

double statistics_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void statistics_end_stage(statistics *s, double *stage)
{
    const double now = statistics_clock();
    *stage += now - s->stage_start;
    s->stage_start = now;
}

rill_status statistics_count_rows(statistics *s, const items *all, timestep *step)
{
    step->n_expanded = 0;
    for (int32_t i = 0; i < step->n; i++) {
        const item *it = &all->item[step->selected[i]];
        size_t depth = (size_t)it->timestep, old = s->n_depths;
        RILL__TRY(RILL__GROW(s->ctx, s->depth_width, s->n_depths, depth + 1, "counters"));
        memset(s->depth_width + old, 0, (s->n_depths - old) * sizeof *s->depth_width);
        s->depth_width[depth] += it->n_live;
        step->n_expanded += it->n_live;
    }
    s->total.expansions += step->n_expanded;
    return RILL_OK;
}

void statistics_sum_seconds(rill_seconds *sum, const rill_seconds *more)
{
    double *to = (double *)sum; /* the struct has only doubles */
    const double *from = (const double *)more;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) to[i] += from[i];
}

void statistics_count_output(statistics *s, const item_output *output, int change)
{
    s->total.outputs += change;
    s->total.truncated += output->truncated ? change : 0;
}

void statistics_remove_item(statistics *s, const item *it)
{
    for (int32_t i = 0; i < it->n_outputs; i++) statistics_count_output(s, &it->outputs[i], -1);
}

void statistics_add(rill_stats *sum, const rill_stats *s)
{
    const int64_t longest = s->longest_item_timesteps, old_longest = sum->longest_item_timesteps;
    /* all members except struct_size and `seconds` are counters of type int64_t (stats.h) */
    _Static_assert((sizeof *s - offsetof(rill_stats, inputs)) % sizeof(int64_t) == 0, "counters of type int64_t");
    for (size_t at = offsetof(rill_stats, inputs); at < sizeof *s; at += sizeof(int64_t))
        if (at < offsetof(rill_stats, seconds) || at >= offsetof(rill_stats, seconds) + sizeof s->seconds)
            *(int64_t *)(void *)((char *)sum + at) += *(const int64_t *)(const void *)((const char *)s + at);
    sum->longest_item_timesteps = longest > old_longest ? longest : old_longest;
    statistics_sum_seconds(&sum->seconds, &s->seconds);
}

/* Returns rill_stats.depth_bound, a lower bound on timesteps. budget: the budget of every timestep; 0: there is none, or it varies. */
static int64_t depth_bound(const statistics *s, int64_t budget)
{
    int64_t min_timesteps = 0;
    for (size_t d = 0; d < s->n_depths && budget > 0; d++) min_timesteps += (s->depth_width[d] + budget - 1) / budget;
    return min_timesteps;
}

void rill_engine_stats(const rill_engine *e, rill_stats *out)
{
    const hyp_pool *f = &e->hyps;
    const reorder_buffer *o = &e->queue->results;
    rill_stats all = e->statistics.total;
    size_t size = out->struct_size < sizeof all ? out->struct_size : sizeof all;
    all.struct_size = size;
    all.depth_bound = depth_bound(&e->statistics, e->schedule.budget == NULL ? e->settings.budget : 0);
    all.nodes_in_use = f->n_nodes;
    all.nodes_peak = f->nodes_peak;
    all.nodes_capacity = f->node_capacity;
    all.nodes_bound = e->memory_limit.max_nodes;
    all.histories_in_use = f->n_hyps;
    all.histories_peak = f->hyps_peak;
    all.histories_capacity = (int64_t)f->hyp_chunks * HYP_CHUNK;
    if (e->domain->graph_runs != NULL) e->domain->graph_runs(e->self, &all.graph_runs);
    all.inputs = o->n_results;
    all.failed = o->n_failed;
    all.waiting_peak = o->waiting_peak;
    memcpy(out, &all, size);
}
