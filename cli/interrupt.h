/* A wish to end where half of the work is worth keeping: Ctrl-C, kill, or the terminal gone (SIGINT, SIGTERM, SIGHUP). The first one
 * asks to come to an end: what is finished is written, statistics too. A second one of its kind kills as usual, and so does the first
 * where nobody heeds it. What kills otherwise and can be caught, SIGQUIT and SIGXCPU, kills as usual; unfinished files go before. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

struct rill_workers;

void cli_interrupt_catch(void);
/* Have the file go if such a signal kills (is = 1: it is not whole yet), or no longer (0). The path is kept. */
void cli_interrupt_set_unfinished(const char *path, int is);
/* Have the terminal's line end first if such a signal kills (is = 1: what we are at stands there, without an end), or no longer (0). */
void cli_interrupt_set_line_drawn(int is);
/* Have the workers' run stop as soon as such a signal comes; NULL: none is on. They stay open until then. */
void cli_interrupt_set_workers(struct rill_workers *workers);
/* From now on SIGHUP is no wish to end, and is noted, whatever was made of it before. Returns whether it was ignored (nohup). */
int cli_interrupt_reload_on_hup(void);
/* Whether it came since this was last asked; the descriptor is readable until then. */
int cli_interrupt_take_hup(void);
int cli_interrupted(void); /* the signal that came, else 0; always 0 before cli_interrupt_catch() */
/* Readable from then on; -1, which poll() passes over, before cli_interrupt_catch(). */
int cli_interrupt_descriptor(void);
/* Die of the signal that came, once all is written: whoever started us is told by it, and shells end a loop around us. */
void cli_interrupt_die(void);

#endif
