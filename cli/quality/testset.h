/* A test set in memory: inputs, optional references, and the evaluation of one decode. */
#ifndef CLI_TESTSET_H
#define CLI_TESTSET_H

#include "metric.h"

typedef struct cli_testset {
    cli_lines inputs, references;
    cli_metric metric;
    const cli_metric_kind *kind; /* chosen by the user; NULL: the domain's metric */
    int has_references;
} cli_testset;

/* Check that there are inputs, and as many references if there are any. RILL_OK · RILL_ERR_INPUT */
rill_status cli_testset_check(const cli_testset *set, rill_context *ctx);
/* Choose the metric and open it for the references. Warns if the references show that the data is in token form while `tokenized` is
 * off. Without references nothing is opened. Returns as cli_metric_open(). */
rill_status cli_testset_open_metric(cli_testset *set, rill_context *ctx, const rill_domain *domain, int tokenized,
                                    cli_message_fn message);
/* The metric of the evaluation; NULL if there are no references. */
static inline const cli_metric_kind *cli_testset_metric(const cli_testset *set)
{
    return set->has_references ? set->metric.kind : NULL;
}
/* Free memory; accepts a zeroed set. */
void cli_testset_free(cli_testset *set);

/* Counts pairs that have a placeholder, as "c0", on both sides: data of a semantic parser in token form. */
typedef struct cli_placeholders {
    int64_t n_placeholder_pairs, n_pairs;
    char first_placeholder[32];
} cli_placeholders;

void cli_placeholders_count(cli_placeholders *f, const char *input, size_t length, const char *reference,
                            size_t wanted);
/* Warn if most pairs have placeholders. Call it for models that are evaluated by exact match and opened without --tokenized. */
void cli_placeholders_warn(const cli_placeholders *f, cli_message_fn message);

/* One decode of all inputs. */
typedef struct cli_trial {
    cli_counts counts;
    rill_stats stats;
    rill_settings settings;      /* as resolved by the engine */
    double seconds;              /* time of the whole decode */
    struct cli_profile *profile; /* in: NULL, or the profile to add to */
    json_t *rows; /* in: NULL, or an object for timesteps by rows, {"12": 3}; out: NULL when out of memory */
} cli_trial;

/* Evaluate the outputs of input result->id and add them to the counts. RILL_OK · RILL_ERR_MEMORY, with the error in the context */
rill_status cli_testset_add_result(cli_testset *set, const rill_result *result, cli_counts *counts);

/* Hash of an input's outputs and their scores, to compare results. */
uint64_t cli_result_hash(const rill_result *result);

#endif
