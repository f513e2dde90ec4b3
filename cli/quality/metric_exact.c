/* Exact match: whether an output equals its reference in the domain's canonical form.
 *
 * Two texts are equal if their canonical forms are equal byte for byte. If the domain has no canonical form, or cannot parse a text (a
 * model may produce a broken logical form), the text is compared with runs of spaces reduced to one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metric.h"

enum { RIGHT, INPUTS }; /* indexes in the tally */

typedef struct exact {
    rill_text forms; /* canonical forms of the references, concatenated */
    size_t *start;   /* [n + 1] */
    rill_text scratch;
} exact;

static int is_space_char(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static rill_status append_plain(const char *text, size_t length, rill_text *out)
{
    size_t pos = 0;
    int first = 1;
    while (pos < length) {
        while (pos < length && is_space_char(text[pos])) pos++;
        size_t word = pos;
        while (pos < length && !is_space_char(text[pos])) pos++;
        if (pos == word) break;
        rill_status status = first ? RILL_OK : rill_text_append(out, " ", 1);
        if (status == RILL_OK) status = rill_text_append(out, text + word, pos - word);
        if (status < 0) return status;
        first = 0;
    }
    return RILL_OK;
}

static rill_status append_canonical(cli_metric *metric, const char *text, size_t length, rill_text *out)
{
    size_t old_length = out->length;
    if (!metric->domain || !metric->domain->canonical) return append_plain(text, length, out);
    rill_status status = metric->domain->canonical(metric->domain, metric->ctx, text, length, out);
    if (status >= 0 || status == RILL_ERR_MEMORY) return status;
    rill_error_clear(metric->ctx);
    out->length = old_length; /* discard the incomplete canonical form */
    return append_plain(text, length, out);
}

static rill_status open_exact(cli_metric *metric, const cli_lines *references)
{
    exact *own = metric->data = calloc(1, sizeof *own);
    if (!own) return rill_fail_memory(metric->ctx, sizeof *own, "references");
    own->forms.ctx = own->scratch.ctx = metric->ctx;
    own->start = calloc((size_t)references->n + 1, sizeof *own->start);
    if (!own->start) return rill_fail_memory(metric->ctx, sizeof *own, "references");
    for (int64_t i = 0; i < references->n; i++) {
        size_t length;
        const char *text = cli_lines_get(references, i, &length);
        if (append_canonical(metric, text, length, &own->forms) < 0) return rill_error_status(metric->ctx);
        own->start[i + 1] = own->forms.length;
    }
    return RILL_OK;
}

static int judge_exact(cli_metric *metric, int64_t i, const char *text, size_t length, cli_tally *out)
{
    exact *own = metric->data;
    out->part[INPUTS] = 1;
    if (!text) return 0;
    rill_text_reset(&own->scratch);
    if (append_canonical(metric, text, length, &own->scratch) < 0) return -1;
    size_t wanted = own->start[i + 1] - own->start[i];
    out->part[RIGHT] = own->scratch.length == wanted &&
                       (wanted == 0 || !memcmp(own->scratch.data, own->forms.data + own->start[i], wanted));
    return 0;
}

static double value_exact(const cli_tally *sum)
{
    return cli_percent(sum->part[RIGHT], sum->part[INPUTS]);
}

static rill_status report_exact(const cli_counts *counts, rill_text *out)
{
    rill_status status = rill_text_printf(out, "exact    %8" PRId64 "  %6.2f %%\n", counts->first.part[RIGHT],
                                          value_exact(&counts->first));
    if (status == RILL_OK)
        status = rill_text_printf(out, "oracle   %8" PRId64 "  %6.2f %%\n", counts->best.part[RIGHT],
                                  value_exact(&counts->best));
    return status;
}

static void fill_exact(const cli_counts *counts, json_t *object)
{
    json_object_set_new(object, "exact", json_integer((json_int_t)counts->first.part[RIGHT]));
    json_object_set_new(object, "oracle", json_integer((json_int_t)counts->best.part[RIGHT]));
}

static void close_exact(cli_metric *metric)
{
    exact *own = metric->data;
    if (!own) return;
    rill_text_clear(&own->forms);
    rill_text_clear(&own->scratch);
    free(own->start);
    free(own);
}

const cli_metric_kind cli_metric_exact = {
    .name = "exact",
    .summary = "outputs that equal the reference, in the domain's canonical form",
    .heading = "exact%",
    .open = open_exact,
    .judge = judge_exact,
    .value = value_exact,
    .output_value = value_exact,
    .report = report_exact,
    .fill_json = fill_exact,
    .close = close_exact,
};
