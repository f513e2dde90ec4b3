/* The models that are served together, each opened by the command line with its name alone. While new ones take over from them (a reload)
 * both are open, until the last request of the old ones is answered. Threads: the main one's, but for what is said. */
#ifndef CLI_SERVE_MODELS_H
#define CLI_SERVE_MODELS_H

#include "service.h"

enum { MODELS_MAX = 64 };

typedef struct models {
    service *service[MODELS_MAX]; /* [n] */
    char *name[MODELS_MAX];
    const char *model[MODELS_MAX]; /* as on the command line */
    int is_taken_over[MODELS_MAX]; /* the set that took over from this one ends and closes it, not this one */
    int n;
    int n_users;         /* requests that look at them; under the server's lock */
    struct models *next; /* its owner's */
    char **line;         /* [n_line + 2] the command line without its models, with places for one */
    int n_line;
} models;

/* Open all models of a command line.
 *   options: what it says of the server; *out: closed by the caller, NULL on failure. CLI_OK or another code after a message.
 *   *helped: nothing else is to be done */
int models_open(models **out, serve_options *options, int argc, char **argv, int *helped);
int models_start(models *m);
/* Open those again whose run has failed; all others go on, in both sets. The new set is to be closed after the old one.
 *   *out: started; NULL on failure, and `old` is as before. CLI_OK or another code after a message */
int models_reopen_failed(models **out, models *old, serve_options *options);
void models_end(models *m, int now); /* as service_end() */
void models_close(models *m);        /* ended; NULL is allowed */

#endif
