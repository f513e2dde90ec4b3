/* Test sets and how they are judged; see testset.h. */
#include "testset.h"

#include <inttypes.h>

rill_status cli_testset_check(const cli_testset *set, rill_context *ctx)
{
    if (set->judged && set->references.n != set->inputs.n)
        return rill_fail(ctx, RILL_ERR_INPUT,
                         "%" PRId64 " inputs, but %" PRId64 " references: they must correspond one to one",
                         set->inputs.n, set->references.n);
    return set->inputs.n > 0 ? RILL_OK : rill_fail(ctx, RILL_ERR_INPUT, "there are no inputs");
}

rill_status cli_testset_judge(cli_testset *set, rill_context *ctx, const rill_domain *domain, cli_say_fn say)
{
    if (!set->kind) set->kind = cli_metric_of_domain(domain);
    return set->judged ? cli_metric_open(&set->metric, ctx, set->kind, domain, &set->references, say) : RILL_OK;
}

void cli_testset_free(cli_testset *set)
{
    cli_metric_close(&set->metric);
    cli_lines_free(&set->inputs);
    cli_lines_free(&set->references);
}

rill_status cli_testset_take(cli_testset *set, const rill_result *result, cli_counts *counts)
{
    cli_verdict verdict = {0};
    const int32_t outputs = result->status < 0 ? 0 : result->n;
    for (int32_t i = 0; set->judged && i < (outputs > 0 ? outputs : 1); i++) {
        const rill_output *o = outputs > 0 ? &result->output[i] : NULL;
        if (cli_verdict_take(&verdict, &set->metric, result->id, o ? o->text : NULL, o ? o->length : 0) < 0)
            return RILL_ERR_MEMORY;
    }
    verdict.seen = outputs > 0;
    cli_counts_add(counts, &verdict);
    return RILL_OK;
}

/* FNV-1a. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

uint64_t cli_result_hash(const rill_result *result)
{
    uint64_t hash = 14695981039346656037u;
    hash = hash_bytes(hash, &result->status, sizeof result->status);
    for (int32_t i = 0; i < result->n; i++) {
        const rill_output *o = &result->output[i];
        hash = hash_bytes(hash, o->text, o->length + 1);
        hash = hash_bytes(hash, &o->score, sizeof o->score);
        hash = hash_bytes(hash, &o->logp, sizeof o->logp);
        hash = hash_bytes(hash, o->action, (size_t)o->n_actions * sizeof *o->action);
        hash = hash_bytes(hash, o->action_logp, (size_t)o->n_actions * sizeof *o->action_logp);
    }
    return hash;
}
