/* A set of served models. Each model is opened with the same command line except for its name. After a reload, the old set stays open
 * until its last request is answered. Threads: the main thread, unless noted. */
#ifndef CLI_SERVE_MODELS_H
#define CLI_SERVE_MODELS_H

#include "service.h"

enum { MODELS_MAX = 64 };

typedef struct models {
    service *service[MODELS_MAX]; /* [n] */
    char *name[MODELS_MAX];
    const char *model[MODELS_MAX]; /* NAME=DIR or DIR of each model, as on the command line */
    int is_taken_over[MODELS_MAX]; /* the newer set owns and closes this service */
    int n;
    int n_users;         /* number of requests that use the set; protected by the server's lock */
    struct models *next; /* list of old sets */
    char **line;         /* [n_line + 2] the command line without its models, with space for one */
    int n_line;
} models;

/* Open all models of a command line.
 *   options: receives the server options; *out: closed by the caller, NULL on failure; *helped: help was printed, nothing else to do
 *   CLI_OK, or another exit code after a message */
int models_open(models **out, serve_options *options, int argc, char **argv, int *helped);
int models_start(models *m);
/* Open the models whose run has failed. The other services are shared by both sets. Close the new set after the old one.
 *   *out: started; NULL on failure, and `old` is unchanged. CLI_OK, or another exit code after a message */
int models_reopen_failed(models **out, models *old, serve_options *options);
void models_end(models *m, int now); /* as service_end() */
void models_close(models *m);        /* models_end() must have been called; NULL is allowed */

#endif
