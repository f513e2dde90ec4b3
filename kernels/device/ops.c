/* Operations on a block: calls of kernels on operands in place.
 *
 * Divisions: products · attention · rows · all of them. */
#include <math.h>
#include <string.h>

#include "session.h"

/* --- products ----------------------------------------------------------------------------------------------------- */

size_t dev_gemm_bytes(const dev_run *r, const dev_op *op)
{
    if (op->kind == RILL_OP_SCAN)
        return rill_gemm_scratch_size(&r->network->matrix[op->as.scan.recurrent - 1].w, r->layout.max_rows[RILL_ROWS]);
    if (op->kind != RILL_OP_PRODUCT) return 0;
    const size_t rows = r->layout.max_rows[op->space];
    if (op->as.product.vocab_subset == 0)
        return rill_gemm_scratch_size(&r->network->matrix[op->as.product.matrix - 1].w, rows);
    const dev_vocab_subset *subset = &r->network->subset[op->as.product.vocab_subset - 1];
    const rill_weights w = {.k = r->network->constant[subset->rows - 1].width, .dtype = subset->dtype};
    return rill_gemm_scratch_size(&w, rows);
}

static void multiply_rows(dev_block *b, const dev_op *op, const rill_weights *w, size_t first, size_t rows,
                          int quantised)
{
    const rill_product *p = &op->as.product;
    const dev_operand *view = op->view;
    const rill_gemm gemm = {.w = w,
                            .rows = rows,
                            .a = dev_skip_rows(dev_operand_rows(b, &view[PRODUCT_a]), first),
                            .a2 = dev_skip_rows(dev_operand_rows(b, &view[PRODUCT_a2]), first),
                            .k1 = w->k - p->k2,
                            .bias = dev_constant_row(b->run, p->bias),
                            .add = dev_skip_rows(dev_operand_rows(b, &view[PRODUCT_add]), first),
                            .activation = p->activation,
                            .c = dev_skip_rows(dev_operand_rows(b, &view[PRODUCT_out]), first),
                            .scratch = b->scratch + b->run->layout.gemm_offset,
                            .reuse_quantised = quantised};
    b->run->kernels->gemm(&gemm, b->pool);
}

/* Adjacent rows of one slot are multiplied together. */
static void multiply_subsets(dev_block *b, const dev_op *op)
{
    const int32_t *slot = dev_index_entries(b, op->slot);
    const size_t rows = b->rows[op->space];
    for (size_t r = 0, n; r < rows; r += n) {
        const dev_slot_subset *subset = dev_get_slot_subset(b->run, op->as.product.vocab_subset, slot[r]);
        n = dev_count_same_slot(slot, r, rows);
        if (subset->n > 0) multiply_rows(b, op, &subset->w, r, n, 0);
    }
}

static void product(dev_block *b, const dev_op *op)
{
    const size_t rows = b->rows[op->space];
    if (op->as.product.vocab_subset != 0)
        multiply_subsets(b, op);
    else
        multiply_rows(b, op, &b->run->network->matrix[op->as.product.matrix - 1].w, 0, rows,
                      op->reuse_quantised && rows <= RILL_GEMM_QUANT_ROWS);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

enum {
    MAX_WEIGHTS = 1 << 20
}; /* attention weights kept at a time; all of a long input's would take quadratic memory */

static size_t attention_batch_rows(const dev_run *r, const dev_op *op, size_t longest)
{
    const size_t max_weights = r->network->device->max_attention_weights > 0 ? r->network->device->max_attention_weights
                                                                             : MAX_WEIGHTS;
    const size_t rows = r->layout.max_rows[op->space],
                 max_rows = max_weights / (op->as.attend.heads * (longest > 0 ? longest : 1));
    return max_rows < 1 ? 1 : max_rows < rows ? max_rows : rows;
}

/* Paths of a block's rows: [rows] start of each path in `entry`, [rows] its length, and the nodes of all paths. */
typedef struct path_arrays {
    int32_t *first, *length, *entry;
} path_arrays;

static path_arrays block_paths(const dev_block *b, int32_t path)
{
    int32_t *memory = (int32_t *)(void *)(b->scratch + b->run->layout.path_offset[path]);
    const size_t rows = b->run->layout.max_rows[RILL_ROWS];
    return (path_arrays){memory, memory + rows, memory + 2 * rows};
}

static void walk_paths(dev_block *b, const dev_op *op)
{
    const dev_path *path = &b->run->graph->path[op->path];
    const int32_t *node = dev_index_entries(b, path->node), *parent = dev_index_entries(b, path->parent),
                  *depth = dev_index_entries(b, path->depth);
    int32_t *above = b->run->session->node_parent;
    const path_arrays p = block_paths(b, op->path);
    int32_t used = 0;
    for (size_t r = 0; r < b->rows[RILL_ROWS]; r++) {
        if (parent != NULL) above[node[r]] = parent[r];
        p.first[r] = used;
        p.length[r] = depth[r] + 1;
        int32_t cur = node[r];
        for (int32_t t = depth[r]; t >= 0; t--, cur = above[cur]) p.entry[used + t] = cur;
        used += p.length[r];
    }
}

/* Write the mean attention weights of the first watched_heads heads to the host. */
static void copy_watched_weights(const dev_block *b, const dev_op *op, const rill_attention *a, size_t from)
{
    const rill_run_arguments *arguments = b->run->arguments;
    for (size_t r = 0; r < a->rows; r++) {
        const size_t row = dev_host_row(b, RILL_ROWS, from + r), slot = a->slot != NULL ? (size_t)a->slot[r] : r;
        float *mean = arguments->watched + row * arguments->ld_watched;
        for (size_t t = 0; t < (size_t)a->length[slot]; t++) {
            float sum = 0.0f;
            for (size_t h = 0; h < op->as.attend.watched_heads; h++)
                sum += a->weights[(r * a->heads + h) * a->ld_weights + t];
            mean[t] = sum / (float)op->as.attend.watched_heads;
        }
    }
}

rill_attention dev_attention_memory(dev_block *b, const dev_op *op)
{
    const rill_session *s = b->run->session;
    rill_attention a = {.keys = dev_operand_rows(b, &op->view[ATTEND_keys]),
                        .values = dev_operand_rows(b, &op->view[ATTEND_values]),
                        .first = s->first,
                        .length = s->units,
                        .slot = dev_index_entries(b, op->slot)};
    if (op->as.attend.own_units) {
        const rill_index_space space = b->run->graph->tensor[op->view[ATTEND_keys].element].space;
        a.first = b->child_row[space];
        a.length = b->lengths[space];
    } else if (op->path >= 0) {
        const path_arrays p = block_paths(b, op->path);
        a.first = p.first;
        a.length = p.length;
        a.path = p.entry;
    }
    return a;
}

static void attend(dev_block *b, const dev_op *op)
{
    const rill_attend *o = &op->as.attend;
    const size_t number = (size_t)(op - b->run->graph->op), rows = b->rows[op->space];
    const size_t longest = b->run->max_length[number], batch_rows = attention_batch_rows(b->run, op, longest);
    size_t used = 0;
    const rill_operand query = dev_operand_rows(b, &op->view[ATTEND_query]),
                       out = dev_operand_rows(b, &op->view[ATTEND_out]);
    rill_attention a = dev_attention_memory(b, op);
    const int32_t *slot = a.slot, *first = a.first, *length = a.length, *place = dev_index_entries(b, op->position);
    a.heads = o->heads;
    a.width = o->width;
    a.value_width = o->value_width;
    a.scale = o->scale;
    a.additive = dev_constant_row(b->run, o->additive);
    a.relative = dev_constant_row(b->run, o->relative);
    a.reach = dev_reach(b->run->network, o);
    a.weights = dev_alloc_work(b, &used, batch_rows * o->heads * longest, sizeof *a.weights);
    a.ld_weights = longest;
    for (size_t from = 0; from < rows; from += batch_rows) {
        a.rows = rows - from < batch_rows ? rows - from : batch_rows;
        a.query = dev_skip_rows(query, from);
        a.out = dev_skip_rows(out, from);
        a.slot = slot != NULL ? slot + from : NULL;
        a.position = place != NULL ? place + from : NULL;
        a.first = slot != NULL ? first : first + from;
        a.length = slot != NULL ? length : length + from;
        b->run->kernels->attention(&a, b->pool);
        if (o->watched_heads && b->run->arguments->watched != NULL) copy_watched_weights(b, op, &a, from);
    }
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* A row operation: its kernel, with all operands in place. */
static void run_row_op(dev_block *b, const dev_op *op)
{
    rill_row_call call = {.rows = b->rows[op->space], .width = op->width, .op = &op->as};
    for (size_t i = 0; i < op->n_views; i++) call.x[i] = dev_operand_rows(b, &op->view[i]);
    if (op->kind == RILL_OP_EMBED && op->as.embed.matrix != 0) {
        call.packed = &b->run->network->matrix[op->as.embed.matrix - 1].w;
        call.x[EMBED_rows].index = dev_index_entries(b, op->slot);
    }
    rill_run_rows(b->run->kernels, op->kind, &call, b->pool);
}

static void mask(dev_block *b, const dev_op *op)
{
    const rill_operand x = dev_operand_rows(b, &op->view[MASK_x]);
    const int32_t *slot = dev_index_entries(b, op->slot);
    for (size_t r = 0; r < b->rows[op->space]; r++) {
        const dev_slot_subset *subset = dev_get_slot_subset(b->run, op->as.mask.vocab_subset, slot[r]);
        float *row = rill_operand_row(&x, r);
        for (size_t i = 0; i < subset->n; i++)
            if ((size_t)subset->id[i] < op->width) row[subset->id[i]] = -INFINITY;
    }
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

size_t dev_op_work_bytes(const dev_run *r, const dev_op *op, size_t number)
{
    switch (op->kind) {
    case RILL_OP_SCAN: return dev_scan_work_bytes(r, op);
    case RILL_OP_BEST: return dev_best_work_bytes(r, op);
    case RILL_OP_MIX: return dev_mix_work_bytes(r, op);
    case RILL_OP_ATTEND:
        return dev_lines(attention_batch_rows(r, op, r->max_length[number]) * op->as.attend.heads *
                         r->max_length[number] * sizeof(float));
    default: return 0;
    }
}

void dev_op_run(dev_block *b, const dev_op *op)
{
    if (b->rows[op->space] == 0 && op->kind != RILL_OP_SCAN) return;
    switch (op->kind) {
    case RILL_OP_PRODUCT: product(b, op); break;
    case RILL_OP_SCAN: dev_scan(b, op); break;
    case RILL_OP_ATTEND: attend(b, op); break;
    case RILL_OP_MASK: mask(b, op); break;
    case RILL_OP_PATH: walk_paths(b, op); break;
    case RILL_OP_BEST: dev_best(b, op); break;
    case RILL_OP_MIX: dev_mix(b, op); break;
    default: run_row_op(b, op); break;
    }
}
