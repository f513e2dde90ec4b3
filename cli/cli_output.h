/* A buffered writer of one file, and two formats of results: plain lines and Moses n-best lists.
 *
 * There are two kinds of output. Results, traces and tables are streams. They are written directly, so that other programs can follow
 * them and finished lines survive a failure. A report is useful only as a whole. It is written to NAME.PROCESS.partial in the same
 * directory and renamed to NAME when it is closed. If writing fails, the old file stays. Files that are not regular, belong to another
 * user or have several hard links are written in place.
 *
 * The first error ends all writing. cli_output_close() prints its message once. If the reader of a pipe has closed it, there is no
 * message: `closed` is set and the command ends with CLI_CLOSED. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stddef.h>

#include "cli.h"

enum { CLI_OUTPUT_BUFFER = 1 << 16 };

typedef struct cli_output {
    const char *name;
    int fd, is_owned, is_terminal;
    int error;  /* errno of the first failure, 0 = none */
    int closed; /* the error was EPIPE */
    int is_reported;
    double seconds;                  /* time spent in write(2) */
    char *final_path, *partial_path; /* for a report: its path, and the path of its temporary file */
    int is_begun;                    /* some bytes were written; otherwise no report is created */
    size_t open_line_bytes;          /* bytes after the last newline */
    size_t used;
    char data[CLI_OUTPUT_BUFFER];
} cli_output;

typedef enum cli_output_kind { CLI_STREAM, CLI_REPORT } cli_output_kind;

/* Create the file `path`; NULL or "-" is standard output. A file that was opened for reading through `ctx` is refused. CLI_OK or
 * CLI_FAILED after a message. */
int cli_output_open(cli_output *output, const rill_context *ctx, const char *path, cli_output_kind kind);

/* Return 0, or -1 after an error, now or in an earlier call. A terminal shows control characters in escaped form (terminal.h). */
int cli_output_write(cli_output *output, const char *bytes, size_t length);
int cli_output_printf(cli_output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Write a text as a single line, also for readers that split at Unicode's line breaks, as Python's splitlines() does. A space replaces
 * each line break (cli_output_line()), and in a table cell each tab (cli_output_cell()). JSON text gets escapes such as \u2028. */
int cli_output_line(cli_output *output, const char *text, size_t length);
int cli_output_cell(cli_output *output, const char *text, size_t length);
int cli_output_json(cli_output *output, const char *text, size_t length);
int cli_output_flush(cli_output *output);

/* Flush, close, and move a report to its path. CLI_OK, CLI_CLOSED, or CLI_FAILED after a message. Accepts a zeroed output. */
int cli_output_close(cli_output *output);

/* Close an incomplete report without a message; the old file stays. Accepts a zeroed output. */
void cli_output_discard(cli_output *output);

typedef enum cli_output_format {
    CLI_FORMAT_PLAIN,    /* one line per input: the best output, or an empty line */
    CLI_FORMAT_NUMBERED, /* "ID<TAB>OUTPUT", for results in order of completion */
    /* One line per output: "ID ||| OUTPUT ||| logp= L length= N ||| SCORE". Extra fields follow OUTPUT. " truncated= 1" follows N if
     * the output was cut short. */
    CLI_FORMAT_NBEST,
} cli_output_format;

/* Fields that follow an output's text, each after " ||| ". */
typedef struct cli_extras {
    int32_t fields;      /* number of rill_engine_setup.fields */
    int has_word_scores; /* "WordScores= -0.10000 ...": the model's log-probability of each action */
    int has_ids;         /* ids of the actions instead of the text */
} cli_extras;

/* Write the n-best line of an output with the given text. `columns` precede the extra fields, each after " ||| ". Returns as
 * cli_output_write(). */
int cli_output_scored(cli_output *output, const cli_extras *extras, int64_t id, const char *text, const char *columns,
                      const rill_output *o);

/* Write one result. Ids count from 0. Returns as cli_output_write(). */
int cli_output_result(cli_output *output, cli_output_format line_format, const cli_extras *extras,
                      const rill_result *result);

#endif
