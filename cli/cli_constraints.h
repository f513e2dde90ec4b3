/* Constraints (rill/constraints.h) from a file with one line per input. */
#ifndef CLI_CONSTRAINTS_H
#define CLI_CONSTRAINTS_H

#include "cli_input.h"
#include "rill/search_config.h"

typedef struct cli_constraints {
    cli_input input;
    rill_constraints *reader;
    int has_line; /* the constraint line of the next input was read into `status`, `line` and `length` */
    rill_status status;
    const char *line;
    size_t length;
} cli_constraints;

/* Add the scorers that constraint lines may use to the search config. */
rill_status cli_constraints_add_scorers(rill_search_config *search_config);

/* Open the file, skip its first `skip` lines, and add the scorers. CLI_OK or CLI_FAILED after a message. */
int cli_constraints_open(cli_constraints *c, rill_context *ctx, const char *path, int64_t skip,
                         rill_search_config *search_config);
void cli_constraints_close(cli_constraints *c); /* accepts a zeroed one */

/* Wait until the line of the next input has been read or the file has ended. RILL_OK · RILL_AGAIN */
rill_status cli_constraints_wait(cli_constraints *c, int may_block);

/* Add the constraints of the line to a request that was read with `status`. Returns `status`, or RILL_ERR_INPUT if the constraint line
 * is missing or malformed. */
rill_status cli_constraints_apply(cli_constraints *c, rill_context *ctx, rill_status status, rill_request *request);

#endif
