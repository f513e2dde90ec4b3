/* A whole run: a reader provides inputs, a writer receives results; memory stays constant for streams of any length.
 * Stability: stable within a major version. */
#ifndef RILL_RUN_H
#define RILL_RUN_H

#include "rill/engine.h"

RILL_C_BEGIN

/* Read the next input: *text (valid until the next call) and *length. `may_block` is 0 while other inputs are being decoded: then return
 * RILL_AGAIN instead of waiting.
 *   RILL_OK · RILL_AGAIN · RILL_END_OF_INPUT · RILL_ERR_INPUT with *text = a message: this input is bad, continue ·
 *   another negative status: inputs read so far are decoded and written, then the run ends with it */
typedef rill_status (*rill_read_fn)(void *user, int may_block, const char **text, size_t *length);

/* The same for inputs with their own settings: fill *request, which is zero but for its size; everything it points to is valid until the
 * next call. The result of a bad input too carries `user`; its message is `text`. A request that rill_engine_submit_request() refuses,
 * for its settings or arguments, fails alone, with that status and message; the run continues. Its deadline counts from the return. Ids
 * count all inputs read, bad ones included, from 0. */
typedef rill_status (*rill_read_request_fn)(void *user, int may_block, rill_request *request);

/* Receives a result. A negative return ends the run; RILL_ERR_STOPPED means that the caller wants it to end. */
typedef rill_status (*rill_write_fn)(void *user, const rill_result *result);

/* Decode until the end of input. Finished results are written before a failure is returned: when the engine fails, all of them in input
 * order, skipping the ids of unfinished inputs; rill_error() still holds the failure.
 *   RILL_OK · RILL_ERR_STOPPED (from the writer or rill_engine_stop()) · what reader, writer or engine return */
RILL_API rill_status rill_run(rill_engine *engine, rill_read_fn read, void *read_user, rill_write_fn write,
                              void *write_user);

/* The same with a reader of requests. Reader and writer may call rill_engine_cancel(). */
RILL_API rill_status rill_run_requests(rill_engine *engine, rill_read_request_fn read, void *read_user,
                                       rill_write_fn write, void *write_user);

RILL_C_END

#endif
