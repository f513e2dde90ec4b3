/* The loop: admit, choose, advance, score, prune, commit, finish. Source: Yang et al. 2020, algorithm 1, widened to any schedule.
 *
 * A domain may answer a score call later (domain.h). Then up to two timesteps are under way: while one is computed the engine works on
 * the other. The items of one that has been submitted are *busy*, all others idle; whatever else the engine does to items - choosing,
 * sending back for want of nodes, cancelling, deadlines - it does to idle ones. Groups are made anew in each timestep, of the items
 * that are idle then, half of all live hypotheses at the most: so they stay even without a rule for who belongs to which, one
 * budget, one patience and one policy are enough, and a run on a domain that answers at once is the same code with nobody busy.
 *
 * Divisions: phases · a timestep · turns. */
#include "progress.h"
#include "rooms.h"

/* --- phases ------------------------------------------------------------------------------------------------------- */

typedef struct losing {
    rill_engine *e;
    timestep *t;
} losing;

static void lose_candidate(void *user, int32_t link, int32_t i, int32_t j)
{
    const losing *l = user;
    tracing_dropped(&l->e->tracing, l->t, link, i, j);
    if (!l->e->settings.certify) return;
    certify_candidate(&l->t->candidates, &l->e->items.at[l->t->selected[i]], j);
}

static rill_status fail_candidates(void *user, int32_t i, rill_status status)
{
    const losing *l = user;
    if (!engine_is_of_input(status)) return status;
    return engine_fail_selected(l->e, l->t->selected[i], status, rill_error(l->e->ctx));
}

/* Children of every selected item, what survives of them, and the new beams. */
static rill_status take_children(rill_engine *e, timestep *t)
{
    int last = t->phase == e->info.phases - 1;
    int64_t pruned;
    losing l = {e, t};
    statistics *s = &e->statistics;
    engine_keep_promise(t, t->cube.owed);
    RILL__TRY(engine_reserve_children(e, t));
    RILL__TRY(engine_exact_children(e, t, last));
    RILL__TRY(tracing_reserve(&e->tracing, t));
    engine_merge(e, t, last);
    if (t->selector.wrong != NULL || (t->cube.exact && t->exact.wrong != NULL)) return engine_wrong_choices(e, t);
    statistics_lap(s, &s->now.select);
    tracing_merged(&e->tracing, t);
    t->candidates.lost = e->settings.certify || e->tracing.fn != NULL ? lose_candidate : NULL;
    t->candidates.failed = fail_candidates;
    t->candidates.user = &l;
    RILL__TRY(chain_prune(&e->chain, &t->candidates, t->phase, &pruned));
    s->all.pruned += pruned;
    if (e->chain.n_heuristics > 0) statistics_lap(s, &s->now.prune);
    RILL__TRY(engine_commit(e, t, last));
    statistics_lap(s, &s->now.commit);
    return RILL_OK;
}

/* --- a timestep --------------------------------------------------------------------------------------------------- */

/* The most hypotheses of a group: half of all where these are enough for two groups, else as many as there are. */
static int64_t group_size(const rill_engine *e)
{
    if (e->domain->collect == NULL || e->info.group_rows == 0) return INT64_MAX;
    const int64_t live = flight_live(&e->flight);
    return live >= 2 * (int64_t)e->info.group_rows ? (live + 1) / 2 : INT64_MAX;
}

/* Select the items of a timestep. Where that fails to select any, the other one has to be over first, or there are none. */
static rill_status choose(rill_engine *e, timestep *t)
{
    const int64_t most = group_size(e);
    if (e->step[!t->group].under_way && most == INT64_MAX) return RILL_OK;
    t->in_flight = e->flight.n;
    RILL__TRY(schedule_choose(e, t, e->bound.rows > 0 && e->bound.rows < most ? e->bound.rows : most));
    if (t->n == 0) return RILL_OK;
    t->under_way = 1;
    t->phase = 0;
    RILL__TRY(statistics_expand(&e->statistics, &e->items, t));
    RILL__TRY(tracing_selected(&e->tracing, &e->items, t));
    return engine_expand(e, t);
}

static void mark_busy(rill_engine *e, timestep *t, int busy)
{
    if (t->busy == busy) return;
    t->busy = busy;
    e->items.n_busy += busy ? t->n : -t->n;
    for (int32_t i = 0; i < t->n; i++) e->items.busy[t->selected[i]] = (uint8_t)busy;
}

/* Take over what the timestep made of its items; returns whether any has stopped. */
static int update_flight(rill_engine *e, const timestep *t)
{
    int any = 0;
    for (int32_t i = 0; i < t->n; i++) {
        flight_update(&e->flight, &e->items, t->selected[i]);
        any |= e->items.done[t->selected[i]];
    }
    return any;
}

/* Results for the items that stopped; the others keep their order. */
static rill_status finish_items(rill_engine *e)
{
    int32_t kept = 0;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < e->flight.n; i++) {
        int32_t slot = e->flight.slot[i];
        if (status >= 0 && e->items.done[slot]) {
            status = engine_finish_item(e, slot);
            if (status == RILL_OK) continue;
        }
        if (kept < i) flight_move(&e->flight, &e->items, kept, i);
        kept++;
        if (status == RILL_AGAIN) flight_update(&e->flight, &e->items, slot);
        if (status == RILL_AGAIN) status = RILL_OK;
    }
    e->flight.n = kept;
    return status;
}

static rill_status end_timestep(rill_engine *e, timestep *t)
{
    statistics *s = &e->statistics;
    t->under_way = 0;
    t->promised = 0;
    mark_busy(e, t, 0);
    tracing_committed(&e->tracing, &e->items, t);
    const int stopped = update_flight(e, t);
    RILL__TRY(engine_leave_cancelled(e, t));
    if (e->requests.n_watched > 0) RILL__TRY(progress_tell(e, t));
    if (stopped) RILL__TRY(finish_items(e));
    engine_free_nodes(e);
    statistics_lap(s, &s->now.finalize);
    s->now.total = s->lap - s->began; /* so far: what the trace gets */
    tracing_timestep(&e->tracing, t, s->all.timesteps, &s->now);
    s->all.timesteps++;
    return RILL_OK;
}

/* Go on with a timestep until it is over, or has submitted something (RILL_AGAIN). */
static rill_status go_on(rill_engine *e, timestep *t)
{
    for (int more;;) {
        rill_status status = engine_answer(e, t);
        if (status == RILL_AGAIN) mark_busy(e, t, 1);
        if (status != RILL_OK) return status;
        RILL__TRY(engine_cube_rescore(e, t, &more));
        if (more) continue;
        RILL__TRY(take_children(e, t));
        if (++t->phase == e->info.phases) return end_timestep(e, t);
        RILL__TRY(engine_expand(e, t));
    }
}

/* --- turns -------------------------------------------------------------------------------------------------------- */

/* Have a timestep begin, with the inputs that can be admitted now. RILL_AGAIN: the other one has to be over first, or there is nothing
 * to do at all. */
static rill_status begin(rill_engine *e, timestep *t)
{
    const int waiting = engine_waiting(e) > 0;
    RILL__TRY(engine_meet_deadlines(e));
    RILL__TRY(engine_admit(e));
    if (e->flight.n == 0) return waiting ? RILL_OK : RILL_AGAIN;
    RILL__TRY(choose(e, t));
    return t->under_way || !e->step[!t->group].under_way ? RILL_OK : RILL_AGAIN;
}

/* What is done while an answer is worked out elsewhere. */
typedef struct beside {
    double from, waited; /* from 0: nothing is worked out */
} beside;

static beside begin_beside(const rill_engine *e, int submitted)
{
    return (beside){.from = submitted ? statistics_clock() : 0, .waited = e->statistics.now.waited};
}

static void end_beside(rill_engine *e, const beside *b)
{
    rill_seconds *now = &e->statistics.now;
    if (b->from > 0) now->hidden += statistics_clock() - b->from - (now->waited - b->waited);
}

/* The inputs of the next refill are encoded meanwhile. */
static rill_status encode_beside(rill_engine *e)
{
    const beside b = begin_beside(e, 1);
    rill_status status = engine_encode_ahead(e);
    end_beside(e, &b);
    return status;
}

/* A turn ends when something is submitted, or when the other timestep is what everything waits for. One that was over without waiting
 * for an answer leaves the next turn to the other, whose items would else be busy for as long as answers come at once. */
rill_status engine_advance(rill_engine *e)
{
    for (;;) {
        timestep *t = &e->step[e->turn];
        const timestep *other = &e->step[!e->turn];
        const int waited = t->submitted;
        const beside b = begin_beside(e, other->submitted);
        rill_status status = t->under_way ? RILL_OK : begin(e, t);
        if (status == RILL_OK && t->under_way) status = go_on(e, t);
        end_beside(e, &b);
        if (t->submitted && status == RILL_AGAIN) RILL__TRY(encode_beside(e));
        if (t->submitted || (other->submitted && !(status == RILL_OK && waited))) e->turn = !e->turn;
        if (status != RILL_AGAIN || (!t->submitted && !other->submitted)) return status;
    }
}
