/* Reading run files; see session.h for precedence. */

#include "record.h"

static rill_status take_chain(const rill_script_chain *from, rill_option_source *source, rill_chain chain)
{
    if (from->is_set) rill_option_source_set_chain(source, chain);
    for (int32_t i = 0; i < from->n; i++)
        TRY(rill_option_source_add_to_chain(source, chain, from->entry[i].name, from->entry[i].arguments));
    return RILL_OK;
}

static rill_status set_option(rill_option_source *source, rill_script *script, rill_context *ctx,
                              const rill_script_pair *option)
{
    char why[512];
    const rill_status status = rill_option_source_set(source, option->name, option->value);
    if (status != RILL_ERR_OPTION) return status;
    const size_t n = strlen(option->name);
    snprintf(why, sizeof why, "%s", rill_error(ctx));
    /* cut the option's name from the message: the location that precedes the message contains it */
    const int named = strlen(why) > n + 2 && !memcmp(why + n, ": ", 2);
    return rill_script_config_refuse(script, option->name, named ? why + n + 2 : why);
}

rill_status cli_options_from_config(rill_option_source **out, rill_script *script, rill_context *ctx,
                                    const rill_script_config *config)
{
    TRY(rill_option_source_create(out, ctx, RILL_FROM_FILE));
    rill_option_source *source = *out;
    if (config->cube_key) rill_option_source_set_cube_key(source, config->cube_key, config->cube_key_user);
    if (config->budget) rill_option_source_set_budget(source, config->budget, config->budget_user);
    for (int32_t i = 0; i < config->n_settings; i++)
        TRY(rill_option_source_set(source, config->settings[i].name, config->settings[i].value));
    for (int32_t i = 0; i < config->n_options; i++) TRY(set_option(source, script, ctx, &config->options[i]));
    TRY(take_chain(&config->heuristics, source, RILL_CHAIN_HEURISTICS));
    TRY(take_chain(&config->scorers, source, RILL_CHAIN_SCORERS));
    return take_chain(&config->scheduler, source, RILL_CHAIN_SCHEDULER);
}

static void fill_session(const rill_script_config *config, cli_session *session)
{
    for (int32_t i = 0; !session->open.path && i < config->n_ensemble; i++)
        session->ensemble[session->open.n_ensemble++] = config->ensemble[i];
    session->open.path = cli_value_or(session->open.path, config->model);
    session->domain = cli_value_or(session->domain, config->domain);
    session->open.arguments = cli_value_or(session->open.arguments, config->domain_arguments);
    session->open.tokenized |= config->tokenized;
    if (!session->open.threads) session->open.threads = config->threads;
    if (!session->workers) session->workers = config->workers;
}

static void free_options(void *source)
{
    rill_option_source_free(source);
}

/* Load the script again in a worker's context. The worker's copy of file->options is read from it, and freed with the context. */
static rill_status read_for_worker(cli_runfile *file, int worker, rill_context *ctx)
{
    rill_script *script;
    rill_script_config *worker_config;
    rill_option_source *worker_options;
    TRY(rill_script_load(&script, ctx, file->path, &file->session->script));
    TRY(rill_script_config_read(script, &worker_config));
    rill_status status = cli_options_from_config(&worker_options, script, ctx, worker_config);
    if (status == RILL_OK) status = rill_context_defer(ctx, free_options, worker_options);
    if (status < 0) rill_option_source_free(worker_options);
    return status == RILL_OK ? rill_option_source_set_worker_copy(file->options, worker, worker_options) : status;
}

rill_status cli_runfile_prepare_worker(cli_runfile *file, int worker, rill_context *ctx)
{
    rill_script *script;
    for (int32_t i = 0; i < file->config->n_plugins; i++)
        if (file->plugins_to_load >> i & 1)
            TRY(cli_session_load(file->session, ctx, file->config->plugins[i], &script));
    return file->is_sweep ? RILL_OK : read_for_worker(file, worker, ctx);
}

/* --- what a run file may do --------------------------------------------------------------------------------------- */

static int refuse_script(const cli_runfile *file, const char *key, const char *what, const char *path,
                         const char *option)
{
    char why[1024];
    while (!strncmp(path, "././", 4)) path += 2; /* a relative path of a script in "." begins with "././" */
    snprintf(
        why, sizeof why,
        "the script %s, which needs your permission: repeat it as an option, %s %.400s, or set --unsafe-scripts if "
        "you trust the script like a program",
        what, option, path);
    return cli_exit_code(file->session->ctx, rill_script_config_refuse(file->script, key, why));
}

int cli_runfile_output_path(const cli_runfile *file, const char *key, const char *option, const char *script_path,
                            const char **path)
{
    if (*path || !script_path) return CLI_OK;
    *path = script_path;
    if (file->session->script.unsafe || cli_file_is_standard(script_path)) return CLI_OK;
    return refuse_script(file, key, "writes to a file", script_path, option);
}

int cli_runfile_input_format(const cli_runfile *file, const char **tsv, const char **jsonl)
{
    const rill_script_config *config = file->config;
    const char *why = NULL;
    if (!config || *tsv || *jsonl) return CLI_OK;
    if (config->tsv && config->jsonl)
        why = "tsv_column cannot be combined with jsonl";
    else if (config->tsv && config->tsv[0] && !cli_records_column(config->tsv))
        why = "expected true or the number of a column, from 1";
    *tsv = config->tsv;
    *jsonl = config->jsonl;
    if (!why) return CLI_OK;
    return cli_exit_code(file->session->ctx, rill_script_config_refuse(file->script, "tsv_column", why));
}

int cli_runfile_check_plain(const cli_runfile *file)
{
    const rill_script_config *config = file->config;
    const char *key = !config               ? NULL
                      : config->constraints ? "constraints"
                      : config->tsv         ? "tsv_column"
                      : config->jsonl       ? "jsonl"
                                            : NULL;
    if (!key) return CLI_OK;
    return cli_exit_code(file->session->ctx,
                         rill_script_config_refuse(file->script, key, "this command does not use it: leave it out"));
}

/* Whether `named` and `path` are the same plugin. named: a path, or the name of an installed plugin. */
static int is_same_plugin(rill_context *ctx, const char *named, const char *path)
{
    SCOPED(rill_text_clear) rill_text found = {.ctx = ctx};
    return cli_file_same(named, path) ||
           (rill_plugin_find(named, &found) == RILL_OK && cli_file_same(found.data, path));
}

/* Load a plugin unless the command line has loaded it. */
static int load_plugin(cli_runfile *file, int32_t i)
{
    char key[32];
    const char *path = file->config->plugins[i];
    for (int k = 0; k < file->session->n_plugins; k++)
        if (is_same_plugin(file->session->ctx, file->session->plugin[k], path)) return CLI_OK;
    snprintf(key, sizeof key, "plugins[%d]", (int)i + 1);
    if (!file->session->script.unsafe && !cli_session_is_script(path))
        return refuse_script(file, key, "loads native code", path, "--plugin");
    file->plugins_to_load |= UINT32_C(1) << i;
    return cli_session_load_plugin(file->session, path);
}

/* --- loading a run file ------------------------------------------------------------------------------------------- */

int cli_runfile_load(cli_runfile *file, cli_session *session)
{
    int code = CLI_OK;
    if (!file->path) return CLI_OK;
    if (cli_file_is_folder(file->path) && !cli_session_is_script(file->path))
        return cli_fail("%s: it is a directory: expected a run file in Lua; name a model with -m", file->path);
    TRY(cli_exit_code(session->ctx, rill_script_load(&file->script, session->ctx, file->path, &session->script)));
    TRY(cli_exit_code(session->ctx, rill_script_config_plugins(file->script, &file->config)));
    file->session = session;
    for (int32_t i = 0; i < file->config->n_plugins && code == CLI_OK; i++) code = load_plugin(file, i);
    cli_session_add_script(session, file->script);
    rill_script_config_free(file->config);
    file->config = NULL;
    if (code != CLI_OK) return code;
    if (rill_script_config_read(file->script, &file->config) < 0) return cli_fail_context(session->ctx);
    session->runfile = file;
    fill_session(file->config, session);
    if (cli_options_from_config(&file->options, file->script, session->ctx, file->config) < 0)
        return cli_fail_context(session->ctx);
    session->run_file = file->options;
    return CLI_OK;
}

int cli_runfile_check(const cli_runfile *file, const cli_session *session)
{
    const rill_option_source *model = session->folder.search;
    rill_search_config *search_config;
    if (!file->config) return CLI_OK;
    rill_status status = rill_search_config_make(&search_config, session->ctx, file->options, &model, 1);
    rill_search_config_free(search_config);
    return status < 0 ? cli_fail("%s: %s", file->path, rill_error(session->ctx)) : CLI_OK;
}

void cli_runfile_warn_ignored(const cli_runfile *file, const rill_search_config *search_config, const char *method)
{
    if (!search_config->ignored[0]) return;
    if (method)
        cli_message("warning: %s: left out, because method %s cannot use it: %s", file->path, method,
                    search_config->ignored);
    else
        cli_message("warning: %s: left out, because the options exclude it: %s", file->path, search_config->ignored);
}

void cli_runfile_end(cli_runfile *file)
{
    if (file->session) file->session->run_file = NULL;
    rill_option_source_free(file->options);
    rill_script_config_free(file->config);
    file->options = NULL;
    file->config = NULL;
}
