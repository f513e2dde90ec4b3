/* The schedule: the policy orders, the budget selects.
 *
 * Under a budget items are taken in the policy's order, whole or not at all. One that does not fit while a later one is
 * taken has been passed over; after FLIGHT_PATIENCE times it goes first, and an item wider than the budget then goes alone. With no
 * budget all that the policy names are taken. An item that the policy does not name for FLIGHT_ROUNDS rounds goes first too, so that
 * none waits for the end of the stream while new ones come in. A policy that names nothing is overruled by order of admission: so a
 * timestep always advances an item, and since items are bounded in length every run ends. Under a bound on states the oldest items
 * are taken when what was selected does not fit; bound.c says why runs end then too. */
#include <string.h>

#include "rooms.h"

/* --- making ------------------------------------------------------------------------------------------------------- */

static const char *method_policy(const char *method)
{
    const rill_method_info *m = rill_method_table();
    while (strcmp(m->name, method) != 0) m++;
    return m->policy;
}

rill_status schedule_create(rill_engine *e, const rill_chain_entry *wanted)
{
    const char *name = wanted != NULL ? wanted->name : method_policy(e->settings.method);
    const char *arguments = wanted != NULL && wanted->arguments != NULL ? wanted->arguments : "";
    const rill_policy *policy = rill_find_policy(e->ctx, name);
    if (policy == NULL) return rill__unknown(e->ctx, "policy", &e->ctx->policies, name);
    rill_error_clear(e->ctx);
    rill_status status = policy->create != NULL ? policy->create(policy, e->ctx, arguments, &e->schedule.self)
                                                : RILL_OK;
    RILL__TRY(rill__method_status(e->ctx, status, "policy", name, "create"));
    if (policy->create == NULL && arguments[0] != '\0')
        return rill_fail(e->ctx, RILL_ERR_OPTION, "policy %s takes no arguments, \"%s\" was given", name, arguments);
    e->schedule.policy = policy;
    return RILL_OK;
}

void schedule_destroy(schedule *s)
{
    rill_columns_free(s->ctx, &s->idle.memory);
    if (s->policy != NULL && s->policy->destroy != NULL) s->policy->destroy(s->self);
}

rill_flight schedule_view(const rill_engine *e)
{
    return (rill_flight){
        .struct_size = sizeof(rill_flight),
        .n = e->flight.n,
        .item_id = e->flight.id,
        .timestep = e->flight.timestep,
        .width = e->flight.width,
        .size = e->flight.size,
        .wave = e->flight.wave,
        .batch = e->settings.n,
        .max_items = e->settings.max_items,
        .budget = e->settings.budget,
        .refill = e->settings.refill,
        .waiting = engine_waiting(e),
        .timesteps = e->statistics.all.timesteps,
        .k = e->settings.k,
    };
}

/* What may be selected: all that are in flight; of these the idle ones, where some are busy. */
static rill_status idle_view(rill_engine *e, rill_flight *view)
{
    idle_columns *s = &e->schedule.idle;
    const flight *f = &e->flight;
    const rill_array columns[] = {RILL_ARRAY(s->place), RILL_ARRAY(s->timestep), RILL_ARRAY(s->width),
                                  RILL_ARRAY(s->id),    RILL_ARRAY(s->size),     RILL_ARRAY(s->wave)};
    *view = schedule_view(e);
    if (e->items.n_busy == 0) return RILL_OK;
    RILL__TRY(rill_columns_grow(e->ctx, &s->memory, (size_t)f->n, columns, sizeof columns / sizeof *columns,
                                "items in flight"));
    view->n = 0;
    for (int32_t i = 0; i < f->n; i++) {
        if (e->items.busy[f->slot[i]]) continue;
        int32_t to = view->n++;
        s->place[to] = i;
        s->timestep[to] = f->timestep[i];
        s->width[to] = f->width[i];
        s->id[to] = f->id[i];
        s->size[to] = f->size[i];
        s->wave[to] = f->wave[i];
    }
    view->item_id = s->id;
    view->timestep = s->timestep;
    view->width = s->width;
    view->size = s->size;
    view->wave = s->wave;
    return RILL_OK;
}

/* --- selecting ---------------------------------------------------------------------------------------------------- */

/* What is selected so far. Nothing is counted before the selection stands: one that is given up for want of nodes has passed over no
 * item, and has served none. */
typedef struct pick {
    rill_engine *e;
    timestep *t;
    int64_t room;                  /* of the budget */
    int32_t n_skipped, n_overtook; /* items skipped; of these, before the one that was taken last */
    int32_t n_first;               /* overdue ones that were taken for that */
} pick;

/* Take or skip the item at place `index` of the flight. */
static void consider(pick *p, int32_t index)
{
    flight *f = &p->e->flight;
    items *all = &p->e->items;
    int32_t slot = f->slot[index], width = f->width[index];
    if ((f->marked[index] & FLIGHT_TAKEN) || all->busy[slot]) return;
    if (width > p->room && p->t->n > 0) {
        /* One that is overdue already needs no more counting, and must not be listed twice. */
        if (all->passed_over[slot] < FLIGHT_PATIENCE) f->skipped[p->n_skipped++] = index;
        return;
    }
    p->n_overtook = p->n_skipped;
    f->marked[index] |= FLIGHT_TAKEN;
    p->t->selected[p->t->n++] = slot;
    p->room = width > p->room ? 0 : p->room - width;
}

/* Items that waited long enough go before the policy's. */
static void consider_overdue(pick *p)
{
    flight *f = &p->e->flight;
    for (int32_t i = 0; i < f->n && p->room > 0; i++) {
        if (p->e->items.passed_over[f->slot[i]] < FLIGHT_PATIENCE) continue;
        consider(p, i);
        p->n_first += f->marked[i];
    }
}

/* Once in a round, in which as many hypotheses are expanded as are in flight: items that the policy leaves waiting become overdue. */
static void find_neglected(rill_engine *e)
{
    flight *f = &e->flight;
    const int64_t now = e->statistics.all.expansions;
    if (now < e->schedule.look_at) return;
    const int64_t live = flight_live(f);
    for (int32_t i = 0; i < f->n; i++) {
        uint8_t *passed_over = &e->items.passed_over[f->slot[i]];
        if (now - e->items.at[f->slot[i]].expanded <= FLIGHT_ROUNDS * live || *passed_over >= FLIGHT_PATIENCE) continue;
        *passed_over = FLIGHT_PATIENCE;
        f->n_overdue++;
    }
    e->schedule.look_at = now + live;
}

/* The budget of this timestep, from the setting and the user's function. */
static rill_status set_budget(rill_engine *e, rill_flight *view)
{
    if (e->schedule.budget == NULL) return RILL_OK;
    int32_t budget = view->budget;
    rill_error_clear(e->ctx);
    rill_status status = e->schedule.budget(e->schedule.budget_user, view, &budget);
    if (status < 0 && rill_error_status(e->ctx) != status)
        return rill_fail(e->ctx, status, "the budget function failed with %s", rill_status_name(status));
    RILL__TRY(status);
    if (budget < 0)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN,
                         "the budget function gave %d at timestep %lld: a budget is at least 1, or 0 for none", budget,
                         (long long)view->timesteps);
    view->budget = budget;
    return RILL_OK;
}

static rill_status ask_policy(rill_engine *e, const rill_flight *view, int32_t *count)
{
    *count = 0;
    rill_error_clear(e->ctx);
    rill_status status = e->schedule.policy->choose(e->schedule.self, view, e->flight.order, count);
    RILL__TRY(rill__method_status(e->ctx, status, "policy", e->schedule.policy->name, "choose"));
    if (*count < 0 || *count > view->n)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "policy %s chose %d of %d items", e->schedule.policy->name, *count,
                         view->n);
    return RILL_OK;
}

static void unmark(pick *p)
{
    for (int32_t i = 0; i < p->t->n; i++) p->e->flight.marked[p->e->items.place[p->t->selected[i]]] = 0;
}

/* Take what the policy named, as far as there is room. An item named twice would be expanded once, since it is marked; but then its
 * policy counts wrongly, and is told so where it is come to. While some items are busy the policy has named places among the idle ones. */
static rill_status consider_named(pick *p, int32_t n, int32_t count)
{
    rill_engine *e = p->e;
    flight *f = &e->flight;
    int32_t looked = 0;
    rill_status status = RILL_OK;
    for (; status >= 0 && looked < count && p->room > 0; looked++) {
        const int32_t named = f->order[looked], there = named >= 0 && named < n;
        const int32_t index = there && e->items.n_busy > 0 ? e->schedule.idle.place[named] : named;
        if (!there)
            status = rill_fail(e->ctx, RILL_ERR_PLUGIN, "policy %s chose item %d of %d", e->schedule.policy->name,
                               named, n);
        else if (f->marked[index] & FLIGHT_NAMED)
            status = rill_fail(e->ctx, RILL_ERR_PLUGIN, "policy %s chose item %d twice", e->schedule.policy->name,
                               named);
        if (status < 0) break;
        f->order[looked] = index;
        f->marked[index] |= FLIGHT_NAMED;
        consider(p, index);
    }
    for (int32_t i = 0; i < looked; i++) f->marked[f->order[i]] &= (uint8_t)~FLIGHT_NAMED;
    if (status < 0) unmark(p);
    return status;
}

static int64_t nodes_wanted(const pick *p)
{
    int64_t wanted = 0;
    for (int32_t i = 0; i < p->t->n; i++) wanted += bound_need(p->e, p->t->selected[i]);
    return wanted;
}

/* The selection stands: those that were skipped before one that is taken have been passed over. */
static void settle(pick *p)
{
    flight *f = &p->e->flight;
    items *all = &p->e->items;
    for (int32_t i = 0; i < p->n_overtook; i++)
        if (++all->passed_over[f->slot[f->skipped[i]]] == FLIGHT_PATIENCE) f->n_overdue++;
    for (int32_t i = 0; i < p->t->n; i++) flight_forgive(f, all, p->t->selected[i]);
    p->e->statistics.all.passed_over_first += p->n_first;
    unmark(p);
}

/* Instead of what is selected, for which states are too few: the oldest items that fit, by states and within the budget. The
 * first of the flight is among them, or has failed (bound.c). */
static rill_status pick_oldest(pick *p, int64_t room)
{
    rill_engine *e = p->e;
    unmark(p);
    bound_pressed(e);
    RILL__TRY(bound_make_room(e));
    p->t->n = 0;
    *p = (pick){.e = e, .t = p->t, .room = room};
    int64_t left = bound_free(e);
    for (int32_t i = 0; i < e->flight.n && p->room > 0; i++) {
        int64_t need = bound_need(e, e->flight.slot[i]);
        if (need > left) continue;
        consider(p, i);
        if (e->flight.marked[i]) left -= need;
    }
    return RILL_OK;
}

/* What is selected has the nodes that it may need in all phases; or there are none left while the other timestep holds its own. */
static rill_status promise_nodes(pick *p, int64_t room)
{
    rill_engine *e = p->e;
    if (nodes_wanted(p) > bound_free(e)) {
        if (e->step[!p->t->group].under_way) {
            unmark(p);
            *p = (pick){.e = e, .t = p->t};
            p->t->n = 0;
            return RILL_OK;
        }
        RILL__TRY(pick_oldest(p, room));
    }
    p->t->promised = nodes_wanted(p);
    return RILL_OK;
}

rill_status schedule_choose(rill_engine *e, timestep *t, int64_t most)
{
    int32_t count;
    rill_flight view;
    RILL__TRY(RILL__GROW(e->ctx, t->selected, t->selected_capacity, (size_t)e->flight.n, "items in flight"));
    RILL__TRY(idle_view(e, &view));
    t->n = 0;
    if (view.n == 0) return RILL_OK;
    RILL__TRY(set_budget(e, &view));
    RILL__TRY(ask_policy(e, &view, &count));
    int64_t room = view.budget > 0 && view.budget < most ? view.budget : most;
    pick p = {.e = e, .t = t, .room = room};
    find_neglected(e);
    if (e->flight.n_overdue > 0) consider_overdue(&p);
    RILL__TRY(consider_named(&p, view.n, count));
    if (t->n == 0)
        for (int32_t i = 0; i < e->flight.n && p.room > 0; i++) consider(&p, i);
    if (e->bound.nodes > 0) RILL__TRY(promise_nodes(&p, room));
    settle(&p);
    return RILL_OK;
}
