/* rill list: print the names that a command line can use, one per line. */

#include "metric.h"
#include "session.h"

typedef struct list {
    cli_session session;
    const char *kind; /* kind of names to print; NULL: all kinds */
} list;

static void print_row(const char *name, const char *arguments, const char *summary)
{
    int column = cli_print("  %s", name);
    if (arguments && arguments[0]) column += cli_print(":%s", arguments);
    if (column > 26) {
        cli_print("\n");
        column = 0;
    }
    cli_print_wrapped(summary ? summary : "", column, 28);
}

static void print_rows(const rill_option *row)
{
    char name[96], help[512];
    for (; row && row->name; row++) {
        snprintf(name, sizeof name, "%s%s%s", row->name, row->argument[0] && row->argument[0] != '[' ? "=" : "",
                 row->argument);
        snprintf(help, sizeof help, "%s%s%s%s", row->help, row->initial[0] ? " (default " : "", row->initial,
                 row->initial[0] ? ")" : "");
        print_row(name, NULL, help);
    }
}

static void print_likes(void)
{
    static const char *const summary[] = {[RILL_LIKE_HF] = "transformers: generate() with num_beams",
                                          [RILL_LIKE_FAIRSEQ] = "fairseq: fairseq-generate",
                                          [RILL_LIKE_MARIAN] = "marian-nmt: marian-decoder",
                                          [RILL_LIKE_CT2] = "CTranslate2: translate_batch()"};
    const char *word = rill_option_find(rill_setting_table(), "like")->argument;
    for (size_t i = 1; *word && i < sizeof summary / sizeof *summary; i++) {
        char name[32];
        const size_t length = strcspn(word, "|");
        snprintf(name, sizeof name, "%.*s", (int)length, word);
        print_row(name, NULL, summary[i]);
        word += length + (word[length] == '|');
    }
}

static const struct {
    const char *name, *how;
} kinds[] = {
    {"domains", "kinds of models: \"rill\": {\"domain\"} in config.json, or --domain"},
    {"methods", "--method NAME"},
    {"heuristics", "--heuristic NAME:ARGS, applied in the order given"},
    {"scorers", "--scorer NAME:ARGS"},
    {"schedulers", "--scheduler NAME, replaces the method's scheduler"},
    {"metrics", "--metric NAME of eval, bench and tune"},
    {"settings", "--NAME VALUE; in config.json, scripts and bench --methods, too"},
    {"likes", "--like NAME"},
    {"outputs", "--NAME; fields written with outputs, if the domain has them"},
    {"options", "--NAME VALUE; options of opening a model"},
    {"actions", "actions for scorers and scripts; `rill list actions -m DIR` prints a model's"},
};
enum { DOMAINS, METHODS, HEURISTICS, SCORERS, SCHEDULERS, METRICS, SETTINGS, LIKES, OUTPUTS, OPTIONS, ACTIONS, KINDS };

static void print_kind(const rill_context *ctx, size_t kind)
{
    const rill_domain *d;
    const rill_heuristic *h;
    const rill_scorer *s;
    const rill_scheduler *p;
    size_t i = 0;
    switch (kind) {
    case DOMAINS:
        while ((d = rill_domain_at(ctx, i++))) print_row(d->name, NULL, d->summary);
        break;
    case METHODS:
        for (const rill_method_info *m = rill_method_table(); m->name; m++) print_row(m->name, NULL, m->summary);
        break;
    case HEURISTICS:
        while ((h = rill_heuristic_at(ctx, i++))) print_row(h->name, h->arguments, h->summary);
        break;
    case SCORERS:
        while ((s = rill_scorer_at(ctx, i++))) print_row(s->name, s->arguments, s->summary);
        break;
    case SCHEDULERS:
        while ((p = rill_scheduler_at(ctx, i++))) print_row(p->name, NULL, p->summary);
        break;
    case METRICS:
        for (const cli_metric_kind *const *m = cli_metrics; *m; m++) print_row((*m)->name, NULL, (*m)->summary);
        break;
    case SETTINGS: print_rows(rill_setting_table()); break;
    case LIKES: print_likes(); break;
    case OUTPUTS: print_rows(rill_output_table()); break;
    case OPTIONS:
        for (; (d = rill_domain_at(ctx, i)); i++) {
            if (d->options) cli_print("  of %s\n", d->name);
            print_rows(d->options);
        }
        break;
    default: break; /* the other kinds are names of a model, which are printed elsewhere */
    }
}

/* --- actions of a model ------------------------------------------------------------------------------------------- */

/* Print a name on one line, escaped so that it can be read back. */
static void print_escaped_name(const char *text, size_t length)
{
    static const char special[] = "\\\t\n", *const written[] = {"\\\\", "\\t", "\\n"};
    const char *const end = text + length, *found;
    for (const char *pos = text; pos < end; pos++) {
        if (!(found = memchr(special, *pos, sizeof special - 1))) continue;
        cli_terminal_write(stdout, text, (size_t)(pos - text));
        fputs(written[found - special], stdout);
        text = pos + 1;
    }
    cli_terminal_write(stdout, text, (size_t)(end - text));
}

/* Print one line per action of the model, "12<TAB>cat": its id and its name. An action without a name has only its id. */
static int print_model_actions(rill_context *ctx, const rill_model *model)
{
    SCOPED(rill_text_clear) rill_text name = {.ctx = ctx};
    rill_status status = RILL_OK;
    const int32_t n = rill_model_info(model)->actions;
    for (int32_t a = 0; a < n && status >= 0 && !ferror(stdout); a++) {
        rill_text_reset(&name);
        status = rill_model_action_name(model, a, &name);
        printf("%" PRId32 "\t", a);
        if (status == RILL_OK) print_escaped_name(name.data, name.length);
        putchar('\n');
        if (status == RILL_ERR_NOT_FOUND) status = RILL_OK;
    }
    return status < 0 ? cli_fail_context(ctx) : cli_flush_stdout();
}

static int print_actions(list *l)
{
    if (!l->session.open.path && !l->session.domain) return cli_fail("no model: rill list actions -m DIR");
    TRY(cli_session_configure(&l->session));
    TRY(cli_session_open(&l->session));
    return print_model_actions(l->session.ctx, l->session.model);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static int is_actions(const list *l)
{
    return l->kind && !strcmp(l->kind, "actions");
}

static int take_argument(void *user, const char *value)
{
    list *l = user;
    const char *names[KINDS];
    if (is_actions(l) && !l->session.open.path) {
        l->session.open.path = value;
        return CLI_OK;
    }
    if (l->kind) return cli_fail("unexpected argument \"%s\": expected one kind", value);
    for (size_t i = 0; i < KINDS; i++) {
        names[i] = kinds[i].name;
        if (!strcmp(value, names[i])) l->kind = names[i];
    }
    if (l->kind) return CLI_OK;
    if (cli_file_is_folder(value))
        return cli_fail("unexpected argument \"%s\": list a model's actions with rill list actions -m %s", value,
                        value);
    const char *near = rill_nearest(value, names, KINDS);
    if (near) return cli_fail("unknown kind \"%s\"; did you mean \"%s\"?", value, near);
    return cli_fail("unknown kind \"%s\"; `rill list` shows all of them", value);
}

static int print_kinds(const list *l)
{
    int several = 0;
    if (l->session.open.path || l->session.domain) return cli_fail("-m is only for actions: rill list actions -m DIR");
    for (size_t i = 0; i < KINDS; i++) {
        if (l->kind && strcmp(l->kind, kinds[i].name)) continue;
        cli_print("%s%s (%s):\n", several++ ? "\n" : "", kinds[i].name, kinds[i].how);
        print_kind(l->session.ctx, i);
    }
    return cli_flush_stdout();
}

static int run(void *command)
{
    list *l = command;
    return is_actions(l) ? print_actions(l) : print_kinds(l);
}

const cli_command cli_list = {
    .name = "list",
    .summary = "list domains, methods, options and so on, and the actions of a model",
    .usage = "rill list [KIND] [--plugin FILE]\n       rill list actions -m DIR [options]",
    .groups = {{"Options", cli_naming_options}},
    .take_argument = take_argument,
    .size = sizeof(list),
    .run = run,
};
