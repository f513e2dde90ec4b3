/* Points as a table: their parameters, quality, cost. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli_output.h"
#include "points.h"

enum { CLI_COLUMNS_MAX = 32 };

typedef struct cli_table {
    struct {
        const char *name;
        int width;
    } column[CLI_COLUMNS_MAX]; /* of parameters; what is behind the last one is not shown */
    int n;
    const cli_metric_kind *metric; /* of quality */
    int has_quality;               /* is it known */
    int has_front;                 /* is the front marked */
    int has_certified;             /* is it told what is certified */
} cli_table;

/* Columns for a grid, whose values are known beforehand, or for points that were tried. Names are borrowed. */
void cli_table_columns_for_axes(cli_table *table, const rill_script_axis *axes, int32_t n);
void cli_table_columns_for_points(cli_table *table, const cli_points *points);

/* What fails to be written is told when the output is closed. */
void cli_table_head(const cli_table *table, cli_output *output);
/* `alike`: how many more points the row stands for */
void cli_table_row(const cli_table *table, cli_output *output, const cli_point *point, size_t n_equal);

#endif
