/* The structure of services, for service.c, queue.c and request_trace.c only.
 *
 * Locks: the service's lock protects the queue, running searches and counters. A job's lock is taken while the service's lock is held,
 * never the other way round. */
#ifndef CLI_SERVE_SERVICE_INTERNAL_H
#define CLI_SERVE_SERVICE_INTERNAL_H

#include "cache.h"
#include "rill/constraints.h"
#include "service.h"
#include "session.h"
#include "split_sentences.h"

/* One running search, shared by all inputs with the same key. */
typedef struct decoding {
    service *service;
    int64_t id;           /* number in the service's run */
    int64_t flight_index; /* index in service.in_flight */
    char *key;            /* [key_length] cache key; NULL: the search is not shared */
    size_t key_length;
    uint64_t hash;
    int wants_tokens, has_watcher; /* the result has "tokens"; the engine reports progress */
    int64_t width;                 /* width of the input's text, if the model is made for sentences; else 0 */
    job_input *first_waiting;      /* list of inputs that wait for the result; NULL: cancelled */
} decoding;

struct service {
    cli_session session;
    rill_option_source *default_schedule; /* scheduling defaults */
    rill_search_config *search_config;
    rill_constraints *constraints;         /* parser of constraints for the run */
    char *settings_key;                    /* key of the service's own settings */
    rill_context *request_ctx;             /* context of the server's thread, for parsing settings */
    rill_constraints *request_constraints; /* constraints reader of the server's thread, for checking constraints */
    const char *name;
    serve_options *options;  /* options of the command, used while opening */
    int64_t max_waiting;     /* limit of waiting inputs */
    int can_split;           /* the model is made for sentences (rill_model_split()) */
    int max_beam_size;       /* limit of a request's widths */
    double max_search_bytes; /* limit of the estimated memory of a request's search */
    int64_t n_deadlines;     /* number of jobs in the queue with a deadline */
    pthread_t thread;
    int is_started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *first_job, *last_job; /* queue of jobs with waiting inputs; the first one is next */
    job *last_read;            /* job whose text the run still borrows */
    int64_t max_in_flight, next_id;
    service_counts counts;
    cache *cache;
    decoding **in_flight; /* [counts.in_flight] running searches */
    int64_t n_cancelled;  /* running searches to cancel in the engine */
    int is_draining, has_ended;
    int is_tracing; /* a trace is being recorded */
    int is_stopped; /* the trace must stop */
    char failure[512];
};

/* Reader and writer of the run: callbacks for rill_workers_run_requests() with the service as user. */
rill_status queue_read(void *service, int may_block, rill_request *request);
rill_status queue_write(void *service, const rill_result *result);
/* End of the run: fail everything that is not done. */
void queue_end(service *s, rill_status status);
/* Canonical text of settings, for comparison; NULL: out of memory. */
char *queue_settings_key(const rill_settings *settings);

#endif
