/* HTTP by libmicrohttpd: connections, bodies and responses; http_api.h interprets them.
 *
 * One libmicrohttpd thread handles all connections, and suspends those that wait for a job. Call functions on the main thread. */
#pragma once

#include <microhttpd.h>

#include "http_api.h"

typedef struct server server;

/* Start the server with borrowed models. token: the API key in "Authorization: Bearer KEY"; NULL: none required. */
int server_open(server **out, const serve_options *options, models *now, const char *token);
/* Use other models and another API key for new requests. Requests that have begun keep their models. */
void server_set_models(server *s, models *next, const char *token);
/* Return the URL of the server, such as "http://127.0.0.1:8190". */
const char *server_address(const server *s);
/* Stop accepting connections, and wait up to `seconds` for accepted requests. Returns the number still unanswered. */
int server_drain(server *s, double seconds);
void server_close(server *s); /* closing NULL does nothing */

/* --- checks of a request's head ---------------------------------------------------------------------------------------- */

/* Checks of request heads. Web pages of other origins are refused unless allowed. Over loopback the Host header must name this machine,
 * against DNS rebinding (a page's domain that resolves to 127.0.0.1). */

/* Whether the request's end is unambiguous (RFC 9112, 3.2, 5.1, 6.1 and 6.3). 0: refused; close the connection, against request
 * smuggling. */
int head_check_framing(api_request *r, struct MHD_Connection *connection, const char *version);
/* Whether the source of the request is allowed. 0: the request is refused. */
int head_check_source(api_request *r, struct MHD_Connection *connection, const serve_options *options);
/* Return the request's Origin header if the options list this origin as allowed; otherwise NULL. */
const char *head_allowed_origin(struct MHD_Connection *connection, const serve_options *options);
/* Whether the header Content-Type is `type`; case and parameters are ignored. */
int head_has_type(struct MHD_Connection *connection, const char *type);
const char *head_value(struct MHD_Connection *connection, const char *name);

/* --- reading forms ----------------------------------------------------------------------------------------------------- */

/* Add fields to an object {NAME: TEXT}; a repeated name gets a list. Return 0 if out of memory, malformed or not UTF-8. */

/* Add the fields of the URL's query. */
int form_add_query(json_t *form, struct MHD_Connection *connection);
/* Add the fields of a body in the format application/x-www-form-urlencoded. The body is overwritten. */
int form_add_urlencoded(json_t *form, char *body, size_t length);
/* Add the fields of a body in the format multipart/form-data, whose boundary is in the header Content-Type. */
int form_add_multipart(json_t *form, struct MHD_Connection *connection, const char *body, size_t length);

/* --- watching connections ---------------------------------------------------------------------------------------------- */

/* Detect disconnected clients and slow requests, which libmicrohttpd does not. Any thread.
 * A thread cancels requests whose waiting client has closed the connection, and shuts down connections whose request is late. */

typedef struct watch watch;

/* Start the thread. *out: closed by the caller. Returns 0 on failure, with errno.
 *   timeout: seconds for a request to arrive, idle time included
 *   gone: called once on the watching thread, with the argument of watch_wait() */
int watch_open(watch **out, double timeout, void (*gone)(void *what));
void watch_close(watch *w); /* closing NULL does nothing */

/* watch_begin(): start watching a connection; its time limit for a request begins. watch_end(): stop watching it. fd: the connection's
 * socket. */
void watch_begin(watch *w, int fd);
void watch_end(watch *w, int fd);
/* If there are max_connections or more, shut down one: of the address with the most connections, the one that has waited longest.
 * Connections whose request is running, and `fd` itself, are never shut down. Returns 0 if `fd` is still one too many. */
int watch_limit(watch *w, int fd, int max_connections);
/* Note that the response of a connection is being sent: `gone` is not called for it any more. */
void watch_answering(watch *w, int fd);
/* Call gone(what) if the client disconnects, until watch_stop_wait(). After that has returned, no call of `gone` is running or will
 * follow. */
void watch_wait(watch *w, int fd, void *what);
void watch_stop_wait(watch *w, int fd);
