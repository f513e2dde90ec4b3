/* What a recurrent translation model's config.json says. Divisions: sizes · symbols · the whole. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "rnn.h"

static const char FILE_NAME[] = "config.json";

/* States know no positions, so that nothing but time bounds a length: so many times what outputs are made for are enough. */
enum { BEYOND = 16 };

enum { WIDTH_LIMIT = 1 << 16, WORD_LIMIT = 1 << 22, LENGTH_LIMIT = 1 << 20, USUAL_LENGTH = 200 };

/* --- sizes -------------------------------------------------------------------------------------------------------- */

static rill_status read_decoder(rnn_net *net, const rill_config *config)
{
    const char *decoder;
    TRY(rill_config_string(config, "decoder", &decoder));
    net->conditional = strcmp(decoder, "conditional") == 0;
    if (net->conditional || strcmp(decoder, "simple") == 0) return RILL_OK;
    return rill_fail(net->seq.ctx, RILL_ERR_FORMAT, "%s: decoder: expected conditional or simple, found \"%.40s\"",
                     rill_config_name(config), decoder);
}

static rill_status read_widths(rnn_net *net, const rill_config *config)
{
    const struct {
        const char *key;
        size_t *to;
    } widths[] = {{"embedding_size", &net->embedding},
                  {"encoder_size", &net->encoder},
                  {"decoder_size", &net->decoder},
                  {"attention_size", &net->attention}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        int64_t value;
        TRY(rill_config_int(config, widths[i].key, 1, WIDTH_LIMIT, &value));
        *widths[i].to = (size_t)value;
    }
    return RILL_OK;
}

/* One number for both sides, or one for each. */
static rill_status read_vocabularies(rnn_net *net, const rill_config *config)
{
    int64_t both, words, actions;
    TRY(rill_config_int_or(config, "vocab_size", 2, WORD_LIMIT, 0, &both));
    if (both > 0) {
        words = actions = both;
    } else {
        TRY(rill_config_int(config, "source_vocab_size", 2, WORD_LIMIT, &words));
        TRY(rill_config_int(config, "target_vocab_size", 2, WORD_LIMIT, &actions));
    }
    net->seq.words = (int32_t)words;
    net->seq.actions = (int32_t)actions;
    return RILL_OK;
}

static rill_status read_length(rnn_net *net, const rill_config *config)
{
    seq_net *s = &net->seq;
    int64_t length;
    TRY(rill_config_int_or(config, "max_length", 1, LENGTH_LIMIT, USUAL_LENGTH, &length));
    s->max_length = s->usual = (int32_t)length;
    s->positions = s->most_length = BEYOND * s->usual;
    return RILL_OK;
}

/* --- symbols ------------------------------------------------------------------------------------------------------ */

/* A model has no padding of its own; one that shares the vocabulary of a model that has may say which symbol it is. */
static rill_status read_symbols(rnn_net *net, const rill_config *config)
{
    seq_net *s = &net->seq;
    int64_t end, unknown, pad;
    TRY(rill_config_int(config, "eos_token_id", 0, s->actions - 1, &end));
    TRY(rill_config_int(config, "unk_token_id", 0, s->actions - 1, &unknown));
    TRY(rill_config_int_or(config, "pad_token_id", 0, s->actions - 1, -1, &pad));
    s->end = (int32_t)end;
    s->pad = (int32_t)pad;
    s->end_file = FILE_NAME;
    s->start = s->actions;
    net->unknown = (int32_t)unknown;
    const size_t words = ((size_t)s->actions + 63) / 64;
    TRY(rill_blocks_get(&s->model->blocks, &s->legal, words, sizeof *s->legal, "symbols"));
    memset(s->legal, 0xFF, words * sizeof *s->legal);
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* What `rill info` shows beside the files and their types of numbers. */
static void describe(rnn_net *net)
{
    char symbols[64];
    if (net->seq.words == net->seq.actions)
        snprintf(symbols, sizeof symbols, "%d symbols on each side", net->seq.words);
    else
        snprintf(symbols, sizeof symbols, "%d source and %d target symbols", net->seq.words, net->seq.actions);
    snprintf(net->seq.description, sizeof net->seq.description,
             "recurrent: encoder of 2 x %zu, decoder of %zu (%s), attention of %zu, embeddings of %zu, %s",
             net->encoder, net->decoder, net->conditional ? "conditional GRUs" : "one GRU", net->attention,
             net->embedding, symbols);
}

static rill_status read_main(void *user, const rill_config *config)
{
    rnn_net *net = user;
    rill_config_heed(config, "rill", (const char *const[]){"domain", "search"}, 2);
    TRY(read_decoder(net, config));
    TRY(read_widths(net, config));
    TRY(read_vocabularies(net, config));
    TRY(read_length(net, config));
    TRY(read_symbols(net, config));
    describe(net);
    return RILL_OK;
}

rill_status rnn_configure(seq_net *seq, const char *directory, rill_codec_files *text)
{
    text->kind = RILL_CODEC_SENTENCEPIECE;
    text->source = "vocab.json";
    text->target = "target_vocab.json";
    text->optional = 1;
    text->actions_key = "target_vocab_size";
    return rill_config_read(seq->ctx, directory, FILE_NAME, read_main, seq, NULL);
}
