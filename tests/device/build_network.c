/* Builds a net_spec as a network, part by part with the functions of device.h. */
#include "interpreter.h"

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

static void build_op(rill_network *plan, rill_graph program, spec_op op)
{
    rill_view v[16];
    for (int i = 0; i < 16; i++) v[i] = make_view(op.view[i]);
    switch (op.kind) {
    case SPEC_PRODUCT:
        op.as.product.a = v[0], op.as.product.a2 = v[1], op.as.product.add = v[2], op.as.product.out = v[3];
        rill_op_product(plan, program, op.space, &op.as.product);
        break;
    case SPEC_LSTM:
        op.as.lstm.gates = v[0], op.as.lstm.c = v[1], op.as.lstm.c_out = v[2], op.as.lstm.h_out = v[3];
        rill_op_lstm(plan, program, op.space, &op.as.lstm);
        break;
    case SPEC_GRU:
        op.as.gru.input = v[0], op.as.gru.hidden_gates = v[1], op.as.gru.h = v[2], op.as.gru.h_out = v[3];
        rill_op_gru(plan, program, op.space, &op.as.gru);
        break;
    case SPEC_SCAN:
        op.as.scan.gates = v[0], op.as.scan.out = v[1], op.as.scan.last_h = v[2], op.as.scan.last_c = v[3];
        rill_op_scan(plan, program, &op.as.scan);
        break;
    case SPEC_ATTEND:
        op.as.attend.query = v[0], op.as.attend.keys = v[1], op.as.attend.values = v[2], op.as.attend.out = v[3];
        rill_op_attend(plan, program, op.space, &op.as.attend);
        break;
    case SPEC_NORMALISE:
        op.as.normalise.x = v[0], op.as.normalise.residual = v[1], op.as.normalise.y = v[2];
        rill_op_normalise(plan, program, op.space, &op.as.normalise);
        break;
    case SPEC_ACTIVATE:
        op.as.activate.x = v[0], op.as.activate.gate = v[1], op.as.activate.y = v[2];
        rill_op_activate(plan, program, op.space, &op.as.activate);
        break;
    case SPEC_EMBED:
        op.as.embed.rows = v[0], op.as.embed.position = v[1], op.as.embed.out = v[2];
        rill_op_embed(plan, program, op.space, &op.as.embed);
        break;
    case SPEC_SUM:
        for (int i = 0; i < op.as.sum.terms; i++) op.as.sum.term[i] = v[i];
        op.as.sum.out = v[15];
        rill_op_sum(plan, program, op.space, &op.as.sum);
        break;
    case SPEC_COPY:
        op.as.copy.x = v[0], op.as.copy.out = v[1];
        rill_op_copy(plan, program, op.space, &op.as.copy);
        break;
    case SPEC_MASK:
        op.as.mask.x = v[0];
        rill_op_mask(plan, program, op.space, &op.as.mask);
        break;
    case SPEC_PATH: (void)rill_op_path(plan, program, op.node, op.parent, op.depth); break;
    case SPEC_BEST:
        op.as.best.logits = v[0], op.as.best.add = v[1];
        rill_op_best(plan, program, op.space, &op.as.best);
        break;
    case SPEC_MIX:
        for (int i = 0; i < op.as.mix.models; i++) op.as.mix.logits[i] = v[i];
        rill_op_mix(plan, program, op.space, &op.as.mix);
        break;
    }
}

rill_status build_network(const net_spec *t, rill_network *plan, rill_graph *program)
{
    for (int32_t i = 1; i <= t->constants; i++)
        (void)rill_network_constant(plan, t->constant[i].data, t->constant[i].rows, t->constant[i].width);
    for (int32_t i = 1; i <= t->matrices; i++)
        (void)rill_network_matrix(plan, t->matrix[i].type, t->matrix[i].n, t->matrix[i].k, t->matrix[i].w,
                                  t->matrix[i].k);
    for (int32_t i = 1; i <= t->tables; i++)
        (void)rill_network_table(plan, t->table[i].kind, t->table[i].width, "a table");
    for (int32_t i = 1; i <= t->lists; i++)
        (void)rill_network_vocab_subset(plan, t->list[i].rows, t->list[i].bias, t->list[i].type, "a list");
    const rill_graph p = *program = rill_graph_begin(plan, "tale");
    /* Columns follow the space they belong to; spaces follow the column that defines them. */
    for (int32_t s = 0, c = 1; s <= t->spaces; s++) {
        const rill_index_space parent = t->space[s].parent_space;
        if (t->space[s].kind == SPEC_SPACE_WHERE) (void)rill_index_space_where(plan, p, parent, t->space[s].column);
        if (t->space[s].kind == SPEC_SPACE_DISTINCT)
            (void)rill_index_space_distinct(plan, p, parent, t->space[s].column);
        if (t->space[s].kind == SPEC_SPACE_RAGGED) (void)rill_index_space_ragged(plan, p, t->space[s].column);
        for (; c <= t->columns && t->column[c].space <= s; c++)
            (void)rill_column_input(plan, p, t->column[c].space, "a column");
    }
    for (int32_t v = 1; v <= t->values; v++) (void)rill_tensor_make(plan, p, t->value[v].space, t->value[v].width);
    for (int32_t i = 0; i < t->ops; i++) build_op(plan, p, t->op[i]);
    if (t->expected > 0) rill_graph_prefetch(plan, p, t->expected, t->expected_slot);
    return rill_network_finish(plan);
}
