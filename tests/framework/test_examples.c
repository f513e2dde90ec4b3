/* The examples do what their documentation says. Tested are hello_beam's output, and the template domain and heuristic,
 * loaded as plugins. The build sets HELLO_BEAM and EXAMPLES_FOLDER. */
#include <stdio.h>
#include <string.h>

#include "rill/plugin.h"
#include "support/harness.h"
#include "support/problem.h"

static void hello_beam(void **state)
{
    (void)state;
    static const char expected[] = "walk shop clean: sunny rainy rainy 0.01344\n"
                                   "walk shop clean: sunny sunny rainy 0.00864\n"
                                   "walk: sunny 0.24000\n"
                                   "walk: rainy 0.06000\n"
                                   "walk swim: day 2: walk, shop or clean was expected\n"
                                   ":  1.00000\n";
    char text[1000];
    FILE *program = popen("\"" HELLO_BEAM "\" \"walk shop clean\" walk \"walk swim\" \"\"", "r");
    assert_non_null(program);
    size_t n = fread(text, 1, sizeof text - 1, program);
    text[n] = '\0';
    assert_int_equal(pclose(program), 0);
    assert_string_equal(text, expected);
}

/* --- the template domain ------------------------------------------------------------------------------------------ */

typedef struct answers {
    char best[8][32];
    rill_status status[8];
    char message[8][128];
    double score[8];
    int32_t found[8];
} answers;

static void decode(rill_context *ctx, const char *path, int32_t k, const char *const *words, int n, answers *out)
{
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    const rill_result *result;
    rill_open_options options = {.struct_size = sizeof options, .threads = 1, .path = path};
    if (rill_model_open(&model, ctx, "template", &options) != RILL_OK) fail_msg("%s", rill_error(ctx));
    rill_engine_setup_default(&setup);
    setup.settings.k = k;
    setup.settings.stop_after = 1;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    for (int i = 0; i < n; i++) assert_int_equal(rill_engine_submit(engine, words[i], strlen(words[i])), RILL_OK);
    rill_engine_close_input(engine);
    while (rill_engine_step(engine) == RILL_OK) continue;
    while (rill_engine_next(engine, &result) == RILL_OK) {
        int64_t i = result->id;
        out->status[i] = result->status;
        out->found[i] = result->n_outputs;
        snprintf(out->message[i], sizeof out->message[i], "%s", result->message);
        if (result->n_outputs == 0) continue;
        out->score[i] = rill_result_output(result, 0)->path_score;
        snprintf(out->best[i], sizeof out->best[i], "%s", rill_result_output(result, 0)->text);
    }
    rill_engine_destroy(engine);
    rill_model_close(model);
}

static void template_domain(void **state)
{
    (void)state;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    if (rill_plugin_load(ctx, EXAMPLES_FOLDER "/rill-template.so") != RILL_OK) fail_msg("%s", rill_error(ctx));
    assert_non_null(rill_find_domain(ctx, "template"));
    static const char *const words[] = {"th_", "Fox", "__", "qu_ck", "a1", ""};
    answers narrow = {0}, wide = {0};
    decode(ctx, NULL, 4, words, 6, &narrow);
    decode(ctx, NULL, 1000, words, 6, &wide); /* a beam wider than each of these search spaces */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(wide.status[i], RILL_OK);
        assert_int_equal(strlen(wide.best[i]), strlen(words[i]));
        assert_true(narrow.score[i] <= wide.score[i]);
        for (size_t c = 0; words[i][c] != '\0'; c++)
            if (words[i][c] != '_') assert_int_equal(wide.best[i][c], words[i][c] | 32);
    }
    assert_string_equal(wide.best[0], "the");
    assert_string_equal(wide.best[1], "fox");
    assert_string_equal(wide.best[3], "quick");
    assert_int_equal(wide.status[4], RILL_ERR_INPUT);
    assert_string_equal(wide.message[4], "byte 2 is neither a letter nor '_'");
    assert_int_equal(wide.status[5], RILL_OK); /* a blank line, which no domain receives */
    assert_string_equal(wide.best[5], "");
    rill_model *model;
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .path = "no/such/file"};
    assert_int_equal(rill_model_open(&model, ctx, "template", &open), RILL_ERR_IO);
    assert_non_null(strstr(rill_error(ctx), "no/such/file"));
    harness_end(ctx, &memory);
}

static void template_domain_learns_from_a_file(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    assert_int_equal(rill_plugin_load(ctx, EXAMPLES_FOLDER "/rill-template.so"), RILL_OK);
    const char *path = EXAMPLES_FOLDER "/template_words.txt";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 50; i++) fputs("zap zip\nZap ", file);
    fclose(file);
    static const char *const words[] = {"z_p", "_i_"};
    answers got = {0};
    decode(ctx, path, 50, words, 2, &got);
    assert_string_equal(got.best[0], "zap");
    assert_string_equal(got.best[1], "zip");
    remove(path);
    rill_context_destroy(ctx);
}

/* --- the template heuristic --------------------------------------------------------------------------------------- */

static void naive_gap_heuristic(void *user, naive_beam *b)
{
    (void)user;
    for (int32_t i = 1; i < b->n && b->width == INT32_MAX; i++)
        if (b->candidate[i - 1].sum - b->candidate[i].sum > 0.75) b->width = i;
}

static rill_status load_gap_heuristic(rill_context *ctx)
{
    return rill_plugin_load(ctx, EXAMPLES_FOLDER "/rill-template-heuristic.so");
}

static void template_heuristic(void **state)
{
    (void)state;
    for (int64_t i = 0; i < harness_iterations(200); i++) {
        uint64_t seed = harness_seed(1) + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 90));
        problem p;
        schedule s;
        engine_record r;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        s.check = i % 2 == 0;
        p.n_heuristics = p.naive.n_heuristics = 1;
        snprintf(p.heuristic[0].name, sizeof p.heuristic[0].name, "gap");
        snprintf(p.heuristic[0].arguments, sizeof p.heuristic[0].arguments, "0.75");
        p.naive.heuristic[0] = (naive_heuristic){.rule = NAIVE_CUSTOM, .apply = naive_gap_heuristic};
        problem_solve(&p);
        engine_run_with(&p, &s, NULL, load_gap_heuristic, &r);
        problem_expect(&p, &s, seed, &r);
        snprintf(p.heuristic[0].arguments, sizeof p.heuristic[0].arguments, "wide");
        engine_record_clear(&r);
        engine_run_with(&p, &s, NULL, load_gap_heuristic, &r);
        assert_int_equal(r.status, RILL_ERR_OPTION);
        assert_non_null(strstr(r.message, "\"wide\""));
        engine_record_clear(&r);
        problem_clear(&p);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(hello_beam),
    cmocka_unit_test(template_domain),
    cmocka_unit_test(template_domain_learns_from_a_file),
    cmocka_unit_test(template_heuristic),
};

HARNESS_MAIN(tests)
