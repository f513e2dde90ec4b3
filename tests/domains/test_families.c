/* domains/text: texts of transformers' families. Each folder of tests/data/text, which tools/reference_text.py makes, says what
 * transformers, tokenizers or SentencePiece make of some texts with its files: numbers, and texts again. RILL_TEST_TEXTS names another
 * folder of such folders. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "codec.h"
#include "families.h"
#include "helpers.h"

static miser memory;
static rill_context *ctx;
static char *texts, *folder;

static int set_up(void **state)
{
    (void)state;
    ctx = miser_context(&memory);
    texts = getenv("RILL_TEST_TEXTS") != NULL ? strdup(getenv("RILL_TEST_TEXTS")) : data_path("text");
    folder = folder_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(texts);
    folder_remove(folder);
    miser_finish(&memory, ctx);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* --- as the reference --------------------------------------------------------------------------------------------- */

static json_t *read_expected(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/expected.json", texts, name);
    json_error_t error;
    json_t *expected = json_load_file(path, 0, &error);
    if (expected == NULL) fail_msg("%s: %s", path, error.text);
    return expected;
}

static rill_codec_files files_of(const json_t *expected, const char *path)
{
    rill_codec_files files = {.words = (int32_t)json_integer_value(json_object_get(expected, "words")),
                              .end = (int32_t)json_integer_value(json_object_get(expected, "end")),
                              .start = -1,
                              .forced_first = -1,
                              .source_language = json_string_value(json_object_get(expected, "source")),
                              .target_language = json_string_value(json_object_get(expected, "target"))};
    files.actions = files.words;
    const rill_status status = rill_family_files(ctx, json_string_value(json_object_get(expected, "model_type")), path,
                                                 &files);
    if (status != RILL_OK) fail_msg("%s: %s", path, rill_error(ctx));
    return files;
}

/* How many differ. */
static size_t check_case(const rill_codec *codec, const char *name, const json_t *expected, const json_t *one)
{
    const json_t *text = json_object_get(one, "text"), *ids = json_object_get(one, "ids");
    int32_t *found = NULL;
    size_t room = 0, wrong = 0;
    rill_ids out = {.ctx = ctx, .ids = &found, .room = &room};
    rill_text back = {.ctx = ctx};
    rill_opening opening;
    assert_int_equal(rill_codec_read(codec, json_string_value(text), json_string_length(text), &out, &opening),
                     RILL_OK);
    assert_int_equal(opening.first, json_integer_value(json_object_get(expected, "first")));
    assert_int_equal(opening.start, json_integer_value(json_object_get(expected, "start")));
    int same = out.used == json_array_size(ids);
    for (size_t i = 0; same && i < out.used; i++) same = found[i] == json_integer_value(json_array_get(ids, i));
    if (!same) {
        rill_text shown = {.ctx = ctx};
        for (size_t i = 0; i < out.used; i++) rill_text_printf(&shown, " %d", (int)found[i]);
        print_error("%s: \"%s\"\n  expected %s\n  found   %s\n", name, json_string_value(text), json_dumps(ids, 0),
                    shown.data);
        rill_text_clear(&shown);
        wrong++;
    }
    const char *expect = json_string_value(json_object_get(one, "back"));
    assert_int_equal(rill_codec_write(codec, out.used, found, &back), RILL_OK);
    if (strcmp(back.data != NULL ? back.data : "", expect) != 0) {
        print_error("%s: \"%s\"\n  expected \"%s\"\n  found    \"%s\"\n", name, json_string_value(text), expect,
                    back.data);
        wrong++;
    }
    rill_text_clear(&back);
    rill_free(ctx, found, room * sizeof *found);
    return wrong;
}

static void check_folder(const char *name)
{
    char path[4096];
    size_t i, wrong = 0;
    json_t *expected = read_expected(name), *cases = json_object_get(expected, "cases"), *one;
    rill_codec *codec;
    snprintf(path, sizeof path, "%s/%s", texts, name);
    const rill_codec_files files = files_of(expected, path);
    if (rill_codec_open(&codec, ctx, &files) != RILL_OK) fail_msg("%s", rill_error(ctx));
    json_array_foreach(cases, i, one) wrong += check_case(codec, name, expected, one);
    if (wrong > 0) fail_msg("%s: %zu of %zu texts differ", name, wrong, 2 * json_array_size(cases));
    rill_codec_close(codec);
    json_decref(expected);
}

static void texts_are_those_of_the_reference(void **state)
{
    struct dirent **entry;
    int found = 0;
    (void)state;
    const int n = scandir(texts, &entry, NULL, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        const char *only = getenv("RILL_TEST_TEXT");
        if (entry[i]->d_name[0] != '.' && (only == NULL || strcmp(only, entry[i]->d_name) == 0)) {
            check_folder(entry[i]->d_name);
            found++;
        }
        free(entry[i]);
    }
    free(entry);
    assert_true(found > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(texts_are_those_of_the_reference),
    };
    return cmocka_run_group_tests_name("families", tests, NULL, NULL);
}
