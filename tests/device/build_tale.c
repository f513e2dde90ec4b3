/* Tales as plans: each part by the function of device.h that makes it. */
#include "interpreter.h"

static rill_view view_of(look l)
{
    rill_view v = {0};
    if (l.kind == LOOK_VALUE) v = rill_of(l.of);
    if (l.kind == LOOK_UNIT) v = rill_unit_of(l.of, l.row);
    if (l.kind == LOOK_TABLE) v = rill_at(l.of, l.row);
    if (l.kind == LOOK_CONSTANT) v = rill_row(l.of, l.row);
    if (l.kind == LOOK_IN) v = rill_in(l.of, l.slot, l.row);
    return l.first != 0 ? rill_from(v, (size_t)l.first) : v;
}

static void build_op(rill_plan *plan, rill_program program, told_op op)
{
    rill_view v[16];
    for (int i = 0; i < 16; i++) v[i] = view_of(op.view[i]);
    switch (op.kind) {
    case TOLD_PRODUCT:
        op.as.product.a = v[0], op.as.product.a2 = v[1], op.as.product.add = v[2], op.as.product.out = v[3];
        rill_op_product(plan, program, op.space, &op.as.product);
        break;
    case TOLD_LSTM:
        op.as.lstm.gates = v[0], op.as.lstm.c = v[1], op.as.lstm.c_out = v[2], op.as.lstm.h_out = v[3];
        rill_op_lstm(plan, program, op.space, &op.as.lstm);
        break;
    case TOLD_GRU:
        op.as.gru.input = v[0], op.as.gru.hidden_gates = v[1], op.as.gru.h = v[2], op.as.gru.h_out = v[3];
        rill_op_gru(plan, program, op.space, &op.as.gru);
        break;
    case TOLD_SCAN:
        op.as.scan.gates = v[0], op.as.scan.out = v[1], op.as.scan.last_h = v[2], op.as.scan.last_c = v[3];
        rill_op_scan(plan, program, &op.as.scan);
        break;
    case TOLD_ATTEND:
        op.as.attend.query = v[0], op.as.attend.keys = v[1], op.as.attend.values = v[2], op.as.attend.out = v[3];
        rill_op_attend(plan, program, op.space, &op.as.attend);
        break;
    case TOLD_NORMALISE:
        op.as.normalise.x = v[0], op.as.normalise.residual = v[1], op.as.normalise.y = v[2];
        rill_op_normalise(plan, program, op.space, &op.as.normalise);
        break;
    case TOLD_ACTIVATE:
        op.as.activate.x = v[0], op.as.activate.gate = v[1], op.as.activate.y = v[2];
        rill_op_activate(plan, program, op.space, &op.as.activate);
        break;
    case TOLD_EMBED:
        op.as.embed.rows = v[0], op.as.embed.position = v[1], op.as.embed.out = v[2];
        rill_op_embed(plan, program, op.space, &op.as.embed);
        break;
    case TOLD_SUM:
        for (int i = 0; i < op.as.sum.terms; i++) op.as.sum.term[i] = v[i];
        op.as.sum.out = v[15];
        rill_op_sum(plan, program, op.space, &op.as.sum);
        break;
    case TOLD_COPY:
        op.as.copy.x = v[0], op.as.copy.out = v[1];
        rill_op_copy(plan, program, op.space, &op.as.copy);
        break;
    case TOLD_MASK:
        op.as.mask.x = v[0];
        rill_op_mask(plan, program, op.space, &op.as.mask);
        break;
    case TOLD_PATH: (void)rill_op_path(plan, program, op.node, op.parent, op.depth); break;
    case TOLD_BEST:
        op.as.best.logits = v[0], op.as.best.add = v[1];
        rill_op_best(plan, program, op.space, &op.as.best);
        break;
    case TOLD_MIX:
        for (int i = 0; i < op.as.mix.models; i++) op.as.mix.logits[i] = v[i];
        rill_op_mix(plan, program, op.space, &op.as.mix);
        break;
    }
}

rill_status build_tale(const tale *t, rill_plan *plan, rill_program *program)
{
    for (int32_t i = 1; i <= t->constants; i++)
        (void)rill_plan_constant(plan, t->constant[i].data, t->constant[i].rows, t->constant[i].width);
    for (int32_t i = 1; i <= t->matrices; i++)
        (void)rill_plan_matrix(plan, t->matrix[i].type, t->matrix[i].n, t->matrix[i].k, t->matrix[i].w, t->matrix[i].k);
    for (int32_t i = 1; i <= t->tables; i++)
        (void)rill_plan_table(plan, t->table[i].kind, t->table[i].width, "a table");
    for (int32_t i = 1; i <= t->lists; i++)
        (void)rill_plan_list(plan, t->list[i].rows, t->list[i].bias, t->list[i].type, "a list");
    const rill_program p = *program = rill_program_begin(plan, "tale");
    /* Columns stand behind the space that they are of, spaces behind the column that they are made by. */
    for (int32_t s = 0, c = 1; s <= t->spaces; s++) {
        const rill_space of = t->space[s].of;
        if (t->space[s].kind == TOLD_WHERE) (void)rill_space_where(plan, p, of, t->space[s].column);
        if (t->space[s].kind == TOLD_DISTINCT) (void)rill_space_distinct(plan, p, of, t->space[s].column);
        if (t->space[s].kind == TOLD_RAGGED) (void)rill_space_ragged(plan, p, t->space[s].column);
        for (; c <= t->columns && t->column[c].space <= s; c++)
            (void)rill_column_given(plan, p, t->column[c].space, "a column");
    }
    for (int32_t v = 1; v <= t->values; v++) (void)rill_value_make(plan, p, t->value[v].space, t->value[v].width);
    for (int32_t i = 0; i < t->ops; i++) build_op(plan, p, t->op[i]);
    if (t->expected > 0) rill_program_expect(plan, p, t->expected, t->expected_slot);
    return rill_plan_finish(plan);
}
