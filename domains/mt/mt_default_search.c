/* What a model's makers say of the search, in the engine's settings: for decoding as transformers does, and for a model whose directory
 * recommends nothing to rill.
 *
 * Source: transformers' generation/configuration_utils.py and utils.py. generation_config.json says it all where there is one;
 * older folders have the keys in config.json, and of these FSMT's leave out the forced end. Lengths count the start symbol
 * there, but for those of new tokens, and a forced end, which is not an action here. What would change outputs and is not done here is
 * told by its name.
 *
 * Divisions: reading · decoding as transformers does · what nobody heeds · a model without a recommendation. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "mt_model.h"

enum { MAX_BEAMS = 65536, MAX_LENGTH = 1 << 20 };

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct hf_generation {
    rill_context *ctx;
    int forces_eos;     /* outputs end at the length limit, whatever the model says */
    int64_t n_beams;    /* 0: not said */
    int64_t min_length; /* actions before the end */
    double length_penalty;
    int64_t no_repeat_ngram; /* no n-gram of that length twice; 0: any may be */
    double repetition_penalty;
    const char *stop; /* the setting that early_stopping is */
    int32_t eos;      /* the end symbol; -1: not known */
    int eos_suppressed;
    char ignored[600];
} hf_generation;

/* early_stopping is false, true or "never". */
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
        return rill_fail(m->ctx, RILL_ERR_FORMAT,
                         "%s: early_stopping: expected true, false or \"never\", found \"%.40s\"",
                         rill_config_name(config), word);
    m->stop = "bound-max";
    return RILL_OK;
}

/* min_new_tokens goes before min_length. `forced` is what it is where the file does not say. */
static rill_status read_search(hf_generation *m, const rill_config *config, int forced)
{
    int64_t min_tokens, end;
    TRY(rill_config_int_or(config, "num_beams", 1, MAX_BEAMS, 0, &m->n_beams));
    TRY(rill_config_int_or(config, "min_length", 0, MAX_LENGTH, 0, &min_tokens));
    TRY(rill_config_int_or(config, "min_new_tokens", 0, MAX_LENGTH, min_tokens > 0 ? min_tokens - 1 : 0,
                           &m->min_length));
    TRY(rill_config_int_or(config, "forced_eos_token_id", 0, INT32_MAX, forced ? 0 : -1, &end));
    TRY(rill_config_number_or(config, "length_penalty", -25, 25, 1.0, &m->length_penalty));
    TRY(rill_config_int_or(config, "no_repeat_ngram_size", 0, MAX_LENGTH, 0, &m->no_repeat_ngram));
    TRY(rill_config_number_or(config, "repetition_penalty", 1e-3, 1e3, 1.0, &m->repetition_penalty));
    m->forces_eos = end >= 0;
    return read_early_stopping(m, config);
}

/* --- what nobody heeds -------------------------------------------------------------------------------------------- */

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

/* What is forbidden is never chosen (mt_bad_words.c), but for the end: of bad_words_ids transformers leaves it out too. */
static rill_status check_suppressed_tokens(hf_generation *m, const rill_config *config)
{
    TRY(rill_config_each_list(config, "suppress_tokens", check_eos_suppressed, m));
    if (m->eos_suppressed) add_ignored(m, "suppress_tokens");
    return RILL_OK;
}

/* Keys that change outputs, with the number that means nothing; those of sampling do so only where that is on. What is drawn there is
 * drawn by a generator of its own, so no setting gives the same; groups are searched by a repository's code, and not by transformers
 * itself, from its version 5 on. */
static rill_status warn_ignored(hf_generation *m, const rill_config *config)
{
    static const struct {
        const char *key;
        double nothing;
        int sampling;
    } keys[] = {{"do_sample", 0, 0},
                {"temperature", 1, 1},
                {"top_k", 0, 1},
                {"top_p", 1, 1},
                {"min_p", 0, 1},
                {"top_h", 0, 1},
                {"typical_p", 1, 1},
                {"epsilon_cutoff", 0, 1},
                {"eta_cutoff", 0, 1},
                {"num_beam_groups", 1, 0},
                {"diversity_penalty", 0, 0},
                {"penalty_alpha", 0, 0},
                {"encoder_repetition_penalty", 1, 0},
                {"encoder_no_repeat_ngram_size", 0, 0},
                {"exponential_decay_length_penalty", 0, 0},
                {"begin_suppress_tokens", 0, 0},
                {"forced_decoder_ids", 0, 0},
                {"forced_bos_token_id", NAN, 0},
                {"sequence_bias", 0, 0},
                {"guidance_scale", 1, 0},
                {"constraints", 0, 0},
                {"force_words_ids", 0, 0},
                {"stop_strings", 0, 0},
                {"max_time", 0, 0},
                {"dola_layers", 0, 0},
                {"watermarking_config", 0, 0}};
    const int sampling = rill_config_is_set(config, "do_sample", 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if ((sampling || !keys[i].sampling) && rill_config_is_set(config, keys[i].key, keys[i].nothing))
            add_ignored(m, keys[i].key);
    TRY(check_suppressed_tokens(m, config));
    if (m->ignored[0] == '\0') return RILL_OK;
    const int groups = rill_config_is_set(config, "num_beam_groups", 1) ||
                       rill_config_is_set(config, "diversity_penalty", 0);
    rill_log(m->ctx, RILL_LOG_WARNING, "%s: not followed, though it changes outputs: %s%s%s", rill_config_name(config),
             m->ignored, sampling ? "; the settings sample, temperature, top-k and top-p draw outputs" : "",
             groups ? "; the settings groups and diversity search in groups" : "");
    return RILL_OK;
}

/* --- decoding as transformers does -------------------------------------------------------------------------------- */

/* Without num_beams transformers searches greedily, which no one asks for who asks for its beam search; a file that says 1 does. */
static void write_beams(const hf_generation *m, char *out, size_t size)
{
    out[0] = '\0';
    if (m->n_beams > 0) snprintf(out, size, "k=%d ", (int)m->n_beams);
}

typedef struct settings_writer {
    const seq_net *net;
    rill_text *out;
} settings_writer;

static rill_status write_settings(settings_writer *to, const rill_config *config, int forced)
{
    hf_generation m = {.ctx = to->net->ctx, .eos = to->net->eos};
    char k[32];
    TRY(read_search(&m, config, forced));
    TRY(warn_ignored(&m, config));
    write_beams(&m, k, sizeof k);
    const int32_t max_length = to->net->max_length - m.forces_eos;
    return rill_text_printf(
        to->out,
        "%slength-penalty=%.9g stop=%s at-limit=%s max-length=%d min-length=%d no-repeat-ngram=%d repetition-penalty=%.9g",
        k, m.length_penalty, m.n_beams == 1 ? "count" : m.stop, m.forces_eos ? "end-free" : "first",
        max_length > 0 ? max_length : 1, (int)m.min_length, (int)m.no_repeat_ngram, m.repetition_penalty);
}

static rill_status read_generation(void *user, const rill_config *config)
{
    return write_settings(user, config, 0);
}

static rill_status read_config_json(void *user, const rill_config *config)
{
    const settings_writer *to = user;
    return write_settings(user, config, strcmp(mt_from_seq(to->net)->settings.family->model_type, "fsmt") == 0);
}

/* Reads generation_config.json, or else config.json. */
static rill_status read_generation_or_config(rill_context *ctx, const char *directory, rill_config_fn generation,
                                             rill_config_fn older, void *user)
{
    int found;
    TRY(rill_config_read(ctx, directory, "generation_config.json", generation, user, &found));
    return found ? RILL_OK : rill_config_read(ctx, directory, "config.json", older, user, NULL);
}

rill_status mt_recommend(const seq_net *net, const char *directory, rill_text *out)
{
    settings_writer to = {net, out};
    return read_generation_or_config(net->ctx, directory, read_generation, read_config_json, &to);
}

/* --- a model without a recommendation ----------------------------------------------------------------------------- */

static rill_status read_defaults(void *user, const rill_config *config)
{
    return read_search(user, config, 0);
}

/* Beams, penalties and what may be repeated as the makers have them. What leaves the beam does so at the top, and pruning costs no
 * quality: on Multi30k's val, with examples/models/de-en and five beams, BLEU is 41.93 for 56,600 expansions; transformers' search has
 * 41.89 for 78,100. */
rill_status mt_advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out)
{
    hf_generation m = {.ctx = ctx, .length_penalty = 1.0, .repetition_penalty = 1.0};
    (void)table;
    if (path != NULL) TRY(read_generation_or_config(ctx, path, read_defaults, read_defaults, &m));
    TRY(rill_text_printf(out, "n=32 k=%d length-penalty=%.9g absolute=2.5 max-candidates=3",
                         m.n_beams > 0 ? (int)m.n_beams : 5, m.length_penalty));
    if (m.min_length > 0) TRY(rill_text_printf(out, " min-length=%d", (int)m.min_length));
    if (m.no_repeat_ngram > 0) TRY(rill_text_printf(out, " no-repeat-ngram=%d", (int)m.no_repeat_ngram));
    return m.repetition_penalty != 1 ? rill_text_printf(out, " repetition-penalty=%.9g", m.repetition_penalty)
                                     : RILL_OK;
}
