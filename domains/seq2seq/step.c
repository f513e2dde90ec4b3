/* Making states, scoring them and looking at them once more: the columns of a call, and the runs.
 *
 * Invariant: a row's result is a function of its path's actions and its slot alone (rill/device.h). A row of a call that
 * makes states never lies on another's path. Divisions: columns · states · scores. */
#include "answer.h"
#include "seq2seq.h"

/* --- columns ------------------------------------------------------------------------------------------------------ */

/* Those of step come first, four or six, then the symbols of each net. */
enum { MOST_COLUMNS = 6 + RILL_MIX_MODELS };

/* [n] ints of the runner's scratch behind what *c has. */
static rill_status get_columns(seq_runner *r, size_t count, size_t n, int32_t **out)
{
    rill_carver c = {0};
    rill_carve(&c, count * n, sizeof **out);
    TRY(seq_carve_again(r, &c));
    *out = rill_carve(&c, count * n, sizeof **out);
    return RILL_OK;
}

/* A first node's symbol is what the net's decoder starts from, or the language of the item's outputs. */
static void name_symbols(const seq_runner *r, const seq_net *net, int32_t n, const int32_t *action, const int32_t *slot,
                         int32_t *symbol)
{
    for (int32_t i = 0; i < n; i++) {
        symbol[i] = action[i];
        if (action[i] != RILL_ACTION_START) continue;
        const int32_t start = r->opening[slot[i]].start;
        symbol[i] = start >= 0 ? start : net->start;
    }
}

static rill_status run(seq_runner *r, rill_program program, rill_run_arguments arguments)
{
    arguments.struct_size = sizeof arguments;
    return rill_stream_run(r->stream, program, &arguments);
}

/* --- states ------------------------------------------------------------------------------------------------------- */

/* Positions for all rows, of which the deepest may have none left. */
static rill_status reach(seq_runner *r, int32_t n, const int32_t *depth)
{
    int32_t deepest = -1;
    for (int32_t i = 0; i < n; i++)
        if (depth[i] > deepest) deepest = depth[i];
    if (deepest >= r->model->positions)
        return rill_fail(r->ctx, RILL_ERR_ARGUMENT, "%s: the model has %d positions, none is left for the next action",
                         r->model->domain, r->model->positions);
    return seq_reach(r, (size_t)(deepest + 1));
}

/* Where a row's state comes from, for nets that read their parent's: origin [n], first [n]. */
static void name_origins(const rill_rows *rows, int32_t *origin, int32_t *first)
{
    for (int32_t i = 0; i < rows->n; i++) {
        const int begins = rows->state_parent[i] == RILL_NO_NODE;
        origin[i] = begins ? rows->node[i] : rows->state_parent[i];
        first[i] = begins ? rows->slot[i] : -1;
    }
}

rill_status seq_step(void *self, const rill_rows *rows)
{
    seq_runner *r = self;
    const seq_model *m = r->model;
    const int32_t *columns[MOST_COLUMNS] = {rows->node, rows->slot, rows->depth, rows->state_parent};
    size_t used = 4;
    int32_t *column;
    TRY(reach(r, rows->n, rows->depth));
    TRY(get_columns(r, m->nets + (m->parents ? 2 : 0), (size_t)rows->n, &column));
    if (m->parents) {
        name_origins(rows, column, column + rows->n);
        columns[used++] = column;
        columns[used++] = column + rows->n;
        column += 2 * rows->n;
    }
    for (size_t i = 0; i < m->nets; i++, column += rows->n) {
        name_symbols(r, m->net[i], rows->n, rows->action, rows->slot, column);
        columns[used++] = column;
    }
    for (int32_t i = 0; i < rows->n; i++)
        if (rows->state_parent[i] == RILL_NO_NODE) r->root[rows->slot[i]] = rows->node[i];
    return run(r, m->programs.step, (rill_run_arguments){.n = rows->n, .columns = columns, .late = rows->group + 1});
}

rill_status seq_watch(seq_runner *r, const seq_watched *w)
{
    int32_t *symbol;
    TRY(reach(r, w->n, w->depth));
    TRY(get_columns(r, 1, (size_t)w->n, &symbol));
    name_symbols(r, r->model->net[0], w->n, w->action, w->slot, symbol);
    const int32_t *const columns[] = {w->node, w->slot, w->depth, symbol};
    return run(r, r->model->programs.watch,
               (rill_run_arguments){.n = w->n, .columns = columns, .watched = w->share, .ld_watched = w->ld});
}

/* --- scores ------------------------------------------------------------------------------------------------------- */

/* What is never chosen has a probability all the same, which nobody is to see. */
static void hide_illegal(const seq_model *m, const rill_ask *ask, rill_choices *out)
{
    for (int32_t q = 0; q < ask->n_picks; q++)
        if (!(m->legal[ask->pick_action[q] / 64] >> (ask->pick_action[q] % 64) & 1))
            out->pick_logp[q] = (float)RILL_SCORE_DEAD;
}

/* Where an output's first action is given it is the row's only one, and costs nothing: as transformers' ForcedBOSTokenLogitsProcessor has
 * it. What the net made of the row is not looked at. */
static void force_first(const seq_runner *r, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    const seq_net *net = r->model->net[0];
    const int32_t usual = net->forced_first;
    if (usual < 0 && rill_codec_languages(net->text) == NULL) return;
    for (int32_t i = 0; i < rows->n; i++) {
        if (rows->depth[i] > 0) continue;
        const int32_t own = r->opening[rows->slot[i]].first, first = own >= 0 ? own : usual;
        if (first >= 0) rill_answer_forced(ask, out, i, first);
    }
}

rill_status seq_score(void *self, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    seq_runner *r = self;
    const seq_model *m = r->model;
    const size_t n = (size_t)rows->n;
    rill_selection selection = rill_answer_selection(ask, out);
    int32_t *set;
    TRY(get_columns(r, 1, n, &set));
    if (selection.legal == NULL && m->shortlist == NULL) { /* lists have nothing else */
        for (size_t i = 0; i < n; i++) set[i] = 0;
        selection.legal = m->legal;
        selection.legal_words = ((size_t)m->net[0]->actions + 63) / 64;
        selection.legal_set = set;
    }
    const int32_t *const columns[] = {rows->node, rows->slot};
    r->asked[rows->group] = ask;
    r->answer[rows->group] = out;
    r->rows[rows->group] = *rows;
    TRY(run(r, m->programs.score,
            (rill_run_arguments){.n = rows->n, .columns = columns, .selection = &selection, .late = rows->group + 1}));
    hide_illegal(m, ask, out);
    force_first(r, rows, ask, out);
    return RILL_OK;
}

rill_status seq_collect(void *self, int32_t group)
{
    seq_runner *r = self;
    TRY(rill_stream_collect(r->stream, group));
    hide_illegal(r->model, r->asked[group], r->answer[group]);
    force_first(r, &r->rows[group], r->asked[group], r->answer[group]);
    return RILL_OK;
}
