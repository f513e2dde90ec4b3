/* Decode a request again to record a trace, as `rill decode --trace --trace-trees` does.
 *
 * Results do not depend on other requests, so the trace shows the original search. It runs on a separate thread with a separate engine
 * on the service's model, while the service continues. */
#ifndef CLI_SERVE_REQUEST_TRACE_H
#define CLI_SERVE_REQUEST_TRACE_H

#include "service.h"

/* Start a trace. When it ends, all inputs of the job are done, and job->trace has the trace. One trace at a time for each service.
 *   RILL_OK · RILL_AGAIN (another trace is running) · RILL_ERR_OPTION (the model supports one engine only) · RILL_ERR_MEMORY */
rill_status request_trace_start(service *s, job *j);

#endif
