/* Machine translation with transformers, as a domain's table: what any model of pieces does is ../seq2seq's, and what is told here is
 * the architecture. */
#include "model.h"
#include "mt.h"

static const seq_kind transformers = {
    .domain = "mt",
    .several = "transformers",
    .net_size = sizeof(mt_net),
    .state_need = RILL_STATE_PATH,
    .watches = 1,
    .configure = mt_configure,
    .load = mt_load,
    .encode = mt_encode,
    .step = mt_step,
    .state = mt_state,
    .reach = mt_reach,
    .recommend = mt_recommend,
};

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **model, rill_domain_info *info)
{
    (void)table;
    return seq_open(&transformers, ctx, options, model, info);
}

static const char *const model_types[] = {"marian", "fsmt", NULL};

const rill_domain rill_mt_domain = {
    SEQ_TABLE,
    .name = "mt",
    .summary = "machine translation: Marian and FSMT transformers from Hugging Face directories",
    .open = open_model,
    .metric = "bleu",
    .field = seq_field,
    .advise = mt_advise,
    .model_types = model_types,
};
