/* score_request.h: converts a domain's score request (rill/domain.h) to the rill_selection of a graph's operation `best`
 * (rill/device.h).
 *
 * Stability: internal to rill. */
#ifndef RILL_COMMON_SCORE_REQUEST_H
#define RILL_COMMON_SCORE_REQUEST_H

#include "rill/device.h"
#include "rill/domain.h"

/* Make the selection for a score request. The selection borrows the arrays of `req` and `result`, which must outlive it. */
rill_selection rill_selection_for_request(const rill_score_request *req, const rill_score_result *result);

/* Fill the result of `row` with one choice, `action`, whose log-probability is 0. For rows with a single legal action,
 * for which the network need not run. */
void rill_score_result_force(const rill_score_request *req, rill_score_result *result, int32_t row, int32_t action);

#endif
