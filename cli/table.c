/* Tables of points; see table.h. */
#include "table.h"

#include <inttypes.h>
#include <string.h>

#include "report.h"

static int find_column(const cli_table *table, const char *name)
{
    int i = 0;
    while (i < table->n && strcmp(table->column[i].name, name)) i++;
    return i;
}

static void widen(cli_table *table, const char *name, const char *value)
{
    char text[CLI_SHOWN_MAX];
    int i = find_column(table, name), width = (int)strlen(cli_point_shown(value, text));
    if (i == CLI_COLUMNS_MAX) return;
    if (i == table->n) {
        table->column[i].name = name;
        table->column[i].width = (int)strlen(name);
        table->n++;
    }
    if (width > table->column[i].width) table->column[i].width = width;
}

void cli_table_of_axes(cli_table *table, const rill_script_axis *axes, int32_t n)
{
    table->n = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < axes[i].n; j++) widen(table, axes[i].name, axes[i].value[j]);
}

void cli_table_of_points(cli_table *table, const cli_points *points)
{
    table->n = 0;
    for (size_t i = 0; i < points->n; i++)
        for (int j = 0; j < points->point[i].n; j++) widen(table, points->point[i].name[j], points->point[i].value[j]);
}

static void put_padded(cli_output *output, const char *text, int width, int i)
{
    static const char blanks[] = "                                ";
    int missing = width - (int)strlen(text);
    if (i) cli_output_write(output, " ", 1);
    for (; missing > 0; missing -= (int)sizeof blanks - 1)
        cli_output_write(output, blanks, (size_t)missing < sizeof blanks - 1 ? (size_t)missing : sizeof blanks - 1);
    cli_output_write(output, text, strlen(text));
}

void cli_table_head(const cli_table *table, cli_output *output)
{
    for (int i = 0; i < table->n; i++) put_padded(output, table->column[i].name, table->column[i].width, i);
    cli_output_printf(output, "  %6s %6s%s %9s %9s %10s %8s %6s%s\n", table->metric->heading, "oracle",
                      table->certify ? "  cert%" : "", "seconds", "timesteps", "expansions", "exp/step", "failed",
                      table->marked ? " front" : "");
}

static void put_quality(const cli_table *table, cli_output *output, const cli_counts *counts, int oracle)
{
    if (table->judged)
        cli_output_printf(output, " %6.2f", cli_quality(table->metric, counts, oracle));
    else
        cli_output_printf(output, " %6s", "-");
}

void cli_table_row(const cli_table *table, cli_output *output, const cli_point *point, size_t alike)
{
    const cli_trial *t = &point->trial;
    for (int i = 0; i < table->n; i++) {
        char text[CLI_SHOWN_MAX];
        const char *value = cli_point_value(point, table->column[i].name);
        put_padded(output, value ? cli_point_shown(value, text) : "-", table->column[i].width, i);
    }
    if (point->refused) {
        cli_output_write(output, "  refused: ", 11);
        cli_output_write(output, point->refused, strlen(point->refused));
        cli_output_write(output, "\n", 1);
        return;
    }
    cli_output_write(output, " ", 1);
    put_quality(table, output, &t->counts, 0);
    put_quality(table, output, &t->counts, 1);
    if (table->certify) cli_output_printf(output, " %6.2f", cli_certified_percent(&t->stats));
    cli_output_printf(output, " %9.4f %9" PRId64 " %10" PRId64 " %8.1f %6" PRId64 "%s", t->stats.seconds.total,
                      t->stats.timesteps, t->stats.expansions, cli_per_timestep(&t->stats), t->counts.missing,
                      table->marked && point->on_front ? "     *" : "");
    if (alike) cli_output_printf(output, "  and %zu alike", alike);
    cli_output_write(output, "\n", 1);
}
