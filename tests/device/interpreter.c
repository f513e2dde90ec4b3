/* The reference interpreter; see interpreter.h.
 *
 * Sections: the run · views · products · cells and scans · attention · rows · the whole. */
#include "interpreter_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/cuda/half.h"

/* --- the run ------------------------------------------------------------------------------------------------------ */

void *interpret_alloc(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size + 64);
    if (memory == NULL) abort();
    return memory;
}

/* Value of a column for a row. `row` is an index in the space; the column may belong to its root space. */
int32_t column_value(const interpretation *x, rill_index_space space, int32_t row, rill_column column)
{
    for (; space != x->t->column[column].space; space = x->t->space[space].parent_space)
        row = x->space[space].origin[row];
    return x->t->column[column].entry[row];
}

static void make_space(interpretation *x, rill_index_space s)
{
    const rill_index_space parent = x->t->space[s].parent_space;
    const rill_column column = x->t->space[s].column;
    const size_t n = x->space[parent].rows;
    size_t max_rows = n, rows = 0;
    if (x->t->space[s].kind == SPEC_SPACE_RAGGED)
        for (size_t r = 0; r < n; r++) max_rows += (size_t)x->t->column[column].entry[r];
    x->space[s].origin = interpret_alloc(max_rows, sizeof(int32_t));
    x->space[s].value = interpret_alloc(max_rows, sizeof(int32_t));
    x->space[s].first = interpret_alloc(n, sizeof(int32_t));
    for (size_t r = 0; r < n; r++) {
        const int32_t entry = column_value(x, parent, (int32_t)r, column);
        size_t more = entry >= 0;
        x->space[s].first[r] = (int32_t)rows;
        if (x->t->space[s].kind == SPEC_SPACE_RAGGED) more = (size_t)entry;
        for (size_t i = 0; x->t->space[s].kind == SPEC_SPACE_DISTINCT && i < rows; i++)
            if (x->space[s].value[i] == entry) more = 0;
        for (; more > 0; more--) {
            x->space[s].origin[rows] = (int32_t)r;
            x->space[s].value[rows++] = entry;
        }
    }
    x->space[s].rows = rows;
}

/* --- views -------------------------------------------------------------------------------------------------------- */

static int is_derived(const net_spec *t, rill_index_space space, rill_index_space from)
{
    while (space != from && space != RILL_ROWS) space = t->space[space].parent_space;
    return space == from;
}

static int32_t row_in_derived(const interpretation *x, rill_index_space from, int32_t row, rill_index_space to)
{
    if (to == from) return row;
    const rill_index_space parent = x->t->space[to].parent_space;
    const int32_t above = row_in_derived(x, from, row, parent);
    for (size_t r = 0; above >= 0 && r < x->space[to].rows; r++) {
        const int same = x->t->space[to].kind == SPEC_SPACE_DISTINCT
                             ? x->space[to].value[r] == column_value(x, parent, above, x->t->space[to].column)
                             : x->space[to].origin[r] == above;
        if (same) return (int32_t)r;
    }
    return -1;
}

static int32_t row_in_space(const interpretation *x, rill_index_space space, int32_t row, rill_index_space to)
{
    for (; !is_derived(x->t, to, space); space = x->t->space[space].parent_space) row = x->space[space].origin[row];
    return row_in_derived(x, space, row, to);
}

static int32_t row_number_in(const interpretation *x, rill_index_space space, int32_t row, rill_column column)
{
    if (column != RILL_OWN) return column_value(x, space, row, column);
    if (x->t->space[space].kind == SPEC_SPACE_DISTINCT) return x->space[space].value[row];
    return row - x->space[space].first[x->space[space].origin[row]];
}

static size_t value_width(const interpretation *x, rill_tensor v)
{
    return x->t->value[v].width;
}

/* Address of a view's floats for a row; NULL if the row is absent. */
float *view_data(const interpretation *x, spec_view l, rill_index_space space, int32_t row)
{
    const net_spec *t = x->t;
    int32_t index_row = -1;
    if (l.kind == SPEC_VIEW_NONE) return NULL;
    if (l.kind == SPEC_VIEW_VALUE) index_row = row_in_space(x, space, row, t->value[l.source].space);
    if (l.kind == SPEC_VIEW_UNIT) {
        const int32_t input = row_in_space(x, space, row, RILL_ROWS);
        index_row = x->space[t->value[l.source].space].first[input] + column_value(x, space, row, l.row);
    }
    if (l.kind == SPEC_VIEW_VALUE || l.kind == SPEC_VIEW_UNIT)
        return index_row < 0 ? NULL : x->value[l.source] + (size_t)index_row * value_width(x, l.source) + l.first;
    index_row = row_number_in(x, space, row, l.row);
    if (index_row < 0) return NULL;
    if (l.kind == SPEC_VIEW_CONSTANT)
        return t->constant[l.source].data + (size_t)index_row * t->constant[l.source].width + l.first;
    if (l.kind == SPEC_VIEW_TABLE) return x->w->rows[l.source] + (size_t)index_row * t->table[l.source].width + l.first;
    return x->w->ragged[l.source][column_value(x, space, row, l.slot)] + (size_t)index_row * t->table[l.source].width +
           l.first;
}

static const float *constant_data(const interpretation *x, rill_constant constant)
{
    return constant > 0 ? x->t->constant[constant].data : NULL;
}

/* --- products ----------------------------------------------------------------------------------------------------- */

static void multiply(const interpretation *x, rill_weight_type type, size_t n, size_t k, const float *w,
                     rill_gemm gemm);

static float *round_to_f16(const float *x, size_t n)
{
    float *y = malloc((n + 1) * sizeof *y);
    if (y == NULL) abort();
    for (size_t i = 0; i < n; i++) y[i] = gpu_f16_to_float(gpu_float_to_f16(x[i]));
    return y;
}

/* Multiply one row by a matrix in f16, which CPU kernels lack: round both, then multiply in fp32. */
static void multiply_f16(const interpretation *x, size_t n, size_t k, const float *w, rill_gemm gemm)
{
    const size_t k2 = gemm.a2.data != NULL ? k - gemm.k1 : 0;
    float *a = round_to_f16(rill_operand_row(&gemm.a, 0), k - k2), *rounded = round_to_f16(w, n * k);
    float *a2 = k2 > 0 ? round_to_f16(rill_operand_row(&gemm.a2, 0), k2) : NULL;
    gemm.a = (rill_operand){.data = a, .ld = k};
    gemm.a2 = (rill_operand){.data = a2, .ld = k};
    multiply(x, RILL_WEIGHT_F32, n, k, rounded, gemm);
    free(a);
    free(a2);
    free(rounded);
}

/* Multiply one row by a matrix that is packed for this row. */
static void multiply(const interpretation *x, rill_weight_type type, size_t n, size_t k, const float *w, rill_gemm gemm)
{
    static const rill_dtype dtypes[] = {RILL_DTYPE_F32, RILL_DTYPE_BF16, RILL_DTYPE_U8S8};
    if (type == RILL_WEIGHT_F16) {
        multiply_f16(x, n, k, w, gemm);
        return;
    }
    rill_weights packed;
    void *memory = aligned_alloc(64, (rill_gemm_pack_size(n, k, dtypes[type]) + 63) / 64 * 64);
    if (memory == NULL || rill_gemm_pack_f32(&packed, n, k, w, k, dtypes[type], memory) != 0) abort();
    void *scratch = aligned_alloc(64, rill_gemm_scratch_size(&packed, 1) / 64 * 64 + 64);
    gemm.w = &packed;
    gemm.rows = 1;
    gemm.scratch = scratch;
    x->k->gemm(&gemm, NULL);
    free(memory);
    free(scratch);
}

static void interpret_subset_product(const interpretation *x, const spec_op *op, int32_t r)
{
    const rill_product *p = &op->as.product;
    const int32_t slot = column_value(x, op->space, r, p->vocab_subset_slot), n = x->w->symbols[p->vocab_subset][slot];
    const rill_constant rows = x->t->vocab_subset[p->vocab_subset].rows;
    const size_t k = x->t->constant[rows].width;
    float *w = interpret_alloc((size_t)n * k, sizeof *w), *out = view_data(x, op->view[3], op->space, r);
    for (int32_t i = 0; i < n; i++)
        memcpy(w + (size_t)i * k, x->t->constant[rows].data + (size_t)x->w->symbol[p->vocab_subset][slot][i] * k,
               k * sizeof *w);
    const rill_gemm gemm = {
        .a = {view_data(x, op->view[0], op->space, r), k}, .activation = p->activation, .c = {out, (size_t)n}};
    if (n > 0) multiply(x, x->t->vocab_subset[p->vocab_subset].type, (size_t)n, k, w, gemm);
    free(w);
}

static void interpret_product(const interpretation *x, const spec_op *op, int32_t r)
{
    const rill_product *p = &op->as.product;
    if (p->vocab_subset > 0) {
        interpret_subset_product(x, op, r);
        return;
    }
    const size_t n = x->t->matrix[p->matrix].n, k = x->t->matrix[p->matrix].k;
    float *out = view_data(x, op->view[3], op->space, r), *add = view_data(x, op->view[2], op->space, r),
          *sum = interpret_alloc(n, sizeof *sum);
    if (add != NULL) add = memcpy(interpret_alloc(n, sizeof *add), add, n * sizeof *add);
    const rill_gemm gemm = {.a = {view_data(x, op->view[0], op->space, r), k - p->k2},
                            .a2 = {p->k2 > 0 ? view_data(x, op->view[1], op->space, r) : NULL, p->k2},
                            .k1 = k - p->k2,
                            .bias = constant_data(x, p->bias),
                            .add = {add, n},
                            .activation = p->activation,
                            .c = {sum, n}};
    multiply(x, x->t->matrix[p->matrix].type, n, k, x->t->matrix[p->matrix].w, gemm);
    memcpy(out, sum, n * sizeof *out);
    free(add);
    free(sum);
}

/* --- cells and scans ---------------------------------------------------------------------------------------------- */

static void lstm_cell(const interpretation *x, size_t hidden, float *gates, float *c, float *c_out, float *h_out)
{
    const rill_row_call cell = {
        .rows = 1,
        .width = hidden,
        .x = {[LSTM_gates] = {gates}, [LSTM_c] = {c}, [LSTM_c_out] = {c_out}, [LSTM_h_out] = {h_out}}};
    rill_run_rows(x->k, RILL_OP_LSTM, &cell, NULL);
}

static void gru_cell(const interpretation *x, size_t hidden, float *input, float *gates, float *h, float *out)
{
    const rill_row_call cell = {
        .rows = 1,
        .width = hidden,
        .x = {[GRU_input] = {input}, [GRU_hidden_gates] = {gates}, [GRU_h] = {h}, [GRU_h_out] = {out}}};
    rill_run_rows(x->k, RILL_OP_GRU, &cell, NULL);
}

/* Return the input of the gates for unit u of input i. */
static float *scan_input(const interpretation *x, const spec_op *op, int32_t i, int32_t u)
{
    const spec_view *l = &op->view[0];
    const rill_index_space s = op->as.scan.space;
    if (l->kind == SPEC_VIEW_CONSTANT) return view_data(x, *l, s, x->space[s].first[i] + u);
    const int32_t row = x->space[x->t->value[l->source].space].first[i] + u + op->as.scan.shift;
    return x->value[l->source] + (size_t)row * value_width(x, l->source) + l->first;
}

static void scan_step(const interpretation *x, const rill_scan *o, float *input, int first, float *h, float *c)
{
    const size_t hidden = o->hidden, width = o->cell == RILL_CELL_GRU ? 3 * hidden : 4 * hidden;
    float *gates = interpret_alloc(width, sizeof *gates), *h_prev = interpret_alloc(hidden, sizeof *h_prev);
    memcpy(h_prev, h, hidden * sizeof *h);
    rill_gemm gemm = {.a = {h_prev, hidden}, .c = {gates, width}};
    if (o->cell == RILL_CELL_GRU) {
        gemm.bias = constant_data(x, o->recurrent_bias);
        multiply(x, x->t->matrix[o->recurrent].type, width, hidden, x->t->matrix[o->recurrent].w, gemm);
        gru_cell(x, hidden, input, gates, h_prev, h);
    } else {
        gemm.add = (rill_operand){input, width, NULL};
        if (first)
            memcpy(gates, input, width * sizeof *gates);
        else
            multiply(x, x->t->matrix[o->recurrent].type, width, hidden, x->t->matrix[o->recurrent].w, gemm);
        float *cell = interpret_alloc(hidden, sizeof *cell);
        memcpy(cell, c, hidden * sizeof *c);
        lstm_cell(x, hidden, gates, first ? NULL : cell, c, h);
        free(cell);
    }
    free(gates);
    free(h_prev);
}

static void interpret_scan(const interpretation *x, const spec_op *op)
{
    const rill_scan *o = &op->as.scan;
    const size_t bytes = o->hidden * sizeof(float);
    for (int32_t i = 0; i < x->a->n; i++) {
        const int32_t length = x->t->column[x->t->space[o->space].column].entry[i];
        float *h = interpret_alloc(o->hidden, sizeof *h), *c = interpret_alloc(o->hidden, sizeof *c), *to;
        for (int32_t t = 0; t < length; t++) {
            const int32_t u = o->backward ? length - 1 - t : t;
            scan_step(x, o, scan_input(x, op, i, u), t == 0, h, c);
            if ((to = view_data(x, op->view[1], o->space, x->space[o->space].first[i] + u)) != NULL)
                memcpy(to, h, bytes);
        }
        if ((to = view_data(x, op->view[2], RILL_ROWS, i)) != NULL) memcpy(to, h, bytes);
        if ((to = view_data(x, op->view[3], RILL_ROWS, i)) != NULL) memcpy(to, c, bytes);
        free(h);
        free(c);
    }
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

static void interpret_path(interpretation *x, const spec_op *op, int32_t number)
{
    x->path[number] = interpret_alloc((size_t)x->a->n * SPEC_MAX_NODES, sizeof(int32_t));
    x->path_length[number] = interpret_alloc((size_t)x->a->n, sizeof(int32_t));
    for (int32_t r = 0; r < x->a->n; r++) {
        int32_t node = x->t->column[op->node].entry[r];
        const int32_t depth = x->t->column[op->depth].entry[r];
        if (op->parent > 0) x->w->parent[node] = x->t->column[op->parent].entry[r];
        x->path_length[number][r] = depth + 1;
        for (int32_t t = depth; t >= 0; t--, node = x->w->parent[node])
            x->path[number][(size_t)r * SPEC_MAX_NODES + (size_t)t] = node;
    }
}

/* Return the t-th row that row r attends to; *length: how many there are. */
static const float *attended_row(const interpretation *x, const spec_op *op, int32_t r, int32_t t, spec_view l,
                                 int32_t *length)
{
    const rill_attend *o = &op->as.attend;
    const int32_t input = row_in_space(x, op->space, r, RILL_ROWS);
    if (o->own_units) {
        const rill_index_space s = x->t->value[l.source].space;
        *length = x->t->column[x->t->space[s].column].entry[input];
        return x->value[l.source] + (size_t)(x->space[s].first[input] + t) * value_width(x, l.source) + l.first;
    }
    const size_t width = x->t->table[l.source].width;
    if (o->path > 0) {
        *length = x->path_length[o->path][input];
        const int32_t node = x->path[o->path][(size_t)input * SPEC_MAX_NODES + (size_t)t];
        return x->w->rows[l.source] + (size_t)node * width + l.first;
    }
    const int32_t slot = column_value(x, op->space, r, o->slot);
    *length = x->w->units[slot];
    return x->w->ragged[l.source][slot] + (size_t)t * width + l.first;
}

static void interpret_attend(const interpretation *x, const spec_op *op, int32_t r)
{
    const rill_attend *o = &op->as.attend;
    const size_t width = o->heads * o->width, columns = o->value_width > 0 ? o->value_width : o->width,
                 wide = o->heads * columns;
    int32_t length, first = 0;
    (void)attended_row(x, op, r, 0, op->view[1], &length);
    const size_t n = (size_t)length;
    float *keys = interpret_alloc(n * width, sizeof *keys), *values = interpret_alloc(n * wide, sizeof *values);
    float *weights = interpret_alloc(n * o->heads, sizeof *weights), *out = interpret_alloc(wide, sizeof *out);
    const int32_t place = o->own_units && o->relative != 0
                              ? r - x->space[op->space].first[row_in_space(x, op->space, r, RILL_ROWS)]
                              : length - 1;
    for (int32_t t = 0; t < length; t++) {
        memcpy(keys + (size_t)t * width, attended_row(x, op, r, t, op->view[1], &length), width * sizeof *keys);
        memcpy(values + (size_t)t * wide, attended_row(x, op, r, t, op->view[2], &length), wide * sizeof *values);
    }
    const rill_attention attention = {.rows = 1,
                                      .width = o->width,
                                      .value_width = columns,
                                      .heads = o->heads,
                                      .scale = o->scale,
                                      .additive = constant_data(x, o->additive),
                                      .relative = constant_data(x, o->relative),
                                      .reach = o->relative != 0 ? x->t->constant[o->relative].width / 2 : 0,
                                      .position = &place,
                                      .query = {view_data(x, op->view[0], op->space, r), width},
                                      .keys = {keys, width},
                                      .values = {values, wide},
                                      .first = &first,
                                      .length = &length,
                                      .weights = weights,
                                      .ld_weights = n,
                                      .out = {out, wide}};
    x->k->attention(&attention, NULL);
    memcpy(view_data(x, op->view[3], op->space, r), out, wide * sizeof *out);
    for (size_t t = 0; o->watched_heads && t < n; t++) {
        float sum = 0.0f;
        for (size_t h = 0; h < o->watched_heads; h++) sum += weights[h * n + t];
        x->a->watched[(size_t)r * x->a->ld_watched + t] = sum / (float)o->watched_heads;
    }
    free(keys), free(values), free(weights), free(out);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Activations round in many places, so the reference calls the kernel on one element. */
static float activated(const interpretation *x, rill_activation activation, float from)
{
    float y;
    const rill_op op = {.activate = {.activation = activation}};
    const rill_row_call call = {.rows = 1, .width = 1, .op = &op, .x = {[ACTIVATE_x] = {&from}, [ACTIVATE_y] = {&y}}};
    rill_run_rows(x->k, RILL_OP_ACTIVATE, &call, NULL);
    return y;
}

/* Element j of the output of a row operation whose elements do not depend on each other. */
static float interpret_element(const interpretation *x, const spec_op *op, float *const *row, size_t j)
{
    float y = 0.0f;
    switch (op->kind) {
    case RILL_OP_COPY: return row[COPY_x] != NULL ? row[COPY_x][j] : 0.0f;
    case RILL_OP_ACTIVATE:
        y = activated(x, op->as.activate.activation, row[ACTIVATE_x][j]);
        return row[ACTIVATE_gate] != NULL ? y * row[ACTIVATE_gate][j] : y;
    case RILL_OP_EMBED:
        if (row[EMBED_rows] != NULL) y = op->as.embed.scale * row[EMBED_rows][j];
        return row[EMBED_position] != NULL ? y + row[EMBED_position][j] : y;
    default:
        for (int32_t i = SUM_term, n = 0; i < SUM_term + op->as.sum.terms; i++)
            if (row[i] != NULL) y = n++ ? y + row[i][j] : row[i][j];
        return op->as.sum.activation == RILL_RELU && y < 0.0f ? 0.0f : y;
    }
}

/* Run a row operation on one row: element by element, or with the kernel for cells and norms. */
static void interpret_row_op(const interpretation *x, const spec_op *op, int32_t r)
{
    const int has_kernel = op->kind == RILL_OP_LSTM || op->kind == RILL_OP_GRU || op->kind == RILL_OP_NORMALISE;
    rill_row_call call = {.rows = 1, .op = &op->as};
    float *row[RILL_ROW_OPERANDS], *out = NULL;
    for (int i = 0; i < RILL_ROW_OPERANDS; i++) row[i] = view_data(x, op->view[i], op->space, r);
    switch (op->kind) {
#define SET_ROW(OPERATION, member, times, width, use)    \
    if ((use)&RILL_OUT) out = row[OPERATION##_##member]; \
    if ((use)&RILL_ONE_ROW)                              \
        row[OPERATION##_##member] = (float *)(uintptr_t)constant_data(x, *(const rill_constant *)&o->member);
#define SET_OPERATION(OPERATION, word, description, width_member, flops) \
    case RILL_OP_##OPERATION: {                                          \
        const description *o = &op->as.word;                             \
        call.width = o->width_member;                                    \
        RILL_##OPERATION##_OPERANDS(SET_ROW) break;                      \
    }
        RILL_ROW_OPERATIONS(SET_OPERATION)
    default: break;
    }
    if (op->kind == RILL_OP_EMBED && op->as.embed.matrix > 0) {
        const int32_t symbol = column_value(x, op->space, r, op->as.embed.symbol);
        const float *w = x->t->matrix[op->as.embed.matrix].w;
        row[EMBED_rows] = symbol >= 0 ? (float *)(uintptr_t)w + (size_t)symbol * call.width : NULL;
    }
    for (size_t j = 0; !has_kernel && j < call.width; j++) out[j] = interpret_element(x, op, row, j);
    for (int i = 0; i < RILL_ROW_OPERANDS; i++) call.x[i].data = row[i];
    if (has_kernel) rill_run_rows(x->k, op->kind, &call, NULL);
}

static void interpret_mask(const interpretation *x, const spec_op *op, int32_t r)
{
    const int32_t slot = column_value(x, op->space, r, op->as.mask.slot);
    float *to = view_data(x, op->view[0], op->space, r);
    for (int32_t i = 0; i < x->w->symbols[op->as.mask.vocab_subset][slot]; i++)
        to[x->w->symbol[op->as.mask.vocab_subset][slot][i]] = -INFINITY;
}

/* --- a whole run -------------------------------------------------------------------------------------------------- */

void interpret(const net_spec *t, const rill_kernels *kernels, world *w, const answers *a)
{
    static void (*const rows[RILL_OP_KINDS])(const interpretation *, const spec_op *, int32_t) = {
        [RILL_OP_PRODUCT] = interpret_product, [RILL_OP_ATTEND] = interpret_attend, [RILL_OP_MASK] = interpret_mask,
        [RILL_OP_BEST] = interpret_best,       [RILL_OP_MIX] = interpret_mix,
    };
    interpretation *x = interpret_alloc(1, sizeof *x);
    *x = (interpretation){.t = t, .k = kernels, .w = w, .a = a};
    x->space[RILL_ROWS].rows = (size_t)a->n;
    for (rill_index_space s = 1; s <= t->spaces; s++) make_space(x, s);
    for (rill_tensor v = 1; v <= t->values; v++)
        x->value[v] = interpret_alloc(x->space[t->value[v].space].rows * t->value[v].width, sizeof(float));
    for (int32_t i = 0, paths = 0; i < t->ops; i++) {
        const spec_op *op = &t->op[i];
        if (op->kind == RILL_OP_PATH) interpret_path(x, op, ++paths);
        if (op->kind == RILL_OP_SCAN) interpret_scan(x, op);
        if (op->kind == RILL_OP_PATH || op->kind == RILL_OP_SCAN) continue;
        for (size_t r = 0; r < x->space[op->space].rows; r++)
            (rows[op->kind] != NULL ? rows[op->kind] : interpret_row_op)(x, op, (int32_t)r);
    }
    for (int32_t i = 1; i < SPEC_MAX_PARTS; i++) {
        free(x->space[i].origin), free(x->space[i].value), free(x->space[i].first);
        free(x->value[i]), free(x->path[i]), free(x->path_length[i]);
    }
    free(x);
}
