/* Options from the library's tables; see option_rows.h. */
#include "option_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
