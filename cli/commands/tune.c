/* rill tune: find settings with the best quality at each cost; also the sweeps of `rill run`.
 *
 * Quality is measured on a dev set. Cost is the number of expanded hypotheses, equal on every machine. */
#include <math.h>

#include "trace.h"
#include "trial.h"

/* --- printing tables --------------------------------------------------------------------------------------------------- */

enum { COLUMNS_MAX = 32 };

/* A table of evaluated configurations. Each row has the parameters, the quality and the cost of one configuration. */
typedef struct table {
    struct {
        const char *name;
        int width;
    } column[COLUMNS_MAX]; /* a column per parameter; parameters beyond COLUMNS_MAX are not shown */
    int n;
    const cli_metric_kind *metric; /* measures the quality */
    int has_quality;               /* 1: show the quality in a column */
    int has_front;                 /* 1: mark the configurations of the Pareto front */
    int has_certified;             /* 1: show the percentage of certified outputs */
} table;

static void widen_column(table *t, const char *name, const char *value)
{
    char text[CLI_DISPLAY_VALUE_MAX];
    int i = 0, width = (int)strlen(cli_point_display_value(value, text));
    while (i < t->n && strcmp(t->column[i].name, name)) i++;
    if (i == COLUMNS_MAX) return;
    if (i == t->n) {
        t->column[i].name = name;
        t->column[i].width = (int)strlen(name);
        t->n++;
    }
    if (width > t->column[i].width) t->column[i].width = width;
}

static void write_padded(cli_output *output, const char *text, int width, int i)
{
    if (i) cli_output_write(output, " ", 1);
    for (int missing = width - (int)strlen(text); missing > 0; missing--) cli_output_write(output, " ", 1);
    cli_output_write(output, text, strlen(text));
}

static void write_head(const table *t, cli_output *output)
{
    for (int i = 0; i < t->n; i++) write_padded(output, t->column[i].name, t->column[i].width, i);
    cli_output_printf(output, "  %6s %6s%s %9s %9s %10s %8s %6s%s\n", t->metric->heading, "oracle",
                      t->has_certified ? "  cert%" : "", "seconds", "timesteps", "expansions", "exp/step", "failed",
                      t->has_front ? " front" : "");
}

static void write_quality(const table *t, cli_output *output, const cli_counts *counts, int oracle)
{
    if (t->has_quality)
        cli_output_printf(output, " %6.2f", cli_quality(t->metric, counts, oracle));
    else
        cli_output_printf(output, " %6s", "-");
}

static void write_row(const table *t, cli_output *output, const cli_point *point, size_t n_equal)
{
    const cli_trial *trial = &point->trial;
    for (int i = 0; i < t->n; i++) {
        char text[CLI_DISPLAY_VALUE_MAX];
        const char *value = cli_point_value(point, t->column[i].name);
        write_padded(output, value ? cli_point_display_value(value, text) : "-", t->column[i].width, i);
    }
    if (point->refusal) {
        cli_output_write(output, "  refused: ", 11);
        cli_output_write(output, point->refusal, strlen(point->refusal));
        cli_output_write(output, "\n", 1);
        return;
    }
    cli_output_write(output, " ", 1);
    write_quality(t, output, &trial->counts, 0);
    write_quality(t, output, &trial->counts, 1);
    if (t->has_certified) cli_output_printf(output, " %6.2f", cli_certified_percent(&trial->stats));
    cli_output_printf(output, " %9.4f %9" PRId64 " %10" PRId64 " %8.1f %6" PRId64 "%s", trial->stats.seconds.total,
                      trial->stats.timesteps, trial->stats.expansions, cli_expansions_per_timestep(&trial->stats),
                      trial->counts.missing, t->has_front && point->on_front ? "     *" : "");
    if (n_equal) cli_output_printf(output, "  and %zu alike", n_equal);
    cli_output_write(output, "\n", 1);
}

/* Start a table of trials. of_grid: 1 sizes the columns for all values of the grid, 0 for the configurations evaluated so far. */
static void start_table(table *t, const cli_trials *trials, int of_grid)
{
    *t = (table){.metric = trials->set.kind,
                 .has_quality = trials->set.has_references,
                 .has_certified = cli_trials_have_certified(trials)};
    const rill_script_axis *axes = trials->runfile->config->sweep;
    for (int32_t i = 0; of_grid && i < trials->runfile->config->n_sweep; i++)
        for (int32_t j = 0; j < axes[i].n; j++) widen_column(t, axes[i].name, axes[i].value[j]);
    const char *name;
    json_t *value;
    for (size_t i = 0; !of_grid && i < trials->points.n; i++)
        json_object_foreach(trials->points.point[i].parameters, name, value)
            widen_column(t, name, json_string_value(value));
}

/* --- sweeps over a grid ------------------------------------------------------------------------------------------------ */

/* Evaluate the grid's configurations in order until one fails. Writes each row at once if `t` is not NULL. */
static int try_grid(cli_trials *trials, const table *t, cli_output *output)
{
    const cli_runfile *runfile = trials->runfile;
    int code = CLI_OK;
    trials->total = runfile->config->sweep_points;
    cli_interrupt_catch();
    for (int64_t i = 0; i < trials->total && code == CLI_OK; i++) {
        rill_script_config *config;
        if (rill_script_sweep_point(runfile->script, i, &config) < 0) return cli_fail_context(trials->session->ctx);
        code = cli_trials_try(trials, config);
        rill_script_config_free(config);
        if (code != CLI_OK || !t) continue;
        write_row(t, output, &trials->points.point[trials->points.n - 1], 0);
        cli_output_flush(output);
    }
    return code;
}

static int run_sweep(cli_trials *trials, cli_output *output, cli_output *stats)
{
    table t;
    start_table(&t, trials, 1);
    write_head(&t, output);
    int code = try_grid(trials, &t, output);
    if (stats->name &&
        cli_json_write(stats, cli_points_json(&trials->points, trials->runfile->path, trials->set.inputs.n)) != CLI_OK)
        code = CLI_FAILED;
    return code == CLI_OK && cli_points_have_failures(&trials->points) ? CLI_SOME_FAILED : code;
}

int cli_sweep_run(cli_session *session, const cli_runfile *runfile, const char *input, const char *references,
                  const char *output, const char *stats)
{
    struct {
        cli_trials trials;
        cli_output output, stats;
    } *s = calloc(1, sizeof *s);
    if (!s) return cli_fail_memory("the sweep");
    s->trials = (cli_trials){.session = session, .runfile = runfile};
    const cli_file files[] = {{"input", cli_file_or_standard(input), 0},
                              {"the configuration", runfile->path, 0},
                              {"output", cli_file_or_standard(output), 1},
                              {"references", references, 0},
                              {"--stats", stats, 1},
                              {NULL, NULL, 0}};
    int code = cli_session_domain(session) ? cli_files_check(files) : CLI_FAILED;
    if (code == CLI_OK) code = cli_trials_check_grid(&s->trials);
    session->erase_progress = cli_status_erase;
    if (code == CLI_OK)
        code = cli_testset_load(&s->trials.set, session->ctx, cli_file_or_standard(input), references, NULL);
    if (code == CLI_OK) code = cli_testset_open(&s->trials.set, session);
    if (code == CLI_OK && stats) code = cli_output_open(&s->stats, session->ctx, stats, CLI_REPORT);
    if (code == CLI_OK) code = cli_output_open(&s->output, session->ctx, output, CLI_STREAM);
    s->trials.points.kind = cli_testset_metric(&s->trials.set);
    if (code == CLI_OK) code = run_sweep(&s->trials, &s->output, &s->stats);
    int closed = cli_output_close(&s->output), reported = cli_output_close(&s->stats);
    if (closed != CLI_OK || reported != CLI_OK) code = closed != CLI_OK ? closed : reported;
    cli_trials_free(&s->trials);
    free(s);
    return code;
}

/* --- trying configurations ---------------------------------------------------------------------------------------- */

typedef struct tune {
    cli_session session;
    cli_runfile runfile;
    const char *dev_path, *plot_path, *json_path;
    int oracle, quiet;
    cli_trials trials;
    table table;
    cli_output output, plot, json;
    int last_code; /* exit code of the last evaluation that the script's function tune requested */
} tune;

static rill_status try_config(void *user, const rill_script_config *config, rill_script_measures *out)
{
    tune *t = user;
    t->last_code = cli_trials_try(&t->trials, config);
    if (t->last_code != CLI_OK) return RILL_ERR_STOPPED;
    const cli_point *point = &t->trials.points.point[t->trials.points.n - 1];
    const cli_counts *c = &point->trial.counts;
    out->refused = point->refusal;
    out->quality = cli_quality(t->trials.set.kind, c, 0);
    out->oracle = cli_quality(t->trials.set.kind, c, 1);
    out->exact = t->trials.set.kind == &cli_metric_exact ? out->quality : NAN;
    out->seconds = point->trial.stats.seconds.total;
    out->expansions = point->trial.stats.expansions;
    out->timesteps = point->trial.stats.timesteps;
    out->failed = c->missing;
    return RILL_OK;
}

static int try_all(tune *t)
{
    t->trials.points.kind = cli_testset_metric(&t->trials.set);
    if (!t->runfile.config->has_tune) return try_grid(&t->trials, NULL, NULL);
    cli_interrupt_catch();
    rill_status status = rill_script_tune(t->runfile.script, try_config, t);
    if (t->last_code != CLI_OK) return t->last_code; /* the message was printed, even if the script continued */
    if (status < 0) return cli_fail_context(t->session.ctx);
    return t->trials.points.n ? CLI_OK : cli_fail("%s: its function tune made no trial", t->runfile.path);
}

static const char *quality_name(const tune *t)
{
    return t->oracle ? "oracle" : t->trials.set.kind->name;
}

/* --- printing the results ----------------------------------------------------------------------------------------- */

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
    write_head(&t->table, &t->output);
    for (size_t i = 0; i < n; i++) write_row(&t->table, &t->output, &t->trials.points.point[front[i]], n_equal[i]);
    free(front);
    return CLI_OK;
}

static int print_points(tune *t)
{
    size_t n = cli_points_mark_front(&t->trials.points, t->oracle);
    if (cli_json_replaces_table(t->json_path)) return CLI_OK;
    start_table(&t->table, &t->trials, !t->runfile.config->has_tune);
    t->table.has_front = 1;
    char parallelism[CLI_PARALLELISM_MAX];
    cli_output_printf(&t->output, "%" PRId64 " inputs, %zu configuration%s, %s\n\n", t->trials.set.inputs.n,
                      t->trials.points.n, t->trials.points.n == 1 ? "" : "s",
                      cli_session_parallelism(&t->session, parallelism));
    write_head(&t->table, &t->output);
    for (size_t i = 0; i < t->trials.points.n; i++) write_row(&t->table, &t->output, &t->trials.points.point[i], 0);
    return n ? print_front(t, n) : CLI_OK;
}

/* Write the files of --json and --plot. */
static int write_points(tune *t)
{
    char title[512], hardware[CLI_HARDWARE_MAX];
    json_auto_t *object = cli_points_json(&t->trials.points, t->runfile.path, t->trials.set.inputs.n);
    json_t *list = json_object_get(object, "configurations");
    json_object_set_new(object, "metric", json_string(quality_name(t)));
    json_object_set_new(object, "hardware", json_string(cli_hardware(&t->session, hardware)));
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!t->trials.points.point[i].refusal)
            json_object_set_new(json_array_get(list, i), "front", json_boolean(t->trials.points.point[i].on_front));
    int code = t->json_path ? cli_json_write(&t->json, json_incref(object)) : CLI_OK;
    snprintf(title, sizeof title, "%s: %s against expansions", t->runfile.path, quality_name(t));
    return code == CLI_OK && t->plot_path ? cli_picture_write(&t->plot, title, "tune", object) : code;
}

/* --- preparing the search ----------------------------------------------------------------------------------------- */

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
    if (!t->dev_path && !(config->input && config->references))
        return cli_fail("no development set: set --dev FILE.tsv, with inputs and references in two columns (or "
                        "input and references in %s)",
                        t->runfile.path);
    return t->dev_path ? cli_testset_load(&t->trials.set, t->session.ctx, NULL, NULL, t->dev_path)
                       : cli_testset_load(&t->trials.set, t->session.ctx, config->input, config->references, NULL);
}

static int check_files(const tune *t)
{
    const rill_script_config *config = t->runfile.config;
    const cli_file files[] = {{"the configuration", t->runfile.path, 0},
                              {"the table", cli_json_replaces_table(t->json_path) ? NULL : "-", 1},
                              {"--dev", t->dev_path, 0},
                              {"input", t->dev_path ? NULL : config->input, 0},
                              {"references", t->dev_path ? NULL : config->references, 0},
                              {"--plot", t->plot_path, 1},
                              {"--json", t->json_path, 1},
                              {NULL, NULL, 0}};
    return cli_files_check(files);
}

static int prepare(tune *t)
{
    cli_session *session = &t->session;
    if (!t->runfile.path) return cli_fail("no run file: rill tune FILE.lua --dev FILE.tsv");
    TRY(cli_picture_check("--plot", t->plot_path));
    TRY(cli_runfile_load(&t->runfile, session));
    t->runfile.is_sweep = 1;
    t->trials = (cli_trials){
        .session = session, .runfile = &t->runfile, .set = t->trials.set, .shows_progress = !t->quiet};
    TRY(cli_runfile_check_plain(&t->runfile));
    TRY(check_search(t));
    if (!t->runfile.config->has_tune) TRY(cli_trials_check_grid(&t->trials));
    TRY(cli_session_prepare(session));
    TRY(check_files(t));
    TRY(load_set(t));
    TRY(cli_testset_open(&t->trials.set, session));
    if (t->plot_path) TRY(cli_output_open(&t->plot, session->ctx, t->plot_path, CLI_REPORT));
    if (t->json_path) TRY(cli_output_open(&t->json, session->ctx, t->json_path, CLI_REPORT));
    return cli_output_open(&t->output, session->ctx, NULL, CLI_STREAM);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Parse the value of --metric: "oracle", "NAME" or "NAME:oracle". */
static int take_metric(void *command, const cli_option *option, const char *value)
{
    tune *t = command;
    char name[40];
    const char *colon = strchr(value, ':');
    t->oracle = !strcmp(colon ? colon + 1 : value, "oracle");
    if (t->oracle && !colon) return CLI_OK;
    if (colon && !t->oracle) return cli_fail("--metric %s: expected \"oracle\" after the colon", value);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(value, ":"), value);
    return cli_metric_take(t, option, name);
}

#define STORED(field) .member = offsetof(tune, field)
static const cli_option tune_options[] = {
    {"dev", 0, "FILE", "inputs and references: two columns with a tab between them", STORED(dev_path)},
    {"metric", 0, "NAME",
     "metric, one of `rill list metrics` (default: the domain's), of the first outputs or, as NAME:oracle, of each "
     "input's best",
     STORED(trials.set.kind), .take = take_metric},
    {"plot", 0, "FILE.html", "write an HTML page with a chart of quality against expansions and the Pareto front",
     STORED(plot_path)},
    {"json", 0, "FILE", "write all configurations as JSON; - is standard output, in place of the table",
     STORED(json_path)},
    {"quiet", 'q', "", "print no progress on standard error", STORED(quiet)},
    {.name = NULL},
};

/* Run the search, and print the configurations that were evaluated, even if the search failed. */
static int tune_all(tune *t)
{
    int code = prepare(t);
    if (code != CLI_OK) return code;
    t->session.erase_progress = cli_status_erase;
    code = try_all(t);
    if (t->trials.points.n == 0) return code;
    int printed = print_points(t);
    if (printed == CLI_OK && (t->json_path || t->plot_path)) printed = write_points(t);
    if (code == CLI_OK) code = printed;
    return code == CLI_OK && cli_points_have_failures(&t->trials.points) ? CLI_SOME_FAILED : code;
}

static int run(void *command)
{
    tune *t = command;
    cli_output *const outputs[] = {&t->output, &t->plot, &t->json};
    int code = tune_all(t);
    for (int i = 0; i < 3; i++) {
        int closed = cli_output_close(outputs[i]);
        if (closed != CLI_OK && code != CLI_FAILED) code = closed;
    }
    return code;
}

static void end(void *command)
{
    tune *t = command;
    cli_trials_free(&t->trials);
    cli_runfile_end(&t->runfile);
}

const cli_command cli_tune = {
    .name = "tune",
    .summary = "compare configurations of a run file on a development set",
    .usage = "rill tune FILE.lua --dev FILE [options]",
    .groups = {{"Tuning", tune_options}, {"Model", cli_model_options}, CLI_SEARCH_GROUPS},
    .main_options =
        "dev metric plot json quiet model threads weights device beam-size batch-size max-length length-penalty",
    .argument = "run file",
    .argument_member = offsetof(tune, runfile.path),
    .size = sizeof(tune),
    .run = run,
    .end = end,
};
