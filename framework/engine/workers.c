/* Workers: contexts, models, engines and threads with a worker pool (worker_pool.h).
 *
 * Invariant: a thread accesses only its own worker and the pool; everything is created and destroyed by the caller's thread while no worker
 * thread runs.
 *
 * Divisions: opening · engines · running · counters. */
#include "rill/workers.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "worker_pool.h"

enum { MAX_WORKERS = 1024 };

typedef struct worker {
    rill_workers *all;
    rill_context *ctx;
    rill_model *model; /* own model, or the model of another worker on the same device */
    int owns_model;
    int32_t device; /* index of the first worker on the same device */
    rill_engine *engine;
    input_source source;
    rill_trace_fn trace; /* the user's trace function */
    void *trace_user;
    int32_t index;
    pthread_t thread;
} worker;

struct rill_workers {
    rill_context *ctx;
    int shared; /* 1: one model serves all workers on its device; 0: each worker has its own */
    int32_t n;
    int threaded; /* 1: worker threads and a pool; 0: one engine runs in the caller's thread */
    int has_engines, has_run;
    worker_pool pool; /* used if `threaded` */
    worker workers[];
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* Copy an error from a worker's context to the caller's, if it was recorded there. */
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

/* A shared model is opened in the caller's context, which lives longest. */
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

static rill_status open_models(rill_workers *all, const char *domain, devices *list)
{
    const rill_domain *table = rill_find_domain(all->workers[0].ctx, domain);
    rill_status status = RILL_OK;
    all->shared = table != NULL && all->threaded && rill_domain_has_runners(table);
    for (int32_t i = 0; i < all->n && status >= 0; i++) status = open_model(all, &all->workers[i], domain, list);
    return status;
}

static size_t alloc_size(int32_t n)
{
    return sizeof(rill_workers) + (size_t)n * sizeof(worker);
}

/* Determine and check the number of workers. */
static rill_status check_count(rill_context *ctx, const devices *list, const rill_workers_options *options, int32_t *n)
{
    *n = options->workers == 0 ? list->n : options->workers;
    if (*n < 1 || *n > MAX_WORKERS)
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "%d workers: expected 1 to %d", *n, MAX_WORKERS);
    return RILL_OK;
}

static rill_status open_all(rill_workers **out, rill_context *ctx, const char *domain, devices *list,
                            const rill_workers_options *options)
{
    int32_t n;
    RILL__TRY(check_count(ctx, list, options, &n));
    rill_workers *all = rill_calloc(ctx, 1, alloc_size(n));
    if (all == NULL) return rill_fail_memory(ctx, alloc_size(n), "workers");
    all->ctx = ctx;
    all->n = n;
    all->threaded = n > 1 || options->apart;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < n && status >= 0; i++) status = init_worker(all, i, options);
    if (status >= 0) status = open_models(all, domain, list);
    if (status < 0)
        rill_workers_close(all);
    else
        *out = all;
    return status < 0 ? status : RILL_OK;
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

/* --- engines ------------------------------------------------------------------------------------------------------ */

rill_engine *rill_workers_engine(const rill_workers *all, int32_t index)
{
    return all->workers[index].engine;
}

static rill_status take_inputs(void *user, rill_engine *e, int32_t count)
{
    worker *w = user;
    return worker_pool_take_inputs(&w->all->pool, e, w->index, count);
}

/* Serialises the workers' calls of the trace function. */
static void call_trace(void *user, const rill_trace_event *event)
{
    worker *w = user;
    pthread_mutex_lock(&w->all->pool.trace_lock);
    w->trace(w->trace_user, event);
    pthread_mutex_unlock(&w->all->pool.trace_lock);
}

/* Number of workers that share a device, and with it the memory limit. */
static int32_t n_sharers(const rill_workers *all, int32_t device)
{
    int32_t n = 0;
    for (int32_t i = 0; i < all->n; i++) n += all->workers[i].device == device;
    return n;
}

/* The engine takes inputs from the pool and returns results to it; the pool keeps the order of both. */
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
    rill_engine *e = w->engine;
    w->source = (input_source){.take_inputs = take_inputs, .user = w};
    e->input_source = &w->source;
    e->tracer.worker = index;
    e->queue.sort = RILL_SORT_NONE;
    e->reorder.has_outside_ids = e->reorder.unordered = 1;
    status = memory_limit_init(e, n_sharers(all, w->device));
    return status < 0 ? copy_error(all, w, status) : RILL_OK;
}

static int can_defer_texts(const rill_workers *all)
{
    for (int32_t i = 0; i < all->n; i++)
        if (all->workers[i].engine->output_writer.n_fields > 0) return 0;
    return all->shared && all->workers[0].model->info.finalize_anywhere;
}

static rill_status defer_texts(rill_workers *all)
{
    for (int32_t i = 0; i < all->n; i++) all->workers[i].engine->output_writer.is_deferred = 1;
    return worker_pool_start_writer(&all->pool, all->workers[0].model);
}

static void *do_nothing(void *user)
{
    return user;
}

/* Whether the system starts a thread for a worker, besides those that the engines already have. */
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
    all->has_engines = 1;
    for (int32_t i = 0; i < all->n && status >= 0; i++) status = make_engine(all, i, setups[i]);
    if (status >= 0 && all->threaded) status = worker_pool_init(&all->pool, all->ctx, all->workers[0].engine, all->n);
    if (status >= 0 && all->threaded && can_defer_texts(all)) status = defer_texts(all);
    if (status < 0) rill_workers_finish(all);
    return status;
}

rill_status rill_workers_begin(rill_workers *all, const rill_engine_setup *const *setups)
{
    if (all->has_engines)
        return rill_fail(all->ctx, RILL_ERR_ARGUMENT,
                         "the workers have engines already: call "
                         "rill_workers_finish() first");
    const rill_status status = make_engines(all, setups);
    if (status < 0 || !all->threaded || can_start_thread(all)) return status;
    rill_log(
        all->ctx, RILL_LOG_WARNING,
        "the system starts no more threads: 1 of %d workers runs (ulimit -u, or the container's limit, allows more)",
        (int)all->n);
    rill_workers_finish(all);
    all->threaded = 0; /* one engine in the caller's thread */
    return make_engines(all, setups);
}

const rill_settings *rill_workers_settings(const rill_workers *all)
{
    return rill_engine_settings(all->workers[0].engine);
}

void rill_workers_finish(rill_workers *all)
{
    worker_pool_finish(&all->pool);
    for (int32_t i = 0; i < all->n; i++) {
        rill_engine_destroy(all->workers[i].engine);
        all->workers[i].engine = NULL;
    }
    all->has_engines = all->has_run = 0;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static void *run_worker(void *user)
{
    worker *w = user;
    worker_pool *f = &w->all->pool;
    rill_status status;
    while ((status = worker_pool_next(f, w->engine, w->index)) == RILL_OK)
        if ((status = rill_engine_step(w->engine)) < 0) break;
    if (status < 0) worker_pool_fail(f, w->engine, w->index, status);
    return NULL;
}

/* Signals are blocked in worker threads: the caller's thread handles them. */
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

/* The run's final status, with its error restored in the caller's context. */
static rill_status run_status(rill_workers *all, rill_status status)
{
    worker_pool *f = &all->pool;
    char message[RILL__MESSAGE_BYTES];
    if (f->failed < 0 && status >= 0) {
        worker_pool_flush(f);
        return rill_fail(all->ctx, f->failed, "%s", f->error);
    }
    if (status < 0 && !f->writer_ended && status != RILL_ERR_STOPPED) {
        /* A failure in this thread is handled like an engine's failure. */
        snprintf(message, sizeof message, "%s", rill_error(all->ctx));
        worker_pool_flush(f);
        return rill_fail(all->ctx, status, "%s", message);
    }
    if (status < 0) return status;
    return f->read_status < 0 ? rill_fail(all->ctx, f->read_status, "%s", f->read_error) : RILL_OK;
}

rill_status rill_workers_run(rill_workers *all, rill_read_fn read, void *read_user, rill_write_fn write,
                             void *write_user)
{
    text_reader texts = {read, read_user};
    return rill_workers_run_requests(all, text_reader_read, &texts, write, write_user);
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
                         "the workers have run: call rill_workers_finish() and "
                         "rill_workers_begin() again");
    all->has_run = 1;
    if (!all->threaded) return run_in_caller(all, read, read_user, write, write_user);
    worker_pool *f = &all->pool;
    f->read = read;
    f->read_user = read_user;
    f->write = write;
    f->write_user = write_user;
    const int32_t started = start_threads(all);
    if (started > 0 && started < all->n) {
        rill_log(all->ctx, RILL_LOG_WARNING,
                 "the system starts no more threads: %d of %d workers run (ulimit -u, or the container's limit, "
                 "allows more)",
                 (int)started, (int)all->n);
        worker_pool_remove_workers(f, all->n - started);
    }
    const rill_status status = started > 0 ? worker_pool_run(f)
                                           : rill_fail(all->ctx, RILL_ERR_MEMORY,
                                                       "workers: cannot start a thread: use one worker, or raise the "
                                                       "limit of threads (ulimit -u, or the container's)");
    worker_pool_stop(f);
    for (int32_t i = 0; i < started; i++) pthread_join(all->workers[i].thread, NULL);
    return run_status(all, status);
}

rill_status rill_workers_cancel(rill_workers *all, int64_t id)
{
    if (!all->has_engines) return cancel_not_found(all->ctx, id);
    if (all->threaded) return worker_pool_cancel(&all->pool, id);
    return copy_error(all, &all->workers[0], rill_engine_cancel(all->workers[0].engine, id));
}

void rill_workers_stop(rill_workers *all)
{
    atomic_store(&all->pool.stopped, 1);
    if (all->has_engines && !all->threaded) rill_engine_stop(all->workers[0].engine);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

void rill_workers_stats(rill_workers *all, rill_stats *out)
{
    rill_stats sum = {0};
    if (all->has_engines && !all->threaded) {
        rill_engine_stats(all->workers[0].engine, out);
        return;
    }
    if (all->has_engines) {
        worker_pool_stats(&all->pool, &sum);
        sum.nodes_bound = all->workers[0].engine->memory_limit.total_nodes;
    }
    size_t size = out->struct_size < sizeof sum ? out->struct_size : sizeof sum;
    sum.struct_size = size;
    memcpy(out, &sum, size);
}
