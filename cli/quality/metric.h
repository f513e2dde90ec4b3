/* Metrics: quality of outputs compared with references. A metric counts per output, and computes a percentage from sums of counts
 * (tallies). */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "domain_base.h"
#include "rill/plugin.h"
#include "rill/rill.h"

/* Grow an array to at least `need` elements of `size` bytes. block: address of a pointer to malloc() memory. Returns 0 if out of memory;
 * then nothing has changed. */
int cli_grow(void *block, size_t *capacity, size_t need, size_t size);

/* Lines in memory: references, and inputs that are decoded several times. */

typedef struct cli_lines {
    char *data;
    size_t used, capacity;
    size_t *start; /* [n + 1] offset in `data` at which each line begins */
    size_t start_capacity;
    int64_t n;
} cli_lines;

/* Append a line. RILL_OK · RILL_ERR_MEMORY, recorded in the context */
rill_status cli_lines_add(cli_lines *lines, rill_context *ctx, const char *text, size_t length);

/* Append the two tab-separated columns to `first` and `second`. path: for messages.
 *   RILL_OK · RILL_ERR_INPUT (a line without a tab) · RILL_ERR_MEMORY */
rill_status cli_lines_split(const cli_lines *two_columns, rill_context *ctx, const char *path, cli_lines *first,
                            cli_lines *second);

/* Return line i, 0 <= i < n; it is borrowed until the lines are freed. */
static inline const char *cli_lines_get(const cli_lines *lines, int64_t i, size_t *length)
{
    *length = lines->start[i + 1] - lines->start[i];
    return lines->data + lines->start[i];
}

/* Free memory; accepts zeroed lines. */
void cli_lines_free(cli_lines *lines);

/* --- metrics ----------------------------------------------------------------------------------------------------------- */

enum { CLI_TALLY_MAX = 10 };
typedef struct cli_tally {
    int64_t part[CLI_TALLY_MAX];
} cli_tally;

/* Tallies summed over the inputs of a test set: `first` over the first outputs, `best` over the best output of each input. */
typedef struct cli_counts {
    int64_t inputs, missing; /* inputs: number of inputs; missing: how many of them have no output */
    cli_tally first, best;
} cli_counts;

typedef struct cli_metric cli_metric;

/* A function that prints a message, which has no line end. */
typedef void (*cli_message_fn)(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct cli_metric_kind {
    const char *name, *summary;
    const char *heading; /* heading of the column in a table, at most 6 characters */
    /* Create metric->data from the references. RILL_OK, or a status with the error in the context. */
    rill_status (*open)(cli_metric *metric, const cli_lines *references);
    /* Evaluate an output for reference i; NULL: no output. Returns 0, or -1 when out of memory (recorded). */
    int (*judge)(cli_metric *metric, int64_t i, const char *text, size_t length, cli_tally *out);
    double (*value)(const cli_tally *sum); /* percentage computed from a sum of tallies */
    /* quality of one output; higher is better. Of several equally good outputs, the oracle takes the first */
    double (*output_value)(const cli_tally *tally);
    /* report: append the metric's report to `out`, as lines of text; fill_json: set further members of a JSON object */
    rill_status (*report)(const cli_counts *counts, rill_text *out);
    void (*fill_json)(const cli_counts *counts, json_t *object);
    void (*close)(cli_metric *metric); /* accepts a metric whose data is NULL */
} cli_metric_kind;

struct cli_metric {
    const cli_metric_kind *kind;
    rill_context *ctx;
    const rill_domain *domain; /* domain of the model; may be NULL */
    int64_t n;                 /* number of references */
    cli_message_fn message;    /* prints messages about bad outputs; may be NULL */
    void *data;                /* data of the metric, private to its kind */
};

extern const cli_metric_kind cli_metric_exact, cli_metric_bleu, cli_metric_bracket;
extern const cli_metric_kind *const cli_metrics[]; /* all metrics, up to NULL */

/* Find a metric by name. NULL: there is none, and `why` lists all names. */
const cli_metric_kind *cli_metric_find(const char *name, char *why, size_t size);

/* Return the metric that the domain names; exact match if it names none. `domain` may be NULL. */
const cli_metric_kind *cli_metric_for_domain(const rill_domain *domain);

/* Open a metric for borrowed references. kind NULL: the domain's default. Close it even after an error.
 *   RILL_OK · RILL_ERR_INPUT (a malformed reference) · RILL_ERR_MEMORY */
rill_status cli_metric_open(cli_metric *metric, rill_context *ctx, const cli_metric_kind *kind,
                            const rill_domain *domain, const cli_lines *references, cli_message_fn message);
/* Close a metric; accepts a zeroed one. */
void cli_metric_close(cli_metric *metric);

/* Evaluation of one input: the tally of its first output, and the tally of its best output so far. */
typedef struct cli_verdict {
    cli_tally first, best;
    int n_outputs; /* number of outputs of the input; 0: the output is missing */
} cli_verdict;

/* Add an output of input i; text NULL: none. Returns 0, or -1 when out of memory (recorded). */
int cli_verdict_add(cli_verdict *verdict, cli_metric *metric, int64_t i, const char *text, size_t length);
void cli_counts_add(cli_counts *counts, const cli_verdict *verdict);

/* Return the quality of a test set in percent: of the first outputs, or with oracle 1 of each input's best output. */
double cli_quality(const cli_metric_kind *kind, const cli_counts *counts, int oracle);

/* Set the members "metric", the value under the metric's name, "oracle", and the members of the kind's report. */
void cli_quality_json(const cli_metric_kind *kind, const cli_counts *counts, json_t *object);

static inline double cli_percent(int64_t part, int64_t total)
{
    return total > 0 ? 100.0 * (double)part / (double)total : 0;
}
