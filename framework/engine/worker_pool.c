/* The worker pool; worker_pool.h.
 *
 * Divisions: creation · results · inputs · a worker's turn · reading · writing · the caller's loop · counters. */
#include "worker_pool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    MIN_WINDOW = 256,         /* minimum capacity of an unsorted shared queue: no worker waits for the reader to wake */
    READ_RETRY_NS = 1000000L, /* interval between calls of a reader that had no input */
    /* interval between checks of `stopped`, since a signal handler cannot signal a condition variable */
    STOP_POLL_NS = 20000000L,
};

/* --- creation ----------------------------------------------------------------------------------------------------- */

static rill_status make_locks(worker_pool *f, rill_context *ctx)
{
    pthread_condattr_t clock;
    int failed = pthread_condattr_init(&clock);
    if (failed == 0) {
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        failed = pthread_mutex_init(&f->lock, NULL) != 0 || pthread_mutex_init(&f->trace_lock, NULL) != 0 ||
                 pthread_cond_init(&f->worker_cond, NULL) != 0 || pthread_cond_init(&f->caller_cond, &clock) != 0;
        pthread_condattr_destroy(&clock);
    }
    return failed ? rill_fail(ctx, RILL_ERR_MEMORY, "out of memory: cannot make a lock") : RILL_OK;
}

/* Capacity of the shared queue: as many inputs as all engines may admit at once; with sorting, the sort window. */
static int32_t queue_window(const rill_settings *settings, int32_t n)
{
    if (settings->sort != RILL_SORT_NONE) return settings->sort_window;
    int64_t window = (int64_t)n * settings->max_items;
    return window > INT32_MAX / 4 ? INT32_MAX / 4 : window > MIN_WINDOW ? (int32_t)window : MIN_WINDOW;
}

rill_status worker_pool_init(worker_pool *f, rill_context *ctx, const rill_engine *first, int32_t n)
{
    const rill_settings *settings = &first->settings;
    *f = (worker_pool){.first_engine = first, .n = n, .next_deadline = INFINITY};
    RILL__TRY(make_locks(f, ctx));
    f->ctx = ctx;
    f->worker = rill_calloc(ctx, (size_t)n, sizeof *f->worker);
    if (f->worker == NULL) return rill_fail_memory(ctx, (size_t)n * sizeof *f->worker, "workers");
    input_queue_init(&f->queue, ctx, settings);
    f->queue.max_entries = queue_window(settings, n);
    reorder_init(&f->reorder, ctx, settings);
    reorder_init(&f->own_records, ctx, settings);
    int64_t span = (int64_t)f->reorder.max_span * n;
    f->reorder.max_span = span > (1 << 28) ? 1 << 28 : (int32_t)span;
    f->n_busy = f->n_running = n;
    return RILL_OK;
}

void worker_pool_finish(worker_pool *f)
{
    if (f->ctx == NULL) return;
    for (int32_t i = 0; i < f->n && f->worker != NULL; i++) result_records_destroy(f->worker[i].returned_records);
    result_records_destroy(f->first_result);
    reorder_finish(&f->reorder);
    reorder_finish(&f->own_records);
    for (size_t i = 0; i < f->queue.entries_capacity; i++) request_free(f->queue.entries[i].request);
    rill_text_clear(&f->text);
    rill__runner_stop(&f->writer_runner);
    rill_free(f->ctx, f->cancelled_ids, f->cancelled_capacity * sizeof *f->cancelled_ids);
    if (f->queue.ctx != NULL) input_queue_finish(&f->queue);
    rill_free(f->ctx, f->worker, (size_t)f->n * sizeof *f->worker);
    pthread_cond_destroy(&f->caller_cond);
    pthread_cond_destroy(&f->worker_cond);
    pthread_mutex_destroy(&f->trace_lock);
    pthread_mutex_destroy(&f->lock);
    *f = (worker_pool){0};
}

/* --- results ------------------------------------------------------------------------------------------------------ */

void worker_pool_put_result(worker_pool *f, result_record *record, pool_worker *owner)
{
    record->owner = owner;
    if (f->last_result != NULL)
        f->last_result->next = record;
    else
        f->first_result = record;
    f->last_result = record;
}

/* Hand results to the caller and take back delivered records. Called with the lock held. */
static void return_results(worker_pool *f, rill_engine *e, pool_worker *me)
{
    result_record *record;
    int any = 0;
    for (; (record = reorder_take_completed(&e->reorder)) != NULL; any = 1) worker_pool_put_result(f, record, me);
    if (any) pthread_cond_signal(&f->caller_cond);
    while ((record = me->returned_records) != NULL) {
        me->returned_records = record->next;
        reorder_free_record(&e->reorder, record);
    }
    int64_t held = rill_engine_pending(e);
    f->n_held += held - me->n_held;
    me->n_held = held;
    me->stats.struct_size = sizeof me->stats;
    rill_engine_stats(e, &me->stats);
}

/* Update whether the worker has parked inputs; while one has, no worker takes inputs. Called with the lock held. */
static void update_parked(worker_pool *f, rill_engine *e, pool_worker *me)
{
    /* 1: its parked inputs are finished, cancelled or timed out */
    int has_left = me->exclusive ? me->n_held == 0 : me->has_parked && e->memory_limit.n_parked == 0;
    if (has_left) {
        if (me->exclusive) memory_limit_use_share(e, e->memory_limit.n_shares);
        me->exclusive = me->has_parked = 0;
        f->n_parked--;
        pthread_cond_broadcast(&f->worker_cond);
    } else if (!me->has_parked && e->memory_limit.n_parked > 0) {
        me->has_parked = 1;
        f->n_parked++;
    }
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

/* Number of inputs a worker may take now: when inputs are scarce, at the end of the stream or with a slow reader, only so many that all
 * workers hold equal shares of the unfinished inputs. */
static int32_t inputs_to_offer(const worker_pool *f, const pool_worker *me)
{
    if (!f->inputs_open || f->n_parked > 0) return 0;
    int64_t fair = (f->queue.n + f->n_held + f->n_running - 1) / f->n_running - me->n_held;
    return fair <= 0 ? 0 : fair < f->queue.n ? (int32_t)fair : f->queue.n;
}

/* Sort the window, if sorting is set and it is not sorted yet. The first worker that takes from it does this: measuring
 * needs a runner. */
static rill_status sort_queue(worker_pool *f, const rill_engine *e)
{
    if (f->queue.sort == RILL_SORT_NONE || f->queue.is_sorted || !f->inputs_open) return RILL_OK;
    for (int32_t i = 0; i < f->queue.n; i++) {
        queued_input *entry = &f->queue.entries[input_queue_entry(&f->queue, i)];
        if (entry->failed >= 0) entry->size = engine_measure(e, entry->text, entry->length);
    }
    return input_queue_sort(&f->queue, e->ctx);
}

void worker_pool_inputs_taken(worker_pool *f)
{
    if (f->queue.sort != RILL_SORT_NONE && f->queue.n == 0) f->inputs_open = 0;
    if (!f->input_ended && 2 * f->queue.n <= f->queue.max_entries) pthread_cond_signal(&f->caller_cond);
}

/* Move up to `count` inputs from the shared queue to the engine's queue. Called with the lock held. */
static rill_status move_inputs(worker_pool *f, rill_engine *e, pool_worker *me, int32_t count)
{
    rill_status status = RILL_OK;
    int32_t moved = 0, max_moved = !f->inputs_open || f->n_parked > 0 || f->done ? 0
                                   : count < f->queue.n                          ? count
                                                                                 : f->queue.n;
    for (; moved < max_moved; moved++) {
        const int32_t from = input_queue_entry(&f->queue, moved);
        queued_input *entry = &f->queue.entries[from];
        status = input_queue_add(&e->queue, entry->id, entry->text, entry->length, entry->size, entry->failed,
                                 entry->request);
        if (status < 0) break;
        entry->request = NULL;
        input_queue_free_entry(&f->queue, from);
    }
    input_queue_pop(&f->queue, moved);
    me->n_held += moved;
    f->n_held += moved;
    worker_pool_inputs_taken(f);
    return status;
}

/* Open the input's request. An input whose settings are refused, or whose deadline has passed, is marked as failed. */
static rill_status open_request(rill_engine *e, queued_input *entry)
{
    if (entry->failed < 0) return RILL_OK;
    rill_error_clear(e->ctx);
    const rill_status status = request_open(e, entry->request);
    if (status == RILL_ERR_MEMORY) return status;
    if (status < 0) return input_queue_fail(&e->queue, entry, status, rill_error(e->ctx));
    if (entry->request->deadline == INFINITY || entry->request->deadline > requests_now(&e->requests)) return RILL_OK;
    return input_queue_fail(&e->queue, entry, RILL_ERR_DEADLINE, MESSAGE_DEADLINE);
}

rill_status worker_pool_take_inputs(worker_pool *f, rill_engine *e, int32_t worker, int32_t count)
{
    int32_t old_n = e->queue.n;
    pthread_mutex_lock(&f->lock);
    rill_status status = sort_queue(f, e);
    if (status >= 0) status = move_inputs(f, e, &f->worker[worker], count);
    pthread_mutex_unlock(&f->lock);
    for (int32_t i = old_n; i < e->queue.n; i++) {
        queued_input *entry = &e->queue.entries[input_queue_entry(&e->queue, i)];
        if (entry->request != NULL && status >= 0) status = open_request(e, entry);
        if (entry->failed >= 0 && f->queue.sort == RILL_SORT_NONE)
            entry->size = engine_measure(e, entry->text, entry->length);
    }
    return status;
}

/* --- a worker's turn ---------------------------------------------------------------------------------------------- */

/* Decide whether the worker may continue, and how many inputs it may take; returns 0 if it must wait. Called with the
 * lock held. */
static int may_continue(worker_pool *f, rill_engine *e, pool_worker *me)
{
    e->input_source->n_offered = 0;
    if (f->done || me->exclusive) return 1;
    if (me->n_held > e->memory_limit.n_parked) {
        e->input_source->n_offered = inputs_to_offer(f, me);
        return 1;
    }
    if (e->memory_limit.n_parked > 0) {
        int others = f->n_busy - !me->waiting;
        if (others > 0) return 0;
        memory_limit_use_all(e);
        return me->exclusive = 1;
    }
    e->input_source->n_offered = inputs_to_offer(f, me);
    return e->input_source->n_offered > 0;
}

/* Wait on worker_cond. A worker that wakes up and finds no work stays counted as waiting. Called with the lock held. */
static void wait_for_work(worker_pool *f, const rill_engine *e, pool_worker *me)
{
    if (!me->waiting) {
        me->waiting = 1;
        f->n_busy--;
        /* a worker with parked inputs may wait for this one to become idle */
        if (f->n_parked > 0) pthread_cond_broadcast(&f->worker_cond);
    }
    if (e->memory_limit.n_parked > 0 && e->requests.n_deadlines > 0 && e->requests.next_deadline < f->next_deadline)
        f->next_deadline = e->requests.next_deadline;
    pthread_cond_wait(&f->worker_cond, &f->lock);
}

/* Exchange results, cancellations and parked state with the pool; called with the lock held. */
static rill_status sync_worker(worker_pool *f, rill_engine *e, pool_worker *me)
{
    rill_status status = worker_pool_drop_inputs(f, e);
    return_results(f, e, me);
    update_parked(f, e, me);
    return status;
}

rill_status worker_pool_next(worker_pool *f, rill_engine *e, int32_t worker)
{
    pool_worker *me = &f->worker[worker];
    pthread_mutex_lock(&f->lock);
    rill_status status = sync_worker(f, e, me);
    for (; status >= 0 && !may_continue(f, e, me); status = sync_worker(f, e, me)) wait_for_work(f, e, me);
    if (me->waiting) {
        me->waiting = 0;
        f->n_busy++;
    }
    if (status >= 0) status = f->done ? RILL_END_OF_INPUT : RILL_OK;
    pthread_mutex_unlock(&f->lock);
    return status;
}

void worker_pool_fail(worker_pool *f, rill_engine *e, int32_t worker, rill_status status)
{
    pthread_mutex_lock(&f->lock);
    return_results(f, e, &f->worker[worker]);
    if (f->failed >= 0) {
        f->failed = status;
        snprintf(f->error, sizeof f->error, "%s", rill_error(e->ctx));
    }
    f->done = 1;
    pthread_cond_broadcast(&f->worker_cond);
    pthread_cond_signal(&f->caller_cond);
    pthread_mutex_unlock(&f->lock);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Assign an id to the input and queue it. */
static rill_status add_input(worker_pool *f, const rill_request *req, rill_status failed)
{
    int64_t id;
    request *own_request;
    RILL__TRY(request_create(f->ctx, f->first_engine, req, &own_request));
    rill_status status = reorder_add_id(&f->reorder, &id);
    if (status < 0) {
        request_free(own_request);
        return status;
    }
    pthread_mutex_lock(&f->lock);
    status = input_queue_add(&f->queue, id, req->text, req->length, 0, failed, own_request);
    if (status >= 0 && own_request != NULL && own_request->deadline < f->next_deadline)
        f->next_deadline = own_request->deadline;
    pthread_mutex_unlock(&f->lock);
    if (status >= 0) return status;
    reorder_remove_id(&f->reorder);
    request_free(own_request);
    return status;
}

static rill_status add_failed(worker_pool *f, const char *message, rill_status status, void *user)
{
    return add_input(f, &(rill_request){.text = message, .length = strlen(message), .user = user}, status);
}

/* Queue the input. If its text or its request is refused, it becomes a failed input. */
static rill_status add_checked(worker_pool *f, const rill_request *req)
{
    char message[RILL__MESSAGE_BYTES];
    rill_status status = rill__check_text(f->ctx, req->text, req->length);
    if (status >= 0) status = add_input(f, req, RILL_OK);
    if (status >= 0 || status == RILL_ERR_MEMORY) return status;
    snprintf(message, sizeof message, "%s", rill_error(f->ctx));
    return add_failed(f, message, status, req->user);
}

static rill_status read_next_input(worker_pool *f)
{
    rill_request req = {.struct_size = sizeof req};
    rill_status status = f->read(f->read_user, f->reorder.next_id == f->n_delivered, &req);
    f->reader_paused = status == RILL_AGAIN;
    if (f->reader_paused) return RILL_OK;
    if (status == RILL_ERR_INPUT) return add_failed(f, read_error_text(&req), status, req.user);
    if (status == RILL_OK) return add_checked(f, &req);
    f->reader_ended = 1;
    if (status >= 0) return RILL_OK;
    /* The failure is reported after all inputs read before it are decoded and written. */
    f->read_status = status;
    snprintf(f->read_error, sizeof f->read_error, "%s", rill_error(f->ctx));
    return RILL_OK;
}

static int64_t free_places(worker_pool *f)
{
    pthread_mutex_lock(&f->lock);
    int64_t inputs = input_queue_space(&f->queue);
    pthread_mutex_unlock(&f->lock);
    int64_t ahead = reorder_space(&f->reorder);
    return inputs < ahead ? inputs : ahead;
}

/* Read while the queue accepts inputs and the reader has some; then allow workers to take inputs. */
static rill_status read_inputs(worker_pool *f)
{
    rill_status status = RILL_OK;
    f->reader_paused = 0;
    for (int64_t n_free = free_places(f); n_free > 0 && !f->reader_ended && !f->reader_paused && status >= 0; n_free--)
        status = read_next_input(f);
    pthread_mutex_lock(&f->lock);
    if (f->queue.n > 0) f->inputs_open = 1;
    f->input_ended = f->reader_ended;
    if (f->n_busy < f->n_running) pthread_cond_broadcast(&f->worker_cond);
    pthread_mutex_unlock(&f->lock);
    return status;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Move new results to the reorder buffer, and return delivered records to their owners for reuse. Called with the lock
 * held. */
static void exchange_records(worker_pool *f)
{
    for (result_record *record = f->reorder.free_records; record != NULL; record = f->reorder.free_records) {
        pool_worker *owner = record->owner;
        result_record **list = owner != NULL ? &owner->returned_records : &f->own_records.free_records;
        f->reorder.free_records = record->next;
        record->next = *list;
        *list = record;
    }
    while (f->first_result != NULL) {
        result_record *record = f->first_result;
        f->first_result = record->next;
        record->next = NULL;
        worker_pool_forget_cancelled(f, record->result.id);
        reorder_put(&f->reorder, record);
    }
    f->last_result = NULL;
}

rill_status worker_pool_start_writer(worker_pool *f, rill_model *model)
{
    RILL__TRY(rill__runner_start(model, f->ctx, 1, &f->writer_runner));
    f->output_writer = (output_writer){.ctx = f->ctx, .domain = model->domain, .self = f->writer_runner.self};
    f->text.ctx = f->ctx;
    return RILL_OK;
}

static rill_status write_texts(worker_pool *f)
{
    result_record *record = f->reorder.last_delivered;
    if (record->n_unwritten == 0) return RILL_OK;
    double start = statistics_clock();
    rill_status status = output_writer_write_deferred(&f->output_writer, record, &f->text);
    f->write_seconds += statistics_clock() - start;
    return status;
}

static rill_status write_results(worker_pool *f, int at_end)
{
    const rill_result *result;
    while (reorder_next(&f->reorder, at_end, &result) == RILL_OK) {
        RILL__TRY(write_texts(f));
        f->n_delivered++;
        rill_status status = f->write(f->write_user, result);
        f->writer_ended = status < 0;
        RILL__TRY(status);
    }
    return RILL_OK;
}

/* --- the caller's loop -------------------------------------------------------------------------------------------- */

/* Whether reading is worthwhile: at least half of the queue is free, and the reorder buffer is not full. Called with the
 * lock held. */
static int should_read(const worker_pool *f)
{
    if (f->reader_ended || reorder_space(&f->reorder) <= 0) return 0;
    return 2 * (int64_t)input_queue_space(&f->queue) >= f->queue.max_entries;
}

/* Wait for a signal, at most `ns` nanoseconds; returns whether one came. Called with the lock held. */
static int wait_at_most(worker_pool *f, long ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ns;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    return pthread_cond_timedwait(&f->caller_cond, &f->lock, &until) == 0;
}

/* Wait for results, free places in the queue, a failure or a stop; at most READ_RETRY_NS if the reader had no input. Called with
 * the lock held. */
static void wait_for_results(worker_pool *f)
{
    while (f->first_result == NULL && f->failed >= 0 && !atomic_load(&f->stopped) &&
           (f->reader_paused || !should_read(f)))
        if (!wait_at_most(f, f->reader_paused ? READ_RETRY_NS : STOP_POLL_NS) && f->reader_paused) return;
}

rill_status worker_pool_run(worker_pool *f)
{
    for (;;) {
        RILL__TRY(read_inputs(f));
        if (atomic_load(&f->stopped)) return rill_fail(f->ctx, RILL_ERR_STOPPED, "the run was stopped");
        if (f->reader_ended && f->n_delivered == f->reorder.next_id) return RILL_OK;
        pthread_mutex_lock(&f->lock);
        if (f->reorder.next_id > f->n_delivered) wait_for_results(f);
        exchange_records(f);
        int failed = f->failed < 0;
        pthread_mutex_unlock(&f->lock);
        if (failed) return RILL_OK;
        RILL__TRY(write_results(f, 0));
    }
}

void worker_pool_remove_workers(worker_pool *f, int32_t n)
{
    pthread_mutex_lock(&f->lock);
    f->n_busy -= n;
    f->n_running -= n;
    pthread_cond_broadcast(&f->worker_cond);
    pthread_mutex_unlock(&f->lock);
}

void worker_pool_stop(worker_pool *f)
{
    pthread_mutex_lock(&f->lock);
    f->done = 1;
    pthread_cond_broadcast(&f->worker_cond);
    pthread_mutex_unlock(&f->lock);
}

void worker_pool_flush(worker_pool *f)
{
    pthread_mutex_lock(&f->lock);
    exchange_records(f);
    pthread_mutex_unlock(&f->lock);
    write_results(f, 1);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

static int64_t max_int64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_stats(rill_stats *sum, const rill_stats *s)
{
    sum->inputs += s->inputs;
    sum->failed += s->failed;
    sum->timesteps += s->timesteps;
    sum->expansions += s->expansions;
    sum->refills += s->refills;
    sum->longest_item_timesteps = max_int64(sum->longest_item_timesteps, s->longest_item_timesteps);
    sum->candidates += s->candidates;
    sum->pruned += s->pruned;
    sum->outputs += s->outputs;
    sum->truncated += s->truncated;
    sum->passed_over_first += s->passed_over_first;
    sum->depth_bound += s->depth_bound;
    sum->nodes_in_use += s->nodes_in_use;
    sum->nodes_peak += s->nodes_peak;
    sum->nodes_capacity += s->nodes_capacity;
    sum->histories_in_use += s->histories_in_use;
    sum->histories_peak += s->histories_peak;
    sum->histories_capacity += s->histories_capacity;
    sum->items_peak += s->items_peak;
    sum->restarted += s->restarted;
    sum->cube_hypotheses += s->cube_hypotheses;
    sum->cube_classes += s->cube_classes;
    sum->certified += s->certified;
    sum->exact_rows += s->exact_rows;
    sum->cube_rescored += s->cube_rescored;
    statistics_sum_seconds(&sum->seconds, &s->seconds);
}

void worker_pool_stats(worker_pool *f, rill_stats *out)
{
    *out = (rill_stats){.struct_size = sizeof *out, .waiting_peak = f->reorder.waiting_peak};
    pthread_mutex_lock(&f->lock);
    out->inputs = out->failed = f->n_own_results;
    for (int32_t i = 0; i < f->n; i++) add_stats(out, &f->worker[i].stats);
    out->seconds.finalize += f->write_seconds;
    out->seconds.total += f->write_seconds;
    pthread_mutex_unlock(&f->lock);
}
