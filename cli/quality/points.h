/* Points that a sweep or a search over configurations has evaluated, with their results. */
#ifndef CLI_POINTS_H
#define CLI_POINTS_H

#include <jansson.h>

#include "rill/script_config.h"
#include "testset.h"

typedef struct cli_point {
    char **name, **value; /* [n] names and values of the parameters */
    int n;
    char *refusal; /* why the settings are contradictory, so that nothing was run; otherwise NULL */
    cli_trial trial;
    json_t *report; /* full report of the run, for JSON */
    int on_front;
} cli_point;

typedef struct cli_points {
    const cli_metric_kind *kind; /* measures quality; NULL: quality is not measured */
    cli_point *point;            /* [n] in the order of evaluation */
    size_t n, capacity;
} cli_points;

/* Append a point with copies of its n parameters. Borrowed until the next call. NULL when out of memory. */
cli_point *cli_points_add(cli_points *points, const rill_script_pair *pairs, size_t n);
/* Remove the last point. */
void cli_points_remove_last(cli_points *points);

/* Whether any point was refused or has inputs without output, for the exit code. */
int cli_points_have_failures(const cli_points *points);

/* Mark the points of the front: no other point has at least their quality at no higher cost and is better in one of the two. Equal
 * points are all marked. Returns their number. */
size_t cli_points_mark_front(cli_points *points, int oracle);
/* List the front by ascending cost. Points with equal quality and cost count as one, the first evaluated. Returns the number of
 * entries.
 *   front: [marked] index of each; n_equal: [marked] number of further points equal to it */
size_t cli_points_front(const cli_points *points, size_t *front, size_t *n_equal);

/* Describe a point: "delta=0.5 M=3". */
void cli_point_label(const cli_point *point, char *out, size_t size);
const char *cli_point_value(const cli_point *point, const char *name); /* NULL: the point has no such parameter */
/* Format a value for people: 6 * 0.2 is 1.2000000000000002, which is shown as 1.2. `out` is a buffer that may be used. */
enum { CLI_DISPLAY_VALUE_MAX = 24 };
const char *cli_point_display_value(const char *value, char out[CLI_DISPLAY_VALUE_MAX]);

/* All points as JSON: {"script": ..., "inputs": N, "configurations": [{"configuration": {...}, ...}]}. A new reference, NULL when out of
 * memory. */
json_t *cli_points_json(const cli_points *points, const char *path, int64_t inputs);

/* Free memory; accepts zeroed points. */
void cli_points_free(cli_points *points);

#endif
