/* domains/mt with the presets of `--like`, for every method. The n-best lists must be those of transformers' generate()
 * and fairseq's search, and of reimplementations of the searches of marian-decoder and CTranslate2
 * (tools/reference_search.py, reference_fairseq.py). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers.h"
#include "mt.h"
#include "reference.h"
#include "rill/engine.h"

static const rill_domain *const domains[] = {&rill_mt_domain};

#include "engine_fixture.h"

static const char *const models[] = {"mt/shared", "mt/odd", "mt/separate", "mt/fsmt", "mt/fsmt-tied"};

/* From CTranslate2's converters (tools/reference_ct2.py): one model per architecture and weight type. */
static const char *const converted[] = {
    "mt/ct2-marian", "mt/ct2-marian-int8", "mt/ct2-marian-brain", "mt/ct2-bart",    "mt/ct2-bart-untied",
    "mt/ct2-m2m",    "mt/ct2-mbart",       "mt/ct2-pegasus",      "mt/ct2-t5",      "mt/ct2-t5-gated",
    "mt/ct2-umt5",   "mt/ct2-opennmt",     "mt/ct2-eole",         "mt/ct2-fairseq", "mt/ct2-nllb"};
static const char *const quantised[] = {"mt/ct2-marian-int8", "mt/ct2-m2m", "mt/ct2-t5-gated", "mt/ct2-eole"};

static rill_model *open_in(const char *path, const char *weights)
{
    rill_model *model;
    const rill_pair value = {"weights", weights};
    rill_open_options options = {
        .struct_size = sizeof options, .path = path, .threads = 1, .tokenized = 1, .n_values = 1, .values = &value};
    assert_ok(ctx, rill_model_open(&model, ctx, "mt", &options));
    return model;
}

static rill_model *open_model(const char *path)
{
    rill_model *model;
    rill_open_options options = {.struct_size = sizeof options, .path = path, .threads = 1, .tokenized = 1};
    assert_ok(ctx, rill_model_open(&model, ctx, "mt", &options));
    return model;
}

/* --- n-best lists ------------------------------------------------------------------------------------------------- */

typedef struct place {
    const char *model, *file, *method;
    size_t search, input, output;
    long n_differ, n_lists; /* n-best lists that may differ and did so far; all n-best lists */
} place;

static void fail_at(const place *where, const char *what)
{
    fail_msg("%s/%s, method %s, search %zu, input %zu, output %zu: %s", where->model, where->file, where->method,
             where->search, where->input, where->output, what);
}

/* Return what differs, or NULL. */
static const char *differs(const rill_output *found, const json_t *expected)
{
    const json_t *actions = json_object_get(expected, "actions");
    const double score = json_number_value(json_object_get(expected, "score"));
    if ((size_t)found->length != json_array_size(actions)) return "another length";
    for (size_t i = 0; i < (size_t)found->length; i++)
        if (found->ids[i] != json_integer_value(json_array_get(actions, i))) return "another symbol";
    return fabs(found->score - score) > 1e-4 * fmax(1.0, fabs(score)) ? "another score" : NULL;
}

static void check_result(place *where, const rill_result *result, const json_t *expected)
{
    const char *what = NULL;
    assert_int_equal(result->status, RILL_OK);
    where->output = 0;
    where->n_lists++;
    if ((size_t)result->n_outputs != json_array_size(expected)) fail_at(where, "another number of outputs");
    for (; where->output < json_array_size(expected) && what == NULL; where->output++)
        what = differs(rill_result_output(result, where->output), json_array_get(expected, where->output));
    if (what != NULL && where->n_differ-- <= 0) fail_at(where, what);
}

static void check_search(place *where, rill_model *model, const json_t *subwords, const json_t *search)
{
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    setup.settings.n = 3;
    setup.settings.n_best = 50;
    assert_ok(ctx, rill_settings_set(ctx, &setup.settings, "method", where->method));
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(search, "settings"), name, value)
        assert_ok(ctx, rill_settings_set(ctx, &setup.settings, name, json_string_value(value)));
    rill_engine *engine;
    assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
    for (size_t i = 0; i < json_array_size(subwords); i++) {
        char *text = reference_text(json_array_get(subwords, i));
        while (rill_engine_free_slots(engine) <= 0) assert_ok(ctx, rill_engine_step(engine));
        assert_ok(ctx, rill_engine_submit(engine, text, strlen(text)));
        free(text);
    }
    rill_engine_close_input(engine);
    const rill_result *result;
    for (where->input = 0; where->input < json_array_size(subwords);) {
        assert_ok(ctx, rill_engine_step(engine));
        for (; rill_engine_next(engine, &result) == RILL_OK; where->input++)
            check_result(where, result, json_array_get(json_object_get(search, "found"), where->input));
    }
    rill_engine_destroy(engine);
}

/* The model in `path` finds the n-best list `key` of the file. */
static void check_model_searches(rill_model *model, place *where, const json_t *file, const char *key,
                                 size_t min_searches)
{
    static const char *const methods[] = {"fixed", "fixed-stream", "var-stream", "stream-all"};
    const json_t *search;
    json_array_foreach(json_object_get(file, key), where->search, search)
    {
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
            where->method = methods[i];
            check_search(where, model, json_object_get(file, "pieces"), search);
        }
    }
    assert_true(where->search >= min_searches);
    rill_model_close(model);
}

static void check_searches(const char *path, place *where, const json_t *file, const char *key, size_t min_searches)
{
    check_model_searches(open_model(path), where, file, key, min_searches);
}

static void check_model(const char *name, const char *searches, size_t min_searches)
{
    char *path = data_path(name);
    json_t *file = reference_load(path, searches);
    check_searches(path, &(place){.model = name, .file = searches}, file, "searches", min_searches);
    json_decref(file);
    free(path);
}

static void searches_of_the_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) check_model(models[i], "search.json", 18);
}

static void fairseqs_own_searches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) check_model(models[i], "fairseq.json", 10);
}

static void ctranslate2s_own_searches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof converted / sizeof *converted; i++) check_model(converted[i], "search.json", 6);
}

/* Translation to French. Texts, which the directory's tokenizer splits, need a language option; tokenized input
 * includes the language. Outputs begin with their language, as with CTranslate2's target_prefix. */
static void check_languages(const char *searches, int tokenized)
{
    const rill_pair languages[] = {{"target-lang", "fra_Latn"}, {"source-lang", "eng_Latn"}};
    char *path = data_path("mt/ct2-nllb");
    json_t *file = reference_load(path, searches);
    rill_model *model;
    rill_open_options options = {.struct_size = sizeof options,
                                 .path = path,
                                 .threads = 1,
                                 .tokenized = tokenized,
                                 .n_values = tokenized ? 1 : 2,
                                 .values = languages};
    assert_ok(ctx, rill_model_open(&model, ctx, "mt", &options));
    check_model_searches(model, &(place){.model = "mt/ct2-nllb", .file = searches}, file, "searches", 6);
    json_decref(file);
    free(path);
}

static void ctranslate2s_own_languages(void **state)
{
    (void)state;
    check_languages("texts.json", 0);
    check_languages("prefix.json", 1);
}

/* int8 weights are the directory's own integers, and activations are quantised as CTranslate2 does. The last bit of a
 * value decides how it is rounded halfway between two integers, and depends on the order of summation. So one list in
 * ten may differ. */
static void ctranslate2s_own_searches_in_int8(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof quantised / sizeof *quantised; i++) {
        char *path = data_path(quantised[i]);
        json_t *file = reference_load(path, "search-int8.json");
        place where = {.model = quantised[i], .file = "search-int8.json", .n_differ = 12};
        check_model_searches(open_in(path, "int8"), &where, file, "searches", 6);
        assert_int_equal(where.n_lists, 120);
        json_decref(file);
        free(path);
    }
}

/* --- default search ----------------------------------------------------------------------------------------------- */

static char *folder;

static void copy_model(const char *name, const char *const *files, size_t n)
{
    char *path = data_path(name);
    for (size_t i = 0; i < n; i++) copy_file(path, folder, files[i]);
    free(path);
}

static int fill_folder(void **state)
{
    static const char *const files[] = {"config.json", "model.safetensors", "vocab-src.json", "vocab-tgt.json"};
    set_up(state);
    folder = folder_make();
    copy_model("mt/fsmt-tied", files, 4);
    return 0;
}

static int fill_marian(void **state)
{
    static const char *const files[] = {"config.json", "model.safetensors", "vocab.json", "source.spm", "target.spm"};
    set_up(state);
    folder = folder_make();
    copy_model("mt/odd", files, 5);
    return 0;
}

static int remove_folder(void **state)
{
    folder_remove(folder);
    return tear_down(state);
}

static rill_settings recommended_settings(const char *generation, const char *like)
{
    rill_engine_setup setup;
    rill_engine *engine;
    if (generation != NULL) write_string(folder, "generation_config.json", generation);
    rill_model *model = open_model(folder);
    rill_engine_setup_default(&setup);
    assert_ok(ctx, rill_settings_set(ctx, &setup.settings, "like", like));
    assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
    rill_settings s = *rill_engine_settings(engine);
    rill_engine_destroy(engine);
    rill_model_close(model);
    return s;
}

/* The lengths in generation_config.json count the start token and the end; rill's do not. */
static void models_recommend_settings(void **state)
{
    (void)state;
    rill_settings s = recommended_settings(
        "{\"num_beams\": 4, \"max_length\": 30, \"length_penalty\": 0.6, \"early_stopping\": "
        "true, \"forced_eos_token_id\": 2, \"min_length\": 3}",
        "hf");
    assert_true(s.k == 4 && s.max_length == 28 && s.length_penalty == 0.6 && s.min_length == 2);
    assert_int_equal(s.stop, RILL_STOP_COUNT);
    assert_int_equal(s.at_limit, RILL_LIMIT_END_FREE);
    s = recommended_settings("{\"max_length\": 30, \"early_stopping\": \"never\", \"length_penalty\": 0}", "hf");
    assert_true(s.k == 5 && s.max_length == 29 && s.length_penalty == 0 && s.min_length == 0);
    assert_int_equal(s.stop, RILL_STOP_BOUND_MAX);
    assert_int_equal(s.at_limit, RILL_LIMIT_FIRST);
    s = recommended_settings("{\"max_length\": 30, \"min_length\": 9, \"max_new_tokens\": 12, \"min_new_tokens\": 4}",
                             "hf");
    assert_true(s.k == 5 && s.max_length == 12 && s.min_length == 4);
    s = recommended_settings("{\"max_new_tokens\": 12, \"forced_eos_token_id\": 2}", "hf");
    assert_true(s.max_length == 11 && s.min_length == 0);
    s = recommended_settings("{\"max_new_tokens\": 5, \"min_new_tokens\": 5, \"forced_eos_token_id\": 2}", "hf");
    /* the output ends at the forced end token, before min_new_tokens */
    assert_true(s.max_length == 4 && s.min_length == 4);
    s = recommended_settings("{\"max_new_tokens\": 5, \"min_new_tokens\": 50}", "hf");
    assert_true(s.max_length == 5 && s.min_length == 5);
    s = recommended_settings("{\"num_beams\": 1}", "hf"); /* transformers' default is greedy search */
    assert_true(s.k == 1 && s.stop == RILL_STOP_COUNT);
    s = recommended_settings("{\"no_repeat_ngram_size\": 3, \"repetition_penalty\": 1.2}", "hf");
    assert_true(s.no_repeat_ngram == 3 && s.repetition_penalty == 1.2);
    s = recommended_settings("{\"num_beams\": 4, \"max_length\": 30}", "fairseq");
    assert_true(s.k == 5 && s.max_length == 200);
}

static void expect_default_search(const char *generation, const char *expected)
{
    rill_text text = {.ctx = ctx};
    if (generation != NULL) write_string(folder, "generation_config.json", generation);
    assert_ok(ctx, rill_mt_domain.advise(&rill_mt_domain, ctx, generation != NULL ? folder : NULL, &text));
    assert_string_equal(text.data, expected);
    rill_text_clear(&text);
}

/* Without a "rill" object in config.json, the default search has the beam size and length penalty of
 * generation_config.json, with pruning. */
static void defaults_come_from_the_generation_config(void **state)
{
    (void)state;
    expect_default_search(NULL, "n=32 k=5 length-penalty=1 absolute=2.5 max-candidates=3");
    expect_default_search("{\"num_beams\": 4, \"length_penalty\": 0.6}",
                          "n=32 k=4 length-penalty=0.6 absolute=2.5 max-candidates=3");
    expect_default_search(
        "{\"no_repeat_ngram_size\": 3, \"repetition_penalty\": 1.25}",
        "n=32 k=5 length-penalty=1 absolute=2.5 max-candidates=3 no-repeat-ngram=3 repetition-penalty=1.25");
    expect_default_search("{\"min_length\": 3}",
                          "n=32 k=5 length-penalty=1 absolute=2.5 max-candidates=3 min-length=2");
    expect_default_search("{\"min_length\": 2}",
                          "n=32 k=5 length-penalty=1 absolute=2.5 max-candidates=3 min-length=1");
}

/* Without generation_config.json, config.json's keys count. */
static void older_folders_have_it_in_config(void **state)
{
    (void)state;
    rill_settings s = recommended_settings(NULL, "hf");
    assert_true(s.k == 5 && s.length_penalty == 1);
    assert_int_equal(s.stop, RILL_STOP_BOUND);
    assert_int_equal(s.at_limit, RILL_LIMIT_FIRST);
    assert_int_equal(s.max_length, 199);
}

/* transformers generates 20 tokens if generation_config.json has no length, even if config.json has one. */
static void twenty_tokens_without_a_length(void **state)
{
    (void)state;
    assert_int_equal(recommended_settings("{\"num_beams\": 4}", "hf").max_length, 20);
    assert_int_equal(recommended_settings("{\"forced_eos_token_id\": [2]}", "hf").max_length, 19);
}

static void bad_generation_configs_are_refused(void **state)
{
    (void)state;
    rill_model *model;
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1};
    write_string(folder, "generation_config.json", "{\"early_stopping\": \"soon\"}");
    assert_int_equal(rill_model_open(&model, ctx, "mt", &options), RILL_ERR_FORMAT);
    assert_error(ctx, "%s/generation_config.json: early_stopping: expected true, false or \"never\", found \"soon\"",
                 folder);
    write_string(folder, "generation_config.json", "{\"num_beams\": 0}");
    assert_int_equal(rill_model_open(&model, ctx, "mt", &options), RILL_ERR_FORMAT);
}

/* With renormalize_logits, the padding token leaves the softmax; scores differ without it. */
static void padding_leaves(const char *name)
{
    char *path = data_path(name);
    json_t *file = reference_load(path, "search.json");
    write_string(folder, "generation_config.json", "{\"renormalize_logits\": true, \"max_length\": 21}");
    check_searches(folder, &(place){.model = folder, .file = "search.json"}, file, "renormalized", 2);
    json_decref(file);
    free(path);
}

static void padding_leaves_the_softmax(void **state)
{
    (void)state;
    padding_leaves("mt/fsmt-tied");
}

static void padding_leaves_the_softmax_of_marian(void **state)
{
    (void)state;
    padding_leaves("mt/odd");
}

/* A directory of the model `name` that forbids sequences must give the outputs that transformers finds. */
static void sequences_are_left_out(const char *name)
{
    char *path = data_path(name), text[2000];
    json_t *file = reference_load(path, "forbidden.json");
    char *sequences = json_dumps(json_object_get(file, "bad_words_ids"), JSON_COMPACT);
    snprintf(text, sizeof text, "{\"max_length\": 21, \"bad_words_ids\": %s}", sequences);
    write_string(folder, "generation_config.json", text);
    check_searches(folder, &(place){.model = folder, .file = "forbidden.json"}, file, "searches", 3);
    free(sequences);
    json_decref(file);
    free(path);
}

static void forbidden_sequences_are_left_out(void **state)
{
    (void)state;
    sequences_are_left_out("mt/fsmt-tied");
}

static void forbidden_sequences_are_left_out_of_marian(void **state)
{
    (void)state;
    sequences_are_left_out("mt/odd");
}

/* An empty line gives an empty output, whatever the minimum length. */
static void nothing_stays_nothing(void **state)
{
    (void)state;
    static const char *const presets[] = {"hf", "fairseq", "marian", "ct2"};
    rill_model *model = open_model(folder);
    for (size_t i = 0; i < 4; i++) {
        rill_engine_setup setup;
        rill_engine *engine;
        const rill_result *result;
        rill_engine_setup_default(&setup);
        assert_ok(ctx, rill_settings_set(ctx, &setup.settings, "like", presets[i]));
        assert_ok(ctx, rill_settings_set(ctx, &setup.settings, "min-length", "3"));
        assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
        assert_ok(ctx, rill_engine_submit(engine, "", 0));
        rill_engine_close_input(engine);
        while (rill_engine_next(engine, &result) != RILL_OK) assert_ok(ctx, rill_engine_step(engine));
        assert_int_equal(result->status, RILL_OK);
        assert_string_equal(rill_result_output(result, 0)->text, "");
        rill_engine_destroy(engine);
    }
    rill_model_close(model);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, fill_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(searches_of_the_others),
        CASE(fairseqs_own_searches),
        CASE(ctranslate2s_own_searches),
        CASE(ctranslate2s_own_languages),
        CASE(ctranslate2s_own_searches_in_int8),
        IN_FOLDER(models_recommend_settings),
        IN_FOLDER(defaults_come_from_the_generation_config),
        IN_FOLDER(older_folders_have_it_in_config),
        IN_FOLDER(twenty_tokens_without_a_length),
        IN_FOLDER(bad_generation_configs_are_refused),
        IN_FOLDER(nothing_stays_nothing),
        IN_FOLDER(padding_leaves_the_softmax),
        cmocka_unit_test_setup_teardown(padding_leaves_the_softmax_of_marian, fill_marian, remove_folder),
        IN_FOLDER(forbidden_sequences_are_left_out),
        cmocka_unit_test_setup_teardown(forbidden_sequences_are_left_out_of_marian, fill_marian, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
