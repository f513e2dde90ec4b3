/* The paths of the HTTP API; see http_api.h. */
#include "http_api.h"

#include <math.h>

#include "trace.h"

/* --- POST /decode ------------------------------------------------------------------------------------------------- */

static int read_decode(api_request *r)
{
    job *j = r->job;
    if (!request_read_options(r) || !request_read_switch(r, "tokens", &j->wants_tokens) ||
        !request_read_switch(r, "stream", &j->is_stream) || !request_read_timeout(r) || !request_read_constraints(r))
        return 0;
    if (j->is_stream && r->document) return api_refuse_request(r, "\"stream\" cannot be combined with \"split\"");
    return 1;
}

/* Return the HTTP status of the response. A failed input decides the status only if it is the request's only input. 503: try another
 * server. */
static unsigned http_status(const api_request *r)
{
    const rill_status status = r->is_single && !r->document ? r->job->input[0].status : RILL_OK;
    for (int32_t i = 0; i < r->job->n; i++)
        if (r->job->input[i].status == RILL_ERR_STOPPED) return 503;
    if (status >= 0) return 200;
    if (status == RILL_ERR_INPUT || status == RILL_ERR_NO_HYPOTHESIS || status == RILL_ERR_DEADLINE) return 422;
    if (status == RILL_ERR_CANCELLED) return CLIENT_GONE;
    return status == RILL_ERR_OPTION ? 400 : 500;
}

static int end_decode(api_request *r)
{
    const char *name = r->service->name;
    json_auto_t *results = json_array();
    for (size_t i = 0; i < r->n_documents; i++)
        json_array_append_new(results, json_pack("{s:o, s:o}", "text", request_document_text(r, i, 0), "parts",
                                                 request_document_results(r, i)));
    for (int32_t i = 0; i < r->job->n && !r->document; i++) json_array_append(results, r->job->input[i].result);
    json_t *body = r->is_single ? json_incref(json_array_get(results, 0))
                                : json_pack("{s:s, s:O}", "model", name, "results", results);
    if (r->is_single) json_object_set_new(body, "model", json_string(name));
    return api_answer_json(r, http_status(r), body);
}

static int begin_decode(api_request *r)
{
    static const char *const keys[] = {"model",  "input", "inputs",      "options",  "tokens", "timeout",
                                       "stream", "split", "constraints", "glossary", NULL};
    const json_t *input = json_object_get(r->body, "input"), *inputs = json_object_get(r->body, "inputs");
    document_split split;
    if (!request_has_known_keys(r, keys) || !request_read_split(r, &split)) return 0;
    if (!input == !inputs) return api_refuse_request(r, "expected either \"input\" or \"inputs\"");
    if (input && !json_is_string(input)) return api_refuse_request(r, "input: expected a text");
    if (inputs && !json_is_array(inputs)) return api_refuse_request(r, "inputs: expected a list of texts");
    if (!request_find_service(r) || !request_make_document_job(r, input ? input : inputs, split) || !read_decode(r))
        return 0;
    if (r->job->n > 0) return request_submit(r);
    if (!r->job->is_stream) return end_decode(r);
    job_append_end_event(r->job);
    return 1;
}

/* --- traces ------------------------------------------------------------------------------------------------------- */

enum { MAX_TRACED_INPUTS = 20 };

static int begin_trace(api_request *r)
{
    static const char *const keys[] = {"model", "inputs", "options", NULL};
    const json_t *inputs = json_object_get(r->body, "inputs");
    if (!request_has_known_keys(r, keys)) return 0;
    if (!json_is_array(inputs) || json_array_size(inputs) == 0 || json_array_size(inputs) > MAX_TRACED_INPUTS)
        return api_refuse_request(r, "inputs: expected a list of 1 to %d texts", MAX_TRACED_INPUTS);
    if (!request_find_service(r) || !(r->job = request_make_job(r, inputs)) || !request_read_options(r)) return 0;
    const rill_status status = request_trace_start(r->service, r->job);
    if (status == RILL_OK) return 1;
    if (status == RILL_ERR_OPTION) return api_refuse_request(r, "this model's searches cannot be traced");
    return api_refuse_for_now(r, "busy", "another request is being traced: try again");
}

static int end_trace(api_request *r)
{
    job *j = r->job;
    if (!j->trace)
        return api_answer_json(r, j->is_cancelled ? CLIENT_GONE : 500, json_incref(j->input[j->n - 1].result));
    char *text = j->trace;
    j->trace = NULL;
    return api_answer_text(r, text, "application/x-ndjson");
}

/* --- the web page ------------------------------------------------------------------------------------------------------ */

/* Files that only the server's web page has; the files of view/ are shared by all pages. */
static const rill_embedded_file page_files[] = {
#include "page_files.h"
};

/* Write the files with this ending. Scripts of view/ come before the scripts that use them. */
static void write_files(FILE *out, const char *ending)
{
    const size_t n_shared = cli_picture_n_files;
    for (size_t i = 0; i < n_shared + sizeof page_files / sizeof *page_files; i++) {
        const rill_embedded_file *file = i < n_shared ? &cli_picture_files[i] : &page_files[i - n_shared];
        if (!strcmp(strrchr(file->name, '.'), ending)) fwrite(file->text, 1, file->length, out);
    }
}

static int show_page(api_request *r)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return api_refuse_memory(r);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>rill</title>\n<style>\n",
          out);
    write_files(out, ".css");
    fputs("</style>\n</head>\n<body>\n", out);
    write_files(out, ".html");
    fputs("<script>\n", out);
    write_files(out, ".js");
    fputs("</script>\n</body>\n</html>\n", out);
    if (fclose(out)) {
        free(text);
        return api_refuse_memory(r);
    }
    return api_answer_text(r, text, "text/html; charset=utf-8");
}

/* --- models and health ------------------------------------------------------------------------------------------------------- */

static json_t *model_json(service *s)
{
    const rill_model *model = s->session.model;
    const char *description = rill_model_info(model)->description;
    service_counts c;
    service_get_counts(s, &c);
    json_t *languages = s->languages ? json_array() : NULL;
    for (size_t i = 0; languages && s->languages[i]; i++)
        json_array_append_new(languages, json_string(s->languages[i]));
    return json_pack("{s:s, s:s, s:s, s:s*, s:o, s:{s:I, s:I, s:I}, s:o*, s:s*}", "name", s->name, "domain",
                     rill_model_domain(model)->name, "description", description ? description : "", "device",
                     rill_workers_device(s->session.worker_pool, 0), "options",
                     cli_options_json(s->search_config->resolved, s->search_config), "inputs", "waiting",
                     (json_int_t)c.waiting, "under_way", (json_int_t)c.in_flight, "done", (json_int_t)c.inputs,
                     "languages", languages, "example",
                     s->session.folder.example[0] ? s->session.folder.example : NULL);
}

static int list_models(api_request *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->models->n; i++) json_array_append_new(list, model_json(r->models->service[i]));
    return api_answer_json(r, 200, json_pack("{s:o}", "models", list));
}

static int show_health(api_request *r)
{
    for (int i = 0; i < r->models->n; i++) {
        const char *why = service_failure(r->models->service[i]);
        if (why[0]) return api_refuse(r, 500, "failed", "%s: %s", r->models->service[i]->name, why);
    }
    return api_answer_json(r, 200, json_pack("{s:s}", "status", "ok"));
}

static int show_readiness(api_request *r)
{
    return r->is_draining ? api_refuse(r, 503, "stopping", "the server is stopping and accepts no requests")
                          : show_health(r);
}

static int show_metrics(api_request *r)
{
    return api_answer_text(r, metrics_text(r->models), "text/plain; version=0.0.4; charset=utf-8");
}

/* --- description of the API -------------------------------------------------------------------------------------------- */

static const rill_embedded_file embedded[] = {
#include "openapi_json.h"
};

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

/* Describe an option under its main name, with "_" for "-". Requests may also spell it with "-", or use an alias. */
static void add_option(json_t *options, const rill_option *row)
{
    char key[RILL_OPTION_MAX];
    json_object_set_new(options, rill_option_spell(RILL_OPTION_UNDERSCORED, row->name, key), option_schema(row));
}

static void add_domain_options(json_t *options, const rill_domain *domain)
{
    for (const rill_option *row = rill_domain_input_rows(domain); row && row->name; row++) add_option(options, row);
}

/* Return openapi.json with the options of the option table filled in. *options: the object to which options of domains are added;
 * borrowed. */
static json_t *describe(json_t **options)
{
    json_t *all = json_loadb(embedded[0].text, embedded[0].length, 0, NULL);
    json_t *schemas = json_object_get(json_object_get(all, "components"), "schemas");
    *options = json_object_get(json_object_get(schemas, "Options"), "properties");
    for (const rill_option *row = rill_setting_table(); *options && row->name; row++)
        if (row->kind != RILL_OPTION_SCHEDULE && rill_setting_is_per_request(row)) add_option(*options, row);
    json_object_set_new(json_object_get(all, "info"), "version", json_string(RILL_VERSION_STRING));
    return all;
}

static int show_openapi(api_request *r)
{
    const models *m = r->models;
    json_t *options, *all = describe(&options);
    for (int i = 0; i < m->n; i++) add_domain_options(options, rill_model_domain(m->service[i]->session.model));
    return api_answer_json(r, 200, all);
}

int api_print_description(const rill_context *ctx)
{
    json_t *options, *all = describe(&options);
    const rill_domain *domain;
    for (size_t i = 0; (domain = rill_domain_at(ctx, i)); i++) add_domain_options(options, domain);
    char *text = json_dumps(all, JSON_INDENT(2));
    json_decref(all);
    if (!text) return cli_fail_memory("the description");
    puts(text);
    free(text);
    return cli_flush_stdout();
}

/* --- table of routes ---------------------------------------------------------------------------------------------- */

const api_route api_routes[] = {
    {"POST", "/v1/decode", 0, 0, begin_decode, end_decode},
    {"POST", "/v1/trace", 0, 0, begin_trace, end_trace},
    {"GET", "/", 1, 0, show_page, NULL},
    {"GET", "/v1/models", 0, 0, list_models, NULL},
    {"POST", "/translate", 0, 1, libre_begin_translate, libre_end_translate},
    {"POST", "/detect", 0, 1, libre_detect, NULL},
    {"GET", "/languages", 1, 1, libre_languages, NULL},
    {"GET", "/health", 1, 0, show_health, NULL},
    {"GET", "/ready", 1, 0, show_readiness, NULL},
    {"GET", "/metrics", 0, 0, show_metrics, NULL},
    {"GET", "/openapi.json", 1, 0, show_openapi, NULL},
    {NULL, NULL, 0, 0, NULL, NULL},
};
