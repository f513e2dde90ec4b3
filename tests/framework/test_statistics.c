/* Statistics of a run, each against an independent count. Widths, candidates and pruned candidates are compared with
 * the naive search. How full timesteps are, the order of stream-all, the encoding ahead of top-up, and restarts are
 * compared with the trace. Seconds per stage are compared with stages that the test slows down. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/harness.h"
#include "support/problem.h"
#include "support/tables.h"

/* --- widths ------------------------------------------------------------------------------------------------------- */

/* The trace of each item in each timestep matches the item's own search. */
static void check_widths(const problem *p, const schedule *s, uint64_t seed, const engine_record *r)
{
    char what[160];
    for (int64_t t = 0; t < r->n_timesteps; t++) {
        const record_timestep *step = &r->timestep[t];
        for (int32_t i = 0; i < step->n; i++) {
            const naive_width w = p->expected[step->item[i]].width[step->depth[i]];
            if (w.live == step->width[i] && w.merged == step->merged[i] && w.kept == step->kept[i]) continue;
            snprintf(what, sizeof what, "input %d timestep %d: widths %d, %d, %d, traced %d, %d, %d",
                     (int)step->item[i], (int)step->depth[i], (int)w.live, (int)w.merged, (int)w.kept,
                     (int)step->width[i], (int)step->merged[i], (int)step->kept[i]);
            problem_fail(p, s, seed, what);
        }
    }
}

/* --- fullness ----------------------------------------------------------------------------------------------------- */

/* The items in flight, followed timestep by timestep. */
typedef struct trace_state {
    int in_flight[PROBLEM_MAX_INPUTS], chosen[PROBLEM_MAX_INPUTS];
    int32_t depth[PROBLEM_MAX_INPUTS], refill_index[PROBLEM_MAX_INPUTS], n_refills;
} trace_state;

static int32_t item_width(const problem *p, const trace_state *f, int32_t i)
{
    return p->expected[i].width[f->depth[i]].live;
}

/* Whether the scheduler may choose item i. least-advanced chooses only items of the smallest depth, the others any
 * item. */
static int is_eligible(const schedule *s, const trace_state *f, int32_t i)
{
    if (strcmp(s->method, "var-stream") != 0 && strcmp(s->method, "fixed-stream") != 0) return 1;
    for (int32_t j = 0; j < PROBLEM_MAX_INPUTS; j++)
        if (f->in_flight[j] && f->depth[j] < f->depth[i]) return 0;
    return 1;
}

/* An item may be left out only if its live candidates exceeded the remaining budget at its turn. The remaining budget
 * is at least the budget minus all items taken; with stream-all, minus those of the same and earlier refills. */
static const char *check_fullness(const problem *p, const schedule *s, const engine_record *r, const trace_state *f,
                                  const record_timestep *step)
{
    const int by_refill = strcmp(s->method, "stream-all") == 0 && r->stats.passed_over_first == 0;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        int64_t used = 0;
        if (!f->in_flight[i] || f->chosen[i] || !is_eligible(s, f, i)) continue;
        for (int32_t j = 0; j < step->n; j++)
            if (!by_refill || f->refill_index[step->item[j]] <= f->refill_index[i]) used += step->width[j];
        if (item_width(p, f, i) <= s->budget - used)
            return by_refill ? "an item of an earlier refill is left out" : "an item that fits is left out";
    }
    return NULL;
}

static const char *check_steps(const problem *p, const schedule *s, const engine_record *r)
{
    trace_state f = {.n_refills = 0};
    const char *wrong = NULL;
    int64_t t = 0;
    int refilling = 0;
    for (int64_t e = 0; e < r->n_events && wrong == NULL; e++) {
        const record_event *event = &r->event[e];
        f.n_refills += event->kind == RILL_TRACE_ADMITTED && !refilling;
        refilling = event->kind == RILL_TRACE_ADMITTED;
        if (refilling) f.in_flight[event->item] = 1, f.refill_index[event->item] = f.n_refills;
        if (event->kind == RILL_TRACE_TIMESTEP) {
            const record_timestep *step = &r->timestep[t++];
            for (int32_t i = 0; i < step->n; i++) f.chosen[step->item[i]] = 1;
            if (s->budget > 0) wrong = check_fullness(p, s, r, &f, step);
            for (int32_t i = 0; i < step->n; i++) {
                const int64_t item = step->item[i];
                f.chosen[item] = 0;
                f.in_flight[item] = ++f.depth[item] < p->expected[item].timesteps;
            }
        }
    }
    return wrong;
}

static void timesteps_are_full(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int64_t n_idle = 0;
    for (int64_t i = 0; i < harness_iterations(2000); i++) {
        uint64_t seed = first + (uint64_t)i;
        problem_group group = i % 3 ? PROBLEM_PRUNED : PROBLEM_FIXED_TOP;
        dice d = dice_seeded(dice_mix(seed, 91));
        problem p;
        schedule s;
        engine_record r;
        problem_draw(&p, group, &d);
        schedule_draw(&s, group, &d);
        s.scheduler = NULL;
        if (s.budget == 0 && strcmp(s.method, "fixed") != 0 && strcmp(s.method, "var-batch") != 0)
            s.budget = dice_range(&d, 4, 24);
        problem_solve(&p);
        engine_run(&p, &s, NULL, &r);
        if (r.status < 0) problem_fail(&p, &s, seed, r.message);
        check_widths(&p, &s, seed, &r);
        const char *wrong = check_steps(&p, &s, &r);
        if (wrong != NULL) problem_fail(&p, &s, seed, wrong);
        for (int64_t t = 0; t < r.n_timesteps; t++) n_idle += r.timestep[t].in_flight - r.timestep[t].n;
        engine_record_clear(&r);
        problem_clear(&p);
    }
    HARNESS_ASSERT_COVERED(n_idle > 1000);
}

/* --- encoding ahead ----------------------------------------------------------------------------------------------- */

/* Return the number of encode() calls that the refills of a run need. Each refill encodes up to `ahead` extra waiting
 * inputs, at most `window` in all. */
static int64_t expected_encode_calls(const engine_record *r, int32_t n_inputs, int32_t window, int32_t ahead)
{
    int64_t calls = 0;
    int32_t ready = 0, rest = n_inputs;
    for (int64_t e = 0; e < r->n_events; e++) {
        int32_t waiting = rest < window ? rest : window, missing = 0;
        for (; e < r->n_events && r->event[e].kind == RILL_TRACE_ADMITTED; e++) missing++;
        while (missing > 0) {
            int32_t taken;
            if (ready == 0) {
                ready = missing + ahead < waiting ? missing + ahead : waiting;
                waiting -= ready;
                rest -= ready;
                calls++;
            }
            taken = missing < ready ? missing : ready;
            ready -= taken;
            missing -= taken;
        }
    }
    return calls;
}

static void top_up_encodes_ahead(void **state)
{
    (void)state;
    static const char *const methods[] = {"top-up", "stream-all", "var-stream"};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        dice d = dice_seeded(dice_mix(seed, 92));
        problem p;
        engine_record r;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        for (p.n_inputs = 0; p.n_inputs < 40; p.n_inputs++)
            snprintf(p.input[p.n_inputs], sizeof p.input[0], "%d a b", (int)p.n_inputs);
        for (int m = 0; m < 3; m++) {
            schedule s = {.method = methods[m], .n = 3, .max_items = 8, .refill = 0.7};
            engine_run(&p, &s, NULL, &r);
            if (r.status < 0) problem_fail(&p, &s, seed, r.message);
            const int64_t ahead = expected_encode_calls(&r, p.n_inputs, 8, 3),
                          alone = expected_encode_calls(&r, p.n_inputs, 8, 0);
            if (r.toy.encode_calls != (m == 0 ? ahead : alone)) problem_fail(&p, &s, seed, "calls of encode");
            if (m == 0 && r.stats.refills > 8 && ahead >= alone) problem_fail(&p, &s, seed, "nothing is encoded ahead");
            engine_record_clear(&r);
        }
    }
}

/* --- restarts ----------------------------------------------------------------------------------------------------- */

/* A restarted item must have been in flight, with as many timesteps as the event says, and must be admitted again. */
static const char *check_restarts(const engine_record *r)
{
    int in[PROBLEM_MAX_INPUTS] = {0}, again[PROBLEM_MAX_INPUTS] = {0};
    int32_t had[PROBLEM_MAX_INPUTS] = {0};
    int64_t t = 0, events = 0;
    for (int64_t e = 0; e < r->n_events; e++) {
        const record_event *event = &r->event[e];
        if (event->kind == RILL_TRACE_TIMESTEP) {
            const record_timestep *step = &r->timestep[t++];
            for (int32_t i = 0; i < step->n; i++)
                if (step->depth[i] != had[step->item[i]]++) return "an item begins anew, and nothing was said";
            continue;
        }
        if (event->kind == RILL_TRACE_ADMITTED) {
            if (in[event->item]) return "an item comes in twice";
            in[event->item] = 1;
            again[event->item] = 0;
            continue;
        }
        if (event->kind == RILL_TRACE_FINISHED && again[event->item] && in[event->item]) return "it is still away";
        in[event->item] = 0;
        if (event->kind != RILL_TRACE_RESTARTED) continue;
        if (event->item_timesteps != had[event->item]) return "the event's timesteps are not those it had";
        had[event->item] = 0;
        again[event->item] = 1;
        events++;
    }
    for (int32_t i = 0; i < PROBLEM_MAX_INPUTS; i++)
        if (again[i]) return "an item was sent back for good";
    return events != r->stats.restarted ? "events and counter differ" : NULL;
}

static void restarts_are_traced(void **state)
{
    (void)state;
    int64_t n_restarted = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        dice d = dice_seeded(dice_mix(seed, 93));
        problem p;
        schedule s;
        engine_record r;
        int64_t max = 1;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        problem_solve(&p);
        for (int32_t i = 0; i < p.n_inputs; i++)
            if (p.expected[i].states > max) max = p.expected[i].states;
        s.bound = s.max_nodes = (int32_t)max;
        engine_run(&p, &s, NULL, &r);
        if (r.status < 0) problem_fail(&p, &s, seed, r.message);
        const char *wrong = check_restarts(&r);
        if (wrong != NULL) problem_fail(&p, &s, seed, wrong);
        n_restarted += r.stats.restarted;
        engine_record_clear(&r);
        problem_clear(&p);
    }
    assert_true(n_restarted > 50);
}

/* --- seconds ------------------------------------------------------------------------------------------------------ */

/* The slowed calls take this many seconds longer, so their stage takes at least that much per call. */
static const double PAUSE = 0.0005;
static int64_t paused;

static void pause_here(void)
{
    const struct timespec time = {.tv_nsec = (long)(PAUSE * 1e9)};
    nanosleep(&time, NULL);
    paused++;
}

static rill_status slow_encode(void *self, int32_t m, rill_input *inputs)
{
    pause_here();
    return toy_domain.encode(self, m, inputs);
}

static rill_status slow_step(void *self, const rill_rows *rows)
{
    pause_here();
    return toy_domain.step(self, rows);
}

static rill_status slow_score(void *self, const rill_rows *rows, const rill_score_request *request,
                              rill_score_result *out)
{
    pause_here();
    return toy_domain.score(self, rows, request, out);
}

static rill_status slow_finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    pause_here();
    return toy_domain.finalize(self, hypothesis, out);
}

static rill_status slow_choose(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    (void)self;
    pause_here();
    *count = view->n;
    for (int32_t i = 0; i < view->n; i++) order[i] = i;
    return RILL_OK;
}

static rill_status admit_all(void *self, const rill_sched_view *view, int32_t *admit)
{
    (void)self;
    *admit = view->max_items - view->n;
    return RILL_OK;
}

static rill_status slow_apply(void *self, rill_candidates *candidates)
{
    (void)self, (void)candidates;
    pause_here();
    return RILL_OK;
}

static rill_status slow_modifiers(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self, (void)rows, (void)modifiers;
    pause_here();
    return RILL_OK;
}

static const rill_scheduler slow_scheduler = TEST_SCHEDULER("slow", .choose = slow_choose, .refill = admit_all);
static const rill_heuristic slow_heuristic = TEST_HEURISTIC("slow", .apply = slow_apply);
static const rill_scorer slow_scorer = TEST_SCORER("slow", .score = slow_modifiers);

/* Stages that the test can slow down. */
typedef enum stage { ENCODE, STEP, SCORE, FINALIZE, CHOOSE, PRUNE, SCORERS, STAGES } stage;
static rill_domain slow_domain;

static rill_status register_slow(rill_context *ctx)
{
    rill_status status = rill_register_domain(ctx, &slow_domain);
    if (status == RILL_OK) status = rill_register_scheduler(ctx, &slow_scheduler);
    if (status == RILL_OK) status = rill_register_heuristic(ctx, &slow_heuristic);
    return status == RILL_OK ? rill_register_scorer(ctx, &slow_scorer) : status;
}

static void make_slow(stage which, problem *p, schedule *s)
{
    slow_domain = toy_domain;
    slow_domain.name = "slow";
    if (which == ENCODE) slow_domain.encode = slow_encode;
    if (which == STEP) slow_domain.step = slow_step;
    if (which == SCORE) slow_domain.score = slow_score;
    if (which == FINALIZE) slow_domain.finalize = slow_finalize;
    p->domain = "slow";
    p->n_heuristics = which == PRUNE;
    p->n_scorers = which == SCORERS;
    p->heuristic[0] = p->scorer[0] = (problem_name){.name = "slow"};
    s->scheduler = which == CHOOSE ? "slow" : NULL;
}

static void stage_seconds(rill_seconds *s, double *out[9])
{
    double *const all[9] = {&s->encode, &s->step,    &s->score,  &s->finalize, &s->choose,
                            &s->prune,  &s->scorers, &s->select, &s->commit};
    memcpy(out, all, sizeof all);
}

/* The sum of the stages must not exceed the total. For each stage, the seconds of all timesteps must add up to those of
 * the run. */
static const char *check_sums(engine_record *r)
{
    double *run_seconds[9], *step_seconds[9], sum = 0;
    stage_seconds(&r->stats.seconds, run_seconds);
    for (int m = 0; m < 9; m++) {
        double step_sum = 0;
        for (int64_t t = 0; t < r->n_timesteps; t++) {
            stage_seconds(&r->timestep[t].seconds, step_seconds);
            step_sum += *step_seconds[m];
        }
        sum += *run_seconds[m];
        if (!(*run_seconds[m] > 0) && m != 5 && m != 6) return "a stage took no time at all";
        if (step_sum > *run_seconds[m] + 1e-9 || (m > 0 && m != 4 && step_sum < *run_seconds[m] - 1e-9))
            return "timesteps and run differ";
    }
    return sum > r->stats.seconds.total + 1e-9 ? "the stages are more than the whole" : NULL;
}

static void seconds_by_stage(void **state)
{
    (void)state;
    static const char *const names[] = {"encode", "step", "score", "finalize", "choose", "prune", "scorers"};
    for (stage which = 0; which < STAGES; which++) {
        dice d = dice_seeded(94);
        problem p;
        schedule s = {.method = "var-stream", .n = 4, .refill = -1};
        engine_record r;
        double *seconds[9];
        problem_draw(&p, PROBLEM_PRUNED, &d);
        make_slow(which, &p, &s);
        for (p.n_inputs = 0; p.n_inputs < 12; p.n_inputs++)
            snprintf(p.input[p.n_inputs], sizeof p.input[0], "%d a", (int)p.n_inputs);
        paused = 0;
        engine_run_with(&p, &s, NULL, register_slow, &r);
        if (r.status < 0) problem_fail(&p, &s, which, r.message);
        stage_seconds(&r.stats.seconds, seconds);
        assert_true(paused > 0);
        if (*seconds[which] < PAUSE * (double)paused) problem_fail(&p, &s, which, names[which]);
        const char *wrong = check_sums(&r);
        if (wrong != NULL) problem_fail(&p, &s, which, wrong);
        engine_record_clear(&r);
    }
}

static int in_step;          /* whether an engine step is running and has called score() */
static double slept_seconds; /* seconds slept during such steps */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *slow_allocate(void *user, void *pointer, size_t old_size, size_t new_size)
{
    (void)user, (void)old_size;
    const double begin = now();
    if (in_step && new_size > 0) pause_here();
    if (in_step) slept_seconds += now() - begin;
    if (new_size > 0) return realloc(pointer, new_size);
    free(pointer);
    return NULL;
}

static rill_status score_in_step(void *self, const rill_rows *rows, const rill_score_request *request,
                                 rill_score_result *out)
{
    in_step = 1;
    return toy_domain.score(self, rows, request, out);
}

static void note_step_end(void *user, rill_engine *engine)
{
    (void)user, (void)engine;
    in_step = 0;
}

/* Every second of a step belongs to some stage. The test sleeps in allocations, which all stages make. */
static void all_seconds_are_counted(void **state)
{
    (void)state;
    const rill_context_options slow = {.struct_size = sizeof slow, .allocate = slow_allocate};
    const hooks h = {.on_step = note_step_end};
    dice d = dice_seeded(94);
    problem p;
    schedule s = {.method = "var-stream", .n = 4, .refill = -1, .hooks = &h};
    engine_record r;
    double *seconds[9], sum = 0;
    problem_draw(&p, PROBLEM_PRUNED, &d);
    make_slow(STAGES, &p, &s);
    slow_domain.score = score_in_step;
    for (p.n_inputs = 0; p.n_inputs < 12; p.n_inputs++)
        snprintf(p.input[p.n_inputs], sizeof p.input[0], "%d a", (int)p.n_inputs);
    paused = 0;
    slept_seconds = 0;
    engine_run_with(&p, &s, &slow, register_slow, &r);
    in_step = 0;
    if (r.status < 0) problem_fail(&p, &s, 94, r.message);
    stage_seconds(&r.stats.seconds, seconds);
    for (int m = 0; m < 9; m++) sum += *seconds[m];
    assert_true(paused > 10 && sum >= slept_seconds);
    engine_record_clear(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(timesteps_are_full),      cmocka_unit_test(top_up_encodes_ahead),
    cmocka_unit_test(restarts_are_traced),     cmocka_unit_test(seconds_by_stage),
    cmocka_unit_test(all_seconds_are_counted),
};

HARNESS_MAIN(tests)
