/* One line on a terminal that tells how far a run is: inputs done, share, inputs per second, time left.
 *
 * The total number of inputs is never known beforehand; the share is that of bytes read of a regular file, corrected for what
 * was read but is not done. Drawn at most ten times a second, erased before messages and at the end. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

typedef struct cli_progress {
    int is_on;
    int is_drawn; /* something stands on the line now */
    double start, last;
} cli_progress;

typedef struct cli_progress_position {
    int64_t done;  /* inputs finished */
    int64_t read;  /* inputs read */
    int64_t bytes; /* of these, in bytes */
    int64_t size;  /* bytes of the whole input, -1 = unknown */
} cli_progress_position;

void cli_progress_start(cli_progress *progress, int on);
/* Whether it is time to draw again. Cheap enough for every input. */
int cli_progress_due(const cli_progress *progress);
void cli_progress_draw(cli_progress *progress, const cli_progress_position *position);
/* Remove the line, so that something else can be printed. */
void cli_progress_erase(cli_progress *progress);

/* The line's text for a position after `elapsed` seconds, without control characters. For tests, and the bar itself. */
void cli_progress_text(const cli_progress_position *position, double elapsed, char *out, unsigned long size);

#endif
