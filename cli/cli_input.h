/* Lines from a file, a pipe or a terminal, in the way rill_run() wants them.
 *
 * A line ends with "\n", "\r\n" or the end of the file; it may be of any length and hold any bytes but NUL. A byte order mark at the
 * beginning is dropped, here and so in all that is read by lines (references, pairs of files). A regular file is read as needed, and one
 * that becomes shorter meanwhile is an error behind the lines that were whole. Elsewhere the reader never waits while the engine has
 * work: it answers RILL_AGAIN. When it does wait and data comes, it allows two milliseconds for more, so that a fast writer fills a batch
 * before decoding starts. Where Ctrl-C is heeded (interrupt.h), it ends a wait as the end of the input does. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdint.h>

#include "cli.h"
#include "lines.h"

typedef struct cli_input {
    rill_context *ctx; /* failures are recorded here */
    const char *name;  /* for messages */
    int fd, is_owned;
    int is_regular;
    int64_t size;     /* bytes of a regular file, else -1 */
    int64_t received; /* bytes read so far */
    int64_t consumed; /* bytes of the lines given so far */
    int64_t origin;   /* of a regular file: where it was opened, which is not its beginning if it had been read from */
    int64_t skipped;  /* bytes that cli_input_skip() left out behind it */
    int64_t lines;    /* lines given so far */
    double seconds;   /* spent waiting and reading */
    /* private */
    char *data;
    size_t capacity, begin, scanned, end; /* unread bytes are [begin, end); [begin, scanned) has no newline */
    int at_end, is_past_bom;
    double deadline; /* until then an empty pipe is given a chance */
} cli_input;

/* Open `path`, a file of that kind; NULL or "-" is standard input, whatever it is. CLI_OK or CLI_FAILED after a message. */
int cli_input_open(cli_input *input, rill_context *ctx, const char *path, rill_file_kind kind);

/* The same without a message, for a reader in mid-run. RILL_OK · a negative status, recorded in `ctx` */
rill_status cli_input_begin(cli_input *input, rill_context *ctx, const char *path, rill_file_kind kind);

/* The next line, as a rill_read_fn with a cli_input as user. A line with a NUL byte is RILL_ERR_INPUT. */
rill_status cli_input_read(void *input, int may_block, const char **text, size_t *length);

/* Leave out the first `bytes` bytes of a regular file of which nothing has been read. CLI_OK, or CLI_FAILED after a message. */
int cli_input_skip(cli_input *input, int64_t bytes);

/* Free all; accepts a zeroed input. */
void cli_input_close(cli_input *input);

/* Read all lines of `path` ("-" is standard input). CLI_OK, or CLI_FAILED after a message with the line's number. */
int cli_lines_load(cli_lines *lines, rill_context *ctx, const char *path);

/* The two columns of `path`, which have a tab between them; a line without one is an error. What was loaded is to be freed in any case.
 * Returns likewise. */
int cli_lines_load_columns(cli_lines *first, cli_lines *second, rill_context *ctx, const char *path);

#endif
