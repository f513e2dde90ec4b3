/* Committing: what survived becomes the new beam, or the item stops (steps 6 and 7 of "One timestep of one item, exactly").
 *
 * Order of the stop rules: enough outputs (by the setting `stop`), and nothing more is output; nothing live, or the length
 * limit, and what is left in the beam is output in rank order, live ones as truncated; a heuristic's wish, and the ended ones
 * are output, the live ones only if the item would have no output at all. At the limit "first" the limit comes before all.
 *
 * Divisions: histories · stopping · the pass. */
#include <string.h>

#include "engine_private.h"

/* --- histories ---------------------------------------------------------------------------------------------------- */

/* The history of candidate j of the item, with a reference for the caller. An entry that waited hands its own over. */
static int32_t take_history(rill_engine *e, item *it, int32_t j, int live)
{
    const candidates *c = &e->candidates;
    beam_entry *parent = &it->beam[c->parent_rank[j]];
    if (c->history[j] >= 0) {
        int32_t history = parent->history;
        parent->history = -1;
        return history;
    }
    return forest_add(&e->forest, &it->arena, parent->history, parent->history, c->action[j], c->action_logp[j],
                      c->action_score[j], live);
}

/* Timesteps of candidate j, an end action not counted. Called before the item's timestep is counted. */
static int32_t length_of(const rill_engine *e, const item *it, int32_t j)
{
    const candidates *c = &e->candidates;
    if (c->history[j] >= 0) return it->beam[c->parent_rank[j]].length;
    return it->timestep + (c->terminal[j] != RILL_END);
}

/* The old beam lets go of what was not handed over. */
static void release_beam(rill_engine *e, item *it)
{
    for (int32_t rank = 0; rank < it->width; rank++) {
        const beam_entry *entry = &it->beam[rank];
        if (entry->history < 0) continue;
        if (!entry->ended) forest_unhold(&e->forest, entry->history);
        forest_release(&e->forest, &it->arena, entry->history);
    }
}

/* --- stopping ----------------------------------------------------------------------------------------------------- */

typedef enum stop_kind { STOP_NOT, STOP_ENOUGH, STOP_ALL, STOP_ASKED } stop_kind;

/* What the best live candidate would rank as if it ended now, or, where length pays, at the limit. */
static double best_to_come(const rill_engine *e, const item *it, double best_live)
{
    int32_t length = it->timestep + 1;
    if (e->settings.stop == RILL_STOP_BOUND_MAX && e->settings.length_penalty > 0)
        length = it->max_length + (e->settings.at_limit >= RILL_LIMIT_END);
    return engine_rank(e, best_live, length);
}

static int has_enough(const rill_engine *e, const item *it, double best_live)
{
    int32_t enough = e->settings.stop_after;
    if (it->n_outputs < enough) return 0;
    switch ((rill_stop)e->settings.stop) {
    case RILL_STOP_TOP: return it->top_ended;
    case RILL_STOP_BOUND:
    case RILL_STOP_BOUND_MAX:
        return !(best_to_come(e, it, best_live) > engine_output_rank(e, &it->outputs[enough - 1]));
    case RILL_STOP_COUNT: break;
    }
    return 1;
}

int engine_last_timestep(const rill_engine *e, const item *it)
{
    int32_t more = e->settings.at_limit == RILL_LIMIT_END;
    return it->timestep + 1 - more >= it->max_length;
}

static stop_kind why_stop(const rill_engine *e, const item *it, int32_t i, double best_live)
{
    int none = best_live == RILL_SCORE_DEAD, over = engine_last_timestep(e, it);
    if (over && e->settings.at_limit == RILL_LIMIT_FIRST) return STOP_ALL;
    if (has_enough(e, it, best_live)) return STOP_ENOUGH;
    if (none || over) return STOP_ALL;
    return e->candidates.stop[i] ? STOP_ASKED : STOP_NOT;
}

static void output_candidates(rill_engine *e, item *it, int32_t first, int32_t end, int ended)
{
    const candidates *c = &e->candidates;
    for (int32_t j = first; j < end; j++) {
        if (ended >= 0 && c->ended[j] != ended) continue;
        int32_t length = length_of(e, it, j), truncated = !c->ended[j];
        int counted = truncated ? e->settings.at_limit == RILL_LIMIT_END_FREE : c->terminal[j] == RILL_END;
        engine_output(
            e, it,
            &(item_output){c->score[j], take_history(e, it, j, 0), length, (uint8_t)truncated, (uint8_t)counted});
    }
}

static void stop_item(rill_engine *e, item *it, stop_kind why, int32_t first, int32_t end)
{
    if (why == STOP_ALL) output_candidates(e, it, first, end, -1);
    if (why == STOP_ASKED) {
        output_candidates(e, it, first, end, 1);
        if (it->n_outputs == 0) output_candidates(e, it, first, end, 0);
    }
    release_beam(e, it);
    it->width = it->live = 0;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

static void renew_beam(rill_engine *e, item *it, int32_t first, int32_t end, int32_t live)
{
    const candidates *c = &e->candidates;
    for (int32_t j = first; j < end; j++) {
        int32_t length = c->ended[j] ? length_of(e, it, j) : 0, parent = it->beam[c->parent_rank[j]].history;
        e->beam_scratch[j - first] = (beam_entry){
            .score = c->score[j],
            .action = c->action[j],
            .state_row = c->ended[j] ? RILL_NO_NODE : forest_row(&e->forest, parent),
            .history = take_history(e, it, j, !c->ended[j]),
            .action_logp = c->action_logp[j],
            .length = length,
            .ended = c->ended[j] ? c->terminal[j] : 0,
        };
    }
    release_beam(e, it);
    it->width = end - first;
    it->live = live;
    if (it->width > 0) memcpy(it->beam, e->beam_scratch, (size_t)it->width * sizeof *it->beam);
}

static int32_t trimmed_width(const rill_engine *e, const item *it, int32_t width)
{
    int32_t most = e->settings.k;
    if (e->settings.finish != RILL_FINISH_IMMEDIATE) most -= it->n_outputs;
    if (most < 0) most = 0;
    return width < most ? width : most;
}

static void commit_item(rill_engine *e, int32_t i, int last)
{
    const candidates *c = &e->candidates;
    item *it = &e->items[e->selected[i]];
    int32_t first = c->offset[i], end = first + trimmed_width(e, it, c->offset[i + 1] - first), live = 0;
    double best_live = RILL_SCORE_DEAD; /* scores of candidates are finite */
    for (int32_t j = end - 1; j >= first; j--) {
        if (c->ended[j]) continue;
        best_live = c->score[j];
        live++;
    }
    stop_kind why = last ? why_stop(e, it, i, best_live) : STOP_NOT;
    if (why != STOP_NOT) {
        stop_item(e, it, why, first, end);
        e->done[e->selected[i]] = 1;
    } else {
        renew_beam(e, it, first, end, live);
    }
    it->stop_asked = !last && c->stop[i];
    if (last) it->timestep++;
}

rill_status engine_commit(rill_engine *e, int32_t n, int32_t last)
{
    const candidates *c = &e->candidates;
    int32_t widest = 0;
    for (int32_t i = 0; i < n; i++) {
        item *it = &e->items[e->selected[i]];
        int32_t width = c->offset[i + 1] - c->offset[i];
        if (width > widest) widest = width;
        RILL__TRY(RILL__GROW(e->ctx, it->beam, it->beam_capacity, (size_t)width, "a beam"));
    }
    RILL__TRY(RILL__GROW(e->ctx, e->beam_scratch, e->beam_scratch_capacity, (size_t)widest, "a beam"));
    RILL__TRY(forest_reserve_histories(&e->forest, c->offset[n], n));
    for (int32_t i = 0; i < n; i++) commit_item(e, i, last);
    return RILL_OK;
}
