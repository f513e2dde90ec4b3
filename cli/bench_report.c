/* The bench's table, and the same as JSON and a page of pictures. A row of the table fits 80 columns: what a user compares. --verbose
 * adds the engine's columns, which are those of the sources' tables. */
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

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The runs themselves stay in their order: methods took turns, so runs of one round belong together. */
void bench_summarise(const double *seconds, int n, double *median, double *spread)
{
    double sorted[BENCH_REPEAT_MAX];
    memcpy(sorted, seconds, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    *median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    *spread = *median > 0 ? (sorted[n - 1] - sorted[0]) / 2 / *median : 0;
}

/* Timesteps as a multiple of the fewest that the least-advanced schedule, and any schedule, can need under the budget; 0
 * without one. */
static void bounds(const bench_method *m, double *least_advanced, double *any)
{
    const rill_stats *t = &m->stats;
    *least_advanced = *any = 0;
    if (m->plan->resolved.budget <= 0 || t->timesteps == 0) return;
    double fewest = ceil((double)t->expansions / m->plan->resolved.budget);
    if (fewest < (double)t->longest_item_timesteps) fewest = (double)t->longest_item_timesteps;
    if (t->depth_bound > 0) *least_advanced = (double)t->timesteps / (double)t->depth_bound;
    if (fewest > 0) *any = (double)t->timesteps / fewest;
}

static void put_ratio(double ratio)
{
    if (ratio > 0)
        cli_print(" %6.2f", ratio);
    else
        cli_print(" %6s", "-");
}

static void put_quality(const bench *b, const bench_method *m, int oracle)
{
    if (b->set.judged)
        cli_print(" %6.2f", cli_quality(b->set.metric.kind, &m->counts, oracle));
    else
        cli_print(" %6s", "-");
}

/* Methods with the same outputs get the same letter, in the order in which outputs first appear. */
static char letter_of(const bench *b, const bench_method *m)
{
    char letter = 'a';
    for (int i = 0; i < m->same; i++) letter += b->method[i].same == i;
    return letter;
}

static void put_likeness(const bench *b, const bench_method *m)
{
    cli_print(" %c", letter_of(b, m));
    if (m->difference >= 0)
        cli_print("  DIFFERS from %s at input %" PRId64, b->method[m->like].label, m->difference + 1);
    cli_print("\n");
}

/* Four digits or so, whatever the size. */
static int decimals(double value)
{
    return value < 10 ? 4 : value < 1000 ? 2 : 0;
}

/* Whether some method tells what is proven; then all have the column. */
static int certifies(const bench *b)
{
    int any = 0;
    for (int i = 0; i < b->n; i++) any |= b->method[i].plan->resolved.certify;
    return any;
}

static void print_row(const bench *b, bench_method *m, int width)
{
    double median, spread, least_advanced, any;
    bench_summarise(m->seconds, m->runs, &median, &spread);
    bounds(m, &least_advanced, &any);
    const double speed = median > 0 ? (double)b->set.inputs.n / median : 0;
    const int apart = (int)strlen(m->label) > width; /* a line of its own */
    cli_print("%-*s%s", width, m->label, apart ? "\n" : "");
    if (apart) cli_print("%-*s", width, "");
    put_quality(b, m, 0);
    put_quality(b, m, 1);
    if (certifies(b)) cli_print(" %6.2f", cli_certified_percent(&m->stats));
    cli_print(" %7.*f %3.0f%% %8.1f %8.1f", decimals(median), median, 100 * spread, speed, cli_per_timestep(&m->stats));
    if (b->session.verbose) {
        cli_print(" %9" PRId64 " %10" PRId64 " %6.1f%%", m->stats.timesteps, m->stats.expansions,
                  100 * cli_engine_share(&m->stats));
        put_ratio(least_advanced);
        put_ratio(any);
    }
    put_likeness(b, m);
}

static void print_head(const bench *b, int width)
{
    char hands[CLI_HANDS_MAX];
    cli_print("%" PRId64 " inputs, %d timed run%s of each method in turn, %s\n\n", b->set.inputs.n, b->repeat,
              b->repeat == 1 ? "" : "s", cli_session_hands(&b->session, hands));
    cli_print("%-*s %6s %6s%s %7s %4s %8s %8s", width, "method", b->set.kind->heading, "oracle",
              certifies(b) ? "  cert%" : "", "seconds", "+-", "inputs/s", "exp/step");
    if (b->session.verbose) cli_print(" %9s %10s %7s %6s %6s", "timesteps", "expansions", "engine", "/least", "/any");
    cli_print(" outputs\n");
}

static const char legend[] = "\nseconds: median, and half the range of the runs. exp/step: hypotheses expanded\n"
                             "in a timestep, on average. outputs: rows with one letter gave the same, with\n"
                             "scores equal to the last bit.\n";
static const char certified_legend[] = "cert%: inputs whose best output is certified to be the model's best.\n";
static const char more_legend[] = "engine: share of the time outside the model. /least, /any: timesteps as a\n"
                                  "multiple of the fewest that the least-advanced, or any, schedule can need under\n"
                                  "the budget.\n";

int bench_print(const bench *b)
{
    enum { METHOD_WIDTH = 27 }; /* what 80 columns leave for it */
    int width = 6;
    for (int i = 0; i < b->n; i++)
        if ((int)strlen(b->method[i].label) > width) width = (int)strlen(b->method[i].label);
    if (width > METHOD_WIDTH) width = METHOD_WIDTH;
    print_head(b, width);
    for (int i = 0; i < b->n; i++) print_row(b, &b->method[i], width);
    cli_print("%s%s%s", legend, certifies(b) ? certified_legend : "", b->session.verbose ? more_legend : "");
    for (int i = 0; i < b->n && b->profile; i++) {
        cli_print("\n%s\n", b->method[i].label);
        cli_profile_print(&b->method[i].profile, stdout);
    }
    return cli_end_printing();
}

static json_t *method_json(const bench *b, bench_method *m)
{
    double median, spread, least_advanced, any;
    bench_summarise(m->seconds, m->runs, &median, &spread);
    bounds(m, &least_advanced, &any);
    cli_report report = {
        .stats = m->stats,
        .settings = &m->plan->resolved,
        .plan = m->plan,
        .session = &b->session,
        .wall = median,
    };
    json_t *all = json_array();
    for (int i = 0; i < m->runs; i++) json_array_append_new(all, json_real(m->seconds[i]));
    json_t *object = json_pack("{s:s,s:f,s:f,s:o,s:f,s:f,s:O,s:o}", "method", m->label, "seconds_median", median,
                               "seconds_spread", spread, "seconds", all, "over_least_advanced_bound", least_advanced,
                               "over_any_bound", any, "timesteps_by_rows", m->rows, "run", cli_report_json(&report));
    if (b->set.judged) cli_quality_json(b->set.metric.kind, &m->counts, object);
    if (&b->method[m->like] != m) {
        json_object_set_new(object, "compared_with", json_string(b->method[m->like].label));
        json_object_set_new(object, "identical", json_boolean(m->difference < 0));
    }
    if (b->profile) json_object_set_new(object, "profile", cli_profile_json(&m->profile));
    const bench_method *same = &b->method[m->same];
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
    json_t *all = json_pack("{s:I,s:i,s:s,s:o}", "inputs", (json_int_t)b->set.inputs.n, "repeat", b->repeat, "hardware",
                            cli_hardware(&b->session, hardware), "methods", methods);
    if (code == CLI_OK && b->json_path) code = cli_json_write(&b->json, json_incref(all));
    if (code == CLI_OK && b->plot_path) code = cli_picture_write(&b->plot, "Methods of search compared", "bench", all);
    json_decref(all);
    const int json = cli_output_close(&b->json), plot = cli_output_close(&b->plot);
    return code != CLI_OK ? code : json != CLI_OK ? json : plot;
}
