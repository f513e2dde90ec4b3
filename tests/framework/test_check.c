/* Checking mode: valid heuristics and scorers pass; those that mix items or keep state between calls fail, and the
 * message names them. Checking changes no result and no search counter. */
#include <stdio.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

/* Make a problem with many rows in each timestep, which exposes invalid plugins: eight inputs, wide beams, no
 * pruning. */
static void busy_problem(problem *p, int32_t seed)
{
    dice d = dice_seeded((uint64_t)seed);
    char message[200];
    problem_draw(p, PROBLEM_PRUNED, &d);
    snprintf(p->arguments, sizeof p->arguments, "seed=%d actions=6 depth=6 legal=90 ending=20 phases=%d", (int)seed,
             1 + (int)(seed % 2));
    assert_int_equal(toy_model_parse(&p->model, p->arguments, message, sizeof message), RILL_OK);
    for (p->n_inputs = 0; p->n_inputs < 8; p->n_inputs++)
        snprintf(p->input[p->n_inputs], sizeof p->input[0], "in %d", (int)p->n_inputs);
    rill_settings_default(&p->settings);
    p->settings.k = 5;
    p->settings.max_length = 6;
    p->n_heuristics = p->n_scorers = 0;
    memset(p->heuristic, 0, sizeof p->heuristic);
    p->naive.k = 5;
    p->naive.max_candidates = p->naive.stop_after = p->naive.n_heuristics = 0;
    p->naive.length_penalty = 0;
}

static const schedule checked = {.method = "stream-all", .n = 8, .refill = -1, .check = 1};

static void expect_caught(int scorer, const char *name, const char *arguments)
{
    problem p;
    engine_record r;
    busy_problem(&p, 5);
    problem_name *chain = scorer ? p.scorer : p.heuristic;
    snprintf(chain[0].name, sizeof chain[0].name, "%s", name);
    snprintf(chain[0].arguments, sizeof chain[0].arguments, "%s", arguments);
    *(scorer ? &p.n_scorers : &p.n_heuristics) = 1;
    engine_run(&p, &checked, NULL, &r);
    if (r.status != RILL_ERR_CHECK) fail_msg("%s: %s: %s", name, rill_status_name(r.status), r.message);
    /* Scorers are checked as a chain, so the message can only name the chain. */
    const char *blamed = scorer ? "scorer" : name;
    if (strstr(r.message, blamed) == NULL) fail_msg("\"%s\" does not name %s", r.message, blamed);
    assert_int_equal(r.toy.violations, 0);
    engine_record_clear(&r);
    schedule unchecked = checked; /* without --check the invalid plugin goes unnoticed */
    unchecked.check = 0;
    engine_run(&p, &unchecked, NULL, &r);
    assert_int_equal(r.status, RILL_OK);
    engine_record_clear(&r);
}

static void cheats_are_caught(void **state)
{
    (void)state;
    expect_caught(0, "test-mixing", "0");
    expect_caught(0, "test-mixing", "1");
    expect_caught(0, "test-mixing", "2");
    expect_caught(0, "test-counting", "1,0");
    expect_caught(0, "test-remembering", "0");
    expect_caught(1, "test-remembering", "0");
    expect_caught(1, "test-cheating", "0");
    expect_caught(1, "test-cheating", "1");
    expect_caught(1, "test-cheating", "2"); /* only one row per item */
}

/* An invalid plugin after valid ones in the chain is caught as well. */
static void cheats_in_a_chain_are_caught(void **state)
{
    (void)state;
    problem p;
    engine_record r;
    busy_problem(&p, 7);
    snprintf(p.heuristic[0].name, sizeof p.heuristic[0].name, "absolute");
    snprintf(p.heuristic[0].arguments, sizeof p.heuristic[0].arguments, "20");
    snprintf(p.heuristic[1].name, sizeof p.heuristic[1].name, "test-mixing");
    snprintf(p.heuristic[1].arguments, sizeof p.heuristic[1].arguments, "0");
    p.n_heuristics = 2;
    engine_run(&p, &checked, NULL, &r);
    assert_int_equal(r.status, RILL_ERR_CHECK);
    assert_non_null(strstr(r.message, "test-mixing"));
    engine_record_clear(&r);
}

static void correct_plugins_pass(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 80));
        problem p;
        schedule s;
        engine_record r;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        problem_solve(&p);
        s.check = 1;
        engine_run(&p, &s, NULL, &r);
        problem_expect(&p, &s, seed, &r);
        engine_record_clear(&r);
        problem_clear(&p);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(cheats_are_caught),
    cmocka_unit_test(cheats_in_a_chain_are_caught),
    cmocka_unit_test(correct_plugins_pass),
};

HARNESS_MAIN(tests)
