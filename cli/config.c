/* Reading the "rill" part of a model's config.json; see config.h for its form. */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Directories of the ecosystem work as they are: their model_type says which domain reads them. */
static const struct {
    const char *model_type, *domain;
} known_types[] = {{"marian", "mt"}, {"fsmt", "mt"}};

static int bad(const char *file, const char *key, const char *wanted)
{
    return cli_fail("%s: \"%s\" must be %s", file, key, wanted);
}

/* A JSON scalar as it would stand on a command line. */
static int scalar_text(const json_t *value, char *out, size_t size)
{
    int length = -1;
    if (json_is_string(value)) length = snprintf(out, size, "%s", json_string_value(value));
    if (json_is_integer(value)) length = snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (json_is_real(value)) length = snprintf(out, size, "%.17g", json_real_value(value));
    if (json_is_boolean(value)) length = snprintf(out, size, "%d", json_is_true(value));
    return length >= 0 && (size_t)length < size;
}

/* A list of "NAME:ARGS", each of which is what `option` would take. */
static int load_list(rill_context *ctx, const char *file, const char *key, const json_t *list, const char *option,
                     cli_layer *out)
{
    if (!json_is_array(list)) return bad(file, key, "a list of \"NAME:ARGS\"");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text) return bad(file, key, "a list of \"NAME:ARGS\"");
        int code = cli_search_take_named(ctx, out, option, text);
        if (code != CLI_OK) return code;
    }
    return CLI_OK;
}

static int load_entry(rill_context *ctx, const char *file, const char *key, const json_t *value, cli_layer *out)
{
    char text[CLI_ARGUMENTS_MAX];
    if (!strcmp(key, "heuristics")) return load_list(ctx, file, key, value, "heuristic", out);
    if (!strcmp(key, "scorers")) return load_list(ctx, file, key, value, "scorer", out);
    if (!scalar_text(value, text, sizeof text)) return bad(file, key, "a number, a string, true or false");
    int code = cli_search_take_named(ctx, out, key, text);
    return code == CLI_OK ? code : cli_fail("%s: \"%s\" under \"search\" was refused", file, key);
}

/* Defaults that contradict each other are the model's fault and are said so; those that only contradict the method asked for
 * on the command line are left out later. */
static int check_alone(rill_context *ctx, const char *file, const cli_layer *layer)
{
    rill_settings settings;
    rill_settings_default(&settings);
    for (int i = 0; i < layer->n; i++)
        if (rill_settings_set(ctx, &settings, layer->setting[i].name, layer->setting[i].value) < 0)
            return cli_fail_context(ctx);
    if (rill_settings_resolve(ctx, &settings, layer->heuristics.n > 0) < 0)
        return cli_fail("%s: %s", file, rill_error(ctx));
    return CLI_OK;
}

static int load_search(rill_context *ctx, const char *file, const json_t *search, cli_layer *out)
{
    const char *key;
    json_t *value;
    if (!search) return CLI_OK;
    if (!json_is_object(search)) return bad(file, "search", "an object");
    json_object_foreach((json_t *)search, key, value)
    {
        int code = load_entry(ctx, file, key, value, out);
        if (code != CLI_OK) return code;
    }
    return check_alone(ctx, file, out);
}

/* Other keys are the domain's. One that is all but ours is a slip, and would leave the model without its search. */
static int check_keys(const char *file, const json_t *rill)
{
    static const char *const ours[] = {"domain", "search"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)rill, key, value)
    {
        const char *near = rill_nearest(key, ours, 2);
        if (near && strcmp(near, key))
            return cli_fail("%s: \"%s\" under \"rill\": did you mean \"%s\"?", file, key, near);
    }
    return CLI_OK;
}

static int load_domain(const char *file, const json_t *root, const json_t *rill, cli_config *out)
{
    const json_t *domain = json_object_get(rill, "domain");
    const char *type = json_string_value(json_object_get(root, "model_type"));
    if (domain) {
        if (!json_is_string(domain) || json_string_length(domain) >= sizeof out->domain)
            return bad(file, "domain", "a domain's name");
        strcpy(out->domain, json_string_value(domain));
        return CLI_OK;
    }
    for (size_t i = 0; type && i < sizeof known_types / sizeof known_types[0]; i++)
        if (!strcmp(type, known_types[i].model_type)) strcpy(out->domain, known_types[i].domain);
    if (type && !out->domain[0]) snprintf(out->type, sizeof out->type, "%s", type);
    return CLI_OK;
}

void cli_config_say_nameless(const cli_config *config, const char *path)
{
    char types[128] = "";
    for (size_t i = 0, at = 0; i < sizeof known_types / sizeof known_types[0]; i++)
        at += (size_t)snprintf(types + at, sizeof types - at, "%s%s", i > 0 ? ", " : "", known_types[i].model_type);
    struct stat info;
    if (!config->found && !stat(path, &info) && !S_ISDIR(info.st_mode))
        cli_say("model %s: it is a file; name the folder that it is in, or the domain that reads it with --domain",
                path);
    else if (!config->found)
        cli_say("model %s: there is no config.json; name the domain with --domain", path);
    else if (config->type[0])
        cli_say("%s/config.json: model_type: \"%s\" is none that a domain here reads (%s); another domain is named by "
                "\"rill\": {\"domain\": ...} or --domain",
                path, config->type, types);
    else
        cli_say("%s/config.json names no domain (\"rill\": {\"domain\": ...}); name it with --domain", path);
}

static int load_text(rill_context *ctx, const char *file, const rill_text *text, cli_config *out)
{
    json_error_t error;
    json_t *root = json_loadb(text->data, text->length, JSON_REJECT_DUPLICATES, &error);
    if (!root) return cli_fail("%s:%d: %s", file, error.line, error.text);
    const json_t *rill = json_object_get(root, "rill");
    int code = CLI_OK;
    if (!json_is_object(root))
        code = cli_fail("%s: an object was expected", file);
    else if (rill && !json_is_object(rill))
        code = bad(file, "rill", "an object");
    if (code == CLI_OK) code = check_keys(file, rill);
    if (code == CLI_OK) code = load_domain(file, root, rill, out);
    if (code == CLI_OK) code = load_search(ctx, file, json_object_get(rill, "search"), &out->search);
    json_decref(root);
    return code;
}

int cli_config_load(rill_context *ctx, const char *path, cli_config *out)
{
    char file[4096];
    struct stat info;
    memset(out, 0, sizeof *out);
    if (!path) return CLI_OK;
    if (stat(path, &info)) return cli_fail("model %s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode)) return CLI_OK; /* a model in one file: the domain knows what to do with it */
    if (snprintf(file, sizeof file, "%s/config.json", path) >= (int)sizeof file)
        return cli_fail("model %s: the path is too long", path);
    rill_text text = {.ctx = ctx};
    rill_status status = rill_file_read(&text, file, RILL_FILE_TEXT_MAX);
    out->found = status != RILL_ERR_NOT_FOUND;
    int code = CLI_OK;
    if (status == RILL_OK)
        code = load_text(ctx, file, &text, out);
    else if (out->found)
        code = cli_fail_context(ctx);
    else
        rill_error_clear(ctx);
    rill_text_clear(&text);
    return code;
}
