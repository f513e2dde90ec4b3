/* A request decoded once more, by itself, to look at: the trace that `rill decode --trace --trace-trees` writes.
 *
 * An answer does not depend on what is decoded beside it, so what is seen is what happened. It runs on a thread of its own with an engine
 * of its own on the service's model, beside whatever the service does. */
#ifndef CLI_SERVE_REQUEST_TRACE_H
#define CLI_SERVE_REQUEST_TRACE_H

#include "service.h"

/* Begin; when it is done all inputs of the job are, and job->trace has the trace. One at a time for each service.
 *   RILL_OK · RILL_AGAIN (another is going on) · RILL_ERR_OPTION (the model serves one engine alone) · RILL_ERR_MEMORY */
rill_status request_trace_start(service *s, job *j);

#endif
