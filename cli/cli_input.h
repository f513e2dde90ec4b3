/* Read lines from a file, a pipe or a terminal, in the form that rill_run() needs.
 *
 * A line ends with "\n", "\r\n" or the end of the file. It may have any length and contain any byte except NUL. A byte order mark at
 * the beginning is skipped. A regular file that becomes shorter while it is read is an error after its last complete line. On a pipe
 * or a terminal the reader does not block while the engine has work, but returns RILL_AGAIN. When it does block, it waits up to two
 * milliseconds after the first data for more, so that a fast writer fills a batch before decoding starts. Ctrl-C ends the wait like
 * the end of the input (interrupt.h). */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdint.h>

#include "cli.h"
#include "lines.h"

typedef struct cli_input {
    rill_context *ctx; /* keeps errors */
    const char *name;  /* name of the input, for messages */
    int fd, is_owned;
    int is_regular;
    int64_t size;     /* bytes of a regular file, else -1 */
    int64_t received; /* bytes read so far */
    int64_t consumed; /* bytes of the returned lines */
    int64_t
        origin; /* regular file: offset in bytes at which reading began; above 0 if standard input was partly read before */
    int64_t skipped; /* bytes that cli_input_skip() skipped after `origin` */
    int64_t lines;   /* returned lines */
    double seconds;  /* time spent in waiting and reading */
    /* private */
    char *data;
    size_t capacity, begin, scanned, end; /* unread bytes are [begin, end); [begin, scanned) has no newline */
    int at_end, is_past_bom;
    double deadline; /* cli_now() time until which an empty pipe is polled, before RILL_AGAIN is returned */
} cli_input;

/* Open `path`. NULL or "-" is standard input, and `kind` does not matter for it. CLI_OK or CLI_FAILED after a message. */
int cli_input_open(cli_input *input, rill_context *ctx, const char *path, rill_file_kind kind);

/* Open without a message, for use during a run. RILL_OK · a negative status, with the error in `ctx` */
rill_status cli_input_begin(cli_input *input, rill_context *ctx, const char *path, rill_file_kind kind);

/* Return the next line; a rill_read_fn whose user is a cli_input. A line with a NUL byte is RILL_ERR_INPUT. */
rill_status cli_input_read(void *input, int may_block, const char **text, size_t *length);

/* Skip the first `bytes` bytes of a regular file. Call it before the first read. CLI_OK, or CLI_FAILED after a message. */
int cli_input_skip(cli_input *input, int64_t bytes);

/* Close the file and free the buffer; accepts a zeroed input. */
void cli_input_close(cli_input *input);

/* Read all lines of `path` ("-" is standard input). CLI_OK, or CLI_FAILED after a message with the number of the bad line. */
int cli_lines_load(cli_lines *lines, rill_context *ctx, const char *path);

/* Read the two tab-separated columns of `path`. A line without a tab is an error. The caller frees both, even after an error. CLI_OK,
 * or CLI_FAILED after a message. */
int cli_lines_load_columns(cli_lines *first, cli_lines *second, rill_context *ctx, const char *path);

#endif
