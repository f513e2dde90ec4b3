/* Builds a net_spec as a network, part by part with the functions of device.h. */
#include "interpreter.h"

#include <string.h>

static rill_view make_view(spec_view l)
{
    rill_view v = {0};
    if (l.kind == SPEC_VIEW_VALUE) v = rill_view_value(l.source);
    if (l.kind == SPEC_VIEW_UNIT) v = rill_view_unit(l.source, l.row);
    if (l.kind == SPEC_VIEW_TABLE) v = rill_view_table(l.source, l.row);
    if (l.kind == SPEC_VIEW_CONSTANT) v = rill_view_constant(l.source, l.row);
    if (l.kind == SPEC_VIEW_RAGGED) v = rill_view_ragged(l.source, l.slot, l.row);
    return l.first != 0 ? rill_view_offset(v, (size_t)l.first) : v;
}

/* rill_op_scan() has no argument for the index space: rill_scan.space names it. */
#define rill_op_scan(plan, program, space, op) rill_op_scan(plan, program, op)

static void build_op(rill_network *network, rill_graph graph, spec_op op)
{
    rill_view v[RILL_MIX_MODELS + 1] = {{0}};
    for (int i = 0; i < 16; i++) v[i] = make_view(op.view[i]);
    switch (op.kind) {
#define SET_VIEW(OPERATION, member, times, width, use) \
    if (!((use)&RILL_ONE_ROW)) memcpy(&o->member, v + OPERATION##_##member, sizeof o->member);
#define BUILD(OPERATION, word, description, width, flops)                                  \
    case RILL_OP_##OPERATION: {                                                            \
        description *o = &op.as.word;                                                      \
        RILL_##OPERATION##_OPERANDS(SET_VIEW) rill_op_##word(network, graph, op.space, o); \
        break;                                                                             \
    }
        RILL_OPERATIONS(BUILD)
    default: (void)rill_op_path(network, graph, op.node, op.parent, op.depth); break;
    }
}

rill_status build_network(const net_spec *t, rill_network *network, rill_graph *graph)
{
    for (int32_t i = 1; i <= t->constants; i++)
        (void)rill_network_constant(network, t->constant[i].data, t->constant[i].rows, t->constant[i].width);
    for (int32_t i = 1; i <= t->matrices; i++)
        (void)rill_network_matrix(network, t->matrix[i].type, t->matrix[i].n, t->matrix[i].k, t->matrix[i].w,
                                  t->matrix[i].k);
    for (int32_t i = 1; i <= t->tables; i++)
        (void)rill_network_table(network, t->table[i].kind, t->table[i].width, "a table");
    for (int32_t i = 1; i <= t->vocab_subsets; i++)
        (void)rill_network_vocab_subset(network, t->vocab_subset[i].rows, t->vocab_subset[i].bias,
                                        t->vocab_subset[i].type, "a list");
    const rill_graph p = *graph = rill_graph_begin(network, "tale");
    /* Create columns after the space they belong to, and spaces after the column that defines them. */
    for (int32_t s = 0, c = 1; s <= t->spaces; s++) {
        const rill_index_space parent = t->space[s].parent_space;
        if (t->space[s].kind == SPEC_SPACE_WHERE) (void)rill_index_space_where(network, p, parent, t->space[s].column);
        if (t->space[s].kind == SPEC_SPACE_DISTINCT)
            (void)rill_index_space_distinct(network, p, parent, t->space[s].column);
        if (t->space[s].kind == SPEC_SPACE_RAGGED) (void)rill_index_space_ragged(network, p, t->space[s].column);
        for (; c <= t->columns && t->column[c].space <= s; c++)
            (void)rill_column_input(network, p, t->column[c].space, "a column");
    }
    for (int32_t v = 1; v <= t->values; v++) (void)rill_tensor_make(network, p, t->value[v].space, t->value[v].width);
    for (int32_t i = 0; i < t->ops; i++) build_op(network, p, t->op[i]);
    if (t->expected > 0) rill_graph_prefetch(network, p, t->expected, t->expected_slot);
    return rill_network_finish(network);
}
