/* HTTP: connections, bodies and answers, by libmicrohttpd; what they mean is api.h's.
 *
 * One thread of the library's handles all connections; one that waits for a job is suspended and costs a socket and its memory.
 * Functions belong to the main thread. Failures have been said on stderr. */
#ifndef CLI_SERVE_SERVER_H
#define CLI_SERVE_SERVER_H

#include "models.h"

typedef struct server server;

typedef struct server_options {
    int port;          /* 0: any that is free */
    const char *token; /* of "Authorization: Bearer TOKEN"; NULL: none is asked for */
    int max_connections;
    int64_t max_inputs;     /* of a request */
    int64_t max_body_bytes; /* of a request's body */
    int request_timeout;    /* seconds in which a request has to arrive */
    serve_pages pages;      /* who may ask, and the address: a name, a number, or "*" for all */
} server_options;

/* The models stay the caller's. */
int server_open(server **out, const server_options *options, models *now);
/* From now on requests are for other models and another token; those that have begun go on with what they have. The token is looked at no
 * more when this returns. */
void server_set_models(server *s, models *next, const char *token);
/* How many requests look at these models. */
int server_n_users(server *s, const models *m);
/* "http://127.0.0.1:8190" */
const char *server_address(const server *s);
/* Take no more connections and refuse what comes on others; wait until all that was accepted is answered, or `seconds` are over.
 * Returns how many were not answered. */
int server_drain(server *s, double seconds);
void server_close(server *s); /* NULL is allowed */

#endif
