/* score_request.h: converts a domain's score request (rill/domain.h) to the selection of a graph's `best`
 * (rill/device.h).
 *
 * Stability: internal to rill. */
#ifndef RILL_COMMON_SCORE_REQUEST_H
#define RILL_COMMON_SCORE_REQUEST_H

#include "rill/device.h"
#include "rill/domain.h"

/* The selection for a request. It borrows the arrays of both, which must outlive it. */
rill_selection rill_selection_for_request(const rill_score_request *req, const rill_score_result *result);

/* Answer a row with a single legal action, whose score is 0; the network need not run. */
void rill_score_result_force(const rill_score_request *req, rill_score_result *result, int32_t row, int32_t action);

#endif
