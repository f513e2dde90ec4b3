/* Constraints and glossaries of requests; see wishes.h. */
#include "wishes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

static const char BETWEEN[] = " ||| ";

/* Append a part to an input's line. 0: out of memory. */
static int add_part(job_input *input, const char *name, const char *text)
{
    const char *before = input->constraints ? input->constraints : "";
    const size_t size = strlen(before) + sizeof BETWEEN + strlen(name) + strlen(text) + 1;
    char *line = malloc(size);
    if (!line) return 0;
    snprintf(line, size, "%s%s%s%s", before, *before ? BETWEEN : "", name, text);
    free(input->constraints);
    input->constraints = line;
    return 1;
}

static int refuse_memory(api_answer *refused)
{
    *refused = api_refuse(503, "out-of-memory", "there is no memory for the request");
    return 0;
}

static int read_constraints(const api_request *r, const json_t *value, api_answer *refused)
{
    job *j = r->job;
    const char *why;
    const int each = json_is_array(value);
    if (value == NULL) return 1;
    if (r->document) {
        *refused = api_refuse(400, "bad-request",
                              "constraints are for whole inputs: leave out \"split\", or use a glossary");
        return 0;
    }
    if ((!each && !json_is_string(value)) || (each && (r->one || json_array_size(value) != (size_t)j->n))) {
        *refused = api_refuse(
            400, "bad-request",
            "constraints: expected a text, or for a list of inputs a list as long, of texts and nulls");
        return 0;
    }
    for (int32_t i = 0; i < j->n; i++) {
        const json_t *line = each ? json_array_get(value, (size_t)i) : value;
        if (json_is_null(line)) continue;
        if (!json_is_string(line) || strlen(json_string_value(line)) != json_string_length(line)) {
            *refused = api_refuse(400, "bad-request", "constraints: %d: expected a text or null", (int)i);
            return 0;
        }
        if (service_check_constraints(r->to, json_string_value(line), &why) < 0) {
            *refused = api_refuse(400, "bad-request", "%s", why);
            return 0;
        }
        if (json_string_length(line) > 0 && !add_part(&j->input[i], "", json_string_value(line)))
            return refuse_memory(refused);
    }
    return 1;
}

enum { MOST_TERMS = 1000 }; /* each is looked for in each input */

static int is_term(const char *text, size_t length)
{
    return length > 0 && strlen(text) == length && !strstr(text, "|||") && !strchr(text, '\n');
}

static int read_glossary(const api_request *r, json_t *value, api_answer *refused)
{
    const char *term;
    json_t *target;
    size_t begin, end;
    if (value == NULL) return 1;
    if (!json_is_object(value)) {
        *refused = api_refuse(400, "bad-request", "glossary: expected an object {TERM: TEXT}");
        return 0;
    }
    if (json_object_size(value) > MOST_TERMS) {
        *refused = api_refuse(400, "bad-request", "glossary: %zu terms: a request may have %d", json_object_size(value),
                              MOST_TERMS);
        return 0;
    }
    json_object_foreach(value, term, target)
    {
        if (!is_term(term, strlen(term)) || !json_is_string(target) ||
            !is_term(json_string_value(target), json_string_length(target))) {
            *refused = api_refuse(400, "bad-request",
                                  "glossary: \"%s\": expected a term and its text, on one line, without \"|||\"", term);
            return 0;
        }
        for (int32_t i = 0; i < r->job->n; i++)
            if (words_find(r->job->input[i].text, 0, term, &begin, &end) &&
                !add_part(&r->job->input[i], "require:", json_string_value(target)))
                return refuse_memory(refused);
    }
    return 1;
}

int wishes_read(const api_request *r, api_answer *refused)
{
    return read_constraints(r, json_object_get(r->body, "constraints"), refused) &&
           read_glossary(r, json_object_get(r->body, "glossary"), refused);
}
