/* Reads the config.json of a recurrent translation model. Divisions: sizes · symbols · the whole. */
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "rnn.h"

static const char FILE_NAME[] = "config.json";

/* Recurrent models have no position embeddings, so only decoding time limits the length: inputs and outputs may have this
 * multiple of the configured maximum. */
enum { POSITIONS_FACTOR = 16 };

enum { WIDTH_LIMIT = 1 << 16, WORD_LIMIT = 1 << 22, LENGTH_LIMIT = 1 << 20, DEFAULT_MAX_LENGTH = 200 };

/* --- sizes -------------------------------------------------------------------------------------------------------- */

static rill_status read_decoder(rnn_net *net, const rill_config *config)
{
    const char *decoder;
    TRY(rill_config_string(config, "decoder", &decoder));
    net->conditional_gru = strcmp(decoder, "conditional") == 0;
    if (net->conditional_gru || strcmp(decoder, "simple") == 0) return RILL_OK;
    return rill_fail(net->seq.ctx, RILL_ERR_FORMAT, "%s: decoder: expected conditional or simple, found \"%.40s\"",
                     rill_config_name(config), decoder);
}

static rill_status read_widths(rnn_net *net, const rill_config *config)
{
    const struct {
        const char *key;
        size_t *to;
    } widths[] = {{"embedding_size", &net->embedding_width},
                  {"encoder_size", &net->encoder_width},
                  {"decoder_size", &net->decoder_width},
                  {"attention_size", &net->attention_width}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        int64_t value;
        TRY(rill_config_int(config, widths[i].key, 1, WIDTH_LIMIT, &value));
        *widths[i].to = (size_t)value;
    }
    return RILL_OK;
}

/* Read vocab_size, for source and target, or source_vocab_size and target_vocab_size. */
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
    net->seq.source_vocab_size = (int32_t)words;
    net->seq.target_vocab_size = (int32_t)actions;
    return RILL_OK;
}

static rill_status read_length(rnn_net *net, const rill_config *config)
{
    seq_net *s = &net->seq;
    int64_t length;
    TRY(rill_config_int_or(config, "max_length", 1, LENGTH_LIMIT, DEFAULT_MAX_LENGTH, &length));
    s->max_length = s->config_positions = (int32_t)length;
    s->max_input_length = s->max_positions = POSITIONS_FACTOR * s->config_positions;
    return RILL_OK;
}

/* --- special tokens ----------------------------------------------------------------------------------------------- */

/* Recurrent models have no padding token. A model with the vocabulary of a transformer may name that model's padding
 * token, which outputs must not contain. */
static rill_status read_special_tokens(rnn_net *net, const rill_config *config)
{
    seq_net *s = &net->seq;
    int64_t end, unknown, pad;
    TRY(rill_config_int(config, "eos_token_id", 0, s->target_vocab_size - 1, &end));
    TRY(rill_config_int(config, "unk_token_id", 0, s->target_vocab_size - 1, &unknown));
    TRY(rill_config_int_or(config, "pad_token_id", 0, s->target_vocab_size - 1, -1, &pad));
    s->eos = (int32_t)end;
    s->pad = (int32_t)pad;
    s->eos_file = FILE_NAME;
    s->decoder_start = s->target_vocab_size;
    net->unk = (int32_t)unknown;
    const size_t words = ((size_t)s->target_vocab_size + 63) / 64;
    TRY(rill_arena_alloc(&s->model->arena, &s->legal, words, sizeof *s->legal, "symbols"));
    memset(s->legal, 0xFF, words * sizeof *s->legal);
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

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
    rill_config_warn_unknown(config, "rill", (const char *const[]){"domain", "options"}, 2);
    TRY(read_decoder(net, config));
    TRY(read_widths(net, config));
    TRY(read_vocabularies(net, config));
    TRY(read_length(net, config));
    TRY(read_special_tokens(net, config));
    describe(net);
    return RILL_OK;
}

rill_status rnn_configure(seq_net *seq, const char *directory, rill_tokenizer_files *text)
{
    text->kind = RILL_TOKENIZER_SENTENCEPIECE;
    text->source = "vocab.json";
    text->target = "target_vocab.json";
    text->target_optional = 1;
    text->target_vocab_key = "target_vocab_size";
    return rill_config_read(seq->ctx, directory, FILE_NAME, read_rnn_config, seq, NULL);
}
