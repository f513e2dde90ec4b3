/* Graceful interruption by Ctrl-C, kill or a closed terminal (SIGINT, SIGTERM, SIGHUP). The first signal asks the command to stop: it
 * writes finished results and statistics. A second signal of the same kind ends the process, as does the first if the command has not
 * called cli_interrupt_catch(). SIGQUIT and SIGXCPU end the process at once. Unfinished files are deleted in all cases. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

struct rill_workers;

void cli_interrupt_catch(void);
/* Register a file to be deleted if a signal ends the process (is = 1), or unregister it (0). The path must stay valid while it is
 * registered. */
void cli_interrupt_set_unfinished(const char *path, int is);
/* Note whether an unfinished line is on the terminal, which a signal that ends the process must end first. */
void cli_interrupt_set_line_drawn(int is);
/* Stop the run of these workers when a signal comes; NULL: no run. The workers must stay open until then. */
void cli_interrupt_set_workers(struct rill_workers *workers);
/* From now on SIGHUP asks for a reload instead of ending the process. Returns whether SIGHUP was ignored before (nohup). */
int cli_interrupt_reload_on_hup(void);
/* Whether SIGHUP came since the last call. cli_interrupt_descriptor() is readable until then. */
int cli_interrupt_take_hup(void);
int cli_interrupted(void); /* the signal that came, or 0; always 0 before cli_interrupt_catch() */
/* A descriptor that becomes readable when a signal comes. -1, which poll() ignores, before cli_interrupt_catch(). */
int cli_interrupt_descriptor(void);
/* End the process with the signal that came, after everything is written. The parent process sees the signal, and a shell ends its
 * loop. */
void cli_interrupt_die(void);

#endif
