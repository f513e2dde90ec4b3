/* Create the engines of the workers.
 *
 * A Lua state belongs to one thread, so each worker's context loads the scripts of the command line again, and the run file too. The
 * run file may set functions as search options, so each worker's engine is made from its own copy. */
#ifndef CLI_WORKERS_H
#define CLI_WORKERS_H

#include "cli_profile.h"
#include "option_rows.h"
#include "session.h"

/* Number of workers: the number on the command line, otherwise 1, or one per available processor if the input is large, workers can
 * share the model and nothing else prevents it. 0: one worker per device other than the CPU. If the number depends on the device
 * `auto`, the device is resolved and stored in the session. */
int cli_workers_count(cli_session *session, const rill_domain *domain);

/* Call rill_workers_begin() with the setup of the search config. The caller may have changed its settings, but not its
 * heuristics, scorers, scheduler or budget function. RILL_OK · a negative status, with the error in the session's context */
rill_status cli_workers_begin(cli_session *session, const rill_search_config *search_config,
                              const rill_engine_setup *setup);

/* Begin workers, run them and collect the counters. `settings` and `stats` are set once the engines exist. */
typedef struct cli_workers_run {
    rill_read_fn read;
    void *read_user;
    rill_write_fn write;
    void *write_user;
    rill_settings settings;
    rill_stats stats;
    double seconds;
    cli_profile *profile; /* NULL, or the profile to add to */
} cli_workers_run;
rill_status cli_workers_decode(cli_session *session, const rill_search_config *search_config,
                               const rill_engine_setup *setup, cli_workers_run *run);

#endif
