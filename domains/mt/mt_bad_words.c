/* Bad words of a translation model's configuration: tokens and sequences of tokens that outputs must not contain.
 *
 * Source: NoBadWordsLogitsProcessor and SuppressTokensLogitsProcessor of transformers' generation/logits_process.py. A
 * sequence bans its last token after its other tokens, which may include the start token. A sequence with an id outside
 * the vocabulary never matches. */
#include <string.h>

#include "config_json.h"
#include "mt_model.h"

typedef struct bad_words_reader {
    mt_net *net;
    const rill_config *config;
} bad_words_reader;

/* Ban a single token. Eos is not banned: transformers removes it from bad_words_ids, because outputs could not end. */
static rill_status ban_if_single(void *user, const int64_t *value, size_t n)
{
    seq_net *net = &((bad_words_reader *)user)->net->seq;
    if (n > 1 || value[0] < 0 || value[0] >= net->target_vocab_size || value[0] == net->eos) return RILL_OK;
    net->legal[value[0] / 64] &= ~(UINT64_C(1) << (value[0] % 64));
    return RILL_OK;
}

static rill_status ban_token(void *user, const int64_t *value, size_t n)
{
    const bad_words_reader *r = user;
    if (n == 1) return ban_if_single(user, value, n);
    return rill_fail(r->net->seq.ctx, RILL_ERR_FORMAT, "%s: suppress_tokens: expected integers, found a list of %zu",
                     rill_config_name(r->config), n);
}

static int is_valid_sequence(const seq_net *net, const int64_t *value, size_t n)
{
    int known = n > 1;
    for (size_t i = 0; i < n; i++) known &= value[i] >= 0 && value[i] < net->target_vocab_size;
    return known;
}

static rill_status count_sequence(void *user, const int64_t *value, size_t n)
{
    seq_net *net = &((bad_words_reader *)user)->net->seq;
    net->n_bad_words += is_valid_sequence(net, value, n);
    return RILL_OK;
}

static rill_status keep_sequence(void *user, const int64_t *value, size_t n)
{
    seq_net *net = &((bad_words_reader *)user)->net->seq;
    int32_t *action;
    if (!is_valid_sequence(net, value, n)) return RILL_OK;
    TRY(rill_arena_alloc(&net->model->arena, &action, n, sizeof *action, "bad_words_ids"));
    for (size_t i = 0; i < n; i++) action[i] = (int32_t)value[i];
    net->bad_words[net->n_bad_words++] = (rill_sequence){action, (int32_t)n};
    return RILL_OK;
}

/* Read the sequences of bad_words_ids in two passes: the first counts them, to allocate their array. */
static rill_status read_sequences(bad_words_reader *r)
{
    seq_net *net = &r->net->seq;
    net->n_bad_words = 0;
    TRY(rill_config_each_list(r->config, "bad_words_ids", count_sequence, r));
    if (net->n_bad_words == 0) return RILL_OK;
    TRY(rill_arena_alloc(&net->model->arena, &net->bad_words, (size_t)net->n_bad_words, sizeof *net->bad_words,
                         "bad_words_ids"));
    net->n_bad_words = 0;
    return rill_config_each_list(r->config, "bad_words_ids", keep_sequence, r);
}

rill_status mt_read_bad_words(mt_net *net, const rill_config *config)
{
    bad_words_reader r = {net, config};
    memset(net->seq.legal, 0xFF, ((size_t)net->seq.target_vocab_size + 63) / 64 * sizeof *net->seq.legal);
    TRY(rill_config_each_list(config, "bad_words_ids", ban_if_single, &r));
    TRY(read_sequences(&r));
    return rill_config_each_list(config, "suppress_tokens", ban_token, &r);
}
