/* The LibreTranslate API; see api.h.
 *
 * Sections: errors · language pairs · translate · languages. */
#include "api.h"

/* --- errors ------------------------------------------------------------------------------------------------------- */

void libre_error(api_answer *refused)
{
    json_t *why = json_object_get(json_object_get(refused->json, "error"), "message");
    json_t *body = why ? json_pack("{s:O}", "error", why) : json_incref(refused->json);
    json_decref(refused->json);
    refused->json = body;
}

#define REFUSE_TRANSLATE(code, ...) api_refuse(r, code, "bad-request", __VA_ARGS__)

/* --- language pairs ----------------------------------------------------------------------------------------------- */

/* Whether the model's name is FROM-TO; a NULL matches any language. */
static int serves_pair(const service *s, const char *from, const char *to)
{
    const char *name = s->name, *dash = strchr(name, '-');
    if (!dash || dash == name || !dash[1] || strchr(dash + 1, '-')) return 0;
    const size_t length = (size_t)(dash - name);
    return (!from || (strlen(from) == length && !strncmp(from, name, length))) && (!to || !strcmp(to, dash + 1));
}

/* Find the first model of a pair, and count those that serve it. */
static service *find_direct(const models *a, const char *from, const char *to, int *n)
{
    service *found = NULL;
    *n = 0;
    for (int i = 0; i < a->n; i++)
        if (serves_pair(a->service[i], from, to) && (*n)++ == 0) found = a->service[i];
    return found;
}

/* Find two models that translate through a pivot language: the first model whose target another model translates. */
static service *find_pivot(const models *a, const char *from, const char *to, service **then)
{
    for (int i = 0, n; i < a->n; i++) {
        if (!serves_pair(a->service[i], from, NULL)) continue;
        *then = find_direct(a, strchr(a->service[i]->name, '-') + 1, to, &n);
        if (*then) return a->service[i];
    }
    return NULL;
}

static int choose_services(api_request *r)
{
    const models *a = r->models;
    const char *from = json_string_value(json_object_get(r->body, "source")),
               *to = json_string_value(json_object_get(r->body, "target"));
    if (!from || !to)
        return REFUSE_TRANSLATE(400,
                                "expected \"source\" and \"target\": codes of languages, as GET /languages gives them");
    const int is_auto = !strcmp(from, "auto");
    int n;
    r->service = find_direct(a, is_auto ? NULL : from, to, &n);
    if (is_auto && n > 1) r->service = NULL;
    if (!r->service) r->service = find_pivot(a, from, to, &r->second_service);
    if (r->service) return 1;
    return is_auto ? REFUSE_TRANSLATE(400, "source \"auto\": the server does not detect languages: set the source")
                   : REFUSE_TRANSLATE(400, "no model translates \"%s\" into \"%s\": GET /languages lists the pairs",
                                      from, to);
}

/* --- translate ---------------------------------------------------------------------------------------------------- */

/* Read "alternatives"; in a form, numbers are texts. */
static int read_alternatives(api_request *r)
{
    const json_t *value = json_object_get(r->body, "alternatives");
    const char *text = json_string_value(value);
    const int digits = text && *text && strlen(text) <= 3 && strspn(text, "0123456789") == json_string_length(value);
    const json_int_t n = digits ? atoi(text) : json_integer_value(value);
    r->alternatives = (int)n;
    return !value || ((digits || json_is_integer(value)) && n >= 0 && n <= 100)
               ? 1
               : REFUSE_TRANSLATE(400, "alternatives: expected a number from 0 to 100");
}

static int set_alternatives(api_request *r)
{
    const char *why = "out of memory";
    if (r->alternatives == 0) return 1;
    json_t *options = json_pack("{s:i}", "n_best", r->alternatives + 1);
    const rill_status status = options ? service_read_settings(r->service, options, r->job, &why) : RILL_ERR_MEMORY;
    json_decref(options);
    return status < 0 ? REFUSE_TRANSLATE(400, "alternatives: %s", why) : 1;
}

static int read_format(api_request *r, document_split *split)
{
    const json_t *format = json_object_get(r->body, "format");
    const char *name = format ? json_string_value(format) : "text";
    *split = name && !strcmp(name, "html") ? DOCUMENT_HTML : DOCUMENT_SENTENCES;
    return name && (!strcmp(name, "text") || !strcmp(name, "html"))
               ? 1
               : REFUSE_TRANSLATE(400, "format: expected \"text\" or \"html\"");
}

int libre_begin_translate(api_request *r)
{
    const json_t *q = json_object_get(r->body, "q");
    document_split split;
    if (!q) return REFUSE_TRANSLATE(400, "expected \"q\": a text, or a list of texts");
    if (!read_format(r, &split) || !read_alternatives(r) || !choose_services(r) ||
        !request_make_document_job(r, q, split) || (!r->second_service && !set_alternatives(r)))
        return 0;
    return r->job->n > 0 ? request_submit(r) : libre_end_translate(r);
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

static int answer_failure(api_request *r, const job_input *input)
{
    const char *why = json_string_value(json_object_get(json_object_get(input->result, "error"), "message"));
    const unsigned code = is_own_fault(input->status) || input->status == RILL_ERR_OPTION ? 400
                          : input->status == RILL_ERR_STOPPED                             ? 503
                                                                                          : 500;
    return REFUSE_TRANSLATE(code, "%s", why ? why : rill_status_name(input->status));
}

/* Submit the outputs as inputs of the second model. Inputs that failed keep their errors. */
static int submit_second(api_request *r)
{
    job *first = r->job;
    json_t *texts = json_array();
    for (int32_t i = 0; i < first->n; i++) {
        json_t *text = cli_result_output_text(first->input[i].result, 0);
        json_array_append_new(texts, text ? json_incref(text) : json_string(""));
    }
    r->service = r->second_service;
    r->second_service = NULL;
    r->job = request_make_job(r, texts);
    json_decref(texts);
    for (int32_t i = 0; i < first->n && r->job; i++)
        if (first->input[i].status < 0)
            job_set_result(&r->job->input[i], first->input[i].status, json_incref(first->input[i].result));
    if (r->job) r->job->arrival_time = first->arrival_time;
    job_release(first);
    return r->job && set_alternatives(r) ? request_submit(r) : 0;
}

/* Further outputs of an input with a single sentence; an empty list for longer inputs. */
static json_t *alternatives_json(const api_request *r, size_t i)
{
    json_t *list = json_array(), *parts = request_document_results(r, i);
    const json_t *outputs = json_object_get(json_array_get(parts, 0), "outputs");
    for (size_t o = 1; json_array_size(parts) == 1 && o < json_array_size(outputs); o++)
        json_array_append_new(list, request_document_text(r, i, o));
    json_decref(parts);
    return list;
}

/* List sentences that were not translated, with their errors. */
static json_t *untranslated_json(const api_request *r)
{
    json_t *list = json_array(), *part;
    size_t k;
    for (size_t i = 0; i < r->n_documents; i++) {
        json_t *parts = request_document_results(r, i);
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
        json_array_append_new(texts, request_document_text(r, i, 0));
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

int libre_end_translate(api_request *r)
{
    const job_input *failure = find_failure(r);
    if (failure) return answer_failure(r, failure);
    if (r->second_service && r->job->n > 0) return submit_second(r);
    return api_answer_json(r, 200, translated_json(r));
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

int libre_languages(api_request *r)
{
    json_t *list = json_array();
    const models *m = r->models;
    for (int i = 0; i < m->n; i++) {
        const char *name = m->service[i]->name, *dash = strchr(name, '-');
        if (!serves_pair(m->service[i], NULL, NULL)) continue;
        const size_t length = (size_t)(dash - name);
        add_language(list, name, length, dash + 1);
        for (int t = 0; t < m->n; t++) { /* through model m, and model t after it */
            const char *third = serves_pair(m->service[t], dash + 1, NULL) ? strchr(m->service[t]->name, '-') + 1
                                                                           : NULL;
            if (third && (strlen(third) != length || strncmp(third, name, length) != 0))
                add_language(list, name, length, third);
        }
    }
    return api_answer_json(r, 200, list);
}
