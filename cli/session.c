/* A command's context, with plugins, an open model and workers; see session.h. */
#include "session.h"

#include <fnmatch.h>

static int take_row(void *command, const cli_option *option, const char *value)
{
    cli_session *session = command;
    const char *text = cli_option_is_switch(option) ? "1" : value;
    return cli_exit_code(session->ctx, rill_option_source_set(session->command_line, option->name, text));
}

static int take_model(void *command, const cli_option *option, const char *value)
{
    cli_session *session = command;
    (void)option;
    if (!value[0]) return cli_fail("-m: the path is empty");
    if (session->open.path && session->open.n_ensemble == CLI_MODELS_MAX)
        return cli_fail("--model: expected at most %d models", CLI_MODELS_MAX + 1);
    *(session->open.path ? &session->ensemble[session->open.n_ensemble++] : &session->open.path) = value;
    return CLI_OK;
}

static int take_workers(void *command, const cli_option *option, const char *value)
{
    cli_session *session = command;
    int64_t workers = 0;
    (void)option;
    if (strcmp(value, "auto") && !cli_read_int64(value, 1, 1024, &workers))
        return cli_fail("--workers: \"%s\" is not auto, or a whole number from 1 to 1024", value);
    session->workers = (int)workers;
    return CLI_OK;
}

static int take_plugin(void *command, const cli_option *option, const char *value)
{
    cli_session *session = command;
    (void)option;
    if (session->n_plugins == CLI_PLUGINS_MAX)
        return cli_fail("--plugin: expected at most %d plugins", CLI_PLUGINS_MAX);
    session->plugin[session->n_plugins++] = value;
    return CLI_OK;
}

static int take_steps(void *command, const cli_option *option, const char *value)
{
    int64_t steps = 0;
    (void)option;
    TRY(cli_parse_int64("--script-steps", value, 0, INT64_MAX / 2, &steps));
    ((cli_session *)command)->script.instructions = steps > 0 ? steps : -1;
    return CLI_OK;
}

static int take_seconds(void *command, const cli_option *option, const char *value)
{
    char *end;
    double seconds = rill_read_number(value, &end);
    (void)option;
    if (end == value || *end != '\0' || !(seconds >= 0 && seconds <= 1e9))
        return cli_fail("--script-seconds: \"%s\" is not a number from 0 to 1e9", value);
    ((cli_session *)command)->script.seconds = seconds > 0 ? seconds : -1;
    return CLI_OK;
}

#define STORED(field) .member = offsetof(cli_session, field)
/* clang-format off */
#define MODEL_OPTION(help) {"model", 'm', "DIR", help, .take = take_model, .is_repeatable = 1}
#define DOMAIN_OPTION {"domain", 0, "NAME", "domain of the model, if its config.json names none", STORED(domain)}
#define DOMAIN_ARGS_OPTION {"domain-args", 0, "TEXT", "arguments of the domain, which defines their syntax", STORED(open.arguments)}
#define VERBOSE_OPTION \
    {"verbose", 'v', "", "add the engine's figures to the summary or table; print the library's log", STORED(verbose)}
#define PLUGIN_OPTIONS                                                                                                             \
    {"plugin", 0, "FILE", "load domains, heuristics, scorers and schedulers from a shared object, or FILE.lua",                    \
     .take = take_plugin, .is_early = 1, .is_repeatable = 1},                                                                      \
    {"unsafe-scripts", 0, "",                                                                                                      \
     "let scripts use io, os and rill.ffi, and let run files load native plugins and write files; for trusted scripts",            \
     STORED(script.unsafe), .is_early = 1},                                                                                        \
    {"script-memory", 0, "SIZE", "maximum memory of a script, as in 64M (default 256M)", STORED(script.memory),                    \
     .type = CLI_SIZE, .min = 1 << 20, .max = INT64_C(1) << 40, .is_early = 1},                                                    \
    {"script-steps", 0, "N", "maximum number of instructions of a script per call (default 200000000; 0: no limit)",               \
     .take = take_steps, .is_early = 1},                                                                                           \
    {"script-seconds", 0, "S",                                                                                                     \
     "maximum processor seconds of a script per call (default 10, none with --script-steps 0; 0: no limit)",                       \
     .take = take_seconds, .is_early = 1}
/* clang-format on */
const cli_option cli_model_options[] = {
    MODEL_OPTION("the model's directory; repeat it for an ensemble, if the domain supports them"),
    DOMAIN_OPTION,
    DOMAIN_ARGS_OPTION,
    {"tokenized", 0, "", "inputs are tokens separated by spaces, in the model's own form", STORED(open.tokenized)},
    {"threads", 0, "T", "threads inside each operation (default 1); they decode a single input faster",
     STORED(open.threads), .type = CLI_INT, .min = 1, .max = 1024, .aliases = "intra-threads num-threads"},
    {"workers", 0, "W",
     "number of parallel decoders, each with its own --batch-size, --max-in-flight and --max-batch-hypotheses; "
     "results do not change (default auto: for `rill decode` and `rill run` with much input one per processor, "
     "otherwise 1; one per GPU)",
     .take = take_workers, .aliases = "inter-threads jobs"},
    PLUGIN_OPTIONS,
    VERBOSE_OPTION,
    {.name = NULL},
};

const cli_option cli_domain_options[] = {
    MODEL_OPTION("directory of a model whose config.json names the domain"),
    DOMAIN_OPTION,
    PLUGIN_OPTIONS,
    VERBOSE_OPTION,
    {.name = NULL},
};

const cli_option cli_naming_options[] = {
    MODEL_OPTION("directory of the model whose actions are listed"),
    DOMAIN_OPTION,
    DOMAIN_ARGS_OPTION,
    PLUGIN_OPTIONS,
    {.name = NULL},
};

/* --- command line and plugins ------------------------------------------------------------------------------------- */

int cli_session_parse(cli_session *session, int argc, char **argv, int *helped)
{
    TRY(cli_parse(session->command, session, &session->rows, argc, argv, NULL));
    for (int i = 0; i < session->n_plugins; i++) TRY(cli_session_load_plugin(session, session->plugin[i]));
    TRY(cli_option_rows_check(session->command, &session->rows));
    return cli_parse(session->command, session, &session->rows, argc, argv, helped);
}

int cli_command_run(const cli_command *command, int argc, char **argv)
{
    int helped = 0;
    cli_session *session = calloc(1, command->size);
    if (!session) return cli_fail_memory("the command");
    session->command = command;
    session->argc = argc;
    int code = cli_session_start(session);
    if (code == CLI_OK && command->start) code = command->start(session);
    if (code == CLI_OK) code = cli_session_parse(session, argc, argv, &helped);
    if (code == CLI_OK && !helped) code = command->run(session);
    if (command->end) command->end(session);
    cli_session_end(session);
    free(session);
    return code;
}

int cli_session_is_script(const char *path)
{
    return fnmatch("?*.lua", path, 0) == 0;
}

rill_status cli_session_load(const cli_session *session, rill_context *ctx, const char *path, rill_script **script)
{
    SCOPED(rill_text_clear) rill_text found = {.ctx = ctx};
    *script = NULL;
    TRY(rill_plugin_find(path, &found));
    return cli_session_is_script(found.data) ? rill_script_load(script, ctx, found.data, &session->script)
                                             : rill_plugin_load(ctx, found.data);
}

void cli_session_add_script(cli_session *session, rill_script *script)
{
    if (session->n_scripts < CLI_SCRIPTS_MAX) session->scripts_loaded[session->n_scripts++] = script;
}

static int fill_rows(cli_session *session)
{
    return cli_option_rows_fill(&session->rows, session->ctx, take_row,
                                session->command ? session->command->hidden : NULL);
}

int cli_session_load_plugin(cli_session *session, const char *path)
{
    rill_script *loaded;
    const rill_registry_mark old_mark = rill_registry_size(session->ctx);
    rill_status status = cli_session_load(session, session->ctx, path, &loaded);
    const rill_registry_mark new_mark = rill_registry_size(session->ctx);
    if (loaded) cli_session_add_script(session, loaded);
    if (status < 0) return cli_fail_context(session->ctx);
    if (fill_rows(session) != CLI_OK) return CLI_FAILED;
    if (loaded && rill_script_returned(loaded) && !memcmp(&old_mark, &new_mark, sizeof new_mark))
        cli_message("warning: %s: the plugin registers nothing; use a run file with `rill run` or --config", path);
    return CLI_OK;
}

/* --- messages of the library -------------------------------------------------------------------------------------- */

/* Print the output of scripts on standard error: standard output is for results. */
static void print_line(void *user, const char *line)
{
    cli_session *session = user;
    if (session->erase_progress) session->erase_progress(session->message_user);
    cli_terminal_write(stderr, line, strlen(line));
    fputs("\n", stderr);
    fflush(stderr);
}

static void print_log(void *user, rill_log_level level, const char *message)
{
    static const char *const words[] = {"debug: ", "", "warning: ", "error: "};
    cli_session *session = user;
    if (level < RILL_LOG_WARNING && !session->verbose) return;
    if (session->erase_progress) session->erase_progress(session->message_user);
    cli_message("%s%s", words[level], message);
}

/* --- context and model -------------------------------------------------------------------------------------------- */

int cli_session_start(cli_session *session)
{
    rill_context_options options = {.struct_size = sizeof options, .log = print_log, .log_user = session};
    session->script.struct_size = sizeof session->script;
    session->script.print = print_line;
    session->script.print_user = session;
    if (rill_context_create(&session->ctx, &options) < 0) return cli_fail_memory("the context");
    rill_option_set_style(session->ctx, RILL_OPTION_DASHED);
    if (rill_register_builtins(session->ctx) < 0) return cli_fail_context(session->ctx);
    session->builtin_mark = rill_registry_size(session->ctx);
    if (fill_rows(session) != CLI_OK) return CLI_FAILED;
    return cli_exit_code(session->ctx, rill_option_source_create(&session->command_line, session->ctx, RILL_FROM_USER));
}

int cli_session_configure(cli_session *session)
{
    const char *slash = session->open.path ? strchr(session->open.path, '/') : NULL;
    session->has_threads_option = session->open.threads > 0;
    if (slash && slash > session->open.path && slash[1] && !strchr(slash + 1, '/') && session->open.path[0] != '.' &&
        !cli_file_exists(session->open.path))
        return cli_fail(
            "model %s: No such file or directory; rill does not download models: expected a directory on this machine",
            session->open.path);
    if (!session->open.threads) session->open.threads = 1;
    return cli_exit_code(session->ctx,
                         rill_folder_read(&session->folder, session->ctx, session->open.path, session->domain));
}

void cli_session_limit_threads(cli_session *session)
{
    const int asked = session->open.threads, processors = rill_processors();
    if (asked <= processors) return;
    session->open.threads = processors;
    cli_message("warning: %d threads requested, but this process may use %d processor%s: using that many", asked,
                processors, processors == 1 ? "" : "s");
}

const char *cli_session_domain(const cli_session *session)
{
    const char *name = session->domain ? session->domain : session->folder.domain;
    if (!name[0]) {
        if (!session->open.path)
            cli_message("no model: set -m DIR (or --domain NAME for a domain without files)");
        else if (rill_folder_fail_no_domain(&session->folder, session->open.path) < 0)
            cli_fail_context(session->ctx);
        return NULL;
    }
    if (rill_find_domain(session->ctx, name)) return name;
    const char *names[64], *near;
    size_t n = 0;
    for (const rill_domain *d; n < 64 && (d = rill_domain_at(session->ctx, n)); n++) names[n] = d->name;
    const char *file = session->domain ? "" : session->open.path, *config = session->domain ? "" : "/config.json: ";
    if ((near = rill_nearest(name, names, n)))
        cli_message("%s%sunknown domain \"%s\"; did you mean \"%s\"?", file, config, name, near);
    else
        cli_message("%s%sunknown domain \"%s\": `rill list domains` shows all", file, config, name);
    return NULL;
}

int cli_session_prepare(cli_session *session)
{
    TRY(cli_session_configure(session));
    cli_session_limit_threads(session);
    return cli_session_domain(session) ? CLI_OK : CLI_FAILED;
}

/* Load the plugins into a worker's context. Each worker has separate Lua states. */
static rill_status prepare_worker(void *user, int32_t index, rill_context *worker)
{
    const cli_session *session = user;
    rill_script *script;
    for (int i = 0; i < session->n_plugins; i++) TRY(cli_session_load(session, worker, session->plugin[i], &script));
    return session->runfile ? cli_runfile_prepare_worker(session->runfile, (int)index, worker) : RILL_OK;
}

static void free_values(cli_session *session)
{
    if (session->values) rill_free(session->ctx, session->values, (size_t)session->n_values * sizeof *session->values);
    session->values = NULL;
}

/* Collect the values of the domain's options from all sources. */
static rill_status take_values(cli_session *session, const rill_domain *domain)
{
    const rill_option_source *const sources[] = {session->command_line, session->run_file, session->folder.search};
    const char *folder_domain = session->folder.domain;
    const int is_other_domain = session->domain && folder_domain[0] && strcmp(session->domain, folder_domain) != 0;
    const int n = session->row_options_only || is_other_domain ? 2 : 3;
    free_values(session);
    rill_status status = rill_option_sources_domain_values(session->ctx, sources, n, &session->values,
                                                           &session->n_values);
    int32_t kept = 0;
    for (int32_t i = 0; i < session->n_values; i++)
        if (!session->row_options_only || rill_option_find(domain->options, session->values[i].name))
            session->values[kept++] = session->values[i];
    session->open.values = session->values;
    session->open.n_values = kept;
    return status;
}

/* Resolve the device `auto` once. The model is then opened on the device that was found. */
static const char *find_device(const cli_session *session)
{
    const char *weights = rill_open_option(&session->open, "weights");
    const rill_device_options options = {.struct_size = sizeof options,
                                         .name = "auto",
                                         .fast = rill_open_switch(&session->open, "fast"),
                                         .int8 = weights && strcmp(weights, "int8") == 0};
    rill_device *found = NULL;
    if (rill_device_open(&found, session->ctx, &options) != RILL_OK) return "auto";
    const char *name = strncmp(rill_device_name(found), "cpu", 3) == 0 ? "cpu" : "cuda";
    rill_device_close(found);
    return name;
}

/* Number of workers: 1, or one per processor for a large input; 0: one per GPU. Resolves the device `auto`. */
static int count_workers(cli_session *session, const rill_domain *domain)
{
    if (session->workers) return session->workers;
    rill_pair *device = NULL;
    for (int32_t i = 0; i < session->open.n_values; i++)
        if (!strcmp(session->values[i].name, "device")) device = &session->values[i];
    const int is_auto = device && strcmp(device->value, "auto") == 0;
    if (device && session->n_scripts && strchr(device->value, ','))
        cli_message(
            "device: a script's functions use one worker and the first device: with --workers N each worker loads "
            "the script");
    if (device && !is_auto && strcmp(device->value, "cpu") != 0) return session->n_scripts ? 1 : 0;
    /* use one worker with --threads, and with scripts, since a script may count or print */
    if (!session->is_large_input || session->has_threads_option || session->n_scripts) return 1;
    if (!domain || !rill_domain_has_runners(domain)) return 1;
    if (is_auto) device->value = find_device(session);
    return is_auto && strcmp(device->value, "cuda") == 0 ? 0 : rill_processors();
}

int cli_session_open(cli_session *session)
{
    const char *name = cli_session_domain(session);
    if (!name) return CLI_FAILED;
    const rill_domain *domain = rill_find_domain(session->ctx, name);
    session->open.struct_size = sizeof session->open;
    session->open.ensemble = session->ensemble;
    if (take_values(session, domain) < 0) return cli_fail_context(session->ctx);
    const rill_workers_options workers_options = {.struct_size = sizeof workers_options,
                                                  .workers = count_workers(session, domain),
                                                  .shared = &session->builtin_mark,
                                                  .prepare = prepare_worker,
                                                  .user = session};
    TRY(cli_exit_code(session->ctx,
                      rill_workers_open(&session->worker_pool, session->ctx, name, &session->open, &workers_options)));
    session->workers = rill_workers_count(session->worker_pool);
    session->model = rill_workers_model(session->worker_pool);
    const char *device = rill_open_option(&session->open, "device");
    if (session->workers > 4 * rill_processors() && (!device || strcmp(device, "cpu") == 0))
        cli_message("warning: %d workers, but this process may use %d processor%s: more workers are not faster",
                    session->workers, rill_processors(), rill_processors() == 1 ? "" : "s");
    return CLI_OK;
}

const char *cli_session_parallelism(const cli_session *session, char out[CLI_PARALLELISM_MAX])
{
    int n = snprintf(out, CLI_PARALLELISM_MAX, "%d thread%s", session->open.threads,
                     session->open.threads == 1 ? "" : "s");
    if (session->workers > 1) snprintf(out + n, CLI_PARALLELISM_MAX - (size_t)n, ", %d workers", session->workers);
    return out;
}

void cli_session_close(cli_session *session)
{
    rill_workers_close(session->worker_pool);
    session->worker_pool = NULL;
    session->model = NULL;
}

void cli_session_end(cli_session *session)
{
    cli_session_close(session);
    free_values(session);
    rill_folder_clear(&session->folder);
    rill_option_source_free(session->command_line);
    rill_context_destroy(session->ctx);
    cli_option_rows_free(&session->rows);
    session->ctx = NULL;
}

/* --- workers of the run ------------------------------------------------------------------------------------------------ */

/* Name of a heuristic, scorer, scheduler or option function that only the script in the session's context has; NULL: none. */
static const char *script_only_name(cli_session *session, const rill_engine_setup *setup)
{
    const rill_context *own = session->ctx, *worker_ctx = rill_workers_context(session->worker_pool, 0);
    for (int32_t i = 0; i < setup->n_heuristics; i++) {
        const char *name = setup->heuristics[i].name;
        if (rill_find_heuristic(own, name) && !rill_find_heuristic(worker_ctx, name)) return name;
    }
    for (int32_t i = 0; i < setup->n_scorers; i++) {
        const char *name = setup->scorers[i].name;
        if (rill_find_scorer(own, name) && !rill_find_scorer(worker_ctx, name)) return name;
    }
    const char *scheduler = setup->scheduler ? setup->scheduler->name : NULL;
    if (scheduler && rill_find_scheduler(own, scheduler) && !rill_find_scheduler(worker_ctx, scheduler))
        return scheduler;
    return setup->budget ? "budget" : setup->cube_key ? "cube_key" : NULL;
}

typedef struct worker_setup {
    /* search config with functions of the worker's own copy of the script; NULL: the run has no script */
    rill_search_config *search_config;
    rill_engine_setup setup;
} worker_setup;

static rill_status fill_worker_setup(cli_session *session, const rill_search_config *search_config,
                                     const rill_engine_setup *setup, int32_t worker, worker_setup *worker_setup_out)
{
    rill_context *ctx = rill_workers_context(session->worker_pool, worker);
    rill_status status = rill_search_config_worker_copy(search_config, ctx, worker, &worker_setup_out->search_config);
    if (status < 0) return rill_fail(session->ctx, status, "%s", rill_error(ctx));
    worker_setup_out->setup = *setup;
    if (!worker_setup_out->search_config) return RILL_OK;
    const rill_engine_setup *config_setup = worker_setup_out->search_config->setup;
    worker_setup_out->setup.heuristics = config_setup->heuristics;
    worker_setup_out->setup.n_heuristics = config_setup->n_heuristics;
    worker_setup_out->setup.scorers = config_setup->scorers;
    worker_setup_out->setup.n_scorers = config_setup->n_scorers;
    worker_setup_out->setup.scheduler = config_setup->scheduler;
    worker_setup_out->setup.budget = config_setup->budget;
    worker_setup_out->setup.budget_user = config_setup->budget_user;
    worker_setup_out->setup.cube_key = config_setup->cube_key;
    worker_setup_out->setup.cube_key_user = config_setup->cube_key_user;
    return RILL_OK;
}

rill_status cli_workers_begin(cli_session *session, const rill_search_config *search_config,
                              const rill_engine_setup *setup)
{
    const int32_t n = rill_workers_count(session->worker_pool);
    const rill_engine_setup **setups = calloc((size_t)n, sizeof *setups);
    worker_setup *own = calloc((size_t)n, sizeof *own);
    rill_status status = setups && own ? RILL_OK : rill_fail_memory(session->ctx, sizeof *own, "workers");
    for (int32_t w = 0; status == RILL_OK && w < n; w++) {
        if (n > 1 && search_config) status = fill_worker_setup(session, search_config, setup, w, &own[w]);
        setups[w] = own[w].search_config ? &own[w].setup : setup;
    }
    const char *name = status == RILL_OK && n > 1 && search_config && !own[0].search_config
                           ? script_only_name(session, setup)
                           : NULL;
    if (name)
        status = rill_fail(session->ctx, RILL_ERR_OPTION,
                           "%s is a function of the script, which runs on one thread: set --workers 1", name);
    if (status == RILL_OK) status = rill_workers_begin(session->worker_pool, setups);
    for (int32_t w = 0; own && w < n; w++) rill_search_config_free(own[w].search_config);
    free(own);
    free(setups);
    return status;
}
