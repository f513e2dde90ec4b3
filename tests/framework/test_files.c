/* Reading files: which kinds of file are accepted and refused, and how opened files are identified later. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"
#include "rill/file.h"
#include "rill/plugin.h"
#include "support/harness.h"

static rill_context *ctx;
static char folder[40];

/* "folder/name"; valid until the tenth call after this one. */
static const char *path_in_folder(const char *name)
{
    static char path[10][100];
    static int next;
    next = (next + 1) % 10;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void write_string(const char *name, const char *text)
{
    FILE *file = fopen(path_in_folder(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    (void)state;
    ctx = harness_context(NULL);
    strcpy(folder, "/tmp/rill-files-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"text", "empty", "pipe", "a", "also", "b", "link", "round", "sub/b", "sub"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) remove(path_in_folder(names[i]));
    rill_context_destroy(ctx);
    return rmdir(folder);
}

#define EXPECT_ERROR(format, ...)                                 \
    do {                                                          \
        char sentence[300];                                       \
        snprintf(sentence, sizeof sentence, format, __VA_ARGS__); \
        assert_string_equal(rill_error(ctx), sentence);           \
    } while (0)

static void files_are_read_and_refused(void **state)
{
    (void)state;
    const char *text = path_in_folder("text"), *empty = path_in_folder("empty"), *none = path_in_folder("none");
    write_string("text", "hello");
    write_string("empty", "");
    rill_text out = {.ctx = ctx};
    assert_int_equal(rill_file_read(&out, empty, 5), RILL_OK);
    assert_non_null(out.data);
    assert_int_equal(out.length, 0);
    assert_int_equal(rill_file_read(&out, text, 5), RILL_OK);
    assert_int_equal(out.length, 5);
    assert_string_equal(out.data, "hello");
    assert_int_equal(rill_file_read(&out, text, 4), RILL_ERR_FORMAT);
    EXPECT_ERROR("%s is larger than 4 bytes, the limit for such a file", text);
    assert_int_equal(out.length, 0);
    write_string("text", "\xef\xbb\xbf"
                         "a\xef\xbb\xbf");
    assert_int_equal(rill_file_read(&out, text, 7), RILL_OK);
    assert_int_equal(out.length, 4);
    assert_string_equal(out.data, "a\xef\xbb\xbf"); /* only a mark at the start is removed */
    assert_int_equal(rill_file_read(&out, none, 5), RILL_ERR_NOT_FOUND);
    EXPECT_ERROR("cannot open %s: No such file or directory", none);
    assert_int_equal(rill_file_read(&out, folder, 5), RILL_ERR_IO);
    EXPECT_ERROR("cannot open %s: it is a directory, expected a regular file", folder);
    assert_int_equal(rill_file_read(&out, "/dev/null", 5), RILL_ERR_IO);
    EXPECT_ERROR("cannot open %s: it is a device, expected a regular file", "/dev/null");
    assert_int_equal(rill_file_read(&out, "/proc/self/stat", 1 << 20), RILL_OK); /* /proc files report size 0 */
    assert_true(out.length > 0);
    rill_text_clear(&out);
}

/* A stale errno of EINTR is not taken for an interruption: reading stops at the end of the file. */
static void stale_errno_is_ignored(void **state)
{
    (void)state;
    char bytes[8];
    rill_file file;
    rill_text out = {.ctx = ctx};
    write_string("text", "hello");
    assert_int_equal(rill_file_open(&file, ctx, path_in_folder("text"), RILL_FILE_REGULAR), RILL_OK);
    errno = EINTR;
    assert_int_equal(rill_file_get(&file, 0, sizeof bytes, bytes), RILL_ERR_IO);
    rill_file_close(&file);
    errno = EINTR;
    assert_int_equal(rill_file_read(&out, path_in_folder("text"), 5), RILL_OK);
    assert_string_equal(out.data, "hello");
    rill_text_clear(&out);
    errno = EINTR;
    assert_int_equal(rill__read_start(path_in_folder("text"), bytes, sizeof bytes), 1);
    assert_string_equal(bytes, "hello");
}

/* A file of reported size 0 that is far longer is read only up to the limit. */
static void reads_stop_at_the_limit(void **state)
{
    (void)state;
    static const char path[] = "/proc/self/maps";
    rill_text out = {.ctx = ctx};
    assert_int_equal(rill_file_read(&out, path, 1 << 20), RILL_OK);
    assert_true(out.length > 1000);
    rill_text_clear(&out);
    assert_int_equal(rill_file_read(&out, path, 10), RILL_ERR_FORMAT);
    EXPECT_ERROR("%s is larger than 10 bytes, the limit for such a file", path);
    assert_true(out.capacity < 1000);
    rill_text_clear(&out);
}

/* Only the reader of streams waits for a named pipe. An unnamed pipe, as of a shell's <(command), always has a
 * writer. */
static void pipes_are_taken_where_they_are_wanted(void **state)
{
    (void)state;
    const char *named = path_in_folder("pipe");
    char unnamed[40];
    int ends[2];
    rill_file file;
    assert_int_equal(mkfifo(named, 0600), 0);
    assert_int_equal(pipe(ends), 0);
    snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", ends[0]);
    for (rill_file_kind kind = RILL_FILE_REGULAR; kind <= RILL_FILE_PIPED; kind++) {
        assert_int_equal(rill_file_open(&file, ctx, named, kind), RILL_ERR_IO);
        EXPECT_ERROR("cannot open %s: it is a pipe, expected a regular file", named);
    }
    assert_int_equal(rill_file_open(&file, ctx, unnamed, RILL_FILE_REGULAR), RILL_ERR_IO);
    assert_int_equal(rill_file_open(&file, ctx, unnamed, RILL_FILE_PIPED), RILL_OK);
    assert_int_equal(file.regular, 0);
    rill_file_close(&file);
    const int writer = open(named, O_RDWR); /* so that opening does not block */
    assert_int_equal(rill_file_open(&file, ctx, named, RILL_FILE_STREAM), RILL_OK);
    rill_file_close(&file);
    close(writer), close(ends[0]), close(ends[1]);
    assert_int_equal(rill_file_open(&file, ctx, folder, RILL_FILE_STREAM), RILL_ERR_IO);
    EXPECT_ERROR("cannot open %s: it is a directory, expected a file", folder);
}

/* An opened file is recognised by all of its names, in all contexts of the workers that share it. */
static void opened_files_are_known(void **state)
{
    (void)state;
    const char *a = path_in_folder("a"), *also = path_in_folder("also"), *b = path_in_folder("b");
    rill_context *worker;
    rill_text out = {.ctx = ctx};
    write_string("a", "a");
    write_string("b", "b");
    assert_int_equal(link(a, also), 0);
    assert_int_equal(rill_context_create_worker(&worker, ctx, NULL), RILL_OK);
    out.ctx = worker;
    assert_int_equal(rill_file_was_opened(ctx, a), 0);
    assert_int_equal(rill_file_read(&out, a, 9), RILL_OK);
    assert_int_equal(rill_file_was_opened(ctx, a), 1);
    assert_int_equal(rill_file_was_opened(worker, also), 1);
    assert_int_equal(rill_file_was_opened(ctx, b), 0);
    assert_int_equal(rill_file_was_opened(ctx, "no/such"), 0);
    rill_text_clear(&out);
    rill_context_destroy(worker);
}

/* A file truncated after opening is an error; a memory map of it would kill the process. */
static void truncated_files_are_errors(void **state)
{
    (void)state;
    const char *path = path_in_folder("a");
    char bytes[8];
    rill_file file;
    write_string("a", "12345678");
    assert_int_equal(rill_file_open(&file, ctx, path, RILL_FILE_REGULAR), RILL_OK);
    assert_int_equal(file.size, 8);
    assert_int_equal(rill_file_get(&file, 6, 2, bytes), RILL_OK);
    assert_memory_equal(bytes, "78", 2);
    assert_int_equal(truncate(path, 5), 0);
    assert_int_equal(rill_file_get(&file, 0, 8, bytes), RILL_ERR_IO);
    EXPECT_ERROR("cannot read %s: it became shorter while it was read", path);
    rill_file_close(&file);
    rill_file_close(&file);
}

static void paths_are_joined_with_one_slash(void **state)
{
    (void)state;
    rill_text path = {.ctx = ctx};
    assert_int_equal(rill_path_join(&path, "a", "b"), RILL_OK);
    assert_string_equal(path.data, "a/b");
    assert_int_equal(rill_path_join(&path, "a/", "c"), RILL_OK);
    assert_string_equal(path.data, "a/c");
    rill_text_clear(&path);
}

/* Only files inside a directory; names that lead outside are refused. */
static void files_inside_a_folder(void **state)
{
    static const struct {
        const char *name, *message; /* NULL: accepted */
    } cases[] = {
        {"a", NULL},
        {"./a", NULL},
        {"sub/b", NULL},
        {"", "is not the name of a file in "},
        {"..", "is not the name of a file in "},
        {"sub/../a", "is not the name of a file in "},
        {"/etc/hostname", "is not the name of a file in "},
        {"sub//b", "is not the name of a file in "},
        {"link", "\"link\" is a link"},
        {"round/b", "\"round\" is a link, or not a directory"},
        {"a/b", "\"a\" is a link, or not a directory"},
        {"none", "cannot open none: No such file"},
        {"sub", "cannot open sub: it is a directory"},
        {"sub/", "cannot open sub/: it is a directory"},
        {"pipe", "cannot open pipe: it is a pipe"},
    };
    (void)state;
    write_string("a", "a");
    assert_int_equal(mkdir(path_in_folder("sub"), 0700), 0);
    write_string("sub/b", "b");
    assert_int_equal(symlink("a", path_in_folder("link")), 0);
    assert_int_equal(symlink("sub", path_in_folder("round")), 0);
    assert_int_equal(mkfifo(path_in_folder("pipe"), 0600), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_file file;
        rill_status status = rill_file_open_inside(&file, ctx, folder, cases[i].name);
        assert_int_equal(status == RILL_OK, cases[i].message == NULL);
        assert_int_equal(file.ctx != NULL, status == RILL_OK);
        if (cases[i].message != NULL && strstr(rill_error(ctx), cases[i].message) == NULL)
            fail_msg("%s: %s", cases[i].name, rill_error(ctx));
        rill_file_close(&file);
    }
}

/* Each allocation fails in turn: reported as an out-of-memory error, without leaks. */
static void files_survive_every_refusal(void **state)
{
    (void)state;
    write_string("a", "a text");
    write_string("b", "another");
    for (int64_t n = 1, refused = 1; refused > 0; n++) {
        harness_memory memory = {0};
        const rill_context_options options = harness_memory_options(&memory);
        rill_context *own = NULL;
        assert_int_equal(rill_context_create(&own, &options), RILL_OK);
        rill_text text = {.ctx = own};
        memory.failing_request = memory.requests + n;
        rill_status status = rill_file_read(&text, path_in_folder("a"), 100);
        if (status == RILL_OK) status = rill_file_read(&text, path_in_folder("b"), 100);
        refused = memory.refused;
        assert_int_equal(status, refused ? RILL_ERR_MEMORY : RILL_OK);
        rill_text_clear(&text);
        rill_context_destroy(own);
        assert_int_equal(memory.blocks, 0);
        assert_int_equal(memory.wrong_sizes, 0);
        assert_true(n < 20 && (refused || n > 1));
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(files_are_read_and_refused),      CASE(stale_errno_is_ignored),
        CASE(reads_stop_at_the_limit),         CASE(pipes_are_taken_where_they_are_wanted),
        CASE(opened_files_are_known),          CASE(truncated_files_are_errors),
        CASE(paths_are_joined_with_one_slash), CASE(files_inside_a_folder),
        CASE(files_survive_every_refusal),
    };
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
