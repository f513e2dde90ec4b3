/* A buffered writer of one file, and the two forms of results: plain lines and Moses n-best lists.
 *
 * Results, traces and tables are streams: they are written where they belong as they come, so that others can follow them and what was
 * finished is there whatever happens. A report is of use only whole. It is written beside its place, as NAME.PROCESS.partial, and takes
 * its place when it is closed; until then, and for ever when writing fails, what stood there is as it was. What is no regular file of
 * ours, or has several names, is written in place.
 *
 * An error is remembered and ends all writing; it is said once, by cli_output_close() or whoever asks first. When the reader
 * of a pipe has gone away, that is no error worth a message: `closed` is set and the command ends with CLI_CLOSED. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stddef.h>

#include "cli.h"

enum { CLI_OUTPUT_BUFFER = 1 << 16 };

typedef struct cli_output {
    const char *name;
    int fd, is_owned, is_terminal;
    int error;  /* errno of the first failure, 0 = none */
    int closed; /* that failure was EPIPE */
    int is_reported;
    double seconds;                  /* spent in write(2) */
    char *final_path, *partial_path; /* of a report: where it belongs, and where it is until it is whole */
    int is_begun;                    /* something was written: else there is no report */
    size_t open_line_bytes;          /* bytes written behind the last newline */
    size_t used;
    char data[CLI_OUTPUT_BUFFER];
} cli_output;

typedef enum cli_output_kind { CLI_STREAM, CLI_REPORT } cli_output_kind;

/* Create `path`; NULL or "-" is standard output. A file that was opened to be read (through `ctx`) is refused.
 * CLI_OK or CLI_FAILED after a message. */
int cli_output_open(cli_output *output, const rill_context *ctx, const char *path, cli_output_kind kind);

/* All return 0, or -1 after a failure, now or earlier. On a terminal control characters are shown instead (terminal.h). */
int cli_output_write(cli_output *output, const char *bytes, size_t length);
int cli_output_printf(cli_output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* As one line to all readers, those too for whom Unicode's ends of lines end one, as Python's splitlines(): a space stands for each end of
 * a line, in a cell of a row for a tab too; in the text of JSON, which has them in its strings alone, "\u2028". */
int cli_output_line(cli_output *output, const char *text, size_t length);
int cli_output_cell(cli_output *output, const char *text, size_t length);
int cli_output_json(cli_output *output, const char *text, size_t length);
int cli_output_flush(cli_output *output);

/* Flush, close, put a report in its place. CLI_OK, CLI_CLOSED, or CLI_FAILED after the message. Accepts a zeroed output. */
int cli_output_close(cli_output *output);

/* Close a report that is not whole, which leaves what stood there; why is said already. Accepts a zeroed one. */
void cli_output_discard(cli_output *output);

typedef enum cli_output_format {
    CLI_FORMAT_PLAIN,    /* one line per input: the best output, empty when there is none */
    CLI_FORMAT_NUMBERED, /* the same behind "ID<TAB>", for results in order of completion */
    CLI_FORMAT_NBEST, /* "ID ||| OUTPUT ||| logp= L length= N ||| SCORE", one line per output; extras behind OUTPUT, and
                          " truncated= 1" behind N where the output was cut short */
} cli_output_format;

/* What is written behind an output's text, each behind " ||| ". */
typedef struct cli_extras {
    int32_t fields;      /* of rill_engine_setup, all of them */
    int has_word_scores; /* "WordScores= -0.10000 ...": the model's log-probability of each action */
    int has_ids;         /* not behind the text but in its place: the numbers of its actions */
} cli_extras;

/* Write a line of an n-best list for an output whose text was given, with that text; `kept`: columns that go before the extras, each
 * behind " ||| ". Returns as above. */
int cli_output_scored(cli_output *output, const cli_extras *extras, int64_t id, const char *text, const char *columns,
                      const rill_output *o);

/* Write one result. IDs count from 0. Returns as above. */
int cli_output_result(cli_output *output, cli_output_format line_format, const cli_extras *extras,
                      const rill_result *result);

#endif
