/* Adds a transformer's operations to the graphs of ../seq2seq.
 *
 * Blocks are post-norm, x = norm(x + block(x)), or pre-norm, x = x + block(norm(x)). Sinusoids are computed on first use: a model may
 * allow a million positions. */
#include <math.h>

#include "mt.h"

/* --- operations of layers ----------------------------------------------------------------------------------------- */

/* State while a graph is built. [n]: values per row. A row is an input token or a decoder state. */
typedef struct layer_builder {
    const mt_net *net;
    const mt_stack *stack;
    rill_network *network;
    rill_graph graph;
    rill_index_space rows;
    rill_tensor x;              /* [D] the residual stream */
    rill_tensor normed;         /* [D] norm of x; RILL_NONE: the model is post-norm */
    rill_tensor query, context; /* [A] */
    rill_tensor key_value;      /* [2A] */
    rill_tensor ffn_hidden;     /* hidden values of the feed-forward block: [F], or if gated [2F] */
    rill_tensor gates;          /* gates: SSRU [3D], average attention [D] */
    /* average attention: [D] running mean; [I] hidden values of its feed-forward block */
    rill_tensor running_mean, average_hidden;
} layer_builder;

static layer_builder begin_layers(const mt_net *net, const mt_stack *side, rill_graph graph, rill_index_space space)
{
    rill_network *network = net->seq.model->network;
    const mt_decoder_block first = side == &net->decoder ? net->settings.decoder_block : MT_SELF_ATTENTION;
    const size_t gates = first == MT_SSRU ? 3 * net->width : first == MT_AVERAGE_ATTENTION ? net->width : 0;
    const size_t average = first == MT_AVERAGE_ATTENTION ? net->settings.average_ffn_width : 0;
    return (layer_builder){
        .net = net,
        .stack = side,
        .network = network,
        .graph = graph,
        .rows = space,
        .x = rill_tensor_make(network, graph, space, net->width),
        .normed = mt_has_flag(net, MT_PRE_NORM) ? rill_tensor_make(network, graph, space, net->width) : RILL_NONE,
        .query = rill_tensor_make(network, graph, space, side->attention_width),
        .context = rill_tensor_make(network, graph, space, side->attention_width),
        .key_value = first == MT_SELF_ATTENTION ? rill_tensor_make(network, graph, space, 2 * side->attention_width)
                                                : RILL_NONE,
        .gates = gates > 0 ? rill_tensor_make(network, graph, space, gates) : RILL_NONE,
        .running_mean = first == MT_AVERAGE_ATTENTION ? rill_tensor_make(network, graph, space, net->width) : RILL_NONE,
        .average_hidden = average > 0 ? rill_tensor_make(network, graph, space, average) : RILL_NONE,
        .ffn_hidden = rill_tensor_make(network, graph, space, (net->settings.gated ? 2 : 1) * side->ffn_width)};
}

static void apply_linear(const layer_builder *p, const mt_linear *linear, rill_view a, rill_view out)
{
    const rill_product product = mt_linear_product(linear, a, out);
    rill_op_product(p->network, p->graph, p->rows, &product);
}

static void normalise_row(const layer_builder *p, const mt_norm *norm, rill_view x, rill_view out)
{
    const rill_normalise normalise = {.x = x,
                                      .gain = norm->gain,
                                      .bias = norm->bias,
                                      .eps = p->net->settings.eps,
                                      .rms = mt_has_flag(p->net, MT_RMS_NORM),
                                      .y = out};
    rill_op_normalise(p->network, p->graph, p->rows, &normalise);
}

static void normalise_x(const layer_builder *p, const mt_norm *norm, rill_view out)
{
    normalise_row(p, norm, rill_view_value(p->x), out);
}

/* x = scale * embedding + position, and then the embedding norm if the model has one. */
static void embed_tokens(const layer_builder *p, rill_column symbol, rill_column position)
{
    const mt_stack *side = p->stack;
    const int stored = side->position_embedding != RILL_NONE, packed = side->embedding == RILL_NONE;
    rill_embedding embedding = {.rows = packed ? (rill_view){0} : rill_view_constant(side->embedding, symbol),
                                .matrix = packed ? p->net->seq.output_weight : RILL_NONE,
                                .symbol = symbol,
                                .scale = p->net->settings.embedding_scale,
                                .out = rill_view_value(p->x)};
    if (p->net->settings.position_kind != MT_POSITIONS_NONE)
        embedding.position = stored ? rill_view_constant(side->position_embedding, position)
                                    : rill_view_table(p->net->sinusoids, position);
    rill_op_embed(p->network, p->graph, p->rows, &embedding);
    if (mt_has_flag(p->net, MT_EMBEDDING_NORM)) normalise_x(p, &side->embedding_norm, rill_view_value(p->x));
}

/* --- blocks of a layer -------------------------------------------------------------------------------------------- */

/* The input of a block: x in a post-norm model, the norm of x in a pre-norm model. */
static rill_view block_input(const layer_builder *p, const mt_norm *norm)
{
    if (p->normed == RILL_NONE) return rill_view_value(p->x);
    normalise_x(p, norm, rill_view_value(p->normed));
    return rill_view_value(p->normed);
}

/* x = x + linear(a). In a post-norm model also out = norm(x). */
static void add_residual(const layer_builder *p, const mt_linear *linear, const mt_norm *norm, rill_view a,
                         rill_view out)
{
    rill_product product = mt_linear_product(linear, a, rill_view_value(p->x));
    product.add = rill_view_value(p->x);
    rill_op_product(p->network, p->graph, p->rows, &product);
    if (p->normed == RILL_NONE) normalise_x(p, norm, out);
}

/* context = attention of `x` to `memory`, each row of which holds A keys and then A values. */
static void attend_to_memory(const layer_builder *p, const mt_attention *attention, rill_view x, rill_attend memory)
{
    const size_t heads = p->stack->n_heads, width = p->stack->attention_width / heads;
    const float scale = p->net->settings.attention_scale;
    apply_linear(p, &attention->query, x, rill_view_value(p->query));
    memory.heads = heads;
    memory.width = width;
    memory.scale = scale > 0.0f ? scale : 1.0f / sqrtf((float)width);
    memory.relative = attention->relative_bias;
    memory.query = rill_view_value(p->query);
    memory.values = rill_view_offset(memory.keys, p->stack->attention_width);
    memory.out = rill_view_value(p->context);
    rill_op_attend(p->network, p->graph, p->rows, &memory);
}

/* Add the block fc2(activation(fc1 x)), or, if gated, fc2(activation(fc1 x) * (gate x)). */
static void feed_forward(const layer_builder *p, const mt_feed_forward *feed, rill_view out)
{
    const size_t width = p->stack->ffn_width;
    const rill_view inner = rill_view_value(p->ffn_hidden);
    rill_product product = mt_linear_product(&feed->fc1, block_input(p, &feed->norm), inner);
    if (!p->net->settings.gated) product.activation = p->net->settings.activation;
    rill_op_product(p->network, p->graph, p->rows, &product);
    const rill_activate gate = {.activation = p->net->settings.activation,
                                .x = inner,
                                .gate = rill_view_offset(inner, width),
                                .y = inner,
                                .width = width};
    if (p->net->settings.gated) rill_op_activate(p->network, p->graph, p->rows, &gate);
    add_residual(p, &feed->fc2, &feed->norm, inner, out);
}

/* In a post-norm model without a final norm, the last block has already written `out`. */
static void finish_layers(const layer_builder *p, rill_view out)
{
    const rill_copy copy = {.width = p->net->width, .x = rill_view_value(p->x), .out = out};
    if (mt_has_flag(p->net, MT_FINAL_NORM))
        normalise_x(p, &p->stack->final_norm, out);
    else if (p->normed != RILL_NONE)
        rill_op_copy(p->network, p->graph, p->rows, &copy);
}

/* --- recurrent blocks ------------------------------------------------------------------------------------------------ */

/* x = first + second + x, added in this order. `second` of kind 0 is absent. Post-norm: x = norm(x). */
static void add_residual_terms(const layer_builder *p, const mt_norm *norm, rill_view first, rill_view second)
{
    const rill_view x = rill_view_value(p->x);
    rill_sum sum = {.term = {first}, .terms = 1, .out = x, .width = p->net->width};
    if (second.kind != 0) sum.term[sum.terms++] = second;
    sum.term[sum.terms++] = x;
    rill_op_sum(p->network, p->graph, p->rows, &sum);
    if (p->normed == RILL_NONE) normalise_x(p, norm, x);
}

/* SSRU cell c = f c' + (1 - f) W x, computed as f (c' - W x) + W x. f: forget gate; c': the parent's cell, 0 at the root. */
static void update_ssru_cell(const layer_builder *p, const mt_layer *layer, const seq_decoder_columns *w)
{
    const size_t width = p->net->width;
    const rill_view forget = rill_view_value(p->gates), less = rill_view_offset(forget, width),
                    fresh = rill_view_offset(forget, 2 * width);
    const rill_sum change = {
        .terms = 2, .term = {rill_view_table(layer->node_table, w->parent), less}, .out = less, .width = width};
    const rill_activate gate = {.activation = RILL_SIGMOID, .x = forget, .gate = less, .y = forget, .width = width};
    const rill_sum cell = {
        .terms = 2, .term = {forget, fresh}, .out = rill_view_table(layer->node_table, w->node), .width = width};
    apply_linear(p, &layer->recurrence.gates, block_input(p, &layer->recurrence.norm), forget);
    rill_op_sum(p->network, p->graph, p->rows, &change);
    rill_op_activate(p->network, p->graph, p->rows, &gate);
    rill_op_sum(p->network, p->graph, p->rows, &cell);
}

static void ssru_block(const layer_builder *p, const mt_layer *layer, const seq_decoder_columns *w)
{
    const rill_sum out = {.terms = 1,
                          .term = {rill_view_table(layer->node_table, w->node)},
                          .activation = RILL_RELU,
                          .out = rill_view_value(p->context),
                          .width = p->net->width};
    if (!w->align_only) update_ssru_cell(p, layer, w);
    rill_op_sum(p->network, p->graph, p->rows, &out);
    add_residual_terms(p, &layer->recurrence.norm, rill_view_value(p->context), (rill_view){0});
}

/* Mean of x over the path: the sum over the path times 1 / (t + 1). */
static void update_mean(const layer_builder *p, const mt_layer *layer, const seq_decoder_columns *w)
{
    const size_t width = p->net->width;
    const rill_view node = rill_view_table(layer->node_table, w->node);
    const rill_sum sum = {.terms = 2,
                          .term = {rill_view_table(layer->node_table, w->parent), rill_view_value(p->x)},
                          .out = node,
                          .width = width};
    const rill_activate share = {.activation = RILL_LINEAR,
                                 .x = node,
                                 .gate = rill_view_table(p->net->mean_weights, w->depth),
                                 .y = rill_view_value(p->running_mean),
                                 .width = width};
    if (!w->align_only) rill_op_sum(p->network, p->graph, p->rows, &sum);
    rill_op_activate(p->network, p->graph, p->rows, &share);
}

/* out = sigmoid(gate x) * x; the gate is a linear layer */
static void apply_own_gate(const layer_builder *p, const mt_linear *gate, rill_view x, rill_view out)
{
    const rill_activate activate = {.activation = RILL_SIGMOID, .x = out, .gate = x, .y = out, .width = p->net->width};
    apply_linear(p, gate, x, out);
    rill_op_activate(p->network, p->graph, p->rows, &activate);
}

/* As in Marian, the pre-norm applies to the mean only; the gate reads x before the norm. */
static void average_attention_block(const layer_builder *p, const mt_layer *layer, const seq_decoder_columns *w)
{
    const mt_recurrence *r = &layer->recurrence;
    rill_view mean = rill_view_value(p->running_mean);
    update_mean(p, layer, w);
    if (p->normed != RILL_NONE) normalise_row(p, &r->norm, mean, mean);
    if (p->average_hidden != RILL_NONE) {
        rill_product inner = mt_linear_product(&r->ffn_fc1, mean, rill_view_value(p->average_hidden));
        inner.activation = p->net->settings.average_activation;
        rill_op_product(p->network, p->graph, p->rows, &inner);
        if (r->ffn_fc2.weight != RILL_NONE)
            apply_linear(p, &r->ffn_fc2, rill_view_value(p->average_hidden), mean);
        else
            mean = rill_view_value(p->average_hidden);
    }
    if (!p->net->settings.average_gate) {
        add_residual_terms(p, &r->norm, mean, (rill_view){0});
        return;
    }
    apply_own_gate(p, &r->input_gate, rill_view_value(p->x), rill_view_value(p->gates));
    apply_own_gate(p, &r->mean_gate, mean, rill_view_value(p->context));
    add_residual_terms(p, &r->norm, rill_view_value(p->gates), rill_view_value(p->context));
}

/* --- graph of the encoder ----------------------------------------------------------------------------------------- */

/* Encoder layers, then the cross-attention keys and values of each input token, stored in the input's slot. */
static void encoder_layers(const layer_builder *p, rill_column slot)
{
    const rill_attend own = {.own_units = 1, .keys = rill_view_value(p->key_value)};
    for (size_t i = 0; i < p->stack->n_layers; i++) {
        const mt_layer *layer = &p->stack->layer[i];
        const rill_view x = block_input(p, &layer->self_attention.norm);
        apply_linear(p, &layer->self_attention.key_value, x, rill_view_value(p->key_value));
        attend_to_memory(p, &layer->self_attention, x, own);
        add_residual(p, &layer->self_attention.out, &layer->self_attention.norm, rill_view_value(p->context),
                     rill_view_value(p->x));
        feed_forward(p, &layer->feed_forward, rill_view_value(p->x));
    }
    if (mt_has_flag(p->net, MT_FINAL_NORM)) normalise_x(p, &p->stack->final_norm, rill_view_value(p->x));
    for (size_t i = 0; i < p->net->decoder.n_layers; i++) {
        const mt_layer *layer = &p->net->decoder.layer[i];
        apply_linear(p, &layer->cross_attention.key_value, rill_view_value(p->x),
                     rill_view_ragged(layer->encoder_kv, slot, RILL_OWN));
    }
}

void mt_encode(const seq_net *net, const seq_encoder_columns *columns)
{
    const layer_builder p = begin_layers(mt_from_seq(net), &mt_from_seq(net)->encoder, columns->graph, columns->tokens);
    embed_tokens(&p, columns->token_id, columns->position);
    encoder_layers(&p, columns->slot);
}

/* --- graph of a decoder step -------------------------------------------------------------------------------------- */

/* Self-attention of the decoder. A position also attends to itself, so its keys and values enter the KV cache first. */
static void self_attention_block(const layer_builder *p, const mt_layer *layer, const seq_decoder_columns *w)
{
    const rill_attend above = {.path = w->path, .keys = rill_view_table(layer->node_table, w->node)};
    const rill_view x = block_input(p, &layer->self_attention.norm);
    if (!w->align_only)
        apply_linear(p, &layer->self_attention.key_value, x, rill_view_table(layer->node_table, w->node));
    attend_to_memory(p, &layer->self_attention, x, above);
    add_residual(p, &layer->self_attention.out, &layer->self_attention.norm, rill_view_value(p->context),
                 rill_view_value(p->x));
}

/* Build the decoder's layers. align_only: end after the cross-attention that makes alignments, and store nothing. */
static void decoder_layers(const layer_builder *p, const seq_decoder_columns *w)
{
    const size_t layers = p->stack->n_layers;
    const rill_view x = rill_view_value(p->x), top = rill_view_table(p->net->hidden, w->node);
    const int final_norm = mt_has_flag(p->net, MT_FINAL_NORM);
    static void (*const first[])(const layer_builder *p, const mt_layer *layer,
                                 const seq_decoder_columns *w) = {[MT_SELF_ATTENTION] = self_attention_block,
                                                                  [MT_SSRU] = ssru_block,
                                                                  [MT_AVERAGE_ATTENTION] = average_attention_block};
    for (size_t i = 0; i < layers; i++) {
        const mt_layer *layer = &p->stack->layer[i];
        const int last = i + 1 == layers, watched = w->align_only && i == p->net->settings.alignment_layer;
        const rill_attend input = {.slot = w->slot,
                                   .keys = rill_view_ragged(layer->encoder_kv, w->slot, RILL_OWN),
                                   .watched_heads = watched ? p->net->settings.n_alignment_heads : 0};
        first[p->net->settings.decoder_block](p, layer, w);
        attend_to_memory(p, &layer->cross_attention, block_input(p, &layer->cross_attention.norm), input);
        if (watched) return;
        add_residual(p, &layer->cross_attention.out, &layer->cross_attention.norm, rill_view_value(p->context), x);
        feed_forward(p, &layer->feed_forward, last && !final_norm ? top : x);
    }
    finish_layers(p, top);
}

void mt_step(const seq_net *net, const seq_decoder_columns *columns)
{
    const layer_builder p = begin_layers(mt_from_seq(net), &mt_from_seq(net)->decoder, columns->graph, RILL_ROWS);
    embed_tokens(&p, columns->token_id, columns->depth);
    decoder_layers(&p, columns);
}

rill_view mt_decoder_output(const seq_net *net, rill_graph graph, rill_column node, rill_column slot)
{
    (void)graph, (void)slot;
    return rill_view_table(mt_from_seq(net)->hidden, node);
}

/* --- KV caches and other tables ----------------------------------------------------------------------------------- */

void mt_make_tables(mt_net *net)
{
    rill_network *network = net->seq.model->network;
    const size_t memory = 2 * net->decoder.attention_width;
    const int computed = net->encoder.position_embedding == RILL_NONE || net->decoder.position_embedding == RILL_NONE;
    net->hidden = rill_network_table(network, RILL_TABLE_NODES, net->width, "node states");
    net->sinusoids = net->mean_weights = RILL_NONE;
    if (computed && net->settings.position_kind != MT_POSITIONS_NONE)
        net->sinusoids = rill_network_table(network, RILL_TABLE_HOST, net->width, "positions");
    if (net->settings.decoder_block == MT_AVERAGE_ATTENTION)
        net->mean_weights = rill_network_table(network, RILL_TABLE_HOST, net->width, "shares of a mean");
    const int attends = net->settings.decoder_block == MT_SELF_ATTENTION;
    for (size_t i = 0; i < net->decoder.n_layers; i++) {
        mt_layer *layer = &net->decoder.layer[i];
        layer->node_table = rill_network_table(network, RILL_TABLE_NODES, attends ? memory : net->width,
                                               attends ? "keys and values" : "states of layers");
        layer->encoder_kv = rill_network_table(network, RILL_TABLE_RAGGED, memory, "encoder memory");
    }
}

/* --- position embeddings ------------------------------------------------------------------------------------------ */

/* Compute the sinusoids of positions from..to - 1. For an odd width Marian has one more sine, FSMT a column of zeros. */
static void compute_sinusoids(const mt_net *net, size_t from, size_t to, float *row)
{
    const int fsmt = net->settings.position_kind == MT_POSITIONS_FSMT;
    const size_t width = net->width, first = (size_t)net->settings.first_position;
    const size_t sines = fsmt ? width / 2 : (width + 1) / 2, used = fsmt ? 2 * sines : width;
    const double half = fsmt ? (double)sines : (double)width / 2.0;
    const double slowest = net->settings.position_kind == MT_POSITIONS_HF ? half : half - 1.0;
    for (size_t t = from; t < to; t++, row += width) {
        for (size_t j = 0; j < used; j++) {
            size_t pair = j < sines ? j : j - sines;
            double angle = (double)(first + t) / pow(10000.0, slowest > 0.0 ? (double)pair / slowest : 0.0);
            row[j] = (float)(j < sines ? sin(angle) : cos(angle));
        }
        if (used < width) row[used] = 0.0f;
    }
}

static void compute_mean_weights(const mt_net *net, size_t from, size_t to, float *row)
{
    for (size_t t = from; t < to; t++, row += net->width)
        for (size_t j = 0; j < net->width; j++) row[j] = 1.0f / (float)(t + 1);
}

/* Compute rows from .. to - 1 and copy them to the runner's session. RILL_NONE: no effect. */
static rill_status fill_table_rows(seq_runner *r, const mt_net *net, rill_table table,
                                   void (*compute)(const mt_net *net, size_t from, size_t to, float *row), size_t from,
                                   size_t to)
{
    if (table == RILL_NONE) return RILL_OK;
    SCOPED(rill_arena_clear) rill_arena arena = {.ctx = r->ctx};
    float *rows;
    TRY(rill_arena_alloc(&arena, &rows, (to - from) * net->width, sizeof *rows, "positions"));
    compute(net, from, to, rows);
    return rill_session_fill(r->session, table, (int32_t)from, (int32_t)(to - from), rows);
}

rill_status mt_prepare_positions(seq_runner *r, const seq_net *seq, size_t from, size_t to)
{
    const mt_net *net = mt_from_seq(seq);
    TRY(fill_table_rows(r, net, net->sinusoids, compute_sinusoids, from, to));
    return fill_table_rows(r, net, net->mean_weights, compute_mean_weights, from, to);
}
