/* A service: one served model. A thread decodes the inputs of all jobs in one endless run.
 *
 * Inputs can join the run at any timestep. The reader of the run (rill/run.h) takes one input of each job in turn, so that a small
 * request does not wait for a large one. For the same reason, the engine gets only as many inputs as can be in flight, and a few more.
 * Results are delivered in order of completion. Responses are cached, and identical inputs in flight are decoded once; random samples
 * are not shared. A cancelled job leaves the queue, and its searches are cancelled before the next timestep unless other jobs share
 * them.
 *
 * Order of use: service_open() on the main thread, service_start(), jobs from any thread, service_end(), service_close(). Errors
 * before the start print a message on stderr. Later errors fail the jobs, and service_failure() returns the reason. */
#ifndef CLI_SERVE_SERVICE_H
#define CLI_SERVE_SERVICE_H

#include "job.h"
#include "options_json.h"
#include "serve.h"

typedef struct service service;

typedef struct service_counts {
    int64_t waiting;                            /* inputs in the queue */
    int64_t in_flight;                          /* searches in the engines */
    int64_t inputs, failed, cancelled, actions; /* totals; actions: of finished searches */
    int64_t from_cache, shared;                 /* inputs served from the cache, or by the search of another input */
    int64_t cache_entries, cache_bytes;
    rill_stats stats;
} service_counts;

/* Open the model of a command line with `rill decode`'s options.
 *   name: what clients call the model; borrowed
 *   options: receives the server options of the command line
 *   *out: closed by the caller, NULL on failure; *helped: help was printed, nothing else to do
 *   CLI_OK, or another exit code after a message */
int service_open(service **out, const char *name, struct serve_options *options, int argc, char **argv, int *helped);
int service_start(service *s);
/* Refuse new jobs and wait until all jobs are done. `now`: stop at once, so that unfinished inputs get an error. */
void service_end(service *s, int now);
void service_close(service *s); /* service_end() must have been called; NULL is allowed */

/* Put a job in the queue.
 *   RILL_OK · RILL_AGAIN (the queue is full) · RILL_ERR_STOPPED (the service is draining or has failed). On an error it keeps no
 *     reference */
rill_status service_submit(service *s, job *j);
/* Cancel a job. Its unfinished inputs get the status RILL_ERR_CANCELLED. */
void service_cancel(service *s, job *j);

const char *service_name(const service *s);
/* Why the service has failed; "" while it works. */
const char *service_failure(service *s);
const rill_settings *service_settings(const service *s); /* resolved settings of requests without options */
json_t *service_options_json(const service *s);          /* the options in effect; a new reference */
/* Apply the options of a request to its job, on top of the options of the server and the model. The texts of the job must be set.
 * Options are search settings, and domain options that inputs may set.
 *   *why: message, valid until the next call
 *   RILL_OK · RILL_ERR_OPTION (unknown, refused, contradictory, or beyond the server's limits) · RILL_ERR_MEMORY
 * Threads: one at a time. */
rill_status service_read_settings(service *s, const json_t *options, job *j, const char **why);
/* Check whether a request may set the option. Runs on the server's thread. RILL_OK · RILL_ERR_OPTION (*why, valid until the next call) */
rill_status service_check_option(service *s, const char *name, const char **why);
/* Check a line of constraints. Runs on the server's thread.
 *   RILL_OK · RILL_ERR_INPUT (*why, valid until the next call) · RILL_ERR_MEMORY */
rill_status service_check_constraints(service *s, const char *line, const char **why);
/* Source language, in the form of rill_sentences_split(): the value of --source-lang, or else the name of the model, which may be
 * FROM-TO. */
const char *service_language(const service *s);
/* Context of the main thread. Use it before the start or after the end only. */
rill_context *service_context(const service *s);
rill_model *service_model(const service *s);
const char *service_device(const service *s);
void service_get_counts(service *s, service_counts *out);

#endif
