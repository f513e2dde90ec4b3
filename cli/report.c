/* The summary line, and the JSON of --stats. Every member of rill_stats appears under its name. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli_input.h"

#define STAGE(name)                         \
    {                                       \
#name, offsetof(rill_seconds, name) \
    }
const cli_stage cli_stages[CLI_STAGES] = {STAGE(encode), STAGE(step),  STAGE(score),  STAGE(scorers), STAGE(choose),
                                          STAGE(select), STAGE(prune), STAGE(commit), STAGE(finalize)};

double cli_engine_share(const rill_stats *stats)
{
    const rill_seconds *s = &stats->seconds;
    double own = s->total - s->encode - s->step - s->score;
    return s->total > 0 && own > 0 ? own / s->total : 0;
}

double cli_certified_percent(const rill_stats *stats)
{
    return stats->inputs > 0 ? 100 * (double)stats->certified / (double)stats->inputs : 0;
}

double cli_expansions_per_timestep(const rill_stats *stats)
{
    return stats->timesteps > 0 ? (double)stats->expansions / (double)stats->timesteps : 0;
}

static double per_second(const cli_report *report)
{
    return report->wall_seconds > 0 ? (double)report->stats.inputs / report->wall_seconds : 0;
}

/* Summarise failed and truncated inputs in brackets; empty if there are none. */
static void format_failures(int64_t failed, int64_t cut, char *out, size_t size)
{
    out[0] = '\0';
    if (failed && cut)
        snprintf(out, size, " (%" PRId64 " failed, %" PRId64 " with truncated outputs)", failed, cut);
    else if (failed || cut)
        snprintf(out, size, failed ? " (%" PRId64 " failed)" : " (%" PRId64 " with truncated outputs)", failed + cut);
}

static void print_engine_stats(const rill_stats *t)
{
    const rill_seconds *s = &t->seconds;
    char bound[96] = "";
    if (t->nodes_bound)
        snprintf(bound, sizeof bound, " of %" PRId64 " allowed, %" PRId64 " inputs restarted", t->nodes_bound,
                 t->restarted);
    cli_message("%" PRId64 " timesteps, %" PRId64 " expansions, %.1f exp/step, %" PRId64
                " refill%s, states peak %" PRId64 "%s",
                t->timesteps, t->expansions, cli_expansions_per_timestep(t), t->refills, t->refills == 1 ? "" : "s",
                t->nodes_peak, bound);
    if (t->cube_hypotheses)
        cli_message("cube pruning: %.2f hypotheses per class, %" PRId64 " rows rescored",
                    (double)t->cube_hypotheses / (double)t->cube_classes, t->cube_rescored);
    cli_message("seconds: encode %.3f, step %.3f, score %.3f, prune %.3f, finalize %.3f", s->encode, s->step, s->score,
                s->prune, s->finalize);
}

void cli_report_print(const cli_report *report, int verbose)
{
    const rill_stats *t = &report->stats;
    char troubles[96];
    format_failures(t->failed, report->shortfalls ? report->shortfalls->n_truncated : 0, troubles, sizeof troubles);
    cli_message("%" PRId64 " input%s in %.2f s, %.1f/s%s", t->inputs, t->inputs == 1 ? "" : "s", report->wall_seconds,
                per_second(report), troubles);
    if (report->settings->certify)
        cli_message("the best output of %" PRId64 " of %" PRId64 " inputs is proved to be the model's best",
                    t->certified, t->inputs - t->failed);
    if (report->settings->exact)
        cli_message("exact search expanded %" PRId64 " hypotheses after the beam search", t->exact_rows);
    if (verbose) print_engine_stats(t);
}

void cli_report_warn(const cli_report *report, int summary)
{
    const cli_shortfalls *shortfalls = report->shortfalls;
    if (shortfalls->n_truncated && !summary)
        cli_message("warning: %" PRId64 " of %" PRId64 " inputs have truncated outputs", shortfalls->n_truncated,
                    report->stats.inputs);
    if (shortfalls->n_fewer && shortfalls->asked)
        cli_message("warning: %" PRId64 " of %" PRId64 " inputs have fewer than %" PRId32 " outputs: %s",
                    shortfalls->n_fewer, report->stats.inputs, shortfalls->asked, shortfalls->why);
    else if (shortfalls->n_fewer)
        cli_message("warning: %" PRId64 " of %" PRId64 " inputs have fewer outputs than requested; the first: %s",
                    shortfalls->n_fewer, report->stats.inputs, shortfalls->why);
}

void cli_shortfalls_add(cli_shortfalls *shortfalls, const rill_result *result)
{
    int cut = 0;
    for (int32_t i = 0; i < result->n_outputs && !cut; i++)
        cut = rill_result_output(result, i)->finish_reason != RILL_FINISH_REASON_STOP;
    shortfalls->n_truncated += cut;
    if (!rill_result_has_fewer(result, NULL, 0)) return;
    if (shortfalls->n_fewer++ == 0) {
        shortfalls->asked = result->outputs_requested;
        shortfalls->why = result->fewer_reason;
    } else if (shortfalls->asked != result->outputs_requested) {
        shortfalls->asked = 0;
    }
}

json_t *cli_json_text(const char *text, size_t length)
{
    json_t *string = json_stringn(text, length);
    char *mended = string ? NULL : malloc(3 * length + 1);
    size_t n = 0;
    if (!mended) return string;
    for (size_t i = 0; i < length;) {
        size_t part = (unsigned char)text[i] < 0x80 ? 1 : 4 < length - i ? 4 : length - i;
        json_t *one = NULL;
        while (part > 0 && !(one = json_stringn(text + i, part))) part--;
        json_decref(one);
        memcpy(mended + n, part ? text + i : "\xef\xbf\xbd", part ? part : 3);
        n += part ? part : 3;
        i += part ? part : 1;
    }
    string = json_stringn(mended, n);
    free(mended);
    return string;
}

/* JSON has no infinities, and jansson refuses them. */
static json_t *real_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *integer_json(int64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *pool_json(int64_t in_use, int64_t peak, int64_t capacity)
{
    json_t *object = json_object();
    json_object_set_new(object, "in_use", integer_json(in_use));
    json_object_set_new(object, "peak", integer_json(peak));
    json_object_set_new(object, "capacity", integer_json(capacity));
    return object;
}

static json_t *seconds_json(const cli_report *report)
{
    const rill_seconds *s = &report->stats.seconds;
    json_t *object = json_object();
    json_object_set_new(object, "read", real_json(report->read_seconds));
    for (const cli_stage *t = cli_stages; t < cli_stages + CLI_STAGES; t++)
        json_object_set_new(object, t->name, real_json(*cli_stage_seconds(s, t)));
    json_object_set_new(object, "write", real_json(report->write_seconds));
    json_object_set_new(object, "total", real_json(s->total));
    json_object_set_new(object, "waited", real_json(s->waited));
    json_object_set_new(object, "hidden", real_json(s->hidden));
    json_object_set_new(object, "wall", real_json(report->wall_seconds));
    return object;
}

static void set_counters(json_t *object, const rill_stats *t, int certify, int exact)
{
    json_object_set_new(object, "inputs", integer_json(t->inputs));
    json_object_set_new(object, "failed", integer_json(t->failed));
    json_object_set_new(object, "timesteps", integer_json(t->timesteps));
    json_object_set_new(object, "expansions", integer_json(t->expansions));
    json_object_set_new(object, "exp_per_step", real_json(cli_expansions_per_timestep(t)));
    json_object_set_new(object, "refills", integer_json(t->refills));
    json_object_set_new(object, "longest_item_timesteps", integer_json(t->longest_item_timesteps));
    json_object_set_new(object, "depth_bound", integer_json(t->depth_bound));
    json_object_set_new(object, "passed_over_first", integer_json(t->passed_over_first));
    json_object_set_new(object, "candidates", integer_json(t->candidates));
    json_object_set_new(object, "pruned", integer_json(t->pruned));
    json_object_set_new(object, "outputs", integer_json(t->outputs));
    json_object_set_new(object, "truncated", integer_json(t->truncated));
    json_object_set_new(object, "nodes", pool_json(t->nodes_in_use, t->nodes_peak, t->nodes_capacity));
    json_object_set_new(object, "nodes_bound", integer_json(t->nodes_bound));
    json_object_set_new(object, "sent_back", integer_json(t->restarted));
    if (certify) json_object_set_new(object, "certified", integer_json(t->certified));
    if (exact) json_object_set_new(object, "exact_rows", integer_json(t->exact_rows));
    if (t->cube_hypotheses) {
        json_object_set_new(object, "cube_hypotheses", integer_json(t->cube_hypotheses));
        json_object_set_new(object, "cube_classes", integer_json(t->cube_classes));
        json_object_set_new(object, "cube_rescored", integer_json(t->cube_rescored));
    }
    json_object_set_new(object, "histories", pool_json(t->histories_in_use, t->histories_peak, t->histories_capacity));
    json_object_set_new(object, "items_peak", integer_json(t->items_peak));
    json_object_set_new(object, "waiting_peak", integer_json(t->waiting_peak));
}

/* One entry per worker. */
static json_t *devices_json(const rill_workers *workers)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < rill_workers_count(workers); i++)
        json_array_append_new(array, json_string(rill_workers_device(workers, i)));
    return array;
}

json_t *cli_report_json(const cli_report *report)
{
    const cli_session *session = report->session;
    json_t *object = json_object();
    set_counters(object, &report->stats, report->settings->certify, report->settings->exact);
    json_object_set_new(object, "memory_peak", integer_json((int64_t)rill_memory_peak(session->ctx)));
    json_object_set_new(object, "seconds", seconds_json(report));
    json_object_set_new(object, "engine_share", real_json(cli_engine_share(&report->stats)));
    json_object_set_new(object, "inputs_per_second", real_json(per_second(report)));
    json_object_set_new(object, "options", cli_options_json(report->settings, report->search_config));
    json_object_set_new(object, "domain", json_string(rill_model_domain(session->model)->name));
    json_object_set_new(object, "model", session->open.path ? json_string(session->open.path) : json_null());
    for (int i = 0; i < session->open.n_ensemble; i++) {
        if (i == 0) json_object_set_new(object, "also", json_array());
        json_array_append_new(json_object_get(object, "also"), json_string(session->ensemble[i]));
    }
    json_object_set_new(object, "threads", integer_json(session->open.threads));
    json_object_set_new(object, "workers", integer_json(session->workers));
    if (rill_workers_device(session->worker_pool, 0))
        json_object_set_new(object, "devices", devices_json(session->worker_pool));
    if (report->shortfalls) json_object_set_new(object, "inputs_cut", integer_json(report->shortfalls->n_truncated));
    if (report->shortfalls) json_object_set_new(object, "inputs_with_fewer", integer_json(report->shortfalls->n_fewer));
    if (report->profile) json_object_set_new(object, "profile", cli_profile_json(report->profile));
    json_object_set_new(object, "version", json_string(RILL_VERSION_STRING));
    return object;
}

int cli_json_replaces_table(const char *path)
{
    return path && cli_file_is_standard(path);
}

int cli_json_write(cli_output *output, json_t *value)
{
    char *text = value ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(value);
    if (!text) return cli_fail_memory("a JSON report");
    cli_output_write(output, text, strlen(text));
    cli_output_write(output, "\n", 1);
    free(text);
    return CLI_OK; /* closing the output reports write errors */
}

/* --- options in effect ------------------------------------------------------------------------------------------------- */

static int is_streaming(const rill_settings *settings)
{
    for (const rill_method_info *m = rill_method_table(); m->name; m++)
        if (!strcmp(m->name, settings->method)) return m->streaming;
    return 0;
}

int cli_option_is_in_effect(const rill_settings *s, int has_heuristics, const rill_option *row)
{
    char value[RILL_OPTION_MAX], unset[RILL_OPTION_MAX];
    rill_settings defaults;
    rill_settings_default(&defaults);
    switch (row->offset) {
    case offsetof(rill_settings, method): return 1;
    case offsetof(rill_settings, seed): /* 0 is a valid seed, and top_k 0 means all choices */
    case offsetof(rill_settings, top_k): return s->sample > 0;
    case offsetof(rill_settings, cube): return s->cube > RILL_CUBE_NONE;
    case offsetof(rill_settings, groups): return s->groups > 1;
    case offsetof(rill_settings, repetition_penalty): return s->repetition_penalty != 0 && s->repetition_penalty != 1;
    case offsetof(rill_settings, min_width): return s->min_width > 0 && has_heuristics;
    case offsetof(rill_settings, max_items):
    case offsetof(rill_settings, refill): return is_streaming(s);
    default: break;
    }
    return strcmp(rill_settings_get(s, row, value), rill_settings_get(&defaults, row, unset)) != 0;
}

const char *cli_option_value(const rill_settings *settings, const rill_option *row, char out[RILL_OPTION_MAX])
{
    enum { LONGEST_EXACT = 8 };
    rill_settings_get(settings, row, out);
    if (row->type == RILL_OPTION_SWITCH) return out[0] == '1' ? "true" : "false";
    if (row->type != RILL_OPTION_REAL || strlen(out) <= LONGEST_EXACT) return out;
    const double value = rill_read_number(out, NULL), divisor = round(1 / value);
    if (1 / divisor == value) rill_print(out, RILL_OPTION_MAX, "1/%.0f", divisor);
    return out;
}

/* The value as the JSON type of the option. */
static json_t *value_json(const rill_settings *settings, const rill_option *row)
{
    char text[RILL_OPTION_MAX];
    rill_settings_get(settings, row, text);
    switch (row->type) {
    case RILL_OPTION_INT:
    case RILL_OPTION_BYTES: return json_integer(strtoll(text, NULL, 10));
    case RILL_OPTION_REAL: {
        const double value = rill_read_number(text, NULL); /* JSON has no infinities */
        return isfinite(value) ? json_real(value) : json_string(text);
    }
    case RILL_OPTION_SWITCH: return json_boolean(text[0] == '1');
    default: return json_string(text);
    }
}

static json_t *chain_json(const rill_chain_entry *entry, int32_t n)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++)
        json_array_append_new(list, entry[i].arguments[0] ? json_sprintf("%s:%s", entry[i].name, entry[i].arguments)
                                                          : json_string(entry[i].name));
    return list;
}

static void add_run_options(json_t *object, const rill_engine_setup *setup)
{
    if (setup->cube_key) json_object_set_new(object, "cube_key", json_string("function"));
    if (setup->budget) json_object_set_new(object, "max_batch_hypotheses", json_string("function"));
    json_object_set_new(object, "heuristics", chain_json(setup->heuristics, setup->n_heuristics));
    json_object_set_new(object, "scorers", chain_json(setup->scorers, setup->n_scorers));
    if (setup->scheduler) json_object_set_new(object, "scheduler", json_string(setup->scheduler->name));
}

const char *cli_option_key(const rill_option *row, char out[RILL_OPTION_MAX])
{
    snprintf(out, RILL_OPTION_MAX, "%s", row->name);
    for (char *dash = out; (dash = strchr(dash, '-'));) *dash = '_';
    return out;
}

json_t *cli_options_json(const rill_settings *settings, const rill_search_config *search_config)
{
    const rill_engine_setup *setup = search_config->setup;
    char name[RILL_OPTION_MAX];
    json_t *object = json_object();
    for (const rill_option *row = rill_setting_table(); row->name; row++) {
        if (row->offset == offsetof(rill_settings, patience))
            continue; /* the option patience is shown as its resolved stop_after */
        if (!cli_option_is_in_effect(settings, setup->n_heuristics > 0, row)) continue;
        json_object_set_new(object, cli_option_key(row, name), value_json(settings, row));
    }
    add_run_options(object, setup);
    return object;
}

/* --- hardware ---------------------------------------------------------------------------------------------------------- */

/* On Linux, /proc/cpuinfo has the processor's name as "model name", if at all. */
static int read_name(rill_context *ctx, char *name, size_t size)
{
    static const char key[] = "model name\t: ";
    cli_input file;
    const char *line;
    size_t length;
    int found = 0;
    if (cli_input_begin(&file, ctx, "/proc/cpuinfo", RILL_FILE_STREAM) < 0) return 0;
    while (!found && cli_input_read(&file, 1, &line, &length) == RILL_OK)
        found = length > sizeof key - 1 && !memcmp(line, key, sizeof key - 1);
    if (found) snprintf(name, size, "%.*s", (int)(length - (sizeof key - 1)), line + sizeof key - 1);
    cli_input_close(&file);
    return found;
}

const char *cli_hardware(const cli_session *session, char out[CLI_HARDWARE_MAX])
{
    char name[256], parallelism[CLI_PARALLELISM_MAX];
    struct utsname machine;
    const char *device = session->worker_pool ? rill_workers_device(session->worker_pool, 0) : NULL;
    const int own = !device || !strncmp(device, "cpu", 3); /* "cpu", or "cpu, " and the name of a BLAS */
    if (!own)
        name[0] = '\0';
    else if (!read_name(session->ctx, name, sizeof name))
        snprintf(name, sizeof name, "%s", uname(&machine) ? "unknown processor" : machine.machine);
    snprintf(out, CLI_HARDWARE_MAX, "%s%.80s, %s", name,
             own && device ? device + 3
             : own         ? ""
                           : device,
             cli_session_parallelism(session, parallelism));
    return out;
}
