/* The list of metrics, and their common functions; see metric.h. */
#include "metric.h"

#include <stdio.h>
#include <string.h>

const cli_metric_kind *const cli_metrics[] = {&cli_metric_exact, &cli_metric_bleu, &cli_metric_bracket, NULL};

enum { KINDS = sizeof cli_metrics / sizeof cli_metrics[0] - 1 };

/* --- finding ------------------------------------------------------------------------------------------------------ */

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
    if (domain && domain->struct_size >= offsetof(rill_domain, metric) + sizeof domain->metric && domain->metric)
        kind = find_kind(domain->metric);
    return kind ? kind : &cli_metric_exact;
}

/* --- judging ------------------------------------------------------------------------------------------------------ */

rill_status cli_metric_open(cli_metric *metric, rill_context *ctx, const cli_metric_kind *kind,
                            const rill_domain *domain, const cli_lines *references, cli_message_fn message)
{
    *metric = (cli_metric){
        .kind = kind ? kind : cli_metric_for_domain(domain), .ctx = ctx, .domain = domain, .message = message};
    metric->n = references->n;
    return metric->kind->open(metric, references);
}

int cli_metric_judge(cli_metric *metric, int64_t i, const char *text, size_t length, cli_tally *out)
{
    memset(out, 0, sizeof *out);
    return metric->kind->judge(metric, i, text, length, out);
}

void cli_metric_close(cli_metric *metric)
{
    if (metric->kind) metric->kind->close(metric);
    memset(metric, 0, sizeof *metric);
}

int cli_verdict_add(cli_verdict *verdict, cli_metric *metric, int64_t i, const char *text, size_t length)
{
    cli_tally tally;
    if (cli_metric_judge(metric, i, text, length, &tally) < 0) return -1;
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

/* --- reports ------------------------------------------------------------------------------------------------------ */

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
