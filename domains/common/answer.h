/* answer.h: between what a domain is asked (rill/domain.h) and what a program's `best` is asked (rill/device.h).
 *
 * Stability: internal to rill. */
#ifndef RILL_COMMON_ANSWER_H
#define RILL_COMMON_ANSWER_H

#include "rill/device.h"
#include "rill/domain.h"

/* What a run answers itself: arrays of both are handed on, and must outlive the selection. */
rill_selection rill_answer_selection(const rill_ask *ask, const rill_choices *out);

/* Answer a row that has one action, at no cost: the network need not run. */
void rill_answer_forced(const rill_ask *ask, rill_choices *out, int32_t row, int32_t action);

#endif
