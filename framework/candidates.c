/* A timestep's candidates; candidates.h says what they are. */
#include "candidates.h"

#define CARVE(member, n) c->member = rill_carve(carver, (n), sizeof *c->member)

void candidates_lay_out(candidates *c, rill_carver *carver, size_t items, size_t n)
{
    CARVE(offset, items + 1);
    CARVE(item_id, items);
    CARVE(k, items);
    CARVE(timestep, items);
    CARVE(outputs, items);
    CARVE(least, items);
    CARVE(best_output, items);
    CARVE(best, items);
    CARVE(stop, items);
    CARVE(mark_width, items);
    CARVE(mark_stop, items);
    CARVE(instances, items);
    CARVE(part_offset, items + 1);
    CARVE(score, n);
    CARVE(action_logp, n);
    CARVE(action_score, n);
    CARVE(parent_rank, n);
    CARVE(group, n);
    CARVE(action, n);
    CARVE(history, n);
    CARVE(terminal, n);
    CARVE(ended, n);
    CARVE(keep, n);
}

static void move_candidate(candidates *c, int32_t to, int32_t from)
{
    if (to == from) return;
    c->score[to] = c->score[from];
    c->action_logp[to] = c->action_logp[from];
    c->action_score[to] = c->action_score[from];
    c->parent_rank[to] = c->parent_rank[from];
    c->group[to] = c->group[from];
    c->action[to] = c->action[from];
    c->history[to] = c->history[from];
    c->terminal[to] = c->terminal[from];
    c->ended[to] = c->ended[from];
}

/* Mark in `keep` what stays of an item where it was to have fewer than its least number: the best of those that were to go come
 * back, and whatever stays is no more than that number. */
static void spare(candidates *c, int32_t i, int32_t start, int32_t end)
{
    int32_t left = 0, back;
    for (int32_t j = start; j < end; j++) left += c->keep[j];
    if (left > c->mark_width[i]) left = c->mark_width[i];
    back = c->least[i] - left;
    if (back <= 0) return;
    for (int32_t j = start, kept = 0; j < end; j++) {
        const int stays = c->keep[j] && kept < left;
        kept += stays;
        c->keep[j] = (uint8_t)(stays || back-- > 0);
    }
    c->mark_width[i] = INT32_MAX;
}

int64_t candidates_compact(candidates *c, int32_t link)
{
    int32_t to = 0, from = 0, before = c->n > 0 ? c->offset[c->n] : 0;
    for (int32_t i = 0; i < c->n; i++) {
        int32_t start = to, end = c->offset[i + 1];
        if (c->least[i] > 0) spare(c, i, from, end);
        for (; from < end; from++)
            if (c->keep[from] && to - start < c->mark_width[i])
                move_candidate(c, to++, from);
            else if (c->lost != NULL)
                c->lost(c->user, link, i, from);
        c->offset[i] = start;
    }
    c->offset[c->n] = to;
    return before - to;
}
