/* try.h: for functions that do one step after the other and hand on the first that fails.
 *
 * Stability: internal to rill's domains. */
#ifndef RILL_COMMON_TRY_H
#define RILL_COMMON_TRY_H

#include "rill/status.h"

/* Evaluate the call, which gives a rill_status; return it from the function around, unless it is RILL_OK. */
#define TRY(call)                                     \
    do {                                              \
        rill_status try_status = (call);              \
        if (try_status != RILL_OK) return try_status; \
    } while (0)

#endif
