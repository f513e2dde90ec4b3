/* Requests whose inputs are documents (document.h): the parts of all documents are the inputs of one job, and the response joins them.
 * Threads: the server's thread. */
#ifndef CLI_SERVE_DOCUMENT_JOB_H
#define CLI_SERVE_DOCUMENT_JOB_H

#include "api.h"

/* Parse a value of "split", or of LibreTranslate's "format". 0: *refused is set. */
int document_job_read_split(const json_t *value, document_split *split, api_answer *refused);

/* Split one or several texts and create the request's job from their parts, as api_job() does. NULL: *refused is set. */
job *document_job_create(const api *a, api_request *request, const json_t *inputs, document_split split,
                         api_answer *refused);

/* Join document i from outputs of the given rank (0: best). A sentence without such an output keeps its source text. NULL: out of
 * memory. */
json_t *document_job_text(const api_request *request, size_t i, size_t output);
/* Results of the sentences of document i: [{"input", "outputs"}, ...]. */
json_t *document_job_results(const api_request *request, size_t i);

void document_job_clear(api_request *request);

#endif
