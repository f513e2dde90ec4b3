/* An exact and slow reading of rill_ask, to judge rill_select() by: every legal action is looked at, everything that is
 * asked is applied to it, and what remains is sorted. */
#ifndef TEST_TOY_SELECT_H
#define TEST_TOY_SELECT_H

#include "support/toy_model.h"

/* Fill row `row` of `out` from all n legal choices, in any order. */
void toy_select_slowly(const rill_ask *ask, int32_t row, int32_t n, const toy_choice *choices, rill_choices *out);

/* The same through rill_select(); `state` varies how much of the row it is given at once. */
void toy_select_by_rill(const rill_ask *ask, int32_t row, int32_t n, const toy_choice *choices, const toy_model *model,
                        uint64_t state, rill_choices *out);

/* 0, or 1 with a message when row `row` of the two answers differs. */
int toy_select_differs(int32_t row, const rill_choices *a, const rill_choices *b, char *message, size_t size);

#endif
