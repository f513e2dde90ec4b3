/* A program whose locale writes "0,6": librill and scripts still read and write numbers with a point, and the program's
 * locale is unchanged afterwards. Skipped if the system has no such locale and localedef cannot make one. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rill/plugin.h"
#include "rill/rill.h"
#include "rill/script.h"
#include "support/harness.h"

static char folder[64];

static int has_comma(void)
{
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.6);
    return strcmp(text, "0,6") == 0;
}

static int set_comma(void)
{
    char command[256];
    if (setlocale(LC_ALL, "de_DE.UTF-8") != NULL && has_comma()) return 1;
    snprintf(folder, sizeof folder, "/tmp/rill-locale-XXXXXX");
    if (mkdtemp(folder) == NULL) return 0;
    snprintf(command, sizeof command, "localedef -c -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    if (system(command) == -1 || setenv("LOCPATH", folder, 1) != 0) return 0;
    return setlocale(LC_ALL, "de_DE.UTF-8") != NULL && has_comma();
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (folder[0] != '\0' && system(command) != 0) fprintf(stderr, "%s stays\n", folder);
}

static void numbers_in_settings(void **state)
{
    (void)state;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    int reals = 0;
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++) {
        rill_settings settings;
        char out[RILL_OPTION_MAX];
        if (row->type != RILL_OPTION_REAL || row->min > 0.625 || row->max < 0.625) continue;
        rill_settings_default(&settings);
        const double *member = (const double *)(const void *)((char *)&settings + row->offset);
        if (rill_option_read(ctx, row, "0.625", &settings) != RILL_OK) fail_msg("%s", rill_error(ctx));
        assert_true(*member == 0.625);
        assert_string_equal(rill_option_write(row, &settings, out), "0.625");
        assert_int_equal(rill_option_read(ctx, row, "0,625", NULL), RILL_ERR_OPTION);
        assert_null(strstr(rill_error(ctx), "0,6250"));
        reals++;
    }
    assert_true(reals >= 3);
    assert_true(has_comma());
    harness_end(ctx, &memory);
}

static void numbers_in_arguments(void **state)
{
    (void)state;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    static const char *const names[] = {"absolute", "relative"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const rill_heuristic *h = rill_find_heuristic(ctx, names[i]);
        void *self = NULL;
        assert_non_null(h);
        if (h->create(h, ctx, "0.5", &self) != RILL_OK) fail_msg("%s: %s", names[i], rill_error(ctx));
        if (h->destroy != NULL) h->destroy(self);
        assert_true(h->create(h, ctx, "0,5", &self) < 0);
    }
    const rill_scorer *s = rill_find_scorer(ctx, "word_reward");
    void *self = NULL;
    assert_non_null(s);
    if (s->create(s, ctx, "0.2", &self) != RILL_OK) fail_msg("%s", rill_error(ctx));
    if (s->destroy != NULL) s->destroy(self);
    harness_end(ctx, &memory);
}

static void numbers_that_are_written(void **state)
{
    (void)state;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_text text = {.ctx = ctx};
    char out[32], *end;
    rill_fail(ctx, RILL_ERR_INPUT, "%.2f", 1.25);
    assert_string_equal(rill_error(ctx), "1.25");
    assert_int_equal(rill_text_printf(&text, "%g %.300f", 0.5, 0.5), RILL_OK);
    assert_memory_equal(text.data, "0.5 0.50", 8);
    assert_null(strchr(text.data, ','));
    rill_text_clear(&text);
    rill_input input = {0};
    rill_input_fail(&input, RILL_ERR_INPUT, "%g", 0.5);
    assert_string_equal(input.message, "0.5");
    assert_int_equal(rill_print(out, sizeof out, "%a %.3f", 0.75, 0.75), 14);
    assert_string_equal(out, "0x1.8p-1 0.750");
    assert_true(rill_read_number("0.75,", &end) == 0.75);
    assert_string_equal(end, ",");
    static const char *const no_decimals[] = {"0x1.8p-1", "-0X1", "+0.75", " 0.75", "\n0.75", ""};
    for (size_t i = 0; i < sizeof no_decimals / sizeof *no_decimals; i++) {
        assert_true(rill_read_number(no_decimals[i], &end) == 0);
        assert_ptr_equal(end, no_decimals[i]);
    }
    assert_true(has_comma());
    harness_end(ctx, &memory);
}

/* Character classes and collation of scripts do not depend on the locale either. */
static void scripts(void **state)
{
    (void)state;
    static const char text[] =
        "assert(tostring(0.5) == '0.5' and 0.25 .. '' == '0.25' and ('%.2f'):format(1.5) == '1.50')\n"
        "assert(tonumber('0.5') == 0.5 and tonumber('0,5') == nil and '0.5' + 0 == 0.5)\n"
        "assert(load('return 1.5e-1')() == 0.15)\n"
        "assert('B' < 'a' and 'a' < 'b' and '\\u{e4}' > 'z')\n"
        "local f = rill.heuristic{name = 'h', apply = function() end}\n"
        "assert(tostring(rill.array{0.5, 1.5}):find('0.5', 1, true))\n"
        "assert(select(2, pcall(function() return rill.array{1}[0.5] end)):find('0.5', 1, true))\n"
        "assert(coroutine.wrap(function() return tostring(0.5) end)() == '0.5')\n"
        "rill.log(tostring(0.5)) error('at ' .. 2.5, 0)\n";
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_script *script;
    assert_int_equal(rill_script_load_text(&script, ctx, "test.lua", text, sizeof text - 1, NULL), RILL_ERR_PLUGIN);
    if (strstr(rill_error(ctx), "at 2.5") == NULL) fail_msg("%s", rill_error(ctx));
    assert_true(has_comma());
    const rill_script_options short_ = {.struct_size = sizeof short_, .seconds = 0.125};
    static const char loop[] = "while true do end";
    assert_int_equal(rill_script_load_text(&script, ctx, "l.lua", loop, sizeof loop - 1, &short_), RILL_ERR_PLUGIN);
    if (strstr(rill_error(ctx), "0.125 seconds") == NULL && strstr(rill_error(ctx), "instructions") == NULL)
        fail_msg("%s", rill_error(ctx));
    harness_end(ctx, &memory);
}

int main(int argc, char **argv)
{
    if (harness_options(argc, argv) != 0) return 2;
    if (!set_comma()) {
        remove_folder();
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_in_settings),
        cmocka_unit_test(numbers_in_arguments),
        cmocka_unit_test(numbers_that_are_written),
        cmocka_unit_test(scripts),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_folder();
    return failed;
}
