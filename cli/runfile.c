/* Reading the run that a script describes; see runfile.h for what overrides what. */
#include "runfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "record.h"

static rill_status take_chain(const rill_script_chain *from, rill_layer *layer, rill_chain chain)
{
    rill_status status = RILL_OK;
    if (from->said) rill_layer_say(layer, chain);
    for (int32_t i = 0; i < from->n && status == RILL_OK; i++)
        status = rill_layer_add(layer, chain, from->entry[i].name, from->entry[i].arguments);
    return status;
}

static rill_status set_option(rill_layer *layer, rill_script *script, rill_context *ctx, const rill_script_pair *option)
{
    char why[512];
    const rill_status status = rill_layer_set(layer, option->name, option->value);
    if (status != RILL_ERR_OPTION) return status;
    const size_t n = strlen(option->name);
    snprintf(why, sizeof why, "%s", rill_error(ctx));
    const int named = strlen(why) > n + 2 && !memcmp(why + n, ": ", 2); /* the place says the name already */
    return rill_script_config_refuse(script, option->name, named ? why + n + 2 : why);
}

static rill_status fill_layer(const rill_script_config *config, rill_script *script, rill_context *ctx,
                              rill_layer *layer)
{
    rill_status status = RILL_OK;
    if (config->cube_key) rill_layer_cube_key(layer, config->cube_key, config->cube_key_user);
    if (config->budget) rill_layer_budget(layer, config->budget, config->budget_user);
    for (int32_t i = 0; i < config->n_settings && status == RILL_OK; i++)
        status = rill_layer_set(layer, config->settings[i].name, config->settings[i].value);
    for (int32_t i = 0; i < config->n_options && status == RILL_OK; i++)
        status = set_option(layer, script, ctx, &config->options[i]);
    if (status == RILL_OK) status = take_chain(&config->heuristics, layer, RILL_CHAIN_HEURISTICS);
    if (status == RILL_OK) status = take_chain(&config->scorers, layer, RILL_CHAIN_SCORERS);
    return status == RILL_OK ? take_chain(&config->policy, layer, RILL_CHAIN_POLICY) : status;
}

rill_status cli_layer_from_config(rill_layer **out, rill_script *script, rill_context *ctx,
                                  const rill_script_config *config)
{
    rill_status status = rill_layer_create(out, ctx, RILL_FROM_FILE);
    return status == RILL_OK ? fill_layer(config, script, ctx, *out) : status;
}

static void fill_session(const rill_script_config *said, cli_session *session)
{
    for (int32_t i = 0; !session->open.path && i < said->n_also; i++)
        session->also[session->open.n_also++] = said->also[i];
    session->open.path = cli_given_or(session->open.path, said->model);
    session->domain = cli_given_or(session->domain, said->domain);
    session->open.arguments = cli_given_or(session->open.arguments, said->domain_arguments);
    session->open.tokenized |= said->tokenized;
    if (!session->open.threads) session->open.threads = said->threads;
    if (!session->workers) session->workers = said->workers;
}

static void free_layer(void *layer)
{
    rill_layer_free(layer);
}

/* The script once more, for a worker: what it says of the search there is that worker's layer, and goes with its context. */
static rill_status read_again(cli_runfile *file, int worker, rill_context *ctx)
{
    rill_script *script;
    rill_script_config *theirs;
    rill_layer *twin;
    rill_status status = rill_script_load(&script, ctx, file->path, &file->session->script);
    if (status == RILL_OK) status = rill_script_config_read(script, &theirs);
    if (status < 0) return status;
    status = cli_layer_from_config(&twin, script, ctx, theirs);
    if (status == RILL_OK) status = rill_context_defer(ctx, free_layer, twin);
    if (status < 0) rill_layer_free(twin);
    return status == RILL_OK ? rill_layer_twin(file->layer, worker, twin) : status;
}

static rill_status prepare_worker(void *user, int worker, rill_context *ctx)
{
    cli_runfile *file = user;
    rill_script *script;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < file->said->n_plugins && status == RILL_OK; i++)
        if (file->own_plugins >> i & 1) status = cli_session_load(file->session, ctx, file->said->plugins[i], &script);
    return status == RILL_OK && !file->points ? read_again(file, worker, ctx) : status;
}

/* --- what wants the user's word ----------------------------------------------------------------------------------- */

static int refuse(const cli_runfile *file, const char *key, const char *what, const char *path, const char *option)
{
    char why[1024];
    while (!strncmp(path, "././", 4)) path += 2; /* "./x.so" of a script that is here */
    snprintf(
        why, sizeof why,
        "a script %s only with your word: say %s %.400s too, or --unsafe-scripts if you trust the script as you would a program",
        what, option, path);
    rill_script_config_refuse(file->script, key, why);
    return cli_fail_context(file->session->ctx);
}

int cli_runfile_written(const cli_runfile *file, const char *key, const char *option, const char *said,
                        const char **path)
{
    if (*path || !said) return CLI_OK;
    *path = said;
    if (file->session->script.unsafe || cli_file_standard(said)) return CLI_OK;
    return refuse(file, key, "writes to a file", said, option);
}

int cli_runfile_form(const cli_runfile *file, const char **tsv, const char **jsonl)
{
    const rill_script_config *said = file->said;
    const char *why = NULL;
    if (!said || *tsv || *jsonl) return CLI_OK;
    if (said->tsv && said->jsonl)
        why = "inputs are rows or objects: leave out tsv or jsonl";
    else if (said->tsv && said->tsv[0] && !cli_records_column(said->tsv))
        why = "true or the number of a column, from 1, was expected";
    *tsv = said->tsv;
    *jsonl = said->jsonl;
    if (!why) return CLI_OK;
    rill_script_config_refuse(file->script, "tsv", why);
    return cli_fail_context(file->session->ctx);
}

int cli_runfile_plain(const cli_runfile *file)
{
    const rill_script_config *said = file->said;
    const char *key = !said               ? NULL
                      : said->constraints ? "constraints"
                      : said->tsv         ? "tsv"
                      : said->jsonl       ? "jsonl"
                                          : NULL;
    if (!key) return CLI_OK;
    rill_script_config_refuse(file->script, key, "this command decodes lines without it: leave it out");
    return cli_fail_context(file->session->ctx);
}

/* `named` may be the name of an installed one. */
static int is_same(rill_context *ctx, const char *named, const char *path)
{
    rill_text found = {.ctx = ctx};
    const int same = cli_file_same(named, path) ||
                     (rill_plugin_find(named, &found) == RILL_OK && cli_file_same(found.data, path));
    rill_text_clear(&found);
    return same;
}

static int is_loaded(const cli_session *session, const char *path)
{
    for (int i = 0; i < session->n_plugins; i++)
        if (is_same(session->ctx, session->plugin[i], path)) return 1;
    return 0;
}

/* One that the command line names too is there already. */
static int load_plugin(cli_runfile *file, int32_t i)
{
    char key[32];
    const char *path = file->said->plugins[i];
    if (is_loaded(file->session, path)) return CLI_OK;
    snprintf(key, sizeof key, "plugins[%d]", (int)i + 1);
    if (!file->session->script.unsafe && !cli_session_is_script(path))
        return refuse(file, key, "loads native code", path, "--plugin");
    file->own_plugins |= UINT32_C(1) << i;
    return cli_session_plugin(file->session, path);
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

int cli_runfile_load(cli_runfile *file, cli_session *session)
{
    int code = CLI_OK;
    if (!file->path) return CLI_OK;
    if (cli_file_is_folder(file->path) && !cli_session_is_script(file->path))
        return cli_fail("%s: it is a folder, and a run described in Lua was expected; a model is named by -m",
                        file->path);
    if (rill_script_load(&file->script, session->ctx, file->path, &session->script) < 0 ||
        rill_script_config_plugins(file->script, &file->said) < 0)
        return cli_fail_context(session->ctx);
    file->session = session;
    for (int32_t i = 0; i < file->said->n_plugins && code == CLI_OK; i++) code = load_plugin(file, i);
    cli_session_add_script(session, file->script);
    rill_script_config_free(file->said);
    file->said = NULL;
    if (code != CLI_OK) return code;
    if (rill_script_config_read(file->script, &file->said) < 0) return cli_fail_context(session->ctx);
    session->prepare = prepare_worker;
    session->prepare_user = file;
    fill_session(file->said, session);
    if (cli_layer_from_config(&file->layer, file->script, session->ctx, file->said) < 0)
        return cli_fail_context(session->ctx);
    session->file = file->layer;
    return CLI_OK;
}

int cli_runfile_check(const cli_runfile *file, const cli_session *session)
{
    const rill_layer *model = session->folder.search;
    rill_search_config *plan;
    if (!file->said) return CLI_OK;
    rill_status status = rill_search_config_make(&plan, session->ctx, file->layer, &model, 1);
    rill_search_config_free(plan);
    return status < 0 ? cli_fail("%s: %s", file->path, rill_error(session->ctx)) : CLI_OK;
}

void cli_runfile_say_left(const cli_runfile *file, const rill_search_config *plan, const char *method)
{
    if (!plan->left[0]) return;
    if (method)
        cli_say("warning: %s: left out, as method %s leaves no room for it: %s", file->path, method, plan->left);
    else
        cli_say("warning: %s: left out, as the options leave no room for it: %s", file->path, plan->left);
}

void cli_runfile_end(cli_runfile *file)
{
    if (file->session) file->session->file = NULL;
    rill_layer_free(file->layer);
    rill_script_config_free(file->said);
    file->layer = NULL;
    file->said = NULL;
}
