/* Load a test set, decode it, and evaluate points (sets of parameters) with it, for `rill bench`, sweeps and `rill tune`.
 *
 * Each decode creates an engine on a model that stays open. Only the first decode pays for growing the model's memory, so later
 * timings are those of a long-running stream. */
#ifndef CLI_TRIAL_H
#define CLI_TRIAL_H

#include "cli.h"
#include "cli_options.h"
#include "cli_output.h"
#include "report.h"
#include "session.h"
#include "testset.h"

/* Paths of the files of a test set; NULL: not set. `tsv` has two columns, inputs and references; `input` overrides the first. */
typedef struct cli_testset_files {
    const char *input, *references, *tsv;
} cli_testset_files;

/* The row that refuses --tsv, for commands with --test-set FILE. */
#define CLI_REFUSED_TSV                                                                                  \
    {                                                                                                    \
        "tsv", 0, "FILE", "", .refused = "use --test-set FILE with inputs and references in two columns" \
    }

/* Load the files. `input` or `tsv` must be set. CLI_OK or CLI_FAILED after a message. */
int cli_testset_load(cli_testset *set, rill_context *ctx, const cli_testset_files *files);

/* Find a metric by name, for an option. CLI_OK or CLI_FAILED after a message that lists all metrics. */
int cli_metric_take(const char *name, const cli_metric_kind **kind);

/* Decode all inputs and measure their quality. Requests k outputs, or n-best if that is more, since the oracle uses all outputs.
 *   hash: [inputs] receives a hash of each input's outputs and scores; may be NULL
 *   RILL_OK · a status of rill_engine_create() or rill_run() */
rill_status cli_trial_judge(cli_session *session, cli_testset *set, const rill_search_config *search_config,
                            uint64_t *hash, cli_trial *out);

/* Decode all inputs with the search config and discard the results, to measure time. Returns as cli_trial_judge(). */
rill_status cli_trial_time(cli_session *session, cli_testset *set, const rill_search_config *search_config,
                           cli_trial *out);

/* Evaluation of a series of configurations. */
typedef struct cli_trials {
    cli_points points;
    cli_session *session; /* its command-line options override every point */
    cli_testset *set;
    const char *path;                 /* path of the script, for messages */
    rill_script *script;              /* the script, to locate errors */
    const rill_script_config *config; /* what the script returned; the model was opened with it */
    int64_t total;                    /* number of points, 0 = unknown */
    int shows_progress;               /* show the current point on standard error */
} cli_trials;

/* Decode the test set with a configuration and append the result, even if the point is refused. Before the first valid point, the set
 * is decoded once more, so that the model's memory has grown.
 *   CLI_OK, or CLI_FAILED after a message that names the point */
int cli_trials_try(cli_trials *trials, const rill_script_config *config);

/* Refuse a parameter that the command line sets too. CLI_OK or CLI_FAILED after a message. */
int cli_trials_check_name(const char *path, const rill_option_source *command_line, const char *name);

/* Whether outputs are certified (proved optimal) at every point, so that the table has the column cert%. */
int cli_trials_have_certified(const cli_trials *trials);

/* Erase the progress line. Has the type of cli_session.erase_progress. */
void cli_trials_erase(void *unused);

/* --- tables ------------------------------------------------------------------------------------------------------------ */

/* Points of a sweep as a table: parameters, quality, cost. */

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

/* --- sweeps ------------------------------------------------------------------------------------------------------------ */

/* Sweeps: `rill run` with a grid in the run file decodes the input at each grid point and prints a table. */

typedef struct cli_sweep {
    cli_session *session; /* configured, the model is not open yet */
    const cli_runfile *runfile;
    const char *input, *references, *output, *stats; /* file names; NULL: standard input, none, standard output, none */
    int quiet;
} cli_sweep;

/* Run the sweep. CLI_OK; CLI_SOME_FAILED if a point was refused or inputs have no output; CLI_FAILED or CLI_CLOSED. */
int cli_sweep_run(const cli_sweep *sweep);

/* Refuse command-line options that set a parameter of the grid. CLI_OK or CLI_FAILED after a message. */
int cli_sweep_check(const cli_runfile *runfile);

/* Evaluate all points of the script's grid in order, until one fails. after(user, point), which may be NULL, is called for each.
 * Returns as cli_trials_try(). */
int cli_sweep_points(cli_trials *trials, const cli_runfile *runfile, void (*after)(void *user, const cli_point *point),
                     void *user);

#endif
