/* Inputs that leave a run of several workers before their time; front.h says who has them leave where.
 *
 * Divisions: waiting inputs · at a worker's turn · cancelling. */
#include <math.h>
#include <stdio.h>

#include "front.h"
#include "parcel.h"

/* --- waiting inputs ----------------------------------------------------------------------------------------------- */

/* The i-th input that waits here does not any more. The lock is held. */
static void leave_intake(front *f, int32_t i)
{
    int32_t entry = intake_at(&f->intake, i);
    intake_remove(&f->intake, i);
    intake_release(&f->intake, entry);
    front_note_taken(f);
}

static void *user_of(const intake_entry *entry)
{
    return entry->parcel > 0 ? parcel_user(intake_parcel(entry)) : NULL;
}

/* --- at a worker's turn ------------------------------------------------------------------------------------------- */

/* Inputs whose deadlines came while they waited here get their results by the worker whose turn it is; those who wait and hold some
 * look at theirs. The lock is held. */
static rill_status fail_late(front *f, rill_engine *e)
{
    if (f->next == INFINITY) return RILL_OK;
    const double now = requests_now(&e->requests);
    if (now < f->next) return RILL_OK;
    f->next = INFINITY;
    for (int32_t i = f->intake.n - 1; i >= 0; i--) {
        const intake_entry *entry = &f->intake.entries[intake_at(&f->intake, i)];
        const double deadline = entry->parcel > 0 ? parcel_deadline(intake_parcel(entry)) : INFINITY;
        if (deadline <= now) {
            const request only = {.user = user_of(entry)};
            RILL__TRY(engine_fail_input(e, entry->id, &only, RILL_ERR_LATE, LEAVE_LATE));
            leave_intake(f, i);
        } else if (deadline < f->next) {
            f->next = deadline;
        }
    }
    pthread_cond_broadcast(&f->work);
    return RILL_OK;
}

/* Give up what this engine holds of the cancelled, with the lock let go meanwhile. The lock is held. */
static rill_status give_up_cancelled(front *f, rill_engine *e)
{
    for (int32_t i = 0; i < f->n_cancelled; i++) {
        const int64_t id = f->cancelled[i];
        if (!engine_has(e, id)) continue;
        f->cancelled[i] = f->cancelled[--f->n_cancelled];
        pthread_mutex_unlock(&f->lock);
        rill_status status = rill_engine_cancel(e, id);
        pthread_mutex_lock(&f->lock);
        RILL__TRY(status);
        i = -1;
    }
    return RILL_OK;
}

/* An engine that is stepped looks at deadlines itself; one that waits with what it has set aside does so here. The lock is held. */
static rill_status fail_parked(front *f, rill_engine *e)
{
    if (e->bound.n_parked == 0 || e->requests.n_deadlines == 0) return RILL_OK;
    pthread_mutex_unlock(&f->lock);
    rill_status status = engine_meet_deadlines(e);
    pthread_mutex_lock(&f->lock);
    return status;
}

rill_status front_have_leave(front *f, rill_engine *e)
{
    if (!f->over) RILL__TRY(give_up_cancelled(f, e));
    RILL__TRY(fail_late(f, e));
    return fail_parked(f, e);
}

/* --- cancelling --------------------------------------------------------------------------------------------------- */

static rill_status record_cancelled(front *f, const intake_entry *entry)
{
    outbox_record *record;
    RILL__TRY(outbox_record_get(&f->own, entry->id, &record));
    snprintf(record->message, sizeof record->message, "%s", LEAVE_CANCELLED);
    record->result.status = RILL_ERR_CANCELLED;
    record->result.user = user_of(entry);
    front_put_done(f, record, NULL);
    f->n_own++;
    return RILL_OK;
}

static int is_done(const front *f, int64_t id)
{
    if (outbox_has_finished(&f->outbox, id)) return 1;
    for (const outbox_record *record = f->done_first; record != NULL; record = record->next)
        if (record->result.id == id) return 1;
    return 0;
}

/* One whom a worker holds is that worker's to give up. The lock is held. */
static rill_status ask_workers(front *f, int64_t id)
{
    for (int32_t i = 0; i < f->n_cancelled; i++)
        if (f->cancelled[i] == id) return RILL_OK;
    RILL__TRY(RILL__GROW(f->ctx, f->cancelled, f->cancelled_capacity, (size_t)f->n_cancelled + 1, "cancelled inputs"));
    f->cancelled[f->n_cancelled++] = id;
    pthread_cond_broadcast(&f->work);
    return RILL_OK;
}

static rill_status cancel(front *f, int64_t id)
{
    if (f->over || id < 0 || id >= f->outbox.next_id || is_done(f, id)) return leave_not_found(f->ctx, id);
    for (int32_t i = 0; i < f->intake.n; i++) {
        const intake_entry *entry = &f->intake.entries[intake_at(&f->intake, i)];
        if (entry->id != id) continue;
        RILL__TRY(record_cancelled(f, entry));
        leave_intake(f, i);
        return RILL_OK;
    }
    return ask_workers(f, id);
}

rill_status front_cancel(front *f, int64_t id)
{
    pthread_mutex_lock(&f->lock);
    rill_status status = cancel(f, id);
    pthread_mutex_unlock(&f->lock);
    return status;
}

void front_note_result(front *f, int64_t id)
{
    for (int32_t i = f->n_cancelled - 1; i >= 0; i--)
        if (f->cancelled[i] == id) f->cancelled[i] = f->cancelled[--f->n_cancelled];
}
