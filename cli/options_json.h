/* The options that are in effect, for reports: `rill info`, --stats, traces and GET /v1/models. */
#ifndef CLI_OPTIONS_JSON_H
#define CLI_OPTIONS_JSON_H

#include <jansson.h>

#include "rill/rill.h"

/* Whether a resolved setting affects the search: it differs from its default, or belongs to a part of the search that is on. The method
 * is always in effect. */
int cli_option_is_in_effect(const rill_settings *settings, int has_heuristics, const rill_option *row);

/* Write a value in a form that the option accepts: "true", "0.5", "1/6". Returns `out`. */
const char *cli_option_value(const rill_settings *settings, const rill_option *row, char out[RILL_OPTION_MAX]);

/* The options in effect as {"beam_size": 5, ...}: an "options" object accepts them. `settings`: resolved. Returns a new reference. */
json_t *cli_options_json(const rill_settings *settings, const rill_search_config *search_config);

#endif
