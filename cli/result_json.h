/* Results as JSON: one shape in JSON lines and over HTTP. Any thread.
 *
 *   {"outputs": [{"text", "score", "logp", "length", "finish_reason", ...}], "warnings": [TEXT, ...], "error": {"code", "message"}}
 *
 * An output also has "certified" where it is, and where asked for "ids", "tokens": [{"text", "id", "logprob"}], and the fields of
 * rill_engine_setup by their names. Without a failure there is no "error". Numbers that JSON cannot write are null. */
#ifndef CLI_RESULT_JSON_H
#define CLI_RESULT_JSON_H

#include <jansson.h>

#include "rill/plugin.h"
#include "rill/rill.h"

/* What outputs have besides what all have. */
typedef struct cli_result_form {
    const rill_model *model; /* whose actions are named in "tokens" */
    int has_tokens, has_ids;
    const char *const *field; /* [n_fields] "NAME" or "NAME=ARGUMENTS" */
    int32_t n_fields;
} cli_result_form;

/* NULL: out of memory. */
json_t *cli_result_json(const cli_result_form *form, const rill_result *result);

/* The result of an input that failed. */
json_t *cli_result_error(rill_status status, const char *message);

/* Add to the result's warnings. */
void cli_result_warn(json_t *result, const char *warning);

/* The text of a result's output, counted from 0; borrowed. NULL: there is none. */
json_t *cli_result_output_text(const json_t *result, size_t output);

/* A result as a line of text, the caller's to free; NULL: out of memory. */
char *cli_result_line(const json_t *result);

#endif
