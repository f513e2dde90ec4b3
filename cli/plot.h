/* Quality against expansions as an SVG picture. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "output.h"
#include "points.h"

/* Draw the points that were not refused, with the front (cli_points_mark_front()) as a line of steps and its points labelled.
 * `title`: a line above; `about`: what was measured, on what. What fails to be written is told when the output is closed. CLI_OK or
 * CLI_FAILED after a message. */
int cli_plot_write(cli_output *output, const cli_points *points, int oracle, const char *title, const char *about);

#endif
