/* Exact, slow answers to a rill_score_request, to check rill_score_result_fill(). Scans all legal actions for every
 * choice. */
#pragma once

#include "support/toy_model.h"

enum { TOY_MAX_PICKS = 1100 };

/* A copy of one row of a score result. */
typedef struct toy_row {
    int32_t count, n_picks;
    uint8_t ends;
    int32_t action[TOY_MAX_ACTIONS];
    float logp[TOY_MAX_ACTIONS];
    /* 1: the choice ends the hypothesis; valid only if `ends` is RILL_ENDS_BY_FLAG */
    uint8_t terminal[TOY_MAX_ACTIONS];
    float pick_logp[TOY_MAX_PICKS];
} toy_row;

/* Answer row `row` of a request from all its n legal choices, which may have any order. ends: how to report which choices are terminal. */
void toy_answer_slowly(const rill_score_request *request, int32_t row, int32_t n, const toy_choice *choices,
                       rill_row_ends ends, rill_score_result *out);

/* As toy_answer_slowly(), but through rill_score_result_fill(), with the choices in an order derived from `state`. n is at
 * most TOY_MAX_ACTIONS. */
void toy_answer_by_rill(const rill_score_request *request, int32_t row, int32_t n, const toy_choice *choices,
                        rill_row_ends ends, uint64_t state, rill_score_result *out);

/* Copy a row of at most TOY_MAX_ACTIONS choices and TOY_MAX_PICKS picks. */
void toy_row_copy(const rill_score_request *request, int32_t row, const rill_score_result *out, toy_row *copy);

/* Compare two rows. Returns 0 if they are equal, else 1 with a message about the first difference. */
int toy_row_differs(const toy_row *a, const toy_row *b, char *message, size_t size);
