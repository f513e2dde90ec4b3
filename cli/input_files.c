/* Input files of a run; see input_files.h.
 *
 * Divisions: shards · files · reading. */
#include "input_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

enum { CLI_SHARDS_MAX = 1000000 };

/* --- shards ------------------------------------------------------------------------------------------------------- */

int cli_shard_read(const char *text, cli_shard *out)
{
    char *end, *last;
    errno = 0;
    const long long part = strtoll(text, &end, 10), n_parts = *end == '/' ? strtoll(end + 1, &last, 10) : 0;
    if (end == text || *end != '/' || last == end + 1 || *last || errno)
        return cli_fail("--shard must be I/N, part I of N, as in 1/8 for the first of eight: found \"%s\"", text);
    if (n_parts < 1 || n_parts > CLI_SHARDS_MAX || part < 1 || part > n_parts)
        return cli_fail("--shard: part %lld of %lld does not exist: parts count from 1, and their maximum number "
                        "is %d",
                        part, n_parts, CLI_SHARDS_MAX);
    *out = (cli_shard){part, n_parts};
    return CLI_OK;
}

/* End of shard number `part`, in bytes. */
static int64_t part_end(int64_t bytes, int64_t part, int64_t n_parts)
{
    return bytes / n_parts * part + bytes % n_parts * part / n_parts;
}

/* Count the lines that end within the first `bytes` bytes of the open file. *is_line_end: whether the last of these bytes ends a line. */
static int count_lines(const cli_input_files *s, int64_t bytes, int64_t *lines, int *is_line_end)
{
    enum { CHUNK = 1 << 16 };
    char *data = malloc(CHUNK);
    *lines = 0;
    *is_line_end = 1;
    if (!data) return cli_fail_memory("lines of the input");
    for (int64_t done = 0; done < bytes;) {
        const size_t wanted = bytes - done < CHUNK ? (size_t)(bytes - done) : CHUNK;
        const ssize_t got = pread(s->input.fd, data, wanted, (off_t)(s->input.origin + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            cli_message("cannot read %s: %s", s->input.name,
                        got < 0 ? strerror(errno) : "it became shorter while it was read");
            free(data);
            return CLI_FAILED;
        }
        for (char *p = data, *end = data + got; (p = memchr(p, '\n', (size_t)(end - p))); p++) (*lines)++;
        *is_line_end = data[got - 1] == '\n';
        done += got;
    }
    free(data);
    return CLI_OK;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static const char *file_path(const cli_input_files *s, int i)
{
    return s->n > 0 ? s->path[i] : NULL;
}

static int64_t file_size(const char *path)
{
    struct stat info;
    if (cli_file_is_standard(path) ? fstat(STDIN_FILENO, &info) : stat(path, &info)) return -1;
    if (!S_ISREG(info.st_mode)) return -1;
    const off_t offset = cli_file_is_standard(path) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    return (int64_t)info.st_size - (offset > 0 ? (int64_t)offset : 0);
}

/* Check that all files can be opened, and add up their sizes. A pipe is opened later, since opening it waits for a writer. */
static int check_and_measure(cli_input_files *s)
{
    for (int i = 0; i < (s->n > 0 ? s->n : 1); i++) {
        const int64_t size = file_size(file_path(s, i));
        s->size = size < 0 || s->size < 0 ? -1 : s->size + size;
        if (i == 0 || (size < 0 && cli_file_is_standard(file_path(s, i)))) continue;
        struct stat info;
        if (!stat(s->path[i], &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) continue;
        cli_input probe;
        if (cli_input_open(&probe, s->ctx, s->path[i], RILL_FILE_STREAM) != CLI_OK) return CLI_FAILED;
        cli_input_close(&probe);
    }
    return CLI_OK;
}

static rill_status open_file(cli_input_files *s)
{
    s->first_lines[s->file_index] = s->lines;
    return cli_input_begin(&s->input, s->ctx, file_path(s, s->file_index), RILL_FILE_STREAM);
}

static void finish_file(cli_input_files *s)
{
    s->file_offset += s->input.size;
    s->consumed += s->input.consumed;
    s->seconds += s->input.seconds;
    cli_input_close(&s->input);
}

/* Skip to the first line that begins at byte `from` of the current file or later. Reading begins one byte earlier, to see whether a
 * line ends there. */
static int seek_line(cli_input_files *s, int64_t from)
{
    const char *text;
    size_t length;
    int64_t lines;
    int is_line_end, code = cli_input_skip(&s->input, from - 1);
    if (code != CLI_OK) return code;
    rill_status status = cli_input_read(&s->input, 1, &text, &length);
    if (status < 0 && status != RILL_ERR_INPUT) return cli_fail_context(s->ctx);
    const int64_t start = from - 1 + s->input.consumed;
    code = count_lines(s, start, &lines, &is_line_end);
    s->first += lines + !is_line_end;
    s->first_lines[s->file_index] = -(lines + !is_line_end);
    s->input.lines = 0;
    return code;
}

/* Skip the files and lines of earlier shards. */
static int seek_part(cli_input_files *s)
{
    int code = CLI_OK;
    while (code == CLI_OK && s->file_index + 1 < s->n && s->begin_byte >= s->file_offset + s->input.size) {
        int64_t lines;
        int is_line_end;
        code = count_lines(s, s->input.size, &lines, &is_line_end);
        s->first += lines + !is_line_end;
        finish_file(s);
        s->file_index++;
        if (code == CLI_OK) code = cli_exit_code(s->ctx, open_file(s));
    }
    return code == CLI_OK && s->begin_byte > s->file_offset ? seek_line(s, s->begin_byte - s->file_offset) : code;
}

int cli_input_files_open(cli_input_files *s, rill_context *ctx, const char *const *path, int n, const cli_shard *shard)
{
    *s = (cli_input_files){.ctx = ctx, .path = path, .n = n, .end_byte = -1, .input = {.fd = -1}};
    s->first_lines = calloc((size_t)n + 1, sizeof *s->first_lines);
    if (!s->first_lines) return cli_fail_memory("the inputs");
    int code = cli_exit_code(ctx, open_file(s));
    if (code == CLI_OK) code = check_and_measure(s);
    if (code != CLI_OK || shard->n_parts == 0) return code;
    if (s->size < 0) return cli_fail("--shard divides files by their size: name files, because a pipe has no size");
    s->begin_byte = part_end(s->size, shard->part - 1, shard->n_parts);
    s->end_byte = part_end(s->size, shard->part, shard->n_parts);
    code = seek_part(s);
    s->size = s->end_byte - s->begin_byte; /* approximate: a line that crosses a limit belongs to one shard */
    return code;
}

void cli_input_files_close(cli_input_files *s)
{
    if (!s->first_lines) return;
    cli_input_close(&s->input);
    free(s->first_lines);
    s->first_lines = NULL;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int is_past_part(const cli_input_files *s)
{
    return s->end_byte >= 0 && s->file_offset + s->input.skipped + s->input.consumed >= s->end_byte;
}

rill_status cli_input_files_read(void *user, int may_block, const char **text, size_t *length)
{
    cli_input_files *s = user;
    for (;;) {
        if (is_past_part(s)) return RILL_END_OF_INPUT;
        rill_status status = cli_input_read(&s->input, may_block, text, length);
        if (status != RILL_END_OF_INPUT || s->file_index + 1 >= s->n) {
            s->lines += status == RILL_OK || status == RILL_ERR_INPUT;
            return status;
        }
        finish_file(s);
        s->file_index++;
        status = open_file(s);
        if (status < 0) return status;
    }
}

const char *cli_input_files_place(const cli_input_files *s, int64_t id, char out[CLI_PLACE_MAX])
{
    int file = s->file_index;
    while (file > 0 && s->first_lines[file] > id) file--;
    if (s->n > 1)
        snprintf(out, CLI_PLACE_MAX, "%.400s: line %" PRId64, s->path[file], id - s->first_lines[file] + 1);
    else
        snprintf(out, CLI_PLACE_MAX, "line %" PRId64, id - s->first_lines[0] + 1);
    return out;
}
