/* The engine: making it, feeding it, and taking from it. The search is loop.c.
 *
 * Divisions: making · in and out. */
#include "rooms.h"

/* --- making ------------------------------------------------------------------------------------------------------- */

void rill_engine_setup_init(rill_engine_setup *setup, size_t size)
{
    memset(setup, 0, size);
    setup->struct_size = size;
    if (size == sizeof *setup) rill_settings_default(&setup->settings);
}

static rill_status check_names(rill_context *ctx, const char *what, const rill_chain_entry *entries, int32_t n)
{
    if (n < 0 || (n > 0 && entries == NULL))
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "a setup with %d %s%s", n, what, n < 0 ? "" : " that are NULL");
    for (int32_t i = 0; i < n; i++)
        if (entries[i].name == NULL) return rill_fail(ctx, RILL_ERR_ARGUMENT, "%s: entry %d has no name", what, i);
    return RILL_OK;
}

/* What a caller's slip would otherwise make of it: a crash, or a request for all memory. */
static rill_status check_setup(rill_context *ctx, const rill_engine_setup *setup)
{
    if (setup->struct_size != sizeof *setup)
        return rill_fail(ctx, RILL_ERR_ABI, "an engine setup of %zu bytes, this rill has %zu: rebuild the caller",
                         setup->struct_size, sizeof *setup);
    RILL__TRY(check_names(ctx, "heuristics", setup->heuristics, setup->n_heuristics));
    RILL__TRY(check_names(ctx, "scorers", setup->scorers, setup->n_scorers));
    if (setup->policy != NULL) RILL__TRY(check_names(ctx, "policies", setup->policy, 1));
    if (setup->n_fields < 0 || (setup->n_fields > 0 && setup->fields == NULL))
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "a setup with %d fields", setup->n_fields);
    return RILL_OK;
}

static rill_status set_up(rill_engine *e, const rill_engine_setup *setup)
{
    RILL__TRY(engine_check_fields(e));
    requests_init(&e->requests, e->ctx, setup);
    e->requests.own = &e->settings;
    e->settings = setup->settings;
    RILL__TRY(rill__model_recommend(e->model, e->ctx, &e->settings));
    RILL__TRY(rill__settings_resolve(e->ctx, &e->settings, setup->n_heuristics > 0, setup->budget != NULL));
    e->unknown = e->settings.unknown_penalty != 0 ? rill__model_unknown(e->model) : RILL_NO_ACTION;
    intake_init(&e->intake, e->ctx, &e->settings);
    outbox_init(&e->outbox, e->ctx, &e->settings);
    RILL__TRY(chain_create(&e->chain, e->ctx, setup));
    RILL__TRY(request_check(e->ctx, &e->chain, &e->settings));
    if (setup->cube_key != NULL && setup->settings.cube == 0)
        return rill_fail(e->ctx, RILL_ERR_OPTION,
                         "a function says what is alike for cube pruning, and there is none: set cube");
    RILL__TRY(certify_check(e->ctx, &e->chain, &e->settings, &e->info));
    RILL__TRY(bound_init(e, 1));
    for (int32_t group = 0; group < 2; group++) {
        e->step[group].exact.thorough = e->settings.check;
        e->step[group].selector.certify = e->settings.certify;
    }
    return schedule_create(e, setup->policy);
}

rill_status rill_engine_create(rill_engine **out, rill_context *ctx, rill_model *model, const rill_engine_setup *setup)
{
    *out = NULL;
    RILL__TRY(check_setup(ctx, setup));
    rill_engine *e = rill_calloc(ctx, 1, sizeof *e);
    if (e == NULL) return rill_fail_memory(ctx, sizeof *e, "an engine");
    e->ctx = ctx;
    e->model = model;
    e->domain = model->domain;
    e->info = model->info;
    e->flight.ctx = e->scoring.ctx = e->statistics.ctx = ctx;
    e->cube_key = setup->cube_key;
    e->cube_key_user = setup->cube_key_user;
    e->tracing = (tracing){.fn = setup->trace,
                           .user = setup->trace_user,
                           .links = setup->n_heuristics,
                           .hypotheses = setup->trace_hypotheses};
    e->schedule = (schedule){.ctx = ctx, .budget = setup->budget, .budget_user = setup->budget_user};
    e->writing = (writing){
        .ctx = ctx, .domain = model->domain, .fields = setup->fields, .n_fields = setup->n_fields, .unroll.ctx = ctx};
    items_init(&e->items, ctx);
    forest_init(&e->forest, ctx, model->info.state_need);
    for (int32_t group = 0; group < 2; group++) {
        timestep_init(&e->step[group], ctx, &e->info, group);
        e->step[group].first_input = setup->first_input;
    }
    ask_init(&e->check_asks, ctx, model->info.actions);
    rill_status status = forbidden_create(&e->forbidden, ctx, &e->info);
    if (status >= 0) status = rill__runner_start(model, ctx, model->threads, &e->runner);
    e->self = e->writing.self = e->runner.self;
    if (status >= 0) status = set_up(e, setup);
    if (status < 0) {
        rill_engine_destroy(e);
        return status;
    }
    *out = e;
    return RILL_OK;
}

void engine_free_nodes(rill_engine *e)
{
    if (e->forest.n_freed > 0 && e->domain->free != NULL) e->domain->free(e->self, e->forest.n_freed, e->forest.freed);
    forest_recycle(&e->forest);
}

void rill_engine_destroy(rill_engine *e)
{
    if (e == NULL) return;
    engine_collect_rest(e);
    for (int32_t i = 0; i < e->flight.n; i++) engine_drop_item(e, e->flight.slot[i]);
    bound_unpark(e);
    while (e->items.n_ready > 0) engine_drop_item(e, items_next_ready(&e->items));
    for (size_t i = 0; i < e->intake.entries_capacity; i++)
        request_drop(&e->requests, &e->chain, e->intake.entries[i].request);
    engine_free_nodes(e);
    schedule_destroy(&e->schedule);
    chain_destroy(&e->chain);
    intake_finish(&e->intake);
    rill_columns_free(e->ctx, &e->admission.memory);
    items_finish(&e->items);
    flight_finish(&e->flight);
    for (int32_t group = 0; group < 2; group++) timestep_finish(&e->step[group]);
    forest_finish(&e->forest);
    forbidden_finish(&e->forbidden, e->ctx);
    ask_finish(&e->check_asks);
    scoring_finish(&e->scoring);
    rill_free(e->ctx, e->again.output, e->again.outputs * sizeof *e->again.output);
    rill_free(e->ctx, e->again.action, e->again.actions * sizeof *e->again.action);
    unroll_finish(&e->writing.unroll);
    outbox_finish(&e->outbox);
    statistics_finish(&e->statistics);
    rill__runner_stop(&e->runner);
    rill_free(e->ctx, e, sizeof *e);
}

const rill_settings *rill_engine_settings(const rill_engine *e)
{
    return &e->settings;
}

/* --- in and out --------------------------------------------------------------------------------------------------- */

rill_status rill_engine_step(rill_engine *e)
{
    if (e->failed < 0) return e->failed;
    e->statistics.began = e->statistics.lap = statistics_clock();
    e->statistics.now = (rill_seconds){0};
    rill_status status = engine_advance(e);
    if (status < 0) e->failed = status;
    e->statistics.now.total = statistics_clock() - e->statistics.began;
    statistics_sum_seconds(&e->statistics.all.seconds, &e->statistics.now);
    return status;
}

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

int64_t engine_measure(const rill_engine *e, const char *text, size_t length)
{
    int64_t size = e->domain->measure != NULL ? e->domain->measure(e->self, text, length) : count_words(text, length);
    return size > 0 ? size : 0;
}

/* The input takes over what it wants; after a failure that is the caller's still. */
static rill_status submit(rill_engine *e, const char *text, size_t length, int64_t size, rill_status failed,
                          request *wants, int64_t *id)
{
    if (rill_engine_room(e) <= 0) return RILL_AGAIN;
    RILL__TRY(outbox_number(&e->outbox, id));
    rill_status status = intake_add(&e->intake, *id, text, length, size, failed, wants);
    if (status < 0) outbox_unnumber(&e->outbox);
    return status;
}

static rill_status submit_text(rill_engine *e, const char *text, size_t length, request *wants, int64_t *id)
{
    double start = statistics_clock();
    RILL__TRY(rill__check_text(e->ctx, text, length));
    rill_status status = submit(e, text != NULL ? text : "", length, engine_measure(e, text, length), RILL_OK, wants,
                                id);
    e->statistics.all.seconds.total += statistics_clock() - start;
    return status;
}

rill_status rill_engine_submit(rill_engine *e, const char *text, size_t length)
{
    int64_t id;
    return submit_text(e, text, length, NULL, &id);
}

rill_status rill_engine_submit_request(rill_engine *e, const rill_request *asked, int64_t *out)
{
    rill_request own;
    request *wants;
    int64_t id;
    if (!rill__take(&own, sizeof own, asked, offsetof(rill_request, progress)))
        return rill_fail(e->ctx, RILL_ERR_ABI, "a request of %zu bytes, this rill has %zu: rebuild the caller",
                         asked->struct_size, sizeof own);
    if (rill_engine_room(e) <= 0) return RILL_AGAIN;
    RILL__TRY(request_make(&e->requests, e->model, &e->chain, &own, &wants));
    rill_status status = bound_check(e, wants);
    if (status == RILL_OK) status = submit_text(e, own.text, own.length, wants, out != NULL ? out : &id);
    if (status != RILL_OK) request_drop(&e->requests, &e->chain, wants);
    return status;
}

rill_status engine_submit_bad(rill_engine *e, rill_status failed, const char *message, void *user)
{
    request *wants;
    int64_t id;
    RILL__TRY(request_make(&e->requests, e->model, &e->chain, &(rill_request){.user = user}, &wants));
    failed = failed < 0 ? failed : RILL_ERR_INPUT;
    if (message == NULL) message = rill_status_name(failed);
    rill_status status = submit(e, message, strlen(message), 0, failed, wants, &id);
    if (status != RILL_OK) request_drop(&e->requests, &e->chain, wants);
    return status;
}

rill_status rill_engine_submit_failed(rill_engine *e, rill_status status, const char *message)
{
    return engine_submit_bad(e, status, message, NULL);
}

void rill_engine_stop(rill_engine *e)
{
    atomic_store(&e->stopped, 1);
}

void rill_engine_close_input(rill_engine *e)
{
    e->input_closed = 1;
}

int64_t rill_engine_pending(const rill_engine *e)
{
    return (int64_t)e->intake.n + e->items.n_ready + e->flight.n + e->bound.n_parked;
}

int rill_engine_idle(const rill_engine *e)
{
    return rill_engine_pending(e) == 0 && e->outbox.waiting == 0;
}

rill_status rill_engine_next(rill_engine *e, rill_result *out)
{
    return outbox_next(&e->outbox, e->failed < 0, out);
}

void rill_engine_stats(const rill_engine *e, rill_stats *out)
{
    int64_t budget = e->schedule.budget == NULL ? e->settings.budget : 0;
    statistics_write(&e->statistics, &e->forest, &e->bound, &e->outbox, budget, out);
}
