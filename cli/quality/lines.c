/* Lines in one block of memory; see lines.h. */
#include "lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void *grow_block(void *block, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity) return block;
    size_t wanted = *capacity ? 2 * *capacity : 1024;
    while (wanted < need) wanted *= 2;
    void *more = realloc(block, wanted * size);
    if (more) *capacity = wanted;
    return more;
}

rill_status cli_lines_add(cli_lines *lines, rill_context *ctx, const char *text, size_t length)
{
    char *data = grow_block(lines->data, &lines->capacity, lines->used + length + 1, 1);
    if (!data) return rill_fail_memory(ctx, lines->used + length + 1, "lines of a file");
    lines->data = data;
    size_t *start = grow_block(lines->start, &lines->start_capacity, (size_t)lines->n + 2, sizeof *start);
    if (!start) return rill_fail_memory(ctx, (size_t)lines->n * sizeof *start, "lines of a file");
    lines->start = start;
    memcpy(data + lines->used, text, length);
    start[lines->n++] = lines->used;
    start[lines->n] = lines->used += length;
    return RILL_OK;
}

rill_status cli_lines_split(const cli_lines *two_columns, rill_context *ctx, const char *path, cli_lines *first,
                            cli_lines *second)
{
    rill_status status = RILL_OK;
    for (int64_t i = 0; i < two_columns->n && status == RILL_OK; i++) {
        size_t length;
        const char *text = cli_lines_get(two_columns, i, &length), *tab = length ? memchr(text, '\t', length) : NULL;
        if (!tab)
            return rill_fail(ctx, RILL_ERR_INPUT, "%s: line %" PRId64 ": expected two columns separated by a tab", path,
                             i + 1);
        const size_t first_length = (size_t)(tab - text);
        status = cli_lines_add(first, ctx, text, first_length);
        if (status == RILL_OK) status = cli_lines_add(second, ctx, tab + 1, length - first_length - 1);
    }
    return status;
}

const char *cli_lines_get(const cli_lines *lines, int64_t i, size_t *length)
{
    *length = lines->start[i + 1] - lines->start[i];
    return lines->data + lines->start[i];
}

void cli_lines_free(cli_lines *lines)
{
    free(lines->data);
    free(lines->start);
    memset(lines, 0, sizeof *lines);
}
