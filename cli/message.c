/* Messages, the clock, and parsing whole numbers. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "rill/option.h"

/* Print with one write, so that lines of several processes on one terminal are not mixed. */
static void print_to_stderr(const char *format, va_list arguments)
{
    char line[4608]; /* a context's longest message and the text around it */
    char shown[4 * sizeof line];
    int used = snprintf(line, sizeof line, "rill: ");
    int more = rill_print_message_list(line + used, sizeof line - (size_t)used - 1, format, arguments);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    size_t n = 0;
    for (const char *pos = line; pos < line + length;) n += cli_terminal_escape(&pos, line + length, shown + n);
    fwrite(shown, 1, n, stderr);
    fflush(stderr);
}

void cli_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_to_stderr(format, arguments);
    va_end(arguments);
}

int cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_to_stderr(format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_fail_context(const rill_context *ctx)
{
    const char *sentence = rill_error(ctx);
    return cli_fail("%s", sentence[0] ? sentence : rill_status_name(rill_error_status(ctx)));
}

int cli_exit_code(const rill_context *ctx, rill_status status)
{
    return status < 0 ? cli_fail_context(ctx) : CLI_OK;
}

int cli_fail_memory(const char *what)
{
    return cli_fail("out of memory for %s", what);
}

int cli_flush_stdout(void)
{
    int bad = ferror(stdout); /* an earlier write failed; its errno is lost */
    errno = 0;
    if (!fflush(stdout) && !bad) return CLI_OK;
    if (errno == EPIPE) return CLI_CLOSED;
    return cli_fail("cannot write standard output%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
}

double cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int cli_parse_int64(const char *option, const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < min || value > max)
        return cli_fail("%s: \"%s\" is not a whole number from %" PRId64 " to %" PRId64, option, text, min, max);
    *out = value;
    return CLI_OK;
}

int cli_parse_int(const char *option, const char *text, int min, int max, int *out)
{
    int64_t value = min;
    int code = cli_parse_int64(option, text, min, max, &value);
    if (code == CLI_OK) *out = (int)value;
    return code;
}

int cli_parse_size(rill_context *ctx, const char *option, const char *text, int64_t min, int64_t max, int64_t *out)
{
    const rill_option row = {.name = option, .type = RILL_OPTION_BYTES, .min = (double)min, .max = (double)max};
    return rill_option_read(ctx, &row, text, out) < 0 ? cli_fail_context(ctx) : CLI_OK;
}
