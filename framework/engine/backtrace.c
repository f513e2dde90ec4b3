/* Backtrace; backtrace.h. The path is walked only once, from the leaf to the root, since every node is a cache miss. So the arrays are
 * filled from their end; their size is an upper bound computed from the output's length, and the hypothesis is the filled part. */
#include "backtrace.h"

void backtrace_finish(backtrace_buffer *u)
{
    rill_columns_free(u->ctx, &u->memory);
}

rill_status backtrace_output(backtrace_buffer *u, const hyp_pool *f, int32_t slot, const item_output *output,
                             int32_t phases, rill_hypothesis *hypothesis)
{
    const rill_array columns[] = {RILL_ARRAY(u->action), RILL_ARRAY(u->node), RILL_ARRAY(u->logp),
                                  RILL_ARRAY(u->score)};
    size_t capacity = ((size_t)output->length + 1) * (size_t)phases, from = capacity;
    RILL__TRY(
        rill_columns_grow(u->ctx, &u->memory, capacity, columns, sizeof columns / sizeof *columns, "a hypothesis"));
    int32_t state = output->hyp; /* hypothesis node with the state that the action led to */
    for (int32_t h = output->hyp; f->hyp[h].parent >= 0; h = f->hyp[h].parent) {
        const rill_hyp_node *node = &f->hyp[h];
        from--;
        u->action[from] = node->action;
        u->node[from] = f->state_need == RILL_STATE_PATH ? hyp_pool_node(f, state) : RILL_NO_NODE;
        state = node->internal[HYP_STATE_PARENT];
        u->logp[from] = node->logp;
        u->score[from] = node->path_score;
    }
    double logp = 0;
    for (size_t i = from; i < capacity; i++) logp += (double)u->logp[i];
    *hypothesis = (rill_hypothesis){.slot = slot,
                                    .length = (int32_t)(capacity - from),
                                    .action = u->action + from,
                                    .action_logp = u->logp + from,
                                    .action_path_score = u->score + from,
                                    .node = u->node + from,
                                    .path_score = output->path_score,
                                    .logp = logp,
                                    .truncated = output->truncated};
    return RILL_OK;
}
