/* Reports about a run: the summary line on stderr, and the JSON of --stats. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <jansson.h>

#include "cli.h"
#include "cli_output.h"
#include "cli_profile.h"
#include "option_rows.h"
#include "session.h"

/* Counts of inputs whose outputs were truncated, or fewer than requested. The output text shows neither. */
typedef struct cli_shortfalls {
    int64_t n_truncated; /* inputs with an output cut short by a limit, a deadline or a heuristic */
    int64_t n_fewer;     /* inputs without a failure that have fewer outputs than requested */
    int32_t asked;       /* number of outputs that each of the n_fewer inputs requested; 0: the numbers differ */
    const char *why;     /* reason for the first of the n_fewer inputs, static memory */
} cli_shortfalls;

/* Count one result. */
void cli_shortfalls_add(cli_shortfalls *shortfalls, const rill_result *result);

typedef struct cli_report {
    rill_stats stats;
    const rill_settings *settings;           /* settings as resolved by the engine */
    const rill_search_config *search_config; /* has the names of heuristics, scorers and scheduler */
    const cli_session *session;              /* the session, for the model, threads and workers */
    double read_seconds, write_seconds;      /* seconds in the reader, including waits, and in the writer */
    double wall_seconds;                     /* seconds from beginning to end */
    const cli_profile *profile;              /* NULL: no --profile */
    const cli_shortfalls *shortfalls;        /* counts over the written results; NULL: no results were written */
} cli_report;

/* The members of rill_seconds except the total, in the order of reports. */
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

/* Fraction of decode time that the engine takes: all stages except encode, step and score. */
double cli_engine_share(const rill_stats *stats);
double cli_expansions_per_timestep(const rill_stats *stats);
double cli_certified_percent(const rill_stats *stats); /* percentage of inputs */

/* Print one line on stderr: inputs, seconds, inputs per second, failures. `verbose` adds the engine's counters and seconds. */
void cli_report_print(const cli_report *report, int verbose);
/* Warn about lists that are shorter than requested. Without a summary line, warn about truncated outputs too. */
void cli_report_warn(const cli_report *report, int summary);

/* The object of --stats: a new reference, NULL when out of memory. */
json_t *cli_report_json(const cli_report *report);

/* A JSON string from UTF-8; invalid bytes become U+FFFD. */
json_t *cli_json_text(const char *text, size_t length);

/* Write `value` and a newline. Takes the reference to `value`; NULL means out of memory. CLI_OK or CLI_FAILED after a message. */
int cli_json_write(cli_output *output, json_t *value);

/* Whether --json writes to standard output and so replaces the table. `path`: its file, or NULL. */
int cli_json_replaces_table(const char *path);

#endif
