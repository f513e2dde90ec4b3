/* file.h: a whole file in memory, and paths inside a model directory.
 *
 * Small text files are read into the context's memory; weights are mapped, so that loading a large model costs no second
 * copy of it. A mapped file must not be shortened while it is open (the system would then end the process on access).
 * Only regular files are taken. Errors name the path and the system's reason. One thread at a time per context.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_FILE_H
#define RILL_COMMON_FILE_H

#include "rill/context.h"

typedef struct rill_file {
    rill_context *ctx;
    const char *bytes; /* [size]; not NUL-terminated; never NULL while open */
    size_t size;
    int mapped;
} rill_file;

/* Read, or map, the file at `path`. What is read is text: a byte order mark at its beginning is dropped.
 *   out: on success a file the caller closes; on failure all zero
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such file) · RILL_ERR_IO (all else) · RILL_ERR_MEMORY */
rill_status rill_file_read(rill_file *out, rill_context *ctx, const char *path);
rill_status rill_file_map(rill_file *out, rill_context *ctx, const char *path);

/* Say that `size` bytes of the file at `at` were read: where it is mapped, they no longer count as memory of the process. They
 * can be read again. */
void rill_file_release(const rill_file *file, const char *at, size_t size);

/* Give the memory back; a zeroed file is allowed. */
void rill_file_close(rill_file *file);

/* *out = "directory/name", replacing what it held.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_path_join(rill_text *out, const char *directory, const char *name);

#endif
