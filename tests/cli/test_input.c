/* The line reader: all kinds of lines from files and pipes, and no long wait for a pipe while the engine has work. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"
#include "cli_input.h"

static rill_context *ctx;

static int set_up(void **state)
{
    (void)state;
    return rill_context_create(&ctx, NULL) != RILL_OK;
}

static int tear_down(void **state)
{
    (void)state;
    rill_context_destroy(ctx);
    return 0;
}

/* Open a removed file with these bytes as an input. The input keeps the path for messages until the next call. */
static void open_bytes(cli_input *input, const char *bytes, size_t length)
{
    static char path[32];
    strcpy(path, "/tmp/rill-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
    close(fd);
    assert_int_equal(cli_input_open(input, ctx, path, RILL_FILE_REGULAR), CLI_OK);
    unlink(path);
}

/* Open a pipe: the input reads one end and closes it; *to gets the other end, to write to. */
static cli_input open_pipe(int *to)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    *to = ends[1];
    return (cli_input){.ctx = ctx, .name = "a pipe", .fd = ends[0], .is_owned = 1, .size = -1};
}

static void expect(cli_input *input, rill_status status, const char *line)
{
    const char *text = NULL;
    size_t length = 0;
    assert_int_equal(cli_input_read(input, 1, &text, &length), status);
    if (!line) return;
    assert_int_equal(length, strlen(line));
    assert_memory_equal(text, line, length);
}

static void expect_nothing_yet(cli_input *input)
{
    const char *text;
    size_t length;
    assert_int_equal(cli_input_read(input, 0, &text, &length), RILL_AGAIN);
}

static void input_line_ends(void **state)
{
    static const char bytes[] = "one\ntwo\r\n\n\r\na\rb\nlast\r";
    cli_input input;
    (void)state;
    open_bytes(&input, bytes, sizeof bytes - 1);
    assert_int_equal(input.size, sizeof bytes - 1);
    expect(&input, RILL_OK, "one");
    expect(&input, RILL_OK, "two");
    expect(&input, RILL_OK, "");
    expect(&input, RILL_OK, "");
    expect(&input, RILL_OK, "a\rb");
    expect(&input, RILL_OK, "last");
    expect(&input, RILL_END_OF_INPUT, NULL);
    expect(&input, RILL_END_OF_INPUT, NULL);
    assert_int_equal(input.lines, 6);
    assert_int_equal(input.consumed, sizeof bytes - 1);
    cli_input_close(&input);
    cli_input_close(&(cli_input){0});
}

static void input_empty(void **state)
{
    cli_input input;
    (void)state;
    open_bytes(&input, "", 0);
    expect(&input, RILL_END_OF_INPUT, NULL);
    cli_input_close(&input);
    open_bytes(&input, "\n", 1);
    expect(&input, RILL_OK, "");
    expect(&input, RILL_END_OF_INPUT, NULL);
    cli_input_close(&input);
}

/* A byte order mark at the beginning is skipped. One elsewhere, or a part of one, is text. */
static void input_mark(void **state)
{
    static const char bytes[] = "\xef\xbb\xbf"
                                "one\n\xef\xbb\xbftwo";
    cli_input input;
    (void)state;
    open_bytes(&input, bytes, sizeof bytes - 1);
    expect(&input, RILL_OK, "one");
    assert_int_equal(input.consumed, 7);
    expect(&input, RILL_OK, "\xef\xbb\xbftwo");
    cli_input_close(&input);
    open_bytes(&input, "\xef\xbb\xbf\xef\xbb\xbf\n", 7);
    expect(&input, RILL_OK, "\xef\xbb\xbf");
    cli_input_close(&input);
    open_bytes(&input, "\xef\xbb\xbf", 3);
    expect(&input, RILL_END_OF_INPUT, NULL);
    cli_input_close(&input);
    open_bytes(&input, "\xef\xbb", 2);
    expect(&input, RILL_OK, "\xef\xbb");
    cli_input_close(&input);
    open_bytes(&input, "\xef\na\n", 4);
    expect(&input, RILL_OK, "\xef");
    expect(&input, RILL_OK, "a");
    cli_input_close(&input);
}

/* A byte order mark that arrives byte by byte is skipped too. */
static void input_mark_through_a_pipe(void **state)
{
    int to;
    (void)state;
    cli_input input = open_pipe(&to);
    assert_int_equal(write(to, "\xef", 1), 1);
    expect_nothing_yet(&input);
    assert_int_equal(write(to, "\xbb\xbf", 2), 2);
    expect_nothing_yet(&input);
    assert_int_equal(write(to, "one\n\xef\xbb\xbf\n", 8), 8);
    close(to);
    expect(&input, RILL_OK, "one");
    expect(&input, RILL_OK, "\xef\xbb\xbf");
    expect(&input, RILL_END_OF_INPUT, NULL);
    cli_input_close(&input);
}

/* Raise a signal just before the wait. It must end the wait, which would otherwise last for ever. */
static void *get_interrupted(void *user)
{
    pthread_sigmask(SIG_UNBLOCK, user, NULL); /* the thread has inherited the blocked signal */
    raise(SIGINT);
    return NULL;
}

/* A signal that another thread gets must be passed on to the main thread. Return whether it is. */
static int only_main_thread_heeds(void)
{
    sigset_t one;
    pthread_t other;
    cli_interrupt_catch();
    sigemptyset(&one);
    sigaddset(&one, SIGINT);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    if (pthread_create(&other, NULL, get_interrupted, &one)) return 0;
    pthread_join(other, NULL);
    if (cli_interrupted()) return 0;
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    return cli_interrupted() == SIGINT;
}

static void another_thread_is_interrupted(void **state)
{
    int status = 0;
    (void)state;
    const pid_t child = fork();
    if (child == 0) _exit(only_main_thread_heeds() ? 7 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void input_interrupted(void **state)
{
    int to;
    (void)state;
    cli_input input = open_pipe(&to);
    cli_interrupt_catch();
    assert_int_equal(write(to, "one\n", 4), 4);
    expect(&input, RILL_OK, "one");
    raise(SIGINT);
    assert_int_equal(cli_interrupted(), SIGINT);
    expect(&input, RILL_END_OF_INPUT, NULL);
    cli_input_close(&input);
    close(to);
}

static void input_nul(void **state)
{
    cli_input input;
    (void)state;
    open_bytes(&input, "a\nb\0c\nd\n\0", 9);
    expect(&input, RILL_OK, "a");
    expect(&input, RILL_ERR_INPUT, NULL);
    expect(&input, RILL_OK, "d");
    expect(&input, RILL_ERR_INPUT, NULL);
    expect(&input, RILL_END_OF_INPUT, NULL);
    cli_input_close(&input);
}

/* Lines of all lengths around the buffer's size, each of a different letter, are read whole. */
static void input_long_lines(void **state)
{
    static const size_t lengths[] = {1, 65535, 65536, 65537, 131071, 131072, 0, 400000, 1000000, 2};
    enum { N = sizeof lengths / sizeof lengths[0] };
    size_t total = 0, offset = 0;
    cli_input input;
    (void)state;
    for (int i = 0; i < N; i++) total += lengths[i] + 1;
    char *bytes = malloc(total);
    assert_non_null(bytes);
    for (int i = 0; i < N; i++) {
        memset(bytes + offset, 'a' + i, lengths[i]);
        offset += lengths[i];
        bytes[offset++] = '\n';
    }
    open_bytes(&input, bytes, total);
    for (int i = 0; i < N; i++) {
        const char *text;
        size_t length;
        assert_int_equal(cli_input_read(&input, 1, &text, &length), RILL_OK);
        assert_int_equal(length, lengths[i]);
        for (size_t j = 0; j < length; j++) assert_int_equal(text[j], 'a' + i);
    }
    expect(&input, RILL_END_OF_INPUT, NULL);
    cli_input_close(&input);
    free(bytes);
}

static void input_pipe(void **state)
{
    int to;
    const char *text;
    size_t length;
    (void)state;
    cli_input input = open_pipe(&to);
    expect_nothing_yet(&input);
    assert_int_equal(write(to, "one\ntw", 6), 6);
    expect(&input, RILL_OK, "one");
    double start = cli_now();
    expect_nothing_yet(&input);
    assert_true(cli_now() - start >= 0.001); /* The first read waits a moment for the writer. */
    start = cli_now();
    for (int i = 0; i < 100; i++) expect_nothing_yet(&input);
    assert_true(cli_now() - start < 0.1); /* Later reads do not wait again. */
    assert_int_equal(write(to, "o\nthree", 7), 7);
    assert_int_equal(cli_input_read(&input, 0, &text, &length), RILL_OK);
    assert_int_equal(length, 3);
    assert_memory_equal(text, "two", 3);
    close(to);
    expect(&input, RILL_OK, "three");
    expect(&input, RILL_END_OF_INPUT, NULL);
    cli_input_close(&input);
}

/* If the file gets shorter, complete lines are read and an incomplete one is dropped. */
static void input_that_gets_shorter(void **state)
{
    enum { LINES = 20000 };
    static char bytes[8 * LINES];
    cli_input input;
    const char *text;
    size_t length;
    rill_status status;
    int64_t lines = 0;
    (void)state;
    memset(bytes, 'a', sizeof bytes);
    for (size_t i = 7; i < sizeof bytes; i += 8) bytes[i] = '\n';
    open_bytes(&input, bytes, sizeof bytes);
    expect(&input, RILL_OK, "aaaaaaa");
    assert_int_equal(ftruncate(input.fd, sizeof bytes - 12), -1); /* the input is opened for reading only */
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", input.fd);
    assert_int_equal(truncate(path, sizeof bytes - 12), 0);
    while ((status = cli_input_read(&input, 1, &text, &length)) == RILL_OK) lines++;
    assert_int_equal(status, RILL_ERR_IO);
    assert_non_null(strstr(rill_error(ctx), "it became shorter while it was read"));
    assert_int_equal(lines, LINES - 3);
    cli_input_close(&input);
}

static void input_failures(void **state)
{
    int ends[2];
    cli_input input;
    const char *text;
    size_t length;
    (void)state;
    assert_int_equal(cli_input_open(&input, ctx, "no/such/file", RILL_FILE_STREAM), CLI_FAILED);
    cli_input_close(&input);
    assert_int_equal(cli_input_open(&input, ctx, "/", RILL_FILE_STREAM), CLI_FAILED);
    cli_input_close(&input);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    input = (cli_input){.ctx = ctx, .name = "the wrong end", .fd = ends[1], .is_owned = 1, .is_regular = 1};
    assert_int_equal(cli_input_read(&input, 1, &text, &length), RILL_ERR_IO);
    assert_non_null(strstr(rill_error(ctx), "the wrong end"));
    cli_input_close(&input);
}

static void progress_text(void **state)
{
    char text[160];
    (void)state;
    cli_progress_text(&(cli_progress_position){0, 0, 0, 100}, 0, text, sizeof text);
    assert_string_equal(text, "0 done  0.0/s");
    cli_progress_text(&(cli_progress_position){50, 60, 600, -1}, 10, text, sizeof text);
    assert_string_equal(text, "50 done  5.0/s");
    cli_progress_text(&(cli_progress_position){50, 100, 1000, 1000}, 10, text, sizeof text);
    assert_string_equal(text, "[############............]  50%  50 done  5.0/s  left 0:10");
    cli_progress_text(&(cli_progress_position){100, 100, 1000, 1000}, 7300, text, sizeof text);
    assert_string_equal(text, "[########################] 100%  100 done  0.0/s  left 0:00");
    cli_progress_text(&(cli_progress_position){1, 1, 1, 7300}, 1, text, sizeof text);
    assert_non_null(strstr(text, "left 2:01:39"));
}

/* The progress line is drawn for the first time one interval after the start. */
static void progress_is_due(void **state)
{
    cli_progress progress;
    (void)state;
    for (int on = 0; on < 2; on++) {
        cli_progress_start(&progress, on);
        assert_true(progress.last >= progress.start);
        progress.last -= 1;
        assert_int_equal(cli_progress_due(&progress), on);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_line_ends),
        cmocka_unit_test(input_empty),
        cmocka_unit_test(input_nul),
        cmocka_unit_test(input_mark),
        cmocka_unit_test(input_mark_through_a_pipe),
        cmocka_unit_test(input_long_lines),
        cmocka_unit_test(input_pipe),
        cmocka_unit_test(input_failures),
        cmocka_unit_test(progress_text),
        cmocka_unit_test(progress_is_due),
        cmocka_unit_test(input_that_gets_shorter),
        cmocka_unit_test(another_thread_is_interrupted),
        cmocka_unit_test(input_interrupted), /* last, since the interruption persists */
    };
    signal(SIGINT, SIG_DFL); /* the test may have been started with SIGINT ignored */
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
