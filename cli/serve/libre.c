/* LibreTranslate's requests; see libre.h.
 *
 * Divisions: refusing · pairs of languages · translate · languages. */
#include "libre.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- refusing ----------------------------------------------------------------------------------------------------- */

/* As the other paths do, but the error is a text. */
static api_answer plain(api_answer refused)
{
    const json_t *why = json_object_get(json_object_get(refused.json, "error"), "message");
    json_t *body = json_pack("{s:O}", "error", why);
    json_decref(refused.json);
    refused.json = body;
    return refused;
}

#define REFUSE(code, ...) plain(api_refuse(code, "bad-request", __VA_ARGS__))

/* --- pairs of languages ------------------------------------------------------------------------------------------- */

/* Whether the model's name is FROM-TO; either may be NULL: any. */
static int translates(const service *s, const char *from, const char *to)
{
    const char *name = service_name(s), *dash = strchr(name, '-');
    if (!dash || dash == name || !dash[1] || strchr(dash + 1, '-')) return 0;
    const size_t length = (size_t)(dash - name);
    return (!from || (strlen(from) == length && !strncmp(from, name, length))) && (!to || !strcmp(to, dash + 1));
}

static service *direct(const api *a, const char *from, const char *to)
{
    for (int i = 0; i < a->n; i++)
        if (translates(a->service[i], from, to)) return a->service[i];
    return NULL;
}

/* Two models, the first in the order of models whose target the other reads. */
static service *pivot(const api *a, const char *from, const char *to, service **then)
{
    for (int i = 0; i < a->n; i++) {
        if (!translates(a->service[i], from, NULL)) continue;
        *then = direct(a, strchr(service_name(a->service[i]), '-') + 1, to);
        if (*then) return a->service[i];
    }
    return NULL;
}

static service *only_into(const api *a, const char *to)
{
    service *found = NULL;
    for (int i = 0; i < a->n; i++) {
        if (!translates(a->service[i], NULL, to)) continue;
        if (found) return NULL;
        found = a->service[i];
    }
    return found;
}

static int choose(const api *a, api_request *request, api_answer *refused)
{
    const char *from = json_string_value(json_object_get(request->body, "source")),
               *to = json_string_value(json_object_get(request->body, "target"));
    if (!from || !to) {
        *refused = REFUSE(400, "expected \"source\" and \"target\": codes of languages, as GET /languages gives them");
        return 0;
    }
    request->to = !strcmp(from, "auto") ? only_into(a, to) : direct(a, from, to);
    if (!request->to) request->to = pivot(a, from, to, &request->then);
    if (request->to) return 1;
    *refused = !strcmp(from, "auto")
                   ? REFUSE(400, "source \"auto\": languages are not detected here: name the source")
                   : REFUSE(400, "no model here translates \"%s\" into \"%s\": GET /languages tells what there is",
                            from, to);
    return 0;
}

/* --- translate ---------------------------------------------------------------------------------------------------- */

typedef struct n_best {
    char text[16];
} n_best;

static int say_n_best(void *user, int i, const char **name, const char **value)
{
    n_best *asked = user;
    *name = "n-best";
    *value = asked->text;
    return i == 0;
}

static int read_alternatives(const json_t *body, service *to, job *j, api_answer *refused)
{
    const json_t *value = json_object_get(body, "alternatives");
    const json_int_t n = json_integer_value(value);
    if (value && (!json_is_integer(value) || n < 0 || n > 100)) {
        *refused = REFUSE(400, "alternatives: expected a number from 0 to 100");
        return 0;
    }
    if (n == 0) return 1;
    n_best asked = {.text = ""};
    const char *why;
    snprintf(asked.text, sizeof asked.text, "%d", (int)n + 1);
    if (service_read(to, say_n_best, &asked, &j->settings, &why) < 0) {
        *refused = REFUSE(400, "alternatives: %s", why);
        return 0;
    }
    return 1;
}

api_answer libre_translate(api *a, api_request *request)
{
    const json_t *q = json_object_get(request->body, "q"), *format = json_object_get(request->body, "format");
    api_answer refused = {0};
    if (!q) return REFUSE(400, "expected \"q\": a text, or a list of texts");
    if (format && (!json_is_string(format) || strcmp(json_string_value(format), "text") != 0))
        return REFUSE(400, "format: only \"text\" is read here");
    if (!choose(a, request, &refused)) return refused;
    request->job = api_job(a, request->to, q, &request->one, &refused);
    if (!request->job) return plain(refused);
    if (!request->then && !read_alternatives(request->body, request->to, request->job, &refused)) return refused;
    if (request->job->n == 0) return (api_answer){.code = 200, .json = json_pack("{s:[]}", "translatedText")};
    refused = api_submit(request);
    return refused.code ? plain(refused) : refused;
}

/* The text of output i, NULL where there is none. */
static json_t *text_of(const job_input *input, size_t i)
{
    return json_object_get(json_array_get(json_object_get(input->result, "outputs"), i), "text");
}

static api_answer failed(const job_input *input)
{
    const char *why = json_string_value(json_object_get(json_object_get(input->result, "error"), "message"));
    const unsigned code = input->status == RILL_ERR_INPUT || input->status == RILL_ERR_OPTION ? 400 : 500;
    return REFUSE(code, "%s", why ? why : rill_status_name(input->status));
}

/* The outputs are the second model's inputs. */
static api_answer go_on(api *a, api_request *request)
{
    api_answer refused = {0};
    int one;
    json_t *texts = json_array();
    for (int32_t i = 0; i < request->job->n; i++) {
        json_t *text = text_of(&request->job->input[i], 0);
        if (text)
            json_array_append(texts, text);
        else
            json_array_append_new(texts, json_string(""));
    }
    const double since = request->job->since;
    job_release(request->job);
    request->to = request->then;
    request->then = NULL;
    request->job = api_job(a, request->to, texts, &one, &refused);
    json_decref(texts);
    if (!request->job || !read_alternatives(request->body, request->to, request->job, &refused)) return plain(refused);
    request->job->since = since;
    refused = api_submit(request);
    return refused.code ? plain(refused) : refused;
}

static json_t *alternatives_of(const job_input *input)
{
    json_t *list = json_array();
    for (size_t i = 1; text_of(input, i); i++) json_array_append(list, text_of(input, i));
    return list;
}

api_answer libre_translated(api *a, api_request *request)
{
    json_t *texts = json_array(), *others = json_array();
    for (int32_t i = 0; i < request->job->n; i++)
        if (request->job->input[i].status < 0) {
            json_decref(texts);
            json_decref(others);
            return failed(&request->job->input[i]);
        }
    if (request->then) {
        json_decref(texts);
        json_decref(others);
        return go_on(a, request);
    }
    for (int32_t i = 0; i < request->job->n; i++) {
        json_array_append(texts, text_of(&request->job->input[i], 0));
        json_array_append_new(others, alternatives_of(&request->job->input[i]));
    }
    json_t *body = json_object();
    json_object_set(body, "translatedText", request->one ? json_array_get(texts, 0) : texts);
    if (json_integer_value(json_object_get(request->body, "alternatives")) > 0)
        json_object_set(body, "alternatives", request->one ? json_array_get(others, 0) : others);
    json_decref(texts);
    json_decref(others);
    return (api_answer){.code = 200, .json = body};
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
    (void)request;
    for (int i = 0; i < a->n; i++) {
        const char *name = service_name(a->service[i]), *dash = strchr(name, '-');
        if (!translates(a->service[i], NULL, NULL)) continue;
        const size_t length = (size_t)(dash - name);
        add_language(list, name, length, dash + 1);
        for (int t = 0; t < a->n; t++) { /* through it into a third one */
            const char *third = translates(a->service[t], dash + 1, NULL) ? strchr(service_name(a->service[t]), '-') + 1
                                                                          : NULL;
            if (third && (strlen(third) != length || strncmp(third, name, length) != 0))
                add_language(list, name, length, third);
        }
    }
    return (api_answer){.code = 200, .json = list};
}
