/* The HTTP API: request bodies become jobs, and jobs become response bodies.
 *
 * A route consists of a method, a path and two functions. `begin` parses the request, and either responds at once or creates a job.
 * `end` creates the response when the job is done. No function here uses sockets. Threads: the server's thread. */
#ifndef CLI_SERVE_API_H
#define CLI_SERVE_API_H

#include <jansson.h>
#include <stdatomic.h>

#include "document.h"
#include "serve.h"

typedef struct api {
    int64_t max_inputs; /* limit per request */
    atomic_int is_draining;
} api;

/* A response. At most one of the two bodies is set. */
typedef struct api_answer {
    unsigned code; /* HTTP status; 0: the job is not done yet */
    json_t *json;  /* freed by the caller */
    char *text;    /* body that is not JSON, freed by the caller; its type follows */
    const char *type;
    const char *allowed_methods; /* value of the header Allow; NULL: no such header */
    int is_preflight;            /* add the CORS headers of a preflight response */
    int retry_after;             /* seconds for the header Retry-After; 0: no such header */
} api_answer;

/* A request that is being handled. */
typedef struct api_request {
    models *models;          /* the set of models when the request began; open until it is answered */
    const json_t *body;      /* body of a POST, only during `begin`; NULL: none */
    int alternatives;        /* number of further outputs requested (LibreTranslate) */
    service *service;        /* decodes the job */
    job *job;                /* created by `begin`, released by the caller */
    int is_single;           /* the request has one input outside a list, and gets a single result */
    service *second_service; /* translates the outputs again (pivot language); NULL: the outputs are the result */
    /* [n_documents] inputs that are split into parts, the inputs of the job (document_job.h); NULL: the inputs are whole */
    document **document;
    size_t n_documents;
} api_request;

typedef struct api_route {
    const char *method, *path;
    int needs_no_token;    /* accessible without an API key */
    int is_libretranslate; /* LibreTranslate API: accepts forms, and errors are strings */
    api_answer (*begin)(api *a, api_request *request);
    /* Returns code 0 if it created another job. NULL: the route has no jobs. */
    api_answer (*end)(api *a, api_request *request);
} api_route;

extern const api_route api_routes[]; /* ends with method == NULL */

/* A refusal with the body {"error": {"code": NAME, "message": ...}}. */
api_answer api_refuse(unsigned code, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whether the inputs are a string, or a list of strings that is not too long. 0: *refused is set. */
int api_check_inputs(const api *a, const json_t *inputs, api_answer *refused);
/* Create a job from inputs, with the service's settings. NULL: *refused is set. */
job *api_job(const api *a, const service *to, const json_t *inputs, api_answer *refused);
/* Whether the body has known keys only; the service that it names, or the first; its options, a switch, and its time limit. 0 or NULL:
 * *refused is set. */
int request_has_known_keys(const models *m, const json_t *body, const char *const *keys, api_answer *refused);
service *request_find_service(const models *a, const json_t *body, api_answer *refused);
int request_read_options(service *target, const json_t *options, job *j, api_answer *refused);
int request_read_switch(const json_t *body, const char *key, int *out, api_answer *refused);
int request_read_timeout(const json_t *body, job *j, api_answer *refused);
/* Submit the request's job. Returns a response with code 0, or a refusal. */
api_answer api_submit(api_request *request);

/* --- documents --------------------------------------------------------------------------------------------------------- */

/* Requests whose inputs are documents (document.h): the parts of all documents are the inputs of one job, and the response joins them.
 * Threads: the server's thread. */

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

/* --- constraints and glossaries ---------------------------------------------------------------------------------------- */

/* Constraints and glossaries of requests. Threads: the server's thread. */

/* Parse "constraints" and "glossary" into the job's inputs. "constraints" is a line as in rill/constraints.h, or a list with one line
 * or null for each input. "glossary" is {TERM: TEXT}: outputs of an input that contains TERM must contain TEXT. 0: *refused is set. */
int request_constraints_read(const api_request *request, api_answer *refused);

/* --- traces ------------------------------------------------------------------------------------------------------------ */

/* Decode a request again to record a trace, as `rill decode --trace --trace-trees` does.
 *
 * Results do not depend on other requests, so the trace shows the original search. It runs on a separate thread with a separate engine
 * on the service's model, while the service continues. */

/* Start a trace. When it ends, all inputs of the job are done, and job->trace has the trace. One trace at a time for each service.
 *   RILL_OK · RILL_AGAIN (another trace is running) · RILL_ERR_OPTION (the model supports one engine only) · RILL_ERR_MEMORY */
rill_status request_trace_start(service *s, job *j);

/* --- LibreTranslate ---------------------------------------------------------------------------------------------------- */

/* The part of LibreTranslate's API that its clients need for translation: POST /translate and GET /languages.
 *
 * A model serves the language pair in its name: "de-en" translates "de" to "en". Without a model for a pair, two models are chained
 * through a common language. Languages are not detected: source "auto" works only if a single model writes the target language.
 * Source: libretranslate.com/docs, version 1.6. */

api_answer libre_begin_translate(api *a, api_request *request);
api_answer libre_end_translate(api *a, api_request *request);
/* Convert an error to LibreTranslate's form, {"error": TEXT}. */
api_answer libre_error(api_answer refused);
api_answer libre_languages(api *a, api_request *request);

/* --- the description --------------------------------------------------------------------------------------------------- */

/* The OpenAPI 3.0 description: openapi.json, completed with options from the option tables and from the models' domains. */

json_t *openapi_document(const models *m); /* freed by the caller; NULL: out of memory */

/* --- the page ---------------------------------------------------------------------------------------------------------- */

/* The web page at /: page.html, its script and the charts of cli/view/ in one document without external resources. */

char *page_text(void); /* freed by the caller; NULL: out of memory */

/* --- metrics ----------------------------------------------------------------------------------------------------------- */

/* Server metrics for Prometheus. Any thread. */

/* Count a response: its HTTP status, and the seconds from the first byte of the request to the first byte of the response. */
void metrics_request(unsigned code, double seconds);
/* All metrics in text format 0.0.4; the caller frees the text. NULL: out of memory. */
char *metrics_text(service *const *services, int n);

#endif
