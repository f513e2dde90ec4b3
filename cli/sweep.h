/* A sweep: `rill run` with a configuration that has one decodes the input at every point of its grid and tabulates. */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "cli.h"
#include "runfile.h"
#include "trial.h"

typedef struct cli_sweep {
    cli_session *session; /* configured, its model not yet open */
    const cli_runfile *runfile;
    const char *input, *references, *output, *stats; /* files; NULL: standard input, none, standard output, none */
    int quiet;
} cli_sweep;

/* CLI_OK; CLI_SOME_FAILED when a point was refused or inputs have no output; CLI_FAILED or CLI_CLOSED. */
int cli_sweep_run(const cli_sweep *sweep);

/* Whether options leave the grid, if there is one, its parameters. CLI_OK or CLI_FAILED after a message. */
int cli_sweep_check(const cli_runfile *runfile);

/* Have every point of the script's grid tried, in order, as long as all goes well; after(user, point), which may be NULL, is told of
 * each. Same returns as cli_trials_try(). */
int cli_sweep_points(cli_trials *trials, const cli_runfile *runfile, void (*after)(void *user, const cli_point *point),
                     void *user);

#endif
