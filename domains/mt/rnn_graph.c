/* Adds the operations of a recurrent model to the graphs that ../seq2seq builds. Divisions: encode · step and alignments. */
#include "rnn.h"

static rill_product linear_product(const rnn_linear *linear, rill_view a, rill_view out)
{
    return (rill_product){.matrix = linear->weight, .bias = linear->bias, .a = a, .out = out};
}

/* --- encode ------------------------------------------------------------------------------------------------------- */

/* Run the bidirectional GRU. An annotation is the forward and the backward state of an input token; `last` becomes the
 * forward state after the last token. */
static void bidirectional_gru(const rnn_net *net, const seq_encoder_columns *r, rill_tensor annotations,
                              rill_tensor last)
{
    rill_network *network = net->seq.model->network;
    const size_t H = net->encoder_width;
    const rill_tensor gates = rill_tensor_make(network, r->graph, r->tokens, 6 * H);
    const rill_product reads = linear_product(&net->input_gates, rill_view_constant(net->source_embedding, r->token_id),
                                              rill_view_value(gates));
    rill_op_product(network, r->graph, r->tokens, &reads);
    for (int backward = 0; backward < 2; backward++) {
        const size_t from = backward ? H : 0;
        const rill_scan scan = {.cell = RILL_CELL_GRU,
                                .space = r->tokens,
                                .hidden = H,
                                .recurrent = net->recurrent[backward],
                                .gates = rill_view_offset(rill_view_value(gates), 3 * from),
                                .backward = backward,
                                .out = rill_view_offset(rill_view_value(annotations), from),
                                .last_h = backward ? (rill_view){0} : rill_view_value(last)};
        rill_op_scan(network, r->graph, &scan);
    }
}

/* Compute the decoder's initial state from the mean of the annotations. The mean is computed as attention with scale 0,
 * for which any query will do. */
static void init_decoder_state(const rnn_net *net, const seq_encoder_columns *r, rill_tensor annotations,
                               rill_tensor query)
{
    rill_network *network = net->seq.model->network;
    const size_t width = 2 * net->encoder_width;
    const rill_tensor mean = rill_tensor_make(network, r->graph, RILL_ROWS, width);
    const rill_attend attend = {.heads = 1,
                                .width = 1,
                                .value_width = width,
                                .scale = 0.0f,
                                .own_units = 1,
                                .query = rill_view_value(query),
                                .keys = rill_view_value(annotations),
                                .values = rill_view_value(annotations),
                                .out = rill_view_value(mean)};
    rill_product begin = linear_product(&net->init_projection, rill_view_value(mean),
                                        rill_view_table(net->initial_state, r->slot));
    begin.activation = RILL_TANH;
    rill_op_attend(network, r->graph, RILL_ROWS, &attend);
    rill_op_product(network, r->graph, RILL_ROWS, &begin);
}

void rnn_encode(const seq_net *seq, const seq_encoder_columns *r)
{
    const rnn_net *net = rnn_from_seq(seq);
    rill_network *network = seq->model->network;
    const size_t width = 2 * net->encoder_width;
    const rill_tensor annotations = rill_tensor_make(network, r->graph, r->tokens, width);
    const rill_tensor last = rill_tensor_make(network, r->graph, RILL_ROWS, net->encoder_width);
    const rill_copy keep = {.width = width,
                            .x = rill_view_value(annotations),
                            .out = rill_view_ragged(net->annotations, r->slot, RILL_OWN)};
    const rill_product keys = linear_product(&net->key_projection, rill_view_value(annotations),
                                             rill_view_ragged(net->memory_keys, r->slot, RILL_OWN));
    bidirectional_gru(net, r, annotations, last);
    rill_op_copy(network, r->graph, r->tokens, &keep);
    rill_op_product(network, r->graph, r->tokens, &keys);
    init_decoder_state(net, r, annotations, last);
}

/* --- step and alignments ------------------------------------------------------------------------------------------ */

/* context = attention to the input with the query of the node. Alignments (`align_only`) read the attention weights only. */
static void attend_to_input(const rnn_net *net, const seq_decoder_columns *w, rill_tensor context)
{
    const rill_attend attend = {.heads = 1,
                                .width = net->attention_width,
                                .value_width = 2 * net->encoder_width,
                                .scale = 1.0f,
                                .additive = net->attention_vector,
                                .query = rill_view_table(net->query, w->node),
                                .slot = w->slot,
                                .keys = rill_view_ragged(net->memory_keys, w->slot, RILL_OWN),
                                .values = rill_view_ragged(net->annotations, w->slot, RILL_OWN),
                                .out = rill_view_value(context),
                                .watched_heads = w->align_only ? 1 : 0};
    rill_op_attend(net->seq.model->network, w->graph, RILL_ROWS, &attend);
}

/* The GRU before attention, in models with a conditional GRU: next_state = GRU(embedding of the token, parent's state). */
static void first_gru_step(const rnn_net *net, const seq_decoder_columns *w, rill_tensor word, rill_view prev,
                           rill_tensor next_state)
{
    rill_network *network = net->seq.model->network;
    const rill_tensor gates = rill_tensor_make(network, w->graph, RILL_ROWS, 3 * net->decoder_width);
    const rill_product recurrent = linear_product(&net->first_gru, prev, rill_view_value(gates));
    const rill_gru_cell cell = {.hidden = net->decoder_width,
                                .input = rill_view_value(word),
                                .hidden_gates = rill_view_value(gates),
                                .h = prev,
                                .h_out = rill_view_value(next_state)};
    rill_op_product(network, w->graph, RILL_ROWS, &recurrent);
    rill_op_gru(network, w->graph, RILL_ROWS, &cell);
}

/* Compute attention with the state `h` as query, and then the GRU whose input is the attention context. Its output is the
 * state of the node. */
static void second_gru_step(const rnn_net *net, const seq_decoder_columns *w, rill_tensor word, rill_view h,
                            rill_tensor context)
{
    rill_network *network = net->seq.model->network;
    const size_t gates = 3 * net->decoder_width, A = net->attention_width;
    const rill_tensor hidden = rill_tensor_make(network, w->graph, RILL_ROWS, gates + A);
    const rill_tensor input = rill_tensor_make(network, w->graph, RILL_ROWS, gates);
    const rill_product recurrent = linear_product(&net->second_gru, h, rill_view_value(hidden));
    const rill_copy query = {
        .width = A, .x = rill_view_offset(rill_view_value(hidden), gates), .out = rill_view_table(net->query, w->node)};
    rill_product into = linear_product(&net->context_gates, rill_view_value(context), rill_view_value(input));
    if (!net->conditional_gru) into.add = rill_view_value(word);
    const rill_gru_cell cell = {.hidden = net->decoder_width,
                                .input = rill_view_value(input),
                                .hidden_gates = rill_view_value(hidden),
                                .h = h,
                                .h_out = rill_view_table(net->state, w->node)};
    rill_op_product(network, w->graph, RILL_ROWS, &recurrent);
    rill_op_copy(network, w->graph, RILL_ROWS, &query);
    attend_to_input(net, w, context);
    rill_op_product(network, w->graph, RILL_ROWS, &into);
    rill_op_gru(network, w->graph, RILL_ROWS, &cell);
}

/* The state from which a node starts: the parent's state or, for the first node of an item, the item's initial state, which
 * is copied to the node's row. */
static rill_view prev_state(const rnn_net *net, const seq_decoder_columns *w)
{
    rill_network *network = net->seq.model->network;
    const rill_index_space firsts = rill_index_space_where(network, w->graph, RILL_ROWS, w->root_slot);
    const rill_copy begin = {.width = net->decoder_width,
                             .x = rill_view_table(net->initial_state, w->root_slot),
                             .out = rill_view_table(net->state, w->node)};
    rill_op_copy(network, w->graph, firsts, &begin);
    return rill_view_table(net->state, w->parent_or_self);
}

void rnn_step(const seq_net *seq, const seq_decoder_columns *w)
{
    const rnn_net *net = rnn_from_seq(seq);
    rill_network *network = seq->model->network;
    const size_t gates = 3 * net->decoder_width, width = 2 * net->encoder_width;
    const rill_tensor context = rill_tensor_make(network, w->graph, RILL_ROWS, width);
    if (w->align_only) {
        attend_to_input(net, w, context);
        return;
    }
    const rill_view prev = prev_state(net, w);
    const rill_tensor word = rill_tensor_make(network, w->graph, RILL_ROWS, gates + net->embedding_width);
    const rill_tensor between = net->conditional_gru
                                    ? rill_tensor_make(network, w->graph, RILL_ROWS, net->decoder_width)
                                    : RILL_NONE;
    const rill_product word_product = linear_product(
        &net->word_gates, rill_view_constant(net->target_embedding, w->token_id), rill_view_value(word));
    rill_op_product(network, w->graph, RILL_ROWS, &word_product);
    if (net->conditional_gru) first_gru_step(net, w, word, prev, between);
    second_gru_step(net, w, word, net->conditional_gru ? rill_view_value(between) : prev, context);
    rill_product readout = linear_product(&net->readout, rill_view_value(context),
                                          rill_view_table(net->hidden_table, w->node));
    readout.a2 = rill_view_table(net->state, w->node);
    readout.k2 = net->decoder_width;
    readout.add = rill_view_offset(rill_view_value(word), gates);
    readout.activation = RILL_TANH;
    rill_op_product(network, w->graph, RILL_ROWS, &readout);
}

rill_view rnn_decoder_output(const seq_net *seq, rill_graph graph, rill_column node, rill_column slot)
{
    (void)graph, (void)slot;
    return rill_view_table(rnn_from_seq(seq)->hidden_table, node);
}
