/* The engine: choose, advance, score, prune, commit, refill. timestep() below is the search; everything else in this file
 * makes it, feeds it, and takes from it. Source: Yang et al. 2020, algorithm 1, widened to any schedule.
 *
 * Divisions: making · the loop · in and out. */
#include <string.h>

#include "engine_private.h"

/* --- making ------------------------------------------------------------------------------------------------------- */

void rill_engine_setup_init(rill_engine_setup *setup, size_t size)
{
    memset(setup, 0, size);
    setup->struct_size = size;
    if (size == sizeof *setup) rill_settings_default(&setup->settings);
}

static const char *method_policy(const char *method)
{
    const rill_method_info *m = rill_method_table();
    while (strcmp(m->name, method) != 0) m++;
    return m->policy;
}

static rill_status create_policy(rill_engine *e, const rill_chain_entry *wanted)
{
    const char *name = wanted != NULL ? wanted->name : method_policy(e->settings.method);
    const char *arguments = wanted != NULL && wanted->arguments != NULL ? wanted->arguments : "";
    const rill_policy *policy = rill_find_policy(e->ctx, name);
    if (policy == NULL) return rill__unknown(e->ctx, "policy", &e->ctx->policies, name);
    if (policy->create != NULL)
        RILL__TRY(policy->create(e->ctx, arguments, &e->policy_self));
    else if (arguments[0] != '\0')
        return rill_fail(e->ctx, RILL_ERR_OPTION, "policy %s takes no arguments, \"%s\" was given", name, arguments);
    e->policy = policy;
    return RILL_OK;
}

static rill_status set_up(rill_engine *e, const rill_engine_setup *setup)
{
    RILL__TRY(engine_check_fields(e));
    e->settings = setup->settings;
    RILL__TRY(rill__model_recommend(e->model, &e->settings));
    RILL__TRY(rill__settings_resolve(e->ctx, &e->settings, setup->n_heuristics > 0, setup->budget != NULL));
    e->unknown = e->settings.unknown_penalty != 0 ? rill__model_unknown(e->model) : RILL_NO_ACTION;
    intake_init(&e->intake, e->ctx, &e->settings);
    outbox_init(&e->outbox, e->ctx, &e->settings);
    RILL__TRY(chain_create(&e->chain, e->ctx, setup));
    RILL__TRY(bound_init(e));
    return create_policy(e, setup->policy);
}

rill_status rill_engine_create(rill_engine **out, rill_context *ctx, rill_model *model, const rill_engine_setup *setup)
{
    *out = NULL;
    if (setup->struct_size != sizeof *setup)
        return rill_fail(ctx, RILL_ERR_ABI, "an engine setup of %zu bytes, this rill has %zu: rebuild the caller",
                         setup->struct_size, sizeof *setup);
    if (model->engine != NULL)
        return rill_fail(ctx, RILL_ERR_ARGUMENT,
                         "the model serves an engine already: destroy that one or open another");
    rill_engine *e = rill_calloc(ctx, 1, sizeof *e);
    if (e == NULL) return rill_fail_memory(ctx, sizeof *e, "an engine");
    model->engine = e;
    e->ctx = ctx;
    e->model = model;
    e->domain = model->domain;
    e->self = model->self;
    e->info = model->info;
    e->trace = setup->trace;
    e->trace_user = setup->trace_user;
    e->budget = setup->budget;
    e->budget_user = setup->budget_user;
    e->fields = setup->fields;
    e->n_fields = setup->n_fields;
    e->candidates.ctx = ctx;
    e->stats.struct_size = sizeof e->stats;
    forest_init(&e->forest, ctx, model->info.state_need);
    ask_init(&e->asks, ctx, model->info.actions);
    ask_init(&e->check_asks, ctx, model->info.actions);
    selector_init(&e->selector, ctx, &e->info);
    rill_status status = set_up(e, setup);
    if (status < 0) {
        rill_engine_destroy(e);
        return status;
    }
    *out = e;
    return RILL_OK;
}

void engine_free_rows(rill_engine *e)
{
    if (e->forest.n_freed > 0 && e->domain->free != NULL) e->domain->free(e->self, e->forest.n_freed, e->forest.freed);
    forest_recycle(&e->forest);
}

static void free_tables(rill_engine *e)
{
    row_table *r = &e->rows;
    int32_t *narrow[] = {r->node,  r->parent,  r->state_parent, r->action, r->slot,
                         r->depth, r->history, r->rank,         r->item};
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++)
        rill_free(e->ctx, narrow[i], r->capacity * sizeof *narrow[i]);
    rill_free(e->ctx, r->item_id, r->capacity * sizeof *r->item_id);
    rill_free(e->ctx, r->score, r->capacity * sizeof *r->score);
}

static void free_views(rill_engine *e)
{
#define FREE(member, capacity) rill_free(e->ctx, e->member, e->capacity * sizeof *e->member)
    FREE(flight, flight_capacity[0]);
    FREE(view_timestep, flight_capacity[1]);
    FREE(view_width, flight_capacity[2]);
    FREE(view_id, flight_capacity[3]);
    FREE(view_size, flight_capacity[4]);
    FREE(view_wave, flight_capacity[5]);
    FREE(marked, flight_capacity[6]);
    FREE(order, flight_capacity[7]);
    FREE(picked, flight_capacity[8]);
    FREE(selected, flight_capacity[9]);
    FREE(heap, heap_capacity);
    FREE(beam_scratch, beam_scratch_capacity);
    FREE(hypothesis_action, hypothesis_capacity[0]);
    FREE(hypothesis_node, hypothesis_capacity[1]);
    FREE(hypothesis_logp, hypothesis_capacity[2]);
    FREE(hypothesis_score, hypothesis_capacity[3]);
    FREE(ranks, ranks_capacity);
    FREE(depth_width, depth_width_capacity);
    FREE(trace_before, trace_capacity[0]);
    FREE(trace_merged, trace_capacity[1]);
    FREE(trace_after, trace_capacity[2]);
    FREE(trace_depth, trace_capacity[3]);
    FREE(trace_item, trace_capacity[4]);
    FREE(inputs, inputs_capacity);
    FREE(input_measured, measured_capacity);
    FREE(done, done_capacity);
    FREE(passed_over, passed_over_capacity);
    FREE(ready, ready_capacity);
    FREE(free_slots, free_slots_capacity);
#undef FREE
}

void rill_engine_destroy(rill_engine *e)
{
    if (e == NULL) return;
    e->model->engine = NULL;
    for (int32_t i = 0; i < e->n_flight; i++) engine_drop_item(e, e->flight[i]);
    for (int32_t i = 0; i < e->n_ready; i++) engine_drop_item(e, e->ready[e->first_ready + i]);
    engine_free_rows(e);
    for (size_t slot = 0; slot < e->slots; slot++) {
        rill_free(e->ctx, e->items[slot].beam, e->items[slot].beam_capacity * sizeof *e->items[slot].beam);
        rill_free(e->ctx, e->items[slot].outputs, e->items[slot].outputs_capacity * sizeof *e->items[slot].outputs);
    }
    rill_free(e->ctx, e->items, e->slots * sizeof *e->items);
    if (e->policy != NULL && e->policy->destroy != NULL) e->policy->destroy(e->policy_self);
    chain_destroy(&e->chain);
    intake_finish(&e->intake);
    outbox_finish(&e->outbox);
    forest_finish(&e->forest);
    ask_finish(&e->asks);
    ask_finish(&e->check_asks);
    selector_finish(&e->selector);
    candidates_finish(&e->candidates);
    free_tables(e);
    free_views(e);
    rill_free(e->ctx, e, sizeof *e);
}

const rill_settings *rill_engine_settings(const rill_engine *e)
{
    return &e->settings;
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

/* W_d: what the bound on a least-advanced schedule is made of. */
static rill_status count_expansions(rill_engine *e, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const item *it = &e->items[e->selected[i]];
        size_t depth = (size_t)it->timestep, old = e->depth_width_capacity;
        RILL__TRY(RILL__GROW(e->ctx, e->depth_width, e->depth_width_capacity, depth + 1, "counters"));
        memset(e->depth_width + old, 0, (e->depth_width_capacity - old) * sizeof *e->depth_width);
        e->depth_width[depth] += it->live;
        e->stats.expansions += it->live;
    }
    return RILL_OK;
}

static rill_status trace_before(rill_engine *e, int32_t n)
{
    size_t need = (size_t)n;
    RILL__TRY(RILL__GROW(e->ctx, e->trace_before, e->trace_capacity[0], need, "the trace"));
    RILL__TRY(RILL__GROW(e->ctx, e->trace_merged, e->trace_capacity[1], need, "the trace"));
    RILL__TRY(RILL__GROW(e->ctx, e->trace_after, e->trace_capacity[2], need, "the trace"));
    RILL__TRY(RILL__GROW(e->ctx, e->trace_depth, e->trace_capacity[3], need, "the trace"));
    RILL__TRY(RILL__GROW(e->ctx, e->trace_item, e->trace_capacity[4], need, "the trace"));
    for (int32_t i = 0; i < n; i++) {
        const item *it = &e->items[e->selected[i]];
        e->trace_before[i] = it->live;
        e->trace_depth[i] = it->timestep;
        e->trace_item[i] = it->id;
    }
    return RILL_OK;
}

static void trace_merged(rill_engine *e, int32_t n)
{
    for (int32_t i = 0; i < n; i++) e->trace_merged[i] = e->candidates.offset[i + 1] - e->candidates.offset[i];
}

/* Before finished items give up their slots. Widths count all candidates of a beam, as those before pruning do. */
static void trace_widths(rill_engine *e, int32_t n)
{
    for (int32_t i = 0; i < n; i++) e->trace_after[i] = e->items[e->selected[i]].width;
}

static void trace_timestep(rill_engine *e, int32_t n, int32_t in_flight, int64_t rows)
{
    e->trace(e->trace_user, &(rill_trace_event){.kind = RILL_TRACE_TIMESTEP,
                                                .timestep = e->stats.timesteps,
                                                .n = n,
                                                .in_flight = in_flight,
                                                .rows = rows,
                                                .items = e->trace_item,
                                                .depths = e->trace_depth,
                                                .widths_before = e->trace_before,
                                                .widths_merged = e->trace_merged,
                                                .widths_after = e->trace_after,
                                                .seconds = e->seconds});
}

/* One phase: children of every selected item, what survives of them, and the new beams. */
static rill_status run_phase(rill_engine *e, int32_t n, int32_t phase)
{
    int last = phase == e->info.phases - 1;
    int64_t pruned;
    RILL__TRY(engine_expand(e, n, phase));
    double t0 = engine_now();
    RILL__TRY(engine_merge(e, n, last));
    double t1 = engine_now();
    if (e->trace != NULL) trace_merged(e, n);
    rill_error_clear(e->ctx);
    RILL__TRY(chain_prune(&e->chain, &e->candidates, phase, &pruned));
    e->stats.pruned += pruned;
    double t2 = engine_now();
    RILL__TRY(engine_commit(e, n, last));
    e->seconds.select += t1 - t0;
    e->seconds.prune += t2 - t1;
    e->seconds.commit += engine_now() - t2;
    return RILL_OK;
}

static int any_done(const rill_engine *e, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (e->done[e->selected[i]]) return 1;
    return 0;
}

/* Results for the items that stopped; the others keep their order. */
static rill_status finish_items(rill_engine *e, int32_t n)
{
    int32_t kept = 0;
    rill_status status = RILL_OK;
    if (!any_done(e, n)) return RILL_OK;
    for (int32_t i = 0; i < e->n_flight; i++) {
        int32_t slot = e->flight[i];
        if (status >= 0 && e->done[slot]) {
            status = engine_finish_item(e, slot);
            if (status >= 0) continue;
        }
        engine_move_flight(e, kept++, i);
    }
    e->n_flight = kept;
    return status;
}

static void add_seconds(rill_engine *e)
{
    rill_seconds *sum = &e->stats.seconds;
    const rill_seconds *s = &e->seconds;
    sum->encode += s->encode;
    sum->step += s->step;
    sum->score += s->score;
    sum->scorers += s->scorers;
    sum->choose += s->choose;
    sum->select += s->select;
    sum->prune += s->prune;
    sum->commit += s->commit;
    sum->finalize += s->finalize;
    sum->total += s->total;
}

static rill_status timestep(rill_engine *e)
{
    int32_t n, in_flight = e->n_flight;
    double t0 = engine_now();
    RILL__TRY(engine_choose(e, &n));
    if (n == 0) return RILL_OK; /* the only item failed */
    int64_t expansions = e->stats.expansions;
    RILL__TRY(count_expansions(e, n));
    if (e->trace != NULL) RILL__TRY(trace_before(e, n));
    e->seconds.choose += engine_now() - t0;
    for (int32_t phase = 0; phase < e->info.phases; phase++) RILL__TRY(run_phase(e, n, phase));
    double t1 = engine_now();
    if (e->trace != NULL) trace_widths(e, n);
    engine_update_flight(e, n);
    RILL__TRY(finish_items(e, n));
    engine_free_rows(e);
    e->seconds.finalize = engine_now() - t1;
    if (e->trace != NULL) trace_timestep(e, n, in_flight, e->stats.expansions - expansions);
    e->stats.timesteps++;
    return RILL_OK;
}

static rill_status admit_and_advance(rill_engine *e)
{
    int waiting = e->intake.n + e->n_ready > 0;
    double start = engine_now();
    RILL__TRY(engine_admit(e));
    e->seconds.choose += engine_now() - start - e->seconds.encode;
    if (e->n_flight == 0) return waiting ? RILL_OK : RILL_AGAIN;
    return timestep(e);
}

rill_status rill_engine_step(rill_engine *e)
{
    if (e->failed < 0) return e->failed;
    double start = engine_now();
    e->seconds = (rill_seconds){0};
    rill_status status = admit_and_advance(e);
    if (status < 0) e->failed = status;
    e->seconds.total = engine_now() - start;
    add_seconds(e);
    return status;
}

/* --- in and out --------------------------------------------------------------------------------------------------- */

int64_t rill_engine_room(const rill_engine *e)
{
    if (e->input_closed || e->failed < 0) return 0;
    int64_t room = intake_room(&e->intake), ahead = outbox_room(&e->outbox);
    return room < ahead ? room : ahead;
}

/* Words between blanks: the measure of a domain that has none. */
static int64_t count_words(const char *text, size_t length)
{
    int64_t words = 0;
    int inside = 0;
    for (size_t i = 0; i < length; i++) {
        int blank = text[i] == ' ' || text[i] == '\t';
        words += !blank && !inside;
        inside = !blank;
    }
    return words;
}

static rill_status submit(rill_engine *e, const char *text, size_t length, int64_t size, rill_status failed)
{
    int64_t id;
    if (rill_engine_room(e) <= 0) return RILL_AGAIN;
    RILL__TRY(outbox_number(&e->outbox, &id));
    rill_status status = intake_add(&e->intake, id, text, length, size, failed);
    if (status < 0) outbox_unnumber(&e->outbox);
    return status;
}

rill_status rill_engine_submit(rill_engine *e, const char *text, size_t length)
{
    double start = engine_now();
    int64_t size = e->domain->measure != NULL ? e->domain->measure(e->self, text, length) : count_words(text, length);
    rill_status status = submit(e, text, length, size > 0 ? size : 0, RILL_OK);
    e->stats.seconds.total += engine_now() - start;
    return status;
}

rill_status rill_engine_submit_failed(rill_engine *e, rill_status status, const char *message)
{
    return submit(e, message, strlen(message), 0, status < 0 ? status : RILL_ERR_INPUT);
}

void rill_engine_close_input(rill_engine *e)
{
    e->input_closed = 1;
}

int64_t rill_engine_pending(const rill_engine *e)
{
    return (int64_t)e->intake.n + e->n_ready + e->n_flight;
}

int rill_engine_idle(const rill_engine *e)
{
    return rill_engine_pending(e) == 0 && e->outbox.waiting == 0;
}

rill_status rill_engine_next(rill_engine *e, rill_result *out)
{
    return outbox_next(&e->outbox, e->failed < 0, out);
}

static int64_t depth_bound(const rill_engine *e)
{
    int64_t least = 0, budget = e->settings.budget;
    if (budget == 0 || e->budget != NULL) return 0;
    for (size_t d = 0; d < e->depth_width_capacity; d++) least += (e->depth_width[d] + budget - 1) / budget;
    return least;
}

void rill_engine_stats(const rill_engine *e, rill_stats *out)
{
    rill_stats all = e->stats;
    size_t size = out->struct_size < sizeof all ? out->struct_size : sizeof all;
    all.struct_size = size;
    all.depth_bound = depth_bound(e);
    all.rows_in_use = e->forest.rows;
    all.rows_peak = e->forest.rows_peak;
    all.rows_capacity = e->forest.row_capacity;
    all.rows_bound = e->bound.rows;
    all.histories_in_use = e->forest.histories;
    all.histories_peak = e->forest.histories_peak;
    all.histories_capacity = (int64_t)e->forest.history_chunks * FOREST_CHUNK;
    all.waiting_peak = e->outbox.waiting_peak;
    memcpy(out, &all, size);
}
