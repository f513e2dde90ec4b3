/* A request of a client while it is decoded: its inputs, what is asked of each, and what came of them.
 *
 * A stream tells as server-sent events (html.spec.whatwg.org, section 9.2) what is known so far: `final`, what all outputs of an input
 * that may still come begin with; `draft`, the best hypothesis; `result`, what came of the input; `end`. Where a client fetches them
 * slowly it gets fewer of the first two: the next one says all that those left out did.
 *
 * A job belongs to two sides: the connection that made it, and the service that decodes it (service.h). Each holds a reference; the
 * last one frees it. What both touch is under the job's lock: how many inputs are done, whether it was given up, what its watcher is told.
 * Threads: as said at each function. */
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
    char *constraints;   /* a line of them (rill/constraints.h); NULL: there are none */
    json_t *result;      /* NULL: not done */
    rill_status status;  /* of it */
    char *final, *draft; /* (streams) what was told last; NULL: nothing */
    /* The service's, under its lock: */
    char *key; /* [key_length] what is asked, as bytes; NULL: not yet known */
    size_t key_length;
    uint64_t hash;                 /* of it */
    struct decoding *decoding;     /* whose result it waits for; NULL: it waits in the queue, or is done */
    struct job_input *next, *prev; /* others that wait for that */
} job_input;

struct job {
    pthread_mutex_t lock;
    int n_references;
    job *next, *prev;              /* the service's queue */
    job_input *input;              /* [n] */
    int32_t n, n_dequeued, n_done; /* (given: those before it have left the queue) */
    int is_submitted;              /* a service has it, or had it */
    int is_cancelled;              /* nobody waits for it any more */
    rill_settings settings;        /* how its inputs are searched */
    int has_own_settings;          /* they are not the service's */
    char *options;                 /* how its inputs are read (rill_request.options); NULL: as the model was opened */
    int wants_tokens;              /* outputs tell their actions */
    double deadline;               /* by cli_now(); 0: none */
    double arrival_time;           /* when it came, by cli_now() */
    char *trace;                   /* (traces) all of it */
    int is_stream;                 /* its client is told of progress: */
    char *events;                  /* [events_used] server-sent events; those before events_read have been fetched */
    size_t events_read, events_used, events_capacity;
    /* Called when all inputs are done, of a stream whenever there are events; under the lock. NULL: nobody asks. */
    void (*notify)(void *user);
    void *notify_user;
};

/* A job of n inputs without texts; the caller holds a reference, and the settings are its own to fill. NULL: out of memory. */
job *job_create(int32_t n);
/* Set an input's text, which is copied. 0: out of memory. */
int job_set_text(job *j, int32_t i, const char *text, size_t length);
job *job_retain(job *j);
void job_release(job *j); /* NULL is allowed */

/* Note what came of an input and tell who waits. Takes the result over; NULL (out of memory) is noted as such. Any thread. */
void job_set_result(job_input *input, rill_status status, json_t *result);
int job_is_done(job *j);

/* Tell a stream without inputs of its end. */
void job_append_end_event(job *j);
/* Of a stream: note how far the search of an input has come. Any thread. */
void job_progress(job_input *input, const rill_progress *progress);
/* Under the lock: take up to `most` bytes of events. */
size_t job_take_events(job *j, char *out, size_t max_bytes);

#endif
