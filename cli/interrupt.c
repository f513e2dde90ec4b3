/* Graceful interruption; see cli.h. The signal handler also writes to a pipe that all waits poll. So a signal just before a wait ends the
 * wait too. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Equal signals within a second count as one: timeout(1) sends its signal to the process and then to the process group. */
enum { MAX_UNFINISHED_FILES = 8, SECONDS_UNTIL_MESSAGE = 3, SECONDS_OF_ONE_SIGNAL = 1 };

/* The first three signals in the list can stop a run gracefully. The others delete unfinished files and end the process at once. */
enum { N_STOP_SIGNALS = 3 };
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};

/* The state that the signal handlers use. */
static volatile sig_atomic_t stop_is_graceful, interrupted, is_line_drawn, hup_reloads, hung_up,
    signal_came[N_STOP_SIGNALS];
static double signal_time[N_STOP_SIGNALS]; /* when each signal first came */
static const char *volatile unfinished_files[MAX_UNFINISHED_FILES];
static rill_workers *volatile running_workers;
static int wake_pipe[2] = {-1, -1};
static pthread_t main_thread; /* the thread that installed the handlers */
static int handlers_installed;

static void die_of_signal(int signal_number)
{
    for (size_t i = 0; i < MAX_UNFINISHED_FILES; i++)
        if (unfinished_files[i]) unlink(unfinished_files[i]);
    if (is_line_drawn) (void)!write(STDERR_FILENO, "\n", 1);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Print how to end the run at once if it has not stopped some seconds after the first signal. */
static void handle_alarm(int signal_number)
{
    static const char message[] = "rill: not stopped yet: the same signal again ends it at once\n";
    const int old_errno = errno;
    (void)signal_number;
    if (is_line_drawn) (void)!write(STDERR_FILENO, "\n", 1);
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    errno = old_errno;
}

static void handle_signal(int signal_number)
{
    const int old_errno = errno;
    size_t i = 0;
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, signal_number);
        errno = old_errno;
        return;
    }
    while (signals[i] != signal_number) i++;
    if (hup_reloads && signal_number == SIGHUP) {
        hung_up = 1;
        (void)!write(wake_pipe[1], "", 1);
    } else if (!stop_is_graceful || i >= N_STOP_SIGNALS) {
        die_of_signal(signal_number);
    } else if (signal_came[i]) {
        if (cli_now() - signal_time[i] > SECONDS_OF_ONE_SIGNAL) die_of_signal(signal_number);
    } else {
        signal_came[i] = 1;
        signal_time[i] = cli_now();
        interrupted = signal_number;
        (void)!write(wake_pipe[1], "", 1); /* a full pipe wakes the waiting thread too */
        if (running_workers) {
            rill_workers_stop(running_workers);
            alarm(SECONDS_UNTIL_MESSAGE);
        }
    }
    errno = old_errno;
}

static void install_handlers(void)
{
    struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART}, old_action;
    sigemptyset(&action.sa_mask);
    if (!handlers_installed) main_thread = pthread_self();
    handlers_installed = 1;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (sigaction(signals[i], NULL, &old_action) == 0 && old_action.sa_handler == SIG_IGN)
            continue; /* the caller ignores the signal, as nohup does */
        sigaction(signals[i], &action, NULL);
    }
    action.sa_handler = handle_alarm;
    sigaction(SIGALRM, &action, NULL);
}

void cli_interrupt_catch(void)
{
    if (wake_pipe[0] < 0 && pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK))
        wake_pipe[0] = wake_pipe[1] = -1; /* without a pipe, most signals still end a wait */
    for (size_t i = 0; i < sizeof signal_came / sizeof *signal_came; i++) signal_came[i] = 0;
    stop_is_graceful = 1;
    install_handlers();
}

void cli_interrupt_set_unfinished(const char *path, int is)
{
    for (size_t i = 0; i < MAX_UNFINISHED_FILES; i++)
        if (unfinished_files[i] == (is ? NULL : path)) {
            unfinished_files[i] = is ? path : NULL;
            break;
        }
    if (is) install_handlers();
}

void cli_interrupt_set_line_drawn(int is)
{
    is_line_drawn = is;
    if (is) install_handlers();
}

void cli_interrupt_set_workers(rill_workers *workers)
{
    running_workers = workers;
    if (workers && interrupted) rill_workers_stop(workers);
    if (!workers) alarm(0);
}

int cli_interrupt_reload_on_hup(void)
{
    struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART}, old_action;
    sigemptyset(&action.sa_mask);
    hup_reloads = 1;
    return sigaction(SIGHUP, &action, &old_action) == 0 && old_action.sa_handler == SIG_IGN;
}

int cli_interrupt_take_hup(void)
{
    char bytes[16];
    if (!hung_up) return 0;
    hung_up = 0; /* reset the flag first, so that a signal that comes after this line counts */
    while (read(wake_pipe[0], bytes, sizeof bytes) > 0) continue;
    return 1;
}

int cli_interrupted(void)
{
    return interrupted;
}

int cli_interrupt_descriptor(void)
{
    return wake_pipe[0];
}

void cli_interrupt_die(void)
{
    if (interrupted != 0) die_of_signal(interrupted);
}
