/* Options from the library's tables (rill/option.h): search settings, heuristics and scorers, and options of domains. Every command
 * with a search offers them. Their values are stored in an option source (rill/search_config.h). */
#ifndef CLI_OPTION_ROWS_H
#define CLI_OPTION_ROWS_H

#include "cli.h"
#include "cli_options.h"

enum { CLI_OPTION_ROWS_MAX = 48, CLI_DOMAIN_NAMES_MAX = 64, CLI_TAKE_ROW = 1000 };

typedef struct cli_option_rows {
    cli_option settings[CLI_OPTION_ROWS_MAX + 1], chains[CLI_OPTION_ROWS_MAX + 1],
        output_options[CLI_OPTION_ROWS_MAX + 1];
    cli_option domains[1];                      /* a row that refers to `table`, which grows */
    cli_option *table;                          /* [n + 1] options of all registered domains */
    char (*domain_names)[CLI_DOMAIN_NAMES_MAX]; /* [n] names of the domains that have the option */
    int n;
} cli_option_rows;

#define CLI_OPTION_ROW_GROUPS(session)                                                      \
    {"Options of the domain", (session).rows.domains}, {"Search", (session).rows.settings}, \
    {                                                                                       \
        "Heuristics, scorers and schedulers", (session).rows.chains                         \
    }

/* Fill the tables from everything registered so far. May be called again after plugins are loaded. CLI_OK or CLI_FAILED after a
 * message. */
int cli_option_rows_fill(cli_option_rows *rows, const rill_context *ctx);
void cli_option_rows_free(cli_option_rows *rows); /* accepts a zeroed struct */

/* Remove a setting, because the command has an option for it. */
void cli_option_rows_drop(cli_option_rows *rows, const char *name);
/* Refuse a setting as an option. `instead` tells the user what to use. */
void cli_option_rows_refuse(cli_option_rows *rows, const char *name, const char *instead);

#endif
