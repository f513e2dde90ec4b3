/* A model that is served: a thread of its own decodes what jobs bring, as one run without an end.
 *
 * Inputs join the run at any timestep: its reader (rill/run.h) takes them from the queue of jobs, one of each job in turn, so that a
 * small request does not wait behind a large one. No more are handed to the engine than it can have in flight and a few beside, for
 * the same reason. Results come as they are finished. An input that asks what was answered before gets that answer at once, and one that
 * asks what is being decoded waits for that: an answer depends on what is asked alone (what is drawn at random is not shared). A job that
 * is given up leaves the queue, and what of it is under way for nobody else is cancelled before the next timestep.
 *
 * Order of use: service_open() on the main thread, service_start(), jobs from any thread, service_end(), service_close().
 * Failures before the start have been said on stderr; later ones fail the jobs, and service_failure() tells why. */
#ifndef CLI_SERVE_SERVICE_H
#define CLI_SERVE_SERVICE_H

#include "job.h"
#include "serve.h"

typedef struct service service;

typedef struct service_counts {
    int64_t waiting;                            /* inputs, now */
    int64_t in_flight;                          /* what engines have, now */
    int64_t inputs, failed, cancelled, actions; /* so far; (actions: of searches) */
    int64_t from_cache, shared;                 /* inputs that were answered without a search of their own */
    int64_t cache_entries, cache_bytes;
    rill_stats stats;
} service_counts;

/* Open the model that a command line describes (without names of its own: `rill decode`'s options).
 *   name: what clients call the model; borrowed
 *   options: what the line says of the server is noted there
 *   *out: closed by the caller; NULL on failure. CLI_OK or another exit code after a message. *helped: nothing else is to be done */
int service_open(service **out, const char *name, struct serve_options *options, int argc, char **argv, int *helped);
int service_start(service *s);
/* Take no more jobs, and wait until all are done; `now`: end at once, so that what is not done gets an error. */
void service_end(service *s, int now);
void service_close(service *s); /* ended; NULL is allowed */

/* Put a job in the queue.
 *   RILL_OK · RILL_AGAIN (too many inputs wait) · RILL_ERR_STOPPED (it drains, or has failed); then the service has nothing of it */
rill_status service_submit(service *s, job *j);
/* Give a job up: its inputs get no results but that. */
void service_cancel(service *s, job *j);

const char *service_name(const service *s);
/* Why it decodes no more, "" while it does. */
const char *service_failure(service *s);
const rill_settings *service_settings(const service *s); /* of requests that say nothing, with defaults filled in */
/* Give a job, whose texts are set, a request's own settings, on top of the server's and the model's: as options of a command line would;
 * and those options of the domain's that inputs may have of their own.
 * `said` gives the i-th as *name and *value, 0 behind the last. Threads: one at a time.
 *   RILL_OK · RILL_ERR_OPTION (*why, valid until the next call: unknown, refused, impossible, or more than the server gives a request) ·
 *   RILL_ERR_MEMORY */
rill_status service_read_settings(service *s,
                                  int (*next_setting)(void *user, int i, const char **name, const char **value),
                                  void *user, job *j, const char **why);
/* Whether a line of constraints is one, on the connections' thread.
 *   RILL_OK · RILL_ERR_INPUT (*why, valid until the next call) · RILL_ERR_MEMORY */
rill_status service_check_constraints(service *s, const char *line, const char **why);
/* The language that it translates from, as rill_sentences_split() takes it: --source-lang, or its name, which may be FROM-TO. */
const char *service_language(const service *s);
/* The main thread's, before the start and after the end. */
rill_context *service_context(const service *s);
rill_model *service_model(const service *s);
const char *service_device(const service *s);
void service_get_counts(service *s, service_counts *out);

#endif
