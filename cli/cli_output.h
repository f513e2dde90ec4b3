/* A buffered file writer, and two formats of results: plain lines and Moses n-best lists.
 *
 * A report replaces the old file only when it is complete. cli_output_close() prints the message of the first error. */
#pragma once

#include <jansson.h>

#include "session.h"
#include "tree.h"

enum { CLI_OUTPUT_BUFFER = 1 << 16 };

typedef struct cli_output {
    const char *name;
    int fd, is_owned, is_terminal;
    int error; /* errno of the first failed write; 0: none failed */
    int is_reported;
    double seconds;                  /* time spent in write(2) */
    char *final_path, *partial_path; /* path of a report, and path of its temporary file */
    int is_begun;                    /* 1: some bytes were written; 0: no report is created */
    size_t open_line_bytes;          /* bytes after the last newline */
    size_t used;
    char data[CLI_OUTPUT_BUFFER];
} cli_output;

typedef enum cli_output_kind { CLI_STREAM, CLI_REPORT } cli_output_kind;

/* Create `path`; NULL or "-": standard output. Refuses a file that `ctx` has opened for reading. */
int cli_output_open(cli_output *output, const rill_context *ctx, const char *path, cli_output_kind kind);

/* After an error, now or in an earlier call, nothing is written. A terminal shows control characters in escaped form (message.c). */
void cli_output_write(cli_output *output, const char *bytes, size_t length);
void cli_output_printf(cli_output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A callback with which the library writes bytes; its user pointer is a cli_output. */
rill_status cli_output_bytes(void *output, const void *bytes, size_t length);
/* Forms in which cli_output_text() writes a single line, also for readers that split at Unicode's line breaks. */
typedef enum cli_output_form {
    CLI_LINE, /* a space replaces each line break */
    CLI_CELL, /* a space replaces each line break and each tab */
    /* the text is JSON, where line breaks occur only in strings: an escape such as \u2028 replaces each line break */
    CLI_JSON,
} cli_output_form;
void cli_output_text(cli_output *output, const char *text, size_t length, cli_output_form form);
/* Returns 0, or -1 after an error, now or in an earlier call. */
int cli_output_flush(cli_output *output);

/* Flush, close, and move a report to its path. CLI_OK, CLI_CLOSED, or CLI_FAILED after a message. Accepts a zeroed output. */
int cli_output_close(cli_output *output);

/* Close an incomplete report without a message; the old file stays. Accepts a zeroed output. */
void cli_output_discard(cli_output *output);

typedef enum cli_output_format {
    CLI_FORMAT_PLAIN,    /* best output of each input per line; an empty line if none */
    CLI_FORMAT_NUMBERED, /* "ID<TAB>OUTPUT", for results in order of completion */
    /* "ID ||| OUTPUT ||| logp= L length= N ||| SCORE" per output. Extra fields follow OUTPUT; " truncated= 1" follows N. */
    CLI_FORMAT_NBEST,
} cli_output_format;

/* What is written of each output (rill_output_table()). Extra fields follow the text, each after " ||| ". */
typedef struct cli_form {
    cli_output_format format;
    int32_t n_fields;     /* number of extra fields that each output has (rill_engine_setup.fields) */
    const char *field[2]; /* [n_fields] names of the extra fields, to which rill_engine_setup.fields points */
    char alignment[64];
    int has_word_scores; /* 1: write "WordScores= -0.10000 ...", the model's log-probability of each action */
    int has_ids;         /* 1: write the ids of the actions instead of the text */
} cli_form;

/* Write the text or ids of an output, then its extra fields: with CLI_CELL as columns of a row, with CLI_LINE after " ||| ". */
void cli_output_columns(cli_output *output, const cli_form *form, const rill_output *o, cli_output_form cell);

/* Write an n-best line. text NULL: the output's text or ids. columns: further columns before the extra fields, each after " ||| ". */
void cli_output_scored(cli_output *output, const cli_form *form, int64_t id, const char *text, const char *columns,
                       const rill_output *o);

/* Write one result. Ids count from 0. */
void cli_output_result(cli_output *output, const cli_form *form, const rill_result *result);

/* Return an option's value on the command line or in the run file; "": a switch; NULL: not set. */
const char *cli_session_option(const cli_session *session, const char *name);
int cli_session_option_is_on(const cli_session *session, const char *name);

/* Set all members of the form but `format`, and request the extra fields. The search config's setup then points into the form. */
int cli_form_request(cli_form *form, const cli_session *session, rill_search_config *search_config);

/* --- indented trees ---------------------------------------------------------------------------------------------------- */

/* Print bracketed trees with one constituent per line. */

typedef struct cli_pretty {
    rill_tree tree;
    rill_text text;
    int64_t n_trees, n_others; /* number of outputs that were trees; number of other outputs that were not empty */
} cli_pretty;

/* Write the result's best output as an indented tree, or as CLI_FORMAT_PLAIN if it is not a tree. */
void cli_pretty_result(cli_pretty *pretty, cli_output *output, const rill_result *result);

/* Warn if no output was a tree, so that the option had no effect. */
void cli_pretty_warn(const cli_pretty *pretty);

/* Free memory; accepts a zeroed struct. */
void cli_pretty_end(cli_pretty *pretty);

/* --- results as JSON --------------------------------------------------------------------------------------------------- */

/* Results as JSON, for JSON lines and HTTP. Any thread.
 *
 *   {"outputs": [{"text", "score", "path_score", "logp", "length", "finish_reason", ...}], "warnings": [TEXT, ...],
 *    "error": {"code", "message"}}
 *
 * Optional: "certified": true, "ids", "tokens": [{"text", "id", "logprob"}], fields of rill_engine_setup, "error". Infinite numbers are
 * null. */

/* A JSON string from UTF-8; invalid bytes become U+FFFD. */
json_t *cli_json_text(const char *text, size_t length);
/* A JSON number; null if `value` is infinite, because JSON has no infinite numbers. */
json_t *cli_json_real(double value);

/* Convert a result. Word scores become "tokens", with the texts of the model's actions. Returns a new reference; NULL: out of memory. */
json_t *cli_result_json(const rill_model *model, const cli_form *form, const rill_result *result);

/* The object {"code", "message"}. Returns a new reference, NULL when out of memory. */
json_t *cli_error_json(const char *code, const char *message);

/* The result of a failed input. Returns a new reference, NULL when out of memory. */
json_t *cli_result_error(rill_status status, const char *message);

/* Append a warning to the result. */
void cli_result_warn(json_t *result, const char *warning);

/* The text of an output, counted from 0: a borrowed reference, or NULL if there is no such output. */
json_t *cli_result_output_text(const json_t *result, size_t output);

/* A result as one line of text; the caller frees it. NULL: out of memory. */
char *cli_result_line(const json_t *result);
