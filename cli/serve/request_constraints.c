/* Constraints and glossaries of requests; see http_api.h. */
#include "http_api.h"

/* --- constraints -------------------------------------------------------------------------------------------------- */

/* Append a constraint to an input's line of constraints. Returns 0 if out of memory. */
static int add_part(job_input *input, const char *name, const char *text)
{
    const char *old_line = input->constraints ? input->constraints : "";
    char *line;
    if (asprintf(&line, "%s%s%s%s", old_line, *old_line ? " ||| " : "", name, text) < 0) return 0;
    free(input->constraints);
    input->constraints = line;
    return 1;
}

static int read_constraints(api_request *r, const json_t *value)
{
    job *j = r->job;
    service *s = r->service;
    const char *const *scorers;
    const int each = json_is_array(value);
    if (value == NULL) return 1;
    if (r->document) return api_refuse_request(r, "constraints cannot be combined with \"split\": use a glossary");
    if ((!each && !json_is_string(value)) || (each && (r->is_single || json_array_size(value) != (size_t)j->n)))
        return api_refuse_request(
            r, "constraints: expected a text or, for a list of inputs, a list of the same length with texts and nulls");
    for (int32_t i = 0; i < j->n; i++) {
        const json_t *line = each ? json_array_get(value, (size_t)i) : value;
        if (json_is_null(line)) continue;
        if (!json_is_string(line) || strcspn(json_string_value(line), "\r\n") != json_string_length(line))
            return api_refuse_request(r, "constraints: %d: expected a text of one line, or null", (int)i);
        if (rill_constraints_read(s->request_constraints, json_string_value(line), json_string_length(line), &scorers) <
            0)
            return api_refuse_request(r, "%s", rill_error(s->request_ctx));
        if (json_string_length(line) > 0 && !add_part(&j->input[i], "", json_string_value(line)))
            return api_refuse_memory(r);
    }
    return 1;
}

/* --- glossaries --------------------------------------------------------------------------------------------------- */

/* Limits of a glossary, because the server's thread searches each term in each input: a tenth of a second, two with adversarial texts. */
enum { MAX_TERMS = 1000, MAX_TERM_BYTES = 200 };
#define MAX_SEARCHED_BYTES ((size_t)100 << 20)

/* Whether a text may be a term of a glossary: it must fit into one line of a constraint. */
static int is_term(const char *text, size_t length)
{
    return length > 0 && length <= MAX_TERM_BYTES && strlen(text) == length && !strstr(text, "|||") &&
           !strpbrk(text, "\r\n");
}

static int check_glossary(api_request *r, json_t *glossary)
{
    const size_t n = json_object_size(glossary);
    size_t bytes = 0;
    const char *term;
    json_t *target;
    if (!json_is_object(glossary)) return api_refuse_request(r, "glossary: expected an object {TERM: TEXT}");
    if (n > MAX_TERMS) return api_refuse_request(r, "glossary: %zu terms: the maximum is %d", n, MAX_TERMS);
    json_object_foreach(glossary, term, target)
    {
        if (!is_term(term, strlen(term)) || !json_is_string(target) ||
            !is_term(json_string_value(target), json_string_length(target)))
            return api_refuse_request(
                r,
                "glossary: \"%.100s\": expected a term and its text, on one line of at most %d bytes, without \"|||\"",
                term, MAX_TERM_BYTES);
    }
    for (int32_t i = 0; i < r->job->n; i++) bytes += r->job->input[i].length;
    if (n == 0 || bytes <= MAX_SEARCHED_BYTES / n) return 1;
    return api_refuse(r, 413, "too-large", "glossary: with %zu terms an input may have %zu bytes, found %zu", n,
                      MAX_SEARCHED_BYTES / n, bytes);
}

/* A term of the glossary in lower case, and the text that outputs must then contain. */
typedef struct term {
    char *text; /* [length] bytes of the term */
    size_t length;
    const char *target;
} term;

static int require_terms(job_input *input, const term *terms, size_t n)
{
    size_t begin;
    char *text = words_fold(input->text, input->length);
    int fine = text != NULL;
    for (size_t t = 0; t < n && fine; t++)
        if (words_find(text, input->length, 0, terms[t].text, terms[t].length, &begin))
            fine = add_part(input, "require:", terms[t].target);
    free(text);
    return fine;
}

static int read_glossary(api_request *r, json_t *glossary)
{
    const char *name;
    json_t *target;
    size_t n = 0;
    if (glossary == NULL) return 1;
    if (!check_glossary(r, glossary)) return 0;
    term *terms = calloc(json_object_size(glossary) + 1, sizeof *terms);
    int fine = terms != NULL;
    json_object_foreach(glossary, name, target)
    {
        if (!fine) break;
        terms[n] = (term){words_fold(name, strlen(name)), strlen(name), json_string_value(target)};
        fine = terms[n++].text != NULL;
    }
    for (int32_t i = 0; i < r->job->n && fine; i++) fine = require_terms(&r->job->input[i], terms, n);
    while (n > 0) free(terms[--n].text);
    free(terms);
    return fine || api_refuse_memory(r);
}

int request_read_constraints(api_request *r)
{
    return read_constraints(r, json_object_get(r->body, "constraints")) &&
           read_glossary(r, json_object_get(r->body, "glossary"));
}
