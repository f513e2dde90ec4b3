/* A domain that wraps another domain and scores each state three times: twice in a row, and again after the state's children were
 * computed. It finds errors that comparing runs cannot show: a step() that damages the parent state does so in every run, and choices
 * with probabilities instead of log-probabilities have the same order. */
#ifndef CLI_CHECK_RESCORE_H
#define CLI_CHECK_RESCORE_H

#include "check_run.h"

/* The name of the wrapping domain. */
#define CLI_CHECK_RESCORE "rill-check-asked"

typedef struct cli_check_rescore {
    rill_domain domain; /* first member: methods cast from it to the whole struct */
    const rill_domain *real;
    rill_domain_info info; /* facts about the tested domain */
    /* Statistics of the rows that have any choice. */
    int64_t rows, normalised_rows; /* numbers of all rows, and of rows whose values sum to 1 */
    int maybe_probs;               /* no value is below 0, and no row sums to more than 1 */
    int not_logprobs;              /* in some row, the choices are not log-probabilities */
    char why[CLI_CHECK_WHY];       /* the first violation of the contract; empty: none */
} cli_check_rescore;

/* Register the wrapping domain. `rescoring` must outlive the context. */
rill_status cli_check_rescore_register(cli_check_rescore *rescoring, rill_context *ctx);

/* Decode the inputs one at a time with the wrapping domain. Closes the session's open model and opens it again, wrapped; the wrapped
 * model stays open.
 *   1: no error found · 0: `rescoring->why` says what is wrong · -1: the run failed, the error is in the session's context */
int cli_check_rescore_run(cli_check_rescore *rescoring, cli_session *session, const rill_domain *real,
                          const cli_check_inputs *inputs);

#endif
