/* At-limit "best-ended": an input that reaches the length limit without outputs gets its best hypothesis that ever ended.
 *
 * The best is the one with the higher final score, then the earlier timestep, the parent of better rank, the choice of better rank. */
#include "engine_internal.h"

/* An ended hypothesis: the beam entry at `rank`, extended by `choice`. */
typedef struct ended_hypothesis {
    item_output output;
    int32_t rank; /* rank of the parent in the input's beam; -1: there is no ended hypothesis */
    topk_choice choice;
} ended_hypothesis;

/* Replace *best by the hypothesis that `choice` makes of the beam entry at `rank`, if it has ended with a higher final score. */
static void compare_ended(const item *it, int32_t rank, topk_choice choice, ended_hypothesis *best)
{
    if (choice.terminal == RILL_LIVE) return;
    const item_output output = stop_child_output(it, it->beam[rank].path_score + (double)choice.score, choice.terminal);
    if (best->rank < 0 || output.final_score > best->output.final_score)
        *best = (ended_hypothesis){output, rank, choice};
}

/* Compare *best with the row's choices that end the hypothesis at `rank`: the two that topk.h keeps apart, or all in naive cube pruning.
 * Ties keep the first. */
static void scan_ended(timestep *t, const item *it, int32_t rank, int32_t row, ended_hypothesis *best)
{
    topk_choice c;
    const ended_choices apart = timestep_ended_choices(t, row);
    const topk_choice by_end = apart.by_end, by_last = apart.by_last;
    const int last_first = by_last.score > by_end.score ||
                           (by_last.score == by_end.score && by_last.action < by_end.action);
    const int reads_all = it->settings->cube == RILL_CUBE_NAIVE;
    for (int32_t i = 0; reads_all && timestep_next_choice(t, row, i, &c); i++) compare_ended(it, rank, c, best);
    compare_ended(it, rank, last_first ? by_last : by_end, best);
    compare_ended(it, rank, last_first ? by_end : by_last, best);
}

static void drop(rill_engine *e, item *it)
{
    if (it->best_ended.hyp >= 0) hyp_pool_release(&e->hyps, &it->arena, it->best_ended.hyp);
    it->best_ended.hyp = -1;
}

static void keep_ended(rill_engine *e, item *it, const ended_hypothesis *best)
{
    const topk_choice c = best->choice;
    const beam_entry *parent = &it->beam[best->rank];
    drop(e, it);
    it->best_ended = best->output;
    it->best_ended.hyp = hyp_pool_add(&e->hyps, &it->arena, parent->hyp, it->beam[parent->state_rank].hyp, c.action,
                                      c.logp, c.score, 0);
}

/* Update the input's best ended hypothesis from its rows. rows: [width] row of each beam entry; NULL: consecutive rows from `row` on. */
static void read_choices(rill_engine *e, timestep *t, item *it, const int32_t *rows, int32_t row)
{
    ended_hypothesis best = {.output = it->best_ended, .rank = -1};
    if (it->n_outputs > 0) return;
    for (int32_t rank = 0; rank < it->width; rank++) {
        if (it->beam[rank].ended) continue;
        const int32_t own_row = rows != NULL ? rows[rank] : row++;
        if (own_row != NO_ROW) scan_ended(t, it, rank, own_row, &best);
    }
    if (best.rank < 0 || (it->best_ended.hyp >= 0 && !(best.output.final_score > it->best_ended.final_score))) return;
    keep_ended(e, it, &best);
}

static int before_outputs(rill_engine *e, item *it, int needs_output)
{
    const item_output output = it->best_ended;
    const int is_used = needs_output && it->n_outputs == 0 && output.hyp >= 0;
    if (!is_used) drop(e, it);
    it->best_ended.hyp = -1;
    if (is_used) stop_add_output(e, it, output);
    return is_used;
}

const search_variant best_ended = {.name = "best-ended",
                                   .selected_by = {offsetof(rill_settings, at_limit), RILL_LIMIT_BEST_ENDED},
                                   .read_choices = read_choices,
                                   .before_outputs = before_outputs};
