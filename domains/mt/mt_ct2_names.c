/* Maps CTranslate2's tensor names to transformers'.
 *
 * CTranslate2 concatenates matrices with the same input, e.g. query, key and value. Each becomes a view of rows. Errors name the tensor
 * of model.bin. */
#include <stdio.h>
#include <string.h>

#include "mt.h"
#include "tensor_file.h"

enum { PREFIX_BYTES = 64, NAME_BYTES = 160 };

typedef struct tensor_renamer {
    const mt_net *net;
    rill_tensor_file *tensors;
} tensor_renamer;

/* --- parts of layers ---------------------------------------------------------------------------------------------- */

typedef enum name_condition { ALWAYS, GATED, DECODER } name_condition;

/* Names in model.bin and in transformers, without the layer's prefix. `part` is one of `parts` equal ranges of rows; parts 0: a norm. */
static const struct {
    const char *from, *to;
    int part, parts;
    name_condition condition;
} layer_names[] = {
    {"self_attention/linear_0", "self_attn.q_proj", 0, 3, ALWAYS},
    {"self_attention/linear_0", "self_attn.k_proj", 1, 3, ALWAYS},
    {"self_attention/linear_0", "self_attn.v_proj", 2, 3, ALWAYS},
    {"self_attention/linear_1", "self_attn.out_proj", 0, 1, ALWAYS},
    {"ffn/linear_0", "fc1", 0, 1, ALWAYS},
    {"ffn/linear_1", "fc2", 0, 1, ALWAYS},
    {"ffn/linear_0_noact", "fc_gate", 0, 1, GATED},
    {"self_attention/layer_norm", "self_attn_layer_norm", 0, 0, ALWAYS},
    {"ffn/layer_norm", "final_layer_norm", 0, 0, ALWAYS},
    {"attention/linear_0", "encoder_attn.q_proj", 0, 1, DECODER},
    {"attention/linear_1", "encoder_attn.k_proj", 0, 2, DECODER},
    {"attention/linear_1", "encoder_attn.v_proj", 1, 2, DECODER},
    {"attention/linear_2", "encoder_attn.out_proj", 0, 1, DECODER},
    {"attention/layer_norm", "encoder_attn_layer_norm", 0, 0, DECODER},
};

/* Add the tensor `to`: range number `part` of the `parts` equal ranges of rows of `from`, and then `zeros` rows of zeros. */
static rill_status rename_rows(const tensor_renamer *n, const char *from, const char *to, int part, int parts,
                               size_t zeros)
{
    const rill_file_tensor *tensor = rill_tensor_file_find(n->tensors, from);
    const size_t rows = tensor != NULL && tensor->rank > 0 ? (size_t)tensor->shape[0] / (size_t)parts : 0;
    if (tensor != NULL && (tensor->rank == 0 || rows * (size_t)parts != (size_t)tensor->shape[0]))
        return rill_fail(n->net->seq.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\": expected a multiple of %d rows",
                         n->tensors->name, from, parts);
    return tensor_add_view(n->tensors, to, from, (size_t)part * rows, rows, zeros);
}

/* Rename the weights and, if there are any, biases of a linear layer or norm; `from` and `to` are prefixes. */
static rill_status rename_block(const tensor_renamer *n, const char *from, const char *old_name, const char *to,
                                const char *new_name, int part, int parts)
{
    const int norm = parts == 0;
    char old[NAME_BYTES], new[NAME_BYTES];
    snprintf(old, sizeof old, "%s%s/%s", from, old_name, norm ? "gamma" : "weight");
    snprintf(new, sizeof new, "%s%s.weight", to, new_name);
    TRY(rename_rows(n, old, new, part, norm ? 1 : parts, 0));
    snprintf(old, sizeof old, "%s%s/%s", from, old_name, norm ? "beta" : "bias");
    snprintf(new, sizeof new, "%s%s.bias", to, new_name);
    if (norm ? mt_has_flag(n->net, MT_RMS_NORM) : rill_tensor_file_find(n->tensors, old) == NULL) return RILL_OK;
    return rename_rows(n, old, new, part, norm ? 1 : parts, 0);
}

static rill_status rename_layer(const tensor_renamer *n, const char *side, size_t i, int decoder)
{
    char from[PREFIX_BYTES], to[PREFIX_BYTES], old[NAME_BYTES], new[NAME_BYTES];
    snprintf(from, sizeof from, "%s/layer_%zu/", side, i);
    snprintf(to, sizeof to, "model.%s.layers.%zu.", side, i);
    for (size_t k = 0; k < sizeof layer_names / sizeof *layer_names; k++) {
        const name_condition condition = layer_names[k].condition;
        if (condition == ALWAYS || (condition == GATED ? n->net->settings.gated : decoder))
            TRY(rename_block(n, from, layer_names[k].from, to, layer_names[k].to, layer_names[k].part,
                             layer_names[k].parts));
    }
    if (n->net->settings.position_kind != MT_POSITIONS_NONE) return RILL_OK;
    snprintf(old, sizeof old, "%sself_attention/relative_attention_bias", from);
    snprintf(new, sizeof new, "%sself_attn.relative_attention_bias.weight", to);
    return rename_rows(n, old, new, 0, 1, 0);
}

/* --- embedding tables --------------------------------------------------------------------------------------------- */

const char *mt_ct2_source_table(const rill_tensor_file *tensors)
{
    const char *old = "embeddings/weight", *new = "embeddings_0/weight";
    return rill_tensor_file_find(tensors, "encoder/embeddings/weight") != NULL ? old : new;
}

/* Append a zero row for the start token if the net has one token more than the file. */
static rill_status rename_table(const tensor_renamer *n, const char *from, const char *to, int32_t symbols)
{
    const rill_file_tensor *tensor = rill_tensor_file_find(n->tensors, from);
    const int64_t rows = tensor != NULL && tensor->rank > 0 ? tensor->shape[0] : symbols;
    return rename_rows(n, from, to, 0, 1, rows == symbols - 1 ? 1 : 0);
}

static rill_status rename_tables(const tensor_renamer *n)
{
    static const char bias[] = "decoder/projection/bias";
    const seq_net *s = &n->net->seq;
    char source[NAME_BYTES];
    snprintf(source, sizeof source, "encoder/%s", mt_ct2_source_table(n->tensors));
    TRY(rename_table(n, source, "model.encoder.embed_tokens.weight", s->source_vocab_size));
    TRY(rename_table(n, "decoder/embeddings/weight", "model.decoder.embed_tokens.weight", s->target_vocab_size));
    TRY(rename_table(n, "decoder/projection/weight", "lm_head.weight", s->target_vocab_size));
    if (rill_tensor_file_find(n->tensors, bias) == NULL) return RILL_OK;
    return rename_table(n, bias, "final_logits_bias", s->target_vocab_size);
}

/* --- entry point -------------------------------------------------------------------------------------------------- */

static rill_status rename_stack(const tensor_renamer *n, const char *side, size_t layers, int decoder)
{
    char from[PREFIX_BYTES], to[PREFIX_BYTES], old[NAME_BYTES], new[NAME_BYTES];
    snprintf(from, sizeof from, "%s/", side);
    snprintf(to, sizeof to, "model.%s.", side);
    if (mt_has_flag(n->net, MT_FINAL_NORM)) TRY(rename_block(n, from, "layer_norm", to, "layer_norm", 0, 0));
    if (mt_has_flag(n->net, MT_EMBEDDING_NORM))
        TRY(rename_block(n, from, "layernorm_embedding", to, "layernorm_embedding", 0, 0));
    if (n->net->settings.position_kind == MT_POSITIONS_HF) {
        snprintf(old, sizeof old, "%sposition_encodings/encodings", from);
        snprintf(new, sizeof new, "%sembed_positions.weight", to);
        TRY(tensor_add_view(n->tensors, new, old, 0, (size_t)n->net->seq.max_input_length, 0));
    }
    for (size_t i = 0; i < layers; i++) TRY(rename_layer(n, side, i, decoder));
    return RILL_OK;
}

rill_status mt_ct2_rename_tensors(const mt_net *net, rill_tensor_file *tensors)
{
    const tensor_renamer n = {net, tensors};
    /* mt_ct2_configure() has read all scalars, but from its own copy of the file, so they are marked here */
    static const char *const old_tokens[] = {"unk_token", "bos_token", "eos_token"};
    for (size_t i = 0; i < tensors->count; i++) {
        rill_file_tensor *tensor = &tensors->entries[i].tensor;
        tensor->read |= tensor->rank == 0 ||
                        (net->ct2_config != NULL && RILL_NAME_INDEX(tensor->name, old_tokens) >= 0);
    }
    TRY(rename_stack(&n, "encoder", net->encoder.n_layers, 0));
    TRY(rename_stack(&n, "decoder", net->decoder.n_layers, 1));
    return rename_tables(&n);
}
