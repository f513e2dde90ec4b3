/* Outputs for people: trees in brackets, a constituent per line. */
#ifndef CLI_PRETTY_TREES_H
#define CLI_PRETTY_TREES_H

#include "cli_output.h"
#include "tree.h"

typedef struct cli_pretty {
    rill_tree tree;
    rill_text text;
    int64_t n_trees, n_others; /* outputs that were trees, and that were none, but for empty ones */
} cli_pretty;

void cli_pretty_start(cli_pretty *pretty, rill_context *ctx);

/* Write the result's best output as a tree with indented lines, or in one line where it is no tree. CLI_FORMAT_NBEST has no such
 * form. Returns as cli_output_result(). */
int cli_pretty_result(cli_pretty *pretty, cli_output *output, cli_output_format line_format, const rill_result *result);

/* Warn where no output was a tree: nothing became of what was asked for. */
void cli_pretty_warn(const cli_pretty *pretty);

/* Accepts a zeroed one. */
void cli_pretty_end(cli_pretty *pretty);

#endif
