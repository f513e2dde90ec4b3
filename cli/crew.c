/* Making engines for workers; see crew.h. */
#include "crew.h"

#include <stdlib.h>

int cli_crew_count(const cli_session *session, const rill_domain *domain)
{
    if (session->workers) return session->workers;
    /* Threads inside operations were asked for; a script may count, print or keep what it sees, which is one worker's then. */
    if (!session->many || session->threads_given || session->scripts) return 1;
    return domain && rill_domain_has_runners(domain) ? rill_processors() : 1;
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
    return setup->budget ? "budget" : NULL;
}

/* The plan as a worker's own script has it. RILL_OK · RILL_ERR_OPTION, recorded in `ctx` */
static rill_status plan_of(rill_context *ctx, const cli_plan *plan, int worker, cli_plan *own)
{
    const cli_layer *soft[CLI_SOFT_MAX];
    for (int i = 0; i < plan->n_soft; i++) {
        const cli_layer *layer = plan->soft[i];
        soft[i] = layer->twins ? &layer->twins[worker] : layer;
    }
    return cli_plan_try(ctx, plan->firm, soft, plan->n_soft, own);
}

static int has_twins(const cli_plan *plan)
{
    for (int i = 0; i < plan->n_soft; i++)
        if (plan->soft[i]->twins) return 1;
    return 0;
}

typedef struct worker_setup {
    cli_plan plan;
    rill_engine_setup setup;
} worker_setup;

static rill_status fill(cli_session *session, const cli_plan *plan, const rill_engine_setup *setup, int32_t n,
                        worker_setup *own)
{
    for (int32_t w = 0; w < n; w++) {
        rill_context *ctx = rill_workers_context(session->crew, w);
        rill_status status = plan_of(ctx, plan, w, &own[w].plan);
        if (status < 0) return rill_fail(session->ctx, status, "%s", rill_error(ctx));
        const rill_engine_setup *said = &own[w].plan.setup;
        own[w].setup = *setup;
        own[w].setup.heuristics = said->heuristics;
        own[w].setup.n_heuristics = said->n_heuristics;
        own[w].setup.scorers = said->scorers;
        own[w].setup.n_scorers = said->n_scorers;
        own[w].setup.policy = said->policy;
        own[w].setup.budget = said->budget;
        own[w].setup.budget_user = said->budget_user;
    }
    return RILL_OK;
}

rill_status cli_crew_begin(cli_session *session, const cli_plan *plan, const rill_engine_setup *setup)
{
    int32_t n = rill_workers_count(session->crew);
    int apart = n > 1 && has_twins(plan);
    const char *name = n > 1 && !apart ? unshared(session, setup) : NULL;
    if (name)
        return rill_fail(session->ctx, RILL_ERR_OPTION,
                         "%s is a function of the script, and belongs to one thread: this takes --workers 1", name);
    const rill_engine_setup **setups = calloc((size_t)n, sizeof *setups);
    worker_setup *own = apart ? calloc((size_t)n, sizeof *own) : NULL;
    rill_status status = setups && (own || !apart) ? RILL_OK : rill_fail_memory(session->ctx, sizeof *own, "workers");
    for (int32_t w = 0; status == RILL_OK && w < n; w++) setups[w] = own ? &own[w].setup : setup;
    if (status == RILL_OK && own) status = fill(session, plan, setup, n, own);
    if (status == RILL_OK) status = rill_workers_begin(session->crew, setups);
    free(own);
    free(setups);
    return status;
}

rill_status cli_crew_decode(cli_session *session, const cli_plan *plan, const rill_engine_setup *setup,
                            cli_crew_run *run)
{
    rill_workers *crew = session->crew;
    rill_status status = cli_crew_begin(session, plan, setup);
    if (status == RILL_OK && run->profile) status = cli_profile_begin(session->ctx, crew);
    if (status < 0) return status;
    run->settings = *rill_workers_settings(crew);
    double start = cli_now();
    status = rill_workers_run(crew, run->read, run->read_user, run->write, run->write_user);
    run->seconds = cli_now() - start;
    run->stats.struct_size = sizeof run->stats;
    rill_workers_stats(crew, &run->stats);
    if (status == RILL_OK && run->profile) status = cli_profile_take(run->profile, session->ctx, crew);
    rill_workers_finish(crew);
    return status;
}
