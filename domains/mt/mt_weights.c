/* Loads a transformer's tensors, with the names and shapes of transformers', BART's or T5's models. Unknown tensors are errors.
 *
 * Each matrix is packed before the next is read: peak memory is the packed model and its largest fp32 matrix.
 *
 * Relative position bias: Raffel et al. 2020, appendix, and transformers' modeling_t5.py. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mt.h"

enum { NAME_BYTES = 128 };

/* --- names of tensors --------------------------------------------------------------------------------------------- */

/* Tensor names of a naming scheme (mt_layout). Names of a layer's tensors follow the prefix `layer`. */
typedef struct tensor_names {
    const char *layer;
    const char *self, *self_norm, *cross, *cross_norm; /* attention blocks: prefixes of projections, names of norms */
    const char *query, *keys, *values, *out;
    const char *feed[2], *feed_norm[2]; /* [encoder, decoder] prefix of the feed-forward tensors; name of the norm */
    const char *inner, *gated, *gate, *outer;
    const char *final_norm, *embedding_norm; /* name of the norm, where %s is "encoder" or "decoder" */
    const char *shared, *source, *target, *output;
} tensor_names;

/* clang-format off */
static const tensor_names tensor_names_by_layout[] = {
    [MT_LAYOUT_BART] = {
        .layer = "model.%s.layers.%zu.",
        .self = "self_attn.", .self_norm = "self_attn_layer_norm", .cross = "encoder_attn.", .cross_norm = "encoder_attn_layer_norm",
        .query = "q_proj", .keys = "k_proj", .values = "v_proj", .out = "out_proj",
        .feed = {"", ""}, .feed_norm = {"final_layer_norm", "final_layer_norm"},
        .inner = "fc1", .gated = "fc1", .gate = "fc_gate", .outer = "fc2",
        .final_norm = "model.%s.layer_norm", .embedding_norm = "model.%s.layernorm_embedding",
        .shared = "model.shared.weight", .source = "model.encoder.embed_tokens.weight",
        .target = "model.decoder.embed_tokens.weight", .output = "lm_head.weight"},
    [MT_LAYOUT_T5] = {
        .layer = "%s.block.%zu.layer.",
        .self = "0.SelfAttention.", .self_norm = "0.layer_norm", .cross = "1.EncDecAttention.", .cross_norm = "1.layer_norm",
        .query = "q", .keys = "k", .values = "v", .out = "o",
        .feed = {"1.DenseReluDense.", "2.DenseReluDense."}, .feed_norm = {"1.layer_norm", "2.layer_norm"},
        .inner = "wi", .gated = "wi_0", .gate = "wi_1", .outer = "wo",
        .final_norm = "%s.final_layer_norm",
        .shared = "shared.weight", .source = "encoder.embed_tokens.weight",
        .target = "decoder.embed_tokens.weight", .output = "lm_head.weight"},
};
/* clang-format on */
static const char FSMT_OUTPUT[] = "model.decoder.output_projection.weight";

/* State while a model is loaded. */
typedef struct loader {
    rill_loader *w;
    mt_net *net;
    const tensor_names *names;
    const char *source, *target, *output; /* tensors to read as encoder embedding, decoder embedding and output layer */
} loader;

/* --- reading and packing weights ---------------------------------------------------------------------------------- */

static int has_tensor(const loader *l, const char *name)
{
    return name != NULL && rill_tensor_file_find(l->w->tensors, name) != NULL;
}

/* Returns 1 if the projections have biases. If biases are optional, one projection's bias in the file suffices; the others are zeros. */
static int has_bias(const loader *l, const char *prefix, const char *const *names, size_t count)
{
    if (mt_has_flag(l->net, MT_NO_BIAS) || !mt_has_flag(l->net, MT_OPTIONAL_BIAS))
        return !mt_has_flag(l->net, MT_NO_BIAS);
    for (size_t i = 0; i < count; i++)
        if (has_tensor(l, rill_loader_name(l->w, "%s%s.bias", prefix, names[i]))) return 1;
    return 0;
}

/* Load `count` projections with the same input, each n x k, concatenated by rows. */
static rill_status load_linear(loader *l, const char *prefix, const char *const *names, size_t count, size_t n,
                               size_t k, mt_linear *out)
{
    const int biased = has_bias(l, prefix, names, count);
    float *weights, *bias = NULL;
    for (size_t i = 0; i < count; i++)
        TRY(rill_weights_check_size(l->w->tensors, rill_loader_name(l->w, "%s%s.weight", prefix, names[i]), n, k));
    TRY(rill_arena_alloc(&l->w->temp, &weights, count * n * k, sizeof *weights, prefix));
    if (biased) TRY(rill_arena_alloc(l->w->arena, &bias, count * n, sizeof *bias, prefix));
    if (biased) memset(bias, 0, count * n * sizeof *bias);
    for (size_t i = 0; i < count; i++) {
        TRY(rill_weights_read_into(l->w->tensors, rill_loader_name(l->w, "%s%s.weight", prefix, names[i]), n, k,
                                   weights + i * n * k));
        if (biased && has_bias(l, prefix, &names[i], 1))
            TRY(rill_weights_read_into(l->w->tensors, rill_loader_name(l->w, "%s%s.bias", prefix, names[i]), n, 0,
                                       bias + i * n));
    }
    *out = (mt_linear){.weight = rill_load_matrix(l->w, count * n, k, weights, k),
                       .bias = biased ? rill_network_constant(l->w->network, bias, 1, count * n) : RILL_NONE};
    rill_arena_clear(&l->w->temp);
    return RILL_OK;
}

/* Load the vector PREFIX + NAME.PART of D elements, multiplied by `scale`. */
static rill_status load_vector(loader *l, const char *prefix, const char *name, const char *part, float scale,
                               rill_constant *out)
{
    float *data;
    TRY(rill_load_kept(l->w, rill_loader_name(l->w, "%s%s.%s", prefix, name, part), l->net->width, 0, &data));
    for (size_t i = 0; scale != 1.0f && i < l->net->width; i++) data[i] *= scale;
    *out = rill_network_constant(l->w->network, data, 1, l->net->width);
    return RILL_OK;
}

static rill_status load_norm(loader *l, const char *prefix, const char *name, float scale, mt_norm *out)
{
    TRY(load_vector(l, prefix, name, "weight", scale, &out->gain));
    return mt_has_flag(l->net, MT_RMS_NORM) ? RILL_OK : load_vector(l, prefix, name, "bias", scale, &out->bias);
}

/* --- relative position bias --------------------------------------------------------------------------------------- */

/* The bucket of a distance >= 0 in a direction that has `buckets` buckets. */
static int32_t distance_bucket(int32_t distance, int32_t buckets, int32_t max_distance)
{
    const int32_t exact = buckets / 2;
    if (distance < exact) return distance;
    const float ratio = (float)log((double)((float)distance / (float)exact)) /
                        (float)log((double)max_distance / (double)exact);
    const int32_t bucket = exact + (int32_t)(ratio * (float)(buckets - exact));
    return bucket < buckets ? bucket : buckets - 1;
}

void mt_expand_buckets(const mt_net *net, const float *bucket_bias, size_t heads, int causal, float *out)
{
    const int32_t max_distance = net->settings.max_distance, all = net->settings.n_buckets,
                  buckets = causal ? all : all / 2;
    for (size_t h = 0; h < heads; h++, out += 2 * max_distance + 1) {
        for (int32_t d = -max_distance; d <= max_distance; d++) {
            const int32_t first_bucket = d > 0 && !causal ? buckets : 0, distance = d > 0 && causal ? 0
                                                                                    : d < 0         ? -d
                                                                                                    : d;
            out[max_distance + d] =
                bucket_bias[(size_t)(first_bucket + distance_bucket(distance, buckets, max_distance)) * heads + h];
        }
    }
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

static rill_status load_attention(loader *l, const mt_stack *side, const char *layer, int cross, mt_attention *out)
{
    const tensor_names *n = l->names;
    const char *const memory[] = {n->keys, n->values};
    const size_t width = l->net->width, across = side->attention_width;
    char prefix[2 * NAME_BYTES];
    snprintf(prefix, sizeof prefix, "%s%s", layer, cross ? n->cross : n->self);
    TRY(load_linear(l, prefix, &n->query, 1, across, width, &out->query));
    TRY(load_linear(l, prefix, memory, 2, across, width, &out->key_value));
    TRY(load_linear(l, prefix, &n->out, 1, width, across, &out->out));
    return load_norm(l, layer, cross ? n->cross_norm : n->self_norm, 1.0f, &out->norm);
}

/* The matrix has W twice, negated and plain: update_ssru_cell() reads -W x and W x. W has no bias. */
static rill_status load_ssru(loader *l, const char *layer, mt_linear *out)
{
    const size_t width = l->net->width, size = width * width;
    float *forget, *fresh, *weights, *bias;
    TRY(rill_load_floats(l->w, rill_loader_name(l->w, "%sself_ssru.forget_proj.weight", layer), width, width, &forget));
    TRY(rill_load_floats(l->w, rill_loader_name(l->w, "%sself_ssru.input_proj.weight", layer), width, width, &fresh));
    TRY(rill_arena_alloc(&l->w->temp, &weights, 3 * size, sizeof *weights, layer));
    TRY(rill_arena_alloc(l->w->arena, &bias, 3 * width, sizeof *bias, layer));
    memset(bias, 0, 3 * width * sizeof *bias);
    const char *name = rill_loader_name(l->w, "%sself_ssru.forget_proj.bias", layer);
    TRY(rill_weights_read_into(l->w->tensors, name, width, 0, bias));
    memcpy(weights, forget, size * sizeof *weights);
    memcpy(weights + 2 * size, fresh, size * sizeof *weights);
    for (size_t i = 0; i < size; i++) weights[size + i] = -fresh[i];
    *out = (mt_linear){.weight = rill_load_matrix(l->w, 3 * width, width, weights, width),
                       .bias = rill_network_constant(l->w->network, bias, 1, 3 * width)};
    rill_arena_clear(&l->w->temp);
    return RILL_OK;
}

/* As in Marian, an inner width equal to the model's width means no second feed-forward layer. */
static rill_status load_average(loader *l, const char *layer, mt_recurrence *out)
{
    static const char *const inner = "fc1", *const outer = "fc2", *const own = "input_gate", *const mean = "mean_gate";
    const mt_settings *s = &l->net->settings;
    const size_t width = l->net->width, inside = s->average_ffn_width;
    char prefix[2 * NAME_BYTES];
    snprintf(prefix, sizeof prefix, "%sself_average.", layer);
    if (inside > 0) TRY(load_linear(l, prefix, &inner, 1, inside, width, &out->ffn_fc1));
    if (inside > 0 && inside != width) TRY(load_linear(l, prefix, &outer, 1, width, inside, &out->ffn_fc2));
    if (!s->average_gate) return RILL_OK;
    TRY(load_linear(l, prefix, &own, 1, width, width, &out->input_gate));
    return load_linear(l, prefix, &mean, 1, width, width, &out->mean_gate);
}

/* Load the recurrent block that replaces self-attention, and its norm. */
static rill_status load_recurrence(loader *l, const char *layer, mt_recurrence *out)
{
    if (l->net->settings.decoder_block == MT_SSRU)
        TRY(load_ssru(l, layer, &out->gates));
    else
        TRY(load_average(l, layer, out));
    return load_norm(l, layer, l->names->self_norm, 1.0f, &out->norm);
}

/* Load layer i's relative position bias, or use that of the first layer if all layers share it. */
static rill_status load_relative(loader *l, const mt_stack *side, const char *layer, size_t i, rill_constant *out)
{
    const int causal = side == &l->net->decoder;
    const size_t buckets = (size_t)l->net->settings.n_buckets,
                 distances = 2 * (size_t)l->net->settings.max_distance + 1;
    float *bucket_bias, *distance_bias;
    if (l->net->settings.position_kind != MT_POSITIONS_NONE) return RILL_OK;
    if (i > 0 && !mt_has_flag(l->net, MT_RELATIVE_PER_LAYER)) {
        *out = side->layer[0].self_attention.relative_bias;
        return RILL_OK;
    }
    const char *name = rill_loader_name(l->w, "%s%srelative_attention_bias.weight", layer, l->names->self);
    TRY(rill_load_floats(l->w, name, buckets, side->n_heads, &bucket_bias));
    TRY(rill_arena_alloc(l->w->arena, &distance_bias, side->n_heads * distances, sizeof *distance_bias, name));
    mt_expand_buckets(l->net, bucket_bias, side->n_heads, causal, distance_bias);
    *out = rill_network_constant(l->w->network, distance_bias, side->n_heads, distances);
    rill_arena_clear(&l->w->temp);
    return RILL_OK;
}

static rill_status load_feed_forward(loader *l, const mt_stack *side, const char *layer, mt_feed_forward *out)
{
    const tensor_names *n = l->names;
    const int decoder = side == &l->net->decoder, gated = l->net->settings.gated;
    const char *const inner[] = {gated ? n->gated : n->inner, n->gate};
    char prefix[2 * NAME_BYTES];
    snprintf(prefix, sizeof prefix, "%s%s", layer, n->feed[decoder]);
    TRY(load_linear(l, prefix, inner, gated ? 2 : 1, side->ffn_width, l->net->width, &out->fc1));
    TRY(load_linear(l, prefix, &n->outer, 1, l->net->width, side->ffn_width, &out->fc2));
    return load_norm(l, layer, n->feed_norm[decoder], 1.0f, &out->norm);
}

/* The decoder's final norm includes the factor of MT_SCALED_OUTPUT. */
static rill_status load_norms(loader *l, const char *name, mt_stack *side)
{
    const int scaled = side == &l->net->decoder && mt_has_flag(l->net, MT_SCALED_OUTPUT);
    const float scale = scaled ? 1.0f / sqrtf((float)l->net->width) : 1.0f;
    char full[NAME_BYTES];
    snprintf(full, sizeof full, l->names->final_norm, name);
    if (mt_has_flag(l->net, MT_FINAL_NORM)) TRY(load_norm(l, "", full, scale, &side->final_norm));
    if (!mt_has_flag(l->net, MT_EMBEDDING_NORM)) return RILL_OK;
    snprintf(full, sizeof full, l->names->embedding_norm, name);
    return load_norm(l, "", full, 1.0f, &side->embedding_norm);
}

static rill_status load_stack(loader *l, const char *name, mt_stack *side)
{
    TRY(rill_arena_alloc(l->w->arena, &side->layer, side->n_layers, sizeof *side->layer, "layers"));
    memset(side->layer, 0, side->n_layers * sizeof *side->layer);
    for (size_t i = 0; i < side->n_layers; i++) {
        mt_layer *layer = &side->layer[i];
        char prefix[NAME_BYTES];
        snprintf(prefix, sizeof prefix, l->names->layer, name, i);
        if (side == &l->net->decoder && l->net->settings.decoder_block != MT_SELF_ATTENTION)
            TRY(load_recurrence(l, prefix, &layer->recurrence));
        else
            TRY(load_attention(l, side, prefix, 0, &layer->self_attention));
        TRY(load_relative(l, side, prefix, i, &layer->self_attention.relative_bias));
        if (side == &l->net->decoder) TRY(load_attention(l, side, prefix, 1, &layer->cross_attention));
        TRY(load_feed_forward(l, side, prefix, &layer->feed_forward));
    }
    return load_norms(l, name, side);
}

/* --- position embeddings ------------------------------------------------------------------------------------------ */

/* Learned positions begin with unused rows: a text starts at position 2, the padding token's id plus 1. */
enum { LEARNED_OFFSET = 2 };

/* Load learned positions or stored sinusoids. mt_graph.c computes sinusoids that the file lacks. */
static rill_status load_positions(loader *l)
{
    mt_net *net = l->net;
    const mt_position_kind form = net->settings.position_kind;
    const size_t skipped = form == MT_POSITIONS_LEARNED ? LEARNED_OFFSET : 0,
                 count = (size_t)net->seq.max_input_length + skipped;
    const struct {
        const char *name;
        mt_stack *side;
    } stored[] = {{"model.encoder.embed_positions.weight", &net->encoder},
                  {"model.decoder.embed_positions.weight", &net->decoder}};
    net->encoder.position_embedding = net->decoder.position_embedding = RILL_NONE;
    if (form == MT_POSITIONS_FSMT || form == MT_POSITIONS_NONE) return RILL_OK;
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        float *table;
        if (skipped == 0 && rill_tensor_file_find(l->w->tensors, stored[i].name) == NULL) continue;
        TRY(rill_load_kept(l->w, stored[i].name, count, net->width, &table));
        stored[i].side->position_embedding = rill_network_constant(l->w->network, table + skipped * net->width,
                                                                   count - skipped, net->width);
    }
    return RILL_OK;
}

/* --- embeddings --------------------------------------------------------------------------------------------------- */

/* Returns the first name in the file, else `expected`, which the error about a missing tensor then names. NULL names
 * are skipped. */
static const char *first_present(const loader *l, const char *const *names, size_t count, const char *expected)
{
    for (size_t i = 0; i < count; i++)
        if (has_tensor(l, names[i])) return names[i];
    return expected;
}

/* Fail if copies of a tied table differ: versions of transformers use different copies. */
static rill_status check_tied(loader *l, const char *const *names, size_t count)
{
    const rill_file_tensor *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const rill_file_tensor *table = names[i] != NULL ? rill_tensor_file_find(l->w->tensors, names[i]) : NULL;
        int same;
        if (first == NULL) first = table;
        if (table == NULL || table == first) continue;
        TRY(rill_tensor_file_same_values(l->w->tensors, first, table, &same));
        if (same) continue;
        return rill_fail(
            l->w->ctx, RILL_ERR_FORMAT,
            "%s: tensors \"%s\" and \"%s\" differ, but tie_word_embeddings in config.json shares them: set it to "
            "false if the model has separate tables",
            l->w->path.data, first->name, table->name);
    }
    return RILL_OK;
}

/* Choose the tensors of embeddings and output layer. transformers 5 stores an unused `shared` for untied tables. Old FSMT files have no
 * output layer: it is the decoder's embedding. */
static rill_status resolve_tied(loader *l)
{
    const mt_settings *s = &l->net->settings;
    const tensor_names *n = l->names;
    const int fsmt = strcmp(s->family->model_type, "fsmt") == 0, one = s->shared_embedding && s->tied_output;
    const char *output = fsmt ? FSMT_OUTPUT : n->output, *shared = fsmt ? NULL : n->shared,
               *tied = fsmt || s->tied_output ? output : NULL, *source = s->shared_embedding ? n->source : NULL;
    const char *const all[] = {one ? shared : NULL, one ? n->source : NULL, n->target, output};
    const char *const sources[] = {n->source, shared, s->shared_embedding ? n->target : NULL,
                                   s->shared_embedding ? tied : NULL};
    const char *const targets[] = {n->target, tied, shared, source};
    const char *expected = s->shared_embedding && !fsmt ? n->shared : n->source;
    if (s->tied_output) TRY(check_tied(l, all, 4));
    l->source = first_present(l, one ? all : sources, 4, expected);
    l->target = one ? l->source : first_present(l, targets, 4, s->shared_embedding ? expected : n->target);
    l->output = !s->tied_output && (!fsmt || has_tensor(l, output)) ? output : l->target;
    return RILL_OK;
}

/* If the table *name has the same values as the table `same`, set *name to `same`: the table is then loaded once. */
static rill_status share_equal_table(const loader *l, const char *same, const char **name)
{
    const rill_file_tensor *a = rill_tensor_file_find(l->w->tensors, same),
                           *b = rill_tensor_file_find(l->w->tensors, *name);
    int equal = 0;
    if (a != NULL && b != NULL) TRY(rill_tensor_file_same_values(l->w->tensors, a, b, &equal));
    if (equal) *name = same;
    return RILL_OK;
}

/* MT_TIED_BY_FILE: stored tables with different values are separate, whatever config.json says. A table that the file lacks is `shared`, or
 * else the first stored table. */
static rill_status resolve_by_file(loader *l)
{
    const tensor_names *n = l->names;
    const char *const tables[] = {n->shared, n->source, n->target, n->output},
                      *shared = first_present(l, tables, 4, n->shared);
    l->target = has_tensor(l, n->target) ? n->target : shared;
    l->source = has_tensor(l, n->source) ? n->source : shared;
    l->output = has_tensor(l, n->output) || !l->net->settings.tied_output ? n->output : shared;
    TRY(share_equal_table(l, l->target, &l->source));
    return share_equal_table(l, l->target, &l->output);
}

/* Returns 1 if the decoder reads its embedding from the packed output layer. That saves a copy, and needs fp32
 * elements. */
static int shares_output_rows(const loader *l)
{
    const seq_model *m = l->net->seq.model;
    return l->output == l->target && m->shortlist == NULL && m->weights == RILL_WEIGHT_F32;
}

static rill_status load_embeddings(loader *l)
{
    mt_net *net = l->net;
    rill_arena *arena = shares_output_rows(l) ? &l->w->temp : l->w->arena;
    float *table;
    TRY(rill_weights_read(l->w->tensors, arena, l->target, (size_t)net->seq.target_vocab_size, net->width, &table));
    net->encoder.embedding_rows = net->decoder.embedding_rows = table;
    if (l->source == l->target) return RILL_OK;
    TRY(rill_load_kept(l->w, l->source, (size_t)net->seq.source_vocab_size, net->width, &table));
    net->encoder.embedding_rows = table;
    return RILL_OK;
}

/* --- output layer ------------------------------------------------------------------------------------------------- */

/* Load final_logits_bias, which is stored as [1, V] or [V]; zeros if it is absent. */
static rill_status load_output_bias(loader *l, float **out)
{
    static const char *const name = "final_logits_bias";
    size_t symbols = (size_t)l->net->seq.target_vocab_size;
    const rill_file_tensor *tensor = mt_has_flag(l->net, MT_LOGITS_BIAS) ? rill_tensor_file_find(l->w->tensors, name)
                                                                         : NULL;
    float *bias;
    TRY(rill_arena_alloc(l->w->arena, &bias, symbols, sizeof *bias, name));
    memset(bias, 0, symbols * sizeof *bias);
    if (tensor != NULL && tensor->rank == 1) TRY(rill_weights_read_into(l->w->tensors, name, symbols, 0, bias));
    if (tensor != NULL && tensor->rank != 1) TRY(rill_weights_read_into(l->w->tensors, name, 1, symbols, bias));
    /* With renormalize_logits transformers masks banned tokens before the softmax, but not ids without a token. */
    for (int32_t i = 0; l->net->settings.renormalize_logits && i < l->net->seq.target_vocab_size; i++)
        if (i == l->net->seq.pad || (i < l->net->seq.n_target_tokens && !(l->net->seq.legal[i / 64] >> (i % 64) & 1)))
            bias[i] = -INFINITY;
    *out = bias;
    return RILL_OK;
}

/* The encoder's embedding may be the decoder's. */
static void add_embeddings(const loader *l)
{
    mt_stack *encoder = &l->net->encoder, *decoder = &l->net->decoder;
    const size_t width = l->net->width;
    decoder->embedding = shares_output_rows(l) ? RILL_NONE
                                               : rill_network_constant(l->w->network, decoder->embedding_rows,
                                                                       (size_t)l->net->seq.target_vocab_size, width);
    encoder->embedding = decoder->embedding;
    if (encoder->embedding_rows != decoder->embedding_rows)
        encoder->embedding = rill_network_constant(l->w->network, encoder->embedding_rows,
                                                   (size_t)l->net->seq.source_vocab_size, width);
}

/* Load the output layer, after load_embeddings(): it may be tied to the decoder's embedding. */
static rill_status load_output(loader *l)
{
    mt_net *net = l->net;
    const float *rows = net->decoder.embedding_rows;
    float *bias;
    if (l->output != l->target) {
        float *own;
        TRY(rill_weights_read(l->w->tensors, net->seq.model->shortlist != NULL ? l->w->arena : &l->w->temp, l->output,
                              (size_t)net->seq.target_vocab_size, net->width, &own));
        rows = own;
    }
    TRY(load_output_bias(l, &bias));
    seq_set_output_layer(&net->seq, rows, net->width, bias);
    add_embeddings(l);
    rill_arena_clear(&l->w->temp);
    return RILL_OK;
}

/* --- entry point -------------------------------------------------------------------------------------------------- */

static rill_status open_tensors(loader *l)
{
    const int ct2 = l->net->seq.arch->configure == mt_ct2_configure;
    const rill_status status = rill_loader_open(l->w, ct2 ? "model.bin" : "model.safetensors");
    if (status == RILL_ERR_NOT_FOUND) TRY(rill_unsupported_format_fail(l->w->ctx, l->w->directory));
    return status == RILL_OK && ct2 ? mt_ct2_rename_tensors(l->net, l->w->tensors) : status;
}

/* Returns 1 for tensors that may stay unread: copies of tied tables, computed sinusoids, an unused `shared`, and
 * non-weights of fairseq. */
static int may_be_unread(const char *name)
{
    static const char *const known[] = {FSMT_OUTPUT,
                                        "model.encoder.embed_positions.weight",
                                        "model.encoder.embed_positions.weights",
                                        "model.encoder.embed_positions._float_tensor",
                                        "model.encoder.version",
                                        "model.decoder.embed_positions.weight",
                                        "model.decoder.embed_positions.weights",
                                        "model.decoder.embed_positions._float_tensor",
                                        "model.decoder.version",
                                        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
                                        "encoder/embeddings_0/weight",
                                        "decoder/embeddings/weight",
                                        "decoder/projection/weight"};
    for (size_t i = 0; i < sizeof tensor_names_by_layout / sizeof *tensor_names_by_layout; i++) {
        const tensor_names *n = &tensor_names_by_layout[i];
        const char *const tables[] = {n->shared, n->source, n->target, n->output};
        if (RILL_NAME_INDEX(name, tables) >= 0) return 1;
    }
    return RILL_NAME_INDEX(name, known) >= 0;
}

rill_status mt_load(seq_net *seq, rill_loader *weights)
{
    mt_net *net = (mt_net *)seq;
    loader l = {.w = weights, .net = net, .names = &tensor_names_by_layout[net->settings.family->layout]};
    TRY(open_tensors(&l));
    TRY((mt_has_flag(net, MT_TIED_BY_FILE) ? resolve_by_file : resolve_tied)(&l));
    TRY(load_embeddings(&l));
    TRY(load_output(&l));
    TRY(load_stack(&l, "encoder", &net->encoder));
    TRY(load_stack(&l, "decoder", &net->decoder));
    TRY(load_positions(&l));
    mt_make_tables(net);
    return rill_loader_check_all_read(weights, may_be_unread);
}
