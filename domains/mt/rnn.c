/* Recurrent translation models: configuration, weights and graphs.
 *
 * Tensors have Nematus' names and shapes [in, out], and are transposed. Tensors with the same input form one matrix. */
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "mt.h"

static const char FILE_NAME[] = "config.json";

/* Maximum length of inputs and outputs, as a multiple of the configured maximum. Without position embeddings only decoding time limits
 * lengths. */
enum { POSITIONS_FACTOR = 16 };

enum { DEFAULT_MAX_LENGTH = 200 };

/* --- configuration ------------------------------------------------------------------------------------------------ */

static rill_status read_decoder(rnn_net *net, const rill_config *config)
{
    const char *decoder;
    TRY(rill_config_string(config, "decoder", &decoder));
    net->conditional_gru = strcmp(decoder, "conditional") == 0;
    if (net->conditional_gru || strcmp(decoder, "simple") == 0) return RILL_OK;
    return rill_config_fail(config, "decoder", "expected conditional or simple, found \"%.40s\"", decoder);
}

/* Recurrent models need no padding token. A transformer's vocabulary may name its own, which outputs must not
 * contain. */
static rill_status read_vocabularies(rnn_net *net, const rill_config *config)
{
    seq_net *s = &net->seq;
    int32_t both;
    TRY(rill_config_int_or(config, "vocab_size", 2, WORD_LIMIT, 0, &both));
    s->source_vocab_size = s->target_vocab_size = both;
    if (both == 0) TRY(rill_config_int(config, "source_vocab_size", 2, WORD_LIMIT, &s->source_vocab_size));
    if (both == 0) TRY(rill_config_int(config, "target_vocab_size", 2, WORD_LIMIT, &s->target_vocab_size));
    s->decoder_start = s->target_vocab_size;
    s->eos_file = FILE_NAME;
    TRY(rill_config_int(config, "eos_token_id", 0, s->target_vocab_size - 1, &s->eos));
    TRY(rill_config_int(config, "unk_token_id", 0, s->target_vocab_size - 1, &net->unk));
    TRY(rill_config_int_or(config, "pad_token_id", 0, s->target_vocab_size - 1, -1, &s->pad));
    return seq_alloc_legal(s);
}

/* Write sizes and options to net->seq.description, which `rill info` prints. */
static void describe(rnn_net *net)
{
    char symbols[64];
    if (net->seq.source_vocab_size == net->seq.target_vocab_size)
        snprintf(symbols, sizeof symbols, "%d symbols on each side", net->seq.source_vocab_size);
    else
        snprintf(symbols, sizeof symbols, "%d source and %d target symbols", net->seq.source_vocab_size,
                 net->seq.target_vocab_size);
    snprintf(net->seq.description, sizeof net->seq.description,
             "recurrent: encoder of 2 x %zu, decoder of %zu (%s), attention of %zu, embeddings of %zu, %s",
             net->encoder_width, net->decoder_width, net->conditional_gru ? "conditional GRUs" : "one GRU",
             net->attention_width, net->embedding_width, symbols);
}

static rill_status read_rnn_config(void *user, const rill_config *config)
{
    rnn_net *net = user;
    seq_net *s = &net->seq;
    rill_config_warn_unknown(config, "rill", (const char *const[]){"domain", "example", "options"}, 3);
    TRY(read_decoder(net, config));
    TRY(rill_config_size(config, "embedding_size", 1, WIDTH_LIMIT, &net->embedding_width));
    TRY(rill_config_size(config, "encoder_size", 1, WIDTH_LIMIT, &net->encoder_width));
    TRY(rill_config_size(config, "decoder_size", 1, WIDTH_LIMIT, &net->decoder_width));
    TRY(rill_config_size(config, "attention_size", 1, WIDTH_LIMIT, &net->attention_width));
    TRY(rill_config_int_or(config, "max_length", 1, LENGTH_LIMIT, DEFAULT_MAX_LENGTH, &s->max_length));
    s->config_positions = s->max_length;
    s->max_input_length = s->max_positions = POSITIONS_FACTOR * s->max_length;
    TRY(read_vocabularies(net, config));
    describe(net);
    return RILL_OK;
}

static rill_status configure(seq_net *seq, const char *directory, rill_tokenizer_files *text)
{
    text->kind = RILL_TOKENIZER_SENTENCEPIECE;
    text->source = "vocab.json";
    text->target = "target_vocab.json";
    text->target_optional = 1;
    text->target_vocab_key = "target_vocab_size";
    return rill_config_read(seq->ctx, directory, FILE_NAME, read_rnn_config, seq, NULL);
}

typedef struct loader {
    rill_loader *w;
    rnn_net *net;
} loader;

/* --- reading matrices --------------------------------------------------------------------------------------------- */

/* A tensor that becomes part of a matrix: `out` rows from `row` on and `in` columns from `column` on. */
typedef struct matrix_part {
    /* Names of the weight and of the bias; bias NULL: none. Biases of the same row are added. */
    const char *name, *bias;
    size_t in, out, row, column;
} matrix_part;

static rill_status put_transposed(loader *l, const matrix_part *p, size_t k, float *to)
{
    float *w;
    TRY(rill_load_floats(l->w, p->name, p->in, p->out, &w));
    for (size_t i = 0; i < p->in; i++)
        for (size_t o = 0; o < p->out; o++) to[(p->row + o) * k + p->column + i] = w[i * p->out + o];
    return RILL_OK;
}

static rill_status add_bias(loader *l, const matrix_part *p, float *to)
{
    float *b;
    TRY(rill_load_floats(l->w, p->bias, p->out, 0, &b));
    for (size_t o = 0; o < p->out; o++) to[p->row + o] += b[o];
    return RILL_OK;
}

/* Load an n x k matrix from its parts; other elements are 0. The matrix has a bias if any part has one. */
static rill_status load_linear(loader *l, const matrix_part *parts, size_t count, size_t n, size_t k, mt_linear *out)
{
    float *w, *bias = NULL;
    for (size_t i = 0; i < count; i++)
        if (parts[i].bias != NULL && bias == NULL) {
            TRY(rill_arena_alloc(l->w->arena, &bias, n, sizeof *bias, parts[i].bias));
            memset(bias, 0, n * sizeof *bias);
        }
    for (size_t i = 0; i < count; i++)
        if (parts[i].bias != NULL) TRY(add_bias(l, &parts[i], bias));
    TRY(rill_arena_alloc(&l->w->temp, &w, n * k, sizeof *w, parts->name));
    memset(w, 0, n * k * sizeof *w);
    for (size_t i = 0; i < count; i++) TRY(put_transposed(l, &parts[i], k, w));
    out->weight = rill_load_matrix(l->w, n, k, w, k);
    out->bias = bias != NULL ? rill_network_constant(l->w->network, bias, 1, n) : RILL_NONE;
    rill_arena_clear(&l->w->temp);
    return RILL_OK;
}

#define LOAD(parts, n, k, out) load_linear(l, parts, sizeof(parts) / sizeof *(parts), n, k, out)

/* --- weights of the encoder --------------------------------------------------------------------------------------- */

static rill_status load_encoder(loader *l)
{
    rnn_net *net = l->net;
    const size_t E = net->embedding_width, H = net->encoder_width;
    const matrix_part reads[] = {{"encoder_W", "encoder_b", E, 2 * H, 0, 0},
                                 {"encoder_Wx", "encoder_bx", E, H, 2 * H, 0},
                                 {"encoder_r_W", "encoder_r_b", E, 2 * H, 3 * H, 0},
                                 {"encoder_r_Wx", "encoder_r_bx", E, H, 5 * H, 0}};
    const matrix_part forward[] = {{"encoder_U", NULL, H, 2 * H, 0, 0}, {"encoder_Ux", NULL, H, H, 2 * H, 0}};
    const matrix_part backward[] = {{"encoder_r_U", NULL, H, 2 * H, 0, 0}, {"encoder_r_Ux", NULL, H, H, 2 * H, 0}};
    const matrix_part begin[] = {{"ff_state_W", "ff_state_b", 2 * H, net->decoder_width, 0, 0}};
    const matrix_part keys[] = {{"decoder_Wc_att", "decoder_b_att", 2 * H, net->attention_width, 0, 0}};
    mt_linear one, other;
    TRY(LOAD(reads, 6 * H, E, &net->input_gates));
    TRY(LOAD(forward, 3 * H, H, &one));
    TRY(LOAD(backward, 3 * H, H, &other));
    net->recurrent[0] = one.weight;
    net->recurrent[1] = other.weight;
    TRY(LOAD(begin, net->decoder_width, 2 * H, &net->init_projection));
    return LOAD(keys, net->attention_width, 2 * H, &net->key_projection);
}

/* --- weights of the decoder --------------------------------------------------------------------------------------- */

/* Load the second GRU. Its recurrent gates share a matrix with the attention query. The candidate's bias is added before the reset gate. */
static rill_status load_second_gru(loader *l)
{
    rnn_net *net = l->net;
    const size_t D = net->decoder_width, A = net->attention_width, gates = 3 * D;
    const matrix_part first[] = {{"decoder_U", NULL, D, 2 * D, 0, 0}, {"decoder_Ux", NULL, D, D, 2 * D, 0}};
    const matrix_part second[] = {{"decoder_U_nl", "decoder_b_nl", D, 2 * D, 0, 0},
                                  {"decoder_Ux_nl", "decoder_bx_nl", D, D, 2 * D, 0},
                                  {"decoder_W_comb_att", NULL, D, A, gates, 0}};
    const matrix_part only[] = {first[0], first[1], second[2]};
    if (!net->conditional_gru) return LOAD(only, gates + A, D, &net->second_gru);
    TRY(LOAD(first, gates, D, &net->first_gru));
    return LOAD(second, gates + A, D, &net->second_gru);
}

static rill_status load_decoder(loader *l)
{
    rnn_net *net = l->net;
    const size_t E = net->embedding_width, D = net->decoder_width, context = 2 * net->encoder_width, gates = 3 * D;
    const matrix_part word[] = {{"decoder_W", "decoder_b", E, 2 * D, 0, 0},
                                {"decoder_Wx", "decoder_bx", E, D, 2 * D, 0},
                                {"ff_logit_prev_W", "ff_logit_prev_b", E, E, gates, 0}};
    const matrix_part context_parts[] = {{"decoder_Wc", NULL, context, 2 * D, 0, 0},
                                         {"decoder_Wcx", NULL, context, D, 2 * D, 0}};
    const matrix_part readout[] = {{"ff_logit_ctx_W", "ff_logit_ctx_b", context, E, 0, 0},
                                   {"ff_logit_lstm_W", "ff_logit_lstm_b", D, E, 0, context}};
    float *additive, *shift;
    TRY(load_second_gru(l));
    TRY(LOAD(word, gates + E, E, &net->word_gates));
    TRY(LOAD(context_parts, gates, context, &net->context_gates));
    TRY(LOAD(readout, E, context + D, &net->readout));
    TRY(rill_load_kept(l->w, "decoder_U_att", net->attention_width, 1, &additive));
    net->attention_vector = rill_network_constant(l->w->network, additive, 1, net->attention_width);
    /* decoder_c_tt does not change the softmax. It is read because unread tensors are errors. */
    return rill_load_kept(l->w, "decoder_c_tt", 1, 0, &shift);
}

/* --- embeddings and output ---------------------------------------------------------------------------------------- */

/* The target embedding gets a zero row, the decoder's initial input. */
static rill_status load_embeddings(loader *l, float **target)
{
    rnn_net *net = l->net;
    const size_t E = net->embedding_width, words = (size_t)net->seq.source_vocab_size,
                 actions = (size_t)net->seq.target_vocab_size;
    float *table, *from;
    TRY(rill_load_constant(l->w, "Wemb", words, E, &net->source_embedding));
    TRY(rill_load_floats(l->w, "Wemb_dec", actions, E, &from));
    TRY(rill_arena_alloc(l->w->arena, &table, (actions + 1) * E, sizeof *table, "Wemb_dec"));
    memcpy(table, from, actions * E * sizeof *table);
    memset(table + actions * E, 0, E * sizeof *table);
    rill_arena_clear(&l->w->temp);
    net->target_embedding = rill_network_constant(l->w->network, table, actions + 1, E);
    *target = table;
    return RILL_OK;
}

/* Load the output layer, which is tied to the target embedding unless the file has ff_logit_W. */
static rill_status load_output(loader *l, const float *target)
{
    static const char name[] = "ff_logit_W";
    rnn_net *net = l->net;
    const size_t E = net->embedding_width, actions = (size_t)net->seq.target_vocab_size;
    const int has_output = rill_tensor_file_find(l->w->tensors, name) != NULL;
    const float *rows = target;
    float *bias;
    if (has_output) {
        const matrix_part output_part = {name, NULL, E, actions, 0, 0};
        float *turned;
        TRY(rill_arena_alloc(net->seq.model->shortlist != NULL ? l->w->arena : &l->w->temp, &turned, actions * E,
                             sizeof *turned, name));
        TRY(put_transposed(l, &output_part, E, turned));
        rows = turned;
    }
    TRY(rill_load_kept(l->w, "ff_logit_b", actions, 0, &bias));
    seq_set_output_layer(&net->seq, rows, E, bias);
    rill_arena_clear(&l->w->temp);
    return RILL_OK;
}

/* --- loading all weights ---------------------------------------------------------------------------------------- */

static void make_tables(rnn_net *net)
{
    rill_network *network = net->seq.model->network;
    net->annotations = rill_network_table(network, RILL_TABLE_RAGGED, 2 * net->encoder_width, "annotations");
    net->memory_keys = rill_network_table(network, RILL_TABLE_RAGGED, net->attention_width, "attention's keys");
    net->initial_state = rill_network_table(network, RILL_TABLE_SLOTS, net->decoder_width, "first states");
    net->state = rill_network_table(network, RILL_TABLE_NODES, net->decoder_width, "states");
    net->hidden_table = rill_network_table(network, RILL_TABLE_NODES, net->embedding_width, "readouts");
    net->query = rill_network_table(network, RILL_TABLE_NODES, net->attention_width, "queries");
}

/* The tokenizer uses the vocabulary's id of <unk>, so unk_token_id must agree. */
static rill_status check_unknown(const rnn_net *net, const char *directory)
{
    static const char unknown[] = "<unk>";
    const int32_t found = rill_vocabulary_id(net->seq.tokenizer->target, unknown, sizeof unknown - 1);
    if (found < 0 || found == net->unk) return RILL_OK;
    return rill_fail(net->seq.ctx, RILL_ERR_FORMAT, "%s/%s: unk_token_id: expected %d, the number of %s, found %d",
                     directory, net->seq.eos_file, found, unknown, net->unk);
}

static rill_status load(seq_net *seq, rill_loader *weights)
{
    loader l = {.w = weights, .net = (rnn_net *)seq};
    float *target;
    TRY(check_unknown(l.net, weights->directory));
    TRY(rill_loader_open(weights, "model.safetensors"));
    TRY(load_embeddings(&l, &target));
    TRY(load_output(&l, target));
    TRY(load_encoder(&l));
    TRY(load_decoder(&l));
    make_tables(l.net);
    return rill_loader_check_all_read(weights, NULL);
}

/* --- graph of the encoder ----------------------------------------------------------------------------------------- */

/* Annotation: forward and backward state of an input token. `last`: forward state after the last token. */
static void bidirectional_gru(const rnn_net *net, const seq_encoder_columns *r, rill_tensor annotations,
                              rill_tensor last)
{
    rill_network *network = net->seq.model->network;
    const size_t H = net->encoder_width;
    const rill_tensor gates = rill_tensor_make(network, r->graph, r->tokens, 6 * H);
    const rill_product reads = mt_linear_product(
        &net->input_gates, rill_view_constant(net->source_embedding, r->token_id), rill_view_value(gates));
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

/* Attention with scale 0 gives all tokens the same weight. Its result is the mean annotation, whatever values `query` has. */
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
    rill_product begin = mt_linear_product(&net->init_projection, rill_view_value(mean),
                                           rill_view_table(net->initial_state, r->slot));
    begin.activation = RILL_TANH;
    rill_op_attend(network, r->graph, RILL_ROWS, &attend);
    rill_op_product(network, r->graph, RILL_ROWS, &begin);
}

static void encode(const seq_net *seq, const seq_encoder_columns *r)
{
    const rnn_net *net = rnn_from_seq(seq);
    rill_network *network = seq->model->network;
    const size_t width = 2 * net->encoder_width;
    const rill_tensor annotations = rill_tensor_make(network, r->graph, r->tokens, width);
    const rill_tensor last = rill_tensor_make(network, r->graph, RILL_ROWS, net->encoder_width);
    const rill_copy keep = {.width = width,
                            .x = rill_view_value(annotations),
                            .out = rill_view_ragged(net->annotations, r->slot, RILL_OWN)};
    const rill_product keys = mt_linear_product(&net->key_projection, rill_view_value(annotations),
                                                rill_view_ragged(net->memory_keys, r->slot, RILL_OWN));
    bidirectional_gru(net, r, annotations, last);
    rill_op_copy(network, r->graph, r->tokens, &keep);
    rill_op_product(network, r->graph, r->tokens, &keys);
    init_decoder_state(net, r, annotations, last);
}

/* --- graph of a decoder step -------------------------------------------------------------------------------------- */

/* In the graph for alignments (align_only) the device also returns the attention weights. */
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

/* Conditional GRU: next_state = GRU(token embedding, parent's state). */
static void first_gru_step(const rnn_net *net, const seq_decoder_columns *w, rill_tensor word, rill_view prev,
                           rill_tensor next_state)
{
    rill_network *network = net->seq.model->network;
    const rill_tensor gates = rill_tensor_make(network, w->graph, RILL_ROWS, 3 * net->decoder_width);
    const rill_product recurrent = mt_linear_product(&net->first_gru, prev, rill_view_value(gates));
    const rill_gru_cell cell = {.hidden = net->decoder_width,
                                .input = rill_view_value(word),
                                .hidden_gates = rill_view_value(gates),
                                .h = prev,
                                .h_out = rill_view_value(next_state)};
    rill_op_product(network, w->graph, RILL_ROWS, &recurrent);
    rill_op_gru(network, w->graph, RILL_ROWS, &cell);
}

/* Attention with query `h`, then the GRU that reads the context and outputs the new decoder state. */
static void second_gru_step(const rnn_net *net, const seq_decoder_columns *w, rill_tensor word, rill_view h,
                            rill_tensor context)
{
    rill_network *network = net->seq.model->network;
    const size_t gates = 3 * net->decoder_width, A = net->attention_width;
    const rill_tensor hidden = rill_tensor_make(network, w->graph, RILL_ROWS, gates + A);
    const rill_tensor input = rill_tensor_make(network, w->graph, RILL_ROWS, gates);
    const rill_product recurrent = mt_linear_product(&net->second_gru, h, rill_view_value(hidden));
    const rill_copy query = {
        .width = A, .x = rill_view_offset(rill_view_value(hidden), gates), .out = rill_view_table(net->query, w->node)};
    rill_product into = mt_linear_product(&net->context_gates, rill_view_value(context), rill_view_value(input));
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

/* Returns the parent's state. The empty hypothesis first copies the input's initial state to its own row. */
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

static void step(const seq_net *seq, const seq_decoder_columns *w)
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
    const rill_product word_product = mt_linear_product(
        &net->word_gates, rill_view_constant(net->target_embedding, w->token_id), rill_view_value(word));
    rill_op_product(network, w->graph, RILL_ROWS, &word_product);
    if (net->conditional_gru) first_gru_step(net, w, word, prev, between);
    second_gru_step(net, w, word, net->conditional_gru ? rill_view_value(between) : prev, context);
    rill_product readout = mt_linear_product(&net->readout, rill_view_value(context),
                                             rill_view_table(net->hidden_table, w->node));
    readout.a2 = rill_view_table(net->state, w->node);
    readout.k2 = net->decoder_width;
    readout.add = rill_view_offset(rill_view_value(word), gates);
    readout.activation = RILL_TANH;
    rill_op_product(network, w->graph, RILL_ROWS, &readout);
}

static rill_view decoder_output(const seq_net *seq, rill_graph graph, rill_column node, rill_column slot)
{
    (void)graph, (void)slot;
    return rill_view_table(rnn_from_seq(seq)->hidden_table, node);
}

const seq_arch rnn_arch = {
    .plural_name = "recurrent models",
    .net_size = sizeof(rnn_net),
    .state_need = SEQ_NEEDS_PARENT,
    .has_alignment = 1,
    .configure = configure,
    .load = load,
    .encode = encode,
    .step = step,
    .decoder_output = decoder_output,
};
