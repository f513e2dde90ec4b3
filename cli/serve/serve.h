/* The parts of `rill serve` below HTTP: options, the cache, jobs, services (a model and its thread), and the array of all models. */
#pragma once

#include <stdatomic.h>

#include "report.h"
#include "split_sentences.h"

enum { SERVE_ORIGINS_MAX = 64 };

typedef struct serve_options {
    const char *host;                       /* listen address: a host name, an IP address, or "*" for all */
    const char *origins[SERVE_ORIGINS_MAX]; /* [n_origins] origins whose web pages may send requests, "*": all */
    int n_origins;
    const char *api_key_path;
    int port; /* TCP port; 0: any free port */
    int queue_size, max_connections, max_beam_size;
    int max_inputs;       /* maximum number of inputs in a request */
    int request_timeout;  /* seconds within which a request must arrive */
    int shutdown_timeout; /* seconds to wait at shutdown until accepted requests are answered */
    int64_t request_bytes, max_body_bytes, cache_bytes;
    int prints_openapi; /* print the description of the HTTP API (openapi.json) instead of serving */
} serve_options;

/* --- cache of results -------------------------------------------------------------------------------------------------- */

/* LRU cache of responses. The key has everything that a result depends on, so cached responses are exact. The size limit includes keys and
 * bookkeeping. Threads: one at a time. */

typedef struct cache cache;

/* Create a cache. max_bytes: maximum size of all entries in bytes; 0 disables the cache. NULL: out of memory. */
cache *cache_create(size_t max_bytes);
void cache_destroy(cache *c); /* destroying NULL does nothing */

/* Find the response that is stored for a key. It is valid until the next cache_add(). NULL: not cached. */
const char *cache_find(cache *c, const void *key, size_t length);
/* Store copies of key and response. Entries that are too large, or for which there is no memory, are not stored. */
void cache_add(cache *c, const void *key, size_t length, const char *answer);

size_t cache_n_entries(const cache *c);
size_t cache_n_bytes(const cache *c);

/* --- jobs -------------------------------------------------------------------------------------------------------------- */

/* A job: a request's inputs, settings and results.
 * Streaming sends server-sent events (html.spec.whatwg.org, 9.2): `final`, the certain beginning of an output; `draft`, the best
 * hypothesis; `result`; `end`. A slow client gets fewer `final` and `draft` events.
 * Ownership: reference-counted, by the connection and the service. The job's lock protects counts, events and `notify`. */

typedef struct job job;
struct decoding;

typedef struct job_input {
    job *job;
    char *text; /* [length] text of the input */
    size_t length;
    char *constraints;  /* a line of constraints (rill/constraints.h); NULL: none */
    json_t *result;     /* result as JSON; NULL: the input is not done */
    rill_status status; /* status that belongs to `result` */
    /* for streams: text of the last event `final`, and of the last event `draft`; NULL: none was sent */
    char *final, *draft;
    /* The members below are protected by the service's lock. */
    char *key; /* [key_length] cache key; NULL: not computed yet */
    size_t key_length;
    /* search for whose result the input waits; NULL: the input is still in the queue, or done */
    struct decoding *decoding;
    struct job_input *next, *prev; /* neighbours in the list of inputs that wait for the same search */
} job_input;

struct job {
    pthread_mutex_t lock;
    atomic_int n_references;
    job *next, *prev; /* neighbours in the service's queue */
    job_input *input; /* [n] inputs of the request */
    /* number of inputs; how many, from the first on, have left the queue; how many are done */
    int32_t n, n_dequeued, n_done;
    int is_submitted;        /* a service has accepted the job */
    atomic_int is_cancelled; /* the client has disconnected */
    rill_settings settings;  /* search settings of all inputs */
    char *options;           /* domain options (rill_request.options); NULL: as the model was opened */
    int wants_tokens;        /* 1: results contain "tokens" */
    double deadline;         /* seconds on the clock of cli_now() until which a result is wanted; 0: no limit */
    double arrival_time;     /* time of arrival on the clock of cli_now() */
    char *trace;             /* text of a whole trace (JSON lines) */
    int is_stream;           /* 1: the client receives progress events */
    /* [events_used] text of server-sent events; the first events_read bytes were sent */
    char *events;
    size_t events_read, events_used, events_capacity;
    /* Called with the job's lock held, when all inputs are done and, for a stream, when there are new events. NULL: not set. */
    void (*notify)(void *user);
    void *notify_user;
};

/* Create a job of n inputs. The caller holds a reference, and sets texts and settings. NULL: out of memory. */
job *job_create(int32_t n);
job *job_retain(job *j);
void job_release(job *j); /* releasing NULL does nothing */

/* Set the result of an input and notify. Takes the reference; NULL means out of memory. Any thread. */
void job_set_result(job_input *input, rill_status status, json_t *result);

/* Append the event `end` to a stream without inputs. */
void job_append_end_event(job *j);
/* Record the progress of a streamed input. Any thread. */
void job_progress(job_input *input, const rill_progress *progress);
/* Copy at most max_bytes bytes of events that were not sent yet to `out`. Requires the job's lock. Returns the number of bytes. */
size_t job_take_events(job *j, char *out, size_t max_bytes);

/* --- services ---------------------------------------------------------------------------------------------------------- */

/* A service: one model, and a thread that decodes the inputs of all jobs. It takes one input of each job in turn. Identical inputs share a
 * search.
 *
 * Order of use: service_open() on the main thread, service_start(), jobs from any thread, service_end(), service_close(). */

typedef struct service service;

typedef struct service_counts {
    int64_t waiting;   /* number of inputs in the queue */
    int64_t in_flight; /* number of searches running in the engines */
    /* totals: inputs done, failed and cancelled; actions (tokens) of finished searches */
    int64_t inputs, failed, cancelled, actions;
    /* totals: inputs served from the cache; inputs served by the search of another input */
    int64_t from_cache, shared;
    int64_t cache_entries, cache_bytes;
    rill_stats stats;
} service_counts;

/* Open a model of a command line, with `rill decode`'s options.
 *   command: the command whose options they are
 *   index: the model's number on the command line, from 0; *n_models: how many
 *   *out: closed by the caller; NULL on failure; without an open model after --openapi
 *   *helped: help was printed */
int service_open(service **out, const cli_command *command, int index, int argc, char **argv, int *n_models,
                 int *helped);
int service_fail_thread(const char *what); /* print that no thread can be started for `what`. Returns CLI_FAILED */
int service_start(service *s);             /* start the service's thread; does nothing if it was started */
/* Refuse new jobs and wait until all jobs are done. `now`: stop at once, so that unfinished inputs get an error. */
void service_end(service *s, int now);
void service_close(service *s); /* service_end() must have been called; NULL is allowed */

/* Queue a job. On failure no reference is kept.
 *   RILL_OK · RILL_AGAIN (the queue is full) · RILL_ERR_STOPPED (the service is draining or has failed) */
rill_status service_submit(service *s, job *j);
/* Cancel a job. Its unfinished inputs get the status RILL_ERR_CANCELLED. */
void service_cancel(service *s, job *j);

/* Return why the service has failed; "" while it works. */
const char *service_failure(service *s);
/* Apply a request's options (search settings and domain options) to its job, over the server's and the model's. Set the job's texts
 * first. Threads: one at a time.
 *   RILL_OK · RILL_ERR_OPTION (unknown, refused, contradictory, or beyond limits) · RILL_ERR_MEMORY; the error is in s->request_ctx */
rill_status service_read_settings(service *s, const json_t *options, job *j);
/* Source language, in the form of rill_sentences_split(): the value of --source-lang, or else the name of the model, which may be
 * FROM-TO. */
const char *service_language(const service *s);
void service_get_counts(service *s, service_counts *out);

/* --- internals of a service -------------------------------------------------------------------------------------------- */

/* Locks: the service's lock protects queue, searches and counters. Take a job's lock after it, never before. */

/* A running search. All inputs with its cache key wait for it. */
typedef struct decoding {
    service *service;
    int64_t id;           /* number of the input in the service's run */
    int64_t flight_index; /* index of this search in service.in_flight */
    char *key;            /* [key_length] cache key; NULL: the search is not shared */
    size_t key_length;
    /* wants_tokens: the result has "tokens"; has_watcher: the engine reports progress */
    int wants_tokens, has_watcher;
    /* width of the input's text (cli_text_width()) if the model is made for sentences; else 0 */
    int64_t width;
    job_input *first_waiting; /* list of inputs that wait for the result; NULL: cancelled */
} decoding;

struct service {
    cli_session session;
    serve_options options;                 /* server options of the service's command line */
    rill_option_source *default_schedule;  /* defaults of options that only affect scheduling */
    rill_search_config *search_config;     /* search config for requests without options */
    rill_constraints *constraints;         /* parser of constraints for the run */
    rill_context *request_ctx;             /* context of the server's thread, for parsing settings */
    rill_constraints *request_constraints; /* parser of constraints for the server's thread, to check requests */
    char *name;
    int n_sets;    /* number of sets of models that have the service */
    int can_split; /* the model is made for sentences (rill_model_split()) */
    /* language codes, ending with NULL, of a multilingual model whose inputs name their languages (option language-columns); NULL: another
     * model */
    const char *const *languages;
    int64_t n_deadlines; /* number of jobs in the queue that have a deadline */
    pthread_t thread;
    int is_started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *first_job, *last_job; /* queue of jobs that have inputs waiting; first_job is next */
    job *last_read;            /* job whose text the run borrows until the next read */
    int64_t max_in_flight, next_id;
    service_counts counts;
    cache *cache;
    decoding **in_flight; /* [counts.in_flight] running searches */
    int64_t n_cancelled;  /* number of running searches that are to be cancelled in the engine */
    int is_draining, has_ended;
    int is_tracing;        /* 1: a trace is being recorded */
    atomic_int is_stopped; /* the recording of a trace must stop */
    char failure[512];
};

/* Reader and writer of the run: callbacks for rill_workers_run_requests() with the service as user. */
rill_status queue_read(void *service, int may_block, rill_request *request);
rill_status queue_write(void *service, const rill_result *result);
/* Fail all inputs that are not done, at the end of the run. status: how the run ended. */
void queue_end(service *s, rill_status status);

/* --- models ------------------------------------------------------------------------------------------------------------ */

/* The served models, opened with one command line except for the name. After a reload, the old set lives until its last response. */

enum { MODELS_MAX = CLI_MODELS_MAX + 1 };

typedef struct models {
    service *service[MODELS_MAX]; /* [n] services, one per model; several sets may have the same service */
    int n;
    atomic_int n_users;  /* number of requests that use these models */
    struct models *next; /* next older set in the list of old sets */
} models;
