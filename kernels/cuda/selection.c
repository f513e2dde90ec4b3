/* Choices: uploads requests, downloads top symbols and log-probabilities. Picks are actions whose log-probabilities are requested. The host
 * maps the actions to symbols. */
#include "executor.h"

#include <math.h>
#include <string.h>

/* --- memory sizes ------------------------------------------------------------------------------------------------- */

static int has_legal_sets(const rill_selection *s)
{
    return s != NULL && s->legal != NULL && s->legal_set != NULL;
}

static size_t legal_words(const cuda_run *r)
{
    const rill_selection *s = r->host_arguments->selection;
    int32_t sets = 0;
    if (!has_legal_sets(s)) return 0;
    for (size_t i = 0; i < r->host_run.n; i++)
        if (s->legal_set[i] >= sets) sets = s->legal_set[i] + 1;
    return (size_t)sets * s->legal_words;
}

size_t cuda_legal_bytes(const cuda_run *r)
{
    return cuda_array_bytes(r, cuda_round_up(r, legal_words(r)), sizeof(uint64_t));
}

static int is_tag(const dev_op *op)
{
    return op->kind == RILL_OP_BEST && op->as.best.tag_column != 0;
}

static size_t op_max_choices(const cuda_run *r, const dev_op *op)
{
    return is_tag(op) ? 1 : (size_t)r->host_arguments->selection->max_choices;
}

static size_t op_symbols(const cuda_run *r, const dev_op *op)
{
    const rill_vocab_subset subset = dev_op_subset(op);
    return subset != 0 ? r->host_run.max_subset[subset] : op->width;
}

size_t cuda_back_bytes(const cuda_run *r)
{
    size_t bytes = 0;
    for (size_t i = 0; i < r->graph->n_ops; i++) {
        const dev_op *op = &r->graph->op[i];
        if (op->kind == RILL_OP_ATTEND && op->as.attend.watched_heads && r->host_arguments->watched != NULL)
            bytes += cuda_array_bytes(r, r->host_run.block_rows * r->host_arguments->ld_watched, sizeof(float));
        if (!dev_makes_choices(op) || is_tag(op)) continue;
        const size_t rows = r->host_run.layout.max_rows[op->space],
                     picks = cuda_round_up(r, (size_t)r->host_arguments->selection->n_picks);
        bytes += 2 * cuda_array_bytes(r, rows * op_max_choices(r, op), 4) + cuda_array_bytes(r, rows, 4) +
                 cuda_array_bytes(r, picks, 4);
    }
    return bytes;
}

/* Bytes of the kernel's working memory, and of three result arrays before it, which operations that write tags to a column use. */
size_t cuda_choices_work_bytes(const cuda_run *r, const dev_op *op)
{
    const size_t rows = r->max_rows[op->space];
    return 3 * dev_lines(rows * sizeof(int32_t)) +
           gpu_best_work_bytes((int32_t)rows, (int32_t)op_symbols(r, op), (int32_t)op_max_choices(r, op));
}

/* --- copying requests to the GPU ---------------------------------------------------------------------------------- */

void cuda_make_legal(cuda_run *r)
{
    const size_t words = legal_words(r);
    if (!has_legal_sets(r->host_arguments->selection)) return;
    r->legal = cuda_alloc_down(r, cuda_round_up(r, words), sizeof *r->legal);
    if (words > 0) memcpy(r->legal, r->host_arguments->selection->legal, words * sizeof *r->legal);
}

/* The symbol of an action, or its position in the row's subset; -1: none. */
static int32_t action_symbol(const cuda_run *r, const dev_op *op, const int32_t *slot, size_t row, int32_t action)
{
    const rill_vocab_subset subset = dev_op_subset(op);
    if (subset == 0) {
        const int32_t v = action - dev_first_action(op);
        return v >= 0 && (size_t)v < op_symbols(r, op) ? v : -1;
    }
    const dev_slot_subset *l = dev_get_subset(r->session, (size_t)subset - 1, slot[row]);
    size_t low = 0, high = l->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (l->id[middle] < action)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->n && l->id[low] == action ? (int32_t)low : -1;
}

/* Make the picks in one pass: the operation's rows and the picks are both in the order of the host's rows. */
static void make_picks(cuda_run *r, const dev_op *op, cuda_selection *s)
{
    const rill_selection *selection = r->host_arguments->selection;
    const size_t n = (size_t)selection->n_picks, max_picks = cuda_round_up(r, n), rows = r->block.rows[op->space];
    if (n == 0) return;
    const rill_vocab_subset subset = dev_op_subset(op);
    const int32_t *slot = subset != 0 ? dev_index_entries(&r->block, op->slot) : NULL;
    s->pick_count = cuda_alloc_down(r, 1, sizeof *s->pick_count);
    s->pick_row = cuda_alloc_down(r, max_picks, sizeof *s->pick_row);
    s->pick_symbol = cuda_alloc_down(r, max_picks, sizeof *s->pick_symbol);
    s->pick_index = cuda_alloc_down(r, max_picks, sizeof *s->pick_index);
    s->pick_logp = cuda_alloc_back(r, max_picks, sizeof *s->pick_logp);
    for (size_t row = 0, i = 0; row < rows && i < n; row++) {
        const size_t host = dev_host_row(&r->block, op->space, row);
        while (i < n && (size_t)selection->pick_row[i] < host) i++;
        for (; i < n && (size_t)selection->pick_row[i] == host; i++, s->n_picks++) {
            s->pick_row[s->n_picks] = (int32_t)row;
            s->pick_symbol[s->n_picks] = action_symbol(r, op, slot, row, selection->pick_action[i]);
            s->pick_index[s->n_picks] = (int32_t)i;
        }
    }
    *s->pick_count = s->n_picks;
}

/* Find the column entry that receives each row's best symbol. */
static void make_tag_entries(cuda_run *r, const dev_op *op, cuda_selection *s)
{
    const rill_index_space column_space = r->graph->column[op->as.best.tag_column - 1].space;
    if (column_space == op->space) return;
    s->tag_entry = cuda_alloc_down(r, r->max_rows[op->space], sizeof *s->tag_entry);
    for (size_t row = 0; row < r->block.rows[op->space]; row++) {
        const size_t tag_row = dev_ancestor_row(&r->block, op->space, row, column_space);
        s->tag_entry[row] = (int32_t)dev_host_row(&r->block, column_space, tag_row);
    }
}

void cuda_make_selection(cuda_run *r, const dev_op *op, cuda_selection *s)
{
    const size_t rows = r->block.rows[op->space];
    if (is_tag(op)) {
        make_tag_entries(r, op, s);
        return;
    }
    const rill_selection *selection = r->host_arguments->selection;
    if (r->legal != NULL) {
        s->set = cuda_alloc_down(r, r->max_rows[op->space], sizeof *s->set);
        for (size_t row = 0; row < rows; row++)
            s->set[row] = selection->legal_set[dev_host_row(&r->block, op->space, row)];
    }
    const size_t max_rows = r->max_rows[op->space];
    s->count = cuda_alloc_back(r, max_rows, sizeof *s->count);
    s->action = cuda_alloc_back(r, max_rows * (size_t)selection->max_choices, sizeof *s->action);
    s->logp = cuda_alloc_back(r, max_rows * (size_t)selection->max_choices, sizeof *s->logp);
    make_picks(r, op, s);
}

/* --- enqueuing the kernels ---------------------------------------------------------------------------------------- */

/* Write each row's best symbol to the operation's tag_column: directly if the rows are the column's, else by a scatter. */
static void enqueue_tag(cuda_run *r, const dev_op *op, const cuda_selection *s, gpu_best *best)
{
    int32_t *column = cuda_device_ptr(r, r->column[op->as.best.tag_column - 1]);
    const size_t rows = dev_lines(r->max_rows[op->space] * sizeof(int32_t));
    best->count = (int32_t *)(void *)r->choices;
    best->action = (int32_t *)(void *)(r->choices + rows);
    best->tag = s->tag_entry != NULL ? (int32_t *)(void *)(r->choices + 2 * rows) : column;
    best->work = r->choices + 3 * rows;
    best->max_choices = 1;
    gpu_run_best(r->cu_stream, best);
    if (s->tag_entry == NULL) return;
    const gpu_operand tags = {.data = (float *)(void *)best->tag, .ld = 1},
                      entries = {.data = (float *)(void *)column, .ld = 1, .index = cuda_device_ptr(r, s->tag_entry)};
    const gpu_row_call put = {.rows = best->rows, .width = 1, .x = {[COPY_x] = tags, [COPY_out] = entries}};
    gpu_run_copy(r->cu_stream, &put);
}

static void enqueue_choices(cuda_run *r, const cuda_selection *s, gpu_best *best)
{
    const rill_selection *selection = r->host_arguments->selection;
    if (selection->max_choices == 0 && selection->n_picks == 0) return;
    best->legal = cuda_device_ptr(r, r->legal);
    best->legal_words = (int32_t)selection->legal_words;
    best->set = cuda_device_ptr(r, s->set);
    best->max_choices = selection->max_choices;
    best->count = cuda_device_ptr(r, s->count);
    best->action = cuda_device_ptr(r, s->action);
    best->logp = cuda_device_ptr(r, s->logp);
    best->work = r->choices;
    gpu_run_best(r->cu_stream, best);
    if (selection->n_picks == 0) return;
    const gpu_picks picks = {.picks = {.count = cuda_device_ptr(r, s->pick_count),
                                       .max = (int32_t)cuda_round_up(r, (size_t)selection->n_picks)},
                             .row = cuda_device_ptr(r, s->pick_row),
                             .symbol = cuda_device_ptr(r, s->pick_symbol),
                             .best = best,
                             .logp = cuda_device_ptr(r, s->pick_logp)};
    gpu_run_picks(r->cu_stream, &picks);
}

void cuda_enqueue_best(cuda_run *r, const dev_op *op, const cuda_selection *s)
{
    const rill_best_choices *o = &op->as.best;
    gpu_best best = {.rows = cuda_rows(r, op->space),
                     .symbols = (int32_t)op_symbols(r, op),
                     .normalise = o->tag_column == 0 && !o->raw,
                     .logits = cuda_operand(r, &op->view[BEST_logits]),
                     .bias = cuda_constant(
                         r, o->vocab_subset != 0 ? r->host_run.network->subset[o->vocab_subset - 1].bias : o->bias),
                     .add = cuda_operand(r, &op->view[BEST_add]),
                     .subsets = cuda_get_subsets(r, o->vocab_subset),
                     .first_action = o->first_action,
                     .log_norm = (float *)(void *)r->log_norm};
    if (o->vocab_subset != 0) best.slot = cuda_index(r, op->slot);
    if (o->tag_column != 0)
        enqueue_tag(r, op, s, &best);
    else
        enqueue_choices(r, s, &best);
}

void cuda_enqueue_mix(cuda_run *r, const dev_op *op, const cuda_selection *s)
{
    const rill_mix *o = &op->as.mix;
    const rill_vocab_subset subset = o->vocab_subset[0];
    if (r->host_arguments->selection->max_choices == 0 && r->host_arguments->selection->n_picks == 0) return;
    gpu_mix mix = {.rows = cuda_rows(r, op->space),
                   .models = o->models,
                   .symbols = (int32_t)op_symbols(r, op),
                   .subsets = cuda_get_subsets(r, subset),
                   .slot = subset != 0 ? cuda_index(r, op->slot) : NULL};
    for (int32_t e = 0; e < o->models; e++) {
        mix.logits[e] = cuda_operand(r, &op->view[e]);
        mix.bias[e] = cuda_constant(r, subset != 0 ? r->host_run.network->subset[o->vocab_subset[e] - 1].bias
                                                   : o->bias[e]);
    }
    mix.x = mix.logits[0];
    /* the mixture's log_norm is stored after that of the choices */
    mix.log_norm = (float *)(void *)r->log_norm + mix.rows.max;
    gpu_run_mix(r->cu_stream, &mix);
    gpu_best best = {.rows = mix.rows,
                     .symbols = mix.symbols,
                     .logits = mix.x,
                     .subsets = mix.subsets,
                     .slot = mix.slot,
                     .log_norm = (float *)(void *)r->log_norm};
    enqueue_choices(r, s, &best);
}

/* --- delivering the results --------------------------------------------------------------------------------------- */

static void deliver_choices(const cuda_run *r, const dev_op *op, const cuda_selection *s)
{
    const rill_selection *to = r->host_arguments->selection;
    const size_t n_choices = (size_t)to->max_choices;
    for (size_t row = 0; row < r->block.rows[op->space] && n_choices > 0; row++) {
        const size_t host = dev_host_row(&r->block, op->space, row), n = (size_t)s->count[row];
        to->count[host] = s->count[row];
        memcpy(to->action + host * (size_t)to->stride, s->action + row * n_choices, n * sizeof *to->action);
        memcpy(to->logp + host * (size_t)to->stride, s->logp + row * n_choices, n * sizeof *to->logp);
    }
    for (int32_t i = 0; i < s->n_picks; i++) to->pick_logp[s->pick_index[i]] = s->pick_logp[i];
}

static void deliver_watched(const cuda_run *r, const cuda_kv *memory)
{
    const size_t ld = r->host_arguments->ld_watched;
    for (size_t row = 0; row < r->host_run.n && r->watched != NULL; row++)
        memcpy(r->host_arguments->watched + row * ld, r->watched + row * ld,
               (size_t)memory->length[row] * sizeof(float));
}

void cuda_deliver_results(cuda_run *r)
{
    const dev_graph *p = r->graph;
    for (size_t i = 0; i < p->n_columns; i++) {
        if (p->column[i].n_writes == 0) continue;
        const rill_index_space space = p->column[i].space;
        const size_t n = space == RILL_ROWS ? r->host_run.n : r->block.rows[space];
        if (n > 0) memcpy((int32_t *)(uintptr_t)r->host_arguments->columns[i], r->column[i], n * sizeof(int32_t));
    }
    if (p->has_selection && r->host_arguments->selection->max_choices == 0)
        memset(r->host_arguments->selection->count, 0, r->host_run.n * sizeof *r->host_arguments->selection->count);
    for (size_t i = 0; i < p->n_ops; i++) {
        const dev_op *op = &p->op[i];
        if (op->kind == RILL_OP_ATTEND && op->as.attend.watched_heads) deliver_watched(r, &r->kv[r->kv_index[i]]);
        if (dev_makes_choices(op) && !is_tag(op)) deliver_choices(r, op, &r->selection[i]);
    }
}
