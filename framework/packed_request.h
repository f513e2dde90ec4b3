/* Parcels: what an input wants of its own, on its way to the engine that makes a request of it.
 *
 * A request's instances belong to one engine and its thread. So what was asked for travels as flat bytes, which intakes copy behind
 * the text: the struct, its settings and options if it has any, and an argument per heuristic and scorer. */
#ifndef RILL_PACKED_REQUEST_H
#define RILL_PACKED_REQUEST_H

#include "request.h"

/* Write what is asked, but for the text, into `out`, whose context is set; nothing when nothing is. `c`: a chain as that of the
 * engine to come; `at`: the time, from which its seconds count. RILL_OK · RILL_ERR_MEMORY */
rill_status packed_request_write(rill_text *out, const rill_request *req, const chain *c, double start_time);

/* As request_create(), of a parcel's bytes. */
rill_status packed_request_read(requests *all, const rill_model *model, chain *c, const char *bytes, request **out);

void *packed_request_user(const char *bytes);
double packed_request_deadline(const char *bytes); /* infinite: none */

#endif
