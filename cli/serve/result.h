/* Results as JSON, as clients get them. Any thread. */
#ifndef CLI_SERVE_RESULT_H
#define CLI_SERVE_RESULT_H

#include <jansson.h>

#include "rill/rill.h"

/* {"outputs": [{"text", "score", "logp", "length", ...}], "note"?, "late"?}, or what result_error() gives; NULL: out of memory.
 * tokens: outputs tell the names and log-probabilities of their actions. */
json_t *result_json(const rill_model *model, const rill_result *result, int tokens);

/* Say in a result what it lacks: "warning". */
void result_warn(json_t *result, const char *what);

/* {"error": {"code": "bad-input", "message": WHY}} */
json_t *result_error(rill_status status, const char *why);

/* The text of a result's output, counted from 0; borrowed. NULL: there is none. */
json_t *result_output_text(const json_t *result, size_t output);

/* A result as a line of text, the caller's to free; NULL: out of memory. */
char *result_line(const json_t *result);

#endif
