/* Requests; request.h. */
#include "request.h"

#include <math.h>
#include <stddef.h>

#include "engine_internal.h"
#include "search_variant.h"

void requests_init(requests *all, rill_context *ctx, const rill_engine_setup *setup)
{
    *all = (requests){.ctx = ctx,
                      .setup_settings = setup->settings,
                      .has_heuristics = setup->n_heuristics > 0,
                      .has_budget_fn = setup->budget != NULL,
                      .clock = setup->clock,
                      .clock_user = setup->clock_user,
                      .next_deadline = INFINITY};
}

double requests_now(const requests *all)
{
    return all->clock != NULL ? all->clock(all->clock_user) : statistics_clock();
}

/* Settings that belong to the run, which requests cannot override. */
#define FIELD(name)                                                          \
    {                                                                        \
        offsetof(rill_settings, name), sizeof(((rill_settings *)NULL)->name) \
    }
static const struct {
    size_t offset, size;
} run_fields[] = {FIELD(method),     FIELD(n),         FIELD(max_items),   FIELD(budget),
                  FIELD(refill),     FIELD(sort),      FIELD(sort_window), FIELD(flush_every),
                  FIELD(unordered),  FIELD(check),     FIELD(certify),     FIELD(exact),
                  FIELD(exact_rows), FIELD(max_nodes), FIELD(memory),      FIELD(unknown_penalty)};
enum { N_RUN_FIELDS = sizeof run_fields / sizeof *run_fields };

int rill_setting_is_per_request(const rill_option *setting)
{
    for (size_t i = 0; i < N_RUN_FIELDS; i++)
        if (run_fields[i].offset == setting->offset) return 0;
    return 1;
}

/* Resolve the requested settings combined with those of the run. */
static rill_status resolve_request(const requests *all, const rill_model *model, const rill_settings *wanted,
                                   rill_settings *out)
{
    const rill_settings *run = &all->setup_settings;
    RILL__TRY(rill__settings_copy(all->ctx, out, wanted));
    for (size_t i = 0; i < N_RUN_FIELDS; i++)
        memcpy((char *)out + run_fields[i].offset, (const char *)run + run_fields[i].offset, run_fields[i].size);
    RILL__TRY(rill__model_recommend(model, all->ctx, out));
    /* Heuristics belong to the run, and do not prune samples or beam groups (merge.c). */
    const int unpruned = out->sample > 0 || out->groups > 1;
    return rill__settings_resolve(all->ctx, out, all->has_heuristics && !unpruned, all->has_budget_fn);
}

static size_t alloc_size(int32_t n)
{
    return sizeof(request) + (size_t)n * sizeof(chain_instance *);
}

static rill_status fill_request(requests *all, const rill_model *model, chain *c, const rill_request *req,
                                double start_time, request *r)
{
    if (req->timeout < 0 || isnan(req->timeout))
        return rill_fail(all->ctx, RILL_ERR_OPTION,
                         "timeout: %g is not a number of seconds above 0, or 0 for no "
                         "limit",
                         req->timeout);
    if (req->number < 0)
        return rill_fail(all->ctx, RILL_ERR_OPTION,
                         "the number of a request is %lld: expected a number from 1, or "
                         "0 for its id",
                         (long long)req->number);
    r->user = req->user;
    r->progress = req->progress;
    r->number = req->number;
    r->settings = *all->settings;
    if (req->input_options != NULL)
        RILL__TRY(rill__input_options(all->ctx, rill_model_domain(model), req->input_options, &r->options));
    r->deadline = req->timeout > 0 ? start_time + req->timeout : INFINITY;
    if (req->settings != NULL) {
        RILL__TRY(resolve_request(all, model, req->settings, &r->settings));
        RILL__TRY(variants_check(all->ctx, c, &r->settings, rill_model_info(model)));
    }
    return r->n_instances > 0 ? chain_acquire(c, req->heuristics, req->scorers, r->instances) : RILL_OK;
}

rill_status request_create(requests *all, const rill_model *model, chain *c, const rill_request *req, request **out)
{
    return request_create_at(all, model, c, req, req->timeout > 0 ? requests_now(all) : 0, out);
}

rill_status request_create_at(requests *all, const rill_model *model, chain *c, const rill_request *req,
                              double start_time, request **out)
{
    int32_t n = req->heuristics != NULL || req->scorers != NULL ? c->n : 0;
    *out = NULL;
    if (request_is_text_only(req)) return RILL_OK;
    request *r = rill_calloc(all->ctx, 1, alloc_size(n));
    if (r == NULL) return rill_fail_memory(all->ctx, alloc_size(n), "a request");
    r->n_instances = n;
    r->options.ctx = all->ctx;
    rill_status status = fill_request(all, model, c, req, start_time, r);
    if (status < 0) {
        rill_text_clear(&r->options);
        rill_free(all->ctx, r, alloc_size(n));
        return status;
    }
    all->n_requests++;
    all->n_deadlines += r->deadline < INFINITY;
    all->n_watched += r->progress != NULL;
    if (r->deadline < all->next_deadline) all->next_deadline = r->deadline;
    *out = r;
    return RILL_OK;
}

void request_free(requests *all, chain *c, request *r)
{
    if (r == NULL) return;
    all->n_requests--;
    all->n_deadlines -= r->deadline < INFINITY;
    all->n_watched -= r->progress != NULL;
    if (r->n_instances > 0) chain_release(c, r->instances);
    rill_text_clear(&r->options);
    rill_free(all->ctx, r, alloc_size(r->n_instances));
}
