/* Inputs that leave early: cancelled, or at their deadline.
 *
 * An input without a result is in one of four places: waiting in the queue, ready, running, or parked for lack of memory
 * (memory_limit.c). In each case its resources are freed and its result is delivered in its turn. Items leave only between their timesteps:
 * a busy item, whose timestep a device still computes (beam_search.c), leaves at the end of that timestep. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine_internal.h"

/* Remove the item at index `place` of the running items; later items move up. */
static void remove_running(rill_engine *e, int32_t place)
{
    running_items *f = &e->running;
    running_clear_overdue(f, &e->items, f->slot[place]);
    for (int32_t i = place + 1; i < f->n; i++) running_move(f, &e->items, i - 1, i);
    f->n--;
}

/* Values of `place`, the running index, for inputs that are not running. */
enum { IS_READY = -1, IS_PARKED = -2, IS_WAITING = -3, IS_UNKNOWN = -4 };

/* End an item without new outputs. `place` is its running index, IS_READY or IS_PARKED. With status RILL_OK the saved result of an earlier
 * search is delivered, else a failed result. */
static rill_status fail_item(rill_engine *e, int32_t slot, int32_t place, rill_status status, const char *message)
{
    item *it = &e->items.item[slot];
    if (status < 0)
        RILL__TRY(engine_fail_input(e, it->id, it->request, status, message));
    else
        engine_deliver_saved(e, it);
    if (place == IS_READY) {
        items_remove_ready(&e->items, slot);
    } else if (place == IS_PARKED) {
        memory_limit_remove_parked(e, slot);
    } else {
        remove_running(e, place);
        tracer_item(&e->tracer, RILL_TRACE_FINISHED, e->statistics.total.timesteps, slot, it, status);
    }
    statistics_remove_item(&e->statistics, it);
    engine_free_item(e, slot);
    engine_free_nodes(e);
    return RILL_OK;
}

static rill_status fail_queued(rill_engine *e, int32_t i, rill_status status, const char *message)
{
    int32_t entry = input_queue_entry(&e->queue, i);
    const queued_input *in = &e->queue.entries[entry];
    RILL__TRY(engine_fail_input(e, in->id, in->request, status, message));
    input_queue_remove(&e->queue, i);
    engine_free_input(e, entry);
    return RILL_OK;
}

/* --- cancelling --------------------------------------------------------------------------------------------------- */

/* Return the input's running index, or an IS_ value if it is not running. *index is its index in the queue for IS_WAITING, else its
 * slot. */
static int32_t find_input_place(const rill_engine *e, int64_t id, int32_t *index)
{
    for (*index = 0; *index < e->queue.n; ++*index)
        if (e->queue.entries[input_queue_entry(&e->queue, *index)].id == id) return IS_WAITING;
    for (*index = e->items.first_ready; *index >= 0; *index = e->items.item[*index].next_slot)
        if (e->items.item[*index].id == id) return IS_READY;
    *index = e->memory_limit.last_parked;
    for (int32_t n = e->memory_limit.n_parked; n > 0; n--, *index = e->items.item[*index].next_slot)
        if (e->items.item[*index].id == id) return IS_PARKED;
    for (int32_t place = 0; place < e->running.n; place++) {
        *index = e->running.slot[place];
        if (e->running.id[place] == id) return place;
    }
    return IS_UNKNOWN;
}

rill_status cancel_not_found(rill_context *ctx, int64_t id)
{
    return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                     "input %lld cannot be cancelled: it has finished, or was never "
                     "submitted",
                     (long long)id);
}

static rill_status cancel_item(rill_engine *e, int32_t slot, int32_t place)
{
    return fail_item(e, slot, place, RILL_ERR_CANCELLED, MESSAGE_CANCELLED);
}

rill_status engine_finish_cancelled(rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n && e->items.n_cancelled > 0; i++) {
        int32_t slot = t->selected[i];
        const item *it = &e->items.item[slot];
        if (!it->cancelled) continue;
        e->items.n_cancelled--;
        if (it->failed < 0)
            RILL__TRY(fail_item(e, slot, e->items.running_index[slot], it->failed, it->fail_reason.data));
        else
            RILL__TRY(cancel_item(e, slot, e->items.running_index[slot]));
    }
    return RILL_OK;
}

int engine_is_input_error(rill_status status)
{
    return status < 0 && status != RILL_ERR_MEMORY && status != RILL_ERR_STOPPED && status != RILL_ERR_CHECK;
}

rill_status engine_fail_selected(rill_engine *e, int32_t slot, rill_status status, const char *message)
{
    item *it = &e->items.item[slot];
    if (it->failed < 0) return RILL_OK;
    rill_text_reset(&it->fail_reason);
    RILL__TRY(rill_text_append(&it->fail_reason, message, strlen(message)));
    it->failed = status;
    e->items.n_cancelled += !it->cancelled;
    it->cancelled = 1;
    return RILL_OK;
}

/* Mark the item as cancelled; it leaves when its timestep is over. */
static rill_status cancel_busy(rill_engine *e, int32_t slot)
{
    item *it = &e->items.item[slot];
    if (it->cancelled) return cancel_not_found(e->ctx, it->id);
    it->cancelled = 1;
    e->items.n_cancelled++;
    return RILL_OK;
}

int engine_has_input(const rill_engine *e, int64_t id)
{
    int32_t index, place = find_input_place(e, id, &index);
    return place < 0 ? place != IS_UNKNOWN : !e->items.item[index].cancelled;
}

rill_status rill_engine_cancel(rill_engine *e, int64_t id)
{
    int32_t index, place;
    if (e->failed < 0) return e->failed;
    place = find_input_place(e, id, &index);
    if (place == IS_UNKNOWN) return cancel_not_found(e->ctx, id);
    if (place == IS_WAITING) return fail_queued(e, index, RILL_ERR_CANCELLED, MESSAGE_CANCELLED);
    return place >= 0 && e->items.busy[index] ? cancel_busy(e, index) : cancel_item(e, index, place);
}

/* --- deadlines ---------------------------------------------------------------------------------------------------- */

static int is_past_deadline(const request *r, double now)
{
    return r != NULL && r->deadline <= now;
}

static rill_status fail_timed_out(rill_engine *e, int32_t slot, int32_t place)
{
    char message[120];
    if (e->items.item[slot].saved_result != NULL) return fail_item(e, slot, place, RILL_OK, "");
    snprintf(message, sizeof message, "the deadline passed at timestep %d, before there was any %s",
             e->items.item[slot].timestep,
             e->items.item[slot].dropped_truncated ? "complete output, which require-end requires" : "hypothesis");
    return fail_item(e, slot, place, RILL_ERR_DEADLINE, message);
}

/* Output the ended entries of the beam. If there is no output at all, output the best ended hypothesis, or else the live entries. */
static rill_status output_beam(rill_engine *e, item *it)
{
    int32_t found = it->n_outputs;
    if (it->timestep == 0) return RILL_OK; /* the beam has only the empty hypothesis */
    RILL__TRY(RILL__GROW(e->ctx, it->outputs, it->outputs_capacity, (size_t)(found + it->width) + 1, "outputs"));
    for (int ended = 1; ended >= 0; ended--) {
        if (!ended && found == 0) found = engine_before_outputs(e, it, 1);
        for (int32_t i = 0; i < it->width && (ended || found == 0); i++) {
            beam_entry *entry = &it->beam[i];
            if ((entry->ended != 0) != ended) continue;
            item_output output = stop_entry_output(it, entry);
            output.hyp = entry->hyp;
            entry->hyp = -1;
            stop_add_output(e, it, output);
            found += ended;
        }
    }
    return RILL_OK;
}

static rill_status finish_timed_out(rill_engine *e, int32_t place)
{
    int32_t slot = e->running.slot[place];
    item *it = &e->items.item[slot];
    /* the complete result of an earlier search is better than the outputs of an unfinished one */
    if (it->saved_result != NULL) return fail_timed_out(e, slot, place);
    RILL__TRY(output_beam(e, it));
    if (it->n_outputs == 0) return fail_timed_out(e, slot, place);
    it->timed_out = 1;
    RILL__TRY(engine_finish_item(e, slot));
    remove_running(e, place);
    engine_free_nodes(e);
    return RILL_OK;
}

/* Return the earliest deadline of all inputs without a result; INFINITY if none has a deadline. */
static double earliest_deadline(const rill_engine *e)
{
    double next = INFINITY;
    for (size_t i = 0; i < e->queue.entries_capacity; i++) {
        const request *r = e->queue.entries[i].request;
        if (r != NULL && r->deadline < next) next = r->deadline;
    }
    return next;
}

rill_status engine_check_deadlines(rill_engine *e)
{
    if (e->requests.n_deadlines == 0) return RILL_OK;
    double now = requests_now(&e->requests);
    if (now < e->requests.next_deadline) return RILL_OK;
    for (int32_t i = e->queue.n - 1; i >= 0; i--)
        if (is_past_deadline(e->queue.entries[input_queue_entry(&e->queue, i)].request, now))
            RILL__TRY(fail_queued(e, i, RILL_ERR_DEADLINE, MESSAGE_DEADLINE));
    for (int32_t slot = e->items.first_ready, next; slot >= 0; slot = next) {
        next = e->items.item[slot].next_slot;
        if (is_past_deadline(e->items.item[slot].request, now)) RILL__TRY(fail_timed_out(e, slot, IS_READY));
    }
    for (int32_t n = e->memory_limit.n_parked, slot = e->memory_limit.last_parked, next; n > 0; n--, slot = next) {
        next = e->items.item[slot].next_slot;
        if (is_past_deadline(e->items.item[slot].request, now)) RILL__TRY(fail_timed_out(e, slot, IS_PARKED));
    }
    for (int32_t i = e->running.n - 1; i >= 0; i--) {
        int32_t slot = e->running.slot[i];
        if (!e->items.busy[slot] && is_past_deadline(e->items.item[slot].request, now))
            RILL__TRY(finish_timed_out(e, i));
    }
    e->requests.next_deadline = earliest_deadline(e);
    return RILL_OK;
}
