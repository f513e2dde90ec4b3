/* Asynchronous domains: results are those of the naive search under every schedule, with two groups in progress and
 * with one. Cancelled, late or failed inputs leave no node, slot or memory in use. See framework/engine/beam_search.c.
 * The tests "..._late" run other test programs with asynchronous domains. */
#include <stdio.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

static void draw_async(schedule *s, dice *d)
{
    s->async_rows = 1 + DICE_PICK(d, 0, 1, 1, 2, 3, 5, 8, 20);
    s->sync_group = DICE_PICK(d, 0, 0, 0, 1, 2);
}

static void draw(problem *p, schedule *s, problem_group group, dice *d)
{
    problem_draw(p, group, d);
    schedule_draw(s, group, d);
    draw_async(s, d);
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static void answers(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    int64_t two = 0, one = 0, meanwhile = 0;
    for (int64_t i = 0; i < harness_iterations(1500); i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 90));
        problem p;
        schedule s;
        engine_record r;
        draw(&p, &s, (problem_group)(i % 4), &d);
        problem_solve(&p);
        engine_run(&p, &s, NULL, &r);
        problem_expect(&p, &s, seed, &r);
        assert_true(s.async_rows > 1 || r.async.max_queued < 2);
        two += r.async.max_queued == 2;
        one += r.async.max_queued == 1;
        meanwhile += r.async.forced_early > 0;
        engine_record_clear(&r);
        problem_clear(&p);
    }
    print_message("two groups at once in %lld runs, one in %lld\n", (long long)two, (long long)one);
    HARNESS_ASSERT_COVERED(two > 300 && one > 300 && meanwhile > 300);
}

/* Several engines on one model, all calls asynchronous. */
static void workers(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(60); i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 91));
        problem p;
        schedule s;
        draw(&p, &s, PROBLEM_PRUNED, &d);
        s.workers = 3;
        s.check = 0;
        problem_solve(&p);
        assert_false(problem_differs(&p, &s, seed, 0, NULL));
        problem_clear(&p);
    }
}

/* --- the scheduler ------------------------------------------------------------------------------------------------ */

/* A scheduler that chooses one item, from the middle of those it sees, and the ids of the items that it chose. */
static int64_t chosen_items[10000];
static int64_t n_chosen_items, min_shown, max_shown;

static rill_status choose_one(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    (void)self;
    order[0] = view->n / 2;
    *count = 1;
    chosen_items[n_chosen_items++] = view->item_id[view->n / 2];
    if (view->n < min_shown) min_shown = view->n;
    if (view->n > max_shown) max_shown = view->n;
    return RILL_OK;
}

static rill_status admit_all(void *self, const rill_sched_view *view, int32_t *admit)
{
    (void)self;
    *admit = view->max_items - view->n;
    return RILL_OK;
}

static const rill_scheduler naming_scheduler = {
    RILL_ABI_VERSION, sizeof(rill_scheduler), "namer", "", NULL, choose_one, admit_all, NULL, NULL, 0};

static rill_status register_naming(rill_context *ctx)
{
    return rill_register_scheduler(ctx, &naming_scheduler);
}

/* Twenty equal inputs, of a model drawn from the seed. */
static void draw_even(problem *p, uint64_t seed)
{
    dice d = dice_seeded(seed);
    problem_draw(p, PROBLEM_PRUNED, &d);
    p->n_heuristics = p->n_scorers = 0;
    for (p->n_inputs = 0; p->n_inputs < 20; p->n_inputs++) snprintf(p->input[p->n_inputs], sizeof p->input[0], "in 1");
}

/* When one group's calls return at once, the other group still gets its turns: inputs finish in order of arrival. */
static void synchronous_answers_starve_nobody(void **state)
{
    (void)state;
    problem p;
    engine_record r;
    const schedule s = {
        .method = "stream-all", .n = 4, .max_items = 4, .refill = 1, .unordered = 1, .async_rows = 2, .sync_group = 2};
    draw_even(&p, 3);
    engine_run(&p, &s, NULL, &r);
    assert_int_equal(r.status, RILL_OK);
    assert_true(r.async.submitted > 0);
    for (int32_t i = 0; i < p.n_inputs; i++) assert_true(r.result[i].position <= i + 4);
    engine_record_clear(&r);
}

/* The inputs of the next refill are encoded while the device computes scores, even with one group. */
static void refills_are_encoded_meanwhile(void **state)
{
    (void)state;
    problem p;
    engine_record r;
    const schedule s = {.method = "stream-all", .n = 4, .max_items = 4, .refill = 1, .async_rows = 1000};
    draw_even(&p, 6); /* a search of several timesteps */
    engine_run(&p, &s, NULL, &r);
    assert_int_equal(r.status, RILL_OK);
    assert_int_equal(r.async.max_queued, 1);
    assert_true(r.async.encoded > 4);
    assert_int_equal(r.async.encoded_during, r.async.encoded - 1);
    engine_record_clear(&r);
}

/* Schedulers see only idle items. The items that a scheduler names are expanded in its order. */
static void schedulers_choose_idle_items(void **state)
{
    (void)state;
    dice d = dice_seeded(3);
    problem p;
    engine_record r;
    const schedule s = {.method = "stream-all",
                        .n = 6,
                        .max_items = 6,
                        .refill = 1,
                        .async_rows = 2,
                        .scheduler = "namer",
                        .scheduler_arguments = ""};
    problem_draw(&p, PROBLEM_PRUNED, &d);
    for (p.n_inputs = 0; p.n_inputs < 20; p.n_inputs++)
        snprintf(p.input[p.n_inputs], sizeof p.input[0], "in %d", (int)p.n_inputs);
    n_chosen_items = max_shown = 0;
    min_shown = 100;
    engine_run_with(&p, &s, NULL, register_naming, &r);
    assert_int_equal(r.status, RILL_OK);
    assert_int_equal(r.async.max_queued, 2);
    assert_int_equal(n_chosen_items, r.n_timesteps);
    for (int64_t t = 0; t < n_chosen_items; t++) {
        assert_int_equal(r.timestep[t].n, 1);
        assert_int_equal(r.timestep[t].item[0], chosen_items[t]);
    }
    assert_true(min_shown < max_shown && max_shown >= 5);
    engine_record_clear(&r);
}

/* --- cancelling during a call ------------------------------------------------------------------------------------- */

typedef struct random_quitter {
    dice d;
    int32_t n_inputs;
    int cancelled[PROBLEM_MAX_INPUTS];
    double now; /* the time that deadlines are compared with */
} random_quitter;

static double read_clock(void *user)
{
    return ((const random_quitter *)user)->now;
}

static rill_status submit_some(void *user, rill_engine *engine, const problem *p, int32_t i)
{
    random_quitter *m = user;
    rill_request r = {.struct_size = sizeof r, .text = p->input[i], .length = strlen(p->input[i])};
    if (i % 3 == 0) r.timeout = 1 + (double)dice_range(&m->d, 0, 20);
    return rill_engine_submit_request(engine, &r, NULL);
}

static void cancel_some(void *user, rill_engine *engine)
{
    random_quitter *m = user;
    m->now += 1;
    for (int32_t i = 0; i < m->n_inputs; i++) {
        if (!dice_chance(&m->d, 6)) continue;
        rill_status status = rill_engine_cancel(engine, i);
        assert_true(status == RILL_OK || status == RILL_ERR_NOT_FOUND);
        if (status == RILL_OK) assert_false(m->cancelled[i]);
        if (status == RILL_OK) m->cancelled[i] = 1;
    }
}

/* The statistics do not count outputs of inputs that were cancelled or late. */
static void expect_outputs(const problem *p, const engine_record *r)
{
    int64_t found = 0, truncated = 0, n_outputs = 0;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        found += r->result[i].outputs_found;
        n_outputs += r->result[i].n;
        for (int32_t o = 0; o < r->result[i].n; o++) truncated += is_truncated(&r->result[i].output[o].value);
    }
    assert_int_equal(r->stats.outputs, found);
    assert_in_range(r->stats.truncated, truncated, truncated + found - n_outputs);
}

static void cancelled_and_late_inputs(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    int64_t n_cancelled = 0, n_late = 0, n_complete = 0;
    for (int64_t i = 0; i < harness_iterations(500); i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 92));
        problem p;
        schedule s;
        engine_record r, baseline;
        problem_draw_undisturbed(&p, &s, (problem_group)(i % 4), &d, &baseline);
        draw_async(&s, &d);
        random_quitter m = {.d = dice_seeded(seed), .n_inputs = p.n_inputs, .now = 100};
        const hooks h = {.user = &m, .clock = read_clock, .submit = submit_some, .on_step = cancel_some};
        s.hooks = &h;
        engine_run(&p, &s, NULL, &r);
        if (r.status != RILL_OK || r.toy.violations != 0) problem_fail(&p, &s, seed, r.toy.first_violation);
        assert_int_equal(r.stats.nodes_in_use, 0);
        assert_int_equal(r.stats.histories_in_use, 0);
        expect_outputs(&p, &r);
        for (int32_t input = 0; input < p.n_inputs; input++) {
            const record_result *a = &r.result[input];
            assert_int_equal(a->taken, 1);
            assert_true((a->status == RILL_ERR_CANCELLED) == m.cancelled[input]);
            n_cancelled += m.cancelled[input];
            n_late += a->timed_out || a->status == RILL_ERR_DEADLINE;
            if (m.cancelled[input] || a->timed_out || a->status == RILL_ERR_DEADLINE) continue;
            n_complete++;
            problem_expect_same(&p, &s, seed, input, a, &baseline.result[input]);
        }
        engine_record_clear(&baseline);
        engine_record_clear(&r);
    }
    print_message("%lld cancelled, %lld late, %lld whole\n", (long long)n_cancelled, (long long)n_late,
                  (long long)n_complete);
    HARNESS_ASSERT_COVERED(n_cancelled > 100 && n_late > 100 && n_complete > 100);
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* A failure at collect ends the run with its message. The call of the other group is collected too, and nothing leaks.
 * The same holds when memory runs out. */
static void failures(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    int64_t ended = 0, starved = 0;
    for (int64_t i = 0; i < harness_iterations(400); i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 93));
        harness_memory memory = {.failing_request = i % 2 ? dice_range(&d, 1, 400) : 0};
        const rill_context_options options = harness_memory_options(&memory);
        problem p;
        schedule s;
        engine_record r;
        draw(&p, &s, (problem_group)(i % 3), &d);
        s.fail_collect = i % 2 ? 0 : dice_range(&d, 1, 12);
        engine_run(&p, &s, &options, &r);
        if (r.toy.violations != 0) problem_fail(&p, &s, seed, r.toy.first_violation);
        assert_int_equal(memory.blocks, 0);
        assert_int_equal(memory.wrong_sizes, 0);
        assert_int_equal(r.toy.opened, r.toy.closed);
        assert_int_equal(r.toy.started, r.toy.stopped);
        if (i % 2 == 0 && r.status != RILL_OK) {
            assert_int_equal(r.status, RILL_ERR_IO);
            assert_non_null(strstr(r.message, "injected failure in collect"));
            ended++;
        }
        starved += r.status == RILL_ERR_MEMORY;
        engine_record_clear(&r);
    }
    HARNESS_ASSERT_COVERED(ended > 100 && starved > 30);
}

/* A domain whose score() returns "later", but which has no collect(), is refused. */
static rill_status score_without_answer(void *self, const rill_rows *rows, const rill_score_request *request,
                                        rill_score_result *out)
{
    (void)self, (void)rows, (void)request, (void)out;
    return RILL_AGAIN;
}

static rill_status collect_nothing(void *self, int32_t group)
{
    (void)self, (void)group;
    return RILL_AGAIN;
}

static rill_domain never_ready_domain;

static rill_status register_without_collect(rill_context *ctx)
{
    never_ready_domain = toy_domain;
    never_ready_domain.name = "never";
    never_ready_domain.score = score_without_answer;
    return rill_register_domain(ctx, &never_ready_domain);
}

static rill_status register_never_ready(rill_context *ctx)
{
    rill_status status = register_without_collect(ctx);
    /* set after registration, which is allowed: the registry keeps a pointer to the table, not a copy */
    never_ready_domain.collect = collect_nothing;
    return status;
}

static void domains_without_collect(void **state)
{
    (void)state;
    dice d = dice_seeded(5);
    problem p;
    engine_record r;
    const schedule s = {.method = "fixed", .n = 2, .refill = -1};
    problem_draw(&p, PROBLEM_FIXED, &d);
    p.domain = "never";
    engine_run_with(&p, &s, NULL, register_without_collect, &r);
    assert_int_equal(r.status, RILL_ERR_PLUGIN);
    assert_non_null(strstr(r.message, "domain never: score() is asynchronous, but the domain has no collect()"));
    engine_record_clear(&r);
    engine_run_with(&p, &s, NULL, register_never_ready, &r);
    assert_int_equal(r.status, RILL_ERR_PLUGIN);
    assert_non_null(strstr(r.message, "domain never: collect() returned before the result was ready"));
    engine_record_clear(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(workers),
        cmocka_unit_test(schedulers_choose_idle_items),
        cmocka_unit_test(synchronous_answers_starve_nobody),
        cmocka_unit_test(refills_are_encoded_meanwhile),
        cmocka_unit_test(cancelled_and_late_inputs),
        cmocka_unit_test(failures),
        cmocka_unit_test(domains_without_collect),
    };
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
