/* Unrolling; unroll.h. The path is walked from the leaf, once, since every node is a trip to cold memory: arrays are filled from
 * their far end, which the output's length bounds, and the hypothesis is what has been filled. */
#include "unroll.h"

void unroll_finish(unroll *u)
{
    rill_columns_free(u->ctx, &u->memory);
}

rill_status unroll_output(unroll *u, const forest *f, int32_t slot, const item_output *output, int32_t phases,
                          rill_hypothesis *hypothesis)
{
    const rill_array columns[] = {RILL_ARRAY(u->action), RILL_ARRAY(u->node), RILL_ARRAY(u->logp),
                                  RILL_ARRAY(u->score)};
    size_t most = ((size_t)output->length + 1) * (size_t)phases, at = most;
    RILL__TRY(rill_columns_grow(u->ctx, &u->memory, most, columns, sizeof columns / sizeof *columns, "a hypothesis"));
    int32_t state = output->history; /* whose state it is that the action led to */
    for (int32_t h = output->history; f->h[h].parent >= 0; h = f->h[h].parent) {
        const rill_history *node = &f->h[h];
        at--;
        u->action[at] = node->action;
        u->node[at] = f->need == RILL_STATE_PATH ? forest_node(f, state) : RILL_NO_NODE;
        state = node->internal[HISTORY_STATE_PARENT];
        u->logp[at] = node->logp;
        u->score[at] = node->score;
    }
    double logp = 0;
    for (size_t i = at; i < most; i++) logp += (double)u->logp[i];
    *hypothesis = (rill_hypothesis){.slot = slot,
                                    .length = (int32_t)(most - at),
                                    .action = u->action + at,
                                    .action_logp = u->logp + at,
                                    .action_score = u->score + at,
                                    .node = u->node + at,
                                    .score = output->score,
                                    .logp = logp,
                                    .truncated = output->truncated};
    return RILL_OK;
}
