/* Points of a sweep as a table: parameters, quality, cost. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli_output.h"
#include "points.h"

enum { CLI_COLUMNS_MAX = 32 };

typedef struct cli_table {
    struct {
        const char *name;
        int width;
    } column[CLI_COLUMNS_MAX]; /* parameters; columns beyond the last one are not shown */
    int n;
    const cli_metric_kind *metric; /* measures the quality */
    int has_quality;               /* show quality */
    int has_front;                 /* mark the front */
    int has_certified;             /* show the percentage of certified outputs */
} cli_table;

/* Choose the columns for a grid, whose values are known, or for evaluated points. Names are borrowed. */
void cli_table_columns_for_axes(cli_table *table, const rill_script_axis *axes, int32_t n);
void cli_table_columns_for_points(cli_table *table, const cli_points *points);

/* Closing the output reports write errors. */
void cli_table_head(const cli_table *table, cli_output *output);
/* n_equal: number of further points that the row represents. */
void cli_table_row(const cli_table *table, cli_output *output, const cli_point *point, size_t n_equal);

#endif
