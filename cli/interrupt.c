/* Ctrl-C where half of the work is worth keeping; interrupt.h. */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t interrupted; /* a handler has nothing else to write to */

static void note_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

void cli_interrupt_heed(void)
{
    struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler == SIG_IGN) return; /* wanted so */
    sigaction(SIGINT, &action, NULL);
}

int cli_interrupted(void)
{
    return interrupted;
}
