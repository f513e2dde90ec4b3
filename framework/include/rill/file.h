/* Reading files: every file of a model, script or list is opened here.
 *
 * Only regular files are accepted, unless the caller passes another rill_file_kind: a path may name a pipe without a writer, or an endless
 * device. Reading a whole file has a size limit. Files are never mapped: reading a mapped page of a truncated file kills the process.
 *
 * The context remembers the latest 256 regular files opened, so that a program can refuse to overwrite its inputs. Every error names the
 * file.
 * One thread at a time per context. Stability: stable within a major version. */
#ifndef RILL_FILE_H
#define RILL_FILE_H

#include "rill/context.h"

RILL_C_BEGIN

typedef enum rill_file_kind {
    RILL_FILE_REGULAR, /* regular files only */
    RILL_FILE_PIPED,   /* regular files, and anonymous pipes, which have a writer, such as a shell's <(command) */
    RILL_FILE_STREAM,  /* anything but directories; opening a named pipe waits for a writer */
} rill_file_kind;

typedef struct rill_file {
    rill_context *ctx; /* the context; NULL: the file is not open */
    const char *path;  /* borrowed, for messages; must stay valid until close */
    int descriptor;    /* non-blocking (O_NONBLOCK) if the file was opened as RILL_FILE_PIPED */
    int regular;
    uint64_t size; /* bytes of a regular file when it was opened */
} rill_file;

/* Open the file at `path`.
 *   out: on success a file that the caller closes; on failure all zero
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such file) · RILL_ERR_IO (any other failure) */
RILL_API rill_status rill_file_open(rill_file *out, rill_context *ctx, const char *path, rill_file_kind kind);

/* Open the regular file `name` inside a folder: components separated by single slashes, none of them ".." or a symbolic link. Messages
 * call the file by `name`, which must stay valid until close.
 * Returns as rill_file_open(); RILL_ERR_ARGUMENT (invalid name) */
RILL_API rill_status rill_file_open_inside(rill_file *out, rill_context *ctx, const char *folder, const char *name);

/* Read `n` bytes at offset `offset` of a regular file. A file that has become too short is an error.
 *   RILL_OK · RILL_ERR_IO */
RILL_API rill_status rill_file_get(const rill_file *file, uint64_t offset, size_t n, void *out);

/* Close the file; a zeroed struct is allowed. */
RILL_API void rill_file_close(rill_file *file);

/* Read the whole regular file at `path`, of at most `limit` bytes, replacing the text, whose data is never NULL. A leading byte order mark
 * is dropped.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (larger than the limit) · RILL_ERR_MEMORY */
RILL_API rill_status rill_file_read(rill_text *out, const char *path, size_t limit);

/* Default limit for text files. */
enum { RILL_FILE_TEXT_MAX = 1 << 30 };

/* *out = "directory/name", replacing its content.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_path_join(rill_text *out, const char *directory, const char *name);

/* Returns 1 if `path` names a remembered regular file, possibly by another name, of this context or another worker's; else 0. */
RILL_API int rill_file_was_opened(const rill_context *ctx, const char *path);

RILL_C_END

#endif
