/* How good outputs are against references.
 *
 * A metric judges one output at a time and gives a tally, counts that add up over inputs; its value is a percentage made of a
 * tally, of one output or of all. So a test set's figure is that of the sum, as corpus BLEU and labelled bracketing want it, and the
 * oracle's is that of the sum over each input's best output. */
#ifndef CLI_METRIC_H
#define CLI_METRIC_H

#include <stdint.h>

#include <jansson.h>

#include "lines.h"
#include "rill/plugin.h"
#include "rill/rill.h"

enum { CLI_TALLY_MAX = 10 };
typedef struct cli_tally {
    int64_t part[CLI_TALLY_MAX];
} cli_tally;

/* Sums over a test set: of the first output of each input, and of its best. */
typedef struct cli_counts {
    int64_t inputs, missing; /* missing: without any output */
    cli_tally first, best;
} cli_counts;

typedef struct cli_metric cli_metric;

/* Takes a sentence without a line feed. */
typedef void (*cli_message_fn)(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct cli_metric_kind {
    const char *name, *summary;
    const char *heading; /* of its column in a table, at most 6 characters */
    /* Make metric->own from the references. RILL_OK, or what was recorded in the context. */
    rill_status (*open)(cli_metric *metric, const cli_lines *references);
    /* What the text gives as the output for reference i; text NULL: there was no output. 0, or -1 when out of memory (recorded
     * in the context). */
    int (*judge)(cli_metric *metric, int64_t i, const char *text, size_t length, cli_tally *out);
    double (*value)(const cli_tally *sum); /* percent, of a sum over inputs */
    double (*output_value)(
        const cli_tally *tally); /* of one output: more is better. The oracle takes the first of the best */
    /* A report: lines, which are appended, and members of an object besides the percentages. */
    rill_status (*report)(const cli_counts *counts, rill_text *out);
    void (*fill_json)(const cli_counts *counts, json_t *object);
    void (*close)(cli_metric *metric); /* accepts a metric whose own is NULL */
} cli_metric_kind;

struct cli_metric {
    const cli_metric_kind *kind;
    rill_context *ctx;
    const rill_domain *domain; /* may be NULL */
    int64_t n;                 /* references */
    cli_message_fn message;    /* told what is wrong with outputs; may be NULL */
    void *data;                /* the kind's */
};

extern const cli_metric_kind cli_metric_exact, cli_metric_bleu, cli_metric_bracket;
extern const cli_metric_kind *const cli_metrics[]; /* all kinds, ended by NULL */

/* The metric of that name. NULL: there is none, and `why` says which there are. */
const cli_metric_kind *cli_metric_find(const char *name, char *why, size_t size);

/* The one that suits a domain: what it says itself, else exact match. `domain` may be NULL. */
const cli_metric_kind *cli_metric_for_domain(const rill_domain *domain);

/* kind NULL: the one that suits the domain. The references are borrowed; the metric is to be closed, after a failure too.
 *   RILL_OK · RILL_ERR_INPUT (a reference is none) · RILL_ERR_MEMORY */
rill_status cli_metric_open(cli_metric *metric, rill_context *ctx, const cli_metric_kind *kind,
                            const rill_domain *domain, const cli_lines *references, cli_message_fn message);
int cli_metric_judge(cli_metric *metric, int64_t i, const char *text, size_t length, cli_tally *out);
/* Accepts a zeroed metric. */
void cli_metric_close(cli_metric *metric);

/* What is known of one input: the tally of its first output and the best of all that were shown. */
typedef struct cli_verdict {
    cli_tally first, best;
    int n_outputs; /* outputs */
} cli_verdict;

/* Show one more output of input i; text NULL says that there is none. 0, or -1 when out of memory (recorded). */
int cli_verdict_add(cli_verdict *verdict, cli_metric *metric, int64_t i, const char *text, size_t length);
void cli_counts_add(cli_counts *counts, const cli_verdict *verdict);

/* Percent, by the metric, of the first outputs or of the best ones. */
double cli_quality(const cli_metric_kind *kind, const cli_counts *counts, int oracle);

/* Set "metric", the figure under the metric's name, "oracle", and what else the kind tells. */
void cli_quality_json(const cli_metric_kind *kind, const cli_counts *counts, json_t *object);

static inline double cli_percent(int64_t part, int64_t total)
{
    return total > 0 ? 100.0 * (double)part / (double)total : 0;
}

#endif
