/* Lines in memory: references, and inputs that are decoded several times. */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "rill/context.h"

typedef struct cli_lines {
    char *data;
    size_t used, capacity;
    size_t *start; /* [n + 1] */
    size_t start_capacity;
    int64_t n;
} cli_lines;

/* Append a line. RILL_OK · RILL_ERR_MEMORY. The context records errors of both functions. */
rill_status cli_lines_add(cli_lines *lines, rill_context *ctx, const char *text, size_t length);

/* Append the two tab-separated columns of all lines to `first` and `second`. `path` is the source of the lines, for the message.
 *   RILL_OK · RILL_ERR_INPUT (a line without a tab) · RILL_ERR_MEMORY */
rill_status cli_lines_split(const cli_lines *two_columns, rill_context *ctx, const char *path, cli_lines *first,
                            cli_lines *second);

/* Line i, 0 <= i < n; borrowed until the lines are freed. */
const char *cli_lines_get(const cli_lines *lines, int64_t i, size_t *length);

/* Free memory; accepts zeroed lines. */
void cli_lines_free(cli_lines *lines);

#endif
