/* Operations on a block: calls of kernels on operands in place.
 *
 * Divisions: products · cells · attention · rows · all of them. */
#include <math.h>
#include <string.h>

#include "session.h"

/* --- products ----------------------------------------------------------------------------------------------------- */

size_t dev_gemm_bytes(const dev_run *r, const dev_op *op)
{
    if (op->kind == DEV_SCAN)
        return rill_gemm_scratch_size(&r->network->matrix[op->as.scan.recurrent - 1].w, r->layout.max_rows[RILL_ROWS]);
    if (op->kind != DEV_PRODUCT) return 0;
    const size_t rows = r->layout.max_rows[op->space];
    if (op->as.product.vocab_subset == 0)
        return rill_gemm_scratch_size(&r->network->matrix[op->as.product.matrix - 1].w, rows);
    const dev_vocab_subset *subset = &r->network->subset[op->as.product.vocab_subset - 1];
    const rill_weights w = {.k = r->network->constant[subset->rows - 1].width, .dtype = subset->dtype};
    return rill_gemm_scratch_size(&w, rows);
}

/* Apply activations that the GEMM has no epilogue for. */
static void finish_product(const dev_block *b, rill_activation activation, const rill_operand *out, size_t rows,
                           size_t width)
{
    if (activation != RILL_SIGMOID) return;
    for (size_t r = 0; r < rows; r++)
        b->run->kernels->sigmoid(width, rill_operand_row(out, r), rill_operand_row(out, r));
}

static rill_epilogue activation_epilogue(rill_activation activation)
{
    static const rill_epilogue epilogues[] = {
        [RILL_LINEAR] = RILL_EPILOGUE_NONE,         [RILL_TANH] = RILL_EPILOGUE_TANH,
        [RILL_RELU] = RILL_EPILOGUE_RELU,           [RILL_SWISH] = RILL_EPILOGUE_SWISH,
        [RILL_GELU] = RILL_EPILOGUE_GELU,           [RILL_SIGMOID] = RILL_EPILOGUE_NONE,
        [RILL_GELU_TANH] = RILL_EPILOGUE_GELU_TANH, [RILL_GELU_SIGMOID] = RILL_EPILOGUE_GELU_SIGMOID,
    };
    return epilogues[activation];
}

static void multiply_rows(dev_block *b, const dev_op *op, const rill_weights *w, size_t first, size_t rows,
                          int quantised)
{
    const rill_product *p = &op->as.product;
    const dev_operand *view = op->view;
    const rill_gemm gemm = {.w = w,
                            .rows = rows,
                            .a = dev_skip_rows(dev_operand_rows(b, &view[DEV_A]), first),
                            .a2 = dev_skip_rows(dev_operand_rows(b, &view[DEV_A2]), first),
                            .k1 = w->k - p->k2,
                            .bias = dev_constant_row(b->run, p->bias),
                            .add = dev_skip_rows(dev_operand_rows(b, &view[DEV_ADD]), first),
                            .epilogue = activation_epilogue(p->activation),
                            .c = dev_skip_rows(dev_operand_rows(b, &view[DEV_OUT]), first),
                            .scratch = b->scratch + b->run->layout.gemm_offset,
                            .reuse_quantised = quantised};
    b->run->kernels->gemm(&gemm, b->pool);
    finish_product(b, p->activation, &gemm.c, rows, w->n);
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

/* --- cells -------------------------------------------------------------------------------------------------------- */

static void lstm(dev_block *b, const dev_op *op)
{
    const rill_lstm cell = {.rows = b->rows[op->space],
                            .hidden = op->as.lstm.hidden,
                            .gates = dev_operand_rows(b, &op->view[DEV_GATES]),
                            .c_prev = dev_operand_rows(b, &op->view[DEV_C]),
                            .c = dev_operand_rows(b, &op->view[DEV_C_OUT]),
                            .h = dev_operand_rows(b, &op->view[DEV_H_OUT])};
    b->run->kernels->lstm(&cell, b->pool);
}

static void gru(dev_block *b, const dev_op *op)
{
    const rill_gru cell = {.rows = b->rows[op->space],
                           .hidden = op->as.gru.hidden,
                           .input = dev_operand_rows(b, &op->view[DEV_GATES]),
                           .gates = dev_operand_rows(b, &op->view[DEV_HIDDEN]),
                           .h_prev = dev_operand_rows(b, &op->view[DEV_H]),
                           .h = dev_operand_rows(b, &op->view[DEV_H_OUT])};
    b->run->kernels->gru(&cell, b->pool);
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
    rill_attention a = {.keys = dev_operand_rows(b, &op->view[DEV_KEYS]),
                        .values = dev_operand_rows(b, &op->view[DEV_VALUES]),
                        .first = s->first,
                        .length = s->units,
                        .slot = dev_index_entries(b, op->slot)};
    if (op->as.attend.own_units) {
        const rill_index_space space = b->run->graph->tensor[op->view[DEV_KEYS].element].space;
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
    const rill_operand query = dev_operand_rows(b, &op->view[DEV_QUERY]), out = dev_operand_rows(b, &op->view[DEV_OUT]);
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

static void normalise(dev_block *b, const dev_op *op)
{
    const rill_normalise *o = &op->as.normalise;
    const rill_layer_norm norm = {.rows = b->rows[op->space],
                                  .width = o->width,
                                  .x = dev_operand_rows(b, &op->view[DEV_X]),
                                  .residual = dev_operand_rows(b, &op->view[DEV_RESIDUAL]),
                                  .gain = dev_constant_row(b->run, o->gain),
                                  .bias = dev_constant_row(b->run, o->bias),
                                  .eps = o->eps,
                                  .y = dev_operand_rows(b, &op->view[DEV_OUT]),
                                  .rms = o->rms};
    b->run->kernels->layer_norm(&norm, b->pool);
}

static void activate_row(const rill_kernels *k, rill_activation activation, size_t width, const float *x, float *y)
{
    switch (activation) {
    case RILL_LINEAR:
        if (x != y) memcpy(y, x, width * sizeof *y);
        break;
    case RILL_TANH: k->tanh(width, x, y); break;
    case RILL_RELU:
        for (size_t i = 0; i < width; i++) y[i] = x[i] < 0.0f ? 0.0f : x[i];
        break;
    case RILL_SWISH: k->swish(width, x, y); break;
    case RILL_GELU: k->gelu(width, x, y); break;
    case RILL_SIGMOID: k->sigmoid(width, x, y); break;
    case RILL_GELU_TANH: k->gelu_tanh(width, x, y); break;
    case RILL_GELU_SIGMOID: k->gelu_sigmoid(width, x, y); break;
    }
}

static void activate(dev_block *b, const dev_op *op)
{
    const rill_activate *o = &op->as.activate;
    const rill_operand x = dev_operand_rows(b, &op->view[DEV_X]), gate = dev_operand_rows(b, &op->view[DEV_GATE]);
    const rill_operand y = dev_operand_rows(b, &op->view[DEV_OUT]);
    for (size_t r = 0; r < b->rows[op->space]; r++) {
        float *to = rill_operand_row(&y, r);
        activate_row(b->run->kernels, o->activation, o->width, rill_operand_row(&x, r), to);
        const float *by = rill_operand_row(&gate, r);
        for (size_t i = 0; by != NULL && i < o->width; i++) to[i] *= by[i];
    }
}

static void embed(dev_block *b, const dev_op *op)
{
    const rill_embedding *o = &op->as.embed;
    rill_embed embedding = {.rows = b->rows[op->space],
                            .width = o->width,
                            .table = dev_operand_rows(b, &op->view[DEV_X]),
                            .scale = o->scale,
                            .position = dev_operand_rows(b, &op->view[DEV_POSITION]),
                            .out = dev_operand_rows(b, &op->view[DEV_OUT])};
    if (o->matrix != 0) {
        embedding.packed = &b->run->network->matrix[o->matrix - 1].w;
        embedding.table.index = dev_index_entries(b, op->slot);
    }
    b->run->kernels->embed(&embedding, b->pool);
}

/* Sum the terms of a row in order, then clamp to a minimum; NaN stays NaN. Special cases for two and three terms, which
 * a parser needs for every action: a pass per term would take more than twice as long. */
static inline float clamp_min(float x, float min)
{
    return x < min ? min : x;
}

static void copy_one(float *out, const float *a, size_t width, float min)
{
    for (size_t i = 0; i < width; i++) out[i] = clamp_min(a[i], min);
}

static void add_one(float *out, const float *a, size_t width, float min)
{
    for (size_t i = 0; i < width; i++) out[i] = clamp_min(out[i] + a[i], min);
}

static void add_two(float *out, const float *a, const float *b, size_t width, float min)
{
    for (size_t i = 0; i < width; i++) out[i] = clamp_min(a[i] + b[i], min);
}

static void add_three(float *out, const float *a, const float *b, const float *c, size_t width, float min)
{
    for (size_t i = 0; i < width; i++) out[i] = clamp_min(a[i] + b[i] + c[i], min);
}

static void sum_row(float *out, float *const *term, size_t terms, size_t width, float min)
{
    if (terms == 0) memset(out, 0, width * sizeof *out);
    if (terms == 1) copy_one(out, term[0], width, min);
    if (terms == 2) add_two(out, term[0], term[1], width, min);
    if (terms >= 3) add_three(out, term[0], term[1], term[2], width, terms == 3 ? min : -INFINITY);
    for (size_t t = 3; t < terms; t++) add_one(out, term[t], width, t + 1 == terms ? min : -INFINITY);
}

/* Sum the present terms of each row in order. */
static void sum(dev_block *b, const dev_op *op)
{
    const rill_sum *o = &op->as.sum;
    const float min = o->activation == RILL_RELU ? 0.0f : -INFINITY;
    const rill_operand out = dev_operand_rows(b, &op->view[DEV_SUM_OUT]);
    rill_operand from[RILL_SUM_TERMS];
    for (int32_t i = 0; i < o->terms; i++) from[i] = dev_operand_rows(b, &op->view[i]);
    for (size_t r = 0; r < b->rows[op->space]; r++) {
        float *term[RILL_SUM_TERMS];
        size_t terms = 0;
        for (int32_t i = 0; i < o->terms; i++)
            if ((term[terms] = rill_operand_row(&from[i], r)) != NULL) terms++;
        sum_row(rill_operand_row(&out, r), term, terms, o->width, min);
    }
}

static void copy(dev_block *b, const dev_op *op)
{
    const rill_gather gather = {.rows = b->rows[op->space],
                                .width = op->as.copy.width,
                                .src = dev_operand_rows(b, &op->view[DEV_X]),
                                .dst = dev_operand_rows(b, &op->view[DEV_OUT])};
    b->run->kernels->gather(&gather, b->pool);
}

static void mask(dev_block *b, const dev_op *op)
{
    const rill_operand x = dev_operand_rows(b, &op->view[DEV_X]);
    const int32_t *slot = dev_index_entries(b, op->slot);
    for (size_t r = 0; r < b->rows[op->space]; r++) {
        const dev_slot_subset *subset = dev_get_slot_subset(b->run, op->as.mask.vocab_subset, slot[r]);
        float *row = rill_operand_row(&x, r);
        for (size_t i = 0; i < subset->n; i++)
            if ((size_t)subset->id[i] < op->as.mask.width) row[subset->id[i]] = -INFINITY;
    }
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

size_t dev_op_work_bytes(const dev_run *r, const dev_op *op, size_t number)
{
    switch (op->kind) {
    case DEV_SCAN: return dev_scan_work_bytes(r, op);
    case DEV_BEST: return dev_best_work_bytes(r, op);
    case DEV_MIX: return dev_mix_work_bytes(r, op);
    case DEV_ATTEND:
        return dev_lines(attention_batch_rows(r, op, r->max_length[number]) * op->as.attend.heads *
                         r->max_length[number] * sizeof(float));
    default: return 0;
    }
}

void dev_op_run(dev_block *b, const dev_op *op)
{
    static void (*const run[DEV_OP_KINDS])(dev_block *, const dev_op *) = {
        [DEV_PRODUCT] = product, [DEV_LSTM] = lstm,           [DEV_GRU] = gru,           [DEV_SCAN] = dev_scan,
        [DEV_ATTEND] = attend,   [DEV_NORMALISE] = normalise, [DEV_ACTIVATE] = activate, [DEV_EMBED] = embed,
        [DEV_SUM] = sum,         [DEV_COPY] = copy,           [DEV_MASK] = mask,         [DEV_PATH] = walk_paths,
        [DEV_BEST] = dev_best,   [DEV_MIX] = dev_mix,
    };
    if (b->rows[op->space] > 0 || op->kind == DEV_SCAN) run[op->kind](b, op);
}
