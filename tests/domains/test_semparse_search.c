/* domains/semparse under the engine: the beams of the reference decoder, for every method and number of threads. */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "reference.h"
#include "rill/engine.h"
#include "rill/plugin.h"
#include "semparse.h"

static void submit_case(rill_context *ctx, rill_engine *engine, const json_t *one)
{
    char *text = reference_text(json_object_get(one, "tokens"));
    assert_ok(ctx, rill_engine_submit(engine, text, strlen(text)));
    free(text);
}

static void check_output(const rill_output *found, const json_t *expected)
{
    const json_t *actions = json_object_get(expected, "actions");
    assert_int_equal(found->length, json_array_size(actions));
    for (size_t i = 0; i < (size_t)found->length; i++)
        assert_int_equal(found->ids[i], json_integer_value(json_array_get(actions, i)));
    assert_true(fabs(found->path_score - json_real_value(json_object_get(expected, "score"))) < 1e-4);
    assert_int_equal(found->finish_reason != RILL_FINISH_REASON_STOP,
                     json_is_true(json_object_get(expected, "truncated")));
}

/* The reference decodes an empty question; rill's output for it is empty. */
static void check_result(const rill_result *result, const json_t *one)
{
    const json_t *beam = json_object_get(one, "beam");
    if (json_array_size(json_object_get(one, "tokens")) == 0) {
        assert_int_equal(result->status, RILL_OK);
        assert_int_equal(result->n_outputs, 1);
        assert_string_equal(rill_result_output(result, 0)->text, "");
        return;
    }
    assert_int_equal(result->status, RILL_OK);
    assert_int_equal(result->n_outputs, json_array_size(beam));
    for (size_t i = 0; i < (size_t)result->n_outputs; i++)
        check_output(rill_result_output(result, i), json_array_get(beam, i));
}

static void decode_all(rill_context *ctx, rill_model *model, const char *method, int32_t n, const json_t *cases)
{
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    strcpy(setup.settings.method, method);
    setup.settings.k = 4;
    setup.settings.n = n;
    setup.settings.max_candidates = 3;
    setup.settings.n_best = 10;
    rill_chain_entry absolute = {"absolute", "3"};
    setup.heuristics = &absolute;
    setup.n_heuristics = 1;
    rill_engine *engine;
    assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
    size_t submitted = 0, seen = 0;
    while (seen < json_array_size(cases)) {
        for (; submitted < json_array_size(cases) && rill_engine_free_slots(engine) > 0; submitted++)
            submit_case(ctx, engine, json_array_get(cases, submitted));
        if (submitted == json_array_size(cases)) rill_engine_close_input(engine);
        assert_ok(ctx, rill_engine_step(engine));
        const rill_result *result;
        for (; rill_engine_next(engine, &result) == RILL_OK; seen++) {
            assert_int_equal(result->id, seen);
            check_result(result, json_array_get(cases, seen));
        }
    }
    rill_engine_destroy(engine);
}

static void check_model(const char *name, int threads)
{
    static const char *const methods[] = {"var-batch", "var-stream", "var-stream-fifo", "top-up", "stream-all"};
    failing_allocator memory;
    rill_context *ctx = failing_allocator_context(&memory);
    reference r = reference_open(name);
    assert_ok(ctx, rill_register_core(ctx));
    assert_ok(ctx, rill_register_domain(ctx, &rill_semparse_domain));
    rill_model *model;
    rill_open_options options = {.struct_size = sizeof options, .path = r.path, .threads = threads, .tokenized = 1};
    assert_ok(ctx, rill_model_open(&model, ctx, "semparse", &options));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        for (int32_t n = 1; n <= 4; n += 3) decode_all(ctx, model, methods[i], n, r.cases);
    rill_model_close(model);
    reference_close(&r);
    rill_context_destroy(ctx);
    assert_int_equal(memory.out, 0);
}

static void beams_tiny(void **state)
{
    (void)state;
    check_model("semparse/tiny", 1);
    check_model("semparse/tiny", 2);
}

static void beams_odd(void **state)
{
    (void)state;
    check_model("semparse/odd", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beams_tiny),
        cmocka_unit_test(beams_odd),
    };
    return cmocka_run_group_tests_name("domains_semparse_search", tests, NULL, NULL);
}
