/* Test sets and their evaluation; see testset.h. */
#include "testset.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

rill_status cli_testset_check(const cli_testset *set, rill_context *ctx)
{
    if (set->has_references && set->references.n != set->inputs.n)
        return rill_fail(ctx, RILL_ERR_INPUT, "%" PRId64 " inputs and %" PRId64 " references: expected equal numbers",
                         set->inputs.n, set->references.n);
    return set->inputs.n > 0 ? RILL_OK : rill_fail(ctx, RILL_ERR_INPUT, "the file has no inputs");
}

/* Whether a word is a placeholder for a name in the token form of a semantic parser: lower-case letters and digits, as "c0". */
static int is_placeholder(const char *word, size_t length)
{
    size_t letters = 0, digits = 0;
    while (letters < length && islower((unsigned char)word[letters])) letters++;
    while (letters + digits < length && isdigit((unsigned char)word[letters + digits])) digits++;
    return letters > 0 && digits > 0 && letters + digits == length;
}

/* The next word from *pos on; its length is 0 at the end. */
static const char *next_word(const char *text, size_t length, size_t *pos, size_t *word)
{
    while (*pos < length && text[*pos] == ' ') ++*pos;
    const char *begin = text + *pos;
    for (*word = 0; *pos < length && text[*pos] != ' '; ++*pos) ++*word;
    return begin;
}

static int has_word(const char *text, size_t length, const char *word, size_t n)
{
    size_t other;
    for (size_t pos = 0; pos < length;) {
        const char *found = next_word(text, length, &pos, &other);
        if (other == n && !memcmp(found, word, n)) return 1;
    }
    return 0;
}

/* Count a pair, and whether a placeholder of the reference occurs in its input. In text form, both would have names instead. */
void cli_placeholders_count(cli_placeholders *f, const char *input, size_t length, const char *reference, size_t wanted)
{
    size_t n;
    f->n_pairs++;
    for (size_t pos = 0; pos < wanted;) {
        const char *word = next_word(reference, wanted, &pos, &n);
        if (!is_placeholder(word, n) || !has_word(input, length, word, n)) continue;
        if (f->n_placeholder_pairs++ == 0)
            snprintf(f->first_placeholder, sizeof f->first_placeholder, "%.*s", (int)n, word);
        return;
    }
}

void cli_placeholders_warn(const cli_placeholders *f, cli_message_fn message)
{
    if (2 * f->n_placeholder_pairs > f->n_pairs)
        message(
            "warning: %" PRId64 " of %" PRId64
            " inputs contain placeholders of their references, such as %s: the set seems to be tokenized: set --tokenized",
            f->n_placeholder_pairs, f->n_pairs, f->first_placeholder);
}

static void warn_placeholders(const cli_testset *set, cli_message_fn message)
{
    cli_placeholders f = {0};
    size_t length, wanted;
    for (int64_t i = 0; i < set->references.n; i++) {
        const char *input = cli_lines_get(&set->inputs, i, &length);
        const char *reference = cli_lines_get(&set->references, i, &wanted);
        cli_placeholders_count(&f, input, length, reference, wanted);
    }
    cli_placeholders_warn(&f, message);
}

rill_status cli_testset_open_metric(cli_testset *set, rill_context *ctx, const rill_domain *domain, int tokenized,
                                    cli_message_fn message)
{
    if (!set->kind) set->kind = cli_metric_for_domain(domain);
    if (set->has_references && !tokenized && set->kind == &cli_metric_exact) warn_placeholders(set, message);
    return set->has_references ? cli_metric_open(&set->metric, ctx, set->kind, domain, &set->references, message)
                               : RILL_OK;
}

void cli_testset_free(cli_testset *set)
{
    cli_metric_close(&set->metric);
    cli_lines_free(&set->inputs);
    cli_lines_free(&set->references);
}

rill_status cli_testset_add_result(cli_testset *set, const rill_result *result, cli_counts *counts)
{
    cli_verdict verdict = {0};
    const int32_t outputs = result->status < 0 ? 0 : result->n_outputs;
    for (int32_t i = 0; set->has_references && i < (outputs > 0 ? outputs : 1); i++) {
        const rill_output *o = outputs > 0 ? rill_result_output(result, i) : NULL;
        if (cli_verdict_add(&verdict, &set->metric, result->id, o ? o->text : NULL, o ? o->text_bytes : 0) < 0)
            return RILL_ERR_MEMORY;
    }
    verdict.n_outputs = outputs > 0;
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
    for (int32_t i = 0; i < result->n_outputs; i++) {
        const rill_output *o = rill_result_output(result, i);
        hash = hash_bytes(hash, o->text, o->text_bytes + 1);
        hash = hash_bytes(hash, &o->path_score, sizeof o->path_score);
        hash = hash_bytes(hash, &o->logp, sizeof o->logp);
        hash = hash_bytes(hash, o->ids, (size_t)o->n_ids * sizeof *o->ids);
        hash = hash_bytes(hash, o->id_logps, (size_t)o->n_ids * sizeof *o->id_logps);
    }
    return hash;
}
