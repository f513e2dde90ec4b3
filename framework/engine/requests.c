/* Requests; requests.h. */
#include <math.h>
#include <stddef.h>

#include "engine_internal.h"

void requests_init(requests *all, const rill_engine_setup *setup)
{
    *all = (requests){.setup_settings = setup->settings,
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

/* Combine the settings that the caller wants with those of the run, and resolve them. */
static rill_status resolve_settings(rill_engine *e, request *r)
{
    rill_settings out = r->settings;
    const rill_settings *run = &e->requests.setup_settings;
    if (!r->unresolved) return RILL_OK;
    for (size_t i = 0; i < N_RUN_FIELDS; i++)
        memcpy((char *)&out + run_fields[i].offset, (const char *)run + run_fields[i].offset, run_fields[i].size);
    RILL__TRY(rill__model_recommend(e->model, e->ctx, &out));
    /* Heuristics belong to the run, and do not prune samples or beam groups (merge.c). */
    const int unpruned = out.sample > 0 || out.groups > 1;
    RILL__TRY(rill__settings_resolve(e->ctx, &out, e->requests.has_heuristics && !unpruned, e->requests.has_budget_fn));
    RILL__TRY(variants_check(e->ctx, &e->chain, &out, &e->info));
    r->settings = out;
    r->unresolved = 0;
    return RILL_OK;
}

static rill_status fill_request(rill_context *ctx, const rill_engine *e, const rill_request *req, request *r)
{
    if (req->timeout < 0 || isnan(req->timeout))
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "timeout: %g is not a number of seconds above 0, or 0 for no "
                         "limit",
                         req->timeout);
    if (req->number < 0)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "the number of a request is %lld: expected a number from 1, or "
                         "0 for its id",
                         (long long)req->number);
    r->user = req->user;
    r->progress = req->progress;
    r->number = req->number;
    r->settings = e->settings;
    r->unresolved = req->settings != NULL;
    r->deadline = req->timeout > 0 ? requests_now(&e->requests) + req->timeout : INFINITY;
    if (req->input_options != NULL) RILL__TRY(rill__input_options(ctx, e->domain, req->input_options, &r->options));
    return req->settings != NULL ? rill__settings_copy(ctx, &r->settings, req->settings) : RILL_OK;
}

/* The caller's argument of heuristic or scorer i; NULL: the setup's applies. */
static const char *own_argument(const chain *c, const rill_request *req, int32_t i)
{
    const char *const *list = i < c->n_heuristics ? req->heuristics : req->scorers;
    return list != NULL ? list[i < c->n_heuristics ? i : i - c->n_heuristics] : NULL;
}

/* Allocate a request with copies of the arguments. */
static request *alloc_request(rill_context *ctx, const chain *c, const rill_request *req)
{
    const int32_t n = req->heuristics != NULL || req->scorers != NULL ? c->n : 0;
    size_t bytes = sizeof(request) + (size_t)n * (sizeof(chain_instance *) + sizeof(char *));
    char *text = NULL;
    for (int32_t i = 0; i < n; i++)
        if (own_argument(c, req, i) != NULL) bytes += strlen(own_argument(c, req, i)) + 1;
    request *r = rill_calloc(ctx, 1, bytes);
    if (r == NULL) {
        rill_fail_memory(ctx, bytes, "a request");
        return NULL;
    }
    r->ctx = r->options.ctx = ctx;
    r->bytes = bytes;
    r->n_instances = n;
    r->arguments = (const char **)(r->instances + n);
    text = (char *)(r->arguments + n);
    for (int32_t i = 0; i < n; i++) {
        const char *own = own_argument(c, req, i);
        if (own == NULL) continue;
        r->arguments[i] = strcpy(text, own);
        text += strlen(own) + 1;
    }
    return r;
}

rill_status request_create(rill_context *ctx, const rill_engine *e, const rill_request *req, request **out)
{
    *out = NULL;
    if (request_is_text_only(req)) return RILL_OK;
    request *r = alloc_request(ctx, &e->chain, req);
    if (r == NULL) return RILL_ERR_MEMORY;
    rill_status status = fill_request(ctx, e, req, r);
    if (status < 0)
        request_free(r);
    else
        *out = r;
    return status;
}

rill_status request_open(rill_engine *e, request *r)
{
    if (r == NULL || r->engine != NULL) return RILL_OK;
    RILL__TRY(resolve_settings(e, r));
    if (r->n_instances > 0)
        RILL__TRY(chain_acquire(&e->chain, r->arguments, r->arguments + e->chain.n_heuristics, r->instances));
    r->engine = e;
    e->requests.n_requests++;
    e->requests.n_deadlines += r->deadline < INFINITY;
    e->requests.n_watched += r->progress != NULL;
    if (r->deadline < e->requests.next_deadline) e->requests.next_deadline = r->deadline;
    rill_status status = memory_limit_check(e, r);
    if (status < 0) request_close(r);
    return status;
}

void request_close(request *r)
{
    if (r == NULL || r->engine == NULL) return;
    requests *all = &r->engine->requests;
    all->n_requests--;
    all->n_deadlines -= r->deadline < INFINITY;
    all->n_watched -= r->progress != NULL;
    if (r->n_instances > 0) chain_release(&r->engine->chain, r->instances);
    r->engine = NULL;
}

void request_free(request *r)
{
    if (r == NULL) return;
    request_close(r);
    rill_text_clear(&r->options);
    rill_free(r->ctx, r, r->bytes);
}
