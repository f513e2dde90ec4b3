/* The summary line, and the JSON of --stats: all counters of rill_stats, the options in effect, the hardware. */
#include "report.h"

#include <math.h>
#include <sys/utsname.h>

#include "cli_input.h"

/* clang-format off */
#define STAGE(name) {#name, offsetof(rill_seconds, name)}
/* clang-format on */
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

/* Set member `name` to {"in_use", "peak", "capacity"}, the numbers of elements of a pool. */
static void set_pool(json_t *object, const char *name, int64_t in_use, int64_t peak, int64_t capacity)
{
    json_object_set_new(object, name,
                        json_pack("{s:I, s:I, s:I}", "in_use", (json_int_t)in_use, "peak", (json_int_t)peak, "capacity",
                                  (json_int_t)capacity));
}

static json_t *seconds_json(const cli_report *report)
{
    const rill_seconds *s = &report->stats.seconds;
    json_t *object = json_object();
    json_object_set_new(object, "read", cli_json_real(report->read_seconds));
    for (const cli_stage *t = cli_stages; t < cli_stages + CLI_STAGES; t++)
        json_object_set_new(object, t->name, cli_json_real(*cli_stage_seconds(s, t)));
    json_object_set_new(object, "write", cli_json_real(report->write_seconds));
    json_object_set_new(object, "total", cli_json_real(s->total));
    json_object_set_new(object, "waited", cli_json_real(s->waited));
    json_object_set_new(object, "hidden", cli_json_real(s->hidden));
    json_object_set_new(object, "wall", cli_json_real(report->wall_seconds));
    return object;
}

static void set_counters(json_t *object, const rill_stats *t, int certify, int exact)
{
#define COUNTER(name) json_object_set_new(object, #name, json_integer(t->name))
    COUNTER(inputs);
    COUNTER(failed);
    COUNTER(timesteps);
    COUNTER(expansions);
    json_object_set_new(object, "exp_per_step", cli_json_real(cli_expansions_per_timestep(t)));
    COUNTER(refills);
    COUNTER(longest_item_timesteps);
    COUNTER(depth_bound);
    COUNTER(passed_over_first);
    COUNTER(candidates);
    COUNTER(pruned);
    COUNTER(outputs);
    COUNTER(truncated);
    set_pool(object, "nodes", t->nodes_in_use, t->nodes_peak, t->nodes_capacity);
    COUNTER(nodes_bound);
    json_object_set_new(object, "sent_back", json_integer(t->restarted));
    if (certify) COUNTER(certified);
    if (exact) COUNTER(exact_rows);
    if (t->cube_hypotheses) {
        COUNTER(cube_hypotheses);
        COUNTER(cube_classes);
        COUNTER(cube_rescored);
    }
    set_pool(object, "histories", t->histories_in_use, t->histories_peak, t->histories_capacity);
    COUNTER(items_peak);
    COUNTER(waiting_peak);
    const rill_graph_runs *r = &t->graph_runs;
    if (r->direct + r->captured + r->replayed > 0)
        json_object_set_new(object, "graph_runs",
                            json_pack("{s:I, s:I, s:I, s:I}", "direct", (json_int_t)r->direct, "captured",
                                      (json_int_t)r->captured, "replayed", (json_int_t)r->replayed, "evicted",
                                      (json_int_t)r->evicted));
#undef COUNTER
}

json_t *cli_report_json(const cli_report *report)
{
    const cli_session *session = report->session;
    const char *path = session->open.path;
    json_t *object = json_object(), *also = session->open.n_ensemble > 0 ? json_array() : NULL;
    json_t *devices = rill_workers_device(session->worker_pool, 0) ? json_array() : NULL;
    for (int i = 0; i < session->open.n_ensemble; i++) json_array_append_new(also, json_string(session->ensemble[i]));
    for (int32_t i = 0; i < rill_workers_count(session->worker_pool); i++)
        json_array_append_new(devices, json_string(rill_workers_device(session->worker_pool, i)));
    set_counters(object, &report->stats, report->settings->certify, report->settings->exact);
    json_auto_t *run = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o*, s:o*, s:o*, s:i, s:i, s:o*, s:o*, s:s}", "memory_peak",
        (json_int_t)rill_memory_peak(session->ctx), "seconds", seconds_json(report), "engine_share",
        cli_json_real(cli_engine_share(&report->stats)), "inputs_per_second", cli_json_real(per_second(report)),
        "options", cli_options_json(report->settings, report->search_config), "domain",
        json_string(rill_model_domain(session->model)->name), "model", path ? json_string(path) : json_null(), "also",
        also, "threads", session->open.threads, "workers", session->workers, "devices", devices, "profile",
        report->profile ? cli_profile_json(report->profile) : NULL, "version", RILL_VERSION_STRING);
    json_object_update(object, run);
    if (report->shortfalls) json_object_set_new(object, "inputs_cut", json_integer(report->shortfalls->n_truncated));
    if (report->shortfalls) json_object_set_new(object, "inputs_with_fewer", json_integer(report->shortfalls->n_fewer));
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
    case offsetof(rill_settings, seed): /* in effect even if 0: 0 is a valid seed, and top_k 0 means all choices */
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

/* Return the value of an option as the JSON type of the option. */
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

json_t *cli_options_json(const rill_settings *settings, const rill_search_config *search_config)
{
    const rill_engine_setup *setup = search_config->setup;
    char name[RILL_OPTION_MAX];
    json_t *object = json_object();
    for (const rill_option *row = rill_setting_table(); row->name; row++) {
        if (row->offset == offsetof(rill_settings, patience))
            continue; /* the option patience is resolved to a value of stop_after, which is shown instead */
        if (!cli_option_is_in_effect(settings, setup->n_heuristics > 0, row)) continue;
        json_object_set_new(object, rill_option_spell(RILL_OPTION_UNDERSCORED, row->name, name),
                            value_json(settings, row));
    }
    json_auto_t *run = json_pack(
        "{s:s*, s:s*, s:o, s:o, s:s*}", "cube_key", setup->cube_key ? "function" : NULL, "max_batch_hypotheses",
        setup->budget ? "function" : NULL, "heuristics", chain_json(setup->heuristics, setup->n_heuristics), "scorers",
        chain_json(setup->scorers, setup->n_scorers), "scheduler", setup->scheduler ? setup->scheduler->name : NULL);
    json_object_update(object, run);
    return object;
}

/* --- hardware ---------------------------------------------------------------------------------------------------------- */

/* Read the processor's name from /proc/cpuinfo ("model name"). */
static int read_name(rill_context *ctx, char *name, size_t size)
{
    static const char key[] = "model name\t: ";
    SCOPED(cli_input_close) cli_input file = {0};
    const char *line;
    size_t length;
    int found = 0;
    if (cli_input_begin(&file, ctx, "/proc/cpuinfo", RILL_FILE_STREAM) < 0) return 0;
    while (!found && cli_input_read(&file, 1, &line, &length) == RILL_OK)
        found = length > sizeof key - 1 && !memcmp(line, key, sizeof key - 1);
    if (found) snprintf(name, size, "%.*s", (int)(length - (sizeof key - 1)), line + sizeof key - 1);
    return found;
}

const char *cli_hardware(const cli_session *session, char out[CLI_HARDWARE_MAX])
{
    char name[256], parallelism[CLI_PARALLELISM_MAX];
    struct utsname machine;
    const char *device = session->worker_pool ? rill_workers_device(session->worker_pool, 0) : NULL;
    /* the device is the CPU: its name is "cpu", or "cpu, " and the name of a BLAS */
    const int own = !device || !strncmp(device, "cpu", 3);
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
