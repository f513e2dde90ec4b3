/* Diverse beam search against that of the naive search, on random problems: same outputs and scores to the last bit
 * under every method and schedule, with workers and with an asynchronous domain. Also properties that follow from the
 * definition, and refused settings. */
#include <stdio.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

static void draw_groups(problem *p, dice *d)
{
    rill_settings *s = &p->settings;
    naive_problem *n = &p->naive;
    p->n_heuristics = n->n_heuristics = 0;
    s->max_candidates = s->stop_after = 0;
    s->patience = 0;
    s->finish = RILL_FINISH_DEFAULT;
    s->at_limit = dice_range(d, RILL_LIMIT_OPEN, RILL_LIMIT_END_FREE);
    s->groups = dice_range(d, 2, 5);
    s->k = n->k = s->groups * dice_range(d, 1, 4);
    s->diversity = 0.25 * (double)DICE_PICK(d, 0, 1, 2, 4, 8, 400);
    n->immediate = n->keep = n->stop = n->max_candidates = n->stop_after = 0;
    n->shrink = 1;
    n->at_limit = s->at_limit - RILL_LIMIT_OPEN;
    n->groups = s->groups;
    n->diversity = s->diversity > 0 ? s->diversity : 0.5;
}

static void groups_equal_naive_search(problem_group group, int64_t iterations)
{
    const uint64_t first = harness_seed(1);
    int64_t outputs = 0;
    int bad = 0;
    for (int64_t i = 0; i < harness_iterations(iterations) && bad < 5; i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 500 + (uint64_t)group));
        problem p;
        problem_draw(&p, group, &d);
        if (dice_chance(&d, 30)) problem_draw_constraints(&p, &d);
        for (int32_t j = 0; j < p.n_scorers; j++) /* a "require" scorer uses banks, which exclude beam groups */
            if (p.phrases[j].n > 0 && p.phrases[j].kind == TEST_REQUIRE) p.n_scorers = j;
        draw_groups(&p, &d);
        problem_solve(&p);
        for (int32_t j = 0; j < p.n_inputs; j++) outputs += p.expected[j].n;
        for (int j = 0; j < 3 && bad < 5; j++) {
            schedule s;
            schedule_draw(&s, group, &d);
            if (j == 1 && dice_chance(&d, 50)) s.async_rows = 1 + dice_range(&d, 1, 4);
            if (j == 2 && dice_chance(&d, 30)) s.workers = dice_range(&d, 2, 3);
            bad += problem_differs(&p, &s, seed, bad >= 5, NULL);
        }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
    HARNESS_ASSERT_COVERED(outputs > 0);
}

static void streamed(void **state)
{
    (void)state;
    groups_equal_naive_search(PROBLEM_PRUNED, 1200);
}

static void in_batches(void **state)
{
    (void)state;
    groups_equal_naive_search(PROBLEM_FIXED, 300);
    groups_equal_naive_search(PROBLEM_FIXED_TOP, 300);
}

/* With groups of one hypothesis and a prohibitive penalty, all hypotheses have different first actions, as long as
 * there are enough actions. */
static void groups_begin_differently(void **state)
{
    problem p = {.n_inputs = 1};
    schedule s = {.method = "stream-all", .n = 1, .refill = -1};
    engine_record r;
    char message[128];
    int seen[TOY_MAX_ACTIONS] = {0};
    (void)state;
    strcpy(p.arguments, "seed=5 actions=8 depth=3 legal=100 flat=1 early=0");
    assert_int_equal(toy_model_parse(&p.model, p.arguments, message, sizeof message), RILL_OK);
    strcpy(p.input[0], "7 a b");
    rill_settings_default(&p.settings);
    p.settings.k = p.settings.groups = p.settings.n_best = 6;
    p.settings.diversity = 1e6;
    engine_run(&p, &s, NULL, &r);
    assert_int_equal(r.status, RILL_OK);
    assert_int_equal(r.result[0].n, 6);
    for (int i = 0; i < 6; i++) assert_int_equal(seen[r.result[0].output[i].action[0]]++, 0);
    engine_record_clear(&r);
}

static void refused(void **state)
{
    static const struct {
        const char *set, *message;
    } cases[] = {
        {"k=5", "beam-size 5 is not a multiple of beam-groups 2"},
        {"finish=top", "finish cannot be combined with beam-groups"},
        {"stop=bound", "stop cannot be combined with beam-groups"},
        {"keep=best", "keep cannot be combined with beam-groups"},
        {"max_candidates=1", "max-children"},
        {"cube=naive", "cube cannot be combined with beam-groups"},
        {"certify=1", "certify cannot be combined with beam-groups"},
        {"sample=2", "beam-groups cannot be combined with num-samples"},
        {"method=greedy", "method greedy cannot be combined with beam-groups"},
        {"diversity=-1", "diversity"},
        {"diversity=0", "diversity"}, /* equal to the default, so it would have no effect */
    };
    (void)state;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_settings s;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char name[32];
        const size_t length = strcspn(cases[c].set, "=");
        snprintf(name, sizeof name, "%.*s", (int)length, cases[c].set);
        rill_settings_default(&s);
        s.groups = 2;
        rill_status status = rill_settings_set(ctx, &s, name, cases[c].set + length + 1);
        if (status == RILL_OK) status = rill_settings_resolve(ctx, &s, 0);
        assert_int_equal(status, RILL_ERR_OPTION);
        assert_non_null(strstr(rill_error(ctx), cases[c].message));
    }
    rill_settings_default(&s);
    s.groups = 2;
    assert_int_equal(rill_settings_resolve(ctx, &s, 1), RILL_ERR_OPTION);
    rill_settings_default(&s);
    s.diversity = 2;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_OPTION);
    rill_settings_default(&s);
    s.groups = 3;
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_OK);
        assert_int_equal(s.k, 9);
    }
    harness_end(ctx, &memory);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(streamed),
    cmocka_unit_test(in_batches),
    cmocka_unit_test(groups_begin_differently),
    cmocka_unit_test(refused),
};

HARNESS_MAIN(tests)
