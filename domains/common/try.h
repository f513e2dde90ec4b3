/* try.h: early return on failure.
 *
 * Stability: internal to rill's domains. */
#ifndef RILL_COMMON_TRY_H
#define RILL_COMMON_TRY_H

#include "rill/status.h"

/* Evaluate a call that returns a rill_status; return the status from the enclosing function unless it is RILL_OK. */
#define TRY(call)                                     \
    do {                                              \
        rill_status try_status = (call);              \
        if (try_status != RILL_OK) return try_status; \
    } while (0)

#endif
