/* Making states and scoring them: columns for the programs (programs.c), which do the work. */
#include "answer.h"
#include "grow.h"
#include "model.h"

rill_status semparse_step(void *self, const rill_rows *rows)
{
    semparse_runner *r = self;
    const size_t n = (size_t)rows->n;
    TRY(GROW(r->ctx, r->column, r->column_room, 3 * n, "columns of a step"));
    int32_t *origin = r->column, *word = origin + n, *first = word + n;
    for (size_t i = 0; i < n; i++) {
        const int continues = rows->state_parent[i] != RILL_NO_NODE;
        origin[i] = continues ? rows->state_parent[i] : rows->node[i];
        first[i] = continues ? -1 : rows->slot[i];
        word[i] = rows->action[i] >= 0 ? rows->action[i] : SEMPARSE_START;
    }
    const int32_t *columns[STEP_COLUMNS] = {[STEP_NODE] = rows->node,
                                            [STEP_SLOT] = rows->slot,
                                            [STEP_ORIGIN] = origin,
                                            [STEP_WORD] = word,
                                            [STEP_FIRST] = first};
    return rill_stream_run(
        r->stream, r->model->step,
        &(rill_run_arguments){
            .struct_size = sizeof(rill_run_arguments), .n = rows->n, .columns = columns, .late = rows->group + 1});
}

rill_status semparse_score(void *self, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    semparse_runner *r = self;
    const rill_selection selection = rill_answer_selection(ask, out);
    const int32_t *columns[SCORE_COLUMNS] = {[SCORE_NODE] = rows->node, [SCORE_SLOT] = rows->slot};
    return rill_stream_run(r->stream, r->model->score,
                           &(rill_run_arguments){.struct_size = sizeof(rill_run_arguments),
                                                 .n = rows->n,
                                                 .columns = columns,
                                                 .selection = &selection,
                                                 .late = rows->group + 1});
}
