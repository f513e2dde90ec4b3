/* The schedule: the policy orders, the budget selects.
 *
 * Under a budget items are taken in the policy's order, whole or not at all. One that does not fit while a later one is
 * taken has been passed over; after PATIENCE times it goes first, and an item wider than the budget then goes alone. With no
 * budget all that the policy names are taken. A policy that names nothing is overruled by order of admission: so a timestep
 * always advances an item, and since items are bounded in length every run ends. Under a bound on states the oldest items
 * are taken when what was selected does not fit; bound.c says why runs end then too. */
#include <string.h>

#include "engine_private.h"

enum { PATIENCE = 8 };

/* --- the flight --------------------------------------------------------------------------------------------------- */

rill_status engine_reserve_flight(rill_engine *e, size_t n)
{
    size_t *capacity = e->flight_capacity, marks = capacity[6];
    RILL__TRY(RILL__GROW(e->ctx, e->flight, capacity[0], n, "items in flight"));
    RILL__TRY(RILL__GROW(e->ctx, e->view_timestep, capacity[1], n, "items in flight"));
    RILL__TRY(RILL__GROW(e->ctx, e->view_width, capacity[2], n, "items in flight"));
    RILL__TRY(RILL__GROW(e->ctx, e->view_id, capacity[3], n, "items in flight"));
    RILL__TRY(RILL__GROW(e->ctx, e->view_size, capacity[4], n, "items in flight"));
    RILL__TRY(RILL__GROW(e->ctx, e->view_wave, capacity[5], n, "items in flight"));
    RILL__TRY(RILL__GROW(e->ctx, e->marked, capacity[6], n, "items in flight"));
    memset(e->marked + marks, 0, capacity[6] - marks);
    RILL__TRY(RILL__GROW(e->ctx, e->order, capacity[7], n, "items in flight"));
    RILL__TRY(RILL__GROW(e->ctx, e->picked, capacity[8], n, "items in flight"));
    return RILL__GROW(e->ctx, e->selected, capacity[9], n, "items in flight");
}

void engine_join_flight(rill_engine *e, int32_t slot)
{
    const item *it = &e->items[slot];
    int32_t i = e->n_flight++;
    e->flight[i] = slot;
    e->view_id[i] = it->id;
    e->view_size[i] = it->size;
    e->view_wave[i] = e->wave;
    e->view_timestep[i] = it->timestep;
    e->view_width[i] = it->live;
}

int32_t engine_leave_flight(rill_engine *e)
{
    int32_t slot = e->flight[--e->n_flight];
    if (e->passed_over[slot] >= PATIENCE) e->n_overdue--;
    e->passed_over[slot] = 0;
    return slot;
}

void engine_update_flight(rill_engine *e, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const item *it = &e->items[e->selected[i]];
        e->view_timestep[e->picked[i]] = it->timestep;
        e->view_width[e->picked[i]] = it->live;
    }
}

void engine_move_flight(rill_engine *e, int32_t to, int32_t from)
{
    e->flight[to] = e->flight[from];
    e->view_id[to] = e->view_id[from];
    e->view_size[to] = e->view_size[from];
    e->view_wave[to] = e->view_wave[from];
    e->view_timestep[to] = e->view_timestep[from];
    e->view_width[to] = e->view_width[from];
}

rill_flight engine_view(const rill_engine *e)
{
    return (rill_flight){
        .struct_size = sizeof(rill_flight),
        .n = e->n_flight,
        .item_id = e->view_id,
        .timestep = e->view_timestep,
        .width = e->view_width,
        .size = e->view_size,
        .wave = e->view_wave,
        .batch = e->settings.n,
        .max_items = e->settings.max_items,
        .budget = e->settings.budget,
        .refill = e->settings.refill,
        .waiting = (int64_t)e->intake.n + e->n_ready,
        .timesteps = e->stats.timesteps,
    };
}

/* --- selecting ---------------------------------------------------------------------------------------------------- */

/* What is selected so far. Skipped items wait at the far end of `picked`, which they share: together they are no more than
 * the flight. */
typedef struct pick {
    rill_engine *e;
    int64_t room; /* of the budget */
    int32_t n, n_skipped;
} pick;

/* All that were skipped so far have been passed over by the one that is taken now. */
static void count_skipped(pick *p)
{
    rill_engine *e = p->e;
    for (int32_t i = 0; i < p->n_skipped; i++)
        if (++e->passed_over[e->flight[e->picked[e->n_flight - 1 - i]]] == PATIENCE) e->n_overdue++;
    p->n_skipped = 0;
}

/* Take or skip the item at place `index` of the flight. */
static void consider(pick *p, int32_t index)
{
    rill_engine *e = p->e;
    int32_t slot = e->flight[index], width = e->view_width[index];
    if (e->marked[index]) return;
    if (width > p->room && p->n > 0) {
        /* One that is overdue already needs no more counting, and must not be listed twice. */
        if (e->passed_over[slot] < PATIENCE) e->picked[e->n_flight - 1 - p->n_skipped++] = index;
        return;
    }
    count_skipped(p);
    e->marked[index] = 1;
    if (e->passed_over[slot] >= PATIENCE) e->n_overdue--;
    e->passed_over[slot] = 0;
    e->selected[p->n] = slot;
    e->picked[p->n++] = index;
    p->room = width > p->room ? 0 : p->room - width;
}

/* Items that waited long enough go before the policy's. */
static void consider_overdue(pick *p)
{
    rill_engine *e = p->e;
    for (int32_t i = 0; i < e->n_flight && p->room > 0; i++) {
        if (e->passed_over[e->flight[i]] < PATIENCE) continue;
        consider(p, i);
        e->stats.passed_over_first += e->marked[i];
    }
}

/* The budget of this timestep, from the setting and the user's function. */
static rill_status set_budget(rill_engine *e, rill_flight *flight)
{
    if (e->budget == NULL) return RILL_OK;
    int32_t budget = flight->budget;
    rill_error_clear(e->ctx);
    rill_status status = e->budget(e->budget_user, flight, &budget);
    if (status < 0 && rill_error_status(e->ctx) != status)
        return rill_fail(e->ctx, status, "the budget function failed with %s", rill_status_name(status));
    RILL__TRY(status);
    if (budget < 0)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN,
                         "the budget function gave %d at timestep %lld: a budget is at least 1, or 0 for none", budget,
                         (long long)flight->timesteps);
    flight->budget = budget;
    return RILL_OK;
}

static rill_status ask_policy(rill_engine *e, const rill_flight *flight, int32_t *count)
{
    *count = 0;
    rill_error_clear(e->ctx);
    rill_status status = e->policy->choose(e->policy_self, flight, e->order, count);
    if (status < 0 && rill_error_status(e->ctx) != status)
        return rill_fail(e->ctx, status, "policy %s: choose failed with %s", e->policy->name, rill_status_name(status));
    RILL__TRY(status);
    if (*count < 0 || *count > e->n_flight)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "policy %s chose %d of %d items", e->policy->name, *count,
                         e->n_flight);
    return RILL_OK;
}

/* An item named twice would be expanded once, since it is marked; but then its policy counts wrongly, and is told so. */
static rill_status check_order(rill_engine *e, int32_t count)
{
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < count && status >= 0; i++) {
        int32_t index = e->order[i];
        if (index < 0 || index >= e->n_flight)
            status = rill_fail(e->ctx, RILL_ERR_PLUGIN, "policy %s chose item %d of %d", e->policy->name, index,
                               e->n_flight);
        else if (e->marked[index]++ > 0)
            status = rill_fail(e->ctx, RILL_ERR_PLUGIN, "policy %s chose item %d twice", e->policy->name, index);
    }
    memset(e->marked, 0, (size_t)e->n_flight);
    return status;
}

static int64_t states_wanted(const pick *p)
{
    int64_t wanted = 0;
    for (int32_t i = 0; i < p->n; i++) wanted += bound_need(p->e, p->e->selected[i]);
    return wanted;
}

static void unmark(pick *p)
{
    for (int32_t i = 0; i < p->n; i++) p->e->marked[p->e->picked[i]] = 0;
}

/* Instead of what is selected, for which states are too few: the oldest items that fit, by states and within the budget. The
 * first of the flight is among them, or has failed (bound.c). */
static rill_status pick_oldest(pick *p, int32_t budget)
{
    rill_engine *e = p->e;
    unmark(p);
    bound_pressed(e);
    RILL__TRY(bound_make_room(e));
    *p = (pick){.e = e, .room = budget > 0 ? budget : INT64_MAX};
    int64_t left = bound_free(e);
    for (int32_t i = 0; i < e->n_flight && p->room > 0; i++) {
        int64_t need = bound_need(e, e->flight[i]);
        if (need > left) continue;
        consider(p, i);
        if (e->marked[i]) left -= need;
    }
    return RILL_OK;
}

rill_status engine_choose(rill_engine *e, int32_t *n)
{
    int32_t count;
    rill_flight flight = engine_view(e);
    RILL__TRY(set_budget(e, &flight));
    RILL__TRY(ask_policy(e, &flight, &count));
    RILL__TRY(check_order(e, count));
    pick p = {.e = e, .room = flight.budget > 0 ? flight.budget : INT64_MAX};
    if (e->n_overdue > 0) consider_overdue(&p);
    for (int32_t i = 0; i < count && p.room > 0; i++) consider(&p, e->order[i]);
    if (p.n == 0)
        for (int32_t i = 0; i < e->n_flight && p.room > 0; i++) consider(&p, i);
    if (e->bound.rows > 0 && states_wanted(&p) > bound_free(e)) RILL__TRY(pick_oldest(&p, flight.budget));
    unmark(&p);
    *n = p.n;
    return RILL_OK;
}
