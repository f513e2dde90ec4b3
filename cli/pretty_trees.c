/* Indented trees; see pretty_trees.h. */
#include "pretty_trees.h"

#include <inttypes.h>

void cli_pretty_start(cli_pretty *pretty, rill_context *ctx)
{
    *pretty = (cli_pretty){.tree = {.ctx = ctx}, .text = {.ctx = ctx}};
}

/* Whether pretty->text has the indented tree. Out of memory counts as no tree, so that the plain line is written. */
static int indent_tree(cli_pretty *pretty, const rill_output *output)
{
    rill_text_reset(&pretty->text);
    int is_tree = rill_tree_parse(&pretty->tree, output->text, output->text_bytes, RILL_TREE_AS_WRITTEN) == RILL_OK &&
                  rill_tree_write(&pretty->tree, &pretty->text, 1) == RILL_OK;
    if (!is_tree) rill_error_clear(pretty->tree.ctx);
    pretty->n_trees += is_tree;
    pretty->n_others += !is_tree && output->text_bytes > 0;
    return is_tree;
}

int cli_pretty_result(cli_pretty *pretty, cli_output *output, cli_output_format line_format, const rill_result *result)
{
    if (result->n_outputs == 0 || !indent_tree(pretty, rill_result_output(result, 0)))
        return cli_output_result(output, line_format, &(cli_extras){0}, result);
    if (line_format == CLI_FORMAT_NUMBERED) cli_output_printf(output, "%" PRId64 "\t", result->id);
    cli_output_write(output, pretty->text.data, pretty->text.length);
    return cli_output_write(output, "\n", 1);
}

void cli_pretty_warn(const cli_pretty *pretty)
{
    if (pretty->n_trees == 0 && pretty->n_others > 0)
        cli_message("warning: --pretty: no output is a bracketed tree; all outputs are written unchanged");
}

void cli_pretty_end(cli_pretty *pretty)
{
    if (pretty->tree.ctx == NULL) return;
    rill_tree_clear(&pretty->tree);
    rill_text_clear(&pretty->text);
}
