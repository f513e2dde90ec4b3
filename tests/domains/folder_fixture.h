/* Creates a context and a directory with a model's files for each test case; checks afterwards that no memory is left.
 * The test's fill_folder() writes an intact model, whose files a case may then damage. To be included by a test's only
 * source file, after helpers.h and `domain`. */
#pragma once

#include "random_parser.h"

static failing_allocator memory;
static rill_context *ctx;
static char *folder;

static void fill_folder(void);

static int set_up(void **state)
{
    (void)state;
    ctx = failing_allocator_context(&memory);
    folder = folder_make();
    fill_folder();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(folder);
    failing_allocator_finish(&memory, ctx);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Open the model and close it. */
static rill_status open_folder(const char *path, int tokenized)
{
    void *self = NULL;
    rill_domain_info info;
    rill_open_options options = {.struct_size = sizeof options, .path = path, .threads = 1, .tokenized = tokenized};
    rill_status status = domain->open(domain, ctx, &options, &self, &info);
    if (status == RILL_OK)
        domain->close(self);
    else
        assert_null(self);
    return status;
}

/* Opening must fail with this status and message; %s in it stands for the directory. */
static void refused(rill_status status, const char *sentence)
{
    assert_int_equal(open_folder(folder, 0), status);
    assert_error(ctx, sentence, folder);
}

static inline void complete_model_opens(void **state)
{
    (void)state;
    for (int tokenized = 0; tokenized < 2; tokenized++) assert_int_equal(open_folder(folder, tokenized), RILL_OK);
    domain->close(NULL);
}

static inline void no_path(void **state)
{
    (void)state;
    char expected[100];
    snprintf(expected, sizeof expected, "%s: expected the path of a model's directory, found none", domain->name);
    assert_int_equal(open_folder(NULL, 0), RILL_ERR_OPTION);
    assert_string_equal(rill_error(ctx), expected);
}

/* The file has tensors of layers that config.json lacks, so it belongs to another model and is refused. */
static inline void tensor_without_a_place(model_spec spec, void (*write)(const char *folder, const model_spec *spec))
{
    spec.extra = "decoder.lstm2.weight_hh";
    write(folder, &spec);
    refused(RILL_ERR_FORMAT,
            "%s/model.safetensors: the model that config.json describes has no tensor \"decoder.lstm2.weight_hh\"");
}

static void remove_one(const char *name)
{
    char *path = join_path(folder, name);
    assert_int_equal(unlink(path), 0);
    free(path);
}

/* Remove the files one by one, the last read first: each is reported, although others are already missing. */
static inline void each_missing_file_is_reported(const char *const *name, size_t n)
{
    char sentence[200];
    for (size_t i = 0; i < n; i++) {
        remove_one(name[i]);
        snprintf(sentence, sizeof sentence, "cannot open %%s/%s: No such file or directory", name[i]);
        refused(RILL_ERR_NOT_FOUND, sentence);
    }
}
