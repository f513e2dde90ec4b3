/* The bench's table, with the columns of the sources' tables, and the same as JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "output.h"
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

static void put_likeness(const bench *b, const bench_method *m)
{
    const bench_method *same = &b->method[m->same];
    if (&b->method[m->like] == m)
        cli_print(same == m ? "\n" : "  the same as %s\n", same->label);
    else if (m->difference < 0)
        cli_print("  identical to %s\n", b->method[m->like].label);
    else
        cli_print("  DIFFERS from %s at input %" PRId64 "\n", b->method[m->like].label, m->difference + 1);
}

static void print_row(const bench *b, bench_method *m, int width)
{
    double median, spread, least_advanced, any;
    bench_summarise(m->seconds, m->runs, &median, &spread);
    bounds(m, &least_advanced, &any);
    cli_print("%-*s", width, m->label);
    put_quality(b, m, 0);
    put_quality(b, m, 1);
    cli_print(" %9.4f %4.0f%% %9" PRId64 " %10" PRId64 " %8.1f %6.1f%% %9.1f", median, 100 * spread, m->stats.timesteps,
              m->stats.expansions, cli_per_timestep(&m->stats), 100 * cli_engine_share(&m->stats),
              median > 0 ? (double)b->set.inputs.n / median : 0);
    put_ratio(least_advanced);
    put_ratio(any);
    put_likeness(b, m);
}

int bench_print(const bench *b)
{
    int width = 6;
    for (int i = 0; i < b->n; i++)
        if ((int)strlen(b->method[i].label) > width) width = (int)strlen(b->method[i].label);
    char hands[CLI_HANDS_MAX];
    cli_print("%" PRId64 " inputs, %d timed run%s of each method in turn, %s\n\n", b->set.inputs.n, b->repeat,
              b->repeat == 1 ? "" : "s", cli_session_hands(&b->session, hands));
    cli_print("%-*s %6s %6s %9s %5s %9s %10s %8s %7s %9s %6s %6s  outputs\n", width, "method", b->set.kind->heading,
              "oracle", "seconds", "+-", "timesteps", "expansions", "exp/step", "engine", "inputs/s", "/least", "/any");
    for (int i = 0; i < b->n; i++) print_row(b, &b->method[i], width);
    cli_print(
        "\nseconds: median, and half the range of the runs. engine: share of the time outside the model. /least, /any:\n"
        "timesteps as a multiple of the fewest that the least-advanced, or any, schedule can need under the budget.\n");
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
    json_t *object = json_pack("{s:s,s:f,s:f,s:o,s:f,s:f,s:o}", "method", m->label, "seconds_median", median,
                               "seconds_spread", spread, "seconds", all, "over_least_advanced_bound", least_advanced,
                               "over_any_bound", any, "run", cli_report_json(&report));
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

int bench_write_json(bench *b)
{
    json_t *methods = json_array();
    for (int i = 0; i < b->n; i++) json_array_append_new(methods, method_json(b, &b->method[i]));
    int code = cli_json_write(&b->json, json_pack("{s:I,s:i,s:o}", "inputs", (json_int_t)b->set.inputs.n, "repeat",
                                                  b->repeat, "methods", methods));
    int closed = cli_output_close(&b->json);
    return code == CLI_OK ? closed : code;
}
