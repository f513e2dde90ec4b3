/* Options that are rows of tables elsewhere (rill/option.h): the search's, those of chains, those of domains. They are offered by every
 * command with a search, and what is given becomes a layer (rill/search_config.h). */
#ifndef CLI_OPTION_ROWS_H
#define CLI_OPTION_ROWS_H

#include "cli.h"
#include "cli_options.h"

enum { CLI_OPTION_ROWS_MAX = 48, CLI_DOMAIN_NAMES_MAX = 64, CLI_TAKE_ROW = 1000 };

typedef struct cli_option_rows {
    cli_option settings[CLI_OPTION_ROWS_MAX + 1], chains[CLI_OPTION_ROWS_MAX + 1],
        output_options[CLI_OPTION_ROWS_MAX + 1];
    cli_option domains[1];                      /* leads to: */
    cli_option *table;                          /* [n + 1] those of all domains, as many as there are */
    char (*domain_names)[CLI_DOMAIN_NAMES_MAX]; /* [n] the domains that have each of them */
    int n;
} cli_option_rows;

#define CLI_OPTION_ROW_GROUPS(session)                                                      \
    {"Options of the domain", (session).rows.domains}, {"Search", (session).rows.settings}, \
    {                                                                                       \
        "Chains of heuristics and scorers", (session).rows.chains                           \
    }

/* Fill the tables, zeroed or filled before, with what is registered by now. CLI_OK or CLI_FAILED after a message. */
int cli_option_rows_fill(cli_option_rows *rows, const rill_context *ctx);
void cli_option_rows_free(cli_option_rows *rows); /* accepts zeroed ones */

/* Leave a setting out: a command has an option of its own for it. */
void cli_option_rows_drop(cli_option_rows *rows, const char *name);
/* Refuse a setting as an option, and say what to use instead. */
void cli_option_rows_refuse(cli_option_rows *rows, const char *name, const char *instead);

#endif
