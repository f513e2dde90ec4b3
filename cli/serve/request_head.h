/* Heads of requests, before anything else of them is looked at: whether it is sure where the request ends, and whether it may come from a
 * page in somebody's browser.
 *
 * A browser lets any page ask a server on its machine. So a page of another origin is refused unless that origin is allowed, and what
 * comes by loopback has to name this machine as its host: a page whose name leads to 127.0.0.1 calls it by the page's. */
#ifndef CLI_SERVE_REQUEST_HEAD_H
#define CLI_SERVE_REQUEST_HEAD_H

#include <microhttpd.h>

#include "api.h"

/* Whether an option's value is an origin, or "*". */
int head_is_origin(const char *text);

/* Whether the request's end is known for sure (RFC 9112, 3.2, 5.1, 6.1 and 6.3). 0: *refused, and the connection has to be closed, since
 * another reader of it may see another request there. */
int head_check_framing(struct MHD_Connection *connection, const char *version, api_answer *refused);
/* Whether whoever sends it may ask. 0: *refused. */
int head_check_source(struct MHD_Connection *connection, const serve_pages *pages, api_answer *refused);
/* The allowed origin that it comes from, which is another than the server's; NULL: it comes from none. */
const char *head_allowed_origin(struct MHD_Connection *connection, const serve_pages *pages);
/* What type of body it says it has: `type`, without regard to the case, with or without parameters. */
int head_has_type(struct MHD_Connection *connection, const char *type);
const char *head_value(struct MHD_Connection *connection, const char *name);

#endif
