/* The spelling corrector of examples/lua, in a language of a few short words. A beam wide enough for all hypotheses
 * must find what enumerating all lines of words finds. spelling_reference.lua scores whole lines, without tries, rows
 * or steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua_domain_run.h"
#include "rill/plugin.h"

enum { COMPARED = 12 };

typedef struct ranking {
    int32_t n;
    double score[COMPARED];
    char text[COMPARED][40];
} ranking;

/* --- reference ---------------------------------------------------------------------------------------------------- */

static void take_line(void *user, const char *line)
{
    ranking *r = user;
    char *rest;
    assert_true(r->n < COMPARED);
    r->score[r->n] = strtod(line, &rest);
    snprintf(r->text[r->n++], sizeof r->text[0], "%s", rest + 1);
}

static void read_file(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(out, 1, size - 1, file);
    fclose(file);
    assert_true(n > 0 && n < size - 1);
    out[n] = '\0';
}

static void find_truth(const char *language, const char *typed, ranking *out)
{
    static char script_text[10000], lua[11000];
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    rill_script_options options = {
        .struct_size = sizeof options, .instructions = INT64_C(5000000000), .print = take_line, .print_user = out};
    read_file(SCRIPTS_FOLDER "/spelling_reference.lua", script_text, sizeof script_text);
    snprintf(lua, sizeof lua, "local WORDS, TYPED = '%s', '%s'\n%s", language, typed, script_text);
    out->n = 0;
    if (rill_script_load_text(&script, ctx, "truth", lua, strlen(lua), &options) < 0) fail_msg("%s", rill_error(ctx));
    rill_context_destroy(ctx);
    assert_int_equal(out->n, COMPARED);
}

/* --- the search --------------------------------------------------------------------------------------------------- */

static rill_status take_result(void *user, const rill_result *result)
{
    ranking *r = user;
    assert_int_equal(result->status, RILL_OK);
    for (r->n = 0; r->n < result->n_outputs && r->n < COMPARED; r->n++) {
        r->score[r->n] = rill_result_output(result, r->n)->path_score;
        snprintf(r->text[r->n], sizeof r->text[0], "%s", rill_result_output(result, r->n)->text);
    }
    return RILL_OK;
}

static void search(const char *folder, const char *typed, ranking *out)
{
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .path = folder};
    const char *const input[] = {typed, NULL};
    domain_lines lines = {.input = input};
    rill_engine_setup_default(&setup);
    snprintf(setup.settings.method, sizeof setup.settings.method, "fixed-stream");
    setup.settings.k = setup.settings.stop_after = 20000;
    setup.settings.n = 1;
    setup.settings.n_best = COMPARED;
    if (rill_script_load(&script, ctx, EXAMPLES_FOLDER "/spelling.lua", NULL) < 0) fail_msg("%s", rill_error(ctx));
    if (rill_model_open(&model, ctx, "spelling", &open) < 0) fail_msg("%s", rill_error(ctx));
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    if (rill_run(engine, domain_read, &lines, take_result, out) < 0) fail_msg("%s", rill_error(ctx));
    rill_engine_destroy(engine);
    rill_model_close(model);
    rill_context_destroy(ctx);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void compare(const char *typed, const ranking *truth, const ranking *found)
{
    assert_int_equal(found->n, COMPARED);
    for (int32_t i = 0; i < COMPARED; i++) {
        /* the engine adds floats, so equal scores may come in either order */
        int same = 0;
        for (int32_t j = 0; j < COMPARED; j++)
            same |= strcmp(truth->text[j], found->text[i]) == 0 && fabs(truth->score[j] - found->score[i]) < 1e-4;
        int tied_out = fabs(truth->score[COMPARED - 1] - found->score[i]) < 1e-4;
        if (fabs(truth->score[i] - found->score[i]) > 1e-4 || (!same && !tied_out))
            fail_msg("\"%s\", output %d: %s %.6f, but %s %.6f is the truth", typed, (int)i, found->text[i],
                     found->score[i], truth->text[i], truth->score[i]);
    }
}

static void wide_is_exhaustive(void **state)
{
    (void)state;
    static const char language[] = "a tea at ten. eat a tea. ten at tea. a tea.";
    static const char *const typed[] = {"ate", "tae", "a te", "tean", "e", "nte at"};
    char folder[] = "/tmp/rill-spelling-XXXXXX", path[100];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/words.txt", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(language, file);
    fclose(file);
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        ranking truth, found;
        find_truth(language, typed[i], &truth);
        search(folder, typed[i], &found);
        compare(typed[i], &truth, &found);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(wide_is_exhaustive)};

HARNESS_MAIN(tests)
