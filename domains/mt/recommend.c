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

#include "config.h"
#include "model.h"

enum { MOST_BEAMS = 65536, MOST_LENGTH = 1 << 20 };

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct makers {
    rill_context *ctx;
    int forced;         /* outputs end at the length limit, whatever the model says */
    int64_t beams;      /* 0: not said */
    int64_t min_length; /* actions before the end */
    double penalty;
    int64_t ngram; /* no n-gram of that length twice; 0: any may be */
    double repetition;
    const char *stop; /* the setting that early_stopping is */
    int32_t end;      /* the end symbol; -1: not known */
    int ends_suppressed;
    char ignored[600];
} makers;

/* early_stopping is false, true or "never". */
static rill_status read_stop(makers *m, const rill_config *config)
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
static rill_status read_search(makers *m, const rill_config *config, int forced)
{
    int64_t least, end;
    TRY(rill_config_int_or(config, "num_beams", 1, MOST_BEAMS, 0, &m->beams));
    TRY(rill_config_int_or(config, "min_length", 0, MOST_LENGTH, 0, &least));
    TRY(rill_config_int_or(config, "min_new_tokens", 0, MOST_LENGTH, least > 0 ? least - 1 : 0, &m->min_length));
    TRY(rill_config_int_or(config, "forced_eos_token_id", 0, INT32_MAX, forced ? 0 : -1, &end));
    TRY(rill_config_number_or(config, "length_penalty", -25, 25, 1.0, &m->penalty));
    TRY(rill_config_int_or(config, "no_repeat_ngram_size", 0, MOST_LENGTH, 0, &m->ngram));
    TRY(rill_config_number_or(config, "repetition_penalty", 1e-3, 1e3, 1.0, &m->repetition));
    m->forced = end >= 0;
    return read_stop(m, config);
}

/* --- what nobody heeds -------------------------------------------------------------------------------------------- */

static void ignore(makers *m, const char *key)
{
    const size_t used = strlen(m->ignored);
    snprintf(m->ignored + used, sizeof m->ignored - used, "%s%s", used > 0 ? ", " : "", key);
}

static rill_status see_end(void *user, const int64_t *value, size_t n)
{
    makers *m = user;
    if (n == 1 && value[0] == m->end) m->ends_suppressed = 1;
    return RILL_OK;
}

/* What is forbidden is never chosen (bans.c), but for the end: of bad_words_ids transformers leaves it out too. */
static rill_status ignore_bans(makers *m, const rill_config *config)
{
    TRY(rill_config_each_list(config, "suppress_tokens", see_end, m));
    if (m->ends_suppressed) ignore(m, "suppress_tokens");
    return RILL_OK;
}

/* Keys that change outputs, with the number that means nothing; those of sampling do so only where that is on. What is drawn there is
 * drawn by a generator of its own, so no setting gives the same; groups are searched by a repository's code, and not by transformers
 * itself, from its version 5 on. */
static rill_status find_ignored(makers *m, const rill_config *config)
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
    const int sampling = rill_config_says(config, "do_sample", 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if ((sampling || !keys[i].sampling) && rill_config_says(config, keys[i].key, keys[i].nothing))
            ignore(m, keys[i].key);
    TRY(ignore_bans(m, config));
    if (m->ignored[0] == '\0') return RILL_OK;
    const int groups = rill_config_says(config, "num_beam_groups", 1) ||
                       rill_config_says(config, "diversity_penalty", 0);
    rill_log(m->ctx, RILL_LOG_WARNING, "%s: not followed, though it changes outputs: %s%s%s", rill_config_name(config),
             m->ignored, sampling ? "; the settings sample, temperature, top-k and top-p draw outputs" : "",
             groups ? "; the settings groups and diversity search in groups" : "");
    return RILL_OK;
}

/* --- decoding as transformers does -------------------------------------------------------------------------------- */

/* Without num_beams transformers searches greedily, which no one asks for who asks for its beam search; a file that says 1 does. */
static void write_beams(const makers *m, char *out, size_t size)
{
    out[0] = '\0';
    if (m->beams > 0) snprintf(out, size, "k=%d ", (int)m->beams);
}

typedef struct receiver {
    const seq_net *net;
    rill_text *out;
} receiver;

static rill_status recommend(receiver *to, const rill_config *config, int forced)
{
    makers m = {.ctx = to->net->ctx, .end = to->net->end};
    char k[32];
    TRY(read_search(&m, config, forced));
    TRY(find_ignored(&m, config));
    write_beams(&m, k, sizeof k);
    const int32_t most = to->net->max_length - m.forced;
    return rill_text_printf(
        to->out,
        "%slength-penalty=%.9g stop=%s at-limit=%s max-length=%d min-length=%d no-repeat-ngram=%d repetition-penalty=%.9g",
        k, m.penalty, m.beams == 1 ? "count" : m.stop, m.forced ? "end-free" : "first", most > 0 ? most : 1,
        (int)m.min_length, (int)m.ngram, m.repetition);
}

static rill_status read_generation(void *user, const rill_config *config)
{
    return recommend(user, config, 0);
}

static rill_status read_older(void *user, const rill_config *config)
{
    const receiver *to = user;
    return recommend(user, config, strcmp(mt_net_of(to->net)->settings.family->type, "fsmt") == 0);
}

/* Reads generation_config.json, or else config.json. */
static rill_status read_either(rill_context *ctx, const char *directory, rill_config_fn generation,
                               rill_config_fn older, void *user)
{
    int found;
    TRY(rill_config_read(ctx, directory, "generation_config.json", generation, user, &found));
    return found ? RILL_OK : rill_config_read(ctx, directory, "config.json", older, user, NULL);
}

rill_status mt_recommend(const seq_net *net, const char *directory, rill_text *out)
{
    receiver to = {net, out};
    return read_either(net->ctx, directory, read_generation, read_older, &to);
}

/* --- a model without a recommendation ----------------------------------------------------------------------------- */

static rill_status read_advice(void *user, const rill_config *config)
{
    return read_search(user, config, 0);
}

/* Beams, penalties and what may be repeated as the makers have them. What leaves the beam does so at the top, and pruning costs no
 * quality: on Multi30k's val, with examples/models/de-en and five beams, BLEU is 41.93 for 56,600 expansions; transformers' search has
 * 41.89 for 78,100. */
rill_status mt_advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out)
{
    makers m = {.ctx = ctx, .penalty = 1.0, .repetition = 1.0};
    (void)table;
    if (path != NULL) TRY(read_either(ctx, path, read_advice, read_advice, &m));
    TRY(rill_text_printf(out, "n=32 k=%d length-penalty=%.9g absolute=2.5 max-candidates=3",
                         m.beams > 0 ? (int)m.beams : 5, m.penalty));
    if (m.min_length > 0) TRY(rill_text_printf(out, " min-length=%d", (int)m.min_length));
    if (m.ngram > 0) TRY(rill_text_printf(out, " no-repeat-ngram=%d", (int)m.ngram));
    return m.repetition != 1 ? rill_text_printf(out, " repetition-penalty=%.9g", m.repetition) : RILL_OK;
}
