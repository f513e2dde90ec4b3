/* The HTTP API; see api.h.
 *
 * Divisions: responses · parsing requests · decode · traces · models · health · routes. */
#include "api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "document_job.h"
#include "libretranslate.h"
#include "metrics.h"
#include "openapi.h"
#include "page.h"
#include "report.h"
#include "request_constraints.h"
#include "request_trace.h"
#include "result_json.h"

/* --- responses ---------------------------------------------------------------------------------------------------- */

api_answer api_refuse(unsigned code, const char *name, const char *format, ...)
{
    char why[600];
    va_list arguments;
    va_start(arguments, format);
    rill_print_message_list(why, sizeof why, format, arguments);
    va_end(arguments);
    return (api_answer){.code = code, .json = json_pack("{s:o}", "error", cli_error_json(name, why))};
}

static const api_answer wait_for_job_answer = {.code = 0};

/* --- parsing requests --------------------------------------------------------------------------------------------- */

/* The key of a request that the word means, which other programs use or an earlier rill used. */
static const char *known_key(const char *word, const char *const *keys)
{
    static const char *const words[][2] = {{"deadline", "timeout"}, {"seconds", "timeout"}, {"text", "input"},
                                           {"q", "input"},          {"prompt", "input"},    {"texts", "inputs"},
                                           {"token", "tokens"},     {"logprobs", "tokens"}};
    size_t n = 0;
    while (keys[n]) n++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t k = 0; k < n && !strcmp(words[i][0], word); k++)
            if (!strcmp(words[i][1], keys[k])) return keys[k];
    return rill_nearest(word, keys, n);
}

static api_answer unknown_key(service *s, const char *key, const char *const *keys)
{
    const char *why = "";
    const int is_option = rill_option_row(service_context(s), key) != NULL ||
                          rill_refused_option("setting", key) != NULL;
    if (is_option && service_check_option(s, key, &why) != RILL_OK) return api_refuse(400, "bad-request", "%s", why);
    if (is_option || rill_is_options_key(key))
        return api_refuse(400, "bad-request", "unknown key \"%s\": the options are in \"options\"", key);
    const char *near = known_key(key, keys);
    return near ? api_refuse(400, "bad-request", "unknown key \"%s\": did you mean \"%s\"?", key, near)
                : api_refuse(400, "bad-request", "unknown key \"%s\"", key);
}

/* Whether all keys are known. Otherwise refuse the first one that is not, and say what is meant. */
static int has_known_keys(const models *m, const json_t *body, const char *const *keys, api_answer *refused)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)body, key, value)
    {
        int known = 0;
        for (size_t i = 0; keys[i]; i++) known |= !strcmp(keys[i], key);
        if (known) continue;
        *refused = unknown_key(m->service[0], key, keys);
        return 0;
    }
    return 1;
}

static service *find_service(const models *a, const char *name)
{
    for (int i = 0; i < a->n; i++)
        if (!strcmp(service_name(a->service[i]), name)) return a->service[i];
    return NULL;
}

/* Whether a value is a string without NUL. */
static int is_text_without_nul(const json_t *value)
{
    return json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value);
}

/* Find the model that the request names, or the first model if it names none. */
static service *requested_service(const models *a, const json_t *body, api_answer *refused)
{
    const json_t *name = json_object_get(body, "model");
    service *found = name == NULL                ? a->service[0]
                     : is_text_without_nul(name) ? find_service(a, json_string_value(name))
                                                 : NULL;
    if (!found && is_text_without_nul(name))
        *refused = api_refuse(404, "unknown-model", "unknown model \"%s\": GET /v1/models lists the models",
                              json_string_value(name));
    else if (!found)
        *refused = api_refuse(400, "bad-request", "model: expected a text without a NUL byte");
    return found;
}

static int read_options(service *target, const json_t *options, job *j, api_answer *refused)
{
    const char *why;
    if (options == NULL) return 1;
    if (!json_is_object(options)) {
        *refused = api_refuse(400, "bad-request", "options: expected an object {NAME: VALUE}");
        return 0;
    }
    const rill_status status = service_read_settings(target, options, j, &why);
    if (status == RILL_OK) return 1;
    *refused = status == RILL_ERR_OPTION ? api_refuse(400, "bad-option", "options: %s", why)
                                         : api_refuse(503, "out-of-memory", "%s", why);
    return 0;
}

static int read_switch(const json_t *body, const char *key, int *out, api_answer *refused)
{
    const json_t *value = json_object_get(body, key);
    *out = json_is_true(value);
    if (value == NULL || json_is_boolean(value)) return 1;
    *refused = api_refuse(400, "bad-request", "%s: expected true or false", key);
    return 0;
}

static int read_timeout(const json_t *body, job *j, api_answer *refused)
{
    const json_t *value = json_object_get(body, "timeout");
    const double seconds = json_number_value(value);
    if (value == NULL) return 1;
    if (json_is_number(value) && seconds > 0 && seconds < 1e6) {
        j->deadline = j->arrival_time + seconds;
        return 1;
    }
    *refused = api_refuse(400, "bad-request", "timeout: expected a number of seconds, above 0");
    return 0;
}

int api_check_inputs(const api *a, const json_t *inputs, api_answer *refused)
{
    const size_t n = json_is_string(inputs) ? 1 : json_array_size(inputs);
    if (!json_is_string(inputs) && !json_is_array(inputs)) {
        *refused = api_refuse(400, "bad-request", "expected a text, or a list of texts, as inputs");
        return 0;
    }
    if (n > (size_t)a->max_inputs) {
        *refused = api_refuse(413, "too-many-inputs", "%zu inputs: the maximum of a request is %lld", n,
                              (long long)a->max_inputs);
        return 0;
    }
    for (size_t i = 0; i < json_array_size(inputs); i++)
        if (!json_is_string(json_array_get(inputs, i))) {
            *refused = api_refuse(400, "bad-request", "inputs: %zu: expected a text", i);
            return 0;
        }
    return 1;
}

job *api_job(const api *a, const service *to, const json_t *inputs, api_answer *refused)
{
    if (!api_check_inputs(a, inputs, refused)) return NULL;
    const int one = json_is_string(inputs);
    const size_t n = one ? 1 : json_array_size(inputs);
    job *j = job_create((int32_t)n);
    for (size_t i = 0; j && i < n; i++) {
        const json_t *text = one ? inputs : json_array_get(inputs, i);
        if (job_set_text(j, (int32_t)i, json_string_value(text), json_string_length(text))) continue;
        job_release(j);
        j = NULL;
    }
    if (j)
        j->settings = *service_settings(to);
    else
        *refused = api_refuse(503, "out-of-memory", "out of memory: a request");
    return j;
}

/* Submit the job of a request. Returns code 0, or a refusal. */
api_answer api_submit(api_request *request)
{
    const rill_status status = service_submit(request->service, request->job);
    if (status == RILL_OK) return wait_for_job_answer;
    const char *why = service_failure(request->service);
    api_answer refused = why[0] ? api_refuse(503, "failed", "model %s has failed and is being reopened: %s",
                                             service_name(request->service), why)
                         : status == RILL_AGAIN
                             ? api_refuse(503, "busy", "too many inputs are queued: try again")
                             : api_refuse(503, "stopping", "the server is stopping and accepts no requests");
    refused.retry_after = 1;
    return refused;
}

/* --- decode ------------------------------------------------------------------------------------------------------- */

static int read_decode(const api_request *r, api_answer *refused)
{
    const json_t *body = r->body;
    job *j = r->job;
    if (!read_options(r->service, json_object_get(body, "options"), j, refused) ||
        !read_switch(body, "tokens", &j->wants_tokens, refused) ||
        !read_switch(body, "stream", &j->is_stream, refused) || !read_timeout(body, j, refused) ||
        !request_constraints_read(r, refused))
        return 0;
    if (j->is_stream && r->document)
        *refused = api_refuse(400, "bad-request", "\"stream\" cannot be combined with \"split\"");
    return !j->is_stream || !r->document;
}

static api_answer begin_decode(api *a, api_request *request)
{
    static const char *const keys[] = {"model",  "input", "inputs",      "options",  "tokens", "timeout",
                                       "stream", "split", "constraints", "glossary", NULL};
    const json_t *body = request->body, *input = json_object_get(body, "input"),
                 *inputs = json_object_get(body, "inputs");
    api_answer refused = {0};
    document_split split;
    if (!has_known_keys(request->models, body, keys, &refused)) return refused;
    if (!document_job_read_split(json_object_get(body, "split"), &split, &refused)) return refused;
    if (!input == !inputs) return api_refuse(400, "bad-request", "expected either \"input\" or \"inputs\"");
    if (input && !json_is_string(input)) return api_refuse(400, "bad-request", "input: expected a text");
    if (inputs && !json_is_array(inputs)) return api_refuse(400, "bad-request", "inputs: expected a list of texts");
    request->service = requested_service(request->models, body, &refused);
    if (request->service) request->job = document_job_create(a, request, input ? input : inputs, split, &refused);
    job *j = request->job;
    if (!j || !read_decode(request, &refused)) return refused;
    if (j->n > 0) return api_submit(request);
    if (!j->is_stream) return api_routes[0].end(a, request);
    job_append_end_event(j);
    return wait_for_job_answer;
}

/* In a list of inputs, a failed input is reported in its result. The status of a single input is the status of the response. If the
 * server stopped before an input was decoded, the client can send the request to another server. */
static unsigned http_status(const api_request *request)
{
    const int one = request->is_single && !request->document;
    const rill_status status = one ? request->job->input[0].status : RILL_OK;
    for (int32_t i = 0; i < request->job->n; i++)
        if (request->job->input[i].status == RILL_ERR_STOPPED) return 503;
    if (status >= 0) return 200;
    if (status == RILL_ERR_INPUT || status == RILL_ERR_NO_HYPOTHESIS || status == RILL_ERR_DEADLINE) return 422;
    if (status == RILL_ERR_CANCELLED) return 499; /* the client is gone; for the counters only */
    return status == RILL_ERR_OPTION ? 400 : 500;
}

static api_answer end_decode(api *a, api_request *request)
{
    (void)a;
    json_t *results = json_array();
    for (size_t i = 0; i < request->n_documents; i++)
        json_array_append_new(results, json_pack("{s:o, s:o}", "text", document_job_text(request, i, 0), "parts",
                                                 document_job_results(request, i)));
    for (int32_t i = 0; i < request->job->n && !request->document; i++)
        json_array_append(results, request->job->input[i].result);
    json_t *body = request->is_single
                       ? json_incref(json_array_get(results, 0))
                       : json_pack("{s:s, s:O}", "model", service_name(request->service), "results", results);
    if (request->is_single) json_object_set_new(body, "model", json_string(service_name(request->service)));
    json_decref(results);
    return (api_answer){.code = http_status(request), .json = body};
}

/* --- traces ------------------------------------------------------------------------------------------------------- */

enum { MAX_TRACED_INPUTS = 20 };

static api_answer begin_trace(api *a, api_request *request)
{
    static const char *const keys[] = {"model", "inputs", "options", NULL};
    const json_t *body = request->body, *inputs = json_object_get(body, "inputs");
    api_answer refused = {0};
    if (!has_known_keys(request->models, body, keys, &refused)) return refused;
    if (!json_is_array(inputs) || json_array_size(inputs) == 0 || json_array_size(inputs) > MAX_TRACED_INPUTS)
        return api_refuse(400, "bad-request", "inputs: expected a list of 1 to %d texts", MAX_TRACED_INPUTS);
    request->service = requested_service(request->models, body, &refused);
    if (request->service) request->job = api_job(a, request->service, inputs, &refused);
    if (!request->job || !read_options(request->service, json_object_get(body, "options"), request->job, &refused))
        return refused;
    const rill_status status = request_trace_start(request->service, request->job);
    if (status == RILL_OK) return wait_for_job_answer;
    if (status == RILL_ERR_OPTION) return api_refuse(400, "bad-request", "this model's searches cannot be traced");
    refused = api_refuse(503, "busy", "another request is being traced: try again");
    refused.retry_after = 1;
    return refused;
}

static api_answer end_trace(api *a, api_request *request)
{
    job *j = request->job;
    (void)a;
    if (!j->trace) return (api_answer){.code = 500, .json = json_incref(j->input[j->n - 1].result)};
    char *text = j->trace;
    j->trace = NULL;
    return (api_answer){.code = 200, .text = text, .type = "application/x-ndjson"};
}

static api_answer show_page(api *a, api_request *request)
{
    (void)a;
    (void)request;
    char *text = page_text();
    if (!text) return api_refuse(503, "out-of-memory", "out of memory: a response");
    return (api_answer){.code = 200, .text = text, .type = "text/html; charset=utf-8"};
}

/* --- models ------------------------------------------------------------------------------------------------------- */

static api_answer list_models(api *a, api_request *request)
{
    json_t *list = json_array();
    const models *m = request->models;
    (void)a;
    for (int i = 0; i < m->n; i++) {
        service *s = m->service[i];
        service_counts c;
        service_get_counts(s, &c);
        const rill_domain_info *info = rill_model_info(service_model(s));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:s*, s:o, s:o}", "name", service_name(s), "domain",
                                        rill_model_domain(service_model(s))->name, "description",
                                        info->description ? info->description : "", "device", service_device(s),
                                        "options", service_options_json(s), "inputs",
                                        json_pack("{s:I, s:I, s:I}", "waiting", (json_int_t)c.waiting, "under_way",
                                                  (json_int_t)c.in_flight, "done", (json_int_t)c.inputs)));
    }
    return (api_answer){.code = 200, .json = json_pack("{s:o}", "models", list)};
}

/* --- health ------------------------------------------------------------------------------------------------------- */

static api_answer show_health(api *a, api_request *request)
{
    const models *m = request->models;
    (void)a;
    for (int i = 0; i < m->n; i++) {
        const char *why = service_failure(m->service[i]);
        if (why[0]) return api_refuse(500, "failed", "%s: %s", service_name(m->service[i]), why);
    }
    return (api_answer){.code = 200, .json = json_pack("{s:s}", "status", "ok")};
}

static api_answer show_readiness(api *a, api_request *request)
{
    return a->is_draining ? api_refuse(503, "stopping", "the server is stopping and accepts no requests")
                          : show_health(a, request);
}

static api_answer show_openapi(api *a, api_request *request)
{
    (void)a;
    return (api_answer){.code = 200, .json = openapi_document(request->models)};
}

static api_answer show_metrics(api *a, api_request *request)
{
    (void)a;
    char *text = metrics_text(request->models->service, request->models->n);
    if (!text) return api_refuse(503, "out-of-memory", "out of memory: a response");
    return (api_answer){.code = 200, .text = text, .type = "text/plain; version=0.0.4; charset=utf-8"};
}

/* --- routes ------------------------------------------------------------------------------------------------------- */

const api_route api_routes[] = {
    {"POST", "/v1/decode", 0, 0, begin_decode, end_decode},
    {"POST", "/v1/trace", 0, 0, begin_trace, end_trace},
    {"GET", "/", 1, 0, show_page, NULL},
    {"GET", "/v1/models", 0, 0, list_models, NULL},
    {"POST", "/translate", 0, 1, libre_begin_translate, libre_end_translate},
    {"GET", "/languages", 0, 0, libre_languages, NULL},
    {"GET", "/health", 1, 0, show_health, NULL},
    {"GET", "/ready", 1, 0, show_readiness, NULL},
    {"GET", "/metrics", 0, 0, show_metrics, NULL},
    {"GET", "/openapi.json", 1, 0, show_openapi, NULL},
    {NULL, NULL, 0, 0, NULL, NULL},
};
