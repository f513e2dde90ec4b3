/* A wish to end where half of the work is worth keeping; interrupt.h. */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t interrupted; /* a handler has nothing else to write to */

static void note_interrupt(int signal_number)
{
    interrupted = signal_number;
}

void cli_interrupt_heed(void)
{
    static const int heeded[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof heeded / sizeof *heeded; i++) {
        if (sigaction(heeded[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN) continue; /* wanted so: nohup */
        sigaction(heeded[i], &action, NULL);
    }
}

int cli_interrupted(void)
{
    return interrupted;
}

void cli_interrupt_end(void)
{
    if (interrupted != 0) raise(interrupted);
}
