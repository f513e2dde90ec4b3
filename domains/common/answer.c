/* Asks and answers; see answer.h. */
#include "answer.h"

rill_selection rill_answer_selection(const rill_ask *ask, const rill_choices *out)
{
    return (rill_selection){.most = ask->most,
                            .legal_words = ask->legal_words,
                            .legal = ask->legal,
                            .legal_set = ask->legal_set,
                            .n_picks = ask->n_picks,
                            .pick_row = ask->pick_row,
                            .pick_action = ask->pick_action,
                            .stride = out->stride,
                            .count = out->count,
                            .action = out->action,
                            .logp = out->logp,
                            .pick_logp = out->pick_logp};
}

void rill_answer_forced(const rill_ask *ask, rill_choices *out, int32_t row, int32_t action)
{
    static const float free_of_cost = 0.0f;
    rill_choices_give(ask, row, 1, &action, &free_of_cost, NULL, out);
}
