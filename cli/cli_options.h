/* Commands as tables, and a parser of command lines.
 *
 * Accepted: --name VALUE, --name=VALUE, -x VALUE, -xVALUE, switches -abc, and "--". In names "_" equals "-". Names cannot be abbreviated.
 */
#pragma once

#include "cli.h"
#include "utf8.h"

enum { CLI_DOMAIN_NAMES_MAX = 64, CLI_GROUPS_MAX = 8 };

/* The type of the member that an option sets. */
typedef enum cli_member {
    CLI_TEXT,
    CLI_INT,
    CLI_INT64,
    CLI_SIZE
} cli_member; /* CLI_SIZE: the member is an int64_t or a size_t, and the value a number of bytes */

/* A function that takes an option's value, which is "" for a switch. Returns an exit code. */
struct cli_option;
typedef int (*cli_take_fn)(void *command, const struct cli_option *option, const char *value);

typedef struct cli_option {
    const char *name; /* name without dashes; NULL ends a table */
    char letter;      /* short form, such as 'k' for -k; 0: none */
    /* value name in help: one letter for a number, SIZE for bytes. NULL or "": a switch; "[=NAME]": optional value after "=" */
    const char *argument;
    const char *help;
    /* offset, in the command's struct, of the member that receives the value; a switch sets an int to 1 */
    size_t member;
    cli_member type;     /* type of the member */
    int64_t min, max;    /* smallest and largest allowed value of a number */
    cli_take_fn take;    /* function that receives the value; NULL: the value is stored in the member */
    int is_early;        /* 1: handled in the first pass, before plugins are loaded, and skipped in the second */
    const char *initial; /* the default value; NULL or "": help shows none */
    /* other names, separated by spaces; one letter stands for a short form, as "k" for -k; NULL: none */
    const char *aliases;
    /* the parser knows the name, refuses it, and prints this hint what to use instead; NULL: a normal option */
    const char *refused;
    int is_repeatable; /* 1: the option may be repeated with different values; 0: a second value is refused */
    char domains[CLI_DOMAIN_NAMES_MAX]; /* domains that have the option, as "mt, semparse"; "": help shows none */
} cli_option;

int cli_option_is_switch(const cli_option *option);

/* Options from the library's tables (rill/option.h), for every command with a search. */
typedef enum cli_row_group {
    CLI_ROWS_DOMAINS = 1,
    CLI_ROWS_SEARCH,
    CLI_ROWS_CHAINS,
    CLI_ROWS_OUTPUTS,
    CLI_ROW_GROUPS
} cli_row_group;

typedef struct cli_option_rows {
    cli_option *table[CLI_ROW_GROUPS]; /* options of each group, [n + 1] rows including the end of the table */
    int n[CLI_ROW_GROUPS];
    /* function that receives the values of all these options; the option's name is the one that the user wrote, such as an alias */
    cli_take_fn take;
    /* name of a setting that gets no row here, because the command has its own option for it; NULL: none */
    const char *hidden;
} cli_option_rows;

/* Fill the tables from everything registered so far; call again after loading plugins.
 *   take: receives the values; hidden: a setting that the command replaces by its own option, or NULL */
int cli_option_rows_fill(cli_option_rows *rows, const rill_context *ctx, cli_take_fn take, const char *hidden);
void cli_option_rows_free(cli_option_rows *rows); /* accepts a zeroed struct */

typedef struct cli_group {
    const char *title; /* heading of the group in help; NULL ends the list */
    const cli_option *options;
    cli_row_group rows; /* options from the library's tables, in place of `options`; 0: none */
} cli_group;

/* The option groups of a command that searches. */
/* clang-format off */
#define CLI_SEARCH_GROUPS {"Options of the domain", .rows = CLI_ROWS_DOMAINS}, {"Search", .rows = CLI_ROWS_SEARCH}, \
    {"Heuristics, scorers and schedulers", .rows = CLI_ROWS_CHAINS}
/* clang-format on */

/* A command. Its struct begins with a cli_session (session.h). */
typedef struct cli_command {
    const char *name, *summary; /* a line of `rill --help` */
    const char *usage;          /* text of --help after "Usage: ", one or more lines */
    cli_group groups[CLI_GROUPS_MAX];
    const char *main_options; /* names of the options that -h shows, separated by spaces; NULL: -h equals --help */
    const char *hidden;       /* name of a search setting that this command does not have as an option; NULL: none */
    /* positional argument: name and member offset, or a function called per argument; neither: no arguments */
    const char *argument;
    size_t argument_member;
    int (*take_argument)(void *command, const char *value);
    size_t size;                 /* bytes of the command's struct, which is zeroed */
    int (*start)(void *command); /* called before the options are parsed; NULL: nothing to do */
    /* runs the command. As `start`, it returns an exit code, after a message if that is not CLI_OK */
    int (*run)(void *command);
    void (*end)(void *command); /* called at the end, also after a failure; NULL: nothing to do */
    /* replaces the functions above: the command parses its arguments itself; NULL: it does not */
    int (*main)(int argc, char **argv);
} cli_command;

extern const cli_command cli_bench, cli_check, cli_decode, cli_eval, cli_evidence, cli_info, cli_list, cli_run,
    cli_score, cli_serve, cli_trace_command, cli_trie, cli_tune;

/* Find the help text of a command in cli/help/COMMAND.txt: the description, and after "%%" the end of --help. Without a file both are
 * empty. */
void cli_help_find(const char *command, rill_slice *about, rill_slice *end);

/* Refuse a domain's option that has the name of an option of the command, since it could not be set. */
int cli_option_rows_check(const cli_command *command, const cli_option_rows *rows);

/* Parse argv[1..argc).
 *   self: the command's struct; rows: the library's options, or NULL
 *   helped: set if help was printed and the command should end. NULL: a first pass that ignores --help and unknown options */
int cli_parse(const cli_command *command, void *self, const cli_option_rows *rows, int argc, char **argv, int *helped);

/* Print `text` on stdout, wrapped between columns `indent` and 78. The cursor is in column `column`. */
void cli_print_wrapped(const char *text, int column, int indent);
