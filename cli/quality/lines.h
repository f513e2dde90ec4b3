/* Lines in memory: references, and the inputs that are decoded again and again. */
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

/* Append one. RILL_OK · RILL_ERR_MEMORY (recorded in the context, as are the next one's failures) */
rill_status cli_lines_add(cli_lines *lines, rill_context *ctx, const char *text, size_t length);

/* Append the two columns of `both`, which have a tab between them; `path` is where they are from, for the message.
 *   RILL_OK · RILL_ERR_INPUT (a line without a tab) · RILL_ERR_MEMORY */
rill_status cli_lines_split(const cli_lines *two_columns, rill_context *ctx, const char *path, cli_lines *first,
                            cli_lines *second);

/* Line i, 0 <= i < n; borrowed until the lines are freed. */
const char *cli_lines_get(const cli_lines *lines, int64_t i, size_t *length);

/* Accepts zeroed lines. */
void cli_lines_free(cli_lines *lines);

#endif
