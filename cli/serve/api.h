/* The HTTP API: request bodies become jobs, and jobs become response bodies.
 *
 * A route consists of a method, a path and two functions. `begin` parses the request, and either responds at once or creates a job.
 * `end` creates the response when the job is done. No function here uses sockets. Threads: the server's thread. */
#ifndef CLI_SERVE_API_H
#define CLI_SERVE_API_H

#include <stdatomic.h>

#include "document.h"
#include "models.h"

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
/* Submit the request's job. Returns a response with code 0, or a refusal. */
api_answer api_submit(api_request *request);

#endif
