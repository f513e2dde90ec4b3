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
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_domain),
    .name = "mt",
    .summary = "machine translation: Marian and FSMT transformers from Hugging Face directories",
    .open = open_model,
    .close = seq_close,
    .start = seq_start,
    .stop = seq_stop,
    .reserve = seq_reserve,
    .encode = seq_encode,
    .step = seq_step,
    .score = seq_score,
    .finalize = seq_finalize,
    .drop = rill_runner_drop,
    .action_name = seq_action_name,
    .find_action = seq_find_action,
    .unknown_action = seq_unknown_action,
    .tokenize = seq_tokenize,
    .recommend = seq_recommend,
    .metric = "bleu",
    .features = RILL_TAKES_ENSEMBLES,
    .field = seq_field,
    .profile = rill_runner_profile,
    .profiled = rill_runner_profiled,
    .limits = rill_runner_limits,
    .advise = mt_advise,
    .options = seq_options,
    .model_types = model_types,
};
