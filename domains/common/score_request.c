/* Converts score requests to selections and fills forced score results; see score_request.h. */
#include "score_request.h"

rill_selection rill_selection_for_request(const rill_score_request *req, const rill_score_result *result)
{
    return (rill_selection){.max_choices = req->max_choices,
                            .legal_words = req->legal_words,
                            .legal = req->legal,
                            .legal_set = req->legal_set,
                            .n_picks = req->n_picks,
                            .pick_row = req->pick_row,
                            .pick_action = req->pick_action,
                            .stride = result->stride,
                            .count = result->count,
                            .action = result->action,
                            .logp = result->logp,
                            .pick_logp = result->pick_logp};
}

void rill_score_result_force(const rill_score_request *req, rill_score_result *result, int32_t row, int32_t action)
{
    static const float zero_logp = 0.0f;
    rill_score_result_fill(req, row, 1, &action, &zero_logp, NULL, result);
}
