/* rill run with a sweep: write one row per grid point, as soon as it is evaluated. */
#include "trial.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_options.h"
#include "report.h"
#include "session.h"
#include "trace.h"

/* --- sweeps ------------------------------------------------------------------------------------------------------------ */

/* --- the grid ----------------------------------------------------------------------------------------------------- */

int cli_sweep_check(const cli_runfile *runfile)
{
    int code = CLI_OK;
    for (int32_t i = 0; i < runfile->config->n_sweep && code == CLI_OK; i++)
        code = cli_trials_check_name(runfile->path, runfile->session->command_line, runfile->config->sweep[i].name);
    return code;
}

int cli_sweep_points(cli_trials *trials, const cli_runfile *runfile, void (*after)(void *user, const cli_point *point),
                     void *user)
{
    const rill_script_config *sweep_config = runfile->config;
    int code = CLI_OK;
    trials->total = sweep_config->sweep_points;
    cli_interrupt_catch();
    for (int64_t i = 0; i < sweep_config->sweep_points && code == CLI_OK; i++) {
        rill_script_config *config;
        if (rill_script_sweep_point(runfile->script, i, &config) < 0) return cli_fail_context(trials->session->ctx);
        code = cli_trials_try(trials, config);
        rill_script_config_free(config);
        if (code == CLI_OK && after) after(user, &trials->points.point[trials->points.n - 1]);
    }
    return code;
}

/* --- rill run ----------------------------------------------------------------------------------------------------- */

typedef struct sweep_state {
    const cli_sweep *sweep;
    cli_testset set;
    cli_trials trials;
    cli_table table;
    cli_output output, stats;
} sweep_state;

static void write_row(void *user, const cli_point *point)
{
    sweep_state *s = user;
    cli_table_row(&s->table, &s->output, point, 0);
    cli_output_flush(&s->output);
}

static int check_sweep_files(const cli_sweep *sweep)
{
    cli_file files[6] = {
        {"input", sweep->input, 0}, {"the configuration", sweep->runfile->path, 0}, {"output", sweep->output, 1}};
    int n = 3;
    if (sweep->references) files[n++] = (cli_file){"references", sweep->references, 0};
    if (sweep->stats) files[n++] = (cli_file){"--stats", sweep->stats, 1};
    return cli_files_check(files);
}

static int prepare_sweep(sweep_state *s)
{
    const cli_sweep *sweep = s->sweep;
    cli_session *session = sweep->session;
    const char *domain = cli_session_domain(session);
    if (!domain || check_sweep_files(sweep) != CLI_OK || cli_sweep_check(sweep->runfile) != CLI_OK) return CLI_FAILED;
    const cli_testset_files files = {sweep->input ? sweep->input : "-", sweep->references, NULL};
    session->erase_progress = cli_trials_erase;
    int code = cli_testset_load(&s->set, session->ctx, &files);
    if (code == CLI_OK) code = cli_session_open(session);
    if (code == CLI_OK)
        code = cli_exit_code(session->ctx,
                             cli_testset_open_metric(&s->set, session->ctx, rill_find_domain(session->ctx, domain),
                                                     session->open.tokenized, cli_message));
    if (code == CLI_OK && sweep->stats) code = cli_output_open(&s->stats, session->ctx, sweep->stats, CLI_REPORT);
    return code == CLI_OK ? cli_output_open(&s->output, session->ctx, sweep->output, CLI_STREAM) : code;
}

static int run_sweep(sweep_state *s)
{
    const rill_script_config *config = s->sweep->runfile->config;
    s->trials = (cli_trials){.points.kind = cli_testset_metric(&s->set),
                             .session = s->sweep->session,
                             .set = &s->set,
                             .path = s->sweep->runfile->path,
                             .script = s->sweep->runfile->script,
                             .config = config};
    s->table.metric = s->set.kind;
    s->table.has_quality = s->set.has_references;
    s->table.has_certified = cli_trials_have_certified(&s->trials);
    cli_table_columns_for_axes(&s->table, config->sweep, config->n_sweep);
    cli_table_head(&s->table, &s->output);
    int code = cli_sweep_points(&s->trials, s->sweep->runfile, write_row, s);
    if (s->sweep->stats &&
        cli_json_write(&s->stats, cli_points_json(&s->trials.points, s->trials.path, s->set.inputs.n)) != CLI_OK)
        code = CLI_FAILED;
    return code == CLI_OK && cli_points_have_failures(&s->trials.points) ? CLI_SOME_FAILED : code;
}

int cli_sweep_run(const cli_sweep *sweep)
{
    sweep_state *s = calloc(1, sizeof *s);
    if (!s) return cli_fail_memory("the sweep");
    s->sweep = sweep;
    int code = prepare_sweep(s);
    if (code == CLI_OK) code = run_sweep(s);
    int closed = cli_output_close(&s->output), reported = cli_output_close(&s->stats);
    if (closed != CLI_OK || reported != CLI_OK) code = closed != CLI_OK ? closed : reported;
    cli_points_free(&s->trials.points);
    cli_testset_free(&s->set);
    free(s);
    return code;
}

/* --- tune -------------------------------------------------------------------------------------------------------------- */

/* rill tune: find settings with the best quality at each cost. A Lua script has a grid of settings or its own search function.
 *
 * Quality is the metric of the dev set's first outputs, or of the best output of each input (oracle). Cost is the number of expanded
 * candidates, which is equal on every machine and in every run. The Pareto front contains the configurations that no other one beats in
 * both. */
typedef struct tune {
    cli_session session;
    cli_runfile runfile;
    const char *dev_path, *plot_path, *json_path;
    int oracle, quiet;
    cli_testset set;
    cli_trials trials;
    cli_table table;
    cli_output output, plot, json;
    int last_code; /* exit code of the last evaluation that the script's function tune requested */
} tune;

/* --- evaluation --------------------------------------------------------------------------------------------------- */

static rill_status try_config(void *user, const rill_script_config *config, rill_script_measures *out)
{
    tune *t = user;
    t->last_code = cli_trials_try(&t->trials, config);
    if (t->last_code != CLI_OK) return RILL_ERR_STOPPED;
    const cli_point *point = &t->trials.points.point[t->trials.points.n - 1];
    const cli_counts *c = &point->trial.counts;
    out->refused = point->refusal;
    out->quality = cli_quality(t->set.kind, c, 0);
    out->oracle = cli_quality(t->set.kind, c, 1);
    out->exact = t->set.kind == &cli_metric_exact ? out->quality : NAN;
    out->seconds = point->trial.stats.seconds.total;
    out->expansions = point->trial.stats.expansions;
    out->timesteps = point->trial.stats.timesteps;
    out->failed = c->missing;
    return RILL_OK;
}

static int try_all(tune *t)
{
    const rill_script_config *config = t->runfile.config;
    t->trials = (cli_trials){.points.kind = cli_testset_metric(&t->set),
                             .session = &t->session,
                             .set = &t->set,
                             .path = t->runfile.path,
                             .script = t->runfile.script,
                             .config = config,
                             .shows_progress = !t->quiet};
    if (!config->has_tune) return cli_sweep_points(&t->trials, &t->runfile, NULL, NULL);
    cli_interrupt_catch();
    rill_status status = rill_script_tune(t->runfile.script, try_config, t);
    if (t->last_code != CLI_OK) return t->last_code; /* the message was printed, even if the script continued */
    if (status < 0) return cli_fail_context(t->session.ctx);
    return t->trials.points.n ? CLI_OK : cli_fail("%s: its function tune made no trial", t->runfile.path);
}

static const char *quality_name(const tune *t)
{
    return t->oracle ? "oracle" : t->set.kind->name;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

static int print_front(tune *t, size_t marked)
{
    size_t *front = calloc(2 * marked, sizeof *front), *n_equal = front + marked;
    if (!front) return cli_fail_memory("the front");
    size_t n = cli_points_front(&t->trials.points, front, n_equal);
    cli_output_printf(&t->output,
                      "\n"
                      "Pareto front, cheapest first: no other configuration has at least this quality for less (%s).\n"
                      "\n",
                      quality_name(t));
    t->table.has_front = 0;
    cli_table_head(&t->table, &t->output);
    for (size_t i = 0; i < n; i++) cli_table_row(&t->table, &t->output, &t->trials.points.point[front[i]], n_equal[i]);
    free(front);
    return CLI_OK;
}

static int print_points(tune *t)
{
    size_t n = cli_points_mark_front(&t->trials.points, t->oracle);
    if (cli_json_replaces_table(t->json_path)) return CLI_OK;
    t->table.metric = t->set.kind;
    t->table.has_quality = t->set.has_references;
    t->table.has_certified = cli_trials_have_certified(&t->trials);
    t->table.has_front = 1;
    if (t->runfile.config->has_tune)
        cli_table_columns_for_points(&t->table, &t->trials.points);
    else
        cli_table_columns_for_axes(&t->table, t->runfile.config->sweep, t->runfile.config->n_sweep);
    char parallelism[CLI_PARALLELISM_MAX];
    cli_output_printf(&t->output, "%" PRId64 " inputs, %zu configuration%s, %s\n\n", t->set.inputs.n,
                      t->trials.points.n, t->trials.points.n == 1 ? "" : "s",
                      cli_session_parallelism(&t->session, parallelism));
    cli_table_head(&t->table, &t->output);
    for (size_t i = 0; i < t->trials.points.n; i++) cli_table_row(&t->table, &t->output, &t->trials.points.point[i], 0);
    return n ? print_front(t, n) : CLI_OK;
}

/* Write --json and --plot. */
static int write_points(tune *t)
{
    char title[512], hardware[CLI_HARDWARE_MAX];
    json_t *object = cli_points_json(&t->trials.points, t->runfile.path, t->set.inputs.n),
           *list = json_object_get(object, "configurations");
    json_object_set_new(object, "metric", json_string(quality_name(t)));
    json_object_set_new(object, "hardware", json_string(cli_hardware(&t->session, hardware)));
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!t->trials.points.point[i].refusal)
            json_object_set_new(json_array_get(list, i), "front", json_boolean(t->trials.points.point[i].on_front));
    int code = t->json_path ? cli_json_write(&t->json, json_incref(object)) : CLI_OK;
    snprintf(title, sizeof title, "%s: %s against expansions", t->runfile.path, quality_name(t));
    if (code == CLI_OK && t->plot_path) code = cli_picture_write(&t->plot, title, "tune", object);
    json_decref(object);
    return code;
}

/* --- preparing ---------------------------------------------------------------------------------------------------- */

static int check_search(const tune *t)
{
    if (t->runfile.config->n_sweep || t->runfile.config->has_tune) return CLI_OK;
    return cli_fail("%s has no sweep and no tune. Add a grid to the table that it returns,\n"
                    "    sweep = rill.sweep{ delta = {0.5, 1.5, 2.5}, M = {3, 5, 10} },\n"
                    "or a search function:\n"
                    "    tune = function(try)\n"
                    "      for delta = 1, 4 do print(delta, try{ delta = delta }.quality) end\n"
                    "    end,",
                    t->runfile.path);
}

/* Load the dev set from the options, or else from the configuration. */
static int load_set(tune *t)
{
    const rill_script_config *config = t->runfile.config;
    cli_testset_files files = {.tsv = t->dev_path};
    if (!t->dev_path) files = (cli_testset_files){.input = config->input, .references = config->references};
    if (!t->dev_path && !(config->input && config->references))
        return cli_fail("no development set: set --dev FILE.tsv, with inputs and references in two columns (or "
                        "input and references in %s)",
                        t->runfile.path);
    return cli_testset_load(&t->set, t->session.ctx, &files);
}

static int check_files(const tune *t)
{
    const rill_script_config *config = t->runfile.config;
    cli_file files[7] = {{"the configuration", t->runfile.path, 0}};
    int n = 1;
    if (!cli_json_replaces_table(t->json_path)) files[n++] = (cli_file){"the table", NULL, 1};
    if (t->dev_path) files[n++] = (cli_file){"--dev", t->dev_path, 0};
    if (!t->dev_path && config->input) files[n++] = (cli_file){"input", config->input, 0};
    if (!t->dev_path && config->references) files[n++] = (cli_file){"references", config->references, 0};
    if (t->plot_path) files[n++] = (cli_file){"--plot", t->plot_path, 1};
    if (t->json_path) files[n++] = (cli_file){"--json", t->json_path, 1};
    return cli_files_check(files);
}

static int prepare(tune *t)
{
    if (!t->runfile.path) return cli_fail("no run file: rill tune FILE.lua --dev FILE.tsv");
    int code = cli_picture_check("--plot", t->plot_path);
    if (code == CLI_OK) code = cli_runfile_load(&t->runfile, &t->session);
    t->runfile.is_sweep = 1;
    if (code == CLI_OK) code = cli_runfile_check_plain(&t->runfile);
    if (code == CLI_OK) code = check_search(t);
    if (code == CLI_OK && !t->runfile.config->has_tune) code = cli_sweep_check(&t->runfile);
    if (code == CLI_OK) code = cli_session_configure(&t->session);
    if (code == CLI_OK) cli_session_limit_threads(&t->session);
    const char *domain = code == CLI_OK ? cli_session_domain(&t->session) : NULL;
    if (!domain) return CLI_FAILED;
    code = check_files(t);
    if (code == CLI_OK) code = load_set(t);
    if (code == CLI_OK) code = cli_session_open(&t->session);
    if (code == CLI_OK)
        code = cli_exit_code(t->session.ctx,
                             cli_testset_open_metric(&t->set, t->session.ctx, rill_find_domain(t->session.ctx, domain),
                                                     t->session.open.tokenized, cli_message));
    const rill_context *ctx = t->session.ctx;
    if (code == CLI_OK && t->plot_path) code = cli_output_open(&t->plot, ctx, t->plot_path, CLI_REPORT);
    if (code == CLI_OK && t->json_path) code = cli_output_open(&t->json, ctx, t->json_path, CLI_REPORT);
    return code == CLI_OK ? cli_output_open(&t->output, ctx, NULL, CLI_STREAM) : code;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

enum { TAKE_METRIC = 1 };

#define STORED(field) .member = offsetof(tune, field)
static const cli_option tune_options[] = {
    {"dev", 0, "FILE", "inputs and references: two columns with a tab between them", STORED(dev_path)},
    {"metric", 0, "NAME",
     "metric, one of `rill list metrics` (default: the domain's), of the first outputs or, as NAME:oracle, of each "
     "input's best",
     .id = TAKE_METRIC},
    {"plot", 0, "FILE.html", "write an HTML page with a chart of quality against expansions and the Pareto front",
     STORED(plot_path)},
    {"json", 0, "FILE", "write all configurations as JSON; - is standard output, in place of the table",
     STORED(json_path)},
    {"quiet", 'q', "", "print no progress on standard error", STORED(quiet)},
    {.name = NULL},
};

static const char about[] = "Decode a dev set with each configuration of a Lua script, and print a table of\n"
                            "all configurations and the Pareto front of quality against expansions. The\n"
                            "front has the configurations that no other one beats in both.\n"
                            "\n"
                            "The configurations are the grid of the script's `sweep`, or those that its\n"
                            "function `tune` evaluates, which may loop, compare and bisect:\n"
                            "\n"
                            "  return {\n"
                            "    model = \"model\",\n"
                            "    options = { beam_size = 10, max_batch_hypotheses = 100 },\n"
                            "    sweep = rill.sweep{ delta = {0.5, 1.5, 2.5}, M = {3, 5, 10} },\n"
                            "    tune = function(try)          -- replaces the sweep if both are set\n"
                            "      local delta = 4\n"
                            "      while delta > 0.1 and try{ delta = delta }.quality > 80 do\n"
                            "        delta = delta / 2\n"
                            "      end\n"
                            "    end,\n"
                            "  }\n"
                            "\n"
                            "In a grid, delta is the argument of the heuristic absolute, M is max_children;\n"
                            "relative, relative_local and every setting keep their names. Configurations\n"
                            "with conflicting settings are reported and skipped. An error in the script ends\n"
                            "the search; the configurations before it are printed. Options of the command\n"
                            "line override every configuration. Seconds are the time in the engine during\n"
                            "one run that returns all outputs.";

static const char epilogue[] = "Exit code: 0 success; 1 wrong usage, or the search failed;\n"
                               "2 finished, but in some configurations inputs failed or settings were refused;\n"
                               "130 Ctrl-C: the configurations before it are printed.\n"
                               "\n"
                               "Examples:\n"
                               "  rill tune run.lua --dev dev.tsv\n"
                               "  rill tune run.lua --dev dev.tsv --metric oracle --plot front.html\n"
                               "  rill tune run.lua --dev dev.tsv --tokenized -m other-model --threads 2\n";

/* Parse "oracle", "NAME" or "NAME:oracle". */
static int take_metric(tune *t, const char *value)
{
    char name[40];
    const char *colon = strchr(value, ':');
    t->oracle = !strcmp(colon ? colon + 1 : value, "oracle");
    if (t->oracle && !colon) return CLI_OK;
    if (colon && !t->oracle) return cli_fail("--metric %s: expected \"oracle\" after the colon", value);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(value, ":"), value);
    return cli_metric_take(name, &t->set.kind);
}

static int take_option(void *user, const cli_option *option, const char *value)
{
    tune *t = user;
    if (cli_session_owns_option(option)) return cli_session_take_option(&t->session, option, value);
    return option->id == TAKE_METRIC ? take_metric(t, value) : cli_option_store(t, option, value);
}

static int take_argument(void *user, const char *value)
{
    tune *t = user;
    if (t->runfile.path) return cli_fail("expected one run file, found another, \"%s\"", value);
    t->runfile.path = value;
    return CLI_OK;
}

static int parse(tune *t, int argc, char **argv, int *helped)
{
    const cli_group groups[] = {
        {"Tuning", tune_options},
        {"Model", cli_model_options},
        CLI_OPTION_ROW_GROUPS(t->session),
        {NULL, NULL},
    };
    const cli_syntax syntax = {
        "rill tune FILE.lua --dev FILE [options]",
        about,
        groups,
        epilogue,
        take_option,
        take_argument,
        t,
        "dev metric plot json quiet model threads weights device beam-size batch-size max-length length-penalty"};
    return cli_session_parse(&t->session, &syntax, argc, argv, helped);
}

/* Prints the points that were evaluated even if the search failed. */
static int run(tune *t)
{
    int code = prepare(t);
    if (code != CLI_OK) return code;
    t->session.erase_progress = cli_trials_erase;
    code = try_all(t);
    if (t->trials.points.n == 0) return code;
    int printed = print_points(t);
    if (printed == CLI_OK && (t->json_path || t->plot_path)) printed = write_points(t);
    if (code == CLI_OK) code = printed;
    return code == CLI_OK && cli_points_have_failures(&t->trials.points) ? CLI_SOME_FAILED : code;
}

static int close_outputs(tune *t, int code)
{
    cli_output *const outputs[] = {&t->output, &t->plot, &t->json};
    for (int i = 0; i < 3; i++) {
        int closed = cli_output_close(outputs[i]);
        if (closed != CLI_OK && code != CLI_FAILED) code = closed;
    }
    return code;
}

int cli_tune(int argc, char **argv)
{
    int helped = 0;
    tune *t = calloc(1, sizeof *t);
    if (!t) return cli_fail_memory("the command");
    int code = cli_session_start(&t->session);
    if (code == CLI_OK) code = parse(t, argc, argv, &helped);
    if (code == CLI_OK && !helped) code = run(t);
    code = close_outputs(t, code);
    cli_points_free(&t->trials.points);
    cli_testset_free(&t->set);
    cli_runfile_end(&t->runfile);
    cli_session_end(&t->session);
    free(t);
    return code;
}
