/* A test set in memory: inputs, optional references, and the evaluation of one decode. */
#pragma once

#include "metric.h"
#include "rill/script_config.h"

typedef struct cli_testset {
    cli_lines inputs, references;
    cli_metric metric;
    const cli_metric_kind *kind; /* metric that the user chose; NULL: the domain's metric */
    int has_references;
} cli_testset;

/* Check that there are inputs, and equally many references if a file of references was loaded. RILL_OK · RILL_ERR_INPUT */
rill_status cli_testset_check(const cli_testset *set, rill_context *ctx);
/* Choose the metric and open it for the references, if any. Returns as cli_metric_open(). Warns if references are tokenized, but not the
 * outputs. */
rill_status cli_testset_open_metric(cli_testset *set, rill_context *ctx, const rill_domain *domain, int tokenized,
                                    cli_message_fn message);
/* The metric of the evaluation; NULL if there are no references. */
static inline const cli_metric_kind *cli_testset_metric(const cli_testset *set)
{
    return set->has_references ? set->metric.kind : NULL;
}
/* Free memory; accepts a zeroed set. */
void cli_testset_free(cli_testset *set);

/* Counts pairs that have a placeholder, as "c0", on both sides: data of a semantic parser in token form. */
typedef struct cli_placeholders {
    int64_t n_placeholder_pairs, n_pairs;
    char first_placeholder[32];
} cli_placeholders;

void cli_placeholders_count(cli_placeholders *f, const char *input, size_t length, const char *reference,
                            size_t wanted);
/* Warn if most pairs have placeholders. Call it for models that are evaluated by exact match and opened without --tokenized. */
void cli_placeholders_warn(const cli_placeholders *f, cli_message_fn message);

/* Settings and results of decoding a test set once. */
typedef struct cli_trial {
    cli_counts counts;
    rill_stats stats;
    rill_settings settings;      /* search settings that the engine used, with all defaults filled in */
    double seconds;              /* time of the whole decode */
    struct cli_profile *profile; /* in: a profile to which the counters of this decode are added; NULL: none */
    /* in: NULL, or an object that receives timesteps by number of hypotheses, such as {"12": 3}; out: NULL when out of memory */
    json_t *rows;
} cli_trial;

/* Evaluate the outputs of input result->id and add them to the counts. RILL_OK · RILL_ERR_MEMORY, with the error in the context */
rill_status cli_testset_add_result(cli_testset *set, const rill_result *result, cli_counts *counts);

/* Hash of an input's outputs and their scores, to compare results. */
uint64_t cli_result_hash(const rill_result *result);

/* --- evaluated configurations ------------------------------------------------------------------------------------------ */

/* Configurations that a sweep or `rill tune` has evaluated, with their results. A cli_point is one configuration. */

typedef struct cli_point {
    json_t *parameters; /* {NAME: VALUE}, with values as texts */
    char *refusal;      /* why the settings are contradictory, so that nothing was run; otherwise NULL */
    cli_trial trial;
    json_t *report; /* full report of the configuration's run, for JSON */
    int on_front;
} cli_point;

typedef struct cli_points {
    const cli_metric_kind *kind; /* measures quality; NULL: quality is not measured */
    cli_point *point;            /* [n] configurations in the order of their evaluation */
    size_t n, capacity;
} cli_points;

/* Append a configuration with copies of its n parameters. Returns a pointer that is valid until the next call; NULL when out of memory. */
cli_point *cli_points_add(cli_points *points, const rill_script_pair *pairs, size_t n);
void cli_points_remove_last(cli_points *points);

/* Whether any configuration was rejected as invalid, or left inputs without output; decides the exit code. */
int cli_points_have_failures(const cli_points *points);

/* Mark the Pareto front: configurations for which no other is better in quality or cost and at least equal in both. Equal configurations
 * are all marked. Returns the number of marked ones. */
size_t cli_points_mark_front(cli_points *points, int oracle);
/* List the front by ascending cost, without duplicates. Returns the number of entries.
 *   front: [marked] index of each entry; n_equal: [marked] number of later configurations that are equal to it */
size_t cli_points_front(const cli_points *points, size_t *front, size_t *n_equal);

/* Write the parameters of a configuration as text: "delta=0.5 M=3". */
void cli_point_label(const cli_point *point, char *out, size_t size);
/* Return a parameter's value in a configuration; NULL: not set. */
const char *cli_point_value(const cli_point *point, const char *name);
/* Format a value for people: 6 * 0.2 is 1.2000000000000002, which is shown as 1.2. `out` is a buffer that may be used. */
enum { CLI_DISPLAY_VALUE_MAX = 24 };
const char *cli_point_display_value(const char *value, char out[CLI_DISPLAY_VALUE_MAX]);

/* Return all configurations as JSON: {"script": ..., "inputs": N, "configurations": [{"configuration": {...}, ...}]}. A new reference, NULL
 * when out of memory. */
json_t *cli_points_json(const cli_points *points, const char *path, int64_t inputs);

/* Free memory; accepts a zeroed struct. */
void cli_points_free(cli_points *points);
