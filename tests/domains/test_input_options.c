/* Options of one input (rill_request.options). The input's result is that of a model opened with these options,
 * whatever the other inputs use, with one engine and with workers. An option that the domain lacks fails that input
 * alone, with a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "mt.h"
#include "rill/workers.h"
#include "semparse.h"
#include "shiftreduce.h"

static const rill_domain *const domains[] = {&rill_mt_domain, &rill_semparse_domain, &rill_shiftreduce_domain};

#include "engine_fixture.h"

/* --- runs --------------------------------------------------------------------------------------------------------- */

typedef struct test_input {
    const char *text, *options;
} test_input;

enum { CAPACITY = 32 };

typedef struct run {
    const test_input *input; /* [n] */
    int32_t n, read, written;
    char *output[CAPACITY]; /* [input]: its output, or "!" and the error message */
    double logp[CAPACITY];
} run;

static rill_status read_input(void *user, int may_block, rill_request *request)
{
    run *r = user;
    (void)may_block;
    if (r->read == r->n) return RILL_END_OF_INPUT;
    request->text = r->input[r->read].text;
    request->length = strlen(request->text);
    request->input_options = r->input[r->read].options;
    r->read++;
    return RILL_OK;
}

static rill_status write_result(void *user, const rill_result *result)
{
    run *r = user;
    const char *text = result->n_outputs > 0 ? rill_result_output(result, 0)->text : result->message;
    assert_int_equal(result->id, r->written);
    char *kept = malloc(strlen(text) + 2);
    assert_non_null(kept);
    sprintf(kept, "%s%s", result->n_outputs > 0 ? "" : "!", text);
    r->output[r->written] = kept;
    r->logp[r->written++] = result->n_outputs > 0 ? rill_result_output(result, 0)->logp : 0;
    return RILL_OK;
}

static void decode(run *r, const char *domain, const char *name, const rill_pair *value, int tokenized,
                   int32_t n_workers)
{
    char *path = join_path(getenv("RILL_TEST_EXAMPLES"), name);
    rill_workers *workers;
    rill_engine_setup setup;
    const rill_open_options open = {.struct_size = sizeof open,
                                    .path = path,
                                    .threads = 1,
                                    .tokenized = tokenized,
                                    .values = value,
                                    .n_values = value != NULL};
    const rill_workers_options options = {.struct_size = sizeof options, .workers = n_workers};
    rill_engine_setup_default(&setup);
    setup.settings.k = 3;
    const rill_engine_setup *setups[] = {&setup, &setup};
    assert_ok(ctx, rill_workers_open(&workers, ctx, domain, &open, &options));
    assert_ok(ctx, rill_workers_begin(workers, setups));
    assert_ok(ctx, rill_workers_run_requests(workers, read_input, r, write_result, r));
    assert_int_equal(r->written, r->n);
    rill_workers_close(workers);
    free(path);
}

static void clear_run(run *r)
{
    for (int32_t i = 0; i < r->written; i++) free(r->output[i]);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Decode each line with each of the option sets, and compare with a model opened with the same options. */
static void as_opened(const char *domain, const char *name, const char *const *line, int32_t lines,
                      const char *const *form, int32_t forms)
{
    test_input all[CAPACITY], plain[CAPACITY];
    run mixed = {.input = all};
    for (int32_t l = 0; l < lines; l++) plain[l] = (test_input){line[l], NULL};
    for (int32_t i = 0; i < lines * forms; i++) {
        static char options[CAPACITY][64];
        const int32_t f = i % forms, tokenized = f % 2;
        snprintf(options[i], sizeof options[i], "%s%s%s%s", form[f] ? "input_format=" : "", form[f] ? form[f] : "",
                 form[f] && tokenized ? " " : "", tokenized ? "tokenized=1" : "");
        all[i] = (test_input){line[i / forms], options[i][0] != '\0' ? options[i] : NULL};
    }
    mixed.n = lines * forms;
    for (int32_t workers = 1; workers <= 2; workers++) {
        mixed.read = mixed.written = 0;
        decode(&mixed, domain, name, NULL, 0, workers);
        for (int32_t f = 0; f < forms; f++) {
            const rill_pair value = {"input-format", form[f]};
            run alone = {.input = plain, .n = lines};
            decode(&alone, domain, name, form[f] ? &value : NULL, f % 2, 1);
            for (int32_t l = 0; l < lines; l++) {
                assert_string_equal(mixed.output[l * forms + f], alone.output[l]);
                assert_true(mixed.logp[l * forms + f] == alone.logp[l]);
            }
            clear_run(&alone);
        }
        clear_run(&mixed);
    }
}

static void parser_forms(void **state)
{
    (void)state;
    static const char *const line[] = {"The_DT cat_NN sat_VBD", "(S (NP (DT The) (NN cat)) (VP (VBD sat)))",
                                       "Don't go."};
    static const char *const form[] = {NULL, NULL, "text", "text", "tagged", "tagged", "tree", "tree", "auto", "auto"};
    as_opened("shiftreduce", "gum", line, 3, form, 10);
}

static void questions(void **state)
{
    (void)state;
    static const char *const line[] = {"what is the longest river in colorado", "which river run through s0",
                                       "rivers in texas", "how big is texas"};
    static const char *const form[] = {NULL, NULL};
    as_opened("semparse", "geo", line, 4, form, 2);
}

/* An input without options uses those the model was opened with, and an input can override them. */
static void other_way_round(void **state)
{
    (void)state;
    static const test_input input[] = {
        {"Don't go.", NULL}, {"Don't go.", "tokenized=0"}, {"Don't go.", "tokenized=false"}};
    static const test_input question[] = {{"longest river in Colorado?", NULL},
                                          {"longest river in Colorado?", "tokenized=0"}};
    const rill_pair text = {"input-format", "text"};
    run opened = {.input = input, .n = 3}, plain = {.input = input, .n = 1};
    decode(&opened, "shiftreduce", "gum", &text, 1, 1);
    decode(&plain, "shiftreduce", "gum", &text, 0, 1);
    assert_string_not_equal(opened.output[0], plain.output[0]);
    for (int32_t i = 1; i < 3; i++) assert_string_equal(opened.output[i], plain.output[0]);
    clear_run(&opened);
    clear_run(&plain);
    run asks = {.input = question, .n = 2}, typed = {.input = question, .n = 1};
    decode(&asks, "semparse", "geo", NULL, 1, 1);
    decode(&typed, "semparse", "geo", NULL, 0, 1);
    assert_string_equal(asks.output[1], typed.output[0]);
    assert_true(asks.logp[1] == typed.logp[0]);
    clear_run(&asks);
    clear_run(&typed);
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

static void others_are_refused(void **state)
{
    (void)state;
    static const test_input input[] = {
        {"Go.", ""},
        {"Go.", "input-format=tagged input_format=text tokenized=1 tokenized=0"},
        {"Go.", "input-format=banana"},
        {"Go.", "input-format="},
        {"Go.", "tokenized=2"},
        {"Go.", "tokenized"},
        {"Go.", "weights=f32"},
        {"Go.", "device=cpu tokenized=0"},
        {"Go.", "inputs=text"},
        {"Go.", "k=3"},
        {"Go.", " tokenized=0"},
        {"Go.", "input-format=text  tokenized=1"},
        {"Go.", "tokenized="},
        {"Go.", NULL},
    };
    static const char *const why[] = {
        NULL,
        NULL,
        "!input-format: \"banana\" is not one of auto|tree|tagged|text",
        "!input-format: \"\" is not one of auto|tree|tagged|text",
        "!tokenized: \"2\" is not ",
        "!the options of an input are NAME=VALUE separated by spaces, found \"tokenized\"",
        "!domain shiftreduce has no option \"weights\" of single inputs",
        "!domain shiftreduce has no option \"device\" of single inputs",
        "!domain shiftreduce has no option \"inputs\" of single inputs",
        "!domain shiftreduce has no option \"k\" of single inputs",
        "!the options of an input are NAME=VALUE separated by spaces, found \"\"",
        "!the options of an input are NAME=VALUE separated by spaces, found \"\"",
    };
    for (int32_t workers = 1; workers <= 2; workers++) {
        run r = {.input = input, .n = sizeof input / sizeof *input};
        decode(&r, "shiftreduce", "gum", NULL, 0, workers);
        for (size_t i = 0; i < sizeof why / sizeof *why; i++)
            if (why[i] ? strncmp(r.output[i], why[i], strlen(why[i])) != 0 : r.output[i][0] == '!')
                fail_msg("%s: %s", input[i].options, r.output[i]);
        assert_string_equal(r.output[12], "(TOP (NP (NN Go.)))"); /* a switch without a value is on */
        assert_string_equal(r.output[13], r.output[0]);
        clear_run(&r);
    }
    static const test_input sentence[] = {{"Ein Hund.", "tokenized=1"}, {"Ein Hund.", NULL}};
    run r = {.input = sentence, .n = 2};
    decode(&r, "mt", "de-en", NULL, 0, 1);
    assert_string_equal(r.output[0], "!domain mt has no option \"tokenized\" of single inputs");
    assert_int_not_equal(r.output[1][0], '!');
    clear_run(&r);
}

static void written_one_by_one(void **state)
{
    (void)state;
    const rill_domain *domain = &rill_shiftreduce_domain;
    rill_text out = {.ctx = ctx};
    assert_ok(ctx, rill_domain_input_option(domain, "input_format", "tree", &out));
    assert_ok(ctx, rill_domain_input_option(domain, "tokenized", "1", &out));
    assert_string_equal(out.data, "input_format=tree tokenized=1");
    assert_int_equal(rill_domain_input_option(domain, "tokenized", "no", &out), RILL_ERR_OPTION);
    assert_int_equal(rill_domain_input_option(domain, "input-format", "text tokenized=0", &out), RILL_ERR_OPTION);
    assert_int_equal(rill_domain_input_option(domain, "k", "0", &out), RILL_ERR_NOT_FOUND);
    assert_int_equal(rill_domain_input_option(domain, "device", "cpu", &out), RILL_ERR_NOT_FOUND);
    assert_string_equal(out.data, "input_format=tree tokenized=1");
    rill_text_clear(&out);
    assert_string_equal(rill_domain_input_rows(domain)[0].name, "input-format");
    assert_string_equal(rill_domain_input_rows(domain)[1].name, "tokenized");
    assert_null(rill_domain_input_rows(domain)[2].name);
    assert_null(rill_domain_input_rows(&rill_mt_domain));
}

/* A caller compiled with an older header has no member input_options; nothing is read past the end of its struct. */
static void older_requests(void **state)
{
    (void)state;
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    const rill_result *result;
    char *path = join_path(getenv("RILL_TEST_EXAMPLES"), "gum");
    const rill_open_options open = {.struct_size = sizeof open, .path = path, .threads = 1};
    rill_request request = {
        .struct_size = offsetof(rill_request, input_options), .text = "Go.", .length = 3, .input_options = "none=such"};
    rill_engine_setup_default(&setup);
    assert_ok(ctx, rill_model_open(&model, ctx, "shiftreduce", &open));
    assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
    assert_ok(ctx, rill_engine_submit_request(engine, &request, NULL));
    request.struct_size = sizeof request;
    assert_int_equal(rill_engine_submit_request(engine, &request, NULL), RILL_ERR_OPTION);
    rill_engine_close_input(engine);
    while (rill_engine_next(engine, &result) == RILL_AGAIN) assert_ok(ctx, rill_engine_step(engine));
    assert_int_equal(result->status, RILL_OK);
    rill_engine_destroy(engine);
    rill_model_close(model);
    free(path);
}

/* Whichever allocation fails, nothing leaks. */
static void memory_is_refused(void **state)
{
    (void)state;
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    char *path = join_path(getenv("RILL_TEST_EXAMPLES"), "gum");
    const rill_open_options open = {.struct_size = sizeof open, .path = path, .threads = 1};
    const rill_request request = {
        .struct_size = sizeof request, .text = "Go.", .length = 3, .input_options = "tokenized=1 input-format=text"};
    rill_status status = RILL_ERR_MEMORY;
    long refusals = 0;
    rill_engine_setup_default(&setup);
    assert_ok(ctx, rill_model_open(&model, ctx, "shiftreduce", &open));
    for (; status == RILL_ERR_MEMORY; refusals++) {
        assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
        memory.allowed = refusals;
        status = rill_engine_submit_request(engine, &request, NULL);
        memory.allowed = -1;
        rill_engine_destroy(engine);
    }
    assert_ok(ctx, status);
    assert_true(refusals > 1);
    rill_model_close(model);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(parser_forms),       CASE(questions),          CASE(other_way_round),
                                       CASE(others_are_refused), CASE(written_one_by_one), CASE(older_requests),
                                       CASE(memory_is_refused)};
    return cmocka_run_group_tests_name("domains_input_options", tests, NULL, NULL);
}
