/* The model's graphs (rill/device.h). G[w] is word w's row of input_gates, precomputed when the model is loaded.
 *
 * encode: h_t, c_t = LSTM(G[word_t], h_{t-1}, c_{t-1}) over <s>, the words from last to first, </s>;
 *         encoder outputs m_t = h_t, and their projections W_c m_t.
 * step:   gates = G[action] + W_hh h_parent, then the LSTM cell. Siblings share the product W_hh h_parent.
 * score:  p = softmax(m_t . h);  a = tanh(W_s h + b_a + sum_t p_t (W_c m_t));  log-softmax(W_o a + b_o). */
#include "semparse_model.h"

static void make_tables(semparse *s)
{
    rill_network *network = s->network;
    s->tables = (semparse_tables){
        .state = rill_network_table(network, RILL_TABLE_NODES, 2 * s->ld, "states"),
        .encoder_state = rill_network_table(network, RILL_TABLE_SLOTS, 2 * s->ld, "last states"),
        .encoder_outputs = rill_network_table(network, RILL_TABLE_RAGGED, s->ld, "memory"),
        .projected_outputs = rill_network_table(network, RILL_TABLE_RAGGED, s->ld, "projected memory"),
    };
    if (s->n_placeholders > 0)
        s->tables.unmentioned = rill_network_vocab_subset(network, RILL_NONE, RILL_NONE, RILL_WEIGHT_F32,
                                                          "unmentioned placeholders");
}

/* View of the cell state c, the second half of a state row; the first half is h. */
static rill_view lstm_cell_state(const semparse *s, rill_view state)
{
    return rill_view_offset(state, s->ld);
}

static void build_encode_graph(semparse *s)
{
    rill_network *network = s->network;
    const semparse_tables *t = &s->tables;
    const rill_graph p = s->encode = rill_graph_begin(network, "encode");
    const rill_column slot = rill_column_input(network, p, RILL_ROWS, "slot"),
                      length = rill_column_input(network, p, RILL_ROWS, "tokens");
    const rill_index_space tokens = rill_index_space_ragged(network, p, length);
    const rill_column word = rill_column_input(network, p, tokens, "word");
    rill_op_scan(network, p,
                 &(rill_scan){.cell = RILL_CELL_LSTM,
                              .space = tokens,
                              .hidden = s->hidden,
                              .recurrent = s->weights.encoder.recurrent,
                              .gates = rill_view_constant(s->weights.encoder.input_gates, word),
                              .out = rill_view_ragged(t->encoder_outputs, slot, RILL_OWN),
                              .last_h = rill_view_table(t->encoder_state, slot),
                              .last_c = lstm_cell_state(s, rill_view_table(t->encoder_state, slot))});
    rill_op_product(network, p, tokens,
                    &(rill_product){.matrix = s->weights.context_weight,
                                    .a = rill_view_ragged(t->encoder_outputs, slot, RILL_OWN),
                                    .out = rill_view_ragged(t->projected_outputs, slot, RILL_OWN)});
}

/* The encoder's last state is copied to the row of a root node, which then serves as its own parent state. */
static void build_step_graph(semparse *s)
{
    rill_network *network = s->network;
    const semparse_tables *t = &s->tables;
    const rill_graph p = s->step = rill_graph_begin(network, "step");
    const rill_column node = rill_column_input(network, p, RILL_ROWS, "node"),
                      slot = rill_column_input(network, p, RILL_ROWS, "slot"),
                      origin = rill_column_input(network, p, RILL_ROWS, "node that is continued"),
                      word = rill_column_input(network, p, RILL_ROWS, "word"),
                      first = rill_column_input(network, p, RILL_ROWS, "slot of a first node");
    const rill_index_space firsts = rill_index_space_where(network, p, RILL_ROWS, first),
                           origins = rill_index_space_distinct(network, p, RILL_ROWS, origin);
    const rill_tensor shared = rill_tensor_make(network, p, origins, 4 * s->hidden),
                      gates = rill_tensor_make(network, p, RILL_ROWS, 4 * s->hidden);
    rill_op_copy(network, p, firsts,
                 &(rill_copy){.width = 2 * s->ld,
                              .x = rill_view_table(t->encoder_state, first),
                              .out = rill_view_table(t->state, node)});
    rill_op_product(network, p, origins,
                    &(rill_product){.matrix = s->weights.decoder.recurrent,
                                    .a = rill_view_table(t->state, RILL_OWN),
                                    .out = rill_view_value(shared)});
    rill_op_embed(network, p, RILL_ROWS,
                  &(rill_embedding){.rows = rill_view_constant(s->weights.decoder.input_gates, word),
                                    .scale = 1.0f,
                                    .position = rill_view_value(shared),
                                    .out = rill_view_value(gates)});
    rill_op_lstm(network, p, RILL_ROWS,
                 &(rill_lstm_cell){.hidden = s->hidden,
                                   .gates = rill_view_value(gates),
                                   .c = lstm_cell_state(s, rill_view_table(t->state, origin)),
                                   .c_out = lstm_cell_state(s, rill_view_table(t->state, node)),
                                   .h_out = rill_view_table(t->state, node)});
    rill_graph_prefetch(network, p, t->encoder_outputs, slot);
    rill_graph_prefetch(network, p, t->projected_outputs, slot);
}

static void build_score_graph(semparse *s)
{
    rill_network *network = s->network;
    const semparse_tables *t = &s->tables;
    const rill_graph p = s->score = rill_graph_begin(network, "score");
    const rill_column node = rill_column_input(network, p, RILL_ROWS, "node"),
                      slot = rill_column_input(network, p, RILL_ROWS, "slot");
    const rill_tensor context = rill_tensor_make(network, p, RILL_ROWS, s->hidden),
                      attended = rill_tensor_make(network, p, RILL_ROWS, s->hidden),
                      logits = rill_tensor_make(network, p, RILL_ROWS, (size_t)s->target_vocab_size);
    rill_op_attend(network, p, RILL_ROWS,
                   &(rill_attend){.heads = 1,
                                  .width = s->hidden,
                                  .scale = 1.0f,
                                  .query = rill_view_table(t->state, node),
                                  .slot = slot,
                                  .keys = rill_view_ragged(t->encoder_outputs, slot, RILL_OWN),
                                  .values = rill_view_ragged(t->projected_outputs, slot, RILL_OWN),
                                  .out = rill_view_value(context)});
    rill_op_product(network, p, RILL_ROWS,
                    &(rill_product){.matrix = s->weights.state_weight,
                                    .a = rill_view_table(t->state, node),
                                    .bias = s->weights.attention_bias,
                                    .add = rill_view_value(context),
                                    .activation = RILL_TANH,
                                    .out = rill_view_value(attended)});
    rill_op_product(network, p, RILL_ROWS,
                    &(rill_product){.matrix = s->weights.output,
                                    .a = rill_view_value(attended),
                                    .bias = s->weights.output_bias,
                                    .out = rill_view_value(logits)});
    if (s->n_placeholders > 0)
        rill_op_mask(network, p, RILL_ROWS,
                     &(rill_mask){.vocab_subset = t->unmentioned, .slot = slot, .x = rill_view_value(logits)});
    rill_op_best(network, p, RILL_ROWS,
                 &(rill_best_choices){.logits = rill_view_value(logits), .symbols = (size_t)s->target_vocab_size});
}

rill_status semparse_build_graphs(semparse *s)
{
    make_tables(s);
    build_encode_graph(s);
    build_step_graph(s);
    build_score_graph(s);
    return rill_network_finish(s->network);
}
