/* Options that the parts of `rill serve` share. */
#ifndef CLI_SERVE_SERVE_H
#define CLI_SERVE_SERVE_H

#include "session.h"

enum { SERVE_ORIGINS_MAX = 64 };

/* Origins whose web pages may send requests. */
typedef struct serve_pages {
    const char *host;                       /* listen address, as on the command line */
    const char *origins[SERVE_ORIGINS_MAX]; /* [n_origins] allowed origins, "*": all */
    int n_origins;
} serve_pages;

typedef struct serve_options {
    const char *api_key_path;
    int port, queue_size, max_inputs, max_connections, request_timeout, shutdown_timeout, max_beam_size;
    int64_t request_bytes, max_body_bytes, cache_bytes;
    serve_pages pages;
} serve_options;

/* Parse a command line with one model. Session options are stored in the session; all others are passed to `take`. */
int serve_parse(cli_session *session, int (*take)(void *user, const cli_option *option, const char *value), void *user,
                int argc, char **argv, int *helped);
/* Store an option of the server. */
int serve_take_option(serve_options *options, rill_context *ctx, const cli_option *option, const char *value);

#endif
