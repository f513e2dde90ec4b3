/* A wish to end where half of the work is worth keeping; interrupt.h.
 *
 * What a handler looks at the main thread changes, so it works in that one alone: our own threads block all signals, and where one
 * reaches a library's the handler sends it on. So nothing goes on while it unlinks what is unfinished, or asks workers to stop.
 *
 * The handler writes a byte into a pipe that whoever waits looks at too: a signal that comes just before the wait, or on another thread,
 * would not end it otherwise. */
#include "interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "rill/workers.h"

enum { MOST_UNFINISHED = 8 };

/* Those behind the first three are no wish that work be kept, and kill at once, once what is unfinished is gone. */
enum { HEEDED = 3 };
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};

/* A handler has nothing else to go by. */
static volatile sig_atomic_t heeded, interrupted, drawn, reloads, hung_up, came[HEEDED];
static const char *volatile unfinished[MOST_UNFINISHED];
static rill_workers *volatile running;
static int wake[2] = {-1, -1};
static pthread_t main_thread; /* that took the signals first */
static int taken;

static void die(int signal_number)
{
    for (size_t i = 0; i < MOST_UNFINISHED; i++)
        if (unfinished[i]) unlink(unfinished[i]);
    if (drawn) (void)!write(STDERR_FILENO, "\n", 1);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void note_interrupt(int signal_number)
{
    const int before = errno;
    size_t i = 0;
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, signal_number);
        errno = before;
        return;
    }
    while (signals[i] != signal_number) i++;
    if (reloads && signal_number == SIGHUP) {
        hung_up = 1;
        (void)!write(wake[1], "", 1);
    } else if (!heeded || i >= HEEDED || came[i]) {
        die(signal_number);
    } else {
        came[i] = 1;
        interrupted = signal_number;
        (void)!write(wake[1], "", 1); /* it is full: whoever waits is woken anyway */
        if (running) rill_workers_stop(running);
    }
    errno = before;
}

static void take_signals(void)
{
    struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    if (!taken) main_thread = pthread_self();
    taken = 1;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN) continue; /* wanted so: nohup */
        sigaction(signals[i], &action, NULL);
    }
}

void cli_interrupt_heed(void)
{
    if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK))
        wake[0] = wake[1] = -1; /* waits are then ended by most signals */
    for (size_t i = 0; i < sizeof came / sizeof *came; i++) came[i] = 0;
    heeded = 1;
    take_signals();
}

void cli_interrupt_unfinished(const char *path, int is)
{
    for (size_t i = 0; i < MOST_UNFINISHED; i++)
        if (unfinished[i] == (is ? NULL : path)) {
            unfinished[i] = is ? path : NULL;
            break;
        }
    if (is) take_signals();
}

void cli_interrupt_drawn(int is)
{
    drawn = is;
    if (is) take_signals();
}

void cli_interrupt_stops(rill_workers *workers)
{
    running = workers;
    if (workers && interrupted) rill_workers_stop(workers);
}

int cli_interrupt_reloads(void)
{
    struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    reloads = 1;
    return sigaction(SIGHUP, &action, &before) == 0 && before.sa_handler == SIG_IGN;
}

int cli_interrupt_hung_up(void)
{
    char bytes[16];
    if (!hung_up) return 0;
    hung_up = 0; /* one that comes now counts again */
    while (read(wake[0], bytes, sizeof bytes) > 0) continue;
    return 1;
}

int cli_interrupted(void)
{
    return interrupted;
}

int cli_interrupt_descriptor(void)
{
    return wake[0];
}

void cli_interrupt_end(void)
{
    if (interrupted != 0) die(interrupted);
}
