/* Cancellation and deadlines in a run of several workers; worker_pool.h says which thread handles which inputs.
 *
 * Divisions: waiting inputs · at a worker's turn · cancelling. */
#include <math.h>
#include <stdio.h>

#include "worker_pool.h"

/* --- waiting inputs ----------------------------------------------------------------------------------------------- */

/* Remove the i-th waiting input. Called with the lock held. */
static void remove_queued(worker_pool *f, int32_t i)
{
    int32_t entry = input_queue_entry(&f->queue, i);
    input_queue_remove(&f->queue, i);
    request_free(f->queue.entries[entry].request);
    f->queue.entries[entry].request = NULL;
    input_queue_free_entry(&f->queue, entry);
    worker_pool_inputs_taken(f);
}

/* --- at a worker's turn ------------------------------------------------------------------------------------------- */

/* Make the results of queued inputs whose deadlines have passed, in the engine whose turn it is. Waiting workers wake up
 * to check their parked inputs. Called with the lock held. */
static rill_status fail_timed_out(worker_pool *f, rill_engine *e)
{
    if (f->next_deadline == INFINITY) return RILL_OK;
    const double now = requests_now(&e->requests);
    if (now < f->next_deadline) return RILL_OK;
    f->next_deadline = INFINITY;
    for (int32_t i = f->queue.n - 1; i >= 0; i--) {
        const queued_input *entry = &f->queue.entries[input_queue_entry(&f->queue, i)];
        const double deadline = entry->request != NULL ? entry->request->deadline : INFINITY;
        if (deadline <= now) {
            RILL__TRY(engine_fail_input(e, entry->id, entry->request, RILL_ERR_DEADLINE, MESSAGE_DEADLINE));
            remove_queued(f, i);
        } else if (deadline < f->next_deadline) {
            f->next_deadline = deadline;
        }
    }
    pthread_cond_broadcast(&f->worker_cond);
    return RILL_OK;
}

/* Cancel the inputs in cancelled_ids that this engine holds. Called with the lock held, which is released while the
 * engine cancels. */
static rill_status cancel_held(worker_pool *f, rill_engine *e)
{
    for (int32_t i = 0; i < f->n_cancelled; i++) {
        const int64_t id = f->cancelled_ids[i];
        if (!engine_has_input(e, id)) continue;
        f->cancelled_ids[i] = f->cancelled_ids[--f->n_cancelled];
        pthread_mutex_unlock(&f->lock);
        rill_status status = rill_engine_cancel(e, id);
        pthread_mutex_lock(&f->lock);
        RILL__TRY(status);
        i = -1;
    }
    return RILL_OK;
}

/* Check the deadlines of parked inputs, since their engine may be waiting instead of stepping. Called with the lock held,
 * which is released meanwhile. */
static rill_status fail_parked(worker_pool *f, rill_engine *e)
{
    if (e->memory_limit.n_parked == 0 || e->requests.n_deadlines == 0) return RILL_OK;
    pthread_mutex_unlock(&f->lock);
    rill_status status = engine_check_deadlines(e);
    pthread_mutex_lock(&f->lock);
    return status;
}

rill_status worker_pool_drop_inputs(worker_pool *f, rill_engine *e)
{
    if (!f->done) RILL__TRY(cancel_held(f, e));
    RILL__TRY(fail_timed_out(f, e));
    return fail_parked(f, e);
}

/* --- cancelling --------------------------------------------------------------------------------------------------- */

static rill_status record_cancelled(worker_pool *f, const queued_input *entry)
{
    result_record *record;
    RILL__TRY(reorder_get_record(&f->own_records, entry->id, &record));
    snprintf(record->message, sizeof record->message, "%s", MESSAGE_CANCELLED);
    record->result.status = RILL_ERR_CANCELLED;
    record->result.user = entry->request != NULL ? entry->request->user : NULL;
    worker_pool_put_result(f, record, NULL);
    f->n_own_results++;
    return RILL_OK;
}

static int has_result(const worker_pool *f, int64_t id)
{
    if (reorder_is_finished(&f->reorder, id)) return 1;
    for (const result_record *record = f->first_result; record != NULL; record = record->next)
        if (record->result.id == id) return 1;
    return 0;
}

/* Ask the worker that holds the input to cancel it. Called with the lock held. */
static rill_status add_cancelled(worker_pool *f, int64_t id)
{
    for (int32_t i = 0; i < f->n_cancelled; i++)
        if (f->cancelled_ids[i] == id) return RILL_OK;
    RILL__TRY(
        RILL__GROW(f->ctx, f->cancelled_ids, f->cancelled_capacity, (size_t)f->n_cancelled + 1, "cancelled inputs"));
    f->cancelled_ids[f->n_cancelled++] = id;
    pthread_cond_broadcast(&f->worker_cond);
    return RILL_OK;
}

static rill_status cancel_input(worker_pool *f, int64_t id)
{
    if (f->done || id < 0 || id >= f->reorder.next_id || has_result(f, id)) return cancel_not_found(f->ctx, id);
    for (int32_t i = 0; i < f->queue.n; i++) {
        const queued_input *entry = &f->queue.entries[input_queue_entry(&f->queue, i)];
        if (entry->id != id) continue;
        RILL__TRY(record_cancelled(f, entry));
        remove_queued(f, i);
        return RILL_OK;
    }
    return add_cancelled(f, id);
}

rill_status worker_pool_cancel(worker_pool *f, int64_t id)
{
    pthread_mutex_lock(&f->lock);
    rill_status status = cancel_input(f, id);
    pthread_mutex_unlock(&f->lock);
    return status;
}

void worker_pool_forget_cancelled(worker_pool *f, int64_t id)
{
    for (int32_t i = f->n_cancelled - 1; i >= 0; i--)
        if (f->cancelled_ids[i] == id) f->cancelled_ids[i] = f->cancelled_ids[--f->n_cancelled];
}
