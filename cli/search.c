/* Tables of options from those of the library; see search.h. */
#include "search.h"

#include <stdio.h>
#include <string.h>

static int has(const cli_option *options, const char *name)
{
    while (options->name && strcmp(options->name, name)) options++;
    return options->name != NULL;
}

/* Append the rows whose names are not there yet: of two domains that know an option, the first explains it. */
static void append(cli_option *options, const rill_option *row)
{
    int n = 0;
    while (options[n].name) n++;
    for (; row && row->name && n < CLI_ROWS_MAX; row++) {
        if (has(options, row->name)) continue;
        options[n++] = (cli_option){.name = row->name,
                                    .letter = row->name[1] ? 0 : row->name[0],
                                    .argument = row->argument,
                                    .help = row->help,
                                    .initial = row->initial,
                                    .id = CLI_TAKE_ROW};
    }
}

static void note_owner(cli_rows *rows, const rill_domain *d)
{
    for (int i = 0; rows->domains[i].name; i++) {
        char *of = rows->of[i];
        const size_t used = strlen(of);
        if (rill_option_find(d->options, rows->domains[i].name))
            snprintf(of + used, sizeof rows->of[i] - used, "%s%s", used ? ", " : "", d->name);
        rows->domains[i].of = of;
    }
}

void cli_rows_fill(cli_rows *rows, const rill_context *ctx)
{
    const rill_domain *d;
    memset(rows, 0, sizeof *rows);
    append(rows->settings, rill_setting_table());
    append(rows->chains, rill_chain_table());
    append(rows->outputs, rill_output_table());
    for (size_t i = 0; (d = rill_domain_at(ctx, i)); i++) {
        append(rows->domains, d->options);
        note_owner(rows, d);
    }
}

void cli_rows_drop(cli_rows *rows, const char *name)
{
    cli_option *at = rows->settings;
    while (at->name && strcmp(at->name, name)) at++;
    for (; at->name; at++) at[0] = at[1];
}
