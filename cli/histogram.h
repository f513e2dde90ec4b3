/* How many rows the timesteps of runs had, as an SVG picture. */
#ifndef CLI_HISTOGRAM_H
#define CLI_HISTOGRAM_H

#include <stdint.h>

#include "output.h"
#include "rill/stats.h"

/* Timesteps by rows. Zero-initialise. */
typedef struct cli_histogram {
    int64_t *count; /* [n] timesteps with so many rows */
    int64_t n;
    int failed; /* there was no memory to count in */
} cli_histogram;

/* Counts timesteps; `user` is a cli_histogram. Fits rill_engine_setup.trace. */
void cli_histogram_trace(void *user, const rill_trace_event *event);

void cli_histogram_end(cli_histogram *histogram);

/* Draw a panel for each of `n` runs, one below the other with the same axes: from left to right rows, upwards the share of the run's
 * timesteps that had so many. They are part of a picture 760 pixels wide, from the pixel `top` on. label: [n]. CLI_OK, or CLI_FAILED after
 * a message. */
int cli_histogram_draw(cli_output *output, const cli_histogram *const *histogram, const char *const *label, int n,
                       int top);

/* How many pixels they take below one another. */
int cli_histogram_height(int n);

#endif
