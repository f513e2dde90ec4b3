/* What a model's directory says for itself: config.json, key "rill".
 *
 *     "rill": {"domain": "semparse",
 *              "search": {"k": 10, "absolute": 10, "max_candidates": 3, "heuristics": ["NAME:ARGS"], "scorers": [...]}}
 *
 * Keys of "search" are settings as on the command line, with "-" or "_"; absolute, relative and relative_local, in the order
 * in which they stand, are the model's chain of heuristics, and "heuristics" adds any others. All are defaults. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "cli.h"
#include "search.h"

typedef struct cli_config {
    char domain[CLI_NAME_MAX]; /* "" = not said */
    char type[CLI_NAME_MAX];   /* its model_type, when no domain of ours reads such and none is named; else "" */
    int found;                 /* there is a config.json */
    cli_layer search;
} cli_config;

/* Read PATH/config.json. A missing file is no failure (found = 0), a missing directory or bad content is.
 *   CLI_OK, or CLI_FAILED after a message that names the file, and the line where there is one */
int cli_config_load(rill_context *ctx, const char *path, cli_config *out);

/* Say that the directory at `path`, which `config` was loaded from, names no domain. */
void cli_config_say_nameless(const cli_config *config, const char *path);

#endif
