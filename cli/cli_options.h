/* A table-driven parser of command lines.
 *
 * It accepts --name VALUE, --name=VALUE, -x VALUE, -xVALUE, switches -abc in one word, and "--" before arguments that begin with a
 * dash. Options may have aliases, and "_" equals "-" in a name. Names are not abbreviated, because an abbreviation could mean another
 * option after an option is added. The message about an unknown name suggests the nearest known one. --help prints all options and -h
 * the main ones; neither needs an entry in a table. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli.h"

typedef struct cli_option {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* short form, 0 = none */
    /* name of the value in help texts: one letter for a number, SIZE for a number of bytes. NULL or "": a switch; "[=NAME]": a value is
     * optional and follows "=" */
    const char *argument;
    const char *help;
    int id;              /* number by which take_option() knows the option */
    size_t member;       /* offset of the member that cli_option_store() sets */
    const char *initial; /* the default value; NULL or "": help shows none */
    const char *domains; /* domains that have the option, as "mt, semparse"; NULL: help shows none */
    /* other names, separated by spaces; one letter stands for a short form, as "k" for -k; NULL: none */
    const char *aliases;
    const char *refused; /* the name is refused, with this hint what to use instead; NULL: a normal option */
    int is_repeatable;   /* may be set to several values; otherwise a second, different value is refused */
    const struct cli_option
        *table; /* only in the first row: the table to use instead, which may have grown; else NULL */
} cli_option;

/* Whether the option takes no value. */
int cli_option_is_switch(const cli_option *option);

/* Whether a name, alias or letter selects both options. */
int cli_option_shares_name(const cli_option *a, const cli_option *b);

/* Store an option at `option->member` of the struct `all`: 1 in an int for a switch, the value in a const char * otherwise. Returns
 * CLI_OK. */
int cli_option_store(void *all, const cli_option *option, const char *value);

typedef struct cli_group {
    const char *title; /* NULL ends the list */
    const cli_option *options;
} cli_group;

static inline const cli_option *cli_group_options(const cli_group *group)
{
    return group->options->table ? group->options->table : group->options;
}

typedef struct cli_syntax {
    const char *usage; /* lines after "Usage: " */
    const char *about; /* one paragraph or more, lines up to 78 columns */
    const cli_group *groups;
    const char *epilogue; /* examples, exit codes */
    /* Handle one option; value is "" for a switch. CLI_OK, or another exit code after a message. */
    int (*take_option)(void *user, const cli_option *option, const char *value);
    /* Handle one positional argument. NULL: the command takes none. */
    int (*take_argument)(void *user, const char *value);
    void *user;
    const char *main_options; /* names of the options that -h shows, separated by spaces; NULL: -h equals --help */
} cli_syntax;

/* Parse argv[1..argc).
 *   helped: set when help was printed and the command should end; NULL in a first pass, which ignores --help and unknown options
 *   CLI_OK, or another exit code after a message */
int cli_parse(const cli_syntax *syntax, int argc, char **argv, int *helped);

/* Print `text` on stdout, wrapped between columns `indent` and 78. The cursor is in column `column`. */
void cli_print_wrapped(const char *text, int column, int indent);

/* --- rows of the library's tables -------------------------------------------------------------------------------------- */

/* Options from the library's tables (rill/option.h): search settings, heuristics and scorers, and options of domains. Every command
 * with a search offers them. Their values are stored in an option source (rill/search_config.h). */

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
