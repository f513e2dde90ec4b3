/* Workers: contexts, models, engines and threads behind a front (front.h).
 *
 * Invariant: a thread touches its own worker and the front, and nothing else; whatever is made or destroyed here is so by the
 * caller's thread while no thread of a worker runs.
 *
 * Divisions: opening · engines · running · counters. */
#include "rill/workers.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "devices.h"
#include "front.h"

enum { MOST_WORKERS = 1024 };

typedef struct worker {
    rill_workers *all;
    rill_context *ctx;
    rill_model *model; /* its own, or another worker's on the same device */
    int owns;
    int32_t device; /* the first worker on the same device */
    rill_engine *engine;
    engine_source source;
    rill_trace_fn trace; /* the user's */
    void *trace_user;
    int32_t index;
    pthread_t thread;
} worker;

struct rill_workers {
    rill_context *ctx;
    int shared; /* one model serves all workers on its device; else each has its own */
    int32_t n;
    int threaded; /* there are threads and a front; else one engine works in the caller's */
    int begun, ran;
    front front; /* of several */
    worker worker[];
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* What failed in a worker's context, in the caller's. */
static rill_status pass_on(rill_workers *all, const worker *w, rill_status status)
{
    return status >= 0 || w->ctx == all->ctx ? status : rill_fail(all->ctx, status, "%s", rill_error(w->ctx));
}

static rill_status prepare(rill_workers *all, int32_t index, const rill_workers_options *options)
{
    worker *w = &all->worker[index];
    w->all = all;
    w->index = index;
    w->ctx = all->ctx;
    if (!all->threaded) return RILL_OK;
    w->ctx = NULL;
    RILL__TRY(rill_context_create_worker(&w->ctx, all->ctx, options->shared));
    rill_status status = options->prepare != NULL ? options->prepare(options->user, index, w->ctx) : RILL_OK;
    return status < 0 ? pass_on(all, w, status) : RILL_OK;
}

/* A model that others share is made in the caller's context, where it lives longest. */
static rill_status open_model(rill_workers *all, worker *w, const char *domain, devices *list)
{
    const int32_t entry = w->index % list->n;
    w->device = list->of[entry].first;
    if (all->shared && w->device != w->index) {
        w->model = all->worker[w->device].model;
        return RILL_OK;
    }
    w->owns = 1;
    if (all->shared) return rill_model_open(&w->model, all->ctx, domain, devices_options(list, entry));
    return pass_on(all, w, rill_model_open(&w->model, w->ctx, domain, devices_options(list, entry)));
}

static rill_status open_models(rill_workers *all, const char *domain, devices *list)
{
    const rill_domain *table = rill_find_domain(all->worker[0].ctx, domain);
    rill_status status = RILL_OK;
    all->shared = table != NULL && all->threaded && rill_domain_has_runners(table);
    for (int32_t i = 0; i < all->n && status >= 0; i++) status = open_model(all, &all->worker[i], domain, list);
    return status;
}

static size_t size_of(int32_t n)
{
    return sizeof(rill_workers) + (size_t)n * sizeof(worker);
}

/* How many workers there are, checked. */
static rill_status count(rill_context *ctx, const devices *list, const rill_workers_options *options, int32_t *n)
{
    *n = options->workers == 0 ? list->n : options->workers;
    if (*n < 1 || *n > MOST_WORKERS)
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "%d workers: 1 to %d are possible", *n, MOST_WORKERS);
    return RILL_OK;
}

static rill_status open_all(rill_workers **out, rill_context *ctx, const char *domain, devices *list,
                            const rill_workers_options *options)
{
    int32_t n;
    RILL__TRY(count(ctx, list, options, &n));
    rill_workers *all = rill_calloc(ctx, 1, size_of(n));
    if (all == NULL) return rill_fail_memory(ctx, size_of(n), "workers");
    all->ctx = ctx;
    all->n = n;
    all->threaded = n > 1 || options->apart;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < n && status >= 0; i++) status = prepare(all, i, options);
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
    if (options->struct_size != sizeof *options)
        return rill_fail(ctx, RILL_ERR_ABI, "workers' options of %zu bytes, this rill has %zu: rebuild the caller",
                         options->struct_size, sizeof *options);
    devices list;
    rill_status status = devices_read(&list, ctx, open);
    if (status >= 0) status = open_all(out, ctx, domain, &list, options);
    devices_clear(&list, ctx);
    return status;
}

void rill_workers_close(rill_workers *all)
{
    if (all == NULL) return;
    rill_workers_finish(all);
    for (int32_t i = 0; i < all->n; i++)
        if (all->worker[i].owns) rill_model_close(all->worker[i].model);
    for (int32_t i = 0; i < all->n; i++)
        if (all->worker[i].ctx != all->ctx) rill_context_destroy(all->worker[i].ctx);
    rill_free(all->ctx, all, size_of(all->n));
}

int32_t rill_workers_count(const rill_workers *all)
{
    return all->n;
}

rill_model *rill_workers_model(const rill_workers *all)
{
    return all->worker[0].model;
}

const char *rill_workers_device(const rill_workers *all, int32_t index)
{
    return all->worker[index].model->info.device;
}

rill_context *rill_workers_context(const rill_workers *all, int32_t index)
{
    return all->worker[index].ctx;
}

/* --- engines ------------------------------------------------------------------------------------------------------ */

rill_engine *rill_workers_engine(const rill_workers *all, int32_t index)
{
    return all->worker[index].engine;
}

static rill_status draw(void *user, rill_engine *e, int32_t count)
{
    worker *w = user;
    return front_draw(&w->all->front, e, w->index, count);
}

/* One worker's events at a time. */
static void trace(void *user, const rill_trace_event *event)
{
    worker *w = user;
    pthread_mutex_lock(&w->all->front.trace);
    w->trace(w->trace_user, event);
    pthread_mutex_unlock(&w->all->front.trace);
}

/* How many workers share a device, and with it the bound on memory. */
static int32_t sharers(const rill_workers *all, int32_t device)
{
    int32_t n = 0;
    for (int32_t i = 0; i < all->n; i++) n += all->worker[i].device == device;
    return n;
}

/* The engine takes inputs from the front, which orders them, and gives results to it, which orders these. */
static rill_status make_engine(rill_workers *all, int32_t index, const rill_engine_setup *setup)
{
    worker *w = &all->worker[index];
    if (!all->threaded) return rill_engine_create(&w->engine, w->ctx, w->model, setup);
    rill_engine_setup own;
    if (setup->struct_size == sizeof own && setup->trace != NULL) {
        own = *setup;
        own.trace = trace;
        own.trace_user = w;
        w->trace = setup->trace;
        w->trace_user = setup->trace_user;
        setup = &own;
    }
    rill_status status = rill_engine_create(&w->engine, w->ctx, w->model, setup);
    if (status < 0) return pass_on(all, w, status);
    rill_engine *e = w->engine;
    w->source = (engine_source){.draw = draw, .user = w};
    e->source = &w->source;
    e->tracing.worker = index;
    e->intake.sort = RILL_SORT_NONE;
    e->outbox.fed = e->outbox.unordered = 1;
    status = bound_init(e, sharers(all, w->device));
    return status < 0 ? pass_on(all, w, status) : RILL_OK;
}

static int can_write_apart(const rill_workers *all)
{
    for (int32_t i = 0; i < all->n; i++)
        if (all->worker[i].engine->writing.n_fields > 0) return 0;
    return all->shared && all->worker[0].model->info.texts_apart;
}

static rill_status write_apart(rill_workers *all)
{
    for (int32_t i = 0; i < all->n; i++) all->worker[i].engine->writing.apart = 1;
    return front_start_writing(&all->front, all->worker[0].model);
}

rill_status rill_workers_begin(rill_workers *all, const rill_engine_setup *const *setups)
{
    if (all->begun) return rill_fail(all->ctx, RILL_ERR_ARGUMENT, "the workers have engines already: finish first");
    all->begun = 1;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < all->n && status >= 0; i++) status = make_engine(all, i, setups[i]);
    if (status >= 0 && all->threaded) status = front_init(&all->front, all->ctx, all->worker[0].engine, all->n);
    if (status >= 0 && all->threaded && can_write_apart(all)) status = write_apart(all);
    if (status < 0) rill_workers_finish(all);
    return status;
}

const rill_settings *rill_workers_settings(const rill_workers *all)
{
    return rill_engine_settings(all->worker[0].engine);
}

void rill_workers_finish(rill_workers *all)
{
    front_finish(&all->front);
    for (int32_t i = 0; i < all->n; i++) {
        rill_engine_destroy(all->worker[i].engine);
        all->worker[i].engine = NULL;
    }
    all->begun = all->ran = 0;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static void *work(void *user)
{
    worker *w = user;
    front *f = &w->all->front;
    rill_status status;
    while ((status = front_next(f, w->engine, w->index)) == RILL_OK)
        if ((status = rill_engine_step(w->engine)) < 0) break;
    if (status < 0) front_fail(f, w->engine, w->index, status);
    return NULL;
}

/* Signals are for the caller's thread. */
static int32_t start_threads(rill_workers *all)
{
    sigset_t every, before;
    int32_t started = 0;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    while (started < all->n && pthread_create(&all->worker[started].thread, NULL, work, &all->worker[started]) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* With what the run ends: nobody's record has been replaced by what came behind. */
static rill_status outcome(rill_workers *all, rill_status status)
{
    front *f = &all->front;
    char why[RILL__MESSAGE_BYTES];
    if (f->failed < 0 && status >= 0) {
        front_rest(f);
        return rill_fail(all->ctx, f->failed, "%s", f->failed_why);
    }
    if (status < 0 && !f->writer_ended && status != RILL_ERR_STOPPED) {
        /* Something failed in this thread: as when an engine fails. */
        snprintf(why, sizeof why, "%s", rill_error(all->ctx));
        front_rest(f);
        return rill_fail(all->ctx, status, "%s", why);
    }
    if (status < 0) return status;
    return f->unread < 0 ? rill_fail(all->ctx, f->unread, "%s", f->unread_why) : RILL_OK;
}

rill_status rill_workers_run(rill_workers *all, rill_read_fn read, void *read_user, rill_write_fn write,
                             void *write_user)
{
    text_reader texts = {read, read_user};
    return rill_workers_run_requests(all, text_reader_read, &texts, write, write_user);
}

rill_status rill_workers_run_requests(rill_workers *all, rill_read_request_fn read, void *read_user,
                                      rill_write_fn write, void *write_user)
{
    if (!all->begun) return rill_fail(all->ctx, RILL_ERR_ARGUMENT, "the workers have no engines: begin first");
    if (all->ran) return rill_fail(all->ctx, RILL_ERR_ARGUMENT, "the workers have run: finish and begin anew");
    all->ran = 1;
    if (!all->threaded) return rill_run_requests(all->worker[0].engine, read, read_user, write, write_user);
    front *f = &all->front;
    f->read = read;
    f->read_user = read_user;
    f->write = write;
    f->write_user = write_user;
    int32_t started = start_threads(all);
    rill_status status = started == all->n ? front_serve(f)
                                           : rill_fail(all->ctx, RILL_ERR_MEMORY, "worker %d: no thread can be started",
                                                       (int)started);
    front_stop(f);
    for (int32_t i = 0; i < started; i++) pthread_join(all->worker[i].thread, NULL);
    return outcome(all, status);
}

rill_status rill_workers_cancel(rill_workers *all, int64_t id)
{
    if (!all->begun) return leave_not_found(all->ctx, id);
    return !all->threaded ? rill_engine_cancel(all->worker[0].engine, id) : front_cancel(&all->front, id);
}

void rill_workers_stop(rill_workers *all)
{
    atomic_store(&all->front.stopped, 1);
    if (all->begun && !all->threaded) rill_engine_stop(all->worker[0].engine);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

void rill_workers_stats(rill_workers *all, rill_stats *out)
{
    rill_stats sum = {0};
    if (all->begun && !all->threaded) {
        rill_engine_stats(all->worker[0].engine, out);
        return;
    }
    if (all->begun) {
        front_stats(&all->front, &sum);
        sum.nodes_bound = all->worker[0].engine->bound.all_nodes;
    }
    size_t size = out->struct_size < sizeof sum ? out->struct_size : sizeof sum;
    sum.struct_size = size;
    memcpy(out, &sum, size);
}
