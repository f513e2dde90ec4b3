/* Operations on a block's rows: kernels called with operands where they lie.
 *
 * Kernels gather and scatter where their structs have an index. Where one has none, rows with an index go through the block's
 * memory for work. Divisions: rows without an index · products · cells · attention · rows · all of them. */
#include <math.h>
#include <string.h>

#include "stream.h"

/* --- rows without an index ---------------------------------------------------------------------------------------- */

static size_t plain_bytes(const dev_run *r, const dev_op *op, int view, size_t width)
{
    if (op->view[view].base == DEV_NOTHING || op->view[view].index == DEV_NO_INDEX) return 0;
    return dev_lines(r->layout.rows[op->space] * dev_padded(width) * sizeof(float));
}

static void gather(const dev_block *b, dev_rows from, dev_rows to, size_t rows, size_t width)
{
    const rill_gather gather = {.rows = rows,
                                .width = width,
                                .src = from.at,
                                .ld_src = from.ld,
                                .src_index = from.index,
                                .dst = to.at,
                                .ld_dst = to.ld,
                                .dst_index = to.index};
    b->run->kernels->gather(&gather, b->pool);
}

/* An operand to be read row by row; its rows are copied where they lie apart. */
static dev_rows plain_in(dev_block *b, const dev_op *op, int view, size_t width, size_t *used)
{
    const dev_rows rows = dev_rows_at(b, &op->view[view]);
    if (rows.at == NULL || rows.index == NULL) return rows;
    const size_t n = b->rows[op->space], ld = dev_padded(width);
    const dev_rows plain = {.at = dev_work(b, used, n * ld, sizeof(float)), .ld = ld};
    gather(b, rows, plain, n, width);
    return plain;
}

/* Where to write an operand row by row; put_plain() then brings it to its place. */
static dev_rows plain_out(dev_block *b, const dev_op *op, int view, size_t width, size_t *used)
{
    const dev_rows rows = dev_rows_at(b, &op->view[view]);
    if (rows.index == NULL) return rows;
    const size_t ld = dev_padded(width);
    return (dev_rows){.at = dev_work(b, used, b->rows[op->space] * ld, sizeof(float)), .ld = ld};
}

static void put_plain(dev_block *b, const dev_op *op, int view, size_t width, dev_rows plain)
{
    const dev_rows rows = dev_rows_at(b, &op->view[view]);
    if (rows.index != NULL) gather(b, plain, rows, b->rows[op->space], width);
}

static float *row_at(dev_rows rows, size_t r)
{
    return rows.at + (rows.index != NULL ? (size_t)rows.index[r] : r) * rows.ld;
}

/* NULL for a row that is not there. */
static float *row_or_none(dev_rows rows, size_t r)
{
    return rows.at == NULL || (rows.index != NULL && rows.index[r] < 0) ? NULL : row_at(rows, r);
}

/* --- products ----------------------------------------------------------------------------------------------------- */

size_t dev_gemm_bytes(const dev_run *r, const dev_op *op)
{
    if (op->kind == DEV_SCAN)
        return rill_gemm_scratch_size(&r->plan->matrix[op->as.scan.recurrent - 1].w, r->layout.rows[RILL_ROWS]);
    if (op->kind != DEV_PRODUCT) return 0;
    const size_t rows = r->layout.rows[op->space];
    if (op->as.product.list == 0) return rill_gemm_scratch_size(&r->plan->matrix[op->as.product.matrix - 1].w, rows);
    const dev_list *list = &r->plan->list[op->as.product.list - 1];
    const rill_weights w = {.k = r->plan->constant[list->rows - 1].width, .dtype = list->dtype};
    return rill_gemm_scratch_size(&w, rows);
}

/* What kernels have no epilogue for. */
static void finish_product(const dev_block *b, rill_activation activation, dev_rows out, size_t rows, size_t width)
{
    if (activation != RILL_SIGMOID) return;
    for (size_t r = 0; r < rows; r++) b->run->kernels->sigmoid(width, row_at(out, r), row_at(out, r));
}

static rill_epilogue epilogue_of(rill_activation activation)
{
    static const rill_epilogue epilogues[] = {
        [RILL_LINEAR] = RILL_EPILOGUE_NONE, [RILL_TANH] = RILL_EPILOGUE_TANH, [RILL_RELU] = RILL_EPILOGUE_RELU,
        [RILL_SWISH] = RILL_EPILOGUE_SWISH, [RILL_GELU] = RILL_EPILOGUE_GELU, [RILL_SIGMOID] = RILL_EPILOGUE_NONE,
    };
    return epilogues[activation];
}

static void multiply(dev_block *b, const dev_op *op, const rill_weights *w, size_t first, size_t rows, int quantised)
{
    const rill_product *p = &op->as.product;
    const dev_rows a = dev_rows_from(dev_rows_at(b, &op->view[DEV_A]), first);
    const dev_rows a2 = dev_rows_from(dev_rows_at(b, &op->view[DEV_A2]), first);
    const dev_rows add = dev_rows_from(dev_rows_at(b, &op->view[DEV_ADD]), first);
    const dev_rows out = dev_rows_from(dev_rows_at(b, &op->view[DEV_OUT]), first);
    const rill_gemm gemm = {.w = w,
                            .rows = rows,
                            .a = a.at,
                            .lda = a.ld,
                            .a_index = a.index,
                            .a2 = p->k2 > 0 ? a2.at : NULL,
                            .lda2 = a2.ld,
                            .a2_index = a2.index,
                            .k1 = w->k - p->k2,
                            .bias = p->bias != 0 ? b->run->plan->constant[p->bias - 1].data : NULL,
                            .add = op->view[DEV_ADD].base != DEV_NOTHING ? add.at : NULL,
                            .ld_add = add.ld,
                            .add_index = add.index,
                            .epilogue = epilogue_of(p->activation),
                            .c = out.at,
                            .ldc = out.ld,
                            .c_index = out.index,
                            .scratch = b->scratch + b->run->layout.gemm_at,
                            .quantised = quantised};
    b->run->kernels->gemm(&gemm, b->pool);
    finish_product(b, p->activation, out, rows, w->n);
}

/* Rows of one slot, which stand next to each other where the caller is wise, are multiplied together. */
static void multiply_lists(dev_block *b, const dev_op *op)
{
    const int32_t *slot = dev_index_at(b, op->slot);
    const size_t rows = b->rows[op->space];
    for (size_t r = 0, n; r < rows; r += n) {
        const dev_slot_list *list = dev_list_of(b->run, op->as.product.list, slot[r]);
        n = dev_same_slot(slot, r, rows);
        if (list->n > 0) multiply(b, op, &list->w, r, n, 0);
    }
}

static void product(dev_block *b, const dev_op *op)
{
    const size_t rows = b->rows[op->space];
    if (op->as.product.list != 0)
        multiply_lists(b, op);
    else
        multiply(b, op, &b->run->plan->matrix[op->as.product.matrix - 1].w, 0, rows,
                 op->reads && rows <= RILL_GEMM_QUANTISED);
}

/* --- cells -------------------------------------------------------------------------------------------------------- */

static void lstm(dev_block *b, const dev_op *op)
{
    const dev_rows gates = dev_rows_at(b, &op->view[DEV_GATES]), c = dev_rows_at(b, &op->view[DEV_C]);
    const dev_rows c_out = dev_rows_at(b, &op->view[DEV_C_OUT]), h_out = dev_rows_at(b, &op->view[DEV_H_OUT]);
    const rill_lstm cell = {.rows = b->rows[op->space],
                            .hidden = op->as.lstm.hidden,
                            .gates = gates.at,
                            .ld_gates = gates.ld,
                            .c_prev = op->view[DEV_C].base != DEV_NOTHING ? c.at : NULL,
                            .ld_c_prev = c.ld,
                            .prev_index = c.index,
                            .c = c_out.at,
                            .h = h_out.at,
                            .ld_c = c_out.ld,
                            .ld_h = h_out.ld,
                            .out_index = c_out.index};
    b->run->kernels->lstm(&cell, b->pool);
}

static void gru(dev_block *b, const dev_op *op)
{
    const dev_rows input = dev_rows_at(b, &op->view[DEV_GATES]), hidden = dev_rows_at(b, &op->view[DEV_HIDDEN]);
    const dev_rows h = dev_rows_at(b, &op->view[DEV_H]), out = dev_rows_at(b, &op->view[DEV_H_OUT]);
    const rill_gru cell = {.rows = b->rows[op->space],
                           .hidden = op->as.gru.hidden,
                           .input = input.at,
                           .ld_input = input.ld,
                           .gates = hidden.at,
                           .ld_gates = hidden.ld,
                           .h_prev = op->view[DEV_H].base != DEV_NOTHING ? h.at : NULL,
                           .ld_h_prev = h.ld,
                           .prev_index = h.index,
                           .h = out.at,
                           .ld_h = out.ld,
                           .out_index = out.index};
    b->run->kernels->gru(&cell, b->pool);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

enum { SHARES = 1 << 20 }; /* of attention that are kept at a time; all of a long input's would go with its square */

static size_t attended_together(const dev_run *r, const dev_op *op, size_t longest)
{
    const size_t rows = r->layout.rows[op->space], most = SHARES / (op->as.attend.heads * (longest > 0 ? longest : 1));
    return most < 1 ? 1 : most < rows ? most : rows;
}

/* A block's paths: where each row's begins in `entry`, and how long it is. */
typedef struct paths {
    int32_t *first, *length, *entry;
} paths;

static paths paths_of(const dev_block *b, int32_t path)
{
    int32_t *memory = (int32_t *)(void *)(b->scratch + b->run->layout.path_at[path]);
    const size_t rows = b->run->layout.rows[RILL_ROWS];
    return (paths){memory, memory + rows, memory + 2 * rows};
}

static void walk_paths(dev_block *b, const dev_op *op)
{
    const dev_path *path = &b->run->program->path[op->path];
    const int32_t *node = dev_index_at(b, path->node), *parent = dev_index_at(b, path->parent),
                  *depth = dev_index_at(b, path->depth);
    int32_t *above = b->run->stream->above;
    const paths p = paths_of(b, op->path);
    int32_t used = 0;
    for (size_t r = 0; r < b->rows[RILL_ROWS]; r++) {
        if (parent != NULL) above[node[r]] = parent[r];
        p.first[r] = used;
        p.length[r] = depth[r] + 1;
        int32_t at = node[r];
        for (int32_t t = depth[r]; t >= 0; t--, at = above[at]) p.entry[used + t] = at;
        used += p.length[r];
    }
}

/* The mean over heads of rows' weights, to the host. */
static void watch(const dev_block *b, const dev_op *op, const rill_attention *a, size_t from)
{
    const rill_run_arguments *arguments = b->run->arguments;
    for (size_t r = 0; r < a->rows; r++) {
        const size_t row = dev_host_row(b, RILL_ROWS, from + r), slot = a->slot != NULL ? (size_t)a->slot[r] : from + r;
        float *mean = arguments->watched + row * arguments->ld_watched;
        for (size_t t = 0; t < (size_t)a->length[slot]; t++) {
            float sum = 0.0f;
            for (size_t h = 0; h < a->heads; h++) sum += a->weights[(r * a->heads + h) * a->ld_weights + t];
            mean[t] = sum / (float)op->as.attend.heads;
        }
    }
}

rill_attention dev_memory_of(dev_block *b, const dev_op *op)
{
    const rill_stream *s = b->run->stream;
    const dev_rows keys = dev_rows_at(b, &op->view[DEV_KEYS]), values = dev_rows_at(b, &op->view[DEV_VALUES]);
    rill_attention a = {.keys = keys.at,
                        .ld_keys = keys.ld,
                        .values = values.at,
                        .ld_values = values.ld,
                        .first = s->first,
                        .length = s->units,
                        .slot = dev_index_at(b, op->slot)};
    if (op->as.attend.own) {
        const rill_space space = b->run->program->value[op->view[DEV_KEYS].of].space;
        a.first = b->place[space];
        a.length = b->lengths[space];
    } else if (op->path >= 0) {
        const paths p = paths_of(b, op->path);
        a.first = p.first;
        a.length = p.length;
        a.path = p.entry;
    }
    return a;
}

static void attend(dev_block *b, const dev_op *op)
{
    const rill_attend *o = &op->as.attend;
    const size_t number = (size_t)(op - b->run->program->op), rows = b->rows[op->space], width = o->heads * o->width;
    const size_t longest = b->run->longest[number], together = attended_together(b->run, op, longest);
    size_t used = 0;
    const dev_rows query = dev_rows_at(b, &op->view[DEV_QUERY]), out = plain_out(b, op, DEV_OUT, width, &used);
    rill_attention a = dev_memory_of(b, op);
    const int32_t *slot = a.slot, *first = a.first, *length = a.length;
    a.heads = o->heads;
    a.key_width = o->width;
    a.scale = o->scale;
    a.ld_query = query.ld;
    a.ld_out = out.ld;
    a.weights = dev_work(b, &used, together * o->heads * longest, sizeof *a.weights);
    a.ld_weights = longest;
    for (size_t from = 0; from < rows; from += together) {
        const dev_rows asked = dev_rows_from(query, from);
        a.rows = rows - from < together ? rows - from : together;
        a.query = asked.at;
        a.query_index = asked.index;
        a.out = out.at + from * out.ld;
        a.slot = slot != NULL ? slot + from : NULL;
        a.first = slot != NULL ? first : first + from;
        a.length = slot != NULL ? length : length + from;
        b->run->kernels->attention(&a, b->pool);
        if (o->watch && b->run->arguments->watched != NULL) watch(b, op, &a, from);
    }
    put_plain(b, op, DEV_OUT, width, out);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static const float *constant_row(const dev_block *b, rill_constant constant)
{
    return constant != 0 ? b->run->plan->constant[constant - 1].data : NULL;
}

static void normalise(dev_block *b, const dev_op *op)
{
    const rill_normalise *o = &op->as.normalise;
    size_t used = 0;
    const dev_rows x = plain_in(b, op, DEV_X, o->width, &used), more = plain_in(b, op, DEV_RESIDUAL, o->width, &used);
    const dev_rows y = plain_out(b, op, DEV_OUT, o->width, &used);
    const rill_layer_norm norm = {.rows = b->rows[op->space],
                                  .width = o->width,
                                  .x = x.at,
                                  .ld_x = x.ld,
                                  .residual = op->view[DEV_RESIDUAL].base != DEV_NOTHING ? more.at : NULL,
                                  .ld_residual = more.ld,
                                  .gain = constant_row(b, o->gain),
                                  .bias = constant_row(b, o->bias),
                                  .eps = o->eps,
                                  .y = y.at,
                                  .ld_y = y.ld,
                                  .rms = o->rms};
    b->run->kernels->layer_norm(&norm, b->pool);
    put_plain(b, op, DEV_OUT, o->width, y);
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
    }
}

static void activate(dev_block *b, const dev_op *op)
{
    const rill_activate *o = &op->as.activate;
    const dev_rows x = dev_rows_at(b, &op->view[DEV_X]), gate = dev_rows_at(b, &op->view[DEV_GATE]);
    const dev_rows y = dev_rows_at(b, &op->view[DEV_OUT]);
    const int gated = op->view[DEV_GATE].base != DEV_NOTHING;
    for (size_t r = 0; r < b->rows[op->space]; r++) {
        float *to = row_at(y, r);
        activate_row(b->run->kernels, o->activation, o->width, row_at(x, r), to);
        const float *by = gated ? row_at(gate, r) : NULL;
        for (size_t i = 0; gated && i < o->width; i++) to[i] *= by[i];
    }
}

static void embed(dev_block *b, const dev_op *op)
{
    const rill_embedding *o = &op->as.embed;
    size_t used = 0;
    const dev_rows rows = dev_rows_at(b, &op->view[DEV_X]), position = dev_rows_at(b, &op->view[DEV_POSITION]);
    const dev_rows out = plain_out(b, op, DEV_OUT, o->width, &used);
    const rill_embed embedding = {.rows = b->rows[op->space],
                                  .width = o->width,
                                  .table = rows.at,
                                  .ld_table = rows.ld,
                                  .id = o->matrix != 0 ? dev_index_at(b, op->slot) : rows.index,
                                  .scale = o->scale,
                                  .position = op->view[DEV_POSITION].base != DEV_NOTHING ? position.at : NULL,
                                  .ld_position = position.ld,
                                  .pos = position.index,
                                  .out = out.at,
                                  .ld_out = out.ld,
                                  .packed = o->matrix != 0 ? &b->run->plan->matrix[o->matrix - 1].w : NULL};
    b->run->kernels->embed(&embedding, b->pool);
    put_plain(b, op, DEV_OUT, o->width, out);
}

/* Terms of a row added up in order, and what is below `least` brought up to it; NaN stays. Two and three at once are what a parser
 * does for every action: a pass over the row for each would take more than twice as long. */
static inline float at_least(float x, float least)
{
    return x < least ? least : x;
}

static void take_one(float *out, const float *a, size_t width, float least)
{
    for (size_t i = 0; i < width; i++) out[i] = at_least(a[i], least);
}

static void add_one(float *out, const float *a, size_t width, float least)
{
    for (size_t i = 0; i < width; i++) out[i] = at_least(out[i] + a[i], least);
}

static void add_two(float *out, const float *a, const float *b, size_t width, float least)
{
    for (size_t i = 0; i < width; i++) out[i] = at_least(a[i] + b[i], least);
}

static void add_three(float *out, const float *a, const float *b, const float *c, size_t width, float least)
{
    for (size_t i = 0; i < width; i++) out[i] = at_least(a[i] + b[i] + c[i], least);
}

static void sum_row(float *out, float *const *term, size_t terms, size_t width, float least)
{
    if (terms == 0) memset(out, 0, width * sizeof *out);
    if (terms == 1) take_one(out, term[0], width, least);
    if (terms == 2) add_two(out, term[0], term[1], width, least);
    if (terms >= 3) add_three(out, term[0], term[1], term[2], width, terms == 3 ? least : -INFINITY);
    for (size_t t = 3; t < terms; t++) add_one(out, term[t], width, t + 1 == terms ? least : -INFINITY);
}

/* The terms that are there, from the first on. */
static void sum(dev_block *b, const dev_op *op)
{
    const rill_sum *o = &op->as.sum;
    const float least = o->activation == RILL_RELU ? 0.0f : -INFINITY;
    const dev_rows out = dev_rows_at(b, &op->view[DEV_SUM_OUT]);
    dev_rows from[RILL_SUM_TERMS];
    for (int32_t i = 0; i < o->terms; i++) from[i] = dev_rows_at(b, &op->view[i]);
    for (size_t r = 0; r < b->rows[op->space]; r++) {
        float *term[RILL_SUM_TERMS];
        size_t terms = 0;
        for (int32_t i = 0; i < o->terms; i++)
            if ((term[terms] = row_or_none(from[i], r)) != NULL) terms++;
        sum_row(row_at(out, r), term, terms, o->width, least);
    }
}

static void copy(dev_block *b, const dev_op *op)
{
    gather(b, dev_rows_at(b, &op->view[DEV_X]), dev_rows_at(b, &op->view[DEV_OUT]), b->rows[op->space],
           op->as.copy.width);
}

static void mask(dev_block *b, const dev_op *op)
{
    const dev_rows x = dev_rows_at(b, &op->view[DEV_X]);
    const int32_t *slot = dev_index_at(b, op->slot);
    for (size_t r = 0; r < b->rows[op->space]; r++) {
        const dev_slot_list *list = dev_list_of(b->run, op->as.mask.list, slot[r]);
        float *row = x.at + r * x.ld;
        for (size_t i = 0; i < list->n; i++)
            if ((size_t)list->id[i] < op->as.mask.width) row[list->id[i]] = -INFINITY;
    }
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

size_t dev_op_work(const dev_run *r, const dev_op *op, size_t number)
{
    switch (op->kind) {
    case DEV_SCAN: return dev_scan_work(r, op);
    case DEV_BEST: return dev_best_work(r, op);
    case DEV_MIX: return dev_mix_work(r, op);
    case DEV_ATTEND:
        return plain_bytes(r, op, DEV_OUT, op->as.attend.heads * op->as.attend.width) +
               dev_lines(attended_together(r, op, r->longest[number]) * op->as.attend.heads * r->longest[number] *
                         sizeof(float));
    case DEV_NORMALISE:
        return plain_bytes(r, op, DEV_X, op->as.normalise.width) +
               plain_bytes(r, op, DEV_RESIDUAL, op->as.normalise.width) +
               plain_bytes(r, op, DEV_OUT, op->as.normalise.width);
    case DEV_EMBED: return plain_bytes(r, op, DEV_OUT, op->as.embed.width);
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
