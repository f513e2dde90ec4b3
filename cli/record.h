/* Inputs that are more than a line of text: rows of columns with tabs between them, and JSON objects, one a line.
 *
 * What an input's line has besides its text is kept until its result is written, and written with it: a row gets columns behind its
 * own, an object gets members behind its own. Lines are kept as they came, so nothing of them changes. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include "cli_output.h"
#include "rill/search_config.h"

typedef enum cli_record_kind {
    CLI_RECORD_NONE, /* a line is its text */
    CLI_RECORD_TSV,
    CLI_RECORD_JSONL,
} cli_record_kind;

struct cli_record;

typedef struct cli_records {
    cli_record_kind kind;
    int column;      /* of a row, from 0 */
    const char *key; /* of an object; NULL: "text", or "input" */
    rill_context *ctx;
    const rill_search_config *run_options; /* an object's own settings are on top of its */
    const rill_domain *domain;             /* whose options an object may have too */
    const rill_model *model;               /* whose actions are named */
    const char *const *field;              /* [extras->fields] their names */
    /* private */
    struct cli_record *waiting;
    uint64_t warned_keys; /* members that cli_records_suspect_key() has given, by place */
    rill_text text, options;
    rill_settings settings; /* of the object at work */
    int32_t n_best;         /* that it asks for; 0: as the run */
    const char *fewer;
} cli_records;

/* The column that a text names, from 1; 0: it names none. */
int cli_records_column(const char *text);

/* What --tsv-column=N and --jsonl[=KEY] ask for; NULL: not given, "": given without a value. CLI_OK, or CLI_FAILED after a message. */
int cli_records_start(cli_records *records, rill_context *ctx, const char *tsv, const char *jsonl);

/* Have the request's text, a line that was read with `status`, become the text in it, valid until the next call. It gets the settings and
 * options that an object has of its own, and what cli_records_write() finds in the result.
 *   RILL_OK · RILL_ERR_INPUT, the text says why · RILL_ERR_MEMORY */
rill_status cli_records_take(cli_records *records, rill_status status, rill_request *request);

/* The name of a member of the result's object that may have been meant as a setting, and is kept like others: each once in a run.
 * NULL: there is none. */
const char *cli_records_suspect_key(const rill_result *result);

/* How many outputs the result's object asks for, and what keeps its list short; 0: as the run does. */
int32_t cli_records_n_best(const rill_result *result, const char **fewer);

/* Write a result with what its line had, and forget that. In a form that numbers its lines a row begins with the number.
 * Returns as cli_output_write(). */
int cli_records_write(cli_records *records, cli_output *output, cli_output_format line_format, const cli_extras *extras,
                      const rill_result *result);

/* Free all, what waits for results too; accepts a zeroed one. */
void cli_records_end(cli_records *records);

#endif
