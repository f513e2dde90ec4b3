/* Choices: what is asked goes down, best symbols and log-probabilities come back.
 *
 * Legal sets stay by action, as the host has them; picks are looked up here, since the host knows the lists.
 * Divisions: how much · what is asked · in the queue · what comes back. */
#include "executor.h"

#include <math.h>
#include <string.h>

/* --- how much ----------------------------------------------------------------------------------------------------- */

static int has_sets(const rill_selection *s)
{
    return s != NULL && s->legal != NULL && s->legal_set != NULL;
}

static size_t legal_words(const cuda_run *r)
{
    const rill_selection *s = r->asked->selection;
    int32_t sets = 0;
    if (!has_sets(s)) return 0;
    for (size_t i = 0; i < r->inner.n; i++)
        if (s->legal_set[i] >= sets) sets = s->legal_set[i] + 1;
    return (size_t)sets * s->legal_words;
}

size_t cuda_legal_bytes(const cuda_run *r)
{
    return dev_lines(cuda_round(r, legal_words(r)) * sizeof(uint64_t));
}

static int is_tag(const dev_op *op)
{
    return op->kind == DEV_BEST && op->as.best.tag != 0;
}

static size_t asked_most(const cuda_run *r, const dev_op *op)
{
    return is_tag(op) ? 1 : (size_t)r->asked->selection->most;
}

static size_t symbols_of(const cuda_run *r, const dev_op *op)
{
    const rill_list list = op->kind == DEV_BEST ? op->as.best.list : op->as.mix.list[0];
    if (list != 0) return r->list_longest[list - 1];
    return op->kind == DEV_BEST ? op->as.best.symbols : op->as.mix.symbols;
}

size_t cuda_answer_bytes(const cuda_run *r)
{
    size_t bytes = 0;
    for (size_t i = 0; i < r->program->ops; i++) {
        const dev_op *op = &r->program->op[i];
        if (op->kind == DEV_ATTEND && op->as.attend.watch && r->asked->watched != NULL)
            bytes += dev_lines(r->inner.block_rows * r->asked->ld_watched * sizeof(float));
        if ((op->kind != DEV_BEST && op->kind != DEV_MIX) || is_tag(op)) continue;
        const size_t rows = r->inner.layout.rows[op->space],
                     picks = cuda_round(r, (size_t)r->asked->selection->n_picks);
        bytes += 2 * dev_lines(rows * asked_most(r, op) * 4) + dev_lines(rows * 4) + dev_lines(picks * 4);
    }
    return bytes;
}

/* A tag's answers stay on the device: they lie in front of the kernel's own work. */
size_t cuda_choices_work(const cuda_run *r, const dev_op *op)
{
    const size_t rows = r->most[op->space];
    return 3 * dev_lines(rows * sizeof(int32_t)) +
           gpu_best_work((int32_t)rows, (int32_t)symbols_of(r, op), (int32_t)asked_most(r, op));
}

/* --- what is asked ------------------------------------------------------------------------------------------------ */

void cuda_make_legal(cuda_run *r)
{
    const size_t words = legal_words(r);
    if (!has_sets(r->asked->selection)) return;
    r->legal = cuda_take(r, cuda_round(r, words), sizeof *r->legal);
    if (words > 0) memcpy(r->legal, r->asked->selection->legal, words * sizeof *r->legal);
}

/* The symbol, or the place in the row's list, of an action; -1: none. */
static int32_t symbol_of(const cuda_run *r, const dev_op *op, const int32_t *slot, size_t row, int32_t action)
{
    const rill_list list = op->kind == DEV_BEST ? op->as.best.list : op->as.mix.list[0];
    if (list == 0) {
        const int32_t v = action - (op->kind == DEV_BEST ? op->as.best.first_action : 0);
        return v >= 0 && (size_t)v < symbols_of(r, op) ? v : -1;
    }
    const dev_slot_list *l = &r->stream->list[list - 1].slot[slot[row]];
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

/* Rows of an operation and the host's picks are both in the order of the host's rows. */
static void make_picks(cuda_run *r, const dev_op *op, cuda_selection *s)
{
    const rill_selection *asked = r->asked->selection;
    const size_t n = (size_t)asked->n_picks, most = cuda_round(r, n), rows = r->block.rows[op->space];
    if (n == 0) return;
    const rill_list list = op->kind == DEV_BEST ? op->as.best.list : op->as.mix.list[0];
    const int32_t *slot = list != 0 ? dev_index_at(&r->block, op->slot) : NULL;
    s->pick_count = cuda_take(r, 1, sizeof *s->pick_count);
    s->pick_row = cuda_take(r, most, sizeof *s->pick_row);
    s->pick_symbol = cuda_take(r, most, sizeof *s->pick_symbol);
    s->pick_number = cuda_take(r, most, sizeof *s->pick_number);
    s->pick_logp = cuda_take_back(r, most, sizeof *s->pick_logp);
    for (size_t row = 0, i = 0; row < rows && i < n; row++) {
        const size_t host = dev_host_row(&r->block, op->space, row);
        while (i < n && (size_t)asked->pick_row[i] < host) i++;
        for (; i < n && (size_t)asked->pick_row[i] == host; i++, s->picks++) {
            s->pick_row[s->picks] = (int32_t)row;
            s->pick_symbol[s->picks] = symbol_of(r, op, slot, row, asked->pick_action[i]);
            s->pick_number[s->picks] = (int32_t)i;
        }
    }
    *s->pick_count = s->picks;
}

/* Where a row's tag goes. */
static void make_entries(cuda_run *r, const dev_op *op, cuda_selection *s)
{
    const rill_space given = r->program->column[op->as.best.tag - 1].space;
    if (given == op->space) return;
    s->entry = cuda_take(r, r->most[op->space], sizeof *s->entry);
    for (size_t row = 0; row < r->block.rows[op->space]; row++) {
        size_t at = row;
        for (rill_space space = op->space; space != given; space = dev_space_at(r->program, space)->of)
            at = (size_t)r->block.up[space][at];
        s->entry[row] = (int32_t)dev_host_row(&r->block, given, at);
    }
}

void cuda_make_selection(cuda_run *r, const dev_op *op, cuda_selection *s)
{
    const size_t rows = r->block.rows[op->space];
    if (is_tag(op)) {
        make_entries(r, op, s);
        return;
    }
    const rill_selection *asked = r->asked->selection;
    if (r->legal != NULL) {
        s->set = cuda_take(r, r->most[op->space], sizeof *s->set);
        for (size_t row = 0; row < rows; row++) s->set[row] = asked->legal_set[dev_host_row(&r->block, op->space, row)];
    }
    const size_t most = r->most[op->space];
    s->count = cuda_take_back(r, most, sizeof *s->count);
    s->action = cuda_take_back(r, most * (size_t)asked->most, sizeof *s->action);
    s->logp = cuda_take_back(r, most * (size_t)asked->most, sizeof *s->logp);
    make_picks(r, op, s);
}

/* --- in the queue ------------------------------------------------------------------------------------------------- */

/* Tags go to their column; where the operation's rows are not the column's, one by one. */
static void queue_tag(cuda_run *r, const dev_op *op, const cuda_selection *s, gpu_best *best)
{
    int32_t *column = cuda_twin(r, r->column[op->as.best.tag - 1]);
    const size_t rows = dev_lines(r->most[op->space] * sizeof(int32_t));
    best->count = (int32_t *)(void *)r->choices;
    best->action = (int32_t *)(void *)(r->choices + rows);
    best->tag = s->entry != NULL ? (int32_t *)(void *)(r->choices + 2 * rows) : column;
    best->work = r->choices + 3 * rows;
    best->most = 1;
    gpu_run_best(r->queue, best);
    if (s->entry == NULL) return;
    const gpu_copy put = {.rows = best->rows,
                          .width = 1,
                          .x = {.at = (float *)(void *)best->tag, .ld = 1},
                          .out = {.at = (float *)(void *)column, .ld = 1, .index = cuda_twin(r, s->entry)}};
    gpu_run_copy(r->queue, &put);
}

static void queue_choices(cuda_run *r, const cuda_selection *s, gpu_best *best)
{
    const rill_selection *asked = r->asked->selection;
    if (asked->most == 0 && asked->n_picks == 0) return;
    best->legal = cuda_twin(r, r->legal);
    best->legal_words = (int32_t)asked->legal_words;
    best->set = cuda_twin(r, s->set);
    best->most = asked->most;
    best->count = cuda_twin(r, s->count);
    best->action = cuda_twin(r, s->action);
    best->logp = cuda_twin(r, s->logp);
    best->work = r->choices;
    gpu_run_best(r->queue, best);
    if (asked->n_picks == 0) return;
    const gpu_picks picks = {
        .picks = {.count = cuda_twin(r, s->pick_count), .most = (int32_t)cuda_round(r, (size_t)asked->n_picks)},
        .row = cuda_twin(r, s->pick_row),
        .symbol = cuda_twin(r, s->pick_symbol),
        .best = best,
        .logp = cuda_twin(r, s->pick_logp)};
    gpu_run_picks(r->queue, &picks);
}

void cuda_queue_best(cuda_run *r, const dev_op *op, const cuda_selection *s)
{
    const rill_best_choices *o = &op->as.best;
    gpu_best best = {.rows = cuda_rows(r, op->space),
                     .symbols = (int32_t)symbols_of(r, op),
                     .normalise = o->tag == 0 && !o->raw,
                     .logits = cuda_operand(r, &op->view[DEV_LOGITS]),
                     .bias = cuda_constant(r, o->list != 0 ? r->inner.plan->list[o->list - 1].bias : o->bias),
                     .add = cuda_operand(r, &op->view[DEV_ADD]),
                     .lists = cuda_lists_of(r, o->list),
                     .first_action = o->first_action,
                     .log_norm = (float *)(void *)r->log_norm};
    if (o->list != 0) best.slot = cuda_index(r, op->slot);
    if (o->tag != 0)
        queue_tag(r, op, s, &best);
    else
        queue_choices(r, s, &best);
}

void cuda_queue_mix(cuda_run *r, const dev_op *op, const cuda_selection *s)
{
    const rill_mix *o = &op->as.mix;
    const rill_list list = o->list[0];
    if (r->asked->selection->most == 0 && r->asked->selection->n_picks == 0) return;
    gpu_mix mix = {.rows = cuda_rows(r, op->space),
                   .models = o->models,
                   .symbols = (int32_t)symbols_of(r, op),
                   .lists = cuda_lists_of(r, list),
                   .slot = list != 0 ? cuda_index(r, op->slot) : NULL};
    for (int32_t e = 0; e < o->models; e++) {
        mix.logits[e] = cuda_operand(r, &op->view[e]);
        mix.bias[e] = cuda_constant(r, list != 0 ? r->inner.plan->list[o->list[e] - 1].bias : o->bias[e]);
    }
    mix.x = mix.logits[0];
    mix.log_norm = (float *)(void *)r->log_norm + mix.rows.most; /* behind that of the choices */
    gpu_run_mix(r->queue, &mix);
    gpu_best best = {.rows = mix.rows,
                     .symbols = mix.symbols,
                     .logits = mix.x,
                     .lists = mix.lists,
                     .slot = mix.slot,
                     .log_norm = (float *)(void *)r->log_norm};
    queue_choices(r, s, &best);
}

/* --- what comes back ---------------------------------------------------------------------------------------------- */

static void deliver_choices(const cuda_run *r, const dev_op *op, const cuda_selection *s)
{
    const rill_selection *to = r->asked->selection;
    const size_t most = (size_t)to->most;
    for (size_t row = 0; row < r->block.rows[op->space] && most > 0; row++) {
        const size_t host = dev_host_row(&r->block, op->space, row), n = (size_t)s->count[row];
        to->count[host] = s->count[row];
        memcpy(to->action + host * (size_t)to->stride, s->action + row * most, n * sizeof *to->action);
        memcpy(to->logp + host * (size_t)to->stride, s->logp + row * most, n * sizeof *to->logp);
    }
    for (int32_t i = 0; i < s->picks; i++) to->pick_logp[s->pick_number[i]] = s->pick_logp[i];
}

static void deliver_watched(const cuda_run *r, const cuda_memory *memory)
{
    const size_t ld = r->asked->ld_watched;
    for (size_t row = 0; row < r->inner.n && r->watched != NULL; row++)
        memcpy(r->asked->watched + row * ld, r->watched + row * ld, (size_t)memory->length[row] * sizeof(float));
}

void cuda_deliver(cuda_run *r)
{
    const dev_program *p = r->program;
    for (size_t i = 0; i < p->columns; i++) {
        if (p->column[i].written == 0) continue;
        const rill_space space = p->column[i].space;
        const size_t n = space == RILL_ROWS ? r->inner.n : r->block.rows[space];
        if (n > 0) memcpy((int32_t *)(uintptr_t)r->asked->columns[i], r->column[i], n * sizeof(int32_t));
    }
    if (p->selects && r->asked->selection->most == 0)
        memset(r->asked->selection->count, 0, r->inner.n * sizeof *r->asked->selection->count);
    for (size_t i = 0; i < p->ops; i++) {
        const dev_op *op = &p->op[i];
        if (op->kind == DEV_ATTEND && op->as.attend.watch) deliver_watched(r, &r->memory[r->memory_of[i]]);
        if ((op->kind == DEV_BEST || op->kind == DEV_MIX) && !is_tag(op)) deliver_choices(r, op, &r->selection[i]);
    }
}
