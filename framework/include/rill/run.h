/* A whole run: a reader provides inputs, a writer receives results. Memory is constant for streams of any length.
 * Stability: stable within a major version. */
#ifndef RILL_RUN_H
#define RILL_RUN_H

#include "rill/engine.h"

RILL_C_BEGIN

/* Read the next input: set *text, valid until the next call, and *length in bytes. may_block 0: return RILL_AGAIN instead of waiting.
 *   RILL_OK · RILL_AGAIN · RILL_END_OF_INPUT · RILL_ERR_INPUT (this input is bad; *text is the message; the run continues) ·
 *   another negative status: inputs read so far are decoded, then the run ends */
typedef rill_status (*rill_read_fn)(void *user, int may_block, const char **text, size_t *length);

/* Read the next input with its own settings. *request: zeroed except struct_size; its pointers stay valid until the next call.
 * Invalid requests fail alone. Deadlines count from the return. Ids count all inputs from 0, bad ones included.
 *   Returns as rill_read_fn. RILL_ERR_INPUT: `text` is the message, and the result carries `user`. */
typedef rill_status (*rill_read_request_fn)(void *user, int may_block, rill_request *request);

/* Receives a result. A negative return ends the run; RILL_ERR_STOPPED: stopped by the user. */
typedef rill_status (*rill_write_fn)(void *user, const rill_result *result);

/* Decode until the end of input. If the engine fails, finished results are written first, in input order; rill_error() has the failure.
 *   RILL_OK · RILL_ERR_STOPPED (by the writer or rill_engine_stop()) · a failure of the reader, the writer or the engine */
RILL_API rill_status rill_run(rill_engine *engine, rill_read_fn read, void *read_user, rill_write_fn write,
                              void *write_user);

/* rill_run() with requests. Reader and writer may call rill_engine_cancel(). */
RILL_API rill_status rill_run_requests(rill_engine *engine, rill_read_request_fn read, void *read_user,
                                       rill_write_fn write, void *write_user);

RILL_C_END

#endif
