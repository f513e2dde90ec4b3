/* A context and a folder with a model's files for each case, which spoils some of them, and proof behind it that nothing is left.
 * Included by a test's one file, after helpers.h and behind `domain`; the test says what a whole model is: fill_folder(). */
#ifndef TEST_DOMAINS_FOLDER_FIXTURE_H
#define TEST_DOMAINS_FOLDER_FIXTURE_H

static miser memory;
static rill_context *ctx;
static char *folder;

static void fill_folder(void);

static int set_up(void **state)
{
    (void)state;
    ctx = miser_context(&memory);
    folder = folder_make();
    fill_folder();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(folder);
    miser_finish(&memory, ctx);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Open the model and close it again. */
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

/* Opening must fail so; %s in the sentence is the folder. */
static void refused(rill_status status, const char *sentence)
{
    assert_int_equal(open_folder(folder, 0), status);
    assert_error(ctx, sentence, folder);
}

static void remove_one(const char *name)
{
    char *path = path_of(folder, name);
    assert_int_equal(unlink(path), 0);
    free(path);
}

/* Take files away one after the other: each is missed although those before it are missing too, so they are read last first. */
static inline void each_is_missed(const char *const *name, size_t n)
{
    char sentence[200];
    for (size_t i = 0; i < n; i++) {
        remove_one(name[i]);
        snprintf(sentence, sizeof sentence, "cannot open %%s/%s: No such file or directory", name[i]);
        refused(RILL_ERR_NOT_FOUND, sentence);
    }
}

#endif
