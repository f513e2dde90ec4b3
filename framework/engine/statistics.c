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

void statistics_finish(statistics *s)
{
    rill_free(s->ctx, s->depth_width, s->n_depths * sizeof *s->depth_width);
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
    sum->encode += more->encode;
    sum->step += more->step;
    sum->score += more->score;
    sum->scorers += more->scorers;
    sum->choose += more->choose;
    sum->select += more->select;
    sum->prune += more->prune;
    sum->commit += more->commit;
    sum->finalize += more->finalize;
    sum->total += more->total;
    sum->waited += more->waited;
    sum->hidden += more->hidden;
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

static int64_t max_int64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void statistics_add(rill_stats *sum, const rill_stats *s)
{
    sum->timesteps += s->timesteps;
    sum->expansions += s->expansions;
    sum->refills += s->refills;
    sum->longest_item_timesteps = max_int64(sum->longest_item_timesteps, s->longest_item_timesteps);
    sum->candidates += s->candidates;
    sum->pruned += s->pruned;
    sum->outputs += s->outputs;
    sum->truncated += s->truncated;
    sum->passed_over_first += s->passed_over_first;
    sum->depth_bound += s->depth_bound;
    sum->nodes_in_use += s->nodes_in_use;
    sum->nodes_peak += s->nodes_peak;
    sum->nodes_capacity += s->nodes_capacity;
    sum->histories_in_use += s->histories_in_use;
    sum->histories_peak += s->histories_peak;
    sum->histories_capacity += s->histories_capacity;
    sum->items_peak += s->items_peak;
    sum->restarted += s->restarted;
    sum->cube_hypotheses += s->cube_hypotheses;
    sum->cube_classes += s->cube_classes;
    sum->certified += s->certified;
    sum->exact_rows += s->exact_rows;
    sum->cube_rescored += s->cube_rescored;
    sum->graph_runs.direct += s->graph_runs.direct;
    sum->graph_runs.captured += s->graph_runs.captured;
    sum->graph_runs.replayed += s->graph_runs.replayed;
    sum->graph_runs.evicted += s->graph_runs.evicted;
    statistics_sum_seconds(&sum->seconds, &s->seconds);
}

/* Return the lower bound on the number of timesteps, rill_stats.depth_bound; 0: there is no budget. */
static int64_t depth_bound(const statistics *s, int64_t budget)
{
    int64_t min_timesteps = 0;
    for (size_t d = 0; d < s->n_depths && budget > 0; d++) min_timesteps += (s->depth_width[d] + budget - 1) / budget;
    return min_timesteps;
}

void statistics_write(const statistics *s, const hyp_pool *f, const memory_limit *b, const reorder_buffer *o,
                      int64_t budget, const rill_graph_runs *graph_runs, rill_stats *out)
{
    rill_stats all = s->total;
    size_t size = out->struct_size < sizeof all ? out->struct_size : sizeof all;
    all.struct_size = size;
    all.depth_bound = depth_bound(s, budget);
    all.nodes_in_use = f->n_nodes;
    all.nodes_peak = f->nodes_peak;
    all.nodes_capacity = f->node_capacity;
    all.nodes_bound = b->max_nodes;
    all.histories_in_use = f->n_hyps;
    all.histories_peak = f->hyps_peak;
    all.histories_capacity = (int64_t)f->hyp_chunks * HYP_CHUNK;
    all.graph_runs = *graph_runs;
    all.inputs = o->n_results;
    all.failed = o->n_failed;
    all.waiting_peak = o->waiting_peak;
    memcpy(out, &all, size);
}
