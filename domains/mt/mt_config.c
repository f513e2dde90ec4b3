/* Reads config.json and generation_config.json of a translation model. mt_families.c reads the keys that depend on the
 * family.
 *
 * Source of keys and defaults: transformers' configuration files of each type. Keys that change the arithmetic are
 * supported or cause an error; other keys (dropout, training, sampling) are ignored. generation_config.json, if present,
 * overrides token ids and length, as in transformers.
 *
 * Divisions: symbols · the whole. */
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "mt_model.h"
#include "tokenizer.h"

static const char MAIN_FILE[] = "config.json", GENERATION_FILE[] = "generation_config.json";

enum { LENGTH_LIMIT = 1 << 20 };

/* --- special tokens ----------------------------------------------------------------------------------------------- */

/* Read the id of a special token from `file`, and set *from_file to that file. Both outputs are unchanged if the key is
 * absent. */
static rill_status read_special_token(mt_net *net, const rill_config *config, const char *file, const char *key,
                                      int32_t *symbol, const char **from_file)
{
    int64_t value;
    TRY(rill_config_int_or(config, key, 0, net->seq.target_vocab_size - 1, -1, &value));
    if (value < 0) return RILL_OK;
    *symbol = (int32_t)value;
    *from_file = file;
    return RILL_OK;
}

/* Read special tokens, bad words and the maximum length of outputs. transformers counts the start token in max_length, but
 * not in max_new_tokens, which takes precedence. */
static rill_status read_generation(mt_net *net, const rill_config *config, const char *file)
{
    int64_t length;
    const char *origin;
    seq_net *s = &net->seq;
    TRY(read_special_token(net, config, file, "pad_token_id", &s->pad, &net->settings.pad_file));
    TRY(read_special_token(net, config, file, "eos_token_id", &s->eos, &s->eos_file));
    TRY(read_special_token(net, config, file, "decoder_start_token_id", &s->decoder_start, &origin));
    TRY(read_special_token(net, config, file, "forced_bos_token_id", &s->forced_bos, &origin));
    TRY(rill_config_bool_or(config, "renormalize_logits", net->settings.renormalize_logits,
                            &net->settings.renormalize_logits));
    TRY(mt_read_bad_words(net, config));
    TRY(rill_config_int_or(config, "max_length", 2, LENGTH_LIMIT, net->seq.max_length + 1, &length));
    TRY(rill_config_int_or(config, "max_new_tokens", 1, LENGTH_LIMIT, length - 1, &length));
    net->seq.max_length = (int32_t)length;
    if (net->seq.max_length > net->seq.max_input_length) net->seq.max_length = net->seq.max_input_length;
    return RILL_OK;
}

/* Check that the ids of padding and eos are known and differ. All known models have both keys; no default would be right
 * for a model without them. */
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

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Set the family's token ids and maximum length, which configuration files may omit. */
static rill_status set_defaults(mt_net *net)
{
    const mt_family *family = net->settings.family;
    net->seq.pad = family->pad;
    net->seq.eos = family->eos;
    net->seq.decoder_start = family->decoder_start;
    net->settings.pad_file = net->seq.eos_file = MAIN_FILE;
    net->seq.max_length = (family->max_length > 0 ? family->max_length : net->seq.config_positions) - 1;
    return rill_arena_alloc(&net->seq.model->arena, &net->seq.legal, ((size_t)net->seq.target_vocab_size + 63) / 64,
                            sizeof *net->seq.legal, "symbols");
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

/* Read which heads give alignments: the first rill.alignment_heads heads of the layer rill.alignment_layer, by default all
 * heads of the last layer. Marian's guided alignment trains the first head of a layer. */
static rill_status read_alignment_heads(mt_net *net, const rill_config *config)
{
    static const char *const known_keys[] = {"domain", "options", "alignment_layer", "alignment_heads", "positions"};
    const int64_t layers = (int64_t)net->decoder.n_layers, heads = (int64_t)net->decoder.n_heads;
    int64_t layer, n_heads;
    const int has_positions = net->settings.family->layout != MT_LAYOUT_T5; /* T5 has relative position bias only */
    rill_config_warn_unknown(config, "rill", known_keys, sizeof known_keys / sizeof *known_keys - !has_positions);
    TRY(rill_config_int_or(config, "rill.alignment_layer", 0, layers - 1, layers - 1, &layer));
    TRY(rill_config_int_or(config, "rill.alignment_heads", 1, heads, heads, &n_heads));
    net->settings.alignment_layer = (size_t)layer;
    net->settings.n_alignment_heads = (size_t)n_heads;
    return RILL_OK;
}

static rill_status read_main_config(void *user, const rill_config *config)
{
    mt_net *net = user;
    TRY(mt_read_family(net, config));
    TRY(read_alignment_heads(net, config));
    TRY(set_defaults(net));
    TRY(read_generation(net, config, MAIN_FILE));
    /* pad_token_id of generation_config.json, which is read later, does not shift positions: it only bans a token. */
    net->settings.first_position = net->settings.position_kind == MT_POSITIONS_FSMT ? net->seq.pad + 1 : 0;
    mt_describe(net);
    return RILL_OK;
}

static rill_status read_generation_config(void *user, const rill_config *config)
{
    return read_generation(user, config, GENERATION_FILE);
}

/* Name the tokenizer's files. Marian and FSMT directories have fixed names; ../text/text_families.c names the files of the
 * other families. */
static rill_status name_tokenizer_files(const mt_net *net, const char *directory, rill_tokenizer_files *text)
{
    if (rill_family_exists(net->settings.family->model_type))
        return rill_family_files(net->seq.ctx, net->settings.family->model_type, directory, text);
    const int fsmt = strcmp(net->settings.family->model_type, "fsmt") == 0;
    text->kind = fsmt ? RILL_TOKENIZER_MOSES_BPE : RILL_TOKENIZER_SENTENCEPIECE;
    text->source = fsmt ? "vocab-src.json" : "vocab.json";
    text->target = fsmt ? "vocab-tgt.json" : "target_vocab.json";
    text->target_optional = !fsmt;
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
    if (net->seq.decoder_start < 0) net->seq.decoder_start = net->seq.pad;
    return name_tokenizer_files(net, directory, text);
}
