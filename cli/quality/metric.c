/* The list of metrics, their common functions, and exact match; see metric.h. */
#include "metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

const cli_metric_kind *const cli_metrics[] = {&cli_metric_exact, &cli_metric_bleu, &cli_metric_bracket, NULL};

enum { KINDS = sizeof cli_metrics / sizeof cli_metrics[0] - 1 };

/* --- finding a metric --------------------------------------------------------------------------------------------- */

static const cli_metric_kind *find_kind(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (!strcmp(cli_metrics[i]->name, name)) return cli_metrics[i];
    return NULL;
}

const cli_metric_kind *cli_metric_find(const char *name, char *why, size_t size)
{
    const cli_metric_kind *kind = find_kind(name);
    if (kind) return kind;
    const char *names[KINDS];
    char all[200] = "";
    for (size_t i = 0; i < KINDS; i++) {
        names[i] = cli_metrics[i]->name;
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = rill_nearest(name, names, KINDS);
    snprintf(why, size, "unknown metric \"%s\"%s%s%s: the metrics are %s", name, near ? " (did you mean " : "",
             near ? near : "", near ? "?)" : "", all);
    return NULL;
}

const cli_metric_kind *cli_metric_for_domain(const rill_domain *domain)
{
    const cli_metric_kind *kind = NULL;
    if (domain && domain->metric) kind = find_kind(domain->metric);
    return kind ? kind : &cli_metric_exact;
}

/* --- scoring outputs ---------------------------------------------------------------------------------------------- */

rill_status cli_metric_open(cli_metric *metric, rill_context *ctx, const cli_metric_kind *kind,
                            const rill_domain *domain, const cli_lines *references, cli_message_fn message)
{
    *metric = (cli_metric){
        .kind = kind ? kind : cli_metric_for_domain(domain), .ctx = ctx, .domain = domain, .message = message};
    metric->n = references->n;
    return metric->kind->open(metric, references);
}

void cli_metric_close(cli_metric *metric)
{
    if (metric->kind) metric->kind->close(metric);
    memset(metric, 0, sizeof *metric);
}

int cli_verdict_add(cli_verdict *verdict, cli_metric *metric, int64_t i, const char *text, size_t length)
{
    cli_tally tally = {.part = {0}};
    if (metric->kind->judge(metric, i, text, length, &tally) < 0) return -1;
    if (!verdict->n_outputs) verdict->first = verdict->best = tally;
    if (metric->kind->output_value(&tally) > metric->kind->output_value(&verdict->best)) verdict->best = tally;
    verdict->n_outputs += text != NULL;
    return 0;
}

void cli_counts_add(cli_counts *counts, const cli_verdict *verdict)
{
    counts->inputs++;
    counts->missing += verdict->n_outputs == 0;
    for (int i = 0; i < CLI_TALLY_MAX; i++) {
        counts->first.part[i] += verdict->first.part[i];
        counts->best.part[i] += verdict->best.part[i];
    }
}

/* --- reporting the value ------------------------------------------------------------------------------------------ */

double cli_quality(const cli_metric_kind *kind, const cli_counts *counts, int oracle)
{
    return kind->value(oracle ? &counts->best : &counts->first);
}

void cli_quality_json(const cli_metric_kind *kind, const cli_counts *counts, json_t *object)
{
    char name[40];
    snprintf(name, sizeof name, "%s_percent", kind->name);
    json_object_set_new(object, "metric", json_string(kind->name));
    json_object_set_new(object, name, json_real(cli_quality(kind, counts, 0)));
    json_object_set_new(object, "oracle_percent", json_real(cli_quality(kind, counts, 1)));
    kind->fill_json(counts, object);
}

/* --- exact match ------------------------------------------------------------------------------------------------------- */

/* Exact match: the share of outputs equal to their references, in the domain's canonical form, or with runs of spaces reduced to one. */
enum { RIGHT, INPUTS }; /* indexes in the tally: number of correct outputs, number of inputs */

typedef struct exact {
    cli_lines forms; /* canonical forms of the references */
    rill_text form;  /* canonical form of the current text */
} exact;

static rill_status make_form(cli_metric *metric, const char *text, size_t length)
{
    rill_text *out = &((exact *)metric->data)->form;
    rill_slice rest = {text, length};
    rill_text_reset(out);
    TRY(rill_text_append(out, "", 0));
    if (metric->domain && metric->domain->canonical) {
        const rill_status status = metric->domain->canonical(metric->domain, metric->ctx, text, length, out);
        if (status >= 0 || status == RILL_ERR_MEMORY) return status;
        rill_error_clear(metric->ctx);
        rill_text_reset(out); /* discard the incomplete canonical form */
    }
    for (rill_slice word; (word = rill_next_word(&rest)).length > 0;)
        TRY(rill_text_printf(out, out->length ? " %.*s" : "%.*s", (int)word.length, word.data));
    return RILL_OK;
}

static rill_status open_exact(cli_metric *metric, const cli_lines *references)
{
    exact *own = metric->data = calloc(1, sizeof *own);
    if (!own) return rill_fail_memory(metric->ctx, sizeof *own, "references");
    own->form.ctx = metric->ctx;
    for (int64_t i = 0; i < references->n; i++) {
        size_t length;
        const char *text = cli_lines_get(references, i, &length);
        if (make_form(metric, text, length) < 0) return rill_error_status(metric->ctx);
        TRY(cli_lines_add(&own->forms, metric->ctx, own->form.data, own->form.length));
    }
    return RILL_OK;
}

static int judge_exact(cli_metric *metric, int64_t i, const char *text, size_t length, cli_tally *out)
{
    exact *own = metric->data;
    rill_slice wanted;
    out->part[INPUTS] = 1;
    if (!text) return 0;
    if (make_form(metric, text, length) < 0) return -1;
    wanted.data = cli_lines_get(&own->forms, i, &wanted.length);
    out->part[RIGHT] = rill_slice_equal(wanted, (rill_slice){own->form.data, own->form.length});
    return 0;
}

static double value_exact(const cli_tally *sum)
{
    return cli_percent(sum->part[RIGHT], sum->part[INPUTS]);
}

static rill_status report_exact(const cli_counts *counts, rill_text *out)
{
    return rill_text_printf(out, "exact    %8" PRId64 "  %6.2f %%\noracle   %8" PRId64 "  %6.2f %%\n",
                            counts->first.part[RIGHT], value_exact(&counts->first), counts->best.part[RIGHT],
                            value_exact(&counts->best));
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
    cli_lines_free(&own->forms);
    rill_text_clear(&own->form);
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
