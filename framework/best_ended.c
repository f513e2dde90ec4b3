/* The best hypothesis that ended, for the limit `best-ended`: the output of an item of whose ended ones none became an output.
 *
 * None having become one, all that ever ended were dropped: by width, by heuristics, by trimming, or as choices that merging did not come
 * to. So the best that was dropped is the best that there was, and it is enough to look at each ended choice once, where it comes up. The
 * best is by final rank; of equal ones the first timestep's, then the better parent's, then the better choice. */
#include "rooms.h"

/* One that ended: choice `next` of a row. */
typedef struct ended {
    item_output output;
    int32_t rank, row, next;
} ended;

/* The best choice of the row that ends, if it is better than *best. */
static void look_at_row(timestep *t, const item *it, int32_t rank, int32_t row, ended *best)
{
    selector_choice c;
    for (int32_t i = 0; timestep_look(t, row, i, &c); i++) {
        if (c.terminal == RILL_LIVE) continue;
        const item_output output = ending_output(it->settings, it->beam[rank].score + (double)c.score, -1,
                                                 it->timestep + (c.terminal == RILL_LAST), 0, c.terminal == RILL_END);
        if (best->row < 0 || output.rank > best->output.rank) *best = (ended){output, rank, row, i};
    }
}

static void take(rill_engine *e, const timestep *t, item *it, const ended *best)
{
    const selector_choice c = timestep_choice(t, best->row, best->next);
    const beam_entry *parent = &it->beam[best->rank];
    best_ended_drop(e, it);
    it->best_ended = best->output;
    it->best_ended.history = forest_add(&e->forest, &it->arena, parent->history, it->beam[parent->carrier].history,
                                        c.action, c.logp, c.score, 0);
}

void best_ended_look(rill_engine *e, timestep *t, item *it, const int32_t *rows, int32_t row)
{
    ended best = {.output = it->best_ended, .row = -1};
    if (it->settings->at_limit != RILL_LIMIT_BEST_ENDED || it->n_outputs > 0) return;
    for (int32_t rank = 0; rank < it->width; rank++) {
        if (it->beam[rank].ended) continue;
        const int32_t at = rows != NULL ? rows[rank] : row++;
        if (at != CUBE_NO_ROW) look_at_row(t, it, rank, at, &best);
    }
    if (best.row < 0 || (it->best_ended.history >= 0 && !(best.output.rank > it->best_ended.rank))) return;
    take(e, t, it, &best);
}

int best_ended_output(rill_engine *e, item *it)
{
    if (it->n_outputs > 0 || it->best_ended.history < 0) return 0;
    const item_output output = it->best_ended;
    it->best_ended.history = -1;
    engine_output(e, it, &output);
    return 1;
}

void best_ended_drop(rill_engine *e, item *it)
{
    if (it->best_ended.history >= 0) forest_release(&e->forest, &it->arena, it->best_ended.history);
    it->best_ended.history = -1;
}
