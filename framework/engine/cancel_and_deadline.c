/* Ends cancelled and late inputs: frees their resources, and delivers results in order.
 *
 * An input of a timestep in progress is removed when the timestep ends, or between two of its parts. */
#include <math.h>
#include <stdio.h>

#include "engine_internal.h"

rill_status engine_fail_item(rill_engine *e, int32_t slot, int32_t place, rill_status status, const char *message)
{
    item *it = &e->items.item[slot];
    if (status < 0)
        RILL__TRY(input_queue_put_failed(e->queue, &e->taker, it->input, status, message));
    else
        engine_deliver_saved(e, it->input);
    if (place == IS_READY) {
        items_remove_ready(&e->items, slot);
    } else {
        running_remove(&e->running, &e->items, place);
        tracer_item(e, RILL_TRACE_FINISHED, slot, status);
    }
    statistics_remove_item(&e->statistics, it);
    engine_free_item(e, slot);
    return RILL_OK;
}

rill_status engine_finish_cancelled(rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n && e->items.n_cancelled > 0; i++) {
        int32_t slot = t->selected[i];
        const item *it = &e->items.item[slot];
        if (!it->cancelled) continue;
        e->items.n_cancelled--;
        const rill_status status = it->failed < 0 ? it->failed : RILL_ERR_CANCELLED;
        const char *message = it->failed < 0 ? it->fail_reason.data : MESSAGE_CANCELLED;
        RILL__TRY(engine_fail_item(e, slot, e->items.running_index[slot], status, message));
    }
    return RILL_OK;
}

static rill_status fail_timed_out(rill_engine *e, int32_t slot, int32_t place)
{
    char message[120];
    if (e->items.item[slot].input->saved_result != NULL) return engine_fail_item(e, slot, place, RILL_OK, "");
    snprintf(message, sizeof message, "the deadline passed at timestep %d, before there was any %s",
             e->items.item[slot].timestep,
             e->items.item[slot].dropped_truncated ? "complete output, which require-end requires" : "hypothesis");
    return engine_fail_item(e, slot, place, RILL_ERR_DEADLINE, message);
}

/* Make a timed-out input's outputs from its ended entries, or its best ended hypothesis so far (at-limit "best-ended"), or its live
 * entries. */
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
    if (it->input->saved_result != NULL) return fail_timed_out(e, slot, place);
    RILL__TRY(output_beam(e, it));
    if (it->n_outputs == 0) return fail_timed_out(e, slot, place);
    it->timed_out = 1;
    RILL__TRY(engine_finish_item(e, slot));
    running_remove(&e->running, &e->items, place);
    engine_free_nodes(e);
    return RILL_OK;
}

static rill_status drop_waiting(rill_engine *e, double now)
{
    queued_input *in, *next;
    const rill_status status = input_queue_drop_late(e->queue, &e->taker, now, &in);
    for (; in != NULL; in = next) {
        next = in->next;
        engine_deliver_saved(e, in);
        engine_free_input(e, in);
    }
    return status;
}

static void lower_deadline(double *next, const item *it)
{
    if (it->request != NULL && it->request->deadline < *next) *next = it->request->deadline;
}

/* Remove the cancelled and late ready inputs. The deadlines of the others lower *next_deadline. */
static rill_status drop_ready(rill_engine *e, double now, double *next_deadline)
{
    for (int32_t i = 0; i < e->items.n_ready;) {
        const int32_t slot = e->items.ready[i];
        const rill_status reason = input_reason_to_leave(e->items.item[slot].input, now);
        if (reason == RILL_OK) lower_deadline(next_deadline, &e->items.item[slot]);
        i += reason == RILL_OK;
        if (reason == RILL_ERR_CANCELLED) RILL__TRY(engine_fail_item(e, slot, IS_READY, reason, MESSAGE_CANCELLED));
        if (reason == RILL_ERR_DEADLINE) RILL__TRY(fail_timed_out(e, slot, IS_READY));
    }
    return RILL_OK;
}

/* Remove the cancelled and late inputs in flight. The deadlines of the others lower *next_deadline. */
static rill_status drop_running(rill_engine *e, double now, double *next_deadline)
{
    for (int32_t i = e->running.n - 1; i >= 0; i--) {
        const int32_t slot = e->running.slot[i];
        item *it = &e->items.item[slot];
        const rill_status reason = input_reason_to_leave(it->input, now);
        if (reason == RILL_OK || e->items.busy[slot]) lower_deadline(next_deadline, it);
        if (reason == RILL_ERR_CANCELLED && e->items.busy[slot])
            engine_mark_cancelled(e, it);
        else if (reason == RILL_ERR_CANCELLED)
            RILL__TRY(engine_fail_item(e, slot, i, reason, MESSAGE_CANCELLED));
        else if (reason == RILL_ERR_DEADLINE && !e->items.busy[slot])
            RILL__TRY(finish_timed_out(e, i));
    }
    return RILL_OK;
}

/* Remove the cancelled and late inputs of this engine. */
static rill_status drop_items(rill_engine *e, double now)
{
    double next = INFINITY;
    RILL__TRY(drop_ready(e, now, &next));
    RILL__TRY(drop_running(e, now, &next));
    e->requests.next_deadline = next;
    return RILL_OK;
}

rill_status engine_drop_inputs(rill_engine *e)
{
    const double waiting = e->queue->next_deadline, held = e->requests.next_deadline;
    const double now = waiting < INFINITY || held < INFINITY ? requests_now(&e->requests) : -INFINITY;
    if (waiting <= now) RILL__TRY(drop_waiting(e, now));
    return held <= now || e->queue->n_cancelled > 0 ? drop_items(e, now) : RILL_OK;
}

rill_status cancel_not_found(rill_context *ctx, int64_t id)
{
    return rill_fail(ctx, RILL_ERR_NOT_FOUND, "input %lld cannot be cancelled: it has finished, or was never submitted",
                     (long long)id);
}

rill_status rill_engine_cancel(rill_engine *e, int64_t id)
{
    if (e->failed < 0) return e->failed;
    const rill_status status = input_queue_cancel(e->queue, id);
    if (status == RILL_ERR_NOT_FOUND) return cancel_not_found(e->ctx, id);
    if (status < 0) return status;
    const int n_marked = e->queue->n_cancelled;
    if (n_marked > 0) RILL__TRY(drop_items(e, -INFINITY));
    /* RILL_AGAIN: an earlier call marked the input, but had no memory for its result; this call may have made the result */
    return status == RILL_AGAIN && e->queue->n_cancelled == n_marked ? cancel_not_found(e->ctx, id) : RILL_OK;
}
