/* The parser of command lines and its help texts; see cli_options.h for what is accepted. */
#include "cli_options.h"

#include "files.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 28, LAST_COLUMN = 79 };

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

static const cli_option *find(const cli_syntax *syntax, const char *name, size_t length, char letter)
{
    for (const cli_group *g = syntax->groups; g->title; g++)
        for (const cli_option *o = cli_group_options(g); o->name; o++) {
            if (letter && o->letter == letter) return o;
            if (!letter && strlen(o->name) == length && !memcmp(o->name, name, length)) return o;
        }
    return NULL;
}

/* What other decoders call it, words with a blank on either side; said where the command has the option. */
static const struct {
    const char *option, *words, *said;
} foreign_options[] = {
    {"k", " b beam beams beam-size beam-width num-beams ", "the beam's width is -k"},
    {"n", " batch batch-size max-batch-size ", "how many inputs are decoded together is -n"},
    {"length-penalty", " lenpen normalize ", "outputs are ordered by --length-penalty"},
    {"n-best", " num-return-sequences num-hypotheses ", "how many outputs an input gives is --n-best"},
    {"weights", " fp16 bf16 int8 half quantize quantization compute-type ", "how weights are kept is --weights"},
    {"device", " gpu gpus cuda ", "what computes is --device"},
    {"max-length", " max-new-tokens max-decoding-length max-len max-len-b ", "the longest output is --max-length"},
    {"workers", " inter-threads num-workers jobs ", "inputs are decoded side by side by --workers"},
    {"threads", " intra-threads cpu-threads num-threads ", "threads inside an operation are --threads"},
    {"source-lang", " src src-lang ", "the language of inputs is --source-lang"},
    {"target-lang", " tgt tgt-lang ", "the language of outputs is --target-lang"},
    {"plot", " svg ", "a page of pictures, which saves them as SVG, is written by --plot"},
    {"jsonl", " json ", "objects, one per line, are read and written by --jsonl"},
};

/* Whether that is where the word is from, which is then said. */
static int is_foreign_option(const cli_syntax *syntax, const char *dashes, const char *word, size_t length)
{
    char padded[68];
    snprintf(padded, sizeof padded, " %.*s ", (int)length, word);
    for (char *p = padded; *p; p++)
        if (*p == '_') *p = '-';
    for (size_t i = 0; i < sizeof foreign_options / sizeof *foreign_options; i++) {
        const char *name = foreign_options[i].option;
        const cli_option *option = strstr(foreign_options[i].words, padded) ? find(syntax, name, strlen(name), 0)
                                                                            : NULL;
        if (!option) continue;
        cli_message("unknown option %s%.*s: %s %s", dashes, (int)length, word, foreign_options[i].said,
                    option->argument);
        return 1;
    }
    return 0;
}

static int refuse_unknown_option(const cli_syntax *syntax, const char *name, size_t length)
{
    char word[64];
    const char *near = "help";
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    near = rill_nearest(word, &near, 1);
    for (const cli_group *g = syntax->groups; g->title; g++)
        for (const cli_option *o = cli_group_options(g); o->name; o++) {
            const char *both[] = {near ? near : o->name, o->name};
            near = rill_nearest(word, both, 2);
        }
    if (rill_removed_option("setting", word))
        return cli_fail("unknown option --%s: %s", word, rill_removed_option("setting", word));
    if (near) return cli_fail("unknown option --%s; did you mean --%s?", word, near);
    return cli_fail("unknown option --%s; --help lists all", word);
}

/* What stands at argv[*at] and begins with two dashes. */
static int parse_long(const cli_syntax *syntax, int argc, char **argv, int *arg_index, int *helped)
{
    const char *name = argv[*arg_index] + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] ? name + length + 1 : NULL;
    if (length == 4 && !memcmp(name, "help", 4)) {
        if (helped) *helped = 1;
        return CLI_OK;
    }
    const cli_option *option = find(syntax, name, length, 0);
    if (!option && !helped) return CLI_OK;
    if (!option && is_foreign_option(syntax, "--", name, length)) return CLI_FAILED;
    if (!option) return refuse_unknown_option(syntax, name, length);
    if (cli_option_is_switch(option)) {
        if (value) return cli_fail("option --%s takes no value, but \"%s\" was given", option->name, value);
        return syntax->take_option(syntax->user, option, "");
    }
    if (!value && is_optional(option)) return syntax->take_option(syntax->user, option, "");
    if (!value) {
        if (*arg_index + 1 >= argc)
            return cli_fail("option --%s needs a value: --%s %s", option->name, option->name, option->argument);
        value = argv[++*arg_index];
    }
    return syntax->take_option(syntax->user, option, value);
}

/* What stands at argv[*at] and begins with one dash: switches until an option takes the rest of the word. */
static int parse_letters(const cli_syntax *syntax, int argc, char **argv, int *arg_index, int *helped)
{
    const char *word = argv[*arg_index] + 1;
    size_t length = strcspn(word, "=");
    /* "-method x" would be read as -m with the value "ethod": certainly not what was meant. */
    if (length > 1 && helped && find(syntax, word, length, 0))
        return cli_fail("unknown option -%.*s; did you mean --%.*s?", (int)length, word, (int)length, word);
    for (const char *p = word; *p; p++) {
        if (*p == 'h') {
            if (helped) *helped = 1;
            return CLI_OK;
        }
        const cli_option *option = find(syntax, NULL, 0, *p);
        if (!option && !helped) return CLI_OK;
        if (!option && is_foreign_option(syntax, "-", p, 1)) return CLI_FAILED;
        if (!option) return cli_fail("unknown option -%c; --help lists all", *p);
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

int cli_parse(const cli_syntax *syntax, int argc, char **argv, int *helped)
{
    int only_arguments = 0, code = CLI_OK;
    if (helped) *helped = 0;
    for (int arg_index = 1; arg_index < argc && code == CLI_OK && !(helped && *helped); arg_index++) {
        const char *word = argv[arg_index];
        if (only_arguments || word[0] != '-' || !word[1]) { /* a lone "-" is a file: standard input or output */
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
    return code == CLI_OK && helped && *helped ? cli_print_help(syntax) : code;
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

static void print_option(const cli_option *option)
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
    char help[512];
    const char *initial = option->initial ? option->initial : "", *domains = option->domains ? option->domains : "";
    snprintf(help, sizeof help, "%s%s%s%s%s%s%s", option->help, initial[0] || domains[0] ? " (" : "",
             initial[0] ? "default " : "", initial, initial[0] && domains[0] ? "; " : "", domains,
             initial[0] || domains[0] ? ")" : "");
    cli_print_wrapped(help, column, HELP_COLUMN);
}

int cli_print_help(const cli_syntax *syntax)
{
    cli_print("Usage: %s\n\n%s\n", syntax->usage, syntax->about);
    for (const cli_group *g = syntax->groups; g->title; g++) {
        cli_print("\n%s:\n", g->title);
        for (const cli_option *o = cli_group_options(g); o->name; o++) print_option(o);
    }
    if (syntax->epilogue) cli_print("\n%s", syntax->epilogue);
    return cli_flush_stdout();
}
