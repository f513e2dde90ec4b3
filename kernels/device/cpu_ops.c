/* Operations on a block of rows. Each calls a kernel, which reads and writes the operands in place. */
#include <math.h>
#include <string.h>

#include "cpu.h"

/* --- matrix products ---------------------------------------------------------------------------------------------- */

size_t cpu_gemm_bytes(const cpu_run *r, const dev_op *op)
{
    rill_weights w = {.k = 1};
    if (op->kind == RILL_OP_SCAN)
        return rill_gemm_scratch_size(cpu_matrix(r, op->as.scan.recurrent), r->d.layout.max_rows[RILL_ROWS]);
    if (op->kind != RILL_OP_PRODUCT) return 0;
    if (op->as.product.vocab_subset == 0) {
        w = *cpu_matrix(r, op->as.product.matrix);
    } else {
        const dev_vocab_subset *subset = &r->d.network->subset[op->as.product.vocab_subset - 1];
        w.k = r->d.network->constant[subset->rows - 1].width;
        w.dtype = dev_dtype(subset->type);
    }
    return rill_gemm_scratch_size(&w, r->d.layout.max_rows[op->space]);
}

static void multiply_rows(cpu_block *b, const dev_op *op, const rill_weights *w, size_t first, size_t rows,
                          int quantised)
{
    const rill_product *p = &op->as.product;
    const dev_operand *view = op->view;
    const rill_gemm gemm = {.w = w,
                            .rows = rows,
                            .a = cpu_skip_rows(cpu_operand(b, &view[PRODUCT_a]), first),
                            .a2 = cpu_skip_rows(cpu_operand(b, &view[PRODUCT_a2]), first),
                            .k1 = w->k - p->k2,
                            .bias = cpu_constant_row(b->run, p->bias),
                            .add = cpu_skip_rows(cpu_operand(b, &view[PRODUCT_add]), first),
                            .activation = p->activation,
                            .c = cpu_skip_rows(cpu_operand(b, &view[PRODUCT_out]), first),
                            .scratch = b->scratch + b->run->gemm_offset,
                            .reuse_quantised = quantised};
    b->run->kernels->gemm(&gemm, b->pool);
}

/* Multiply each row by the output weights of its input's vocabulary subset, with one GEMM for adjacent rows of an input. */
static void multiply_subsets(cpu_block *b, const dev_op *op)
{
    const int32_t *slot = dev_index_entries(&b->d, op->slot);
    const size_t rows = b->d.rows[op->space];
    for (size_t r = 0, n; r < rows; r += n) {
        n = cpu_count_same_slot(slot, r, rows);
        if (cpu_slot_subset(b->run, op->as.product.vocab_subset, slot[r])->n > 0)
            multiply_rows(b, op, &cpu_slot_weights(b->run, op->as.product.vocab_subset, slot[r])->w, r, n, 0);
    }
}

static void product(cpu_block *b, const dev_op *op)
{
    const size_t rows = b->d.rows[op->space];
    if (op->as.product.vocab_subset != 0)
        multiply_subsets(b, op);
    else
        multiply_rows(b, op, cpu_matrix(b->run, op->as.product.matrix), 0, rows,
                      op->reuse_quantised && rows <= RILL_GEMM_QUANT_ROWS);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

/* maximum number of attention weights (floats) kept at a time; all would take memory quadratic in the input's length */
enum { MAX_WEIGHTS = 1 << 20 };

static size_t attention_batch_rows(const cpu_run *r, const dev_op *op, size_t longest)
{
    const size_t wanted = ((const cpu_device *)r->d.network->device->data)->max_attention_weights,
                 max_weights = wanted > 0 ? wanted : MAX_WEIGHTS;
    const size_t rows = r->d.layout.max_rows[op->space],
                 max_rows = max_weights / (op->as.attend.heads * (longest > 0 ? longest : 1));
    return max_rows < 1 ? 1 : max_rows < rows ? max_rows : rows;
}

/* Return the paths of a block's rows: for each row the state ids from the root to its own. */
static int32_t *path_entries(const cpu_block *b, int32_t path)
{
    return (int32_t *)(void *)(b->scratch + b->run->d.layout.entry_offset[path]);
}

static void walk_paths(cpu_block *b, const dev_op *op)
{
    const dev_path *path = &b->run->d.graph->path[op->path];
    const int32_t *node = dev_index_entries(&b->d, path->node), *parent = dev_index_entries(&b->d, path->parent),
                  *depth = dev_index_entries(&b->d, path->depth);
    int32_t *above = b->run->cpu->table[b->run->d.network->n_tables], *entry = path_entries(b, op->path);
    (void)dev_make_path(&b->d, op);
    for (size_t r = 0; r < b->d.rows[RILL_ROWS]; r++, entry += depth[r - 1] + 1) {
        if (parent != NULL) above[node[r]] = parent[r];
        int32_t cur = node[r];
        for (int32_t t = depth[r]; t >= 0; t--, cur = above[cur]) entry[t] = cur;
    }
}

/* Write each row's attention weights, averaged over the first watched_heads heads, to the host, which uses them as the alignment. */
static void copy_watched_weights(const cpu_block *b, const dev_op *op, const rill_attention *a, size_t from)
{
    const rill_run_arguments *arguments = b->run->d.arguments;
    for (size_t r = 0; r < a->rows; r++) {
        const size_t row = dev_host_row(&b->d, RILL_ROWS, from + r), slot = a->slot != NULL ? (size_t)a->slot[r] : r;
        float *mean = arguments->watched + row * arguments->ld_watched;
        for (size_t t = 0; t < (size_t)a->length[slot]; t++) {
            float sum = 0.0f;
            for (size_t h = 0; h < op->as.attend.watched_heads; h++)
                sum += a->weights[(r * a->heads + h) * a->ld_weights + t];
            mean[t] = sum / (float)op->as.attend.watched_heads;
        }
    }
}

static void attend(cpu_block *b, const dev_op *op)
{
    const rill_attend *o = &op->as.attend;
    const size_t number = (size_t)(op - b->run->d.graph->op), rows = b->d.rows[op->space];
    const size_t longest = b->run->d.max_length[number], batch_rows = attention_batch_rows(b->run, op, longest);
    size_t used = 0;
    const rill_operand query = cpu_operand(b, &op->view[ATTEND_query]), out = cpu_operand(b, &op->view[ATTEND_out]);
    const dev_memory memory = dev_attended_memory(&b->d, op);
    const int32_t *slot = memory.slot, *first = memory.first, *length = memory.length,
                  *place = dev_index_entries(&b->d, op->position);
    rill_attention a = {.heads = o->heads,
                        .width = o->width,
                        .value_width = o->value_width,
                        .scale = o->scale,
                        .additive = cpu_constant_row(b->run, o->additive),
                        .relative = cpu_constant_row(b->run, o->relative),
                        .reach = dev_reach(b->run->d.network, o),
                        .keys = cpu_operand(b, &op->view[ATTEND_keys]),
                        .values = cpu_operand(b, &op->view[ATTEND_values]),
                        .path = op->path >= 0 ? path_entries(b, op->path) : NULL};
    a.weights = cpu_alloc_work(b, &used, batch_rows * o->heads * longest, sizeof *a.weights);
    a.ld_weights = longest;
    for (size_t from = 0; from < rows; from += batch_rows) {
        a.rows = rows - from < batch_rows ? rows - from : batch_rows;
        a.query = cpu_skip_rows(query, from);
        a.out = cpu_skip_rows(out, from);
        a.slot = slot != NULL ? slot + from : NULL;
        a.position = place != NULL ? place + from : NULL;
        a.first = slot != NULL ? first : first + from;
        a.length = slot != NULL ? length : length + from;
        b->run->kernels->attention(&a, b->pool);
        if (o->watched_heads && b->run->d.arguments->watched != NULL) copy_watched_weights(b, op, &a, from);
    }
}

/* --- operations on rows ------------------------------------------------------------------------------------------- */

/* Run a row operation: pass all of its operands to its kernel. */
static void run_row_op(cpu_block *b, const dev_op *op)
{
    rill_row_call call = {.rows = b->d.rows[op->space], .width = op->width, .op = &op->as};
    for (size_t i = 0; i < op->n_views; i++) call.x[i] = cpu_operand(b, &op->view[i]);
    if (op->kind == RILL_OP_EMBED && op->as.embed.matrix != 0) {
        call.packed = cpu_matrix(b->run, op->as.embed.matrix);
        call.x[EMBED_rows].index = dev_index_entries(&b->d, op->slot);
    }
    rill_run_rows(b->run->kernels, op->kind, &call, b->pool);
}

static void mask(cpu_block *b, const dev_op *op)
{
    const rill_operand x = cpu_operand(b, &op->view[MASK_x]);
    const int32_t *slot = dev_index_entries(&b->d, op->slot);
    for (size_t r = 0; r < b->d.rows[op->space]; r++) {
        const dev_slot_subset *subset = cpu_slot_subset(b->run, op->as.mask.vocab_subset, slot[r]);
        float *row = rill_operand_row(&x, r);
        for (size_t i = 0; i < subset->n; i++)
            if ((size_t)subset->id[i] < op->width) row[subset->id[i]] = -INFINITY;
    }
}

/* --- recurrent layers --------------------------------------------------------------------------------------------- */

/* A scan: a recurrent layer over the tokens of a block's sequences, in parallel, longest first. Before step t the first `live` positions
 * hold the sequences longer than t. */
typedef struct scan_state {
    cpu_block *b;
    const rill_scan *o;
    const dev_op *op;
    const rill_weights *w;
    size_t gates_width, ld, ld_gates, inputs;
    int32_t *order;          /* [inputs] sequences by descending length */
    int32_t *index;          /* [inputs] row of `input` that each live sequence reads at the current step */
    float *h, *c;            /* [inputs, ld] hidden states, and cell states */
    float *gates;            /* [inputs, ld_gates] gate values before the activation, for the current step */
    rill_operand input, out; /* operands: the gates' input part, and the layer's outputs */
    /* [inputs] row of token 0 in `input`; if `input` has an index, position of token 0 in that index */
    const int32_t *first;
    const int32_t *unit;   /* [inputs] row of the sequence's token 0 among all tokens of the block */
    const int32_t *length; /* [inputs] number of tokens of each sequence */
} scan_state;

static size_t gates_width(const rill_scan *o)
{
    return (o->cell == RILL_CELL_GRU ? 3 : 4) * o->hidden;
}

static size_t scan_work_bytes(const cpu_run *r, const dev_op *op)
{
    const size_t inputs = r->d.layout.max_rows[RILL_ROWS], ld = dev_padded(op->as.scan.hidden);
    const size_t each = (2 * ld + dev_padded(gates_width(&op->as.scan))) * sizeof(float) + 2 * sizeof(int32_t);
    return inputs * each + 5 * DEV_LINE;
}

static void open_scan(scan_state *s, cpu_block *b, const dev_op *op)
{
    const rill_scan *o = &op->as.scan;
    size_t used = 0;
    *s = (scan_state){.b = b, .o = o, .op = op, .w = cpu_matrix(b->run, o->recurrent)};
    s->inputs = b->d.rows[RILL_ROWS];
    s->gates_width = gates_width(o);
    s->ld = dev_padded(o->hidden);
    s->ld_gates = dev_padded(s->gates_width);
    s->order = cpu_alloc_work(b, &used, s->inputs, sizeof *s->order);
    s->index = cpu_alloc_work(b, &used, s->inputs, sizeof *s->index);
    s->h = cpu_alloc_work(b, &used, s->inputs * s->ld, sizeof *s->h);
    s->c = cpu_alloc_work(b, &used, s->inputs * s->ld, sizeof *s->c);
    s->gates = cpu_alloc_work(b, &used, s->inputs * s->ld_gates, sizeof *s->gates);
    s->input = cpu_operand(b, &op->view[SCAN_gates]);
    s->out = cpu_operand(b, &op->view[SCAN_out]);
    s->unit = b->d.child_row[o->space];
    s->length = b->d.lengths[o->space];
    s->first = s->unit;
    if (op->view[SCAN_gates].base == DEV_BASE_TENSOR)
        s->first = b->d.child_row[b->run->d.graph->tensor[op->view[SCAN_gates].element].space];
    dev_sort_by_length(s->inputs, s->length, s->order);
}

/* Return the token that a sequence reads at step t; a backward scan counts from the last token. */
static int32_t step_unit(const scan_state *s, int32_t input, int32_t t)
{
    return s->o->backward ? s->length[input] - 1 - t : t;
}

static void find_inputs(const scan_state *s, size_t live, int32_t t)
{
    for (size_t i = 0; i < live; i++) {
        const int32_t input = s->order[i], row = s->first[input] + step_unit(s, input, t) + s->o->shift;
        s->index[i] = s->input.index != NULL ? s->input.index[row] : row;
    }
}

static rill_operand dense_rows(float *data, size_t ld)
{
    return (rill_operand){.data = data, .ld = ld};
}

/* Run step t of an LSTM for the first `live` sequences. Step 0 needs no recurrent GEMM, because h is zero. */
static void step_lstm(const scan_state *s, size_t live, int32_t t)
{
    const rill_kernels *k = s->b->run->kernels;
    const rill_operand input = {.data = s->input.data, .ld = s->input.ld, .index = s->index};
    const rill_operand gates = dense_rows(s->gates, s->ld_gates), h = dense_rows(s->h, s->ld),
                       c = dense_rows(s->c, s->ld);
    const rill_row_call begin = {.rows = live, .width = s->gates_width, .x = {[COPY_x] = input, [COPY_out] = gates}};
    const rill_gemm product = {
        .w = s->w, .rows = live, .a = h, .add = input, .c = gates, .scratch = s->b->scratch + s->b->run->gemm_offset};
    rill_row_call cell = {
        .rows = live, .width = s->o->hidden, .x = {[LSTM_gates] = gates, [LSTM_c_out] = c, [LSTM_h_out] = h}};
    if (t > 0) cell.x[LSTM_c] = c;
    if (t == 0)
        rill_run_rows(k, RILL_OP_COPY, &begin, s->b->pool);
    else
        k->gemm(&product, s->b->pool);
    rill_run_rows(k, RILL_OP_LSTM, &cell, s->b->pool);
}

/* Step t of a GRU for the first `live` sequences. The kernel adds the input part of the gates after the reset gate. */
static void step_gru(const scan_state *s, size_t live, int32_t t)
{
    const rill_kernels *k = s->b->run->kernels;
    const rill_operand input = {.data = s->input.data, .ld = s->input.ld, .index = s->index};
    const rill_operand gates = dense_rows(s->gates, s->ld_gates), h = dense_rows(s->h, s->ld);
    const rill_gemm product = {.w = s->w,
                               .rows = live,
                               .a = h,
                               .bias = cpu_constant_row(s->b->run, s->o->recurrent_bias),
                               .c = gates,
                               .scratch = s->b->scratch + s->b->run->gemm_offset};
    const rill_row_call cell = {.rows = live,
                                .width = s->o->hidden,
                                .x = {[GRU_input] = input, [GRU_hidden_gates] = gates, [GRU_h] = h, [GRU_h_out] = h}};
    if (t == 0) memset(s->h, 0, live * s->ld * sizeof *s->h);
    k->gemm(&product, s->b->pool);
    rill_run_rows(k, RILL_OP_GRU, &cell, s->b->pool);
}

static void write_outputs(const scan_state *s, size_t live, int32_t t)
{
    if (s->op->view[SCAN_out].base == DEV_BASE_NONE) return;
    for (size_t i = 0; i < live; i++) {
        const size_t row = (size_t)(s->unit[s->order[i]] + step_unit(s, s->order[i], t));
        memcpy(rill_operand_row(&s->out, row), s->h + i * s->ld, s->o->hidden * sizeof *s->h);
    }
}

/* Write the state after each sequence's last step to the operand `view`, in the row of the sequence; zeros for an empty sequence. */
static void write_last_states(const scan_state *s, int view, const float *states)
{
    if (s->op->view[view].base == DEV_BASE_NONE) return;
    const rill_operand to = cpu_operand(s->b, &s->op->view[view]);
    for (size_t i = 0; i < s->inputs; i++) {
        const size_t input = (size_t)s->order[i];
        float *last = rill_operand_row(&to, input);
        if (s->length[input] > 0)
            memcpy(last, states + i * s->ld, s->o->hidden * sizeof *last);
        else
            memset(last, 0, s->o->hidden * sizeof *last);
    }
}

static void scan(cpu_block *b, const dev_op *op)
{
    scan_state s;
    open_scan(&s, b, op);
    size_t live = s.inputs;
    for (int32_t t = 0;; t++) {
        while (live > 0 && s.length[s.order[live - 1]] <= t) live--;
        if (live == 0) break;
        find_inputs(&s, live, t);
        if (s.o->cell == RILL_CELL_GRU)
            step_gru(&s, live, t);
        else
            step_lstm(&s, live, t);
        write_outputs(&s, live, t);
    }
    write_last_states(&s, SCAN_last_h, s.h);
    write_last_states(&s, SCAN_last_c, s.c);
}

/* --- running an operation ----------------------------------------------------------------------------------------- */

size_t cpu_op_work_bytes(const cpu_run *r, const dev_op *op, size_t number)
{
    switch (op->kind) {
    case RILL_OP_SCAN: return scan_work_bytes(r, op);
    case RILL_OP_BEST:
    case RILL_OP_MIX: return cpu_choices_work_bytes(r, op);
    case RILL_OP_ATTEND:
        return dev_lines(attention_batch_rows(r, op, r->d.max_length[number]) * op->as.attend.heads *
                         r->d.max_length[number] * sizeof(float));
    default: return 0;
    }
}

void cpu_op_run(cpu_block *b, const dev_op *op)
{
    if (b->d.rows[op->space] == 0 && op->kind != RILL_OP_SCAN) return;
    switch (op->kind) {
    case RILL_OP_PRODUCT: product(b, op); break;
    case RILL_OP_SCAN: scan(b, op); break;
    case RILL_OP_ATTEND: attend(b, op); break;
    case RILL_OP_MASK: mask(b, op); break;
    case RILL_OP_PATH: walk_paths(b, op); break;
    case RILL_OP_BEST: cpu_best(b, op); break;
    case RILL_OP_MIX: cpu_mix(b, op); break;
    default: run_row_op(b, op); break;
    }
}
