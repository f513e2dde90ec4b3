/* Reading whole files through the line reader, so that line ends mean the same everywhere. */
#include "lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"

static void *grown(void *block, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity) return block;
    size_t wanted = *capacity ? 2 * *capacity : 1024;
    while (wanted < need) wanted *= 2;
    void *more = realloc(block, wanted * size);
    if (more) *capacity = wanted;
    return more;
}

static int append(cli_lines *lines, const char *text, size_t length)
{
    char *data = grown(lines->data, &lines->capacity, lines->used + length + 1, 1);
    if (!data) return cli_fail_memory("lines of a file");
    lines->data = data;
    size_t *start = grown(lines->start, &lines->start_capacity, (size_t)lines->n + 2, sizeof *start);
    if (!start) return cli_fail_memory("lines of a file");
    lines->start = start;
    memcpy(data + lines->used, text, length);
    start[lines->n++] = lines->used;
    start[lines->n] = lines->used += length;
    return CLI_OK;
}

int cli_lines_load(cli_lines *lines, rill_context *ctx, const char *path)
{
    cli_input input;
    const char *text;
    size_t length;
    rill_status status = RILL_OK;
    memset(lines, 0, sizeof *lines);
    int code = cli_input_open(&input, ctx, path, RILL_FILE_PIPED);
    while (code == CLI_OK && (status = cli_input_read(&input, 1, &text, &length)) != RILL_END_OF_INPUT) {
        if (status == RILL_ERR_INPUT)
            code = cli_fail("%s: line %" PRId64 ": %s", input.name, input.lines, text);
        else if (status < 0)
            code = cli_fail_context(ctx);
        else
            code = append(lines, text, length);
    }
    cli_input_close(&input);
    if (code != CLI_OK) cli_lines_free(lines);
    return code;
}

static int split(const cli_lines *both, const char *path, cli_lines *left, cli_lines *right)
{
    int code = CLI_OK;
    for (int64_t i = 0; i < both->n && code == CLI_OK; i++) {
        size_t length;
        const char *text = cli_lines_get(both, i, &length), *tab = length ? memchr(text, '\t', length) : NULL;
        if (!tab)
            return cli_fail("%s: line %" PRId64 ": two columns with a tab between them were expected", path, i + 1);
        const size_t before = (size_t)(tab - text);
        code = append(left, text, before);
        if (code == CLI_OK) code = append(right, tab + 1, length - before - 1);
    }
    return code;
}

int cli_lines_load_columns(cli_lines *left, cli_lines *right, rill_context *ctx, const char *path)
{
    cli_lines both;
    memset(left, 0, sizeof *left);
    memset(right, 0, sizeof *right);
    int code = cli_lines_load(&both, ctx, path);
    if (code == CLI_OK) code = split(&both, path, left, right);
    cli_lines_free(&both);
    return code;
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
