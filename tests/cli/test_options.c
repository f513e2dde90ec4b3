/* The parser of command lines: every way to write an option, and every mistake. Messages of the failing cases go to
 * stderr, as they do for a user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli_options.h"

/* The options and arguments that the parser passed on, as "name=value;" and "(argument);". */
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

static const cli_option first[] = {{"input", 'i', "FILE", "a file", .take = take_option},
                                   {"quiet", 'q', "", "a switch", .take = take_option},
                                   {.name = NULL}};
static const cli_option second[] = {{"k", 'k', "K", "a number", .take = take_option},
                                    {"max-items", 0, "N", "another", .take = take_option},
                                    {"all", 'a', NULL, "a switch", .take = take_option},
                                    {"many", 0, "N", "several", .take = take_option, .is_repeatable = 1},
                                    {.name = NULL}};

static int parse(record *r, int arguments, char **words, int *helped)
{
    const cli_command command = {.usage = "test",
                                 .name = "test",
                                 .groups = {{"First", first}, {"Second", second}},
                                 .take_argument = arguments ? take_argument : NULL};
    int n = 0;
    while (words[n]) n++;
    memset(r, 0, sizeof *r);
    return cli_parse(&command, r, NULL, n, words, helped);
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
    GOOD("max-items=-3;", (char *)"--max-items", (char *)"-3"); /* the value looks like an option */
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

/* A plugin's help may be longer than any buffer and is printed whole. */
static void options_long_help(void **state)
{
    (void)state;
    enum { LENGTH = 2500 };
    char help[LENGTH + 1], *words[] = {(char *)"test", (char *)"--help", NULL};
    memset(help, 'x', LENGTH);
    help[LENGTH] = '\0';
    for (int i = 7; i < LENGTH; i += 8) help[i] = ' ';
    const cli_option long_options[] = {{"long", 0, "N", help, .initial = help, .aliases = "l length"}, {.name = NULL}};
    const cli_command command = {.usage = "test", .name = "test", .groups = {{"Long", long_options}}};
    int helped;
    assert_int_equal(cli_parse(&command, NULL, NULL, 2, words, &helped), CLI_OK);
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

/* Options that are members of a command's struct: each type of value, and values out of range. */
static void options_members(void **state)
{
    struct members {
        const char *text, *path;
        int flag, number;
        int64_t large, bytes;
    } m = {0};
    const cli_option rows[] = {
        {"text", 't', "FILE", "", .member = offsetof(struct members, text)},
        {"flag", 'f', "", "", .member = offsetof(struct members, flag)},
        {"number", 0, "N", "", .member = offsetof(struct members, number), .type = CLI_INT, .min = 1, .max = 20},
        {"large", 0, "N", "", .member = offsetof(struct members, large), .type = CLI_INT64, .max = INT64_MAX},
        {"bytes", 0, "SIZE", "", .member = offsetof(struct members, bytes), .type = CLI_SIZE, .min = 1, .max = 1 << 20},
        {.name = NULL}};
    const cli_command command = {.usage = "test",
                                 .name = "test",
                                 .groups = {{"All", rows}},
                                 .argument = "file",
                                 .argument_member = offsetof(struct members, path)};
    char *good[] = {(char *)"test",
                    (char *)"-t",
                    (char *)"a",
                    (char *)"-f",
                    (char *)"--number=20",
                    (char *)"--large",
                    (char *)"9000000000000",
                    (char *)"--bytes=2K",
                    (char *)"b"};
    char *bad[][2] = {{(char *)"test", (char *)"--number=21"},  {(char *)"test", (char *)"--number=0"},
                      {(char *)"test", (char *)"--number=12x"}, {(char *)"test", (char *)"--large=-1"},
                      {(char *)"test", (char *)"--bytes=2M"},   {(char *)"test", (char *)"c"}};
    int helped;
    (void)state;
    assert_int_equal(cli_parse(&command, &m, NULL, sizeof good / sizeof *good, good, &helped), CLI_OK);
    assert_string_equal(m.text, "a");
    assert_string_equal(m.path, "b");
    assert_int_equal(m.flag, 1);
    assert_int_equal(m.number, 20);
    assert_int_equal(m.large, INT64_C(9000000000000));
    assert_int_equal(m.bytes, 2048);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cli_parse(&command, &m, NULL, 2, bad[i], &helped), CLI_FAILED);
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
    int64_t value = -1;
    (void)state;
    assert_int_equal(cli_parse_int64("-x", "12", 1, 20, &value), CLI_OK);
    assert_int_equal(value, 12);
    assert_int_equal(cli_parse_int64("-x", "0", 1, 20, &value), CLI_FAILED);
    assert_int_equal(cli_parse_int64("-x", "21", 1, 20, &value), CLI_FAILED);
    assert_int_equal(cli_parse_int64("-x", "12x", 1, 20, &value), CLI_FAILED);
    assert_int_equal(cli_parse_int64("-x", "", 1, 20, &value), CLI_FAILED);
    assert_int_equal(cli_parse_int64("-x", "+12", 1, 20, &value), CLI_FAILED);
    assert_int_equal(cli_parse_int64("-x", " 12", 1, 20, &value), CLI_FAILED);
    assert_int_equal(cli_parse_int64("-x", "99999999999999999999", 1, 20, &value), CLI_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_forms),   cmocka_unit_test(options_arguments), cmocka_unit_test(options_mistakes),
        cmocka_unit_test(options_help),    cmocka_unit_test(options_long_help), cmocka_unit_test(options_twice),
        cmocka_unit_test(options_members), cmocka_unit_test(message_nearest),   cmocka_unit_test(message_integer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
