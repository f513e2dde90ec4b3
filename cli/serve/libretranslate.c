/* The LibreTranslate API; see api.h.
 *
 * Divisions: errors · language pairs · translate · languages. */
#include "api.h"

#include "cli_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- errors ------------------------------------------------------------------------------------------------------- */

api_answer libre_error(api_answer refused)
{
    const json_t *why = json_object_get(json_object_get(refused.json, "error"), "message");
    if (!why) return refused;
    json_t *body = json_pack("{s:O}", "error", why);
    json_decref(refused.json);
    refused.json = body;
    return refused;
}

#define REFUSE_TRANSLATE(code, ...) api_refuse(code, "bad-request", __VA_ARGS__)

/* --- language pairs ----------------------------------------------------------------------------------------------- */

/* Whether the model's name is FROM-TO; a NULL matches any language. */
static int serves_pair(const service *s, const char *from, const char *to)
{
    const char *name = service_name(s), *dash = strchr(name, '-');
    if (!dash || dash == name || !dash[1] || strchr(dash + 1, '-')) return 0;
    const size_t length = (size_t)(dash - name);
    return (!from || (strlen(from) == length && !strncmp(from, name, length))) && (!to || !strcmp(to, dash + 1));
}

static service *find_direct(const models *a, const char *from, const char *to)
{
    for (int i = 0; i < a->n; i++)
        if (serves_pair(a->service[i], from, to)) return a->service[i];
    return NULL;
}

/* Find two models that translate through a pivot language: the first model whose target another model translates. */
static service *find_pivot(const models *a, const char *from, const char *to, service **then)
{
    for (int i = 0; i < a->n; i++) {
        if (!serves_pair(a->service[i], from, NULL)) continue;
        *then = find_direct(a, strchr(service_name(a->service[i]), '-') + 1, to);
        if (*then) return a->service[i];
    }
    return NULL;
}

static service *find_only_target(const models *a, const char *to)
{
    service *found = NULL;
    for (int i = 0; i < a->n; i++) {
        if (!serves_pair(a->service[i], NULL, to)) continue;
        if (found) return NULL;
        found = a->service[i];
    }
    return found;
}

static int choose_services(api_request *request, api_answer *refused)
{
    const models *a = request->models;
    const char *from = json_string_value(json_object_get(request->body, "source")),
               *to = json_string_value(json_object_get(request->body, "target"));
    if (!from || !to) {
        *refused = REFUSE_TRANSLATE(
            400, "expected \"source\" and \"target\": codes of languages, as GET /languages gives them");
        return 0;
    }
    request->service = !strcmp(from, "auto") ? find_only_target(a, to) : find_direct(a, from, to);
    if (!request->service) request->service = find_pivot(a, from, to, &request->second_service);
    if (request->service) return 1;
    *refused = !strcmp(from, "auto")
                   ? REFUSE_TRANSLATE(400, "source \"auto\": the server does not detect languages: set the source")
                   : REFUSE_TRANSLATE(400, "no model translates \"%s\" into \"%s\": GET /languages lists the pairs",
                                      from, to);
    return 0;
}

/* --- translate ---------------------------------------------------------------------------------------------------- */

/* Read "alternatives"; in a form, numbers are texts. */
static int read_alternatives(api_request *r, api_answer *refused)
{
    const json_t *value = json_object_get(r->body, "alternatives");
    const char *text = json_string_value(value);
    const int digits = text && *text && strlen(text) <= 3 && strspn(text, "0123456789") == json_string_length(value);
    const json_int_t n = digits ? atoi(text) : json_integer_value(value);
    r->alternatives = (int)n;
    if (!value || ((digits || json_is_integer(value)) && n >= 0 && n <= 100)) return 1;
    *refused = REFUSE_TRANSLATE(400, "alternatives: expected a number from 0 to 100");
    return 0;
}

static int set_alternatives(const api_request *r, service *to, job *j, api_answer *refused)
{
    const int n = r->alternatives;
    if (n == 0) return 1;
    const char *why = "out of memory";
    json_t *options = json_pack("{s:i}", "n_best", n + 1);
    const rill_status status = options ? service_read_settings(to, options, j, &why) : RILL_ERR_MEMORY;
    json_decref(options);
    if (status < 0) {
        *refused = REFUSE_TRANSLATE(400, "alternatives: %s", why);
        return 0;
    }
    return 1;
}

static int read_format(const json_t *format, document_split *split, api_answer *refused)
{
    const char *name = format ? json_string_value(format) : "text";
    *split = name && !strcmp(name, "html") ? DOCUMENT_HTML : DOCUMENT_SENTENCES;
    if (name && (!strcmp(name, "text") || !strcmp(name, "html"))) return 1;
    *refused = REFUSE_TRANSLATE(400, "format: expected \"text\" or \"html\"");
    return 0;
}

api_answer libre_begin_translate(api *a, api_request *request)
{
    const json_t *q = json_object_get(request->body, "q");
    document_split split;
    api_answer refused = {0};
    if (!q) return REFUSE_TRANSLATE(400, "expected \"q\": a text, or a list of texts");
    if (!read_format(json_object_get(request->body, "format"), &split, &refused) ||
        !read_alternatives(request, &refused) || !choose_services(request, &refused))
        return refused;
    request->job = document_job_create(a, request, q, split, &refused);
    if (!request->job) return refused;
    if (!request->second_service && !set_alternatives(request, request->service, request->job, &refused))
        return refused;
    return request->job->n > 0 ? api_submit(request) : libre_end_translate(a, request);
}

/* Whether the input's text causes the failure. */
static int is_own_fault(rill_status status)
{
    return status == RILL_ERR_INPUT || status == RILL_ERR_NO_HYPOTHESIS;
}

/* Find the failure that fails the whole request: the first one that an input's text did not cause, or the first sentence if all
 * sentences failed. NULL: the request succeeds. Other failed sentences keep their source text, and tags are then placed in proportion. */
static const job_input *find_failure(const api_request *r)
{
    const job_input *input = r->job->input, *first = NULL;
    int32_t n_fine = 0;
    for (size_t i = 0; i < r->n_documents; i++)
        for (int32_t k = 0; k < document_n_parts(r->document[i]); k++, input++) {
            if (input->status < 0 && !is_own_fault(input->status)) return input;
            if (!document_is_sentence(r->document[i], k)) continue;
            n_fine += input->status >= 0;
            if (input->status < 0 && !first) first = input;
        }
    return n_fine > 0 ? NULL : first;
}

static api_answer failure_answer(const job_input *input)
{
    const char *why = json_string_value(json_object_get(json_object_get(input->result, "error"), "message"));
    const unsigned code = is_own_fault(input->status) || input->status == RILL_ERR_OPTION ? 400
                          : input->status == RILL_ERR_STOPPED                             ? 503
                                                                                          : 500;
    return REFUSE_TRANSLATE(code, "%s", why ? why : rill_status_name(input->status));
}

/* Submit the outputs as inputs of the second model. Inputs that failed keep their errors. */
static api_answer submit_second(api *a, api_request *request)
{
    api_answer refused = {0};
    job *first = request->job;
    json_t *texts = json_array();
    for (int32_t i = 0; i < first->n; i++) {
        json_t *text = cli_result_output_text(first->input[i].result, 0);
        json_array_append_new(texts, text ? json_incref(text) : json_string(""));
    }
    request->service = request->second_service;
    request->second_service = NULL;
    request->job = api_job(a, request->service, texts, &refused);
    json_decref(texts);
    for (int32_t i = 0; i < first->n && request->job; i++)
        if (first->input[i].status < 0)
            job_set_result(&request->job->input[i], first->input[i].status, json_incref(first->input[i].result));
    if (request->job) request->job->arrival_time = first->arrival_time;
    job_release(first);
    if (!request->job || !set_alternatives(request, request->service, request->job, &refused)) return refused;
    return api_submit(request);
}

/* Further outputs of an input with a single sentence; an empty list for longer inputs. */
static json_t *alternatives_json(const api_request *r, size_t i)
{
    json_t *list = json_array(), *parts = document_job_results(r, i);
    const json_t *outputs = json_object_get(json_array_get(parts, 0), "outputs");
    for (size_t o = 1; json_array_size(parts) == 1 && o < json_array_size(outputs); o++)
        json_array_append_new(list, document_job_text(r, i, o));
    json_decref(parts);
    return list;
}

/* List sentences that were not translated, with their errors. */
static json_t *untranslated_json(const api_request *r)
{
    json_t *list = json_array(), *part;
    size_t k;
    for (size_t i = 0; i < r->n_documents; i++) {
        json_t *parts = document_job_results(r, i);
        json_array_foreach(parts, k, part)
        {
            json_t *why = json_object_get(json_object_get(part, "error"), "message");
            if (!why) continue;
            json_array_append_new(
                list, json_pack("{s:i, s:O, s:O}", "q", (int)i, "text", json_object_get(part, "input"), "error", why));
        }
        json_decref(parts);
    }
    return list;
}

static json_t *translated_json(const api_request *r)
{
    json_t *texts = json_array(), *others = json_array(), *body = json_object(), *stayed = untranslated_json(r);
    for (size_t i = 0; i < r->n_documents; i++) {
        json_array_append_new(texts, document_job_text(r, i, 0));
        json_array_append_new(others, alternatives_json(r, i));
    }
    json_object_set(body, "translatedText", r->is_single ? json_array_get(texts, 0) : texts);
    if (r->alternatives > 0) json_object_set(body, "alternatives", r->is_single ? json_array_get(others, 0) : others);
    if (json_array_size(stayed) > 0) json_object_set(body, "untranslated", stayed);
    json_decref(texts);
    json_decref(others);
    json_decref(stayed);
    return body;
}

api_answer libre_end_translate(api *a, api_request *request)
{
    const job_input *failure = find_failure(request);
    if (failure) return failure_answer(failure);
    if (request->second_service && request->job->n > 0) return submit_second(a, request);
    return (api_answer){.code = 200, .json = translated_json(request)};
}

/* --- languages ---------------------------------------------------------------------------------------------------- */

static void add_language(json_t *list, const char *code, size_t length, const char *target)
{
    json_t *entry, *found = NULL;
    size_t i;
    json_array_foreach(list, i, entry)
    {
        const json_t *name = json_object_get(entry, "code");
        if (json_string_length(name) == length && !strncmp(json_string_value(name), code, length)) found = entry;
    }
    if (!found) {
        found = json_pack("{s:o, s:o, s:[]}", "code", json_stringn(code, length), "name", json_stringn(code, length),
                          "targets");
        json_array_append_new(list, found);
    }
    json_t *targets = json_object_get(found, "targets");
    json_array_foreach(targets, i, entry) if (!strcmp(json_string_value(entry), target)) return;
    json_array_append_new(targets, json_string(target));
}

api_answer libre_languages(api *a, api_request *request)
{
    json_t *list = json_array();
    const models *m = request->models;
    (void)a;
    for (int i = 0; i < m->n; i++) {
        const char *name = service_name(m->service[i]), *dash = strchr(name, '-');
        if (!serves_pair(m->service[i], NULL, NULL)) continue;
        const size_t length = (size_t)(dash - name);
        add_language(list, name, length, dash + 1);
        for (int t = 0; t < m->n; t++) { /* through model m, and model t after it */
            const char *third = serves_pair(m->service[t], dash + 1, NULL)
                                    ? strchr(service_name(m->service[t]), '-') + 1
                                    : NULL;
            if (third && (strlen(third) != length || strncmp(third, name, length) != 0))
                add_language(list, name, length, third);
        }
    }
    return (api_answer){.code = 200, .json = list};
}
