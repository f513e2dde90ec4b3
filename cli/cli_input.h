/* Reads lines from a file, pipe or terminal, for rill_run().
 *
 * Lines end with "\n" or "\r\n"; NUL bytes are errors. While the engine has work, the reader does not wait for data (RILL_AGAIN). */
#pragma once

#include "cli.h"
#include "metric.h"
#include "utf8.h"

typedef struct cli_input {
    rill_context *ctx; /* context that keeps the error messages */
    const char *name;  /* name of the input, for messages */
    int fd, is_owned;
    int is_regular;
    int64_t size;     /* bytes of a regular file, else -1 */
    int64_t received; /* bytes read so far */
    int64_t consumed; /* bytes of the lines returned so far */
    /* regular file: offset in bytes at which reading began; above 0 if standard input had been read in part */
    int64_t origin;
    int64_t skipped; /* bytes that were skipped after `origin` */
    int64_t lines;   /* number of lines returned so far */
    double seconds;  /* seconds spent in waiting and reading */
    /* The members below are private. */
    char *data;
    size_t capacity, begin, scanned, end; /* unread bytes are [begin, end); [begin, scanned) has no newline */
    int at_end, is_past_bom;
    double deadline; /* cli_now() time until which an empty pipe is polled, before RILL_AGAIN is returned */
} cli_input;

/* Open `path`. NULL or "-" is standard input, and `kind` does not matter for it. */
int cli_input_open(cli_input *input, rill_context *ctx, const char *path, rill_file_kind kind);

/* As cli_input_open(), but without printing a message, for use during a run. RILL_OK · a negative status, with the error in `ctx` */
rill_status cli_input_begin(cli_input *input, rill_context *ctx, const char *path, rill_file_kind kind);

/* Return the next line; a rill_read_fn whose user is a cli_input. A line with a NUL byte is RILL_ERR_INPUT. */
rill_status cli_input_read(void *input, int may_block, const char **text, size_t *length);

/* Call take(user, ...) for each line while it returns CLI_OK. is_bad: the line has a NUL byte, and `line` is a message. */
int cli_input_each(cli_input *input, int (*take)(void *user, const char *line, size_t length, int is_bad), void *user);

/* Close the file and free the buffer; accepts a zeroed input. */
void cli_input_close(cli_input *input);

/* Read all lines of `path` ("-" is standard input). The caller frees them, even after an error. */
int cli_lines_load(cli_lines *lines, rill_context *ctx, const char *path);

/* Read the two tab-separated columns of `path`. The caller frees both, even after an error. */
int cli_lines_load_columns(cli_lines *first, cli_lines *second, rill_context *ctx, const char *path);

/* --- input files and shards -------------------------------------------------------------------------------------------- */

/* Input of a run: the lines of files in order, or shard I of N. The shard has the lines that begin in the I-th of N equal byte ranges.
 * Line numbers and ids count from the start of the whole input. Shards need regular files. */

typedef struct cli_shard {
    int64_t part, n_parts; /* part counts from 1; n_parts 0: the whole input */
} cli_shard;

/* Parse the option's value "I/N", shard I of N. */
int cli_shard_read(const char *text, cli_shard *out);

enum { CLI_PLACE_MAX = 512 };

typedef struct cli_input_files {
    cli_input input;  /* reader of the current file */
    int64_t first;    /* number of lines of the whole input before this shard */
    int64_t lines;    /* number of lines returned so far */
    int64_t consumed; /* bytes of the lines returned so far */
    int64_t size;     /* bytes of the whole input or shard; -1: unknown */
    double seconds;   /* seconds spent in waiting and reading */
    /* The members below are private. */
    rill_context *ctx;
    const char *const *path; /* [n] paths of the files, borrowed */
    int n, file_index;
    /* [n] index of each file's first line, counted from the shard's first line; negative for a file that begins before the shard */
    int64_t *first_lines;
    int64_t file_offset;          /* byte offset of the current file in the whole input */
    int64_t begin_byte, end_byte; /* byte range of the shard; end_byte -1: no shard */
} cli_input_files;

/* Open and check files. "-" or n = 0: standard input.
 *   path: [n], borrowed until cli_input_files_close() */
int cli_input_files_open(cli_input_files *source, rill_context *ctx, const char *const *path, int n,
                         const cli_shard *shard);

/* Return the next line; a rill_read_fn whose user is a cli_input_files. A line with a NUL byte is RILL_ERR_INPUT. */
rill_status cli_input_files_read(void *source, int may_block, const char **text, size_t *length);

/* Name the line of result `id` for a message: "line 3", or "b.txt: line 3" if there are several files. Returns `out`. */
const char *cli_input_files_place(const cli_input_files *source, int64_t id, char out[CLI_PLACE_MAX]);

/* Close the files and free memory; accepts a zeroed struct. */
void cli_input_files_close(cli_input_files *source);

/* Refuse a request: its text is replaced by the error message. Returns RILL_ERR_INPUT, which the reader of the run returns too. */
static inline rill_status cli_refuse_input(rill_request *request, const char *message)
{
    request->text = message;
    request->length = strlen(message);
    return RILL_ERR_INPUT;
}

/* --- lists of actions -------------------------------------------------------------------------------------------------- */

/* A growing array of actions. Zero-initialise it; its memory is freed with free(). */
typedef struct cli_actions {
    int32_t *action;
    size_t n, capacity;
} cli_actions;

/* Append an action. RILL_OK · RILL_ERR_MEMORY */
rill_status cli_actions_add(cli_actions *list, rill_context *ctx, int32_t action);

/* Append the actions of a text, or of space-separated ids if `has_ids`.
 *   RILL_OK · RILL_ERR_INPUT (not a text or an id of the model) · RILL_ERR_MEMORY */
rill_status cli_actions_read(cli_actions *list, const rill_model *model, rill_context *ctx, int has_ids,
                             rill_slice text);

/* --- n-best lists ------------------------------------------------------------------------------------------------------ */

/* Parsing of Moses n-best lists, "ID ||| OUTPUT ||| ... ||| SCORE", and of similar formats: lattices and numbered lines. */

enum { CLI_NBEST_FIELDS = 8 };

/* A parsed line. Its fields point into the line's text. */
typedef struct cli_nbest {
    int64_t id;
    int n; /* number of fields, including ID and OUTPUT: at least 2 */
    /* fields of the line; if there are more, the last element is the line's last field */
    rill_slice field[CLI_NBEST_FIELDS];
    rill_slice kept; /* " ||| ..." columns after OUTPUT; empty if there are none */
    int truncated;   /* 1: a field of the line marks the output as truncated */
} cli_nbest;

/* Parse an id of at most 18 digits and the separator `bar`. Returns their length in bytes, or 0. */
size_t cli_nbest_id(const char *line, size_t length, const char *bar, int64_t *id);

/* Split a line into fields. Returns 1, or 0 if it does not begin with "ID ||| ". */
int cli_nbest_read(const char *line, size_t length, cli_nbest *out);
