/* What a model's directory says for itself: config.json, key "rill".
 *
 *     "rill": {"domain": "semparse",
 *              "options": {"k": 10, "absolute": 10, "max_candidates": 3, "heuristics": ["NAME:ARGS"], "scorers": [...]}}
 *
 * Keys of "search" are what rill_option_source_set() takes, with "-" or "_"; absolute, relative and relative_local, in the order in which
 * they stand, are the model's chain of heuristics, and "heuristics" adds any others. All are defaults. What rill_output_table() has is
 * refused: it is the user's to say. The path of a file (RILL_OPTION_PATH) begins at the directory. A directory that names no
 * domain is read by the one that has its "model_type" (rill_domain.model_types). Stability: structs are only appended to. */
#ifndef RILL_FOLDER_H
#define RILL_FOLDER_H

#include "rill/search_config.h"

RILL_C_BEGIN

typedef struct rill_folder {
    rill_context *ctx;
    char domain[64];            /* "": not said, and no domain reads models of its type */
    char type[64];              /* the model_type, where that is so; else "" */
    int found;                  /* there is a config.json */
    rill_option_source *search; /* its defaults; of the search what the domain advises where it says nothing of that,
                         * though it give options of the domain */
} rill_folder;

/* Read what the directory at `path` says. Without a directory (a path to a file, NULL) there is nothing to say.
 *   path, domain: NULL where unknown; a domain given here stands before the directory's
 *   out: cleared by the caller with rill_folder_clear(), also after a failure
 *   RILL_OK (also without a config.json) · RILL_ERR_NOT_FOUND (no such path) · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_OPTION (its
 *   search contradicts itself), with the file, and the line where there is one · RILL_ERR_MEMORY */
RILL_API rill_status rill_folder_read(rill_folder *out, rill_context *ctx, const char *path, const char *domain);
RILL_API void rill_folder_clear(rill_folder *folder); /* accepts a zeroed one */

/* Record, as RILL_ERR_NOT_FOUND, why no domain is known for what was read from `path`, and return that. */
RILL_API rill_status rill_folder_fail_no_domain(const rill_folder *folder, const char *path);

RILL_C_END

#endif
