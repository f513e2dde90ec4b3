/* A whole run: a reader provides inputs, a writer receives results; memory stays constant for streams of any length.
 * Stability: stable within a major version. */
#ifndef RILL_RUN_H
#define RILL_RUN_H

#include "rill/engine.h"

RILL_C_BEGIN

/* Read the next input: set *text, valid until the next call, and *length in bytes. `may_block` is 0 while inputs are being decoded: return
 * RILL_AGAIN instead of waiting.
 *   RILL_OK · RILL_AGAIN · RILL_END_OF_INPUT · RILL_ERR_INPUT with *text = a message: this input is bad, and the run continues ·
 *   another negative status: inputs read so far are decoded and written, then the run ends with this status */
typedef rill_status (*rill_read_fn)(void *user, int may_block, const char **text, size_t *length);

/* Read the next input as a request with its own settings. Fill *request, zero except struct_size; what it points to stays valid until the
 * next call. Returns as rill_read_fn; for RILL_ERR_INPUT `text` is the message, and the result carries `user`. A request that
 * rill_engine_submit_request() refuses fails alone, with that status and message. A deadline counts from the reader's return. Ids count all
 * inputs read from 0, bad ones included. */
typedef rill_status (*rill_read_request_fn)(void *user, int may_block, rill_request *request);

/* Receives a result. A negative return ends the run; RILL_ERR_STOPPED means that the user stopped it. */
typedef rill_status (*rill_write_fn)(void *user, const rill_result *result);

/* Decode until the end of input. When the engine fails, all finished results are written first, in input order, skipping the ids of
 * unfinished inputs; rill_error() still holds the failure.
 *   RILL_OK · RILL_ERR_STOPPED (from the writer or rill_engine_stop()) · a failure of the reader, the writer or the engine */
RILL_API rill_status rill_run(rill_engine *engine, rill_read_fn read, void *read_user, rill_write_fn write,
                              void *write_user);

/* rill_run() with a reader of requests. Reader and writer may call rill_engine_cancel(). */
RILL_API rill_status rill_run_requests(rill_engine *engine, rill_read_request_fn read, void *read_user,
                                       rill_write_fn write, void *write_user);

RILL_C_END

#endif
