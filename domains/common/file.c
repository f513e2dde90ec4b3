/* A whole file in memory.
 *
 * Invariant: a rill_file is either all zero or open; the size is taken once, when it is opened, and the bytes up to there
 * are all there is. Divisions: opening · reading · mapping · paths. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "utf8.h"

/* --- opening ------------------------------------------------------------------------------------------------------ */

static rill_status fail_errno(rill_context *ctx, const char *what, const char *path)
{
    rill_status status = errno == ENOENT || errno == ENOTDIR ? RILL_ERR_NOT_FOUND : RILL_ERR_IO;
    return rill_fail(ctx, status, "cannot %s %s: %s", what, path, strerror(errno));
}

static rill_status open_regular(rill_context *ctx, const char *path, int *descriptor, size_t *size)
{
    /* O_NONBLOCK: a pipe in place of a file must be refused, not waited for. It means nothing for regular files. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return fail_errno(ctx, "open", path);
    struct stat info;
    rill_status status = RILL_OK;
    if (fstat(fd, &info) != 0)
        status = fail_errno(ctx, "open", path);
    else if (!S_ISREG(info.st_mode))
        status = rill_fail(ctx, RILL_ERR_IO, "cannot open %s: not a regular file", path);
    else if ((uintmax_t)info.st_size > SIZE_MAX)
        status = rill_fail(ctx, RILL_ERR_IO, "cannot open %s: too large for this machine", path);
    if (status != RILL_OK) {
        close(fd);
        return status;
    }
    *descriptor = fd;
    *size = (size_t)info.st_size;
    return RILL_OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Read exactly `size` bytes; a file that became shorter meanwhile is an error, not a short text. */
static rill_status read_all(rill_context *ctx, const char *path, int fd, char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, bytes + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(ctx, "read", path);
        if (got == 0) return rill_fail(ctx, RILL_ERR_IO, "cannot read %s: it became shorter while it was read", path);
        done += (size_t)got;
    }
    return RILL_OK;
}

/* A byte order mark is no part of a text, and nothing else that is read whole begins so. Where there is one, the rest moves into a block
 * of its size. */
static rill_status drop_mark(rill_file *file, const char *path)
{
    const size_t length = rill_utf8_mark(file->bytes, file->size);
    if (length == 0) return RILL_OK;
    char *rest = rill_alloc(file->ctx, file->size - length);
    if (rest == NULL) return rill_fail_memory(file->ctx, file->size - length, path);
    memcpy(rest, file->bytes + length, file->size - length);
    rill_free(file->ctx, (void *)(uintptr_t)file->bytes, file->size);
    file->bytes = rest;
    file->size -= length;
    return RILL_OK;
}

rill_status rill_file_read(rill_file *out, rill_context *ctx, const char *path)
{
    memset(out, 0, sizeof *out);
    int fd;
    size_t size;
    rill_status status = open_regular(ctx, path, &fd, &size);
    if (status != RILL_OK) return status;
    char *bytes = rill_alloc(ctx, size);
    if (bytes == NULL) {
        status = rill_fail_memory(ctx, size, path);
    } else {
        status = read_all(ctx, path, fd, bytes, size);
        *out = (rill_file){.ctx = ctx, .bytes = bytes, .size = size};
        if (status == RILL_OK) status = drop_mark(out, path);
        if (status != RILL_OK) rill_file_close(out);
    }
    close(fd);
    return status;
}

/* --- mapping ------------------------------------------------------------------------------------------------------ */

rill_status rill_file_map(rill_file *out, rill_context *ctx, const char *path)
{
    memset(out, 0, sizeof *out);
    int fd;
    size_t size;
    rill_status status = open_regular(ctx, path, &fd, &size);
    if (status != RILL_OK) return status;
    if (size == 0) { /* cannot be mapped, and has nothing to map */
        *out = (rill_file){.ctx = ctx, .bytes = "", .mapped = 1};
    } else {
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            status = fail_errno(ctx, "map", path);
        else
            *out = (rill_file){.ctx = ctx, .bytes = bytes, .size = size, .mapped = 1};
    }
    close(fd);
    return status;
}

/* Whole pages: what else they hold is fetched anew, from the system's memory. A wish, so that failures mean nothing. */
void rill_file_release(const rill_file *file, const char *at, size_t size)
{
    if (!file->mapped || size == 0) return;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at / page * page;
    madvise((void *)from, (uintptr_t)at + size - from, MADV_DONTNEED);
}

void rill_file_close(rill_file *file)
{
    if (!file->mapped)
        rill_free(file->ctx, (void *)(uintptr_t)file->bytes, file->size);
    else if (file->size > 0)
        munmap((void *)(uintptr_t)file->bytes, file->size);
    memset(file, 0, sizeof *file);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

rill_status rill_path_join(rill_text *out, const char *directory, const char *name)
{
    rill_text_reset(out);
    size_t length = strlen(directory);
    const char *separator = length > 0 && directory[length - 1] == '/' ? "" : "/";
    return rill_text_printf(out, "%s%s%s", directory, separator, name);
}
