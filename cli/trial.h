/* Test sets from files, one decode of all inputs, and points tried with it: what `rill bench`, sweeps and `rill tune` are made of.
 *
 * Every decode has an engine of its own on a model that stays open, so that none but the first pays for the growth of the
 * model's memory, and what is timed is what someone who decodes a long stream gets. */
#ifndef CLI_TRIAL_H
#define CLI_TRIAL_H

#include "cli.h"
#include "cli_profile.h"
#include "option_rows.h"
#include "points.h"
#include "session.h"

/* NULL: not given. `tsv` has two columns: references in the second, and in the first the inputs, unless `input` has them. */
typedef struct cli_testset_files {
    const char *input, *references, *tsv;
} cli_testset_files;

/* A row of commands that have --test-set FILE. */
#define CLI_REFUSED_TSV                                                                              \
    {                                                                                                \
        "tsv", 0, "FILE", "", .refused = "--test-set FILE has inputs and references, in two columns" \
    }

/* Read the files. One of `input` and `tsv` is there. CLI_OK or CLI_FAILED after a message. */
int cli_testset_load(cli_testset *set, rill_context *ctx, const cli_testset_files *files);

/* The metric of that name, for an option. CLI_OK or CLI_FAILED after a message that lists them. */
int cli_metric_take(const char *name, const cli_metric_kind **kind);

/* Decode all inputs with as many outputs as the beam is wide, or n-best where that is more, and judge them: an oracle looks
 * at every one.
 *   hash: [inputs] gets a hash of each input's outputs with their scores; may be NULL
 *   RILL_OK · what rill_engine_create() and rill_run() return */
rill_status cli_trial_judge(cli_session *session, cli_testset *set, const rill_search_config *search_config,
                            uint64_t *hash, cli_trial *out);

/* Decode all inputs as the plan says and look at nothing: for the time it takes. Same returns. */
rill_status cli_trial_time(cli_session *session, cli_testset *set, const rill_search_config *search_config,
                           cli_trial *out);

/* Configurations that are tried one after the other. */
typedef struct cli_trials {
    cli_points points;
    cli_session *session; /* its options override every point */
    cli_testset *set;
    const char *path;                 /* the script's, for messages */
    rill_script *script;              /* the same, to find the place that a message is about */
    const rill_script_config *config; /* what it returned, by which the model was opened */
    int64_t total;                    /* how many there will be, 0 = not known */
    int shows_progress;               /* say on standard error which one is being tried */
} cli_trials;

/* Decode the test set with a configuration and append what came of it, though it be refused. Before the first point that is not
 * the set is decoded once more, for the model's memory to have grown.
 *   CLI_OK, or CLI_FAILED after a message that names the point: what its run was stopped by */
int cli_trials_try(cli_trials *trials, const rill_script_config *config);

/* Refuse a parameter that an option sets too. CLI_OK or CLI_FAILED after a message. */
int cli_trials_check_name(const char *path, const rill_option_source *command_line, const char *name);

/* Whether it is told of every point what is certified. */
int cli_trials_have_certified(const cli_trials *trials);

/* Take the line that tells where we are from the terminal. Fits cli_session.erase_progress. */
void cli_trials_erase(void *unused);

#endif
