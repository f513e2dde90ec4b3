/* The results of `rill bench` as a table, as JSON and as a page of charts. A row of the table fits 80 columns. --verbose adds
 * columns with the engine's counters. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "hardware.h"
#include "picture.h"
#include "report.h"

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts a copy: element i of m->seconds stays the time of round i. */
void bench_summarise(const double *seconds, int n, double *median, double *spread)
{
    double sorted[BENCH_REPEAT_MAX];
    memcpy(sorted, seconds, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
    *median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    *spread = *median > 0 ? (sorted[n - 1] - sorted[0]) / 2 / *median : 0;
}

/* Divide the number of timesteps by two lower bounds on it, given the budget (maximum number of hypotheses per timestep): the bound
 * for the least-advanced schedule, and the bound for any schedule. Without a budget both ratios are 0. */
static void bound_ratios(const bench_method *m, double *least_advanced, double *any)
{
    const rill_stats *t = &m->stats;
    *least_advanced = *any = 0;
    if (m->search_config->resolved->budget <= 0 || t->timesteps == 0) return;
    double fewest = ceil((double)t->expansions / m->search_config->resolved->budget);
    if (fewest < (double)t->longest_item_timesteps) fewest = (double)t->longest_item_timesteps;
    if (t->depth_bound > 0) *least_advanced = (double)t->timesteps / (double)t->depth_bound;
    if (fewest > 0) *any = (double)t->timesteps / fewest;
}

static void print_ratio(double ratio)
{
    if (ratio > 0)
        cli_print(" %6.2f", ratio);
    else
        cli_print(" %6s", "-");
}

static void print_quality(const bench *b, const bench_method *m, int oracle)
{
    if (b->test_set.has_references)
        cli_print(" %6.2f", cli_quality(b->test_set.metric.kind, &m->counts, oracle));
    else
        cli_print(" %6s", "-");
}

/* Methods with equal outputs share a letter. Letters follow the order of first appearance. */
static char outputs_letter(const bench *b, const bench_method *m)
{
    char letter = 'a';
    for (int i = 0; i < m->first_equal; i++) letter += b->method[i].first_equal == i;
    return letter;
}

static void print_outputs_letter(const bench *b, const bench_method *m)
{
    cli_print(" %c", outputs_letter(b, m));
    if (m->difference >= 0)
        cli_print("  DIFFERS from %s at input %" PRId64, b->method[m->first_alike].label, m->difference + 1);
    cli_print("\n");
}

/* Number of decimals that shows about four significant digits. */
static int decimals(double value)
{
    return value < 10 ? 4 : value < 1000 ? 2 : 0;
}

/* Whether any method certifies outputs (proves them optimal). The table then has the column cert%. */
static int any_certifies(const bench *b)
{
    int any = 0;
    for (int i = 0; i < b->n; i++) any |= b->method[i].search_config->resolved->certify;
    return any;
}

static void print_row(const bench *b, bench_method *m, int width)
{
    double median, spread, least_advanced, any;
    bench_summarise(m->seconds, m->runs, &median, &spread);
    bound_ratios(m, &least_advanced, &any);
    const double speed = median > 0 ? (double)b->test_set.inputs.n / median : 0;
    const int own_line = (int)strlen(m->label) > width; /* a long label gets a line to itself */
    cli_print("%-*s%s", width, m->label, own_line ? "\n" : "");
    if (own_line) cli_print("%-*s", width, "");
    print_quality(b, m, 0);
    print_quality(b, m, 1);
    if (any_certifies(b)) cli_print(" %6.2f", cli_certified_percent(&m->stats));
    cli_print(" %7.*f %3.0f%% %8.1f %8.1f", decimals(median), median, 100 * spread, speed,
              cli_expansions_per_timestep(&m->stats));
    if (b->session.verbose) {
        cli_print(" %9" PRId64 " %10" PRId64 " %6.1f%%", m->stats.timesteps, m->stats.expansions,
                  100 * cli_engine_share(&m->stats));
        print_ratio(least_advanced);
        print_ratio(any);
    }
    print_outputs_letter(b, m);
}

static void print_head(const bench *b, int width)
{
    char parallelism[CLI_PARALLELISM_MAX];
    cli_print("%" PRId64 " inputs, %d timed run%s of each method in turn, %s\n\n", b->test_set.inputs.n, b->repeat,
              b->repeat == 1 ? "" : "s", cli_session_parallelism(&b->session, parallelism));
    cli_print("%-*s %6s %6s%s %7s %4s %8s %8s", width, "method", b->test_set.kind->heading, "oracle",
              any_certifies(b) ? "  cert%" : "", "seconds", "+-", "inputs/s", "exp/step");
    if (b->session.verbose) cli_print(" %9s %10s %7s %6s %6s", "timesteps", "expansions", "engine", "/least", "/any");
    cli_print(" outputs\n");
}

static const char bench_legend[] = "\nseconds: median, and half the range of the runs. exp/step: mean number of\n"
                                   "hypotheses expanded per timestep. outputs: methods with the same letter gave\n"
                                   "identical outputs, with bit-identical scores.\n";
static const char certified_legend[] = "cert%: share of inputs whose best output is proved to be the model's best.\n";
static const char verbose_legend[] = "engine: share of the time outside the model. /least, /any: timesteps divided by\n"
                                     "a lower bound for the least-advanced schedule, and for any schedule, with the\n"
                                     "same --max-batch-hypotheses.\n";

int bench_print(const bench *b)
{
    enum { METHOD_WIDTH = 27 }; /* characters: 80 columns minus the width of the other columns */
    int width = 6;
    for (int i = 0; i < b->n; i++)
        if ((int)strlen(b->method[i].label) > width) width = (int)strlen(b->method[i].label);
    if (width > METHOD_WIDTH) width = METHOD_WIDTH;
    print_head(b, width);
    for (int i = 0; i < b->n; i++) print_row(b, &b->method[i], width);
    cli_print("%s%s%s", bench_legend, any_certifies(b) ? certified_legend : "",
              b->session.verbose ? verbose_legend : "");
    for (int i = 0; i < b->n && b->profile; i++) {
        cli_print("\n%s\n", b->method[i].label);
        cli_profile_print(&b->method[i].profile, stdout);
    }
    return cli_flush_stdout();
}

static json_t *method_json(const bench *b, bench_method *m)
{
    double median, spread, least_advanced, any;
    bench_summarise(m->seconds, m->runs, &median, &spread);
    bound_ratios(m, &least_advanced, &any);
    cli_report report = {
        .stats = m->stats,
        .settings = m->search_config->resolved,
        .search_config = m->search_config,
        .session = &b->session,
        .wall_seconds = median,
    };
    json_t *all = json_array();
    for (int i = 0; i < m->runs; i++) json_array_append_new(all, json_real(m->seconds[i]));
    json_t *object = json_pack("{s:s,s:f,s:f,s:o,s:f,s:f,s:O,s:o}", "method", m->label, "seconds_median", median,
                               "seconds_spread", spread, "seconds", all, "over_least_advanced_bound", least_advanced,
                               "over_any_bound", any, "timesteps_by_rows", m->rows, "run", cli_report_json(&report));
    if (b->test_set.has_references) cli_quality_json(b->test_set.metric.kind, &m->counts, object);
    if (&b->method[m->first_alike] != m) {
        json_object_set_new(object, "compared_with", json_string(b->method[m->first_alike].label));
        json_object_set_new(object, "identical", json_boolean(m->difference < 0));
    }
    if (b->profile) json_object_set_new(object, "profile", cli_profile_json(&m->profile));
    const bench_method *same = &b->method[m->first_equal];
    json_object_set_new(object, "same_outputs_as", same != m ? json_string(same->label) : json_null());
    return object;
}

int bench_write(bench *b)
{
    char hardware[CLI_HARDWARE_MAX];
    if (!b->json_path && !b->plot_path) return CLI_OK;
    json_t *methods = json_array();
    int code = CLI_OK;
    for (int i = 0; i < b->n && code == CLI_OK; i++)
        if (json_array_append_new(methods, method_json(b, &b->method[i])) < 0) code = cli_fail_memory("a report");
    json_t *all = json_pack("{s:I,s:i,s:s,s:o}", "inputs", (json_int_t)b->test_set.inputs.n, "repeat", b->repeat,
                            "hardware", cli_hardware(&b->session, hardware), "methods", methods);
    if (code == CLI_OK && b->json_path) code = cli_json_write(&b->json, json_incref(all));
    if (code == CLI_OK && b->plot_path) code = cli_picture_write(&b->plot, "Search methods compared", "bench", all);
    json_decref(all);
    const int json = cli_output_close(&b->json), plot = cli_output_close(&b->plot);
    return code != CLI_OK ? code : json != CLI_OK ? json : plot;
}
