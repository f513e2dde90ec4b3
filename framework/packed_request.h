/* Packed requests: a request's settings, serialised for the engine that will decode it.
 *
 * A request's instances belong to one engine and its thread, so the caller's thread cannot make them. The request travels as flat bytes,
 * which input queues copy after the text: the struct, its settings and options if set, and an argument per heuristic and scorer. */
#ifndef RILL_PACKED_REQUEST_H
#define RILL_PACKED_REQUEST_H

#include "request.h"

/* Serialise a request without its text into `out`, whose context is set; nothing if it has no settings. `c`: a chain like the engine's;
 * `start_time`: its deadline counts from here. RILL_OK · RILL_ERR_MEMORY */
rill_status packed_request_write(rill_text *out, const rill_request *req, const chain *c, double start_time);

/* Make a request from packed bytes; otherwise as request_create(). */
rill_status packed_request_read(requests *all, const rill_model *model, chain *c, const char *bytes, request **out);

void *packed_request_user(const char *bytes);
double packed_request_deadline(const char *bytes); /* infinite: none */

#endif
