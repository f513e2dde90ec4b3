/* A file's lines in memory: references, and the input that `rill bench` decodes again and again. */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "cli.h"

typedef struct cli_lines {
    char *data;
    size_t used, capacity;
    size_t *start; /* [n + 1] */
    size_t start_capacity;
    int64_t n;
} cli_lines;

/* Read `path` ("-" is standard input). column 0: whole lines; 1 or 2: that of two columns with a tab between them, and a
 * line without a tab is an error. CLI_OK, or CLI_FAILED after a message with the line's number. */
int cli_lines_load(cli_lines *lines, rill_context *ctx, const char *path, int column);

/* Line i, 0 <= i < n; borrowed until the lines are freed. */
const char *cli_lines_get(const cli_lines *lines, int64_t i, size_t *length);

/* Accepts zeroed lines. */
void cli_lines_free(cli_lines *lines);

#endif
