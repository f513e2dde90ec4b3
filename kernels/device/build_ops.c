/* Adds operations to a graph, with all checks, one function per operation.
 *
 * Checked here once instead of in each run: widths, spaces, that values are written before they are read, and that no
 * operation overwrites its own inputs.
 * Divisions: beginning · operands · weights · cells · attention · rows · choices. */
#include <string.h>

#include "network.h"

/* --- beginning ---------------------------------------------------------------------------------------------------- */

static const char *const op_names[DEV_OP_KINDS] = {
    [DEV_PRODUCT] = "product",   [DEV_LSTM] = "lstm",     [DEV_GRU] = "gru",
    [DEV_SCAN] = "scan",         [DEV_ATTEND] = "attend", [DEV_NORMALISE] = "normalise",
    [DEV_ACTIVATE] = "activate", [DEV_EMBED] = "embed",   [DEV_SUM] = "sum",
    [DEV_COPY] = "copy",         [DEV_MASK] = "mask",     [DEV_PATH] = "path",
    [DEV_BEST] = "best",         [DEV_MIX] = "mix",
};

const char *dev_op_name(dev_op_kind kind)
{
    return op_names[kind];
}

/* Append an operation to a graph, a copy of `op` with its `size` bytes. Returns 0 if the network has failed. */
static int begin_op(dev_builder *b, rill_network *network, rill_graph graph, dev_op_kind kind, rill_index_space space,
                    const void *op, size_t size)
{
    *b = (dev_builder){.network = network, .operation = op_names[kind]};
    if (network->status != RILL_OK) return 0;
    if (graph < 1 || (size_t)graph > network->n_graphs) {
        dev_network_fail(network, RILL_ERR_ARGUMENT, "%s: graph %d does not exist", op_names[kind], (int)graph);
        return 0;
    }
    dev_graph *p = b->graph = &network->graph[graph - 1];
    if (DEV_APPEND(network, p, op, n_ops, op_capacity) < 0) return 0;
    b->op = &p->op[p->n_ops - 1];
    b->op->kind = kind;
    b->op->space = space;
    b->op->slot = b->op->position = DEV_NO_INDEX;
    if (size > 0) memcpy(&b->op->as, op, size);
    if (space >= 0 && (size_t)space <= p->n_spaces) return 1;
    dev_build_fail(b, "index space %d does not exist", (int)space);
    return 0;
}

static int is_ragged(const dev_graph *p, rill_index_space space)
{
    return dev_get_space(p, space)->kind == DEV_SPACE_RAGGED;
}

/* Check a one-row constant of `width` floats; 0 is none. */
static void check_row(const dev_builder *b, rill_constant constant, size_t width, const char *what)
{
    if (b->network->status != RILL_OK || constant == 0) return;
    if (constant < 0 || (size_t)constant > b->network->n_constants) {
        dev_build_fail(b, "%s: constant %d does not exist", what, (int)constant);
        return;
    }
    const dev_constant *c = &b->network->constant[constant - 1];
    if (c->rows != 1 || c->width != width)
        dev_build_fail(b, "%s is %zu x %zu, expected 1 x %zu", what, c->rows, c->width, width);
}

static void check_activation(const dev_builder *b, rill_activation activation)
{
    if (activation < RILL_LINEAR || activation > RILL_GELU_SIGMOID)
        dev_build_fail(b, "activation %d does not exist", (int)activation);
}

/* Check a vocabulary subset, with or without weights, and the column of its slots. */
static const dev_vocab_subset *check_subset(const dev_builder *b, rill_vocab_subset subset, rill_index_space space,
                                            rill_column slot)
{
    if (b->network->status != RILL_OK) return NULL;
    if (subset < 1 || (size_t)subset > b->network->n_subsets) {
        dev_build_fail(b, "vocabulary subset %d does not exist", (int)subset);
        return NULL;
    }
    b->op->slot = dev_column_index(b, space, slot, "slot of the list");
    return b->network->status == RILL_OK ? &b->network->subset[subset - 1] : NULL;
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

/* An operand to build: its view, position, and requirements. */
typedef struct build_operand {
    int view_index;
    rill_view view;
    size_t width;
    int use; /* set of dev_use and build_use */
    const char *what;
} build_operand;

enum build_use {
    MAY_ALIAS_OUT = 1 << 8, /* the operation's first output may alias this input */
    MAY_BE_SUBSET = 1 << 9, /* rows may have the width of a vocabulary subset */
    OVER_RUN_ROWS = 1 << 10 /* rows are the run's, not the operation's */
};

/* Check that all operations on a tensor use the same subset, or none. */
static void check_tensor_subset(const dev_builder *b, int place, rill_vocab_subset subset, const char *what)
{
    if (b->network->status != RILL_OK || b->op->view[place].base != DEV_BASE_TENSOR) return;
    if (b->graph->tensor[b->op->view[place].element].subset == subset) return;
    dev_build_fail(b,
                   subset != 0 ? "%s does not have the symbols of the vocabulary subset"
                               : "%s has the symbols of a vocabulary subset",
                   what);
}

/* An output may equal an input or be disjoint from it, but not overlap. */
static void check_no_overlap(const dev_builder *b, const build_operand *in, const build_operand *out, int may_be_same)
{
    const dev_operand *x = &b->op->view[in->view_index], *y = &b->op->view[out->view_index];
    if (b->network->status != RILL_OK || x->base == DEV_BASE_NONE || x->base != y->base || x->element != y->element)
        return;
    if (x->base == DEV_BASE_TABLE && x->index != y->index) return; /* the caller guarantees distinct rows */
    if (may_be_same && dev_same_operand(x, y)) return;
    if (x->first < y->first + out->width && y->first < x->first + in->width)
        dev_build_fail(b, "%s is written while it is still read", in->what);
}

/* Check n operands, inputs before outputs, and store them in the operation. */
static void build_operands(const dev_builder *b, const build_operand *x, size_t n)
{
    const build_operand *first = NULL; /* first output */
    for (size_t i = 0; i < n; i++)
        dev_build_view(b, x[i].use & OVER_RUN_ROWS ? RILL_ROWS : b->op->space, x[i].view_index, x[i].view, x[i].width,
                       x[i].use, x[i].what);
    for (size_t i = 0; i < n; i++) {
        if (!(x[i].use & MAY_BE_SUBSET)) check_tensor_subset(b, x[i].view_index, 0, x[i].what);
        if (!(x[i].use & DEV_WRITE)) continue;
        if (first == NULL) first = &x[i];
        for (size_t j = 0; j < i; j++) check_no_overlap(b, &x[j], &x[i], (x[j].use & MAY_ALIAS_OUT) && first == &x[i]);
    }
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static const dev_matrix *check_matrix(const dev_builder *b, rill_matrix matrix)
{
    if (b->network->status != RILL_OK) return NULL;
    if (matrix >= 1 && (size_t)matrix <= b->network->n_matrices) return &b->network->matrix[matrix - 1];
    dev_build_fail(b, "matrix %d does not exist", (int)matrix);
    return NULL;
}

/* Whether the previous product has quantised the same rows. */
static int rows_are_quantised(const dev_builder *b)
{
    const dev_op *op = b->op, *prev = op - 1;
    if (b->graph->n_ops < 2 || prev->kind != DEV_PRODUCT || prev->space != op->space) return 0;
    if (op->as.product.vocab_subset != 0 || prev->as.product.vocab_subset != 0 ||
        op->as.product.k2 != prev->as.product.k2)
        return 0;
    const dev_matrix *now = &b->network->matrix[op->as.product.matrix - 1],
                     *then = &b->network->matrix[prev->as.product.matrix - 1];
    const dev_operand *written = &prev->view[DEV_OUT];
    for (int i = DEV_A; i <= DEV_A2; i++) {
        if (!dev_same_operand(&op->view[i], &prev->view[i])) return 0;
        if (written->base == DEV_BASE_TABLE && written->base == op->view[i].base &&
            written->element == op->view[i].element)
            return 0;
    }
    return now->type == RILL_WEIGHT_INT8 && then->type == RILL_WEIGHT_INT8 && now->w.k == then->w.k;
}

static void build_subset_product(dev_builder *b, rill_index_space space, const rill_product *op)
{
    const dev_vocab_subset *subset = check_subset(b, op->vocab_subset, space, op->vocab_subset_slot);
    if (subset == NULL) return;
    if (subset->rows == 0 || op->matrix != 0 || op->k2 != 0 || op->bias != 0 || op->add.kind != DEV_VIEW_NONE) {
        dev_build_fail(b, "a product with a vocabulary subset takes its weights, one input and no addends");
        return;
    }
    const dev_constant *rows = &b->network->constant[subset->rows - 1];
    const build_operand x[] = {{DEV_A, op->a, rows->width, DEV_READ, "a"},
                               {DEV_OUT, op->out, rows->rows, DEV_WRITE | DEV_SAME_SPACE | MAY_BE_SUBSET, "out"}};
    build_operands(b, x, 2);
    if (b->network->status != RILL_OK) return;
    dev_tensor *out = &b->graph->tensor[b->op->view[DEV_OUT].element];
    if (out->first_op != (int32_t)b->graph->n_ops - 1 && out->subset != op->vocab_subset)
        dev_build_fail(b, "out is the output of another operation already");
    out->subset = op->vocab_subset;
}

void rill_op_product(rill_network *network, rill_graph graph, rill_index_space space, const rill_product *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_PRODUCT, space, op, sizeof *op)) return;
    check_activation(&b, op->activation);
    if (op->vocab_subset != 0) {
        build_subset_product(&b, space, op);
        return;
    }
    const dev_matrix *matrix = check_matrix(&b, op->matrix);
    if (matrix == NULL) return;
    const size_t n = matrix->w.n, k = matrix->w.k;
    if (op->k2 >= k) {
        dev_build_fail(&b, "a2 has %zu columns, and the matrix has %zu", op->k2, k);
        return;
    }
    check_row(&b, op->bias, n, "bias");
    const build_operand x[] = {
        {DEV_A2, op->a2, op->k2, DEV_READ, "a2"},
        {DEV_A, op->a, k - op->k2, DEV_READ, "a"},
        {DEV_ADD, op->add, n, DEV_READ | DEV_OPTIONAL | DEV_MAY_BE_ABSENT | MAY_ALIAS_OUT, "add"},
        {DEV_OUT, op->out, n, DEV_WRITE, "out"}};
    const size_t without = op->k2 == 0;
    build_operands(&b, x + without, 4 - without);
    if (network->status != RILL_OK) return;
    b.graph->weight_bytes += matrix->bytes;
    b.op->reuse_quantised = rows_are_quantised(&b);
}

/* --- cells -------------------------------------------------------------------------------------------------------- */

void rill_op_lstm(rill_network *network, rill_graph graph, rill_index_space space, const rill_lstm_cell *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_LSTM, space, op, sizeof *op)) return;
    const size_t width = op->hidden;
    if (width < 1) dev_build_fail(&b, "the recurrent cell has no units");
    const build_operand x[] = {{DEV_GATES, op->gates, 4 * width, DEV_READ | DEV_SAME_SPACE, "gates"},
                               {DEV_C, op->c, width, DEV_READ | DEV_OPTIONAL | DEV_MAY_BE_ABSENT | MAY_ALIAS_OUT, "c"},
                               {DEV_C_OUT, op->c_out, width, DEV_WRITE, "c_out"},
                               {DEV_H_OUT, op->h_out, width, DEV_WRITE, "h_out"}};
    build_operands(&b, x, 4);
    if (network->status == RILL_OK && b.op->view[DEV_C_OUT].index != b.op->view[DEV_H_OUT].index)
        dev_build_fail(&b, "c_out and h_out have different rows");
}

void rill_op_gru(rill_network *network, rill_graph graph, rill_index_space space, const rill_gru_cell *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_GRU, space, op, sizeof *op)) return;
    const size_t width = op->hidden;
    if (width < 1) dev_build_fail(&b, "the recurrent cell has no units");
    const build_operand x[] = {{DEV_GATES, op->input, 3 * width, DEV_READ | DEV_SAME_SPACE, "input"},
                               {DEV_HIDDEN, op->hidden_gates, 3 * width, DEV_READ | DEV_SAME_SPACE, "hidden_gates"},
                               {DEV_H, op->h, width, DEV_READ | DEV_OPTIONAL | DEV_MAY_BE_ABSENT | MAY_ALIAS_OUT, "h"},
                               {DEV_H_OUT, op->h_out, width, DEV_WRITE, "h_out"}};
    build_operands(&b, x, 4);
}

/* Check that gates are units of a ragged tensor, indexed by the scan itself, or rows of a constant. */
static void check_scan_gates(const dev_builder *b, const rill_scan *op)
{
    const int is_tensor = op->gates.kind == DEV_VIEW_VALUE;
    if (b->network->status != RILL_OK) return;
    if (is_tensor && !is_ragged(b->graph, b->graph->tensor[b->op->view[DEV_GATES].element].space))
        dev_build_fail(b, "gates must be a ragged tensor");
    if (!is_tensor && op->gates.kind != DEV_VIEW_CONSTANT)
        dev_build_fail(b, "gates must be a ragged tensor or rows of a constant");
    if (!is_tensor && op->shift != 0)
        dev_build_fail(b, "rows of a constant are selected by the column and cannot be "
                          "shifted");
}

void rill_op_scan(rill_network *network, rill_graph graph, const rill_scan *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_SCAN, op->space, op, sizeof *op)) return;
    const size_t width = op->hidden, gates = op->cell == RILL_CELL_GRU ? 3 * width : 4 * width;
    if (!is_ragged(b.graph, op->space)) {
        dev_build_fail(&b, "its index space is not ragged");
        return;
    }
    const dev_matrix *matrix = check_matrix(&b, op->recurrent);
    if (matrix == NULL) return;
    if (op->cell != RILL_CELL_LSTM && op->cell != RILL_CELL_GRU)
        dev_build_fail(&b, "recurrent cell %d does not exist", (int)op->cell);
    if (matrix->w.k != width || matrix->w.n != gates)
        dev_build_fail(&b, "the recurrent matrix is %zu x %zu, expected %zu x %zu", matrix->w.n, matrix->w.k, gates,
                       width);
    if (op->cell == RILL_CELL_LSTM && op->recurrent_bias != 0)
        dev_build_fail(&b, "an LSTM takes no bias: add it to the gates");
    check_row(&b, op->recurrent_bias, gates, "recurrent_bias");
    const int found = op->gates.kind == DEV_VIEW_VALUE ? DEV_IGNORE_ROW : 0, may = DEV_WRITE | DEV_OPTIONAL;
    const build_operand x[] = {{DEV_GATES, op->gates, gates, DEV_READ | found, "gates"},
                               {DEV_OUT, op->out, width, may, "out"},
                               {DEV_LAST_H, op->last_h, width, may | OVER_RUN_ROWS, "last_h"},
                               {DEV_LAST_C, op->last_c, width, may | OVER_RUN_ROWS, "last_c"}};
    build_operands(&b, x, 4);
    check_scan_gates(&b, op);
    if (network->status != RILL_OK) return;
    if (op->cell == RILL_CELL_GRU && op->last_c.kind != DEV_VIEW_NONE) dev_build_fail(&b, "a GRU has no cell state c");
    b.graph->weight_bytes += matrix->bytes;
    if (b.graph->scan_space == 0) b.graph->scan_space = op->space;
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

rill_path rill_op_path(rill_network *network, rill_graph graph, rill_column node, rill_column parent, rill_column depth)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_PATH, RILL_ROWS, NULL, 0)) return -1;
    const dev_path path = {
        .node = dev_column_index(&b, RILL_ROWS, node, "node"),
        .parent = parent != 0 ? dev_column_index(&b, RILL_ROWS, parent, "parent") : DEV_NO_INDEX,
        .depth = dev_column_index(&b, RILL_ROWS, depth, "depth"),
    };
    const int32_t handle = DEV_APPEND(network, b.graph, path, n_paths, path_capacity);
    if (handle < 0) return handle;
    b.graph->path[handle - 1] = path;
    b.op->path = handle - 1;
    return handle;
}

/* Check that keys or values are a table of this kind, or for -1 a ragged tensor. */
static void check_attended_kind(const dev_builder *b, int place, int kind, const char *what)
{
    const dev_operand *x = &b->op->view[place];
    if (b->network->status != RILL_OK) return;
    if (kind < 0 ? x->base == DEV_BASE_TENSOR && is_ragged(b->graph, b->graph->tensor[x->element].space)
                 : x->base == DEV_BASE_TABLE && b->network->table[x->element].kind == (rill_table_kind)kind)
        return;
    dev_build_fail(b, "%s: attention needs rows of a %s", what,
                   kind < 0                   ? "ragged tensor"
                   : kind == RILL_TABLE_NODES ? "node table"
                                              : "ragged table");
}

/* Check a relative position bias: each head has one entry for distance 0 and equally many on either side. */
static void check_relative(dev_builder *b, const rill_attend *op)
{
    const rill_constant constant = op->relative;
    if (b->network->status != RILL_OK || constant == 0) return;
    if (constant < 0 || (size_t)constant > b->network->n_constants) {
        dev_build_fail(b, "relative: constant %d does not exist", (int)constant);
        return;
    }
    const dev_constant *c = &b->network->constant[constant - 1];
    if (c->rows != op->heads || c->width % 2 == 0)
        dev_build_fail(b, "relative is %zu x %zu, expected %zu x an odd number", c->rows, c->width, op->heads);
    if (op->slot != 0) dev_build_fail(b, "relative: the row has no position among the units of a slot");
    if (b->network->status != RILL_OK || !op->own_units) return;
    if (b->graph->tensor[b->op->view[DEV_KEYS].element].space != b->op->space)
        dev_build_fail(b, "relative: the rows must be units of the memory");
    b->op->position = dev_add_index(b->network, b->graph, (dev_index){.kind = DEV_INDEX_OWN, .space = b->op->space});
}

void rill_op_attend(rill_network *network, rill_graph graph, rill_index_space space, const rill_attend *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_ATTEND, space, op, sizeof *op)) return;
    const size_t columns = op->value_width > 0 ? op->value_width : op->width;
    const size_t width = op->heads * op->width, out = op->heads * columns;
    const int kind = op->own_units ? -1 : op->path != 0 ? (int)RILL_TABLE_NODES : (int)RILL_TABLE_RAGGED;
    if (op->heads < 1 || op->width < 1 || op->heads > INT32_MAX || op->width > INT32_MAX || columns > INT32_MAX)
        dev_build_fail(&b, "%zu heads of width %zu: invalid", op->heads, op->width);
    check_row(&b, op->additive, width, "additive");
    if ((op->path != 0) + (op->slot != 0) + (op->own_units != 0) != 1)
        dev_build_fail(&b, "set exactly one of path, slot and own");
    if (network->status == RILL_OK && op->path != 0 && (op->path < 1 || (size_t)op->path > b.graph->n_paths))
        dev_build_fail(&b, "path %d does not exist", (int)op->path);
    const build_operand x[] = {{DEV_QUERY, op->query, width, DEV_READ, "query"},
                               {DEV_KEYS, op->keys, width, DEV_READ | DEV_IGNORE_ROW, "keys"},
                               {DEV_VALUES, op->values, out, DEV_READ | DEV_IGNORE_ROW, "values"},
                               {DEV_OUT, op->out, out, DEV_WRITE, "out"}};
    build_operands(&b, x, 4);
    check_attended_kind(&b, DEV_KEYS, kind, "keys");
    check_attended_kind(&b, DEV_VALUES, kind, "values");
    if (network->status != RILL_OK) return;
    if (op->own_units &&
        b.graph->tensor[b.op->view[DEV_KEYS].element].space != b.graph->tensor[b.op->view[DEV_VALUES].element].space)
        dev_build_fail(&b, "keys and values have different index spaces");
    check_relative(&b, op);
    b.op->as.attend.value_width = columns;
    b.op->path = op->path - 1;
    b.op->slot = op->slot != 0 ? dev_column_index(&b, space, op->slot, "slot") : dev_map_index(&b, space, RILL_ROWS);
    if (op->watched_heads > op->heads) dev_build_fail(&b, "more attention heads are recorded than exist");
    if (op->watched_heads > 0 && (space != RILL_ROWS || b.graph->has_watched))
        dev_build_fail(&b, "the attention of one operation over the run's rows can be recorded");
    b.graph->has_watched |= op->watched_heads > 0;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Row width of a view of a tensor, table or constant. */
static size_t view_width(const dev_builder *b, const rill_view *view)
{
    const rill_network *network = b->network;
    size_t width = 0;
    if (network->status != RILL_OK || view->source < 1) return 0;
    const size_t source = (size_t)view->source;
    if (view->kind == DEV_VIEW_VALUE || view->kind == DEV_VIEW_UNIT)
        width = source <= b->graph->n_tensors ? b->graph->tensor[source - 1].width : 0;
    else if (view->kind == DEV_VIEW_CONSTANT)
        width = source <= network->n_constants ? network->constant[source - 1].width : 0;
    else if (view->kind != DEV_VIEW_NONE)
        width = source <= network->n_tables ? network->table[source - 1].width : 0;
    return width > (size_t)view->first ? width - (size_t)view->first : 0;
}

void rill_op_normalise(rill_network *network, rill_graph graph, rill_index_space space, const rill_normalise *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_NORMALISE, space, op, sizeof *op)) return;
    const size_t width = op->width != 0 ? op->width : view_width(&b, &op->y);
    b.op->as.normalise.width = width;
    const build_operand x[] = {{DEV_X, op->x, width, DEV_READ | MAY_ALIAS_OUT, "x"},
                               {DEV_RESIDUAL, op->residual, width, DEV_READ | DEV_OPTIONAL | MAY_ALIAS_OUT, "residual"},
                               {DEV_OUT, op->y, width, DEV_WRITE, "y"}};
    build_operands(&b, x, 3);
    check_row(&b, op->gain, width, "gain");
    check_row(&b, op->bias, width, "bias");
    if (network->status == RILL_OK && !(op->eps >= 0.0f)) dev_build_fail(&b, "eps is below 0");
}

void rill_op_activate(rill_network *network, rill_graph graph, rill_index_space space, const rill_activate *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_ACTIVATE, space, op, sizeof *op)) return;
    const size_t width = op->width != 0 ? op->width : view_width(&b, &op->y);
    b.op->as.activate.width = width;
    check_activation(&b, op->activation);
    const build_operand x[] = {{DEV_X, op->x, width, DEV_READ | MAY_ALIAS_OUT, "x"},
                               {DEV_GATE, op->gate, width, DEV_READ | DEV_OPTIONAL, "gate"},
                               {DEV_OUT, op->y, width, DEV_WRITE, "y"}};
    build_operands(&b, x, 3);
}

void rill_op_embed(rill_network *network, rill_graph graph, rill_index_space space, const rill_embedding *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_EMBED, space, op, sizeof *op)) return;
    size_t width = op->width != 0 ? op->width : view_width(&b, &op->out);
    if (op->matrix != 0) {
        const dev_matrix *matrix = check_matrix(&b, op->matrix);
        if (matrix == NULL) return;
        width = matrix->w.k;
        if (matrix->type != RILL_WEIGHT_F32) dev_build_fail(&b, "the matrix is not in f32");
        if (op->rows.kind != DEV_VIEW_NONE) dev_build_fail(&b, "rows and a matrix are both set");
        b.op->slot = dev_column_index(&b, space, op->symbol, "symbol");
    } else if (op->rows.kind == DEV_VIEW_VALUE || op->rows.kind == DEV_VIEW_UNIT) {
        dev_build_fail(&b, "rows must belong to a constant or a table");
    }
    b.op->as.embed.width = width;
    const int optional = op->matrix != 0 ? DEV_OPTIONAL : 0;
    const build_operand x[] = {
        {DEV_X, op->rows, width, DEV_READ | DEV_MAY_BE_ABSENT | optional, "rows"},
        {DEV_POSITION, op->position, width, DEV_READ | DEV_OPTIONAL | DEV_MAY_BE_ABSENT, "position"},
        {DEV_OUT, op->out, width, DEV_WRITE, "out"}};
    build_operands(&b, x, 3);
}

void rill_op_sum(rill_network *network, rill_graph graph, rill_index_space space, const rill_sum *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_SUM, space, op, sizeof *op)) return;
    const size_t width = op->width != 0 ? op->width : view_width(&b, &op->out);
    b.op->as.sum.width = width;
    if (op->terms < 1 || op->terms > RILL_SUM_TERMS) {
        dev_build_fail(&b, "%d terms, expected 1 to %d", (int)op->terms, RILL_SUM_TERMS);
        return;
    }
    if (op->activation != RILL_LINEAR && op->activation != RILL_RELU)
        dev_build_fail(&b, "the activation of a sum must be relu or none");
    build_operand x[RILL_SUM_TERMS + 1];
    for (int32_t i = 0; i < op->terms; i++)
        x[i] = (build_operand){i, op->term[i], width, DEV_READ | DEV_MAY_BE_ABSENT | MAY_ALIAS_OUT, "a term"};
    x[op->terms] = (build_operand){DEV_SUM_OUT, op->out, width, DEV_WRITE, "out"};
    build_operands(&b, x, (size_t)op->terms + 1);
}

void rill_op_copy(rill_network *network, rill_graph graph, rill_index_space space, const rill_copy *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_COPY, space, op, sizeof *op)) return;
    if (op->width < 1) dev_build_fail(&b, "the rows have a width of 0");
    const build_operand x[] = {{DEV_X, op->x, op->width, DEV_READ | DEV_MAY_BE_ABSENT, "x"},
                               {DEV_OUT, op->out, op->width, DEV_WRITE, "out"}};
    build_operands(&b, x, 2);
}

/* --- choices ------------------------------------------------------------------------------------------------------ */

void rill_op_mask(rill_network *network, rill_graph graph, rill_index_space space, const rill_mask *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_MASK, space, op, sizeof *op)) return;
    if (check_subset(&b, op->vocab_subset, space, op->slot) == NULL) return;
    build_operands(&b, &(build_operand){DEV_X, op->x, 1, DEV_READ | DEV_SAME_SPACE, "x"}, 1);
    if (network->status == RILL_OK) b.op->as.mask.width = view_width(&b, &op->x);
}

void rill_op_best(rill_network *network, rill_graph graph, rill_index_space space, const rill_best_choices *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_BEST, space, op, sizeof *op)) return;
    if (op->symbols < 1 || op->symbols > INT32_MAX / 2) dev_build_fail(&b, "%zu symbols: invalid", op->symbols);
    if (op->raw && op->tag_column != 0) dev_build_fail(&b, "a tag needs no normaliser");
    if (op->first_action < 0 || op->first_action > INT32_MAX / 2) dev_build_fail(&b, "the first action is missing");
    const build_operand x[] = {
        {DEV_LOGITS, op->logits, op->symbols, DEV_READ | DEV_SAME_SPACE | MAY_BE_SUBSET, "logits"},
        {DEV_ADD, op->add, op->symbols, DEV_READ | DEV_OPTIONAL | DEV_MAY_BE_ABSENT, "add"}};
    build_operands(&b, x, 2);
    check_tensor_subset(&b, DEV_LOGITS, op->vocab_subset, "logits");
    if (op->vocab_subset != 0) {
        const dev_vocab_subset *subset = check_subset(&b, op->vocab_subset, space, op->vocab_subset_slot);
        if (subset == NULL) return;
        if (op->bias != 0 || op->add.kind != DEV_VIEW_NONE || op->first_action != 0 || op->tag_column != 0)
            dev_build_fail(&b, "a vocabulary subset has its own bias: no other addend is possible");
    }
    check_row(&b, op->bias, op->symbols, "bias");
    if (op->tag_column != 0) {
        (void)dev_column_index(&b, space, op->tag_column, "tag");
        if (network->status == RILL_OK) b.graph->column[op->tag_column - 1].n_writes++;
    } else {
        b.graph->has_selection = 1;
    }
}

static void build_mix_model(dev_builder *b, rill_index_space space, const rill_mix *op, int32_t i)
{
    build_operands(
        b, &(build_operand){i, op->logits[i], op->symbols, DEV_READ | DEV_SAME_SPACE | MAY_BE_SUBSET, "logits"}, 1);
    check_tensor_subset(b, i, op->vocab_subset[i], "logits");
    check_row(b, op->bias[i], op->symbols, "bias");
    if ((op->vocab_subset[i] != 0) != (op->vocab_subset[0] != 0))
        dev_build_fail(b, "either all models of an ensemble have vocabulary subsets, or none");
    if (op->vocab_subset[i] == 0) return;
    (void)check_subset(b, op->vocab_subset[i], space, op->vocab_subset_slot);
    if (op->bias[i] != 0) dev_build_fail(b, "a vocabulary subset has its own bias");
}

void rill_op_mix(rill_network *network, rill_graph graph, rill_index_space space, const rill_mix *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, DEV_MIX, space, op, sizeof *op)) return;
    if (op->models < 1 || op->models > RILL_MIX_MODELS) {
        dev_build_fail(&b, "%d models, expected 1 to %d", (int)op->models, RILL_MIX_MODELS);
        return;
    }
    if (op->symbols < 1 || op->symbols > INT32_MAX / 2) dev_build_fail(&b, "%zu symbols: invalid", op->symbols);
    for (int32_t i = 0; i < op->models && network->status == RILL_OK; i++) build_mix_model(&b, space, op, i);
    b.graph->has_selection = 1;
}
