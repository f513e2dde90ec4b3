/* Columns of a timestep's candidates; candidates.h. */
#include "candidates.h"

#define CARVE(member, n) c->member = rill_carve(carver, (n), sizeof *c->member)

void candidates_carve(candidates *c, rill_carver *carver, size_t items, size_t n)
{
    CARVE(offset, items + 1);
    CARVE(item_id, items);
    CARVE(k, items);
    CARVE(timestep, items);
    CARVE(n_outputs, items);
    CARVE(min_kept, items);
    CARVE(best_output_score, items);
    CARVE(best_path_score, items);
    CARVE(stop, items);
    CARVE(marked_width, items);
    CARVE(marked_stop, items);
    CARVE(instances, items);
    CARVE(part_offset, items + 1);
    CARVE(path_score, n);
    CARVE(action_logp, n);
    CARVE(action_score, n);
    CARVE(parent_rank, n);
    CARVE(group, n);
    CARVE(action, n);
    CARVE(hyp, n);
    CARVE(terminal, n);
    CARVE(ended, n);
    CARVE(keep, n);
}

static void move_candidate(candidates *c, int32_t to, int32_t from)
{
    if (to == from) return;
    c->path_score[to] = c->path_score[from];
    c->action_logp[to] = c->action_logp[from];
    c->action_score[to] = c->action_score[from];
    c->parent_rank[to] = c->parent_rank[from];
    c->group[to] = c->group[from];
    c->action[to] = c->action[from];
    c->hyp[to] = c->hyp[from];
    c->terminal[to] = c->terminal[from];
    c->ended[to] = c->ended[from];
}

/* Adjust `keep` of an item that would fall below its minimum number of candidates: the best dropped candidates are restored up to that
 * minimum, and no further candidate is kept. */
static void restore_min_kept(candidates *c, int32_t i, int32_t start, int32_t end)
{
    int32_t n_kept = 0, n_restored;
    for (int32_t j = start; j < end; j++) n_kept += c->keep[j];
    if (n_kept > c->marked_width[i]) n_kept = c->marked_width[i];
    n_restored = c->min_kept[i] - n_kept;
    if (n_restored <= 0) return;
    for (int32_t j = start, n_seen = 0; j < end; j++) {
        const int is_kept = c->keep[j] && n_seen < n_kept;
        n_seen += is_kept;
        c->keep[j] = (uint8_t)(is_kept || n_restored-- > 0);
    }
    c->marked_width[i] = INT32_MAX;
}

int64_t candidates_compact(candidates *c, int32_t link)
{
    int32_t to = 0, from = 0, old_n = c->n > 0 ? c->offset[c->n] : 0;
    for (int32_t i = 0; i < c->n; i++) {
        int32_t start = to, end = c->offset[i + 1];
        if (c->min_kept[i] > 0) restore_min_kept(c, i, from, end);
        for (; from < end; from++)
            if (c->keep[from] && to - start < c->marked_width[i])
                move_candidate(c, to++, from);
            else if (c->on_dropped != NULL)
                c->on_dropped(c->user, link, i, from);
        c->offset[i] = start;
    }
    c->offset[c->n] = to;
    return old_n - to;
}
