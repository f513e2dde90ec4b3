/* Enqueues operations: makes the arguments of their kernels, with the device addresses of the operands. */
#include "executor.h"

#include <string.h>

/* --- operands ----------------------------------------------------------------------------------------------------- */

gpu_rows cuda_rows(const cuda_run *r, rill_index_space space)
{
    return (gpu_rows){.count = cuda_device_ptr(r, r->space_rows + space), .max = (int32_t)r->max_rows[space]};
}

const int32_t *cuda_index(cuda_run *r, int32_t index)
{
    if (index == DEV_NO_INDEX) return NULL;
    cuda_enqueue_index(r, index);
    return r->index[index];
}

const float *cuda_constant(const cuda_run *r, rill_constant constant)
{
    return constant != 0 ? r->network->constant[constant - 1] : NULL;
}

gpu_operand cuda_operand(cuda_run *r, const dev_operand *o)
{
    gpu_operand rows = {.data = NULL};
    if (o->base == DEV_BASE_NONE) return rows;
    rows.index = cuda_index(r, o->index);
    if (o->base == DEV_BASE_TENSOR) {
        const int32_t buffer = r->graph->tensor[o->element].buffer;
        rows.data = (float *)(void *)(r->values + r->host_run.layout.tensor_offset[buffer]);
        rows.ld = (int32_t)r->host_run.layout.tensor_ld[buffer];
    } else if (o->base == DEV_BASE_TABLE) {
        rows.data = (float *)(void *)r->cuda->table[o->element].base;
        rows.ld = (int32_t)r->host_run.network->table[o->element].ld;
    } else {
        rows.data = (float *)(uintptr_t)r->network->constant[o->element];
        rows.ld = o->index != DEV_NO_INDEX ? (int32_t)r->host_run.network->constant[o->element].width : 0;
    }
    if (rows.data != NULL) rows.data += o->first; /* data is NULL for a table without rows: then all rows are absent */
    return rows;
}

gpu_subsets cuda_get_subsets(const cuda_run *r, rill_vocab_subset subset)
{
    if (subset == 0) return (gpu_subsets){.ids = NULL};
    const size_t idx = (size_t)subset - 1;
    /* If all slots' subsets are empty, `ids` has no memory. NULL would mean "no subsets", so another address is given. */
    const char *ids = r->cuda->subset[idx].ids.base;
    return (gpu_subsets){.ids = ids != NULL ? (const int32_t *)(const void *)ids
                                            : cuda_device_ptr(r, r->subset_first[idx]),
                         .first = cuda_device_ptr(r, r->subset_first[idx]),
                         .length = cuda_device_ptr(r, r->subset_length[idx])};
}

/* --- matrix products ---------------------------------------------------------------------------------------------- */

/* The copy of a tensor's rows that GEMMs read, rounded to bf16 or fp16. */
static void *rounded_rows(const cuda_run *r, const dev_operand *o)
{
    return r->values + r->host_run.layout.copy_offset[r->graph->tensor[o->element].buffer];
}

/* The panel for the rounded copy of an operation's output, or none. Clears out->data if no operation reads the output
 * in fp32. */
static gpu_panel output_panel(const cuda_run *r, const dev_op *op, const dev_operand *o, gpu_operand *out)
{
    const cuda_fused_op *fused = cuda_get_fused_op(r, op);
    if (fused->output_type == GPU_F32) return (gpu_panel){.data = NULL};
    if (fused->skip_fp32) out->data = NULL;
    return (gpu_panel){.data = rounded_rows(r, o),
                       .ld = (int32_t)dev_padded(r->graph->tensor[o->element].width),
                       .type = fused->output_type};
}

/* Dense, aligned fp32 rows are multiplied in place. All other rows are first copied together, in the weights' type. */
void cuda_enqueue_product(cuda_run *r, gpu_product product, gpu_rows rows, gpu_operand x, gpu_operand x2,
                          int32_t width2)
{
    const gpu_matrix *m = product.matrix;
    product.rows = rows.max;
    product.a = x.data;
    product.lda = x.ld;
    if (m->type != GPU_F32 || x.index != NULL || x2.data != NULL || (uintptr_t)x.data % 16 != 0) {
        const gpu_panel panel = {.data = r->panel, .ld = (int32_t)dev_padded((size_t)m->k), .type = m->type};
        const gpu_gather gather = {
            .rows = rows, .width = m->k - width2, .width2 = width2, .x = x, .x2 = x2, .panel = panel};
        gpu_run_gather(r->cu_stream, &gather);
        product.a = panel.data;
        product.lda = panel.ld;
    }
    gpu_run_product(r->cu_stream, &product);
}

static void subset_product(cuda_run *r, const dev_op *op)
{
    const rill_product *o = &op->as.product;
    const dev_vocab_subset *subset = &r->host_run.network->subset[o->vocab_subset - 1];
    const gpu_subset_product args = {.rows = cuda_rows(r, op->space),
                                     .width = (int32_t)r->host_run.network->constant[subset->rows - 1].width,
                                     .max_length = (int32_t)r->host_run.max_subset[o->vocab_subset],
                                     .subsets = cuda_get_subsets(r, o->vocab_subset),
                                     .slot = cuda_index(r, op->slot),
                                     .w = cuda_constant(r, subset->rows),
                                     .type = cuda_gpu_type(subset->type),
                                     .a = cuda_operand(r, &op->view[PRODUCT_a]),
                                     .out = cuda_operand(r, &op->view[PRODUCT_out]),
                                     .activation = o->activation};
    if (args.max_length > 0) gpu_run_subset_product(r->cu_stream, &args);
}

/* Enqueue a GEMM. input_rounded: an earlier operation wrote the rows in the matrix's type; else they are converted first. */
static void enqueue_gemm(cuda_run *r, const dev_op *op, gpu_product product, gpu_rows rows)
{
    const dev_operand *a = &op->view[PRODUCT_a];
    if (!cuda_get_fused_op(r, op)->input_rounded) {
        cuda_enqueue_product(r, product, rows, cuda_operand(r, a), cuda_operand(r, &op->view[PRODUCT_a2]),
                             (int32_t)op->as.product.k2);
        return;
    }
    product.rows = rows.max;
    product.a = rounded_rows(r, a);
    product.lda = (int32_t)dev_padded((size_t)product.matrix->k);
    gpu_run_product(r->cu_stream, &product);
}

/* Extend the epilogue to the next product, which the same GEMM computes. Its sums lie before or after this
 * product's. */
static void merged_epilogue(cuda_run *r, const dev_op *op, gpu_epilogue *f)
{
    const dev_op *next = op + 1;
    f->width2 = (int32_t)r->host_run.network->matrix[next->as.product.matrix - 1].n;
    f->bias2 = cuda_constant(r, next->as.product.bias);
    f->out2 = cuda_operand(r, &next->view[PRODUCT_out]);
    if (cuda_get_fused_op(r, op)->merged_next > 0) return;
    const gpu_epilogue turned = *f;
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
    const cuda_fused_op *fused = cuda_get_fused_op(r, op);
    if (o->vocab_subset != 0) {
        subset_product(r, op);
        return;
    }
    if (fused->merged_into_prev) return;
    const gpu_rows rows = cuda_rows(r, op->space);
    const gpu_operand add = cuda_operand(r, &op->view[PRODUCT_add]), out = cuda_operand(r, &op->view[PRODUCT_out]);
    const gpu_operand sums = {.data = (float *)(void *)r->sums, .ld = (int32_t)dev_padded((size_t)fused->matrix.n)};
    if (fused->single_launch) {
        const gpu_product whole = {
            .matrix = &fused->matrix, .add = add.data, .ld_add = add.ld, .c = out.data, .ldc = out.ld};
        enqueue_gemm(r, op, whole, rows);
        return;
    }
    enqueue_gemm(r, op, (gpu_product){.matrix = &fused->matrix, .c = sums.data, .ldc = sums.ld}, rows);
    gpu_epilogue finish = {.rows = rows,
                           .width = (int32_t)r->host_run.network->matrix[o->matrix - 1].n,
                           .sums = sums,
                           .bias = cuda_constant(r, o->bias),
                           .add = add,
                           .out = out,
                           .activation = o->activation};
    finish.panel = output_panel(r, op, &op->view[PRODUCT_out], &finish.out);
    if (fused->merged_next != 0) merged_epilogue(r, op, &finish);
    gpu_run_epilogue(r->cu_stream, &finish);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

static void walk_paths(cuda_run *r, const dev_op *op)
{
    const dev_path *path = &r->graph->path[op->path];
    const int32_t *first = (const int32_t *)(const void *)(r->frame->pinned + r->host_run.layout.path_offset[op->path]);
    const gpu_path args = {.rows = cuda_rows(r, RILL_ROWS),
                           .node = cuda_index(r, path->node),
                           .parent = cuda_index(r, path->parent),
                           .node_parent = (int32_t *)(void *)r->cuda->table[r->host_run.network->n_tables].base,
                           .first = cuda_device_ptr(r, first),
                           .length = cuda_device_ptr(r, first + r->host_run.block_rows),
                           .entry = cuda_path_entries(r, op->path)};
    gpu_run_path(r->cu_stream, &args);
}

static void attend(cuda_run *r, const dev_op *op, size_t number)
{
    const rill_attend *o = &op->as.attend;
    const cuda_kv *memory = &r->kv[r->kv_index[number]];
    gpu_attend args = {.rows = cuda_rows(r, op->space),
                       .heads = (int32_t)o->heads,
                       .width = (int32_t)o->width,
                       .value_width = (int32_t)o->value_width,
                       .scale = o->scale,
                       .additive = cuda_constant(r, o->additive),
                       .relative = cuda_constant(r, o->relative),
                       .reach = (int32_t)dev_reach(r->host_run.network, o),
                       .position = cuda_index(r, op->position),
                       .query = cuda_operand(r, &op->view[ATTEND_query]),
                       .keys = cuda_operand(r, &op->view[ATTEND_keys]),
                       .values = cuda_operand(r, &op->view[ATTEND_values]),
                       .first = cuda_device_ptr(r, memory->first),
                       .length = cuda_device_ptr(r, memory->length),
                       .entry = op->path >= 0 ? cuda_path_entries(r, op->path) : NULL,
                       .out = cuda_operand(r, &op->view[ATTEND_out]),
                       .part = (float *)(void *)r->attention_part,
                       .max_length = (int32_t)memory->max_length};
    args.panel = output_panel(r, op, &op->view[ATTEND_out], &args.out);
    if (o->watched_heads && r->host_arguments->watched != NULL) {
        args.watched = cuda_device_ptr(r, r->watched);
        args.ld_watched = (int32_t)r->host_arguments->ld_watched;
        args.watched_heads = (int32_t)o->watched_heads;
    }
    gpu_run_attend(r->cu_stream, &args);
}

/* --- operations on rows ------------------------------------------------------------------------------------------- */

static void row_operation(cuda_run *r, const dev_op *op)
{
    static void (*const run[RILL_OP_KINDS])(gpu_stream *, const gpu_row_call *) = {
#define ENTRY(OPERATION, word, description, width, flops) [RILL_OP_##OPERATION] = gpu_run_##word,
        RILL_ROW_OPERATIONS(ENTRY)
#undef ENTRY
    };
    gpu_row_call call = {.rows = cuda_rows(r, op->space), .width = (int32_t)op->width};
    memcpy(&call.op, &op->as, sizeof call.op);
    for (size_t i = 0; i < op->n_views; i++) call.x[i] = cuda_operand(r, &op->view[i]);
    if (op->kind == RILL_OP_EMBED && op->as.embed.matrix != 0) {
        const gpu_matrix *m = &r->network->matrix[op->as.embed.matrix - 1];
        call.x[EMBED_rows] = (gpu_operand){
            .data = (float *)(uintptr_t)m->w, .ld = m->k, .index = cuda_index(r, op->slot)};
    }
    call.panel = output_panel(r, op, &op->view[op->out], &call.x[op->out]);
    run[op->kind](r->cu_stream, &call);
}

static void mask(cuda_run *r, const dev_op *op)
{
    const gpu_mask args = {.rows = cuda_rows(r, op->space),
                           .width = (int32_t)op->width,
                           .subsets = cuda_get_subsets(r, op->as.mask.vocab_subset),
                           .slot = cuda_index(r, op->slot),
                           .x = cuda_operand(r, &op->view[MASK_x])};
    if (r->host_run.max_subset[op->as.mask.vocab_subset] > 0) gpu_run_mask(r->cu_stream, &args);
}

/* --- enqueuing an operation --------------------------------------------------------------------------------------- */

void cuda_enqueue_op(cuda_run *r, const dev_op *op, size_t number)
{
    switch (op->kind) {
    case RILL_OP_PRODUCT: product(r, op); break;
    case RILL_OP_SCAN: cuda_enqueue_scan(r, op, &r->scan[number]); break;
    case RILL_OP_ATTEND: attend(r, op, number); break;
    case RILL_OP_MASK: mask(r, op); break;
    case RILL_OP_PATH: walk_paths(r, op); break;
    case RILL_OP_BEST: cuda_enqueue_best(r, op, &r->selection[number]); break;
    case RILL_OP_MIX: cuda_enqueue_mix(r, op, &r->selection[number]); break;
    default: row_operation(r, op); break;
    }
}
