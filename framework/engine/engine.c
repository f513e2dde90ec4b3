/* Creates the engine of a run, takes inputs and returns results. */
#include "engine_internal.h"

/* Smallest accepted rill_engine_setup.struct_size: the members up to the scorers, which the first version of the struct had. */
enum { MIN_SETUP = offsetof(rill_engine_setup, scheduler) };

/* --- creating an engine ------------------------------------------------------------------------------------------- */

void rill_engine_setup_init(rill_engine_setup *setup, size_t size)
{
    memset(setup, 0, size);
    setup->struct_size = size;
    if (size >= MIN_SETUP) rill_settings_default(&setup->settings);
}

/* The settings of a newer program may be longer than this version's, but not longer than RILL_SETTINGS_SPACE. */
rill_status rill__setup_copy(rill_context *ctx, rill_engine_setup *own, const rill_engine_setup *from)
{
    RILL__TRY(rill_copy_struct(ctx, "rill_engine_setup", own, sizeof *own, from, MIN_SETUP));
    return rill__settings_copy(ctx, &own->settings, &from->settings);
}

static rill_status check_names(rill_context *ctx, const char *what, const rill_chain_entry *entries, int32_t n)
{
    if (n < 0 || (n > 0 && entries == NULL))
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "rill_engine_setup has %d %s%s", n, what,
                         n < 0 ? "" : ", but the array is NULL");
    for (int32_t i = 0; i < n; i++)
        if (entries[i].name == NULL)
            return rill_fail(ctx, RILL_ERR_ARGUMENT, "rill_engine_setup: entry %d of the %s has no name", i, what);
    return RILL_OK;
}

/* Refuse invalid setups that would otherwise crash the engine or allocate all memory. */
static rill_status check_setup(rill_context *ctx, const rill_engine_setup *setup)
{
    RILL__TRY(check_names(ctx, "heuristics", setup->heuristics, setup->n_heuristics));
    RILL__TRY(check_names(ctx, "scorers", setup->scorers, setup->n_scorers));
    if (setup->scheduler != NULL) RILL__TRY(check_names(ctx, "schedulers", setup->scheduler, 1));
    if (setup->n_fields < 0 || (setup->n_fields > 0 && setup->fields == NULL))
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "rill_engine_setup has %d fields", setup->n_fields);
    return RILL_OK;
}

static rill_status set_up_engine(rill_engine *e, const rill_engine_setup *setup)
{
    RILL__TRY(engine_check_fields(e));
    requests_init(&e->requests, setup);
    e->settings = setup->settings;
    RILL__TRY(rill__model_recommend(e->model, e->ctx, &e->settings));
    RILL__TRY(rill__settings_resolve(e->ctx, &e->settings, setup->n_heuristics > 0, setup->budget != NULL, NULL));
    e->unknown_action = e->settings.unknown_penalty != 0 ? rill__model_unknown(e->model) : RILL_NO_ACTION;
    RILL__TRY(input_queue_init(&e->own_queue, e->ctx, &e->settings, 1, 0));
    RILL__TRY(chain_create(&e->chain, e->ctx, setup));
    if (setup->cube_key != NULL && setup->settings.cube == 0)
        return rill_fail(e->ctx, RILL_ERR_OPTION, "cube_key is set without cube pruning: set cube too");
    RILL__TRY(variants_check(e->ctx, &e->chain, &e->settings, &e->info));
    RILL__TRY(stop_check_lengths(e->ctx, &e->settings, &e->info));
    RILL__TRY(memory_limit_init(e, 1));
    for (int32_t group = 0; group < 2; group++) {
        e->timesteps[group].rounds[1].topk.check_all = e->settings.check;
        e->timesteps[group].rounds[0].topk.bounds_rest = e->settings.certify;
    }
    return schedule_create(e, setup->scheduler);
}

rill_status rill_engine_create(rill_engine **out, rill_context *ctx, rill_model *model, const rill_engine_setup *given)
{
    rill_engine_setup own;
    const rill_engine_setup *setup = &own;
    *out = NULL;
    RILL__TRY(rill__setup_copy(ctx, &own, given));
    RILL__TRY(check_setup(ctx, setup));
    rill_engine *e = *out = rill_calloc(ctx, 1, sizeof *e);
    if (e == NULL) return rill_fail_memory(ctx, sizeof *e, "an engine");
    e->ctx = ctx;
    e->model = model;
    e->domain = model->domain;
    e->info = model->info;
    e->queue = &e->own_queue;
    e->taker.records.ctx = ctx;
    e->items.ctx = e->running.ctx = e->scorer_states.ctx = e->statistics.ctx = ctx;
    e->cube_key = setup->cube_key;
    e->cube_key_user = setup->cube_key_user;
    e->tracer = (tracer){.fn = setup->trace,
                         .user = setup->trace_user,
                         .n_heuristics = setup->n_heuristics,
                         .with_hypotheses = setup->trace != NULL && setup->trace_hypotheses};
    e->schedule = (schedule){.idle.ctx = ctx,
                             .budget = setup->budget,
                             .budget_user = setup->budget_user,
                             .overdue_first = setup->overdue_first != 0};
    e->output_writer = (output_writer){.ctx = ctx,
                                       .domain = model->domain,
                                       .fields = setup->fields,
                                       .n_fields = setup->n_fields,
                                       .backtrace.ctx = ctx};
    hyp_pool_init(&e->hyps, ctx, model->info.state_need);
    for (int32_t group = 0; group < 2; group++) {
        timestep_init(&e->timesteps[group], ctx, &e->info, group);
        e->timesteps[group].first_input = setup->first_input;
    }
    modifiers_init(&e->check_modifiers, ctx, model->info.actions);
    rill_status status = bad_words_create(&e->bad_words, ctx, &e->info);
    if (status >= 0) status = rill__runner_start(model, ctx, model->threads, &e->runner);
    e->self = e->output_writer.self = e->runner.self;
    if (status >= 0) status = set_up_engine(e, setup);
    return RILL_OPENED(status, out, rill_engine_destroy);
}

void rill_engine_destroy(rill_engine *e)
{
    if (e == NULL) return;
    engine_collect_pending(e);
    for (int32_t i = 0; i < e->running.n; i++) engine_free_item(e, e->running.slot[i]);
    for (int32_t i = 0; i < e->items.n_ready; i++) engine_free_item(e, e->items.ready[i]);
    for (int32_t i = 0; i < e->admission.n; i++)
        if (e->admission.queued[i] != NULL) engine_free_input(e, e->admission.queued[i]);
    engine_free_nodes(e);
    schedule_destroy(&e->schedule);
    /* before chain_destroy(): queued requests use the chain's instances */
    input_queue_finish(&e->own_queue);
    record_pool_finish(&e->taker.records);
    chain_destroy(&e->chain);
    rill_columns_free(e->ctx, &e->admission.memory);
    items_finish(&e->items);
    rill_columns_free(e->ctx, &e->running.memory);
    for (int32_t group = 0; group < 2; group++) timestep_finish(&e->timesteps[group]);
    hyp_pool_finish(&e->hyps);
    rill_columns_free(e->ctx, &e->bad_words.memory);
    modifiers_finish(&e->check_modifiers);
    scorer_states_finish(&e->scorer_states);
    rill_free(e->ctx, e->redecode.found, e->redecode.found_capacity * sizeof *e->redecode.found);
    rill_free(e->ctx, e->redecode.found_action, e->redecode.found_action_capacity * sizeof *e->redecode.found_action);
    rill_columns_free(e->ctx, &e->output_writer.backtrace.memory);
    rill_free(e->ctx, e->statistics.depth_width, e->statistics.n_depths * sizeof *e->statistics.depth_width);
    rill__runner_stop(&e->runner);
    rill_free(e->ctx, e, sizeof *e);
}

const rill_settings *rill_engine_settings(const rill_engine *e)
{
    return &e->settings;
}

/* --- submitting inputs and taking results ------------------------------------------------------------------------- */

int64_t rill_engine_free_slots(const rill_engine *e)
{
    return e->failed < 0 ? 0 : input_queue_space(e->queue);
}

rill_status engine_submit(rill_engine *e, const rill_request *req, rill_status failed, int64_t *id)
{
    input_queue *q = e->queue;
    request *own_request;
    int64_t own_id;
    if (id == NULL) id = &own_id;
    RILL__TRY(request_create(q->ctx, e, req, &own_request));
    rill_status status = q == &e->own_queue && failed >= 0 ? request_open(e, own_request) : RILL_OK;
    if (status >= 0) status = rill__check_text(q->ctx, req->text, req->length);
    if (status >= 0)
        status = input_queue_add(q, req->text != NULL ? req->text : "", req->length, failed, own_request, id);
    if (status < 0) request_free(own_request);
    return status;
}

rill_status rill_engine_submit(rill_engine *e, const char *text, size_t length)
{
    const rill_request req = {.struct_size = sizeof req, .text = text, .length = length};
    return rill_engine_submit_request(e, &req, NULL);
}

rill_status rill_engine_submit_request(rill_engine *e, const rill_request *req, int64_t *id)
{
    rill_request own;
    RILL__TRY(rill_copy_struct(e->ctx, "rill_request", &own, sizeof own, req, offsetof(rill_request, progress)));
    if (rill_engine_free_slots(e) <= 0) return RILL_AGAIN;
    return engine_submit(e, &own, RILL_OK, id);
}

rill_status rill_engine_submit_failed(rill_engine *e, rill_status status, const char *message)
{
    if (rill_engine_free_slots(e) <= 0) return RILL_AGAIN;
    if (message == NULL) message = rill_status_name(status < 0 ? status : RILL_ERR_INPUT);
    return engine_submit(e, &(rill_request){.text = message, .length = strlen(message)},
                         status < 0 ? status : RILL_ERR_INPUT, NULL);
}

void rill_engine_stop(rill_engine *e)
{
    atomic_store(&e->queue->stopped, 1);
}

void rill_engine_close_input(rill_engine *e)
{
    input_queue_close(e->queue);
}

int rill_engine_idle(const rill_engine *e)
{
    return input_queue_is_idle(e->queue);
}

const rill_output *rill_result_output(const rill_result *result, int32_t i)
{
    return i >= 0 && i < result->n_outputs ? (const rill_output *)result->outputs + i : NULL;
}

rill_status rill_engine_next(rill_engine *e, const rill_result **out)
{
    return input_queue_next(e->queue, e->failed < 0, out);
}

/* --- profiles of operations, measured by the domain (rill/profile.h) ------------------------------------------------ */

static rill_status fail_no_profile(const rill_engine *e)
{
    return rill_fail(e->ctx, RILL_ERR_OPTION,
                     "profile: domain %s has no profiles, because it runs no graphs on a device", e->domain->name);
}

rill_status rill_engine_profile(rill_engine *e, int on)
{
    if (e->domain->profile == NULL) return fail_no_profile(e);
    return rill__domain_status(e->ctx, e->domain, e->domain->profile(e->self, on), "profile");
}

int rill_engine_profile_row(const rill_engine *e, int32_t i, rill_op_profile *out)
{
    return e->domain->profile != NULL && e->domain->profile_row(e->self, i, out);
}

rill_status rill_engine_limits(rill_engine *e, rill_limits *out)
{
    if (e->domain->profile == NULL) return fail_no_profile(e);
    return rill__domain_status(e->ctx, e->domain, e->domain->limits(e->self, out), "limits");
}
