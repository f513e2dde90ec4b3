/* Runs the beam search, timestep by timestep: Algorithm 1 of Yang et al. 2020, whose lines are on the right.
 *
 *     refill    admit inputs, as the scheduler decides (admit.c)            lines 7-12
 *     select    the inputs to advance: scheduler and budget (schedule.c)   line 13
 *     expand    compute the state of each live hypothesis (expand.c)
 *     score     the best next actions of each hypothesis (topk.c)
 *     merge     an input's best children (merge.c)                         lines 14-15
 *     prune     heuristics drop children (chain.c)                         line 16
 *     commit    the remaining children are the new beam, or the search stops (commit.c, stop_criteria.c)
 *     finish    results of inputs that have stopped (finish.c)             lines 17-18
 *
 * A domain with several phases repeats expand to commit per phase. If a domain scores asynchronously (domain.h), two timesteps
 * (micro-batches, `group`) are in progress: the device computes one while the engine works on the other. Each has at most half of the
 * live hypotheses. Items (inputs in flight) of a timestep in progress are *busy*, and are not selected, preempted or cancelled. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "engine_internal.h"

/* --- memory of a timestep ----------------------------------------------------------------------------------------- */

void timestep_init(timestep *t, rill_context *ctx, const rill_domain_info *info, int32_t group)
{
    *t = (timestep){.ctx = ctx, .group = group};
    for (int i = 0; i < 2; i++) {
        modifiers_init(&t->rounds[i].modifiers, ctx, info->actions);
        topk_init(&t->rounds[i].topk, ctx, info);
    }
}

void timestep_finish(timestep *t)
{
    for (int i = 0; i < 2; i++) {
        modifiers_finish(&t->rounds[i].modifiers);
        topk_finish(&t->rounds[i].topk);
    }
    for (int i = 0; search_variants[i] != NULL; i++)
        if (search_variants[i]->free_timestep != NULL) search_variants[i]->free_timestep(t);
    rill_columns_free(t->ctx, &t->trace.memory);
    rill_free(t->ctx, t->trace.dropped, t->trace.dropped_capacity * sizeof *t->trace.dropped);
    rill_free(t->ctx, t->trace.hypotheses, t->trace.hypotheses_capacity * sizeof *t->trace.hypotheses);
    rill_free(t->ctx, t->selected, t->selected_capacity * sizeof *t->selected);
    rill_free(t->ctx, t->released, t->released_capacity * sizeof *t->released);
    rill_free(t->ctx, t->scratch, t->scratch_bytes);
    rill_columns_free(t->ctx, &t->row_memory);
    rill_columns_free(t->ctx, &t->item_memory);
    rill_columns_free(t->ctx, &t->candidate_memory);
    rill_columns_free(t->ctx, &t->width_memory);
}

/* --- selecting hypotheses ----------------------------------------------------------------------------------------- */

/* Returns half of all live hypotheses if each half fills the device, so that two timesteps can be in progress; else INT64_MAX. */
static int64_t max_group_rows(const rill_engine *e)
{
    if (e->domain->collect == NULL || e->info.group_rows == 0) return INT64_MAX;
    const int64_t live = running_n_live(&e->running);
    return live >= 2 * (int64_t)e->info.group_rows ? (live + 1) / 2 : INT64_MAX;
}

/* Begin a timestep. Returns RILL_AGAIN if there is nothing to do, or the other timestep must finish first. t->state stays TIMESTEP_FREE if
 * all admitted inputs already have results. */
static rill_status begin_timestep(rill_engine *e, timestep *t)
{
    const int waiting = engine_n_waiting(e) > 0, other_in_progress = e->timesteps[!t->group].state != TIMESTEP_FREE;
    if (e->queue->n_cancelled > 0 || e->queue->next_deadline < INFINITY || e->requests.next_deadline < INFINITY)
        RILL__TRY(engine_drop_inputs(e));
    RILL__TRY(engine_admit(e));
    if (e->running.n == 0) return waiting ? RILL_OK : RILL_AGAIN;
    int64_t max_rows = max_group_rows(e);
    if (other_in_progress && max_rows == INT64_MAX) return RILL_AGAIN;
    if (e->memory_limit.max_rows > 0 && e->memory_limit.max_rows < max_rows) max_rows = e->memory_limit.max_rows;
    t->n_running = e->running.n;
    RILL__TRY(schedule_select(e, t, max_rows));
    if (t->n == 0) return other_in_progress ? RILL_AGAIN : RILL_OK;
    t->state = TIMESTEP_SELECTED;
    t->phase = 0;
    for (int32_t i = 0; i < t->n; i++) e->items.busy[t->selected[i]] = 1;
    RILL__TRY(statistics_count_rows(&e->statistics, &e->items, t));
    return e->tracer.fn != NULL ? tracer_selected(&e->tracer, &e->items, t) : RILL_OK;
}

/* --- scoring ------------------------------------------------------------------------------------------------------ */

/* Have the domain score the rows from t->next_row on, as many as one part has. Returns RILL_AGAIN if a device is still computing the
 * result. */
static rill_status score_part(rill_engine *e, timestep *t)
{
    t->part_size = topk_request_part(&t->rounds[t->round].topk, t->next_row, &t->request, &t->result);
    t->part_rows = engine_domain_rows(t, t->next_row, t->part_size);
    rill_error_clear(e->ctx);
    const rill_status status = e->domain->score(e->self, &t->part_rows, &t->request, &t->result);
    if (status == RILL_AGAIN && e->domain->collect == NULL)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: score() is asynchronous, but the domain has no collect()",
                         e->domain->name);
    if (status == RILL_AGAIN) t->state = TIMESTEP_SUBMITTED;
    return status >= 0 ? status : rill__domain_status(e->ctx, e->domain, status, "score");
}

/* Wait for the score call that a device computes for this timestep. */
static rill_status collect_part(rill_engine *e, timestep *t)
{
    t->state = TIMESTEP_EXPANDED;
    rill_error_clear(e->ctx);
    double start = statistics_clock();
    rill_status status = e->domain->collect(e->self, t->group);
    e->statistics.current.waited += statistics_clock() - start;
    if (status == RILL_AGAIN)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: collect() returned before the result was ready",
                         e->domain->name);
    return status >= 0 ? RILL_OK : rill__domain_status(e->ctx, e->domain, status, "collect");
}

/* If a row has no choice left because a scorer masked actions, record the scorer in the row's input, for the error message. */
static void note_blocked_rows(rill_engine *e, const timestep *t, const int32_t *blocked_by)
{
    for (int32_t i = t->next_row; i < t->next_row + t->part_size; i++)
        if (t->rounds[t->round].topk.choices.count[i] == 0 && blocked_by[i] > 0)
            e->items.item[t->rows.slot[i]].blocked_by = blocked_by[i];
}

/* Fail each input that has a choice with an infinite or NaN score, because such choices have no order. */
static rill_status fail_unbounded(rill_engine *e, timestep *t)
{
    choice_table *c = &t->rounds[t->round].topk.choices;
    char message[200];
    for (int32_t i = t->next_row; i < t->next_row + t->part_size; i++) {
        if (c->count[i] == 0 || c->score[(size_t)i * (size_t)c->stride] <= FLT_MAX) continue;
        const item *it = &e->items.item[t->rows.slot[i]];
        c->count[i] = 0;
        snprintf(message, sizeof message,
                 "%s %s: the score of a choice of input %lld at timestep %d is infinite or NaN", engine_scorer_label(e),
                 e->chain.link[e->chain.n_heuristics].scorer->name, (long long)it->id, t->rows.depth[i]);
        RILL__TRY(engine_fail_selected(e, t->rows.slot[i], RILL_ERR_PLUGIN, message));
    }
    return RILL_OK;
}

/* Score all rows, part by part. Returns RILL_AGAIN while a device computes a part; the next call continues. */
static rill_status score(rill_engine *e, timestep *t)
{
    score_round *round = &t->rounds[t->round];
    const int last = t->phase == e->info.phases - 1;
    /* no input has rows in this phase, or all inputs have left the timestep */
    if (t->next_row >= t->rows.n) return RILL_OK;
    for (;;) {
        const rill_status status = t->state == TIMESTEP_SUBMITTED ? collect_part(e, t) : score_part(e, t);
        statistics_end_stage(&e->statistics, &e->statistics.current.score);
        if (status < 0 || t->state == TIMESTEP_SUBMITTED) return status;
        if (topk_take_result(&round->topk, t->next_row, t->part_size, last) != NULL) return engine_fail_choices(e, t);
        if (round->topk.is_unbounded) RILL__TRY(fail_unbounded(e, t));
        if (round->modifier_table.blocked_by != NULL) note_blocked_rows(e, t, round->modifier_table.blocked_by);
        t->next_row += t->part_size;
        if (t->next_row < t->rows.n) RILL__TRY(engine_leave_midway(e, t));
        if (t->next_row >= t->rows.n) return RILL_OK;
        statistics_end_stage(&e->statistics, &e->statistics.current.select);
    }
}

void engine_collect_pending(rill_engine *e)
{
    /* copy of the error message that ended the run, if there is one: collect_part() may overwrite the original */
    char why[RILL__MESSAGE_BYTES];
    const rill_status failed = rill_error_status(e->ctx);
    if (e->timesteps[0].state != TIMESTEP_SUBMITTED && e->timesteps[1].state != TIMESTEP_SUBMITTED) return;
    snprintf(why, sizeof why, "%s", rill_error(e->ctx));
    for (int i = 0; i < 2; i++)
        if (e->timesteps[i].state == TIMESTEP_SUBMITTED) collect_part(e, &e->timesteps[i]);
    if (failed < 0) rill_fail(e->ctx, failed, "%s", why);
}

/* --- finishing inputs --------------------------------------------------------------------------------------------- */

/* Make results for the inputs whose search has stopped. The other inputs in flight keep their order. */
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

/* End a timestep whose last phase is committed: its inputs become idle. Inputs whose search has stopped get their results and leave. */
static rill_status finish_timestep(rill_engine *e, timestep *t)
{
    statistics *s = &e->statistics;
    int any_done = 0;
    t->state = TIMESTEP_FREE;
    t->reserved_nodes = 0;
    if (e->tracer.fn != NULL) tracer_committed(&e->items, t);
    for (int32_t i = 0; i < t->n; i++) {
        const int32_t slot = t->selected[i];
        e->items.busy[slot] = 0;
        running_update(&e->running, &e->items, slot);
        any_done |= e->items.done[slot];
    }
    if (e->items.n_cancelled > 0) RILL__TRY(engine_finish_cancelled(e, t));
    if (e->requests.n_watched > 0) RILL__TRY(progress_report(e, t));
    if (any_done) RILL__TRY(finish_items(e));
    engine_free_nodes(e);
    statistics_end_stage(s, &s->current.finalize);
    /* seconds up to now, for the trace function; rill_engine_step() sets the final value later */
    s->current.total = s->stage_start - s->timestep_start;
    if (e->tracer.fn != NULL) tracer_timestep(&e->tracer, t, s->total.timesteps, &s->current);
    s->total.timesteps++;
    return RILL_OK;
}

/* --- one timestep ------------------------------------------------------------------------------------------------- */

/* Ask the search variants for a second scoring pass. Returns RILL_AGAIN if one was added, whose rows must be scored. */
static rill_status add_round(rill_engine *e, timestep *t)
{
    FOR_VARIANTS (v, t->variants, add_round) {
        const rill_status status = v->add_round(e, t);
        if (status != RILL_OK) return status;
    }
    return RILL_OK;
}

/* Continue a timestep until it is complete, or until it must wait for a device's score call (RILL_AGAIN). */
static rill_status run_timestep(rill_engine *e, timestep *t)
{
    rill_status status = RILL_OK;
    for (;;) switch (t->state) {
        case TIMESTEP_FREE: /* next: admit inputs and select items */
            status = begin_timestep(e, t);
            if (status != RILL_OK || t->state == TIMESTEP_FREE) return status;
            break;
        case TIMESTEP_SELECTED: /* next: expand the hypotheses */
            RILL__TRY(engine_expand(e, t));
            t->state = TIMESTEP_EXPANDED;
            break;
        case TIMESTEP_EXPANDED: /* next: score the rows */
        case TIMESTEP_SUBMITTED:
            status = score(e, t);
            if (status < 0 || t->state == TIMESTEP_SUBMITTED) return status;
            if (t->variants != 0) RILL__TRY(status = add_round(e, t));
            t->state = status == RILL_AGAIN ? TIMESTEP_EXPANDED : TIMESTEP_SCORED;
            break;
        case TIMESTEP_SCORED: { /* next stage: merge, prune, commit; after the last phase: finish */
            const int last = t->phase == e->info.phases - 1;
            RILL__TRY(engine_merge(e, t, last));
            if (e->chain.n_heuristics > 0) RILL__TRY(engine_prune(e, t));
            RILL__TRY(engine_commit(e, t, last));
            t->phase++;
            t->state = TIMESTEP_SELECTED;
            if (last) return finish_timestep(e, t);
        }
        }
}

/* --- turns of two timesteps --------------------------------------------------------------------------------------- */

/* Count host work during a device's computation: time since `start` minus the wait. waited: current.waited at `start`. */
static void count_hidden(statistics *s, double start, double waited)
{
    s->current.hidden += statistics_clock() - start - (s->current.waited - waited);
}

/* While the device computes a score call, encode the inputs that the next refill (admission) will need. */
static rill_status encode_overlapped(rill_engine *e)
{
    const double start = statistics_clock(), waited = e->statistics.current.waited;
    const rill_status status = engine_encode_ahead(e);
    count_hidden(&e->statistics, start, waited);
    return status;
}

/* Continue the two timesteps in turns. A turn ends when its timestep waits for the device or the other timestep, or completes. */
rill_status rill_engine_step(rill_engine *e)
{
    statistics *s = &e->statistics;
    if (e->failed < 0) return e->failed;
    s->timestep_start = s->stage_start = statistics_clock();
    s->current = (rill_seconds){0};
    rill_status status = RILL_OK;
    for (int is_over = 0; !is_over;) {
        timestep *t = &e->timesteps[e->turn];
        const int waited = t->state == TIMESTEP_SUBMITTED,
                  other_submitted = e->timesteps[!e->turn].state == TIMESTEP_SUBMITTED;
        const double start = other_submitted ? statistics_clock() : 0, waited_before = s->current.waited;
        status = run_timestep(e, t);
        const int submitted = t->state == TIMESTEP_SUBMITTED;
        if (other_submitted) count_hidden(s, start, waited_before);
        is_over = status != RILL_AGAIN || (!submitted && !other_submitted);
        const rill_status encoded = submitted && status == RILL_AGAIN ? encode_overlapped(e) : RILL_OK;
        if (encoded >= 0 && (submitted || (other_submitted && !(status == RILL_OK && waited)))) e->turn = !e->turn;
        if (encoded < 0) status = encoded;
        is_over |= encoded < 0;
    }
    if (status < 0) e->failed = status;
    s->current.total = statistics_clock() - s->timestep_start;
    statistics_sum_seconds(&s->total.seconds, &s->current);
    return status;
}
