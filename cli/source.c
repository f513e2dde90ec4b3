/* The inputs of a run; source.h.
 *
 * Divisions: parts · files · reading. */
#include "source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

enum { CLI_SHARDS_MAX = 1000000 };

/* --- parts -------------------------------------------------------------------------------------------------------- */

int cli_shard_read(const char *text, cli_shard *out)
{
    char *end, *last;
    errno = 0;
    const long long part = strtoll(text, &end, 10), of = *end == '/' ? strtoll(end + 1, &last, 10) : 0;
    if (end == text || *end != '/' || last == end + 1 || *last || errno)
        return cli_fail("--shard: \"%s\" is not I/N, part I of N: 1/8 is the first of eight", text);
    if (of < 1 || of > CLI_SHARDS_MAX || part < 1 || part > of)
        return cli_fail("--shard: there is no part %lld of %lld: parts are counted from 1, and there may be %d", part,
                        of, CLI_SHARDS_MAX);
    *out = (cli_shard){part, of};
    return CLI_OK;
}

/* Where the first `part` of `of` equal stretches end. */
static int64_t stretch(int64_t bytes, int64_t part, int64_t of)
{
    return bytes / of * part + bytes % of * part / of;
}

/* Lines that end within the first `bytes` bytes of the open file; *whole: whether nothing follows the last of them there. */
static int count_lines(const cli_source *s, int64_t bytes, int64_t *lines, int *whole)
{
    enum { CHUNK = 1 << 16 };
    char *data = malloc(CHUNK);
    *lines = 0;
    *whole = 1;
    if (!data) return cli_fail_memory("lines of the input");
    for (int64_t done = 0; done < bytes;) {
        const size_t wanted = bytes - done < CHUNK ? (size_t)(bytes - done) : CHUNK;
        const ssize_t got = pread(s->input.fd, data, wanted, (off_t)(s->input.origin + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            cli_say("%s: cannot be read: %s", s->input.name, got < 0 ? strerror(errno) : "it became shorter");
            free(data);
            return CLI_FAILED;
        }
        for (char *p = data, *end = data + got; (p = memchr(p, '\n', (size_t)(end - p))); p++) (*lines)++;
        *whole = data[got - 1] == '\n';
        done += got;
    }
    free(data);
    return CLI_OK;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static const char *path_of(const cli_source *s, int i)
{
    return s->n > 0 ? s->path[i] : NULL;
}

static int64_t size_of(const char *path)
{
    struct stat info;
    if (cli_file_standard(path) ? fstat(STDIN_FILENO, &info) : stat(path, &info)) return -1;
    if (!S_ISREG(info.st_mode)) return -1;
    const off_t at = cli_file_standard(path) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    return (int64_t)info.st_size - (at > 0 ? (int64_t)at : 0);
}

/* All files are there to be opened; one that waits for a writer is left for its turn. */
static int measure(cli_source *s)
{
    for (int i = 0; i < (s->n > 0 ? s->n : 1); i++) {
        const int64_t size = size_of(path_of(s, i));
        s->size = size < 0 || s->size < 0 ? -1 : s->size + size;
        if (i == 0 || (size < 0 && cli_file_standard(path_of(s, i)))) continue;
        struct stat info;
        if (!stat(s->path[i], &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) continue;
        cli_input probe;
        if (cli_input_open(&probe, s->ctx, s->path[i], RILL_FILE_STREAM) != CLI_OK) return CLI_FAILED;
        cli_input_close(&probe);
    }
    return CLI_OK;
}

static rill_status open_file(cli_source *s)
{
    s->begins[s->at] = s->lines;
    return cli_input_begin(&s->input, s->ctx, path_of(s, s->at), RILL_FILE_STREAM);
}

static void leave_file(cli_source *s)
{
    s->base += s->input.size;
    s->consumed += s->input.consumed;
    s->seconds += s->input.seconds;
    cli_input_close(&s->input);
}

/* Go to the first line that begins at or behind byte `from` of the file at work. The byte before tells whether one begins there. */
static int seek_line(cli_source *s, int64_t from)
{
    const char *text;
    size_t length;
    int64_t lines;
    int whole, code = cli_input_skip(&s->input, from - 1);
    if (code != CLI_OK) return code;
    rill_status status = cli_input_read(&s->input, 1, &text, &length);
    if (status < 0 && status != RILL_ERR_INPUT) return cli_fail_context(s->ctx);
    const int64_t start = from - 1 + s->input.consumed;
    code = count_lines(s, start, &lines, &whole);
    s->first += lines + !whole;
    s->begins[s->at] = -(lines + !whole);
    s->input.lines = 0;
    return code;
}

/* Leave out what belongs to the parts before: whole files, then lines. */
static int seek_part(cli_source *s)
{
    int code = CLI_OK;
    while (code == CLI_OK && s->at + 1 < s->n && s->from >= s->base + s->input.size) {
        int64_t lines;
        int whole;
        code = count_lines(s, s->input.size, &lines, &whole);
        s->first += lines + !whole;
        leave_file(s);
        s->at++;
        if (code == CLI_OK) code = cli_checked(s->ctx, open_file(s));
    }
    return code == CLI_OK && s->from > s->base ? seek_line(s, s->from - s->base) : code;
}

int cli_source_open(cli_source *s, rill_context *ctx, const char *const *path, int n, const cli_shard *shard)
{
    *s = (cli_source){.ctx = ctx, .path = path, .n = n, .end = -1, .input = {.fd = -1}};
    s->begins = calloc((size_t)n + 1, sizeof *s->begins);
    if (!s->begins) return cli_fail_memory("the inputs");
    int code = cli_checked(ctx, open_file(s));
    if (code == CLI_OK) code = measure(s);
    if (code != CLI_OK || shard->of == 0) return code;
    if (s->size < 0) return cli_fail("--shard divides files by their size: name files, a pipe has none");
    s->from = stretch(s->size, shard->part - 1, shard->of);
    s->end = stretch(s->size, shard->part, shard->of);
    code = seek_part(s);
    s->size = s->end - s->from; /* nearly: lines are whole */
    return code;
}

void cli_source_close(cli_source *s)
{
    if (!s->begins) return;
    cli_input_close(&s->input);
    free(s->begins);
    s->begins = NULL;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int is_over(const cli_source *s)
{
    return s->end >= 0 && s->base + s->input.skipped + s->input.consumed >= s->end;
}

rill_status cli_source_read(void *user, int may_block, const char **text, size_t *length)
{
    cli_source *s = user;
    for (;;) {
        if (is_over(s)) return RILL_END_OF_INPUT;
        rill_status status = cli_input_read(&s->input, may_block, text, length);
        if (status != RILL_END_OF_INPUT || s->at + 1 >= s->n) {
            s->lines += status == RILL_OK || status == RILL_ERR_INPUT;
            return status;
        }
        leave_file(s);
        s->at++;
        status = open_file(s);
        if (status < 0) return status;
    }
}

const char *cli_source_place(const cli_source *s, int64_t id, char out[CLI_PLACE_MAX])
{
    int file = s->at;
    while (file > 0 && s->begins[file] > id) file--;
    if (s->n > 1)
        snprintf(out, CLI_PLACE_MAX, "%.400s: line %" PRId64, s->path[file], id - s->begins[file] + 1);
    else
        snprintf(out, CLI_PLACE_MAX, "line %" PRId64, id - s->begins[0] + 1);
    return out;
}
