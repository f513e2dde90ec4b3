/* Reads the object "rill" of a model's config.json (rill/folder.h), and recognises other programs' model directories
 * by file names. */
#include "rill/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "config_json.h"
#include "domain_base.h"
#include "rill/plugin.h"

/* State while config.json is read. */
typedef struct folder_reader {
    rill_folder *folder;
    const char *path, *file; /* path of the model directory; path of its config.json */
} folder_reader;

static rill_status fail_key(const folder_reader *r, const char *key, const char *wanted)
{
    return rill_fail(r->folder->ctx, RILL_ERR_FORMAT, "%s: \"%s\" must be %s", r->file, key, wanted);
}

/* --- JSON values -------------------------------------------------------------------------------------------------- */

rill_status rill_option_json_text(rill_context *ctx, const rill_option *option, const json_t *value,
                                  char buffer[RILL_OPTION_MAX], const char **text)
{
    rill_value v = {.kind = RILL_VALUE_NULL};
    switch (json_typeof(value)) {
    case JSON_NULL: break;
    case JSON_TRUE:
    case JSON_FALSE: v = (rill_value){.kind = RILL_VALUE_BOOLEAN, .integer = json_is_true(value)}; break;
    case JSON_INTEGER: v = (rill_value){.kind = RILL_VALUE_INTEGER, .integer = json_integer_value(value)}; break;
    case JSON_REAL: v = (rill_value){.kind = RILL_VALUE_REAL, .real = json_real_value(value)}; break;
    case JSON_STRING:
        v = (rill_value){
            .kind = RILL_VALUE_TEXT, .text = json_string_value(value), .length = json_string_length(value)};
        break;
    case JSON_ARRAY: v = (rill_value){.kind = RILL_VALUE_OTHER, .text = "a list"}; break;
    case JSON_OBJECT: v = (rill_value){.kind = RILL_VALUE_OTHER, .text = "an object"}; break;
    }
    return rill_option_text(ctx, option, &v, buffer, text);
}

/* --- options in config.json ---------------------------------------------------------------------------------------- */

static rill_status fail_value(const folder_reader *r, const char *key)
{
    return rill_fail(r->folder->ctx, RILL_ERR_OPTION, "%s: \"%s\" under \"options\": %s", r->file, key,
                     rill_error(r->folder->ctx));
}

static rill_status set_default(const folder_reader *r, const char *key, const char *name, const char *text)
{
    rill_context *ctx = r->folder->ctx;
    if (rill_option_find(rill_output_table(), name) != NULL)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "%s: \"%s\" under \"options\": a model's folder cannot set what "
                         "outputs contain; set it where you decode",
                         r->file, key);
    const rill_status status = rill_option_source_set(r->folder->search, name, text);
    return status == RILL_ERR_OPTION ? fail_value(r, key) : status;
}

/* Add plugins to the list of heuristics or of scorers. The value `list` is "NAME:ARGS" or an array of such texts. */
static rill_status set_list(const folder_reader *r, const char *key, const json_t *list, const char *name)
{
    const size_t n = json_is_array(list) ? json_array_size(list) : 1;
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_is_array(list) ? json_array_get(list, i) : list);
        if (text == NULL) return fail_key(r, key, "\"NAME:ARGS\", or a list of them");
        TRY(set_default(r, key, name, text));
    }
    return RILL_OK;
}

/* File names are relative to config.json's directory, so the working directory does not matter. */
static rill_status set_scalar(const folder_reader *r, const char *key, const json_t *value)
{
    /* stands for an option with an unknown name, which set_default() then refuses */
    static const rill_option any = {.name = "", .type = RILL_OPTION_TEXT};
    char buffer[RILL_OPTION_MAX], path[4096];
    const char *text;
    const rill_option *row = rill_option_row(r->folder->ctx, key);
    if (row == NULL && !json_is_number(value) && !json_is_string(value)) return set_default(r, key, key, "");
    const rill_status status = rill_option_json_text(r->folder->ctx, row != NULL ? row : &any, value, buffer, &text);
    if (status < 0) return fail_value(r, key);
    if (row == NULL || row->type != RILL_OPTION_PATH || text[0] == '/') return set_default(r, key, key, text);
    if (snprintf(path, sizeof path, "%s/%s", r->path, text) >= (int)sizeof path)
        return fail_key(r, key, "a shorter path");
    return set_default(r, key, key, path);
}

/* Fail if options of config.json exclude each other, or name an unknown heuristic, scorer or scheduler. The engine's message about these
 * errors could not name config.json. Options that contradict the user's are dropped later. */
static rill_status read_options(const folder_reader *r, const json_t *options)
{
    rill_context *ctx = r->folder->ctx;
    const char *key;
    json_t *value;
    if (options == NULL) return RILL_OK;
    if (!json_is_object(options)) return fail_key(r, "options", "an object");
    json_object_foreach((json_t *)(uintptr_t)options, key, value)
    {
        if (strcmp(key, "heuristics") == 0 || strcmp(key, "heuristic") == 0) {
            TRY(set_list(r, key, value, "heuristic"));
        } else if (strcmp(key, "scorers") == 0 || strcmp(key, "scorer") == 0) {
            TRY(set_list(r, key, value, "scorer"));
        } else {
            TRY(set_scalar(r, key, value));
        }
    }
    const rill_status status = rill_option_source_check(r->folder->search);
    if (status != RILL_ERR_OPTION && status != RILL_ERR_NOT_FOUND) return status;
    return rill_fail(ctx, RILL_ERR_OPTION, "%s: %s", r->file, rill_error(ctx));
}

/* --- the domain of a model ---------------------------------------------------------------------------------------- */

/* Unknown keys belong to the domain. Misspelt and misplaced keys are errors, because they would be ignored silently. */
static rill_status check_keys(const folder_reader *r, const json_t *rill)
{
    static const char *const ours[] = {"domain"};
    rill_context *ctx = r->folder->ctx;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)rill, key, value)
    {
        const char *gone = rill_refused_option("setting", key);
        if (gone == NULL) gone = rill_refused_option("opening", key);
        if (rill_is_options_key(key))
            return rill_fail(ctx, RILL_ERR_FORMAT, "%s: \"%s\" under \"rill\": the options are in \"options\"", r->file,
                             key);
        if (gone != NULL) return rill_fail(ctx, RILL_ERR_FORMAT, "%s: \"%s\" under \"rill\": %s", r->file, key, gone);
        if (rill_option_row(ctx, key) != NULL || strcmp(key, "heuristics") == 0 || strcmp(key, "scorers") == 0)
            return rill_fail(ctx, RILL_ERR_FORMAT, "%s: \"%s\" under \"rill\" belongs under \"options\" there", r->file,
                             key);
        if (json_is_string(value) && strcmp(key, "domain") != 0 && rill_nearest(key, ours, 1) != NULL)
            return rill_fail(ctx, RILL_ERR_FORMAT, "%s: \"%s\" under \"rill\": did you mean \"domain\"?", r->file, key);
    }
    return RILL_OK;
}

/* Warn about model options at the top level of config.json, where they have no effect. No toolkit uses these names
 * there. */
static void warn_misplaced(const folder_reader *r, const json_t *root)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        const rill_option *row = rill_option_row(r->folder->ctx, key);
        if (row != NULL && row->kind == RILL_OPTION_MODEL)
            rill_log(r->folder->ctx, RILL_LOG_WARNING,
                     "%s: \"%s\" is not read here: move it to \"rill\": {\"options\": {...}}", r->file, key);
    }
}

static const char *domain_for_type(const rill_context *ctx, const char *type)
{
    const rill_domain *d;
    for (size_t i = 0; (d = rill_domain_at(ctx, i)) != NULL; i++)
        for (const char *const *t = d->model_types; t != NULL && *t != NULL; t++)
            if (strcmp(*t, type) == 0) return d->name;
    return NULL;
}

int rill_directory_has_file(const char *directory, const char *file)
{
    char path[4096];
    struct stat info;
    return snprintf(path, sizeof path, "%s/%s", directory, file) < (int)sizeof path && stat(path, &info) == 0;
}

static rill_status read_domain(const folder_reader *r, const json_t *root, const json_t *rill)
{
    rill_folder *f = r->folder;
    const json_t *domain = json_object_get(rill, "domain");
    const char *type = json_string_value(json_object_get(root, "model_type"));
    /* CTranslate2's config.json has no model_type, and old directories have no config.json: model.bin decides. */
    if (type == NULL && rill_directory_has_file(r->path, "model.bin")) type = "ctranslate2";
    const char *reader = type != NULL ? domain_for_type(f->ctx, type) : NULL;
    if (domain != NULL && (!json_is_string(domain) || json_string_length(domain) >= sizeof f->domain))
        return fail_key(r, "domain", "a domain's name");
    if (domain != NULL) reader = json_string_value(domain);
    if (reader != NULL)
        snprintf(f->domain, sizeof f->domain, "%s", reader);
    else if (type != NULL)
        snprintf(f->type, sizeof f->type, "%s", type);
    return RILL_OK;
}

static rill_status read_example(const folder_reader *r, const json_t *rill)
{
    rill_folder *f = r->folder;
    const json_t *value = json_object_get(rill, "example");
    const char *text = json_string_value(value);
    if (value == NULL) return RILL_OK;
    if (text == NULL || strlen(text) >= sizeof f->example || strpbrk(text, "\r\n") != NULL)
        return fail_key(r, "example", "an input: a line of at most 255 bytes");
    snprintf(f->example, sizeof f->example, "%s", text);
    return RILL_OK;
}

static rill_status read_root(const folder_reader *r, const json_t *root)
{
    const json_t *rill = json_object_get(root, "rill");
    if (!json_is_object(root)) return rill_fail(r->folder->ctx, RILL_ERR_FORMAT, "%s: expected an object", r->file);
    if (rill != NULL && !json_is_object(rill)) return fail_key(r, "rill", "an object");
    TRY(check_keys(r, rill));
    warn_misplaced(r, root);
    TRY(read_domain(r, root, rill));
    TRY(read_example(r, rill));
    rill_option_source_set_domain(r->folder->search, rill_find_domain(r->folder->ctx, r->folder->domain));
    return read_options(r, json_object_get(rill, "options"));
}

/* --- unsupported formats ------------------------------------------------------------------------------------------ */

/* Returns 1 and the alphabetically first match in `out`, or 0. The order of readdir() does not matter. */
static int find_matching_file(const char *directory, const char *pattern, char *out, size_t size)
{
    int found = 0;
    DIR *folder = opendir(directory);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (fnmatch(pattern, entry->d_name, 0) != 0 || (found && strcmp(entry->d_name, out) > 0)) continue;
        snprintf(out, size, "%s", entry->d_name);
        found = 1;
    }
    if (folder != NULL) closedir(folder);
    return found;
}

/* A directory matches a row if it has a file for `pattern` and, unless NULL, one for `beside`. The first matching row counts. In `advice`
 * {folder} and {file} are replaced by paths. */
static const struct {
    const char *pattern, *beside, *advice;
} foreign_files[] = {
    {"pytorch_model.bin", NULL, "model.safetensors is missing: make it with rill convert bin {folder} --out {folder}"},
    {"pytorch_model.bin.index.json", NULL,
     "model.safetensors is missing: make it with rill convert bin {folder} --out {folder}"},
    {"*.npz", NULL, "if this is a model of Marian or Nematus, convert it with rill convert {folder} --out NEW"},
    {"model*.bin", "*.spm", "this is a Marian model: convert it with rill convert {folder} --out NEW"},
    {"model*.bin.gz", "*.spm*", "this is a Marian model: convert it with rill convert {folder} --out NEW"},
    {"*.pt", "dict.*.txt", "this is a fairseq model: convert it with rill convert fairseq {file} --out NEW"},
    {"*.pt", NULL,
     "if this is a checkpoint of OpenNMT-py, convert it with CTranslate2: ct2-opennmt-py-converter --model_path {file} "
     "--output_dir NEW"},
    {"saved_model.pb", NULL,
     "if this is a model of OpenNMT-tf, convert its checkpoint with CTranslate2's ct2-opennmt-tf-converter"},
    {"*.argosmodel", NULL, "this is a package of Argos: unpack it with rill convert {file} --out NEW"},
    {"*.gguf", NULL,
     "this is a GGUF file of llama.cpp: expected the Hugging Face folder of the model, with config.json and "
     "model.safetensors"},
    {"*.gz", NULL, "the file is compressed: unpack it with gunzip"},
    {"model.*.safetensors", NULL, "to use these weights, rename the file to model.safetensors"},
    {"adapter_config.json", NULL,
     "this is an adapter of PEFT: merge it into its model (merge_and_unload), and save that model"},
    {"snapshots", "blobs", "this is a cache of the Hugging Face Hub: use the folder in {file}"},
};

/* Fail with "FOLDER/NAME: ADVICE". */
static rill_status fail_with_advice(rill_context *ctx, const char *directory, const char *name, const char *advice)
{
    SCOPED(rill_text_clear) rill_text text = {.ctx = ctx};
    for (const char *at = advice; *at != '\0';) {
        const size_t plain = strcspn(at, "{");
        TRY(rill_text_append(&text, at, plain));
        at += plain;
        if (*at == '\0') break;
        const int is_file = strncmp(at, "{file}", 6) == 0;
        TRY(rill_text_printf(&text, "%s%s%s", directory, is_file ? "/" : "", is_file ? name : ""));
        at += strcspn(at, "}") + 1;
    }
    return rill_fail(ctx, RILL_ERR_NOT_FOUND, "%s/%s: %s", directory, name, text.data);
}

rill_status rill_unsupported_format_fail(rill_context *ctx, const char *directory)
{
    char name[256], other[256];
    if (rill_directory_has_file(directory, "model/model.bin"))
        return rill_fail(ctx, RILL_ERR_NOT_FOUND, "%s: this is a package of Argos: its model is %s/model", directory,
                         directory);
    for (size_t i = 0; i < sizeof foreign_files / sizeof *foreign_files; i++) {
        const char *beside = foreign_files[i].beside;
        if (!find_matching_file(directory, foreign_files[i].pattern, name, sizeof name)) continue;
        if (beside == NULL || find_matching_file(directory, beside, other, sizeof other))
            return fail_with_advice(ctx, directory, name, foreign_files[i].advice);
    }
    return RILL_OK;
}

/* Fail with a message if `type`, config.json's model_type, is that of a decoder-only language model. */
static rill_status fail_unsupported_type(rill_context *ctx, const char *directory, const char *type)
{
    /* Prefixes of common model_types of decoder-only language models; "llama" also matches "llama4". */
    static const char *const open_ended[] = {"llama",     "mistral", "mixtral",  "ministral", "gpt",    "qwen",
                                             "gemma",     "phi",     "falcon",   "opt",       "bloom",  "mpt",
                                             "deepseek",  "olmo",    "stablelm", "granite",   "cohere", "command",
                                             "starcoder", "mamba",   "smollm",   "exaone",    "glm"};
    for (size_t i = 0; i < sizeof open_ended / sizeof *open_ended; i++)
        if (strncmp(type, open_ended[i], strlen(open_ended[i])) == 0)
            return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                             "%s/config.json: model_type \"%s\" is a decoder-only language model: the built-in "
                             "domains decode encoder-decoder models; you can write a domain "
                             "(docs/guides/write-a-domain.md) and name it with the option domain",
                             directory, type);
    return RILL_OK;
}

/* --- reading a model directory ------------------------------------------------------------------------------------ */

/* Without search options in config.json, use the domain's default ones. After RILL_ERR_IO and RILL_ERR_MEMORY there are none, and going on
 * would silently change outputs. Other errors are ignored: opening the model reports them. */
static rill_status use_domain_defaults(rill_folder *f, const char *path, const char *name)
{
    const rill_domain *domain = rill_find_domain(f->ctx, name);
    SCOPED(rill_text_clear) rill_text text = {.ctx = f->ctx};
    rill_option_source_set_domain(f->search, domain);
    if (rill_option_source_sets_search(f->search) || domain == NULL || domain->advise == NULL) return RILL_OK;
    const rill_status status = domain->advise(domain, f->ctx, path, &text);
    if (status == RILL_OK && text.length > 0) return rill_option_source_set_all(f->search, text.data);
    if (status == RILL_ERR_IO || status == RILL_ERR_MEMORY) return status;
    rill_error_clear(f->ctx);
    return RILL_OK;
}

static rill_status read_config(rill_folder *f, const char *path)
{
    char file[4096];
    if (snprintf(file, sizeof file, "%s/config.json", path) >= (int)sizeof file)
        return rill_fail(f->ctx, RILL_ERR_NOT_FOUND, "model %s: the path is too long", path);
    const folder_reader r = {f, path, file};
    json_auto_t *root = NULL;
    rill_status status = rill_json_read(f->ctx, file, &root);
    f->found = status != RILL_ERR_NOT_FOUND;
    if (status == RILL_OK) status = read_root(&r, root);
    if (f->found) return status;
    rill_error_clear(f->ctx);
    return read_domain(&r, NULL, NULL);
}

rill_status rill_folder_read(rill_folder *out, rill_context *ctx, const char *path, const char *domain)
{
    struct stat info;
    *out = (rill_folder){.ctx = ctx};
    TRY(rill_option_source_create(&out->search, ctx, RILL_FROM_USER));
    if (path != NULL && stat(path, &info) != 0)
        return rill_fail(ctx, RILL_ERR_NOT_FOUND, "model %s: %s", path, strerror(errno));
    /* a model that is a single file has no configuration: only its domain reads it */
    const rill_option_style style = rill_option_set_style(ctx, RILL_OPTION_UNDERSCORED);
    const rill_status status = path != NULL && S_ISDIR(info.st_mode) ? read_config(out, path) : RILL_OK;
    rill_option_set_style(ctx, style);
    if (status < 0) return status;
    return use_domain_defaults(out, path, domain != NULL ? domain : out->domain);
}

void rill_folder_clear(rill_folder *folder)
{
    rill_option_source_free(folder->search);
    folder->search = NULL;
}

rill_status rill_folder_fail_no_domain(const rill_folder *f, const char *path)
{
    char types[256] = "", domains[256] = "";
    const rill_domain *d;
    struct stat info;
    for (size_t i = 0, used = 0; (d = rill_domain_at(f->ctx, i)) != NULL; i++)
        for (const char *const *t = d->model_types; t != NULL && *t != NULL && used < sizeof types; t++)
            used += (size_t)snprintf(types + used, sizeof types - used, "%s%s", used > 0 ? ", " : "", *t);
    for (size_t i = 0, used = 0; (d = rill_domain_at(f->ctx, i)) != NULL && used < sizeof domains; i++)
        used += (size_t)snprintf(domains + used, sizeof domains - used, "%s%s", used > 0 ? ", " : "", d->name);
    if (!f->found && stat(path, &info) == 0 && !S_ISDIR(info.st_mode) && fnmatch("*.argosmodel", path, 0) == 0)
        return rill_fail(f->ctx, RILL_ERR_NOT_FOUND,
                         "%s: this is a package of Argos: unpack it with rill convert %s --out NEW", path, path);
    if (!f->found && stat(path, &info) == 0 && !S_ISDIR(info.st_mode))
        return rill_fail(
            f->ctx, RILL_ERR_NOT_FOUND,
            "model %s: it is a file: use its folder (unpack an archive first), or set domain to the name of the domain that reads it",
            path);
    if (f->type[0] == '\0') TRY(rill_unsupported_format_fail(f->ctx, path));
    if (!f->found)
        return rill_fail(
            f->ctx, RILL_ERR_NOT_FOUND,
            "model %s: there is no config.json. If the model has one, add it; otherwise set domain to one of %s", path,
            domains);
    if (f->type[0] != '\0') TRY(fail_unsupported_type(f->ctx, path, f->type));
    if (f->type[0] != '\0')
        return rill_fail(f->ctx, RILL_ERR_NOT_FOUND,
                         "%s/config.json: model_type \"%s\" is unknown; known are %s; or name the domain in \"rill\": "
                         "{\"domain\": ...}, or set domain to one of %s",
                         path, f->type, types, domains);
    return rill_fail(f->ctx, RILL_ERR_NOT_FOUND,
                     "%s/config.json names no domain (\"rill\": {\"domain\": ...}): set domain to one of %s", path,
                     domains);
}
