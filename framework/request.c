/* Requests; request.h. */
#include "request.h"

#include <math.h>
#include <stddef.h>

#include "certify.h"
#include "statistics.h"

void requests_init(requests *all, rill_context *ctx, const rill_engine_setup *setup)
{
    *all = (requests){.ctx = ctx,
                      .given = setup->settings,
                      .has_heuristics = setup->n_heuristics > 0,
                      .budgeted = setup->budget != NULL,
                      .clock = setup->clock,
                      .clock_user = setup->clock_user,
                      .next = INFINITY};
}

double requests_now(const requests *all)
{
    return all->clock != NULL ? all->clock(all->clock_user) : statistics_clock();
}

/* What belongs to the run, whatever a request wants. */
#define FIELD(name)                                                          \
    {                                                                        \
        offsetof(rill_settings, name), sizeof(((rill_settings *)NULL)->name) \
    }
static const struct {
    size_t at, size;
} of_run[] = {FIELD(method),     FIELD(n),         FIELD(max_items),   FIELD(budget),
              FIELD(refill),     FIELD(sort),      FIELD(sort_window), FIELD(flush_every),
              FIELD(unordered),  FIELD(check),     FIELD(certify),     FIELD(exact),
              FIELD(exact_rows), FIELD(max_nodes), FIELD(memory),      FIELD(unknown_penalty)};
enum { OF_RUN = sizeof of_run / sizeof *of_run };

int rill_request_heeds(const rill_option *setting)
{
    for (size_t i = 0; i < OF_RUN; i++)
        if (of_run[i].at == setting->offset) return 0;
    return 1;
}

/* The wanted settings with those of the run in their places, resolved. */
static rill_status resolve(const requests *all, const rill_model *model, const rill_settings *wanted,
                           rill_settings *out)
{
    const rill_settings *run = &all->given;
    RILL__TRY(rill__settings_check_size(all->ctx, wanted));
    *out = *wanted;
    for (size_t i = 0; i < OF_RUN; i++)
        memcpy((char *)out + of_run[i].at, (const char *)run + of_run[i].at, of_run[i].size);
    RILL__TRY(rill__model_recommend(model, all->ctx, out));
    /* Heuristics are the run's, and leave what is drawn, or chosen by groups, alone (merge.c). */
    const int alone = out->sample > 0 || out->groups > 1;
    return rill__settings_resolve(all->ctx, out, all->has_heuristics && !alone, all->budgeted);
}

rill_status request_check(rill_context *ctx, const chain *c, const rill_settings *settings)
{
    if (settings->cube != RILL_CUBE_ACCELERATED || c->state_bytes == 0) return RILL_OK;
    return rill_fail(
        ctx, RILL_ERR_OPTION,
        "cube accelerated continues one hypothesis's state for others, and a scorer keeps states of its own for "
        "each: use cube naive");
}

static size_t size_of(int32_t n)
{
    return sizeof(request) + (size_t)n * sizeof(chain_instance *);
}

static rill_status fill(requests *all, const rill_model *model, chain *c, const rill_request *asked, double at,
                        request *r)
{
    if (asked->seconds < 0 || isnan(asked->seconds))
        return rill_fail(all->ctx, RILL_ERR_OPTION,
                         "a request's seconds are %g: a number above 0, or 0 for no deadline", asked->seconds);
    if (asked->number < 0)
        return rill_fail(all->ctx, RILL_ERR_OPTION, "a request's number is %lld: a number from 1, or 0 for its id",
                         (long long)asked->number);
    r->user = asked->user;
    r->progress = asked->progress;
    r->number = asked->number;
    r->settings = *all->own;
    if (asked->options != NULL)
        RILL__TRY(rill__input_options(all->ctx, rill_model_domain(model), asked->options, &r->options));
    r->deadline = asked->seconds > 0 ? at + asked->seconds : INFINITY;
    if (asked->settings != NULL) {
        RILL__TRY(resolve(all, model, asked->settings, &r->settings));
        RILL__TRY(certify_check(all->ctx, c, &r->settings, rill_model_info(model)));
    }
    RILL__TRY(request_check(all->ctx, c, &r->settings));
    return r->n > 0 ? chain_use(c, asked->heuristics, asked->scorers, r->instances) : RILL_OK;
}

rill_status request_make(requests *all, const rill_model *model, chain *c, const rill_request *asked, request **out)
{
    return request_make_at(all, model, c, asked, asked->seconds > 0 ? requests_now(all) : 0, out);
}

rill_status request_make_at(requests *all, const rill_model *model, chain *c, const rill_request *asked, double at,
                            request **out)
{
    int32_t n = asked->heuristics != NULL || asked->scorers != NULL ? c->n : 0;
    *out = NULL;
    if (request_is_plain(asked)) return RILL_OK;
    request *r = rill_calloc(all->ctx, 1, size_of(n));
    if (r == NULL) return rill_fail_memory(all->ctx, size_of(n), "a request");
    r->n = n;
    r->options.ctx = all->ctx;
    rill_status status = fill(all, model, c, asked, at, r);
    if (status < 0) {
        rill_text_clear(&r->options);
        rill_free(all->ctx, r, size_of(n));
        return status;
    }
    all->n++;
    all->n_deadlines += r->deadline < INFINITY;
    all->n_watched += r->progress != NULL;
    if (r->deadline < all->next) all->next = r->deadline;
    *out = r;
    return RILL_OK;
}

void request_drop(requests *all, chain *c, request *r)
{
    if (r == NULL) return;
    all->n--;
    all->n_deadlines -= r->deadline < INFINITY;
    all->n_watched -= r->progress != NULL;
    if (r->n > 0) chain_leave(c, r->instances);
    rill_text_clear(&r->options);
    rill_free(all->ctx, r, size_of(r->n));
}
