/* Parcels: what an input wants of its own, on its way to the engine that makes a request of it.
 *
 * A request's instances belong to one engine and its thread. So what was asked for travels as flat bytes, which intakes copy behind
 * the text: the struct, its settings and options if it has any, and an argument per heuristic and scorer. */
#ifndef RILL_PARCEL_H
#define RILL_PARCEL_H

#include "request.h"

/* Write what is asked, but for the text, into `out`, whose context is set; nothing when nothing is. `c`: a chain as that of the
 * engine to come; `at`: the time, from which its seconds count. RILL_OK · RILL_ERR_MEMORY */
rill_status parcel_pack(rill_text *out, const rill_request *asked, const chain *c, double at);

/* As request_make(), of a parcel's bytes. */
rill_status parcel_make(requests *all, const rill_model *model, chain *c, const char *bytes, request **out);

void *parcel_user(const char *bytes);
double parcel_deadline(const char *bytes); /* infinite: none */

#endif
