/* Selects the inputs of a timestep: the scheduler orders them, and the budget limits the number of live hypotheses.
 *
 * If a scheduler lists no input, the oldest are taken, so every run ends. Overdue inputs may go first (scheduler.h). */
#include <string.h>

#include "engine_internal.h"

/* --- creating a schedule ------------------------------------------------------------------------------------------ */

rill_status schedule_create(rill_engine *e, const rill_chain_entry *wanted)
{
    const char *name = wanted != NULL ? wanted->name : rill__find_method(e->settings.method)->scheduler;
    const char *arguments = wanted != NULL && wanted->arguments != NULL ? wanted->arguments : "";
    const rill_scheduler *scheduler = rill_find_scheduler(e->ctx, name);
    RILL__TRY(rill__check_registered(e->ctx, RILL__SCHEDULER, name));
    rill_error_clear(e->ctx);
    rill_status status = scheduler->create != NULL ? scheduler->create(scheduler, e->ctx, arguments, &e->schedule.self)
                                                   : RILL_OK;
    RILL__TRY(rill__method_status(e->ctx, status, "scheduler", name, "create"));
    if (scheduler->create == NULL && arguments[0] != '\0')
        return rill_fail(e->ctx, RILL_ERR_OPTION, "scheduler %s takes no arguments, found \"%s\"", name, arguments);
    e->schedule.scheduler = scheduler;
    e->schedule.overdue_first |= scheduler->overdue_first;
    return RILL_OK;
}

void schedule_destroy(schedule *s)
{
    rill_columns_free(s->idle.ctx, &s->idle.memory);
    if (s->scheduler != NULL && s->scheduler->destroy != NULL) s->scheduler->destroy(s->self);
}

rill_sched_view schedule_view(const rill_engine *e, const running_items *list)
{
    return (rill_sched_view){
        .struct_size = sizeof(rill_sched_view),
        .n = list->n,
        .item_id = list->id,
        .timestep = list->timestep,
        .width = list->width,
        .size = list->size,
        .refill_index = list->refill_index,
        .batch = e->settings.n,
        .max_items = e->settings.max_items,
        .budget = e->settings.budget,
        .refill = e->settings.refill,
        .waiting = (int64_t)e->taker.n_offered + e->items.n_ready,
        .timesteps = e->statistics.total.timesteps,
        .k = e->settings.k,
    };
}

static rill_status list_idle(rill_engine *e)
{
    running_items *idle = &e->schedule.idle;
    RILL__TRY(running_reserve(idle, (size_t)e->running.n));
    idle->n = 0;
    for (int32_t i = 0; i < e->running.n; i++) {
        if (e->items.busy[e->running.slot[i]]) continue;
        running_copy(idle, idle->n, &e->running, i);
        idle->slot[idle->n++] = i;
    }
    return RILL_OK;
}

/* --- selecting inputs --------------------------------------------------------------------------------------------- */

/* A selection of inputs in progress. items.passed_over is updated only by commit_selection(), because a selection may be given up. */
typedef struct selection {
    rill_engine *e;
    timestep *t;
    /* 1: the other timestep in progress is expanding some inputs, so the scheduler sees only the idle inputs */
    int any_busy;
    int64_t budget_left; /* number of live hypotheses that still fit in the budget */
    /* n_skipped: number of inputs skipped; n_passed_over: number of those that were skipped before the last input was taken */
    int32_t n_skipped, n_passed_over;
    int32_t n_first; /* number of overdue inputs taken first */
} selection;

/* Take the input in flight with this index, or skip it if its live hypotheses do not fit in the budget. */
static void consider_item(selection *p, int32_t index)
{
    running_items *f = &p->e->running;
    items *all = &p->e->items;
    int32_t slot = f->slot[index], width = f->width[index];
    if ((f->marks[index] & RUNNING_TAKEN) || all->busy[slot]) return;
    if (width > p->budget_left && p->t->n > 0) {
        /* Do not count skips of overdue inputs: they may be considered twice, and skipped_index has one element for each input. */
        if (all->passed_over[slot] < RUNNING_MAX_SKIPS) f->skipped_index[p->n_skipped++] = index;
        return;
    }
    p->n_passed_over = p->n_skipped;
    f->marks[index] |= RUNNING_TAKEN;
    p->t->selected[p->t->n++] = slot;
    p->budget_left = width > p->budget_left ? 0 : p->budget_left - width;
}

/* Take overdue inputs, before those that the scheduler lists. */
static void consider_overdue_items(selection *p)
{
    running_items *f = &p->e->running;
    for (int32_t i = 0; i < f->n && p->budget_left > 0; i++) {
        if (p->e->items.passed_over[f->slot[i]] < RUNNING_MAX_SKIPS) continue;
        consider_item(p, i);
        p->n_first += f->marks[i];
    }
}

/* Make inputs overdue that were not expanded for RUNNING_MAX_ROUNDS rounds. In one round as many hypotheses are expanded as are live in
 * flight. */
static void mark_neglected(rill_engine *e)
{
    running_items *f = &e->running;
    const int64_t now = e->statistics.total.expansions;
    if (now < e->schedule.next_check) return;
    const int64_t live = running_n_live(f);
    for (int32_t i = 0; i < f->n; i++) {
        uint8_t *passed_over = &e->items.passed_over[f->slot[i]];
        if (now - e->items.item[f->slot[i]].last_expansion <= RUNNING_MAX_ROUNDS * live ||
            *passed_over >= RUNNING_MAX_SKIPS)
            continue;
        *passed_over = RUNNING_MAX_SKIPS;
        f->n_overdue++;
    }
    e->schedule.next_check = now + live;
}

/* Set view->budget to the budget of this timestep, which the user's function returns. */
static rill_status set_budget(rill_engine *e, rill_sched_view *view)
{
    int32_t budget = view->budget;
    rill_error_clear(e->ctx);
    rill_status status = e->schedule.budget(e->schedule.budget_user, view, &budget);
    RILL__TRY(rill__method_status(e->ctx, status, "the function", "budget", "call"));
    if (budget < 0)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN,
                         "the budget function returned %d at timestep %lld: expected at least 1, or 0 for no limit",
                         budget, (long long)view->timesteps);
    view->budget = budget;
    return RILL_OK;
}

static rill_status call_scheduler(rill_engine *e, const rill_sched_view *view, int32_t *count)
{
    *count = 0;
    rill_error_clear(e->ctx);
    rill_status status = e->schedule.scheduler->choose(e->schedule.self, view, e->running.order, count);
    RILL__TRY(rill__method_status(e->ctx, status, "scheduler", e->schedule.scheduler->name, "choose"));
    if (*count < 0 || *count > view->n)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "scheduler %s chose %d of %d items", e->schedule.scheduler->name,
                         *count, view->n);
    return RILL_OK;
}

static void clear_marks_of(selection *p)
{
    for (int32_t i = 0; i < p->t->n; i++) p->e->running.marks[p->e->items.running_index[p->t->selected[i]]] = 0;
}

/* Take inputs in the order of the scheduler's list, until the budget is used up; a duplicate is an error. The list's numbers index the idle
 * inputs if p->any_busy is 1, else all inputs in flight. */
static rill_status consider_listed(selection *p, int32_t n, int32_t count)
{
    rill_engine *e = p->e;
    running_items *f = &e->running;
    int32_t n_looked = 0;
    rill_status status = RILL_OK;
    for (; status >= 0 && n_looked < count && p->budget_left > 0; n_looked++) {
        const int32_t named = f->order[n_looked], is_valid = named >= 0 && named < n;
        const int32_t index = is_valid && p->any_busy ? e->schedule.idle.slot[named] : named;
        if (!is_valid)
            status = rill_fail(e->ctx, RILL_ERR_PLUGIN, "scheduler %s chose item %d, which is not one of %d in flight",
                               e->schedule.scheduler->name, named, n);
        else if (f->marks[index] & RUNNING_NAMED)
            status = rill_fail(e->ctx, RILL_ERR_PLUGIN, "scheduler %s chose item %d twice", e->schedule.scheduler->name,
                               named);
        if (status < 0) break;
        f->order[n_looked] = index;
        f->marks[index] |= RUNNING_NAMED;
        consider_item(p, index);
    }
    for (int32_t i = 0; i < n_looked; i++) f->marks[f->order[i]] &= (uint8_t)~RUNNING_NAMED;
    if (status < 0) clear_marks_of(p);
    return status;
}

/* Returns the maximum number of states that the selected inputs make in this timestep. */
static int64_t max_nodes_needed(const selection *p)
{
    int64_t wanted = 0;
    for (int32_t i = 0; i < p->t->n; i++) wanted += memory_limit_max_nodes(p->e, p->t->selected[i]);
    return wanted;
}

/* Make the selection final: add 1 to items.passed_over of each skipped input that precedes a taken input. */
static void commit_selection(selection *p)
{
    running_items *f = &p->e->running;
    items *all = &p->e->items;
    for (int32_t i = 0; i < p->n_passed_over && p->e->schedule.overdue_first; i++)
        if (++all->passed_over[f->slot[f->skipped_index[i]]] == RUNNING_MAX_SKIPS) f->n_overdue++;
    for (int32_t i = 0; i < p->t->n; i++) running_clear_overdue(f, all, p->t->selected[i]);
    p->e->statistics.total.passed_over_first += p->n_first;
    clear_marks_of(p);
}

/* Select the oldest inputs that fit in the free states and the budget. The oldest input is selected in any case, unless it failed. */
static rill_status select_oldest(selection *p, int64_t budget)
{
    rill_engine *e = p->e;
    memory_limit_shrink_window(e);
    RILL__TRY(engine_preempt(e));
    p->budget_left = budget;
    int64_t free_nodes = memory_limit_free_nodes(e);
    for (int32_t i = 0; i < e->running.n && p->budget_left > 0; i++) {
        int64_t need = memory_limit_max_nodes(e, e->running.slot[i]);
        if (need > free_nodes) continue;
        consider_item(p, i);
        if (e->running.marks[i]) free_nodes -= need;
    }
    return RILL_OK;
}

/* If too few nodes (state ids) are free, select the oldest inputs instead; during another timestep select none. */
static rill_status reserve_nodes(selection *p, int64_t budget)
{
    rill_engine *e = p->e;
    if (max_nodes_needed(p) > memory_limit_free_nodes(e)) {
        clear_marks_of(p);
        p->t->n = 0;
        *p = (selection){.e = e, .t = p->t, .any_busy = p->any_busy};
        if (p->any_busy) return RILL_OK;
        RILL__TRY(select_oldest(p, budget));
    }
    p->t->reserved_nodes = max_nodes_needed(p);
    return RILL_OK;
}

rill_status schedule_select(rill_engine *e, timestep *t, int64_t max_rows)
{
    int32_t count;
    RILL__TRY(RILL__GROW(e->ctx, t->selected, t->selected_capacity, (size_t)e->running.n, "items in flight"));
    /* inputs of the other timestep in progress, if there is one, are busy; all others are idle */
    const int any_busy = e->timesteps[!t->group].state != TIMESTEP_FREE;
    if (any_busy) RILL__TRY(list_idle(e));
    rill_sched_view view = schedule_view(e, any_busy ? &e->schedule.idle : &e->running);
    t->n = 0;
    if (view.n == 0) return RILL_OK;
    if (e->schedule.budget != NULL) RILL__TRY(set_budget(e, &view));
    RILL__TRY(call_scheduler(e, &view, &count));
    int64_t budget = view.budget > 0 && view.budget < max_rows ? view.budget : max_rows;
    selection p = {.e = e, .t = t, .any_busy = any_busy, .budget_left = budget};
    if (e->schedule.overdue_first) mark_neglected(e);
    if (e->running.n_overdue > 0) consider_overdue_items(&p);
    RILL__TRY(consider_listed(&p, view.n, count));
    if (t->n == 0)
        for (int32_t i = 0; i < e->running.n && p.budget_left > 0; i++) consider_item(&p, i);
    if (e->memory_limit.max_nodes > 0) RILL__TRY(reserve_nodes(&p, budget));
    commit_selection(&p);
    return RILL_OK;
}
