/* Reports about a run: the summary line on stderr, and the JSON of --stats. */
#pragma once

#include "cli_output.h"

/* --- profiles ---------------------------------------------------------------------------------------------------------- */

/* --profile: time, operations and bytes of each operation of the model, compared with the limits of the machine. */

/* Operations of one or several runs. Operations with the same name in the same program are added up. Zero-initialise. */
typedef struct cli_profile {
    rill_op_profile *op; /* [n] totals of each operation */
    int n;
    size_t capacity;
    rill_limits limits;
} cli_profile;

/* Let the engines of these workers count operations. RILL_OK · a negative status, with the error in `ctx` */
rill_status cli_profile_begin(rill_context *ctx, rill_workers *workers);

/* Add the workers' counters to the profile. The first call measures peak performance. Names are borrowed from the model.
 *   RILL_OK · a negative status, with the error in `ctx` */
rill_status cli_profile_take(cli_profile *profile, rill_context *ctx, rill_workers *workers);

/* Print a table with one line per operation. In each program the most expensive operation comes first. */
void cli_profile_print(const cli_profile *profile, FILE *to);

/* Return the profile as a JSON object: a new reference, or NULL when out of memory. */
json_t *cli_profile_json(const cli_profile *profile);

void cli_profile_end(cli_profile *profile);

/* --- reports ----------------------------------------------------------------------------------------------------------- */

/* Counts of inputs whose outputs were truncated, or fewer than requested. The output text shows neither. */
typedef struct cli_shortfalls {
    int64_t n_truncated; /* inputs with an output cut short by a limit, a deadline or a heuristic */
    int64_t n_fewer;     /* inputs without a failure that have fewer outputs than requested */
    int32_t asked;       /* number of outputs that each of the n_fewer inputs requested; 0: the numbers differ */
    const char *why;     /* reason for the first of the n_fewer inputs, static memory */
} cli_shortfalls;

void cli_shortfalls_add(cli_shortfalls *shortfalls, const rill_result *result);

typedef struct cli_report {
    rill_stats stats;
    const rill_settings *settings; /* settings as resolved by the engine */
    /* search configuration, with the names of heuristics, scorers and scheduler */
    const rill_search_config *search_config;
    const cli_session *session;         /* the session, for the model, threads and workers */
    double read_seconds, write_seconds; /* seconds in the reader, including waits, and in the writer */
    double wall_seconds;                /* seconds from the beginning of the run to its end */
    const cli_profile *profile;         /* profile of the model's operations; NULL: --profile is not set */
    const cli_shortfalls *shortfalls;   /* counts over the written results; NULL: no results were written */
} cli_report;

/* A member of rill_seconds, for reports. cli_stages has all members but the total, in the order of reports. */
typedef struct cli_stage {
    const char *name;
    size_t offset; /* offset of the member in rill_seconds */
} cli_stage;
enum { CLI_STAGES = 9 };
extern const cli_stage cli_stages[CLI_STAGES];
static inline double *cli_stage_seconds(const rill_seconds *seconds, const cli_stage *stage)
{
    return (double *)(void *)((char *)(uintptr_t)seconds + stage->offset);
}

/* Fraction of decode time that the engine takes: all stages except encode, step and score, which are the model's. */
double cli_engine_share(const rill_stats *stats);
double cli_expansions_per_timestep(const rill_stats *stats);
/* percentage of inputs whose outputs are certified (proved optimal) */
double cli_certified_percent(const rill_stats *stats);

/* Print one line on stderr: inputs, seconds, inputs per second, failures. `verbose` adds the engine's counters and seconds. */
void cli_report_print(const cli_report *report, int verbose);
/* Warn about lists that are shorter than requested. Without a summary line, warn about truncated outputs too. */
void cli_report_warn(const cli_report *report, int summary);

/* The object of --stats: a new reference, NULL when out of memory. */
json_t *cli_report_json(const cli_report *report);

/* Write `value` and a newline. Takes the reference to `value`; NULL means out of memory. */
int cli_json_write(cli_output *output, json_t *value);

/* Whether --json writes to standard output and so replaces the table. `path`: its file, or NULL. */
int cli_json_replaces_table(const char *path);

/* --- options in effect ------------------------------------------------------------------------------------------------- */

/* The options that are in effect, for reports: `rill info`, --stats, traces and GET /v1/models. */

/* Whether a resolved setting affects the search. */
int cli_option_is_in_effect(const rill_settings *settings, int has_heuristics, const rill_option *row);

/* Write a value in a form that the option accepts: "true", "0.5", "1/6". Returns `out`. */
const char *cli_option_value(const rill_settings *settings, const rill_option *row, char out[RILL_OPTION_MAX]);

/* The options in effect as {"beam_size": 5, ...}: an "options" object accepts them. `settings`: resolved. Returns a new reference. */
json_t *cli_options_json(const rill_settings *settings, const rill_search_config *search_config);

/* --- hardware ---------------------------------------------------------------------------------------------------------- */

/* Name of the hardware, for the titles of tables and charts. */

enum { CLI_HARDWARE_MAX = 384 };

/* The device of the open model, or the processor's name, with threads and workers: "AMD EPYC 9B14, 1 thread". Returns `out`. */
const char *cli_hardware(const cli_session *session, char out[CLI_HARDWARE_MAX]);
