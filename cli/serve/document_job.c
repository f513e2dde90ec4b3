/* Requests with documents; see document_job.h. */
#include "document_job.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "result_json.h"

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
