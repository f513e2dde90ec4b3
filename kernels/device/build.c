/* Operations: checked and put into a program, one function for each.
 *
 * What is checked here need not be looked at in a run: widths, spaces, what is written before it is read, and that nothing is
 * written where the same operation still reads.
 * Divisions: beginning · operands · weights · cells · attention · rows · choices. */
#include <string.h>

#include "plan.h"

/* --- beginning ---------------------------------------------------------------------------------------------------- */

static const char *const words[DEV_OP_KINDS] = {
    [DEV_PRODUCT] = "product",   [DEV_LSTM] = "lstm",     [DEV_GRU] = "gru",
    [DEV_SCAN] = "scan",         [DEV_ATTEND] = "attend", [DEV_NORMALISE] = "normalise",
    [DEV_ACTIVATE] = "activate", [DEV_EMBED] = "embed",   [DEV_SUM] = "sum",
    [DEV_COPY] = "copy",         [DEV_MASK] = "mask",     [DEV_PATH] = "path",
    [DEV_BEST] = "best",         [DEV_MIX] = "mix",
};

const char *dev_op_word(dev_op_kind kind)
{
    return words[kind];
}

/* One more operation of a program, `op` with its `size` bytes. Returns 0 when there is nothing to build. */
static int begin(dev_builder *b, rill_plan *plan, rill_program program, dev_op_kind kind, rill_space space,
                 const void *op, size_t size)
{
    *b = (dev_builder){.plan = plan, .operation = words[kind]};
    if (plan->status != RILL_OK) return 0;
    if (program < 1 || (size_t)program > plan->programs) {
        dev_plan_fail(plan, RILL_ERR_ARGUMENT, "%s: there is no program %d", words[kind], (int)program);
        return 0;
    }
    dev_program *p = b->program = &plan->program[program - 1];
    if (DEV_MORE(plan, p, op, ops, op_room) < 0) return 0;
    b->op = &p->op[p->ops - 1];
    b->op->kind = kind;
    b->op->space = space;
    b->op->slot = b->op->place = DEV_NO_INDEX;
    if (size > 0) memcpy(&b->op->as, op, size);
    if (space >= 0 && (size_t)space <= p->spaces) return 1;
    dev_build_fail(b, "there is no space %d", (int)space);
    return 0;
}

static int is_ragged(const dev_program *p, rill_space space)
{
    return dev_space_at(p, space)->kind == DEV_RAGGED;
}

/* A constant that stands for one row of `width` floats; 0 is none. */
static void check_row(const dev_builder *b, rill_constant constant, size_t width, const char *what)
{
    if (b->plan->status != RILL_OK || constant == 0) return;
    if (constant < 0 || (size_t)constant > b->plan->constants) {
        dev_build_fail(b, "%s: there is no constant %d", what, (int)constant);
        return;
    }
    const dev_constant *c = &b->plan->constant[constant - 1];
    if (c->rows != 1 || c->width != width)
        dev_build_fail(b, "%s is %zu x %zu, expected 1 x %zu", what, c->rows, c->width, width);
}

static void check_activation(const dev_builder *b, rill_activation activation)
{
    if (activation < RILL_LINEAR || activation > RILL_GELU_SIGMOID)
        dev_build_fail(b, "there is no activation %d", (int)activation);
}

/* A list, with or without weights, and the slots that rows have lists of. */
static const dev_list *check_list(const dev_builder *b, rill_list list, rill_space space, rill_column slot)
{
    if (b->plan->status != RILL_OK) return NULL;
    if (list < 1 || (size_t)list > b->plan->lists) {
        dev_build_fail(b, "there is no list %d", (int)list);
        return NULL;
    }
    b->op->slot = dev_column_index(b, space, slot, "slot of the list");
    return b->plan->status == RILL_OK ? &b->plan->list[list - 1] : NULL;
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

/* An operand of an operation: where its view goes, and what it must be. */
typedef struct operand {
    int place;
    rill_view view;
    size_t width;
    int use; /* of dev_use and here_use */
    const char *what;
} operand;

enum here_use {
    SAME = 1 << 8,   /* what the operation writes first may be this operand */
    LISTED = 1 << 9, /* it may have a list's symbols */
    INPUTS = 1 << 10 /* it is seen from the run's rows, not from the operation's */
};

/* A value that only operations with this list may touch, or with none. */
static void check_value_list(const dev_builder *b, int place, rill_list list, const char *what)
{
    if (b->plan->status != RILL_OK || b->op->view[place].base != DEV_VALUE) return;
    if (b->program->value[b->op->view[place].of].list == list) return;
    dev_build_fail(b, list != 0 ? "%s has not the list's symbols" : "%s has a list's symbols", what);
}

/* What is written may be what is read, or apart from it, but not overlap it. */
static void check_apart(const dev_builder *b, const operand *in, const operand *out, int may_be_same)
{
    const dev_operand *x = &b->op->view[in->place], *y = &b->op->view[out->place];
    if (b->plan->status != RILL_OK || x->base == DEV_NOTHING || x->base != y->base || x->of != y->of) return;
    if (x->base == DEV_TABLE && x->index != y->index) return; /* that rows differ is the caller's promise */
    if (may_be_same && dev_same_operand(x, y)) return;
    if (x->first < y->first + out->width && y->first < x->first + in->width)
        dev_build_fail(b, "%s is written while it is still read", in->what);
}

/* Check n operands, what is read before what is written, and put them into the operation. */
static void build(const dev_builder *b, const operand *x, size_t n)
{
    const operand *first = NULL; /* that is written */
    for (size_t i = 0; i < n; i++)
        dev_build_view(b, x[i].use & INPUTS ? RILL_ROWS : b->op->space, x[i].place, x[i].view, x[i].width, x[i].use,
                       x[i].what);
    for (size_t i = 0; i < n; i++) {
        if (!(x[i].use & LISTED)) check_value_list(b, x[i].place, 0, x[i].what);
        if (!(x[i].use & DEV_WRITE)) continue;
        if (first == NULL) first = &x[i];
        for (size_t j = 0; j < i; j++) check_apart(b, &x[j], &x[i], (x[j].use & SAME) && first == &x[i]);
    }
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static const dev_matrix *check_matrix(const dev_builder *b, rill_matrix matrix)
{
    if (b->plan->status != RILL_OK) return NULL;
    if (matrix >= 1 && (size_t)matrix <= b->plan->matrices) return &b->plan->matrix[matrix - 1];
    dev_build_fail(b, "there is no matrix %d", (int)matrix);
    return NULL;
}

/* The one before multiplied the same rows, which it has quantised. */
static int rows_are_quantised(const dev_builder *b)
{
    const dev_op *op = b->op, *before = op - 1;
    if (b->program->ops < 2 || before->kind != DEV_PRODUCT || before->space != op->space) return 0;
    if (op->as.product.list != 0 || before->as.product.list != 0 || op->as.product.k2 != before->as.product.k2)
        return 0;
    const dev_matrix *now = &b->plan->matrix[op->as.product.matrix - 1],
                     *then = &b->plan->matrix[before->as.product.matrix - 1];
    const dev_operand *written = &before->view[DEV_OUT];
    for (int i = DEV_A; i <= DEV_A2; i++) {
        if (!dev_same_operand(&op->view[i], &before->view[i])) return 0;
        if (written->base == DEV_TABLE && written->base == op->view[i].base && written->of == op->view[i].of) return 0;
    }
    return now->type == RILL_WEIGHT_INT8 && then->type == RILL_WEIGHT_INT8 && now->w.k == then->w.k;
}

static void build_list_product(dev_builder *b, rill_space space, const rill_product *op)
{
    const dev_list *list = check_list(b, op->list, space, op->list_slot);
    if (list == NULL) return;
    if (list->rows == 0 || op->matrix != 0 || op->k2 != 0 || op->bias != 0 || op->add.kind != DEV_VIEW_NONE) {
        dev_build_fail(b, "a list's product has the list's weights, one input and nothing that is added");
        return;
    }
    const dev_constant *rows = &b->plan->constant[list->rows - 1];
    const operand x[] = {{DEV_A, op->a, rows->width, DEV_READ, "a"},
                         {DEV_OUT, op->out, rows->rows, DEV_WRITE | DEV_PLAIN | LISTED, "out"}};
    build(b, x, 2);
    if (b->plan->status != RILL_OK) return;
    dev_value *out = &b->program->value[b->op->view[DEV_OUT].of];
    if (out->first != (int32_t)b->program->ops - 1 && out->list != op->list)
        dev_build_fail(b, "out is used for something else already");
    out->list = op->list;
}

void rill_op_product(rill_plan *plan, rill_program program, rill_space space, const rill_product *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_PRODUCT, space, op, sizeof *op)) return;
    check_activation(&b, op->activation);
    if (op->list != 0) {
        build_list_product(&b, space, op);
        return;
    }
    const dev_matrix *matrix = check_matrix(&b, op->matrix);
    if (matrix == NULL) return;
    const size_t n = matrix->w.n, k = matrix->w.k;
    if (op->k2 >= k) {
        dev_build_fail(&b, "a2 has %zu of the matrix' %zu columns", op->k2, k);
        return;
    }
    check_row(&b, op->bias, n, "bias");
    const operand x[] = {{DEV_A2, op->a2, op->k2, DEV_READ, "a2"},
                         {DEV_A, op->a, k - op->k2, DEV_READ, "a"},
                         {DEV_ADD, op->add, n, DEV_READ | DEV_OPTIONAL | DEV_ABSENT | SAME, "add"},
                         {DEV_OUT, op->out, n, DEV_WRITE, "out"}};
    const size_t without = op->k2 == 0;
    build(&b, x + without, 4 - without);
    if (plan->status != RILL_OK) return;
    b.program->weight_bytes += matrix->bytes;
    b.op->reads = rows_are_quantised(&b);
}

/* --- cells -------------------------------------------------------------------------------------------------------- */

void rill_op_lstm(rill_plan *plan, rill_program program, rill_space space, const rill_lstm_cell *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_LSTM, space, op, sizeof *op)) return;
    const size_t width = op->hidden;
    if (width < 1) dev_build_fail(&b, "a cell of no units");
    const operand x[] = {{DEV_GATES, op->gates, 4 * width, DEV_READ | DEV_PLAIN, "gates"},
                         {DEV_C, op->c, width, DEV_READ | DEV_OPTIONAL | DEV_ABSENT | SAME, "c"},
                         {DEV_C_OUT, op->c_out, width, DEV_WRITE, "c_out"},
                         {DEV_H_OUT, op->h_out, width, DEV_WRITE, "h_out"}};
    build(&b, x, 4);
    if (plan->status == RILL_OK && b.op->view[DEV_C_OUT].index != b.op->view[DEV_H_OUT].index)
        dev_build_fail(&b, "c_out and h_out are written at different rows");
}

void rill_op_gru(rill_plan *plan, rill_program program, rill_space space, const rill_gru_cell *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_GRU, space, op, sizeof *op)) return;
    const size_t width = op->hidden;
    if (width < 1) dev_build_fail(&b, "a cell of no units");
    const operand x[] = {{DEV_GATES, op->input, 3 * width, DEV_READ | DEV_PLAIN, "input"},
                         {DEV_HIDDEN, op->hidden_gates, 3 * width, DEV_READ | DEV_PLAIN, "hidden_gates"},
                         {DEV_H, op->h, width, DEV_READ | DEV_OPTIONAL | DEV_ABSENT | SAME, "h"},
                         {DEV_H_OUT, op->h_out, width, DEV_WRITE, "h_out"}};
    build(&b, x, 4);
}

/* Gates are units of a ragged value, found by the scan itself, or rows of a constant. */
static void check_scan_gates(const dev_builder *b, const rill_scan *op)
{
    const int of_value = op->gates.kind == DEV_VIEW_VALUE;
    if (b->plan->status != RILL_OK) return;
    if (of_value && !is_ragged(b->program, b->program->value[b->op->view[DEV_GATES].of].space))
        dev_build_fail(b, "gates are not a ragged value");
    if (!of_value && op->gates.kind != DEV_VIEW_CONSTANT)
        dev_build_fail(b, "gates are neither a ragged value nor rows of a constant");
    if (!of_value && op->read != 0) dev_build_fail(b, "rows of a constant are read as the column says, not shifted");
}

void rill_op_scan(rill_plan *plan, rill_program program, const rill_scan *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_SCAN, op->space, op, sizeof *op)) return;
    const size_t width = op->hidden, gates = op->cell == RILL_CELL_GRU ? 3 * width : 4 * width;
    if (!is_ragged(b.program, op->space)) {
        dev_build_fail(&b, "its space is not ragged");
        return;
    }
    const dev_matrix *matrix = check_matrix(&b, op->recurrent);
    if (matrix == NULL) return;
    if (op->cell != RILL_CELL_LSTM && op->cell != RILL_CELL_GRU)
        dev_build_fail(&b, "there is no cell %d", (int)op->cell);
    if (matrix->w.k != width || matrix->w.n != gates)
        dev_build_fail(&b, "the recurrent matrix is %zu x %zu, expected %zu x %zu", matrix->w.n, matrix->w.k, gates,
                       width);
    if (op->cell == RILL_CELL_LSTM && op->recurrent_bias != 0) dev_build_fail(&b, "an LSTM's bias is in its gates");
    check_row(&b, op->recurrent_bias, gates, "recurrent_bias");
    const int found = op->gates.kind == DEV_VIEW_VALUE ? DEV_BARE : 0, may = DEV_WRITE | DEV_OPTIONAL;
    const operand x[] = {{DEV_GATES, op->gates, gates, DEV_READ | found, "gates"},
                         {DEV_OUT, op->out, width, may, "out"},
                         {DEV_LAST_H, op->last_h, width, may | INPUTS, "last_h"},
                         {DEV_LAST_C, op->last_c, width, may | INPUTS, "last_c"}};
    build(&b, x, 4);
    check_scan_gates(&b, op);
    if (plan->status != RILL_OK) return;
    if (op->cell == RILL_CELL_GRU && op->last_c.kind != DEV_VIEW_NONE) dev_build_fail(&b, "a GRU has no c");
    b.program->weight_bytes += matrix->bytes;
    if (b.program->scan_space == 0) b.program->scan_space = op->space;
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

rill_path rill_op_path(rill_plan *plan, rill_program program, rill_column node, rill_column parent, rill_column depth)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_PATH, RILL_ROWS, NULL, 0)) return -1;
    const dev_path path = {
        .node = dev_column_index(&b, RILL_ROWS, node, "node"),
        .parent = parent != 0 ? dev_column_index(&b, RILL_ROWS, parent, "parent") : DEV_NO_INDEX,
        .depth = dev_column_index(&b, RILL_ROWS, depth, "depth"),
    };
    const int32_t handle = DEV_MORE(plan, b.program, path, paths, path_room);
    if (handle < 0) return handle;
    b.program->path[handle - 1] = path;
    b.op->path = handle - 1;
    return handle;
}

/* Whether what is attended to is a table of this kind, or with none, -1, a ragged value. */
static void check_memory(const dev_builder *b, int place, int kind, const char *what)
{
    const dev_operand *x = &b->op->view[place];
    if (b->plan->status != RILL_OK) return;
    if (kind < 0 ? x->base == DEV_VALUE && is_ragged(b->program, b->program->value[x->of].space)
                 : x->base == DEV_TABLE && b->plan->table[x->of].kind == (rill_table_kind)kind)
        return;
    dev_build_fail(b, "%s: rows of a %s are attended to", what,
                   kind < 0                   ? "ragged value"
                   : kind == RILL_TABLE_NODES ? "table of nodes"
                                              : "ragged table");
}

/* Numbers for distances: of each head as many to either side as to the other, and one for the row itself. */
static void check_relative(dev_builder *b, const rill_attend *op)
{
    const rill_constant constant = op->relative;
    if (b->plan->status != RILL_OK || constant == 0) return;
    if (constant < 0 || (size_t)constant > b->plan->constants) {
        dev_build_fail(b, "relative: there is no constant %d", (int)constant);
        return;
    }
    const dev_constant *c = &b->plan->constant[constant - 1];
    if (c->rows != op->heads || c->width % 2 == 0)
        dev_build_fail(b, "relative is %zu x %zu, expected %zu x an odd number", c->rows, c->width, op->heads);
    if (op->slot != 0) dev_build_fail(b, "relative: a row has no place among the units of a slot");
    if (b->plan->status != RILL_OK || !op->own) return;
    if (b->program->value[b->op->view[DEV_KEYS].of].space != b->op->space)
        dev_build_fail(b, "relative: rows are not units of the memory");
    b->op->place = dev_index_number(b->plan, b->program, (dev_index){.kind = DEV_OWN, .space = b->op->space});
}

void rill_op_attend(rill_plan *plan, rill_program program, rill_space space, const rill_attend *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_ATTEND, space, op, sizeof *op)) return;
    const size_t columns = op->value_width > 0 ? op->value_width : op->width;
    const size_t width = op->heads * op->width, out = op->heads * columns;
    const int kind = op->own ? -1 : op->path != 0 ? (int)RILL_TABLE_NODES : (int)RILL_TABLE_RAGGED;
    if (op->heads < 1 || op->width < 1 || op->heads > INT32_MAX || op->width > INT32_MAX || columns > INT32_MAX)
        dev_build_fail(&b, "%zu heads of width %zu cannot be", op->heads, op->width);
    check_row(&b, op->additive, width, "additive");
    if ((op->path != 0) + (op->slot != 0) + (op->own != 0) != 1)
        dev_build_fail(&b, "exactly one of path, slot and own says what is attended to");
    if (plan->status == RILL_OK && op->path != 0 && (op->path < 1 || (size_t)op->path > b.program->paths))
        dev_build_fail(&b, "there is no path %d", (int)op->path);
    const operand x[] = {{DEV_QUERY, op->query, width, DEV_READ, "query"},
                         {DEV_KEYS, op->keys, width, DEV_READ | DEV_BARE, "keys"},
                         {DEV_VALUES, op->values, out, DEV_READ | DEV_BARE, "values"},
                         {DEV_OUT, op->out, out, DEV_WRITE, "out"}};
    build(&b, x, 4);
    check_memory(&b, DEV_KEYS, kind, "keys");
    check_memory(&b, DEV_VALUES, kind, "values");
    if (plan->status != RILL_OK) return;
    if (op->own && b.program->value[b.op->view[DEV_KEYS].of].space != b.program->value[b.op->view[DEV_VALUES].of].space)
        dev_build_fail(&b, "keys and values are of different spaces");
    check_relative(&b, op);
    b.op->as.attend.value_width = columns;
    b.op->path = op->path - 1;
    b.op->slot = op->slot != 0 ? dev_column_index(&b, space, op->slot, "slot") : dev_map_index(&b, space, RILL_ROWS);
    if (op->watch > op->heads) dev_build_fail(&b, "more heads are watched than there are");
    if (op->watch > 0 && (space != RILL_ROWS || b.program->watches))
        dev_build_fail(&b, "one operation, over the run's rows, can be watched");
    b.program->watches |= op->watch > 0;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* The floats of a row that an operand has, of values, tables and constants alike. */
static size_t width_of(const dev_builder *b, const rill_view *view)
{
    const rill_plan *plan = b->plan;
    size_t width = 0;
    if (plan->status != RILL_OK || view->of < 1) return 0;
    const size_t of = (size_t)view->of;
    if (view->kind == DEV_VIEW_VALUE || view->kind == DEV_VIEW_UNIT)
        width = of <= b->program->values ? b->program->value[of - 1].width : 0;
    else if (view->kind == DEV_VIEW_CONSTANT)
        width = of <= plan->constants ? plan->constant[of - 1].width : 0;
    else if (view->kind != DEV_VIEW_NONE)
        width = of <= plan->tables ? plan->table[of - 1].width : 0;
    return width > (size_t)view->first ? width - (size_t)view->first : 0;
}

void rill_op_normalise(rill_plan *plan, rill_program program, rill_space space, const rill_normalise *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_NORMALISE, space, op, sizeof *op)) return;
    const size_t width = op->width != 0 ? op->width : width_of(&b, &op->y);
    b.op->as.normalise.width = width;
    const operand x[] = {{DEV_X, op->x, width, DEV_READ | SAME, "x"},
                         {DEV_RESIDUAL, op->residual, width, DEV_READ | DEV_OPTIONAL | SAME, "residual"},
                         {DEV_OUT, op->y, width, DEV_WRITE, "y"}};
    build(&b, x, 3);
    check_row(&b, op->gain, width, "gain");
    check_row(&b, op->bias, width, "bias");
    if (plan->status == RILL_OK && !(op->eps >= 0.0f)) dev_build_fail(&b, "eps is below 0");
}

void rill_op_activate(rill_plan *plan, rill_program program, rill_space space, const rill_activate *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_ACTIVATE, space, op, sizeof *op)) return;
    const size_t width = op->width != 0 ? op->width : width_of(&b, &op->y);
    b.op->as.activate.width = width;
    check_activation(&b, op->activation);
    const operand x[] = {{DEV_X, op->x, width, DEV_READ | SAME, "x"},
                         {DEV_GATE, op->gate, width, DEV_READ | DEV_OPTIONAL, "gate"},
                         {DEV_OUT, op->y, width, DEV_WRITE, "y"}};
    build(&b, x, 3);
}

void rill_op_embed(rill_plan *plan, rill_program program, rill_space space, const rill_embedding *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_EMBED, space, op, sizeof *op)) return;
    size_t width = op->width != 0 ? op->width : width_of(&b, &op->out);
    if (op->matrix != 0) {
        const dev_matrix *matrix = check_matrix(&b, op->matrix);
        if (matrix == NULL) return;
        width = matrix->w.k;
        if (matrix->type != RILL_WEIGHT_F32) dev_build_fail(&b, "the matrix is not in f32");
        if (op->rows.kind != DEV_VIEW_NONE) dev_build_fail(&b, "rows and a matrix are given");
        b.op->slot = dev_column_index(&b, space, op->symbol, "symbol");
    } else if (op->rows.kind == DEV_VIEW_VALUE || op->rows.kind == DEV_VIEW_UNIT) {
        dev_build_fail(&b, "rows are neither a constant's nor a table's");
    }
    b.op->as.embed.width = width;
    const int optional = op->matrix != 0 ? DEV_OPTIONAL : 0;
    const operand x[] = {{DEV_X, op->rows, width, DEV_READ | DEV_ABSENT | optional, "rows"},
                         {DEV_POSITION, op->position, width, DEV_READ | DEV_OPTIONAL | DEV_ABSENT, "position"},
                         {DEV_OUT, op->out, width, DEV_WRITE, "out"}};
    build(&b, x, 3);
}

void rill_op_sum(rill_plan *plan, rill_program program, rill_space space, const rill_sum *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_SUM, space, op, sizeof *op)) return;
    const size_t width = op->width != 0 ? op->width : width_of(&b, &op->out);
    b.op->as.sum.width = width;
    if (op->terms < 1 || op->terms > RILL_SUM_TERMS) {
        dev_build_fail(&b, "%d terms, expected 1 to %d", (int)op->terms, RILL_SUM_TERMS);
        return;
    }
    if (op->activation != RILL_LINEAR && op->activation != RILL_RELU)
        dev_build_fail(&b, "a sum ends in a rectifier or in nothing");
    operand x[RILL_SUM_TERMS + 1];
    for (int32_t i = 0; i < op->terms; i++)
        x[i] = (operand){i, op->term[i], width, DEV_READ | DEV_ABSENT | SAME, "a term"};
    x[op->terms] = (operand){DEV_SUM_OUT, op->out, width, DEV_WRITE, "out"};
    build(&b, x, (size_t)op->terms + 1);
}

void rill_op_copy(rill_plan *plan, rill_program program, rill_space space, const rill_copy *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_COPY, space, op, sizeof *op)) return;
    if (op->width < 1) dev_build_fail(&b, "rows of no width");
    const operand x[] = {{DEV_X, op->x, op->width, DEV_READ | DEV_ABSENT, "x"},
                         {DEV_OUT, op->out, op->width, DEV_WRITE, "out"}};
    build(&b, x, 2);
}

/* --- choices ------------------------------------------------------------------------------------------------------ */

void rill_op_mask(rill_plan *plan, rill_program program, rill_space space, const rill_mask *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_MASK, space, op, sizeof *op)) return;
    if (check_list(&b, op->list, space, op->slot) == NULL) return;
    build(&b, &(operand){DEV_X, op->x, 1, DEV_READ | DEV_PLAIN, "x"}, 1);
    if (plan->status == RILL_OK) b.op->as.mask.width = width_of(&b, &op->x);
}

void rill_op_best(rill_plan *plan, rill_program program, rill_space space, const rill_best_choices *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_BEST, space, op, sizeof *op)) return;
    if (op->symbols < 1 || op->symbols > INT32_MAX / 2) dev_build_fail(&b, "%zu symbols cannot be", op->symbols);
    if (op->raw && op->tag != 0) dev_build_fail(&b, "a tag has no normaliser anyway");
    if (op->first_action < 0 || op->first_action > INT32_MAX / 2) dev_build_fail(&b, "no first action");
    const operand x[] = {{DEV_LOGITS, op->logits, op->symbols, DEV_READ | DEV_PLAIN | LISTED, "logits"},
                         {DEV_ADD, op->add, op->symbols, DEV_READ | DEV_OPTIONAL | DEV_ABSENT, "add"}};
    build(&b, x, 2);
    check_value_list(&b, DEV_LOGITS, op->list, "logits");
    if (op->list != 0) {
        const dev_list *list = check_list(&b, op->list, space, op->list_slot);
        if (list == NULL) return;
        if (op->bias != 0 || op->add.kind != DEV_VIEW_NONE || op->first_action != 0 || op->tag != 0)
            dev_build_fail(&b, "a list brings its bias, and nothing else goes with it");
    }
    check_row(&b, op->bias, op->symbols, "bias");
    if (op->tag != 0) {
        (void)dev_column_index(&b, space, op->tag, "tag");
        if (plan->status == RILL_OK) b.program->column[op->tag - 1].written++;
    } else {
        b.program->selects = 1;
    }
}

static void build_model(dev_builder *b, rill_space space, const rill_mix *op, int32_t i)
{
    build(b, &(operand){i, op->logits[i], op->symbols, DEV_READ | DEV_PLAIN | LISTED, "logits"}, 1);
    check_value_list(b, i, op->list[i], "logits");
    check_row(b, op->bias[i], op->symbols, "bias");
    if ((op->list[i] != 0) != (op->list[0] != 0)) dev_build_fail(b, "either all models have lists or none");
    if (op->list[i] == 0) return;
    (void)check_list(b, op->list[i], space, op->list_slot);
    if (op->bias[i] != 0) dev_build_fail(b, "a list brings its bias");
}

void rill_op_mix(rill_plan *plan, rill_program program, rill_space space, const rill_mix *op)
{
    dev_builder b;
    if (!begin(&b, plan, program, DEV_MIX, space, op, sizeof *op)) return;
    if (op->models < 1 || op->models > RILL_MIX_MODELS) {
        dev_build_fail(&b, "%d models, expected 1 to %d", (int)op->models, RILL_MIX_MODELS);
        return;
    }
    if (op->symbols < 1 || op->symbols > INT32_MAX / 2) dev_build_fail(&b, "%zu symbols cannot be", op->symbols);
    for (int32_t i = 0; i < op->models && plan->status == RILL_OK; i++) build_model(&b, space, op, i);
    b.program->selects = 1;
}
