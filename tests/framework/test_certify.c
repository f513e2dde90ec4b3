/* Certificates of outputs against enumeration of the whole search space. A certified output of rank j may be outranked
 * only by the j outputs before it. The problems are random, small enough to enumerate, and combine all settings,
 * heuristics and scorers. Other cases check that certain outputs are certified. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

/* Draw a small problem. `wide`: few timesteps, many actions. */
static void draw_small(problem *p, problem_group group, int wide, dice *d)
{
    char message[128];
    problem_draw(p, group, d);
    if (dice_chance(d, 70)) problem_draw_conventions(p, group, d);
    const int phases = DICE_PICK(d, 1, 1, 1, 2),
              actions = wide ? dice_range(d, 17, TOY_MAX_ACTIONS) : dice_range(d, phases > 1 ? 4 : 2, 4);
    snprintf(
        p->arguments, sizeof p->arguments,
        "seed=%d actions=%d depth=%d phases=%d state=%s ties=%d terminal=%s early=%d ending=%d legal=%d dead_ends=%d flat=%.2f "
        "own_bound=%d bound=%d spare=%d listed=%d normal=1",
        (int)dice_range(d, 0, 1000000), actions, wide ? 1 : (int)dice_range(d, 1, phases > 1 ? 3 : 5), phases,
        dice_chance(d, 50) ? "path" : "parent", (int)DICE_PICK(d, 0, 0, 2, 6), dice_chance(d, 40) ? "last" : "end",
        (int)DICE_PICK(d, 0, 30, 60), (int)DICE_PICK(d, 20, 70), (int)DICE_PICK(d, 50, 100),
        (int)DICE_PICK(d, 0, 0, 20), 0.25 * dice_range(d, 1, 12), (int)dice_range(d, 0, 1),
        dice_chance(d, 30) ? (int)dice_range(d, 1, 5) : 0, (int)DICE_PICK(d, 0, 0, 300), (int)dice_range(d, 0, 1));
    assert_int_equal(toy_model_parse(&p->model, p->arguments, message, sizeof message), RILL_OK);
    p->naive.max_candidates_phases = (uint32_t)p->model.max_choices_phases;
    for (int32_t i = 0; i < p->n_scorers; i++) {
        test_random *r = &p->random_scorer[i];
        if (strcmp(p->scorer[i].name, "test-random") != 0) continue;
        /* with this flag the score of a hypothesis depends on its rank in the beam, so that nothing can be certified */
        r->flags &= ~TEST_USE_RANK;
        r->actions = p->model.actions;
        snprintf(p->scorer[i].arguments, sizeof p->scorer[i].arguments, "%d,%d", (int)r->seed, (int)r->flags);
    }
    if (p->settings.unknown_penalty < 0) p->settings.unknown_penalty = 0;
    p->naive.unknown_penalty = p->model.actions > 1 ? p->settings.unknown_penalty : 0;
    p->settings.n_best = 200;
    p->settings.certify = 1;
    if (p->n_inputs > 6) p->n_inputs = 6;
}

/* Return the number of certified outputs of the input; fail the test if a certificate is false. */
static int64_t check_input(const problem *p, const schedule *s, uint64_t seed, const engine_record *record, int32_t i)
{
    const record_result *r = &record->result[i];
    int64_t certified = 0;
    char message[200];
    for (int32_t j = 0; j < r->n && problem_is_searched(p, i); j++) {
        const rill_output *o = &r->output[j].value;
        if (!o->certified) continue;
        int64_t n_better = 0;
        for (int32_t b = 0; b < r->n; b++) n_better += r->output[b].value.score > o->score;
        certified++;
        const int64_t above = problem_count_above(p, i, o->score);
        if (above == n_better) continue;
        snprintf(message, sizeof message,
                 "input %d output %d is certified, and %lld outputs rank above it, of which %lld are given", (int)i,
                 (int)j, (long long)above, (long long)n_better);
        problem_fail(p, s, seed, message);
    }
    return certified;
}

static void no_certificate_is_false(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    int64_t certified = 0, others = 0;
    for (int64_t i = 0; i < harness_iterations(3000); i++) {
        const uint64_t seed = first + (uint64_t)i;
        const problem_group group = (problem_group)(seed % 4);
        dice d = dice_seeded(dice_mix(seed, 200));
        problem p;
        schedule s;
        engine_record record;
        draw_small(&p, group, 0, &d);
        schedule_draw(&s, group, &d);
        if (i % 5 == 0) s.async_rows = 2;
        problem_solve(&p);
        engine_run(&p, &s, NULL, &record);
        problem_expect(&p, &s, seed, &record); /* certifying must not change the outputs */
        int64_t best = 0;
        for (int32_t input = 0; input < p.n_inputs; input++) {
            const int64_t found = check_input(&p, &s, seed, &record, input);
            certified += found;
            others += record.result[input].n - found;
            best += record.result[input].n > 0 && record.result[input].output[0].value.certified;
        }
        assert_int_equal(record.stats.certified, best);
        engine_record_clear(&record);
        problem_clear(&p);
    }
    HARNESS_ASSERT_COVERED(certified > 0 && others > 0);
}

/* A beam that holds the whole space certifies all its outputs. */
static void wide_beams_certify_all(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    int64_t outputs = 0;
    for (int64_t i = 0; i < harness_iterations(200); i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 210));
        problem p;
        engine_record record;
        draw_small(&p, PROBLEM_FIXED_TOP, 0, &d);
        p.settings.k = p.settings.stop_after = 3000;
        p.settings.patience = 0;
        p.n_scorers = 0;
        schedule s = {.method = i % 2 ? "fixed-stream" : "fixed", .n = 3, .refill = -1};
        p.settings.stop = RILL_STOP_COUNT;
        p.settings.keep = RILL_KEEP_ALL;
        engine_run(&p, &s, NULL, &record);
        for (int32_t input = 0; input < p.n_inputs; input++)
            for (int32_t j = 0; j < record.result[input].n; j++, outputs++)
                assert_int_equal(record.result[input].output[j].value.certified, 1);
        engine_record_clear(&record);
        problem_clear(&p);
    }
    HARNESS_ASSERT_COVERED(outputs > 0);
}

/* --- exact search ------------------------------------------------------------------------------------------------- */

static void draw_exact(problem *p, problem_group group, dice *d)
{
    draw_small(p, group, dice_chance(d, 30), d);
    if (p->settings.at_limit == RILL_LIMIT_BEST_ENDED) p->settings.at_limit = RILL_LIMIT_OPEN;
    p->naive.at_limit = p->settings.at_limit > 0 ? p->settings.at_limit - RILL_LIMIT_OPEN : 0;
    const int32_t scorers = p->n_scorers;
    if (dice_chance(d, 30)) problem_draw_constraints(p, d);
    /* exact search refuses scorers that declare no maximum bonus, among them "require" */
    for (int32_t i = scorers; i < p->n_scorers; i++)
        if (p->phrases[i].kind == TEST_REQUIRE) p->n_scorers = scorers;
    p->settings.certify = 0;
    p->settings.exact = 1;
    p->settings.n_best = DICE_PICK(d, 1, 1, 2, 5, 200);
}

/* The outputs of the input must be the best of the whole space: as many as requested, or all that exist. */
static void check_exact(const problem *p, const schedule *s, uint64_t seed, const record_result *r, int32_t i)
{
    const int64_t all = problem_count_above(p, i, -INFINITY), n_best = p->settings.n_best;
    char message[200];
    int32_t wrong = r->n != (all < n_best ? all : n_best) ? r->n : -1;
    /* The space has no complete output. A hypothesis that a heuristic's stop truncated may remain; it is not
     * certified. */
    if (all == 0 && r->n > 0 && is_truncated(&r->output[0].value) && !r->output[0].value.certified) return;
    for (int32_t j = 0; j < r->n && wrong < 0; j++) {
        const double rank = r->output[j].value.score;
        if (!r->output[j].value.certified || problem_count_above(p, i, rank) > j ||
            problem_count_above(p, i, nextafter(rank, -INFINITY)) <= j)
            wrong = j;
    }
    if (wrong < 0) return;
    snprintf(message, sizeof message, "input %d: output %d of %d is not what exact search is to find among %lld",
             (int)i, (int)wrong, (int)r->n, (long long)all);
    problem_fail(p, s, seed, message);
}

static void expect_clean(const problem *p, const schedule *s, uint64_t seed, const engine_record *record)
{
    if (record->status < 0) problem_fail(p, s, seed, record->message);
    if (record->toy.violations > 0) problem_fail(p, s, seed, record->toy.first_violation);
    if (record->stats.nodes_in_use > 0 || record->stats.histories_in_use > 0)
        problem_fail(p, s, seed, "states or hypotheses are not given back");
}

static void exact_finds_the_best(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    int64_t further = 0;
    for (int64_t i = 0; i < harness_iterations(3000); i++) {
        const uint64_t seed = first + (uint64_t)i;
        const problem_group group = (problem_group)(seed % 4);
        dice d = dice_seeded(dice_mix(seed, 220));
        problem p;
        schedule s;
        engine_record record;
        draw_exact(&p, group, &d);
        schedule_draw(&s, group, &d);
        if (i % 5 == 0) s.async_rows = 2;
        engine_run(&p, &s, NULL, &record);
        expect_clean(&p, &s, seed, &record);
        for (int32_t input = 0; input < p.n_inputs; input++)
            if (problem_is_searched(&p, input)) check_exact(&p, &s, seed, &record.result[input], input);
        further += record.stats.exact_rows;
        engine_record_clear(&record);
        problem_clear(&p);
    }
    HARNESS_ASSERT_COVERED(further > 0);
}

/* Compare the first complete outputs; hypotheses that a heuristic's stop truncated do not count. */
static int is_worse(const record_result *found, const record_result *beam)
{
    if (beam->n == 0 || is_truncated(&beam->output[0].value)) return beam->n > 0 && found->n == 0;
    return found->n == 0 || found->output[0].value.score < beam->output[0].value.score;
}

/* Whatever ends the exact search, its outputs do not depend on the schedule, and no certificate is false. */
static void exact_under_every_schedule(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    int64_t limited = 0, certified = 0;
    for (int64_t i = 0; i < harness_iterations(1000); i++) {
        const uint64_t seed = first + (uint64_t)i;
        const problem_group group = (problem_group)(seed % 4);
        dice d = dice_seeded(dice_mix(seed, 230));
        problem p;
        engine_record plain, one, other;
        schedule alone = {.method = problem_methods(group)[0], .n = 1, .refill = -1}, s;
        draw_exact(&p, group, &d);
        if (dice_chance(&d, 60)) p.settings.exact_rows = dice_range(&d, 1, 20);
        schedule_draw(&s, group, &d);
        if (dice_chance(&d, 50)) s.max_nodes = alone.max_nodes = dice_range(&d, 4, 60);
        if (dice_chance(&d, 40)) s.workers = 3;
        engine_run(&p, &alone, NULL, &one);
        engine_run(&p, &s, NULL, &other);
        expect_clean(&p, &s, seed, &other);
        const int32_t rows = p.settings.exact_rows;
        if (rows > 0 && one.stats.restarted == 0 && one.stats.exact_rows > (int64_t)rows * p.n_inputs)
            problem_fail(&p, &alone, seed, "more rows than exact-rows says");
        p.settings.exact = p.settings.exact_rows = 0;
        engine_run(&p, &alone, NULL, &plain);
        p.settings.exact = 1;
        p.settings.exact_rows = rows;
        for (int32_t input = 0; input < p.n_inputs; input++) {
            problem_expect_same(&p, &s, seed, input, &other.result[input], &one.result[input]);
            if (is_worse(&one.result[input], &plain.result[input]))
                problem_fail(&p, &s, seed, "exact search gives less than the beam search");
            const int64_t found = problem_is_searched(&p, input) ? check_input(&p, &s, seed, &other, input) : 0;
            certified += found;
            limited += other.result[input].n - found;
        }
        engine_record_clear(&plain);
        engine_record_clear(&one);
        engine_record_clear(&other);
        problem_clear(&p);
    }
    HARNESS_ASSERT_COVERED(certified > 0 && limited > 0);
}

/* A clock that is read once per timestep. */
static double tick(void *user)
{
    return ++*(double *)user;
}

static void request_with_timeout(void *user, const problem *p, int32_t i, rill_request *out)
{
    (void)user, (void)p;
    out->timeout = 2 + i % 9;
}

/* At a deadline, exact search returns the outputs found so far, without certificates. */
static void deadlines_end_exact(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    int64_t late = 0;
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 250));
        double now = 0;
        const hooks soon = {.user = &now, .clock = tick, .set_request = request_with_timeout};
        problem p;
        schedule s = {.method = "stream-all", .n = 4, .refill = -1, .by_run = 1, .hooks = &soon};
        engine_record record;
        draw_exact(&p, PROBLEM_PRUNED, &d);
        engine_run(&p, &s, NULL, &record);
        expect_clean(&p, &s, seed, &record);
        for (int32_t input = 0; input < p.n_inputs; input++) {
            const record_result *r = &record.result[input];
            if (!r->taken) problem_fail(&p, &s, seed, "an input has no result");
            if (r->timed_out && r->n > 0 && r->output[0].value.certified)
                problem_fail(&p, &s, seed, "a late one is certified");
            if (!r->timed_out && r->n > 0 && problem_is_searched(&p, input)) check_exact(&p, &s, seed, r, input);
            late += r->timed_out && r->n > 0;
        }
        engine_record_clear(&record);
        problem_clear(&p);
    }
    HARNESS_ASSERT_COVERED(late > 0);
}

/* Settings of requests that rule out a proof are refused too. */
static void request_cube(void *user, const problem *p, int32_t i, rill_request *out)
{
    rill_settings *own = user;
    *own = p->settings;
    own->cube = RILL_CUBE_NAIVE;
    if (i % 2 == 0) out->settings = own;
}

static void requests_are_checked(void **state)
{
    (void)state;
    rill_settings own;
    const hooks cubes = {.user = &own, .set_request = request_cube};
    dice d = dice_seeded(260);
    problem p;
    schedule s = {.method = "stream-all", .n = 4, .refill = -1, .by_run = 1, .hooks = &cubes};
    engine_record record;
    draw_exact(&p, PROBLEM_PRUNED, &d);
    engine_run(&p, &s, NULL, &record);
    for (int32_t i = 0; i < p.n_inputs; i += 2) assert_non_null(strstr(record.result[i].message, "cube pruning"));
    engine_record_clear(&record);
    problem_clear(&p);
}

static void exact_without_memory(void **state)
{
    (void)state;
    int64_t failed = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        dice d = dice_seeded(dice_mix(seed, 240));
        problem p;
        schedule s = {.method = "stream-all", .n = 2, .refill = -1};
        draw_exact(&p, PROBLEM_PRUNED, &d);
        for (int64_t n = 1, done = 0; !done; n++) {
            harness_memory m = {.failing_request = n, .persistent = seed % 2};
            const rill_context_options options = harness_memory_options(&m);
            engine_record r;
            engine_run(&p, &s, &options, &r);
            done = m.refused == 0;
            if (r.toy.violations > 0) problem_fail(&p, &s, seed, r.toy.first_violation);
            if (m.blocks != 0 || m.wrong_sizes != 0)
                problem_fail(&p, &s, seed, "memory is lost, or given back wrongly");
            if (r.status != RILL_OK) assert_int_equal(r.status, RILL_ERR_MEMORY);
            failed += r.status != RILL_OK;
            engine_record_clear(&r);
        }
        problem_clear(&p);
    }
    HARNESS_ASSERT_COVERED(failed > 0);
}

/* --- constraint banks ----------------------------------------------------------------------------------------------- */

static double no_bonus(const void *self, double *end)
{
    (void)self;
    *end = 0;
    return 0;
}

static int divides;

/* If `divides` is set, divide every beam into two banks: one for action 1, one for all others. */
static rill_status divide(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self;
    for (int32_t i = 0; divides && i < rows->n; i++) {
        rill_status status = rill_modifiers_divide_banks(modifiers, i, 2, 0);
        if (status >= 0) status = rill_modifiers_assign_bank(modifiers, i, 1, 1);
        if (status < 0) return status;
    }
    return RILL_OK;
}

static const rill_scorer divider = {.abi_version = RILL_ABI_VERSION,
                                    .struct_size = sizeof(rill_scorer),
                                    .name = "test-divider",
                                    .arguments = "",
                                    .summary = "two banks",
                                    .score = divide,
                                    .max_bonus = no_bonus};

/* Decode inputs of the toy domain. Returns the number of certified outputs. */
static int32_t count_certified(const char *setting, int with_banks)
{
    rill_context *ctx = harness_context(NULL);
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_open_options options = {.struct_size = sizeof options, .threads = 1, .arguments = "seed=3 actions=5 depth=5"};
    const rill_chain_entry scorer = {"test-divider", NULL};
    const rill_result *result;
    int32_t certified = 0;
    assert_int_equal(rill_register_scorer(ctx, &divider), RILL_OK);
    assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_OK);
    rill_engine_setup_default(&setup);
    assert_int_equal(rill_settings_set(ctx, &setup.settings, setting, "1"), RILL_OK);
    assert_int_equal(rill_settings_set(ctx, &setup.settings, "k", "8"), RILL_OK);
    assert_int_equal(rill_settings_set(ctx, &setup.settings, "n", "32"), RILL_OK);
    setup.scorers = &scorer;
    setup.n_scorers = 1;
    divides = with_banks;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    for (char c = 'a'; c <= 'z'; c++) assert_int_equal(rill_engine_submit(engine, &c, 1), RILL_OK);
    rill_engine_close_input(engine);
    while (!rill_engine_idle(engine)) {
        if (rill_engine_step(engine) < 0) fail_msg("%s", rill_error(ctx));
        while (rill_engine_next(engine, &result) == RILL_OK)
            for (int32_t i = 0; i < result->n_outputs; i++) certified += rill_result_output(result, i)->certified;
    }
    rill_engine_destroy(engine);
    rill_model_close(model);
    rill_context_destroy(ctx);
    return certified;
}

/* Constraint banks keep worse children in place of better ones, and the score of the dropped ones has no bound. Exact
 * search does not use banks. */
static void banks_prove_nothing(void **state)
{
    (void)state;
    const int32_t exact = count_certified("exact", 0);
    assert_true(count_certified("certify", 0) > 0);
    assert_int_equal(count_certified("certify", 1), 0);
    assert_true(exact > 0);
    assert_int_equal(count_certified("exact", 1), exact);
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

/* Settings that rule out a proof are refused. */
static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *value, *scorer, *words;
    } cases[] = {{"at-limit", "best-ended", NULL, "best-ended"},
                 {"cube", "naive", NULL, "cube pruning"},
                 {"unknown-penalty", "-1", NULL, "unknown-penalty"},
                 {"k", "3", "test-flood", "scorer test-flood, which declares no max_bonus"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_context *ctx = harness_context(NULL);
        rill_model *model;
        rill_engine *engine;
        rill_engine_setup setup;
        const rill_chain_entry scorer = {cases[i].scorer, "3"};
        rill_open_options options = {
            .struct_size = sizeof options, .threads = 1, .arguments = "seed=3 actions=5 depth=5"};
        assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_OK);
        rill_engine_setup_default(&setup);
        assert_int_equal(rill_settings_set(ctx, &setup.settings, i < 2 ? "exact" : "certify", "1"), RILL_OK);
        assert_int_equal(rill_settings_set(ctx, &setup.settings, cases[i].setting, cases[i].value), RILL_OK);
        setup.scorers = &scorer;
        setup.n_scorers = cases[i].scorer != NULL;
        assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_ERR_OPTION);
        assert_non_null(strstr(rill_error(ctx), cases[i].words));
        rill_model_close(model);
        rill_context_destroy(ctx);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_certificate_is_false),
    cmocka_unit_test(wide_beams_certify_all),
    cmocka_unit_test(exact_finds_the_best),
    cmocka_unit_test(exact_under_every_schedule),
    cmocka_unit_test(deadlines_end_exact),
    cmocka_unit_test(requests_are_checked),
    cmocka_unit_test(exact_without_memory),
    cmocka_unit_test(banks_prove_nothing),
    cmocka_unit_test(refused),
};

HARNESS_MAIN(tests)
