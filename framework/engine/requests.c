/* Implements requests (settings of single inputs); declared in requests.h. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "engine_internal.h"
#include "rill/search_config.h"

/* Settings of the whole run: requests cannot override them. */
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

/* --- options of the domain ---------------------------------------------------------------------------------------- */

const rill_option *rill_domain_input_rows(const rill_domain *domain)
{
    return domain->input_options;
}

static rill_status fail_request_option(const rill_domain *domain, rill_context *ctx, const char *name)
{
    rill_option_near near = {.name = ""};
    char shown[64];
    if (rill_option_row(ctx, name) != NULL || strcmp(name, "heuristics") == 0 || strcmp(name, "scorers") == 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "\"%.60s\" is an option of the whole run: one input cannot set it",
                         name);
    for (const rill_option *row = rill_domain_input_rows(domain); row != NULL && row->name != NULL; row++)
        rill_option_nearer(row, name, &near);
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++)
        if (rill_setting_is_per_request(row)) rill_option_nearer(row, name, &near);
    rill_print_message(shown, sizeof shown, "%.60s", name);
    return rill__fail_unknown_name(ctx, RILL_ERR_OPTION, "option", shown, rill_refused_option("setting", name), &near,
                                   "`rill list settings` names them");
}

rill_status rill_domain_request_option(const rill_domain *domain, rill_context *ctx, const char *name,
                                       const rill_option **out)
{
    const rill_option *row = rill__setting(name);
    if (row != NULL && !rill_setting_is_per_request(row)) row = NULL;
    *out = row != NULL ? row : rill_option_find(rill_domain_input_rows(domain), name);
    return *out != NULL ? RILL_OK : fail_request_option(domain, ctx, name);
}

static rill_status check_value_of(rill_context *ctx, const rill_domain *domain, const char *name, const char *value)
{
    const rill_option *row = rill_option_find(rill_domain_input_rows(domain), name);
    if (row != NULL) return rill_option_read(ctx, row, value, NULL);
    return rill_fail(ctx, RILL_ERR_NOT_FOUND, "domain %s has no option \"%.60s\" of single inputs", domain->name, name);
}

rill_status rill_domain_input_option(const rill_domain *domain, const char *name, const char *value, rill_text *out)
{
    RILL__TRY(check_value_of(out->ctx, domain, name, value));
    if (strchr(value, ' ') != NULL)
        return rill_fail(out->ctx, RILL_ERR_OPTION, "%s: the value \"%.60s\" has a space", name, value);
    return rill_text_printf(out, "%s%s=%s", out->length > 0 ? " " : "", name, value);
}

/* Append a request's options as rill_input.options: "NAME\0VALUE\0" for each, then a NUL. Without options nothing is appended. */
static rill_status read_input_options(rill_context *ctx, const rill_domain *domain, const char *text, rill_text *out)
{
    if (text[0] == '\0') return RILL_OK;
    RILL__TRY(rill_text_append(out, text, strlen(text) + 1));
    for (char *pos = out->data; pos < out->data + out->length;) {
        const size_t length = strcspn(pos, " ");
        char *equals = memchr(pos, '=', length);
        pos[length] = '\0';
        if (equals == NULL)
            return rill_fail(ctx, RILL_ERR_OPTION,
                             "the options of an input are NAME=VALUE separated by spaces, found \"%.60s\"", pos);
        *equals = '\0';
        if (check_value_of(ctx, domain, pos, equals + 1) < 0) return RILL_ERR_OPTION;
        pos += length + 1;
    }
    return RILL_OK;
}

const char *rill_input_value(const rill_input *input, const char *name)
{
    const char *pos = input->options, *found = NULL;
    while (pos != NULL && *pos != '\0') {
        const char *value = pos + strlen(pos) + 1;
        if (rill__same_name(pos, name)) found = value;
        pos = value + strlen(value) + 1;
    }
    return found;
}

int rill_input_switch(const rill_input *input, const char *name, int opened)
{
    const char *value = rill_input_value(input, name);
    return value != NULL ? strcmp(value, "0") != 0 && strcmp(value, "false") != 0 : opened;
}

/* --- settings and creation ----------------------------------------------------------------------------------------- */

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

/* Combine the request's settings with the settings that belong to the run, and fill in presets and defaults. */
static rill_status resolve_settings(rill_engine *e, request *r)
{
    rill_settings out = r->settings;
    const rill_settings *run = &e->requests.setup_settings;
    if (!r->unresolved) return RILL_OK;
    for (size_t i = 0; i < N_RUN_FIELDS; i++)
        memcpy((char *)&out + run_fields[i].offset, (const char *)run + run_fields[i].offset, run_fields[i].size);
    RILL__TRY(rill__model_recommend(e->model, e->ctx, &out));
    /* heuristics belong to the run, but they do not prune samples or beam groups (merge.c) */
    const int unpruned = out.sample > 0 || out.groups > 1;
    RILL__TRY(
        rill__settings_resolve(e->ctx, &out, e->requests.has_heuristics && !unpruned, e->requests.has_budget_fn, NULL));
    RILL__TRY(variants_check(e->ctx, &e->chain, &out, &e->info));
    RILL__TRY(stop_check_lengths(e->ctx, &out, &e->info));
    r->settings = out;
    r->unresolved = 0;
    return RILL_OK;
}

/* --- creating requests -------------------------------------------------------------------------------------------- */

static rill_status fill_request(rill_context *ctx, const rill_engine *e, const rill_request *req, request *r)
{
    if (req->timeout < 0 || isnan(req->timeout))
        return rill_fail(ctx, RILL_ERR_OPTION, "timeout: %g is not a number of seconds above 0, or 0 for no limit",
                         req->timeout);
    if (req->number < 0)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "the number of a request is %lld: expected a number from 1, or 0 for its id",
                         (long long)req->number);
    r->user = req->user;
    r->progress = req->progress;
    r->number = req->number;
    r->settings = e->settings;
    r->unresolved = req->settings != NULL;
    r->deadline = req->timeout > 0 ? requests_now(&e->requests) + req->timeout : INFINITY;
    if (req->input_options != NULL) RILL__TRY(read_input_options(ctx, e->domain, req->input_options, &r->options));
    return req->settings != NULL ? rill__settings_copy(ctx, &r->settings, req->settings) : RILL_OK;
}

/* Returns the request's own arguments for heuristic or scorer number i; NULL: the arguments in the setup apply. */
static const char *own_argument(const chain *c, const rill_request *req, int32_t i)
{
    const char *const *list = i < c->n_heuristics ? req->heuristics : req->scorers;
    return list != NULL ? list[i < c->n_heuristics ? i : i - c->n_heuristics] : NULL;
}

/* Allocate a request, with copies of the argument texts of its heuristics and scorers. */
static rill_status alloc_request(rill_context *ctx, const chain *c, const rill_request *req, request **out)
{
    const int32_t n = req->heuristics != NULL || req->scorers != NULL ? c->n : 0;
    size_t bytes = sizeof(request) + (size_t)n * (sizeof(chain_instance *) + sizeof(char *));
    char *text = NULL;
    for (int32_t i = 0; i < n; i++)
        if (own_argument(c, req, i) != NULL) bytes += strlen(own_argument(c, req, i)) + 1;
    request *r = *out = rill_calloc(ctx, 1, bytes);
    if (r == NULL) return rill_fail_memory(ctx, bytes, "a request");
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
    return RILL_OK;
}

rill_status request_create(rill_context *ctx, const rill_engine *e, const rill_request *req, request **out)
{
    *out = NULL;
    if (request_is_text_only(req)) return RILL_OK;
    RILL__TRY(alloc_request(ctx, &e->chain, req, out));
    return RILL_OPENED(fill_request(ctx, e, req, *out), out, request_free);
}

rill_status request_open(rill_engine *e, request *r)
{
    if (r == NULL || r->engine != NULL) return RILL_OK;
    RILL__TRY(resolve_settings(e, r));
    if (r->n_instances > 0) RILL__TRY(chain_acquire(&e->chain, r->arguments, r->instances));
    r->engine = e;
    e->requests.n_requests++;
    e->requests.n_watched += r->progress != NULL;
    rill_status status = memory_limit_check(e, r);
    if (status < 0) request_close(r);
    return status;
}

void request_close(request *r)
{
    if (r == NULL || r->engine == NULL) return;
    requests *all = &r->engine->requests;
    all->n_requests--;
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
