/* Test sets and how they are judged; see testset.h. */
#include "testset.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

rill_status cli_testset_check(const cli_testset *set, rill_context *ctx)
{
    if (set->judged && set->references.n != set->inputs.n)
        return rill_fail(ctx, RILL_ERR_INPUT,
                         "%" PRId64 " inputs, but %" PRId64 " references: they must correspond one to one",
                         set->inputs.n, set->references.n);
    return set->inputs.n > 0 ? RILL_OK : rill_fail(ctx, RILL_ERR_INPUT, "there are no inputs");
}

/* Small letters and a number behind them, as "c0": what stands for a name in a semantic parser's own form. */
static int is_placeholder(const char *word, size_t length)
{
    size_t letters = 0, digits = 0;
    while (letters < length && islower((unsigned char)word[letters])) letters++;
    while (letters + digits < length && isdigit((unsigned char)word[letters + digits])) digits++;
    return letters > 0 && digits > 0 && letters + digits == length;
}

/* The word at or behind *at; its length is 0 at the end. */
static const char *next_word(const char *text, size_t length, size_t *at, size_t *word)
{
    while (*at < length && text[*at] == ' ') ++*at;
    const char *begin = text + *at;
    for (*word = 0; *at < length && text[*at] != ' '; ++*at) ++*word;
    return begin;
}

static int has_word(const char *text, size_t length, const char *word, size_t n)
{
    size_t other;
    for (size_t at = 0; at < length;) {
        const char *found = next_word(text, length, &at, &other);
        if (other == n && !memcmp(found, word, n)) return 1;
    }
    return 0;
}

/* Outputs for text have the names again, and so would their references. */
void cli_own_form_see(cli_own_form *f, const char *input, size_t length, const char *reference, size_t wanted)
{
    size_t n;
    f->of++;
    for (size_t at = 0; at < wanted;) {
        const char *word = next_word(reference, wanted, &at, &n);
        if (!is_placeholder(word, n) || !has_word(input, length, word, n)) continue;
        if (f->pairs++ == 0) snprintf(f->first, sizeof f->first, "%.*s", (int)n, word);
        return;
    }
}

void cli_own_form_tell(const cli_own_form *f, cli_say_fn say)
{
    if (2 * f->pairs > f->of)
        say("warning: %" PRId64 " of %" PRId64
            " inputs have placeholders of their references, such as %s: the set is in "
            "the model's own form, which --tokenized reads as it is",
            f->pairs, f->of, f->first);
}

static void tell_own_form(const cli_testset *set, cli_say_fn say)
{
    cli_own_form f = {0};
    size_t length, wanted;
    for (int64_t i = 0; i < set->references.n; i++) {
        const char *input = cli_lines_get(&set->inputs, i, &length);
        const char *reference = cli_lines_get(&set->references, i, &wanted);
        cli_own_form_see(&f, input, length, reference, wanted);
    }
    cli_own_form_tell(&f, say);
}

rill_status cli_testset_judge(cli_testset *set, rill_context *ctx, const rill_domain *domain, int tokenized,
                              cli_say_fn say)
{
    if (!set->kind) set->kind = cli_metric_of_domain(domain);
    if (set->judged && !tokenized && set->kind == &cli_metric_exact) tell_own_form(set, say);
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
