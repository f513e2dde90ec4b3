/* Statistics; statistics.h. */
#include "statistics.h"

void statistics_finish(statistics *s)
{
    rill_free(s->ctx, s->depth_width, s->depths * sizeof *s->depth_width);
}

rill_status statistics_expand(statistics *s, const items *all, timestep *step)
{
    step->expansions = 0;
    for (int32_t i = 0; i < step->n; i++) {
        const item *it = &all->at[step->selected[i]];
        size_t depth = (size_t)it->timestep, old = s->depths;
        RILL__TRY(RILL__GROW(s->ctx, s->depth_width, s->depths, depth + 1, "counters"));
        memset(s->depth_width + old, 0, (s->depths - old) * sizeof *s->depth_width);
        s->depth_width[depth] += it->live;
        step->expansions += it->live;
    }
    s->all.expansions += step->expansions;
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

void statistics_output(statistics *s, const item_output *output, int change)
{
    s->all.outputs += change;
    s->all.truncated += output->truncated ? change : 0;
}

void statistics_forget(statistics *s, const item *it)
{
    for (int32_t i = 0; i < it->n_outputs; i++) statistics_output(s, &it->outputs[i], -1);
}

static int64_t depth_bound(const statistics *s, int64_t budget)
{
    int64_t least = 0;
    for (size_t d = 0; d < s->depths && budget > 0; d++) least += (s->depth_width[d] + budget - 1) / budget;
    return least;
}

void statistics_write(const statistics *s, const forest *f, const bound *b, const outbox *o, int64_t budget,
                      rill_stats *out)
{
    rill_stats all = s->all;
    size_t size = out->struct_size < sizeof all ? out->struct_size : sizeof all;
    all.struct_size = size;
    all.depth_bound = depth_bound(s, budget);
    all.nodes_in_use = f->nodes;
    all.nodes_peak = f->nodes_peak;
    all.nodes_capacity = f->node_capacity;
    all.nodes_bound = b->nodes;
    all.histories_in_use = f->histories;
    all.histories_peak = f->histories_peak;
    all.histories_capacity = (int64_t)f->history_chunks * FOREST_CHUNK;
    all.waiting_peak = o->waiting_peak;
    memcpy(out, &all, size);
}
