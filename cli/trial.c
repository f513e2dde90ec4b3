/* Loading and decoding test sets, and evaluating configurations with them; see trial.h. */
#include "trial.h"

#include <unistd.h>

#include "cli_input.h"

/* --- test sets and metrics ---------------------------------------------------------------------------------------- */

int cli_testset_load(cli_testset *set, rill_context *ctx, const char *input, const char *references, const char *tsv)
{
    if (tsv) TRY(cli_lines_load_columns(&set->inputs, &set->references, ctx, tsv));
    if (input) {
        cli_lines_free(&set->inputs);
        TRY(cli_lines_load(&set->inputs, ctx, input));
    }
    if (references) TRY(cli_lines_load(&set->references, ctx, references));
    set->has_references = references || tsv;
    return cli_exit_code(ctx, cli_testset_check(set, ctx));
}

int cli_testset_open(cli_testset *set, cli_session *session)
{
    if (cli_session_open(session) != CLI_OK) return CLI_FAILED;
    const rill_domain *domain = rill_find_domain(session->ctx, cli_session_domain(session));
    return cli_exit_code(session->ctx,
                         cli_testset_open_metric(set, session->ctx, domain, session->open.tokenized, cli_message));
}

int cli_metric_take(void *command, const cli_option *option, const char *value)
{
    char why[400];
    const cli_metric_kind **kind = (const cli_metric_kind **)(void *)((char *)command + option->member);
    *kind = cli_metric_find(value, why, sizeof why);
    return *kind ? CLI_OK : cli_fail("%s", why);
}

/* --- decoding the test set ---------------------------------------------------------------------------------------- */

typedef struct memory_input {
    const cli_lines *lines;
    int64_t next;
} memory_input;

static rill_status read_line(void *user, int may_block, const char **text, size_t *length)
{
    memory_input *input = user;
    (void)may_block;
    if (input->next == input->lines->n) return RILL_END_OF_INPUT;
    *text = cli_lines_get(input->lines, input->next++, length);
    return RILL_OK;
}

static rill_status drop_result(void *user, const rill_result *result)
{
    (void)user;
    (void)result;
    return cli_interrupted() ? RILL_ERR_STOPPED : RILL_OK;
}

typedef struct judge {
    cli_testset *set;
    cli_counts *counts;
    uint64_t *hash;
} judge;

static rill_status judge_result(void *user, const rill_result *result)
{
    judge *j = user;
    if (cli_interrupted()) return RILL_ERR_STOPPED;
    if (j->hash) j->hash[result->id] = cli_result_hash(result);
    return cli_testset_add_result(j->set, result, j->counts);
}

/* Decode the set. setup: the search config's, perhaps with other settings and trace. */
static rill_status decode_set(cli_session *session, cli_testset *set, const rill_search_config *search_config,
                              const rill_engine_setup *setup, rill_write_fn write, void *user, cli_trial *out)
{
    rill_workers *workers = session->worker_pool;
    memory_input input = {&set->inputs, 0};
    rill_status status = cli_workers_begin(session, search_config, setup);
    if (status == RILL_OK && out->profile) status = cli_profile_begin(session->ctx, workers);
    if (status < 0) return status;
    out->settings = *rill_workers_settings(workers);
    const double start = cli_now();
    cli_interrupt_set_workers(workers);
    status = rill_workers_run(workers, read_line, &input, write, user);
    cli_interrupt_set_workers(NULL);
    out->seconds = cli_now() - start;
    out->stats.struct_size = sizeof out->stats;
    rill_workers_stats(workers, &out->stats);
    if (status == RILL_OK && out->profile) status = cli_profile_take(out->profile, session->ctx, workers);
    rill_workers_finish(workers);
    return status;
}

static void count_rows(void *user, const rill_trace_event *event)
{
    json_t **rows = user;
    char key[24];
    if (event->kind != RILL_TRACE_TIMESTEP || !*rows) return;
    snprintf(key, sizeof key, "%" PRId64, event->rows);
    const json_int_t n = json_integer_value(json_object_get(*rows, key));
    if (json_object_set_new(*rows, key, json_integer(n + 1)) == 0) return;
    json_decref(*rows);
    *rows = NULL;
}

rill_status cli_trial_judge(cli_session *session, cli_testset *set, const rill_search_config *search_config,
                            uint64_t *hash, cli_trial *out)
{
    rill_engine_setup setup = *search_config->setup;
    judge j = {set, &out->counts, hash};
    out->counts = (cli_counts){0};
    if (out->rows) {
        setup.trace = count_rows;
        setup.trace_user = &out->rows;
    }
    if (search_config->resolved->k > setup.settings.n_best) setup.settings.n_best = search_config->resolved->k;
    return decode_set(session, set, search_config, &setup, judge_result, &j, out);
}

rill_status cli_trial_time(cli_session *session, cli_testset *set, const rill_search_config *search_config,
                           cli_trial *out)
{
    return decode_set(session, set, search_config, search_config->setup, drop_result, NULL, out);
}

int cli_trials_have_certified(const cli_trials *t)
{
    static const char *const names[] = {"certify", "exact"};
    const rill_script_config *config = t->runfile->config;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const char *value = rill_option_source_get(t->session->command_line, names[n]);
        for (int32_t i = 0; i < config->n_settings && !value; i++)
            if (strcmp(config->settings[i].name, names[n]) == 0) value = config->settings[i].value;
        if (value && strcmp(value, "1") == 0) return 1;
    }
    return 0;
}

/* --- evaluating configurations ------------------------------------------------------------------------------------ */

/* Refuse a parameter that the command line sets too. */
static int check_name(const cli_trials *t, const char *name)
{
    const rill_option_source *command_line = t->session->command_line;
    const rill_script_parameter *p = rill_script_parameter_table();
    while (p->name && strcmp(p->name, name)) p++;
    if (p->heuristic && rill_option_source_has_chain(command_line, RILL_CHAIN_HEURISTICS))
        return cli_fail("%s sets %s, but heuristics given as options replace all heuristics: leave one of the two out",
                        t->runfile->path, name);
    if (rill_option_source_get(command_line, p->setting ? p->setting : name))
        return cli_fail("%s sets %s, which an option sets too: leave one of the two out", t->runfile->path, name);
    return CLI_OK;
}

int cli_trials_check_grid(const cli_trials *t)
{
    const rill_script_config *config = t->runfile->config;
    for (int32_t i = 0; i < config->n_sweep; i++) TRY(check_name(t, config->sweep[i].name));
    return CLI_OK;
}

static int differ(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) != 0 : a != b;
}

/* Find a key of "options" that `b` lacks, or has with another value than `a`. NULL: none. */
static const char *changed_option(const rill_script_config *a, const rill_script_config *b)
{
    for (int32_t i = 0, j; i < a->n_options; i++) {
        for (j = 0; j < b->n_options && strcmp(a->options[i].name, b->options[j].name); j++) continue;
        if (j == b->n_options || strcmp(a->options[i].value, b->options[j].value)) return a->options[i].name;
    }
    return NULL;
}

/* Find a key that a configuration changes although all configurations share its value: model, input, output and others. NULL: none. */
static const char *changed_key(const rill_script_config *point, const rill_script_config *script)
{
    const struct {
        const char *key, *found, *expected;
    } texts[] = {{"model", point->model, script->model},
                 {"domain", point->domain, script->domain},
                 {"domain_args", point->domain_arguments, script->domain_arguments},
                 {"input", point->input, script->input},
                 {"output", point->output, script->output},
                 {"references", point->references, script->references},
                 {"constraints", point->constraints, script->constraints},
                 {"tsv_column", point->tsv, script->tsv},
                 {"jsonl", point->jsonl, script->jsonl},
                 {"stats", point->stats, script->stats},
                 {"trace", point->trace, script->trace}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (differ(texts[i].found, texts[i].expected)) return texts[i].key;
    if (point->n_ensemble != script->n_ensemble) return "model";
    for (int32_t i = 0; i < point->n_ensemble; i++)
        if (strcmp(point->ensemble[i], script->ensemble[i])) return "model";
    if (point->n_plugins) return "plugins"; /* plugins are loaded once, for the script */
    if (point->tokenized != script->tokenized) return "tokenized";
    if (point->threads != script->threads) return "threads";
    if (point->workers != script->workers) return "workers";
    const char *option = changed_option(point, script);
    return option ? option : changed_option(script, point);
}

static int refuse(cli_point *point, const char *why)
{
    point->refusal = strndup(why, strcspn(why, "\n")); /* a table row is one line */
    return point->refusal ? CLI_OK : cli_fail_memory("a configuration");
}

static int fail_point(const cli_trials *t, const cli_point *point)
{
    char label[256];
    cli_point_label(point, label, sizeof label);
    return cli_fail("%s: %s: %s", t->runfile->path, label, rill_error(t->session->ctx));
}

/* Make the search config of a configuration. Refuses a configuration that is invalid, or that the command line overrides, because its
 * results would mislead. */
static int make_search(cli_trials *t, const rill_script_config *config, cli_point *point, rill_option_source **source,
                       rill_search_config **search_config)
{
    rill_context *ctx = t->session->ctx;
    const rill_option_source *model = t->session->folder.search, *defaults[] = {NULL, model};
    char why[600];
    const char *key = changed_key(config, t->runfile->config);
    if (key) {
        snprintf(why, sizeof why, "%s cannot differ between configurations, which share the model and files", key);
        return refuse(point, why);
    }
    rill_status status = cli_options_from_config(source, t->runfile->script, ctx, config);
    defaults[0] = *source;
    if (status < 0) return cli_fail_context(ctx);
    status = rill_search_config_make(search_config, ctx, *source, &model, 1);
    rill_search_config_free(*search_config);
    *search_config = NULL;
    if (status == RILL_OK) status = rill_search_config_make(search_config, ctx, t->session->command_line, defaults, 2);
    if (status == RILL_ERR_OPTION) return refuse(point, rill_error(ctx));
    if (status < 0) return fail_point(t, point);
    if (!(*search_config)->ignored[0]) return CLI_OK;
    snprintf(why, sizeof why, "the options exclude: %s", (*search_config)->ignored);
    return refuse(point, why);
}

static json_t *point_report(const cli_trials *t, const cli_point *point, const rill_search_config *search_config)
{
    const cli_report report = {
        .stats = point->trial.stats,
        .settings = &point->trial.settings,
        .search_config = search_config,
        .session = t->session,
        .wall_seconds = point->trial.seconds,
    };
    return cli_report_json(&report);
}

static int is_first_run(const cli_trials *t)
{
    for (size_t i = 0; i < t->points.n; i++)
        if (t->points.point[i].report) return 0;
    return 1;
}

static void show_point(const cli_trials *t, const cli_point *point)
{
    char label[256], total[32] = "";
    cli_point_label(point, label, sizeof label);
    if (t->total) snprintf(total, sizeof total, " of %" PRId64, t->total);
    if (t->shows_progress) cli_status_line("trial %zu%s: %s", t->points.n, total, label);
}

static int decode_point(cli_trials *t, const rill_script_config *config, cli_point *point,
                        const rill_search_config *search_config)
{
    rill_status status = RILL_OK;
    show_point(t, point);
    if (is_first_run(t)) status = cli_trial_time(t->session, &t->set, search_config, &point->trial);
    if (status == RILL_OK) status = cli_trial_judge(t->session, &t->set, search_config, NULL, &point->trial);
    if (t->shows_progress) cli_status_erase(NULL);
    if (cli_interrupted()) {
        cli_message("%s: interrupted%s", t->runfile->path, is_first_run(t) ? "" : ": earlier trials are kept");
        return CLI_INTERRUPTED;
    }
    if (status < 0) rill_script_config_locate_error(t->runfile->script, config);
    if (status == RILL_ERR_OPTION) return refuse(point, rill_error(t->session->ctx));
    if (status < 0) return fail_point(t, point);
    point->report = point_report(t, point, search_config);
    return point->report ? CLI_OK : cli_fail_memory("a configuration");
}

int cli_trials_try(cli_trials *t, const rill_script_config *config)
{
    rill_option_source *source = NULL;
    rill_search_config *search_config = NULL;
    cli_point *point = cli_points_add(&t->points, config->point, (size_t)config->n_point);
    int code = point ? CLI_OK : cli_fail_memory("a configuration");
    for (int32_t i = 0; code == CLI_OK && i < config->n_point; i++) code = check_name(t, config->point[i].name);
    if (code == CLI_OK) code = make_search(t, config, point, &source, &search_config);
    if (code == CLI_OK && !point->refusal) code = decode_point(t, config, point, search_config);
    if (code != CLI_OK && point) cli_points_remove_last(&t->points); /* remove the unfinished configuration */
    rill_search_config_free(search_config);
    rill_option_source_free(source);
    return code;
}

void cli_trials_free(cli_trials *t)
{
    cli_points_free(&t->points);
    cli_testset_free(&t->set);
}
