/* Quality metrics and test sets: values computed by hand, refused inputs, and messages about outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "testset.h"

static rill_context *ctx;
static char last_message[400];

static int set_up(void **state)
{
    (void)state;
    last_message[0] = '\0';
    return rill_context_create(&ctx, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    rill_context_destroy(ctx);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void keep_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_message, sizeof last_message, format, arguments);
    va_end(arguments);
}

static cli_testset make_set(const char *const *references, int64_t n)
{
    cli_testset set = {.has_references = 1};
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(cli_lines_add(&set.inputs, ctx, "x", 1), RILL_OK);
        assert_int_equal(cli_lines_add(&set.references, ctx, references[i], strlen(references[i])), RILL_OK);
    }
    return set;
}

/* Judge two outputs for each input; return the quality of the first outputs, and of the best ones. */
static cli_counts judge(cli_testset *set, const char *const (*outputs)[2], int64_t n)
{
    cli_counts counts = {0};
    for (int64_t i = 0; i < n; i++) {
        rill_output output[2] = {{.text = outputs[i][0], .text_bytes = strlen(outputs[i][0])},
                                 {.text = outputs[i][1], .text_bytes = strlen(outputs[i][1])}};
        const rill_result result = {.id = i, .n_outputs = 2, .outputs = (struct rill_outputs *)output};
        assert_int_equal(cli_testset_add_result(set, &result, &counts), RILL_OK);
    }
    return counts;
}

static void check(const cli_metric_kind *kind, const char *const *references, const char *const (*outputs)[2],
                  int64_t n, double first, double best)
{
    cli_testset set = make_set(references, n);
    set.kind = kind;
    assert_int_equal(cli_testset_check(&set, ctx), RILL_OK);
    assert_int_equal(cli_testset_open_metric(&set, ctx, NULL, 1, keep_message), RILL_OK);
    const cli_counts counts = judge(&set, outputs, n);
    assert_int_equal(counts.inputs, n);
    assert_float_equal(cli_quality(kind, &counts, 0), first, 1e-4);
    assert_float_equal(cli_quality(kind, &counts, 1), best, 1e-4);
    cli_testset_free(&set);
}

static void values(void **state)
{
    static const char *const plain[] = {"a b", "c"}, *const tree[] = {"(S (NP (D a) (N b)) (V c))"};
    static const char *const some[][2] = {{"a  b", "b"}, {"d", "c"}}, *const all[][2] = {{"a b c d", "x"}};
    static const char *const trees[][2] = {{"(S (D a) (NP (N b) (V c)))", "(S (NP (D a) (N b)) (V c))"}};
    static const char *const four[] = {"a b c d"};
    (void)state;
    check(&cli_metric_exact, plain, some, 2, 50, 100);
    check(&cli_metric_bleu, four, all, 1, 100, 100);
    check(&cli_metric_bracket, tree, trees, 1, 50, 100);
    assert_string_equal(last_message, "");
}

static void messages_of_metrics(void **state)
{
    static const char *const tree[] = {"(S (D a) (N b))"}, *const broken[] = {"(S"};
    static const char *const outputs[][2] = {{"(S (D a))", "(S (D a))"}};
    (void)state;
    check(&cli_metric_bracket, tree, outputs, 1, 0, 0);
    assert_string_equal(last_message, "reference line 1: output left out: it has 1 words, and the reference has 2");
    cli_testset set = make_set(broken, 1);
    set.kind = &cli_metric_bracket;
    assert_int_equal(cli_testset_open_metric(&set, ctx, NULL, 1, NULL), RILL_ERR_INPUT);
    assert_non_null(strstr(rill_error(ctx), "reference line 1 is not a tree: "));
    cli_testset_free(&set);
}

static void bad_test_sets(void **state)
{
    char why[200];
    cli_testset set = make_set((const char *const[]){"a"}, 1);
    cli_lines inputs = {0}, references = {0};
    (void)state;
    assert_int_equal(cli_lines_add(&set.inputs, ctx, "y", 1), RILL_OK);
    assert_int_equal(cli_testset_check(&set, ctx), RILL_ERR_INPUT);
    assert_string_equal(rill_error(ctx), "2 inputs and 1 references: expected equal numbers");
    assert_int_equal(cli_lines_split(&set.inputs, ctx, "f", &inputs, &references), RILL_ERR_INPUT);
    assert_string_equal(rill_error(ctx), "f: line 1: expected two columns separated by a tab");
    cli_testset_free(&set);
    cli_lines_free(&inputs), cli_lines_free(&references);
    assert_null(cli_metric_find("blue", why, sizeof why));
    assert_string_equal(why, "unknown metric \"blue\" (did you mean bleu?): the metrics are exact, bleu, bracket");
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(values), CASE(messages_of_metrics), CASE(bad_test_sets)};
    return cmocka_run_group_tests_name("cli_quality_metrics", tests, NULL, NULL);
}
