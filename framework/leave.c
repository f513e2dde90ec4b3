/* Inputs that leave before their time: cancelled, or at their deadline.
 *
 * An input without a result is in one of four places: waiting in the intake, ready, in flight, or set aside for want of memory
 * (bound.c). Wherever it is it gives back what it has there; its result takes its turn like any other. Items leave between their
 * timesteps only: busy ones (loop.c) wait for the end of theirs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rooms.h"

/* The item at that place leaves the flight; those behind it move up. */
static void leave_flight(rill_engine *e, int32_t place)
{
    flight *f = &e->flight;
    flight_forgive(f, &e->items, f->slot[place]);
    for (int32_t i = place + 1; i < f->n; i++) flight_move(f, &e->items, i - 1, i);
    f->n--;
}

/* Where an input is that has no place in flight. */
enum { IS_READY = -1, IS_PARKED = -2, IS_WAITING = -3, IS_NOWHERE = -4 };

/* An item leaves without outputs: from its place in flight, or where it IS. With status RILL_OK it has those of an earlier search. */
static rill_status fail_item(rill_engine *e, int32_t slot, int32_t place, rill_status status, const char *message)
{
    item *it = &e->items.at[slot];
    if (status < 0)
        RILL__TRY(engine_fail_input(e, it->id, it->request, status, message));
    else
        engine_give_found(e, it);
    if (place == IS_READY) {
        items_not_ready(&e->items, slot);
    } else if (place == IS_PARKED) {
        bound_not_parked(e, slot);
    } else {
        leave_flight(e, place);
        tracing_item(&e->tracing, RILL_TRACE_FINISHED, e->statistics.all.timesteps, slot, it, status);
    }
    statistics_forget(&e->statistics, it);
    engine_drop_item(e, slot);
    engine_free_nodes(e);
    return RILL_OK;
}

static rill_status fail_waiting(rill_engine *e, int32_t i, rill_status status, const char *message)
{
    int32_t entry = intake_at(&e->intake, i);
    const intake_entry *in = &e->intake.entries[entry];
    RILL__TRY(engine_fail_input(e, in->id, in->request, status, message));
    intake_remove(&e->intake, i);
    engine_forget_input(e, entry);
    return RILL_OK;
}

/* --- cancelling --------------------------------------------------------------------------------------------------- */

/* Where the input is: its place in flight, or where it IS; *at: the number in the intake of one that waits, else the slot. */
static int32_t find(const rill_engine *e, int64_t id, int32_t *at)
{
    for (*at = 0; *at < e->intake.n; ++*at)
        if (e->intake.entries[intake_at(&e->intake, *at)].id == id) return IS_WAITING;
    for (*at = e->items.first_ready; *at >= 0; *at = e->items.at[*at].next)
        if (e->items.at[*at].id == id) return IS_READY;
    *at = e->bound.last_parked;
    for (int32_t left = e->bound.n_parked; left > 0; left--, *at = e->items.at[*at].next)
        if (e->items.at[*at].id == id) return IS_PARKED;
    for (int32_t place = 0; place < e->flight.n; place++) {
        *at = e->flight.slot[place];
        if (e->flight.id[place] == id) return place;
    }
    return IS_NOWHERE;
}

rill_status leave_not_found(rill_context *ctx, int64_t id)
{
    return rill_fail(ctx, RILL_ERR_NOT_FOUND, "input %lld is not there to be cancelled", (long long)id);
}

static rill_status cancel_item(rill_engine *e, int32_t slot, int32_t place)
{
    return fail_item(e, slot, place, RILL_ERR_CANCELLED, LEAVE_CANCELLED);
}

rill_status engine_leave_cancelled(rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n && e->items.n_cancelled > 0; i++) {
        int32_t slot = t->selected[i];
        const item *it = &e->items.at[slot];
        if (!it->cancelled) continue;
        e->items.n_cancelled--;
        if (it->failed < 0)
            RILL__TRY(fail_item(e, slot, e->items.place[slot], it->failed, it->refused.data));
        else
            RILL__TRY(cancel_item(e, slot, e->items.place[slot]));
    }
    return RILL_OK;
}

int engine_is_of_input(rill_status status)
{
    return status < 0 && status != RILL_ERR_MEMORY && status != RILL_ERR_STOPPED && status != RILL_ERR_CHECK;
}

rill_status engine_fail_selected(rill_engine *e, int32_t slot, rill_status status, const char *why)
{
    item *it = &e->items.at[slot];
    if (it->failed < 0) return RILL_OK;
    rill_text_reset(&it->refused);
    RILL__TRY(rill_text_append(&it->refused, why, strlen(why)));
    it->failed = status;
    e->items.n_cancelled += !it->cancelled;
    it->cancelled = 1;
    return RILL_OK;
}

/* It leaves when its timestep is over. */
static rill_status cancel_busy(rill_engine *e, int32_t slot)
{
    item *it = &e->items.at[slot];
    if (it->cancelled) return leave_not_found(e->ctx, it->id);
    it->cancelled = 1;
    e->items.n_cancelled++;
    return RILL_OK;
}

int engine_has(const rill_engine *e, int64_t id)
{
    int32_t at, place = find(e, id, &at);
    return place < 0 ? place != IS_NOWHERE : !e->items.at[at].cancelled;
}

rill_status rill_engine_cancel(rill_engine *e, int64_t id)
{
    int32_t at, place;
    if (e->failed < 0) return e->failed;
    place = find(e, id, &at);
    if (place == IS_NOWHERE) return leave_not_found(e->ctx, id);
    if (place == IS_WAITING) return fail_waiting(e, at, RILL_ERR_CANCELLED, LEAVE_CANCELLED);
    return place >= 0 && e->items.busy[at] ? cancel_busy(e, at) : cancel_item(e, at, place);
}

/* --- deadlines ---------------------------------------------------------------------------------------------------- */

static int is_late(const request *r, double now)
{
    return r != NULL && r->deadline <= now;
}

static rill_status fail_late(rill_engine *e, int32_t slot, int32_t place)
{
    char message[120];
    if (e->items.at[slot].found != NULL) return fail_item(e, slot, place, RILL_OK, "");
    snprintf(message, sizeof message, "the deadline came at timestep %d, before there was any %s",
             e->items.at[slot].timestep, e->items.at[slot].cut ? "whole output, as require-end wants" : "hypothesis");
    return fail_item(e, slot, place, RILL_ERR_LATE, message);
}

/* The ended entries of the beam become outputs, and if there is none at all the live ones do, unless one that ended is kept for that. */
static rill_status end_now(rill_engine *e, item *it)
{
    int32_t found = it->n_outputs;
    if (it->timestep == 0) return RILL_OK; /* nothing but the empty hypothesis */
    RILL__TRY(RILL__GROW(e->ctx, it->outputs, it->outputs_capacity, (size_t)(found + it->width), "outputs"));
    for (int ended = 1; ended >= 0; ended--) {
        if (!ended && found == 0) found = best_ended_output(e, it);
        for (int32_t i = 0; i < it->width && (ended || found == 0); i++) {
            beam_entry *entry = &it->beam[i];
            if ((entry->ended != 0) != ended) continue;
            item_output output = ended ? ending_output(it->settings, entry->score, entry->history, entry->length, 0,
                                                       entry->ended == RILL_END)
                                       : ending_output(it->settings, entry->score, entry->history, it->timestep, 1,
                                                       it->settings->at_limit == RILL_LIMIT_END_FREE);
            entry->history = -1;
            engine_output(e, it, &output);
            found += ended;
        }
    }
    return RILL_OK;
}

static rill_status finish_late(rill_engine *e, int32_t place)
{
    int32_t slot = e->flight.slot[place];
    item *it = &e->items.at[slot];
    if (it->found != NULL) return fail_late(e, slot, place); /* which is more than half of another search */
    RILL__TRY(end_now(e, it));
    if (it->n_outputs == 0) return fail_late(e, slot, place);
    it->late = 1;
    RILL__TRY(engine_finish_item(e, slot));
    leave_flight(e, place);
    engine_free_nodes(e);
    return RILL_OK;
}

/* The earliest deadline of an input without a result. */
static double next_deadline(const rill_engine *e)
{
    double next = INFINITY;
    for (size_t i = 0; i < e->intake.entries_capacity; i++) {
        const request *r = e->intake.entries[i].request;
        if (r != NULL && r->deadline < next) next = r->deadline;
    }
    return next;
}

rill_status engine_meet_deadlines(rill_engine *e)
{
    if (e->requests.n_deadlines == 0) return RILL_OK;
    double now = requests_now(&e->requests);
    if (now < e->requests.next) return RILL_OK;
    for (int32_t i = e->intake.n - 1; i >= 0; i--)
        if (is_late(e->intake.entries[intake_at(&e->intake, i)].request, now))
            RILL__TRY(fail_waiting(e, i, RILL_ERR_LATE, LEAVE_LATE));
    for (int32_t slot = e->items.first_ready, next; slot >= 0; slot = next) {
        next = e->items.at[slot].next;
        if (is_late(e->items.at[slot].request, now)) RILL__TRY(fail_late(e, slot, IS_READY));
    }
    for (int32_t left = e->bound.n_parked, slot = e->bound.last_parked, next; left > 0; left--, slot = next) {
        next = e->items.at[slot].next;
        if (is_late(e->items.at[slot].request, now)) RILL__TRY(fail_late(e, slot, IS_PARKED));
    }
    for (int32_t i = e->flight.n - 1; i >= 0; i--) {
        int32_t slot = e->flight.slot[i];
        if (!e->items.busy[slot] && is_late(e->items.at[slot].request, now)) RILL__TRY(finish_late(e, i));
    }
    e->requests.next = next_deadline(e);
    return RILL_OK;
}
