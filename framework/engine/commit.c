/* Ends a phase: the remaining candidates become the new beam, or the search stops. Steps 6 and 7 of "One timestep of one item, exactly"
 * (docs/algorithms.md). */
#include "engine_internal.h"

/* --- taking and releasing hypotheses ------------------------------------------------------------------------------ */

/* Returns candidate j's hypothesis, with a reference that the caller owns. A candidate that was in the beam before passes on its entry's
 * reference. */
static int32_t take_hyp(rill_engine *e, const candidates *c, item *it, int32_t j)
{
    beam_entry *parent = &it->beam[c->parent_rank[j]];
    if (c->hyp[j] >= 0) {
        int32_t hyp = parent->hyp;
        parent->hyp = -1;
        return hyp;
    }
    return hyp_pool_add(&e->hyps, &it->arena, parent->hyp, it->beam[parent->state_rank].hyp, c->action[j],
                        c->action_logp[j], c->action_score[j], 0);
}

/* Release an old beam entry's reference to its state (HYP_HOLDS, hyp_pool.h). holds: children in the new beam that need the state. */
static inline void release_node(hyp_pool *f, const beam_entry *entry, int32_t holds)
{
    if (!entry->ended && f->hyp[entry->hyp].internal[HYP_NODE] == HYP_NOT_STEPPED)
        hyp_pool_skip_step(f, entry->hyp);
    else if (!entry->ended)
        hyp_pool_add_holds(f, entry->hyp, holds - 1);
}

void engine_release_beam(rill_engine *e, item *it)
{
    for (int32_t rank = 0; rank < it->width; rank++) {
        if (it->beam[rank].hyp < 0) continue;
        release_node(&e->hyps, &it->beam[rank], 0);
        hyp_pool_release(&e->hyps, &it->arena, it->beam[rank].hyp);
    }
    it->width = it->n_live = 0;
}

/* --- committing the new beams ------------------------------------------------------------------------------------- */

/* Make outputs of the candidates [first, end). ended: 1: ended ones; 0: live ones; -1: all. */
static void output_candidates(rill_engine *e, const candidates *c, item *it, int32_t first, int32_t end, int ended)
{
    for (int32_t j = first; j < end; j++) {
        if (ended >= 0 && c->ended[j] != ended) continue;
        c->keep[j] = 0;
        item_output output = stop_candidate_output(it, c, j);
        output.hyp = take_hyp(e, c, it, j);
        stop_add_output(e, it, output);
    }
}

int engine_before_outputs(rill_engine *e, item *it, int needs_output)
{
    int is_made = 0;
    FOR_VARIANTS (v, it->variants, before_outputs) is_made |= v->before_outputs(e, it, needs_output && !is_made);
    return is_made;
}

static int any_ended(const candidates *c, int32_t first, int32_t end)
{
    for (int32_t j = first; j < end; j++)
        if (c->ended[j]) return 1;
    return 0;
}

/* Stop an item: make outputs of its candidates [first, end) as `reason` requires, and drop its other candidates and its beam. */
static void stop_item(rill_engine *e, const candidates *c, item *it, stop_reason reason, int32_t first, int32_t end)
{
    const int32_t all = end;
    if (it->variants != 0 && engine_before_outputs(e, it, reason != STOP_ENOUGH && !any_ended(c, first, end)))
        end = first;
    for (int32_t j = end; e->settings.certify && j < all; j++) stop_abandon_candidate(c, it, j);
    if (reason == STOP_OUTPUT_ALL) output_candidates(e, c, it, first, end, -1);
    if (reason == STOP_REQUESTED) {
        output_candidates(e, c, it, first, end, 1);
        if (it->n_outputs == 0) output_candidates(e, c, it, first, end, 0);
    }
    /* for certificates: live candidates are recorded as abandoned even if they became outputs, because they could have continued */
    for (int32_t j = first; e->settings.certify && reason != STOP_OUTPUT_ALL && j < end; j++)
        if (reason == STOP_ENOUGH || !c->ended[j]) stop_abandon_candidate(c, it, j);
    engine_release_beam(e, it);
}

/* Make a beam entry. Returns 1 if its hypothesis is new, else 0. References to old hypotheses are counted in child_counts and written
 * once. */
static int make_entry(rill_engine *e, timestep *t, item *it, int32_t j, int32_t rank)
{
    const candidates *c = &t->candidates;
    const beam_entry *old_beam = t->old_beam;
    const int32_t from = c->parent_rank[j], ended = c->ended[j];
    beam_entry *entry = &it->beam[rank];
    entry->path_score = c->path_score[j];
    entry->action = c->action[j];
    entry->state_parent = RILL_NO_NODE;
    entry->action_logp = c->action_logp[j];
    entry->group = c->group[j];
    /* length and state_rank share memory: an ended entry has a length without end action, a live entry its own rank */
    entry->length = !ended           ? rank
                    : c->hyp[j] >= 0 ? old_beam[from].length
                                     : it->timestep + (c->terminal[j] != RILL_END);
    entry->ended = ended ? c->terminal[j] : 0;
    t->child_counts[from].refs++;
    if (c->hyp[j] >= 0) {
        entry->hyp = old_beam[from].hyp;
        return 0;
    }
    const int32_t carrier = old_beam[from].state_rank, state = old_beam[carrier].hyp;
    entry->hyp = hyp_pool_add_uncounted(&e->hyps, &it->arena, old_beam[from].hyp, state, c->action[j],
                                        c->action_logp[j], c->action_score[j], !ended);
    if (carrier != from) t->child_counts[carrier].refs++;
    if (ended) return 1;
    t->child_counts[carrier].holds++;
    entry->state_parent = hyp_pool_node(&e->hyps, state);
    return 1;
}

/* Make the new beam from candidates [first, end), `live` of them live. The old beam is copied first, because the new one overwrites it. Old
 * hypotheses without children go to t->released. */
static void make_beam(rill_engine *e, timestep *t, item *it, int32_t first, int32_t end, int32_t live)
{
    hyp_pool *f = &e->hyps;
    const int32_t width = it->width;
    int32_t n_new = 0;
    if (width > 0) memcpy(t->old_beam, it->beam, (size_t)width * sizeof *t->old_beam);
    if (width > 0) memset(t->child_counts, 0, (size_t)width * sizeof *t->child_counts);
    for (int32_t j = first; j < end; j++) n_new += make_entry(e, t, it, j, j - first);
    hyp_pool_count(f, &it->arena, n_new);
    for (int32_t rank = 0; rank < width; rank++) {
        const beam_entry *entry = &t->old_beam[rank];
        const child_counts counts = t->child_counts[rank];
        if (entry->hyp < 0) continue;
        release_node(f, entry, counts.holds);
        if (counts.refs == 0)
            t->released[t->n_released++] = (hyp_release){&it->arena, entry->hyp};
        else
            f->hyp[entry->hyp].internal[HYP_REFS] += counts.refs - 1;
    }
    it->width = end - first;
    it->n_live = live;
}

/* Trace what became of input i's candidates from `first` on. Those from `end` on did not fit. stopped: 1 if the input stopped. */
static void trace_fates(timestep *t, int32_t i, int32_t first, int32_t end, int stopped)
{
    const candidates *c = &t->candidates;
    for (int32_t j = first; j < c->offset[i + 1]; j++)
        if (j >= end)
            tracer_candidate(t, i, j, -1, RILL_FATE_BEAM_FULL);
        else if (stopped)
            tracer_candidate(t, i, j, -1, c->keep[j] ? RILL_FATE_SURPLUS : RILL_FATE_OUTPUT);
        else
            tracer_candidate(t, i, j, j - first, c->ended[j] ? RILL_FATE_WAITING : RILL_FATE_LIVE);
}

static void commit_item(rill_engine *e, timestep *t, int32_t i, int last)
{
    const candidates *c = &t->candidates;
    item *it = &e->items.item[t->selected[i]];
    int32_t first = c->offset[i], end = first + stop_beam_width(it, c->offset[i + 1] - first), live = 0;
    double best_live = RILL_SCORE_DEAD; /* -infinity: no candidate is live */
    for (int32_t j = end - 1; j >= first; j--) {
        if (c->ended[j]) continue;
        best_live = c->path_score[j];
        live++;
    }
    for (int32_t j = end; e->settings.certify && j < c->offset[i + 1]; j++) stop_abandon_candidate(c, it, j);
    stop_reason reason = last ? stop_check_item(it, best_live, c->stop[i]) : STOP_NOT;
    for (int32_t j = first; e->tracer.with_hypotheses && j < end; j++) c->keep[j] = 1;
    if (reason != STOP_NOT) {
        stop_item(e, c, it, reason, first, end);
        e->items.done[t->selected[i]] = 1;
    } else {
        make_beam(e, t, it, first, end, live);
    }
    if (e->tracer.with_hypotheses) trace_fates(t, i, first, end, reason != STOP_NOT);
    FOR_VARIANTS (v, it->variants, phase_over) v->phase_over(e, it);
    it->stop_requested = !last && c->stop[i];
    if (last) it->timestep++;
}

rill_status engine_commit(rill_engine *e, timestep *t, int last)
{
    const candidates *c = &t->candidates;
    for (int32_t i = 0; i < t->n; i++) {
        item *it = &e->items.item[t->selected[i]];
        RILL__TRY(RILL__GROW(e->ctx, it->beam, it->beam_capacity, (size_t)(c->offset[i + 1] - c->offset[i]), "a beam"));
    }
    RILL__TRY(hyp_pool_reserve(&e->hyps, c->offset[t->n], t->n));
    t->n_released = 0;
    for (int32_t i = 0; i < t->n; i++) {
        const search_variant *owner = e->items.item[t->selected[i]].owner;
        if (e->items.item[t->selected[i]].leaves) continue;
        if (owner != NULL)
            RILL__TRY(owner->advance(e, t, t->selected[i], last));
        else
            commit_item(e, t, i, last);
    }
    hyp_pool_release_all(&e->hyps, t->released, t->n_released);
    statistics_end_stage(&e->statistics, &e->statistics.current.commit);
    return RILL_OK;
}
