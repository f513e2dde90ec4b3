/* The HTTP API; see api.h.
 *
 * Divisions: responses · parsing requests · decode · traces · models · health · routes. */
#include "api.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_output.h"
#include "report.h"
#include "trace.h"

/* --- decode ------------------------------------------------------------------------------------------------------- */

static int read_decode(const api_request *r, api_answer *refused)
{
    const json_t *body = r->body;
    job *j = r->job;
    if (!request_read_options(r->service, json_object_get(body, "options"), j, refused) ||
        !request_read_switch(body, "tokens", &j->wants_tokens, refused) ||
        !request_read_switch(body, "stream", &j->is_stream, refused) || !request_read_timeout(body, j, refused) ||
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
    if (!request_has_known_keys(request->models, body, keys, &refused)) return refused;
    if (!document_job_read_split(json_object_get(body, "split"), &split, &refused)) return refused;
    if (!input == !inputs) return api_refuse(400, "bad-request", "expected either \"input\" or \"inputs\"");
    if (input && !json_is_string(input)) return api_refuse(400, "bad-request", "input: expected a text");
    if (inputs && !json_is_array(inputs)) return api_refuse(400, "bad-request", "inputs: expected a list of texts");
    request->service = request_find_service(request->models, body, &refused);
    if (request->service) request->job = document_job_create(a, request, input ? input : inputs, split, &refused);
    job *j = request->job;
    if (!j || !read_decode(request, &refused)) return refused;
    if (j->n > 0) return api_submit(request);
    if (!j->is_stream) return api_routes[0].end(a, request);
    job_append_end_event(j);
    return (api_answer){.code = 0};
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
    if (!request_has_known_keys(request->models, body, keys, &refused)) return refused;
    if (!json_is_array(inputs) || json_array_size(inputs) == 0 || json_array_size(inputs) > MAX_TRACED_INPUTS)
        return api_refuse(400, "bad-request", "inputs: expected a list of 1 to %d texts", MAX_TRACED_INPUTS);
    request->service = request_find_service(request->models, body, &refused);
    if (request->service) request->job = api_job(a, request->service, inputs, &refused);
    if (!request->job ||
        !request_read_options(request->service, json_object_get(body, "options"), request->job, &refused))
        return refused;
    const rill_status status = request_trace_start(request->service, request->job);
    if (status == RILL_OK) return (api_answer){.code = 0};
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

/* --- the description --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *text;
    size_t length;
} embedded[] = {
#include "openapi_json.h"
};

/* The JSON schema of an option. */
static json_t *option_schema(const rill_option *row)
{
    const char *type = row->type == RILL_OPTION_INT || row->type == RILL_OPTION_BYTES ? "integer"
                       : row->type == RILL_OPTION_REAL                                ? "number"
                       : row->type == RILL_OPTION_SWITCH                              ? "boolean"
                                                                                      : "string";
    json_t *schema = json_pack("{s:s, s:s}", "type", type, "description", row->help);
    if (row->type == RILL_OPTION_REAL) {
        json_object_del(schema, "type");
        json_object_set_new(schema, "oneOf",
                            json_pack("[{s:s}, {s:s, s:s}]", "type", "number", "type", "string", "description",
                                      "\"inf\", or a fraction such as \"1/2\""));
    }
    if (row->type == RILL_OPTION_INT) {
        json_object_set_new(schema, "minimum", json_integer((json_int_t)row->min));
        json_object_set_new(schema, "maximum", json_integer((json_int_t)fmin(row->max, 2147483647)));
    }
    if (row->type == RILL_OPTION_WORD) {
        json_t *words = json_array();
        for (const char *word = row->argument; *word;) {
            const size_t length = strcspn(word, "|");
            json_array_append_new(words, json_stringn(word, length));
            word += length + (word[length] == '|');
        }
        json_object_set_new(schema, "enum", words);
    }
    return schema;
}

/* Describe an option under its name as an identifier. Requests may spell it with "-", or use an alias. */
static void add_option(json_t *options, const rill_option *row)
{
    char name[RILL_OPTION_MAX];
    snprintf(name, sizeof name, "%s", row->name);
    for (char *dash = name; (dash = strchr(dash, '-'));) *dash = '_';
    json_object_set_new(options, name, option_schema(row));
}

json_t *openapi_document(const models *m)
{
    json_t *all = json_loadb(embedded[0].text, embedded[0].length, 0, NULL);
    json_t *schemas = json_object_get(json_object_get(all, "components"), "schemas");
    json_t *options = json_object_get(json_object_get(schemas, "Options"), "properties");
    for (const rill_option *row = rill_setting_table(); options && row->name; row++)
        if (row->kind != RILL_OPTION_SCHEDULE && rill_setting_is_per_request(row)) add_option(options, row);
    for (int i = 0; i < m->n; i++) {
        const rill_option *row = rill_domain_input_rows(rill_model_domain(service_model(m->service[i])));
        for (; row && row->name; row++) add_option(options, row);
    }
    json_object_set_new(json_object_get(all, "info"), "version", json_string(RILL_VERSION_STRING));
    return all;
}

/* --- the page ---------------------------------------------------------------------------------------------------------- */

/* Files of this page; files of view/ are shared by all pages. */
static const cli_picture_file page_files[] = {
#include "page_files.h"
};

static void put(FILE *out, const cli_picture_file *files, size_t n, const char *ending)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(strrchr(files[i].name, '.'), ending)) fwrite(files[i].text, 1, files[i].length, out);
}

static void write_files(FILE *out, const char *ending)
{
    put(out, cli_picture_files, cli_picture_n_files, ending);
    put(out, page_files, sizeof page_files / sizeof *page_files, ending);
}

char *page_text(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>rill</title>\n<style>\n",
          out);
    write_files(out, ".css");
    fputs("</style>\n</head>\n<body>\n", out);
    write_files(out, ".html");
    fputs("<script>\n", out);
    write_files(out, ".js"); /* scripts come after the scripts that they use */
    fputs("</script>\n</body>\n</html>\n", out);
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}
