/* Ctrl-C where half of the work is worth keeping: the first one asks to come to an end, a second one kills as usual. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

void cli_interrupt_heed(void);
int cli_interrupted(void); /* 1 once Ctrl-C was pressed; always 0 before cli_interrupt_heed() */

#endif
