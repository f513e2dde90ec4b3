/* On a terminal, output shows escape sequences and control characters as text; elsewhere they are written unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli_output.h"

/* An escape sequence, bell, return, DEL and C1 controls in UTF-8. Then bytes that must stay: tab, newline, U+00A0, an e
 * with an accent, a lone lead byte.
 *
 * Single bytes of C1 are escaped outside characters: after a lead byte, before one, at the end, in overlong forms, and
 * in halves of surrogate pairs. */
static const char raw[] =
    "a\x1b[31mb\x07\r\x7f|\xc2\x9b|\xc2\x80|\t|\n|\xc2\xa0|\xc3\xa9|\xe2\x82\xac|\xc2|\x9b"
    "31m|\xe3\x80|\x80\xc3\xa9|\xff\x85|\xe5\x9b\x9b|\xf0\x9f\x98\x80|\xe0\x82\x9b|\xf0\x80\x82\x9b|"
    "\xed\xa0\x9b|\xc2";
static const char shown[] =
    "a\\x1b[31mb\\x07\\x0d\\x7f|\\u009b|\\u0080|\t|\n|\xc2\xa0|\xc3\xa9|\xe2\x82\xac|\xc2|\\x9b"
    "31m|\xe3\\x80|\\x80\xc3\xa9|\xff\\x85|\xe5\x9b\x9b|\xf0\x9f\x98\x80|\xe0\\x82\\x9b|\xf0\\x80\\x82"
    "\\x9b|\xed\xa0\\x9b|\xc2";

static char *all_of(FILE *file, size_t *n)
{
    static char text[1 << 16];
    rewind(file);
    *n = fread(text, 1, sizeof text - 1, file);
    text[*n] = '\0';
    return text;
}

static void terminal_shows(void **state)
{
    (void)state;
    size_t n;
    FILE *file = tmpfile();
    assert_non_null(file);
    cli_terminal_write(file, raw, sizeof raw - 1);
    assert_string_equal(all_of(file, &n), shown);
    fclose(file);
}

/* Texts that are written in many parts, with a two-byte character at every position of a part. */
static void terminal_shows_long_texts(void **state)
{
    (void)state;
    for (size_t n_prefix = 0; n_prefix < 300; n_prefix++) {
        size_t n;
        char text[400];
        FILE *file = tmpfile();
        assert_non_null(file);
        memset(text, 'x', n_prefix);
        memcpy(text + n_prefix, "\xc2\x9b\x01", 3);
        cli_terminal_write(file, text, n_prefix + 3);
        const char *got = all_of(file, &n);
        assert_int_equal(n, n_prefix + 10);
        assert_string_equal(got + n_prefix, "\\u009b\\x01");
        fclose(file);
    }
}

static void terminal_gets_outputs_shown_and_files_do_not(void **state)
{
    (void)state;
    rill_context *ctx;
    assert_int_equal(rill_context_create(&ctx, NULL), RILL_OK);
    for (int terminal = 0; terminal < 2; terminal++) {
        char path[] = "/tmp/rill-terminal-XXXXXX";
        static cli_output output;
        size_t n;
        close(mkstemp(path));
        assert_int_equal(cli_output_open(&output, ctx, path, CLI_STREAM), CLI_OK);
        assert_int_equal(output.is_terminal, 0);
        output.is_terminal = terminal;
        cli_output_write(&output, raw, sizeof raw - 1);
        assert_int_equal(cli_output_close(&output), CLI_OK);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        assert_string_equal(all_of(file, &n), terminal ? shown : raw);
        fclose(file);
        unlink(path);
    }
    rill_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terminal_shows),
        cmocka_unit_test(terminal_shows_long_texts),
        cmocka_unit_test(terminal_gets_outputs_shown_and_files_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
