/* What clients ask and are told: bodies of requests become jobs, jobs become bodies of answers.
 *
 * A route is a method, a path and two functions: `begin` reads the request, and either answers it at once or makes a job; `end` writes the
 * answer when the job is done. Nothing here knows of sockets. Threads: the server's one. */
#ifndef CLI_SERVE_API_H
#define CLI_SERVE_API_H

#include <stdatomic.h>

#include "document.h"
#include "models.h"

typedef struct api {
    int64_t max_inputs; /* of a request */
    atomic_int is_draining;
} api;

/* An answer: one of the two bodies. */
typedef struct api_answer {
    unsigned code; /* HTTP status; 0: there is a job to wait for */
    json_t *json;  /* the caller's to free */
    char *text;    /* (not JSON) the caller's to free, of this type: */
    const char *type;
    const char *allowed_methods; /* methods that the path takes; NULL: not said */
    int is_preflight;            /* says what pages of an allowed origin may send */
    int retry_after;             /* seconds after which the client had better try again; 0: not said */
} api_answer;

/* A request as it is handled. */
typedef struct api_request {
    models *models;          /* that it is for; they stay until it is answered */
    const json_t *body;      /* of a POST, for `begin`; NULL: there is none */
    int alternatives;        /* other outputs that are asked for (LibreTranslate's) */
    service *service;        /* of the job */
    job *job;                /* made by `begin`, released by the caller */
    int is_single;           /* a single input was given as such, and gets a single answer */
    service *second_service; /* the outputs are decoded once more, by this; NULL: they are the answer */
    document *
        *document; /* [n_documents] inputs whose parts are the job's (document_job.h); NULL: its inputs are whole */
    size_t n_documents;
} api_request;

typedef struct api_route {
    const char *method, *path;
    int needs_no_token;    /* needs no token */
    int is_libretranslate; /* LibreTranslate's: takes forms, too, and its errors are texts */
    api_answer (*begin)(api *a, api_request *request);
    api_answer (*end)(api *a, api_request *request); /* of code 0: it made another job. NULL: there are no jobs */
} api_route;

extern const api_route api_routes[]; /* ends with method == NULL */

/* {"error": {"code": NAME, "message": ...}} */
api_answer api_refuse(unsigned code, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whether they are a text, or a list of texts that is not too long. */
int api_check_inputs(const api *a, const json_t *inputs, api_answer *refused);
/* A job of them, with the service's settings; NULL: refused. */
job *api_job(const api *a, const service *to, const json_t *inputs, api_answer *refused);
/* Hand the request's job in: an answer of code 0, or why not. */
api_answer api_submit(api_request *request);

#endif
