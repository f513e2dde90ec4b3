/* Parsing command lines and printing help; see cli_options.h for the syntax. */
#include "cli_options.h"

#include <math.h>

enum { HELP_COLUMN = 28, LAST_COLUMN = 79 };
enum { HELP_ALL = 1, HELP_SHORT };

int cli_option_is_switch(const cli_option *option)
{
    return !option->argument || !option->argument[0];
}

static int is_optional(const cli_option *option)
{
    return option->argument && option->argument[0] == '[';
}

/* Return the option's name and aliases as a rill_option, the form that the library's functions for names take. */
static rill_option names_of(const cli_option *option)
{
    return (rill_option){.name = option->name, .aliases = option->aliases};
}

/* Whether `word` is the name or an alias of the option. */
static int is_called(const cli_option *option, const char *word)
{
    const rill_option table[] = {names_of(option), {.name = NULL}};
    return rill_option_find(table, word) != NULL;
}

/* Whether a name, alias or letter selects both options. */
static int shares_name(const cli_option *a, const cli_option *b)
{
    const rill_option names = names_of(b);
    char alias[RILL_OPTION_MAX];
    const char *name;
    for (int i = 0; (name = rill_option_name(&names, i, alias)); i++)
        if (is_called(a, name)) return 1;
    return a->letter && a->letter == b->letter;
}

/* Return the options of a group. rows: options from the library's tables; may be NULL. */
static const cli_option *group_options(const cli_group *group, const cli_option_rows *rows)
{
    static const cli_option none[] = {{.name = NULL}};
    const cli_option *options = group->rows && rows ? rows->table[group->rows] : group->options;
    return options ? options : none;
}

typedef struct taken_option {
    const cli_option *option;
    const char *value;
    char name[RILL_OPTION_MAX]; /* the name under which the option was given, without dashes; may be an alias */
} taken_option;

typedef struct parser {
    const cli_command *command;
    void *self;
    const cli_option_rows *rows;
    int argc;
    char **argv;
    int *helped;
    taken_option *taken; /* [n_taken] options parsed so far; there is room for argc */
    int n_taken;
} parser;

/* Return the option with this name or alias, or NULL. is_letter: `word` is a letter, as after one dash. */
static const cli_option *find(const parser *p, const char *word, int is_letter)
{
    for (const cli_group *g = p->command->groups; g->title; g++)
        for (const cli_option *o = group_options(g, p->rows); o->name; o++)
            if ((is_letter && o->letter == word[0]) || is_called(o, word)) return o;
    return NULL;
}

/* Return a hint about `word`, an option of other programs; NULL: unknown. rill_refused_option() has further hints. */
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

static int refuse_unknown_option(const parser *p, const char *word)
{
    rill_option_near near = {.name = ""};
    if (foreign_option(word)) return cli_fail("unknown option --%s: %s", word, foreign_option(word));
    rill_option_nearer(&(rill_option){.name = "help"}, word, &near);
    for (const cli_group *g = p->command->groups; g->title; g++)
        for (const cli_option *o = group_options(g, p->rows); o->name; o++) {
            const rill_option names = names_of(o);
            if (!o->refused) rill_option_nearer(&names, word, &near);
        }
    if (near.name[0]) return cli_fail("unknown option --%s; did you mean --%s?", word, near.name);
    return cli_fail("unknown option --%s; --help lists all options", word);
}

/* Whether a word is an option, not a negative number. */
static int is_option(const char *word)
{
    return word[0] == '-' && (word[1] == '-' || (word[1] >= 'a' && word[1] <= 'z' && strcmp(word, "-inf") != 0));
}

/* Whether an option's value is missing. Values may begin with a dash ("-1"). Those of --n-best and --normalize may not, because in Marian
 * these options are switches. */
static int is_value_missing(const cli_option *option, const char *next)
{
    const int is_marian = !strcmp(option->name, "n-best") || !strcmp(option->name, "length-penalty");
    return !strncmp(next, "--", 2) || (is_marian && is_option(next));
}

/* Report an option without a value. For --n-best and --normalize, tell how Marian's options of these names differ. name: as the user wrote
 * it. */
static int fail_no_value(const cli_option *option, const char *name)
{
    const char *hint = !strcmp(option->name, "n-best") ? " (in Marian it is a switch)"
                       : !strcmp(name, "normalize")    ? " (in Marian alone it means 1)"
                                                       : "";
    return cli_fail("option --%s needs a value: --%s %s%s", name, name, option->argument, hint);
}

/* Whether both texts stand for the same value of the option, as "2" and "02" do. */
static int is_same_value(const cli_option *option, const char *a, const char *b)
{
    const char *argument = option->argument ? option->argument : "";
    const rill_option row = {.name = option->name,
                             .type = !strcmp(argument, "SIZE") ? RILL_OPTION_BYTES
                                     : strlen(argument) == 1   ? RILL_OPTION_REAL
                                                               : RILL_OPTION_TEXT,
                             .min = -HUGE_VAL,
                             .max = HUGE_VAL};
    return rill_option_same_value(&row, a, b);
}

/* Convert `value`, and store it in the member of the command's struct that belongs to the option. */
static int store_value(void *member, const cli_option *option, const char *value)
{
    char name[64];
    int64_t number = 0;
    snprintf(name, sizeof name, "--%s", option->name);
    if (option->type == CLI_INT || option->type == CLI_INT64)
        TRY(cli_parse_int64(name, value, option->min, option->max, &number));
    switch (option->type) {
    case CLI_INT: *(int *)member = (int)number; break;
    case CLI_INT64: *(int64_t *)member = number; break;
    case CLI_SIZE: return cli_parse_size(option->name, value, option->min, option->max, member);
    default:
        if (cli_option_is_switch(option))
            *(int *)member = 1;
        else
            *(const char **)member = value;
    }
    return CLI_OK;
}

/* Report an option with a second, different value. name: as the user wrote it with the second value. */
static int fail_given_twice(const taken_option *first, const char *name, const char *value)
{
    char first_name[RILL_OPTION_MAX], second_name[RILL_OPTION_MAX];
    rill_option_spell(RILL_OPTION_DASHED, first->name, first_name);
    rill_option_spell(RILL_OPTION_DASHED, name, second_name);
    if (!strcmp(first_name, second_name))
        return cli_fail("%s is given twice, \"%s\" and \"%s\"", second_name, first->value, value);
    return cli_fail("%s \"%s\" and %s \"%s\" are one option, given twice", first_name, first->value, second_name,
                    value);
}

/* Handle an option. A second, different value is an error unless the option is repeatable: one of the values would be lost.
 *   name: as the user wrote it, without dashes */
static int take_option(parser *p, const cli_option *option, const char *name, const char *value)
{
    int i = 0;
    while (i < p->n_taken && p->taken[i].option != option) i++;
    if (i < p->n_taken && !option->is_repeatable && !is_same_value(option, p->taken[i].value, value))
        return fail_given_twice(&p->taken[i], name, value);
    if (i == p->n_taken && p->helped && !cli_option_is_switch(option)) {
        taken_option *taken = &p->taken[p->n_taken++];
        *taken = (taken_option){option, value, ""};
        snprintf(taken->name, sizeof taken->name, "%s", name);
    }
    /* the first pass takes only early options, the second pass all others */
    if (option->is_early != !p->helped) return CLI_OK;
    if (!option->take) return store_value((char *)p->self + option->member, option, value);
    cli_option given = *option;
    if (p->rows && option->take == p->rows->take) given.name = name;
    return option->take(p->self, &given, value);
}

/* Parse the long option at argv[*arg_index], which begins with two dashes. */
static int parse_long(parser *p, int *arg_index)
{
    const char *word = p->argv[*arg_index] + 2, *sign = strchr(word, '='), *value = sign ? sign + 1 : NULL;
    char name[RILL_OPTION_MAX];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    if (!strcmp(name, "help")) {
        if (p->helped) *p->helped = HELP_ALL;
        return CLI_OK;
    }
    const cli_option *option = find(p, name, 0);
    if ((!option || option->refused) && !p->helped) return CLI_OK;
    if (!option) return refuse_unknown_option(p, name);
    if (option->refused) return cli_fail("unknown option --%s: %s", option->name, option->refused);
    if (cli_option_is_switch(option) && value)
        return cli_fail("option --%s takes no value, found \"%s\"", option->name, value);
    if (!value && (cli_option_is_switch(option) || is_optional(option))) return take_option(p, option, name, "");
    if (!value) {
        if (*arg_index + 1 >= p->argc || is_value_missing(option, p->argv[*arg_index + 1]))
            return fail_no_value(option, name);
        value = p->argv[++*arg_index];
    }
    return take_option(p, option, name, value);
}

/* Parse short options such as -abc: each is a switch, until one that takes the rest of the word as its value. */
static int parse_letters(parser *p, int *arg_index)
{
    const char *word = p->argv[*arg_index] + 1;
    char name[RILL_OPTION_MAX];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    /* "-method x" parses as -m with the value "ethod": report it as a misspelt --method. */
    if (name[0] && name[1] && p->helped && find(p, name, 0))
        return cli_fail("unknown option -%s; did you mean --%s?", name, name);
    for (; *word; word++) {
        if (*word == 'h') {
            if (p->helped) *p->helped = HELP_SHORT;
            return CLI_OK;
        }
        const char letter[] = {*word, '\0'};
        const cli_option *option = find(p, letter, 1);
        if ((!option || option->refused) && !p->helped) return CLI_OK;
        if (!option) return cli_fail("unknown option -%c; --help lists all", *word);
        if (option->refused) return cli_fail("unknown option -%c: %s", *word, option->refused);
        if (!cli_option_is_switch(option)) {
            if (word[1] == '=')
                return cli_fail("option -%c takes its value without \"=\": -%c %s", *word, *word, word + 2);
            const char *value = word[1] ? word + 1 : *arg_index + 1 < p->argc ? p->argv[++*arg_index] : NULL;
            return value ? take_option(p, option, letter, value)
                         : cli_fail("option -%c needs a value: -%c %s", *word, *word, option->argument);
        }
        TRY(take_option(p, option, letter, ""));
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
static int write_aliases(FILE *out, const cli_option *option)
{
    const rill_option names = names_of(option);
    char alias[RILL_OPTION_MAX];
    int n = 0;
    for (int i = 1; rill_option_name(&names, i, alias); i++) {
        if (!alias[1] && alias[0] == option->letter) continue;
        if (out) fprintf(out, "%s%s%s", n ? ", " : "", alias[1] ? "--" : "-", alias);
        n++;
    }
    return n;
}

/* Write the help text, with the default, the domains and the aliases. Its length is unlimited, since plugins define options too. */
static void write_help(FILE *out, const cli_option *option, int is_short)
{
    const int has_aliases = !is_short && write_aliases(NULL, option) > 0;
    const char *notes[][2] = {{"default ", option->initial ? option->initial : ""},
                              {"", is_short ? "" : option->domains},
                              {"also ", has_aliases ? option->aliases : ""}};
    const char *separator = " (";
    fprintf(out, "%.*s", (int)(is_short ? strcspn(option->help, ";") : strlen(option->help)), option->help);
    for (int i = 0; i < 3; i++) {
        if (!notes[i][1][0]) continue;
        fprintf(out, "%s%s", separator, notes[i][0]);
        if (i == 2)
            write_aliases(out, option);
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

/* Print the command's groups of options. names: only options with these names, separated by spaces; NULL: all options. */
static void print_groups(const parser *p, const char *names)
{
    const cli_option wanted = {.name = "", .aliases = names};
    for (const cli_group *g = p->command->groups; g->title; g++) {
        int n_printed = 0;
        for (const cli_option *o = group_options(g, p->rows); o->name; o++) {
            if (o->refused || (names && !is_called(&wanted, o->name))) continue;
            if (n_printed++ == 0) cli_print("\n%s:\n", g->title);
            print_option(o, names != NULL);
        }
    }
}

static const rill_embedded_file help_files[] = {
#include "help_files.h"
};

void cli_help_find(const char *command, rill_slice *about, rill_slice *end)
{
    static const char mark[] = "\n%%\n";
    char name[32];
    snprintf(name, sizeof name, "%s.txt", command);
    *about = *end = (rill_slice){"", 0};
    for (size_t i = 0; i < sizeof help_files / sizeof *help_files; i++) {
        const rill_embedded_file *file = &help_files[i];
        if (strcmp(file->name, name) != 0) continue;
        const char *about_end = memmem(file->text, file->length, mark, sizeof mark - 1);
        if (!about_end) continue;
        *about = (rill_slice){file->text, (size_t)(about_end - file->text)};
        *end = (rill_slice){about_end + sizeof mark - 1, file->length - about->length - (sizeof mark - 1)};
    }
}

/* Return the length in bytes of the first sentence of `text`. */
static int sentence_length(rill_slice text)
{
    size_t length = 0;
    while (length < text.length && !(text.data[length] == '.' && strchr(" \n", text.data[length + 1]))) length++;
    return (int)(length < text.length ? length + 1 : length);
}

static int print_help(const parser *p, int is_short)
{
    const cli_command *command = p->command;
    rill_slice about, end;
    cli_help_find(command->name, &about, &end);
    cli_print("Usage: %s\n\n%.*s\n", command->usage, is_short ? sentence_length(about) : (int)about.length, about.data);
    print_groups(p, is_short ? command->main_options : NULL);
    if (is_short)
        cli_print("\n`rill %s --help` shows all options, and examples.\n", command->name);
    else if (end.length > 0)
        cli_print("\n%.*s", (int)end.length, end.data);
    return cli_flush_stdout();
}

/* Whether the word should follow "=", as "hard" in "--alignment hard": `last` has an optional value, and no such file exists. */
static int is_stray_value(const parser *p, const char *last, const char *word)
{
    if (strncmp(last, "--", 2) || !last[2] || strchr(last, '=')) return 0;
    const cli_option *option = find(p, last + 2, 0);
    return option && is_optional(option) && !cli_file_exists(word);
}

/* Handle a positional argument. In the first pass it may be the value of a plugin's option. */
static int take_argument(const parser *p, const char *last, const char *word)
{
    const cli_command *command = p->command;
    if (is_stray_value(p, last, word)) return cli_fail("the value of %s follows \"=\": write %s=%s", last, last, word);
    if (!p->helped) return CLI_OK;
    if (command->take_argument) return command->take_argument(p->self, word);
    if (command->argument) {
        const char **member = (const char **)(void *)((char *)p->self + command->argument_member);
        if (*member) return cli_fail("expected one %s, found another, \"%s\"", command->argument, word);
        *member = word;
        return CLI_OK;
    }
    if (find(p, "model", 0) && cli_file_is_folder(word))
        return cli_fail("unexpected argument \"%s\": name a model with -m", word);
    if (find(p, "input", 0))
        return cli_fail("unexpected argument \"%s\": name inputs with -i; --help shows the usage", word);
    return cli_fail("unexpected argument \"%s\"; --help shows the usage", word);
}

static int parse_words(parser *p)
{
    int only_arguments = 0;
    for (int i = 1; i < p->argc && !(p->helped && *p->helped); i++) {
        const char *word = p->argv[i];
        if (only_arguments || word[0] != '-' || !word[1]) /* a lone "-" is an argument: standard input or output */
            TRY(take_argument(p, i > 1 ? p->argv[i - 1] : "", word));
        else if (!strcmp(word, "--"))
            only_arguments = 1;
        else
            TRY(word[1] == '-' ? parse_long(p, &i) : parse_letters(p, &i));
    }
    return CLI_OK;
}

int cli_parse(const cli_command *command, void *self, const cli_option_rows *rows, int argc, char **argv, int *helped)
{
    parser p = {.command = command, .self = self, .rows = rows, .argc = argc, .argv = argv, .helped = helped};
    if (helped) *helped = 0;
    if (helped && !(p.taken = calloc((size_t)argc + 1, sizeof *p.taken))) return cli_fail_memory("the options");
    const int code = parse_words(&p);
    free(p.taken);
    if (code != CLI_OK || !helped || !*helped) return code;
    return print_help(&p, *helped == HELP_SHORT && command->main_options);
}

/* --- options of the library -------------------------------------------------------------------------------------------- */

/* The first alias of one letter; 0: the option has none. */
static char row_letter(const rill_option *row)
{
    char alias[RILL_OPTION_MAX];
    for (int i = 1; rill_option_name(row, i, alias); i++)
        if (!alias[1]) return alias[0];
    return 0;
}

/* Append an option and the table's final row. domain: the option's domain, or NULL. The first option of a name wins. */
static int add_row(cli_option_rows *rows, cli_row_group group, const rill_option *row, const char *domain)
{
    cli_option *table = rows->table[group];
    int i = 0;
    while (domain && i < rows->n[group] && strcmp(table[i].name, row->name)) i++;
    if (!domain || i == rows->n[group]) {
        i = rows->n[group];
        table = realloc(table, ((size_t)i + 2) * sizeof *table);
        if (!table) return cli_fail_memory("the options");
        rows->table[group] = table;
        table[i] = (cli_option){
            .name = row->name,
            .aliases = row->aliases,
            .letter = row_letter(row),
            .argument = row->argument,
            .help = row->help,
            .initial = row->initial,
            /* a second value is allowed here: the option source itself refuses it, except for options that add to a
                                 * list */
            .is_repeatable = 1,
            .refused = group == CLI_ROWS_SEARCH && !strcmp(row->name, "check")
                           ? "`rill check` checks heuristics, scorers and schedulers"
                           : NULL,
            .take = rows->take};
        table[++rows->n[group]] = (cli_option){.name = NULL};
    }
    const size_t used = strlen(table[i].domains);
    if (domain) snprintf(table[i].domains + used, CLI_DOMAIN_NAMES_MAX - used, "%s%s", used ? ", " : "", domain);
    return CLI_OK;
}

static int add_rows(cli_option_rows *rows, cli_row_group group, const rill_option *row, const char *domain)
{
    for (; row && row->name; row++)
        if (!rows->hidden || strcmp(row->name, rows->hidden)) TRY(add_row(rows, group, row, domain));
    return CLI_OK;
}

int cli_option_rows_fill(cli_option_rows *rows, const rill_context *ctx, cli_take_fn take, const char *hidden)
{
    const rill_domain *d;
    cli_option_rows_free(rows);
    rows->take = take;
    rows->hidden = hidden;
    TRY(add_rows(rows, CLI_ROWS_SEARCH, rill_setting_table(), NULL));
    TRY(add_rows(rows, CLI_ROWS_CHAINS, rill_chain_table(), NULL));
    TRY(add_rows(rows, CLI_ROWS_OUTPUTS, rill_output_table(), NULL));
    for (size_t i = 0; (d = rill_domain_at(ctx, i)); i++) TRY(add_rows(rows, CLI_ROWS_DOMAINS, d->options, d->name));
    return CLI_OK;
}

void cli_option_rows_free(cli_option_rows *rows)
{
    for (int i = 0; i < CLI_ROW_GROUPS; i++) free(rows->table[i]);
    memset(rows, 0, sizeof *rows);
}

int cli_option_rows_check(const cli_command *command, const cli_option_rows *rows)
{
    static const cli_option help = {.name = "help", .letter = 'h'};
    const cli_group *domains = command->groups;
    while (domains->title && domains->rows != CLI_ROWS_DOMAINS) domains++;
    if (!domains->title) return CLI_OK;
    for (const cli_option *row = group_options(domains, rows); row->name; row++) {
        int is_hidden = shares_name(&help, row);
        for (const cli_group *g = command->groups; g->title; g++)
            for (const cli_option *own = group_options(g, rows); g != domains && own->name; own++)
                is_hidden |= shares_name(own, row);
        if (is_hidden)
            return cli_fail("domain %s: its option --%s has the name of an option of the command: rename it",
                            row->domains, row->name);
    }
    return CLI_OK;
}
