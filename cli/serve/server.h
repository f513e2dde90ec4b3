/* HTTP over libmicrohttpd: connections, bodies and responses; api.h interprets them.
 *
 * One thread of libmicrohttpd handles all connections. A connection that waits for a job is suspended and costs only a socket and
 * memory. Functions must be called on the main thread. Failures print a message on stderr. */
#ifndef CLI_SERVE_SERVER_H
#define CLI_SERVE_SERVER_H

#include "models.h"

typedef struct server server;

typedef struct server_options {
    int port;          /* 0: any free port */
    const char *token; /* API key in "Authorization: Bearer KEY"; NULL: none is required */
    int max_connections;
    int64_t max_inputs;     /* limit per request */
    int64_t max_body_bytes; /* limit of a request's body */
    int request_timeout;    /* seconds for a request to arrive */
    serve_pages pages;      /* allowed origins, and the listen address: a name, a number, or "*" for all */
} server_options;

/* Start the server with a set of models, which it borrows. CLI_OK or CLI_FAILED. */
int server_open(server **out, const server_options *options, models *now);
/* Use other models and another API key for new requests. Requests in work keep the old models. The old key is not used after the call. */
void server_set_models(server *s, models *next, const char *token);
/* Number of requests that use a set of models. */
int server_n_users(server *s, const models *m);
/* URL of the server: "http://127.0.0.1:8190". */
const char *server_address(const server *s);
/* Stop accepting connections, refuse new requests, and wait until all accepted requests are answered or `seconds` have passed. Returns
 * the number of unanswered requests. */
int server_drain(server *s, double seconds);
void server_close(server *s); /* NULL is allowed */

#endif
