/* A progress line on a terminal: inputs done, share of the work, inputs per second, time left.
 *
 * The total number of inputs is unknown. The share is the fraction of a regular file's bytes that were read, corrected for inputs that
 * were read and are not finished. The line is drawn at most ten times a second, and erased before messages and at the end. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

typedef struct cli_progress {
    int is_on;
    int is_drawn;       /* the line is on the terminal now */
    double start, last; /* cli_now() at the start and at the last drawing */
} cli_progress;

typedef struct cli_progress_position {
    int64_t done;  /* inputs finished */
    int64_t read;  /* inputs read */
    int64_t bytes; /* bytes of the inputs read */
    int64_t size;  /* bytes of the whole input, -1 = unknown */
} cli_progress_position;

void cli_progress_start(cli_progress *progress, int on);
/* Whether it is time to draw again. Cheap enough to call for every input. */
int cli_progress_due(const cli_progress *progress);
void cli_progress_draw(cli_progress *progress, const cli_progress_position *position);
/* Erase the line before something else is printed. */
void cli_progress_erase(cli_progress *progress);

/* Write the text of the line into `out`, without control characters. `elapsed`: seconds since the start. */
void cli_progress_text(const cli_progress_position *position, double elapsed, char *out, unsigned long size);

#endif
