/* The key "rill" of config.json in a model's directory: default options of the model.
 *
 *     "rill": {"domain": "semparse", "example": "what is the capital of texas",
 *              "options": {"k": 10, "absolute": 10, "max_candidates": 3, "heuristics": ["NAME:ARGS"], "scorers": [...]}}
 *
 *   domain    the domain (model reader); without it, "model_type" of config.json selects one (rill_domain.model_types)
 *   example   an input shown by `rill serve`
 *   options   defaults, by names of rill_option_source_set(), with "-" or "_"; paths are relative to the directory. Options of
 *             rill_output_table() are refused: they are the user's choice. absolute, relative and relative_local name
 *             heuristics, applied in the file's order; "heuristics" adds others
 * Stability: structs are only appended to. */
#ifndef RILL_FOLDER_H
#define RILL_FOLDER_H

#include "rill/search_config.h"

RILL_C_BEGIN

typedef struct rill_folder {
    rill_context *ctx;
    /* name of the domain (model reader); "": unknown */
    char domain[64];
    char type[64]; /* model_type of config.json if no domain supports it; else "" */
    int found;     /* 1: the directory has a config.json */
    /* default search options, from the file; if the file sets no search options, from the domain */
    rill_option_source *search;
    char example[256]; /* an example input; "": not set */
} rill_folder;

/* Read the configuration of a model's directory. A file or NULL as path has no configuration.
 *   domain: overrides the directory's; NULL if unknown
 *   out: cleared by the caller with rill_folder_clear(), also on failure
 *   RILL_OK (also without config.json) · RILL_ERR_NOT_FOUND (no such path) · RILL_ERR_IO · RILL_ERR_FORMAT ·
 *   RILL_ERR_OPTION (contradictory options) · RILL_ERR_MEMORY */
RILL_API rill_status rill_folder_read(rill_folder *out, rill_context *ctx, const char *path, const char *domain);
RILL_API void rill_folder_clear(rill_folder *folder); /* a zeroed struct is allowed */

/* Record and return RILL_ERR_NOT_FOUND: why no domain is known for the model at `path`. */
RILL_API rill_status rill_folder_fail_no_domain(const rill_folder *folder, const char *path);

/* As rill_option_text(), for a JSON value of the library jansson. */
struct json_t;
RILL_API rill_status rill_option_json_text(rill_context *ctx, const rill_option *option, const struct json_t *value,
                                           char buffer[RILL_OPTION_MAX], const char **text);

RILL_C_END

#endif
