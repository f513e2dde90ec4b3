/* Adds operations to a graph, from the lists of rill/ops.h. All checks are made here; runs make none. */
#include <string.h>

#include "backend.h"

/* --- descriptions of operations ----------------------------------------------------------------------------------- */

typedef struct operand_info {
    const char *name;
    size_t offset; /* offset of the view, the views or the constant in the description that the user passes */
    size_t times, width;
    int use; /* bit set of rill_operand_use */
} operand_info;

typedef struct op_info {
    const char *name;
    size_t bytes; /* size of the description that the user passes, such as rill_product */
    double flops;
    const operand_info *operand;
    size_t n_operands;
} op_info;

#define DESCRIPTION(OPERATION, word, description, width, flops) typedef description OPERATION##_description;
#define OPERAND(OPERATION, member, times, width, use) \
    {#member, offsetof(OPERATION##_description, member), times, width, use},
#define LIST(OPERATION, word, description, width, flops) \
    static const operand_info OPERATION##_list[] = {RILL_##OPERATION##_OPERANDS(OPERAND)};
#define INFO(OPERATION, word, description, width, flops) \
    [RILL_OP_##OPERATION] = {#word, sizeof(description), flops, OPERATION##_list, OPERATION##_OPERANDS},
#define WIDTH(OPERATION, word, description, width, flops) [RILL_OP_##OPERATION] = offsetof(description, width),
RILL_OPERATIONS(DESCRIPTION)
RILL_OPERATIONS(LIST)
static const size_t width_offset[RILL_OP_KINDS] = {RILL_ROW_OPERATIONS(WIDTH)};
static const op_info infos[RILL_OP_KINDS] = {RILL_OPERATIONS(INFO)[RILL_OP_PATH] = {.name = "path"}};

const char *dev_op_name(rill_op_kind kind)
{
    return infos[kind].name;
}

double dev_op_flops(rill_op_kind kind)
{
    return infos[kind].flops;
}

rill_vocab_subset dev_op_subset(const dev_op *op)
{
    switch (op->kind) {
    case RILL_OP_PRODUCT: return op->as.product.vocab_subset;
    case RILL_OP_MASK: return op->as.mask.vocab_subset;
    case RILL_OP_BEST: return op->as.best.vocab_subset;
    case RILL_OP_MIX: return op->as.mix.vocab_subset[0];
    default: return 0;
    }
}

/* --- beginning an operation --------------------------------------------------------------------------------------- */

/* Append an operation to a graph, with a copy of its description. Returns 0 if the network has failed. */
static int begin_op(dev_builder *b, rill_network *network, rill_graph graph, rill_op_kind kind, rill_index_space space,
                    const void *op)
{
    *b = (dev_builder){.network = network, .operation = infos[kind].name};
    if (network->status != RILL_OK) return 0;
    if (graph < 1 || (size_t)graph > network->n_graphs) {
        dev_network_fail(network, RILL_ERR_ARGUMENT, "%s: graph %d does not exist", b->operation, (int)graph);
        return 0;
    }
    dev_graph *p = b->graph = &network->graph[graph - 1];
    if (DEV_APPEND(network, p, op, n_ops, op_capacity) < 0) return 0;
    b->op = &p->op[p->n_ops - 1];
    b->op->kind = kind;
    b->op->space = space;
    b->op->slot = b->op->position = b->op->out = DEV_NO_INDEX;
    if (op != NULL) memcpy(&b->op->as, op, infos[kind].bytes);
    return dev_check_space(b, space);
}

static int is_ragged(const dev_graph *p, rill_index_space space)
{
    return dev_get_space(p, space)->kind == DEV_SPACE_RAGGED;
}

static void check_activation(const dev_builder *b, rill_activation activation)
{
    if ((int)activation < 0 || (int)activation >= RILL_N_ACTIVATIONS)
        dev_build_fail(b, "activation %d does not exist", (int)activation);
}

/* Check and return a vocabulary subset and the column of its slots; NULL after a failure. */
static const dev_vocab_subset *check_subset(const dev_builder *b, rill_vocab_subset subset, rill_column slot)
{
    if (!dev_check_handle(b, subset, b->network->n_subsets, "vocabulary subset", NULL)) return NULL;
    b->op->slot = dev_column_index(b, b->op->space, slot, "slot of the list");
    return b->network->status == RILL_OK ? &b->network->subset[subset - 1] : NULL;
}

/* --- checking operands -------------------------------------------------------------------------------------------- */

/* Return the constant of a handle; NULL if the handle is 0 (none) or invalid. `what` names it in the message. */
static const dev_constant *check_constant(const dev_builder *b, rill_constant constant, const char *what)
{
    if (constant == 0 || !dev_check_handle(b, constant, b->network->n_constants, "constant", what)) return NULL;
    return &b->network->constant[constant - 1];
}

/* Check a constant that all rows share: it must have one row of `width` floats. */
static void check_row(const dev_builder *b, rill_constant constant, size_t width, const char *what)
{
    const dev_constant *c = check_constant(b, constant, what);
    if (c != NULL && (c->rows != 1 || c->width != width))
        dev_build_fail(b, "%s is %zu x %zu, expected 1 x %zu", what, c->rows, c->width, width);
}

/* Check that an operand's symbols are those of this vocabulary subset; 0: of no subset. Only tensors are checked. */
static void check_tensor_subset(const dev_builder *b, size_t place, rill_vocab_subset subset, const char *what)
{
    if (b->network->status != RILL_OK || b->op->view[place].base != DEV_BASE_TENSOR) return;
    if (b->graph->tensor[b->op->view[place].element].subset == subset) return;
    dev_build_fail(b,
                   subset != 0 ? "%s does not have the symbols of the vocabulary subset"
                               : "%s has the symbols of a vocabulary subset",
                   what);
}

/* Check that an output does not overlap an input. It may equal the input if the operation allows that (RILL_IN_PLACE). */
static void check_no_overlap(const dev_builder *b, const dev_operand *x, const dev_operand *y, const char *what)
{
    if (b->network->status != RILL_OK || x->base == DEV_BASE_NONE || x->base != y->base || x->element != y->element)
        return;
    /* the caller guarantees that different indices into one table select distinct rows */
    if (x->base == DEV_BASE_TABLE && x->index != y->index) return;
    if ((x->use & RILL_IN_PLACE) && y == &b->op->view[b->op->out] && dev_same_operand(x, y)) return;
    if (x->first < y->first + y->width && y->first < x->first + x->width)
        dev_build_fail(b, "%s is written while it is still read", what);
}

static const operand_info *operand_at(const op_info *info, size_t place)
{
    return &info->operand[place < info->n_operands ? place : info->n_operands - 1];
}

static const char *operand_name(const dev_builder *b, const operand_info *o)
{
    return b->op->kind == RILL_OP_SUM && (o->use & RILL_REPEATED) ? "a term" : o->name;
}

/* Check an operand and store it in the operation. Only the last operand of a list may be repeated. */
static void build_operand(const dev_builder *b, size_t place, const size_t *widths, int more_use)
{
    const op_info *info = &infos[b->op->kind];
    const operand_info *o = operand_at(info, place);
    const void *member = (const char *)&b->op->as + o->offset;
    const size_t width = o->times * widths[o->width];
    b->op->view[place].index = DEV_NO_INDEX; /* the value that stays if the operation has no such operand */
    if (o->use & RILL_ONE_ROW) {
        const rill_constant constant = *(const rill_constant *)member;
        check_row(b, constant, width, o->name);
        if (constant > 0)
            b->op->view[place] = (dev_operand){
                .base = DEV_BASE_CONSTANT, .element = constant - 1, .index = DEV_NO_INDEX};
        b->op->view[place].use = RILL_ONE_ROW | RILL_UNCOUNTED;
    } else if (width > 0 || !(o->use & RILL_UNLESS_0)) {
        const rill_view *view = (const rill_view *)member + (o->use & RILL_REPEATED ? place + 1 - info->n_operands : 0);
        dev_build_view(b, o->use & RILL_RUN_ROWS ? RILL_ROWS : b->op->space, (int)place, *view, width,
                       o->use | more_use, operand_name(b, o));
        if (!((o->use | more_use) & RILL_SUBSET)) check_tensor_subset(b, place, 0, operand_name(b, o));
    }
}

/* Check all operands. repeats: occurrences of the last one; out_use: extra flags of outputs; widths[i]: width i of the operation's list. */
static void build_operands(const dev_builder *b, const size_t *widths, size_t repeats, int out_use)
{
    const op_info *info = &infos[b->op->kind];
    dev_op *op = b->op;
    op->width = widths[0];
    op->n_views = info->n_operands - 1 + repeats;
    for (size_t i = 0; i < op->n_views; i++)
        if (!(operand_at(info, i)->use & RILL_OUT)) build_operand(b, i, widths, 0);
    for (size_t i = 0; i < op->n_views; i++) {
        if (!(operand_at(info, i)->use & RILL_OUT)) continue;
        build_operand(b, i, widths, out_use);
        if (op->out < 0) op->out = (int32_t)i;
        for (size_t j = 0; j < op->n_views; j++)
            if (j < i || !(operand_at(info, j)->use & RILL_OUT))
                check_no_overlap(b, &op->view[j], &op->view[i], operand_name(b, operand_at(info, j)));
    }
}

/* Return the width of a view's tensor, table or constant from the view's first column on; 0 if the view is invalid. */
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

static const dev_matrix *check_matrix(const dev_builder *b, rill_matrix matrix)
{
    if (!dev_check_handle(b, matrix, b->network->n_matrices, "matrix", NULL)) return NULL;
    return &b->network->matrix[matrix - 1];
}

/* --- row operations ----------------------------------------------------------------------------------------------- */

/* Check the table of an embedding. If it is a matrix, *width becomes the matrix's number of columns. */
static void check_embedding(const dev_builder *b, size_t *width)
{
    const rill_embedding *o = &b->op->as.embed;
    const int kind = o->rows.kind;
    if (o->matrix == 0) {
        if (kind == DEV_VIEW_NONE) dev_build_fail(b, "rows is missing");
        if (kind == DEV_VIEW_VALUE || kind == DEV_VIEW_UNIT)
            dev_build_fail(b, "rows must belong to a constant or a table");
        return;
    }
    const dev_matrix *matrix = check_matrix(b, o->matrix);
    if (matrix == NULL) return;
    *width = matrix->k;
    if (matrix->type != RILL_WEIGHT_F32) dev_build_fail(b, "the matrix is not in f32");
    if (kind != DEV_VIEW_NONE) dev_build_fail(b, "rows and a matrix are both set");
    b->op->slot = dev_column_index(b, b->op->space, o->symbol, "symbol");
}

static size_t check_terms(const dev_builder *b)
{
    const rill_sum *o = &b->op->as.sum;
    if (o->activation != RILL_LINEAR && o->activation != RILL_RELU)
        dev_build_fail(b, "the activation of a sum must be relu or none");
    if (o->terms >= 1 && o->terms <= RILL_SUM_TERMS) return (size_t)o->terms;
    dev_build_fail(b, "%d terms, expected 1 to %d", (int)o->terms, RILL_SUM_TERMS);
    return 1;
}

/* Add a row operation. A width of 0 is the output's, or an error for operations with a width member. */
static void add_row_op(rill_network *network, rill_graph graph, rill_op_kind kind, rill_index_space space,
                       const void *op)
{
    static const char *const without_width[RILL_OP_KINDS] = {[RILL_OP_LSTM] = "the recurrent cell has no units",
                                                             [RILL_OP_GRU] = "the recurrent cell has no units",
                                                             [RILL_OP_COPY] = "the rows have a width of 0"};
    const op_info *info = &infos[kind];
    dev_builder b;
    if (!begin_op(&b, network, graph, kind, space, op)) return;
    size_t width, repeats = 1;
    memcpy(&width, (const char *)op + width_offset[kind], sizeof width);
    if (width == 0 && without_width[kind] != NULL) dev_build_fail(&b, "%s", without_width[kind]);
    for (size_t i = 0; i < info->n_operands && width == 0; i++)
        if (info->operand[i].use & RILL_OUT)
            width = view_width(&b, (const rill_view *)(const void *)((const char *)op + info->operand[i].offset));
    if (kind == RILL_OP_ACTIVATE) check_activation(&b, b.op->as.activate.activation);
    if (kind == RILL_OP_EMBED) check_embedding(&b, &width);
    if (kind == RILL_OP_SUM) repeats = check_terms(&b);
    if (kind == RILL_OP_NORMALISE && !(b.op->as.normalise.eps >= 0.0f)) dev_build_fail(&b, "eps is below 0");
    build_operands(&b, &width, repeats, 0);
    if (kind == RILL_OP_LSTM && network->status == RILL_OK &&
        b.op->view[LSTM_c_out].index != b.op->view[LSTM_h_out].index)
        dev_build_fail(&b, "c_out and h_out have different rows");
}

#define DEFINE(OPERATION, word, description, width, flops)                                                      \
    void rill_op_##word(rill_network *network, rill_graph graph, rill_index_space space, const description *op) \
    {                                                                                                           \
        add_row_op(network, graph, RILL_OP_##OPERATION, space, op);                                             \
    }
RILL_ROW_OPERATIONS(DEFINE)

/* --- products and scans ------------------------------------------------------------------------------------------- */

/* Return 1 if the previous operation is a GEMM on the same quantised rows, which this GEMM can then reuse. */
static int rows_are_quantised(const dev_builder *b)
{
    const dev_op *op = b->op, *prev = op - 1;
    if (b->graph->n_ops < 2 || prev->kind != RILL_OP_PRODUCT || prev->space != op->space) return 0;
    if (op->as.product.vocab_subset != 0 || prev->as.product.vocab_subset != 0 ||
        op->as.product.k2 != prev->as.product.k2)
        return 0;
    const dev_matrix *now = &b->network->matrix[op->as.product.matrix - 1],
                     *then = &b->network->matrix[prev->as.product.matrix - 1];
    const dev_operand *written = &prev->view[PRODUCT_out];
    for (int i = PRODUCT_a; i <= PRODUCT_a2; i++) {
        if (!dev_same_operand(&op->view[i], &prev->view[i])) return 0;
        if (written->base == DEV_BASE_TABLE && written->base == op->view[i].base &&
            written->element == op->view[i].element)
            return 0;
    }
    return now->type != RILL_WEIGHT_F32 && now->type == then->type && now->k == then->k;
}

static void build_subset_product(dev_builder *b, const rill_product *op)
{
    const dev_vocab_subset *subset = check_subset(b, op->vocab_subset, op->vocab_subset_slot);
    if (subset == NULL) return;
    if (subset->rows == 0 || op->matrix != 0 || op->k2 != 0 || op->bias != 0 || op->add.kind != DEV_VIEW_NONE) {
        dev_build_fail(b, "a product with a vocabulary subset takes its weights, one input and no addends");
        return;
    }
    const dev_constant *rows = &b->network->constant[subset->rows - 1];
    build_operands(b, (const size_t[]){rows->rows, rows->width, 0}, 1, RILL_OWN_SPACE | RILL_SUBSET);
    if (b->network->status != RILL_OK) return;
    dev_tensor *out = &b->graph->tensor[b->op->view[PRODUCT_out].element];
    if (out->first_op != (int32_t)b->graph->n_ops - 1 && out->subset != op->vocab_subset)
        dev_build_fail(b, "out is the output of another operation already");
    out->subset = op->vocab_subset;
}

void rill_op_product(rill_network *network, rill_graph graph, rill_index_space space, const rill_product *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, RILL_OP_PRODUCT, space, op)) return;
    check_activation(&b, op->activation);
    if (op->vocab_subset != 0) {
        build_subset_product(&b, op);
        return;
    }
    const dev_matrix *matrix = check_matrix(&b, op->matrix);
    if (matrix == NULL) return;
    const size_t n = matrix->n, k = matrix->k;
    if (op->k2 >= k) {
        dev_build_fail(&b, "a2 has %zu columns, and the matrix has %zu", op->k2, k);
        return;
    }
    build_operands(&b, (const size_t[]){n, k - op->k2, op->k2}, 1, 0);
    if (network->status != RILL_OK) return;
    b.graph->weight_bytes += dev_weight_bytes(matrix->n, matrix->k, matrix->type);
    b.op->reuse_quantised = rows_are_quantised(&b);
}

/* Check a scan's gates: a ragged tensor, read at each step's own token, or rows of a constant. */
static void check_scan_gates(const dev_builder *b, const rill_scan *op)
{
    const int is_tensor = op->gates.kind == DEV_VIEW_VALUE;
    if (b->network->status != RILL_OK) return;
    if (is_tensor && !is_ragged(b->graph, b->graph->tensor[b->op->view[SCAN_gates].element].space))
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
    if (!begin_op(&b, network, graph, RILL_OP_SCAN, op->space, op)) return;
    const size_t width = op->hidden, gates = op->cell == RILL_CELL_GRU ? 3 * width : 4 * width;
    if (!is_ragged(b.graph, op->space)) {
        dev_build_fail(&b, "its index space is not ragged");
        return;
    }
    const dev_matrix *matrix = check_matrix(&b, op->recurrent);
    if (matrix == NULL) return;
    if (op->cell != RILL_CELL_LSTM && op->cell != RILL_CELL_GRU)
        dev_build_fail(&b, "recurrent cell %d does not exist", (int)op->cell);
    if (matrix->k != width || matrix->n != gates)
        dev_build_fail(&b, "the recurrent matrix is %zu x %zu, expected %zu x %zu", matrix->n, matrix->k, gates, width);
    if (op->cell == RILL_CELL_LSTM && op->recurrent_bias != 0)
        dev_build_fail(&b, "an LSTM takes no bias: add it to the gates");
    build_operands(&b, (const size_t[]){width, gates}, 1, 0);
    check_scan_gates(&b, op);
    if (network->status != RILL_OK) return;
    if (op->cell == RILL_CELL_GRU && op->last_c.kind != DEV_VIEW_NONE) dev_build_fail(&b, "a GRU has no cell state c");
    b.graph->weight_bytes += dev_weight_bytes(matrix->n, matrix->k, matrix->type);
    if (b.graph->scan_space == 0) b.graph->scan_space = op->space;
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

rill_path rill_op_path(rill_network *network, rill_graph graph, rill_column node, rill_column parent, rill_column depth)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, RILL_OP_PATH, RILL_ROWS, NULL)) return -1;
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

/* Check what attention reads keys or values from: a table of this kind, or, if `kind` is -1, a ragged tensor. */
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
    const dev_constant *c = check_constant(b, op->relative, "relative");
    if (c == NULL) return;
    if (c->rows != op->heads || c->width % 2 == 0)
        dev_build_fail(b, "relative is %zu x %zu, expected %zu x an odd number", c->rows, c->width, op->heads);
    if (op->slot != 0) dev_build_fail(b, "relative: the row has no position among the units of a slot");
    if (b->network->status != RILL_OK || !op->own_units) return;
    if (b->graph->tensor[b->op->view[ATTEND_keys].element].space != b->op->space)
        dev_build_fail(b, "relative: the rows must be units of the memory");
    b->op->position = dev_add_index(b->network, b->graph, (dev_index){.kind = DEV_INDEX_OWN, .space = b->op->space});
}

void rill_op_attend(rill_network *network, rill_graph graph, rill_index_space space, const rill_attend *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, RILL_OP_ATTEND, space, op)) return;
    const size_t columns = op->value_width > 0 ? op->value_width : op->width;
    const size_t width = op->heads * op->width, out = op->heads * columns;
    const int kind = op->own_units ? -1 : op->path != 0 ? (int)RILL_TABLE_NODES : (int)RILL_TABLE_RAGGED;
    if (op->heads < 1 || op->width < 1 || op->heads > INT32_MAX || op->width > INT32_MAX || columns > INT32_MAX)
        dev_build_fail(&b, "%zu heads of width %zu: invalid", op->heads, op->width);
    if ((op->path != 0) + (op->slot != 0) + (op->own_units != 0) != 1)
        dev_build_fail(&b, "set exactly one of path, slot and own");
    if (op->path != 0) (void)dev_check_handle(&b, op->path, b.graph->n_paths, "path", NULL);
    build_operands(&b, (const size_t[]){width, out}, 1, 0);
    check_attended_kind(&b, ATTEND_keys, kind, "keys");
    check_attended_kind(&b, ATTEND_values, kind, "values");
    if (network->status != RILL_OK) return;
    if (op->own_units && b.graph->tensor[b.op->view[ATTEND_keys].element].space !=
                             b.graph->tensor[b.op->view[ATTEND_values].element].space)
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

/* --- choosing actions --------------------------------------------------------------------------------------------- */

void rill_op_mask(rill_network *network, rill_graph graph, rill_index_space space, const rill_mask *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, RILL_OP_MASK, space, op)) return;
    if (check_subset(&b, op->vocab_subset, op->slot) == NULL) return;
    const size_t width = op->width > 0 ? op->width : view_width(&b, &op->x);
    build_operands(&b, &(const size_t){width > 0 ? width : 1}, 1, 0);
}

static void check_symbols(const dev_builder *b, size_t symbols)
{
    if (symbols < 1 || symbols > INT32_MAX / 2) dev_build_fail(b, "%zu symbols: invalid", symbols);
}

void rill_op_best(rill_network *network, rill_graph graph, rill_index_space space, const rill_best_choices *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, RILL_OP_BEST, space, op)) return;
    check_symbols(&b, op->symbols);
    if (op->raw && op->tag_column != 0) dev_build_fail(&b, "a tag needs no normaliser");
    if (op->first_action < 0 || op->first_action > INT32_MAX / 2) dev_build_fail(&b, "the first action is missing");
    build_operands(&b, &op->symbols, 1, 0);
    check_tensor_subset(&b, BEST_logits, op->vocab_subset, "logits");
    if (op->vocab_subset != 0) {
        if (check_subset(&b, op->vocab_subset, op->vocab_subset_slot) == NULL) return;
        if (op->bias != 0 || op->add.kind != DEV_VIEW_NONE || op->first_action != 0 || op->tag_column != 0)
            dev_build_fail(&b, "a vocabulary subset has its own bias: no other addend is possible");
    }
    if (op->tag_column != 0) {
        (void)dev_column_index(&b, space, op->tag_column, "tag");
        if (network->status == RILL_OK) b.graph->column[op->tag_column - 1].n_writes++;
    } else {
        b.graph->has_selection = 1;
    }
}

void rill_op_mix(rill_network *network, rill_graph graph, rill_index_space space, const rill_mix *op)
{
    dev_builder b;
    if (!begin_op(&b, network, graph, RILL_OP_MIX, space, op)) return;
    if (op->models < 1 || op->models > RILL_MIX_MODELS) {
        dev_build_fail(&b, "%d models, expected 1 to %d", (int)op->models, RILL_MIX_MODELS);
        return;
    }
    check_symbols(&b, op->symbols);
    build_operands(&b, &op->symbols, (size_t)op->models, 0);
    for (int32_t i = 0; i < op->models && network->status == RILL_OK; i++) {
        check_tensor_subset(&b, (size_t)(MIX_logits + i), op->vocab_subset[i], "logits");
        check_row(&b, op->bias[i], op->symbols, "bias");
        if ((op->vocab_subset[i] != 0) != (op->vocab_subset[0] != 0))
            dev_build_fail(&b, "either all models of an ensemble have vocabulary subsets, or none");
        if (op->vocab_subset[i] == 0) continue;
        (void)check_subset(&b, op->vocab_subset[i], op->vocab_subset_slot);
        if (op->bias[i] != 0) dev_build_fail(&b, "a vocabulary subset has its own bias");
    }
    b.graph->has_selection = 1;
}
