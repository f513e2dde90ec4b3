/* Tables of options from those of the library; see search.h. */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cli_option option_of(const rill_option *row)
{
    return (cli_option){.name = row->name,
                        .letter = row->name[1] ? 0 : row->name[0],
                        .argument = row->argument,
                        .help = row->help,
                        .initial = row->initial,
                        .id = CLI_TAKE_ROW};
}

static void fill(cli_option *options, const rill_option *row)
{
    for (int n = 0; row->name && n < CLI_ROWS_MAX; row++) options[n++] = option_of(row);
}

/* Room for one more, and the row that ends the table. */
static int grow(cli_rows *rows, int n)
{
    cli_option *table = realloc(rows->table, ((size_t)n + 2) * sizeof *table);
    if (table) rows->table = table;
    char(*of)[CLI_OF_MAX] = realloc(rows->of, ((size_t)n + 1) * sizeof *of);
    if (of) rows->of = of;
    rows->domains[0].table = rows->table;
    return table && of ? CLI_OK : cli_fail_memory("the options");
}

/* Of two domains that know an option, the first explains it. */
static int add_domain(cli_rows *rows, const rill_domain *d)
{
    int code = CLI_OK;
    for (const rill_option *row = d->options; row && row->name && code == CLI_OK; row++) {
        int at = 0;
        while (at < rows->n && strcmp(rows->table[at].name, row->name)) at++;
        if (at == rows->n && (code = grow(rows, at)) == CLI_OK) {
            rows->table[rows->n++] = option_of(row);
            rows->table[rows->n] = (cli_option){.name = NULL};
            rows->of[at][0] = '\0';
        }
        if (code != CLI_OK) break;
        const size_t used = strlen(rows->of[at]);
        snprintf(rows->of[at] + used, CLI_OF_MAX - used, "%s%s", used ? ", " : "", d->name);
    }
    return code;
}

int cli_rows_fill(cli_rows *rows, const rill_context *ctx)
{
    const rill_domain *d;
    int code = CLI_OK;
    cli_rows_free(rows);
    fill(rows->settings, rill_setting_table());
    fill(rows->chains, rill_chain_table());
    fill(rows->outputs, rill_output_table());
    for (size_t i = 0; code == CLI_OK && (d = rill_domain_at(ctx, i)); i++) code = add_domain(rows, d);
    for (int i = 0; i < rows->n; i++) rows->table[i].of = rows->of[i];
    return code;
}

void cli_rows_free(cli_rows *rows)
{
    free(rows->table);
    free(rows->of);
    memset(rows, 0, sizeof *rows);
}

void cli_rows_drop(cli_rows *rows, const char *name)
{
    cli_option *at = rows->settings;
    while (at->name && strcmp(at->name, name)) at++;
    for (; at->name; at++) at[0] = at[1];
}
