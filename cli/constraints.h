/* Constraints of inputs (rill/constraints.h), from a file with a line for each. */
#ifndef CLI_CONSTRAINTS_H
#define CLI_CONSTRAINTS_H

#include "input.h"
#include "rill/layers.h"

typedef struct cli_constraints {
    cli_input lines;
    rill_constraints *reader;
    int have; /* the line of the next input is here: */
    rill_status status;
    const char *line;
    size_t length;
} cli_constraints;

/* Open the file, and add to the plan's scorers those that it may name. CLI_OK or CLI_FAILED after a message. */
int cli_constraints_open(cli_constraints *c, rill_context *ctx, const char *path, rill_plan *plan);
void cli_constraints_close(cli_constraints *c); /* accepts a zeroed one */

/* The next input with what its line says: a rill_read_request_fn. An input without a line, or with one that cannot be read, is bad. */
rill_status cli_constraints_read(cli_constraints *c, cli_input *inputs, int may_block, rill_request *request);

#endif
