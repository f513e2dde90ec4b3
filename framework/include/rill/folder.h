/* The configuration in a model's directory: config.json, key "rill".
 *
 *     "rill": {"domain": "semparse", "example": "what is the capital of texas",
 *              "options": {"k": 10, "absolute": 10, "max_candidates": 3, "heuristics": ["NAME:ARGS"], "scorers": [...]}}
 *
 * "example" is an input that the model can decode; the page of `rill serve` shows it.
 * Keys of "options" are options of rill_option_source_set(), with "-" or "_". absolute, relative and relative_local make up the list of
 * heuristics, in this file's order, and "heuristics" adds others. All options are defaults. Options of rill_output_table() are refused:
 * they are the user's choice. Paths (RILL_OPTION_PATH) are relative to the directory. Without a domain name, the domain that supports
 * the "model_type" reads the directory (rill_domain.model_types).
 * Stability: structs are only appended to. */
#ifndef RILL_FOLDER_H
#define RILL_FOLDER_H

#include "rill/search_config.h"

RILL_C_BEGIN

typedef struct rill_folder {
    rill_context *ctx;
    /* the domain that reads the model; "": config.json names none, and no domain supports the model's type */
    char domain[64];
    char type[64]; /* the model_type of config.json if no domain supports it; else "" */
    int found;     /* 1: the directory has a config.json */
    /* the file's search options, as defaults. If it sets none besides domain options: the domain's default search settings */
    rill_option_source *search;
    char example[256]; /* an input that the model can decode; "": not set */
} rill_folder;

/* Read the configuration of the directory at `path`. A path to a file, or NULL, yields no configuration.
 *   path, domain: NULL where unknown; a domain passed here overrides the directory's
 *   out: cleared by the caller with rill_folder_clear(), also after a failure
 *   RILL_OK (also without a config.json) · RILL_ERR_NOT_FOUND (no such path) · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_OPTION (its options
 *   contradict each other), with the file, and the line where known · RILL_ERR_MEMORY */
RILL_API rill_status rill_folder_read(rill_folder *out, rill_context *ctx, const char *path, const char *domain);
RILL_API void rill_folder_clear(rill_folder *folder); /* a zeroed struct is allowed */

/* Record and return RILL_ERR_NOT_FOUND with the reason why no domain is known for the model at `path`. */
RILL_API rill_status rill_folder_fail_no_domain(const rill_folder *folder, const char *path);

/* As rill_option_text(), for a JSON value of the library jansson, wherever JSON options are read. */
struct json_t;
RILL_API rill_status rill_option_json_text(rill_context *ctx, const rill_option *option, const struct json_t *value,
                                           char buffer[RILL_OPTION_MAX], const char **text);

RILL_C_END

#endif
