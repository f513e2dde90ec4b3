/* Guarantees of every schedule, checked from the trace: the batch budget, overdue items, flushes, batch sizes, order,
 * counters. No scheduler, however bad, loses an input or changes a result. rill/scheduler.h has the rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"
#include "support/tables.h"

/* --- counters ----------------------------------------------------------------------------------------------------- */

/* Timesteps, expansions, the bound on depth and the peaks must match the trace. */
static const char *counters_wrong(const schedule *s, const engine_record *r)
{
    int64_t rows = 0, peak = 0, depth_width[64] = {0}, bound = 0;
    for (int64_t t = 0; t < r->n_timesteps; t++) {
        const record_timestep *step = &r->timestep[t];
        int64_t sum = 0;
        for (int32_t i = 0; i < step->n; i++) {
            sum += step->width[i];
            depth_width[step->depth[i]] += step->width[i];
            if (step->width[i] < 1) return "an item without live candidates was expanded";
        }
        if (step->n < 1) return "a timestep expanded nothing";
        if (sum != step->rows) return "rows are not the sum of the widths";
        if (step->n > step->in_flight) return "more items selected than in flight";
        if (step->in_flight > peak) peak = step->in_flight;
        rows += step->rows;
    }
    for (int d = 0; d < 64 && s->budget > 0; d++) bound += (depth_width[d] + s->budget - 1) / s->budget;
    if (r->stats.timesteps != r->n_timesteps) return "the count of timesteps is wrong";
    if (r->stats.expansions != rows) return "the count of expansions is wrong";
    if (r->stats.depth_bound != bound) return "depth_bound is wrong";
    if (r->stats.waiting_peak < r->max_held || r->stats.waiting_peak > r->stats.inputs) return "waiting_peak is wrong";
    if (s->unordered && r->max_held != 0) return "results are held back without order";
    if (r->stats.items_peak != peak) return "items_peak is wrong";
    if (s->max_items > 0 && peak > s->max_items) return "more than max_items in flight";
    if (s->max_items == 0 && peak > (s->budget > 0 ? 100 : 1) * (int64_t)s->n) return "more than N in flight";
    return NULL;
}

/* Every input must be admitted and finished once, and its duration must match its timesteps. */
static const char *events_wrong(const problem *p, const engine_record *r)
{
    int admitted[PROBLEM_MAX_INPUTS] = {0}, finished[PROBLEM_MAX_INPUTS] = {0}, had[PROBLEM_MAX_INPUTS] = {0};
    int64_t refills = 0;
    int refilled = 0;
    for (int64_t t = 0; t < r->n_timesteps; t++)
        for (int32_t i = 0; i < r->timestep[t].n; i++)
            if (had[r->timestep[t].item[i]]++ != r->timestep[t].depth[i]) return "an item skipped a timestep";
    for (int64_t e = 0; e < r->n_events; e++) {
        const record_event *event = &r->event[e];
        /* All admissions between two timesteps are one refill. */
        if (event->kind == RILL_TRACE_TIMESTEP) refilled = 0;
        if (event->kind == RILL_TRACE_ADMITTED && !refilled) refilled = 1, refills++;
        if (event->kind == RILL_TRACE_ADMITTED && admitted[event->item]++ > 0) return "an item was admitted twice";
        if (event->kind != RILL_TRACE_FINISHED) continue;
        if (finished[event->item]++ > 0) return "an item finished twice";
        if (event->item_timesteps != had[event->item]) return "an item's count of timesteps is wrong";
    }
    for (int32_t i = 0; i < p->n_inputs; i++) {
        if (admitted[i] && !finished[i]) return "an item was admitted and never finished";
        if (had[i] != p->expected[i].timesteps) return "an item had another number of timesteps than alone";
    }
    return r->stats.refills != refills ? "the count of refills is wrong" : NULL;
}

/* The number of hypotheses, live and ended, after an item's timestep is the number before its next one. A finished item
 * has none. */
static const char *widths_wrong(const problem *p, const engine_record *r)
{
    int32_t width[PROBLEM_MAX_INPUTS];
    int64_t merged = 0;
    /* before the first timestep an item has one hypothesis, the root */
    for (int32_t i = 0; i < p->n_inputs; i++) width[i] = 1;
    for (int64_t t = 0; t < r->n_timesteps; t++) {
        const record_timestep *step = &r->timestep[t];
        for (int32_t i = 0; i < step->n; i++) {
            if (step->width[i] > width[step->item[i]]) return "an item's width grows between timesteps";
            if (p->naive.immediate && step->width[i] != width[step->item[i]])
                return "nothing waits under finish immediate";
            width[step->item[i]] = step->kept[i];
            merged += step->merged[i];
            if (step->kept[i] > p->settings.k) return "a beam is wider than k";
        }
    }
    for (int32_t i = 0; i < p->n_inputs; i++)
        if (width[i] != 0 && p->expected[i].timesteps > 0) return "a finished item has a width";
    if (p->model.phases == 1 && merged != r->stats.candidates) return "the count of candidates is wrong";
    return NULL;
}

/* --- selection and refills ---------------------------------------------------------------------------------------- */

/* Items in flight at a timestep: those admitted before it and expanded in it or later. */
typedef struct flight_state {
    int32_t n;
    int in_flight[PROBLEM_MAX_INPUTS], depth[PROBLEM_MAX_INPUTS];
    /* [item]: live hypotheses; the most there may be if some ended ones wait to be output (finish) */
    int32_t width[PROBLEM_MAX_INPUTS];
    int64_t last[PROBLEM_MAX_INPUTS]; /* [item]: index in the run of the timestep that last expanded it */
} flight_state;

static void note_last_timesteps(flight_state *f, const engine_record *r)
{
    for (int64_t t = 0; t < r->n_timesteps; t++)
        for (int32_t i = 0; i < r->timestep[t].n; i++) f->last[r->timestep[t].item[i]] = t;
}

static void forget_finished(flight_state *f, const record_timestep *step, int64_t t)
{
    for (int32_t i = 0; i < step->n; i++) {
        int64_t item = step->item[i];
        f->depth[item]++;
        f->width[item] = step->kept[i];
        if (f->last[item] == t) f->n--, f->in_flight[item] = 0;
    }
}

/* Whether an item was left out although it would fit in the budget and is further ahead than an item that was
 * chosen. */
static int leaves_out_advanced(const schedule *s, const record_timestep *step, const flight_state *f)
{
    for (int32_t item = 0; item < PROBLEM_MAX_INPUTS; item++) {
        int64_t rows = f->width[item];
        int taken = 0;
        for (int32_t i = 0; i < step->n; i++) {
            taken |= step->item[i] == item;
            if (step->depth[i] >= f->depth[item]) rows += step->width[i];
        }
        if (f->in_flight[item] && !taken && rows <= s->budget) return 1;
    }
    return 0;
}

static const char *selection_wrong(const schedule *s, const record_timestep *step, const flight_state *f)
{
    int min_depth = INT32_MAX, n_min = 0, min_only = strstr(s->method, "-stream") != NULL && s->method[0] != 's';
    if (strcmp(s->method, "var-stream-fifo") == 0) min_only = 0;
    for (int32_t i = 0; i < PROBLEM_MAX_INPUTS; i++)
        if (f->in_flight[i] && f->depth[i] < min_depth) min_depth = f->depth[i];
    for (int32_t i = 0; i < PROBLEM_MAX_INPUTS; i++) n_min += f->in_flight[i] && f->depth[i] == min_depth;
    if (step->in_flight != f->n) return "in_flight is not what the events say";
    for (int32_t i = 0; i < step->n && min_only; i++)
        if (step->depth[i] != min_depth) return "an item ahead of others is expanded";
    if (s->budget > 0 && strcmp(s->method, "var-stream-fifo") == 0 && leaves_out_advanced(s, step, f))
        return "an item ahead of others is left out";
    if (s->budget > 0) return NULL;
    if (min_only && step->n != n_min) return "not all of the least advanced items are expanded";
    if (!min_only && step->n != f->n) return "not all items are expanded";
    return NULL;
}

/* A refill begins when at most the share refill_threshold of N items is in flight. It admits inputs until N are in
 * flight, or none is left. */
static const char *admission_wrong(const schedule *s, int32_t n_before, int32_t n_after, int32_t n_waiting)
{
    int streaming = strcmp(s->method, "var-batch") != 0 && strcmp(s->method, "fixed") != 0 &&
                    strcmp(s->method, "greedy") != 0;
    double share = !streaming ? 0 : s->refill >= 0 ? s->refill : strcmp(s->method, "top-up") == 0 ? 0.5 : 1.0 / 6;
    int64_t capacity = !streaming ? s->n : s->max_items > 0 ? s->max_items : s->n * (s->budget > 0 ? 100 : 1);
    if (n_before > 0 && (double)n_before > share * (double)capacity) return "inputs come in too early";
    if (n_after < capacity && n_waiting > 0) return "a refill does not fill up";
    return NULL;
}

static const char *choices_wrong(const problem *p, const schedule *s, const engine_record *r)
{
    flight_state f = {0};
    note_last_timesteps(&f, r);
    int64_t t = 0;
    int32_t bad = 0, admitted = 0;
    const char *wrong = NULL;
    for (int32_t i = 0; i < p->n_inputs; i++) bad += !problem_is_searched(p, i);
    for (int64_t e = 0; e < r->n_events && wrong == NULL; e++) {
        const record_event *event = &r->event[e];
        if (event->kind == RILL_TRACE_TIMESTEP) {
            wrong = selection_wrong(s, &r->timestep[t], &f);
            forget_finished(&f, &r->timestep[t], t);
            t++;
        }
        if (event->kind != RILL_TRACE_ADMITTED) continue;
        int32_t n_before = f.n;
        for (; e < r->n_events && r->event[e].kind == RILL_TRACE_ADMITTED; e++)
            f.in_flight[r->event[e].item] = f.width[r->event[e].item] = 1, f.n++, admitted++;
        e--;
        /* A refill may admit fewer if the reader has no input ready, or because of sort windows or invalid inputs. */
        int may_lack_inputs = s->by_run || s->sort != RILL_SORT_NONE || bad > 0;
        wrong = admission_wrong(s, n_before, f.n, may_lack_inputs ? 0 : p->n_inputs - admitted);
    }
    return wrong;
}

/* --- sorting ------------------------------------------------------------------------------------------------------ */

static int word_count(const char *text)
{
    int words = 0;
    for (const char *c = text; *c != '\0'; c++) words += *c != ' ' && (c == text || c[-1] == ' ');
    return words;
}

/* Within windows of consecutive inputs, inputs are admitted by size, equal sizes in input order. Windows follow one
 * another. */
static const char *order_wrong(const problem *p, const schedule *s, const engine_record *r)
{
    int64_t prev = -1, window = s->sort_window > 0 ? s->sort_window : 1000;
    if (s->sort == RILL_SORT_NONE) window = 1;
    for (int64_t e = 0; e < r->n_events && !s->by_run; e++) {
        if (r->event[e].kind != RILL_TRACE_ADMITTED) continue;
        int64_t now = r->event[e].item, last = prev;
        prev = now;
        if (last < 0 || last / window < now / window) continue;
        int difference = word_count(p->input[now]) - word_count(p->input[last]);
        if (s->sort == RILL_SORT_LONGEST_FIRST) difference = -difference;
        if (last / window > now / window || difference < 0 || (difference == 0 && now < last))
            return "inputs come in in the wrong order";
    }
    return NULL;
}

/* --- the budget --------------------------------------------------------------------------------------------------- */

static const char *budget_wrong(const schedule *s, const engine_record *r)
{
    for (int64_t t = 0; t < r->n_timesteps && s->budget > 0; t++)
        if (r->timestep[t].rows > s->budget && r->timestep[t].n > 1) return "the budget is exceeded";
    return NULL;
}

/* --- flushes ------------------------------------------------------------------------------------------------------ */

/* With flush_every = T, nothing is admitted beside items in flight for T timesteps without a pause. After at most T
 * timesteps all items in flight must finish first. */
static const char *flush_wrong(const schedule *s, const engine_record *r)
{
    int64_t in_flight = 0, timesteps = 0;
    for (int64_t e = 0; e < r->n_events && s->flush_every > 0; e++) {
        const record_event *event = &r->event[e];
        if (event->kind == RILL_TRACE_ADMITTED) {
            if (in_flight == 0) timesteps = 0;
            if (in_flight > 0 && timesteps >= s->flush_every) return "admitted during a flush";
            in_flight++;
        }
        if (event->kind == RILL_TRACE_FINISHED) in_flight--;
        if (event->kind == RILL_TRACE_TIMESTEP) timesteps++;
    }
    return NULL;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* With state=parent an item keeps its own states and those of its children. The rows are at most twice the maximum of
 * the items in flight. Nodes of hypotheses do not count here. */
static const char *rows_wrong(const problem *p, const engine_record *r)
{
    int64_t bound = 2 * (int64_t)p->settings.k * r->stats.items_peak;
    /* The engine may report freed rows to the domain later than it counts them. */
    if (r->stats.nodes_peak > r->toy.nodes_peak || r->toy.nodes_peak > r->stats.nodes_capacity)
        return "nodes_peak is not what the domain counts";
    if (!p->model.path && r->toy.nodes_peak > bound + r->stats.items_peak) return "rows are not recycled";
    return NULL;
}

static void traces_obey_the_rules(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(3000); i++) {
        uint64_t seed = first + (uint64_t)i;
        problem_group group = (problem_group)(i % 4);
        dice d = dice_seeded(dice_mix(seed, 77));
        problem p;
        schedule s;
        engine_record r;
        problem_draw(&p, group, &d);
        schedule_draw(&s, group, &d);
        problem_solve(&p);
        engine_run(&p, &s, NULL, &r);
        if (r.status < 0) problem_fail(&p, &s, seed, r.message);
        const char *wrong = counters_wrong(&s, &r);
        if (wrong == NULL) wrong = events_wrong(&p, &r);
        if (wrong == NULL) wrong = widths_wrong(&p, &r);
        if (wrong == NULL && s.scheduler == NULL) wrong = choices_wrong(&p, &s, &r);
        if (wrong == NULL) wrong = order_wrong(&p, &s, &r);
        if (wrong == NULL) wrong = budget_wrong(&s, &r);
        if (wrong == NULL) wrong = flush_wrong(&s, &r);
        if (wrong == NULL) wrong = rows_wrong(&p, &r);
        if (wrong != NULL) problem_fail(&p, &s, seed, wrong);
        engine_record_clear(&r);
        problem_clear(&p);
    }
}

/* --- the passed-over rule ----------------------------------------------------------------------------------------- */

/* A scheduler that records what it sees and chooses. It chooses the newest items first, so that older, wider items are
 * passed over again and again under a budget. Afterwards the test replays the engine's choices. */
enum { MAX_SEEN = 4000, MAX_ITEMS = 64 };

typedef struct scheduler_view {
    int32_t n;
    int64_t item[MAX_ITEMS];
    int32_t width[MAX_ITEMS];
} scheduler_view;

static scheduler_view *scheduler_views;
static int32_t n_scheduler_views;

static rill_status watch_and_reverse(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    (void)self;
    if (n_scheduler_views == MAX_SEEN || view->n > MAX_ITEMS) return RILL_ERR_PLUGIN;
    scheduler_view *now = &scheduler_views[n_scheduler_views++];
    now->n = view->n;
    for (int32_t i = 0; i < view->n; i++) {
        order[i] = view->n - 1 - i;
        now->item[i] = view->item_id[i];
        now->width[i] = view->width[i];
    }
    *count = view->n;
    return RILL_OK;
}

static rill_status admit_all(void *self, const rill_sched_view *view, int32_t *admit)
{
    (void)self;
    *admit = view->max_items;
    return RILL_OK;
}

static const rill_scheduler watcher = TEST_SCHEDULER("watcher", .choose = watch_and_reverse, .refill = admit_all,
                                                     .overdue_first = 1);
static const rill_scheduler exact_watcher = TEST_SCHEDULER("exact-watcher", .choose = watch_and_reverse,
                                                           .refill = admit_all);

static rill_status register_watcher(rill_context *ctx)
{
    const rill_status status = rill_register_scheduler(ctx, &watcher);
    return status < 0 ? status : rill_register_scheduler(ctx, &exact_watcher);
}

static int selected(const record_timestep *step, int64_t item)
{
    for (int32_t i = 0; i < step->n; i++)
        if (step->item[i] == item) return 1;
    return 0;
}

/* State of the replay, by item. */
typedef struct memory {
    int32_t passed[PROBLEM_MAX_INPUTS];
    /* [item]: expansions of the run when the item was last expanded, or admitted */
    int64_t expanded[PROBLEM_MAX_INPUTS];
    int known[PROBLEM_MAX_INPUTS];
    int64_t expansions, next_check;
    int32_t n_overdue;
    int exact; /* 1: no item is ever overdue */
} memory;

/* Once per round, items that have waited for four rounds become overdue. */
static void find_overdue(memory *m, const scheduler_view *now)
{
    int64_t live = 0;
    for (int32_t i = 0; i < now->n; i++) {
        live += now->width[i];
        if (!m->known[now->item[i]]++) m->expanded[now->item[i]] = m->expansions;
    }
    if (m->exact || m->expansions < m->next_check) return;
    for (int32_t i = 0; i < now->n; i++)
        if (m->expansions - m->expanded[now->item[i]] > 4 * live && m->passed[now->item[i]] < 8)
            m->passed[now->item[i]] = 8;
    m->next_check = m->expansions + live;
}

/* Replay one timestep: overdue items in order of admission, then the newest first, within the budget. Return 0 if the
 * engine chose otherwise. Updates the state by the rules of rill/scheduler.h. */
static int replay_matches(const scheduler_view *now, const record_timestep *step, int32_t budget, memory *m)
{
    int32_t *passed = m->passed;
    find_overdue(m, now);
    m->expansions += step->rows;
    int32_t order[MAX_ITEMS], n = 0, taken[MAX_ITEMS] = {0}, last_taken = -1;
    for (int32_t i = 0; i < now->n; i++)
        if (passed[now->item[i]] >= 8) order[n++] = i;
    for (int32_t i = now->n - 1; i >= 0; i--)
        if (passed[now->item[i]] < 8) order[n++] = i;
    int64_t rows = 0;
    for (int32_t o = 0; o < n; o++) {
        int32_t width = now->width[order[o]];
        if (rows > 0 && rows + width > budget) continue;
        if (rows >= budget) break;
        m->n_overdue += passed[now->item[order[o]]] >= 8;
        taken[o] = 1;
        last_taken = o;
        rows += width;
    }
    for (int32_t o = 0; o < n; o++) {
        int64_t item = now->item[order[o]];
        if (taken[o] != selected(step, item)) return 0;
        if (taken[o]) m->expanded[item] = m->expansions;
        if (taken[o])
            passed[item] = 0;
        else if (o < last_taken && !m->exact)
            passed[item]++;
    }
    return 1;
}

static void passed_over(void **state)
{
    (void)state;
    scheduler_views = calloc(MAX_SEEN, sizeof *scheduler_views);
    assert_non_null(scheduler_views);
    int32_t went_first = 0;
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(400); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 78));
        problem p;
        engine_record r;
        problem_draw(&p, PROBLEM_FIXED_TOP, &d);
        snprintf(p.arguments, sizeof p.arguments, "seed=%d actions=6 depth=30 legal=60 ending=5 phases=1", (int)i);
        char message[200];
        assert_int_equal(toy_model_parse(&p.model, p.arguments, message, sizeof message), RILL_OK);
        p.n_scorers = 0;
        p.settings.k = 4 + (int32_t)(i % 5);
        p.settings.max_length = p.settings.min_length = 0;
        p.settings.stop_after = 0;
        p.settings.patience = 0;
        schedule s = {.method = "fixed-stream",
                      .n = 2 + (int32_t)(i % 7),
                      .refill = -1,
                      .budget = p.settings.k + 1 + (int32_t)(i % 3),
                      .max_items = 2 + (int32_t)(i % 9),
                      .scheduler = i % 3 != 0 ? "exact-watcher" : "watcher",
                      .overdue_first = i % 3 == 2,
                      .scheduler_arguments = ""};
        n_scheduler_views = 0;
        engine_run_with(&p, &s, NULL, register_watcher, &r);
        if (r.status < 0) problem_fail(&p, &s, seed, r.message);
        if (n_scheduler_views != r.n_timesteps)
            problem_fail(&p, &s, seed, "the scheduler is not asked once per timestep");
        memory known = {.exact = i % 3 == 1};
        for (int64_t t = 0; t < r.n_timesteps; t++)
            if (!replay_matches(&scheduler_views[t], &r.timestep[t], s.budget, &known)) {
                snprintf(message, sizeof message, "timestep %lld does not follow the budget's rules", (long long)t);
                problem_fail(&p, &s, seed, message);
            }
        if (r.stats.passed_over_first != known.n_overdue) problem_fail(&p, &s, seed, "passed_over_first is wrong");
        went_first += known.n_overdue;
        engine_record_clear(&r);
    }
    free(scheduler_views);
    HARNESS_ASSERT_COVERED(went_first > 0);
}

/* An item that is admitted late into an unused slot counts its wait from its admission. */
static void newcomers_are_not_overdue(void **state)
{
    (void)state;
    static const char arguments[] = "depth=40 actions=3 legal=100 ending=0";
    char message[200], text[16];
    int name = 0;
    toy_model toy;
    harness_memory counted;
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_stats stats = {.struct_size = sizeof stats};
    const rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = arguments};
    rill_context *ctx = harness_begin(&counted);
    rill_engine_setup_default(&setup);
    setup.settings.k = 1;
    assert_int_equal(toy_model_parse(&toy, arguments, message, sizeof message), RILL_OK);
    do {
        snprintf(text, sizeof text, "in %d", name++);
    } while (toy_input_read(&toy, text, strlen(text)).depth < 20);
    assert_int_equal(rill_model_open(&model, ctx, "toy", &open), RILL_OK);
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    assert_int_equal(rill_engine_submit(engine, text, strlen(text)), RILL_OK);
    for (int i = 0; i < 15; i++) assert_int_equal(rill_engine_step(engine), RILL_OK);
    assert_int_equal(rill_engine_submit(engine, "in 2", 4), RILL_OK);
    rill_engine_close_input(engine);
    while (rill_engine_step(engine) == RILL_OK) continue;
    rill_engine_stats(engine, &stats);
    assert_int_equal(stats.inputs, 2);
    assert_int_equal(stats.items_peak, 2);
    assert_int_equal(stats.passed_over_first, 0);
    rill_engine_destroy(engine);
    rill_model_close(model);
    harness_end(ctx, &counted);
}

/* --- budgets set by a function ------------------------------------------------------------------------------------ */

enum { MAX_BUDGETS = 20000 };

typedef struct budgets {
    uint64_t seed;
    int32_t setting;                  /* the setting that the function sees */
    int32_t returned[MAX_BUDGETS];    /* the budgets that it returned */
    int32_t items_shown[MAX_BUDGETS]; /* numbers of items that it saw */
    int32_t n, errors;
} budgets;

/* Return any budget, or none. It depends on the timestep, as a user's function may. */
static rill_status draw_budget(void *user, const rill_sched_view *view, int32_t *budget)
{
    budgets *b = user;
    if (b->n == MAX_BUDGETS) return RILL_ERR_PLUGIN;
    b->errors += *budget != b->setting || view->budget != b->setting || view->timesteps != b->n || view->n < 1;
    uint64_t hash = dice_mix(b->seed, (uint64_t)view->timesteps);
    *budget = hash % 4 == 0 ? 0 : (int32_t)(hash / 4 % 40) + 1;
    b->items_shown[b->n] = view->n;
    b->returned[b->n++] = *budget;
    return RILL_OK;
}

static const char *budgets_wrong(const budgets *b, const schedule *s, const engine_record *r)
{
    if (b->errors > 0) return "the budget function is not shown the setting, the timestep and the flight";
    if (b->n != r->n_timesteps) return "the budget function is not asked once per timestep";
    if (r->stats.depth_bound != 0) return "there is a depth bound without one budget";
    int64_t capacity = s->max_items > 0 ? s->max_items : 100 * (int64_t)s->n;
    if (strcmp(s->method, "var-batch") == 0) capacity = s->n;
    if (r->stats.items_peak > capacity) return "more than max_items in flight";
    for (int64_t t = 0; t < r->n_timesteps; t++) {
        const record_timestep *step = &r->timestep[t];
        if (b->items_shown[t] != step->in_flight) return "the function sees another flight";
        if (b->returned[t] > 0 && step->rows > b->returned[t] && step->n > 1) return "the budget is exceeded";
        if (b->returned[t] == 0 && s->scheduler == NULL && strcmp(s->method, "stream-all") == 0 &&
            step->n != step->in_flight)
            return "not all items are expanded without a budget";
    }
    return NULL;
}

static void budgets_by_function(void **state)
{
    (void)state;
    budgets *b = calloc(1, sizeof *b);
    assert_non_null(b);
    uint64_t first = harness_seed(1);
    int64_t exceeded_setting = 0, many = 0;
    for (int64_t i = 0; i < harness_iterations(600); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 80));
        problem p;
        schedule s;
        engine_record r;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        problem_solve(&p);
        *b = (budgets){.seed = seed, .setting = s.budget};
        s.budget_fn = draw_budget;
        s.budget_user = b;
        engine_run(&p, &s, NULL, &r);
        problem_expect(&p, &s, seed, &r);
        const char *wrong = budgets_wrong(b, &s, &r);
        if (wrong != NULL) problem_fail(&p, &s, seed, wrong);
        for (int64_t t = 0; t < r.n_timesteps; t++)
            exceeded_setting += s.budget > 0 && r.timestep[t].rows > s.budget && r.timestep[t].n > 1;
        many += s.budget == 0 && s.max_items == 0 && r.stats.items_peak > s.n;
        engine_record_clear(&r);
        problem_clear(&p);
    }
    free(b);
    /* The function overrides the setting, and its presence alone lets more items be in flight. */
    HARNESS_ASSERT_COVERED(exceeded_setting > 0);
    HARNESS_ASSERT_COVERED(many > 0);
}

static rill_status give_number(void *user, const rill_sched_view *view, int32_t *budget)
{
    *budget = view->timesteps < 2 ? 5 : *(const int32_t *)user;
    return RILL_OK;
}

static rill_status refuse_late(void *user, const rill_sched_view *view, int32_t *budget)
{
    (void)user, (void)budget;
    return view->timesteps < 2 ? RILL_OK : RILL_ERR_STOPPED;
}

static void bad_budgets(void **state)
{
    (void)state;
    int32_t negative = -17;
    dice d = dice_seeded(31);
    problem p;
    engine_record r;
    problem_draw(&p, PROBLEM_FIXED_TOP, &d);
    snprintf(p.arguments, sizeof p.arguments, "actions=5 depth=9 ending=1 early=0");
    p.n_scorers = 0;
    p.settings.max_length = p.settings.min_length = 0;
    for (p.n_inputs = 0; p.n_inputs < 8; p.n_inputs++)
        snprintf(p.input[p.n_inputs], sizeof p.input[0], "in %d", (int)p.n_inputs);
    schedule s = {.method = "fixed-stream", .n = 4, .refill = -1, .budget_fn = give_number, .budget_user = &negative};
    engine_run(&p, &s, NULL, &r);
    assert_int_equal(r.status, RILL_ERR_PLUGIN);
    assert_int_equal(r.n_timesteps, 2);
    if (strstr(r.message, "-17") == NULL) problem_fail(&p, &s, 31, "the message does not name the number");
    engine_record_clear(&r);
    s.budget_fn = refuse_late;
    engine_run(&p, &s, NULL, &r);
    assert_int_equal(r.status, RILL_ERR_STOPPED);
    if (strstr(r.message, "budget") == NULL) problem_fail(&p, &s, 31, "the message does not say who failed");
    engine_record_clear(&r);
}

/* --- bad schedulers ----------------------------------------------------------------------------------------------- */

static void perverse_schedulers(void **state)
{
    (void)state;
    static const char *const names[] = {"test-nothing", "test-newest", "test-reverse", "test-random", "test-huge"};
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(500); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 79));
        problem p;
        schedule s;
        engine_record r;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        problem_solve(&p);
        s.scheduler = names[i % 5];
        s.scheduler_arguments = i % 5 == 3 ? "9" : "";
        s.overdue_first = i % 2 == 0;
        engine_run(&p, &s, NULL, &r);
        problem_expect(&p, &s, seed, &r);
        engine_record_clear(&r);
        problem_clear(&p);
    }
}

static void schedulers_choosing_garbage(void **state)
{
    (void)state;
    static const char *const kinds[] = {"0", "1", "2", "3", "4"};
    for (size_t kind = 0; kind < 5; kind++) {
        dice d = dice_seeded(31);
        problem p;
        engine_record r;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        for (p.n_inputs = 0; p.n_inputs < 8; p.n_inputs++)
            snprintf(p.input[p.n_inputs], sizeof p.input[0], "in %d", (int)p.n_inputs);
        schedule s = {.method = "var-stream",
                      .n = 4,
                      .refill = -1,
                      .scheduler = "test-garbage",
                      .scheduler_arguments = kinds[kind]};
        engine_run(&p, &s, NULL, &r);
        if (r.status != RILL_ERR_PLUGIN) problem_fail(&p, &s, kind, "garbage of this kind is not refused");
        if (strstr(r.message, "test-garbage") == NULL) problem_fail(&p, &s, kind, "the scheduler is not named");
        assert_int_equal(r.toy.violations, 0);
        engine_record_clear(&r);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(traces_obey_the_rules),
    cmocka_unit_test(passed_over),
    cmocka_unit_test(newcomers_are_not_overdue),
    cmocka_unit_test(budgets_by_function),
    cmocka_unit_test(bad_budgets),
    cmocka_unit_test(perverse_schedulers),
    cmocka_unit_test(schedulers_choosing_garbage),
};

HARNESS_MAIN(tests)
