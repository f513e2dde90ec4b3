/* Reads config.json of a translation model, with transformers' keys and defaults.
 *
 * A key that changes the arithmetic is supported or an error. Keys of dropout, training and sampling are ignored. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "mt.h"

/* A family's row has the default of MT_SCALED_OUTPUT. read_output_scale() then reads config.json. */
#define T5_FLAGS (MT_PRE_NORM | MT_FINAL_NORM | MT_RMS_NORM | MT_NO_BIAS | MT_TIED_BY_FILE)

static const mt_family mt_families[] = {
    {"marian", "Marian", MT_LAYOUT_BART, MT_LOGITS_BIAS | MT_SEPARATE_VOCABS, MT_POSITIONS_HF, "gelu", 0, -1, -1, -1,
     0},
    {"fsmt", "FSMT", MT_LAYOUT_BART, MT_SEPARATE_VOCABS, MT_POSITIONS_FSMT, "relu", 1, 1, 2, 2, 200},
    {"m2m_100", "M2M100", MT_LAYOUT_BART, MT_PRE_NORM | MT_FINAL_NORM | MT_TIED_BY_FILE, MT_POSITIONS_FSMT, "relu", 1,
     1, 2, 2, 0},
    {"mbart", "mBART", MT_LAYOUT_BART,
     MT_PRE_NORM | MT_FINAL_NORM | MT_EMBEDDING_NORM | MT_LOGITS_BIAS | MT_TIED_BY_FILE, MT_POSITIONS_LEARNED, "gelu",
     0, 1, 2, -1, 0},
    {"bart", "BART", MT_LAYOUT_BART, MT_EMBEDDING_NORM | MT_LOGITS_BIAS | MT_TIED_BY_FILE, MT_POSITIONS_LEARNED, "gelu",
     0, 1, 2, 2, 0},
    {"pegasus", "Pegasus", MT_LAYOUT_BART, MT_PRE_NORM | MT_FINAL_NORM | MT_LOGITS_BIAS | MT_TIED_BY_FILE,
     MT_POSITIONS_HF, "gelu", 0, 0, 1, 0, 0},
    {"t5", "T5", MT_LAYOUT_T5, T5_FLAGS | MT_SCALED_OUTPUT, MT_POSITIONS_NONE, "relu", 0, 0, 1, 0, 0},
    {"mt5", "mT5", MT_LAYOUT_T5, T5_FLAGS, MT_POSITIONS_NONE, "gated-gelu", 0, 0, 1, 0, 0},
    {"umt5", "UMT5", MT_LAYOUT_T5, T5_FLAGS | MT_RELATIVE_PER_LAYER | MT_SCALED_OUTPUT, MT_POSITIONS_NONE, "gated-gelu",
     0, 0, 1, 0, 0},
    {0},
};

/* Maximum number of positions, as a multiple of the configured number. transformers limits neither computed nor relative positions, but
 * encoding takes time quadratic in the input length. */
enum { POSITIONS_FACTOR = 16, T5_POSITIONS = 512 };

static const char DECODER_BLOCK_KEY[] = "decoder_self_attention";

/* --- activations -------------------------------------------------------------------------------------------------- */

static rill_status read_activation(const rill_config *config, const char *key, const char *name, rill_activation *out)
{
    static const struct {
        const char *name;
        rill_activation value;
    } known[] = {{"swish", RILL_SWISH},
                 {"silu", RILL_SWISH},
                 {"relu", RILL_RELU},
                 {"gelu", RILL_GELU},
                 {"gelu_new", RILL_GELU_TANH},
                 {"gelu_fast", RILL_GELU_TANH},
                 {"gelu_pytorch_tanh", RILL_GELU_TANH},
                 {"quick_gelu", RILL_GELU_SIGMOID}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        *out = known[i].value;
        return RILL_OK;
    }
    return rill_config_fail(
        config, key,
        "expected swish, silu, relu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh or quick_gelu, found \"%.40s\"",
        name);
}

/* --- decoder blocks ----------------------------------------------------------------------------------------------- */

rill_status mt_read_decoder_block(const rill_config *config, mt_decoder_block *out)
{
    static const char *const names[] = {
        [MT_SELF_ATTENTION] = "attention", [MT_SSRU] = "ssru", [MT_AVERAGE_ATTENTION] = "average"};
    const char *name;
    TRY(rill_config_string_or(config, DECODER_BLOCK_KEY, names[MT_SELF_ATTENTION], &name));
    const int i = RILL_NAME_INDEX(name, names);
    *out = i >= 0 ? (mt_decoder_block)i : MT_SELF_ATTENTION;
    if (i >= 0) return RILL_OK;
    return rill_config_fail(config, DECODER_BLOCK_KEY, "expected attention, ssru or average, found \"%.40s\"", name);
}

/* --- BART's keys -------------------------------------------------------------------------------------------------- */

/* Read config.json's flags. Only Marian models may change the defaults of their model_type. */
static rill_status read_flags(mt_net *net, const rill_config *config)
{
    static const struct {
        const char *key;
        mt_flag choice;
    } keys[] = {{"normalize_before", MT_PRE_NORM},
                {"add_final_layer_norm", MT_FINAL_NORM},
                {"normalize_embedding", MT_EMBEDDING_NORM}};
    mt_settings *s = &net->settings;
    const int is_fixed = s->family != mt_families, is_learned = s->position_kind == MT_POSITIONS_LEARNED;
    int value;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const int by_family = mt_has_flag(net, keys[i].choice);
        TRY(rill_config_bool_or(config, keys[i].key, by_family, &value));
        if (value == by_family) continue;
        if (is_fixed)
            return rill_config_fail(config, keys[i].key, "a model of type %s has %s", s->family->model_type,
                                    by_family ? "true" : "false");
        s->flags ^= (unsigned)keys[i].choice;
    }
    TRY(rill_config_bool_or(config, "static_position_embeddings", !is_learned, &value));
    if (value == !is_learned) return RILL_OK;
    return rill_config_fail(config, "static_position_embeddings", "only %s is supported",
                            is_learned ? "false" : "true");
}

/* Read the keys of average attention: inner width and activation of its feed-forward block, and whether it has gates. */
static rill_status read_average_attention(mt_net *net, const rill_config *config)
{
    static const char key[] = "average_activation";
    mt_settings *s = &net->settings;
    const char *activation;
    TRY(rill_config_size_or(config, "average_ffn_dim", 0, WIDTH_LIMIT, 0, &s->average_ffn_width));
    TRY(rill_config_string_or(config, key, "swish", &activation));
    TRY(rill_config_bool_or(config, "average_gate", 1, &s->average_gate));
    return read_activation(config, key, activation, &s->average_activation);
}

/* Read what replaces self-attention in a Marian decoder. */
static rill_status read_decoder_block(mt_net *net, const rill_config *config)
{
    mt_settings *s = &net->settings;
    TRY(mt_read_decoder_block(config, &s->decoder_block));
    if (s->decoder_block != MT_SELF_ATTENTION && s->family != mt_families)
        return rill_config_fail(config, DECODER_BLOCK_KEY, "a model of type %s has attention", s->family->model_type);
    return s->decoder_block == MT_AVERAGE_ATTENTION ? read_average_attention(net, config) : RILL_OK;
}

static rill_status read_stack(mt_net *net, const rill_config *config, const char *name, mt_stack *side)
{
    char key[64];
    snprintf(key, sizeof key, "%s_layers", name);
    TRY(rill_config_size(config, key, 1, LAYER_LIMIT, &side->n_layers));
    snprintf(key, sizeof key, "%s_ffn_dim", name);
    TRY(rill_config_size(config, key, 1, WIDTH_LIMIT, &side->ffn_width));
    snprintf(key, sizeof key, "%s_attention_heads", name);
    TRY(rill_config_size(config, key, 1, WIDTH_LIMIT, &side->n_heads));
    side->attention_width = net->width;
    if (net->width % side->n_heads == 0) return RILL_OK;
    return rill_config_fail(config, key, "expected a divisor of d_model = %zu, found %zu", net->width, side->n_heads);
}

/* Read vocabulary sizes, and which of source embedding, target embedding and output layer are tied. */
static rill_status read_vocabularies(mt_net *net, const rill_config *config)
{
    mt_settings *s = &net->settings;
    const int fsmt = strcmp(s->family->model_type, "fsmt") == 0;
    const char *source = fsmt ? "src_vocab_size" : "vocab_size";
    const char *target = fsmt ? "tgt_vocab_size" : "decoder_vocab_size";
    const char *sharing = fsmt ? "tie_word_embeddings" : "share_encoder_decoder_embeddings";
    int32_t *words = &net->seq.source_vocab_size, *actions = &net->seq.target_vocab_size;
    TRY(rill_config_int(config, source, 2, WORD_LIMIT, words));
    *actions = *words;
    s->shared_embedding = 1;
    if (mt_has_flag(net, MT_SEPARATE_VOCABS)) {
        TRY(rill_config_int_or(config, target, 2, WORD_LIMIT, *words, actions));
        TRY(rill_config_bool_or(config, sharing, !fsmt, &s->shared_embedding));
    }
    s->tied_output = s->shared_embedding;
    if (!fsmt) TRY(rill_config_bool_or(config, "tie_word_embeddings", 1, &s->tied_output));
    if (!s->shared_embedding || *words == *actions) return RILL_OK;
    return rill_config_fail(config, target, "expected %s = %d, since %s is not false; found %d", source, *words,
                            sharing, *actions);
}

/* rill.positions selects sinusoids as in transformers ("hf") or as in marian-decoder ("marian"). */
static rill_status read_positions(mt_net *net, const rill_config *config)
{
    const char *form;
    TRY(rill_config_int(config, "max_position_embeddings", 2, LENGTH_LIMIT, &net->seq.config_positions));
    net->seq.max_input_length = net->seq.config_positions *
                                (net->settings.position_kind == MT_POSITIONS_FSMT ? POSITIONS_FACTOR : 1);
    TRY(rill_config_expect_object(config, "rill"));
    TRY(rill_config_string_or(config, "rill.positions", "hf", &form));
    if (strcmp(form, "hf") != 0 && strcmp(form, "marian") != 0)
        return rill_config_fail(config, "rill.positions", "expected hf or marian, found \"%.40s\"", form);
    if (form[0] == 'h' || net->settings.position_kind == MT_POSITIONS_MARIAN) return RILL_OK;
    if (net->settings.position_kind != MT_POSITIONS_HF)
        return rill_config_fail(config, "rill.positions", "a model of type %s has only its own positions",
                                net->settings.family->model_type);
    net->settings.position_kind = MT_POSITIONS_MARIAN;
    return RILL_OK;
}

static rill_status read_bart(mt_net *net, const rill_config *config)
{
    mt_settings *s = &net->settings;
    const char *activation;
    int scaled;
    TRY(read_flags(net, config));
    TRY(rill_config_string_or(config, "activation_function", s->family->activation, &activation));
    TRY(read_activation(config, "activation_function", activation, &s->activation));
    TRY(rill_config_size(config, "d_model", 2, WIDTH_LIMIT, &net->width));
    TRY(read_stack(net, config, "encoder", &net->encoder));
    TRY(read_stack(net, config, "decoder", &net->decoder));
    TRY(read_vocabularies(net, config));
    TRY(read_positions(net, config));
    TRY(rill_config_bool_or(config, "scale_embedding", s->family->scale_embedding, &scaled));
    s->embedding_scale = scaled ? sqrtf((float)net->width) : 1.0f;
    s->eps = 1e-5f; /* default of torch.nn.LayerNorm, which transformers uses */
    return RILL_OK;
}

/* --- T5's keys ---------------------------------------------------------------------------------------------------- */

/* In transformers "gated-gelu" is GELU's tanh approximation, and "gelu" the exact GELU. As there, dense_act_fn and
 * is_gated_act take precedence. */
static rill_status read_feed_forward(mt_net *net, const rill_config *config)
{
    static const char key[] = "feed_forward_proj", own_key[] = "dense_act_fn", gated[] = "gated-";
    const char *name, *own;
    TRY(rill_config_string_or(config, key, net->settings.family->activation, &name));
    if (strcmp(name, "gated-gelu") == 0) name = "gated-gelu_new";
    const int is_gated = strncmp(name, gated, sizeof gated - 1) == 0;
    TRY(rill_config_bool_or(config, "is_gated_act", is_gated, &net->settings.gated));
    TRY(rill_config_string_or(config, own_key, NULL, &own));
    if (own != NULL) return read_activation(config, own_key, own, &net->settings.activation);
    return read_activation(config, key, name + (is_gated ? sizeof gated - 1 : 0), &net->settings.activation);
}

/* Read the scale of the output layer's input: D^-0.5 for T5 and UMT5, unless tie_word_embeddings is false (T5 1.1). mT5 has none. */
static rill_status read_output_scale(mt_net *net, const rill_config *config)
{
    int tied, scaled;
    TRY(rill_config_bool_or(config, "tie_word_embeddings", 1, &tied));
    TRY(rill_config_bool_or(config, "scale_decoder_outputs", tied, &scaled));
    if (!scaled) net->settings.flags &= ~(unsigned)MT_SCALED_OUTPUT;
    return RILL_OK;
}

static rill_status read_distance_buckets(mt_net *net, const rill_config *config)
{
    int32_t *buckets = &net->settings.n_buckets, *reach = &net->settings.max_distance;
    TRY(rill_config_int_or(config, "relative_attention_num_buckets", 4, LENGTH_LIMIT, 32, buckets));
    TRY(rill_config_int_or(config, "relative_attention_max_distance", 1, LENGTH_LIMIT, 128, reach));
    if (*reach > *buckets / 2) return RILL_OK;
    return rill_config_fail(config, "relative_attention_max_distance",
                            "expected more than half of the %d buckets, found %d", *buckets, *reach);
}

static rill_status read_t5(mt_net *net, const rill_config *config)
{
    mt_stack *e = &net->encoder, *d = &net->decoder;
    size_t head;
    double eps;
    TRY(read_feed_forward(net, config));
    TRY(read_output_scale(net, config));
    TRY(read_distance_buckets(net, config));
    TRY(rill_config_size(config, "d_model", 2, WIDTH_LIMIT, &net->width));
    TRY(rill_config_size(config, "d_ff", 1, WIDTH_LIMIT, &e->ffn_width));
    TRY(rill_config_size(config, "num_heads", 1, WIDTH_LIMIT, &e->n_heads));
    TRY(rill_config_size_or(config, "d_kv", 1, WIDTH_LIMIT, 64, &head));
    TRY(rill_config_size(config, "num_layers", 1, LAYER_LIMIT, &e->n_layers));
    TRY(rill_config_size_or(config, "num_decoder_layers", 1, LAYER_LIMIT, e->n_layers, &d->n_layers));
    TRY(rill_config_int(config, "vocab_size", 1, WORD_LIMIT, &net->seq.source_vocab_size));
    TRY(rill_config_int_or(config, "n_positions", 1, LENGTH_LIMIT, T5_POSITIONS, &net->seq.config_positions));
    TRY(rill_config_number_or(config, "layer_norm_epsilon", 0.0, 1.0, 1e-6, &eps));
    e->attention_width = d->attention_width = e->n_heads * head;
    d->n_heads = e->n_heads;
    d->ffn_width = e->ffn_width;
    net->seq.target_vocab_size = net->seq.source_vocab_size;
    net->seq.max_input_length = net->seq.config_positions < LENGTH_LIMIT / POSITIONS_FACTOR
                                    ? POSITIONS_FACTOR * net->seq.config_positions
                                    : LENGTH_LIMIT;
    net->settings.shared_embedding = net->settings.tied_output = 1;
    net->settings.embedding_scale = net->settings.attention_scale = 1.0f;
    net->settings.eps = (float)eps;
    return RILL_OK;
}

/* --- the model's family -------------------------------------------------------------------------------------------- */

static rill_status find_family(mt_net *net, const rill_config *config)
{
    const char *type;
    TRY(rill_config_string_or(config, "model_type", "marian", &type));
    for (const mt_family *f = mt_families; f->model_type != NULL; f++)
        if (strcmp(f->model_type, type) == 0) net->settings.family = f;
    if (net->settings.family != NULL) return RILL_OK;
    return rill_config_fail(
        config, "model_type",
        "expected marian, fsmt, m2m_100, mbart, bart, pegasus, t5, mt5, umt5 or rnnsearch, found \"%.40s\"", type);
}

static rill_status read_family(mt_net *net, const rill_config *config)
{
    mt_settings *s = &net->settings;
    TRY(find_family(net, config));
    s->flags = s->family->flags;
    s->position_kind = s->family->position_kind;
    TRY(read_decoder_block(net, config));
    return s->family->layout == MT_LAYOUT_T5 ? read_t5(net, config) : read_bart(net, config);
}

static const char MAIN_FILE[] = "config.json", GENERATION_FILE[] = "generation_config.json";

/* --- special tokens ----------------------------------------------------------------------------------------------- */

/* Padding and eos have no default: all known models have both keys. */
static rill_status require_special_tokens(mt_net *net, const char *directory)
{
    const seq_net *s = &net->seq;
    const char *missing = s->pad < 0 ? "pad_token_id" : s->eos < 0 ? "eos_token_id" : NULL;
    if (missing != NULL)
        return rill_fail(net->seq.ctx, RILL_ERR_FORMAT, "%s/%s: %s is missing: expected an integer", directory,
                         MAIN_FILE, missing);
    if (s->pad == s->eos)
        return rill_fail(net->seq.ctx, RILL_ERR_FORMAT,
                         "%s/%s: eos_token_id and pad_token_id are both %d, so outputs could not end", directory,
                         strcmp(net->settings.pad_file, MAIN_FILE) != 0 ? net->settings.pad_file : s->eos_file, s->pad);
    return RILL_OK;
}

/* --- entry point -------------------------------------------------------------------------------------------------- */

/* Set the family's token ids and maximum length, which configuration files may omit. */
static rill_status set_defaults(mt_net *net)
{
    const mt_family *family = net->settings.family;
    net->seq.pad = family->pad;
    net->seq.eos = family->eos;
    net->seq.decoder_start = family->decoder_start;
    net->settings.pad_file = net->seq.eos_file = MAIN_FILE;
    net->seq.max_length = (family->max_length > 0 ? family->max_length : net->seq.config_positions) - 1;
    return seq_alloc_legal(&net->seq);
}

void mt_describe(mt_net *net)
{
    static const char *const names[] = {[RILL_SWISH] = "swish",
                                        [RILL_RELU] = "relu",
                                        [RILL_GELU] = "gelu",
                                        [RILL_GELU_TANH] = "gelu by tanh",
                                        [RILL_GELU_SIGMOID] = "gelu by sigmoid"};
    const mt_stack *e = &net->encoder, *d = &net->decoder;
    const mt_settings *set = &net->settings;
    static const char *const first[] = {
        [MT_SELF_ATTENTION] = "", [MT_SSRU] = ", SSRU", [MT_AVERAGE_ATTENTION] = ", average attention"};
    char symbols[64], positions[32] = "distances";
    if (set->shared_embedding)
        snprintf(symbols, sizeof symbols, "%d symbols for both sides", net->seq.source_vocab_size);
    else
        snprintf(symbols, sizeof symbols, "%d source and %d target symbols", net->seq.source_vocab_size,
                 net->seq.target_vocab_size);
    if (set->position_kind != MT_POSITIONS_NONE)
        snprintf(positions, sizeof positions, "%d positions", net->seq.config_positions);
    snprintf(net->seq.description, sizeof net->seq.description,
             "%s transformer: %zu + %zu layers of %zu, %zu + %zu heads, %zu + %zu inside (%s%s)%s, %s, %s",
             set->family->title, e->n_layers, d->n_layers, net->width, e->n_heads, d->n_heads, e->ffn_width,
             d->ffn_width, set->gated ? "gated " : "", names[set->activation], first[set->decoder_block], symbols,
             positions);
}

/* The default is all heads of the last layer. Marian's guided alignment trains the first head of a layer. */
static rill_status read_alignment_heads(mt_net *net, const rill_config *config)
{
    static const char *const known_keys[] = {"domain",          "example",         "options",
                                             "alignment_layer", "alignment_heads", "positions"};
    const int32_t layers = (int32_t)net->decoder.n_layers, heads = (int32_t)net->decoder.n_heads;
    const int has_positions = net->settings.family->layout !=
                              MT_LAYOUT_T5; /* T5 has no position embedding, only relative position bias */
    rill_config_warn_unknown(config, "rill", known_keys, sizeof known_keys / sizeof *known_keys - !has_positions);
    TRY(rill_config_size_or(config, "rill.alignment_layer", 0, layers - 1, (size_t)layers - 1,
                            &net->settings.alignment_layer));
    return rill_config_size_or(config, "rill.alignment_heads", 1, heads, (size_t)heads,
                               &net->settings.n_alignment_heads);
}

static rill_status read_main_config(void *user, const rill_config *config)
{
    mt_net *net = user;
    TRY(read_family(net, config));
    TRY(read_alignment_heads(net, config));
    TRY(set_defaults(net));
    TRY(mt_read_generation(net, config, MAIN_FILE));
    /* FSMT counts positions from pad + 1. A pad_token_id in generation_config.json, read later, does not shift them. */
    net->settings.first_position = net->settings.position_kind == MT_POSITIONS_FSMT ? net->seq.pad + 1 : 0;
    mt_describe(net);
    return RILL_OK;
}

static rill_status read_generation_config(void *user, const rill_config *config)
{
    return mt_read_generation(user, config, GENERATION_FILE);
}

/* Marian and FSMT directories have fixed file names. text_families.c names the files of other families. */
static rill_status name_tokenizer_files(const mt_net *net, const char *directory, rill_tokenizer_files *text)
{
    if (rill_family_exists(net->settings.family->model_type))
        return rill_family_files(net->seq.ctx, net->settings.family->model_type, directory, text);
    const int fsmt = strcmp(net->settings.family->model_type, "fsmt") == 0;
    text->kind = fsmt ? RILL_TOKENIZER_MOSES_BPE : RILL_TOKENIZER_SENTENCEPIECE;
    text->source = fsmt ? "vocab-src.json" : "vocab.json";
    text->target = fsmt ? "vocab-tgt.json" : "target_vocab.json";
    text->target_optional = !fsmt;
    text->has_added_tokens = 1;
    text->target_vocab_key = "decoder_vocab_size";
    return RILL_OK;
}

rill_status mt_configure(seq_net *seq, const char *directory, rill_tokenizer_files *text)
{
    mt_net *net = (mt_net *)seq;
    int found;
    TRY(rill_config_read(net->seq.ctx, directory, MAIN_FILE, read_main_config, net, NULL));
    TRY(rill_config_read(net->seq.ctx, directory, GENERATION_FILE, read_generation_config, net, &found));
    TRY(require_special_tokens(net, directory));
    net->seq.max_positions = net->seq.max_length > net->seq.config_positions ? net->seq.max_length
                                                                             : net->seq.config_positions;
    if (net->settings.position_kind == MT_POSITIONS_NONE) net->seq.max_positions = net->seq.max_input_length;
    if (net->seq.decoder_start < 0) net->seq.decoder_start = net->seq.pad;
    return name_tokenizer_files(net, directory, text);
}
