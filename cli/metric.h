/* Right or wrong: outputs against references, in the domain's canonical form.
 *
 * Two texts are equal when their canonical forms are, byte for byte. Where the domain has none, or cannot read a text (a model
 * may well produce a broken logical form), the text itself with its blanks made single stands for the canonical form. */
#ifndef CLI_METRIC_H
#define CLI_METRIC_H

#include <stdint.h>

#include "cli.h"
#include "lines.h"

typedef struct cli_metric {
    rill_context *ctx;
    const rill_domain *domain; /* may be NULL: texts are compared as they are */
    rill_text forms;           /* canonical forms of the references, one after the other */
    size_t *start;             /* [n + 1] */
    int64_t n;
    rill_text scratch;
} cli_metric;

/* Bring all references into canonical form. `domain` may be NULL. CLI_OK or CLI_FAILED after a message. */
int cli_metric_open(cli_metric *metric, rill_context *ctx, const rill_domain *domain, const cli_lines *references);

/* Does the text equal reference i? 1, 0, or -1 when out of memory (recorded in the context). */
int cli_metric_equal(cli_metric *metric, int64_t i, const char *text, size_t length);

/* Accepts a zeroed metric. */
void cli_metric_close(cli_metric *metric);

/* Counts over a test set. exact: the first output is right; oracle: any of them is. */
typedef struct cli_counts {
    int64_t inputs, exact, oracle, missing; /* missing: without any output */
} cli_counts;

static inline double cli_percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

#endif
