/* rill run with a sweep: write one row per grid point, as soon as it is evaluated. */
#include "sweep.h"

#include <stdlib.h>

#include "files.h"
#include "interrupt.h"
#include "report.h"
#include "table.h"

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

typedef struct state {
    const cli_sweep *sweep;
    cli_testset set;
    cli_trials trials;
    cli_table table;
    cli_output output, stats;
} state;

static void write_row(void *user, const cli_point *point)
{
    state *s = user;
    cli_table_row(&s->table, &s->output, point, 0);
    cli_output_flush(&s->output);
}

static int check_files(const cli_sweep *sweep)
{
    cli_file files[6] = {
        {"input", sweep->input, 0}, {"the configuration", sweep->runfile->path, 0}, {"output", sweep->output, 1}};
    int n = 3;
    if (sweep->references) files[n++] = (cli_file){"references", sweep->references, 0};
    if (sweep->stats) files[n++] = (cli_file){"--stats", sweep->stats, 1};
    return cli_files_check(files);
}

static int prepare(state *s)
{
    const cli_sweep *sweep = s->sweep;
    cli_session *session = sweep->session;
    const char *domain = cli_session_domain(session);
    if (!domain || check_files(sweep) != CLI_OK || cli_sweep_check(sweep->runfile) != CLI_OK) return CLI_FAILED;
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

static int run(state *s)
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
    state *s = calloc(1, sizeof *s);
    if (!s) return cli_fail_memory("the sweep");
    s->sweep = sweep;
    int code = prepare(s);
    if (code == CLI_OK) code = run(s);
    int closed = cli_output_close(&s->output), reported = cli_output_close(&s->stats);
    if (closed != CLI_OK || reported != CLI_OK) code = closed != CLI_OK ? closed : reported;
    cli_points_free(&s->trials.points);
    cli_testset_free(&s->set);
    free(s);
    return code;
}
