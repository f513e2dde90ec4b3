/* Input of a run: the lines of one or several files in order, or one shard of them.
 *
 * Shard I of N has the lines whose first byte lies in the I-th of N equal ranges of all bytes. Each line belongs to one shard, so
 * joining the outputs of all shards in order gives the output of the whole, and shards run independently. Lines before the shard are
 * counted, so that line numbers and ids are those of the whole input. Shards need regular files, whose sizes are known. */
#ifndef CLI_INPUT_FILES_H
#define CLI_INPUT_FILES_H

#include "cli_input.h"

typedef struct cli_shard {
    int64_t part, n_parts; /* part counts from 1; n_parts 0: the whole input */
} cli_shard;

/* Read "I/N". CLI_OK, or CLI_FAILED after a message. */
int cli_shard_read(const char *text, cli_shard *out);

enum { CLI_PLACE_MAX = 512 };

typedef struct cli_input_files {
    cli_input input;  /* reader of the current file */
    int64_t first;    /* lines before this shard */
    int64_t lines;    /* lines returned so far */
    int64_t consumed; /* bytes of the lines returned so far */
    int64_t size;     /* bytes of the whole input or shard; -1: unknown */
    double seconds;   /* spent waiting and reading */
    /* private */
    rill_context *ctx;
    const char *const *path; /* [n] borrowed */
    int n, file_index;
    /* [n] number of the first line of each file, counted like `lines`; below 0 for the file in which the shard begins */
    int64_t *first_lines;
    int64_t file_offset;          /* offset of the current file in the whole input */
    int64_t begin_byte, end_byte; /* byte range of the shard; end_byte -1: no shard */
} cli_input_files;

/* Open `n` files. Without files, standard input is read; "-" is standard input too. All files are checked before the first is read.
 *   path: [n], borrowed until cli_input_files_close()
 *   CLI_OK, or CLI_FAILED after a message */
int cli_input_files_open(cli_input_files *source, rill_context *ctx, const char *const *path, int n,
                         const cli_shard *shard);

/* Return the next line; a rill_read_fn whose user is a cli_input_files. A line with a NUL byte is RILL_ERR_INPUT. */
rill_status cli_input_files_read(void *source, int may_block, const char **text, size_t *length);

/* Name the line of result `id` for a message: "line 3", or "b.txt: line 3" if there are several files. Returns `out`. */
const char *cli_input_files_place(const cli_input_files *source, int64_t id, char out[CLI_PLACE_MAX]);

/* Close the files and free memory; accepts a zeroed struct. */
void cli_input_files_close(cli_input_files *source);

#endif
