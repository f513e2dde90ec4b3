/* The LibreTranslate API; see http_api.h. */
#include "http_api.h"

#include <math.h>

/* --- errors ------------------------------------------------------------------------------------------------------- */

void libre_error(api_answer *refused)
{
    json_t *why = json_object_get(json_object_get(refused->json, "error"), "message");
    json_t *body = why ? json_pack("{s:O}", "error", why) : json_incref(refused->json);
    json_decref(refused->json);
    refused->json = body;
}

/* --- names of languages -------------------------------------------------------------------------------------------- */

static const rill_embedded_file embedded[] = {
#include "language_names_json.h"
};

/* Return the name of a code; NULL: it has none. kind: "languages" or "scripts". */
static const char *find_name(const char *kind, const char *code)
{
    static json_t *names; /* parsed at the first call, and kept */
    if (!names) names = json_loadb(embedded[0].text, embedded[0].length, 0, NULL);
    return json_string_value(json_object_get(json_object_get(names, kind), code));
}

/* Write the English name of a language code such as "zho_Hans": "Chinese (Simplified)" with_script, else "Chinese". Unknown: the code. */
static void language_name(const char *code, int with_script, char *out, size_t size)
{
    char language[64];
    snprintf(language, sizeof language, "%.*s", (int)strcspn(code, "_-"), code);
    const char *name = find_name("languages", language), *script = strpbrk(code, "_-");
    const char *script_name = script ? find_name("scripts", script + 1) : NULL;
    if (!name)
        snprintf(out, size, "%s", with_script ? code : language);
    else if (with_script && script && script[1])
        snprintf(out, size, "%s (%s)", name, script_name ? script_name : script + 1);
    else
        snprintf(out, size, "%s", name);
}

/* --- language codes ----------------------------------------------------------------------------------------------- */

enum { CODE_MAX = 40, NAME_MAX_BYTES = 100 };

static const char *find_by_name(const service *s, const char *code, int with_script)
{
    char wanted[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
    language_name(code, with_script, wanted, sizeof wanted);
    for (size_t i = 0; s->languages[i]; i++) {
        language_name(s->languages[i], with_script, name, sizeof name);
        if (!strcmp(name, wanted)) return s->languages[i];
    }
    return NULL;
}

/* Return a multilingual model's own code for a language: for "zh-Hant" zho_Hant, for "zh" its first script. NULL: unknown. */
static const char *find_code(const service *s, const char *code)
{
    const char *found = NULL;
    for (size_t i = 0; s->languages[i]; i++)
        if (!strcmp(s->languages[i], code)) return s->languages[i];
    if (strlen(code) > CODE_MAX) return NULL;
    if (code[0]) found = find_by_name(s, code, 1);
    return found || !code[0] || strpbrk(code, "_-") ? found : find_by_name(s, code, 0);
}

/* --- language pairs ----------------------------------------------------------------------------------------------- */

/* Return the position of the dash in a model's name FROM-TO; NULL: the name has another form. */
static const char *find_dash(const service *s)
{
    const char *dash = strchr(s->name, '-');
    return !dash || dash == s->name || !dash[1] || strchr(dash + 1, '-') ? NULL : dash;
}

/* Whether the model's name is FROM-TO for these languages; NULL stands for any language. */
static int is_named(const service *s, const char *from, const char *to)
{
    const char *dash = find_dash(s);
    if (!dash) return 0;
    const size_t length = (size_t)(dash - s->name);
    return (!from || (strlen(from) == length && !strncmp(from, s->name, length))) && (!to || !strcmp(to, dash + 1));
}

/* Whether the model translates `from` (NULL: any) to `to`. *named: the languages to put before the inputs of a multilingual model. */
static int serves_pair(const service *s, const char *from, const char *to, api_languages *named)
{
    *named = (api_languages){NULL, NULL};
    if (!s->languages) return is_named(s, from, to);
    named->to = find_code(s, to);
    named->from = from && named->to ? find_code(s, from) : named->to;
    return named->from != NULL;
}

/* Return the first model that translates `from` (NULL: any) to `to`. *n: number of pairs with this target. */
static service *find_direct(const models *a, const char *from, const char *to, api_languages *named, int *n)
{
    service *found = NULL;
    api_languages languages;
    *n = 0;
    for (int i = 0; i < a->n; i++) {
        if (!serves_pair(a->service[i], from, to, &languages)) continue;
        *n += from || !a->service[i]->languages ? 1 : 2;
        if (found) continue;
        found = a->service[i];
        *named = languages;
    }
    return found;
}

/* Find two models that translate through a pivot language. The first is named FROM-PIVOT, and *then translates PIVOT to `to`. */
static service *find_pivot(const models *a, const char *from, const char *to, service **then, api_languages *named)
{
    for (int i = 0, n; i < a->n; i++) {
        if (a->service[i]->languages || !is_named(a->service[i], from, NULL)) continue;
        *then = find_direct(a, find_dash(a->service[i]) + 1, to, named, &n);
        if (*then) return a->service[i];
    }
    return NULL;
}

static int choose_services(api_request *r)
{
    const models *a = r->models;
    const char *from = request_text(r->body, "source"), *to = request_text(r->body, "target");
    if (!from || !to)
        return api_refuse_request(
            r, "expected \"source\" and \"target\": codes of languages, as GET /languages gives them");
    const int is_auto = !strcmp(from, "auto");
    int n;
    r->service = find_direct(a, is_auto ? NULL : from, to, &r->languages, &n);
    if (is_auto && n > 1) r->service = NULL;
    if (!r->service) r->service = find_pivot(a, from, to, &r->second_service, &r->second_languages);
    if (r->service) return 1;
    return is_auto ? api_refuse_request(r, "source \"auto\": the server does not detect languages: set the source")
                   : api_refuse_request(r, "no model translates \"%s\" into \"%s\": GET /languages lists the pairs",
                                        from, to);
}

/* --- POST /translate ---------------------------------------------------------------------------------------------- */

/* Read the number "alternatives". In a form, numbers are texts. */
static int read_alternatives(api_request *r)
{
    const json_t *value = json_object_get(r->body, "alternatives");
    const char *text = json_string_value(value);
    const int digits = text && *text && strlen(text) <= 3 && strspn(text, "0123456789") == json_string_length(value);
    const double n = !value ? 0 : digits ? atoi(text) : json_is_number(value) ? json_number_value(value) : -1;
    if (!(n >= 0 && n <= 100 && n == floor(n)))
        return api_refuse_request(r, "alternatives: expected a number from 0 to 100");
    r->alternatives = (int)n;
    return 1;
}

static int set_alternatives(api_request *r)
{
    if (r->alternatives == 0) return 1;
    json_auto_t *options = json_pack("{s:i}", "n_best", r->alternatives + 1);
    const rill_status status = service_read_settings(r->service, options, r->job);
    return status < 0 ? api_refuse_request(r, "alternatives: %s", rill_error(r->service->request_ctx)) : 1;
}

static int read_format(api_request *r, document_split *split)
{
    const json_t *format = json_object_get(r->body, "format");
    const char *name = format ? json_string_value(format) : "text";
    *split = name && !strcmp(name, "html") ? DOCUMENT_HTML : DOCUMENT_SENTENCES;
    if (name && (!strcmp(name, "text") || !strcmp(name, "html"))) return 1;
    return api_refuse_request(r, "format: expected \"text\" or \"html\"");
}

int libre_begin_translate(api_request *r)
{
    const json_t *q = json_object_get(r->body, "q");
    document_split split;
    if (!q) return api_refuse_request(r, "expected \"q\": a text, or a list of texts");
    if (!read_format(r, &split) || !read_alternatives(r) || !choose_services(r) ||
        !request_make_document_job(r, q, split) || (!r->second_service && !set_alternatives(r)))
        return 0;
    return r->job->n > 0 ? request_submit(r) : libre_end_translate(r);
}

/* Whether a failure is due to the input's text. */
static int is_own_fault(rill_status status)
{
    return status == RILL_ERR_INPUT || status == RILL_ERR_NO_HYPOTHESIS;
}

/* Return the failed sentence that fails the request: one that failed for another reason than its text, or, if all sentences failed, the
 * first. NULL: none. */
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
                          : input->status == RILL_ERR_CANCELLED                           ? CLIENT_GONE
                                                                                          : 500;
    return api_refuse(r, code, "bad-request", "%s", why ? why : rill_status_name(input->status));
}

/* Submit the outputs of the first model as inputs of the second model. Inputs that failed keep their errors. */
static int submit_second(api_request *r)
{
    job *first = r->job;
    json_auto_t *texts = json_array();
    for (int32_t i = 0; i < first->n; i++) {
        json_t *text = cli_result_output_text(first->input[i].result, 0);
        json_array_append_new(texts, text ? json_incref(text) : json_string(""));
    }
    r->service = r->second_service;
    r->languages = r->second_languages;
    r->second_service = NULL;
    r->job = request_make_job(r, texts);
    for (int32_t i = 0; i < first->n && r->job; i++)
        if (first->input[i].status < 0)
            job_set_result(&r->job->input[i], first->input[i].status, json_incref(first->input[i].result));
    if (r->job) r->job->arrival_time = first->arrival_time;
    job_release(first);
    return r->job && set_alternatives(r) ? request_submit(r) : 0;
}

/* List the further outputs of an input that is a single sentence; the list is empty for longer inputs. */
static json_t *alternatives_json(const api_request *r, size_t i)
{
    json_t *list = json_array();
    json_auto_t *parts = request_document_results(r, i);
    const json_t *outputs = json_object_get(json_array_get(parts, 0), "outputs");
    for (size_t o = 1; json_array_size(parts) == 1 && o < json_array_size(outputs); o++)
        json_array_append_new(list, request_document_text(r, i, o));
    return list;
}

/* List sentences that were not translated, with their errors. */
static json_t *untranslated_json(const api_request *r)
{
    json_t *list = json_array(), *part;
    size_t k;
    for (size_t i = 0; i < r->n_documents; i++) {
        json_auto_t *parts = request_document_results(r, i);
        json_array_foreach(parts, k, part)
        {
            json_t *why = json_object_get(json_object_get(part, "error"), "message");
            if (!why) continue;
            json_array_append_new(
                list, json_pack("{s:i, s:O, s:O}", "q", (int)i, "text", json_object_get(part, "input"), "error", why));
        }
    }
    return list;
}

static json_t *translated_json(const api_request *r)
{
    json_auto_t *texts = json_array(), *others = json_array(), *stayed = untranslated_json(r);
    json_t *body = json_object();
    for (size_t i = 0; i < r->n_documents; i++) {
        json_array_append_new(texts, request_document_text(r, i, 0));
        json_array_append_new(others, alternatives_json(r, i));
    }
    json_object_set(body, "translatedText", r->is_single ? json_array_get(texts, 0) : texts);
    if (r->alternatives > 0) json_object_set(body, "alternatives", r->is_single ? json_array_get(others, 0) : others);
    if (json_array_size(stayed) > 0) json_object_set(body, "untranslated", stayed);
    return body;
}

int libre_end_translate(api_request *r)
{
    const job_input *failure = find_failure(r);
    if (failure) return answer_failure(r, failure);
    if (r->second_service && r->job->n > 0) return submit_second(r);
    return api_answer_json(r, 200, translated_json(r));
}

/* --- GET /languages ----------------------------------------------------------------------------------------------- */

int libre_detect(api_request *r)
{
    return api_refuse(r, 501, "bad-request",
                      "the server does not detect languages: send the source language to POST /translate");
}

/* Add target languages of a source language to `all`, {CODE: {TARGET: true}}. The languages of a multilingual model share one object, since
 * the model may have 40,000 pairs. */
static void add_targets(json_t *all, const char *code, json_t *targets)
{
    json_t *present = json_object_get(all, code), *own = present ? json_copy(present) : json_incref(targets);
    if (present) json_object_update_missing(own, targets);
    json_object_set_new(all, code, own);
}

static void add_target(json_t *all, const char *code, const char *target)
{
    json_auto_t *targets = json_pack("{s:b}", target, 1);
    add_targets(all, code, targets);
}

/* Add the target language of a model named FROM-TO, and the target languages that another model reaches from TO. */
static void add_named(json_t *all, const models *m, const service *s)
{
    const char *dash = find_dash(s);
    char code[256];
    if ((size_t)(dash - s->name) >= sizeof code) return;
    snprintf(code, sizeof code, "%.*s", (int)(dash - s->name), s->name);
    add_target(all, code, dash + 1);
    for (int t = 0; t < m->n; t++) {
        if (m->service[t]->languages || !is_named(m->service[t], dash + 1, NULL)) continue;
        const char *third = find_dash(m->service[t]) + 1;
        if (strcmp(third, code) != 0) add_target(all, code, third);
    }
}

static void add_multilingual(json_t *all, const service *s)
{
    json_auto_t *targets = json_object();
    for (size_t i = 0; s->languages[i]; i++) json_object_set_new(targets, s->languages[i], json_true());
    for (size_t i = 0; s->languages[i]; i++) add_targets(all, s->languages[i], targets);
}

static json_t *keys_json(json_t *object)
{
    json_t *list = json_array(), *value;
    const char *key;
    json_object_foreach(object, key, value) json_array_append_new(list, json_string(key));
    return list;
}

int libre_languages(api_request *r)
{
    json_auto_t *all = json_object();
    json_t *list = json_array(), *targets;
    const models *m = r->models;
    const char *code;
    for (int i = 0; i < m->n; i++) {
        const service *s = m->service[i];
        if (s->languages)
            add_multilingual(all, s);
        else if (find_dash(s))
            add_named(all, m, s);
    }
    json_object_foreach(all, code, targets)
    {
        char name[NAME_MAX_BYTES];
        language_name(code, 1, name, sizeof name);
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o}", "code", code, "name", name, "targets", keys_json(targets)));
    }
    return api_answer_json(r, 200, list);
}
