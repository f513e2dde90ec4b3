/* Points that a sweep or a search over configurations has tried, and what came of each. */
#ifndef CLI_POINTS_H
#define CLI_POINTS_H

#include <jansson.h>

#include "rill/script_config.h"
#include "testset.h"

typedef struct cli_point {
    char **name, **value; /* [n] parameters */
    int n;
    char *refusal; /* the settings contradict each other: why; nothing was run. Else NULL */
    cli_trial trial;
    json_t *report; /* the whole report of the run, for JSON */
    int on_front;
} cli_point;

typedef struct cli_points {
    const cli_metric_kind *kind; /* of quality; NULL: outputs are not judged */
    cli_point *point;            /* [n] in the order tried */
    size_t n, capacity;
} cli_points;

/* One more, with copies of its n parameters; borrowed until the next. NULL when out of memory. */
cli_point *cli_points_add(cli_points *points, const rill_script_pair *pairs, size_t n);
/* Take the last one back. */
void cli_points_remove_last(cli_points *points);

/* Inputs without output at any point, or a point that was refused: what the exit code tells. */
int cli_points_have_failures(const cli_points *points);

/* Mark the points that no other beats: at least as right as they are and no dearer, and better in one of the two. Equal ones are
 * marked together. Returns their number. */
size_t cli_points_mark_front(cli_points *points, int oracle);
/* The marked ones, cheapest first, those with equal quality and cost as one: the first tried. Returns the number of these.
 *   front: [marked] their indexes; alike: [marked] how many others are equal to each */
size_t cli_points_front(const cli_points *points, size_t *front, size_t *n_equal);

/* "delta=0.5 M=3" */
void cli_point_label(const cli_point *point, char *out, size_t size);
const char *cli_point_value(const cli_point *point, const char *name); /* NULL: it has no such parameter */
/* A value as people are to see it: 6 * 0.2 is 1.2000000000000002, which is 1.2. `out` is room for it. */
enum { CLI_DISPLAY_VALUE_MAX = 24 };
const char *cli_point_display_value(const char *value, char out[CLI_DISPLAY_VALUE_MAX]);

/* {"script": ..., "inputs": N, "points": [{"point": {...}, ...}]}; a new reference, NULL when out of memory. */
json_t *cli_points_json(const cli_points *points, const char *path, int64_t inputs);

/* Accepts zeroed points. */
void cli_points_free(cli_points *points);

#endif
