/* Line reader: one growing buffer, read(2) and ppoll(2); see cli_input.h. */
#include "cli_input.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"

enum { CHUNK = 1 << 16 };
static const double GATHER_SECONDS = 0.002; /* seconds to wait for more data after the first bytes of a batch */

static rill_status open_standard(cli_input *input)
{
    struct stat info;
    if (fstat(input->fd, &info)) return rill_fail(input->ctx, RILL_ERR_IO, "%s: %s", input->name, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return rill_fail(input->ctx, RILL_ERR_IO, "%s: it is a directory: expected a file", input->name);
    input->is_regular = S_ISREG(info.st_mode);
    if (input->is_regular) {
        off_t offset = lseek(input->fd, 0, SEEK_CUR); /* the descriptor may be past its beginning */
        input->origin = offset > 0 ? (int64_t)offset : 0;
        input->size = (int64_t)info.st_size - input->origin;
    }
    return RILL_OK;
}

rill_status cli_input_begin(cli_input *input, rill_context *ctx, const char *path, rill_file_kind kind)
{
    rill_file file;
    *input = (cli_input){.ctx = ctx, .name = path, .fd = STDIN_FILENO, .size = -1};
    if (!path || !strcmp(path, "-")) {
        input->name = "standard input";
        return open_standard(input);
    }
    const rill_status status = rill_file_open(&file, ctx, path, kind);
    if (status < 0) return status;
    input->fd = file.descriptor;
    input->is_owned = 1;
    input->is_regular = file.regular;
    if (file.regular) input->size = (int64_t)file.size;
    return RILL_OK;
}

int cli_input_open(cli_input *input, rill_context *ctx, const char *path, rill_file_kind kind)
{
    return cli_exit_code(ctx, cli_input_begin(input, ctx, path, kind));
}

int cli_input_skip(cli_input *input, int64_t bytes)
{
    if (lseek(input->fd, (off_t)(input->origin + bytes), SEEK_SET) < 0)
        return cli_fail("%s: cannot seek in it: %s", input->name, strerror(errno));
    input->skipped = bytes;
    input->received = bytes;
    input->is_past_bom |= bytes > 0;
    return CLI_OK;
}

void cli_input_close(cli_input *input)
{
    if (input->is_owned) close(input->fd);
    free(input->data);
    *input = (cli_input){.fd = -1};
}

/* Return `length` bytes from `begin` as a line. `ending` is the length of the line break after them. */
static rill_status give_line(cli_input *input, size_t length, size_t ending, const char **text, size_t *size)
{
    const char *line = input->data + input->begin;
    input->begin += length + ending;
    input->scanned = input->begin;
    input->consumed += (int64_t)(length + ending);
    input->lines++;
    if (length > 0 && line[length - 1] == '\r') length--;
    if (length > 0 && memchr(line, '\0', length)) {
        *text = "the line has a NUL byte, as in UTF-16: expected UTF-8";
        *size = strlen(*text);
        return RILL_ERR_INPUT;
    }
    *text = line;
    *size = length;
    return RILL_OK;
}

/* Wait until the descriptor is readable, at most `seconds` (negative: without a limit). A closed pipe counts as readable. Returns 1 if
 * it is readable, 0 after `seconds`, and -1 after a signal that interrupts the run, or an error with errno. */
static int wait_readable(const cli_input *input, double seconds)
{
    struct pollfd wanted[] = {{.fd = input->fd, .events = POLLIN},
                              {.fd = cli_interrupt_descriptor(), .events = POLLIN}};
    struct timespec limit = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    int ready;
    do ready = ppoll(wanted, 2, seconds < 0 ? NULL : &limit, NULL);
    while (ready < 0 && errno == EINTR && !cli_interrupted());
    return ready > 0 && wanted[0].revents == 0 ? -1 : ready;
}

static rill_status fail_read(const cli_input *input)
{
    return rill_fail(input->ctx, RILL_ERR_IO, "cannot read %s: %s", input->name, strerror(errno));
}

static rill_status wait_for_data(cli_input *input, int may_block)
{
    double now = cli_now();
    int ready = wait_readable(input, may_block ? -1 : now < input->deadline ? input->deadline - now : 0);
    if (!ready) return RILL_AGAIN;
    if (ready < 0) return cli_interrupted() ? RILL_END_OF_INPUT : fail_read(input);
    if (may_block) input->deadline = cli_now() + GATHER_SECONDS;
    return RILL_OK;
}

/* Make space for at least CHUNK bytes after `end`. Overwrites the lines that were already returned. */
static rill_status reserve_chunk(cli_input *input)
{
    size_t unread = input->end - input->begin;
    if (input->begin > 0) {
        memmove(input->data, input->data + input->begin, unread);
        input->scanned -= input->begin;
        input->begin = 0;
        input->end = unread;
    }
    if (input->capacity - input->end >= CHUNK) return RILL_OK;
    size_t wanted = input->capacity ? 2 * input->capacity : 2 * CHUNK;
    char *data = wanted > input->capacity ? realloc(input->data, wanted) : NULL;
    if (!data) return rill_fail_memory(input->ctx, wanted, "a line of the input");
    input->data = data;
    input->capacity = wanted;
    return RILL_OK;
}

static rill_status fill(cli_input *input)
{
    rill_status status = reserve_chunk(input);
    if (status < 0) return status;
    ssize_t got;
    do got = read(input->fd, input->data + input->end, input->capacity - input->end);
    while (got < 0 && errno == EINTR);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? RILL_OK : fail_read(input);
    /* The file became shorter while it was read, so the unread bytes may be an incomplete line. */
    if (got == 0 && input->is_regular && input->received < input->size)
        return rill_fail(input->ctx, RILL_ERR_IO, "cannot read %s: it became shorter while it was read", input->name);
    if (got == 0) input->at_end = 1;
    input->end += (size_t)got;
    input->received += got;
    return RILL_OK;
}

static rill_status read_more(cli_input *input, int may_block)
{
    double start = cli_now();
    rill_status status = input->is_regular ? RILL_OK : wait_for_data(input, may_block);
    if (status == RILL_OK) status = fill(input);
    input->seconds += cli_now() - start;
    return status;
}

/* Skip a byte order mark at the beginning of the input. If only a part of it has been read, wait for the rest. */
static void skip_byte_order_mark(cli_input *input)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (input->is_past_bom) return;
    const size_t available = input->end - input->begin, length = available < 3 ? available : 3;
    const int differs = length > 0 && memcmp(input->data + input->begin, mark, length) != 0;
    input->is_past_bom = differs || length == 3;
    if (differs || length < 3) return;
    input->begin += length;
    input->scanned = input->begin;
    input->consumed += (int64_t)length;
}

rill_status cli_input_read(void *user, int may_block, const char **text, size_t *length)
{
    cli_input *input = user;
    for (;;) {
        skip_byte_order_mark(input);
        size_t unseen = input->end - input->scanned;
        char *newline = unseen ? memchr(input->data + input->scanned, '\n', unseen) : NULL;
        if (newline) return give_line(input, (size_t)(newline - input->data) - input->begin, 1, text, length);
        input->scanned = input->end;
        if (input->at_end) {
            if (input->begin == input->end) return RILL_END_OF_INPUT;
            return give_line(input, input->end - input->begin, 0, text, length);
        }
        rill_status status = read_more(input, may_block);
        if (status != RILL_OK) return status;
    }
}

/* --- whole files -------------------------------------------------------------------------------------------------- */

int cli_lines_load(cli_lines *lines, rill_context *ctx, const char *path)
{
    cli_input input;
    const char *text = NULL;
    size_t length = 0;
    rill_status status = RILL_OK;
    memset(lines, 0, sizeof *lines);
    int code = cli_input_open(&input, ctx, path, RILL_FILE_PIPED);
    while (code == CLI_OK && (status = cli_input_read(&input, 1, &text, &length)) != RILL_END_OF_INPUT) {
        if (status == RILL_ERR_INPUT)
            code = cli_fail("%s: line %" PRId64 ": %s", input.name, input.lines, text);
        else if (status < 0)
            code = cli_fail_context(ctx);
        else
            code = cli_exit_code(ctx, cli_lines_add(lines, ctx, text, length));
    }
    cli_input_close(&input);
    if (code != CLI_OK) cli_lines_free(lines);
    return code;
}

int cli_lines_load_columns(cli_lines *first, cli_lines *second, rill_context *ctx, const char *path)
{
    cli_lines both;
    memset(first, 0, sizeof *first);
    memset(second, 0, sizeof *second);
    int code = cli_lines_load(&both, ctx, path);
    if (code == CLI_OK) code = cli_exit_code(ctx, cli_lines_split(&both, ctx, path, first, second));
    cli_lines_free(&both);
    return code;
}
