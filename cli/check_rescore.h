/* A domain that stands in for another, which it asks again about each state: for all choices, twice, and once more when children were
 * made of the state. What `rill check` learns so no comparison of runs shows: a state that making children spoils is spoilt in all of
 * them, and probabilities are as good an order as their logarithms. */
#ifndef CLI_CHECK_RESCORE_H
#define CLI_CHECK_RESCORE_H

#include "check_run.h"

/* The table's name. */
#define CLI_CHECK_RESCORE "rill-check-asked"

typedef struct cli_check_rescore {
    rill_domain domain; /* first: its methods find the rest behind it */
    const rill_domain *real;
    rill_domain_info info; /* what that said of its model */
    /* What was seen; of rows that have any choice. */
    int64_t rows, normalised_rows; /* all, and those that add up to 1 */
    int maybe_probs;               /* no choice of any is below 0, and no row adds up to more than 1 */
    int not_logprobs;              /* some row's choices are no log-probabilities */
    char why[CLI_CHECK_WHY];       /* the first that broke the contract; empty: none */
} cli_check_rescore;

/* Register the table, which stays until the context is destroyed. */
rill_status cli_check_rescore_register(cli_check_rescore *rescoring, rill_context *ctx);

/* Let it stand in for a domain, and decode the inputs one at a time. The session's model, opened before, is closed, and what it was
 * opened with is taken again; this one stays open.
 *   1: nothing is wrong · 0: `asked->why` tells what is · -1: it failed, as recorded in the session's context */
int cli_check_rescore_run(cli_check_rescore *rescoring, cli_session *session, const rill_domain *real,
                          const cli_check_inputs *inputs);

#endif
