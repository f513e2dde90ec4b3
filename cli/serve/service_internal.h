/* What services are made of, for service.c, queue.c and request_trace.c alone.
 *
 * Locks: the service's guards the queue, what is under way and what is counted; a job's is taken inside it, never the other way round. */
#ifndef CLI_SERVE_SERVICE_INTERNAL_H
#define CLI_SERVE_SERVICE_INTERNAL_H

#include "cache.h"
#include "rill/constraints.h"
#include "service.h"
#include "session.h"

/* What an engine has: one search, for all inputs that ask the same. */
typedef struct decoding {
    service *service;
    int64_t id;           /* of the service's run */
    int64_t flight_index; /* among what is under way */
    char *key;            /* [key_length] what is asked; NULL: it is nobody else's */
    size_t key_length;
    uint64_t hash;
    int32_t n_best;                /* outputs that are asked for; 0: one */
    int wants_tokens, has_watcher; /* its result tells its actions; the engine tells of its progress */
    const char *fewer_reason;      /* why there would be fewer */
    int64_t width;                 /* of the input's text, of a model that is made for sentences */
    job_input *first_waiting;      /* who waits for it; none: it is given up */
} decoding;

struct service {
    cli_session session;
    rill_option_source *default_schedule; /* how requests are scheduled where nobody says it */
    rill_search_config *search_config;
    rill_constraints *constraints;         /* the run's reader of inputs' constraints */
    char *settings_key;                    /* what requests ask that say nothing */
    rill_context *request_ctx;             /* the connections' thread's, for reading settings */
    rill_constraints *request_constraints; /* and for constraints */
    const char *name;
    serve_options *options;   /* the command's, until it is open */
    int64_t max_waiting;      /* most inputs that wait */
    int can_split;            /* the model is made for sentences (rill_model_split()) */
    int max_beam_size;        /* of requests, ... */
    int max_search_megabytes; /* ... and what their searches may take */
    int64_t n_deadlines;      /* jobs in the queue that have one */
    pthread_t thread;
    int is_started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *first_job, *last_job; /* jobs with inputs that wait; whose turn it is first */
    job *last_read;            /* whose text the run has not copied yet */
    int64_t max_in_flight, next_id;
    service_counts counts;
    cache *cache;
    decoding **in_flight; /* [counts.under_way] those that an engine has */
    int64_t n_cancelled;  /* of them, whose engine does not know it yet */
    int is_draining, has_ended;
    int is_tracing; /* a request is decoded to be looked at, ... */
    int is_stopped; /* ... which is to end at once */
    char failure[512];
};

/* The run's side of the queue: for rill_workers_run_requests(), with the service. */
rill_status queue_read(void *service, int may_block, rill_request *request);
rill_status queue_write(void *service, const rill_result *result);
/* The run is over: what is not done by now never will be. */
void queue_end(service *s, rill_status status);
/* What a search with these settings asks, as a text to compare; NULL: out of memory. */
char *queue_settings_key(const rill_settings *settings);

#endif
