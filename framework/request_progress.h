/* Progress reports (rill_request.progress), timestep by timestep. */
#ifndef RILL_REQUEST_PROGRESS_H
#define RILL_REQUEST_PROGRESS_H

#include "engine_internal.h"

/* After a timestep: report on its items that continue and have a progress callback. Called only if there are such requests.
 *   RILL_OK · RILL_ERR_MEMORY · what the domain's finalize fails with */
rill_status progress_report(rill_engine *e, const timestep *t);

#endif
