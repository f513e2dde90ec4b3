/* Fusion: fewer launches for a graph.
 *
 * A GEMM with an addition or ReLU is one cuBLASLt launch. The operation that writes a GEMM's bf16 or fp16 input rounds the input.
 * Consecutive GEMMs on the same rows with adjacent weights are merged.
 *
 * cuBLASLt lacks swish, tanh, exact GELU and writes to scattered rows: these are separate launches. */
#include "executor.h"

#include <string.h>

/* --- types of operands -------------------------------------------------------------------------------------------- */

/* Whether row r of an operand is row r of a tensor. */
static int is_dense(const dev_operand *o)
{
    return o->base == DEV_BASE_TENSOR && o->index == DEV_NO_INDEX;
}

/* Width of the operation's output, if its kernel can also write a bf16 or fp16 copy; 0: it cannot. */
static size_t output_width(const dev_op *op)
{
    const rill_attend *o = &op->as.attend;
    switch (op->kind) {
    case RILL_OP_PRODUCT: return op->as.product.vocab_subset == 0 ? op->width : 0;
    case RILL_OP_NORMALISE:
    case RILL_OP_ACTIVATE:
    case RILL_OP_EMBED:
    case RILL_OP_SUM: return op->width;
    case RILL_OP_ATTEND:
        return gpu_attend_is_narrow(o->width, o->value_width, o->additive != 0) ? o->heads * o->width : 0;
    default: return 0;
    }
}

/* The tensor that an operation writes completely; -1: none. Only such an operation can also write a bf16 or fp16 copy. */
static int32_t output_tensor(const dev_graph *p, const dev_op *op)
{
    const size_t width = output_width(op);
    const dev_operand *out = &op->view[op->out >= 0 ? op->out : 0];
    return width > 0 && is_dense(out) && p->tensor[out->element].width == width ? out->element : -1;
}

/* --- rounding to half precision ----------------------------------------------------------------------------------- */

/* The type in which a GEMM reads its input A, if A is a whole tensor; GPU_F32 for all other operands and operations. */
static gpu_type input_type(const cuda_network *cuda, const dev_graph *p, const dev_op *op, size_t view)
{
    if (op->kind != RILL_OP_PRODUCT || view != PRODUCT_a || op->as.product.vocab_subset != 0 || op->as.product.k2 != 0)
        return GPU_F32;
    const gpu_matrix *m = &cuda->matrix[op->as.product.matrix - 1];
    return is_dense(&op->view[view]) && p->tensor[op->view[view].element].width == (size_t)m->k ? m->type : GPU_F32;
}

/* Make an operation also write a rounded copy of its output, for GEMMs. If only GEMMs read the output, the fp32 copy is not written. */
static void round_output(const rill_network *network, const dev_graph *p, cuda_fused_graph *fused, size_t op_index)
{
    const int32_t value = output_tensor(p, &p->op[op_index]);
    cuda_fused_op *from = &fused->op[op_index];
    int rewritten = value < 0, kept = 0;
    for (size_t i = op_index + 1; i < p->n_ops && !rewritten; i++)
        for (size_t view = 0; view < p->op[i].n_views; view++) {
            const dev_op *op = &p->op[i];
            if (op->view[view].base != DEV_BASE_TENSOR || op->view[view].element != value) continue;
            if ((op->view[view].use & RILL_OUT) || op->kind == RILL_OP_MASK) {
                rewritten = 1;
                /* an operation that writes only some columns keeps the other columns, which may be read */
                kept |= output_tensor(p, op) != value;
                continue;
            }
            const gpu_type type = input_type(network->data, p, op, view);
            if (type == GPU_F32 || (from->output_type != GPU_F32 && from->output_type != type)) {
                kept = 1;
                continue;
            }
            from->output_type = type;
            fused->op[i].input_rounded = 1;
        }
    if (from->output_type == GPU_F32) return;
    from->skip_fp32 = !kept;
    const dev_tensor *v = &p->tensor[value];
    const size_t bytes = dev_padded(v->width) * gpu_type_bytes(from->output_type);
    if (fused->rounded_bytes[v->buffer] < bytes) fused->rounded_bytes[v->buffer] = bytes;
}

/* --- fusing products ---------------------------------------------------------------------------------------------- */

/* Whether cuBLASLt can read or write n floats of each row in place. It overwrites padding columns, and needs 16-byte
 * alignment. */
static int is_cublas_operand(const dev_graph *p, const dev_operand *o, size_t n)
{
    if (!is_dense(o)) return 0;
    return cuda_product_width(n) == n ? o->first % 4 == 0 : o->first == 0 && p->tensor[o->element].width == n;
}

static void fuse_product(const rill_network *network, const dev_graph *p, const dev_op *op, cuda_fused_op *f)
{
    const cuda_network *cuda = network->data;
    const rill_product *o = &op->as.product;
    const dev_operand *add = &op->view[PRODUCT_add], *out = &op->view[PRODUCT_out];
    f->matrix = cuda->matrix[o->matrix - 1];
    const size_t n = network->matrix[o->matrix - 1].n;
    f->single_launch = f->output_type == GPU_F32 && (o->activation == RILL_LINEAR || o->activation == RILL_RELU) &&
                       is_cublas_operand(p, out, n) && (add->base == DEV_BASE_NONE || is_cublas_operand(p, add, n));
    if (!f->single_launch) return;
    f->matrix.bias = o->bias != 0 ? cuda->constant[o->bias - 1] : NULL;
    f->matrix.relu = o->activation == RILL_RELU;
}

/* Merge two GEMMs on the same input rows with adjacent weights, if one needs a separate epilogue launch anyway. */
static void merge_products(const rill_network *network, const dev_op *op, cuda_fused_op *f)
{
    const cuda_network *cuda = network->data;
    const dev_op *next = op + 1;
    if (op->kind != RILL_OP_PRODUCT || next->kind != RILL_OP_PRODUCT || op->space != next->space) return;
    const rill_product *a = &op->as.product, *b = &next->as.product;
    if (f->merged_into_prev || a->vocab_subset != 0 || b->vocab_subset != 0 ||
        (f[0].single_launch && f[1].single_launch))
        return;
    if (f[0].output_type != GPU_F32 || f[1].output_type != GPU_F32 || a->activation != b->activation ||
        a->k2 + b->k2 != 0)
        return;
    if (op->view[PRODUCT_add].base != DEV_BASE_NONE || next->view[PRODUCT_add].base != DEV_BASE_NONE) return;
    const dev_operand *x = &op->view[PRODUCT_a], *out = &op->view[PRODUCT_out], *out2 = &next->view[PRODUCT_out];
    if (!is_dense(x) || !dev_same_operand(x, &next->view[PRODUCT_a])) return;
    /* the two outputs may overlap, so one GEMM cannot write both */
    if (out->base == out2->base && out->element == out2->element) return;
    const gpu_matrix *m = &cuda->matrix[a->matrix - 1], *n = &cuda->matrix[b->matrix - 1];
    const size_t row = (size_t)m->k * gpu_type_bytes(m->type);
    if (m->type != n->type || m->k != n->k || (size_t)m->n != network->matrix[a->matrix - 1].n ||
        (size_t)n->n != network->matrix[b->matrix - 1].n)
        return;
    if ((const char *)m->w + (size_t)m->n * row == n->w)
        f[0].merged_next = 1;
    else if ((const char *)n->w + (size_t)n->n * row == m->w)
        f[0].merged_next = -1;
    else
        return;
    f[0].matrix = f[0].merged_next > 0 ? *m : *n;
    f[0].matrix.n = m->n + n->n;
    f[0].single_launch = f[1].single_launch = 0;
    f[1].merged_into_prev = 1;
}

static int is_same_shape(const gpu_matrix *a, const gpu_matrix *b)
{
    return a->n == b->n && a->k == b->k && a->type == b->type && a->relu == b->relu && !a->bias == !b->bias;
}

static void log_algo(const rill_network *network, const gpu_matrix *m)
{
    const int32_t *id = m->algo_id;
    if (m->fast) return;
    rill_log(
        network->ctx, RILL_LOG_DEBUG,
        "%s: products with %d x %d weights: algorithms %d, %d and %d for few, more and many rows (0: rill's own kernel)",
        network->device->name, (int)m->n, (int)m->k, (int)id[0], (int)id[1], (int)id[2]);
}

/* Choose the GEMM algorithms of a matrix. Matrices of one shape share them, so that each shape is tried only once. */
static void choose_algo(rill_network *network, cuda_network *cuda, gpu_matrix *m)
{
    char why[GPU_ERROR_BYTES];
    for (size_t i = 0; i < network->n_graphs; i++)
        for (size_t op_index = 0; op_index < network->graph[i].n_ops; op_index++) {
            const gpu_matrix *other = &cuda->graph[i].op[op_index].matrix;
            if (other == m && gpu_matrix_choose_algo(network->device->data, m, why) != 0)
                dev_network_fail(network, RILL_ERR_OPTION, "device: matrix product with %d x %d weights: %s", (int)m->n,
                                 (int)m->k, why);
            else if (other == m)
                log_algo(network, m);
            if (other == m) return;
            if (!is_same_shape(other, m) || cuda->graph[i].op[op_index].merged_into_prev) continue;
            memcpy(m->algo, other->algo, sizeof m->algo);
            memcpy(m->algo_id, other->algo_id, sizeof m->algo_id);
            return;
        }
}

/* --- fusing all graphs -------------------------------------------------------------------------------------------- */

static void fuse_program(rill_network *network, cuda_network *cuda, const dev_graph *p, cuda_fused_graph *fused)
{
    fused->op = rill_calloc(network->ctx, p->n_ops + 1, sizeof *fused->op);
    fused->rounded_bytes = rill_calloc(network->ctx, p->n_buffers + 1, sizeof *fused->rounded_bytes);
    fused->n_ops = p->n_ops + 1;
    fused->n_buffers = p->n_buffers + 1;
    if (fused->op == NULL || fused->rounded_bytes == NULL) {
        dev_network_fail(network, RILL_ERR_MEMORY, "out of memory: a network of the device");
        return;
    }
    for (size_t i = 0; i < p->n_ops; i++) round_output(network, p, fused, i);
    for (size_t i = 0; i < p->n_ops; i++) {
        const dev_op *op = &p->op[i];
        cuda_fused_op *f = &fused->op[i];
        if (op->kind == RILL_OP_PRODUCT && op->as.product.vocab_subset == 0) fuse_product(network, p, op, f);
        if (op->kind == RILL_OP_SCAN) {
            const rill_constant bias = op->as.scan.recurrent_bias;
            f->matrix = cuda->matrix[op->as.scan.recurrent - 1];
            f->matrix.bias = bias != 0 ? cuda->constant[bias - 1] : NULL;
        }
    }
    for (size_t i = 0; i < p->n_ops && network->status == RILL_OK; i++) {
        if (i + 1 < p->n_ops) merge_products(network, &p->op[i], &fused->op[i]);
        fused->op[i].matrix.fast = network->device->fast;
        if (fused->op[i].matrix.w != NULL && !fused->op[i].merged_into_prev)
            choose_algo(network, cuda, &fused->op[i].matrix);
    }
}

void cuda_fuse(rill_network *network)
{
    cuda_network *cuda = network->data;
    cuda->graph = rill_calloc(network->ctx, network->n_graphs + 1, sizeof *cuda->graph);
    cuda->n_graphs = cuda->graph != NULL ? network->n_graphs + 1 : 0;
    if (cuda->graph == NULL) dev_network_fail(network, RILL_ERR_MEMORY, "out of memory: a network of the device");
    for (size_t i = 0; i < network->n_graphs && network->status == RILL_OK; i++)
        fuse_program(network, cuda, &network->graph[i], &cuda->graph[i]);
    if (network->status == RILL_OK) cuda_find_fill_graphs(network);
}

double cuda_fused_bytes(const cuda_run *r, const dev_op *op)
{
    const cuda_fused_op *f = cuda_get_fused_op(r, op);
    const double fp32 = sizeof(float), width = (double)output_width(op);
    double bytes = 0.0;
    if (f->merged_into_prev)
        bytes -= fp32 * (double)f->matrix.k; /* the merged GEMM reads the rows once for both products */
    else if (f->input_rounded)
        bytes -= (fp32 - (double)gpu_type_bytes(f->matrix.type)) * (double)f->matrix.k;
    if (f->output_type != GPU_F32)
        bytes += ((double)gpu_type_bytes(f->output_type) - (f->skip_fp32 ? fp32 : 0.0)) * width;
    return bytes;
}

void cuda_fused_free(rill_network *network)
{
    cuda_network *cuda = network->data;
    for (size_t i = 0; i < cuda->n_graphs; i++) {
        cuda_fused_graph *fused = &cuda->graph[i];
        rill_free(network->ctx, fused->op, fused->n_ops * sizeof *fused->op);
        rill_free(network->ctx, fused->rounded_bytes, fused->n_buffers * sizeof *fused->rounded_bytes);
    }
    rill_free(network->ctx, cuda->graph, cuda->n_graphs * sizeof *cuda->graph);
}
