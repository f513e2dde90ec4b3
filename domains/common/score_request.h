/* score_request.h: between what a domain is asked (rill/domain.h) and what a program's `best` is asked (rill/device.h).
 *
 * Stability: internal to rill. */
#ifndef RILL_COMMON_SCORE_REQUEST_H
#define RILL_COMMON_SCORE_REQUEST_H

#include "rill/device.h"
#include "rill/domain.h"

/* What a run answers itself: arrays of both are handed on, and must outlive the selection. */
rill_selection rill_selection_for_request(const rill_score_request *req, const rill_score_result *result);

/* Answer a row that has one action, at no cost: the network need not run. */
void rill_score_result_force(const rill_score_request *req, rill_score_result *result, int32_t row, int32_t action);

#endif
