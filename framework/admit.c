/* Admission: inputs leave the intake, are encoded into slots, and join the flight when the policy says so.
 *
 * Invariant: a slot is in exactly one of free_slots, ready and flight, but for the moment in which its input is encoded.
 *
 * Divisions: slots · encoding · refilling. */
#include <math.h>
#include <string.h>

#include "engine_private.h"

/* --- slots -------------------------------------------------------------------------------------------------------- */

rill_status engine_domain_status(rill_engine *e, rill_status status, const char *method)
{
    if (status >= 0 || rill_error_status(e->ctx) == status) return status;
    return rill_fail(e->ctx, status, "domain %s: %s failed with %s", e->domain->name, method, rill_status_name(status));
}

rill_status engine_reserve_domain(rill_engine *e)
{
    int32_t nodes = e->forest.row_capacity, slots = (int32_t)e->slots;
    if (nodes <= e->model->reserved_nodes && slots <= e->model->reserved_slots) return RILL_OK;
    /* Never less than an earlier engine on this model asked for. */
    if (nodes < e->model->reserved_nodes) nodes = e->model->reserved_nodes;
    if (slots < e->model->reserved_slots) slots = e->model->reserved_slots;
    rill_error_clear(e->ctx);
    RILL__TRY(engine_domain_status(e, e->domain->reserve(e->self, nodes, slots), "reserve"));
    e->model->reserved_nodes = nodes;
    e->model->reserved_slots = slots;
    return RILL_OK;
}

static rill_status grow_slots(rill_engine *e, int32_t need)
{
    size_t old = e->slots, wanted = old - (size_t)e->n_free + (size_t)need;
    if ((size_t)e->n_free >= (size_t)need) return RILL_OK;
    if (wanted < old + old / 2) wanted = old + old / 2;
    /* The lists first: when the items have grown there is a place for each in every list. */
    RILL__TRY(RILL__GROW(e->ctx, e->free_slots, e->free_slots_capacity, wanted + wanted / 2 + 8, "slots"));
    RILL__TRY(engine_reserve_flight(e, wanted + wanted / 2 + 8));
    RILL__TRY(RILL__GROW(e->ctx, e->ready, e->ready_capacity, 2 * (wanted + wanted / 2 + 8), "slots"));
    RILL__TRY(RILL__GROW(e->ctx, e->done, e->done_capacity, wanted + wanted / 2 + 8, "slots"));
    RILL__TRY(RILL__GROW(e->ctx, e->passed_over, e->passed_over_capacity, wanted + wanted / 2 + 8, "slots"));
    RILL__TRY(RILL__GROW(e->ctx, e->items, e->slots, wanted, "slots"));
    memset(e->items + old, 0, (e->slots - old) * sizeof *e->items);
    memset(e->done + old, 0, e->slots - old);
    for (size_t slot = e->slots; slot > old; slot--) e->free_slots[e->n_free++] = (int32_t)slot - 1;
    return RILL_OK;
}

void engine_clear_item(rill_engine *e, int32_t slot)
{
    item *it = &e->items[slot];
    /* Rows that are still in use must be given back one by one; without any the arena goes as a whole. */
    if (it->width > 0 || e->forest.need == RILL_STATE_PATH) {
        for (int32_t i = 0; i < it->width; i++)
            if (it->beam[i].history >= 0) forest_release(&e->forest, &it->arena, it->beam[i].history);
        for (int32_t i = 0; i < it->n_outputs; i++) forest_release(&e->forest, &it->arena, it->outputs[i].history);
    }
    forest_arena_drop(&e->forest, &it->arena);
    it->width = it->live = it->n_outputs = 0;
}

void engine_drop_item(rill_engine *e, int32_t slot)
{
    engine_clear_item(e, slot);
    bound_dropped(e, slot);
    if (e->domain->drop != NULL) e->domain->drop(e->self, slot);
    e->free_slots[e->n_free++] = slot;
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

rill_status engine_begin_item(rill_engine *e, int32_t slot)
{
    item *it = &e->items[slot];
    RILL__TRY(RILL__GROW(e->ctx, it->beam, it->beam_capacity, 1, "a beam"));
    RILL__TRY(forest_reserve_histories(&e->forest, 1, 1));
    forest_arena_init(&it->arena);
    int32_t root = forest_add(&e->forest, &it->arena, -1, -1, RILL_ACTION_START, 0, 0, 1);
    it->timestep = it->n_outputs = it->top_ended = 0;
    it->best_output = RILL_SCORE_DEAD;
    it->stop_asked = 0;
    e->done[slot] = e->passed_over[slot] = 0;
    it->beam[0] = (beam_entry){.history = root, .action = RILL_ACTION_START, .state_row = RILL_NO_NODE};
    it->width = it->live = 1;
    return RILL_OK;
}

/* Most actions: what the settings ask for, within what the domain can do; else what the domain says. */
static int32_t length_limit(const rill_engine *e, const rill_input *input)
{
    const rill_settings *s = &e->settings;
    int32_t own = input->max_length, most = e->info.most_length > 0 ? e->info.most_length : own > 0 ? own : INT32_MAX;
    double asked = floor(s->max_length_factor * (double)input->size) + s->max_length,
           limit = own > 0 ? own : e->info.max_length;
    if (s->max_length > 0 || s->max_length_factor > 0) limit = asked > 1 ? asked : 1;
    /* The end action that is forced behind the last one takes a timestep too. */
    if (s->at_limit == RILL_LIMIT_END && most < INT32_MAX) most--;
    return limit < most ? (int32_t)limit : most;
}

static rill_status start_item(rill_engine *e, const rill_input *input)
{
    item *it = &e->items[input->slot];
    it->id = input->id;
    it->size = input->size;
    it->max_length = length_limit(e, input);
    return engine_begin_item(e, input->slot);
}

static void make_ready(rill_engine *e, int32_t slot)
{
    if ((size_t)(e->first_ready + e->n_ready) == e->ready_capacity) {
        memmove(e->ready, e->ready + e->first_ready, (size_t)e->n_ready * sizeof *e->ready);
        e->first_ready = 0;
    }
    e->ready[e->first_ready + e->n_ready++] = slot;
}

void engine_return_item(rill_engine *e, int32_t slot)
{
    if (e->first_ready == 0) {
        /* Half of the list at least is unused. */
        e->first_ready = (int32_t)e->ready_capacity - e->n_ready;
        memmove(e->ready + e->first_ready, e->ready, (size_t)e->n_ready * sizeof *e->ready);
    }
    e->ready[--e->first_ready] = slot;
    e->n_ready++;
}

static void leave_slot(rill_engine *e, int32_t slot)
{
    if (e->domain->drop != NULL) e->domain->drop(e->self, slot);
    e->free_slots[e->n_free++] = slot;
}

/* Take the outcome of each encoded input: an item that is ready, or a failed result. */
static rill_status settle_inputs(rill_engine *e, int32_t n)
{
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < n; i++) {
        rill_input *input = &e->inputs[i];
        if (input->status < 0)
            e->free_slots[e->n_free++] = input->slot;
        else if (bound_encoded(e, input, e->input_measured[i]) < 0)
            leave_slot(e, input->slot);
        if (input->status < 0) {
            if (status >= 0) status = engine_fail_input(e, input->id, input->status, input->message);
            continue;
        }
        if (status >= 0) status = start_item(e, input);
        if (status >= 0) {
            make_ready(e, input->slot);
        } else {
            /* The run is over, but the domain has this slot filled and expects to hear of its end. */
            leave_slot(e, input->slot);
        }
    }
    return status;
}

/* Encode the next `count` waiting inputs in one call. Inputs that were bad when submitted only get their results. */
static rill_status encode(rill_engine *e, int32_t count)
{
    RILL__TRY(grow_slots(e, count));
    RILL__TRY(RILL__GROW(e->ctx, e->inputs, e->inputs_capacity, (size_t)count, "inputs"));
    RILL__TRY(RILL__GROW(e->ctx, e->input_measured, e->measured_capacity, (size_t)count, "inputs"));
    RILL__TRY(engine_reserve_domain(e));
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++) {
        const intake_entry *entry = intake_at(&e->intake, i);
        if (entry->failed < 0) {
            RILL__TRY(engine_fail_input(e, entry->id, entry->failed, entry->text));
            continue;
        }
        e->input_measured[n] = entry->size;
        rill_input *input = &e->inputs[n++];
        *input = (rill_input){.text = entry->text, .length = entry->length, .id = entry->id, .size = entry->size};
        input->slot = e->free_slots[--e->n_free];
    }
    double start = engine_now();
    rill_error_clear(e->ctx);
    rill_status status = n > 0 ? engine_domain_status(e, e->domain->encode(e->self, n, e->inputs), "encode") : RILL_OK;
    e->seconds.encode += engine_now() - start;
    RILL__TRY(status);
    status = settle_inputs(e, n);
    intake_take(&e->intake, count);
    return status;
}

/* --- refilling ---------------------------------------------------------------------------------------------------- */

/* Between the flush's start and the last item's end nothing is admitted. */
static int flush_in_progress(rill_engine *e)
{
    if (e->settings.flush_every == 0) return 0;
    if (e->n_flight == 0) {
        e->flushing = 0;
        e->flush_from = e->stats.timesteps;
    } else if (e->stats.timesteps - e->flush_from >= e->settings.flush_every) {
        e->flushing = 1;
    }
    return e->flushing;
}

static rill_status ask_policy(rill_engine *e, int32_t *admit, int32_t *ahead)
{
    rill_flight flight = engine_view(e);
    *admit = *ahead = 0;
    rill_error_clear(e->ctx);
    rill_status status = e->policy->refill(e->policy_self, &flight, admit);
    if (status < 0 && rill_error_status(e->ctx) != status)
        return rill_fail(e->ctx, status, "policy %s: refill failed with %s", e->policy->name, rill_status_name(status));
    RILL__TRY(status);
    int32_t room = e->settings.max_items - e->n_flight;
    if (*admit > room) *admit = room;
    if (*admit < 1 && e->n_flight == 0) *admit = room;
    int32_t fit = bound_admit(e, *admit), bounded = fit < *admit;
    *admit = fit;
    if (*admit > 0 && !bounded && e->policy->encode_ahead != NULL)
        *ahead = e->policy->encode_ahead(e->policy_self, &flight);
    if (*ahead < 0) *ahead = 0;
    return RILL_OK;
}

/* Paused items keep the states that their candidates continue: about two each, and a timestep's worth more, which a generous
 * budget must not blow up, and which a budget set step by step does not tell. Growing to that at once spares the domain
 * copying its tables over and over while a large flight starts. */
static rill_status expect_rows(rill_engine *e, int32_t admit)
{
    if (e->info.state_need == RILL_STATE_PATH) return RILL_OK;
    enum { ROWS_PER_ITEM = 2 };
    int32_t waiting = e->intake.n + e->n_ready, items = admit < waiting ? admit : waiting, grew;
    int64_t width = e->settings.k < ROWS_PER_ITEM ? e->settings.k : ROWS_PER_ITEM;
    int64_t paused = items * width, at_work = e->budget != NULL ? 0 : e->settings.budget;
    if (at_work > paused) at_work = paused;
    int64_t expected = paused + at_work, most = bound_free(e);
    return forest_reserve_rows(&e->forest, expected < most ? expected : most, &grew);
}

static void join_flight(rill_engine *e)
{
    int32_t slot = e->ready[e->first_ready++];
    if (--e->n_ready == 0) e->first_ready = 0;
    engine_join_flight(e, slot);
    if (e->trace != NULL)
        e->trace(e->trace_user, &(rill_trace_event){.kind = RILL_TRACE_ADMITTED,
                                                    .timestep = e->stats.timesteps,
                                                    .item_id = e->items[slot].id,
                                                    .slot = slot});
}

rill_status engine_admit(rill_engine *e)
{
    int32_t admit, ahead, admitted = 0;
    if (flush_in_progress(e) || e->intake.n + e->n_ready == 0) return RILL_OK;
    RILL__TRY(intake_seal(&e->intake));
    RILL__TRY(ask_policy(e, &admit, &ahead));
    if (admit > 0) RILL__TRY(expect_rows(e, admit));
    while (admitted < admit && e->intake.n + e->n_ready > 0) {
        int32_t missing = admit - admitted;
        if (e->n_ready == 0) {
            int64_t wanted = (int64_t)missing + ahead;
            int32_t count = bound_encode(e, wanted < e->intake.n ? (int32_t)wanted : e->intake.n);
            if (count == 0) break;
            RILL__TRY(encode(e, count));
        }
        for (; admitted < admit && e->n_ready > 0; admitted++) join_flight(e);
    }
    if (admitted > 0) {
        e->stats.refills++;
        e->wave++;
    }
    if (e->n_flight > e->stats.items_peak) e->stats.items_peak = e->n_flight;
    return RILL_OK;
}
