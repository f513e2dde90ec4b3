/* Loads the tensors of a recurrent translation model.
 *
 * Tensors have Nematus' names and its shapes [in, out], so each is transposed. Tensors with the same input are concatenated
 * to one matrix.
 * Invariant: data that lives as long as the model is in the model's arena. Temporary data is in a second arena, cleared
 * after each matrix.
 *
 * Divisions: matrices · encoder · decoder · embeddings and output · the whole. */
#include <stdio.h>
#include <string.h>

#include "domain_base.h"
#include "rill/file.h"
#include "rnn.h"

typedef struct loader {
    rnn_net *net;
    rill_arena *model_arena; /* memory that lives as long as the model */
    rill_tensor_file *tensors;
    rill_arena temp_arena; /* cleared when a matrix is packed */
    rill_text path;
} loader;

/* --- matrices ----------------------------------------------------------------------------------------------------- */

/* A tensor that becomes part of a matrix: `out` rows from `row` on and `in` columns from `column` on. */
typedef struct matrix_part {
    const char *name,
        *bias; /* tensor of the weights; tensor of the rows' bias, or NULL; several biases of a row are added */
    size_t in, out, row, column;
} matrix_part;

static rill_status put_transposed(loader *l, const matrix_part *p, size_t k, float *to)
{
    float *w;
    TRY(rill_weights_read(l->tensors, &l->temp_arena, p->name, p->in, p->out, &w));
    for (size_t i = 0; i < p->in; i++)
        for (size_t o = 0; o < p->out; o++) to[(p->row + o) * k + p->column + i] = w[i * p->out + o];
    return RILL_OK;
}

static rill_status add_bias(loader *l, const matrix_part *p, float *to)
{
    float *b;
    TRY(rill_weights_read(l->tensors, &l->temp_arena, p->bias, p->out, 0, &b));
    for (size_t o = 0; o < p->out; o++) to[p->row + o] += b[o];
    return RILL_OK;
}

/* Build an n x k matrix from its parts. Elements that no part covers are 0. The matrix has a bias if any part has one. */
static rill_status load_linear(loader *l, const matrix_part *parts, size_t count, size_t n, size_t k, rnn_linear *out)
{
    float *w, *bias = NULL;
    rill_network *network = l->net->seq.model->network;
    for (size_t i = 0; i < count; i++)
        if (parts[i].bias != NULL && bias == NULL) {
            TRY(rill_arena_alloc(l->model_arena, &bias, n, sizeof *bias, parts[i].bias));
            memset(bias, 0, n * sizeof *bias);
        }
    for (size_t i = 0; i < count; i++)
        if (parts[i].bias != NULL) TRY(add_bias(l, &parts[i], bias));
    TRY(rill_arena_alloc(&l->temp_arena, &w, n * k, sizeof *w, parts->name));
    memset(w, 0, n * k * sizeof *w);
    for (size_t i = 0; i < count; i++) TRY(put_transposed(l, &parts[i], k, w));
    out->weight = rill_network_matrix(network, l->net->seq.model->weights, n, k, w, k);
    out->bias = bias != NULL ? rill_network_constant(network, bias, 1, n) : RILL_NONE;
    rill_arena_clear(&l->temp_arena);
    return RILL_OK;
}

#define LOAD(parts, n, k, out) load_linear(l, parts, sizeof(parts) / sizeof *(parts), n, k, out)

/* --- encoder ------------------------------------------------------------------------------------------------------ */

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
    rnn_linear one, other;
    TRY(LOAD(reads, 6 * H, E, &net->input_gates));
    TRY(LOAD(forward, 3 * H, H, &one));
    TRY(LOAD(backward, 3 * H, H, &other));
    net->recurrent[0] = one.weight;
    net->recurrent[1] = other.weight;
    TRY(LOAD(begin, net->decoder_width, 2 * H, &net->init_projection));
    return LOAD(keys, net->attention_width, 2 * H, &net->key_projection);
}

/* --- decoder ------------------------------------------------------------------------------------------------------ */

/* Load the recurrent gates of the GRU after attention, with the attention query in the same matrix. The bias of this GRU's
 * candidate is added before the multiplication by the reset gate. In a conditional GRU, also load the first GRU. */
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
    TRY(rill_weights_read(l->tensors, l->model_arena, "decoder_U_att", net->attention_width, 1, &additive));
    net->attention_vector = rill_network_constant(net->seq.model->network, additive, 1, net->attention_width);
    /* A constant that is added to all attention scores has no effect on the softmax. It is read because a tensor that stays
     * unread is an error. */
    return rill_weights_read(l->tensors, l->model_arena, "decoder_c_tt", 1, 0, &shift);
}

/* --- embeddings and output ---------------------------------------------------------------------------------------- */

/* Load both embeddings. The target embedding gets an additional zero row, which is the decoder's initial input. */
static rill_status load_embeddings(loader *l, float **target)
{
    rnn_net *net = l->net;
    const size_t E = net->embedding_width, words = (size_t)net->seq.source_vocab_size,
                 actions = (size_t)net->seq.target_vocab_size;
    float *source, *table, *from;
    TRY(rill_weights_read(l->tensors, l->model_arena, "Wemb", words, E, &source));
    TRY(rill_weights_read(l->tensors, &l->temp_arena, "Wemb_dec", actions, E, &from));
    TRY(rill_arena_alloc(l->model_arena, &table, (actions + 1) * E, sizeof *table, "Wemb_dec"));
    memcpy(table, from, actions * E * sizeof *table);
    memset(table + actions * E, 0, E * sizeof *table);
    rill_arena_clear(&l->temp_arena);
    net->source_embedding = rill_network_constant(net->seq.model->network, source, words, E);
    net->target_embedding = rill_network_constant(net->seq.model->network, table, actions + 1, E);
    *target = table;
    return RILL_OK;
}

/* Load the output layer, which is tied to the target embedding unless the file has ff_logit_W. */
static rill_status load_output(loader *l, const float *target)
{
    static const char name[] = "ff_logit_W";
    rnn_net *net = l->net;
    const size_t E = net->embedding_width, actions = (size_t)net->seq.target_vocab_size;
    const int has_output = rill_tensor_file_find(l->tensors, name) != NULL;
    const float *rows = target;
    float *bias;
    if (has_output) {
        const matrix_part output_part = {name, NULL, E, actions, 0, 0};
        float *turned;
        TRY(rill_arena_alloc(net->seq.model->shortlist != NULL ? l->model_arena : &l->temp_arena, &turned, actions * E,
                             sizeof *turned, name));
        TRY(put_transposed(l, &output_part, E, turned));
        rows = turned;
    }
    TRY(rill_weights_read(l->tensors, l->model_arena, "ff_logit_b", actions, 0, &bias));
    seq_set_output_layer(&net->seq, rows, E, bias);
    rill_arena_clear(&l->temp_arena);
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

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

/* Check that the token <unk> of the target vocabulary, if it has one, has the id unk_token_id, because the tokenizer uses
 * the vocabulary's id. */
static rill_status check_unknown(const rnn_net *net, const char *directory)
{
    static const char unknown[] = "<unk>";
    const int32_t found = rill_vocabulary_id(rill_tokenizer_target_vocab(net->seq.tokenizer), unknown,
                                             sizeof unknown - 1);
    if (found < 0 || found == net->unk) return RILL_OK;
    return rill_fail(net->seq.ctx, RILL_ERR_FORMAT, "%s/%s: unk_token_id: expected %d, the number of %s, found %d",
                     directory, net->seq.eos_file, found, unknown, net->unk);
}

static rill_status load_all(loader *l, const char *directory)
{
    rill_context *ctx = l->net->seq.ctx;
    float *target;
    TRY(check_unknown(l->net, directory));
    TRY(rill_path_join(&l->path, directory, "model.safetensors"));
    TRY(rill_tensor_file_open(&l->tensors, ctx, l->path.data));
    TRY(load_embeddings(l, &target));
    TRY(load_output(l, target));
    TRY(load_encoder(l));
    TRY(load_decoder(l));
    make_tables(l->net);
    return rill_weights_check_all_read(ctx, l->tensors, l->path.data, NULL);
}

rill_status rnn_load(seq_net *seq, const char *directory)
{
    loader l = {.net = (rnn_net *)seq,
                .model_arena = &seq->model->arena,
                .temp_arena = {.ctx = seq->ctx},
                .path = {.ctx = seq->ctx}};
    const rill_status status = load_all(&l, directory);
    rill_tensor_file_close(l.tensors);
    rill_arena_clear(&l.temp_arena);
    rill_text_clear(&l.path);
    return status;
}
