/* The decoding loop: admit, select, expand, score, merge, prune, commit, finish. Source: Yang et al. 2020, algorithm 1, generalised to any
 * scheduler.
 *
 * A domain may score asynchronously (domain.h). Then up to two timesteps are in progress: while the device computes one, the engine works
 * on the other. Items of a submitted timestep are *busy*, all others are idle, and only idle items are selected, preempted, cancelled or
 * timed out. The items of a timestep form a group. Each timestep forms its group anew, from items that are idle then, with at most half of
 * all live hypotheses. So groups stay balanced, one budget and one scheduler suffice, and a synchronous domain runs the same code without
 * busy items.
 *
 * Divisions: phases · a timestep · turns. */
#include "engine_internal.h"
#include "request_progress.h"

/* --- phases ------------------------------------------------------------------------------------------------------- */

typedef struct pruning_context {
    rill_engine *e;
    timestep *t;
} pruning_context;

static void on_candidate_dropped(void *user, int32_t link, int32_t i, int32_t j)
{
    const pruning_context *l = user;
    if (l->e->tracer.fn != NULL) tracer_dropped(&l->e->tracer, l->t, link, i, j);
    if (!l->e->settings.certify) return;
    stop_abandon_candidate(&l->t->candidates, &l->e->items.item[l->t->selected[i]], j);
}

static rill_status on_heuristic_failed(void *user, int32_t i, rill_status status)
{
    const pruning_context *l = user;
    if (!engine_is_input_error(status)) return status;
    return engine_fail_selected(l->e, l->t->selected[i], status, rill_error(l->e->ctx));
}

/* Merge the children of every selected item, prune them, and make the new beams. */
static rill_status process_children(rill_engine *e, timestep *t)
{
    int last = t->phase == e->info.phases - 1;
    int64_t pruned;
    pruning_context l = {e, t};
    statistics *s = &e->statistics;
    engine_use_reserved_nodes(t, t->spare_nodes);
    RILL__TRY(engine_reserve_children(e, t));
    FOR_VARIANTS (v, t->variants, before_merge) RILL__TRY(v->before_merge(e, t, last));
    if (e->tracer.with_hypotheses) RILL__TRY(tracer_reserve(t));
    engine_merge(e, t, last);
    if (t->rounds[0].topk.error != NULL || t->rounds[t->round].topk.error != NULL) return engine_fail_choices(e, t);
    statistics_end_stage(s, &s->current.select);
    if (e->tracer.fn != NULL) tracer_merged(t);
    t->candidates.on_dropped = e->settings.certify || e->tracer.fn != NULL ? on_candidate_dropped : NULL;
    t->candidates.on_failed = on_heuristic_failed;
    t->candidates.user = &l;
    RILL__TRY(chain_prune(&e->chain, &t->candidates, t->phase, &pruned));
    s->total.pruned += pruned;
    if (e->chain.n_heuristics > 0) statistics_end_stage(s, &s->current.prune);
    RILL__TRY(engine_commit(e, t, last));
    statistics_end_stage(s, &s->current.commit);
    return RILL_OK;
}

/* --- a timestep --------------------------------------------------------------------------------------------------- */

/* Return the maximum number of hypotheses of a group: half of all live hypotheses if they suffice for two groups, else INT64_MAX, no
 * limit. */
static int64_t max_group_rows(const rill_engine *e)
{
    if (e->domain->collect == NULL || e->info.group_rows == 0) return INT64_MAX;
    const int64_t live = running_n_live(&e->running);
    return live >= 2 * (int64_t)e->info.group_rows ? (live + 1) / 2 : INT64_MAX;
}

/* Select the items of a timestep. If no item is selected, the other timestep must finish first, or nothing is in flight. */
static rill_status select_items(rill_engine *e, timestep *t)
{
    const int64_t max_rows = max_group_rows(e);
    if (e->timesteps[!t->group].active && max_rows == INT64_MAX) return RILL_OK;
    t->n_running = e->running.n;
    RILL__TRY(schedule_select(
        e, t,
        e->memory_limit.max_rows > 0 && e->memory_limit.max_rows < max_rows ? e->memory_limit.max_rows : max_rows));
    if (t->n == 0) return RILL_OK;
    t->active = 1;
    t->phase = 0;
    RILL__TRY(statistics_count_rows(&e->statistics, &e->items, t));
    if (e->tracer.fn != NULL) RILL__TRY(tracer_selected(&e->tracer, &e->items, t));
    return engine_expand(e, t);
}

static void mark_busy(rill_engine *e, timestep *t, int busy)
{
    if (t->is_marked_busy == busy) return;
    t->is_marked_busy = busy;
    e->items.n_busy += busy ? t->n : -t->n;
    for (int32_t i = 0; i < t->n; i++) e->items.busy[t->selected[i]] = (uint8_t)busy;
}

/* Update the running items' columns from the timestep's items. Returns 1 if any item has stopped, else 0. */
static int update_running(rill_engine *e, const timestep *t)
{
    int any = 0;
    for (int32_t i = 0; i < t->n; i++) {
        running_update(&e->running, &e->items, t->selected[i]);
        any |= e->items.done[t->selected[i]];
    }
    return any;
}

/* Make results for the items that have stopped; the other running items keep their order. */
static rill_status finish_items(rill_engine *e)
{
    int32_t kept = 0;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < e->running.n; i++) {
        int32_t slot = e->running.slot[i];
        if (status >= 0 && e->items.done[slot]) {
            status = engine_finish_item(e, slot);
            if (status == RILL_OK) continue;
        }
        if (kept < i) running_move(&e->running, &e->items, kept, i);
        kept++;
        if (status == RILL_AGAIN) running_update(&e->running, &e->items, slot);
        if (status == RILL_AGAIN) status = RILL_OK;
    }
    e->running.n = kept;
    return status;
}

static rill_status end_timestep(rill_engine *e, timestep *t)
{
    statistics *s = &e->statistics;
    t->active = 0;
    t->reserved_nodes = 0;
    mark_busy(e, t, 0);
    if (e->tracer.fn != NULL) tracer_committed(&e->items, t);
    const int stopped = update_running(e, t);
    RILL__TRY(engine_finish_cancelled(e, t));
    if (e->requests.n_watched > 0) RILL__TRY(progress_report(e, t));
    if (stopped) RILL__TRY(finish_items(e));
    engine_free_nodes(e);
    statistics_end_stage(s, &s->current.finalize);
    s->current.total = s->stage_start - s->timestep_start; /* total so far, for the trace */
    if (e->tracer.fn != NULL) tracer_timestep(&e->tracer, t, s->total.timesteps, &s->current);
    s->total.timesteps++;
    return RILL_OK;
}

/* Let the variants of the search see the rows' choices. Returns RILL_AGAIN if one has added a second round of rows, to be scored. */
static rill_status add_round(rill_engine *e, timestep *t)
{
    FOR_VARIANTS (v, t->variants, add_round) {
        const rill_status status = v->add_round(e, t);
        if (status != RILL_OK) return status;
    }
    return RILL_OK;
}

/* Continue a timestep until it is complete, or has submitted a call (RILL_AGAIN). */
static rill_status advance_timestep(rill_engine *e, timestep *t)
{
    for (;;) {
        rill_status status = engine_score(e, t);
        if (status == RILL_AGAIN) mark_busy(e, t, 1);
        if (status != RILL_OK) return status;
        RILL__TRY(status = add_round(e, t));
        if (status == RILL_AGAIN) continue;
        RILL__TRY(process_children(e, t));
        if (++t->phase == e->info.phases) return end_timestep(e, t);
        RILL__TRY(engine_expand(e, t));
    }
}

/* --- turns -------------------------------------------------------------------------------------------------------- */

/* Begin a timestep, after admitting inputs. Returns RILL_AGAIN if the other timestep must finish first, or if there is nothing to do. */
static rill_status start_timestep(rill_engine *e, timestep *t)
{
    const int waiting = engine_n_waiting(e) > 0;
    RILL__TRY(engine_check_deadlines(e));
    RILL__TRY(engine_admit(e));
    if (e->running.n == 0) return waiting ? RILL_OK : RILL_AGAIN;
    RILL__TRY(select_items(e, t));
    return t->active || !e->timesteps[!t->group].active ? RILL_OK : RILL_AGAIN;
}

/* Measures the time of the host's work while the device computes a submitted call. */
typedef struct overlap_timer {
    double start, waited; /* start: 0 if no call is in progress */
} overlap_timer;

static overlap_timer overlap_begin(const rill_engine *e, int submitted)
{
    return (overlap_timer){.start = submitted ? statistics_clock() : 0, .waited = e->statistics.current.waited};
}

static void overlap_end(rill_engine *e, const overlap_timer *b)
{
    rill_seconds *now = &e->statistics.current;
    if (b->start > 0) now->hidden += statistics_clock() - b->start - (now->waited - b->waited);
}

/* Encode the inputs of the next refill while the device computes a submitted call. */
static rill_status encode_overlapped(rill_engine *e)
{
    const overlap_timer b = overlap_begin(e, 1);
    rill_status status = engine_encode_ahead(e);
    overlap_end(e, &b);
    return status;
}

/* Continue one of the two timesteps at a time (its turn). A turn ends when a call is submitted, or when the other timestep must finish
 * first. After a timestep that completed without waiting, the other timestep continues; otherwise its items would stay busy as long as
 * calls complete at once. */
rill_status engine_run_timestep(rill_engine *e)
{
    for (;;) {
        timestep *t = &e->timesteps[e->turn];
        const timestep *other = &e->timesteps[!e->turn];
        const int waited = t->submitted;
        const overlap_timer b = overlap_begin(e, other->submitted);
        rill_status status = t->active ? RILL_OK : start_timestep(e, t);
        if (status == RILL_OK && t->active) status = advance_timestep(e, t);
        overlap_end(e, &b);
        if (t->submitted && status == RILL_AGAIN) RILL__TRY(encode_overlapped(e));
        if (t->submitted || (other->submitted && !(status == RILL_OK && waited))) e->turn = !e->turn;
        if (status != RILL_AGAIN || (!t->submitted && !other->submitted)) return status;
    }
}
