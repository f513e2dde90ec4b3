/* Reads generation_config.json, or the same keys of config.json: special tokens, bad words, search settings.
 *
 * Sources: transformers' NoBadWordsLogitsProcessor, SuppressTokensLogitsProcessor, generation/configuration_utils.py and utils.py.
 * Lengths: transformers counts a forced eos, and in max_length and min_length the start token; rill counts neither. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "mt.h"

enum { MAX_BEAMS = 65536 };

/* --- bad words ---------------------------------------------------------------------------------------------------- */

typedef struct bad_words_reader {
    mt_net *net;
    const rill_config *config;
} bad_words_reader;

/* Ban a single token. Eos is not banned: transformers removes it from bad_words_ids, because outputs could not end. */
static void ban_token(seq_net *net, int64_t id)
{
    if (id < 0 || id >= net->target_vocab_size || id == net->eos) return;
    net->legal[id / 64] &= ~(UINT64_C(1) << (id % 64));
}

static rill_status suppress_token(void *user, const int64_t *value, size_t n)
{
    const bad_words_reader *r = user;
    if (n > 1) return rill_config_fail(r->config, "suppress_tokens", "expected integers, found a list of %zu", n);
    ban_token(&r->net->seq, value[0]);
    return RILL_OK;
}

/* A sequence with an id outside the vocabulary never matches. */
static rill_status read_bad_word(void *user, const int64_t *value, size_t n)
{
    seq_net *net = &((bad_words_reader *)user)->net->seq;
    int32_t *action;
    if (n == 1) ban_token(net, value[0]);
    int known = n > 1;
    for (size_t i = 0; i < n; i++) known &= value[i] >= 0 && value[i] < net->target_vocab_size;
    if (!known) return RILL_OK;
    TRY(GROW(&net->model->arena, net->bad_words, (size_t)net->n_bad_words + 1, "bad_words_ids"));
    TRY(rill_arena_alloc(&net->model->arena, &action, n, sizeof *action, "bad_words_ids"));
    for (size_t i = 0; i < n; i++) action[i] = (int32_t)value[i];
    net->bad_words[net->n_bad_words++] = (rill_sequence){action, (int32_t)n};
    return RILL_OK;
}

/* Fill `legal`, which the caller allocated, and `bad_words`. A later file replaces the sets of an earlier file. */
static rill_status read_bad_words(mt_net *net, const rill_config *config)
{
    bad_words_reader r = {net, config};
    net->seq.n_bad_words = 0;
    memset(net->seq.legal, 0xFF, ((size_t)net->seq.target_vocab_size + 63) / 64 * sizeof *net->seq.legal);
    TRY(rill_config_each_list(config, "bad_words_ids", read_bad_word, &r));
    return rill_config_each_list(config, "suppress_tokens", suppress_token, &r);
}

/* --- special tokens ----------------------------------------------------------------------------------------------- */

/* *symbol and *from_file are unchanged if the key is absent. */
static rill_status read_special_token(mt_net *net, const rill_config *config, const char *file, const char *key,
                                      int32_t *symbol, const char **from_file)
{
    int32_t value;
    TRY(rill_config_id_or(config, key, 0, net->seq.target_vocab_size - 1, -1, &value));
    if (value < 0) return RILL_OK;
    *symbol = value;
    *from_file = file;
    return RILL_OK;
}

/* The last file read decides, as in transformers. force_bos_token_to_be_generated, of old BART models, counts in
 * config.json only. */
static rill_status read_forced_bos(mt_net *net, const rill_config *config, const char *file)
{
    const char *key = "forced_bos_token_id";
    int old;
    net->seq.forced_bos = -1;
    TRY(rill_config_bool_or(config, "force_bos_token_to_be_generated", 0, &old));
    if (old && strcmp(file, "config.json") == 0) key = "bos_token_id";
    return read_special_token(net, config, file, key, &net->seq.forced_bos, &net->seq.forced_bos_file);
}

/* max_length counts the start token; max_new_tokens does not, and takes precedence. */
rill_status mt_read_generation(mt_net *net, const rill_config *config, const char *file)
{
    const char *origin;
    seq_net *s = &net->seq;
    TRY(read_special_token(net, config, file, "pad_token_id", &s->pad, &net->settings.pad_file));
    TRY(read_special_token(net, config, file, "eos_token_id", &s->eos, &s->eos_file));
    TRY(read_special_token(net, config, file, "decoder_start_token_id", &s->decoder_start, &origin));
    TRY(read_forced_bos(net, config, file));
    TRY(rill_config_bool_or(config, "renormalize_logits", 0, &net->settings.renormalize_logits));
    TRY(read_bad_words(net, config));
    TRY(rill_config_int_or(config, "max_length", 2, LENGTH_LIMIT, net->seq.max_length + 1, &s->max_length));
    TRY(rill_config_int_or(config, "max_new_tokens", 1, LENGTH_LIMIT, s->max_length - 1, &s->max_length));
    if (s->max_length > s->max_input_length) s->max_length = s->max_input_length;
    return RILL_OK;
}

/* --- search settings ------------------------------------------------------------------------------------------------------ */

typedef struct hf_generation {
    rill_context *ctx;
    int forces_eos;     /* 1: eos is forced at the length limit */
    int32_t n_beams;    /* beam size; 0: not set */
    int32_t min_length; /* minimum number of actions before eos */
    double length_penalty;
    int32_t no_repeat_ngram; /* length of n-grams that may not repeat; 0: all may */
    double repetition_penalty;
    const char *stop;   /* early_stopping as a value of rill's option `stop` */
    int32_t eos;        /* the token id; -1: unknown */
    int eos_suppressed; /* 1: suppress_tokens contains eos */
    char ignored[600];  /* unsupported keys that change outputs, separated by commas */
} hf_generation;

/* Read early_stopping, which is false, true or "never". */
static rill_status read_early_stopping(hf_generation *m, const rill_config *config)
{
    int early;
    const char *word;
    m->stop = "bound";
    if (rill_config_bool_or(config, "early_stopping", 0, &early) == RILL_OK) {
        if (early) m->stop = "count";
        return RILL_OK;
    }
    rill_error_clear(m->ctx);
    TRY(rill_config_string_or(config, "early_stopping", "", &word));
    if (strcmp(word, "never") != 0)
        return rill_config_fail(config, "early_stopping", "expected true, false or \"never\", found \"%.40s\"", word);
    m->stop = "bound-max";
    return RILL_OK;
}

/* Read the search settings. min_new_tokens overrides min_length. */
static rill_status read_search(void *user, const rill_config *config)
{
    hf_generation *m = user;
    int32_t min_tokens, end;
    TRY(rill_config_int_or(config, "num_beams", 1, MAX_BEAMS, 0, &m->n_beams));
    TRY(rill_config_int_or(config, "min_length", 0, LENGTH_LIMIT, 0, &min_tokens));
    TRY(rill_config_int_or(config, "min_new_tokens", 0, LENGTH_LIMIT, min_tokens > 0 ? min_tokens - 1 : 0,
                           &m->min_length));
    TRY(rill_config_id_or(config, "forced_eos_token_id", 0, INT32_MAX, -1, &end));
    TRY(rill_config_number_or(config, "length_penalty", -25, 25, 1.0, &m->length_penalty));
    TRY(rill_config_int_or(config, "no_repeat_ngram_size", 0, LENGTH_LIMIT, 0, &m->no_repeat_ngram));
    TRY(rill_config_number_or(config, "repetition_penalty", 1e-3, 1e3, 1.0, &m->repetition_penalty));
    m->forces_eos = end >= 0;
    return read_early_stopping(m, config);
}

/* --- unsupported settings -------------------------------------------------------------------------------------------- */

static void add_ignored(hf_generation *m, const char *key)
{
    const size_t used = strlen(m->ignored);
    snprintf(m->ignored + used, sizeof m->ignored - used, "%s%s", used > 0 ? ", " : "", key);
}

static rill_status check_eos_suppressed(void *user, const int64_t *value, size_t n)
{
    hf_generation *m = user;
    if (n == 1 && value[0] == m->eos) m->eos_suppressed = 1;
    return RILL_OK;
}

/* Warn about unsupported keys whose value differs from `nothing`, because they change outputs. Sampling keys have an effect only with
 * do_sample. */
static rill_status warn_ignored(hf_generation *m, const rill_config *config)
{
    /* clang-format off */
    static const struct {
        const char *key;
        double nothing;
        int sampling;
    } keys[] = {
        {"do_sample", 0, 0}, {"temperature", 1, 1}, {"top_k", 0, 1}, {"top_p", 1, 1}, {"min_p", 0, 1},
        {"top_h", 0, 1}, {"typical_p", 1, 1}, {"epsilon_cutoff", 0, 1}, {"eta_cutoff", 0, 1},
        {"num_beam_groups", 1, 0}, {"diversity_penalty", 0, 0}, {"penalty_alpha", 0, 0},
        {"encoder_repetition_penalty", 1, 0}, {"encoder_no_repeat_ngram_size", 0, 0},
        {"exponential_decay_length_penalty", 0, 0}, {"begin_suppress_tokens", 0, 0}, {"forced_decoder_ids", 0, 0},
        {"sequence_bias", 0, 0}, {"guidance_scale", 1, 0}, {"constraints", 0, 0}, {"force_words_ids", 0, 0},
        {"stop_strings", 0, 0}, {"max_time", 0, 0}, {"dola_layers", 0, 0}, {"watermarking_config", 0, 0}};
    /* clang-format on */
    const int sampling = rill_config_is_set(config, "do_sample", 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if ((sampling || !keys[i].sampling) && rill_config_is_set(config, keys[i].key, keys[i].nothing))
            add_ignored(m, keys[i].key);
    /* transformers removes eos from bad_words_ids, but not from suppress_tokens. */
    TRY(rill_config_each_list(config, "suppress_tokens", check_eos_suppressed, m));
    if (m->eos_suppressed) add_ignored(m, "suppress_tokens");
    if (m->ignored[0] == '\0') return RILL_OK;
    const int groups = rill_config_is_set(config, "num_beam_groups", 1) ||
                       rill_config_is_set(config, "diversity_penalty", 0);
    rill_log(m->ctx, RILL_LOG_WARNING, "%s: not supported, though it changes outputs: %s%s%s", rill_config_name(config),
             m->ignored, sampling ? "; to sample, set num-samples, temperature, top-k and top-p" : "",
             groups ? "; for diverse beam search, set beam-groups and diversity-penalty" : "");
    return RILL_OK;
}

/* --- decoding like transformers ------------------------------------------------------------------------------------- */

typedef struct settings_writer {
    const seq_net *net;
    rill_text *out;
} settings_writer;

/* Returns the maximum number of actions, a forced eos not counted. If the file sets none: 20, as in transformers, or fewer if the model has
 * fewer positions. */
static int32_t max_actions(const settings_writer *to, const hf_generation *m, const rill_config *config)
{
    enum { DEFAULT_TOKENS = 20 };
    const mt_net *net = mt_from_seq(to->net);
    int32_t n = to->net->max_length;
    if (!rill_config_is_set(config, "max_length", NAN) && !rill_config_is_set(config, "max_new_tokens", NAN)) {
        n = DEFAULT_TOKENS;
        if (net->settings.position_kind != MT_POSITIONS_NONE && n > net->seq.config_positions - 1)
            n = net->seq.config_positions - 1;
    }
    n -= m->forces_eos;
    return n > 0 ? n : 1;
}

static rill_status write_settings(void *user, const rill_config *config)
{
    const settings_writer *to = user;
    hf_generation m = {.ctx = to->net->ctx, .eos = to->net->eos};
    TRY(read_search(&m, config));
    TRY(warn_ignored(&m, config));
    const int32_t longest = max_actions(to, &m, config);
    /* Without num_beams transformers decodes greedily. `--like hf` is for beam search, so k keeps its default. */
    if (m.n_beams > 0) TRY(rill_text_printf(to->out, "k=%d ", m.n_beams));
    return rill_text_printf(
        to->out,
        "length-penalty=%.9g stop=%s at-limit=%s max-length=%d min-length=%d no-repeat-ngram=%d repetition-penalty=%.9g",
        m.length_penalty, m.n_beams == 1 ? "count" : m.stop, m.forces_eos ? "end-free" : "first", longest,
        m.min_length < longest ? m.min_length : longest, m.no_repeat_ngram, m.repetition_penalty);
}

/* Old CTranslate2 directories lack config.json. */
static rill_status read_generation_or_config(rill_context *ctx, const char *directory, rill_config_fn read, void *user)
{
    int found;
    TRY(rill_config_read(ctx, directory, "generation_config.json", read, user, &found));
    if (found) return RILL_OK;
    return rill_config_read(ctx, directory, "config.json", read, user, mt_is_ct2(directory) ? &found : NULL);
}

rill_status mt_recommend(const seq_net *net, const char *directory, rill_text *out)
{
    settings_writer to = {net, out};
    return read_generation_or_config(net->ctx, directory, write_settings, &to);
}

/* --- advice on defaults ------------------------------------------------------------------------------------------- */

/* Advise generation_config.json's beam size, penalties and repetition settings, with rill's stop criterion and
 * pruning. Measured: fewer expansions, same BLEU. */
rill_status mt_advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out)
{
    hf_generation m = {.ctx = ctx, .length_penalty = 1.0, .repetition_penalty = 1.0};
    (void)table;
    if (path != NULL) TRY(read_generation_or_config(ctx, path, read_search, &m));
    TRY(rill_text_printf(out, "n=32 k=%d length-penalty=%.9g absolute=2.5 max-candidates=3",
                         m.n_beams > 0 ? m.n_beams : 5, m.length_penalty));
    if (m.min_length > 0) TRY(rill_text_printf(out, " min-length=%d", m.min_length));
    if (m.no_repeat_ngram > 0) TRY(rill_text_printf(out, " no-repeat-ngram=%d", m.no_repeat_ngram));
    return m.repetition_penalty != 1 ? rill_text_printf(out, " repetition-penalty=%.9g", m.repetition_penalty)
                                     : RILL_OK;
}
