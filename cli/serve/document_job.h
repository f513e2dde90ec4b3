/* Requests whose inputs are documents (document.h): their parts are a job's inputs, and the answer puts them together. Threads: the
 * server's one. */
#ifndef CLI_SERVE_DOCUMENT_JOB_H
#define CLI_SERVE_DOCUMENT_JOB_H

#include "api.h"

/* Read a value of "split", or of LibreTranslate's "format". 0: refused. */
int document_job_read_split(const json_t *value, document_split *split, api_answer *refused);

/* The request's job of a text or a list of texts, cut into parts (api_job() has the rest). NULL: refused. */
job *document_job_create(const api *a, api_request *request, const json_t *inputs, document_split split,
                         api_answer *refused);

/* The i-th input's text again, of its sentences' outputs of this rank (0: the best), or of themselves where there is none; NULL: out of
 * memory. */
json_t *document_job_text(const api_request *request, size_t i, size_t output);
/* What came of its sentences: [{"input", "outputs"}, ...] */
json_t *document_job_results(const api_request *request, size_t i);

void document_job_clear(api_request *request);

#endif
