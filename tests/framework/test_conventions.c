/* The settings for other decoders' conventions against the naive search: same results under every schedule. And the
 * presets, which only set these settings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

static void any_convention(problem_group group, int64_t iterations, int bounded)
{
    uint64_t first = harness_seed(1);
    int bad = 0;
    int64_t outputs = 0;
    for (int64_t i = 0; i < harness_iterations(iterations) && bad < 5; i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 60 + (uint64_t)group));
        problem p;
        problem_draw(&p, group, &d);
        problem_draw_conventions(&p, group, &d);
        problem_solve(&p);
        for (int j = 0; j < 2; j++) {
            schedule s;
            rill_stats stats;
            schedule_draw(&s, group, &d);
            s.untraced = j > 0;
            if (bounded) s.max_nodes = s.bound = dice_range(&d, 5, 60);
            bad += problem_differs(&p, &s, seed, 0, &stats);
            outputs += stats.outputs;
        }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
    HARNESS_ASSERT_COVERED(outputs > iterations / 10);
}

static void pruned(void **state)
{
    (void)state;
    any_convention(PROBLEM_PRUNED, 1000, 0);
}

static void fixed(void **state)
{
    (void)state;
    any_convention(PROBLEM_FIXED, 400, 0);
}

static void fixed_top(void **state)
{
    (void)state;
    any_convention(PROBLEM_FIXED_TOP, 400, 0);
}

static void greedy(void **state)
{
    (void)state;
    any_convention(PROBLEM_GREEDY, 200, 0);
}

static void bounded(void **state)
{
    (void)state;
    any_convention(PROBLEM_PRUNED, 300, 1);
}

/* --- presets ------------------------------------------------------------------------------------------------------ */

static rill_context *ctx;

static rill_settings resolved(const char *const *pairs)
{
    rill_settings s, again;
    rill_settings_default(&s);
    for (; *pairs != NULL; pairs += 2) assert_int_equal(rill_settings_set(ctx, &s, pairs[0], pairs[1]), RILL_OK);
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_OK);
    again = s;
    assert_int_equal(rill_settings_resolve(ctx, &again, 0), RILL_OK);
    assert_memory_equal(&s, &again, sizeof s);
    return s;
}

#define RESOLVED(...) resolved((const char *const[]){__VA_ARGS__, NULL})

static void presets_fill(void **state)
{
    (void)state;
    rill_settings hf = RESOLVED("like", "hf"), fairseq = RESOLVED("like", "fairseq"), ct2 = RESOLVED("like", "ct2");
    rill_settings marian = RESOLVED("method", "fixed", "like", "marian");
    assert_int_equal(hf.k, 5);
    assert_int_equal(hf.finish, RILL_FINISH_IMMEDIATE);
    assert_int_equal(hf.max_candidates, 10);
    assert_int_equal(hf.keep, RILL_KEEP_BEST);
    assert_int_equal(hf.stop, RILL_STOP_BOUND);
    assert_int_equal(hf.at_limit, RILL_LIMIT_FIRST);
    assert_true(hf.count_end && hf.length_penalty == 1);
    assert_int_equal(fairseq.keep, RILL_KEEP_FIRST);
    assert_int_equal(fairseq.stop, RILL_STOP_COUNT);
    assert_int_equal(fairseq.at_limit, RILL_LIMIT_END);
    assert_true(fairseq.min_length == 1 && fairseq.max_length == 200 && fairseq.max_length_factor == 0);
    assert_true(marian.k == 12 && marian.length_penalty == 0 && marian.max_length_factor == 3);
    assert_int_equal(marian.finish, RILL_FINISH_SHRINK);
    assert_int_equal(marian.keep, RILL_KEEP_ALL);
    assert_true(isinf(marian.unknown_penalty));
    assert_true(ct2.k == 2 && ct2.max_length == 256 && ct2.count_end && ct2.length_penalty == 1);
    assert_int_equal(ct2.stop, RILL_STOP_COUNT);
    assert_int_equal(ct2.stop_after, 2);
    ct2 = RESOLVED("like", "ct2", "length-penalty", "0");
    assert_int_equal(ct2.stop, RILL_STOP_TOP);
    assert_int_equal(ct2.stop_after, 1);
}

/* Explicit settings override a preset, in any order and even if they equal the default. Greedy search keeps its beam
 * size of 1. */
static void given_settings_stay(void **state)
{
    (void)state;
    rill_settings s = RESOLVED("length-penalty", "0", "k", "7", "count-end", "false", "like", "hf", "stop", "count");
    assert_true(s.length_penalty == 0 && s.k == 7 && !s.count_end);
    assert_int_equal(s.stop, RILL_STOP_COUNT);
    assert_int_equal(s.keep, RILL_KEEP_BEST);
    s = RESOLVED("like", "marian", "unknown-penalty", "0", "finish", "top");
    assert_true(s.unknown_penalty == 0 && s.finish == RILL_FINISH_TOP);
    s = RESOLVED("like", "fairseq", "method", "greedy");
    assert_true(s.k == 1 && s.finish == RILL_FINISH_TOP && s.max_length == 200);
    rill_settings_default(&s);
    s.like = RILL_LIKE_FAIRSEQ;
    s.k = 3;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_OK);
    assert_true(s.k == 3 && s.min_length == 1);
    rill_settings_default(&s);
    s.stop = RILL_STOP_BOUND;
    s.keep = RILL_KEEP_FIRST;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_OPTION);
    s.keep = 4;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_OPTION);
    assert_true(strstr(rill_error(ctx), "keep") != NULL);
}

/* A model's default search overrides the preset, and the user overrides both. */
static void models_recommend(void **state)
{
    (void)state;
    rill_model *model;
    rill_engine *engine;
    rill_open_options options = {.struct_size = sizeof options, .threads = 1, .arguments = ""};
    rill_engine_setup setup;
    assert_int_equal(rill_register_core(ctx), RILL_OK);
    assert_int_equal(rill_register_domain(ctx, &toy_domain), RILL_OK);
    assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_OK);
    rill_engine_setup_default(&setup);
    for (int like = RILL_LIKE_HF; like <= RILL_LIKE_FAIRSEQ; like++) {
        setup.settings.like = like;
        setup.settings.stop = like == RILL_LIKE_HF ? RILL_STOP_BOUND : 0;
        assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
        const rill_settings *s = rill_engine_settings(engine);
        assert_int_equal(s->k, like == RILL_LIKE_HF ? 3 : 5);
        assert_true(s->length_penalty == (like == RILL_LIKE_HF ? 0 : 1));
        assert_int_equal(s->stop, like == RILL_LIKE_HF ? RILL_STOP_BOUND : RILL_STOP_COUNT);
        rill_engine_destroy(engine);
    }
    rill_model_close(model);
}

static int make_context(void **state)
{
    (void)state;
    return rill_context_create(&ctx, NULL);
}

static int drop_context(void **state)
{
    (void)state;
    rill_context_destroy(ctx);
    return 0;
}

#define WITH_CONTEXT(test) cmocka_unit_test_setup_teardown(test, make_context, drop_context)

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pruned),          cmocka_unit_test(fixed),        cmocka_unit_test(fixed_top),
    cmocka_unit_test(greedy),          cmocka_unit_test(bounded),      WITH_CONTEXT(presets_fill),
    WITH_CONTEXT(given_settings_stay), WITH_CONTEXT(models_recommend),
};

HARNESS_MAIN(tests)
