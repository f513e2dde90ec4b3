/* Output files; see cli_output.h. */
#include "cli_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CREATE_FLAGS = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC };

/* Resolve the path of a report. Returns NULL to write in place, because renaming would replace a device, break hard links or change the
 * owner. */
static char *replaceable_path(const char *path)
{
    struct stat info;
    if (lstat(path, &info)) return errno == ENOENT ? strdup(path) : NULL;
    if (!strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6) || stat(path, &info)) return NULL;
    if (!S_ISREG(info.st_mode) || info.st_nlink > 1 || info.st_uid != geteuid()) return NULL;
    return realpath(path, NULL);
}

/* Open the temporary file of a report. -1: write the report in place. */
static int open_partial(cli_output *output, const char *path)
{
    struct stat info;
    output->final_path = replaceable_path(path);
    if (!output->final_path) return -1;
    if (asprintf(&output->partial_path, "%s.%ld.partial", output->final_path, (long)getpid()) < 0) {
        output->partial_path = NULL;
        return -1;
    }
    /* register the path before the file exists, since a signal may come in between */
    cli_interrupt_set_unfinished(output->partial_path, 1);
    const int fd = open(output->partial_path, CREATE_FLAGS | O_NOFOLLOW, 0666);
    /* keep the permissions of the old file if possible */
    if (fd >= 0 && !stat(output->final_path, &info)) (void)!fchmod(fd, info.st_mode & 07777);
    if (fd < 0) cli_interrupt_set_unfinished(output->partial_path, 0);
    return fd;
}

static void free_paths(cli_output *output)
{
    free(output->final_path);
    free(output->partial_path);
    output->final_path = output->partial_path = NULL;
}

/* Whether the path means standard output, under any name. Opening it again would truncate a file to which the shell's ">>" appends. */
static int is_standard_output(const char *path)
{
    struct stat named, standard;
    return cli_file_is_standard(path) ||
           (!stat(path, &named) && !fstat(STDOUT_FILENO, &standard) && S_ISREG(named.st_mode) &&
            named.st_dev == standard.st_dev && named.st_ino == standard.st_ino);
}

int cli_output_open(cli_output *output, const rill_context *ctx, const char *path, cli_output_kind kind)
{
    const int standard = is_standard_output(path);
    memset(output, 0, offsetof(cli_output, data));
    if (!cli_file_is_standard(path) && rill_file_was_opened(ctx, path))
        return cli_fail("%s: this run reads the file, so it cannot be overwritten", path);
    if (!standard && !path[0]) return cli_fail("the name of an output file is empty");
    output->name = standard ? "standard output" : path;
    output->fd = STDOUT_FILENO;
    if (!standard) {
        output->fd = kind == CLI_REPORT ? open_partial(output, path) : -1;
        if (output->fd < 0) {
            free_paths(output);
            output->fd = open(path, CREATE_FLAGS, 0666);
        }
        if (output->fd < 0) {
            output->name = NULL;
            return cli_fail("cannot write %s: %s", path, strerror(errno));
        }
        output->is_owned = 1;
    }
    output->is_terminal = isatty(output->fd);
    return CLI_OK;
}

/* Remove an incomplete line from the end of a regular file, unless another process has written after it. */
static void truncate_line(const cli_output *output)
{
    struct stat info;
    const off_t offset = output->open_line_bytes ? lseek(output->fd, 0, SEEK_CUR) : -1;
    const off_t start = offset - (off_t)output->open_line_bytes;
    if (offset < 0 || fstat(output->fd, &info) || !S_ISREG(info.st_mode) || info.st_size != offset || start < 0) return;
    if (!ftruncate(output->fd, start)) lseek(output->fd, start, SEEK_SET);
}

static int set_failed(cli_output *output, int error)
{
    output->error = error;
    output->used = 0;
    return -1;
}

/* Wait if the descriptor is non-blocking: another process that shares standard output may have set this. */
static int wait_until_writable(const cli_output *output, int error)
{
    struct pollfd wanted = {.fd = output->fd, .events = POLLOUT};
    return (error == EAGAIN || error == EWOULDBLOCK) && poll(&wanted, 1, -1) > 0;
}

int cli_output_flush(cli_output *output)
{
    if (output->error) return -1;
    double start = cli_now();
    size_t done = 0;
    while (done < output->used) {
        ssize_t wrote = write(output->fd, output->data + done, output->used - done);
        if (wrote < 0 && (errno == EINTR || wait_until_writable(output, errno))) continue;
        if (wrote < 0) {
            const int error = errno;
            truncate_line(output);
            return set_failed(output, error);
        }
        const char *newline = memrchr(output->data + done, '\n', (size_t)wrote);
        output->open_line_bytes += (size_t)wrote;
        done += (size_t)wrote;
        if (newline) output->open_line_bytes = (size_t)(output->data + done - newline) - 1;
    }
    output->used = 0;
    output->seconds += cli_now() - start;
    return 0;
}

static void write_bytes(cli_output *output, const char *bytes, size_t length)
{
    output->is_begun |= length > 0;
    while (length > 0 && !output->error) {
        size_t free_bytes = CLI_OUTPUT_BUFFER - output->used;
        size_t part = length < free_bytes ? length : free_bytes;
        memcpy(output->data + output->used, bytes, part);
        output->used += part;
        bytes += part;
        length -= part;
        if (output->used == CLI_OUTPUT_BUFFER) cli_output_flush(output);
    }
}

void cli_output_write(cli_output *output, const char *bytes, size_t length)
{
    char chunk[CLI_TERMINAL_CHUNK];
    const char *end = bytes + length;
    if (!output->is_terminal) write_bytes(output, bytes, length);
    while (output->is_terminal && bytes < end) {
        const size_t n = cli_terminal_escape(&bytes, end, chunk);
        write_bytes(output, chunk, n);
    }
}

rill_status cli_output_bytes(void *output, const void *bytes, size_t length)
{
    cli_output_write(output, bytes, length);
    return ((const cli_output *)output)->error ? RILL_ERR_IO : RILL_OK;
}

void cli_output_printf(cli_output *output, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = rill_print_list(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text)
        set_failed(output, EOVERFLOW);
    else
        cli_output_write(output, text, (size_t)length);
}

/* Move a finished report to its path. An incomplete or empty report is deleted instead, and the old file stays. */
static void rename_partial(cli_output *output)
{
    if (!output->final_path) return;
    if (output->error || !output->is_begun || rename(output->partial_path, output->final_path)) {
        if (!output->error && output->is_begun) set_failed(output, errno);
        unlink(output->partial_path);
    }
    cli_interrupt_set_unfinished(output->partial_path, 0);
    free_paths(output);
}

int cli_output_close(cli_output *output)
{
    if (!output->name) return CLI_OK;
    cli_output_flush(output);
    /* Network file systems report some write errors only on close(). */
    if (output->is_owned && close(output->fd) && !output->error) set_failed(output, errno);
    output->is_owned = 0;
    rename_partial(output);
    if (!output->error) return CLI_OK;
    if (output->error == EPIPE) return CLI_CLOSED;
    if (!output->is_reported) cli_message("cannot write %s: %s", output->name, strerror(output->error));
    output->is_reported = 1;
    return CLI_FAILED;
}

void cli_output_discard(cli_output *output)
{
    if (!output->name) return;
    if (!output->error) output->error = ECANCELED;
    output->is_reported = 1;
    cli_output_close(output);
}

/* Return the number of bytes of the line break at `pos`; 0: there is none. n_bytes: number of bytes from `pos` on, at least 1. */
static size_t line_end_width(const char *pos, size_t n_bytes)
{
    const unsigned char *c = (const unsigned char *)pos;
    if ((c[0] >= '\n' && c[0] <= '\r') || (c[0] >= 0x1c && c[0] <= 0x1e)) return 1;
    if (n_bytes >= 2 && c[0] == 0xc2 && c[1] == 0x85) return 2;
    return n_bytes >= 3 && c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9) ? 3 : 0;
}

void cli_output_text(cli_output *output, const char *text, size_t length, cli_output_form form)
{
    size_t from = 0;
    for (size_t offset = 0; offset < length;) {
        const size_t end = form == CLI_CELL && text[offset] == '\t' ? 1
                                                                    : line_end_width(text + offset, length - offset);
        if (!end) {
            offset++;
            continue;
        }
        cli_output_write(output, text + from, offset - from);
        const char *number = end == 2 ? "\\u0085" : text[offset + end - 1] == '\xa8' ? "\\u2028" : "\\u2029";
        cli_output_write(output, form == CLI_JSON ? number : " ", form == CLI_JSON ? 6 : 1);
        from = offset += end;
    }
    cli_output_write(output, text + from, length - from);
}

/* --- checks that files differ ------------------------------------------------------------------------------------------ */

/* Existing files are compared by device and inode, others by directory and name. */
typedef struct identity {
    int is_known;
    struct stat info;     /* identity of the file, or of its directory if the file does not exist */
    const char *new_name; /* name of a file that does not exist yet, otherwise NULL */
} identity;

int cli_file_is_standard(const char *path)
{
    return !path || !strcmp(path, "-");
}

int cli_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int cli_file_is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static identity identify_new(const char *path)
{
    char directory[4096];
    const char *slash = strrchr(path, '/');
    identity id = {.new_name = slash ? slash + 1 : path};
    const int length = snprintf(directory, sizeof directory, "%.*s.", (int)(id.new_name - path), path);
    id.is_known = length < (int)sizeof directory && !stat(directory, &id.info);
    return id;
}

/* Ignores errors: a file that cannot be examined counts as different from every other file, and opening it reports the error. */
static identity identify(const cli_file *file)
{
    identity id = {0};
    if (cli_file_is_standard(file->path))
        id.is_known = !fstat(file->is_output ? STDOUT_FILENO : STDIN_FILENO, &id.info);
    else
        id.is_known = !stat(file->path, &id.info);
    return id.is_known || cli_file_is_standard(file->path) ? id : identify_new(file->path);
}

static int same(const identity *a, const identity *b)
{
    if (!a->is_known || !b->is_known || !a->new_name != !b->new_name) return 0;
    return a->info.st_dev == b->info.st_dev && a->info.st_ino == b->info.st_ino &&
           (!a->new_name || !strcmp(a->new_name, b->new_name));
}

int cli_file_same(const char *a, const char *b)
{
    identity x = identify(&(cli_file){.path = a}), y = identify(&(cli_file){.path = b});
    return !x.new_name && same(&x, &y);
}

/* Report an error if `b` is the same regular file as `a`. Terminals, sockets and pipes may be read and written. */
static int check_pair(const cli_file *a, const cli_file *b)
{
    identity x = identify(a), y = identify(b);
    if (a->is_output && cli_file_is_standard(a->path) && cli_file_is_standard(b->path))
        return cli_fail("%s and %s cannot both go to standard output: set a file for one of them", a->label, b->label);
    if (!same(&x, &y) || S_ISCHR(x.info.st_mode) || (!a->is_output && !x.new_name && !S_ISREG(x.info.st_mode)))
        return CLI_OK;
    return cli_fail("%s: %s and %s are the same file", cli_file_is_standard(b->path) ? "standard output" : b->path,
                    a->label, b->label);
}

int cli_files_check(const cli_file *files)
{
    for (const cli_file *b = files; b->label; b++)
        for (const cli_file *a = files; a->label; a++)
            if (a->path && b->path && b->is_output && a != b && (!a->is_output || a < b)) TRY(check_pair(a, b));
    return CLI_OK;
}
