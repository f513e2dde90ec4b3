/* Parsing command lines and printing help; see cli_options.h for the syntax. */
#include "cli_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 28, LAST_COLUMN = 79 };
enum { HELP_ALL = 1, HELP_SHORT };

int cli_option_is_switch(const cli_option *option)
{
    return !option->argument || !option->argument[0];
}

int cli_option_store(void *all, const cli_option *option, const char *value)
{
    void *member = (char *)all + option->member;
    if (cli_option_is_switch(option))
        *(int *)member = 1;
    else
        *(const char **)member = value;
    return CLI_OK;
}

static int is_optional(const cli_option *option)
{
    return option->argument && option->argument[0] == '[';
}

/* Whether `word` is the name or an alias of the option. */
static int is_called(const cli_option *option, const char *word)
{
    const rill_option table[] = {{.name = option->name, .aliases = option->aliases}, {.name = NULL}};
    return rill_option_find(table, word) != NULL;
}

int cli_option_shares_name(const cli_option *a, const cli_option *b)
{
    char word[64];
    if (is_called(a, b->name) || (a->letter && a->letter == b->letter)) return 1;
    for (const char *alias = b->aliases ? b->aliases : ""; *alias; alias += strspn(alias, " ")) {
        const size_t length = strcspn(alias, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, alias);
        if (is_called(a, word)) return 1;
        alias += length;
    }
    return 0;
}

static const cli_option *find(const cli_syntax *syntax, const char *name, size_t length, char letter)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", letter ? 1 : (int)length, letter ? &letter : name);
    for (const cli_group *g = syntax->groups; g->title; g++)
        for (const cli_option *o = cli_group_options(g); o->name; o++)
            if ((letter && o->letter == letter) || is_called(o, word)) return o;
    return NULL;
}

/* Options of other programs that rill does not have, and what to use instead. rill_refused_option() knows further ones. */
static const char *foreign_option(const char *word)
{
    static const rill_option foreign[] = {
        {.name = "svg", .help = "use --plot FILE.html: its page saves charts as SVG"},
        {.name = "prefix",
         .aliases = "target-prefix",
         .help = "use --constraints FILE with \"prefix:TEXT\" for each input"},
        {.name = "forced-bos-token-id",
         .help = "use --target-lang for the language, or --constraints FILE with \"prefix:TEXT\""},
        {.name = "suppress-sequences",
         .aliases = "bad-words bad-words-ids",
         .help = "use --constraints FILE with \"ban:TEXT\" for each input"},
        {.name = "replace-unk",
         .aliases = "replace-unknowns",
         .help = "use --unknown-penalty inf, which never writes the unknown token"},
        {.name = "remove-bpe", .aliases = "post-process", .help = "outputs are detokenized already: leave it out"},
        {.name = "output-sampling", .help = "use --num-samples N to draw N outputs"},
        {0},
    };
    const rill_option *row = rill_option_find(foreign, word);
    const char *why = row ? row->help : rill_refused_option("setting", word);
    return why ? why : rill_refused_option("opening", word);
}

static int refuse_unknown_option(const cli_syntax *syntax, const char *name, size_t length)
{
    char word[64];
    rill_option_near near = {.name = ""};
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    if (foreign_option(word)) return cli_fail("unknown option --%s: %s", word, foreign_option(word));
    rill_option_nearer(&(rill_option){.name = "help"}, word, &near);
    for (const cli_group *g = syntax->groups; g->title; g++)
        for (const cli_option *o = cli_group_options(g); o->name; o++)
            if (!o->refused) rill_option_nearer(&(rill_option){.name = o->name, .aliases = o->aliases}, word, &near);
    if (near.name[0]) return cli_fail("unknown option --%s; did you mean --%s?", word, near.name);
    return cli_fail("unknown option --%s; --help lists all options", word);
}

/* Whether a word is an option, not a negative number. */
static int is_option(const char *word)
{
    return word[0] == '-' && (word[1] == '-' || (word[1] >= 'a' && word[1] <= 'z' && strcmp(word, "-inf") != 0));
}

/* Whether the word after an option is not its value. A value may begin with a dash, as in "-1". In Marian, --n-best and --normalize may
 * stand without a value, so there an option after them, as in "--n-best -b 12", means that the value is missing. */
static int is_value_missing(const cli_option *option, const char *next)
{
    const int is_marian = !strcmp(option->name, "n-best") || !strcmp(option->name, "length-penalty");
    return !strncmp(next, "--", 2) || (is_marian && is_option(next));
}

/* Report an option without its value. For --n-best and --normalize the message says how Marian's option differs. name: as the user wrote
 * it. */
static int fail_no_value(const cli_option *option, const char *name, int length)
{
    const char *hint = !strcmp(option->name, "n-best")                ? " (in Marian it is a switch)"
                       : length == 9 && !memcmp(name, "normalize", 9) ? " (in Marian alone it means 1)"
                                                                      : "";
    return cli_fail("option --%.*s needs a value: --%.*s %s%s", length, name, length, name, option->argument, hint);
}

/* An option that was parsed, with its value. */
typedef struct taken_option {
    const cli_option *option;
    const char *value;
} taken_option;

typedef struct parser {
    const cli_syntax *syntax;
    int argc;
    char **argv;
    int *helped;
    taken_option *taken; /* [n_taken] of at most argc */
    int n_taken;
} parser;

/* Whether both texts stand for the same value of the option, as "2" and "02" do. */
static int is_same_value(const cli_option *option, const char *a, const char *b)
{
    const int is_size = option->argument && !strcmp(option->argument, "SIZE");
    const rill_option number = {.name = option->name,
                                .type = is_size ? RILL_OPTION_BYTES : RILL_OPTION_REAL,
                                .min = -HUGE_VAL,
                                .max = HUGE_VAL};
    union {
        double real;
        int64_t bytes;
    } x = {0}, y = {0};
    rill_context *ctx = NULL;
    if (!strcmp(a, b)) return 1;
    if (!is_size && (!option->argument || strlen(option->argument) != 1)) return 0;
    int same = rill_context_create(&ctx, NULL) == RILL_OK && rill_option_read(ctx, &number, a, &x) == RILL_OK &&
               rill_option_read(ctx, &number, b, &y) == RILL_OK;
    if (same) same = is_size ? x.bytes == y.bytes : x.real == y.real;
    rill_context_destroy(ctx);
    return same;
}

/* Handle an option. A second, different value is an error unless the option is repeatable, since one of the values would be lost. */
static int take(parser *p, const cli_option *option, const char *value)
{
    int i = 0;
    while (i < p->n_taken && p->taken[i].option != option) i++;
    if (i < p->n_taken && !option->is_repeatable && !is_same_value(option, p->taken[i].value, value))
        return cli_fail("--%s is given twice, \"%s\" and \"%s\"", option->name, p->taken[i].value, value);
    if (i == p->n_taken && p->helped && !cli_option_is_switch(option))
        p->taken[p->n_taken++] = (taken_option){option, value};
    return p->syntax->take_option(p->syntax->user, option, value);
}

/* Parse the long option at argv[*arg_index], which begins with two dashes. */
static int parse_long(parser *p, int *arg_index)
{
    const cli_syntax *syntax = p->syntax;
    const int argc = p->argc;
    char **argv = p->argv;
    int *helped = p->helped;
    const char *name = argv[*arg_index] + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] ? name + length + 1 : NULL;
    if (length == 4 && !memcmp(name, "help", 4)) {
        if (helped) *helped = HELP_ALL;
        return CLI_OK;
    }
    const cli_option *option = find(syntax, name, length, 0);
    if ((!option || option->refused) && !helped) return CLI_OK;
    if (!option) return refuse_unknown_option(syntax, name, length);
    if (option->refused) return cli_fail("unknown option --%s: %s", option->name, option->refused);
    if (cli_option_is_switch(option)) {
        if (value) return cli_fail("option --%s takes no value, found \"%s\"", option->name, value);
        return take(p, option, "");
    }
    if (!value && is_optional(option)) return take(p, option, "");
    if (!value) {
        if (*arg_index + 1 >= argc || is_value_missing(option, argv[*arg_index + 1]))
            return fail_no_value(option, name, (int)length);
        value = argv[++*arg_index];
    }
    return take(p, option, value);
}

/* Parse the short options at argv[*arg_index]: switches, until an option takes the rest of the word as its value. */
static int parse_letters(parser *p, int *arg_index)
{
    const cli_syntax *syntax = p->syntax;
    int *helped = p->helped;
    const char *word = p->argv[*arg_index] + 1;
    size_t length = strcspn(word, "=");
    /* "-method x" would be -m with the value "ethod": report it as a misspelt --method. */
    if (length > 1 && helped && find(syntax, word, length, 0))
        return cli_fail("unknown option -%.*s; did you mean --%.*s?", (int)length, word, (int)length, word);
    for (const char *letter_at = word; *letter_at; letter_at++) {
        if (*letter_at == 'h') {
            if (helped) *helped = HELP_SHORT;
            return CLI_OK;
        }
        const cli_option *option = find(syntax, NULL, 0, *letter_at);
        if ((!option || option->refused) && !helped) return CLI_OK;
        if (!option) return cli_fail("unknown option -%c; --help lists all", *letter_at);
        if (option->refused) return cli_fail("unknown option -%c: %s", *letter_at, option->refused);
        const char *value = "";
        if (!cli_option_is_switch(option)) {
            if (letter_at[1] == '=')
                return cli_fail("option -%c takes its value without \"=\": -%c %s", *letter_at, *letter_at,
                                letter_at + 2);
            value = letter_at[1] ? letter_at + 1 : *arg_index + 1 < p->argc ? p->argv[++*arg_index] : NULL;
            if (!value) return cli_fail("option -%c needs a value: -%c %s", *letter_at, *letter_at, option->argument);
            return take(p, option, value);
        }
        int code = take(p, option, value);
        if (code != CLI_OK) return code;
    }
    return CLI_OK;
}

void cli_print_wrapped(const char *text, int column, int indent)
{
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > indent && column + 1 + (int)word > LAST_COLUMN) {
            cli_print("\n");
            column = 0;
        }
        if (column < indent)
            column += cli_print("%*s", indent - column, "");
        else
            column += cli_print(" ");
        column += cli_print("%.*s", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    cli_print("\n");
}

/* Write the aliases, as "-b, --num-beams", without the option's own letter. Return their number; out: NULL to count only. */
static int write_aliases(FILE *out, const char *aliases, char letter)
{
    int n = 0;
    for (size_t length; (length = strcspn(aliases, " ")) > 0; aliases += length, aliases += strspn(aliases, " ")) {
        if (length == 1 && aliases[0] == letter) continue;
        if (out) fprintf(out, "%s%s%.*s", n ? ", " : "", length > 1 ? "--" : "-", (int)length, aliases);
        n++;
    }
    return n;
}

/* Write the help text, with the default, the domains and the aliases. Its length is unlimited, since plugins define options too. */
static void write_help(FILE *out, const cli_option *option, int is_short)
{
    const char *aliases = option->aliases && !is_short ? option->aliases : "";
    const char *notes[][2] = {{"default ", option->initial ? option->initial : ""},
                              {"", option->domains && !is_short ? option->domains : ""},
                              {"also ", write_aliases(NULL, aliases, option->letter) ? aliases : ""}};
    const char *separator = " (";
    fprintf(out, "%.*s", (int)(is_short ? strcspn(option->help, ";") : strlen(option->help)), option->help);
    for (int i = 0; i < 3; i++) {
        if (!notes[i][1][0]) continue;
        fprintf(out, "%s%s", separator, notes[i][0]);
        if (i == 2)
            write_aliases(out, aliases, option->letter);
        else
            fputs(notes[i][1], out);
        separator = "; ";
    }
    if (separator[0] == ';') fputs(")", out);
}

static void print_option(const cli_option *option, int is_short)
{
    int column = cli_print("  ");
    if (option->letter) column += cli_print("-%c", option->letter);
    if (option->letter && option->name[1]) column += cli_print(", ");
    if (option->name[1]) column += cli_print("--%s", option->name);
    if (!cli_option_is_switch(option)) column += cli_print(is_optional(option) ? "%s" : " %s", option->argument);
    if (column > HELP_COLUMN - 2) {
        cli_print("\n");
        column = 0;
    }
    char *help = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&help, &size);
    if (out) write_help(out, option, is_short);
    if (out) fclose(out);
    cli_print_wrapped(help ? help : option->help, column, HELP_COLUMN);
    free(help);
}

/* Whether `words`, a list with spaces between, contains `word`. */
static int has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *p = words; (p = strstr(p, word)); p += length)
        if ((p == words || p[-1] == ' ') && (p[length] == ' ' || !p[length])) return 1;
    return 0;
}

/* names: the options to print; NULL: all. */
static void print_groups(const cli_syntax *syntax, const char *names)
{
    for (const cli_group *g = syntax->groups; g->title; g++) {
        int n_printed = 0;
        for (const cli_option *o = cli_group_options(g); o->name; o++) {
            if (o->refused || (names && !has_word(names, o->name))) continue;
            if (n_printed++ == 0) cli_print("\n%s:\n", g->title);
            print_option(o, names != NULL);
        }
    }
}

/* Length of the first sentence. */
static int sentence_length(const char *text)
{
    size_t length = 0;
    while (text[length] && !(text[length] == '.' && strchr(" \n", text[length + 1]))) length++;
    return (int)(text[length] ? length + 1 : length);
}

static int print_short_help(const cli_syntax *syntax)
{
    const size_t program = strcspn(syntax->usage, " ") + 1, command = strcspn(syntax->usage + program, " ");
    cli_print("Usage: %s\n\n%.*s\n", syntax->usage, sentence_length(syntax->about), syntax->about);
    print_groups(syntax, syntax->main_options);
    cli_print("\n`%.*s --help` shows all options, and examples.\n", (int)(program + command), syntax->usage);
    return cli_flush_stdout();
}

static int print_help(const cli_syntax *syntax)
{
    cli_print("Usage: %s\n\n%s\n", syntax->usage, syntax->about);
    print_groups(syntax, NULL);
    if (syntax->epilogue) cli_print("\n%s", syntax->epilogue);
    return cli_flush_stdout();
}

/* Whether the word should follow "=", as "hard" in "--alignment hard": the previous word `last` is an option with an optional value, and
 * no file has this name. */
static int is_stray_value(const cli_syntax *syntax, const char *last, const char *word)
{
    if (strncmp(last, "--", 2) || !last[2] || strchr(last, '=')) return 0;
    const cli_option *option = find(syntax, last + 2, strlen(last + 2), 0);
    return option && is_optional(option) && !cli_file_exists(word);
}

static int parse_words(parser *p)
{
    const cli_syntax *syntax = p->syntax;
    const int argc = p->argc;
    char **argv = p->argv;
    int *helped = p->helped, only_arguments = 0, code = CLI_OK;
    for (int arg_index = 1; arg_index < argc && code == CLI_OK && !(helped && *helped); arg_index++) {
        const char *word = argv[arg_index];
        if (only_arguments || word[0] != '-' || !word[1]) { /* a lone "-" is an argument: standard input or output */
            if (arg_index > 1 && is_stray_value(syntax, argv[arg_index - 1], word))
                return cli_fail("the value of %s follows \"=\": write %s=%s", argv[arg_index - 1], argv[arg_index - 1],
                                word);
            if (!syntax->take_argument && find(syntax, "model", 5, 0) && cli_file_is_folder(word))
                return cli_fail("unexpected argument \"%s\": name a model with -m", word);
            if (!syntax->take_argument && find(syntax, "input", 5, 0))
                return cli_fail("unexpected argument \"%s\": name inputs with -i; --help shows the usage", word);
            if (!syntax->take_argument) return cli_fail("unexpected argument \"%s\"; --help shows the usage", word);
            code = syntax->take_argument(syntax->user, word);
        } else if (!strcmp(word, "--")) {
            only_arguments = 1;
        } else if (word[1] == '-') {
            code = parse_long(p, &arg_index);
        } else {
            code = parse_letters(p, &arg_index);
        }
    }
    return code;
}

int cli_parse(const cli_syntax *syntax, int argc, char **argv, int *helped)
{
    parser p = {.syntax = syntax, .argc = argc, .argv = argv, .helped = helped};
    if (helped) *helped = 0;
    if (helped && !(p.taken = calloc((size_t)argc + 1, sizeof *p.taken))) return cli_fail_memory("the options");
    const int code = parse_words(&p);
    free(p.taken);
    if (code != CLI_OK || !helped || !*helped) return code;
    return *helped == HELP_SHORT && syntax->main_options ? print_short_help(syntax) : print_help(syntax);
}

/* --- rows of the library's tables -------------------------------------------------------------------------------------- */

/* The first alias of one letter; 0: the option has none. */
static char row_letter(const rill_option *row)
{
    const char *alias = row->aliases ? row->aliases : "";
    for (size_t length; (length = strcspn(alias, " ")) > 0; alias += length, alias += *alias == ' ')
        if (length == 1) return *alias;
    return 0;
}

static cli_option make_option(const rill_option *row)
{
    return (cli_option){
        .name = row->name,
        .aliases = row->aliases,
        .letter = row_letter(row),
        .argument = row->argument,
        .help = row->help,
        .initial = row->initial,
        .is_repeatable =
            1, /* the option source refuses different values itself; heuristics and scorers may have several */
        .id = CLI_TAKE_ROW};
}

static void fill_options_table(cli_option *options, const rill_option *row)
{
    for (int n = 0; row->name && n < CLI_OPTION_ROWS_MAX; row++) options[n++] = make_option(row);
}

/* Reserve one more row, and the row that ends the table. */
static int grow_rows(cli_option_rows *rows, int n)
{
    cli_option *table = realloc(rows->table, ((size_t)n + 2) * sizeof *table);
    if (table) rows->table = table;
    char(*domain_names)[CLI_DOMAIN_NAMES_MAX] = realloc(rows->domain_names, ((size_t)n + 1) * sizeof *domain_names);
    if (domain_names) rows->domain_names = domain_names;
    rows->domains[0].table = rows->table;
    return table && domain_names ? CLI_OK : cli_fail_memory("the options");
}

/* If two domains have the same option, the help text of the first is shown. */
static int add_domain(cli_option_rows *rows, const rill_domain *d)
{
    int code = CLI_OK;
    for (const rill_option *row = d->options; row && row->name && code == CLI_OK; row++) {
        int row_index = 0;
        while (row_index < rows->n && strcmp(rows->table[row_index].name, row->name)) row_index++;
        if (row_index == rows->n && (code = grow_rows(rows, row_index)) == CLI_OK) {
            rows->table[rows->n++] = make_option(row);
            rows->table[rows->n] = (cli_option){.name = NULL};
            rows->domain_names[row_index][0] = '\0';
        }
        if (code != CLI_OK) break;
        const size_t used = strlen(rows->domain_names[row_index]);
        snprintf(rows->domain_names[row_index] + used, CLI_DOMAIN_NAMES_MAX - used, "%s%s", used ? ", " : "", d->name);
    }
    return code;
}

int cli_option_rows_fill(cli_option_rows *rows, const rill_context *ctx)
{
    const rill_domain *d;
    int code = CLI_OK;
    cli_option_rows_free(rows);
    fill_options_table(rows->settings, rill_setting_table());
    fill_options_table(rows->chains, rill_chain_table());
    fill_options_table(rows->output_options, rill_output_table());
    for (size_t i = 0; code == CLI_OK && (d = rill_domain_at(ctx, i)); i++) code = add_domain(rows, d);
    for (int i = 0; i < rows->n; i++) rows->table[i].domains = rows->domain_names[i];
    return code;
}

void cli_option_rows_free(cli_option_rows *rows)
{
    free(rows->table);
    free(rows->domain_names);
    memset(rows, 0, sizeof *rows);
}

void cli_option_rows_refuse(cli_option_rows *rows, const char *name, const char *instead)
{
    for (cli_option *option = rows->settings; option->name; option++)
        if (!strcmp(option->name, name)) option->refused = instead;
}

void cli_option_rows_drop(cli_option_rows *rows, const char *name)
{
    cli_option *option = rows->settings;
    while (option->name && strcmp(option->name, name)) option++;
    for (; option->name; option++) option[0] = option[1];
}
