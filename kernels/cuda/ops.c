/* Operations, put into the queue: arguments of kernels with operands where they lie on the device.
 *
 * Divisions: operands · products · attention · rows · all of them. */
#include "executor.h"

#include <math.h>

/* --- operands ----------------------------------------------------------------------------------------------------- */

gpu_rows cuda_rows(const cuda_run *r, rill_space space)
{
    return (gpu_rows){.count = cuda_twin(r, r->counts + space), .most = (int32_t)r->most[space]};
}

const int32_t *cuda_index(cuda_run *r, int32_t index)
{
    if (index == DEV_NO_INDEX) return NULL;
    cuda_queue_index(r, index);
    return r->index[index];
}

const float *cuda_constant(const cuda_run *r, rill_constant constant)
{
    return constant != 0 ? r->weights->constant[constant - 1] : NULL;
}

gpu_operand cuda_operand(cuda_run *r, const dev_operand *o)
{
    gpu_operand rows = {.at = NULL};
    if (o->base == DEV_NOTHING) return rows;
    rows.index = cuda_index(r, o->index);
    if (o->base == DEV_VALUE) {
        const int32_t buffer = r->program->value[o->of].buffer;
        rows.at = (float *)(void *)r->value[buffer];
        rows.ld = (int32_t)r->inner.layout.value_ld[buffer];
    } else if (o->base == DEV_TABLE) {
        rows.at = r->stream->table[o->of].rows;
        rows.ld = (int32_t)r->inner.plan->table[o->of].ld;
    } else {
        rows.at = (float *)(uintptr_t)r->weights->constant[o->of];
        rows.ld = (int32_t)r->inner.plan->constant[o->of].width;
    }
    if (rows.at != NULL) rows.at += o->first; /* a table without rows is one whose rows are not there */
    return rows;
}

gpu_lists cuda_lists_of(const cuda_run *r, rill_list list)
{
    if (list == 0) return (gpu_lists){.ids = NULL};
    const size_t at = (size_t)list - 1;
    /* Lists without symbols have no memory, but lists they are. */
    const char *ids = r->own->list[at].ids.at;
    return (gpu_lists){.ids = ids != NULL ? (const int32_t *)(const void *)ids : cuda_twin(r, r->list_first[at]),
                       .first = cuda_twin(r, r->list_first[at]),
                       .length = cuda_twin(r, r->list_length[at])};
}

static gpu_activation activation_of(rill_activation activation)
{
    static const gpu_activation activations[] = {
        [RILL_LINEAR] = GPU_LINEAR,       [RILL_TANH] = GPU_TANH,
        [RILL_RELU] = GPU_RELU,           [RILL_SWISH] = GPU_SWISH,
        [RILL_GELU] = GPU_GELU,           [RILL_SIGMOID] = GPU_SIGMOID,
        [RILL_GELU_TANH] = GPU_GELU_TANH, [RILL_GELU_SIGMOID] = GPU_GELU_SIGMOID};
    return activations[activation];
}

/* --- products ----------------------------------------------------------------------------------------------------- */

/* Where an output goes in the products' type. In fp32 it goes nowhere if nothing reads it so. */
static gpu_panel panel_of(const cuda_run *r, const dev_op *op, const dev_operand *o, gpu_operand *out)
{
    const cuda_fused *fused = cuda_fused_of(r, op);
    if (fused->rounds == GPU_F32) return (gpu_panel){.at = NULL};
    if (fused->dropped) out->at = NULL;
    const dev_value *value = &r->program->value[o->of];
    return (gpu_panel){.at = r->rounded[value->buffer], .ld = (int32_t)dev_padded(value->width), .type = fused->rounds};
}

/* Rows that are aligned are multiplied where they are; others are brought together, as the weights' type. */
void cuda_queue_product(cuda_run *r, gpu_product product, gpu_rows rows, gpu_operand x, gpu_operand x2, int32_t width2)
{
    const gpu_matrix *m = product.matrix;
    product.rows = rows.most;
    product.a = x.at;
    product.lda = x.ld;
    if (m->type != GPU_F32 || x.index != NULL || x2.at != NULL || (uintptr_t)x.at % 16 != 0) {
        const gpu_panel panel = {.at = r->panel, .ld = (int32_t)dev_padded((size_t)m->k), .type = m->type};
        const gpu_gather gather = {
            .rows = rows, .width = m->k - width2, .width2 = width2, .x = x, .x2 = x2, .panel = panel};
        gpu_run_gather(r->queue, &gather);
        product.a = panel.at;
        product.lda = panel.ld;
    }
    gpu_run_product(r->queue, &product);
}

static void list_product(cuda_run *r, const dev_op *op)
{
    const rill_product *o = &op->as.product;
    const dev_list *list = &r->inner.plan->list[o->list - 1];
    const gpu_list_product args = {.rows = cuda_rows(r, op->space),
                                   .width = (int32_t)r->inner.plan->constant[list->rows - 1].width,
                                   .longest = (int32_t)r->list_longest[o->list - 1],
                                   .lists = cuda_lists_of(r, o->list),
                                   .slot = cuda_index(r, op->slot),
                                   .w = cuda_constant(r, list->rows),
                                   .type = cuda_type_of(list->type),
                                   .a = cuda_operand(r, &op->view[DEV_A]),
                                   .out = cuda_operand(r, &op->view[DEV_OUT]),
                                   .activation = activation_of(o->activation)};
    if (args.longest > 0) gpu_run_list_product(r->queue, &args);
}

/* The rows are those that the operation before has written in the matrix' type, or are brought into it. */
static void multiply(cuda_run *r, const dev_op *op, gpu_product product, gpu_rows rows)
{
    const dev_operand *a = &op->view[DEV_A];
    if (!cuda_fused_of(r, op)->read_rounded) {
        cuda_queue_product(r, product, rows, cuda_operand(r, a), cuda_operand(r, &op->view[DEV_A2]),
                           (int32_t)op->as.product.k2);
        return;
    }
    product.rows = rows.most;
    product.a = r->rounded[r->program->value[a->of].buffer];
    product.lda = (int32_t)dev_padded((size_t)product.matrix->k);
    gpu_run_product(r->queue, &product);
}

/* The sums of the next product lie beside those of this one, before or behind them. */
static void finish_both(cuda_run *r, const dev_op *op, gpu_finish *f)
{
    const dev_op *next = op + 1;
    f->width2 = r->weights->matrix[next->as.product.matrix - 1].n;
    f->bias2 = cuda_constant(r, next->as.product.bias);
    f->out2 = cuda_operand(r, &next->view[DEV_OUT]);
    if (cuda_fused_of(r, op)->with_next > 0) return;
    const gpu_finish turned = *f;
    f->width = turned.width2;
    f->bias = turned.bias2;
    f->out = turned.out2;
    f->width2 = turned.width;
    f->bias2 = turned.bias;
    f->out2 = turned.out;
}

static void product(cuda_run *r, const dev_op *op)
{
    const rill_product *o = &op->as.product;
    const cuda_fused *fused = cuda_fused_of(r, op);
    if (o->list != 0) {
        list_product(r, op);
        return;
    }
    if (fused->done_before) return;
    const gpu_rows rows = cuda_rows(r, op->space);
    const gpu_operand add = cuda_operand(r, &op->view[DEV_ADD]), out = cuda_operand(r, &op->view[DEV_OUT]);
    const gpu_operand sums = {.at = (float *)(void *)r->sums, .ld = (int32_t)dev_padded((size_t)fused->matrix.n)};
    if (fused->whole) {
        const gpu_product whole = {
            .matrix = &fused->matrix, .add = add.at, .ld_add = add.ld, .c = out.at, .ldc = out.ld};
        multiply(r, op, whole, rows);
        return;
    }
    multiply(r, op, (gpu_product){.matrix = &fused->matrix, .c = sums.at, .ldc = sums.ld}, rows);
    gpu_finish finish = {.rows = rows,
                         .width = r->weights->matrix[o->matrix - 1].n,
                         .sums = sums,
                         .bias = cuda_constant(r, o->bias),
                         .add = add,
                         .out = out,
                         .activation = activation_of(o->activation)};
    finish.panel = panel_of(r, op, &op->view[DEV_OUT], &finish.out);
    if (fused->with_next != 0) finish_both(r, op, &finish);
    gpu_run_finish(r->queue, &finish);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

static void walk_paths(cuda_run *r, const dev_op *op)
{
    const dev_path *path = &r->program->path[op->path];
    const int32_t *first = (const int32_t *)(const void *)(r->frame->pinned + r->inner.layout.path_at[op->path]);
    const gpu_path args = {.rows = cuda_rows(r, RILL_ROWS),
                           .node = cuda_index(r, path->node),
                           .parent = cuda_index(r, path->parent),
                           .above = r->stream->above,
                           .first = cuda_twin(r, first),
                           .length = cuda_twin(r, first + r->inner.block_rows),
                           .entry = r->path_entry[op->path]};
    gpu_run_path(r->queue, &args);
}

static void attend(cuda_run *r, const dev_op *op, size_t number)
{
    const rill_attend *o = &op->as.attend;
    const cuda_memory *memory = &r->memory[r->memory_of[number]];
    gpu_attend args = {.rows = cuda_rows(r, op->space),
                       .heads = (int32_t)o->heads,
                       .width = (int32_t)o->width,
                       .value_width = (int32_t)o->value_width,
                       .scale = o->scale,
                       .additive = cuda_constant(r, o->additive),
                       .relative = cuda_constant(r, o->relative),
                       .reach = (int32_t)dev_reach(r->inner.plan, o),
                       .place = cuda_index(r, op->place),
                       .query = cuda_operand(r, &op->view[DEV_QUERY]),
                       .keys = cuda_operand(r, &op->view[DEV_KEYS]),
                       .values = cuda_operand(r, &op->view[DEV_VALUES]),
                       .first = cuda_twin(r, memory->first),
                       .length = cuda_twin(r, memory->length),
                       .entry = op->path >= 0 ? r->path_entry[op->path] : NULL,
                       .out = cuda_operand(r, &op->view[DEV_OUT]),
                       .part = (float *)(void *)r->part,
                       .longest = (int32_t)memory->longest};
    args.panel = panel_of(r, op, &op->view[DEV_OUT], &args.out);
    if (o->watch && r->asked->watched != NULL) {
        args.watched = cuda_twin(r, r->watched);
        args.ld_watched = (int32_t)r->asked->ld_watched;
        args.watched_heads = (int32_t)o->watch;
    }
    gpu_run_attend(r->queue, &args);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static void lstm(cuda_run *r, const dev_op *op)
{
    const gpu_lstm args = {.rows = cuda_rows(r, op->space),
                           .hidden = (int32_t)op->as.lstm.hidden,
                           .gates = cuda_operand(r, &op->view[DEV_GATES]),
                           .c = cuda_operand(r, &op->view[DEV_C]),
                           .c_out = cuda_operand(r, &op->view[DEV_C_OUT]),
                           .h_out = cuda_operand(r, &op->view[DEV_H_OUT])};
    gpu_run_lstm(r->queue, &args);
}

static void gru(cuda_run *r, const dev_op *op)
{
    const gpu_gru args = {.rows = cuda_rows(r, op->space),
                          .hidden = (int32_t)op->as.gru.hidden,
                          .input = cuda_operand(r, &op->view[DEV_GATES]),
                          .gates = cuda_operand(r, &op->view[DEV_HIDDEN]),
                          .h = cuda_operand(r, &op->view[DEV_H]),
                          .h_out = cuda_operand(r, &op->view[DEV_H_OUT])};
    gpu_run_gru(r->queue, &args);
}

static void normalise(cuda_run *r, const dev_op *op)
{
    const rill_normalise *o = &op->as.normalise;
    gpu_normalise args = {.rows = cuda_rows(r, op->space),
                          .width = (int32_t)o->width,
                          .x = cuda_operand(r, &op->view[DEV_X]),
                          .residual = cuda_operand(r, &op->view[DEV_RESIDUAL]),
                          .y = cuda_operand(r, &op->view[DEV_OUT]),
                          .gain = cuda_constant(r, o->gain),
                          .bias = cuda_constant(r, o->bias),
                          .eps = o->eps,
                          .rms = o->rms};
    args.panel = panel_of(r, op, &op->view[DEV_OUT], &args.y);
    gpu_run_normalise(r->queue, &args);
}

static void activate(cuda_run *r, const dev_op *op)
{
    gpu_activate args = {.rows = cuda_rows(r, op->space),
                         .width = (int32_t)op->as.activate.width,
                         .x = cuda_operand(r, &op->view[DEV_X]),
                         .gate = cuda_operand(r, &op->view[DEV_GATE]),
                         .y = cuda_operand(r, &op->view[DEV_OUT]),
                         .activation = activation_of(op->as.activate.activation)};
    args.panel = panel_of(r, op, &op->view[DEV_OUT], &args.y);
    gpu_run_activate(r->queue, &args);
}

static void embed(cuda_run *r, const dev_op *op)
{
    const rill_embedding *o = &op->as.embed;
    gpu_embed args = {.rows = cuda_rows(r, op->space),
                      .width = (int32_t)o->width,
                      .x = cuda_operand(r, &op->view[DEV_X]),
                      .position = cuda_operand(r, &op->view[DEV_POSITION]),
                      .out = cuda_operand(r, &op->view[DEV_OUT]),
                      .scale = o->scale};
    if (o->matrix != 0) {
        const gpu_matrix *m = &r->weights->matrix[o->matrix - 1];
        args.x = (gpu_operand){.at = (float *)(uintptr_t)m->w, .ld = m->k, .index = cuda_index(r, op->slot)};
    }
    args.panel = panel_of(r, op, &op->view[DEV_OUT], &args.out);
    gpu_run_embed(r->queue, &args);
}

static void sum(cuda_run *r, const dev_op *op)
{
    const rill_sum *o = &op->as.sum;
    gpu_sum args = {.rows = cuda_rows(r, op->space),
                    .width = (int32_t)o->width,
                    .terms = o->terms,
                    .out = cuda_operand(r, &op->view[DEV_SUM_OUT]),
                    .least = o->activation == RILL_RELU ? 0.0f : -INFINITY};
    for (int32_t i = 0; i < o->terms; i++) args.term[i] = cuda_operand(r, &op->view[i]);
    args.panel = panel_of(r, op, &op->view[DEV_SUM_OUT], &args.out);
    gpu_run_sum(r->queue, &args);
}

static void copy(cuda_run *r, const dev_op *op)
{
    const gpu_copy args = {.rows = cuda_rows(r, op->space),
                           .width = (int32_t)op->as.copy.width,
                           .x = cuda_operand(r, &op->view[DEV_X]),
                           .out = cuda_operand(r, &op->view[DEV_OUT])};
    gpu_run_copy(r->queue, &args);
}

static void mask(cuda_run *r, const dev_op *op)
{
    const gpu_mask args = {.rows = cuda_rows(r, op->space),
                           .width = (int32_t)op->as.mask.width,
                           .lists = cuda_lists_of(r, op->as.mask.list),
                           .slot = cuda_index(r, op->slot),
                           .x = cuda_operand(r, &op->view[DEV_X])};
    if (r->list_longest[op->as.mask.list - 1] > 0) gpu_run_mask(r->queue, &args);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

void cuda_queue_op(cuda_run *r, const dev_op *op, size_t number)
{
    static void (*const queue[DEV_OP_KINDS])(cuda_run *, const dev_op *) = {
        [DEV_PRODUCT] = product,   [DEV_LSTM] = lstm,       [DEV_GRU] = gru, [DEV_NORMALISE] = normalise,
        [DEV_ACTIVATE] = activate, [DEV_EMBED] = embed,     [DEV_SUM] = sum, [DEV_COPY] = copy,
        [DEV_MASK] = mask,         [DEV_PATH] = walk_paths,
    };
    switch (op->kind) {
    case DEV_SCAN: cuda_queue_scan(r, op, &r->scan[number]); break;
    case DEV_ATTEND: attend(r, op, number); break;
    case DEV_BEST: cuda_queue_best(r, op, &r->selection[number]); break;
    case DEV_MIX: cuda_queue_mix(r, op, &r->selection[number]); break;
    default: queue[op->kind](r, op); break;
    }
}
