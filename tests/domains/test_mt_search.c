/* domains/mt under the engine: the beams of the reference decoder, for every method and number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "mt.h"
#include "reference.h"
#include "rill/engine.h"

static const rill_domain *const domains[] = {&rill_mt_domain};

#include "engine_fixture.h"

/* The reference values of the last one are those of an ensemble with the first one. */
static const char *const models[] = {"mt/shared", "mt/odd",     "mt/separate",   "mt/fsmt",           "mt/fsmt-tied",
                                     "mt/rnn",    "mt/rnn-own", "mt/rnn-simple", "mt/rnn-simple-two", "mt/ensemble"};
enum { MODELS = sizeof models / sizeof *models, ENSEMBLE = MODELS - 1 };

/* --- running ------------------------------------------------------------------------------------------------------ */

/* All results of a run in order, for bitwise comparison. */
typedef struct record {
    float *number; /* for each output: its ids and its score */
    size_t used, capacity;
} record;

static void put(record *r, float x)
{
    if (r->used == r->capacity) {
        r->capacity = 2 * r->capacity + 64;
        r->number = realloc(r->number, r->capacity * sizeof *r->number);
        assert_non_null(r->number);
    }
    r->number[r->used++] = x;
}

typedef void (*seen_fn)(const rill_result *result, const json_t *one, record *to);

typedef struct run {
    const char *method;
    int32_t n, k, max_candidates;
    int32_t max_length;    /* 0: the model's default */
    const char *heuristic; /* argument of "absolute", NULL for none */
    seen_fn seen;
    record *record;
} run;

static void submit_case(rill_engine *engine, const json_t *one)
{
    char *text = reference_text(json_object_get(one, "pieces"));
    assert_ok(ctx, rill_engine_submit(engine, text, strlen(text)));
    free(text);
}

static void decode_all(rill_model *model, const run *r, const json_t *cases)
{
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    strcpy(setup.settings.method, r->method);
    setup.settings.k = r->k;
    setup.settings.n = r->n;
    setup.settings.max_candidates = r->max_candidates;
    setup.settings.n_best = 10;
    static const char *const fields[] = {"alignment", "alignment=soft"};
    setup.fields = fields;
    setup.n_fields = 2;
    setup.settings.max_length = r->max_length;
    rill_chain_entry absolute = {"absolute", r->heuristic};
    if (r->heuristic != NULL) setup.heuristics = &absolute, setup.n_heuristics = 1;
    rill_engine *engine;
    assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
    const size_t count = json_array_size(cases);
    size_t submitted = 0, seen = 0;
    while (seen < count) {
        for (; submitted < count && rill_engine_free_slots(engine) > 0; submitted++)
            submit_case(engine, json_array_get(cases, submitted));
        if (submitted == count) rill_engine_close_input(engine);
        assert_ok(ctx, rill_engine_step(engine));
        const rill_result *result;
        for (; rill_engine_next(engine, &result) == RILL_OK; seen++) {
            assert_int_equal(result->id, seen);
            assert_int_equal(result->status, RILL_OK);
            r->seen(result, json_array_get(cases, seen), r->record);
        }
    }
    rill_engine_destroy(engine);
}

/* Open models[i], whose directory is `path`. */
static rill_model *open_model(size_t i, const char *path, int threads, const char *weights)
{
    rill_model *model;
    char *first = data_path(models[0]);
    const rill_pair kind = {"weights", weights};
    rill_open_options options = {.struct_size = sizeof options,
                                 .path = path,
                                 .threads = threads,
                                 .tokenized = 1,
                                 .values = &kind,
                                 .n_values = weights != NULL};
    if (i == ENSEMBLE) options.path = first, options.ensemble = &path, options.n_ensemble = 1;
    assert_ok(ctx, rill_model_open(&model, ctx, "mt", &options));
    free(first);
    return model;
}

/* --- against the reference ---------------------------------------------------------------------------------------- */

static void check_output(const rill_output *found, const json_t *expected)
{
    const json_t *actions = json_object_get(expected, "actions");
    const double score = json_real_value(json_object_get(expected, "score"));
    assert_int_equal(found->length, json_array_size(actions));
    for (size_t i = 0; i < (size_t)found->length; i++)
        assert_int_equal(found->ids[i], json_integer_value(json_array_get(actions, i)));
    assert_true(fabs(found->path_score - score) <= 1e-4 * fmax(1.0, fabs(score)));
    assert_int_equal(found->finish_reason != RILL_FINISH_REASON_STOP,
                     json_is_true(json_object_get(expected, "truncated")));
}

static void check_beam(const rill_result *result, const json_t *one, record *unused)
{
    (void)unused;
    const json_t *beam = json_object_get(one, "beam");
    assert_int_equal(result->n_outputs, json_array_size(beam));
    for (size_t i = 0; i < (size_t)result->n_outputs; i++)
        check_output(rill_result_output(result, i), json_array_get(beam, i));
}

static void check_greedy(const rill_result *result, const json_t *one, record *unused)
{
    (void)unused;
    assert_int_equal(result->n_outputs, 1);
    check_output(rill_result_output(result, 0), json_object_get(one, "greedy"));
}

static void beams_are_those_of_the_reference(void **state)
{
    (void)state;
    static const char *const methods[] = {"var-batch", "var-stream", "var-stream-fifo", "top-up", "stream-all"};
    for (size_t i = RACES_ONLY; i < MODELS; i += 1 + RACES_ONLY) {
        reference r = reference_open(models[i]);
        rill_model *model = open_model(i, r.path, 1 + (int)i % 2, i % 2 ? "f32" : NULL);
        const int32_t longest = (int32_t)json_integer_value(json_object_get(r.expected, "max_length"));
        for (size_t j = 0; j < sizeof methods / sizeof *methods; j++) {
            for (int32_t n = 1; n <= 4; n += 3)
                decode_all(model,
                           &(run){.method = methods[j],
                                  .n = n,
                                  .k = 5,
                                  .max_candidates = 5,
                                  .max_length = longest,
                                  .seen = check_beam},
                           r.cases);
            decode_all(model,
                       &(run){.method = methods[j],
                              .n = 3,
                              .k = 1,
                              .max_candidates = 1,
                              .max_length = longest,
                              .seen = check_greedy},
                       r.cases);
        }
        rill_model_close(model);
        reference_close(&r);
    }
}

/* --- against each other ------------------------------------------------------------------------------------------- */

static void note(const rill_result *result, const json_t *one, record *to)
{
    put(to, (float)result->n_outputs);
    for (int32_t i = 0; i < result->n_outputs; i++) {
        const rill_output *output = rill_result_output(result, i);
        put(to, (float)output->length);
        for (int32_t j = 0; j < output->length; j++) put(to, (float)output->ids[j]);
        put(to, (float)output->path_score);
        for (int32_t field = 0; field < 2; field++)
            for (const char *c = rill_output_field(output, field); *c != '\0'; c++) put(to, (float)*c);
        assert_int_equal(rill_output_field(output, 0)[0] == '\0', json_array_size(json_object_get(one, "pieces")) == 0);
    }
}

/* Compare runs with pruning, so that beams of many widths and items of many depths share timesteps. One input is
 * empty. */
static void expect_agreement(const char *weights)
{
    static const char *const methods[] = {"var-batch", "var-stream", "var-stream-fifo", "top-up", "stream-all"};
    for (size_t i = 0; i < MODELS; i++) {
        reference r = reference_open(models[i]);
        record first = {.number = NULL};
        json_array_append_new(r.cases, json_pack("{s:[]}", "pieces"));
        for (int threads = RACES_ONLY ? 2 : 1; threads <= 2; threads++) {
            rill_model *model = open_model(i, r.path, threads, weights);
            for (size_t j = 0; j < sizeof methods / sizeof *methods; j++) {
                for (int32_t n = RACES_ONLY ? 7 : 1; n <= 8; n += 3) {
                    record other = {.number = NULL};
                    const int is_first = first.number == NULL;
                    decode_all(model,
                               &(run){.method = methods[j],
                                      .n = n,
                                      .k = 7,
                                      .max_candidates = 3,
                                      .heuristic = "2.5",
                                      .seen = note,
                                      .record = is_first ? &first : &other},
                               r.cases);
                    if (is_first) continue;
                    assert_int_equal(other.used, first.used);
                    assert_memory_equal(other.number, first.number, first.used * sizeof *first.number);
                    free(other.number);
                }
            }
            rill_model_close(model);
        }
        free(first.number);
        reference_close(&r);
    }
}

static void methods_agree_to_the_bit(void **state)
{
    (void)state;
    expect_agreement("f32");
}

static void methods_agree_to_the_bit_in_bf16(void **state)
{
    (void)state;
    expect_agreement("bf16");
}

static void methods_agree_to_the_bit_in_int8(void **state)
{
    (void)state;
    expect_agreement("int8");
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static void note_scores(const rill_result *result, const json_t *one, record *to)
{
    (void)one;
    for (int32_t i = 0; i < result->n_outputs; i++) put(to, (float)rill_result_output(result, i)->path_score);
}

/* Return the scores of the best five first actions. */
static record first_scores(size_t i, const char *path, const char *weights)
{
    json_t *expected = reference_load(path, "expected.json");
    record found = {.number = NULL};
    rill_model *model = open_model(i, path, 1, weights);
    decode_all(model,
               &(run){.method = "var-stream",
                      .n = 3,
                      .k = 5,
                      .max_candidates = 5,
                      .max_length = 1,
                      .seen = note_scores,
                      .record = &found},
               json_object_get(expected, "cases"));
    rill_model_close(model);
    json_decref(expected);
    return found;
}

/* First scores with weights of lower precision are close to those of fp32, but not equal: they have passed through the
 * encoder and one decoder step. */
static void weights_of_less_precision_are_near(void **state)
{
    (void)state;
    static const struct {
        const char *weights;
        double tolerance;
    } kinds[] = {{"bf16", 0.1}, {"int8", 0.3}};
    for (size_t i = 0; i < MODELS; i++) {
        char *path = data_path(models[i]);
        record exact = first_scores(i, path, NULL);
        for (size_t j = 0; j < 2; j++) {
            record found = first_scores(i, path, kinds[j].weights);
            float worst = 0.0f; /* gcc 12 for AArch64 fails to compile the largest double of these floats */
            assert_int_equal(found.used, exact.used);
            for (size_t c = 0; c < found.used; c++) worst = fmaxf(worst, fabsf(found.number[c] - exact.number[c]));
            if ((double)worst > kinds[j].tolerance || worst == 0.0f)
                fail_msg("%s in %s: log-probabilities are off by %g", models[i], kinds[j].weights, (double)worst);
            free(found.number);
        }
        free(exact.number);
        free(path);
    }
}

static void other_weights_are_refused(void **state)
{
    (void)state;
    char *path = data_path(models[0]);
    rill_model *model;
    rill_pair kind = {"weights", "int4"};
    rill_open_options options = {
        .struct_size = sizeof options, .path = path, .threads = 1, .tokenized = 1, .values = &kind, .n_values = 1};
    assert_int_equal(rill_model_open(&model, ctx, "mt", &options), RILL_ERR_OPTION);
    assert_error(ctx, "domain mt: weights: \"int4\" is not one of f32|bf16|f16|int8", NULL);
    kind = (rill_pair){"wheels", "4"};
    assert_int_equal(rill_model_open(&model, ctx, "mt", &options), RILL_ERR_OPTION);
    assert_error(ctx, "domain mt has no option wheels, found the value \"4\"", NULL);
    free(path);
}

/* --- empty inputs ------------------------------------------------------------------------------------------------- */

static void check_empty(const rill_result *result, const json_t *one, record *unused)
{
    (void)one, (void)unused;
    assert_int_equal(result->n_outputs, 1);
    assert_int_equal(rill_result_output(result, 0)->text_bytes, 0);
    assert_true(rill_result_output(result, 0)->path_score == 0);
    assert_int_equal(rill_result_output(result, 0)->finish_reason, RILL_FINISH_REASON_STOP);
}

static void empty_in_is_empty_out(void **state)
{
    (void)state;
    char *path = data_path(models[0]);
    json_t *cases = json_pack("[{s:[]}, {s:[]}]", "pieces", "pieces");
    rill_model *model = open_model(0, path, 1, NULL);
    decode_all(model, &(run){.method = "var-stream", .n = 2, .k = 5, .max_candidates = 5, .seen = check_empty}, cases);
    rill_model_close(model);
    json_decref(cases);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(beams_are_those_of_the_reference),
        CASE(methods_agree_to_the_bit),
        CASE(methods_agree_to_the_bit_in_bf16),
        CASE(methods_agree_to_the_bit_in_int8),
        CASE(weights_of_less_precision_are_near),
        CASE(other_weights_are_refused),
        CASE(empty_in_is_empty_out),
    };
    return cmocka_run_group_tests_name("domains_mt_search", tests, NULL, NULL);
}
