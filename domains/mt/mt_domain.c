/* The machine translation domain: its table of functions, and the choice of a model's architecture. */
#include <string.h>

#include "config_json.h"
#include "mt.h"

#define TRANSFORMERS                                                                                \
    .plural_name = "transformers", .net_size = sizeof(mt_net), .has_alignment = 1, .load = mt_load, \
    .encode = mt_encode, .step = mt_step, .decoder_output = mt_decoder_output,                      \
    .prepare_positions = mt_prepare_positions, .recommend = mt_recommend

static const seq_arch transformer_arch = {TRANSFORMERS, .state_need = SEQ_NEEDS_PATH, .configure = mt_configure};

/* Transformers whose decoder has an SSRU or average attention instead of self-attention. */
static const seq_arch recurrent_decoder_arch = {TRANSFORMERS, .state_need = SEQ_NEEDS_PARENT,
                                                .configure = mt_configure};

/* Transformers in CTranslate2 directories. */
static const seq_arch ct2_arch = {TRANSFORMERS, .state_need = SEQ_NEEDS_PATH, .configure = mt_ct2_configure,
                                  .find_special_tokens = mt_ct2_find_special_tokens};

/* Choose the architecture by model_type. mt_configure() reports unknown types; CTranslate2 directories have no
 * model_type, and the architecture is then NULL. */
static rill_status read_arch(void *user, const rill_config *config)
{
    const seq_arch **arch = user;
    const char *type;
    mt_decoder_block first;
    TRY(rill_config_string_or(config, "model_type", "", &type));
    *arch = type[0] == '\0' ? NULL : &rnn_arch;
    if (type[0] == '\0' || strcmp(type, "rnnsearch") == 0) return RILL_OK;
    TRY(mt_read_decoder_block(config, &first));
    *arch = first == MT_SELF_ATTENTION ? &transformer_arch : &recurrent_decoder_arch;
    return RILL_OK;
}

static rill_status choose_arch(rill_context *ctx, const char *directory, const seq_arch **out)
{
    int found;
    *out = NULL;
    TRY(rill_config_read(ctx, directory, "config.json", read_arch, out, &found));
    if (*out == NULL && mt_is_ct2(directory)) *out = &ct2_arch;
    if (*out == NULL && found) *out = &transformer_arch;
    if (*out != NULL) return RILL_OK;
    TRY(rill_unsupported_format_fail(ctx, directory));
    return rill_config_read(ctx, directory, "config.json", read_arch, out, NULL); /* fails if the file is missing */
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **model, rill_domain_info *info)
{
    (void)table;
    return seq_open("mt", choose_arch, ctx, options, model, info);
}

static const char *const model_types[] = {"marian", "fsmt", "m2m_100", "mbart",     "bart",        "pegasus",
                                          "t5",     "mt5",  "umt5",    "rnnsearch", "ctranslate2", NULL};

const rill_domain rill_mt_domain = {
    SEQ_DOMAIN_CALLBACKS,
    .name = "mt",
    .summary = "encoder-decoder transformers from folders of Hugging Face and CTranslate2: Marian, NLLB, mBART, T5 and "
               "others; recurrent models",
    .open = open_model,
    .metric = "bleu",
    .features = RILL_TAKES_ENSEMBLES | RILL_FIXED_AS_FAIRSEQ,
    .field = seq_field,
    .advise = mt_advise,
    .model_types = model_types,
};
