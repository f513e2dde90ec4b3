/* rill list: what can be named on a command line, one line each. */
#include <stdio.h>
#include <string.h>

#include "metric.h"
#include "options.h"
#include "search.h"
#include "session.h"

typedef struct list {
    cli_session session;
    const char *kind; /* NULL = all */
} list;

static void print_row(const char *name, const char *arguments, const char *summary)
{
    int column = cli_print("  %s", name);
    if (arguments && arguments[0]) column += cli_print(":%s", arguments);
    cli_print_wrapped(summary ? summary : "", column, 28);
}

static void print_domains(const rill_context *ctx)
{
    const rill_domain *d;
    for (size_t i = 0; (d = rill_domain_at(ctx, i)); i++) print_row(d->name, NULL, d->summary);
}

static void print_methods(const rill_context *ctx)
{
    (void)ctx;
    for (const rill_method_info *m = rill_method_table(); m->name; m++) print_row(m->name, NULL, m->summary);
}

/* What --heuristic takes as a setting, unless a plugin has a heuristic of that name. */
static void print_heuristic_settings(const rill_context *ctx)
{
    for (const char *const *name = rill_heuristic_settings(); *name; name++) {
        const rill_option *row = rill_option_find(rill_setting_table(), *name);
        if (row && !rill_find_heuristic(ctx, *name)) print_row(*name, row->argument, row->help);
    }
}

static void print_heuristics(const rill_context *ctx)
{
    const rill_heuristic *h;
    for (size_t i = 0; (h = rill_heuristic_at(ctx, i)); i++) print_row(h->name, h->arguments, h->summary);
    print_heuristic_settings(ctx);
}

static void print_scorers(const rill_context *ctx)
{
    const rill_scorer *s;
    for (size_t i = 0; (s = rill_scorer_at(ctx, i)); i++) print_row(s->name, s->arguments, s->summary);
}

static void print_policies(const rill_context *ctx)
{
    const rill_policy *p;
    for (size_t i = 0; (p = rill_policy_at(ctx, i)); i++) print_row(p->name, NULL, p->summary);
}

static void print_metrics(const rill_context *ctx)
{
    (void)ctx;
    for (const cli_metric_kind *const *m = cli_metrics; *m; m++) print_row((*m)->name, NULL, (*m)->summary);
}

static const struct {
    const char *name, *how;
    void (*print)(const rill_context *);
} kinds[] = {
    {"domains", "what is decoded: \"rill\": {\"domain\"} in config.json, or --domain", print_domains},
    {"methods", "--method NAME", print_methods},
    {"heuristics", "--heuristic NAME:ARGS, applied in the order given", print_heuristics},
    {"scorers", "--scorer NAME:ARGS", print_scorers},
    {"policies", "--policy NAME, instead of the method's", print_policies},
    {"metrics", "--metric NAME of eval, bench and tune", print_metrics},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static int take_argument(void *user, const char *value)
{
    list *l = user;
    const char *names[KINDS];
    if (l->kind) return cli_fail("unexpected argument \"%s\": one kind at a time", value);
    for (size_t i = 0; i < KINDS; i++) {
        names[i] = kinds[i].name;
        if (!strcmp(value, names[i])) l->kind = names[i];
    }
    if (l->kind) return CLI_OK;
    const char *near = rill_nearest(value, names, KINDS);
    if (near) return cli_fail("unknown kind \"%s\"; did you mean \"%s\"?", value, near);
    return cli_fail("unknown kind \"%s\": domains, methods, heuristics, scorers, policies or metrics", value);
}

static int take_option(void *user, const cli_option *option, const char *value)
{
    return cli_session_take(&((list *)user)->session, option, value);
}

static int print_all(const list *l)
{
    int several = 0;
    for (size_t i = 0; i < KINDS; i++) {
        if (l->kind && strcmp(l->kind, kinds[i].name)) continue;
        cli_print("%s%s (%s):\n", several++ ? "\n" : "", kinds[i].name, kinds[i].how);
        kinds[i].print(l->session.ctx);
    }
    return cli_end_printing();
}

int cli_list(int argc, char **argv)
{
    static list l; /* large, and there is one */
    const cli_group groups[] = {{"Options", cli_plugin_options}, {NULL, NULL}};
    const cli_syntax syntax = {
        "rill list [domains|methods|heuristics|scorers|policies|metrics] [--plugin FILE]",
        "List what can be named on a command line. NAME:ARGS shows how arguments are written.",
        groups,
        "Examples:\n  rill list\n  rill list heuristics\n  rill list domains --plugin ./rill-mine.so\n"
        "  rill list heuristics --plugin mine.lua\n",
        take_option,
        take_argument,
        &l};
    int helped = 0;
    int code = cli_session_start(&l.session);
    if (code == CLI_OK) code = cli_session_parse(&l.session, &syntax, argc, argv, &helped);
    if (code == CLI_OK && !helped) code = print_all(&l);
    cli_session_end(&l.session);
    return code;
}
