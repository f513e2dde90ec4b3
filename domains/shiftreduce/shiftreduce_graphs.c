/* The parser's compute graphs (rill/device.h).
 *
 * encode: embeddings of words, shapes and suffixes; BiLSTM; tags for untagged words; second BiLSTM; products of its outputs
 * (shiftreduce.h).
 * score: sum of the products, ReLU, linear layer, log-softmax. */
#include "shiftreduce.h"

/* --- graph of the encoder ----------------------------------------------------------------------------------------- */

typedef struct encode_builder {
    parser *p;
    rill_network *network;
    rill_graph graph;
    rill_column slot, first, last, tag, untagged, feature[PARSER_MAX_FEATURES];
    rill_index_space frames, positions;
    rill_tensor gates; /* [frames, 8H] gates, forward, then backward; the second layer reuses it */
} encode_builder;

static void declare_columns(encode_builder *e)
{
    rill_network *network = e->network;
    const rill_graph p = e->graph;
    e->slot = rill_column_input(network, p, RILL_ROWS, "slot");
    e->frames = rill_index_space_ragged(network, p, rill_column_input(network, p, RILL_ROWS, "frames"));
    e->positions = rill_index_space_ragged(network, p, rill_column_input(network, p, RILL_ROWS, "positions"));
    e->first = rill_column_input(network, p, RILL_ROWS, "first position");
    e->last = rill_column_input(network, p, RILL_ROWS, "last position");
    e->tag = rill_column_input(network, p, e->frames, "tag");
    e->untagged = rill_column_input(network, p, e->frames, "without a tag");
    for (size_t f = 0; f < parser_features(e->p); f++)
        e->feature[f] = rill_column_input(network, p, e->frames, "row of a feature");
}

/* Add the tensor of frames' embeddings to the graph: x = word + shape + suffixes, summed in this order. */
static rill_tensor embed_frames(const encode_builder *e)
{
    const parser_weights *w = &e->p->weights;
    const rill_tensor x = rill_tensor_make(e->network, e->graph, e->frames, e->p->embedding);
    rill_sum sum = {
        .terms = (int32_t)parser_features(e->p),
        .term = {rill_view_constant(w->word_rows, e->feature[0]), rill_view_constant(w->shape_rows, e->feature[1])},
        .out = rill_view_value(x)};
    for (int32_t f = 2; f < sum.terms; f++) sum.term[f] = rill_view_constant(w->suffix_rows, e->feature[f]);
    rill_op_sum(e->network, e->graph, e->frames, &sum);
    return x;
}

/* Append both directions of an LSTM layer. At element t of `space` the forward direction reads frame t, the backward one frame t + ahead.
 */
static rill_tensor bilstm_layer(const encode_builder *e, int layer, rill_index_space space, int32_t ahead)
{
    const size_t hidden = e->p->hidden;
    const rill_tensor outputs = rill_tensor_make(e->network, e->graph, space, 2 * hidden);
    for (int backward = 0; backward < 2; backward++)
        rill_op_scan(e->network, e->graph,
                     &(rill_scan){.cell = RILL_CELL_LSTM,
                                  .space = space,
                                  .hidden = hidden,
                                  .recurrent = e->p->weights.layer[layer].recurrent[backward],
                                  .gates = rill_view_offset(rill_view_value(e->gates), backward ? 4 * hidden : 0),
                                  .shift = backward ? ahead : 0,
                                  .backward = backward,
                                  .out = rill_view_offset(rill_view_value(outputs), backward ? hidden : 0)});
    return outputs;
}

static rill_tensor first_bilstm(const encode_builder *e, rill_tensor x)
{
    rill_op_product(e->network, e->graph, e->frames,
                    &(rill_product){.matrix = e->p->weights.layer[0].input,
                                    .a = rill_view_value(x),
                                    .bias = e->p->weights.first_bias,
                                    .out = rill_view_value(e->gates)});
    return bilstm_layer(e, 0, e->frames, 0);
}

/* Predict a tag for each untagged frame. If its logits are NaN, the word gets the first tag, and its sentence gets no scores. */
static void predict_tags(const encode_builder *e, rill_tensor outputs)
{
    const size_t tags = (size_t)e->p->n_tags - PARSER_FIRST_TAG;
    const rill_index_space untagged = rill_index_space_where(e->network, e->graph, e->frames, e->untagged);
    const rill_tensor logits = rill_tensor_make(e->network, e->graph, untagged, tags);
    rill_op_product(e->network, e->graph, untagged,
                    &(rill_product){.matrix = e->p->weights.tagger,
                                    .a = rill_view_value(outputs),
                                    .bias = e->p->weights.tagger_bias,
                                    .out = rill_view_value(logits)});
    rill_op_best(e->network, e->graph, untagged,
                 &(rill_best_choices){.logits = rill_view_value(logits),
                                      .symbols = tags,
                                      .first_action = PARSER_FIRST_TAG,
                                      .tag_column = e->tag});
}

/* Append the second layer. Its n + 1 outputs are positions: the forward direction omits the frame </s>, the backward direction <s>. */
static rill_tensor second_bilstm(const encode_builder *e, rill_tensor outputs)
{
    rill_op_product(e->network, e->graph, e->frames,
                    &(rill_product){.matrix = e->p->weights.layer[1].input,
                                    .a = rill_view_value(outputs),
                                    .add = rill_view_constant(e->p->weights.tag_gates, e->tag),
                                    .out = rill_view_value(e->gates)});
    return bilstm_layer(e, 1, e->positions, 1);
}

static void multiply_positions(const encode_builder *e, rill_tensor positions)
{
    const parser_weights *w = &e->p->weights;
    const size_t net = e->p->ffn_width;
    const rill_view products = rill_view_ragged(e->p->products, e->slot, RILL_OWN);
    const rill_tensor ends = rill_tensor_make(e->network, e->graph, RILL_ROWS, (N_PRODUCTS - PRODUCT_C) * net);
    rill_op_product(e->network, e->graph, RILL_ROWS,
                    &(rill_product){.matrix = w->boundary,
                                    .a = rill_view_unit(positions, e->last),
                                    .a2 = rill_view_unit(positions, e->first),
                                    .k2 = 2 * e->p->hidden,
                                    .bias = w->boundary_bias,
                                    .out = rill_view_value(ends)});
    rill_op_product(e->network, e->graph, e->positions,
                    &(rill_product){.matrix = w->position_products, .a = rill_view_value(positions), .out = products});
    rill_op_product(e->network, e->graph, e->positions,
                    &(rill_product){.matrix = w->last_position_products,
                                    .a = rill_view_value(positions),
                                    .add = rill_view_value(ends),
                                    .out = rill_view_offset(products, PRODUCT_C * net)});
}

static void build_encode_graph(parser *p)
{
    encode_builder e = {.p = p, .network = p->network, .graph = rill_graph_begin(p->network, "encode")};
    p->encode = e.graph;
    declare_columns(&e);
    e.gates = rill_tensor_make(e.network, e.graph, e.frames, 8 * p->hidden);
    const rill_tensor outputs = first_bilstm(&e, embed_frames(&e));
    predict_tags(&e, outputs);
    multiply_positions(&e, second_bilstm(&e, outputs));
}

/* --- graphs of the scores ----------------------------------------------------------------------------------------- */

static rill_view position_product(const parser *p, rill_column slot, rill_column position, size_t which)
{
    return rill_view_offset(rill_view_ragged(p->products, slot, position), which * p->ffn_width);
}

/* Append to a graph of scores: the hidden layer is the ReLU of `sum`, and `output` turns it to the logits of `best`. */
static void score_actions(const parser *p, rill_graph graph, rill_index_space rows, rill_sum sum, rill_product output,
                          rill_best_choices best)
{
    sum.activation = RILL_RELU;
    sum.out = output.a = rill_view_value(rill_tensor_make(p->network, graph, rows, p->ffn_width));
    output.out = best.logits = rill_view_value(rill_tensor_make(p->network, graph, rows, best.symbols));
    rill_op_sum(p->network, graph, rows, &sum);
    rill_op_product(p->network, graph, rows, &output);
    rill_op_best(p->network, graph, rows, &best);
}

static void build_structure_graph(parser *p)
{
    rill_network *network = p->network;
    const rill_graph graph = p->score[PARSER_PHASE_STRUCTURE] = rill_graph_begin(network, "structure");
    const rill_column slot = rill_column_input(network, graph, RILL_ROWS, "slot"),
                      open = rill_column_input(network, graph, RILL_ROWS, "open"),
                      a = rill_column_input(network, graph, RILL_ROWS, "a"),
                      b = rill_column_input(network, graph, RILL_ROWS, "b"),
                      c = rill_column_input(network, graph, RILL_ROWS, "c");
    const rill_sum sum = {.terms = 3,
                          .term = {position_product(p, slot, a, PRODUCT_A), position_product(p, slot, b, PRODUCT_B),
                                   position_product(p, slot, c, PRODUCT_C)}};
    score_actions(p, graph, rill_index_space_where(network, graph, RILL_ROWS, open), sum,
                  (rill_product){.matrix = p->weights.structure_output, .bias = p->weights.structure_output_bias},
                  (rill_best_choices){.symbols = PARSER_FIRST_LABEL});
}

static void build_label_graph(parser *p)
{
    rill_network *network = p->network;
    const rill_graph graph = p->score[PARSER_PHASE_LABEL] = rill_graph_begin(network, "label");
    const rill_column slot = rill_column_input(network, graph, RILL_ROWS, "slot"),
                      kind = rill_column_input(network, graph, RILL_ROWS, "last timestep"),
                      b = rill_column_input(network, graph, RILL_ROWS, "b"),
                      c = rill_column_input(network, graph, RILL_ROWS, "c");
    const rill_sum sum = {
        .terms = 2,
        .term = {position_product(p, slot, b, PRODUCT_LABEL_B), position_product(p, slot, c, PRODUCT_LABEL_C)}};
    const rill_best_choices best = {.symbols = (size_t)p->n_labels,
                                    .add = rill_view_constant(p->weights.label_output_bias, kind),
                                    .first_action = PARSER_FIRST_LABEL};
    score_actions(p, graph, RILL_ROWS, sum, (rill_product){.matrix = p->weights.label_output}, best);
}

/* --- entry point -------------------------------------------------------------------------------------------------- */

rill_status parser_build_graphs(parser *p)
{
    p->products = rill_network_table(p->network, RILL_TABLE_RAGGED, N_PRODUCTS * p->ffn_width, "products of positions");
    build_encode_graph(p);
    build_structure_graph(p);
    build_label_graph(p);
    return rill_network_finish(p->network);
}
