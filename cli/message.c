/* Messages, the clock, parsing whole numbers, text for a terminal, and the progress line; see cli.h. */
#include "cli.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "utf8.h"

/* Prints with one write, so that lines of several processes on one terminal are not mixed. */
void cli_message(const char *format, ...)
{
    char line[4608]; /* fits the longest message of a context and the text around it */
    char shown[4 * sizeof line];
    va_list arguments;
    va_start(arguments, format);
    int used = snprintf(line, sizeof line, "rill: ");
    int more = rill_print_message_list(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    size_t n = 0;
    for (const char *pos = line; pos < line + length;) n += cli_terminal_escape(&pos, line + length, shown + n);
    fwrite(shown, 1, n, stderr);
    fflush(stderr);
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

/* Whether standard output is a pipe without a reader. */
static int is_stdout_closed(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int cli_flush_stdout(void)
{
    int bad = ferror(stdout); /* whether an earlier write failed; its errno is lost */
    errno = 0;
    if (!fflush(stdout) && !bad) return CLI_OK;
    if (errno == EPIPE || (bad && is_stdout_closed())) return CLI_CLOSED;
    return cli_fail("cannot write standard output%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
}

double cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int cli_read_int64(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end || text[strspn(text, "-0123456789")] || errno || value < min || value > max) return 0;
    *out = value;
    return 1;
}

int cli_parse_int64(const char *option, const char *text, int64_t min, int64_t max, int64_t *out)
{
    if (cli_read_int64(text, min, max, out)) return CLI_OK;
    return cli_fail("%s: \"%s\" is not a whole number from %" PRId64 " to %" PRId64, option, text, min, max);
}

int cli_parse_size(const char *option, const char *text, int64_t min, int64_t max, int64_t *out)
{
    const rill_option row = {.name = option, .type = RILL_OPTION_BYTES, .min = (double)min, .max = (double)max};
    SCOPED(cli_context_close) rill_context *ctx = NULL;
    if (rill_context_create(&ctx, NULL) < 0) return cli_fail_memory("the options");
    rill_option_set_style(ctx, RILL_OPTION_DASHED);
    return cli_exit_code(ctx, rill_option_read(ctx, &row, text, out));
}

/* --- the terminal ------------------------------------------------------------------------------------------------------ */

/* Code of the control character at `pos`, or 0. Single bytes of C1 controls count: terminals without UTF-8 obey them. */
static unsigned control_code(const char *pos, size_t bytes)
{
    const unsigned char first = (unsigned char)pos[0], second = bytes == 2 ? (unsigned char)pos[1] : 0;
    if (bytes == 0) return first >= 0x80 && first < 0xa0 ? first : 0;
    if (bytes == 2) return first == 0xc2 && second < 0xa0 ? second : 0;
    return first == 0x7f || (first < 0x20 && first != '\t' && first != '\n') ? first | 0x100 : 0;
}

size_t cli_terminal_escape(const char **text, const char *end, char out[CLI_TERMINAL_CHUNK])
{
    size_t used = 0;
    while (*text < end && used + sizeof "\\u009b" <= CLI_TERMINAL_CHUNK) {
        const size_t bytes = rill_utf8_length(*text, (size_t)(end - *text)), taken = bytes > 0 ? bytes : 1;
        const unsigned code = control_code(*text, bytes);
        if (code == 0) {
            memcpy(out + used, *text, taken);
            used += taken;
        } else {
            used += (size_t)snprintf(out + used, CLI_TERMINAL_CHUNK - used, bytes == 2 ? "\\u%04x" : "\\x%02x",
                                     code & 255);
        }
        *text += taken;
    }
    return used;
}

void cli_terminal_write(FILE *to, const char *text, size_t length)
{
    char chunk[CLI_TERMINAL_CHUNK];
    const char *end = text + length;
    while (text < end) {
        const size_t n = cli_terminal_escape(&text, end, chunk);
        fwrite(chunk, 1, n, to);
    }
}

int cli_print_to(FILE *to, const char *format, ...)
{
    char local[1024], *text = local;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = rill_print_list(local, sizeof local, format, arguments);
    if (length >= (int)sizeof local) text = malloc((size_t)length + 1);
    if (text && text != local) rill_print_list(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    if (length < 0 || !text) return -1;
    if (to == stderr || isatty(fileno(to)))
        cli_terminal_write(to, text, (size_t)length);
    else
        fwrite(text, 1, (size_t)length, to);
    if (text != local) free(text);
    return length;
}

/* --- the progress line ------------------------------------------------------------------------------------------------- */

enum { BAR = 24 };
static const double DRAW_INTERVAL = 0.1;

/* Protects the progress line: log messages of worker threads erase it too. */
static pthread_mutex_t terminal = PTHREAD_MUTEX_INITIALIZER;

void cli_progress_start(cli_progress *progress, int on)
{
    *progress = (cli_progress){.is_on = on, .start = cli_now()};
    progress->last = progress->start;
}

static void format_time(double seconds, char *out, size_t size)
{
    long s = seconds < 1e7 ? (long)(seconds + 0.5) : 9999999;
    if (s >= 3600)
        snprintf(out, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "%ld:%02ld", s / 60, s % 60);
}

/* Estimate the fraction of the work done; -1: unknown. It is the fraction of bytes read, times the fraction of the inputs read that are
 * done. */
static double share_done(const cli_progress_position *p)
{
    if (p->size <= 0 || p->read <= 0) return -1;
    double share = (double)p->bytes / (double)p->size * ((double)p->done / (double)p->read);
    return share < 1 ? share : 1;
}

void cli_progress_text(const cli_progress_position *p, double elapsed, char *out, unsigned long size)
{
    double speed = elapsed > 0 ? (double)p->done / elapsed : 0, share = share_done(p);
    char bar[BAR + 1], time_left[32] = "";
    if (share < 0) {
        rill_print(out, size, "%" PRId64 " done  %.1f/s", p->done, speed);
        return;
    }
    int filled = (int)(share * BAR);
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)filled);
    bar[BAR] = '\0';
    if (share > 0) format_time(elapsed * (1 - share) / share, time_left, sizeof time_left);
    rill_print(out, size, "[%s] %3.0f%%  %" PRId64 " done  %.1f/s%s%s", bar, 100 * share, p->done, speed,
               time_left[0] ? "  left " : "", time_left);
}

int cli_progress_due(const cli_progress *progress)
{
    return progress->is_on && cli_now() - progress->last >= DRAW_INTERVAL;
}

void cli_progress_draw(cli_progress *progress, const cli_progress_position *position)
{
    char text[160];
    double now = cli_now();
    progress->last = now;
    cli_progress_text(position, now - progress->start, text, sizeof text);
    LOCK_SCOPE(&terminal);
    /* return to column 0, write the line, and erase what remains of a longer line */
    fprintf(stderr, "\r%s\033[K", text);
    fflush(stderr);
    progress->is_drawn = 1;
    cli_interrupt_set_line_drawn(1);
}

void cli_progress_erase(void *user)
{
    cli_progress *progress = user;
    LOCK_SCOPE(&terminal);
    if (progress->is_drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    progress->is_drawn = 0;
    cli_interrupt_set_line_drawn(0);
}

void cli_status_line(const char *format, ...)
{
    char text[512];
    va_list arguments;
    if (!isatty(STDERR_FILENO)) return;
    va_start(arguments, format);
    const int length = rill_print_message_list(text, sizeof text, format, arguments);
    va_end(arguments);
    fputs("\r", stderr);
    cli_terminal_write(stderr, text, length > 0 ? (size_t)length : 0);
    fputs("\033[K", stderr);
    fflush(stderr);
    cli_interrupt_set_line_drawn(length > 0);
}

void cli_status_erase(void *unused)
{
    (void)unused;
    cli_status_line("%s", "");
}
