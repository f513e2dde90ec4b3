/* The engine against the naive search, on random problems: same outputs in the same order, same scores to the last bit,
 * for all methods and schedules. At the end all pools are empty, and the engine has kept the domain's contract. See
 * support/problem.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

static void search_group(problem_group group, int64_t iterations, int schedules)
{
    uint64_t first = harness_seed(1);
    int64_t with_sets = 0, with_picks = 0;
    int bad = 0;
    for (int64_t i = 0; i < harness_iterations(iterations); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(seed * 4 + (uint64_t)group);
        problem p;
        problem_draw(&p, group, &d);
        problem_solve(&p);
        for (int j = 0; j < schedules; j++) {
            schedule s;
            schedule_draw(&s, group, &d);
            s.untraced = j > 0;
            int differs = problem_differs(&p, &s, seed, bad >= 5, NULL);
            with_sets += toy_report_get()->set_calls > 0;
            with_picks += toy_report_get()->pick_calls > 0;
            if (!differs) continue;
            bad++;
            break;
        }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
    HARNESS_ASSERT_COVERED(with_sets > 0 && with_picks > 0);
}

static void pruned(void **state)
{
    (void)state;
    search_group(PROBLEM_PRUNED, 2500, 3);
}

static void fixed_top(void **state)
{
    (void)state;
    search_group(PROBLEM_FIXED_TOP, 1000, 2);
}

static void fixed(void **state)
{
    (void)state;
    search_group(PROBLEM_FIXED, 1000, 2);
}

static void greedy(void **state)
{
    (void)state;
    search_group(PROBLEM_GREEDY, 500, 2);
}

/* All combinations of the group's methods, batch size, budget, refill threshold, flush and sort on a few problems: no
 * schedule changes a result. */
static void every_schedule(void **state)
{
    (void)state;
    static const int32_t sizes[] = {1, 3, 10, 64}, budgets[] = {0, 10, 37, 100};
    static const double shares[] = {1.0 / 12, 1.0 / 6, 0.5};
    uint64_t first = harness_seed(1000000);
    int bad = 0;
    for (int64_t i = 0; i < harness_iterations(10); i++) {
        uint64_t seed = first + (uint64_t)i;
        problem_group group = i % 4 == 3 ? PROBLEM_FIXED_TOP : PROBLEM_PRUNED;
        dice d = dice_seeded(seed * 4 + (uint64_t)group);
        problem p;
        problem_draw(&p, group, &d);
        problem_solve(&p);
        for (int32_t point = 0; point < 4 * 4 * 3 * 4 && bad < 5; point++) {
            for (const char *const *method = problem_methods(group); *method != NULL; method++) {
                int streaming = strcmp(*method, "var-batch") != 0 && strcmp(*method, "fixed") != 0;
                schedule s = {.method = *method,
                              .n = sizes[point % 4],
                              .budget = budgets[point / 4 % 4],
                              .refill = streaming ? shares[point / 16 % 3] : -1,
                              .flush_every = streaming && point / 48 % 2 ? 3 : 0,
                              .sort = point / 96 % 2 ? RILL_SORT_LONGEST_FIRST : RILL_SORT_NONE,
                              .sort_window = 4,
                              .unordered = point % 7 == 0};
                bad += problem_differs(&p, &s, seed, 0, NULL);
            }
        }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
}

/* With beam size 1 every streaming method is greedy search. */
static void one_is_greedy(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int bad = 0;
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(seed * 4 + PROBLEM_GREEDY);
        problem p;
        problem_draw(&p, PROBLEM_GREEDY, &d);
        problem_solve(&p);
        schedule s;
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        bad += problem_differs(&p, &s, seed, bad >= 5, NULL);
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
}

/* A scorer that sets a limit on every row's children has the same results as the setting max_candidates. The calls to
 * the domain are the same too, and none requests more choices than without the limit. */
static int limits_of_each_parent(problem *p, const schedule *s, int32_t limit, char *message, size_t size)
{
    engine_record by_setting, by_scorer;
    int32_t i = p->n_scorers;
    p->settings.max_candidates = p->naive.max_candidates = limit;
    problem_solve(p);
    engine_run(p, s, NULL, &by_setting);
    int bad = problem_compare(p, s, &by_setting, message, size);
    p->settings.max_candidates = 0;
    p->n_scorers++;
    snprintf(p->scorer[i].name, sizeof p->scorer[i].name, "test-limit");
    snprintf(p->scorer[i].arguments, sizeof p->scorer[i].arguments, "%d", (int)limit);
    engine_run(p, s, NULL, &by_scorer);
    bad = bad || problem_compare(p, s, &by_scorer, message, size);
    if (!bad &&
        (by_setting.toy.max_choices != by_scorer.toy.max_choices || by_setting.toy.scored != by_scorer.toy.scored ||
         by_setting.toy.set_calls + by_setting.toy.pick_calls != by_scorer.toy.set_calls + by_scorer.toy.pick_calls ||
         by_setting.stats.candidates != by_scorer.stats.candidates)) {
        snprintf(message, size, "a limit of %d asks the domain for more than the setting does", (int)limit);
        bad = 1;
    }
    p->n_scorers--;
    engine_record_clear(&by_setting);
    engine_record_clear(&by_scorer);
    return bad;
}

static void limits_are_the_setting(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int bad = 0, plain = 0;
    for (int64_t i = 0; i < harness_iterations(600) && bad < 5; i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 90));
        problem p;
        schedule s;
        char message[600], description[2000];
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        /* skip: the setting applies to some phases only, or k is too small */
        if (p.model.phases > 1 || p.settings.k < 2) continue;
        if (i % 2 == 0) p.n_scorers = 0;
        plain += p.n_scorers == 0;
        if (limits_of_each_parent(&p, &s, dice_range(&d, 1, p.settings.k - 1), message, sizeof message)) {
            problem_describe(&p, &s, description, sizeof description);
            print_error("seed %llu: %s\n  %s\n", (unsigned long long)seed, message, description);
            bad++;
        }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
    HARNESS_ASSERT_COVERED(plain > 0);
}

/* A max_candidates above what an item can keep has no effect and no cost. */
static void wide_limits_cost_nothing(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 92));
        problem p;
        schedule s;
        engine_record without, with;
        char message[600];
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        p.settings.max_candidates = p.naive.max_candidates = 0;
        engine_run(&p, &s, NULL, &without);
        p.settings.max_candidates = p.naive.max_candidates = 3 * p.settings.k + 50;
        problem_solve(&p);
        engine_run(&p, &s, NULL, &with);
        if (problem_compare(&p, &s, &with, message, sizeof message)) problem_fail(&p, &s, seed, message);
        if (with.toy.max_choices != without.toy.max_choices || with.stats.candidates != without.stats.candidates)
            problem_fail(&p, &s, seed, "a limit beyond what items keep asks the domain for more");
        engine_record_clear(&without);
        engine_record_clear(&with);
        problem_clear(&p);
    }
}

static int results_differ(const problem *p, const engine_record *a, const engine_record *b)
{
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const record_result *x = &a->result[i], *y = &b->result[i];
        if (x->status != y->status || x->n != y->n || x->outputs_found != y->outputs_found) return 1;
        for (int32_t o = 0; o < x->n; o++)
            if (strcmp(x->output[o].text, y->output[o].text) != 0 ||
                x->output[o].value.path_score != y->output[o].value.path_score)
                return 1;
    }
    return a->stats.expansions != b->stats.expansions;
}

/* A row's choices depend only on the modifiers of that row. The longest list and the largest limit in the call
 * determine how many raw choices the domain returns, and must have no other effect. A dependence would show where
 * rounding makes scores tie and not all actions are requested. */
static void rows_are_selected_alone(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int bad = 0;
    for (int64_t i = 0; i < harness_iterations(800) && bad < 5; i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 91));
        problem p;
        engine_record alone, among;
        char message[200], description[2000];
        problem_draw(&p, PROBLEM_PRUNED, &d);
        snprintf(p.arguments, sizeof p.arguments,
                 "seed=%d actions=%d depth=6 legal=100 flat=0.1 terminal=end select=rill spare=%d", (int)i,
                 8 + (int)(i % 30), i % 4 == 0 ? 0 : 300);
        assert_int_equal(toy_model_parse(&p.model, p.arguments, message, sizeof message), RILL_OK);
        snprintf(p.scorer[0].name, sizeof p.scorer[0].name, "test-flood");
        snprintf(p.scorer[0].arguments, sizeof p.scorer[0].arguments, "%d", (int)i);
        p.n_scorers = 1;
        schedule s = {.method = "stream-all", .n = 1, .refill = -1}, other = s;
        other.n = 48;
        engine_run(&p, &s, NULL, &alone);
        engine_run(&p, &other, NULL, &among);
        assert_int_equal(alone.status, RILL_OK);
        assert_int_equal(among.status, RILL_OK);
        if (results_differ(&p, &alone, &among)) {
            problem_describe(&p, &other, description, sizeof description);
            print_error("seed %llu: answers differ\n  %s\n", (unsigned long long)seed, description);
            bad++;
        }
        engine_record_clear(&alone);
        engine_record_clear(&among);
    }
    assert_int_equal(bad, 0);
}

/* With end rules, a domain that reports which choices are terminal is asked for all its actions. If there are very
 * many, it is asked for a few rows at a time. */
static void many_actions_in_parts(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int64_t wanted = harness_iterations(30), done = 0, parts = 0;
    for (int64_t i = 0; done < wanted; i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 92));
        problem p;
        char message[200];
        problem_draw(&p, PROBLEM_PRUNED, &d);
        if (!p.model.last || p.model.phases > 1 || p.n_scorers == 0 || p.n_inputs < 4) continue;
        size_t length = strlen(p.arguments);
        snprintf(p.arguments + length, sizeof p.arguments - length, " listed=0 spare=1000000");
        assert_int_equal(toy_model_parse(&p.model, p.arguments, message, sizeof message), RILL_OK);
        problem_solve(&p);
        schedule s = {.method = "stream-all", .n = 8, .refill = -1};
        engine_record record;
        engine_run(&p, &s, NULL, &record);
        problem_expect(&p, &s, seed, &record);
        parts += record.toy.part_calls;
        engine_record_clear(&record);
        problem_clear(&p);
        done++;
    }
    HARNESS_ASSERT_COVERED(parts > 0);
}

/* A beam as wide as the space, without pruning, finds the optimum of enumeration. */
static void wide_is_optimal(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(150); i++) {
        dice d = dice_seeded((first + (uint64_t)i) * 4);
        problem p;
        problem_draw(&p, PROBLEM_FIXED_TOP, &d);
        int phases = i % 3 == 0 ? 2 : 1;
        snprintf(p.arguments, sizeof p.arguments, "seed=%d actions=4 depth=%d phases=%d terminal=%s state=%s legal=80",
                 (int)i, phases == 2 ? 3 : 4, phases, i % 2 ? "end" : "last", i % 5 ? "path" : "parent");
        char message[300];
        assert_int_equal(toy_model_parse(&p.model, p.arguments, message, sizeof message), RILL_OK);
        p.settings.k = 3000;
        p.settings.stop_after = 3000;
        p.settings.patience = p.settings.length_penalty = 0;
        p.settings.max_length = p.settings.min_length = 0;
        p.n_inputs = p.n_inputs > 6 ? 6 : p.n_inputs;
        p.n_scorers = 0;
        schedule s = {.method = i % 2 ? "fixed-stream" : "fixed", .n = 3, .refill = -1};
        engine_record record;
        engine_run(&p, &s, NULL, &record);
        assert_int_equal(record.status, RILL_OK);
        for (int32_t j = 0; j < p.n_inputs; j++) {
            double best;
            if (!problem_is_searched(&p, j)) continue;
            int found = problem_optimum(&p, j, &best);
            assert_int_equal(found, record.result[j].n > 0);
            if (found) assert_true(record.result[j].output[0].value.path_score == best);
        }
        engine_record_clear(&record);
    }
}

/* Return the number of hypotheses that the method "fixed" expands with a random model of this domain. */
static int64_t fixed_expands(rill_context *ctx, const char *domain, rill_finish finish)
{
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_stats stats = {.struct_size = sizeof stats};
    const rill_open_options open = {
        .struct_size = sizeof open, .threads = 1, .arguments = "seed=4 actions=8 depth=20 ending=20"};
    rill_engine_setup_default(&setup);
    setup.settings.k = 4;
    setup.settings.finish = finish;
    strcpy(setup.settings.method, "fixed");
    assert_int_equal(rill_model_open(&model, ctx, domain, &open), RILL_OK);
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    for (char text[] = "in 1"; text[3] <= '9'; text[3]++)
        assert_int_equal(rill_engine_submit(engine, text, 4), RILL_OK);
    rill_engine_close_input(engine);
    while (rill_engine_step(engine) == RILL_OK) continue;
    rill_engine_stats(engine, &stats);
    rill_engine_destroy(engine);
    rill_model_close(model);
    return stats.expansions;
}

/* The method "fixed" ends hypotheses as fairseq does, in the domains that ask for it only. */
static void fixed_follows_the_domain(void **state)
{
    (void)state;
    harness_memory counted;
    rill_context *ctx = harness_begin(&counted);
    rill_domain translating = *rill_find_domain(ctx, "toy");
    translating.name = "toy-translation";
    translating.features |= RILL_FIXED_AS_FAIRSEQ;
    assert_int_equal(rill_register_domain(ctx, &translating), RILL_OK);
    const int64_t top = fixed_expands(ctx, "toy", RILL_FINISH_TOP),
                  immediate = fixed_expands(ctx, "toy", RILL_FINISH_IMMEDIATE);
    assert_int_not_equal(top, immediate);
    assert_int_equal(fixed_expands(ctx, "toy", RILL_FINISH_DEFAULT), top);
    assert_int_equal(fixed_expands(ctx, "toy-translation", RILL_FINISH_DEFAULT), immediate);
    assert_int_equal(fixed_expands(ctx, "toy-translation", RILL_FINISH_TOP), top);
    harness_end(ctx, &counted);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fixed_follows_the_domain),
    cmocka_unit_test(pruned),
    cmocka_unit_test(fixed_top),
    cmocka_unit_test(fixed),
    cmocka_unit_test(greedy),
    cmocka_unit_test(every_schedule),
    cmocka_unit_test(one_is_greedy),
    cmocka_unit_test(wide_is_optimal),
    cmocka_unit_test(limits_are_the_setting),
    cmocka_unit_test(wide_limits_cost_nothing),
    cmocka_unit_test(rows_are_selected_alone),
    cmocka_unit_test(many_actions_in_parts),
};

HARNESS_MAIN(tests)
