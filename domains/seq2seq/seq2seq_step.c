/* Decoder steps, scores and alignments: fills a graph's input columns and runs it.
 *
 * Invariant: a row's result depends only on its hypothesis's tokens and input. */
#include "seq2seq.h"

/* --- input token ids ---------------------------------------------------------------------------------------------- */

/* Maximum number of input columns of `step`: four, two more if states read the parent's, and one per net. */
enum { MAX_COLUMNS = 6 + RILL_MIX_MODELS };

/* Set symbol [n] to each row's last token; for an empty hypothesis to its target language's start token, else the net's decoder_start. */
static void input_token_ids(const seq_runner *r, const seq_net *net, int32_t n, const int32_t *action,
                            const int32_t *slot, int32_t *symbol)
{
    for (int32_t i = 0; i < n; i++) {
        symbol[i] = action[i];
        if (action[i] != RILL_ACTION_START) continue;
        const int32_t start = r->output_prefix[slot[i]].decoder_start;
        symbol[i] = start >= 0 ? start : net->decoder_start;
    }
}

/* --- decoder steps ------------------------------------------------------------------------------------------------ */

/* Prepare the nets' position embeddings for all rows. Fail if a row is deeper than the model's number of positions. */
static rill_status check_positions(seq_runner *r, int32_t n, const int32_t *depth)
{
    int32_t deepest = -1;
    for (int32_t i = 0; i < n; i++)
        if (depth[i] > deepest) deepest = depth[i];
    if (deepest >= r->model->max_input_length)
        return rill_fail(r->ctx, RILL_ERR_ARGUMENT,
                         "%s: the model has %d positions, and none is left for the next token", r->model->domain,
                         r->model->max_input_length);
    return seq_prepare_positions(r, (size_t)(deepest + 1));
}

rill_status seq_step(void *self, const rill_rows *rows)
{
    seq_runner *r = self;
    const seq_model *m = r->model;
    const int32_t *columns[MAX_COLUMNS] = {rows->node, rows->slot, rows->depth, rows->state_parent};
    size_t used = 4;
    TRY(check_positions(r, rows->n, rows->depth));
    TRY(GROW(&r->arena, r->column, (m->n_nets + 2) * (size_t)rows->n, "columns of a step"));
    int32_t *column = r->column;
    if (m->needs_parent) {
        rill_rows_parents(rows, column, column + rows->n);
        columns[used++] = column;
        columns[used++] = column + rows->n;
        column += 2 * rows->n;
    }
    for (size_t i = 0; i < m->n_nets; i++, column += rows->n) {
        input_token_ids(r, m->net[i], rows->n, rows->action, rows->slot, column);
        columns[used++] = column;
    }
    for (int32_t i = 0; i < rows->n; i++)
        if (rows->state_parent[i] == RILL_NO_NODE) r->root_node[rows->slot[i]] = rows->node[i];
    return rill_rows_run(r->session, m->graphs.step, rows, columns, NULL);
}

rill_status seq_run_alignment(seq_runner *r, const seq_alignment *a)
{
    const int32_t n = (int32_t)a->n_actions;
    TRY(check_positions(r, n, a->depth));
    TRY(GROW(&r->arena, r->column, a->n_actions, "columns of an alignment"));
    input_token_ids(r, r->model->net[0], n, a->action, a->slot, r->column);
    const int32_t *const columns[] = {a->node, a->slot, a->depth, r->column};
    const rill_run_arguments run = {
        .struct_size = sizeof run, .n = n, .columns = columns, .watched = a->weights, .ld_watched = a->n_tokens};
    return rill_session_run(r->session, r->model->graphs.align, &run);
}

/* --- scores of tokens --------------------------------------------------------------------------------------------- */

/* Give the score RILL_SCORE_DEAD to requested actions (picks) that are illegal: the softmax gives illegal ids a probability too. */
static void drop_illegal_logp(const seq_model *m, const rill_score_request *req, rill_score_result *out)
{
    for (int32_t q = 0; q < req->n_picks; q++)
        if (!(m->legal[req->pick_action[q] / 64] >> (req->pick_action[q] % 64) & 1))
            out->pick_logp[q] = (float)RILL_SCORE_DEAD;
}

/* Make a forced first token the only choice of an empty hypothesis, with logp 0: transformers' ForcedBOSTokenLogitsProcessor. */
static void force_first(const seq_runner *r, const rill_rows *rows, const rill_score_request *req,
                        rill_score_result *out)
{
    const seq_net *net = r->model->net[0];
    const int32_t default_bos = net->forced_bos;
    if (default_bos < 0 && net->tokenizer->languages == NULL) return;
    for (int32_t i = 0; i < rows->n; i++) {
        if (rows->depth[i] > 0) continue;
        const int32_t own = r->output_prefix[rows->slot[i]].forced_bos, first = own >= 0 ? own : default_bos;
        if (first >= 0) rill_score_result_force(req, out, i, first);
    }
}

rill_status seq_score(void *self, const rill_rows *rows, const rill_score_request *req, rill_score_result *out)
{
    seq_runner *r = self;
    const seq_model *m = r->model;
    const size_t n = (size_t)rows->n;
    rill_selection selection = rill_selection_for_request(req, out);
    TRY(GROW(&r->arena, r->column, n, "columns of scores"));
    /* allow only the model's legal ids; with a shortlist this is not needed, because its subsets contain only legal ids */
    if (selection.legal == NULL && m->shortlist == NULL) {
        for (size_t i = 0; i < n; i++) r->column[i] = 0;
        selection.legal = m->legal;
        selection.legal_words = ((size_t)m->net[0]->target_vocab_size + 63) / 64;
        selection.legal_set = r->column;
    }
    const int32_t *const columns[] = {rows->node, rows->slot};
    r->request[rows->group] = req;
    r->result[rows->group] = out;
    r->rows[rows->group] = *rows;
    TRY(rill_rows_run(r->session, m->graphs.score, rows, columns, &selection));
    drop_illegal_logp(m, req, out);
    force_first(r, rows, req, out);
    return RILL_OK;
}

rill_status seq_collect(void *self, int32_t group)
{
    seq_runner *r = self;
    TRY(rill_session_collect(r->session, group));
    drop_illegal_logp(r->model, r->request[group], r->result[group]);
    force_first(r, &r->rows[group], r->request[group], r->result[group]);
    return RILL_OK;
}
