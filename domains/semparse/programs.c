/* What the model computes, as programs (rill/device.h):
 *
 * encode: h_t, c_t = LSTM(start[word_t], h_{t-1}, c_{t-1}) over <s>, the words from last to first, </s>; memory m_t = h_t and W_c m_t.
 * step:   gates = start[action] + W_hh h_parent, then the LSTM cell. Siblings share their parent's product.
 * score:  p = softmax(m_t . h);  a = tanh(W_s h + b_a + sum_t p_t (W_c m_t));  log-softmax(W_o a + b_o). */
#include "model.h"

static void make_tables(semparse *s)
{
    rill_plan *plan = s->plan;
    s->tables = (semparse_tables){
        .state = rill_plan_table(plan, RILL_TABLE_NODES, 2 * s->ld, "states"),
        .last = rill_plan_table(plan, RILL_TABLE_SLOTS, 2 * s->ld, "last states"),
        .memory = rill_plan_table(plan, RILL_TABLE_RAGGED, s->ld, "memory"),
        .projected = rill_plan_table(plan, RILL_TABLE_RAGGED, s->ld, "projected memory"),
    };
    if (s->placeholders > 0)
        s->tables.unmentioned = rill_plan_list(plan, RILL_NONE, RILL_NONE, RILL_WEIGHT_F32, "unmentioned placeholders");
}

/* c of a row of states, whose h comes first. */
static rill_view cell_of(const semparse *s, rill_view state)
{
    return rill_from(state, s->ld);
}

static void make_encode(semparse *s)
{
    rill_plan *plan = s->plan;
    const semparse_tables *t = &s->tables;
    const rill_program p = s->encode = rill_program_begin(plan, "encode");
    const rill_column slot = rill_column_given(plan, p, RILL_ROWS, "slot"),
                      length = rill_column_given(plan, p, RILL_ROWS, "tokens");
    const rill_space tokens = rill_space_ragged(plan, p, length);
    const rill_column word = rill_column_given(plan, p, tokens, "word");
    rill_op_scan(plan, p,
                 &(rill_scan){.cell = RILL_CELL_LSTM,
                              .space = tokens,
                              .hidden = s->hidden,
                              .recurrent = s->weights.encoder.recurrent,
                              .gates = rill_row(s->weights.encoder.start, word),
                              .out = rill_in(t->memory, slot, RILL_OWN),
                              .last_h = rill_at(t->last, slot),
                              .last_c = cell_of(s, rill_at(t->last, slot))});
    rill_op_product(plan, p, tokens,
                    &(rill_product){.matrix = s->weights.from_context,
                                    .a = rill_in(t->memory, slot, RILL_OWN),
                                    .out = rill_in(t->projected, slot, RILL_OWN)});
}

/* A first node continues the encoder's last state, which is put in the node's own row. */
static void make_step(semparse *s)
{
    rill_plan *plan = s->plan;
    const semparse_tables *t = &s->tables;
    const rill_program p = s->step = rill_program_begin(plan, "step");
    const rill_column node = rill_column_given(plan, p, RILL_ROWS, "node"),
                      slot = rill_column_given(plan, p, RILL_ROWS, "slot"),
                      origin = rill_column_given(plan, p, RILL_ROWS, "node that is continued"),
                      word = rill_column_given(plan, p, RILL_ROWS, "word"),
                      first = rill_column_given(plan, p, RILL_ROWS, "slot of a first node");
    const rill_space firsts = rill_space_where(plan, p, RILL_ROWS, first),
                     origins = rill_space_distinct(plan, p, RILL_ROWS, origin);
    const rill_value shared = rill_value_make(plan, p, origins, 4 * s->hidden),
                     gates = rill_value_make(plan, p, RILL_ROWS, 4 * s->hidden);
    rill_op_copy(plan, p, firsts,
                 &(rill_copy){.width = 2 * s->ld, .x = rill_at(t->last, first), .out = rill_at(t->state, node)});
    rill_op_product(plan, p, origins,
                    &(rill_product){.matrix = s->weights.decoder.recurrent,
                                    .a = rill_at(t->state, RILL_OWN),
                                    .out = rill_of(shared)});
    rill_op_embed(plan, p, RILL_ROWS,
                  &(rill_embedding){.rows = rill_row(s->weights.decoder.start, word),
                                    .scale = 1.0f,
                                    .position = rill_of(shared),
                                    .out = rill_of(gates)});
    rill_op_lstm(plan, p, RILL_ROWS,
                 &(rill_lstm_cell){.hidden = s->hidden,
                                   .gates = rill_of(gates),
                                   .c = cell_of(s, rill_at(t->state, origin)),
                                   .c_out = cell_of(s, rill_at(t->state, node)),
                                   .h_out = rill_at(t->state, node)});
    rill_program_expect(plan, p, t->memory, slot);
    rill_program_expect(plan, p, t->projected, slot);
}

static void make_score(semparse *s)
{
    rill_plan *plan = s->plan;
    const semparse_tables *t = &s->tables;
    const rill_program p = s->score = rill_program_begin(plan, "score");
    const rill_column node = rill_column_given(plan, p, RILL_ROWS, "node"),
                      slot = rill_column_given(plan, p, RILL_ROWS, "slot");
    const rill_value context = rill_value_make(plan, p, RILL_ROWS, s->hidden),
                     attended = rill_value_make(plan, p, RILL_ROWS, s->hidden),
                     logits = rill_value_make(plan, p, RILL_ROWS, (size_t)s->actions);
    rill_op_attend(plan, p, RILL_ROWS,
                   &(rill_attend){.heads = 1,
                                  .width = s->hidden,
                                  .scale = 1.0f,
                                  .query = rill_at(t->state, node),
                                  .slot = slot,
                                  .keys = rill_in(t->memory, slot, RILL_OWN),
                                  .values = rill_in(t->projected, slot, RILL_OWN),
                                  .out = rill_of(context)});
    rill_op_product(plan, p, RILL_ROWS,
                    &(rill_product){.matrix = s->weights.from_state,
                                    .a = rill_at(t->state, node),
                                    .bias = s->weights.attention_bias,
                                    .add = rill_of(context),
                                    .activation = RILL_TANH,
                                    .out = rill_of(attended)});
    rill_op_product(plan, p, RILL_ROWS,
                    &(rill_product){.matrix = s->weights.output,
                                    .a = rill_of(attended),
                                    .bias = s->weights.output_bias,
                                    .out = rill_of(logits)});
    if (s->placeholders > 0)
        rill_op_mask(plan, p, RILL_ROWS, &(rill_mask){.list = t->unmentioned, .slot = slot, .x = rill_of(logits)});
    rill_op_best(plan, p, RILL_ROWS, &(rill_best_choices){.logits = rill_of(logits), .symbols = (size_t)s->actions});
}

rill_status semparse_plan(semparse *s)
{
    make_tables(s);
    make_encode(s);
    make_step(s);
    make_score(s);
    return rill_plan_finish(s->plan);
}
