/* Sampling against that of the naive search, on random problems: same outputs and scores to the last bit under every
 * method and schedule, with workers and with an asynchronous domain, and for requests with their own seeds. Also
 * sampling frequencies, and refused settings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

/* --- results ------------------------------------------------------------------------------------------------------ */

static void draw_sample(problem *p, dice *d)
{
    char message[200];
    rill_settings *s = &p->settings;
    naive_problem *n = &p->naive;
    p->n_heuristics = n->n_heuristics = 0;
    s->k = s->max_candidates = s->stop_after = 0;
    s->patience = 0;
    s->finish = RILL_FINISH_DEFAULT;
    s->at_limit = dice_range(d, RILL_LIMIT_OPEN, RILL_LIMIT_END_FREE);
    s->sample = dice_chance(d, 20) ? dice_range(d, 7, 20) : dice_range(d, 1, 6);
    s->n_best = dice_chance(d, 80) ? s->sample : dice_range(d, 1, s->sample);
    s->top_k = DICE_PICK(d, 0, 0, 1, 2, 5, 1000);
    s->top_p = 0.1 * (double)DICE_PICK(d, 0, 0, 1, 5, 9);
    s->temperature = 0.25 * (double)DICE_PICK(d, 0, 0, 1, 3, 8, 40);
    s->seed = DICE_PICK(d, 0, 1, 77, INT32_MAX);
    n->immediate = n->keep = n->stop = n->max_candidates = n->stop_after = 0;
    n->shrink = 1;
    n->at_limit = s->at_limit - RILL_LIMIT_OPEN;
    n->k = n->sample = s->sample;
    n->top_k = s->top_k > 0 ? s->top_k : 50;
    n->top_p = s->top_p > 0 ? s->top_p : 1;
    n->temperature = s->temperature > 0 ? s->temperature : 1;
    n->seed = s->seed;
    if (p->model.last || !dice_chance(d, 10)) return;
    /* Many choices, so that the rows are scored in parts; a model with `last` would have to list all its actions. */
    snprintf(p->arguments + strlen(p->arguments), sizeof p->arguments - strlen(p->arguments), " listed=0 spare=100000");
    assert_int_equal(toy_model_parse(&p->model, p->arguments, message, sizeof message), RILL_OK);
    s->top_k = n->top_k = 50000;
}

static void samples_equal_naive_search(problem_group group, int64_t iterations)
{
    const uint64_t first = harness_seed(1);
    int64_t outputs = 0, several = 0;
    int bad = 0;
    for (int64_t i = 0; i < harness_iterations(iterations) && bad < 5; i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 400 + (uint64_t)group));
        problem p;
        problem_draw(&p, group, &d);
        if (dice_chance(&d, 30)) problem_draw_constraints(&p, &d);
        for (int32_t j = 0; j < p.n_scorers; j++) /* a "require" scorer uses banks, which exclude sampling */
            if (p.phrases[j].n > 0 && p.phrases[j].kind == TEST_REQUIRE) p.n_scorers = j;
        draw_sample(&p, &d);
        problem_solve(&p);
        for (int32_t j = 0; j < p.n_inputs; j++) {
            outputs += p.expected[j].n;
            several += p.expected[j].n > 1;
        }
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
    HARNESS_ASSERT_COVERED(outputs > 0 && several > 0);
}

static void streamed(void **state)
{
    (void)state;
    samples_equal_naive_search(PROBLEM_PRUNED, 1500);
}

static void in_batches(void **state)
{
    (void)state;
    samples_equal_naive_search(PROBLEM_FIXED, 300);
    samples_equal_naive_search(PROBLEM_FIXED_TOP, 300);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static rill_settings sample_settings[2];

static void set_sampling(void *user, const problem *p, int32_t i, rill_request *request)
{
    (void)user, (void)p;
    if (i % 3 > 0) request->settings = &sample_settings[i % 3 - 1];
}

/* One batch has inputs with beam search, with sampling, and with sampling from another seed. Each has the result of a
 * run of its kind alone, although the engine has pruning heuristics. */
static void samples_mixed_in_a_batch(void **state)
{
    (void)state;
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        dice d = dice_seeded(dice_mix(harness_seed(1) + (uint64_t)i, 444));
        problem p, kind[3];
        schedule s;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        /* when sampling, heuristics do not prune, but their stop still ends the search */
        for (int32_t j = 0; j < p.n_heuristics; j++)
            if (p.naive.heuristic[j].rule == NAIVE_CUSTOM) p.n_heuristics = p.naive.n_heuristics = 0;
        for (int j = 0; j < 3; j++) {
            kind[j] = p;
            if (j > 0) draw_sample(&kind[j], &d);
            if (j > 0) sample_settings[j - 1] = kind[j].settings;
            problem_solve(&kind[j]);
        }
        const hooks with_sampling = {.set_request = set_sampling};
        engine_record r;
        s.hooks = &with_sampling;
        s.by_run = 1;
        if (dice_chance(&d, 30)) s.workers = 2;
        engine_run(&p, &s, NULL, &r);
        assert_int_equal(r.status, RILL_OK);
        for (int32_t j = 0; j < p.n_inputs; j++) {
            const naive_result *expected = &kind[j % 3].expected[j];
            if (!problem_is_searched(&p, j) || expected->n == 0) continue;
            const int32_t max = kind[j % 3].settings.n_best, n = max < expected->n ? max : expected->n;
            assert_int_equal(r.result[j].n, n);
            for (int32_t k = 0; k < n; k++) {
                const double found = r.result[j].output[k].value.path_score;
                assert_memory_equal(&found, &expected->output[k].hypothesis.sum, sizeof found);
            }
        }
        engine_record_clear(&r);
        for (int j = 0; j < 3; j++) problem_clear(&kind[j]);
    }
}

/* --- frequencies -------------------------------------------------------------------------------------------------- */

enum { DRAWS = 20000 };

/* Return the chi-squared statistic of sampled outputs of one action against the model's probabilities; *n = number of
 * categories. */
static double distance(const char *arguments, int32_t seed, double temperature, int32_t top_k, double top_p, int *n)
{
    problem p = {.n_inputs = 1, .n_scorers = 0};
    schedule s = {.method = "stream-all", .n = 1, .refill = -1};
    engine_record r;
    char message[128];
    int32_t counted[TOY_MAX_ACTIONS] = {0};
    double weight[TOY_MAX_ACTIONS] = {0}, sum = 0, kept = 0, squares = 0;
    toy_choice all[TOY_MAX_ACTIONS];
    snprintf(p.arguments, sizeof p.arguments, "%s", arguments);
    assert_int_equal(toy_model_parse(&p.model, arguments, message, sizeof message), RILL_OK);
    strcpy(p.input[0], "7 a b");
    rill_settings_default(&p.settings);
    p.settings.sample = DRAWS;
    p.settings.seed = seed;
    p.settings.temperature = temperature;
    p.settings.top_k = top_k;
    p.settings.top_p = top_p;
    engine_run(&p, &s, NULL, &r);
    assert_int_equal(r.status, RILL_OK);
    assert_int_equal(r.result[0].n, DRAWS);
    for (int32_t i = 0; i < DRAWS; i++) counted[r.result[0].output[i].action[0]]++;
    const toy_input input = toy_input_read(&p.model, p.input[0], strlen(p.input[0]));
    const int32_t legal = toy_expand(&p.model, &input, input.start, 0, 0, all);
    /* Top-k and top-p by hand: the best top_k actions, and of these the fewest with a total probability of top_p. */
    for (int32_t i = 0; i < legal; i++)
        for (int32_t j = i + 1; j < legal; j++)
            if (all[j].logp > all[i].logp) {
                const toy_choice other = all[i];
                all[i] = all[j];
                all[j] = other;
            }
    for (*n = 0; *n < legal && *n < top_k; (*n)++) sum += weight[*n] = exp((double)all[*n].logp / temperature);
    for (int32_t i = 0; i < *n; i++) {
        if (kept >= top_p * sum) *n = i;
        if (i < *n) kept += weight[i];
    }
    for (int32_t i = 0; i < legal; i++) {
        const double expected = i < *n ? DRAWS * weight[i] / kept : 0, found = (double)counted[all[i].action];
        if (i >= *n) assert_int_equal(counted[all[i].action], 0);
        if (i < *n) squares += (found - expected) * (found - expected) / expected;
    }
    engine_record_clear(&r);
    return squares;
}

/* With n - 1 degrees of freedom the statistic has mean n - 1 and standard deviation sqrt(2 (n - 1)). A value above five
 * deviations is improbable. */
static void frequencies_match_probabilities(void **state)
{
    static const struct {
        double temperature, top_p;
        int32_t top_k;
    } cases[] = {{1, 1, 1000}, {0.5, 1, 1000}, {3, 1, 1000}, {1, 1, 3}, {1, 0.7, 1000}, {2, 0.5, 5}};
    int all = 0;
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int32_t seed = 1; seed <= 3; seed++) {
            int n;
            const double squares = distance("seed=5 actions=8 depth=1 terminal=last legal=100 flat=1 early=100", seed,
                                            cases[c].temperature, cases[c].top_k, cases[c].top_p, &n);
            if (n > 1 && squares > n - 1 + 5 * sqrt(2.0 * (n - 1)))
                fail_msg("case %d, seed %d: %g of %d kinds", (int)c, (int)seed, squares, n);
            all += n;
        }
    assert_true(all > 60);
}

/* --- invalid combinations ----------------------------------------------------------------------------------------- */

static void refused(void **state)
{
    static const struct {
        const char *set, *message;
    } cases[] = {
        {"k=3", "beam-size 3 differs from num-samples 2"},
        {"finish=top", "finish cannot be combined with num-samples"},
        {"stop=bound", "stop cannot be combined with num-samples"},
        {"keep=best", "keep cannot be combined with num-samples"},
        {"stop_after=1", "stop-after cannot be combined with num-samples"},
        {"patience=1", "patience cannot be combined with num-samples"},
        {"max_candidates=1", "max-children cannot be combined with num-samples"},
        {"min_width=1", "min-width cannot be combined with num-samples"},
        {"at_limit=best-ended", "at-limit best-ended cannot be combined with num-samples"},
        {"cube=naive", "cube cannot be combined with num-samples"},
        {"certify=1", "certify cannot be combined with num-samples"},
        {"exact=1", "exact cannot be combined with num-samples"},
        {"method=greedy", "method greedy cannot be combined with num-samples"},
        {"n_best=3", "n-best 3 is more than num-samples 2"},
        {"sample=0.5", "sample"},
        {"temperature=0", "temperature"},
        {"top_p=1.5", "top-p"},
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
        s.sample = 2;
        rill_status status = rill_settings_set(ctx, &s, name, cases[c].set + length + 1);
        if (status == RILL_OK) status = rill_settings_resolve(ctx, &s, 0);
        assert_int_equal(status, RILL_ERR_OPTION);
        assert_non_null(strstr(rill_error(ctx), cases[c].message));
    }
    rill_settings_default(&s);
    s.sample = 2;
    assert_int_equal(rill_settings_resolve(ctx, &s, 1), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(ctx), "heuristics cannot be combined with num-samples"));
    rill_settings_default(&s);
    s.seed = 2;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(ctx), "seed has no effect without sampling: set num-samples too"));
    rill_settings_default(&s); /* a seed of 0 that the user sets is a seed like any other */
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_OK);
    assert_int_equal(rill_settings_set(ctx, &s, "seed", "0"), RILL_OK);
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(ctx), "seed has no effect without sampling: set num-samples too"));
    char shown[RILL_OPTION_MAX];
    rill_settings_default(&s);
    s.sample = 1;
    assert_int_equal(rill_settings_set(ctx, &s, "top_k", "0"), RILL_OK);
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_OK);
    assert_int_equal(s.top_k, INT32_MAX);
    assert_string_equal(rill_settings_get(&s, rill_option_find(rill_setting_table(), "top-k"), shown), "0");
    rill_settings_default(&s);
    s.sample = 4;
    s.like = RILL_LIKE_HF; /* beam search of this preset conflicts with sampling */
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_OK);
        assert_int_equal(s.k, 4);
        assert_int_equal(s.n_best, 4);
        assert_int_equal(s.top_k, 50);
        assert_int_equal(s.finish, RILL_FINISH_SHRINK);
        assert_int_equal(s.stop, RILL_STOP_COUNT);
    }
    harness_end(ctx, &memory);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(streamed),
    cmocka_unit_test(in_batches),
    cmocka_unit_test(samples_mixed_in_a_batch),
    cmocka_unit_test(frequencies_match_probabilities),
    cmocka_unit_test(refused),
};

HARNESS_MAIN(tests)
