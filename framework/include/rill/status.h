/* Status codes: 0 success, > 0 not a failure, < 0 a failure; its message is in the context (rill_error(), context.h).
 * Stability: codes are only added; numbers never change. */
#ifndef RILL_STATUS_H
#define RILL_STATUS_H

#include "rill/version.h"

RILL_C_BEGIN

typedef enum rill_status {
    RILL_AGAIN = 1,        /* nothing is available now; call again after the next step */
    RILL_END_OF_INPUT = 2, /* a reader has no more inputs */
    RILL_EMPTY = 3,        /* an input with nothing to decode: its output is empty */
    RILL_OK = 0,
    RILL_ERR_MEMORY = -1,        /* an allocation failed */
    RILL_ERR_ARGUMENT = -2,      /* the caller violated a documented precondition */
    RILL_ERR_OPTION = -3,        /* unknown option, value out of range, or contradictory options */
    RILL_ERR_NOT_FOUND = -4,     /* no such name, file or member */
    RILL_ERR_IO = -5,            /* reading or writing failed */
    RILL_ERR_FORMAT = -6,        /* malformed content of a file or plugin */
    RILL_ERR_ABI = -7,           /* a table was built for another version of rill */
    RILL_ERR_INPUT = -8,         /* this input cannot be decoded; others can */
    RILL_ERR_NO_HYPOTHESIS = -9, /* every hypothesis of this input was dropped; others continue */
    RILL_ERR_PLUGIN = -10,       /* a plugin's function returned an illegal result */
    RILL_ERR_STOPPED = -11,      /* stopped by a callback or rill_engine_stop() */
    RILL_ERR_CHECK = -12,        /* the setting `check` found a result that depends on other inputs */
    RILL_ERR_CANCELLED = -13,    /* this input was cancelled */
    RILL_ERR_DEADLINE = -14,     /* this input's deadline came before any output */
    RILL_ERR_DEVICE = -15,       /* a compute device failed */
} rill_status;

/* The code's name ("RILL_ERR_IO"), or "unknown status"; a constant. */
RILL_API const char *rill_status_name(rill_status status);

RILL_C_END

#endif
