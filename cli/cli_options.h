/* A small parser of command lines, driven by tables.
 *
 * Accepted: --name VALUE, --name=VALUE, -x VALUE, -xVALUE, switches -abc in one word, "--" before arguments that begin with
 * a dash. An option has aliases, and "_" is "-" in a name. Names are matched whole: an abbreviation that works today would mean something
 * else when an option is added. An
 * unknown name is answered with the nearest known one. --help prints the tables and -h the main options of them; neither needs an entry. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli.h"

typedef struct cli_option {
    const char *name;     /* without dashes; NULL ends a table */
    char letter;          /* short form, 0 = none */
    const char *argument; /* what the value is called in help texts; NULL or "" = a switch; "[=NAME]" = one that may
                             have a value, behind "=" only */
    const char *help;
    int id;              /* for the one who handles it */
    size_t member;       /* of options that are only noted: see cli_option_store() */
    const char *initial; /* the default, where help does not tell it; NULL or "": there is none to tell */
    const char *domains; /* whose it is, where not everybody's: "mt, semparse"; NULL: there is nothing to tell */
    const char *aliases; /* other names, with blanks between; of one letter: "-k" too; NULL: none */
    const char *refused; /* of a name that is no option: what to use instead, which the refusal says; NULL: an option */
    const struct cli_option *table; /* of a first row: the table, which has grown since, is there; else NULL */
} cli_option;

/* Whether it takes no value. */
int cli_option_is_switch(const cli_option *option);

/* Note an option in the member of `all` that it names: 1 in the int of a switch, the value in any other's const char *. CLI_OK */
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
    const char *usage; /* lines behind "Usage: " */
    const char *about; /* a paragraph or more, each line within 78 columns */
    const cli_group *groups;
    const char *epilogue; /* examples, exit codes */
    /* Take one option; value is "" for a switch. CLI_OK, or another exit code after saying why. */
    int (*take_option)(void *user, const cli_option *option, const char *value);
    /* Take one argument that is no option. NULL: there are none. */
    int (*take_argument)(void *user, const char *value);
    void *user;
    const char *main_options; /* names of those that -h shows, with spaces between; NULL: -h shows what --help does */
} cli_syntax;

/* Parse argv[1..argc).
 *   helped: NULL for a first look, which passes over unknown options and --help: the second will know more
 *   returns CLI_OK, or the exit code after a message; *helped != 0 when help was printed and nothing else is to be done */
int cli_parse(const cli_syntax *syntax, int argc, char **argv, int *helped);

/* Print `text` on stdout, wrapped between columns `indent` and 78; the cursor stands in column `column`. */
void cli_print_wrapped(const char *text, int column, int indent);

#endif
