/* Load a test set, decode it, and evaluate points (sets of parameters) with it, for `rill bench`, sweeps and `rill tune`.
 *
 * Each decode creates an engine on a model that stays open. Only the first decode pays for growing the model's memory, so later
 * timings are those of a long-running stream. */
#ifndef CLI_TRIAL_H
#define CLI_TRIAL_H

#include "cli.h"
#include "cli_profile.h"
#include "option_rows.h"
#include "points.h"
#include "session.h"

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

#endif
