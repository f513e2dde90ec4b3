/* Structured input lines: tab-separated rows, or JSON objects.
 *
 * The rest of an input line is stored until the result is written, and written with it: results become new columns at the end of a
 * row, or new members of an object. The stored text is not changed. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include "cli_output.h"
#include "rill/search_config.h"

typedef enum cli_record_kind {
    CLI_RECORD_NONE, /* each line is a plain text */
    CLI_RECORD_TSV,
    CLI_RECORD_JSONL,
} cli_record_kind;

struct cli_record;

typedef struct cli_records {
    cli_record_kind kind;
    int column;      /* column of the text in a row, from 0 */
    const char *key; /* member with the text in an object; NULL: "text", or "input" */
    rill_context *ctx;
    const rill_search_config *run_options; /* the search config of the run; an object's settings override it */
    const rill_domain *domain;             /* an object may set options of this domain */
    const rill_model *model;               /* the model, for names of actions */
    const char *const *field;              /* [extras->fields] names of the fields */
    /* private */
    struct cli_record *waiting;
    uint64_t warned_keys; /* bit set of members that cli_records_suspect_key() has returned */
    rill_text text, options;
    rill_settings settings; /* settings of the current object */
    int has_bad_options;    /* the current object was refused for its options */
} cli_records;

/* Parse a column number, from 1; 0: not a valid number. */
int cli_records_column(const char *text);

/* Start according to --tsv-column=N and --jsonl[=KEY]; NULL: not set, "": set without a value. CLI_OK, or CLI_FAILED after a message. */
int cli_records_start(cli_records *records, rill_context *ctx, const char *tsv, const char *jsonl);

/* Extract the text of a request from its line, which was read with `status`. The text is valid until the next call. Sets the request's
 * settings and domain options from the object, and request->user for cli_records_write().
 *   RILL_OK · RILL_ERR_INPUT, the text is the message · RILL_ERR_MEMORY */
rill_status cli_records_take(cli_records *records, rill_status status, rill_request *request);

/* Name of a member in the result's object that is probably a misplaced option, or a member of a `rill serve` request; *why: why it is not
 * read, static memory. Each name is returned once per run. NULL: there is none. */
const char *cli_records_suspect_key(const rill_result *result, const char **why);

/* Write a result together with the rest of its line, and free the stored line. If the format numbers its lines, a row begins with the
 * number. Returns as cli_output_write(). */
int cli_records_write(cli_records *records, cli_output *output, cli_output_format line_format, const cli_extras *extras,
                      const rill_result *result);

/* Free all memory, including lines that wait for results; accepts a zeroed struct. */
void cli_records_end(cli_records *records);

#endif
