/* The front; front.h says how it works.
 *
 * Divisions: life · handing in · taking · a worker's turn · reading · writing · the caller's loop · counters. */
#include "front.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "parcel.h"

enum {
    LEAST_WINDOW = 256,     /* inputs read ahead of the workers, so that none waits for the reader to be woken */
    PATIENCE_NS = 1000000L, /* between two looks at a reader that had nothing */
    STOPPED_NS = 20000000L, /* between two looks whether the run is stopped: a signal handler can wake nobody */
};

/* --- life --------------------------------------------------------------------------------------------------------- */

static rill_status make_locks(front *f, rill_context *ctx)
{
    pthread_condattr_t clock;
    int failed = pthread_condattr_init(&clock);
    if (failed == 0) {
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        failed = pthread_mutex_init(&f->lock, NULL) != 0 || pthread_mutex_init(&f->trace, NULL) != 0 ||
                 pthread_cond_init(&f->work, NULL) != 0 || pthread_cond_init(&f->news, &clock) != 0;
        pthread_condattr_destroy(&clock);
    }
    return failed ? rill_fail(ctx, RILL_ERR_MEMORY, "out of memory: no lock can be made") : RILL_OK;
}

/* As many inputs as all engines may admit at once; in sorted windows as many as were asked for. */
static int32_t window_of(const rill_settings *settings, int32_t n)
{
    if (settings->sort != RILL_SORT_NONE) return settings->sort_window;
    int64_t window = (int64_t)n * settings->max_items;
    return window > INT32_MAX / 4 ? INT32_MAX / 4 : window > LEAST_WINDOW ? (int32_t)window : LEAST_WINDOW;
}

rill_status front_init(front *f, rill_context *ctx, const rill_engine *first, int32_t n)
{
    const rill_settings *settings = &first->settings;
    *f = (front){.first = first, .n = n, .next = INFINITY, .packed = {.ctx = ctx}};
    RILL__TRY(make_locks(f, ctx));
    f->ctx = ctx;
    f->worker = rill_calloc(ctx, (size_t)n, sizeof *f->worker);
    if (f->worker == NULL) return rill_fail_memory(ctx, (size_t)n * sizeof *f->worker, "workers");
    intake_init(&f->intake, ctx, settings);
    f->intake.window = window_of(settings, n);
    outbox_init(&f->outbox, ctx, settings);
    outbox_init(&f->own, ctx, settings);
    int64_t span = (int64_t)f->outbox.span * n;
    f->outbox.span = span > (1 << 28) ? 1 << 28 : (int32_t)span;
    f->busy = n;
    return RILL_OK;
}

void front_finish(front *f)
{
    if (f->ctx == NULL) return;
    for (int32_t i = 0; i < f->n && f->worker != NULL; i++) outbox_list_destroy(f->worker[i].spare);
    outbox_list_destroy(f->done_first);
    outbox_finish(&f->outbox);
    outbox_finish(&f->own);
    rill_text_clear(&f->packed);
    rill_text_clear(&f->texts);
    rill__runner_stop(&f->writer);
    rill_free(f->ctx, f->cancelled, f->cancelled_capacity * sizeof *f->cancelled);
    if (f->intake.ctx != NULL) intake_finish(&f->intake);
    rill_free(f->ctx, f->worker, (size_t)f->n * sizeof *f->worker);
    pthread_cond_destroy(&f->news);
    pthread_cond_destroy(&f->work);
    pthread_mutex_destroy(&f->trace);
    pthread_mutex_destroy(&f->lock);
    *f = (front){0};
}

/* --- handing in --------------------------------------------------------------------------------------------------- */

void front_put_done(front *f, outbox_record *record, front_worker *home)
{
    record->home = home;
    if (f->done_last != NULL)
        f->done_last->next = record;
    else
        f->done_first = record;
    f->done_last = record;
}

/* Results go to the caller, delivered records come back. The lock is held. */
static void hand_in(front *f, rill_engine *e, front_worker *me)
{
    outbox_record *record;
    int any = 0;
    for (; (record = outbox_take(&e->outbox)) != NULL; any = 1) front_put_done(f, record, me);
    if (any) pthread_cond_signal(&f->news);
    while ((record = me->spare) != NULL) {
        me->spare = record->next;
        outbox_record_drop(&e->outbox, record);
    }
    int64_t held = rill_engine_pending(e);
    f->held += held - me->held;
    me->held = held;
    me->stats.struct_size = sizeof me->stats;
    rill_engine_stats(e, &me->stats);
}

/* Begin or cease to stop all others from taking inputs. The lock is held. */
static void note_parked(front *f, rill_engine *e, front_worker *me)
{
    int left = me->alone ? me->held == 0 : me->parked && e->bound.n_parked == 0; /* early, or finished */
    if (left) {
        if (me->alone) bound_narrow(e, e->bound.shares);
        me->alone = me->parked = 0;
        f->parked--;
        pthread_cond_broadcast(&f->work);
    } else if (!me->parked && e->bound.n_parked > 0) {
        me->parked = 1;
        f->parked++;
    }
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

/* How many inputs a worker may take now: at the end of the stream, and where it is slow, no more than make its part of all that is
 * unfinished as large as each other's. */
static int32_t offer(const front *f, const front_worker *me)
{
    if (!f->open || f->parked > 0) return 0;
    int64_t fair = (f->intake.n + f->held + f->n - 1) / f->n - me->held;
    return fair <= 0 ? 0 : fair < f->intake.n ? (int32_t)fair : f->intake.n;
}

/* A sorted window is put in order by the first who would take from it, since measuring is a runner's. */
static rill_status put_in_order(front *f, const rill_engine *e)
{
    if (f->intake.sort == RILL_SORT_NONE || f->intake.sealed || !f->open) return RILL_OK;
    for (int32_t i = 0; i < f->intake.n; i++) {
        intake_entry *entry = &f->intake.entries[intake_at(&f->intake, i)];
        if (entry->failed >= 0) entry->size = engine_measure(e, entry->text, entry->length);
    }
    return intake_seal(&f->intake, e->ctx);
}

void front_note_taken(front *f)
{
    if (f->intake.sort != RILL_SORT_NONE && f->intake.n == 0) f->open = 0;
    if (!f->ended && 2 * f->intake.n <= f->intake.window) pthread_cond_signal(&f->news);
}

/* Copy inputs to the engine. The lock is held. */
static rill_status move_inputs(front *f, rill_engine *e, front_worker *me, int32_t count)
{
    rill_status status = RILL_OK;
    int32_t moved = 0, most = !f->open || f->parked > 0 || f->over ? 0 : count < f->intake.n ? count : f->intake.n;
    for (; moved < most; moved++) {
        const int32_t from = intake_at(&f->intake, moved);
        const intake_entry *entry = &f->intake.entries[from];
        status = intake_add_parcel(&e->intake, entry->id, entry->text, entry->length, entry->failed,
                                   intake_parcel(entry), entry->parcel);
        if (status < 0) break;
        e->intake.entries[intake_at(&e->intake, e->intake.n - 1)].size = entry->size;
        intake_release(&f->intake, from);
    }
    intake_take(&f->intake, moved);
    me->held += moved;
    f->held += moved;
    front_note_taken(f);
    return status;
}

/* Make what the input wants of its own. One whose wishes are refused, or that is late by now, fails when its turn comes, which is at
 * once. */
static rill_status open_parcel(rill_engine *e, intake_entry *entry)
{
    char why[RILL__MESSAGE_BYTES];
    const char *parcel = intake_parcel(entry);
    const rill_request only = {.user = parcel_user(parcel)};
    entry->parcel = 0;
    if (entry->failed < 0) return request_make(&e->requests, e->model, &e->chain, &only, &entry->request);
    rill_error_clear(e->ctx);
    rill_status status = parcel_make(&e->requests, e->model, &e->chain, parcel, &entry->request);
    if (status == RILL_OK && (status = bound_check(e, entry->request)) < 0)
        request_drop(&e->requests, &e->chain, entry->request);
    if (status == RILL_ERR_MEMORY) return status;
    if (status < 0) {
        snprintf(why, sizeof why, "%s", rill_error(e->ctx));
        RILL__TRY(request_make(&e->requests, e->model, &e->chain, &only, &entry->request));
        return intake_spoil(&e->intake, entry, status, why);
    }
    if (entry->request->deadline == INFINITY || entry->request->deadline > requests_now(&e->requests)) return RILL_OK;
    return intake_spoil(&e->intake, entry, RILL_ERR_LATE, LEAVE_LATE);
}

rill_status front_draw(front *f, rill_engine *e, int32_t worker, int32_t count)
{
    int32_t before = e->intake.n;
    pthread_mutex_lock(&f->lock);
    rill_status status = put_in_order(f, e);
    if (status >= 0) status = move_inputs(f, e, &f->worker[worker], count);
    pthread_mutex_unlock(&f->lock);
    for (int32_t i = before; i < e->intake.n; i++) {
        intake_entry *entry = &e->intake.entries[intake_at(&e->intake, i)];
        if (entry->parcel > 0 && status >= 0) status = open_parcel(e, entry);
        if (entry->failed >= 0 && f->intake.sort == RILL_SORT_NONE)
            entry->size = engine_measure(e, entry->text, entry->length);
    }
    return status;
}

/* --- a worker's turn ---------------------------------------------------------------------------------------------- */

/* What the worker may do next; 0: nothing now. The lock is held. */
static int may_go_on(front *f, rill_engine *e, front_worker *me)
{
    e->source->offered = 0;
    if (f->over || me->alone) return 1;
    if (me->held > e->bound.n_parked) {
        e->source->offered = offer(f, me);
        return 1;
    }
    if (e->bound.n_parked > 0) {
        int others = f->busy - !me->waits;
        if (others > 0) return 0;
        bound_widen(e);
        return me->alone = 1;
    }
    e->source->offered = offer(f, me);
    return e->source->offered > 0;
}

/* Whoever is woken and still has nothing to do is not at work meanwhile. */
static void wait_for_work(front *f, const rill_engine *e, front_worker *me)
{
    if (!me->waits) {
        me->waits = 1;
        f->busy--;
        /* The last one at work may be who others wait for. */
        if (f->parked > 0) pthread_cond_broadcast(&f->work);
    }
    if (e->bound.n_parked > 0 && e->requests.n_deadlines > 0 && e->requests.next < f->next) f->next = e->requests.next;
    pthread_cond_wait(&f->work, &f->lock);
}

/* Take part in what concerns all; the lock is held. */
static rill_status report(front *f, rill_engine *e, front_worker *me)
{
    rill_status status = front_have_leave(f, e);
    hand_in(f, e, me);
    note_parked(f, e, me);
    return status;
}

rill_status front_next(front *f, rill_engine *e, int32_t worker)
{
    front_worker *me = &f->worker[worker];
    pthread_mutex_lock(&f->lock);
    rill_status status = report(f, e, me);
    for (; status >= 0 && !may_go_on(f, e, me); status = report(f, e, me)) wait_for_work(f, e, me);
    if (me->waits) {
        me->waits = 0;
        f->busy++;
    }
    if (status >= 0) status = f->over ? RILL_END_OF_INPUT : RILL_OK;
    pthread_mutex_unlock(&f->lock);
    return status;
}

void front_fail(front *f, rill_engine *e, int32_t worker, rill_status status)
{
    pthread_mutex_lock(&f->lock);
    hand_in(f, e, &f->worker[worker]);
    if (f->failed >= 0) {
        f->failed = status;
        snprintf(f->failed_why, sizeof f->failed_why, "%s", rill_error(e->ctx));
    }
    f->over = 1;
    pthread_cond_broadcast(&f->work);
    pthread_cond_signal(&f->news);
    pthread_mutex_unlock(&f->lock);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Number the input, and have it wait with what it wants. */
static rill_status add_input(front *f, const rill_request *asked, rill_status failed)
{
    int64_t id;
    const double now = asked->seconds > 0 ? requests_now(&f->first->requests) : 0;
    RILL__TRY(parcel_pack(&f->packed, asked, &f->first->chain, now));
    RILL__TRY(outbox_number(&f->outbox, &id));
    pthread_mutex_lock(&f->lock);
    rill_status status = intake_add_parcel(&f->intake, id, asked->text, asked->length, failed, f->packed.data,
                                           f->packed.length);
    if (asked->seconds > 0 && now + asked->seconds < f->next) f->next = now + asked->seconds;
    pthread_mutex_unlock(&f->lock);
    if (status < 0) outbox_unnumber(&f->outbox);
    return status;
}

static rill_status add_bad(front *f, const char *why, rill_status status, void *user)
{
    return add_input(f, &(rill_request){.text = why, .length = strlen(why), .user = user}, status);
}

static rill_status take_from_reader(front *f)
{
    rill_request asked = {.struct_size = sizeof asked};
    rill_status status = f->read(f->read_user, f->outbox.next_id == f->delivered, &asked);
    f->paused = status == RILL_AGAIN;
    if (f->paused) return RILL_OK;
    if (status == RILL_ERR_INPUT) return add_bad(f, reading_complaint(&asked), status, asked.user);
    if (status == RILL_OK) {
        status = rill__check_text(f->ctx, asked.text, asked.length);
        return status == RILL_OK ? add_input(f, &asked, RILL_OK) : add_bad(f, rill_error(f->ctx), status, asked.user);
    }
    f->has_ended = 1;
    if (status >= 0) return RILL_OK;
    /* What was read before is decoded and written first. */
    f->unread = status;
    snprintf(f->unread_why, sizeof f->unread_why, "%s", rill_error(f->ctx));
    return RILL_OK;
}

static int64_t room(front *f)
{
    pthread_mutex_lock(&f->lock);
    int64_t inputs = intake_room(&f->intake);
    pthread_mutex_unlock(&f->lock);
    int64_t ahead = outbox_room(&f->outbox);
    return inputs < ahead ? inputs : ahead;
}

/* Read while there is room and the reader has inputs; then they may be taken. */
static rill_status read_inputs(front *f)
{
    rill_status status = RILL_OK;
    f->paused = 0;
    for (int64_t left = room(f); left > 0 && !f->has_ended && !f->paused && status >= 0; left--)
        status = take_from_reader(f);
    pthread_mutex_lock(&f->lock);
    if (f->intake.n > 0) f->open = 1;
    f->ended = f->has_ended;
    if (f->busy < f->n) pthread_cond_broadcast(&f->work);
    pthread_mutex_unlock(&f->lock);
    return status;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Results from the workers to the outbox, delivered records back to the workers. The lock is held. */
static void exchange(front *f)
{
    for (outbox_record *record = f->outbox.spare; record != NULL; record = f->outbox.spare) {
        front_worker *home = record->home;
        outbox_record **list = home != NULL ? &home->spare : &f->own.spare;
        f->outbox.spare = record->next;
        record->next = *list;
        *list = record;
    }
    while (f->done_first != NULL) {
        outbox_record *record = f->done_first;
        f->done_first = record->next;
        record->next = NULL;
        front_note_result(f, record->result.id);
        outbox_put(&f->outbox, record);
    }
    f->done_last = NULL;
}

rill_status front_start_writing(front *f, rill_model *model)
{
    RILL__TRY(rill__runner_start(model, f->ctx, 1, &f->writer));
    f->writing = (writing){.ctx = f->ctx, .domain = model->domain, .self = f->writer.self};
    f->texts.ctx = f->ctx;
    return RILL_OK;
}

static rill_status write_texts(front *f, rill_result *result)
{
    outbox_record *record = f->outbox.lent;
    if (record->unwritten == 0) return RILL_OK;
    double start = statistics_clock();
    rill_status status = writing_catch_up(&f->writing, record, &f->texts);
    f->wrote += statistics_clock() - start;
    *result = record->result;
    return status;
}

static rill_status write_results(front *f, int over)
{
    rill_result result;
    while (outbox_next(&f->outbox, over, &result) == RILL_OK) {
        RILL__TRY(write_texts(f, &result));
        f->delivered++;
        rill_status status = f->write(f->write_user, &result);
        f->writer_ended = status < 0;
        RILL__TRY(status);
    }
    return RILL_OK;
}

/* --- the caller's loop -------------------------------------------------------------------------------------------- */

/* Whether reading on is worth being woken for. The lock is held. */
static int can_read(const front *f)
{
    if (f->has_ended || outbox_room(&f->outbox) <= 0) return 0;
    return 2 * (int64_t)intake_room(&f->intake) >= f->intake.window;
}

/* Whether there was news within so long. The lock is held. */
static int comes_within(front *f, long ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ns;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    return pthread_cond_timedwait(&f->news, &f->lock, &until) == 0;
}

/* Until there are results, room to read into, a failure, a wish to stop; or for a moment only, when the reader had nothing. */
static void wait_for_news(front *f)
{
    while (f->done_first == NULL && f->failed >= 0 && !atomic_load(&f->stopped) && (f->paused || !can_read(f)))
        if (!comes_within(f, f->paused ? PATIENCE_NS : STOPPED_NS) && f->paused) return;
}

rill_status front_serve(front *f)
{
    for (;;) {
        RILL__TRY(read_inputs(f));
        if (atomic_load(&f->stopped)) return rill_fail(f->ctx, RILL_ERR_STOPPED, "the run was stopped");
        if (f->has_ended && f->delivered == f->outbox.next_id) return RILL_OK;
        pthread_mutex_lock(&f->lock);
        if (f->outbox.next_id > f->delivered) wait_for_news(f);
        exchange(f);
        int failed = f->failed < 0;
        pthread_mutex_unlock(&f->lock);
        if (failed) return RILL_OK;
        RILL__TRY(write_results(f, 0));
    }
}

void front_stop(front *f)
{
    pthread_mutex_lock(&f->lock);
    f->over = 1;
    pthread_cond_broadcast(&f->work);
    pthread_mutex_unlock(&f->lock);
}

void front_rest(front *f)
{
    pthread_mutex_lock(&f->lock);
    exchange(f);
    pthread_mutex_unlock(&f->lock);
    write_results(f, 1);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b)
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
    sum->longest_item_timesteps = larger(sum->longest_item_timesteps, s->longest_item_timesteps);
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
    sum->sent_back += s->sent_back;
    sum->cube_hypotheses += s->cube_hypotheses;
    sum->cube_classes += s->cube_classes;
    sum->certified += s->certified;
    sum->exact_rows += s->exact_rows;
    sum->cube_rescored += s->cube_rescored;
    statistics_sum_seconds(&sum->seconds, &s->seconds);
}

void front_stats(front *f, rill_stats *out)
{
    *out = (rill_stats){.struct_size = sizeof *out, .waiting_peak = f->outbox.waiting_peak};
    pthread_mutex_lock(&f->lock);
    out->inputs = out->failed = f->n_own;
    for (int32_t i = 0; i < f->n; i++) add_stats(out, &f->worker[i].stats);
    out->seconds.finalize += f->wrote;
    out->seconds.total += f->wrote;
    pthread_mutex_unlock(&f->lock);
}
