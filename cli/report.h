/* What a run tells about itself: the line on stderr, and the JSON of --stats. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <jansson.h>

#include "cli.h"
#include "cli_output.h"
#include "cli_profile.h"
#include "option_rows.h"
#include "session.h"

/* What was given to the user, who sees of an output's text neither that it was cut short nor how many there might have been. */
typedef struct cli_shortfalls {
    int64_t n_truncated; /* inputs of whose outputs some were cut short: by a limit, a deadline or a heuristic */
    int64_t n_fewer;     /* inputs with fewer outputs than were asked for, but for those that failed */
    int32_t asked;       /* for by these; 0: by each another number */
    const char *why;     /* of the first */
} cli_shortfalls;

/* Count one result; `why`: what keeps the input's list short, of static memory. */
void cli_shortfalls_add(cli_shortfalls *shortfalls, const rill_result *result, int32_t n_best, const char *why);

/* Whether there are fewer outputs than were asked for; and what keeps lists short. */
int cli_has_fewer_outputs(const rill_result *result, int32_t n_best);
const char *cli_fewer_outputs_reason(const rill_settings *settings);

typedef struct cli_report {
    rill_stats stats;
    const rill_settings *settings;           /* as resolved by the engine */
    const rill_search_config *search_config; /* for the chains */
    const cli_session *session;              /* its model, threads and workers */
    double read_seconds, write_seconds;      /* seconds in the reader, waiting included, and in the writer */
    double wall_seconds;                     /* seconds of the whole decode */
    const cli_profile *profile;              /* NULL: none was asked for */
    const cli_shortfalls *shortfalls;        /* of the results that were written; NULL: none were */
} cli_report;

/* The parts of rill_seconds but for the total, in the order in which they are told. */
typedef struct cli_stage {
    const char *name;
    size_t offset; /* where in rill_seconds */
} cli_stage;
enum { CLI_STAGES = 9 };
extern const cli_stage cli_stages[CLI_STAGES];
static inline double *cli_stage_seconds(const rill_seconds *seconds, const cli_stage *stage)
{
    return (double *)(void *)((char *)(uintptr_t)seconds + stage->offset);
}

/* Share of the decode time that is the engine's own: all but encode, step and score. */
double cli_engine_share(const rill_stats *stats);
double cli_expansions_per_timestep(const rill_stats *stats); /* expansions per timestep */
double cli_certified_percent(const rill_stats *stats);       /* of inputs */

/* One line on stderr: inputs, seconds, inputs per second, what went wrong. `verbose` adds the engine's counters and seconds. */
void cli_report_print(const cli_report *report, int verbose);
/* Warn of lists that are shorter than was asked for, and, where no summary tells it, of outputs that were cut short. */
void cli_report_warn(const cli_report *report, int summary);

/* The objects of --stats; new references, NULL when out of memory. */
json_t *cli_report_json(const cli_report *report);
json_t *cli_settings_json(const rill_settings *settings, const rill_search_config *search_config);

/* A string of UTF-8; bytes that are none become U+FFFD. */
json_t *cli_json_text(const char *text, size_t length);

/* Write `value` and a newline; takes the reference, NULL is out of memory. CLI_OK or CLI_FAILED after a message. */
int cli_json_write(cli_output *output, json_t *value);

/* Whether --json writes on standard output, where no table is printed then. `path`: its file, or NULL. */
int cli_json_replaces_table(const char *path);

#endif
