/* Files that are read: every file of a model, script or list is opened here.
 *
 * In a file's place may stand anything: a pipe that nobody writes to, a device without an end, more than memory holds, a file that gets
 * shorter while it is read. So regular files alone are taken unless the caller says otherwise, what is read whole has a limit, and
 * nothing is mapped, since touching a map of what is gone ends the process.
 * The context remembers the latest 256 regular files that were opened, so that a program can refuse to write over one of them.
 * Every error names the file. One thread at a time per context. Stability: stable within a major version. */
#ifndef RILL_FILE_H
#define RILL_FILE_H

#include "rill/context.h"

RILL_C_BEGIN

typedef enum rill_file_kind {
    RILL_FILE_REGULAR, /* a regular file and nothing else */
    RILL_FILE_PIPED, /* or a pipe that has no name of its own, as a shell's <(command), which has somebody who writes */
    RILL_FILE_STREAM, /* all but directories; a named pipe is waited for until somebody writes to it */
} rill_file_kind;

typedef struct rill_file {
    rill_context *ctx; /* NULL: not open */
    const char *path;  /* the caller's, for messages; needed until the file is closed */
    int descriptor;    /* does not wait (O_NONBLOCK) where the file is RILL_FILE_PIPED */
    int regular;
    uint64_t size; /* of a regular file, when it was opened */
} rill_file;

/* Open the file at `path`.
 *   out: on success a file that the caller closes; on failure all zero
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such file) · RILL_ERR_IO (all else) */
RILL_API rill_status rill_file_open(rill_file *out, rill_context *ctx, const char *path, rill_file_kind kind);

/* Open the regular file `name`, parts with one slash between, inside a folder and nowhere else: no part is "..", and none is a
 * symbolic link, since a link may point anywhere. Messages call the file by `name`, which stays until it is closed.
 * Returns as rill_file_open(); RILL_ERR_ARGUMENT (no such name) */
RILL_API rill_status rill_file_open_inside(rill_file *out, rill_context *ctx, const char *folder, const char *name);

/* The `n` bytes from byte `at` on of a regular file. A file that has become shorter than that is an error.
 *   RILL_OK · RILL_ERR_IO */
RILL_API rill_status rill_file_get(const rill_file *file, uint64_t at, size_t n, void *out);

/* Accepts a zeroed file. */
RILL_API void rill_file_close(rill_file *file);

/* The whole regular file at `path`, which may have `limit` bytes, in place of what the text held; its data is never NULL.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (larger than the limit) · RILL_ERR_MEMORY */
RILL_API rill_status rill_file_read(rill_text *out, const char *path, size_t limit);

/* For texts that no smaller limit is known for. */
enum { RILL_FILE_TEXT_MAX = 1 << 30 };

/* *out = "directory/name", in place of what it held.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_path_join(rill_text *out, const char *directory, const char *name);

/* Whether `path` is one of the regular files that were opened, under whatever name, by this context or another of the same workers. */
RILL_API int rill_file_was_opened(const rill_context *ctx, const char *path);

RILL_C_END

#endif
