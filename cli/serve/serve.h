/* What the command's parts share: its options. */
#ifndef CLI_SERVE_SERVE_H
#define CLI_SERVE_SERVE_H

#include "session.h"

enum { SERVE_ORIGINS_MAX = 64 };

/* Whose requests are taken from browsers. */
typedef struct serve_pages {
    const char *host;                       /* the address that is listened at, as it was given */
    const char *origins[SERVE_ORIGINS_MAX]; /* [n] whose pages may ask, "*": all */
    int n_origins;
} serve_pages;

typedef struct serve_options {
    const char *api_key_path;
    int port, queue_size, max_inputs, max_connections, request_timeout, shutdown_timeout, max_beam_size,
        request_megabytes;
    int64_t max_body_bytes, cache_bytes;
    serve_pages pages;
} serve_options;

/* Parse a command line with one model: the session's options go to it, all others to `take`. */
int serve_parse(cli_session *session, int (*take)(void *user, const cli_option *option, const char *value), void *user,
                int argc, char **argv, int *helped);
/* Note an option that is not a session's. */
int serve_take_option(serve_options *options, const cli_option *option, const char *value);

#endif
