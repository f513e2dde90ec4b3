/* Committing: what survived becomes the new beam, or the item stops (steps 6 and 7 of "One timestep of one item, exactly").
 * ending.h has the rules.
 *
 * Divisions: histories · the pass. */
#include "rooms.h"

/* --- histories ---------------------------------------------------------------------------------------------------- */

/* The history of candidate j of the item, with a reference for the caller. An entry that waited hands its own over. */
static int32_t take_history(rill_engine *e, const candidates *c, item *it, int32_t j, int live)
{
    beam_entry *parent = &it->beam[c->parent_rank[j]];
    if (c->history[j] >= 0) {
        int32_t history = parent->history;
        parent->history = -1;
        return history;
    }
    return forest_add(&e->forest, &it->arena, parent->history, it->beam[parent->carrier].history, c->action[j],
                      c->action_logp[j], c->action_score[j], live);
}

/* Timesteps of candidate j, an end action not counted. Called before the item's timestep is counted. */
static int32_t length_of(const candidates *c, const beam_entry *before, const item *it, int32_t j)
{
    if (c->history[j] >= 0) return before[c->parent_rank[j]].length;
    return it->timestep + (c->terminal[j] != RILL_END);
}

/* An entry of the beam lets go of its history's node, where its kin has so many holds. */
static inline void release_node(forest *f, const beam_entry *entry, int32_t holds)
{
    if (!entry->ended && f->h[entry->history].internal[HISTORY_NODE] == FOREST_UNSTEPPED)
        forest_never_stepped(f, entry->history);
    else if (!entry->ended)
        forest_hold(f, entry->history, holds - 1);
}

void engine_release_beam(rill_engine *e, item *it)
{
    for (int32_t rank = 0; rank < it->width; rank++) {
        if (it->beam[rank].history < 0) continue;
        release_node(&e->forest, &it->beam[rank], 0);
        forest_release(&e->forest, &it->arena, it->beam[rank].history);
    }
}

/* The entries before let go of their histories, to which their kin is added; those of all items without any go together. */
static void release_before(rill_engine *e, timestep *t, item *it, int32_t width)
{
    forest *f = &e->forest;
    for (int32_t rank = 0; rank < width; rank++) {
        const beam_entry *entry = &t->beam[rank];
        const commit_kin kin = t->kin[rank];
        if (entry->history < 0) continue;
        release_node(f, entry, kin.holds);
        if (kin.refs == 0)
            t->leaving[t->n_leaving++] = (forest_leaving){&it->arena, entry->history};
        else
            f->h[entry->history].internal[HISTORY_REFS] += kin.refs - 1;
    }
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

/* Output candidates [first, end): the ended ones (1), the live ones (0) or both (-1). */
static void output_candidates(rill_engine *e, const candidates *c, item *it, int32_t first, int32_t end, int ended)
{
    for (int32_t j = first; j < end; j++) {
        if (ended >= 0 && c->ended[j] != ended) continue;
        c->keep[j] = 0;
        int32_t length = length_of(c, it->beam, it, j);
        int truncated = !c->ended[j];
        int counted = truncated ? it->settings->at_limit == RILL_LIMIT_END_FREE : c->terminal[j] == RILL_END;
        item_output output = ending_output(it->settings, c->score[j], take_history(e, c, it, j, 0), length, truncated,
                                           counted);
        engine_output(e, it, &output);
    }
}

static int any_ended(const candidates *c, int32_t first, int32_t end)
{
    for (int32_t j = first; j < end; j++)
        if (c->ended[j]) return 1;
    return 0;
}

static void stop_item(rill_engine *e, const candidates *c, item *it, ending why, int32_t first, int32_t end)
{
    const int32_t all = end;
    if (why != ENDING_ENOUGH && !any_ended(c, first, end) && best_ended_output(e, it)) end = first;
    for (int32_t j = end; e->settings.certify && j < all; j++) certify_candidate(c, it, j);
    if (why == ENDING_ALL) output_candidates(e, c, it, first, end, -1);
    if (why == ENDING_ASKED) {
        output_candidates(e, c, it, first, end, 1);
        if (it->n_outputs == 0) output_candidates(e, c, it, first, end, 0);
    }
    /* Live ones that a heuristic's wish cuts short may be outputs, and could have gone on. */
    for (int32_t j = first; e->settings.certify && why != ENDING_ALL && j < end; j++)
        if (why == ENDING_ENOUGH || !c->ended[j]) certify_candidate(c, it, j);
    best_ended_drop(e, it);
    engine_release_beam(e, it);
    it->width = it->live = 0;
}

/* Make candidate j the entry of a rank. What its history adds to those of the entries before is counted with their kin, so that each is
 * touched once. Returns whether it is a new one, to be counted too. */
static int renew_entry(rill_engine *e, timestep *t, item *it, int32_t j, int32_t rank)
{
    const candidates *c = &t->candidates;
    const beam_entry *before = t->beam;
    const int32_t from = c->parent_rank[j], ended = c->ended[j];
    beam_entry *made = &it->beam[rank];
    made->score = c->score[j];
    made->action = c->action[j];
    made->state_node = RILL_NO_NODE;
    made->action_logp = c->action_logp[j];
    made->group = c->group[j];
    made->length = ended ? length_of(c, before, it, j) : rank; /* of a live one: its carrier, itself */
    made->ended = ended ? c->terminal[j] : 0;
    t->kin[from].refs++;
    if (c->history[j] >= 0) {
        made->history = before[from].history;
        return 0;
    }
    const int32_t carrier = before[from].carrier, state = before[carrier].history;
    made->history = forest_put(&e->forest, &it->arena, before[from].history, state, c->action[j], c->action_logp[j],
                               c->action_score[j], !ended);
    if (carrier != from) t->kin[carrier].refs++;
    if (ended) return 1;
    t->kin[carrier].holds++;
    made->state_node = forest_node(&e->forest, state);
    return 1;
}

/* The entries before are copied rather than those that are made: what has just been written by fields is not there yet for a copy. */
static void renew_beam(rill_engine *e, timestep *t, item *it, int32_t first, int32_t end, int32_t live)
{
    const int32_t width = it->width;
    int32_t made = 0;
    if (width > 0) memcpy(t->beam, it->beam, (size_t)width * sizeof *t->beam);
    if (width > 0) memset(t->kin, 0, (size_t)width * sizeof *t->kin);
    for (int32_t j = first; j < end; j++) made += renew_entry(e, t, it, j, j - first);
    forest_count(&e->forest, &it->arena, made);
    release_before(e, t, it, width);
    it->width = end - first;
    it->live = live;
}

/* What became of the item's candidates: those from `end` on had no room. Where it stopped, outputs are marked. */
static void trace_fates(rill_engine *e, timestep *t, int32_t i, int32_t first, int32_t end, int stopped)
{
    const candidates *c = &t->candidates;
    for (int32_t j = first; j < c->offset[i + 1]; j++)
        if (j >= end)
            tracing_candidate(&e->tracing, t, i, j, -1, RILL_FATE_NO_ROOM);
        else if (stopped)
            tracing_candidate(&e->tracing, t, i, j, -1, c->keep[j] ? RILL_FATE_LEFT : RILL_FATE_OUTPUT);
        else
            tracing_candidate(&e->tracing, t, i, j, j - first, c->ended[j] ? RILL_FATE_WAITING : RILL_FATE_LIVE);
}

static void commit_item(rill_engine *e, timestep *t, int32_t i, int last)
{
    const candidates *c = &t->candidates;
    item *it = &e->items.at[t->selected[i]];
    int32_t first = c->offset[i], end = first + ending_width(it, c->offset[i + 1] - first), live = 0;
    double best_live = RILL_SCORE_DEAD; /* scores of candidates are finite */
    for (int32_t j = end - 1; j >= first; j--) {
        if (c->ended[j]) continue;
        best_live = c->score[j];
        live++;
    }
    for (int32_t j = end; e->settings.certify && j < c->offset[i + 1]; j++) certify_candidate(c, it, j);
    ending why = last ? ending_of_item(it, best_live, c->stop[i]) : ENDING_NOT;
    for (int32_t j = first; e->tracing.hypotheses && j < end; j++) c->keep[j] = 1;
    if (why != ENDING_NOT) {
        stop_item(e, c, it, why, first, end);
        e->items.done[t->selected[i]] = 1;
    } else {
        renew_beam(e, t, it, first, end, live);
    }
    if (e->tracing.hypotheses) trace_fates(e, t, i, first, end, why != ENDING_NOT);
    if (e->settings.certify) certify_phase(&e->chain, it, e->info.phases);
    it->stop_asked = !last && c->stop[i];
    if (last) it->timestep++;
}

rill_status engine_commit(rill_engine *e, timestep *t, int last)
{
    const candidates *c = &t->candidates;
    for (int32_t i = 0; i < t->n; i++) {
        item *it = &e->items.at[t->selected[i]];
        RILL__TRY(RILL__GROW(e->ctx, it->beam, it->beam_capacity, (size_t)(c->offset[i + 1] - c->offset[i]), "a beam"));
    }
    RILL__TRY(forest_reserve_histories(&e->forest, c->offset[t->n], t->n));
    t->n_leaving = 0;
    for (int32_t i = 0; i < t->n; i++)
        if (e->items.at[t->selected[i]].exact.on)
            RILL__TRY(engine_exact_commit(e, t, t->selected[i], last));
        else
            commit_item(e, t, i, last);
    forest_release_all(&e->forest, t->leaving, t->n_leaving);
    return RILL_OK;
}
