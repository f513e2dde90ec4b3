/* The HTTP API, without sockets. A route's `begin` parses the request, and responds or creates a job. Its `end` responds when the job is
 * done. Threads: the server's thread. */
#pragma once

#include "document.h"
#include "serve.h"

/* HTTP status if the client has disconnected, for the counters: it is no failure of the server. */
enum { CLIENT_GONE = 499 };

/* A response. At most one of the two bodies is set. */
typedef struct api_answer {
    unsigned code; /* HTTP status; 0: there is no response yet */
    json_t *json;
    char *text; /* body that is not JSON, with its media type in `type` */
    const char *type;
    const char *allowed_methods; /* value of the header Allow; NULL: no such header */
    int is_preflight;            /* 1: add the CORS headers of a preflight response */
    int retry_after;             /* seconds for the header Retry-After; 0: no such header */
} api_answer;

/* The languages that are put before the inputs of a multilingual model (option language-columns). NULL: no languages. */
typedef struct api_languages {
    const char *from, *to;
} api_languages;

typedef struct api_request {
    api_answer answer;
    /* the set of served models when the request began; it stays open until the request is answered */
    models *models;
    int64_t max_inputs; /* maximum number of inputs in a request */
    int is_draining;    /* 1: the server accepts no new requests */
    const json_t *body; /* parsed body of a POST, only while `begin` runs; NULL: no body */
    int alternatives;   /* number of further outputs requested (LibreTranslate) */
    service *service;   /* service that decodes the job */
    job *job;           /* created by `begin`, released by the caller */
    int is_single;      /* the request has one input, not a list, and gets a single result */
    /* service that translates the outputs again (pivot language); NULL: the outputs are the result */
    service *second_service;
    /* languages for the inputs of `service`; languages for the inputs of `second_service` */
    api_languages languages, second_languages;
    /* [n_documents] documents made of the request's inputs, whose parts are the inputs of the job; NULL: the inputs are decoded whole */
    document **document;
    size_t n_documents;
} api_request;

typedef struct api_route {
    const char *method, *path;
    int needs_no_token;    /* 1: accessible without an API key */
    int is_libretranslate; /* 1: LibreTranslate API: accepts forms and the member "api_key", and errors are strings */
    /* Return 1 to wait for a job, 0 with a complete response. `end`: NULL without jobs; may start a second job. */
    int (*begin)(api_request *request);
    int (*end)(api_request *request);
} api_route;

extern const api_route api_routes[]; /* all routes, up to method == NULL */

/* Print the body of GET /openapi.json, with the options of all registered domains. */
int api_print_description(const rill_context *ctx);

/* Free everything that belongs to the request; its models and services stay. */
void request_clear(api_request *r);

/* --- reading requests -------------------------------------------------------------------------------------------------- */

/* Functions below that return 0 or NULL have set a response with the reason. */

/* Respond with the error {"error": {"code": NAME, "message": ...}}. Returns 0. */
int api_refuse(api_request *r, unsigned code, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define api_refuse_request(r, ...) api_refuse(r, 400, "bad-request", __VA_ARGS__)
int api_refuse_memory(api_request *r);
/* Refuse a request that may succeed a second later. */
#define api_refuse_for_now(r, ...) (api_refuse(r, 503, __VA_ARGS__), (r)->answer.retry_after = 1, 0)
/* Respond with a body, whose memory the response takes. Returns 0. */
int api_answer_json(api_request *r, unsigned code, json_t *body);
int api_answer_text(api_request *r, char *text, const char *type);

/* Whether all keys of the request's body are known; if not, respond with an error. `keys` ends with NULL. */
int request_has_known_keys(api_request *r, const char *const *keys);
/* Return the text of a key; NULL: the key is missing, or its value is not a text or has a NUL byte. */
const char *request_text(const json_t *body, const char *key);
/* Find the model that the body names, or the first model if it names none. */
int request_find_service(api_request *r);
/* Read members of the request's body: "options", "timeout", and a switch. The job's texts must have been set. */
int request_read_options(api_request *r);
int request_read_timeout(api_request *r);
int request_read_switch(api_request *r, const char *key, int *out);
/* Create a job from `inputs`, a list of at most max_inputs strings, with the settings of the service. */
job *request_make_job(api_request *r, const json_t *inputs);
/* Submit the request's job. Returns 1, or 0 after a refusal. */
int request_submit(api_request *r);

/* Parse constraints into the job's inputs. "constraints": one line (rill/constraints.h), or a list with a line or null per input.
 * "glossary", {TERM: TEXT}: if the input contains TERM, outputs must contain TEXT. */
int request_read_constraints(api_request *r);

/* Requests whose inputs are documents (document.h): the parts of all documents are the inputs of one job, and the response joins them. */

/* Parse the value of "split" in the request's body. */
int request_read_split(api_request *r, document_split *split);
/* Split one or several texts and create the request's job from their parts, or from the texts themselves. */
int request_make_document_job(api_request *r, const json_t *inputs, document_split split);
/* Join document i from outputs of a rank (0: best). A sentence without such an output keeps its source text. NULL: out of memory. */
json_t *request_document_text(const api_request *r, size_t i, size_t output);
/* Return the results of the sentences of document i: [{"input", "outputs"}, ...]. */
json_t *request_document_results(const api_request *r, size_t i);

/* --- routes in other files --------------------------------------------------------------------------------------------- */

/* Decode a job again to record a trace, as `rill decode --trace --trace-trees`; one trace at a time per service. Runs on its own thread
 * and engine. At the end job->trace is set.
 *   RILL_OK · RILL_AGAIN (another trace is running) · RILL_ERR_OPTION (the model supports one engine only) · RILL_ERR_MEMORY */
rill_status request_trace_start(service *s, job *j);

/* LibreTranslate's API: POST /translate and GET /languages; POST /detect is refused. Source: libretranslate.com/docs, version 1.6.
 * Model "de-en" translates "de" to "en"; other pairs chain two models. A multilingual model serves all its pairs. */
int libre_begin_translate(api_request *r);
int libre_end_translate(api_request *r);
int libre_detect(api_request *r);
int libre_languages(api_request *r);
/* Convert an error to LibreTranslate's form, {"error": TEXT}. */
void libre_error(api_answer *refused);

/* Metrics for Prometheus. Any thread. */

/* Count a response: its HTTP status, and the seconds from the first byte of the request to the first byte of the response. */
void metrics_request(unsigned code, double seconds);
/* Return all metrics in Prometheus' text format 0.0.4; the caller frees the text. NULL: out of memory. */
char *metrics_text(const models *m);
