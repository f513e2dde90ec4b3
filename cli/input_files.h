/* The inputs of a run: lines of one file or several, one behind the other, or of a part of them.
 *
 * Part I of N has the lines whose first byte lies in the I-th of N equal stretches of all bytes. So every line belongs to one part, the
 * outputs of all parts, joined in order, are those of the whole, and no part has to know another. What a part leaves out before its first
 * line is counted, so that numbers of lines and ids are those of the whole. Parts need regular files, whose sizes are known. */
#ifndef CLI_INPUT_FILES_H
#define CLI_INPUT_FILES_H

#include "cli_input.h"

typedef struct cli_shard {
    int64_t part, n_parts; /* from 1; of 0: all of it */
} cli_shard;

/* Read "I/N". CLI_OK, or CLI_FAILED after a message. */
int cli_shard_read(const char *text, cli_shard *out);

enum { CLI_PLACE_MAX = 512 };

typedef struct cli_input_files {
    cli_input input;  /* the reader of the file at work */
    int64_t first;    /* lines of the whole that lie before this part */
    int64_t lines;    /* given so far */
    int64_t consumed; /* bytes of these */
    int64_t size;     /* bytes of all that is read; -1: not known */
    double seconds;   /* spent waiting and reading */
    /* private */
    rill_context *ctx;
    const char *const *path; /* [n] borrowed */
    int n, file_index;
    int64_t *
        first_lines; /* [n] the first line of each file, counted as `lines` is; of the file that a part begins in below 0 */
    int64_t file_offset;          /* where the file at work begins among all bytes */
    int64_t begin_byte, end_byte; /* the part's bytes; end -1: all */
} cli_input_files;

/* Open `n` files; without any, standard input, and "-" is that too. What is no file is told before the first is read.
 *   path: [n], borrowed until cli_input_files_close()
 *   CLI_OK, or CLI_FAILED after a message */
int cli_input_files_open(cli_input_files *source, rill_context *ctx, const char *const *path, int n,
                         const cli_shard *shard);

/* The next line: a rill_read_fn with a cli_input_files as user. A line with a NUL byte is RILL_ERR_INPUT. */
rill_status cli_input_files_read(void *source, int may_block, const char **text, size_t *length);

/* How messages call the line of result `id`: "line 3", or "b.txt: line 3" where there are several files. */
const char *cli_input_files_place(const cli_input_files *source, int64_t id, char out[CLI_PLACE_MAX]);

/* Free all; accepts a zeroed one. */
void cli_input_files_close(cli_input_files *source);

#endif
