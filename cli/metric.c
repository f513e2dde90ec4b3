/* Exact match; see metric.h for what "equal" means. */
#include "metric.h"

#include <stdlib.h>
#include <string.h>

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static rill_status append_plain(const char *text, size_t length, rill_text *out)
{
    size_t at = 0;
    int first = 1;
    while (at < length) {
        while (at < length && is_blank(text[at])) at++;
        size_t word = at;
        while (at < length && !is_blank(text[at])) at++;
        if (at == word) break;
        rill_status status = first ? RILL_OK : rill_text_append(out, " ", 1);
        if (status == RILL_OK) status = rill_text_append(out, text + word, at - word);
        if (status < 0) return status;
        first = 0;
    }
    return RILL_OK;
}

static rill_status append_canonical(cli_metric *metric, const char *text, size_t length, rill_text *out)
{
    size_t before = out->length;
    if (!metric->domain || !metric->domain->canonical) return append_plain(text, length, out);
    rill_status status = metric->domain->canonical(metric->ctx, text, length, out);
    if (status >= 0 || status == RILL_ERR_MEMORY) return status;
    rill_error_clear(metric->ctx);
    out->length = before; /* what was written of a form that broke off */
    return append_plain(text, length, out);
}

int cli_metric_open(cli_metric *metric, rill_context *ctx, const rill_domain *domain, const cli_lines *references)
{
    *metric = (cli_metric){.ctx = ctx, .domain = domain, .forms = {.ctx = ctx}, .scratch = {.ctx = ctx}};
    metric->start = calloc((size_t)references->n + 1, sizeof *metric->start);
    if (!metric->start) return cli_fail_memory("references");
    for (int64_t i = 0; i < references->n; i++) {
        size_t length;
        const char *text = cli_lines_get(references, i, &length);
        if (append_canonical(metric, text, length, &metric->forms) < 0) return cli_fail_context(ctx);
        metric->start[i + 1] = metric->forms.length;
    }
    metric->n = references->n;
    return CLI_OK;
}

int cli_metric_equal(cli_metric *metric, int64_t i, const char *text, size_t length)
{
    rill_text_reset(&metric->scratch);
    if (append_canonical(metric, text, length, &metric->scratch) < 0) return -1;
    size_t wanted = metric->start[i + 1] - metric->start[i];
    if (metric->scratch.length != wanted) return 0;
    return wanted == 0 || !memcmp(metric->scratch.data, metric->forms.data + metric->start[i], wanted);
}

void cli_metric_close(cli_metric *metric)
{
    if (!metric->ctx) return;
    rill_text_clear(&metric->forms);
    rill_text_clear(&metric->scratch);
    free(metric->start);
    memset(metric, 0, sizeof *metric);
}
