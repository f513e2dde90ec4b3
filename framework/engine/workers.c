/* Runs: a reader feeds the queue (input_queue.h), a writer receives results. One engine decodes in the same thread, or workers in separate
 * threads.
 *
 *        reader -> input queue -> engines -> reorder buffer -> writer
 *        caller's thread          workers    caller's thread
 *
 * Threads share only the queue, and the members of rill_workers that its lock protects. */
#include "rill/workers.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine_internal.h"

enum {
    MAX_WORKERS = 1024,
    READ_RETRY_NS = 1000000L, /* interval between calls of a reader that had no input */
    /* interval between checks of `stopped`, since a signal handler cannot signal a condition variable */
    STOP_POLL_NS = 20000000L,
};

typedef struct worker {
    rill_workers *all;
    rill_context *ctx;
    rill_model *model; /* own model, or the model of another worker on the same device */
    int owns_model;
    int32_t device; /* index of the first worker on the same device, which identifies the device */
    rill_engine *engine;
    rill_trace_fn trace; /* the user's trace function */
    void *trace_user;
    int32_t index;
    pthread_t thread;
    rill_stats stats; /* counters after the worker's latest step; protected by the queue's lock */
} worker;

struct rill_workers {
    rill_context *ctx;
    int shared; /* 1: one model serves all workers on its device; 0: each worker has its own */
    int32_t n;
    int threaded; /* 1: workers have threads; 0: one engine runs in the caller's thread, and nothing below is used */
    int has_engines, has_run;
    input_queue queue;
    rill_status failed; /* status of the first failure of a worker; RILL_OK: none. Protected by the queue's lock */
    char error[RILL__MESSAGE_BYTES]; /* message of `failed` */
    pthread_mutex_t trace_lock;      /* held while a trace function is called, and only then */
    /* writes the texts that engines leave to the caller's thread; it has a runner of the model for this purpose alone */
    output_writer output_writer;
    rill__runner writer_runner;
    rill_text text;       /* text of the result being written */
    double write_seconds; /* time spent writing texts */
    worker workers[];
};

/* --- opening the workers ------------------------------------------------------------------------------------------ */

/* Copy an error from a worker's context to the caller's context, if the worker recorded one. */
static rill_status copy_error(rill_workers *all, const worker *w, rill_status status)
{
    if (status >= 0 || w->ctx == all->ctx || rill_error_status(w->ctx) >= 0) return status;
    return rill_fail(all->ctx, status, "%s", rill_error(w->ctx));
}

static rill_status init_worker(rill_workers *all, int32_t index, const rill_workers_options *options)
{
    worker *w = &all->workers[index];
    w->all = all;
    w->index = index;
    w->ctx = all->ctx;
    if (!all->threaded) return RILL_OK;
    w->ctx = NULL;
    RILL__TRY(rill_context_create_worker(&w->ctx, all->ctx, options->shared));
    rill_status status = options->prepare != NULL ? options->prepare(options->user, index, w->ctx) : RILL_OK;
    return status < 0 ? copy_error(all, w, status) : RILL_OK;
}

/* Open the worker's model. A shared model is opened in the caller's context, which outlives the workers'. */
static rill_status open_model(rill_workers *all, worker *w, const char *domain, devices *list)
{
    const int32_t entry = w->index % list->n;
    w->device = list->entry[entry].first;
    if (all->shared && w->device != w->index) {
        w->model = all->workers[w->device].model;
        return RILL_OK;
    }
    w->owns_model = 1;
    if (all->shared) return rill_model_open(&w->model, all->ctx, domain, devices_options(list, entry));
    return copy_error(all, w, rill_model_open(&w->model, w->ctx, domain, devices_options(list, entry)));
}

static size_t alloc_size(int32_t n)
{
    return sizeof(rill_workers) + (size_t)n * sizeof(worker);
}

static rill_status open_all(rill_workers **out, rill_context *ctx, const char *domain, devices *list,
                            const rill_workers_options *options)
{
    const int32_t n = options->workers == 0 ? list->n : options->workers;
    if (n < 1 || n > MAX_WORKERS)
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "%d workers: expected 1 to %d", n, MAX_WORKERS);
    rill_workers *all = *out = rill_calloc(ctx, 1, alloc_size(n));
    if (all == NULL) return rill_fail_memory(ctx, alloc_size(n), "workers");
    all->ctx = ctx;
    all->n = n;
    pthread_mutex_init(&all->trace_lock, NULL);
    all->threaded = n > 1 || options->apart;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < n && status >= 0; i++) status = init_worker(all, i, options);
    const rill_domain *table = status >= 0 ? rill_find_domain(all->workers[0].ctx, domain) : NULL;
    all->shared = table != NULL && all->threaded && rill_domain_has_runners(table);
    for (int32_t i = 0; i < n && status >= 0; i++) status = open_model(all, &all->workers[i], domain, list);
    return RILL_OPENED(status < 0 ? status : RILL_OK, out, rill_workers_close);
}

rill_status rill_workers_open(rill_workers **out, rill_context *ctx, const char *domain, const rill_open_options *open,
                              const rill_workers_options *options)
{
    *out = NULL;
    rill_workers_options own;
    devices list;
    RILL__TRY(rill_copy_struct(ctx, "rill_workers_options", &own, sizeof own, options,
                               offsetof(rill_workers_options, apart)));
    rill_status status = devices_read(&list, ctx, open);
    if (status >= 0) status = open_all(out, ctx, domain, &list, &own);
    devices_clear(&list, ctx);
    return status;
}

void rill_workers_close(rill_workers *all)
{
    if (all == NULL) return;
    rill_workers_finish(all);
    for (int32_t i = 0; i < all->n; i++)
        if (all->workers[i].owns_model) rill_model_close(all->workers[i].model);
    for (int32_t i = 0; i < all->n; i++)
        if (all->workers[i].ctx != all->ctx) rill_context_destroy(all->workers[i].ctx);
    pthread_mutex_destroy(&all->trace_lock);
    rill_free(all->ctx, all, alloc_size(all->n));
}

int32_t rill_workers_count(const rill_workers *all)
{
    return all->n;
}

rill_model *rill_workers_model(const rill_workers *all)
{
    return all->workers[0].model;
}

const char *rill_workers_device(const rill_workers *all, int32_t index)
{
    return all->workers[index].model->info.device;
}

rill_context *rill_workers_context(const rill_workers *all, int32_t index)
{
    return all->workers[index].ctx;
}

/* --- creating engines --------------------------------------------------------------------------------------------- */

rill_engine *rill_workers_engine(const rill_workers *all, int32_t index)
{
    return all->workers[index].engine;
}

/* Pass an event to the user's trace function, for one worker at a time. */
static void call_trace(void *user, const rill_trace_event *event)
{
    worker *w = user;
    RILL__LOCK_SCOPE(&w->all->trace_lock);
    w->trace(w->trace_user, event);
}

/* Returns the number of workers on a device, which share the memory limit. */
static int32_t n_sharers(const rill_workers *all, int32_t device)
{
    int32_t n = 0;
    for (int32_t i = 0; i < all->n; i++) n += all->workers[i].device == device;
    return n;
}

static rill_status make_engine(rill_workers *all, int32_t index, const rill_engine_setup *setup)
{
    worker *w = &all->workers[index];
    if (!all->threaded) return copy_error(all, w, rill_engine_create(&w->engine, w->ctx, w->model, setup));
    rill_engine_setup own;
    RILL__TRY(rill__setup_copy(all->ctx, &own, setup));
    if (own.trace != NULL) {
        w->trace = own.trace;
        w->trace_user = own.trace_user;
        own.trace = call_trace;
        own.trace_user = w;
    }
    rill_status status = rill_engine_create(&w->engine, w->ctx, w->model, &own);
    if (status < 0) return copy_error(all, w, status);
    w->engine->queue = &all->queue;
    w->engine->tracer.worker = index;
    status = memory_limit_init(w->engine, n_sharers(all, w->device));
    return status < 0 ? copy_error(all, w, status) : RILL_OK;
}

/* If the domain allows it, let the caller's thread write the outputs' texts (finalize()) instead of the workers. */
static rill_status defer_texts(rill_workers *all)
{
    rill_model *model = all->workers[0].model;
    int can_defer = all->shared && model->info.finalize_anywhere;
    for (int32_t i = 0; i < all->n; i++) can_defer &= all->workers[i].engine->output_writer.n_fields == 0;
    if (!can_defer) return RILL_OK;
    for (int32_t i = 0; i < all->n; i++) all->workers[i].engine->output_writer.is_deferred = 1;
    RILL__TRY(rill__runner_start(model, all->ctx, 1, &all->writer_runner));
    all->output_writer = (output_writer){.ctx = all->ctx, .domain = model->domain, .self = all->writer_runner.self};
    return RILL_OK;
}

static void *do_nothing(void *user)
{
    return user;
}

/* Returns 1 if the system can start one more thread, in addition to those that the engines have started; else 0. */
static int can_start_thread(const rill_workers *all)
{
    pthread_t thread;
    if (all->n > 1 && pthread_create(&thread, NULL, do_nothing, NULL) != 0) return 0;
    if (all->n > 1) pthread_join(thread, NULL);
    return 1;
}

static rill_status make_engines(rill_workers *all, const rill_engine_setup *const *setups)
{
    rill_status status = RILL_OK;
    const int32_t n = all->threaded ? all->n : 1;
    all->has_engines = 1;
    for (int32_t i = 0; i < n && status >= 0; i++) status = make_engine(all, i, setups[i]);
    if (status >= 0 && all->threaded)
        status = input_queue_init(&all->queue, all->ctx, rill_workers_settings(all), all->n, 1);
    if (status >= 0 && all->threaded) status = defer_texts(all);
    if (status < 0) rill_workers_finish(all);
    return status;
}

static void warn_of_threads(const rill_workers *all, int32_t n)
{
    rill_log(
        all->ctx, RILL_LOG_WARNING,
        "the system starts no more threads: %d of %d workers run%s (ulimit -u, or the container's limit, allows more)",
        (int)n, (int)all->n, n == 1 ? "s" : "");
}

rill_status rill_workers_begin(rill_workers *all, const rill_engine_setup *const *setups)
{
    if (all->has_engines)
        return rill_fail(all->ctx, RILL_ERR_ARGUMENT,
                         "the workers have engines already: call rill_workers_finish() first");
    const rill_status status = make_engines(all, setups);
    if (status < 0 || !all->threaded || can_start_thread(all)) return status;
    warn_of_threads(all, 1);
    rill_workers_finish(all);
    all->threaded = 0; /* decode with one engine in the caller's thread */
    return make_engines(all, setups);
}

const rill_settings *rill_workers_settings(const rill_workers *all)
{
    return rill_engine_settings(all->workers[0].engine);
}

void rill_workers_finish(rill_workers *all)
{
    for (int32_t i = 0; i < all->n; i++) {
        rill_engine_destroy(all->workers[i].engine);
        all->workers[i].engine = NULL;
        all->workers[i].stats = (rill_stats){0};
    }
    input_queue_finish(&all->queue);
    rill__runner_stop(&all->writer_runner);
    rill_text_clear(&all->text);
    all->has_engines = all->has_run = 0;
    all->failed = RILL_OK;
    all->write_seconds = 0;
}

/* --- threads of the workers --------------------------------------------------------------------------------------- */

/* Publish the worker's counters, and wake the thread that writes results if a result can be delivered. The lock is held. */
static void report(worker *w)
{
    input_queue *q = &w->all->queue;
    w->stats.struct_size = sizeof w->stats;
    rill_engine_stats(w->engine, &w->stats);
    if (reorder_has_next(&q->results, 0)) pthread_cond_signal(&q->reader_cond);
}

/* Wait until there is work for the worker. RILL_OK · RILL_END_OF_INPUT: the run is over */
static rill_status await_work(worker *w)
{
    input_queue *q = &w->all->queue;
    input_taker *taker = &w->engine->taker;
    RILL__LOCK_SCOPE(&q->lock);
    report(w);
    while (!q->done && taker->n_held == 0 && input_queue_offer(q, taker) == 0)
        pthread_cond_wait(&q->engine_cond, &q->lock);
    return q->done ? RILL_END_OF_INPUT : RILL_OK;
}

/* End the run, because the worker's engine has failed. */
static void fail_run(worker *w, rill_status status)
{
    rill_workers *all = w->all;
    input_queue *q = &all->queue;
    RILL__LOCK_SCOPE(&q->lock);
    report(w);
    if (all->failed >= 0) {
        all->failed = status;
        snprintf(all->error, sizeof all->error, "%s", rill_error(w->ctx));
    }
    q->done = 1;
    pthread_cond_broadcast(&q->engine_cond);
    pthread_cond_signal(&q->reader_cond);
}

static void *run_worker(void *user)
{
    worker *w = user;
    rill_status status;
    while ((status = await_work(w)) == RILL_OK)
        if ((status = rill_engine_step(w->engine)) < 0) break;
    if (status < 0) fail_run(w, status);
    return NULL;
}

/* Start the workers' threads. Signals are blocked in these threads, so that the caller's thread handles them. */
static int32_t start_threads(rill_workers *all)
{
    sigset_t every, old_mask;
    int32_t started = 0;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &old_mask);
    while (started < all->n &&
           pthread_create(&all->workers[started].thread, NULL, run_worker, &all->workers[started]) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    return started;
}

/* --- reading inputs ----------------------------------------------------------------------------------------------- */

typedef struct run {
    rill_context *ctx;
    input_queue *queue;
    rill_engine *engine;   /* takes the inputs; without workers it also decodes them, in this thread */
    rill_workers *workers; /* the workers; NULL: one engine decodes in the caller's thread */
    rill_read_request_fn read;
    void *read_user;
    rill_write_fn write;
    void *write_user;
    int reader_paused;               /* 1: the reader had no input when it was last called */
    int stopped;                     /* 1: rill_engine_stop(), or the writer has ended the run */
    rill_status failed;              /* the reader's failure; RILL_OK: none */
    char error[RILL__MESSAGE_BYTES]; /* message of `failed`: a copy that later calls do not overwrite */
} run;

static rill_status submit_failed(const run *r, const rill_request *req, rill_status status, const char *message)
{
    return engine_submit(r->engine, &(rill_request){.text = message, .length = strlen(message), .user = req->user},
                         status, NULL);
}

/* Submit a request. If it is refused, it becomes a failed input, and the run continues. */
static rill_status submit(const run *r, const rill_request *req)
{
    char message[RILL__MESSAGE_BYTES];
    const rill_status status = engine_submit(r->engine, req, RILL_OK, NULL);
    if (status >= 0 || status == RILL_ERR_MEMORY) return status;
    snprintf(message, sizeof message, "%s", rill_error(r->ctx));
    return submit_failed(r, req, status, message);
}

/* Read one input. The reader may block only while there is nothing to decode. */
static rill_status read_input(run *r)
{
    rill_request req = {.struct_size = sizeof req};
    const rill_status status = r->read(r->read_user, input_queue_is_idle(r->queue), &req);
    r->reader_paused = status == RILL_AGAIN;
    if (status == RILL_AGAIN) return RILL_OK;
    if (status == RILL_OK) return submit(r, &req);
    if (status == RILL_ERR_INPUT)
        return submit_failed(r, &req, status, req.text != NULL ? req.text : "unreadable input");
    input_queue_close(r->queue);
    if (status >= 0) return RILL_OK;
    /* the run fails with this status only after the inputs read so far have been decoded and written */
    r->failed = status;
    snprintf(r->error, sizeof r->error, "%s", rill_error(r->ctx));
    return RILL_OK;
}

/* Begin (1) or end (0) filling the queue. While it is filled at the start, or for an empty sort window, no worker takes inputs. */
static void set_filling(input_queue *q, int filling)
{
    RILL__LOCK_SCOPE(&q->lock);
    q->filling = filling && (q->results.next_id == 0 || (q->sort != RILL_SORT_NONE && q->n == 0));
    if (!filling) pthread_cond_broadcast(&q->engine_cond);
}

/* Read inputs while the queue accepts them and the reader has some. */
static rill_status read_inputs(run *r)
{
    rill_status status = RILL_OK;
    /* without workers, rill_engine_free_slots() also returns 0 if the engine has failed already */
    int64_t n_free = r->workers == NULL ? rill_engine_free_slots(r->engine) : input_queue_space(r->queue);
    r->reader_paused = 0;
    if (n_free <= 0) return RILL_OK;
    set_filling(r->queue, 1);
    for (; n_free > 0 && !r->queue->closed && !r->reader_paused && status >= 0; n_free--) status = read_input(r);
    set_filling(r->queue, 0);
    return status;
}

/* --- writing results ---------------------------------------------------------------------------------------------- */

static rill_status write_texts(rill_workers *all)
{
    result_record *record = all->queue.results.last_delivered;
    if (record->n_unwritten == 0) return RILL_OK;
    double start = statistics_clock();
    all->text.ctx = all->ctx;
    rill_status status = output_writer_write_deferred(&all->output_writer, record, &all->text);
    all->write_seconds += statistics_clock() - start;
    return status;
}

/* Write the results that can be delivered. `at_end`: no more results will come, so missing ids are skipped. */
static rill_status write_results(run *r, int at_end)
{
    const rill_result *result;
    while (input_queue_next(r->queue, at_end, &result) == RILL_OK) {
        if (r->workers != NULL) RILL__TRY(write_texts(r->workers));
        const rill_status status = r->write(r->write_user, result);
        r->stopped = status < 0;
        RILL__TRY(status);
    }
    return RILL_OK;
}

/* --- beginning and ending a run ----------------------------------------------------------------------------------- */

/* Returns 1 if the caller's thread must not wait: a result can be written, the run ends, or half of the queue is free for reading. The lock
 * is held. */
static int can_continue(const run *r)
{
    const input_queue *q = r->queue;
    if (reorder_has_next(&q->results, 0) || r->workers->failed < 0 || q->stopped) return 1;
    const int32_t n_free = q->is_sorted ? 0 : q->max_entries - q->n;
    return !r->reader_paused && !q->closed && reorder_space(&q->results) > 0 && 2 * (int64_t)n_free >= q->max_entries;
}

/* Wait for the workers, at most READ_RETRY_NS if the reader had no input. Returns 1 if a worker has failed, else 0. */
static int await_workers(const run *r)
{
    input_queue *q = r->queue;
    RILL__LOCK_SCOPE(&q->lock);
    for (int late = 0; !late && q->n + q->n_exclusive + q->n_held > 0 && !can_continue(r);) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += r->reader_paused ? READ_RETRY_NS : STOP_POLL_NS;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        late = pthread_cond_timedwait(&q->reader_cond, &q->lock, &until) != 0 && r->reader_paused;
    }
    return r->workers->failed < 0;
}

/* Read inputs and write results until everything is delivered, or a worker has failed. */
static rill_status run_loop(run *r)
{
    for (;;) {
        RILL__TRY(read_inputs(r));
        if (r->queue->stopped) {
            r->stopped = 1;
            return rill_fail(r->ctx, RILL_ERR_STOPPED, "the run was stopped");
        }
        if (r->queue->closed && input_queue_is_idle(r->queue)) return RILL_OK;
        const rill_status status = r->workers == NULL ? rill_engine_step(r->engine) : RILL_OK;
        const int failed = r->workers == NULL ? status < 0 : await_workers(r);
        if (failed && !r->queue->stopped) return status;
        RILL__TRY(write_results(r, 0));
    }
}

/* End a run that has this status. After a failure, finished results are still written. Then the error is recorded again, because the writer
 * may have overwritten it. */
static rill_status end_run(run *r, rill_status status)
{
    char message[RILL__MESSAGE_BYTES];
    if (r->stopped) return status;
    if (status < 0) {
        snprintf(message, sizeof message, "%s", rill_error(r->ctx));
    } else if (r->workers != NULL && r->workers->failed < 0) {
        status = r->workers->failed;
        snprintf(message, sizeof message, "%s", r->workers->error);
    } else {
        return r->failed < 0 ? rill_fail(r->ctx, r->failed, "%s", r->error) : RILL_OK;
    }
    if (r->workers == NULL) r->engine->failed = status;
    write_results(r, 1);
    return rill_fail(r->ctx, status, "%s", message);
}

/* Makes a reader of texts (rill_read_fn) usable as a reader of requests. */
typedef struct text_reader {
    rill_read_fn read;
    void *user;
} text_reader;

static rill_status read_text(void *user, int may_block, rill_request *out)
{
    const text_reader *r = user;
    return r->read(r->user, may_block, &out->text, &out->length);
}

rill_status rill_run(rill_engine *engine, rill_read_fn read, void *read_user, rill_write_fn write, void *write_user)
{
    text_reader texts = {read, read_user};
    return rill_run_requests(engine, read_text, &texts, write, write_user);
}

rill_status rill_run_requests(rill_engine *engine, rill_read_request_fn read, void *read_user, rill_write_fn write,
                              void *write_user)
{
    run r = {.ctx = engine->ctx,
             .queue = engine->queue,
             .engine = engine,
             .read = read,
             .read_user = read_user,
             .write = write,
             .write_user = write_user};
    return end_run(&r, run_loop(&r));
}

/* --- running the workers ------------------------------------------------------------------------------------------ */

rill_status rill_workers_run(rill_workers *all, rill_read_fn read, void *read_user, rill_write_fn write,
                             void *write_user)
{
    text_reader texts = {read, read_user};
    return rill_workers_run_requests(all, read_text, &texts, write, write_user);
}

/* Run the first worker's engine in the caller's thread. A reader or writer records its error in the caller's context already. */
static rill_status run_in_caller(rill_workers *all, rill_read_request_fn read, void *read_user, rill_write_fn write,
                                 void *write_user)
{
    rill_error_clear(all->ctx);
    const rill_status status = rill_run_requests(all->workers[0].engine, read, read_user, write, write_user);
    return rill_error_status(all->ctx) == status ? status : copy_error(all, &all->workers[0], status);
}

rill_status rill_workers_run_requests(rill_workers *all, rill_read_request_fn read, void *read_user,
                                      rill_write_fn write, void *write_user)
{
    if (!all->has_engines)
        return rill_fail(all->ctx, RILL_ERR_ARGUMENT, "the workers have no engines: call rill_workers_begin() first");
    if (all->has_run)
        return rill_fail(all->ctx, RILL_ERR_ARGUMENT,
                         "the workers have run: call rill_workers_finish() and rill_workers_begin() again");
    all->has_run = 1;
    if (!all->threaded) return run_in_caller(all, read, read_user, write, write_user);
    run r = {.ctx = all->ctx,
             .queue = &all->queue,
             .engine = all->workers[0].engine,
             .workers = all,
             .read = read,
             .read_user = read_user,
             .write = write,
             .write_user = write_user};
    const int32_t started = start_threads(all);
    if (started > 0 && started < all->n) {
        warn_of_threads(all, started);
        RILL__LOCK_SCOPE(&all->queue.lock);
        all->queue.n_engines = started;
    }
    const rill_status status = started > 0 ? run_loop(&r)
                                           : rill_fail(all->ctx, RILL_ERR_MEMORY,
                                                       "workers: cannot start a thread: use one worker, or raise the "
                                                       "limit of threads (ulimit -u, or the container's)");
    {
        RILL__LOCK_SCOPE(&all->queue.lock);
        all->queue.done = 1;
        pthread_cond_broadcast(&all->queue.engine_cond);
    }
    for (int32_t i = 0; i < started; i++) pthread_join(all->workers[i].thread, NULL);
    return end_run(&r, status);
}

rill_status rill_workers_cancel(rill_workers *all, int64_t id)
{
    if (!all->has_engines) return cancel_not_found(all->ctx, id);
    if (!all->threaded) return copy_error(all, &all->workers[0], rill_engine_cancel(all->workers[0].engine, id));
    const rill_status status = input_queue_cancel(&all->queue, id);
    if (status == RILL_ERR_NOT_FOUND) return cancel_not_found(all->ctx, id);
    return status < 0 ? status : RILL_OK;
}

void rill_workers_stop(rill_workers *all)
{
    atomic_store(&all->queue.stopped, 1);
    if (all->has_engines && !all->threaded) rill_engine_stop(all->workers[0].engine);
}

/* --- sums of statistics ------------------------------------------------------------------------------------------- */

static void sum_stats(rill_workers *all, rill_stats *sum)
{
    const input_queue *q = &all->queue;
    RILL__LOCK_SCOPE(&all->queue.lock);
    for (int32_t i = 0; i < all->n; i++) statistics_add(sum, &all->workers[i].stats);
    sum->inputs = q->results.n_results;
    sum->failed = q->results.n_failed;
    sum->waiting_peak = q->results.waiting_peak;
    sum->nodes_bound = all->workers[0].engine->memory_limit.total_nodes;
    sum->seconds.finalize += all->write_seconds;
    sum->seconds.total += all->write_seconds;
}

void rill_workers_stats(rill_workers *all, rill_stats *out)
{
    rill_stats sum = {0};
    if (all->has_engines && !all->threaded) {
        rill_engine_stats(all->workers[0].engine, out);
        return;
    }
    if (all->has_engines) sum_stats(all, &sum);
    size_t size = out->struct_size < sizeof sum ? out->struct_size : sizeof sum;
    sum.struct_size = size;
    memcpy(out, &sum, size);
}
