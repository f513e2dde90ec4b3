/* The progress line on stderr; see cli_progress.h. */
#include "cli_progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "interrupt.h"

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

/* Estimate the share of work done, or -1: the share of bytes that were read, times the share of read inputs that are done. */
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
    pthread_mutex_lock(&terminal);
    /* Return to column 0, write, and erase the rest of a longer line. */
    fprintf(stderr, "\r%s\033[K", text);
    fflush(stderr);
    progress->is_drawn = 1;
    cli_interrupt_set_line_drawn(1);
    pthread_mutex_unlock(&terminal);
}

void cli_progress_erase(cli_progress *progress)
{
    pthread_mutex_lock(&terminal);
    if (progress->is_drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    progress->is_drawn = 0;
    cli_interrupt_set_line_drawn(0);
    pthread_mutex_unlock(&terminal);
}
