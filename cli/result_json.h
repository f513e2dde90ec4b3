/* Results as JSON, in the shape that JSON lines and HTTP share. Any thread.
 *
 *   {"outputs": [{"text", "score", "path_score", "logp", "length", "finish_reason", ...}], "warnings": [TEXT, ...],
 *    "error": {"code", "message"}}
 *
 * An output that is proved optimal has "certified": true. On request it has "ids", "tokens": [{"text", "id", "logprob"}] and the fields of
 * rill_engine_setup by name. "error" exists only after a failure. Infinite numbers are null. */
#ifndef CLI_RESULT_JSON_H
#define CLI_RESULT_JSON_H

#include <jansson.h>

#include "rill/plugin.h"
#include "rill/rill.h"

/* Optional members of outputs. */
typedef struct cli_result_form {
    const rill_model *model; /* the model, for the token texts in "tokens" */
    int has_tokens, has_ids;
    const char *const *field; /* [n_fields] "NAME" or "NAME=ARGUMENTS" */
    int32_t n_fields;
} cli_result_form;

/* Convert a result. Returns a new reference, NULL when out of memory. */
json_t *cli_result_json(const cli_result_form *form, const rill_result *result);

/* The code of a failure in "error": "bad-input", "timeout". HTTP has more of them, for requests (serve/api.c). */
const char *cli_error_code(rill_status status);

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

#endif
