/* A whole run: read inputs, step the engine, write results. */
#include "rill/run.h"

#include <stdio.h>

#include "engine_internal.h"
#include "text_reader.h"

typedef struct run {
    rill_engine *engine;
    rill_read_request_fn read;
    void *read_user;
    rill_write_fn write;
    void *write_user;
    int reader_ended;                /* 1: the reader has no more inputs, or has failed */
    rill_status failed;              /* the reader's failure; RILL_OK: none */
    char error[RILL__MESSAGE_BYTES]; /* message of the run's failure: a copy that later calls do not overwrite */
} run;

static rill_status write_results(run *r)
{
    const rill_result *result;
    while (rill_engine_next(r->engine, &result) == RILL_OK) RILL__TRY(r->write(r->write_user, result));
    return RILL_OK;
}

/* Submit a request. If the engine refuses it, it becomes a failed input, and the run continues. */
static rill_status submit(const run *r, const rill_request *req)
{
    char message[RILL__MESSAGE_BYTES];
    rill_status status = rill_engine_submit_request(r->engine, req, NULL);
    if (status >= 0 || status == RILL_ERR_MEMORY) return status;
    snprintf(message, sizeof message, "%s", rill_error(r->engine->ctx));
    return engine_submit_failed(r->engine, status, message, req->user);
}

/* Read while the engine accepts inputs and the reader has some. The reader may only block while there is nothing to decode. */
static rill_status read_inputs(run *r)
{
    while (!r->reader_ended && rill_engine_free_slots(r->engine) > 0) {
        rill_request req = {.struct_size = sizeof req};
        rill_status status = r->read(r->read_user, rill_engine_pending(r->engine) == 0, &req);
        if (status == RILL_AGAIN) return RILL_OK;
        if (status == RILL_END_OF_INPUT) {
            r->reader_ended = 1;
            rill_engine_close_input(r->engine);
        } else if (status == RILL_ERR_INPUT) {
            RILL__TRY(engine_submit_failed(r->engine, status, read_error_text(&req), req.user));
        } else if (status < 0) {
            /* The run fails only after the inputs read so far have been decoded and written. */
            r->failed = status;
            snprintf(r->error, sizeof r->error, "%s", rill_error(r->engine->ctx));
            r->reader_ended = 1;
            rill_engine_close_input(r->engine);
        } else {
            RILL__TRY(submit(r, &req));
        }
    }
    return RILL_OK;
}

/* The run has failed: write finished results, then restore the error, which the writer may have overwritten. */
static rill_status finish_failed(run *r, rill_status status)
{
    rill_context *ctx = r->engine->ctx;
    snprintf(r->error, sizeof r->error, "%s", rill_error(ctx));
    r->engine->failed = status;
    write_results(r);
    return rill_fail(ctx, status, "%s", r->error);
}

rill_status rill_run(rill_engine *engine, rill_read_fn read, void *read_user, rill_write_fn write, void *write_user)
{
    text_reader texts = {read, read_user};
    return rill_run_requests(engine, text_reader_read, &texts, write, write_user);
}

rill_status rill_run_requests(rill_engine *engine, rill_read_request_fn read, void *read_user, rill_write_fn write,
                              void *write_user)
{
    run r = {.engine = engine, .read = read, .read_user = read_user, .write = write, .write_user = write_user};
    for (;;) {
        rill_status status = read_inputs(&r);
        if (atomic_load(&engine->stopped)) return rill_fail(engine->ctx, RILL_ERR_STOPPED, "the run was stopped");
        if (status >= 0) status = rill_engine_step(engine);
        if (status < 0) return finish_failed(&r, status);
        RILL__TRY(write_results(&r));
        if (engine->input_closed && rill_engine_idle(engine)) break; /* the caller may have closed the input too */
    }
    return r.failed < 0 ? rill_fail(engine->ctx, r.failed, "%s", r.error) : RILL_OK;
}
