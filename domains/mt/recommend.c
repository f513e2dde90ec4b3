/* What a model's makers recommend for decoding as transformers does: the search part of its generation configuration, in the
 * engine's settings.
 *
 * Source: transformers' generation/configuration_utils.py and utils.py. generation_config.json says it all where there is one;
 * older folders have the keys in config.json, and of these FSMT's leave out the forced end. Lengths count the start symbol
 * there, and a forced end, which is not an action here. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "model.h"

enum { MOST_BEAMS = 65536, MOST_LENGTH = 1 << 20 };

/* early_stopping is false, true or "never". */
static rill_status read_stop(mt_model *m, const rill_config *config, const char **stop)
{
    int early;
    const char *word;
    *stop = "bound";
    if (rill_config_bool_or(config, "early_stopping", 0, &early) == RILL_OK) {
        if (early) *stop = "count";
        return RILL_OK;
    }
    rill_error_clear(m->ctx);
    TRY(rill_config_string_or(config, "early_stopping", "", &word));
    if (strcmp(word, "never") != 0)
        return rill_fail(m->ctx, RILL_ERR_FORMAT,
                         "%s: early_stopping: expected true, false or \"never\", found \"%.40s\"",
                         rill_config_name(config), word);
    *stop = "bound-max";
    return RILL_OK;
}

static rill_status read_search(mt_model *m, const rill_config *config, int forced_by_default)
{
    int64_t beams, least, forced;
    double penalty;
    const char *stop;
    char k[32] = "";
    TRY(rill_config_int_or(config, "num_beams", 1, MOST_BEAMS, 1, &beams));
    TRY(rill_config_int_or(config, "min_length", 0, MOST_LENGTH, 0, &least));
    TRY(rill_config_int_or(config, "forced_eos_token_id", 0, m->net[0].decoder.words - 1, forced_by_default ? 0 : -1,
                           &forced));
    TRY(rill_config_number_or(config, "length_penalty", -100, 100, 1.0, &penalty));
    TRY(read_stop(m, config, &stop));
    /* One beam is what no one set. */
    if (beams > 1) snprintf(k, sizeof k, "k=%d ", (int)beams);
    int32_t most = m->net[0].max_length - (forced >= 0);
    snprintf(m->recommended, sizeof m->recommended,
             "%slength-penalty=%.9g stop=%s at-limit=%s max-length=%d min-length=%d", k, penalty, stop,
             forced >= 0 ? "end-free" : "first", most > 0 ? most : 1, (int)(least > 0 ? least - 1 : 0));
    return RILL_OK;
}

static rill_status read_generation(void *user, const rill_config *config)
{
    return read_search(user, config, 0);
}

static rill_status read_older(void *user, const rill_config *config)
{
    mt_model *m = user;
    return read_search(m, config, m->net[0].settings.kind == MT_FSMT);
}

rill_status mt_load_recommended(mt_model *m, const char *directory)
{
    int found;
    TRY(rill_config_read(m->ctx, directory, "generation_config.json", read_generation, m, &found));
    return found ? RILL_OK : rill_config_read(m->ctx, directory, "config.json", read_older, m, NULL);
}
