/* What a translation model's configuration files say.
 *
 * Source of keys and defaults: transformers' configuration_marian.py with its converter from Marian, and
 * configuration_fsmt.py. What changes the
 * arithmetic is either done or refused by name; all else (dropout, training, sampling) is not looked at.
 * generation_config.json, where there is one, has the last word on the symbols and the length, as in transformers.
 *
 * Divisions: sizes · what is refused · symbols · the whole. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "model.h"

static const char MAIN_FILE[] = "config.json", GENERATION_FILE[] = "generation_config.json";

/* FSMT's positions are sines, which transformers computes for inputs of any length, whatever the file says. Time goes with the square
 * of the length, so that one line could take hours: so many times the file's number are enough. */
enum { FSMT_BEYOND = 16 };

enum { WIDTH_LIMIT = 1 << 16, LAYER_LIMIT = 1 << 10, WORD_LIMIT = 1 << 22, LENGTH_LIMIT = 1 << 20 };

/* --- sizes -------------------------------------------------------------------------------------------------------- */

static rill_status read_size(const rill_config *config, const char *side, const char *what, int64_t limit, size_t *out)
{
    char key[64];
    int64_t value;
    snprintf(key, sizeof key, "%s_%s", side, what);
    TRY(rill_config_int(config, key, 1, limit, &value));
    *out = (size_t)value;
    return RILL_OK;
}

static rill_status read_side(mt_net *net, const rill_config *config, const char *name, mt_side *side)
{
    TRY(read_size(config, name, "layers", LAYER_LIMIT, &side->layers));
    TRY(read_size(config, name, "attention_heads", WIDTH_LIMIT, &side->heads));
    TRY(read_size(config, name, "ffn_dim", WIDTH_LIMIT, &side->inner));
    if (net->width % side->heads != 0)
        return rill_fail(net->seq.ctx, RILL_ERR_FORMAT,
                         "%s: %s_attention_heads: expected a divisor of d_model = %zu, found %zu",
                         rill_config_name(config), name, net->width, side->heads);
    return RILL_OK;
}

/* Vocabularies, and which of the three embedding tables are one: FSMT has one key for all. */
static rill_status read_vocabularies(mt_net *net, const rill_config *config)
{
    const int fsmt = net->settings.kind == MT_FSMT;
    const char *source = fsmt ? "src_vocab_size" : "vocab_size";
    const char *target = fsmt ? "tgt_vocab_size" : "decoder_vocab_size";
    const char *sharing = fsmt ? "tie_word_embeddings" : "share_encoder_decoder_embeddings";
    int64_t words, actions;
    TRY(rill_config_int(config, source, 2, WORD_LIMIT, &words));
    TRY(rill_config_int_or(config, target, 2, WORD_LIMIT, words, &actions));
    TRY(rill_config_bool_or(config, sharing, !fsmt, &net->settings.shared));
    net->settings.tied = net->settings.shared;
    if (!fsmt) TRY(rill_config_bool_or(config, "tie_word_embeddings", 1, &net->settings.tied));
    if (net->settings.shared && words != actions)
        return rill_fail(net->seq.ctx, RILL_ERR_FORMAT, "%s: %s: expected %s = %d, since %s is not false; found %d",
                         rill_config_name(config), target, source, (int)words, sharing, (int)actions);
    net->seq.words = (int32_t)words;
    net->seq.actions = (int32_t)actions;
    return RILL_OK;
}

static rill_status read_sizes(mt_net *net, const rill_config *config)
{
    int64_t width, positions;
    int scaled;
    TRY(rill_config_int(config, "d_model", 2, WIDTH_LIMIT, &width));
    net->width = (size_t)width;
    TRY(read_side(net, config, "encoder", &net->encoder));
    TRY(read_side(net, config, "decoder", &net->decoder));
    TRY(read_vocabularies(net, config));
    TRY(rill_config_int(config, "max_position_embeddings", 2, LENGTH_LIMIT, &positions));
    TRY(rill_config_bool_or(config, "scale_embedding", net->settings.kind == MT_FSMT, &scaled));
    net->seq.usual = (int32_t)positions;
    net->seq.positions = (int32_t)(net->settings.kind == MT_FSMT ? FSMT_BEYOND * positions : positions);
    net->settings.scale = scaled ? sqrtf((float)width) : 1.0f;
    return RILL_OK;
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

/* Keys that would change the arithmetic, and the only value that is known here. */
static rill_status refuse_variants(mt_net *net, const rill_config *config)
{
    static const struct {
        const char *key;
        int expected;
    } fixed[] = {{"normalize_before", 0},
                 {"normalize_embedding", 0},
                 {"add_final_layer_norm", 0},
                 {"static_position_embeddings", 1}};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        int value;
        TRY(rill_config_bool_or(config, fixed[i].key, fixed[i].expected, &value));
        if (value != fixed[i].expected)
            return rill_fail(net->seq.ctx, RILL_ERR_FORMAT, "%s: %s: only %s is supported", rill_config_name(config),
                             fixed[i].key, fixed[i].expected ? "true" : "false");
    }
    return RILL_OK;
}

static rill_status read_activation(mt_net *net, const rill_config *config)
{
    static const struct {
        const char *name;
        rill_activation value;
    } known[] = {{"swish", RILL_SWISH}, {"silu", RILL_SWISH}, {"relu", RILL_RELU}, {"gelu", RILL_GELU}};
    const char *name;
    TRY(rill_config_string_or(config, "activation_function", net->settings.kind == MT_FSMT ? "relu" : "gelu", &name));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        net->settings.activation = known[i].value;
        return RILL_OK;
    }
    return rill_fail(net->seq.ctx, RILL_ERR_FORMAT,
                     "%s: activation_function: expected swish, silu, relu or gelu, found \"%.40s\"",
                     rill_config_name(config), name);
}

static rill_status read_positions(mt_net *net, const rill_config *config)
{
    const char *form;
    int found;
    TRY(rill_config_object(config, "rill", &found));
    TRY(rill_config_string_or(config, "rill.positions", "hf", &form));
    if (strcmp(form, "hf") != 0 && strcmp(form, "marian") != 0)
        return rill_fail(net->seq.ctx, RILL_ERR_FORMAT, "%s: rill.positions: expected hf or marian, found \"%.40s\"",
                         rill_config_name(config), form);
    net->settings.form = form[0] == 'h' ? MT_POSITIONS_HF : MT_POSITIONS_MARIAN;
    if (net->settings.kind == MT_FSMT) net->settings.form = MT_POSITIONS_FSMT;
    return RILL_OK;
}

/* --- symbols ------------------------------------------------------------------------------------------------------ */

/* A symbol's number: what the file says, which is then its *origin, else what is there already. */
static rill_status read_symbol(mt_net *net, const rill_config *config, const char *file, const char *key,
                               int32_t *symbol, const char **origin)
{
    int64_t value;
    TRY(rill_config_int_or(config, key, 0, net->seq.actions - 1, -1, &value));
    if (value < 0) return RILL_OK;
    *symbol = (int32_t)value;
    *origin = file;
    return RILL_OK;
}

/* transformers counts the start symbol in max_length, and not in max_new_tokens, which goes before it. */
static rill_status read_generation(mt_net *net, const rill_config *config, const char *file)
{
    int64_t length;
    const char *origin;
    seq_net *s = &net->seq;
    TRY(read_symbol(net, config, file, "pad_token_id", &s->pad, &net->settings.pad_file));
    TRY(read_symbol(net, config, file, "eos_token_id", &s->end, &s->end_file));
    TRY(read_symbol(net, config, file, "decoder_start_token_id", &s->start, &origin));
    TRY(rill_config_bool_or(config, "renormalize_logits", net->settings.renormalized, &net->settings.renormalized));
    TRY(mt_read_bans(net, config));
    TRY(rill_config_int_or(config, "max_length", 2, LENGTH_LIMIT, net->seq.max_length + 1, &length));
    TRY(rill_config_int_or(config, "max_new_tokens", 1, LENGTH_LIMIT, length - 1, &length));
    net->seq.max_length = (int32_t)length;
    if (net->seq.max_length > net->seq.positions) net->seq.max_length = net->seq.positions;
    return RILL_OK;
}

/* The keys are absent from no file that is seen in the wild; without them nothing safe can be assumed. */
static rill_status require_symbols(mt_net *net, const char *directory)
{
    const seq_net *s = &net->seq;
    const char *missing = s->pad < 0 ? "pad_token_id" : s->end < 0 ? "eos_token_id" : NULL;
    if (missing != NULL)
        return rill_fail(net->seq.ctx, RILL_ERR_FORMAT, "%s/%s: %s: expected an integer, found nothing", directory,
                         MAIN_FILE, missing);
    if (s->pad == s->end)
        return rill_fail(net->seq.ctx, RILL_ERR_FORMAT,
                         "%s/%s: eos_token_id and pad_token_id are both %d: outputs could not end", directory,
                         strcmp(net->settings.pad_file, MAIN_FILE) != 0 ? net->settings.pad_file : s->end_file, s->pad);
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static rill_status read_kind(mt_net *net, const rill_config *config)
{
    const char *kind;
    TRY(rill_config_string_or(config, "model_type", "marian", &kind));
    net->settings.kind = strcmp(kind, "fsmt") == 0 ? MT_FSMT : MT_MARIAN;
    if (net->settings.kind == MT_FSMT || strcmp(kind, "marian") == 0) return RILL_OK;
    return rill_fail(net->seq.ctx, RILL_ERR_FORMAT,
                     "%s: model_type: expected marian, fsmt or rnnsearch, found \"%.40s\"", rill_config_name(config),
                     kind);
}

/* FSMT's file may leave out what never differs. */
static rill_status set_defaults(mt_net *net)
{
    const int fsmt = net->settings.kind == MT_FSMT;
    net->seq.pad = fsmt ? 1 : -1;
    net->seq.end = fsmt ? 2 : -1;
    net->seq.start = fsmt ? 2 : -1;
    net->settings.pad_file = net->seq.end_file = MAIN_FILE;
    net->seq.max_length = (fsmt ? 200 : net->seq.positions) - 1;
    return rill_blocks_get(&net->seq.model->blocks, &net->seq.legal, ((size_t)net->seq.actions + 63) / 64,
                           sizeof *net->seq.legal, "symbols");
}

/* What `rill info` shows beside the files and their types of numbers. */
static void describe(mt_net *net)
{
    static const char *const names[] = {[RILL_SWISH] = "swish", [RILL_RELU] = "relu", [RILL_GELU] = "gelu"};
    const mt_side *e = &net->encoder, *d = &net->decoder;
    char symbols[64];
    if (net->settings.shared)
        snprintf(symbols, sizeof symbols, "%d symbols for both sides", net->seq.words);
    else
        snprintf(symbols, sizeof symbols, "%d source and %d target symbols", net->seq.words, net->seq.actions);
    snprintf(net->seq.description, sizeof net->seq.description,
             "%s transformer: %zu + %zu layers of %zu, %zu + %zu heads, %zu + %zu inside (%s), %s, %d positions",
             net->settings.kind == MT_FSMT ? "FSMT" : "Marian", e->layers, d->layers, net->width, e->heads, d->heads,
             e->inner, d->inner, names[net->settings.activation], symbols, net->seq.usual);
}

static rill_status read_main(void *user, const rill_config *config)
{
    mt_net *net = user;
    TRY(read_kind(net, config));
    TRY(refuse_variants(net, config));
    TRY(read_activation(net, config));
    TRY(read_positions(net, config));
    TRY(read_sizes(net, config));
    TRY(set_defaults(net));
    TRY(read_generation(net, config, MAIN_FILE));
    /* Not of generation_config.json, whose pad_token_id is only what is never chosen. */
    net->settings.first = net->settings.kind == MT_FSMT ? net->seq.pad + 1 : 0;
    describe(net);
    return RILL_OK;
}

static rill_status read_last_word(void *user, const rill_config *config)
{
    return read_generation(user, config, GENERATION_FILE);
}

static void name_text(const mt_net *net, rill_codec_files *text)
{
    const int fsmt = net->settings.kind == MT_FSMT;
    text->kind = fsmt ? RILL_CODEC_MOSES_BPE : RILL_CODEC_SENTENCEPIECE;
    text->source = fsmt ? "vocab-src.json" : "vocab.json";
    text->target = fsmt ? "vocab-tgt.json" : "target_vocab.json";
    text->optional = !fsmt;
    text->actions_key = "decoder_vocab_size";
}

rill_status mt_configure(seq_net *seq, const char *directory, rill_codec_files *text)
{
    mt_net *net = (mt_net *)seq;
    int found;
    TRY(rill_config_read(net->seq.ctx, directory, MAIN_FILE, read_main, net, NULL));
    TRY(rill_config_read(net->seq.ctx, directory, GENERATION_FILE, read_last_word, net, &found));
    TRY(require_symbols(net, directory));
    net->seq.most_length = net->seq.max_length > net->seq.usual ? net->seq.max_length : net->seq.usual;
    if (net->seq.start < 0) net->seq.start = net->seq.pad;
    name_text(net, text);
    return RILL_OK;
}
