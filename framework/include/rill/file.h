/* Opening and reading files. All input files are opened here.
 *
 * By default only regular files are accepted, since a pipe may block and a device be endless. Whole-file reads have a size limit.
 * Files are not memory-mapped: a mapped file that shrinks kills the process.
 * The context remembers the last 256 regular files, so programs can refuse to overwrite their inputs. Every error names the file.
 * Threads: one at a time per context. Stability: stable within a major version. */
#ifndef RILL_FILE_H
#define RILL_FILE_H

#include "rill/context.h"

RILL_C_BEGIN

typedef enum rill_file_kind {
    RILL_FILE_REGULAR, /* regular files only */
    RILL_FILE_PIPED,   /* regular files and anonymous pipes, such as a shell's <(command) */
    RILL_FILE_STREAM,  /* anything but directories; opening a named pipe waits for a writer */
} rill_file_kind;

typedef struct rill_file {
    rill_context *ctx; /* the context; NULL: the file is not open */
    const char *path;  /* path of the file, for messages; borrowed until close */
    int descriptor;    /* file descriptor; non-blocking (O_NONBLOCK) if opened as RILL_FILE_PIPED */
    int regular;
    uint64_t size; /* size of a regular file in bytes, when it was opened */
} rill_file;

/* Open a file. *out: closed by the caller; zeroed on failure.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such file) · RILL_ERR_IO (any other failure) */
RILL_API rill_status rill_file_open(rill_file *out, rill_context *ctx, const char *path, rill_file_kind kind);

/* Open the regular file `name` inside `folder`. Components of `name` must not be empty, ".." or symbolic links.
 * `name` is used in messages and must stay valid until close.
 *   Returns as rill_file_open(); RILL_ERR_ARGUMENT (invalid name) */
RILL_API rill_status rill_file_open_inside(rill_file *out, rill_context *ctx, const char *folder, const char *name);

/* Read `n` bytes at `offset` of a regular file.
 *   RILL_OK · RILL_ERR_IO (also: the file has become too short) */
RILL_API rill_status rill_file_get(const rill_file *file, uint64_t offset, size_t n, void *out);

/* Close the file; a zeroed struct is allowed. */
RILL_API void rill_file_close(rill_file *file);

/* Read a whole regular file of at most `limit` bytes into `out`. Content is replaced, and a leading byte order mark dropped.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (larger than the limit) · RILL_ERR_MEMORY */
RILL_API rill_status rill_file_read(rill_text *out, const char *path, size_t limit);

/* Default limit for text files. */
enum { RILL_FILE_TEXT_MAX = 1 << 30 };

/* *out = "directory/name", replacing its content.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_path_join(rill_text *out, const char *directory, const char *name);

/* Returns 1 if `path` is a remembered file of this context or another worker's, even under another name; else 0. */
RILL_API int rill_file_was_opened(const rill_context *ctx, const char *path);

RILL_C_END

#endif
