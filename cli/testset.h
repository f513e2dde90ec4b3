/* Inputs in memory, with references if there are any, and one decode of them all: what `rill bench`, sweeps and `rill tune` are
 * made of.
 *
 * Every decode has an engine of its own on a model that stays open, so that none but the first pays for the growth of the
 * model's memory, and what is timed is what someone who decodes a long stream gets. */
#ifndef CLI_TESTSET_H
#define CLI_TESTSET_H

#include "cli.h"
#include "lines.h"
#include "metric.h"
#include "profile.h"
#include "search.h"
#include "session.h"

/* NULL: not given. `tsv` has two columns: references in the second, and in the first the inputs, unless `input` has them. */
typedef struct cli_testset_files {
    const char *input, *references, *tsv;
} cli_testset_files;

typedef struct cli_testset {
    cli_lines inputs, references;
    cli_metric metric;
    const cli_metric_kind *kind; /* asked for; NULL: the one that suits the domain */
    int judged;                  /* there are references */
} cli_testset;

/* Read the files. One of `input` and `tsv` is there. CLI_OK or CLI_FAILED after a message. */
int cli_testset_load(cli_testset *set, rill_context *ctx, const cli_testset_files *files);
/* Settle the metric and make ready to judge outputs by the references, if there are any. Same returns. */
int cli_testset_judge(cli_testset *set, rill_context *ctx, const rill_domain *domain);
/* What outputs are judged by; NULL when they are not. */
static inline const cli_metric_kind *cli_testset_metric(const cli_testset *set)
{
    return set->judged ? set->metric.kind : NULL;
}
/* Accepts a zeroed set. */
void cli_testset_free(cli_testset *set);

typedef struct cli_trial {
    cli_counts counts;
    rill_stats stats;
    rill_settings settings; /* as the engine resolved them */
    double seconds;         /* of the whole decode */
    cli_profile *profile;   /* in: NULL, or where to add what operations cost */
} cli_trial;

/* Decode all inputs with as many outputs as the beam is wide, or n-best where that is more, and judge them: an oracle looks
 * at every one.
 *   hash: [inputs] gets a hash of each input's outputs with their scores; may be NULL
 *   RILL_OK · what rill_engine_create() and rill_run() return */
rill_status cli_trial_judge(cli_session *session, cli_testset *set, const rill_plan *plan, uint64_t *hash,
                            cli_trial *out);

/* Decode all inputs as the plan says and look at nothing: for the time it takes. Same returns. */
rill_status cli_trial_time(cli_session *session, cli_testset *set, const rill_plan *plan, cli_trial *out);

#endif
