/* Computes decoder states and scores: fills the columns of the graphs in semparse_graphs.c and runs them. */
#include "domain_base.h"
#include "semparse_model.h"

rill_status semparse_step(void *self, const rill_rows *rows)
{
    semparse_runner *r = self;
    const size_t n = (size_t)rows->n;
    TRY(GROW(r->ctx, r->column, r->column_capacity, 3 * n, "columns of a step"));
    int32_t *parent_or_self = r->column, *word = parent_or_self + n, *root_slot = word + n;
    for (size_t i = 0; i < n; i++) {
        const int continues = rows->state_parent[i] != RILL_NO_NODE;
        parent_or_self[i] = continues ? rows->state_parent[i] : rows->node[i];
        root_slot[i] = continues ? -1 : rows->slot[i];
        word[i] = rows->action[i] >= 0 ? rows->action[i] : SEMPARSE_BOS;
    }
    const int32_t *columns[STEP_COLUMNS] = {[STEP_NODE] = rows->node,
                                            [STEP_SLOT] = rows->slot,
                                            [STEP_PARENT_OR_SELF] = parent_or_self,
                                            [STEP_TOKEN] = word,
                                            [STEP_ROOT_SLOT] = root_slot};
    return rill_session_run(r->session, r->model->step,
                            &(rill_run_arguments){.struct_size = sizeof(rill_run_arguments),
                                                  .n = rows->n,
                                                  .columns = columns,
                                                  .async_group = rows->group + 1});
}

rill_status semparse_score(void *self, const rill_rows *rows, const rill_score_request *req, rill_score_result *out)
{
    semparse_runner *r = self;
    const rill_selection selection = rill_selection_for_request(req, out);
    const int32_t *columns[SCORE_COLUMNS] = {[SCORE_NODE] = rows->node, [SCORE_SLOT] = rows->slot};
    return rill_session_run(r->session, r->model->score,
                            &(rill_run_arguments){.struct_size = sizeof(rill_run_arguments),
                                                  .n = rows->n,
                                                  .columns = columns,
                                                  .selection = &selection,
                                                  .async_group = rows->group + 1});
}
