/* Machine translation as a domain's table: what any model of pieces does is ../seq2seq's, and what is told here are the architectures. */
#include <string.h>

#include "config.h"
#include "foreign.h"
#include "model.h"
#include "mt.h"
#include "rnn.h"

#define TRANSFORMERS                                                                                                 \
    .several = "transformers", .net_size = sizeof(mt_net), .watches = 1, .configure = mt_configure, .load = mt_load, \
    .encode = mt_encode, .step = mt_step, .state = mt_state, .reach = mt_reach, .recommend = mt_recommend

static const seq_kind attentive = {TRANSFORMERS, .reads = SEQ_READS_PATH};

/* Their decoders have an SSRU or average attention. */
static const seq_kind successive = {TRANSFORMERS, .reads = SEQ_READS_PARENT};

/* Folders of CTranslate2. */
static const seq_kind converted = {.several = "transformers",
                                   .net_size = sizeof(mt_net),
                                   .reads = SEQ_READS_PATH,
                                   .watches = 1,
                                   .configure = mt_ct2_configure,
                                   .find_symbols = mt_ct2_symbols,
                                   .load = mt_load,
                                   .encode = mt_encode,
                                   .step = mt_step,
                                   .state = mt_state,
                                   .reach = mt_reach,
                                   .recommend = mt_recommend};

static const seq_kind recurrent = {
    .several = "recurrent models",
    .net_size = sizeof(rnn_net),
    .reads = SEQ_READS_PARENT,
    .watches = 1,
    .configure = rnn_configure,
    .load = rnn_load,
    .encode = rnn_encode,
    .step = rnn_step,
    .state = rnn_state,
};

typedef struct choice {
    rill_context *ctx;
    const seq_kind *kind;
} choice;

/* What is no recurrent model is for the others' configure() to look at; CTranslate2's folders name no type. */
static rill_status read_kind(void *user, const rill_config *config)
{
    choice *c = user;
    const char *type;
    mt_first_block first;
    TRY(rill_config_string_or(config, "model_type", "", &type));
    c->kind = type[0] == '\0' ? NULL : &recurrent;
    if (type[0] == '\0' || strcmp(type, "rnnsearch") == 0) return RILL_OK;
    TRY(mt_read_first_block(c->ctx, config, &first));
    c->kind = first == MT_SELF_ATTENTION ? &attentive : &successive;
    return RILL_OK;
}

static rill_status choose(rill_context *ctx, const char *directory, const seq_kind **out)
{
    choice c = {.ctx = ctx};
    int found;
    *out = NULL;
    TRY(rill_config_read(ctx, directory, "config.json", read_kind, &c, &found));
    if (c.kind == NULL && mt_is_ct2(directory)) c.kind = &converted;
    if (c.kind == NULL && found) c.kind = &attentive;
    *out = c.kind;
    if (*out != NULL) return RILL_OK;
    TRY(rill_foreign_fail(ctx, directory));
    return rill_config_read(ctx, directory, "config.json", read_kind, &c, NULL); /* which tells of the file */
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **model, rill_domain_info *info)
{
    (void)table;
    return seq_open("mt", choose, ctx, options, model, info);
}

static const char *const model_types[] = {"marian", "fsmt", "m2m_100", "mbart",     "bart",        "pegasus",
                                          "t5",     "mt5",  "umt5",    "rnnsearch", "ctranslate2", NULL};

const rill_domain rill_mt_domain = {
    SEQ_TABLE,
    .name = "mt",
    .summary =
        "encoder-decoder transformers from Hugging Face's and CTranslate2's folders: Marian, NLLB, mBART, T5 and others; recurrent models",
    .open = open_model,
    .metric = "bleu",
    .field = seq_field,
    .advise = mt_advise,
    .model_types = model_types,
};
