/* Memory limits. With any limit every run ends and no more states are alive than allowed. Results are those of the run
 * without a limit, except that an input fails if its own search needs more. See framework/engine/preempt.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

/* The largest number of states that one input needs. */
static int32_t max_states(const problem *p)
{
    int64_t max = 1;
    for (int32_t i = 0; i < p->n_inputs; i++)
        if (p->expected[i].states > max) max = p->expected[i].states;
    return (int32_t)max;
}

static void set_memory_limit(schedule *s, int32_t bound, dice *d)
{
    s->bound = bound;
    if (dice_chance(d, 70)) {
        s->max_nodes = bound;
    } else { /* a quarter of the memory is for inputs, which is always enough here */
        int64_t min = 4 * (TOY_SLOT_BYTES + 64 * TOY_UNIT_BYTES),
                wanted = ((int64_t)bound * TOY_NODE_BYTES * 4 + 2) / 3;
        s->memory = wanted < min ? min : wanted;
        s->bound = (int32_t)((s->memory - s->memory / 4) / TOY_NODE_BYTES);
    }
}

static void check_limits(problem_group group, int64_t iterations)
{
    uint64_t first = harness_seed(1);
    int bad = 0;
    int64_t n_restarted = 0, failed = 0;
    for (int64_t i = 0; i < harness_iterations(iterations) && bad < 5; i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 40 + (uint64_t)group));
        problem p;
        schedule s;
        problem_draw(&p, group, &d);
        problem_solve(&p);
        schedule_draw(&s, group, &d);
        int32_t max = max_states(&p);
        set_memory_limit(&s, dice_chance(&d, 60) ? max + dice_range(&d, 0, max) : dice_range(&d, 1, max), &d);
        failed += s.bound < max;
        rill_stats stats;
        bad += problem_differs(&p, &s, seed, 0, &stats);
        n_restarted += stats.restarted;
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
    HARNESS_ASSERT_COVERED(failed > 0);
    HARNESS_ASSERT_COVERED(group == PROBLEM_GREEDY || n_restarted > 0);
}

static void pruned(void **state)
{
    (void)state;
    check_limits(PROBLEM_PRUNED, 800);
}

static void fixed_top(void **state)
{
    (void)state;
    check_limits(PROBLEM_FIXED_TOP, 300);
}

static void fixed(void **state)
{
    (void)state;
    check_limits(PROBLEM_FIXED, 300);
}

static void greedy(void **state)
{
    (void)state;
    check_limits(PROBLEM_GREEDY, 300);
}

/* At the smallest limit that fits each item alone nothing fails, whatever the method. With one state less, an input
 * fails. */
static void minimal_limit(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int bad = 0;
    int64_t n_restarted = 0;
    for (int64_t i = 0; i < harness_iterations(60) && bad < 5; i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 50));
        problem p;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        problem_solve(&p);
        int32_t max = max_states(&p);
        for (const char *const *method = problem_methods(PROBLEM_PRUNED); *method != NULL; method++)
            for (int32_t less = 0; less < 2 && less < max; less++) {
                schedule s = {.method = *method, .n = 10, .refill = -1, .max_nodes = max - less, .bound = max - less};
                rill_stats stats;
                bad += problem_differs(&p, &s, seed, 0, &stats);
                n_restarted += stats.restarted;
            }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
    HARNESS_ASSERT_COVERED(n_restarted > 0);
}

/* With a tenth of the memory that all items together would use, the extra work of restarts is bounded. */
static void little_is_wasted(void **state)
{
    (void)state;
    dice d = dice_seeded(7);
    problem p;
    engine_record record;
    char message[300];
    problem_draw(&p, PROBLEM_FIXED_TOP, &d);
    snprintf(p.arguments, sizeof p.arguments, "seed=3 actions=9 depth=20 legal=90 ending=10 terminal=end state=path");
    assert_int_equal(toy_model_parse(&p.model, p.arguments, message, sizeof message), RILL_OK);
    p.n_inputs = PROBLEM_MAX_INPUTS;
    for (int32_t i = 0; i < p.n_inputs; i++) snprintf(p.input[i], sizeof p.input[i], "%d a b", (int)(7 * i));
    p.settings.k = p.naive.k = 4;
    p.n_scorers = p.settings.min_length = p.settings.max_length = p.settings.stop_after = p.naive.stop_after = 0;
    p.settings.patience = 0;
    problem_solve(&p);
    int64_t expansions = 0, states = 0;
    for (int32_t i = 0; i < p.n_inputs; i++) expansions += p.expected[i].expansions, states += p.expected[i].states;
    int32_t bound = (int32_t)(states / 10);
    assert_true(bound > max_states(&p));
    schedule s = {.method = "fixed-stream", .n = 48, .refill = -1, .max_nodes = bound, .bound = bound};
    engine_run(&p, &s, NULL, &record);
    problem_expect(&p, &s, 7, &record);
    assert_true(record.stats.restarted > 0);
    assert_true(record.stats.expansions < 2 * expansions);
    engine_record_clear(&record);
    problem_clear(&p);
}

/* Encoding stops when the inputs' share of the memory is used up. */
static void inputs_take_memory(void **state)
{
    (void)state;
    dice d = dice_seeded(9);
    problem p;
    engine_record record;
    problem_draw(&p, PROBLEM_PRUNED, &d);
    p.n_inputs = 40;
    for (int32_t i = 0; i < p.n_inputs; i++)
        snprintf(p.input[i], sizeof p.input[i], "%d a a a a a a a a a a a a a", (int)i % 100);
    problem_solve(&p);
    int64_t memory = 4 * 10 * (TOY_SLOT_BYTES + 8 * TOY_UNIT_BYTES);
    schedule s = {.method = "top-up", .n = 40, .refill = -1, .memory = memory};
    s.bound = (int32_t)((memory - memory / 4) / TOY_NODE_BYTES);
    engine_run(&p, &s, NULL, &record);
    problem_expect(&p, &s, 9, &record);
    assert_in_range(record.toy.slots_peak, 2, 25);
    engine_record_clear(&record);
    s.workers = 4;
    engine_run(&p, &s, NULL, &record);
    problem_expect(&p, &s, 9, &record);
    assert_in_range(record.toy.slots_peak, 1, 4); /* slots per worker */
    engine_record_clear(&record);
    s.workers = s.own_thread = 1;
    engine_run(&p, &s, NULL, &record);
    problem_expect(&p, &s, 9, &record);
    /* at most as many as the known lengths allow, and more than if lengths were unknown */
    assert_in_range(record.toy.slots_peak, 2, 10);
    engine_record_clear(&record);
    s.workers = s.own_thread = 0;
    s.memory = 4 * (TOY_SLOT_BYTES - 1);
    engine_run(&p, &s, NULL, &record);
    assert_int_equal(record.status, RILL_OK);
    for (int32_t i = 0; i < p.n_inputs; i++) {
        assert_int_equal(record.result[i].status, RILL_ERR_INPUT);
        assert_true(strstr(record.result[i].message, "memory") != NULL);
    }
    engine_record_clear(&record);
    problem_clear(&p);
}

static int64_t input_bytes, unit_bytes; /* bytes per input, and per unit of input size, that the domain below needs */

static rill_status open_costing(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                                void **self, rill_domain_info *info)
{
    const rill_status status = toy_domain.open(table, ctx, options, self, info);
    info->slot_bytes = input_bytes;
    info->slot_unit_bytes = unit_bytes;
    return status;
}

/* A quarter of the memory is for inputs if the domain needs memory per input or per unit of size. */
static void memory_is_shared_with_inputs(void **state)
{
    (void)state;
    static const int64_t costs[][3] = {{0, 0, 40}, {1, 0, 30}, {0, 1, 30}};
    rill_domain costing = toy_domain;
    costing.name = "costing";
    costing.open = open_costing;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        harness_memory memory;
        rill_context *ctx = harness_begin(&memory);
        rill_model *model;
        rill_engine *engine;
        rill_engine_setup setup;
        rill_stats stats = {.struct_size = sizeof stats};
        const rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = "depth=6"};
        input_bytes = costs[i][0], unit_bytes = costs[i][1];
        assert_int_equal(rill_register_domain(ctx, &costing), RILL_OK);
        assert_int_equal(rill_model_open(&model, ctx, "costing", &open), RILL_OK);
        rill_engine_setup_default(&setup);
        setup.settings.memory = 40 * TOY_NODE_BYTES;
        assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
        rill_engine_stats(engine, &stats);
        assert_int_equal(stats.nodes_bound, costs[i][2]);
        rill_engine_destroy(engine);
        rill_model_close(model);
        harness_end(ctx, &memory);
    }
}

/* Limits of more bytes than a double counts exactly, and of less than one state. */
static void extremes(void **state)
{
    (void)state;
    dice d = dice_seeded(11);
    problem p;
    engine_record record;
    problem_draw(&p, PROBLEM_PRUNED, &d);
    problem_solve(&p);
    schedule s = {.method = "var-stream", .n = 3, .refill = -1, .max_nodes = INT32_MAX, .bound = INT32_MAX - 1};
    engine_run(&p, &s, NULL, &record);
    problem_expect(&p, &s, 11, &record);
    engine_record_clear(&record);
    s = (schedule){.method = "var-stream", .n = 3, .refill = -1, .memory = TOY_NODE_BYTES};
    engine_run(&p, &s, NULL, &record);
    assert_int_equal(record.status, RILL_ERR_OPTION);
    assert_true(strstr(record.message, "too few for one state") != NULL);
    engine_record_clear(&record);
    problem_clear(&p);
}

/* States are reserved for the existing inputs, not for the whole budget. */
static void large_budgets_reserve_nothing(void **state)
{
    (void)state;
    dice d = dice_seeded(13);
    problem p;
    engine_record record;
    const schedule s = {.method = "var-stream", .n = 3, .refill = -1, .budget = 1000000};
    problem_draw(&p, PROBLEM_PRUNED, &d);
    snprintf(p.arguments, sizeof p.arguments, "depth=6 state=parent");
    engine_run(&p, &s, NULL, &record);
    assert_int_equal(record.status, RILL_OK);
    assert_in_range(record.stats.nodes_capacity, 1, 10000);
    engine_record_clear(&record);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pruned),
    cmocka_unit_test(fixed_top),
    cmocka_unit_test(fixed),
    cmocka_unit_test(greedy),
    cmocka_unit_test(minimal_limit),
    cmocka_unit_test(little_is_wasted),
    cmocka_unit_test(inputs_take_memory),
    cmocka_unit_test(memory_is_shared_with_inputs),
    cmocka_unit_test(extremes),
    cmocka_unit_test(large_budgets_reserve_nothing),
};

HARNESS_MAIN(tests)
