/* Scores rows: fills the input columns of the graphs in shiftreduce_graphs.c and runs them.
 *
 * structure: the network scores only rows where both actions are legal. Other rows have one action, with logp 0.
 * label:     the network scores every row. The label in an item's last timestep completes the tree. */
#include "domain_base.h"
#include "stack.h"

/* State of one call. */
typedef struct score_call {
    const parser_runner *r;
    const rill_rows *rows;
    const rill_score_request *request;
    rill_score_result *result;
    int32_t *row_kind;  /* [n] structure: 0 if both actions are legal, else -1; label: 1 in the last timestep, else 0 */
    int32_t *a, *b, *c; /* [n] positions of the row's cell */
} score_call;

static rill_status run_score_graph(const score_call *w, const int32_t *const *columns)
{
    const rill_selection selection = rill_selection_for_request(w->request, w->result);
    return rill_session_run(w->r->session, w->r->model->score[w->rows->phase],
                            &(rill_run_arguments){.struct_size = sizeof(rill_run_arguments),
                                                  .n = w->rows->n,
                                                  .columns = columns,
                                                  .selection = &selection,
                                                  .async_group = w->rows->group + 1});
}

static rill_status score_structure(const score_call *w)
{
    int32_t open = 0;
    for (int32_t i = 0; i < w->rows->n; i++) {
        const parser_cell *s = &w->r->cell[w->rows->node[i]];
        const int shift = stack_can_shift(s, w->r->sentence[w->rows->slot[i]].words), combine = stack_can_combine(s);
        w->a[i] = s->a, w->b[i] = s->b, w->c[i] = s->c;
        w->row_kind[i] = shift && combine ? 0 : -1;
        open += w->row_kind[i] >= 0;
        if (!shift || !combine)
            rill_score_result_force(w->request, w->result, i, shift ? PARSER_SHIFT : PARSER_COMBINE);
    }
    const int32_t *columns[STRUCTURE_COLUMNS] = {[STRUCTURE_SLOT] = w->rows->slot,
                                                 [STRUCTURE_UNDECIDED] = w->row_kind,
                                                 [STRUCTURE_A] = w->a,
                                                 [STRUCTURE_B] = w->b,
                                                 [STRUCTURE_C] = w->c};
    return open > 0 ? run_score_graph(w, columns) : RILL_OK;
}

static rill_status score_labels(const score_call *w)
{
    for (int32_t i = 0; i < w->rows->n; i++) {
        const parser_cell *s = &w->r->cell[w->rows->node[i]];
        w->b[i] = s->b, w->c[i] = s->c;
        w->row_kind[i] = stack_is_done(s, w->r->sentence[w->rows->slot[i]].words);
        w->result->ends[i] = w->row_kind[i] ? RILL_ENDS_LAST : RILL_ENDS_BY_ACTION;
    }
    const int32_t *columns[LABEL_COLUMNS] = {
        [LABEL_SLOT] = w->rows->slot, [LABEL_IS_LAST] = w->row_kind, [LABEL_B] = w->b, [LABEL_C] = w->c};
    return run_score_graph(w, columns);
}

rill_status parser_score(void *self, const rill_rows *rows, const rill_score_request *req, rill_score_result *out)
{
    parser_runner *r = self;
    const size_t n = (size_t)rows->n;
    TRY(GROW(r->ctx, r->column, r->column_capacity, 4 * n, "columns of a score"));
    const score_call w = {.r = r,
                          .rows = rows,
                          .request = req,
                          .result = out,
                          .row_kind = r->column,
                          .a = r->column + n,
                          .b = r->column + 2 * n,
                          .c = r->column + 3 * n};
    return rows->phase == PARSER_PHASE_STRUCTURE ? score_structure(&w) : score_labels(&w);
}
