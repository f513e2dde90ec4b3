/* The schedule: the policy orders, the budget selects.
 *
 * Under a budget items are taken in the policy's order, whole or not at all. One that does not fit while a later one is
 * taken has been passed over; after PATIENCE times it goes first, and an item wider than the budget then goes alone. With no
 * budget all that the policy names are taken. A policy that names nothing is overruled by order of admission: so a timestep
 * always advances an item, and since items are bounded in length every run ends. */
#include "engine_private.h"

enum { PATIENCE = 8 };

/* Gather the columns; every item is a cache line or two, so this is done once per timestep. */
static rill_status gather_view(rill_engine *e)
{
    size_t n = (size_t)e->n_flight;
    RILL__TRY(RILL__GROW(e->ctx, e->view_id, e->view_capacity[0], n, "the policy's view"));
    RILL__TRY(RILL__GROW(e->ctx, e->view_size, e->view_capacity[1], n, "the policy's view"));
    RILL__TRY(RILL__GROW(e->ctx, e->view_wave, e->view_capacity[2], n, "the policy's view"));
    RILL__TRY(RILL__GROW(e->ctx, e->view_timestep, e->view_capacity[3], n, "the policy's view"));
    RILL__TRY(RILL__GROW(e->ctx, e->view_width, e->view_capacity[4], n, "the policy's view"));
    RILL__TRY(RILL__GROW(e->ctx, e->order, e->view_capacity[5], n, "the policy's view"));
    RILL__TRY(RILL__GROW(e->ctx, e->selected, e->view_capacity[6], n, "the policy's view"));
    for (int32_t i = 0; i < e->n_flight; i++) {
        const item *it = &e->items[e->flight[i]];
        e->view_id[i] = it->id;
        e->view_size[i] = it->size;
        e->view_wave[i] = it->wave;
        e->view_timestep[i] = it->timestep;
        e->view_width[i] = it->live;
    }
    e->viewed = 1;
    return RILL_OK;
}

rill_status engine_view(rill_engine *e, rill_flight *flight)
{
    if (!e->viewed) RILL__TRY(gather_view(e));
    *flight = (rill_flight){
        .struct_size = sizeof *flight,
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
    return RILL_OK;
}

/* What is selected so far. Skipped items wait at the far end of `selected`, which they share: together they are no more than
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
        if (++e->items[e->selected[e->n_flight - 1 - i]].passed_over == PATIENCE) e->n_overdue++;
    p->n_skipped = 0;
}

static void consider(pick *p, int32_t slot)
{
    rill_engine *e = p->e;
    item *it = &e->items[slot];
    if (e->marked[slot]) return;
    if (it->live > p->room && p->n > 0) {
        /* One that is overdue already needs no more counting, and must not be listed twice. */
        if (it->passed_over < PATIENCE) e->selected[e->n_flight - 1 - p->n_skipped++] = slot;
        return;
    }
    count_skipped(p);
    e->marked[slot] = 1;
    if (it->passed_over >= PATIENCE) e->n_overdue--;
    it->passed_over = 0;
    e->selected[p->n++] = slot;
    p->room = it->live > p->room ? 0 : p->room - it->live;
}

/* Items that waited long enough go before the policy's. */
static void consider_overdue(pick *p)
{
    rill_engine *e = p->e;
    for (int32_t i = 0; i < e->n_flight && p->room > 0; i++) {
        int32_t slot = e->flight[i];
        if (e->items[slot].passed_over < PATIENCE) continue;
        consider(p, slot);
        e->stats.passed_over_first += e->marked[slot];
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
    for (int32_t i = 0; i < *count; i++)
        if (e->order[i] < 0 || e->order[i] >= e->n_flight)
            return rill_fail(e->ctx, RILL_ERR_PLUGIN, "policy %s chose item %d of %d", e->policy->name, e->order[i],
                             e->n_flight);
    return RILL_OK;
}

/* An item named twice would be expanded once, since it is marked; but then its policy counts wrongly, and is told so. */
static rill_status refuse_repetition(rill_engine *e, int32_t count)
{
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < count && status >= 0; i++) {
        uint8_t *seen = &e->marked[e->flight[e->order[i]]];
        if (*seen)
            status = rill_fail(e->ctx, RILL_ERR_PLUGIN, "policy %s chose item %d twice", e->policy->name, e->order[i]);
        *seen = 1;
    }
    for (int32_t i = 0; i < count; i++) e->marked[e->flight[e->order[i]]] = 0;
    return status;
}

rill_status engine_choose(rill_engine *e, int32_t *n)
{
    int32_t count;
    rill_flight flight;
    RILL__TRY(engine_view(e, &flight));
    RILL__TRY(set_budget(e, &flight));
    RILL__TRY(ask_policy(e, &flight, &count));
    RILL__TRY(refuse_repetition(e, count));
    pick p = {.e = e, .room = flight.budget > 0 ? flight.budget : INT64_MAX};
    if (e->n_overdue > 0) consider_overdue(&p);
    for (int32_t i = 0; i < count && p.room > 0; i++) consider(&p, e->flight[e->order[i]]);
    if (p.n == 0)
        for (int32_t i = 0; i < e->n_flight && p.room > 0; i++) consider(&p, e->flight[i]);
    for (int32_t i = 0; i < p.n; i++) e->marked[e->selected[i]] = 0;
    *n = p.n;
    return RILL_OK;
}
