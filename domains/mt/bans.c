/* What a translation model's configuration forbids: symbols, and sequences of them.
 *
 * Source: NoBadWordsLogitsProcessor and SuppressTokensLogitsProcessor of transformers' generation/logits_process.py. A sequence is
 * struck at its last symbol where the others stand before it, the start symbol among them; what has a symbol that does not exist is
 * never there. */
#include <string.h>

#include "config.h"
#include "model.h"

typedef struct reader {
    mt_net *net;
    const rill_config *config;
} reader;

/* The end is not: transformers takes it out of bad_words_ids, and outputs that may not end are a mistake. */
static rill_status ban(void *user, const int64_t *value, size_t n)
{
    seq_net *net = &((reader *)user)->net->seq;
    if (n > 1 || value[0] < 0 || value[0] >= net->actions || value[0] == net->end) return RILL_OK;
    net->legal[value[0] / 64] &= ~(UINT64_C(1) << (value[0] % 64));
    return RILL_OK;
}

static rill_status ban_one(void *user, const int64_t *value, size_t n)
{
    const reader *r = user;
    if (n == 1) return ban(user, value, n);
    return rill_fail(r->net->seq.ctx, RILL_ERR_FORMAT, "%s: suppress_tokens: expected integers, found a list of %zu",
                     rill_config_name(r->config), n);
}

static int can_be(const seq_net *net, const int64_t *value, size_t n)
{
    int known = n > 1;
    for (size_t i = 0; i < n; i++) known &= value[i] >= 0 && value[i] < net->actions;
    return known;
}

static rill_status count(void *user, const int64_t *value, size_t n)
{
    seq_net *net = &((reader *)user)->net->seq;
    net->n_forbidden += can_be(net, value, n);
    return RILL_OK;
}

static rill_status keep(void *user, const int64_t *value, size_t n)
{
    seq_net *net = &((reader *)user)->net->seq;
    int32_t *action;
    if (!can_be(net, value, n)) return RILL_OK;
    TRY(rill_blocks_get(&net->model->blocks, &action, n, sizeof *action, "bad_words_ids"));
    for (size_t i = 0; i < n; i++) action[i] = (int32_t)value[i];
    net->forbidden[net->n_forbidden++] = (rill_sequence){action, (int32_t)n};
    return RILL_OK;
}

/* Their number has to be known before they are kept. */
static rill_status read_sequences(reader *r)
{
    seq_net *net = &r->net->seq;
    net->n_forbidden = 0;
    TRY(rill_config_each_list(r->config, "bad_words_ids", count, r));
    if (net->n_forbidden == 0) return RILL_OK;
    TRY(rill_blocks_get(&net->model->blocks, &net->forbidden, (size_t)net->n_forbidden, sizeof *net->forbidden,
                        "bad_words_ids"));
    net->n_forbidden = 0;
    return rill_config_each_list(r->config, "bad_words_ids", keep, r);
}

rill_status mt_read_bans(mt_net *net, const rill_config *config)
{
    reader r = {net, config};
    memset(net->seq.legal, 0xFF, ((size_t)net->seq.actions + 63) / 64 * sizeof *net->seq.legal);
    TRY(rill_config_each_list(config, "bad_words_ids", ban, &r));
    TRY(read_sequences(&r));
    return rill_config_each_list(config, "suppress_tokens", ban_one, &r);
}
