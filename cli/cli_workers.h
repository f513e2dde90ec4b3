/* From a plan to engines: one, or one for each of several workers with scripts of their own.
 *
 * Scripts belong to a thread, so each worker's context gets those of the command line once more, and the configuration too: what
 * it says of the search, which may be functions, is read again there, and each worker's engine is made from its own. */
#ifndef CLI_WORKERS_H
#define CLI_WORKERS_H

#include "cli_profile.h"
#include "option_rows.h"
#include "session.h"

/* How many workers: as asked for; else one for each processor that may be used where there is much to read, the model can be
 * shared, and nothing in the run minds: one otherwise. 0: one for each of the devices that are not the processor. Where it has to be
 * known what `auto` is, the session's values have that instead from then on. */
int cli_workers_count(cli_session *session, const rill_domain *domain);

/* rill_workers_begin() with the plan's setup, of which the caller may have changed what chains and budget do not say. What fails is
 * recorded in the session's context. */
rill_status cli_workers_begin(cli_session *session, const rill_search_config *search_config,
                              const rill_engine_setup *setup);

/* Begin, run, and keep the counters: what trials need. `settings` and `stats` are filled in once there are engines. */
typedef struct cli_workers_run {
    rill_read_fn read;
    void *read_user;
    rill_write_fn write;
    void *write_user;
    rill_settings settings;
    rill_stats stats;
    double seconds;
    cli_profile *profile; /* NULL, or what the operations cost is added here */
} cli_workers_run;
rill_status cli_workers_decode(cli_session *session, const rill_search_config *search_config,
                               const rill_engine_setup *setup, cli_workers_run *run);

#endif
