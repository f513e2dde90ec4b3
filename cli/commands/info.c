/* rill info: describe a model from its files and its domain. */
#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include "report.h"

/* --- counting parameters ------------------------------------------------------------------------------------------ */

typedef struct parameters {
    int64_t count, tensors;
    char types[64]; /* element types of the tensors, such as "F32, I8" */
} parameters;

static void add_tensor(const rill_file_tensor *tensor, parameters *out)
{
    int64_t product = 1;
    for (int i = 0; i < tensor->rank; i++) product *= tensor->shape[i];
    out->count += product;
    out->tensors++;
    size_t used = strlen(out->types);
    if (!strstr(out->types, tensor->dtype) && used + strlen(tensor->dtype) + 3 < sizeof out->types)
        snprintf(out->types + used, sizeof out->types - used, "%s%s", used ? ", " : "", tensor->dtype);
}

/* Whether a tensor shares its bytes with an earlier one. Quadratic, so only for the first 20,000 tensors. */
static int is_alias(const rill_tensor_file *tensors, size_t i)
{
    enum { MAX_COMPARED_TENSORS = 20000 };
    const rill_file_tensor *tensor = rill_tensor_file_tensor(tensors, i), *other;
    for (size_t j = 0; j < i && i < MAX_COMPARED_TENSORS && tensor->end > tensor->begin; j++)
        if ((other = rill_tensor_file_tensor(tensors, j))->begin == tensor->begin && other->end == tensor->end)
            return 1;
    return 0;
}

/* A malformed file counts as empty; opening the model reports its error. */
static void count_parameters(rill_context *ctx, const char *path, parameters *out)
{
    rill_tensor_file *tensors;
    if (rill_tensor_file_open(&tensors, ctx, path) < 0) return;
    for (size_t i = 0; i < rill_tensor_file_count(tensors); i++)
        if (!is_alias(tensors, i)) add_tensor(rill_tensor_file_tensor(tensors, i), out);
    rill_tensor_file_close(tensors);
}

/* --- printing the report ------------------------------------------------------------------------------------------ */

static void put_count(int64_t value)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRId64, value);
    for (int i = 0; i < length; i++) cli_print("%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
}

static void print_file(rill_context *ctx, const char *directory, const char *name, int first, parameters *found)
{
    char path[4096];
    struct stat info;
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path || stat(path, &info)) return;
    if (!S_ISREG(info.st_mode)) return;
    cli_print("%-12s %s (", first ? "files" : "", name);
    put_count((int64_t)info.st_size);
    cli_print(" bytes)\n");
    if (!strcmp(name, "model.bin") || !fnmatch("?*.safetensors", name, 0)) count_parameters(ctx, path, found);
}

static void print_files(rill_context *ctx, const char *directory)
{
    struct dirent **entry;
    parameters found = {0};
    int printed = 0, n = scandir(directory, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (entry[i]->d_name[0] != '.') print_file(ctx, directory, entry[i]->d_name, !printed++, &found);
        free(entry[i]);
    }
    if (n >= 0) free(entry);
    if (!found.tensors) return;
    cli_print("%-12s ", "parameters");
    put_count(found.count);
    cli_print(" in %" PRId64 " tensors (%s)\n", found.tensors, found.types);
}

static void print_options(const rill_option *row)
{
    for (int first = 1; row && row->name; row++, first = 0)
        cli_print("%-12s --%s%s%s: %s%s%s%s\n", first ? "options" : "", row->name,
                  row->argument[0] && row->argument[0] != '[' ? " " : "", row->argument, row->help,
                  row->initial[0] ? " (default " : "", row->initial, row->initial[0] ? ")" : "");
}

/* Print the names of the model's languages: all, or the first SHOWN if `all` is 0. */
static void print_languages(const char *const *names, int all)
{
    enum { SHOWN = 8 };
    size_t n = 0;
    if (!names) return;
    while (names[n]) n++;
    cli_print("%-12s %zu: ", "languages", n);
    for (size_t i = 0; i < n && (all || i < SHOWN); i++) cli_print("%s%s", i > 0 ? ", " : "", names[i]);
    cli_print("%s\n", all || n <= SHOWN ? "" : ", ... (--verbose names all)");
}

static void print_model(const rill_model *model, int verbose)
{
    const rill_domain *domain = rill_model_domain(model);
    const rill_domain_info *info = rill_model_info(model);
    cli_print("%-12s %s: %s\n", "domain", domain->name, domain->summary);
    if (info->description) cli_print("%-12s %s\n", "description", info->description);
    print_languages(info->languages, verbose);
    cli_print("%-12s ", "actions");
    put_count(info->actions);
    cli_print("\n%-12s %" PRId32 " actions at most\n", "outputs", info->max_length);
    if (info->phases > 1) cli_print("%-12s %" PRId32 " per timestep\n", "phases", info->phases);
    cli_print("%-12s %s\n", "states",
              info->state_need == RILL_STATE_PATH ? "a state depends on the states of all ancestors"
                                                  : "a state depends on its parent's state only");
    print_options(domain->options);
}

/* Describe a model that cannot be opened: print its domain and the scalar values of its config.json. */
static void print_config(const cli_session *session)
{
    char path[4096];
    const char *key, *name = session->domain ? session->domain : session->folder.domain;
    const rill_domain *domain = rill_find_domain(session->ctx, name);
    json_t *value;
    json_auto_t *root = NULL;
    SCOPED(rill_text_clear) rill_text file_text = {.ctx = session->ctx};
    int first = 1;
    if (domain) cli_print("%-12s %s: %s\n", "domain", domain->name, domain->summary);
    if (!session->open.path || snprintf(path, sizeof path, "%s/config.json", session->open.path) >= (int)sizeof path)
        return;
    if (rill_file_read(&file_text, path, RILL_FILE_TEXT_MAX) == RILL_OK)
        root = json_loadb(file_text.data, file_text.length, 0, NULL);
    json_object_foreach(root, key, value)
    {
        char *text = json_is_object(value) || json_is_array(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        if (!text) continue;
        cli_print("%-12s %s %s\n", first ? "config" : "", key, text);
        first = 0;
        free(text);
    }
}

/* Describe the opened model, or print the reason why it cannot be opened. If only its tokenizer is unusable, the model is opened without
 * it. */
static int print_what_opens(cli_session *session)
{
    const int code = cli_session_open(session);
    if (code == CLI_OK) {
        print_model(session->model, session->verbose);
        const rill_workers *workers = session->worker_pool;
        for (int32_t i = 0; i < rill_workers_count(workers) && rill_workers_device(workers, i); i++)
            cli_print("%-12s %s\n", i == 0 ? "devices" : "", rill_workers_device(workers, i));
        return code;
    }
    const char *name = session->domain ? session->domain : session->folder.domain, *why = rill_error(session->ctx);
    rill_open_options rest = session->open;
    rill_model *model = NULL;
    if (why[0]) cli_print("%-12s %s\n", "problem", why);
    rest.tokenized = 1;
    if (why[0] && rill_model_open(&model, session->ctx, name, &rest) == RILL_OK)
        print_model(model, session->verbose);
    else
        print_config(session);
    rill_model_close(model);
    return code;
}

/* Return the title of a section for its first line, and "" for all further lines. */
static const char *take_title(const char **title)
{
    const char *taken = *title;
    *title = "";
    return taken;
}

static void print_chain(const char **title, const char *option, const rill_chain_entry *entry, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        cli_print("%-12s %s %s%s%s\n", take_title(title), option, entry[i].name, entry[i].arguments[0] ? ":" : "",
                  entry[i].arguments);
}

/* Print the default settings from the model's directory, or from its domain. */
static int print_recommended(cli_session *session)
{
    static const char *const chains[RILL_CHAINS] = {"heuristic", "scorer", "scheduler"};
    const rill_option_source *source = session->folder.search;
    const char *title = "recommended", *value;
    rill_pair *pair;
    int32_t n;
    for (const rill_option *row = rill_setting_table(); row->name; row++)
        if ((value = rill_option_source_get(source, row->name)))
            cli_print("%-12s %s %s\n", take_title(&title), row->name, value);
    for (int chain = 0; chain < RILL_CHAINS; chain++) {
        const rill_chain_entry *entry = rill_option_source_chain(source, (rill_chain)chain, &n);
        print_chain(&title, chains[chain], entry, n);
    }
    TRY(cli_exit_code(session->ctx, rill_option_sources_domain_values(session->ctx, &source, 1, &pair, &n)));
    for (int32_t i = 0; i < n; i++) cli_print("%-12s %s %s\n", take_title(&title), pair[i].name, pair[i].value);
    if (pair) rill_free(session->ctx, pair, (size_t)n * sizeof *pair);
    return CLI_OK;
}

/* Print the settings in effect for `rill decode` without options, in a form that options accept. */
static int print_search(cli_session *session)
{
    const rill_option_source *defaults[] = {session->folder.search};
    const char *title = "search";
    rill_search_config *search_config;
    char value[RILL_OPTION_MAX];
    if (rill_search_config_make(&search_config, session->ctx, session->command_line, defaults, 1) < 0)
        return cli_fail_context(session->ctx);
    const rill_engine_setup *setup = search_config->setup;
    for (const rill_option *row = rill_setting_table(); row->name; row++)
        if (cli_option_is_in_effect(search_config->resolved, setup->n_heuristics > 0, row))
            cli_print("%-12s %s %s\n", take_title(&title), row->name,
                      cli_option_value(search_config->resolved, row, value));
    print_chain(&title, "heuristic", setup->heuristics, setup->n_heuristics);
    print_chain(&title, "scorer", setup->scorers, setup->n_scorers);
    print_chain(&title, "scheduler", setup->scheduler, setup->scheduler ? 1 : 0);
    rill_search_config_free(search_config);
    return CLI_OK;
}

/* Print the default of the option `finish` for the method `fixed`, because it depends on the domain. */
static int print_finish_of_fixed(cli_session *session)
{
    const rill_option_source *defaults[] = {session->folder.search};
    rill_option_source *source = NULL;
    rill_search_config *search_config = NULL;
    char value[RILL_OPTION_MAX];
    const int failed = rill_option_source_create(&source, session->ctx, RILL_FROM_USER) < 0 ||
                       rill_option_source_set(source, "method", "fixed") < 0 ||
                       rill_search_config_make(&search_config, session->ctx, source, defaults, 1) < 0;
    if (!failed)
        cli_print("%-12s finish %s\n", "method fixed",
                  rill_settings_get(search_config->resolved, rill_option_find(rill_setting_table(), "finish"), value));
    rill_search_config_free(search_config);
    rill_option_source_free(source);
    return failed ? cli_fail_context(session->ctx) : CLI_OK;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Print the description. If the search options in config.json are bad, the rest of the description is printed. */
static int run(void *command)
{
    cli_session *session = command;
    struct stat info;
    const int read = cli_session_configure(session);
    int opened = CLI_OK, searched = CLI_OK;
    if (read != CLI_OK && !session->folder.found) return read;
    if (!session->open.path && !session->domain) return cli_fail("no model: rill info DIR");
    if (session->open.path) cli_print("%-12s %s\n", "model", session->open.path);
    if (read != CLI_OK) cli_print("%-12s %s\n", "problem", rill_error(session->ctx));
    rill_error_clear(session->ctx);
    if (read == CLI_OK || session->domain || session->folder.domain[0]) opened = print_what_opens(session);
    if (read == CLI_OK) searched = print_recommended(session);
    if (read == CLI_OK && searched == CLI_OK) searched = print_search(session);
    if (read == CLI_OK && searched == CLI_OK) searched = print_finish_of_fixed(session);
    if (session->open.path && !stat(session->open.path, &info) && S_ISDIR(info.st_mode))
        print_files(session->ctx, session->open.path);
    int printed = cli_flush_stdout();
    return read != CLI_OK ? read : opened != CLI_OK ? opened : searched != CLI_OK ? searched : printed;
}

const cli_command cli_info = {
    .name = "info",
    .summary = "describe a model",
    .usage = "rill info DIR [options]",
    .groups = {{"Options", cli_model_options}, {"Options of the domain", .rows = CLI_ROWS_DOMAINS}},
    .main_options = "model domain plugin verbose weights device",
    .argument = "model",
    .argument_member = offsetof(cli_session, open.path),
    .size = sizeof(cli_session),
    .run = run,
};
