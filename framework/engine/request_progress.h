/* Progress reports (rill_request.progress), timestep by timestep. */
#ifndef RILL_REQUEST_PROGRESS_H
#define RILL_REQUEST_PROGRESS_H

#include "engine_internal.h"

/* After timestep `t`, call the progress callbacks of its items that continue. Called only if some request has a callback.
 *   RILL_OK · RILL_ERR_MEMORY · a failure of the domain's finalize() */
rill_status progress_report(rill_engine *e, const timestep *t);

#endif
