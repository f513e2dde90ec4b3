/* The API; see api.h.
 *
 * Divisions: answers · reading a request · decode · models · health · routes. */
#include "api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "libre.h"
#include "metrics.h"
#include "openapi.h"
#include "result.h"

/* --- answers ------------------------------------------------------------------------------------------------------ */

api_answer api_refuse(unsigned code, const char *name, const char *format, ...)
{
    char why[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return (api_answer){
        .code = code,
        .json = json_pack("{s:{s:s, s:o}}", "error", "code", name, "message", result_text(why, strlen(why)))};
}

static const api_answer waits = {.code = 0};

/* --- reading a request -------------------------------------------------------------------------------------------- */

/* What is given and not known is refused. */
static int is_known(const json_t *body, const char *const *keys, const char **unknown)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)body, key, value)
    {
        int known = 0;
        for (size_t i = 0; keys[i]; i++) known |= !strcmp(keys[i], key);
        *unknown = key;
        if (!known) return 0;
    }
    return 1;
}

static service *find_service(const api *a, const char *name)
{
    for (int i = 0; i < a->n; i++)
        if (!strcmp(service_name(a->service[i]), name)) return a->service[i];
    return NULL;
}

/* The model that the request names; without a name the first. */
static service *service_of(const api *a, const json_t *body, api_answer *refused)
{
    const json_t *name = json_object_get(body, "model");
    service *found = name == NULL           ? a->service[0]
                     : json_is_string(name) ? find_service(a, json_string_value(name))
                                            : NULL;
    if (!found && json_is_string(name))
        *refused = api_refuse(404, "unknown-model", "there is no model \"%s\" here: GET /v1/models names them",
                              json_string_value(name));
    else if (!found)
        *refused = api_refuse(400, "bad-request", "model: expected a text");
    return found;
}

/* A JSON value as an option's text. */
static const char *text_of(const json_t *value, char out[64])
{
    if (json_is_string(value)) return json_string_value(value);
    if (json_is_boolean(value)) return json_is_true(value) ? "1" : "0";
    if (json_is_integer(value)) {
        snprintf(out, 64, "%lld", (long long)json_integer_value(value));
        return out;
    }
    if (!json_is_real(value)) return NULL;
    snprintf(out, 64, "%.17g", json_real_value(value));
    return out;
}

/* A request's settings, as they stand in its body. */
typedef struct said {
    json_t *settings;
    void *at;          /* in them */
    const char *wrong; /* the name of a value that is no option's */
    char text[64];
} said;

static int next_said(void *user, int i, const char **name, const char **value)
{
    said *all = user;
    all->at = i == 0 ? json_object_iter(all->settings) : json_object_iter_next(all->settings, all->at);
    if (!all->at) return 0;
    *name = json_object_iter_key(all->at);
    *value = text_of(json_object_iter_value(all->at), all->text);
    if (!*value) all->wrong = *name;
    return *value != NULL;
}

static int read_settings(service *to, json_t *settings, rill_settings *out, api_answer *refused)
{
    said all = {.settings = settings};
    const char *why;
    if (settings == NULL) return 1;
    if (!json_is_object(settings)) {
        *refused = api_refuse(400, "bad-request", "settings: expected an object {NAME: VALUE}");
        return 0;
    }
    const rill_status status = service_read(to, next_said, &all, out, &why);
    if (status == RILL_OK && !all.wrong) return 1;
    *refused = all.wrong
                   ? api_refuse(400, "bad-setting", "settings: %s: expected a number, a text, true or false", all.wrong)
               : status == RILL_ERR_OPTION ? api_refuse(400, "bad-setting", "settings: %s", why)
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

static int read_deadline(const json_t *body, job *j, api_answer *refused)
{
    const json_t *value = json_object_get(body, "deadline");
    const double seconds = json_number_value(value);
    if (value == NULL) return 1;
    if (json_is_number(value) && seconds > 0 && seconds < 1e6) {
        j->deadline = j->since + seconds;
        return 1;
    }
    *refused = api_refuse(400, "bad-request", "deadline: expected a number of seconds, above 0");
    return 0;
}

job *api_job(const api *a, const service *to, const json_t *inputs, int *one, api_answer *refused)
{
    *one = json_is_string(inputs);
    const size_t n = *one ? 1 : json_array_size(inputs);
    if (!*one && !json_is_array(inputs)) {
        *refused = api_refuse(400, "bad-request", "expected a text, or a list of texts, as inputs");
        return NULL;
    }
    if (n > (size_t)a->most_inputs) {
        *refused = api_refuse(413, "too-many-inputs", "%zu inputs: a request may have %lld", n,
                              (long long)a->most_inputs);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (!*one && !json_is_string(json_array_get(inputs, i))) {
            *refused = api_refuse(400, "bad-request", "inputs: %zu: expected a text", i);
            return NULL;
        }
    job *j = job_create((int32_t)n);
    for (size_t i = 0; j && i < n; i++) {
        const json_t *text = *one ? inputs : json_array_get(inputs, i);
        if (job_set_text(j, (int32_t)i, json_string_value(text), json_string_length(text))) continue;
        job_release(j);
        j = NULL;
    }
    if (j)
        j->settings = *service_settings(to);
    else
        *refused = api_refuse(503, "out-of-memory", "there is no memory for the request");
    return j;
}

/* Hand the job in; what cannot be taken is refused at once. */
api_answer api_submit(api_request *request)
{
    const rill_status status = service_submit(request->to, request->job);
    if (status == RILL_OK) return waits;
    api_answer refused = status == RILL_AGAIN ? api_refuse(503, "busy", "too many inputs are waiting: try again")
                                              : api_refuse(503, "stopping", "the server takes no more requests");
    refused.retry = 1;
    return refused;
}

/* --- decode ------------------------------------------------------------------------------------------------------- */

static api_answer begin_decode(api *a, api_request *request)
{
    static const char *const keys[] = {"model", "input", "inputs", "settings", "tokens", "deadline", NULL};
    const json_t *body = request->body, *input = json_object_get(body, "input"),
                 *inputs = json_object_get(body, "inputs");
    api_answer refused = {0};
    const char *unknown;
    if (!is_known(body, keys, &unknown)) return api_refuse(400, "bad-request", "\"%s\" is not known here", unknown);
    if (!input == !inputs) return api_refuse(400, "bad-request", "expected one of \"input\" and \"inputs\"");
    if (input && !json_is_string(input)) return api_refuse(400, "bad-request", "input: expected a text");
    request->to = service_of(a, body, &refused);
    if (request->to) request->job = api_job(a, request->to, input ? input : inputs, &request->one, &refused);
    job *j = request->job;
    if (!j || !read_settings(request->to, json_object_get(body, "settings"), &j->settings, &refused) ||
        !read_switch(body, "tokens", &j->tokens, &refused) || !read_deadline(body, j, &refused))
        return refused;
    return j->n > 0 ? api_submit(request) : api_routes[0].end(a, request);
}

/* One bad input among others is told in its place; a single one is what the request is about. */
static unsigned code_of(const api_request *request)
{
    const rill_status status = request->one ? request->job->input[0].status : RILL_OK;
    if (status >= 0) return 200;
    return status == RILL_ERR_INPUT || status == RILL_ERR_NO_HYPOTHESIS ? 422
           : status == RILL_ERR_OPTION                                  ? 400
           : status == RILL_ERR_LATE                                    ? 504
                                                                        : 500;
}

static api_answer end_decode(api *a, api_request *request)
{
    (void)a;
    json_t *results = json_array();
    for (int32_t i = 0; i < request->job->n; i++) json_array_append(results, request->job->input[i].result);
    json_t *body = request->one ? json_incref(json_array_get(results, 0))
                                : json_pack("{s:s, s:O}", "model", service_name(request->to), "results", results);
    if (request->one) json_object_set_new(body, "model", json_string(service_name(request->to)));
    json_decref(results);
    return (api_answer){.code = code_of(request), .json = body};
}

/* --- models ------------------------------------------------------------------------------------------------------- */

static json_t *settings_json(const rill_settings *settings)
{
    json_t *out = json_object();
    char text[RILL_OPTION_MAX];
    for (const rill_option *row = rill_setting_table(); row->name; row++)
        if (row->kind != RILL_OPTION_SCHEDULE)
            json_object_set_new(out, row->name, json_string(rill_settings_get(settings, row, text)));
    return out;
}

static api_answer list_models(api *a, api_request *request)
{
    json_t *list = json_array();
    (void)request;
    for (int i = 0; i < a->n; i++) {
        const service *s = a->service[i];
        const rill_domain_info *info = rill_model_info(service_model(s));
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s*, s:o}", "name", service_name(s), "domain",
                                              rill_model_domain(service_model(s))->name, "description",
                                              info->description ? info->description : "", "device", service_device(s),
                                              "settings", settings_json(service_settings(s))));
    }
    return (api_answer){.code = 200, .json = json_pack("{s:o}", "models", list)};
}

/* --- health ------------------------------------------------------------------------------------------------------- */

static api_answer health(api *a, api_request *request)
{
    (void)request;
    for (int i = 0; i < a->n; i++) {
        const char *why = service_failure(a->service[i]);
        if (why[0]) return api_refuse(500, "failed", "%s: %s", service_name(a->service[i]), why);
    }
    return (api_answer){.code = 200, .json = json_pack("{s:s}", "status", "ok")};
}

static api_answer ready(api *a, api_request *request)
{
    return a->draining ? api_refuse(503, "stopping", "the server takes no more requests") : health(a, request);
}

static api_answer describe(api *a, api_request *request)
{
    (void)a;
    (void)request;
    return (api_answer){.code = 200, .json = openapi_document()};
}

static api_answer tell_metrics(api *a, api_request *request)
{
    (void)request;
    char *text = metrics_text(a->service, a->n);
    if (!text) return api_refuse(503, "out-of-memory", "there is no memory for the answer");
    return (api_answer){.code = 200, .text = text, .type = "text/plain; version=0.0.4; charset=utf-8"};
}

/* --- routes ------------------------------------------------------------------------------------------------------- */

const api_route api_routes[] = {
    {"POST", "/v1/decode", 0, 0, begin_decode, end_decode},
    {"GET", "/v1/models", 0, 0, list_models, NULL},
    {"POST", "/translate", 0, 1, libre_translate, libre_translated},
    {"GET", "/languages", 0, 0, libre_languages, NULL},
    {"GET", "/health", 1, 0, health, NULL},
    {"GET", "/ready", 1, 0, ready, NULL},
    {"GET", "/metrics", 0, 0, tell_metrics, NULL},
    {"GET", "/openapi.json", 1, 0, describe, NULL},
    {NULL, NULL, 0, 0, NULL, NULL},
};
