/* Reading files; see rill/file.h.
 *
 * Invariant: a rill_file is all zero or open. The root context has the list of opened files, under its lock. */
#include "rill/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "internal.h"

/* --- types of files ----------------------------------------------------------------------------------------------- */

static rill_status fail_errno(rill_context *ctx, const char *what, const char *path)
{
    rill_status status = errno == ENOENT || errno == ENOTDIR ? RILL_ERR_NOT_FOUND : RILL_ERR_IO;
    return rill_fail(ctx, status, "cannot %s %s: %s", what, path, strerror(errno));
}

static const char *kind_name(mode_t mode)
{
    return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/* RILL_FILE_PIPED accepts anonymous pipes (pipefs) too, such as the /dev/fd/63 of <(command). */
static int is_accepted_kind(int descriptor, mode_t mode, rill_file_kind kind)
{
    struct statfs system;
    if (S_ISREG(mode)) return 1;
    if (kind == RILL_FILE_STREAM) return !S_ISDIR(mode);
    return kind == RILL_FILE_PIPED && S_ISFIFO(mode) && fstatfs(descriptor, &system) == 0 &&
           system.f_type == PIPEFS_MAGIC;
}

static int is_opened_file(const rill_context *first, const struct stat *info)
{
    const uint64_t n = first->n_opened < RILL__MAX_OPENED ? first->n_opened : RILL__MAX_OPENED;
    for (uint64_t i = 0; i < n; i++)
        if (first->opened_files[i].device == info->st_dev && first->opened_files[i].number == info->st_ino) return 1;
    return 0;
}

/* Add a file to the list of opened files. The list is in the root context, since workers' contexts open files too. */
static void remember_file(rill_context *ctx, const struct stat *info)
{
    rill_context *first = ctx->root_ctx;
    RILL__LOCK_SCOPE(&first->lock);
    if (!is_opened_file(first, info))
        first->opened_files[first->n_opened++ % RILL__MAX_OPENED] = (rill__file_id){info->st_dev, info->st_ino};
}

/* Take ownership of the descriptor, which is closed on failure. */
static rill_status open_descriptor(rill_file *out, rill_context *ctx, const char *path, int descriptor,
                                   rill_file_kind kind)
{
    struct stat info;
    rill_status status = RILL_OK;
    if (fstat(descriptor, &info) != 0)
        status = fail_errno(ctx, "open", path);
    else if (!is_accepted_kind(descriptor, info.st_mode, kind))
        status = rill_fail(ctx, RILL_ERR_IO, "cannot open %s: it is %s, expected a %sfile", path,
                           kind_name(info.st_mode), kind == RILL_FILE_STREAM ? "" : "regular ");
    if (status < 0) {
        close(descriptor);
        return status;
    }
    const int regular = S_ISREG(info.st_mode);
    if (regular) remember_file(ctx, &info);
    *out = (rill_file){ctx, path, descriptor, regular, regular ? (uint64_t)info.st_size : 0};
    return RILL_OK;
}

/* --- opening files ------------------------------------------------------------------------------------------------ */

/* Callers add O_NONBLOCK, except for RILL_FILE_STREAM: otherwise opening a pipe would block until it has a writer. */
enum { READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY };

rill_status rill_file_open(rill_file *out, rill_context *ctx, const char *path, rill_file_kind kind)
{
    *out = (rill_file){0};
    const int descriptor = open(path, kind == RILL_FILE_STREAM ? READ_FLAGS : READ_FLAGS | O_NONBLOCK);
    return descriptor < 0 ? fail_errno(ctx, "open", path) : open_descriptor(out, ctx, path, descriptor, kind);
}

void rill_file_close(rill_file *file)
{
    if (file->ctx != NULL) close(file->descriptor);
    *file = (rill_file){0};
}

/* --- opening files inside a folder -------------------------------------------------------------------------------- */

enum { MAX_PART_BYTES = 255 };

/* Open one path component inside `folder`. more: 1: the component must be a folder. Returns a descriptor, or -1 with the error recorded. */
static int open_part(rill_context *ctx, int folder, const char *part, int more)
{
    const int descriptor = openat(folder, part, READ_FLAGS | O_NONBLOCK | O_NOFOLLOW | (more ? O_DIRECTORY : 0));
    if (descriptor >= 0) return descriptor;
    if (errno == ELOOP || (errno == ENOTDIR && more))
        rill_fail(ctx, RILL_ERR_IO, "\"%s\" is %s", part, more ? "a link, or not a directory" : "a link");
    else
        fail_errno(ctx, "open", part);
    return -1;
}

/* Bytes of the first component of a path; 0 if the component is empty, too long or "..". */
static size_t part_length(const char *name)
{
    const size_t length = strcspn(name, "/");
    return length > MAX_PART_BYTES || (length == 2 && memcmp(name, "..", 2) == 0) ? 0 : length;
}

rill_status rill_file_open_inside(rill_file *out, rill_context *ctx, const char *folder, const char *name)
{
    *out = (rill_file){0};
    int descriptor = open(folder, READ_FLAGS | O_DIRECTORY);
    if (descriptor < 0) return fail_errno(ctx, "open", folder);
    const char *pos = name;
    do {
        char part[MAX_PART_BYTES + 1];
        const size_t length = part_length(pos);
        if (length == 0) {
            close(descriptor);
            return rill_fail(ctx, RILL_ERR_ARGUMENT, "\"%s\" is not the name of a file in %s", name, folder);
        }
        memcpy(part, pos, length);
        part[length] = '\0';
        pos += length;
        const int more = *pos == '/', next = open_part(ctx, descriptor, part, more);
        pos += more;
        close(descriptor);
        if (next < 0) return rill_error_status(ctx);
        descriptor = next;
    } while (*pos != '\0');
    return open_descriptor(out, ctx, name, descriptor, RILL_FILE_REGULAR);
}

/* --- reading files ------------------------------------------------------------------------------------------------ */

static rill_status fail_shrunk(const rill_file *file)
{
    return rill_fail(file->ctx, RILL_ERR_IO, "cannot read %s: it became shorter while it was read", file->path);
}

rill_status rill_file_get(const rill_file *file, uint64_t offset, size_t n, void *out)
{
    char *to = out;
    while (n > 0) {
        const ssize_t got = pread(file->descriptor, to, n, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(file->ctx, "read", file->path);
        if (got == 0) return fail_shrunk(file);
        to += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return RILL_OK;
}

/* Read until the end of the file, not just file->size bytes, since files of /proc and /sys report size 0. */
static rill_status read_to_end(const rill_file *file, rill_text *out, size_t limit)
{
    if (file->size <= limit)
        RILL__TRY(RILL__GROW(out->ctx, out->data, out->capacity, (size_t)file->size + 2, file->path));
    while (file->size <= limit && out->length <= limit) {
        RILL__TRY(RILL__GROW(out->ctx, out->data, out->capacity, out->length + 2, file->path));
        const ssize_t got = read(file->descriptor, out->data + out->length, out->capacity - out->length - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(file->ctx, "read", file->path);
        out->length += (size_t)got;
        if (got > 0) continue;
        out->data[out->length] = '\0';
        return out->length < file->size ? fail_shrunk(file) : RILL_OK;
    }
    return rill_fail(out->ctx, RILL_ERR_FORMAT, "%s is larger than %zu bytes, the limit for such a file", file->path,
                     limit);
}

/* Remove a UTF-8 byte order mark. No format of other files begins with these bytes. */
static void drop_bom(rill_text *text)
{
    if (text->length < 3 || memcmp(text->data, "\xef\xbb\xbf", 3) != 0) return;
    text->length -= 3;
    memmove(text->data, text->data + 3, text->length + 1);
}

rill_status rill_file_read(rill_text *out, const char *path, size_t limit)
{
    rill_file file __attribute__((cleanup(rill_file_close)));
    rill_text_reset(out);
    RILL__TRY(rill_file_open(&file, out->ctx, path, RILL_FILE_REGULAR));
    const rill_status status = read_to_end(&file, out, limit);
    if (status < 0) rill_text_reset(out);
    if (status == RILL_OK) drop_bom(out);
    return status;
}

int rill__read_start(const char *path, char *out, size_t size)
{
    size_t length = 0;
    ssize_t got = -1;
    const int descriptor = open(path, READ_FLAGS | O_NONBLOCK);
    if (descriptor < 0) return 0;
    while (length + 1 < size &&
           ((got = read(descriptor, out + length, size - 1 - length)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0) length += (size_t)got;
    close(descriptor);
    out[length] = '\0';
    return got >= 0 && length > 0;
}

/* --- names of files ----------------------------------------------------------------------------------------------- */

int rill_file_was_opened(const rill_context *ctx, const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) return 0;
    RILL__LOCK_SCOPE(&ctx->root_ctx->lock);
    return is_opened_file(ctx->root_ctx, &info);
}

rill_status rill_path_join(rill_text *out, const char *directory, const char *name)
{
    const size_t length = strlen(directory);
    const char *separator = length > 0 && directory[length - 1] == '/' ? "" : "/";
    rill_text_reset(out);
    return rill_text_printf(out, "%s%s%s", directory, separator, name);
}
