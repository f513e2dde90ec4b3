/* Messages, the clock, and guessing what a misspelt word was meant to be. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

/* One write per message, so that lines of several processes on one terminal stay whole. */
static void say(const char *format, va_list arguments)
{
    char line[4608]; /* the longest message of a context, and words around it */
    int used = snprintf(line, sizeof line, "rill: ");
    int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    fwrite(line, 1, length, stderr);
    fflush(stderr);
}

void cli_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

int cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_fail_context(const rill_context *ctx)
{
    const char *sentence = rill_error(ctx);
    return cli_fail("%s", sentence[0] ? sentence : rill_status_name(rill_error_status(ctx)));
}

int cli_fail_memory(const char *what)
{
    return cli_fail("out of memory for %s", what);
}

int cli_end_printing(void)
{
    int bad = ferror(stdout); /* an earlier failure: its errno is gone */
    errno = 0;
    if (!fflush(stdout) && !bad) return CLI_OK;
    if (errno == EPIPE) return CLI_CLOSED;
    return cli_fail("standard output: cannot be written%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
}

double cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int cli_whole64(const char *option, const char *text, int64_t least, int64_t most, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most)
        return cli_fail("%s: \"%s\" is not a whole number from %" PRId64 " to %" PRId64, option, text, least, most);
    *out = value;
    return CLI_OK;
}

int cli_whole(const char *option, const char *text, int least, int most, int *out)
{
    int64_t value = least;
    int code = cli_whole64(option, text, least, most, &value);
    if (code == CLI_OK) *out = (int)value;
    return code;
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance in which swapping two neighbours costs one, like the other slips of a finger. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    size_t rows[3][LONGEST + 1], n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST) return LONGEST;
    for (size_t j = 0; j <= m; j++) rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = least_of(last[j - 1] + (a[i - 1] != b[j - 1]), 1 + least_of(last[j], now[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least_of(now[j], before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *cli_nearest(const char *word, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2; /* beyond that a guess is more puzzling than helpful */
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, names[i]);
        if (d < best_distance) {
            best_distance = d;
            best = names[i];
        }
    }
    if (best || strlen(word) < 3) return best;
    for (size_t i = 0; i < n; i++) /* a beginning is as good a hint as a slip: --max-c, --budge */
        if (!strncmp(word, names[i], strlen(word))) return names[i];
    return NULL;
}
