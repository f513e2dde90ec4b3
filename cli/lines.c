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

static int take(cli_lines *lines, const cli_input *input, const char *text, size_t length, int column)
{
    const char *tab = column && length ? memchr(text, '\t', length) : NULL;
    if (column && !tab)
        return cli_fail("%s: line %" PRId64 ": two columns with a tab between them were expected", input->name,
                        input->lines);
    if (column == 1) length = (size_t)(tab - text);
    if (column == 2) {
        length -= (size_t)(tab + 1 - text);
        text = tab + 1;
    }
    return append(lines, text, length);
}

int cli_lines_load(cli_lines *lines, rill_context *ctx, const char *path, int column)
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
            code = take(lines, &input, text, length, column);
    }
    cli_input_close(&input);
    if (code != CLI_OK) cli_lines_free(lines);
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
