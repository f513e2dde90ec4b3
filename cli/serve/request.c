/* Requests: what they ask, and refusals; see api.h. */
#include "api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_output.h"
#include "report.h"

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
int request_has_known_keys(const models *m, const json_t *body, const char *const *keys, api_answer *refused)
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
service *request_find_service(const models *a, const json_t *body, api_answer *refused)
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

int request_read_options(service *target, const json_t *options, job *j, api_answer *refused)
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

int request_read_switch(const json_t *body, const char *key, int *out, api_answer *refused)
{
    const json_t *value = json_object_get(body, key);
    *out = json_is_true(value);
    if (value == NULL || json_is_boolean(value)) return 1;
    *refused = api_refuse(400, "bad-request", "%s: expected true or false", key);
    return 0;
}

int request_read_timeout(const json_t *body, job *j, api_answer *refused)
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

/* --- documents --------------------------------------------------------------------------------------------------------- */

int document_job_read_split(const json_t *value, document_split *split, api_answer *refused)
{
    *split = DOCUMENT_UNSPLIT;
    if (value == NULL) return 1;
    for (int s = DOCUMENT_LINES; s <= DOCUMENT_HTML && json_is_string(value); s++)
        if (!strcmp(document_split_name((document_split)s), json_string_value(value))) {
            *split = (document_split)s;
            return 1;
        }
    *refused = api_refuse(400, "bad-request", "split: expected \"lines\", \"sentences\" or \"html\"");
    return 0;
}

/* Split the inputs into documents of the request. Returns the list of all parts; NULL: out of memory. */
static json_t *split_inputs(api_request *r, const json_t *inputs, document_split split, int32_t max_parts)
{
    const char *language = service_language(r->service);
    const size_t n = json_is_string(inputs) ? 1 : json_array_size(inputs);
    json_t *parts = json_array();
    r->document = calloc(n + 1, sizeof(document *));
    int fine = r->document && parts;
    for (size_t i = 0; i < n && fine && json_array_size(parts) <= (size_t)max_parts; i++) {
        const json_t *text = json_is_string(inputs) ? inputs : json_array_get(inputs, i);
        document *d = document_open(json_string_value(text), json_string_length(text), split, language, max_parts);
        fine = d != NULL;
        r->document[i] = d;
        r->n_documents += fine;
        for (int32_t k = 0; fine && k < document_n_parts(d); k++) {
            size_t length;
            const char *part = document_part(d, k, &length);
            fine = !json_array_append_new(parts, json_stringn_nocheck(part, length));
        }
    }
    if (fine) return parts;
    json_decref(parts);
    return NULL;
}

job *document_job_create(const api *a, api_request *r, const json_t *inputs, document_split split, api_answer *refused)
{
    if (!api_check_inputs(a, inputs, refused)) return NULL;
    r->is_single = json_is_string(inputs);
    if (split == DOCUMENT_UNSPLIT) return api_job(a, r->service, inputs, refused);
    json_t *parts = split_inputs(r, inputs, split, (int32_t)a->max_inputs);
    const int too_many = json_array_size(parts) > (size_t)a->max_inputs;
    job *j = parts && !too_many ? api_job(a, r->service, parts, refused) : NULL;
    if (!parts) *refused = api_refuse(503, "out-of-memory", "out of memory: a request");
    if (too_many)
        *refused = api_refuse(413, "too-many-inputs",
                              "the text has more than %lld sentences and HTML texts: send "
                              "it in parts",
                              (long long)a->max_inputs);
    json_decref(parts);
    return j;
}

/* The parts of a document among the job's inputs, and the rank of the output to join. */
typedef struct document_range {
    const api_request *request;
    const document *document;
    int32_t first;
    size_t output;
} document_range;

static document_range job_range(const api_request *r, size_t i)
{
    document_range found = {.request = r, .document = r->document[i]};
    for (size_t d = 0; d < i; d++) found.first += document_n_parts(r->document[d]);
    return found;
}

static const char *part_output_text(void *user, int32_t i)
{
    const document_range *where = user;
    const size_t output = document_is_sentence(where->document, i) ? where->output : 0;
    return json_string_value(cli_result_output_text(where->request->job->input[where->first + i].result, output));
}

json_t *document_job_text(const api_request *r, size_t i, size_t output)
{
    document_range where = job_range(r, i);
    where.output = output;
    char *text = document_join(r->document[i], part_output_text, &where);
    json_t *text_json = text ? cli_json_text(text, strlen(text)) : NULL;
    free(text);
    return text_json;
}

json_t *document_job_results(const api_request *r, size_t i)
{
    const document_range where = job_range(r, i);
    json_t *list = json_array();
    for (int32_t k = 0; k < document_n_parts(r->document[i]); k++) {
        if (!document_is_sentence(r->document[i], k)) continue;
        size_t length;
        const char *part = document_part(r->document[i], k, &length);
        json_t *part_json = json_pack("{s:o}", "input", cli_json_text(part, length));
        json_object_update(part_json, r->job->input[where.first + k].result);
        json_array_append_new(list, part_json);
    }
    return list;
}

void document_job_clear(api_request *r)
{
    for (size_t i = 0; i < r->n_documents; i++) document_close(r->document[i]);
    free(r->document);
    r->document = NULL;
    r->n_documents = 0;
}
