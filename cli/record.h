/* Structured input lines: TSV rows or JSON objects. Results become new columns or members at the line's end. */
#pragma once

#include "cli_input.h"
#include "cli_output.h"

typedef enum cli_record_kind {
    CLI_RECORD_NONE, /* each line is a plain text */
    CLI_RECORD_TSV,
    CLI_RECORD_JSONL,
} cli_record_kind;

struct cli_record;

typedef struct cli_records {
    cli_record_kind kind;
    int column;      /* column of the text in a row, from 0 */
    const char *key; /* name of the member of an object that has the text; NULL: "text" or "input" */
    rill_context *ctx;
    const rill_search_config *run_options; /* the search config of the run; an object's settings override it */
    const rill_model *model;               /* model, for the names of its actions */
    /* The members below are private. */
    struct cli_record *waiting;
    json_t *warned; /* members that cli_records_suspect_key() has returned */
    rill_text text, options;
    rill_settings settings; /* settings of the current object */
    int has_bad_options;    /* 1: the current object was refused because of its options */
} cli_records;

/* Parse a column number, counted from 1. Returns 0 if it is not valid. */
int cli_records_column(const char *text);

/* Start according to --tsv-column=N and --jsonl[=KEY]; NULL: not set, "": set without a value. */
int cli_records_start(cli_records *records, rill_context *ctx, const char *tsv, const char *jsonl);

/* Read a JSON object of options into a search config based on `run`. Domain options are appended to `input_options`.
 *   gives_way: 1: the object overrides contradictory options of `run`; 0: contradictions are refused
 *   *source, *out: freed by the caller, also after an error; NULL before
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_MEMORY */
rill_status cli_request_options(rill_context *ctx, const rill_domain *domain, const rill_search_config *run,
                                int gives_way, const json_t *object, rill_text *input_options,
                                rill_option_source **source, rill_search_config **out);

/* Parse a line, read with `status`, into a request: text, settings, domain options, and `user` for cli_records_write(). The text is valid
 * until the next call.
 *   RILL_OK · RILL_ERR_INPUT, the text is the message · RILL_ERR_MEMORY */
rill_status cli_records_take(cli_records *records, rill_status status, rill_request *request);

/* Return a member of the input object that is probably a misplaced option, once per run; NULL: none. *why: static text. */
const char *cli_records_suspect_key(const rill_result *result, const char **why);

/* Write a result with the rest of its line, and free the stored line. Numbered formats begin rows with the number. */
void cli_records_write(cli_records *records, cli_output *output, const cli_form *form, const rill_result *result);

/* Free all memory, including lines that wait for results; accepts a zeroed struct. */
void cli_records_end(cli_records *records);

/* --- constraints ------------------------------------------------------------------------------------------------------- */

/* Constraints (rill/constraints.h) from a file with one line per input. */

typedef struct cli_constraints {
    cli_input input;
    rill_constraints *reader;
    int has_line; /* the constraint line of the next input was read into `status`, `line` and `length` */
    rill_status status;
    const char *line;
    size_t length;
} cli_constraints;

/* Add to the search config the scorers that a line of constraints may name. */
rill_status cli_constraints_add_scorers(rill_search_config *search_config);

/* Open the file, skip its first `skip` lines, and add the scorers. */
int cli_constraints_open(cli_constraints *c, rill_context *ctx, const char *path, int64_t skip,
                         rill_search_config *search_config);
void cli_constraints_close(cli_constraints *c); /* accepts a zeroed struct */

/* Wait until the line of the next input has been read or the file has ended. RILL_OK · RILL_AGAIN */
rill_status cli_constraints_wait(cli_constraints *c, int may_block);

/* Add the line's constraints to a request read with `status`. Returns `status`, or RILL_ERR_INPUT if they are missing or malformed. */
rill_status cli_constraints_apply(cli_constraints *c, rill_context *ctx, rill_status status, rill_request *request);
