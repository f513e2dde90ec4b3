/* Constraints of inputs (rill/constraints.h), from a file with a line for each. */
#ifndef CLI_CONSTRAINTS_H
#define CLI_CONSTRAINTS_H

#include "cli_input.h"
#include "rill/search_config.h"

typedef struct cli_constraints {
    cli_input input;
    rill_constraints *reader;
    int has_line; /* the line of the next input is here: */
    rill_status status;
    const char *line;
    size_t length;
} cli_constraints;

/* Add to the plan's scorers those that lines may name. */
rill_status cli_constraints_add_scorers(rill_search_config *search_config);

/* Open the file, leave out its first `skip` lines, and add those scorers. CLI_OK or CLI_FAILED after a message. */
int cli_constraints_open(cli_constraints *c, rill_context *ctx, const char *path, int64_t skip,
                         rill_search_config *search_config);
void cli_constraints_close(cli_constraints *c); /* accepts a zeroed one */

/* Whether the line of the next input is here, or the file is at its end. RILL_OK · RILL_AGAIN */
rill_status cli_constraints_wait(cli_constraints *c, int may_block);

/* Have that line's constraints join the input that was read with `status`, which is returned; an input without a line, or with one that
 * cannot be read, is bad. */
rill_status cli_constraints_apply(cli_constraints *c, rill_context *ctx, rill_status status, rill_request *request);

#endif
