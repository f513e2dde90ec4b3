/* Checks of request heads before anything else is parsed: whether the end of the request is unambiguous, and whether a web page may
 * send it.
 *
 * A browser lets any page send requests to servers on the same machine. So a page of another origin is refused unless the origin is
 * allowed. A request over loopback must name this machine in its Host header, because a page whose domain resolves to 127.0.0.1 (DNS
 * rebinding) sends the page's host. */
#ifndef CLI_SERVE_REQUEST_HEAD_H
#define CLI_SERVE_REQUEST_HEAD_H

#include <microhttpd.h>

#include "api.h"

/* Whether a text is an origin, or "*". */
int head_is_origin(const char *text);

/* Whether the end of the request is unambiguous (RFC 9112, 3.2, 5.1, 6.1 and 6.3). 0: *refused is set, and the connection must be
 * closed, because a proxy might see a different request (request smuggling). */
int head_check_framing(struct MHD_Connection *connection, const char *version, api_answer *refused);
/* Whether the source of the request is allowed. 0: *refused is set. */
int head_check_source(struct MHD_Connection *connection, const serve_pages *pages, api_answer *refused);
/* The allowed origin of a request from another origin; NULL: the request has no such origin. */
const char *head_allowed_origin(struct MHD_Connection *connection, const serve_pages *pages);
/* Whether Content-Type is `type`, ignoring case and parameters. */
int head_has_type(struct MHD_Connection *connection, const char *type);
const char *head_value(struct MHD_Connection *connection, const char *name);

#endif
