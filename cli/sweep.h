/* Sweeps: `rill run` with a grid in the run file decodes the input at each grid point and prints a table. */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "cli.h"
#include "runfile.h"
#include "trial.h"

typedef struct cli_sweep {
    cli_session *session; /* configured, the model is not open yet */
    const cli_runfile *runfile;
    const char *input, *references, *output, *stats; /* file names; NULL: standard input, none, standard output, none */
    int quiet;
} cli_sweep;

/* Run the sweep. CLI_OK; CLI_SOME_FAILED if a point was refused or inputs have no output; CLI_FAILED or CLI_CLOSED. */
int cli_sweep_run(const cli_sweep *sweep);

/* Refuse command-line options that set a parameter of the grid. CLI_OK or CLI_FAILED after a message. */
int cli_sweep_check(const cli_runfile *runfile);

/* Evaluate all points of the script's grid in order, until one fails. after(user, point), which may be NULL, is called for each.
 * Returns as cli_trials_try(). */
int cli_sweep_points(cli_trials *trials, const cli_runfile *runfile, void (*after)(void *user, const cli_point *point),
                     void *user);

#endif
