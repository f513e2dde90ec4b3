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

/* Read `path` ("-" is standard input). CLI_OK, or CLI_FAILED after a message with the line's number. */
int cli_lines_load(cli_lines *lines, rill_context *ctx, const char *path);

/* The two columns of `path`, which have a tab between them; a line without one is an error. What was loaded is to be freed in any case.
 * Returns likewise. */
int cli_lines_load_columns(cli_lines *left, cli_lines *right, rill_context *ctx, const char *path);

/* Line i, 0 <= i < n; borrowed until the lines are freed. */
const char *cli_lines_get(const cli_lines *lines, int64_t i, size_t *length);

/* Accepts zeroed lines. */
void cli_lines_free(cli_lines *lines);

#endif
