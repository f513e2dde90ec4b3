/* Views, resolved to operands of an operation.
 *
 * A view names a tensor, table or constant. An operand has an address, a row stride, and an optional index, which gives the operand's row
 * for each row of the operation. */
#include "backend.h"

/* --- making views ------------------------------------------------------------------------------------------------- */

rill_view rill_view_value(rill_tensor tensor)
{
    return (rill_view){.kind = DEV_VIEW_VALUE, .source = tensor, .row = RILL_OWN};
}

rill_view rill_view_unit(rill_tensor tensor, rill_column column)
{
    return (rill_view){.kind = DEV_VIEW_UNIT, .source = tensor, .row = column};
}

rill_view rill_view_table(rill_table table, rill_column row)
{
    return (rill_view){.kind = DEV_VIEW_TABLE, .source = table, .row = row};
}

rill_view rill_view_constant(rill_constant constant, rill_column row)
{
    return (rill_view){.kind = DEV_VIEW_CONSTANT, .source = constant, .row = row};
}

rill_view rill_view_ragged(rill_table table, rill_column slot, rill_column unit)
{
    return (rill_view){.kind = DEV_VIEW_RAGGED, .source = table, .row = unit, .slot = slot};
}

rill_view rill_view_offset(rill_view view, size_t first)
{
    view.first += (int32_t)first;
    return view;
}

int dev_same_operand(const dev_operand *a, const dev_operand *b)
{
    return a->base == b->base && a->element == b->element && a->index == b->index && a->first == b->first;
}

/* --- indices ------------------------------------------------------------------------------------------------------ */

int32_t dev_add_index(rill_network *network, dev_graph *graph, dev_index wanted)
{
    for (size_t i = 0; i < graph->n_indices; i++) {
        const dev_index *have = &graph->index[i];
        if (have->kind == wanted.kind && have->space == wanted.space && have->a == wanted.a && have->b == wanted.b)
            return (int32_t)i;
    }
    const int32_t number = DEV_APPEND(network, graph, index, n_indices, index_capacity);
    if (number < 0) return DEV_NO_INDEX;
    graph->index[number - 1] = wanted;
    return number - 1;
}

const dev_index_space *dev_get_space(const dev_graph *p, rill_index_space space)
{
    static const dev_index_space rows = {.kind = DEV_SPACE_ROWS};
    return space == RILL_ROWS ? &rows : &p->space[space - 1];
}

int dev_is_derived(const dev_graph *p, rill_index_space space, rill_index_space from)
{
    while (space != from && space != RILL_ROWS) space = dev_get_space(p, space)->parent;
    return space == from;
}

/* Check that every row of `space` has exactly one row in `to`. Returns 0, or a negative number after a failure. */
static int check_derivation(const dev_builder *b, rill_index_space space, rill_index_space to, int use,
                            const char *what)
{
    dev_graph *p = b->graph;
    for (; !dev_is_derived(p, to, space); space = dev_get_space(p, space)->parent) {
        if (dev_get_space(p, space)->kind == DEV_SPACE_DISTINCT)
            return dev_build_fail(b, "%s: a row of distinct values belongs to several rows, so its input is ambiguous",
                                  what);
        if (dev_get_space(p, space)->kind == DEV_SPACE_RAGGED && (use & RILL_OUT))
            return dev_build_fail(b, "%s: several units would write the row of one input", what);
    }
    for (; to != space; to = dev_get_space(p, to)->parent) {
        dev_index_space *down = &p->space[to - 1];
        if (down->kind == DEV_SPACE_RAGGED)
            return dev_build_fail(b, "%s: a row has several units, so the value is ambiguous", what);
        if (use & RILL_OUT) return dev_build_fail(b, "%s: it can only be read here", what);
        if (down->kind == DEV_SPACE_WHERE && !(use & RILL_MAY_BE_ABSENT))
            return dev_build_fail(b, "%s: some rows have no matching row in this index space", what);
        down->needs_child_rows = 1;
    }
    return 0;
}

static int32_t map_index(const dev_builder *b, rill_index_space space, rill_index_space to, int use, const char *what)
{
    if (space == to || check_derivation(b, space, to, use, what) < 0) return DEV_NO_INDEX;
    return dev_add_index(b->network, b->graph, (dev_index){.kind = DEV_INDEX_MAP, .space = space, .a = to});
}

int32_t dev_map_index(const dev_builder *b, rill_index_space space, rill_index_space to)
{
    return map_index(b, space, to, 0, "the input of a row");
}

int32_t dev_column_index(const dev_builder *b, rill_index_space space, rill_column column, const char *what)
{
    dev_graph *p = b->graph;
    if (!dev_check_handle(b, column, p->n_columns, "column", what)) return DEV_NO_INDEX;
    const dev_column *c = &p->column[column - 1];
    for (rill_index_space s = space; s != c->space; s = dev_get_space(p, s)->parent)
        if (s == RILL_ROWS || dev_get_space(p, s)->kind == DEV_SPACE_DISTINCT)
            return dev_build_fail(b, "%s: column %s has no entries for these rows", what, c->name);
    return dev_add_index(b->network, p,
                         (dev_index){.kind = DEV_INDEX_COLUMN, .space = space, .a = column - 1, .b = c->n_writes});
}

/* Return the number of the index RILL_OWN: each row's value in a `distinct` index space, each token's position in a
 * ragged space. */
static int32_t own_index(const dev_builder *b, rill_index_space space, const char *what)
{
    const dev_index_space_kind kind = dev_get_space(b->graph, space)->kind;
    if (kind != DEV_SPACE_DISTINCT && kind != DEV_SPACE_RAGGED)
        return dev_build_fail(b, "%s: rows of this index space have no number", what);
    return dev_add_index(b->network, b->graph, (dev_index){.kind = DEV_INDEX_OWN, .space = space});
}

static int32_t row_number_index(const dev_builder *b, rill_index_space space, rill_column column, const char *what)
{
    return column == RILL_OWN ? own_index(b, space, what) : dev_column_index(b, space, column, what);
}

/* --- checking views ----------------------------------------------------------------------------------------------- */

static int check_width(const dev_builder *b, const rill_view *view, size_t have, size_t width, const char *what)
{
    if (view->first >= 0 && (size_t)view->first <= have && have - (size_t)view->first >= width) return 0;
    return dev_build_fail(b, "%s has %zu columns from column %d on, expected %zu", what,
                          have > (size_t)view->first ? have - (size_t)view->first : 0, (int)view->first, width);
}

/* Record that the operation being built uses a tensor, which extends its lifetime. Fails if no operation has written
 * it yet. */
static int mark_used(const dev_builder *b, dev_tensor *tensor, int use, const char *what)
{
    const int32_t now = (int32_t)b->graph->n_ops - 1;
    if (tensor->first_op < 0 && !(use & RILL_OUT)) return dev_build_fail(b, "%s is read before it is written", what);
    if (tensor->first_op < 0) tensor->first_op = now;
    tensor->last_op = now;
    return 0;
}

static int build_tensor_view(const dev_builder *b, rill_index_space space, dev_operand *to, const rill_view *view,
                             size_t width, int use, const char *what)
{
    dev_graph *p = b->graph;
    if (!dev_check_handle(b, view->source, p->n_tensors, "tensor", what)) return -1;
    dev_tensor *tensor = &p->tensor[view->source - 1];
    if (check_width(b, view, tensor->width, width, what) < 0 || mark_used(b, tensor, use, what) < 0) return -1;
    to->base = DEV_BASE_TENSOR;
    if (view->kind == DEV_VIEW_VALUE) {
        if ((use & RILL_OWN_SPACE) && tensor->space != space)
            return dev_build_fail(b, "%s does not belong to the operation's index space", what);
        to->index = use & RILL_ANY_ROW ? DEV_NO_INDEX : map_index(b, space, tensor->space, use, what);
        return 0;
    }
    if (dev_get_space(p, tensor->space)->kind != DEV_SPACE_RAGGED || (use & (RILL_OUT | RILL_OWN_SPACE)))
        return dev_build_fail(b, "%s: expected readable units of a ragged tensor", what);
    const int32_t unit = dev_column_index(b, space, view->row, what);
    to->index = dev_add_index(b->network, p,
                              (dev_index){.kind = DEV_INDEX_UNIT, .space = space, .a = tensor->space, .b = unit});
    return 0;
}

static int build_table_view(const dev_builder *b, rill_index_space space, dev_operand *to, const rill_view *view,
                            size_t width, int use, const char *what)
{
    if (!dev_check_handle(b, view->source, b->network->n_tables, "table", what)) return -1;
    const dev_table *table = &b->network->table[view->source - 1];
    if (check_width(b, view, table->width, width, what) < 0) return -1;
    if ((use & RILL_OUT) && table->kind == RILL_TABLE_HOST)
        return dev_build_fail(b, "%s: only the host may write this table", what);
    to->base = DEV_BASE_TABLE;
    if (use & RILL_ANY_ROW) return 0;
    if ((table->kind == RILL_TABLE_RAGGED) != (view->kind == DEV_VIEW_RAGGED))
        return dev_build_fail(b, "%s: only rows of ragged tables have a slot", what);
    if (view->kind == DEV_VIEW_TABLE) {
        to->index = row_number_index(b, space, view->row, what);
        return 0;
    }
    const int32_t slot = dev_column_index(b, space, view->slot, what);
    const int32_t unit = row_number_index(b, space, view->row, what);
    to->index = dev_add_index(b->network, b->graph,
                              (dev_index){.kind = DEV_INDEX_RAGGED, .space = space, .a = slot, .b = unit});
    return 0;
}

static int build_constant_view(const dev_builder *b, rill_index_space space, dev_operand *to, const rill_view *view,
                               size_t width, int use, const char *what)
{
    if (!dev_check_handle(b, view->source, b->network->n_constants, "constant", what)) return -1;
    if (check_width(b, view, b->network->constant[view->source - 1].width, width, what) < 0) return -1;
    if (use & RILL_OUT) return dev_build_fail(b, "%s: constants cannot be written", what);
    to->base = DEV_BASE_CONSTANT;
    to->index = row_number_index(b, space, view->row, what);
    return 0;
}

void dev_build_view(const dev_builder *b, rill_index_space space, int place, rill_view view, size_t width, int use,
                    const char *what)
{
    dev_operand *to = &b->op->view[place];
    if (b->network->status != RILL_OK) return;
    *to = (dev_operand){
        .element = view.source - 1, .index = DEV_NO_INDEX, .use = use, .first = (size_t)view.first, .width = width};
    if (view.kind == DEV_VIEW_NONE) {
        to->element = 0;
        if (!(use & RILL_OPTIONAL)) dev_build_fail(b, "%s is missing", what);
        return;
    }
    if ((use & RILL_OWN_SPACE) && view.kind != DEV_VIEW_VALUE) {
        dev_build_fail(b, "%s does not belong to the operation's index space", what);
        return;
    }
    if (view.kind == DEV_VIEW_VALUE || view.kind == DEV_VIEW_UNIT)
        build_tensor_view(b, space, to, &view, width, use, what);
    else if (view.kind == DEV_VIEW_CONSTANT)
        build_constant_view(b, space, to, &view, width, use, what);
    else
        build_table_view(b, space, to, &view, width, use, what);
}
