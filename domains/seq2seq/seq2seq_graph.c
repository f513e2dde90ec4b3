/* Builds a model's compute graphs, with the operations of all nets of an ensemble. Architectures add the layers.
 * Invariant: seq2seq_encode.c and seq2seq_step.c fill columns in the order in which they are declared here. */
#include "seq2seq.h"

/* --- graph of the encoder ----------------------------------------------------------------------------------------- */

/* Build the graph of the encoder. A row is an input; a row of its ragged index space is a token. */
static rill_graph build_encode(const seq_model *m)
{
    const rill_graph graph = rill_graph_begin(m->network, "encode");
    const rill_column length = rill_column_input(m->network, graph, RILL_ROWS, "length");
    seq_encoder_columns columns = {.graph = graph};
    columns.slot = rill_column_input(m->network, graph, RILL_ROWS, "slot");
    columns.tokens = rill_index_space_ragged(m->network, graph, length);
    columns.token_id = rill_column_input(m->network, graph, columns.tokens, "symbol");
    columns.position = rill_column_input(m->network, graph, columns.tokens, "position");
    for (size_t i = 0; i < m->n_nets; i++) m->net[i]->arch->encode(m->net[i], &columns);
    return graph;
}

/* --- graph of a decoder step -------------------------------------------------------------------------------------- */

/* Build the graph `step`, or `align` if align_only. Each net has its own token ids, because start tokens may differ. */
static rill_graph build_decoder_graph(const seq_model *m, const char *name, size_t nets, int align_only)
{
    const rill_graph graph = rill_graph_begin(m->network, name);
    seq_decoder_columns columns = {.graph = graph, .align_only = align_only};
    columns.node = rill_column_input(m->network, graph, RILL_ROWS, "node");
    columns.slot = rill_column_input(m->network, graph, RILL_ROWS, "slot");
    columns.depth = rill_column_input(m->network, graph, RILL_ROWS, "depth");
    const rill_column parent = align_only ? RILL_NONE : rill_column_input(m->network, graph, RILL_ROWS, "parent");
    columns.parent = parent;
    if (m->needs_parent && !align_only) {
        columns.parent_or_self = rill_column_input(m->network, graph, RILL_ROWS, "origin");
        columns.root_slot = rill_column_input(m->network, graph, RILL_ROWS, "slot of an empty hypothesis");
    }
    if (m->needs_path) columns.path = rill_op_path(m->network, graph, columns.node, parent, columns.depth);
    for (size_t i = 0; i < nets; i++) {
        columns.token_id = rill_column_input(m->network, graph, RILL_ROWS, "symbol");
        m->net[i]->arch->step(m->net[i], &columns);
    }
    return graph;
}

/* --- graph of the output layer ------------------------------------------------------------------------------------ */

void seq_set_output_layer(seq_net *net, const float *rows, size_t width, const float *bias)
{
    const seq_model *m = net->model;
    const size_t symbols = (size_t)net->target_vocab_size;
    net->output_bias = rill_network_constant(m->network, bias, 1, symbols);
    net->output_weight = net->vocab_subset = RILL_NONE;
    if (m->shortlist == NULL)
        net->output_weight = rill_network_matrix(m->network, m->weights, symbols, width, rows, width);
    else
        net->vocab_subset = rill_network_vocab_subset(m->network,
                                                      rill_network_constant(m->network, rows, symbols, width),
                                                      net->output_bias, m->weights, "a shortlist's output layer");
}

/* Build the graph that scores hypotheses. As in transformers, padding counts in the softmax, but is never output (rill_domain_info.legal).
 * With a shortlist the softmax is over the input's vocabulary subset. */
static rill_graph build_score(const seq_model *m)
{
    const size_t symbols = (size_t)m->net[0]->target_vocab_size;
    const int listed = m->shortlist != NULL;
    const rill_graph graph = rill_graph_begin(m->network, "score");
    const rill_column node = rill_column_input(m->network, graph, RILL_ROWS, "node");
    const rill_column slot = rill_column_input(m->network, graph, RILL_ROWS, "slot");
    rill_mix mix = {.models = (int32_t)m->n_nets, .vocab_subset_slot = listed ? slot : RILL_NONE, .symbols = symbols};
    for (size_t i = 0; i < m->n_nets; i++) {
        const seq_net *net = m->net[i];
        const rill_view logits = rill_view_value(rill_tensor_make(m->network, graph, RILL_ROWS, symbols));
        const rill_product output = {.matrix = net->output_weight,
                                     .vocab_subset = net->vocab_subset,
                                     .vocab_subset_slot = mix.vocab_subset_slot,
                                     .a = net->arch->decoder_output(net, graph, node, slot),
                                     .out = logits};
        rill_op_product(m->network, graph, RILL_ROWS, &output);
        mix.logits[i] = logits;
        mix.bias[i] = listed ? RILL_NONE : net->output_bias;
        mix.vocab_subset[i] = net->vocab_subset;
    }
    if (m->n_nets > 1) {
        rill_op_mix(m->network, graph, RILL_ROWS, &mix);
        return graph;
    }
    const rill_best_choices best = {.logits = mix.logits[0],
                                    .symbols = symbols,
                                    .bias = mix.bias[0],
                                    .vocab_subset = mix.vocab_subset[0],
                                    .vocab_subset_slot = mix.vocab_subset_slot,
                                    .raw = m->raw_logits};
    rill_op_best(m->network, graph, RILL_ROWS, &best);
    return graph;
}

/* --- entry point -------------------------------------------------------------------------------------------------- */

void seq_build_graphs(seq_model *m)
{
    m->graphs.encode = build_encode(m);
    m->graphs.step = build_decoder_graph(m, "step", m->n_nets, 0);
    m->graphs.score = build_score(m);
    m->graphs.align = m->net[0]->arch->has_alignment ? build_decoder_graph(m, "align", 1, 1) : RILL_NONE;
}
