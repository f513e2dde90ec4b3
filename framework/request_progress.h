/* Progress: what is told of inputs that are watched (rill_request.progress), timestep by timestep. */
#ifndef RILL_REQUEST_PROGRESS_H
#define RILL_REQUEST_PROGRESS_H

#include "engine_internal.h"

/* The timestep is over and its items are what it made of them; tell of those that are watched and go on. Called only where some are.
 *   RILL_OK · RILL_ERR_MEMORY · what the domain's finalize fails with */
rill_status progress_report(rill_engine *e, const timestep *t);

#endif
