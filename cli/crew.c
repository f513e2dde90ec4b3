/* Making engines for workers; see crew.h. */
#include "crew.h"

#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "rill/device.h"

/* What `auto` is: a GPU is looked for once, and what is opened is what was found. */
static const char *device_found(const cli_session *session)
{
    const char *weights = rill_open_value(&session->open, "weights");
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

int cli_crew_count(cli_session *session, const rill_domain *domain)
{
    if (session->workers) return session->workers;
    rill_pair *device = NULL;
    for (int32_t i = 0; i < session->open.n_values; i++)
        if (!strcmp(session->values[i].name, "device")) device = &session->values[i];
    const int is_auto = device && strcmp(device->value, "auto") == 0;
    if (device && session->scripts && strchr(device->value, ','))
        cli_say(
            "device: a script is one worker's, which uses the first device: --workers N has N, each with the script loaded anew");
    if (device && !is_auto && strcmp(device->value, "cpu") != 0) return session->scripts ? 1 : 0;
    /* Threads inside operations were asked for; a script may count, print or keep what it sees, which is one worker's then. */
    if (!session->many || session->threads_given || session->scripts) return 1;
    if (!domain || !rill_domain_has_runners(domain)) return 1;
    if (is_auto) device->value = device_found(session);
    return is_auto && strcmp(device->value, "cuda") == 0 ? 0 : rill_processors();
}

/* A name that only the session's own script knows. */
static const char *unshared(cli_session *session, const rill_engine_setup *setup)
{
    const rill_context *own = session->ctx, *theirs = rill_workers_context(session->crew, 0);
    for (int32_t i = 0; i < setup->n_heuristics; i++) {
        const char *name = setup->heuristics[i].name;
        if (rill_find_heuristic(own, name) && !rill_find_heuristic(theirs, name)) return name;
    }
    for (int32_t i = 0; i < setup->n_scorers; i++) {
        const char *name = setup->scorers[i].name;
        if (rill_find_scorer(own, name) && !rill_find_scorer(theirs, name)) return name;
    }
    const char *policy = setup->policy ? setup->policy->name : NULL;
    if (policy && rill_find_policy(own, policy) && !rill_find_policy(theirs, policy)) return policy;
    return setup->budget ? "budget" : setup->cube_key ? "cube_key" : NULL;
}

typedef struct worker_setup {
    rill_search_config *plan; /* from the worker's own script; NULL: it has none */
    rill_engine_setup setup;
} worker_setup;

static rill_status fill(cli_session *session, const rill_search_config *plan, const rill_engine_setup *setup,
                        int32_t worker, worker_setup *own)
{
    rill_context *ctx = rill_workers_context(session->crew, worker);
    rill_status status = rill_search_config_twin(plan, ctx, worker, &own->plan);
    if (status < 0) return rill_fail(session->ctx, status, "%s", rill_error(ctx));
    own->setup = *setup;
    if (!own->plan) return RILL_OK;
    const rill_engine_setup *said = &own->plan->setup;
    own->setup.heuristics = said->heuristics;
    own->setup.n_heuristics = said->n_heuristics;
    own->setup.scorers = said->scorers;
    own->setup.n_scorers = said->n_scorers;
    own->setup.policy = said->policy;
    own->setup.budget = said->budget;
    own->setup.budget_user = said->budget_user;
    own->setup.cube_key = said->cube_key;
    own->setup.cube_key_user = said->cube_key_user;
    return RILL_OK;
}

rill_status cli_crew_begin(cli_session *session, const rill_search_config *plan, const rill_engine_setup *setup)
{
    const int32_t n = rill_workers_count(session->crew);
    const rill_engine_setup **setups = calloc((size_t)n, sizeof *setups);
    worker_setup *own = calloc((size_t)n, sizeof *own);
    rill_status status = setups && own ? RILL_OK : rill_fail_memory(session->ctx, sizeof *own, "workers");
    for (int32_t w = 0; status == RILL_OK && w < n; w++) {
        if (n > 1) status = fill(session, plan, setup, w, &own[w]);
        setups[w] = own[w].plan ? &own[w].setup : setup;
    }
    const char *name = status == RILL_OK && n > 1 && !own[0].plan ? unshared(session, setup) : NULL;
    if (name)
        status = rill_fail(session->ctx, RILL_ERR_OPTION,
                           "%s is a function of the script, and belongs to one thread: this takes --workers 1", name);
    if (status == RILL_OK) status = rill_workers_begin(session->crew, setups);
    for (int32_t w = 0; own && w < n; w++) rill_search_config_free(own[w].plan);
    free(own);
    free(setups);
    return status;
}

rill_status cli_crew_decode(cli_session *session, const rill_search_config *plan, const rill_engine_setup *setup,
                            cli_crew_run *run)
{
    rill_workers *crew = session->crew;
    rill_status status = cli_crew_begin(session, plan, setup);
    if (status == RILL_OK && run->profile) status = cli_profile_begin(session->ctx, crew);
    if (status < 0) return status;
    run->settings = *rill_workers_settings(crew);
    double start = cli_now();
    cli_interrupt_stops(crew);
    status = rill_workers_run(crew, run->read, run->read_user, run->write, run->write_user);
    cli_interrupt_stops(NULL);
    run->seconds = cli_now() - start;
    run->stats.struct_size = sizeof run->stats;
    rill_workers_stats(crew, &run->stats);
    if (status == RILL_OK && run->profile) status = cli_profile_take(run->profile, session->ctx, crew);
    rill_workers_finish(crew);
    return status;
}
