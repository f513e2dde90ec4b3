/* Implements the input queue, which is declared in input_queue.h. */
#include "input_queue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* minimum capacity of an unsorted queue for threaded engines: no engine waits while the reader wakes up */
enum { MIN_SHARED = 256 };

/* --- creating the queue ------------------------------------------------------------------------------------------- */

static int make_locks(input_queue *q)
{
    pthread_condattr_t clock;
    if (pthread_mutex_init(&q->lock, NULL) != 0) return 0;
    if (pthread_condattr_init(&clock) != 0) return 0;
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    const int made = pthread_cond_init(&q->engine_cond, NULL) == 0 && pthread_cond_init(&q->reader_cond, &clock) == 0;
    pthread_condattr_destroy(&clock);
    return made;
}

/* Returns the capacity of the queue in inputs: as many as all engines may admit at once; with sorting, the sort window. */
static int32_t capacity_of(const rill_settings *settings, int32_t n_engines, int threaded)
{
    if (settings->sort != RILL_SORT_NONE) return settings->sort_window;
    int64_t window = (int64_t)n_engines * settings->max_items;
    if (threaded && window < MIN_SHARED) window = MIN_SHARED;
    return window > INT32_MAX / 4 ? INT32_MAX / 4 : (int32_t)window;
}

rill_status input_queue_init(input_queue *q, rill_context *ctx, const rill_settings *settings, int32_t n_engines,
                             int threaded)
{
    *q = (input_queue){.ctx = ctx,
                       .sort = settings->sort,
                       .max_entries = capacity_of(settings, n_engines, threaded),
                       .n_engines = n_engines,
                       .next_deadline = INFINITY,
                       .records.ctx = ctx};
    q->end = &q->first;
    reorder_init(&q->results, ctx, settings, n_engines);
    return make_locks(q) ? RILL_OK : rill_fail(ctx, RILL_ERR_MEMORY, "out of memory: cannot make a lock");
}

static void destroy_list(rill_context *ctx, queued_input *in)
{
    while (in != NULL) {
        queued_input *next = in->next;
        request_free(in->request);
        if (in->saved_result != NULL) result_record_destroy(in->saved_result);
        rill_free(ctx, in->text, in->capacity);
        rill_free(ctx, in, sizeof *in);
        in = next;
    }
}

void input_queue_finish(input_queue *q)
{
    if (q->ctx == NULL) return;
    destroy_list(q->ctx, q->first);
    destroy_list(q->ctx, q->free_inputs);
    record_pool_finish(&q->records);
    reorder_finish(&q->results);
    pthread_cond_destroy(&q->reader_cond);
    pthread_cond_destroy(&q->engine_cond);
    pthread_mutex_destroy(&q->lock);
    *q = (input_queue){0};
}

/* --- waiting inputs (the lock is held) ---------------------------------------------------------------------------- */

static void insert(input_queue *q, queued_input **link, queued_input *in)
{
    in->held = 0;
    in->next = *link;
    *link = in;
    if (in->next == NULL) q->end = &in->next;
    *(in->exclusive ? &q->n_exclusive : &q->n) += 1;
    if (in->request != NULL && in->request->deadline < q->next_deadline) q->next_deadline = in->request->deadline;
}

static queued_input *remove_at(input_queue *q, queued_input **link)
{
    queued_input *in = *link;
    *link = in->next;
    if (in->next == NULL) q->end = link;
    *(in->exclusive ? &q->n_exclusive : &q->n) -= 1;
    if (q->n == 0) q->is_sorted = 0;
    if (in->exclusive && q->n_exclusive == 0) pthread_cond_broadcast(&q->engine_cond);
    return in;
}

static queued_input *hold(input_queue *q, input_taker *taker, queued_input *in)
{
    in->held = 1;
    in->next = NULL;
    q->n_held++;
    taker->n_held++;
    return in;
}

/* Free an input that is neither in the queue nor held by an engine. */
static void free_input(input_queue *q, queued_input *in)
{
    request_free(in->request);
    /* destroyed, not returned to its pool, because the engine that owns the pool may no longer exist */
    if (in->saved_result != NULL) result_record_destroy(in->saved_result);
    in->request = NULL;
    in->saved_result = NULL;
    in->next = q->free_inputs;
    q->free_inputs = in;
}

static void put_result(input_queue *q, result_record *record)
{
    const queued_input *in = reorder_find_input(&q->results, record->result.id);
    if (in->cancelled) q->n_cancelled--;
    reorder_put(&q->results, record);
}

static rill_status put_failed(input_queue *q, record_pool *records, const queued_input *in, rill_status status,
                              const char *message)
{
    result_record *record;
    RILL__TRY(reorder_get_record(records, in->id, &record));
    rill_print_message(record->message, sizeof record->message, "%s", message);
    record->result.status = status;
    record->result.timed_out = status == RILL_ERR_DEADLINE;
    record->result.user = in->request != NULL ? in->request->user : NULL;
    put_result(q, record);
    return RILL_OK;
}

void input_queue_wake_reader(input_queue *q)
{
    if (!q->closed && 2 * q->n <= q->max_entries) pthread_cond_signal(&q->reader_cond);
}

/* --- submitting inputs -------------------------------------------------------------------------------------------- */

int64_t input_queue_space(input_queue *q)
{
    RILL__LOCK_SCOPE(&q->lock);
    const int64_t inputs = q->closed || q->is_sorted ? 0 : q->max_entries - q->n, ahead = reorder_space(&q->results);
    return inputs < ahead ? inputs : ahead;
}

int input_queue_is_idle(input_queue *q)
{
    RILL__LOCK_SCOPE(&q->lock);
    return q->n + q->n_exclusive + q->n_held + q->results.n_waiting == 0;
}

void input_queue_close(input_queue *q)
{
    RILL__LOCK_SCOPE(&q->lock);
    q->closed = 1;
}

/* Copy a text, without leading byte order marks, into the first input of the list free_inputs, which must not be empty. */
static rill_status set_text(input_queue *q, const char *text, size_t length)
{
    queued_input *in = q->free_inputs;
    for (; length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0; length -= 3) text += 3;
    RILL__TRY(RILL__GROW(q->ctx, in->text, in->capacity, length + 1, "an input"));
    if (length > 0) memcpy(in->text, text, length);
    in->text[length] = '\0';
    in->length = length;
    return RILL_OK;
}

rill_status input_queue_add(input_queue *q, const char *text, size_t length, rill_status failed, request *own_request,
                            int64_t *id)
{
    RILL__LOCK_SCOPE(&q->lock);
    if (q->free_inputs == NULL) q->free_inputs = rill_calloc(q->ctx, 1, sizeof *q->free_inputs);
    queued_input *in = q->free_inputs;
    if (in == NULL) return rill_fail_memory(q->ctx, sizeof *in, "an input");
    RILL__TRY(set_text(q, text, length));
    RILL__TRY(reorder_add_id(&q->results, in, id));
    q->free_inputs = in->next;
    in->id = *id;
    in->size = -1;
    in->failed = failed;
    in->request = own_request;
    in->cancelled = in->exclusive = 0;
    insert(q, q->end, in);
    return RILL_OK;
}

/* --- taking inputs from the queue --------------------------------------------------------------------------------- */

int32_t input_queue_offer(input_queue *q, input_taker *taker)
{
    if (q->done) return 0;
    if (q->alone == taker && taker->n_held == 0 && q->n_exclusive == 0) {
        q->alone = NULL;
        pthread_cond_broadcast(&q->engine_cond);
    }
    if (q->n_exclusive > 0 && q->n_held == 0) q->alone = taker;
    if (q->n_exclusive > 0 || q->alone != NULL) return q->alone == taker ? q->n_exclusive : 0;
    if (q->filling) return 0;
    const int64_t fair = (q->n + q->n_held + q->n_engines - 1) / q->n_engines - taker->n_held;
    return fair <= 0 ? 0 : fair < q->n ? (int32_t)fair : q->n;
}

/* Sort key for qsort(). Equal sizes are ordered by id, so that the result does not depend on the sorting algorithm. */
typedef struct sort_key {
    int64_t size, id;
    queued_input *input;
} sort_key;

static int compare_keys(const void *left, const void *right)
{
    const sort_key *a = left, *b = right;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

rill_status input_queue_sort(input_queue *q, rill_context *ctx)
{
    const size_t bytes = (size_t)q->n * sizeof(sort_key);
    queued_input **link = &q->first;
    int32_t n = 0;
    while (*link != NULL && (*link)->exclusive) link = &(*link)->next;
    sort_key *keys = rill_alloc(ctx, bytes);
    if (keys == NULL) return rill_fail_memory(ctx, bytes, "sorting inputs");
    /* measured sizes are >= 0, so a negative key reverses their order */
    for (queued_input *in = *link; in != NULL; in = in->next)
        keys[n++] = (sort_key){q->sort == RILL_SORT_LONGEST_FIRST ? -in->size : in->size, in->id, in};
    qsort(keys, (size_t)n, sizeof *keys, compare_keys);
    for (int32_t i = 0; i < n; i++, link = &(*link)->next) *link = keys[i].input;
    *link = NULL;
    q->end = link;
    rill_free(ctx, keys, bytes);
    q->is_sorted = 1;
    return RILL_OK;
}

queued_input *input_queue_pop(input_queue *q, input_taker *taker)
{
    return hold(q, taker, remove_at(q, &q->first));
}

int input_queue_give_back(input_queue *q, input_taker *taker, queued_input *in)
{
    RILL__LOCK_SCOPE(&q->lock);
    queued_input **link = &q->first;
    if (in->cancelled) return 0;
    while (*link != NULL && (*link)->exclusive && (*link)->id < in->id) link = &(*link)->next;
    in->exclusive = 1;
    insert(q, link, in);
    q->n_held--;
    taker->n_held--;
    return 1;
}

void input_queue_free(input_queue *q, input_taker *taker, queued_input *in)
{
    RILL__LOCK_SCOPE(&q->lock);
    free_input(q, in);
    q->n_held--;
    taker->n_held--;
}

/* --- inputs cancelled or too late --------------------------------------------------------------------------------- */

/* Make the failed result of the waiting input at *link, and remove the input from the queue. The lock is held. */
static rill_status fail_waiting(input_queue *q, queued_input **link, record_pool *records, rill_status status,
                                const char *message)
{
    RILL__TRY(put_failed(q, records, *link, status, message));
    free_input(q, remove_at(q, link));
    return RILL_OK;
}

rill_status input_queue_drop_late(input_queue *q, input_taker *taker, double now, queued_input **out)
{
    RILL__LOCK_SCOPE(&q->lock);
    *out = NULL;
    q->next_deadline = INFINITY;
    for (queued_input **link = &q->first; *link != NULL;) {
        queued_input *in = *link;
        const double deadline = in->request != NULL ? in->request->deadline : INFINITY;
        if (deadline <= now && in->saved_result != NULL) {
            *out = hold(q, taker, remove_at(q, link));
            out = &(*out)->next;
        } else if (deadline <= now) {
            RILL__TRY(fail_waiting(q, link, &taker->records, RILL_ERR_DEADLINE, MESSAGE_DEADLINE));
        } else {
            if (deadline < q->next_deadline) q->next_deadline = deadline;
            link = &in->next;
        }
    }
    input_queue_wake_reader(q);
    return RILL_OK;
}

rill_status input_queue_cancel(input_queue *q, int64_t id)
{
    RILL__LOCK_SCOPE(&q->lock);
    queued_input *in = q->done ? NULL : reorder_find_input(&q->results, id);
    if (in == NULL) return RILL_ERR_NOT_FOUND;
    if (in->cancelled) return RILL_AGAIN;
    if (in->held) {
        in->cancelled = 1;
        q->n_cancelled++;
        return RILL_OK;
    }
    queued_input **link = &q->first;
    while (*link != in) link = &(*link)->next;
    RILL__TRY(fail_waiting(q, link, &q->records, RILL_ERR_CANCELLED, MESSAGE_CANCELLED));
    input_queue_wake_reader(q);
    return RILL_OK;
}

/* --- results in order --------------------------------------------------------------------------------------------- */

rill_status input_queue_get_record(input_queue *q, input_taker *taker, int64_t id, result_record **out)
{
    RILL__LOCK_SCOPE(&q->lock);
    return reorder_get_record(&taker->records, id, out);
}

void input_queue_free_record(input_queue *q, result_record *record)
{
    RILL__LOCK_SCOPE(&q->lock);
    reorder_free_record(record);
}

void input_queue_put(input_queue *q, result_record *record)
{
    RILL__LOCK_SCOPE(&q->lock);
    put_result(q, record);
}

rill_status input_queue_put_failed(input_queue *q, input_taker *taker, const queued_input *in, rill_status status,
                                   const char *message)
{
    RILL__LOCK_SCOPE(&q->lock);
    return put_failed(q, &taker->records, in, status, message);
}

rill_status input_queue_next(input_queue *q, int at_end, const rill_result **out)
{
    RILL__LOCK_SCOPE(&q->lock);
    return reorder_next(&q->results, at_end, out);
}
