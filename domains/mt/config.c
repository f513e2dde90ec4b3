/* What a translation model's configuration files say, beside its family's sizes and choices (families.c).
 *
 * Source of keys and defaults: transformers' configuration files of each type. What changes the arithmetic is either done or
 * refused by name; all else (dropout, training, sampling) is not looked at.
 * generation_config.json, where there is one, has the last word on the symbols and the length, as in transformers.
 *
 * Divisions: symbols · the whole. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "families.h"
#include "model.h"

static const char MAIN_FILE[] = "config.json", GENERATION_FILE[] = "generation_config.json";

enum { LENGTH_LIMIT = 1 << 20 };

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
    TRY(read_symbol(net, config, file, "forced_bos_token_id", &s->forced_first, &origin));
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

/* A file may leave out what never differs in its family. */
static rill_status set_defaults(mt_net *net)
{
    const mt_family *family = net->settings.family;
    net->seq.pad = family->pad;
    net->seq.end = family->end;
    net->seq.start = family->start;
    net->settings.pad_file = net->seq.end_file = MAIN_FILE;
    net->seq.max_length = (family->max_length > 0 ? family->max_length : net->seq.usual) - 1;
    return rill_blocks_get(&net->seq.model->blocks, &net->seq.legal, ((size_t)net->seq.actions + 63) / 64,
                           sizeof *net->seq.legal, "symbols");
}

void mt_describe(mt_net *net)
{
    static const char *const names[] = {[RILL_SWISH] = "swish",
                                        [RILL_RELU] = "relu",
                                        [RILL_GELU] = "gelu",
                                        [RILL_GELU_TANH] = "gelu by tanh",
                                        [RILL_GELU_SIGMOID] = "gelu by sigmoid"};
    const mt_side *e = &net->encoder, *d = &net->decoder;
    const mt_settings *set = &net->settings;
    static const char *const first[] = {
        [MT_SELF_ATTENTION] = "", [MT_SSRU] = ", SSRU", [MT_AVERAGE] = ", average attention"};
    char symbols[64], positions[32] = "distances";
    if (set->shared)
        snprintf(symbols, sizeof symbols, "%d symbols for both sides", net->seq.words);
    else
        snprintf(symbols, sizeof symbols, "%d source and %d target symbols", net->seq.words, net->seq.actions);
    if (set->form != MT_POSITIONS_NONE) snprintf(positions, sizeof positions, "%d positions", net->seq.usual);
    snprintf(net->seq.description, sizeof net->seq.description,
             "%s transformer: %zu + %zu layers of %zu, %zu + %zu heads, %zu + %zu inside (%s%s)%s, %s, %s",
             set->family->title, e->layers, d->layers, net->width, e->heads, d->heads, e->inner, d->inner,
             set->gated ? "gated " : "", names[set->activation], first[set->first_block], symbols, positions);
}

/* The mean over the last layer's heads stands in where none was trained on alignments. Marian trains the first head of a layer. */
static rill_status read_watched(mt_net *net, const rill_config *config)
{
    static const char *const heeded[] = {"domain", "search", "alignment_layer", "alignment_heads", "positions"};
    const int64_t layers = (int64_t)net->decoder.layers, heads = (int64_t)net->decoder.heads;
    int64_t layer, watched;
    const int placed = net->settings.family->layout != MT_LAYOUT_T5; /* T5 has distances, and no form of positions */
    rill_config_heed(config, "rill", heeded, sizeof heeded / sizeof *heeded - !placed);
    TRY(rill_config_int_or(config, "rill.alignment_layer", 0, layers - 1, layers - 1, &layer));
    TRY(rill_config_int_or(config, "rill.alignment_heads", 1, heads, heads, &watched));
    net->settings.watched_layer = (size_t)layer;
    net->settings.watched_heads = (size_t)watched;
    return RILL_OK;
}

static rill_status read_main(void *user, const rill_config *config)
{
    mt_net *net = user;
    TRY(mt_read_family(net, config));
    TRY(read_watched(net, config));
    TRY(set_defaults(net));
    TRY(read_generation(net, config, MAIN_FILE));
    /* Not of generation_config.json, whose pad_token_id is only what is never chosen. */
    net->settings.first = net->settings.form == MT_POSITIONS_FSMT ? net->seq.pad + 1 : 0;
    mt_describe(net);
    return RILL_OK;
}

static rill_status read_last_word(void *user, const rill_config *config)
{
    return read_generation(user, config, GENERATION_FILE);
}

/* Marian's and FSMT's folders are what this domain has always read; others have their family's. */
static rill_status name_text(const mt_net *net, const char *directory, rill_codec_files *text)
{
    if (rill_family_known(net->settings.family->type))
        return rill_family_files(net->seq.ctx, net->settings.family->type, directory, text);
    const int fsmt = strcmp(net->settings.family->type, "fsmt") == 0;
    text->kind = fsmt ? RILL_CODEC_MOSES_BPE : RILL_CODEC_SENTENCEPIECE;
    text->source = fsmt ? "vocab-src.json" : "vocab.json";
    text->target = fsmt ? "vocab-tgt.json" : "target_vocab.json";
    text->optional = !fsmt;
    text->actions_key = "decoder_vocab_size";
    return RILL_OK;
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
    return name_text(net, directory, text);
}
