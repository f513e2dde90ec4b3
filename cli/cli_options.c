/* Parsing command lines and printing help; see cli_options.h for the syntax. */
#include "cli_options.h"

#include "files.h"

#include <stdio.h>
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
    else if (*(const char **)member && strcmp(*(const char **)member, value) != 0)
        return cli_fail("--%s is given twice, \"%s\" and \"%s\"", option->name, *(const char **)member, value);
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

static const cli_option *find(const cli_syntax *syntax, const char *name, size_t length, char letter)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", letter ? 1 : (int)length, letter ? &letter : name);
    for (const cli_group *g = syntax->groups; g->title; g++)
        for (const cli_option *o = cli_group_options(g); o->name; o++)
            if ((letter && o->letter == letter) || is_called(o, word)) return o;
    return NULL;
}

static int refuse_unknown_option(const cli_syntax *syntax, const char *name, size_t length)
{
    char word[64];
    rill_option_near near = {.name = ""};
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    if (rill_refused_option("setting", word))
        return cli_fail("unknown option --%s: %s", word, rill_refused_option("setting", word));
    rill_option_nearer(&(rill_option){.name = "help"}, word, &near);
    for (const cli_group *g = syntax->groups; g->title; g++)
        for (const cli_option *o = cli_group_options(g); o->name; o++)
            if (!o->refused) rill_option_nearer(&(rill_option){.name = o->name, .aliases = o->aliases}, word, &near);
    if (near.name[0]) return cli_fail("unknown option --%s; did you mean --%s?", word, near.name);
    return cli_fail("unknown option --%s; --help lists all", word);
}

/* Refuse another option in the place of a value, as after --n-best, which is a switch in Marian. */
static int fail_no_value(const cli_option *option)
{
    return cli_fail("option --%s needs a value: --%s %s%s", option->name, option->name, option->argument,
                    strcmp(option->name, "n-best") ? "" : " (in Marian it is a switch)");
}

/* Parse the long option at argv[*arg_index], which begins with two dashes. */
static int parse_long(const cli_syntax *syntax, int argc, char **argv, int *arg_index, int *helped)
{
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
        if (value) return cli_fail("option --%s takes no value, but \"%s\" was given", option->name, value);
        return syntax->take_option(syntax->user, option, "");
    }
    if (!value && is_optional(option)) return syntax->take_option(syntax->user, option, "");
    if (!value) {
        if (*arg_index + 1 >= argc || !strncmp(argv[*arg_index + 1], "--", 2)) return fail_no_value(option);
        value = argv[++*arg_index];
    }
    return syntax->take_option(syntax->user, option, value);
}

/* Parse the short options at argv[*arg_index]: switches, until an option takes the rest of the word as its value. */
static int parse_letters(const cli_syntax *syntax, int argc, char **argv, int *arg_index, int *helped)
{
    const char *word = argv[*arg_index] + 1;
    size_t length = strcspn(word, "=");
    /* "-method x" would be -m with the value "ethod": report it as a misspelt --method. */
    if (length > 1 && helped && find(syntax, word, length, 0))
        return cli_fail("unknown option -%.*s; did you mean --%.*s?", (int)length, word, (int)length, word);
    for (const char *p = word; *p; p++) {
        if (*p == 'h') {
            if (helped) *helped = HELP_SHORT;
            return CLI_OK;
        }
        const cli_option *option = find(syntax, NULL, 0, *p);
        if ((!option || option->refused) && !helped) return CLI_OK;
        if (!option) return cli_fail("unknown option -%c; --help lists all", *p);
        if (option->refused) return cli_fail("unknown option -%c: %s", *p, option->refused);
        const char *value = "";
        if (!cli_option_is_switch(option)) {
            if (p[1] == '=') return cli_fail("option -%c takes its value without \"=\": -%c %s", *p, *p, p + 2);
            value = p[1] ? p + 1 : *arg_index + 1 < argc ? argv[++*arg_index] : NULL;
            if (!value) return cli_fail("option -%c needs a value: -%c %s", *p, *p, option->argument);
            return syntax->take_option(syntax->user, option, value);
        }
        int code = syntax->take_option(syntax->user, option, value);
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

/* Write the long aliases, as "--num-beams, --beam". Aliases of one letter are shown as the option's letter. */
static void list_aliases(const cli_option *option, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *word = option->aliases ? option->aliases : ""; *word && used < size;) {
        const size_t length = strcspn(word, " ");
        if (length > 1)
            used += (size_t)snprintf(out + used, size - used, "%s--%.*s", used > 0 ? ", " : "", (int)length, word);
        word += length + strspn(word + length, " ");
    }
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
    char help[768], aliases[200] = "";
    const char *initial = option->initial ? option->initial : "";
    const char *domains = option->domains && !is_short ? option->domains : "";
    if (!is_short) list_aliases(option, aliases, sizeof aliases);
    const char *notes[][2] = {{"default ", initial}, {"", domains}, {"also ", aliases}};
    int used = snprintf(help, sizeof help, "%.*s", (int)(is_short ? strcspn(option->help, ";") : strlen(option->help)),
                        option->help);
    const int bare = used;
    for (int i = 0; i < 3; i++)
        if (notes[i][1][0])
            used += snprintf(help + used, sizeof help - (size_t)used, "%s%s%s", used > bare ? "; " : " (", notes[i][0],
                             notes[i][1]);
    if (used > bare) snprintf(help + used, sizeof help - (size_t)used, ")");
    cli_print_wrapped(help, column, HELP_COLUMN);
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

int cli_parse(const cli_syntax *syntax, int argc, char **argv, int *helped)
{
    int only_arguments = 0, code = CLI_OK;
    if (helped) *helped = 0;
    for (int arg_index = 1; arg_index < argc && code == CLI_OK && !(helped && *helped); arg_index++) {
        const char *word = argv[arg_index];
        if (only_arguments || word[0] != '-' || !word[1]) { /* a lone "-" is an argument: standard input or output */
            if (!syntax->take_argument && find(syntax, "model", 5, 0) && cli_file_is_folder(word))
                return cli_fail("unexpected argument \"%s\"; a model is named by -m", word);
            if (!syntax->take_argument && find(syntax, "input", 5, 0))
                return cli_fail("unexpected argument \"%s\"; inputs are named by -i; --help shows the usage", word);
            if (!syntax->take_argument) return cli_fail("unexpected argument \"%s\"; --help shows the usage", word);
            code = syntax->take_argument(syntax->user, word);
        } else if (!strcmp(word, "--")) {
            only_arguments = 1;
        } else if (word[1] == '-') {
            code = parse_long(syntax, argc, argv, &arg_index, helped);
        } else {
            code = parse_letters(syntax, argc, argv, &arg_index, helped);
        }
    }
    if (code != CLI_OK || !helped || !*helped) return code;
    return *helped == HELP_SHORT && syntax->main_options ? print_short_help(syntax) : print_help(syntax);
}
