/* Reading and decoding test sets; see testset.h. */
#include "testset.h"

#include <inttypes.h>
#include <string.h>

#include "crew.h"
#include "interrupt.h"

/* --- files -------------------------------------------------------------------------------------------------------- */

int cli_testset_load(cli_testset *set, rill_context *ctx, const cli_testset_files *files)
{
    int code = CLI_OK;
    if (files->tsv) code = cli_lines_load_columns(&set->inputs, &set->references, ctx, files->tsv);
    if (code == CLI_OK && files->input) {
        cli_lines_free(&set->inputs);
        code = cli_lines_load(&set->inputs, ctx, files->input);
    }
    if (code == CLI_OK && files->references) code = cli_lines_load(&set->references, ctx, files->references);
    set->judged = files->references || files->tsv;
    if (code == CLI_OK && set->judged && set->references.n != set->inputs.n)
        return cli_fail("%" PRId64 " inputs, but %" PRId64 " references: they must correspond one to one",
                        set->inputs.n, set->references.n);
    if (code == CLI_OK && set->inputs.n == 0) return cli_fail("there are no inputs");
    return code;
}

int cli_testset_judge(cli_testset *set, rill_context *ctx, const rill_domain *domain)
{
    if (!set->kind) set->kind = cli_metric_of_domain(domain);
    return set->judged ? cli_metric_open(&set->metric, ctx, set->kind, domain, &set->references) : CLI_OK;
}

void cli_testset_free(cli_testset *set)
{
    cli_metric_close(&set->metric);
    cli_lines_free(&set->inputs);
    cli_lines_free(&set->references);
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

typedef struct memory_input {
    const cli_lines *lines;
    int64_t next;
} memory_input;

static rill_status read_line(void *user, int may_block, const char **text, size_t *length)
{
    memory_input *input = user;
    (void)may_block;
    if (input->next == input->lines->n) return RILL_END_OF_INPUT;
    *text = cli_lines_get(input->lines, input->next++, length);
    return RILL_OK;
}

static rill_status drop_result(void *user, const rill_result *result)
{
    (void)user;
    (void)result;
    return cli_interrupted() ? RILL_ERR_STOPPED : RILL_OK;
}

/* FNV-1a: good enough to tell outputs apart, and short. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_result(const rill_result *result)
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

typedef struct judge {
    cli_testset *set;
    cli_counts *counts;
    uint64_t *hash;
} judge;

static rill_status judge_result(void *user, const rill_result *result)
{
    judge *j = user;
    cli_verdict verdict = {0};
    int32_t outputs = result->status < 0 ? 0 : result->n;
    if (cli_interrupted()) return RILL_ERR_STOPPED;
    if (j->hash) j->hash[result->id] = hash_result(result);
    for (int32_t i = 0; j->set->judged && i < outputs; i++)
        if (cli_verdict_take(&verdict, &j->set->metric, result->id, result->output[i].text, result->output[i].length) <
            0)
            return RILL_ERR_MEMORY;
    if (j->set->judged && outputs == 0 && cli_verdict_take(&verdict, &j->set->metric, result->id, NULL, 0) < 0)
        return RILL_ERR_MEMORY;
    verdict.seen = outputs > 0;
    cli_counts_add(j->counts, &verdict);
    return RILL_OK;
}

static rill_status decode(cli_session *session, cli_testset *set, const rill_plan *plan, const rill_engine_setup *setup,
                          rill_write_fn write, void *user, cli_trial *out)
{
    memory_input input = {&set->inputs, 0};
    cli_crew_run run = {
        .read = read_line, .read_user = &input, .write = write, .write_user = user, .profile = out->profile};
    rill_status status = cli_crew_decode(session, plan, setup, &run);
    out->settings = run.settings;
    out->stats = run.stats;
    out->seconds = run.seconds;
    return status;
}

rill_status cli_trial_judge(cli_session *session, cli_testset *set, const rill_plan *plan, uint64_t *hash,
                            cli_trial *out)
{
    rill_engine_setup setup = plan->setup;
    judge j = {set, &out->counts, hash};
    out->counts = (cli_counts){0};
    if (plan->resolved.k > setup.settings.n_best) setup.settings.n_best = plan->resolved.k;
    return decode(session, set, plan, &setup, judge_result, &j, out);
}

rill_status cli_trial_time(cli_session *session, cli_testset *set, const rill_plan *plan, cli_trial *out)
{
    return decode(session, set, plan, &plan->setup, drop_result, NULL, out);
}
