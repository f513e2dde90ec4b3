/* Loading a recurrent translation model's tensors.
 *
 * Names and shapes are Nematus': [in, out], so each is turned on its way; those that read the same rows become one matrix.
 * Invariant: what lives as long as the model is in its blocks; what is only needed until it is packed is in a second set, which is
 * cleared behind each matrix.
 *
 * Divisions: matrices · encoder · decoder · embeddings and output · the whole. */
#include <stdio.h>
#include <string.h>

#include "rill/file.h"
#include "rnn.h"
#include "weights.h"

typedef struct loader {
    rnn_net *net;
    rill_blocks *kept; /* as long as the model */
    rill_tensors *tensors;
    rill_blocks passing; /* freed when it is packed */
    rill_text path;
} loader;

/* --- matrices ----------------------------------------------------------------------------------------------------- */

/* A tensor's place in a matrix: `out` rows of it from `row` on, `in` columns from `column` on; and the bias of these rows. */
typedef struct part {
    const char *name, *bias; /* bias: NULL for none; several of the same rows are added */
    size_t in, out, row, column;
} part;

static rill_status put_weights(loader *l, const part *p, size_t k, float *to)
{
    float *w;
    TRY(rill_weights_read(l->tensors, &l->passing, p->name, p->in, p->out, &w));
    for (size_t i = 0; i < p->in; i++)
        for (size_t o = 0; o < p->out; o++) to[(p->row + o) * k + p->column + i] = w[i * p->out + o];
    return RILL_OK;
}

static rill_status add_bias(loader *l, const part *p, float *to)
{
    float *b;
    TRY(rill_weights_read(l->tensors, &l->passing, p->bias, p->out, 0, &b));
    for (size_t o = 0; o < p->out; o++) to[p->row + o] += b[o];
    return RILL_OK;
}

/* n x k; what no part covers is 0. Without any bias there is none. */
static rill_status load_linear(loader *l, const part *parts, size_t count, size_t n, size_t k, rnn_linear *out)
{
    float *w, *bias = NULL;
    rill_plan *plan = l->net->seq.model->plan;
    for (size_t i = 0; i < count; i++)
        if (parts[i].bias != NULL && bias == NULL) {
            TRY(rill_blocks_get(l->kept, &bias, n, sizeof *bias, parts[i].bias));
            memset(bias, 0, n * sizeof *bias);
        }
    for (size_t i = 0; i < count; i++)
        if (parts[i].bias != NULL) TRY(add_bias(l, &parts[i], bias));
    TRY(rill_blocks_get(&l->passing, &w, n * k, sizeof *w, parts->name));
    memset(w, 0, n * k * sizeof *w);
    for (size_t i = 0; i < count; i++) TRY(put_weights(l, &parts[i], k, w));
    out->matrix = rill_plan_matrix(plan, l->net->seq.model->weights, n, k, w, k);
    out->bias = bias != NULL ? rill_plan_constant(plan, bias, 1, n) : RILL_NONE;
    rill_blocks_clear(&l->passing);
    return RILL_OK;
}

#define LOAD(parts, n, k, out) load_linear(l, parts, sizeof(parts) / sizeof *(parts), n, k, out)

/* --- encoder ------------------------------------------------------------------------------------------------------ */

static rill_status load_encoder(loader *l)
{
    rnn_net *net = l->net;
    const size_t E = net->embedding, H = net->encoder;
    const part reads[] = {{"encoder_W", "encoder_b", E, 2 * H, 0, 0},
                          {"encoder_Wx", "encoder_bx", E, H, 2 * H, 0},
                          {"encoder_r_W", "encoder_r_b", E, 2 * H, 3 * H, 0},
                          {"encoder_r_Wx", "encoder_r_bx", E, H, 5 * H, 0}};
    const part forward[] = {{"encoder_U", NULL, H, 2 * H, 0, 0}, {"encoder_Ux", NULL, H, H, 2 * H, 0}};
    const part backward[] = {{"encoder_r_U", NULL, H, 2 * H, 0, 0}, {"encoder_r_Ux", NULL, H, H, 2 * H, 0}};
    const part begin[] = {{"ff_state_W", "ff_state_b", 2 * H, net->decoder, 0, 0}};
    const part keys[] = {{"decoder_Wc_att", "decoder_b_att", 2 * H, net->attention, 0, 0}};
    rnn_linear one, other;
    TRY(LOAD(reads, 6 * H, E, &net->reads));
    TRY(LOAD(forward, 3 * H, H, &one));
    TRY(LOAD(backward, 3 * H, H, &other));
    net->recurrent[0] = one.matrix;
    net->recurrent[1] = other.matrix;
    TRY(LOAD(begin, net->decoder, 2 * H, &net->begin));
    return LOAD(keys, net->attention, 2 * H, &net->keys);
}

/* --- decoder ------------------------------------------------------------------------------------------------------ */

/* Recurrent gates of the GRU behind attention, whose bias is inside the reset's product, and attention's query. */
static rill_status load_hidden(loader *l)
{
    rnn_net *net = l->net;
    const size_t D = net->decoder, A = net->attention, gates = 3 * D;
    const part first[] = {{"decoder_U", NULL, D, 2 * D, 0, 0}, {"decoder_Ux", NULL, D, D, 2 * D, 0}};
    const part second[] = {{"decoder_U_nl", "decoder_b_nl", D, 2 * D, 0, 0},
                           {"decoder_Ux_nl", "decoder_bx_nl", D, D, 2 * D, 0},
                           {"decoder_W_comb_att", NULL, D, A, gates, 0}};
    const part only[] = {first[0], first[1], second[2]};
    if (!net->conditional) return LOAD(only, gates + A, D, &net->hidden);
    TRY(LOAD(first, gates, D, &net->first));
    return LOAD(second, gates + A, D, &net->hidden);
}

static rill_status load_decoder(loader *l)
{
    rnn_net *net = l->net;
    const size_t E = net->embedding, D = net->decoder, context = 2 * net->encoder, gates = 3 * D;
    const part word[] = {{"decoder_W", "decoder_b", E, 2 * D, 0, 0},
                         {"decoder_Wx", "decoder_bx", E, D, 2 * D, 0},
                         {"ff_logit_prev_W", "ff_logit_prev_b", E, E, gates, 0}};
    const part of_context[] = {{"decoder_Wc", NULL, context, 2 * D, 0, 0}, {"decoder_Wcx", NULL, context, D, 2 * D, 0}};
    const part readout[] = {{"ff_logit_ctx_W", "ff_logit_ctx_b", context, E, 0, 0},
                            {"ff_logit_lstm_W", "ff_logit_lstm_b", D, E, 0, context}};
    float *additive, *shift;
    TRY(load_hidden(l));
    TRY(LOAD(word, gates + E, E, &net->word));
    TRY(LOAD(of_context, gates, context, &net->context));
    TRY(LOAD(readout, E, context + D, &net->readout));
    TRY(rill_weights_read(l->tensors, l->kept, "decoder_U_att", net->attention, 1, &additive));
    net->additive = rill_plan_constant(net->seq.model->plan, additive, 1, net->attention);
    /* Added to all scores of a row, which the softmax undoes: read so that nothing of the file is left over. */
    return rill_weights_read(l->tensors, l->kept, "decoder_c_tt", 1, 0, &shift);
}

/* --- embeddings and output ---------------------------------------------------------------------------------------- */

/* The target's, with a row of zeros behind it, from which outputs start. */
static rill_status load_embeddings(loader *l, float **target)
{
    rnn_net *net = l->net;
    const size_t E = net->embedding, words = (size_t)net->seq.words, actions = (size_t)net->seq.actions;
    float *source, *table, *from;
    TRY(rill_weights_read(l->tensors, l->kept, "Wemb", words, E, &source));
    TRY(rill_weights_read(l->tensors, &l->passing, "Wemb_dec", actions, E, &from));
    TRY(rill_blocks_get(l->kept, &table, (actions + 1) * E, sizeof *table, "Wemb_dec"));
    memcpy(table, from, actions * E * sizeof *table);
    memset(table + actions * E, 0, E * sizeof *table);
    rill_blocks_clear(&l->passing);
    net->source = rill_plan_constant(net->seq.model->plan, source, words, E);
    net->target = rill_plan_constant(net->seq.model->plan, table, actions + 1, E);
    *target = table;
    return RILL_OK;
}

/* The target's embedding, unless the file has an output layer. */
static rill_status load_output(loader *l, const float *target)
{
    static const char name[] = "ff_logit_W";
    rnn_net *net = l->net;
    const size_t E = net->embedding, actions = (size_t)net->seq.actions;
    const int own = rill_tensors_find(l->tensors, name) != NULL;
    const float *rows = target;
    float *bias;
    if (own) {
        const part whole = {name, NULL, E, actions, 0, 0};
        float *turned;
        TRY(rill_blocks_get(net->seq.model->shortlist != NULL ? l->kept : &l->passing, &turned, actions * E,
                            sizeof *turned, name));
        TRY(put_weights(l, &whole, E, turned));
        rows = turned;
    }
    TRY(rill_weights_read(l->tensors, l->kept, "ff_logit_b", actions, 0, &bias));
    seq_keep_output(&net->seq, rows, E, bias);
    rill_blocks_clear(&l->passing);
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void make_tables(rnn_net *net)
{
    rill_plan *plan = net->seq.model->plan;
    net->annotations = rill_plan_table(plan, RILL_TABLE_RAGGED, 2 * net->encoder, "annotations");
    net->memory_keys = rill_plan_table(plan, RILL_TABLE_RAGGED, net->attention, "attention's keys");
    net->initial = rill_plan_table(plan, RILL_TABLE_SLOTS, net->decoder, "first states");
    net->state = rill_plan_table(plan, RILL_TABLE_NODES, net->decoder, "states");
    net->top = rill_plan_table(plan, RILL_TABLE_NODES, net->embedding, "readouts");
    net->query = rill_plan_table(plan, RILL_TABLE_NODES, net->attention, "queries");
}

/* Text is cut by the vocabularies, which say themselves what stands for what they do not have. */
static rill_status check_unknown(const rnn_net *net, const char *directory)
{
    static const char unknown[] = "<unk>";
    const int32_t found = rill_vocabulary_id(rill_codec_target(net->seq.text), unknown, sizeof unknown - 1);
    if (found < 0 || found == net->unknown) return RILL_OK;
    return rill_fail(net->seq.ctx, RILL_ERR_FORMAT, "%s/%s: unk_token_id: expected %d, the number of %s, found %d",
                     directory, net->seq.end_file, found, unknown, net->unknown);
}

static rill_status load_all(loader *l, const char *directory)
{
    rill_context *ctx = l->net->seq.ctx;
    float *target;
    TRY(check_unknown(l->net, directory));
    TRY(rill_path_join(&l->path, directory, "model.safetensors"));
    TRY(rill_tensors_open(&l->tensors, ctx, l->path.data));
    TRY(load_embeddings(l, &target));
    TRY(load_output(l, target));
    TRY(load_encoder(l));
    TRY(load_decoder(l));
    make_tables(l->net);
    return rill_weights_all_read(ctx, l->tensors, l->path.data, NULL);
}

rill_status rnn_load(seq_net *seq, const char *directory)
{
    loader l = {
        .net = (rnn_net *)seq, .kept = &seq->model->blocks, .passing = {.ctx = seq->ctx}, .path = {.ctx = seq->ctx}};
    const rill_status status = load_all(&l, directory);
    rill_tensors_close(l.tensors);
    rill_blocks_clear(&l.passing);
    rill_text_clear(&l.path);
    return status;
}
