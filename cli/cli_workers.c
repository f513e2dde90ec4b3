/* Number of workers, and their engines; see cli_workers.h. */
#include "cli_workers.h"

#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "rill/device.h"

/* Resolve the device `auto` once. The model is then opened on the device that was found. */
static const char *find_device(const cli_session *session)
{
    const char *weights = rill_open_option(&session->open, "weights");
    const rill_device_options options = {.struct_size = sizeof options,
                                         .name = "auto",
                                         .fast = rill_open_switch(&session->open, "fast"),
                                         .int8 = weights && strcmp(weights, "int8") == 0};
    rill_device *found = NULL;
    if (rill_device_open(&found, session->ctx, &options) != RILL_OK) return "auto";
    const char *name = strncmp(rill_device_name(found), "cpu", 3) == 0 ? "cpu" : "cuda";
    rill_device_close(found);
    return name;
}

int cli_workers_count(cli_session *session, const rill_domain *domain)
{
    if (session->workers) return session->workers;
    rill_pair *device = NULL;
    for (int32_t i = 0; i < session->open.n_values; i++)
        if (!strcmp(session->values[i].name, "device")) device = &session->values[i];
    const int is_auto = device && strcmp(device->value, "auto") == 0;
    if (device && session->n_scripts && strchr(device->value, ','))
        cli_message(
            "device: a script's functions use one worker and the first device: with --workers N each worker loads "
            "the script");
    if (device && !is_auto && strcmp(device->value, "cpu") != 0) return session->n_scripts ? 1 : 0;
    /* Use one worker if --threads was given, or if scripts are loaded: a script may count, print or store what it sees. */
    if (!session->is_large_input || session->has_threads_option || session->n_scripts) return 1;
    if (!domain || !rill_domain_has_runners(domain)) return 1;
    if (is_auto) device->value = find_device(session);
    return is_auto && strcmp(device->value, "cuda") == 0 ? 0 : rill_processors();
}

/* Name of a heuristic, scorer, scheduler or option function that only the script in the session's context has; NULL: none. */
static const char *script_only_name(cli_session *session, const rill_engine_setup *setup)
{
    const rill_context *own = session->ctx, *worker_ctx = rill_workers_context(session->worker_pool, 0);
    for (int32_t i = 0; i < setup->n_heuristics; i++) {
        const char *name = setup->heuristics[i].name;
        if (rill_find_heuristic(own, name) && !rill_find_heuristic(worker_ctx, name)) return name;
    }
    for (int32_t i = 0; i < setup->n_scorers; i++) {
        const char *name = setup->scorers[i].name;
        if (rill_find_scorer(own, name) && !rill_find_scorer(worker_ctx, name)) return name;
    }
    const char *scheduler = setup->scheduler ? setup->scheduler->name : NULL;
    if (scheduler && rill_find_scheduler(own, scheduler) && !rill_find_scheduler(worker_ctx, scheduler))
        return scheduler;
    return setup->budget ? "budget" : setup->cube_key ? "cube_key" : NULL;
}

typedef struct worker_setup {
    rill_search_config *
        search_config; /* search config with functions of the worker's own copy of the script; NULL: the run has no script */
    rill_engine_setup setup;
} worker_setup;

static rill_status fill_worker_setup(cli_session *session, const rill_search_config *search_config,
                                     const rill_engine_setup *setup, int32_t worker, worker_setup *worker_setup_out)
{
    rill_context *ctx = rill_workers_context(session->worker_pool, worker);
    rill_status status = rill_search_config_worker_copy(search_config, ctx, worker, &worker_setup_out->search_config);
    if (status < 0) return rill_fail(session->ctx, status, "%s", rill_error(ctx));
    worker_setup_out->setup = *setup;
    if (!worker_setup_out->search_config) return RILL_OK;
    const rill_engine_setup *config_setup = worker_setup_out->search_config->setup;
    worker_setup_out->setup.heuristics = config_setup->heuristics;
    worker_setup_out->setup.n_heuristics = config_setup->n_heuristics;
    worker_setup_out->setup.scorers = config_setup->scorers;
    worker_setup_out->setup.n_scorers = config_setup->n_scorers;
    worker_setup_out->setup.scheduler = config_setup->scheduler;
    worker_setup_out->setup.budget = config_setup->budget;
    worker_setup_out->setup.budget_user = config_setup->budget_user;
    worker_setup_out->setup.cube_key = config_setup->cube_key;
    worker_setup_out->setup.cube_key_user = config_setup->cube_key_user;
    return RILL_OK;
}

rill_status cli_workers_begin(cli_session *session, const rill_search_config *search_config,
                              const rill_engine_setup *setup)
{
    const int32_t n = rill_workers_count(session->worker_pool);
    const rill_engine_setup **setups = calloc((size_t)n, sizeof *setups);
    worker_setup *own = calloc((size_t)n, sizeof *own);
    rill_status status = setups && own ? RILL_OK : rill_fail_memory(session->ctx, sizeof *own, "workers");
    for (int32_t w = 0; status == RILL_OK && w < n; w++) {
        if (n > 1) status = fill_worker_setup(session, search_config, setup, w, &own[w]);
        setups[w] = own[w].search_config ? &own[w].setup : setup;
    }
    const char *name = status == RILL_OK && n > 1 && !own[0].search_config ? script_only_name(session, setup) : NULL;
    if (name)
        status = rill_fail(session->ctx, RILL_ERR_OPTION,
                           "%s is a function of the script, which runs on one thread: set --workers 1", name);
    if (status == RILL_OK) status = rill_workers_begin(session->worker_pool, setups);
    for (int32_t w = 0; own && w < n; w++) rill_search_config_free(own[w].search_config);
    free(own);
    free(setups);
    return status;
}

rill_status cli_workers_decode(cli_session *session, const rill_search_config *search_config,
                               const rill_engine_setup *setup, cli_workers_run *run)
{
    rill_workers *workers = session->worker_pool;
    rill_status status = cli_workers_begin(session, search_config, setup);
    if (status == RILL_OK && run->profile) status = cli_profile_begin(session->ctx, workers);
    if (status < 0) return status;
    run->settings = *rill_workers_settings(workers);
    double start = cli_now();
    cli_interrupt_set_workers(workers);
    status = rill_workers_run(workers, run->read, run->read_user, run->write, run->write_user);
    cli_interrupt_set_workers(NULL);
    run->seconds = cli_now() - start;
    run->stats.struct_size = sizeof run->stats;
    rill_workers_stats(workers, &run->stats);
    if (status == RILL_OK && run->profile) status = cli_profile_take(run->profile, session->ctx, workers);
    rill_workers_finish(workers);
    return status;
}
