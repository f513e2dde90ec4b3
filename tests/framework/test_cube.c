/* Cube pruning against the cube pruning of the naive search, on random problems: same outputs and scores to the last
 * bit under every method and schedule, with workers and with an asynchronous domain. Also properties that follow from
 * the definition. */
#include <stdio.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

/* Return the class of a hypothesis, for the naive search, if the user gives the class function. */
static int64_t naive_key(int32_t last_action)
{
    return last_action / 2;
}

static rill_status engine_key(void *user, const rill_scorer_rows *rows, int64_t *key)
{
    (void)user;
    for (int32_t i = 0; i < rows->n; i++) key[i] = naive_key(rows->hyp_nodes[rows->hyp_node[i]].action);
    return RILL_OK;
}

static void draw_cube(problem *p, int cube, dice *d)
{
    p->settings.cube = cube;
    p->naive.cube = cube - RILL_CUBE_NONE;
    if (dice_chance(d, 40)) {
        p->cube_key = engine_key;
        p->naive.cube_key = naive_key;
    }
    const size_t length = strlen(p->arguments);
    char message[128];
    snprintf(p->arguments + length, sizeof p->arguments - length, " mixed=%d",
             cube == RILL_CUBE_NAIVE ? 0
             : p->cube_key != NULL   ? 2
                                     : 1);
    assert_int_equal(toy_model_parse(&p->model, p->arguments, message, sizeof message), RILL_OK);
}

static void search_group(problem_group group, int cube, int64_t iterations)
{
    const uint64_t first = harness_seed(1);
    int64_t shared = 0, rescored = 0;
    int bad = 0;
    for (int64_t i = 0; i < harness_iterations(iterations) && bad < 5; i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, (uint64_t)(100 + 10 * cube + (int)group)));
        problem p;
        problem_draw(&p, group, &d);
        if (dice_chance(&d, 50)) problem_draw_conventions(&p, group, &d);
        draw_cube(&p, cube, &d);
        if (dice_chance(&d, 40)) problem_forbid(&p, &d);
        problem_solve(&p);
        for (int j = 0; j < 3 && bad < 5; j++) {
            schedule s;
            rill_stats stats;
            schedule_draw(&s, group, &d);
            if (j == 1 && dice_chance(&d, 50)) s.async_rows = 1 + dice_range(&d, 1, 4);
            if (j == 2 && dice_chance(&d, 30)) s.workers = dice_range(&d, 2, 3);
            bad += problem_differs(&p, &s, seed, 0, &stats);
            shared += stats.cube_hypotheses - stats.cube_classes;
            rescored += stats.cube_rescored;
        }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
    HARNESS_ASSERT_COVERED(shared > 0);
    HARNESS_ASSERT_COVERED((rescored > 0) == (cube == RILL_CUBE_NAIVE));
}

static void naive_cube(void **state)
{
    (void)state;
    search_group(PROBLEM_PRUNED, RILL_CUBE_NAIVE, 1200);
    search_group(PROBLEM_FIXED_TOP, RILL_CUBE_NAIVE, 300);
    search_group(PROBLEM_FIXED, RILL_CUBE_NAIVE, 300);
}

static void accelerated_cube(void **state)
{
    (void)state;
    search_group(PROBLEM_PRUNED, RILL_CUBE_ACCELERATED, 1200);
    search_group(PROBLEM_FIXED_TOP, RILL_CUBE_ACCELERATED, 300);
    search_group(PROBLEM_FIXED, RILL_CUBE_ACCELERATED, 300);
}

/* With a limit on states, items wait and restart; those that fit have the same results. */
static void cube_under_memory_limit(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    int64_t n_restarted = 0, fit = 0;
    for (int64_t i = 0; i < harness_iterations(400); i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 140));
        problem p;
        schedule s;
        engine_record free_run, limited_run;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        draw_cube(&p, dice_range(&d, RILL_CUBE_NAIVE, RILL_CUBE_ACCELERATED), &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        if (i % 3 == 0) s.async_rows = 2;
        engine_run(&p, &s, NULL, &free_run);
        s.max_nodes = 2 * p.model.phases * p.settings.k + dice_range(&d, 1, 60);
        engine_run(&p, &s, NULL, &limited_run);
        assert_int_equal(limited_run.status, free_run.status);
        assert_true(limited_run.toy.nodes_peak <= s.max_nodes);
        for (int32_t input = 0; input < p.n_inputs; input++) {
            if (limited_run.result[input].status == RILL_ERR_INPUT && free_run.result[input].status == RILL_OK)
                continue;
            problem_expect_same(&p, &s, seed, input, &limited_run.result[input], &free_run.result[input]);
            fit++;
        }
        n_restarted += limited_run.stats.restarted;
        engine_record_clear(&free_run);
        engine_record_clear(&limited_run);
        problem_clear(&p);
    }
    HARNESS_ASSERT_COVERED(n_restarted > 0 && fit > 0);
}

/* If every hypothesis is a class of its own, cube pruning is plain beam search. */
static rill_status own_key(void *user, const rill_scorer_rows *rows, int64_t *key)
{
    (void)user;
    for (int32_t i = 0; i < rows->n; i++) key[i] = rows->rank[i];
    return RILL_OK;
}

static void distinct_keys_are_plain_search(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 150));
        problem p;
        schedule s;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        problem_solve(&p);
        p.settings.cube = dice_range(&d, RILL_CUBE_NAIVE, RILL_CUBE_ACCELERATED);
        p.cube_key = own_key;
        engine_record record;
        char message[600];
        engine_run(&p, &s, NULL, &record);
        p.settings.cube = 0; /* the naive search, without cube pruning, counts no classes */
        if (problem_compare(&p, &s, &record, message, sizeof message)) problem_fail(&p, &s, seed, message);
        engine_record_clear(&record);
        problem_clear(&p);
    }
}

static rill_status key_by_row(void *user, const rill_scorer_rows *rows, int64_t *key)
{
    (void)user;
    for (int32_t i = 0; i < rows->n; i++) key[i] = i;
    return RILL_OK;
}

static rill_status fail_key(void *user, const rill_scorer_rows *rows, int64_t *key)
{
    (void)rows, (void)key;
    return rill_fail(user, RILL_ERR_PLUGIN, "no key today");
}

static void bad_keys_are_refused(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_open_options options = {.struct_size = sizeof options, .threads = 1, .arguments = "seed=3 actions=5 depth=5"};
    assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_OK);
    rill_engine_setup_default(&setup);
    setup.cube_key = key_by_row;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(ctx), "set cube"));
    setup.settings.cube = RILL_CUBE_NAIVE;
    setup.settings.check = 1;
    for (int failing = 0; failing < 2; failing++) {
        if (failing) setup.cube_key = fail_key;
        setup.cube_key_user = ctx;
        rill_status status = rill_engine_create(&engine, ctx, model, &setup);
        assert_int_equal(status, RILL_OK);
        for (int i = 0; i < 3; i++) assert_int_equal(rill_engine_submit(engine, "a", 1), RILL_OK);
        rill_engine_close_input(engine);
        while ((status = rill_engine_step(engine)) == RILL_OK) continue;
        assert_int_equal(status, failing ? RILL_ERR_PLUGIN : RILL_ERR_CHECK);
        assert_non_null(strstr(rill_error(ctx), failing ? "no key today" : "cube_key gives input"));
        rill_engine_destroy(engine);
    }
    rill_model_close(model);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(naive_cube),
    cmocka_unit_test(accelerated_cube),
    cmocka_unit_test(cube_under_memory_limit),
    cmocka_unit_test(distinct_keys_are_plain_search),
    cmocka_unit_test(bad_keys_are_refused),
};

HARNESS_MAIN(tests)
