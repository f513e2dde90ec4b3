/* The test runs of `rill check` for one plugin item: a domain, or a heuristic, scorer or scheduler on an open model. */
#ifndef CLI_CHECK_TRIAL_H
#define CLI_CHECK_TRIAL_H

#include "check_instance.h"
#include "check_run.h"

typedef enum cli_check_kind {
    CLI_CHECK_DOMAIN,
    CLI_CHECK_HEURISTIC,
    CLI_CHECK_SCORER,
    CLI_CHECK_SCHEDULER
} cli_check_kind;

extern const char *const cli_check_kind_names[]; /* [kind] */

typedef struct cli_check_trial {
    cli_check_kind kind;
    const char *name, *arguments; /* arguments: NULL for a domain, or if the item has no arguments */
    cli_session *session;         /* session with an open model */
    const cli_check_inputs *inputs;
    cli_check_instance *instance;
    /* Results. */
    int runs;  /* runs so far */
    int begun; /* creating the item succeeded at least once */
    char why[CLI_CHECK_WHY];
    /* The reference run, one input at a time. It is kept for cli_check_rerun(); the caller frees `reference`. */
    rill_engine_setup setup;
    rill_chain_entry entry, pruning;
    char pruning_arguments[16];
    cli_check_record reference;
    char how[128]; /* schedule of the reference run, for messages */
} cli_check_trial;

/* Draw random search settings and decode under every schedule. 1: all runs agree; 0: `why` says what differs. */
int cli_check_round(cli_check_trial *trial, uint64_t seed);

/* Repeat the reference run of the last round in batches, with the model that is open now, and compare. Returns as
 * cli_check_round(). */
int cli_check_rerun(cli_check_trial *trial, const char *how, const char *reason);

#endif
