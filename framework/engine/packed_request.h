/* Packed requests: a request's settings, serialised for the engine that will decode it.
 *
 * A request's instances of heuristics and scorers belong to one engine and its thread, so the caller's thread cannot make
 * them. The request therefore travels as flat bytes, which input queues store after the input's text. The bytes hold the
 * struct and, if set, the settings, the input options, and one argument for each heuristic and scorer. */
#ifndef RILL_PACKED_REQUEST_H
#define RILL_PACKED_REQUEST_H

#include "request.h"

/* Serialise a request, without its text, into `out`, which stays empty if the request has only a text. out->ctx must be set.
 *   c: a chain with the same heuristics and scorers as the engine's · start_time: when the request's timeout starts
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status packed_request_write(rill_text *out, const rill_request *req, const chain *c, double start_time);

/* As request_create(), from packed bytes. */
rill_status packed_request_read(requests *all, const rill_model *model, chain *c, const char *bytes, request **out);

void *packed_request_user(const char *bytes);
double packed_request_deadline(const char *bytes); /* infinite: none */

#endif
