/* Points that a sweep or a search over configurations has tried, and what came of each. */
#ifndef CLI_POINTS_H
#define CLI_POINTS_H

#include <jansson.h>

#include "cli.h"
#include "output.h"
#include "rill/script_config.h"
#include "search.h"
#include "session.h"
#include "testset.h"

typedef struct cli_point {
    char **name, **value; /* [n] parameters */
    int n;
    char *refused; /* the settings contradict each other: why; nothing was run. Else NULL */
    cli_trial trial;
    json_t *run; /* the whole report of the run, for JSON */
    int on_front;
} cli_point;

typedef struct cli_points {
    cli_session *session; /* its options override every point */
    cli_testset *set;
    const char *path;    /* the script's, for messages */
    rill_script *script; /* the same, to find the place that a message is about */
    int64_t total;       /* how many there will be, 0 = not known */
    int telling;         /* say on standard error which one is being tried */
    cli_point *point;    /* [n] in the order tried */
    size_t n, capacity;
} cli_points;

/* Decode the test set with a configuration and append what came of it, though it be refused. Before the first point that is not
 * the set is decoded once more, for the model's memory to have grown.
 *   CLI_OK, or CLI_FAILED after a message that names the point: what its run was stopped by */
int cli_points_try(cli_points *points, const rill_script_config *config);

/* Refuse a parameter that an option sets too. CLI_OK or CLI_FAILED after a message. */
int cli_points_check_name(const char *path, const rill_layer *given, const char *name);

/* Take the line that tells where we are from the terminal. Fits cli_session.before_message. */
void cli_points_erase(void *unused);

/* Inputs without output at any point, or a point that was refused: what the exit code tells. */
int cli_points_flawed(const cli_points *points);

/* Mark the points that no other beats: at least as right as they are and no dearer, and better in one of the two. Equal ones are
 * marked together. Returns their number. */
size_t cli_points_mark_front(cli_points *points, int oracle);
/* The marked ones, cheapest first, those with equal quality and cost as one: the first tried. Returns the number of these.
 *   front: [marked] their indexes; alike: [marked] how many others are equal to each */
size_t cli_points_front(const cli_points *points, size_t *front, size_t *alike);

/* "delta=0.5 M=3" */
void cli_point_label(const cli_point *point, char *out, size_t size);
const char *cli_point_value(const cli_point *point, const char *name); /* NULL: it has no such parameter */
/* A value as people are to see it: 6 * 0.2 is 1.2000000000000002, which is 1.2. `out` is room for it. */
enum { CLI_SHOWN_MAX = 24 };
const char *cli_point_shown(const char *value, char out[CLI_SHOWN_MAX]);

/* {"script": ..., "inputs": N, "points": [{"point": {...}, ...}]}; a new reference, NULL when out of memory. */
json_t *cli_points_json(const cli_points *points);

/* Accepts zeroed points. */
void cli_points_free(cli_points *points);

#endif
