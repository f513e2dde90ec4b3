/* A whole run: a reader gives inputs, a writer takes results, memory stays constant however long the stream.
 * Stability: stable within a major version. */
#ifndef RILL_RUN_H
#define RILL_RUN_H

#include "rill/engine.h"

RILL_C_BEGIN

/* Give the next input: *text (valid until the next call) and *length. `may_block` is 0 while other inputs are being decoded:
 * then return RILL_AGAIN rather than wait.
 *   RILL_OK · RILL_AGAIN · RILL_END_OF_INPUT · RILL_ERR_INPUT with *text = a message: this input is bad, go on ·
 *   another negative status: what was read is decoded and written, then the run ends with it */
typedef rill_status (*rill_read_fn)(void *user, int may_block, const char **text, size_t *length);

/* The same for inputs that want something of their own: fill *request, which is zero but for its size; all that it points to is valid
 * until the next call. `user` comes back with the result of a bad input too, whose message is `text`. A request that
 * rill_engine_submit_request() refuses, for its settings or arguments, fails alone, with that status and message; the run goes on.
 * Its deadline counts from the return. Ids count what was read so, bad inputs included, from 0. */
typedef rill_status (*rill_read_request_fn)(void *user, int may_block, rill_request *request);

/* Take a result. A negative return ends the run; RILL_ERR_STOPPED says that the caller wants that. */
typedef rill_status (*rill_write_fn)(void *user, const rill_result *result);

/* Decode until the reader ends. Results already finished are written before a failure is returned: all of them when the
 * engine fails, in input order, where the ids of inputs that were not finished are missing; rill_error() then still tells
 * what failed.
 *   RILL_OK · RILL_ERR_STOPPED (as the writer said, or rill_engine_stop()) · what reader, writer or engine return */
RILL_API rill_status rill_run(rill_engine *engine, rill_read_fn read, void *read_user, rill_write_fn write,
                              void *write_user);

/* The same with a reader of requests. Reader and writer may call rill_engine_cancel(). */
RILL_API rill_status rill_run_requests(rill_engine *engine, rill_read_request_fn read, void *read_user,
                                       rill_write_fn write, void *write_user);

RILL_C_END

#endif
