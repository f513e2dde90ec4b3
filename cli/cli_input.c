/* Line reader: one growing buffer, read(2) and ppoll(2); see cli_input.h. */
#include "cli_input.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

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
        off_t offset = lseek(input->fd, 0, SEEK_CUR); /* standard input may have been read in part already */
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
    TRY(rill_file_open(&file, ctx, path, kind));
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

void cli_input_close(cli_input *input)
{
    if (input->is_owned) close(input->fd);
    free(input->data);
    *input = (cli_input){.fd = -1};
}

/* Return the next `length` bytes of the buffer as a line. ending: number of bytes of the line break after them. */
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

/* Wait until the descriptor is readable or its pipe is closed. Negative `seconds`: no limit. Returns 1; 0 on timeout; -1 on a signal, or on
 * an error with errno. */
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
    TRY(reserve_chunk(input));
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

/* Skip a byte order mark at the beginning of the input. Waits for the rest of a partial one. */
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
        TRY(read_more(input, may_block));
    }
}

int cli_input_each(cli_input *input, int (*take)(void *user, const char *line, size_t length, int is_bad), void *user)
{
    const char *line;
    size_t length;
    rill_status status;
    while ((status = cli_input_read(input, 1, &line, &length)) != RILL_END_OF_INPUT) {
        const int is_bad = status == RILL_ERR_INPUT;
        if (status < 0 && !is_bad) return cli_fail_context(input->ctx);
        TRY(take(user, line, length, is_bad));
    }
    return CLI_OK;
}

/* --- whole files -------------------------------------------------------------------------------------------------- */

int cli_lines_load(cli_lines *lines, rill_context *ctx, const char *path)
{
    SCOPED(cli_input_close) cli_input input = {0};
    const char *text;
    size_t length;
    rill_status status;
    memset(lines, 0, sizeof *lines);
    TRY(cli_input_open(&input, ctx, path, RILL_FILE_PIPED));
    while ((status = cli_input_read(&input, 1, &text, &length)) != RILL_END_OF_INPUT) {
        if (status == RILL_ERR_INPUT) return cli_fail("%s: line %" PRId64 ": %s", input.name, input.lines, text);
        if (status < 0) return cli_fail_context(ctx);
        TRY(cli_exit_code(ctx, cli_lines_add(lines, ctx, text, length)));
    }
    return CLI_OK;
}

int cli_lines_load_columns(cli_lines *first, cli_lines *second, rill_context *ctx, const char *path)
{
    SCOPED(cli_lines_free) cli_lines both = {0};
    memset(first, 0, sizeof *first);
    memset(second, 0, sizeof *second);
    TRY(cli_lines_load(&both, ctx, path));
    return cli_exit_code(ctx, cli_lines_split(&both, ctx, path, first, second));
}

/* --- input files and shards -------------------------------------------------------------------------------------------- */

enum { CLI_SHARDS_MAX = 1000000 };

/* --- shards ------------------------------------------------------------------------------------------------------- */

int cli_shard_read(const char *text, cli_shard *out)
{
    char *end, *last;
    errno = 0;
    const long long part = strtoll(text, &end, 10), n_parts = *end == '/' ? strtoll(end + 1, &last, 10) : 0;
    if (end == text || *end != '/' || last == end + 1 || *last || text[strspn(text, "/-0123456789")] || errno)
        return cli_fail("--shard must be I/N, part I of N, as in 1/8 for the first of eight: found \"%s\"", text);
    if (n_parts < 1 || n_parts > CLI_SHARDS_MAX || part < 1 || part > n_parts)
        return cli_fail("--shard: part %lld of %lld does not exist: parts count from 1, and their maximum number is %d",
                        part, n_parts, CLI_SHARDS_MAX);
    *out = (cli_shard){part, n_parts};
    return CLI_OK;
}

/* Return the byte offset at which shard number `part` ends, in an input of `bytes` bytes. */
static int64_t part_end(int64_t bytes, int64_t part, int64_t n_parts)
{
    return bytes / n_parts * part + bytes % n_parts * part / n_parts;
}

/* Count the lines that begin within the file's first `bytes` bytes. */
static int count_lines(const cli_input_files *s, int64_t bytes, int64_t *lines)
{
    char data[CHUNK], last = '\n';
    *lines = 0;
    for (int64_t done = 0; done < bytes;) {
        const size_t wanted = bytes - done < CHUNK ? (size_t)(bytes - done) : CHUNK;
        const ssize_t got = pread(s->input.fd, data, wanted, (off_t)(s->input.origin + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return cli_fail("cannot read %s: %s", s->input.name,
                            got < 0 ? strerror(errno) : "it became shorter while it was read");
        for (char *p = data, *end = data + got; (p = memchr(p, '\n', (size_t)(end - p))); p++) (*lines)++;
        last = data[got - 1];
        done += got;
    }
    *lines += last != '\n';
    return CLI_OK;
}

/* --- opening input files ------------------------------------------------------------------------------------------ */

/* Check that all files can be opened, and add up their sizes. Pipes are opened later: opening waits for a writer. */
static int check_and_measure(cli_input_files *s)
{
    s->size = s->input.size;
    for (int i = 1; i < s->n; i++) {
        struct stat info;
        cli_input probe = {.fd = -1, .size = -1};
        const int is_pipe = !cli_file_is_standard(s->path[i]) && !stat(s->path[i], &info) && !S_ISREG(info.st_mode) &&
                            !S_ISDIR(info.st_mode);
        if (!is_pipe && cli_input_open(&probe, s->ctx, s->path[i], RILL_FILE_STREAM) != CLI_OK) return CLI_FAILED;
        s->size = probe.size < 0 || s->size < 0 ? -1 : s->size + probe.size;
        cli_input_close(&probe);
    }
    return CLI_OK;
}

static rill_status open_file(cli_input_files *s)
{
    s->first_lines[s->file_index] = s->lines;
    return cli_input_begin(&s->input, s->ctx, s->n > 0 ? s->path[s->file_index] : NULL, RILL_FILE_STREAM);
}

static void finish_file(cli_input_files *s)
{
    s->file_offset += s->input.size;
    s->consumed += s->input.consumed;
    s->seconds += s->input.seconds;
    cli_input_close(&s->input);
}

/* Skip to the first line that begins at byte `from` or later. The byte before `from` shows whether a line begins at `from`. */
static int seek_line(cli_input_files *s, int64_t from)
{
    const char *text;
    size_t length;
    int64_t lines;
    cli_input *input = &s->input;
    if (lseek(input->fd, (off_t)(input->origin + from - 1), SEEK_SET) < 0)
        return cli_fail("%s: cannot seek in it: %s", input->name, strerror(errno));
    input->skipped = input->received = from - 1;
    input->is_past_bom |= from > 1;
    rill_status status = cli_input_read(input, 1, &text, &length);
    if (status < 0 && status != RILL_ERR_INPUT) return cli_fail_context(s->ctx);
    const int64_t start = from - 1 + input->consumed;
    TRY(count_lines(s, start, &lines));
    s->first += lines;
    s->first_lines[s->file_index] = -lines;
    input->lines = 0;
    return CLI_OK;
}

/* Skip the files and lines of earlier shards. */
static int seek_part(cli_input_files *s)
{
    while (s->file_index + 1 < s->n && s->begin_byte >= s->file_offset + s->input.size) {
        int64_t lines;
        TRY(count_lines(s, s->input.size, &lines));
        s->first += lines;
        finish_file(s);
        s->file_index++;
        TRY(cli_exit_code(s->ctx, open_file(s)));
    }
    return s->begin_byte > s->file_offset ? seek_line(s, s->begin_byte - s->file_offset) : CLI_OK;
}

int cli_input_files_open(cli_input_files *s, rill_context *ctx, const char *const *path, int n, const cli_shard *shard)
{
    *s = (cli_input_files){.ctx = ctx, .path = path, .n = n, .end_byte = -1, .input = {.fd = -1}};
    s->first_lines = calloc((size_t)n + 1, sizeof *s->first_lines);
    if (!s->first_lines) return cli_fail_memory("the inputs");
    TRY(cli_exit_code(ctx, open_file(s)));
    TRY(check_and_measure(s));
    if (shard->n_parts == 0) return CLI_OK;
    if (s->size < 0) return cli_fail("--shard divides files by their size: name files, because a pipe has no size");
    s->begin_byte = part_end(s->size, shard->part - 1, shard->n_parts);
    s->end_byte = part_end(s->size, shard->part, shard->n_parts);
    TRY(seek_part(s));
    s->size = s->end_byte - s->begin_byte; /* approximate, because a line that crosses a limit belongs to one shard */
    return CLI_OK;
}

void cli_input_files_close(cli_input_files *s)
{
    if (!s->first_lines) return;
    cli_input_close(&s->input);
    free(s->first_lines);
    s->first_lines = NULL;
}

/* --- reading input files ------------------------------------------------------------------------------------------ */

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

/* --- lists of actions -------------------------------------------------------------------------------------------------- */

static rill_status reserve_actions(cli_actions *list, rill_context *ctx, size_t more)
{
    if (cli_grow(&list->action, &list->capacity, list->n + more, sizeof *list->action)) return RILL_OK;
    return rill_fail_memory(ctx, (list->n + more) * sizeof *list->action, "actions");
}

rill_status cli_actions_add(cli_actions *list, rill_context *ctx, int32_t action)
{
    TRY(reserve_actions(list, ctx, 1));
    list->action[list->n++] = action;
    return RILL_OK;
}

static rill_status read_ids(cli_actions *list, rill_context *ctx, rill_slice text)
{
    for (rill_slice word; (word = rill_next_word(&text)).length > 0;) {
        int64_t id = 0;
        size_t i = 0;
        while (i < word.length && rill_is_digit(word.data[i]) && id <= INT32_MAX) id = 10 * id + (word.data[i++] - '0');
        if (i < word.length || id > INT32_MAX)
            return rill_fail(ctx, RILL_ERR_INPUT, "\"%.*s\" is not an action id",
                             word.length > 20 ? 20 : (int)word.length, word.data);
        TRY(cli_actions_add(list, ctx, (int32_t)id));
    }
    return RILL_OK;
}

rill_status cli_actions_read(cli_actions *list, const rill_model *model, rill_context *ctx, int has_ids,
                             rill_slice text)
{
    int32_t n = 0;
    if (has_ids) return read_ids(list, ctx, text);
    TRY(reserve_actions(list, ctx, text.length + 1));
    int32_t unused = (int32_t)(list->capacity - list->n);
    TRY(rill_model_tokenize(model, ctx, text.data, text.length, list->action + list->n, unused, &n));
    if (n > unused) {
        TRY(reserve_actions(list, ctx, (size_t)n));
        TRY(rill_model_tokenize(model, ctx, text.data, text.length, list->action + list->n, n, &n));
    }
    list->n += (size_t)n;
    return RILL_OK;
}

/* --- n-best lists ------------------------------------------------------------------------------------------------------ */

static const char BAR[] = " ||| ";

size_t cli_nbest_id(const char *line, size_t length, const char *bar, int64_t *id)
{
    size_t digits = 0;
    const size_t width = strlen(bar);
    int64_t number = 0;
    while (digits < length && digits < 18 && isdigit((unsigned char)line[digits]))
        number = 10 * number + (line[digits++] - '0');
    if (digits == 0 || length < digits + width || memcmp(line + digits, bar, width) != 0) return 0;
    *id = number;
    return digits + width;
}

int cli_nbest_read(const char *line, size_t length, cli_nbest *out)
{
    static const char mark[] = " truncated= 1";
    const char *const end = line + length, *bar;
    out->n = 0;
    if (!cli_nbest_id(line, length, BAR, &out->id)) return 0;
    do {
        bar = memmem(line, (size_t)(end - line), BAR, sizeof BAR - 1);
        const rill_slice field = {line, (size_t)((bar ? bar : end) - line)};
        out->field[out->n < CLI_NBEST_FIELDS ? out->n++ : out->n - 1] = field;
        line = bar ? bar + sizeof BAR - 1 : end;
    } while (bar);
    out->kept.data = out->field[1].data + out->field[1].length;
    out->kept.length = (size_t)(end - out->kept.data);
    out->truncated = memmem(out->kept.data, out->kept.length, mark, sizeof mark - 1) != NULL;
    return 1;
}
