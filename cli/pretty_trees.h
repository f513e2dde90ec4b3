/* Print bracketed trees with one constituent per line. */
#ifndef CLI_PRETTY_TREES_H
#define CLI_PRETTY_TREES_H

#include "cli_output.h"
#include "tree.h"

typedef struct cli_pretty {
    rill_tree tree;
    rill_text text;
    int64_t n_trees, n_others; /* outputs that were trees, and other outputs that were not empty */
} cli_pretty;

void cli_pretty_start(cli_pretty *pretty, rill_context *ctx);

/* Write the result's best output as an indented tree, or on one line if it is not a tree. CLI_FORMAT_NBEST is not supported. Returns
 * as cli_output_result(). */
int cli_pretty_result(cli_pretty *pretty, cli_output *output, cli_output_format line_format, const rill_result *result);

/* Warn if no output was a tree, so that the option had no effect. */
void cli_pretty_warn(const cli_pretty *pretty);

/* Free memory; accepts a zeroed struct. */
void cli_pretty_end(cli_pretty *pretty);

#endif
