/* Traces of requests; see http_api.h. */
#include "http_api.h"

#include <sys/mman.h>
#include <unistd.h>

#include "trace.h"

enum { MAX_INPUT_SECONDS = 10 }; /* time limit of each input in seconds */

typedef struct request_trace {
    service *service;
    job *job;
    rill_context *ctx;
    cli_trace trace;
    int fd;        /* descriptor of the memory file to which the trace is written */
    char path[32]; /* path of the memory file */
} request_trace;

static rill_status submit(request_trace *t, rill_engine *engine, job_input *input, int64_t *id)
{
    const rill_request request = {.struct_size = sizeof request,
                                  .text = input->text,
                                  .length = input->length,
                                  .user = input,
                                  .input_options = input->job->options,
                                  .timeout = MAX_INPUT_SECONDS};
    rill_status status = rill_engine_submit_request(engine, &request, id);
    if (status == RILL_OK) cli_trace_input(&t->trace, *id, input->text, input->length);
    return status;
}

static rill_status decode(request_trace *t, rill_engine *engine)
{
    job *j = t->job;
    const rill_result *result;
    rill_status status = RILL_OK;
    for (int32_t next = 0; status >= 0 && j->n_done < j->n;) {
        int64_t id;
        if (j->is_cancelled || t->service->is_stopped) return RILL_ERR_CANCELLED;
        for (; next < j->n && rill_engine_free_slots(engine) > 0 && status >= 0; next++)
            status = submit(t, engine, &j->input[next], &id);
        if (next == j->n) rill_engine_close_input(engine);
        if (status >= 0) status = rill_engine_step(engine);
        while (status >= 0 && rill_engine_next(engine, &result) == RILL_OK) {
            cli_trace_result(&t->trace, result);
            job_input *input = result->user;
            /* The last input gets its result later, when the trace is complete. */
            if (j->n_done + 1 < j->n)
                job_set_result(input, result->status, json_null());
            else
                return RILL_OK;
        }
    }
    return status;
}

/* Decode the job's inputs and write their trace. The engine must be created before the trace begins and destroyed before it ends. */
static rill_status run(request_trace *t)
{
    const service *s = t->service;
    rill_engine *engine = NULL;
    rill_engine_setup setup = *s->search_config->setup;
    setup.settings = t->job->settings;
    setup.settings.unordered = 0;
    setup.trace = cli_trace_event;
    setup.trace_user = &t->trace;
    setup.trace_hypotheses = 1;
    snprintf(t->path, sizeof t->path, "/proc/self/fd/%d", t->fd);
    rill_status status = rill_engine_create(&engine, t->ctx, s->session.model, &setup);
    if (status >= 0 &&
        (cli_trace_open(&t->trace, t->ctx, t->path, 1) != CLI_OK ||
         cli_trace_begin(&t->trace, &s->session, s->search_config, rill_engine_settings(engine), 0) != CLI_OK))
        status = rill_fail(t->ctx, RILL_ERR_MEMORY, "out of memory: a trace");
    if (status >= 0) status = decode(t, engine);
    rill_engine_destroy(engine);
    if (cli_trace_close(&t->trace) != CLI_OK && status >= 0)
        status = rill_fail(t->ctx, RILL_ERR_MEMORY, "out of memory: a trace");
    return status;
}

/* Give the job the text of the trace. */
static rill_status read_back(request_trace *t)
{
    SCOPED(rill_text_clear) rill_text text = {.ctx = t->ctx};
    TRY(rill_file_read(&text, t->path, RILL_FILE_TEXT_MAX));
    t->job->trace = strdup(text.data);
    return t->job->trace ? RILL_OK : rill_fail(t->ctx, RILL_ERR_MEMORY, "out of memory: a trace");
}

static void end_trace(request_trace *t)
{
    service *s = t->service;
    rill_context_destroy(t->ctx);
    if (t->fd >= 0) close(t->fd);
    job_release(t->job);
    free(t);
    LOCK_SCOPE(&s->lock);
    s->is_tracing = 0;
    pthread_cond_broadcast(&s->changed);
}

static void *run_trace(void *user)
{
    request_trace *t = user;
    job *j = t->job;
    rill_status status = run(t);
    if (status >= 0) status = read_back(t);
    while (j->n_done < j->n) /* no other thread sets results at this point */
        job_set_result(&j->input[j->n_done], status,
                       status >= 0 ? json_null() : cli_result_error(status, rill_error(t->ctx)));
    end_trace(t);
    return NULL;
}

rill_status request_trace_start(service *s, job *j)
{
    pthread_t thread;
    if (!rill_domain_has_runners(rill_model_domain(s->session.model))) return RILL_ERR_OPTION;
    request_trace *t = calloc(1, sizeof *t);
    if (!t) return RILL_ERR_MEMORY;
    pthread_mutex_lock(&s->lock);
    const int busy = s->is_tracing || s->is_draining || s->has_ended;
    if (!busy) s->is_tracing = 1;
    pthread_mutex_unlock(&s->lock);
    if (busy) {
        free(t);
        return RILL_AGAIN;
    }
    *t = (request_trace){.service = s, .job = job_retain(j), .fd = memfd_create("trace", MFD_CLOEXEC)};
    if (t->fd < 0 || rill_context_create_worker(&t->ctx, s->request_ctx, NULL) < 0 ||
        pthread_create(&thread, NULL, run_trace, t)) {
        end_trace(t);
        return RILL_ERR_MEMORY;
    }
    pthread_detach(thread);
    return RILL_OK;
}
