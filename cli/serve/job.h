/* A job: the inputs of a request while they are decoded, their settings and their results.
 *
 * The progress of a stream is sent as server-sent events (html.spec.whatwg.org, section 9.2): `final`, the text that all possible
 * outputs of an input begin with; `draft`, the best hypothesis; `result`, the result of an input; `end`. A slow client gets fewer
 * `final` and `draft` events, each of which includes the earlier ones.
 *
 * A job is shared by the connection that created it and the service that decodes it (service.h). Each holds a reference; the last one
 * to release it frees the job. The job's lock protects what both sides change: counts of finished inputs, cancellation, events,
 * `notify`. Threads: see each function. */
#ifndef CLI_SERVE_JOB_H
#define CLI_SERVE_JOB_H

#include <jansson.h>
#include <pthread.h>

#include "rill/plugin.h"
#include "rill/rill.h"

typedef struct job job;
struct decoding;

typedef struct job_input {
    job *job;
    char *text; /* [length] */
    size_t length;
    char *constraints;   /* a line of constraints (rill/constraints.h); NULL: none */
    json_t *result;      /* NULL: not done */
    rill_status status;  /* status of the result */
    char *final, *draft; /* (streams) text of the last event; NULL: none */
    /* Protected by the service's lock: */
    char *key; /* [key_length] cache key; NULL: not computed yet */
    size_t key_length;
    uint64_t hash;                 /* hash of `key` */
    struct decoding *decoding;     /* the search that it waits for; NULL: still in the queue, or done */
    struct job_input *next, *prev; /* other inputs that wait for the same search */
} job_input;

struct job {
    pthread_mutex_t lock;
    int n_references;
    job *next, *prev;              /* neighbours in the service's queue */
    job_input *input;              /* [n] */
    int32_t n, n_dequeued, n_done; /* inputs before n_dequeued have left the queue */
    int is_submitted;              /* a service has accepted the job */
    int is_cancelled;              /* the client has disconnected */
    rill_settings settings;        /* search settings of all inputs */
    int has_own_settings;          /* the settings differ from the service's */
    char *options;                 /* domain options (rill_request.options); NULL: as the model was opened */
    int wants_tokens;              /* results have "tokens" */
    double deadline;               /* seconds on the clock of cli_now() until which a result is wanted; 0: no limit */
    double arrival_time;           /* time of arrival on the clock of cli_now() */
    char *trace;                   /* (traces) the whole trace */
    int is_stream;                 /* the client receives progress events: */
    char *events;                  /* [events_used] server-sent events; the first events_read bytes are sent */
    size_t events_read, events_used, events_capacity;
    /* Called with the lock held, when all inputs are done and, for a stream, when there are new events. NULL: not set. */
    void (*notify)(void *user);
    void *notify_user;
};

/* Create a job of n inputs. The caller holds a reference, and sets texts and settings. NULL: out of memory. */
job *job_create(int32_t n);
/* Copy the text of an input. 0: out of memory. */
int job_set_text(job *j, int32_t i, const char *text, size_t length);
job *job_retain(job *j);
void job_release(job *j); /* NULL is allowed */

/* Set the result of an input and notify. Takes the reference; NULL means out of memory. Any thread. */
void job_set_result(job_input *input, rill_status status, json_t *result);
int job_is_done(job *j);

/* Append the event `end` to a stream without inputs. */
void job_append_end_event(job *j);
/* For a stream, record the progress of an input. Any thread. */
void job_progress(job_input *input, const rill_progress *progress);
/* Copy up to max_bytes bytes of events that are not sent yet. Requires the lock. Returns the number of bytes. */
size_t job_take_events(job *j, char *out, size_t max_bytes);

#endif
