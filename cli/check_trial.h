/* Everything that `rill check` tries with one thing: a domain on its model, or a heuristic, scorer or policy on a model that is open. */
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

extern const char *const cli_check_kind_names[]; /* by kind */

typedef struct cli_check_trial {
    cli_check_kind kind;
    const char *name, *arguments; /* arguments: NULL for a domain, and where none were given */
    cli_session *session;         /* its model is open */
    const cli_check_inputs *inputs;
    cli_check_instance *instance;
    /* Out. */
    int runs;  /* so far, which agree until one is wrong */
    int begun; /* the thing could be made, once at least */
    char why[CLI_CHECK_WHY];
    /* The run that others are compared with, one input at a time; kept for a further comparison, and freed by the caller. */
    rill_engine_setup setup;
    rill_chain_entry entry, pruning;
    char pruning_arguments[16];
    cli_check_record reference;
    char how[128];
} cli_check_trial;

/* Draw settings for the search and decode under every schedule. 1: all runs agree; 0: `why` tells. */
int cli_check_round(cli_check_trial *trial, uint64_t seed);

/* Decode once more as the last round's reference, but in batches, with the model that is open now. The reference stays. Same returns. */
int cli_check_rerun(cli_check_trial *trial, const char *how, const char *reason);

#endif
