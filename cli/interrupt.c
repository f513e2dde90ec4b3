/* A wish to end where half of the work is worth keeping; interrupt.h.
 *
 * The handler writes a byte into a pipe that whoever waits looks at too: a signal that comes just before the wait, or on another thread,
 * would not end it otherwise. */
#include "interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* A handler has nothing else to write to. */
static volatile sig_atomic_t interrupted;
static int wake[2] = {-1, -1};

static void note_interrupt(int signal_number)
{
    const int before = errno;
    interrupted = signal_number;
    (void)!write(wake[1], "", 1); /* it may be full: whoever waits is woken anyway */
    errno = before;
}

void cli_interrupt_heed(void)
{
    static const int heeded[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK))
        wake[0] = wake[1] = -1; /* waits are then ended by most signals */
    for (size_t i = 0; i < sizeof heeded / sizeof *heeded; i++) {
        if (sigaction(heeded[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN) continue; /* wanted so: nohup */
        sigaction(heeded[i], &action, NULL);
    }
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
    if (interrupted != 0) raise(interrupted);
}
