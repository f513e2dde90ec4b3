/* The parser of command lines: every way an option can be written, and every way to get it wrong. Messages of the failing
 * cases go to stderr, as they do for a user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli_options.h"

/* What was taken, written down as "name=value;" and "(argument);". */
typedef struct record {
    char text[512];
} record;

static int take_option(void *user, const cli_option *option, const char *value)
{
    record *r = user;
    size_t used = strlen(r->text);
    if (!strcmp(value, "refuse me")) return CLI_FAILED;
    snprintf(r->text + used, sizeof r->text - used, "%s=%s;", option->name, value);
    return CLI_OK;
}

static int take_argument(void *user, const char *value)
{
    record *r = user;
    size_t used = strlen(r->text);
    snprintf(r->text + used, sizeof r->text - used, "(%s);", value);
    return CLI_OK;
}

static const cli_option first[] = {
    {"input", 'i', "FILE", "a file", .id = 1}, {"quiet", 'q', "", "a switch", .id = 2}, {.name = NULL}};
static const cli_option second[] = {{"k", 'k', "K", "a number", .id = 3},
                                    {"max-items", 0, "N", "another", .id = 4},
                                    {"all", 'a', NULL, "a switch", .id = 5},
                                    {"many", 0, "N", "several", .is_repeatable = 1},
                                    {.name = NULL}};
static const cli_group groups[] = {{"First", first}, {"Second", second}, {NULL, NULL}};

static int parse(record *r, int arguments, char **words, int *helped)
{
    const cli_syntax syntax = {.usage = "test",
                               .about = "",
                               .groups = groups,
                               .take_option = take_option,
                               .take_argument = arguments ? take_argument : NULL,
                               .user = r};
    int n = 0;
    while (words[n]) n++;
    memset(r, 0, sizeof *r);
    return cli_parse(&syntax, n, words, helped);
}

#define GOOD(expected, ...)                                     \
    do {                                                        \
        record r;                                               \
        int helped;                                             \
        char *words[] = {(char *)"test", __VA_ARGS__, NULL};    \
        assert_int_equal(parse(&r, 1, words, &helped), CLI_OK); \
        assert_string_equal(r.text, expected);                  \
        assert_int_equal(helped, 0);                            \
    } while (0)

#define BAD(arguments, ...)                                                 \
    do {                                                                    \
        record r;                                                           \
        int helped;                                                         \
        char *words[] = {(char *)"test", __VA_ARGS__, NULL};                \
        assert_int_equal(parse(&r, arguments, words, &helped), CLI_FAILED); \
    } while (0)

static void options_forms(void **state)
{
    (void)state;
    GOOD("input=a;", (char *)"--input", (char *)"a");
    GOOD("input=a;", (char *)"--input=a");
    GOOD("input=a;", (char *)"-i", (char *)"a");
    GOOD("input=a;", (char *)"-ia");
    GOOD("input=;", (char *)"--input=");
    GOOD("input=a=b;", (char *)"--input=a=b");
    GOOD("k=5;", (char *)"-k5");
    GOOD("k=5;", (char *)"--k", (char *)"5");
    GOOD("max-items=-3;", (char *)"--max-items", (char *)"-3"); /* a value may look like an option */
    GOOD("quiet=;all=;k=7;", (char *)"-qak7");
    GOOD("quiet=;quiet=;", (char *)"-q", (char *)"--quiet");
}

static void options_arguments(void **state)
{
    (void)state;
    GOOD("(x);", (char *)"x");
    GOOD("(-);", (char *)"-");
    GOOD("(x);quiet=;(y);", (char *)"x", (char *)"-q", (char *)"y");
    GOOD("(--input);(-q);", (char *)"--", (char *)"--input", (char *)"-q");
    GOOD("();", (char *)"");
    BAD(0, (char *)"x");
}

static void options_mistakes(void **state)
{
    (void)state;
    BAD(1, (char *)"--inp", (char *)"a");
    BAD(1, (char *)"--unknown");
    BAD(1, (char *)"-x");
    BAD(1, (char *)"-qx");
    BAD(1, (char *)"--input");
    BAD(1, (char *)"-i");
    BAD(1, (char *)"--quiet=yes");
    BAD(1, (char *)"-input", (char *)"a");
    BAD(1, (char *)"---input=a");
    BAD(1, (char *)"--=a");
    BAD(1, (char *)"--input", (char *)"refuse me");
}

static void options_help(void **state)
{
    (void)state;
    record r;
    int helped;
    char *words[] = {(char *)"test", (char *)"-q", (char *)"--help", (char *)"--unknown", NULL};
    assert_int_equal(parse(&r, 0, words, &helped), CLI_OK);
    assert_int_equal(helped, 1);
}

/* A plugin's help may be longer than any buffer. */
static void options_long_help(void **state)
{
    (void)state;
    enum { LENGTH = 2500 };
    char help[LENGTH + 1], *words[] = {(char *)"test", (char *)"--help", NULL};
    memset(help, 'x', LENGTH);
    help[LENGTH] = '\0';
    for (int i = 7; i < LENGTH; i += 8) help[i] = ' ';
    const cli_option long_options[] = {{"long", 0, "N", help, .initial = help, .aliases = "l length"}, {.name = NULL}};
    const cli_group long_groups[] = {{"Long", long_options}, {NULL, NULL}};
    const cli_syntax syntax = {.usage = "test", .about = "", .groups = long_groups, .take_option = take_option};
    int helped;
    assert_int_equal(cli_parse(&syntax, 2, words, &helped), CLI_OK);
    assert_int_equal(helped, 1);
}

static void options_twice(void **state)
{
    (void)state;
    BAD(1, (char *)"--max-items", (char *)"3", (char *)"--max-items", (char *)"4");
    BAD(1, (char *)"-k3", (char *)"-q", (char *)"--k=4");
    GOOD("max-items=3;max-items=3;", (char *)"--max-items", (char *)"3", (char *)"--max-items=3");
    GOOD("many=1;many=2;", (char *)"--many=1", (char *)"--many=2");
}

static void message_nearest(void **state)
{
    static const char *const names[] = {"decode", "eval", "bench", "max-items", "max-candidates"};
    (void)state;
    assert_string_equal(rill_nearest("decdoe", names, 5), "decode");
    assert_string_equal(rill_nearest("max-item", names, 5), "max-items");
    assert_string_equal(rill_nearest("max-c", names, 5), "max-candidates");
    assert_null(rill_nearest("xyzzy", names, 5));
    assert_null(rill_nearest("", names, 5));
}

static void message_integer(void **state)
{
    int value = -1;
    (void)state;
    assert_int_equal(cli_parse_int("-x", "12", 1, 20, &value), CLI_OK);
    assert_int_equal(value, 12);
    assert_int_equal(cli_parse_int("-x", "0", 1, 20, &value), CLI_FAILED);
    assert_int_equal(cli_parse_int("-x", "21", 1, 20, &value), CLI_FAILED);
    assert_int_equal(cli_parse_int("-x", "12x", 1, 20, &value), CLI_FAILED);
    assert_int_equal(cli_parse_int("-x", "", 1, 20, &value), CLI_FAILED);
    assert_int_equal(cli_parse_int("-x", "99999999999999999999", 1, 20, &value), CLI_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_forms),   cmocka_unit_test(options_arguments), cmocka_unit_test(options_mistakes),
        cmocka_unit_test(options_help),    cmocka_unit_test(options_long_help), cmocka_unit_test(options_twice),
        cmocka_unit_test(message_nearest), cmocka_unit_test(message_integer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
