/* Inputs in memory with references, if there are any, and what came of decoding them once. */
#ifndef CLI_TESTSET_H
#define CLI_TESTSET_H

#include "metric.h"

typedef struct cli_testset {
    cli_lines inputs, references;
    cli_metric metric;
    const cli_metric_kind *kind; /* asked for; NULL: the one that suits the domain */
    int has_references;          /* there are references */
} cli_testset;

/* Are there inputs, and as many references where these are asked for? RILL_OK · RILL_ERR_INPUT */
rill_status cli_testset_check(const cli_testset *set, rill_context *ctx);
/* Settle the metric and make ready to judge outputs by the references, if there are any. Where these show that the inputs are in the
 * model's own form, which the model is not told (`tokenized`), that is said. As cli_metric_open(). */
rill_status cli_testset_open_metric(cli_testset *set, rill_context *ctx, const rill_domain *domain, int tokenized,
                                    cli_message_fn message);
/* What outputs are judged by; NULL when they are not. */
static inline const cli_metric_kind *cli_testset_metric(const cli_testset *set)
{
    return set->has_references ? set->metric.kind : NULL;
}
/* Accepts a zeroed set. */
void cli_testset_free(cli_testset *set);

/* Pairs that have a placeholder, as "c0", on both sides: of a semantic parser's data in token form. */
typedef struct cli_placeholders {
    int64_t n_placeholder_pairs, n_pairs;
    char first_placeholder[32];
} cli_placeholders;

void cli_placeholders_count(cli_placeholders *f, const char *input, size_t length, const char *reference,
                            size_t wanted);
/* A warning where most are: for models that exact matches are counted of, and that are not told of the form. */
void cli_placeholders_warn(const cli_placeholders *f, cli_message_fn message);

/* One decode of all inputs. */
typedef struct cli_trial {
    cli_counts counts;
    rill_stats stats;
    rill_settings settings;      /* as the engine resolved them */
    double seconds;              /* of the whole decode */
    struct cli_profile *profile; /* in: NULL, or where to add what operations cost */
    json_t *rows; /* in: NULL, or an object for timesteps by rows, {"12": 3}; out: NULL when there was no memory */
} cli_trial;

/* Judge the outputs of input result->id and add what came of it. RILL_OK · RILL_ERR_MEMORY (recorded) */
rill_status cli_testset_add_result(cli_testset *set, const rill_result *result, cli_counts *counts);

/* A hash of an input's outputs with their scores: good enough to tell outputs apart, and short. */
uint64_t cli_result_hash(const rill_result *result);

#endif
