/* Load a test set, decode it, and compare search configurations: for `rill bench`, sweeps and `rill tune`. The model stays open. Each
 * decode creates an engine. */
#pragma once

#include "report.h"
#include "testset.h"

/* The row that refuses --tsv, for commands with --test-set FILE. */
/* clang-format off */
#define CLI_REFUSED_TSV {"tsv", 0, "FILE", "", .refused = "use --test-set FILE with inputs and references in two columns"}
/* clang-format on */

/* Load the files of a test set; NULL: not set. `tsv` has inputs and references; `input` overrides its inputs. One of the two is required.
 */
int cli_testset_load(cli_testset *set, rill_context *ctx, const char *input, const char *references, const char *tsv);
/* Open the session's model, and the metric for the references of the loaded set. */
int cli_testset_open(cli_testset *set, cli_session *session);

/* Set an option's member, a const cli_metric_kind *, to the metric `value`. */
int cli_metric_take(void *command, const cli_option *option, const char *value);

/* Decode all inputs and measure their quality. Requests max(beam size, n-best) outputs, for the oracle.
 *   hash: [inputs] out: hash of each input's outputs and scores; or NULL
 *   RILL_OK · a status of rill_engine_create() or rill_run() */
rill_status cli_trial_judge(cli_session *session, cli_testset *set, const rill_search_config *search_config,
                            uint64_t *hash, cli_trial *out);

/* Decode all inputs with the search config and discard the results, to measure time. Returns as cli_trial_judge(). */
rill_status cli_trial_time(cli_session *session, cli_testset *set, const rill_search_config *search_config,
                           cli_trial *out);

/* Evaluation of a series of configurations. */
typedef struct cli_trials {
    cli_session *session;       /* session whose command-line options override those of every configuration */
    const cli_runfile *runfile; /* the run file, which names the model that is open */
    cli_testset set;
    cli_points points;
    int64_t total;      /* number of configurations to try; 0: unknown */
    int shows_progress; /* 1: show the current configuration on standard error */
} cli_trials;

/* Decode the test set with a configuration and append the result to trials->points. A contradictory configuration is not decoded, and its
 * point has the reason. */
int cli_trials_try(cli_trials *trials, const rill_script_config *config);
void cli_trials_free(cli_trials *trials); /* accepts a zeroed struct */

/* Refuse command-line options that set a parameter which the run file's sweep varies. */
int cli_trials_check_grid(const cli_trials *trials);

/* Return 1 if `certify` or `exact` is on in every configuration: the table then has cert%, the fraction of proven outputs. */
int cli_trials_have_certified(const cli_trials *trials);

/* Run a run file's sweep in a configured session, whose model is not open.
 *   input, output: NULL: standard input or output; references, stats: NULL: none
 *   CLI_OK · CLI_SOME_FAILED: refused configurations or inputs without output · CLI_FAILED · CLI_CLOSED */
int cli_sweep_run(cli_session *session, const cli_runfile *runfile, const char *input, const char *references,
                  const char *output, const char *stats);
