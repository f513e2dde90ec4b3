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

static void widen_column(cli_table *table, const char *name, const char *value)
{
    char text[CLI_DISPLAY_VALUE_MAX];
    int i = find_column(table, name), width = (int)strlen(cli_point_display_value(value, text));
    if (i == CLI_COLUMNS_MAX) return;
    if (i == table->n) {
        table->column[i].name = name;
        table->column[i].width = (int)strlen(name);
        table->n++;
    }
    if (width > table->column[i].width) table->column[i].width = width;
}

void cli_table_columns_for_axes(cli_table *table, const rill_script_axis *axes, int32_t n)
{
    table->n = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < axes[i].n; j++) widen_column(table, axes[i].name, axes[i].value[j]);
}

void cli_table_columns_for_points(cli_table *table, const cli_points *points)
{
    table->n = 0;
    for (size_t i = 0; i < points->n; i++)
        for (int j = 0; j < points->point[i].n; j++)
            widen_column(table, points->point[i].name[j], points->point[i].value[j]);
}

static void write_padded(cli_output *output, const char *text, int width, int i)
{
    static const char spaces[] = "                                ";
    int missing = width - (int)strlen(text);
    if (i) cli_output_write(output, " ", 1);
    for (; missing > 0; missing -= (int)sizeof spaces - 1)
        cli_output_write(output, spaces, (size_t)missing < sizeof spaces - 1 ? (size_t)missing : sizeof spaces - 1);
    cli_output_write(output, text, strlen(text));
}

void cli_table_head(const cli_table *table, cli_output *output)
{
    for (int i = 0; i < table->n; i++) write_padded(output, table->column[i].name, table->column[i].width, i);
    cli_output_printf(output, "  %6s %6s%s %9s %9s %10s %8s %6s%s\n", table->metric->heading, "oracle",
                      table->has_certified ? "  cert%" : "", "seconds", "timesteps", "expansions", "exp/step", "failed",
                      table->has_front ? " front" : "");
}

static void write_quality(const cli_table *table, cli_output *output, const cli_counts *counts, int oracle)
{
    if (table->has_quality)
        cli_output_printf(output, " %6.2f", cli_quality(table->metric, counts, oracle));
    else
        cli_output_printf(output, " %6s", "-");
}

void cli_table_row(const cli_table *table, cli_output *output, const cli_point *point, size_t n_equal)
{
    const cli_trial *t = &point->trial;
    for (int i = 0; i < table->n; i++) {
        char text[CLI_DISPLAY_VALUE_MAX];
        const char *value = cli_point_value(point, table->column[i].name);
        write_padded(output, value ? cli_point_display_value(value, text) : "-", table->column[i].width, i);
    }
    if (point->refusal) {
        cli_output_write(output, "  refused: ", 11);
        cli_output_write(output, point->refusal, strlen(point->refusal));
        cli_output_write(output, "\n", 1);
        return;
    }
    cli_output_write(output, " ", 1);
    write_quality(table, output, &t->counts, 0);
    write_quality(table, output, &t->counts, 1);
    if (table->has_certified) cli_output_printf(output, " %6.2f", cli_certified_percent(&t->stats));
    cli_output_printf(output, " %9.4f %9" PRId64 " %10" PRId64 " %8.1f %6" PRId64 "%s", t->stats.seconds.total,
                      t->stats.timesteps, t->stats.expansions, cli_expansions_per_timestep(&t->stats),
                      t->counts.missing, table->has_front && point->on_front ? "     *" : "");
    if (n_equal) cli_output_printf(output, "  and %zu alike", n_equal);
    cli_output_write(output, "\n", 1);
}
